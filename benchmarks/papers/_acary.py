"""What the scripts on Acary 2012 share: his two examples with closed forms, and the integral L1 norm of a run."""

import warnings

import numpy as np
from _table import IMG, figure, save, show

import nonsmooth as ns

GAUSS, WEIGHTS = (0.5 * (x + shift) for x, shift in zip(np.polynomial.legendre.leggauss(4), (1.0, 0.0)))


class Oscillator:
    """Example 2: m v' + c v + k q = lambda, q >= 0; impacts half a period apart after the first. Data chosen here (none are printed)."""

    def __init__(self, m=1.0, c=0.2, k=4.0, e=0.7, q0=1.0, u0=0.5, end=5.0):
        self.start, self.end, self.e = (q0, u0), end, e
        self.delta, self.omega = c / (2 * m), np.sqrt(k / m - (c / (2 * m)) ** 2)
        self.system = ns.MechanicalSystem(
            m,
            lambda t, q, u, p: np.array([-p.c * u[0] - p.k * q[0]]),
            ns.Contact(lambda t, q: q[0], restitution=e),
            params=dict(c=c, k=k),
        )
        # q = exp(-delta t) (q0 cos + b sin) vanishes first where tan(omega t) = -q0/b
        b = (u0 + self.delta * q0) / self.omega
        first = (np.arctan2(q0, -b) % np.pi) / self.omega
        self.impacts = first + np.pi / self.omega * np.arange(int((end - first) * self.omega / np.pi) + 1)

    def exact(self, t):
        """q and v, right limits, shape (2, n)."""
        phase = np.searchsorted(self.impacts, t, side="right")
        q, v = np.empty_like(t), np.empty_like(t)
        q0, u0, begin = *self.start, 0.0
        for k in range(self.impacts.size + 1):
            on = phase == k
            q[on], v[on] = self.free(t[on] - begin, q0, u0)
            if k < self.impacts.size:
                u0 = -self.e * self.free(self.impacts[k] - begin, q0, u0)[1]
                q0, begin = 0.0, self.impacts[k]
        return np.stack([q, v])

    def free(self, s, q0, u0):
        """Free oscillation."""
        b = (u0 + self.delta * q0) / self.omega
        e, c, n = np.exp(-self.delta * s), np.cos(self.omega * s), np.sin(self.omega * s)
        return e * (q0 * c + b * n), e * (
            (b * self.omega - self.delta * q0) * c - (q0 * self.omega + self.delta * b) * n
        )


class Ball:
    """Example 1: f = -2, rho = 1/2, q(0) = 1; impacts at 3 - 2^(1-n), accumulation at 3, rest."""

    start, end = (1.0, 0.0), 4.0

    def __init__(self):
        self.system = ns.MechanicalSystem(1.0, -2.0, ns.Contact(lambda t, q: q[0], restitution=0.5))
        self.impacts = np.append(3.0 - 2.0 ** (1.0 - np.arange(0, 52)), 3.0)

    def exact(self, t):
        """Eq. (10), right limits."""
        s = 3.0 - t
        n = np.floor(1.0 - np.log2(np.maximum(s, 2.0**-60)) + 1e-300).astype(int)
        # right limits: t = 3 - 2^(-n) belongs to the next flight
        n = np.where(s <= 2.0 ** -n.astype(float), n + 1, n)
        r = 2.0 ** -n.astype(float)
        q = -((t - 3) ** 2) - 3 * r * (t - 1) + 2 * r * (3 - r)
        v = -2 * (t - 3) - 3 * r
        rests = t >= 3.0
        return np.where(rests, 0.0, np.stack([q, v]))


def integral_errors(problem, method):
    """Integral L1 norms of the errors of q and v, cut at the instants of both motions; and the run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        q0, u0 = problem.start
        span = (0.0, problem.end)
        run = ns.simulate(problem.system, span, [q0], [u0], method=method, audit=False)
        cuts = np.concatenate([run.t, problem.impacts])
        cuts = np.unique(cuts[(cuts >= 0) & (cuts <= problem.end)])
        h = np.diff(cuts)
        wide = h > 1e-13
        nodes = (cuts[:-1, None] + h[:, None] * GAUSS)[wide].ravel()
        weights = (h[:, None] * WEIGHTS)[wide].ravel()
        nodes, keep = np.unique(nodes, return_index=True)
        inside = ns.simulate(problem.system, span, [q0], [u0], method=method, audit=False, t_eval=nodes)
    error = np.abs(inside.y - problem.exact(nodes))
    return error @ weights[keep], run


def slope(steps, errors, floor=1e-13):
    """Order of convergence, from errors above rounding."""
    use = errors > floor
    return float(np.polyfit(np.log(steps[use]), np.log(errors[use]), 1)[0])


def study(name, title, methods, oscillator, ball):
    """Errors of both examples against the step, their slopes, the picture."""
    rows = []
    picture, axes = figure(2, 2, size=(9.0, 7.0))
    for row, problem, what in zip(axes, (oscillator, ball), ("oscillator", "ball")):
        for tableau, p in methods.items():
            # the ball: long steps, for its flights are exact, in odd numbers, so that no instant of the grid is one of an impact
            finest = {2: 640, 3: 480, 4: 320, 5: 240, 6: 140}[p]
            counts = np.arange(5, 19, 2) if what == "ball" else np.unique(np.geomspace(40, finest, 8).round())
            steps = problem.end / counts
            options = dict(critical=1e-3) if what == "ball" else {}
            errors = np.array(
                [integral_errors(problem, ns.EventCapturing(tableau, dt=dt, **options))[0] for dt in steps]
            )
            wanted = f"q, v {p} +- 0.3" if what == "oscillator" else f"q >= {p - 0.3:g} ({p + 1} expected)"
            found = ", ".join(f"{part} {slope(steps, error):.2f}" for part, error in zip("qv", errors.T))
            text = f"{found}; errors of q {errors[0, 0]:.1e} ... {errors[-1, 0]:.1e}"
            rows.append((f"{what}, {tableau}", wanted, text))
            for axis, error in zip(row, errors.T):
                axis.loglog(steps, error, "o-", markersize=3, label=f"{tableau} {slope(steps, error):.2f}")
        for axis, part in zip(row, "qv"):
            axis.set(xlabel="step", ylabel=f"L1 error of {part}", title=what)
            axis.legend(fontsize=7)
            axis.grid(True, alpha=0.3)
    show(title, rows)
    save(picture, f"{name}.png")
    picture.savefig(IMG / f"{name}.png", dpi=80)
