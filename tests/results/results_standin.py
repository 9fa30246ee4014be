"""Hand-written models that follow the model protocol, and a plain Moreau loop to run them."""

from types import SimpleNamespace

import numpy as np

HALF_LINE, INTERVAL, DISK, COULOMB_1D, COULOMB_2D = range(5)


def law_table(entries, n_rows):
    """`entries`: (kind, row, dim, link, mu, e, name)."""
    kind, row, dim, link, mu, e, name = zip(*entries) if entries else ((),) * 7
    kind = np.array(kind, dtype=np.int64)
    return SimpleNamespace(
        kind=kind,
        row=np.array(row, dtype=np.int64),
        dim=np.array(dim, dtype=np.int64),
        link=np.array(link, dtype=np.int64),
        mu=np.array(mu, dtype=float),
        e=np.array(e, dtype=float),
        name=list(name),
        n_laws=kind.size,
        n_N=int(np.sum(kind == HALF_LINE)),
        n_rows=n_rows,
    )


class Standin:
    """A system with constant mass matrix, given by constants and small functions."""

    def __init__(self, M, force, laws, gaps=None, directions=None, bounds=None, potential=None):
        self.M = np.atleast_2d(np.asarray(M, dtype=float))
        self.n_q = self.n_u = self.M.shape[0]
        self.laws, self.params = laws, {}
        self._force, self._gaps, self._directions, self._bounds = force, gaps, directions, bounds
        self._potential = potential
        self.derivative_sources = {"W": "given"}

    def mass_matrix(self, t, q):
        return self.M

    def forces(self, t, q, u):
        return np.asarray(self._force(t, q, u), dtype=float)

    def gaps(self, t, q):
        return np.zeros(0) if self._gaps is None else np.atleast_1d(self._gaps(t, q))

    def directions(self, t, q):
        return self._directions(t, q)

    def bounds(self, t, q, u):
        if self._bounds is None:
            return np.zeros(self.laws.n_rows), np.zeros(self.laws.n_rows)
        return self._bounds(t, q, u)

    def kinematic_matrix(self, t, q):
        return np.eye(self.n_q)

    def potential_energy(self, t, q):
        return None if self._potential is None else self._potential(t, q)


def moreau(system, t_end, q0, u0, n, iterations=2000):
    """Plain Moreau time-stepping with projected Gauss-Seidel; returns a dict of columns."""
    laws, dt = system.laws, t_end / n
    q, u = np.array(q0, dtype=float), np.array(u0, dtype=float)
    n_laws, n_rows = laws.n_laws, laws.n_rows
    out = {
        "t": np.zeros(n + 1),
        "q": np.zeros((q.size, n + 1)),
        "u": np.zeros((u.size, n + 1)),
        "P": np.zeros((n_rows, n + 1)),
        "modes": np.zeros((n_laws, n + 1), dtype=np.int8),
        "dt": np.zeros(n + 1),
    }
    out["q"][:, 0], out["u"][:, 0] = q, u
    work_forces = work_contacts = 0.0
    for k in range(1, n + 1):
        t_B = out["t"][k - 1]
        t_M, q_M = t_B + 0.5 * dt, q + 0.5 * dt * u
        M, h = system.mass_matrix(t_M, q_M), system.forces(t_M, q_M, u)
        P, modes = np.zeros(n_rows), np.zeros(n_laws, dtype=np.int8)
        u_new = u + np.linalg.solve(M, h * dt)
        if n_rows:
            WT, zeta = system.directions(t_M, q_M)
            lower, upper = (b * dt for b in system.bounds(t_M, q_M, u))
            active = np.ones(n_laws, dtype=bool)
            active[: laws.n_N] = system.gaps(t_M, q_M) <= 0
            for i in range(n_laws):
                if laws.link[i] >= 0:
                    active[i] = active[laws.link[i]]
            G, gamma_B = WT @ np.linalg.solve(M, WT.T), WT @ u + zeta
            free = WT @ u_new + zeta
            for _ in range(iterations):
                before = P.copy()
                for i in np.flatnonzero(active):
                    rows = slice(laws.row[i], laws.row[i] + laws.dim[i])
                    r = 1.0 / np.max(np.diag(G)[rows])
                    xi = (G @ P + free)[rows] + laws.e[i] * gamma_B[rows]
                    x = P[rows] - r * xi
                    P[rows], modes[i] = _project(laws, i, x, P, lower, upper)
                if np.max(np.abs(before - P)) <= 1e-15 * np.max(np.abs(P)):
                    break
            u_new = u_new + np.linalg.solve(M, WT.T @ P)
            work_contacts += 0.5 * (WT @ (u + u_new)) @ P
        work_forces += 0.5 * (u + u_new) @ h * dt
        q = q + 0.5 * dt * (u + u_new)
        u = u_new
        out["t"][k], out["dt"][k], out["q"][:, k], out["u"][:, k] = t_B + dt, dt, q, u
        out["P"][:, k], out["modes"][:, k] = P, modes
    out["modes"][:, 0] = out["modes"][:, 1]
    P = out.pop("P")
    out["P_N"], out["P_T"] = P[: laws.n_N], P[laws.n_N :]
    totals = {"work_forces": work_forces, "work_contacts": work_contacts}
    return out, totals


