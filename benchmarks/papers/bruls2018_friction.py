"""Coulomb friction in the nonsmooth generalized-alpha method (the paper names it as future work): woodpecker, rod, disk, block."""

import warnings

import numpy as np
from _table import show

import nonsmooth as ns


def run(problem, h, T, **more):
    method = ns.GeneralizedAlpha(dt=h, **{"rho_inf": 0.8, **more})
    return ns.simulate(
        problem.system, (0, T), problem.q0, problem.u0, method=method, audit=False, on_energy_gain="ignore"
    )


def woodpecker(rows):
    problem = ns.problems.woodpecker(start="consistent")
    exact = np.array([-0.0044039470884396385, -0.10344827586206896, -0.3926267532826196])  # at 0.05 s
    errors = [np.max(np.abs(run(problem, h, 0.05).q[:, -1] - exact)) for h in (2e-5, 1e-5)]
    rows.append(
        (
            "woodpecker, h = 1e-5: error at 0.05 s, order",
            "",
            f"{errors[1]:.2e}, {np.log2(errors[0] / errors[1]):.2f}",
        )
    )
    r = run(problem, 1e-5, 0.4)
    model = problem.system.bind(0.0, problem.q0, problem.u0)
    gap = min(np.min(model.gaps(t, q)) for t, q in zip(r.t[::20], r.q.T[::20]))
    stuck = r.modes[4] == 1
    cone = np.max(np.abs(r.P_T) - 0.3 * r.P_N) / np.max(r.P_N)
    rows.append(("  incidents to 0.4 s", "25", len(r.events)))
    rows.append(
        (
            "  slip while stuck, worst gap, cone",
            "",
            f"{np.max(np.abs(r.u[0, stuck])):.1e}, {gap:.1e}, {max(cone, 0.0):.1e}",
        )
    )


def rod(rows):
    problem = ns.problems.rod_rough_plane()
    r = run(problem, 1e-4, 1.0)
    rows.append(
        (
            "rod on rough ground: incidents",
            "5 in the reference",
            ", ".join(f"{e.kind} {e.t:.4f}" for e in r.events),
        )
    )


def disk(rows):
    """A disk put down with a slip of 1 m/s: rolls after v/(3 mu g), at two thirds of its speed."""
    mu, g = 0.2, 9.81
    floor = ns.Contact(lambda t, q: q[1], friction=mu, tangent=lambda t, q: np.array([1.0, 0.0, 1.0]))
    system = ns.MechanicalSystem(np.diag([1.0, 1.0, 0.5]), np.array([0.0, -g, 0.0]), contacts=[floor])
    r = ns.simulate(
        system, (0, 0.4), np.zeros(3), [1.0, 0.0, 0.0], method=ns.GeneralizedAlpha(dt=1e-3, rho_inf=0.8)
    )
    event = next(e for e in r.events if e.kind == "stick")
    rows.append(
        (
            "disk: rolls from, speed",
            f"{1 / (3 * mu * g):.4f} s, {2 / 3:.6f}",
            f"{event.t:.4f} s, {r.u[0, -1]:.6f}",
        )
    )
    rows.append(("  slip when rolling", "0", f"{np.abs(r.u[0, -1] + r.u[2, -1]):.1e}"))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    table = []
    for part in (woodpecker, rod, disk):
        part(table)
    show("friction", table)