def _project(laws, i, x, P, lower, upper):
    kind, row = laws.kind[i], laws.row[i]
    if kind == HALF_LINE:
        return np.maximum(x, 0.0), 1 if x[0] >= 0 else -2
    if kind == INTERVAL:
        lo, hi = lower[row], upper[row]
    elif kind == COULOMB_1D:
        hi = laws.mu[i] * P[laws.row[laws.link[i]]]
        lo = -hi
    else:
        radius = upper[row] if kind == DISK else laws.mu[i] * P[laws.row[laws.link[i]]]
        length = np.linalg.norm(x)
        return (x, 1) if length <= radius else (x * (radius / length), 2)
    return np.clip(x, lo, hi), 2 if x[0] > hi else (-2 if x[0] < lo else 1)


def ball(e=0.5, g=9.81):
    """Point mass above the floor."""
    laws = law_table([(HALF_LINE, 0, 1, -1, 0.0, e, "floor")], 1)
    return Standin(
        2.0,
        lambda t, q, u: [-2.0 * g],
        laws,
        gaps=lambda t, q: q[0],
        directions=lambda t, q: (np.array([[1.0]]), np.zeros(1)),
        potential=lambda t, q: 2.0 * g * q[0],
    )


def disk_on_belt(mu=0.4, belt=0.3):
    """Mass on a spring on a moving belt that also rises and falls: friction and a moving wall."""
    laws = law_table(
        [(HALF_LINE, 0, 1, -1, 0.0, 0.2, "belt"), (COULOMB_1D, 1, 1, 0, mu, 0.0, "belt friction")], 2
    )
    lift = 0.002

    def directions(t, q):
        return np.eye(2)[::-1].copy(), np.array([-lift * 7.0 * np.cos(7.0 * t), -belt])

    return Standin(
        np.diag([1.5, 1.5]),
        lambda t, q, u: [-40.0 * q[0], -1.5 * 9.81],
        laws,
        gaps=lambda t, q: q[1] - lift * np.sin(7.0 * t),
        directions=directions,
    )


def puck(mu=0.3):
    """Point mass above a rough plane: 2-D Coulomb friction, and a brake of given limit."""
    laws = law_table(
        [
            (HALF_LINE, 0, 1, -1, 0.0, 0.5, "plane"),
            (COULOMB_2D, 1, 2, 0, mu, 0.0, "plane friction"),
            (INTERVAL, 3, 1, -1, 0.0, 0.0, "brake"),
        ],
        4,
    )
    WT = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.8, 0.6, 0.0]])
    limit = np.array([0.0, 0.0, 0.0, 0.05])
    return Standin(
        np.diag([0.7, 0.9, 1.1]),
        lambda t, q, u: [0.0, 0.3 * np.sin(5 * t), -1.1 * 9.81],
        laws,
        gaps=lambda t, q: q[2],
        directions=lambda t, q: (WT, np.zeros(4)),
        bounds=lambda t, q, u: (-limit, limit),
    )
