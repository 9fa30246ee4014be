"""Event capturing with sustained contact and with friction (not in Acary 2012, whose examples have neither): orders up to 6.

A double pendulum that hits a wall, closes there and is released (a curved constraint), and an oscillator on a moving belt. Errors of
the end state against the finest run of Lobatto 6, and of the instants against values known to 1e-13. The last row of the pendulum is
without the acceleration term d/dt(W^T) u, as eqs. (62)-(64) are printed.
"""

import numpy as np
from _acary import slope
from _table import IMG, figure, save, show

import nonsmooth as ns


def mass(t, q):
    c = np.cos(q[0] - q[1])
    return np.array([[2.0, c], [c, 1.0]])


def force(t, q, u):
    s = np.sin(q[0] - q[1])
    return np.array([-s * u[1] ** 2 - 2 * 9.81 * np.sin(q[0]), s * u[0] ** 2 - 9.81 * np.sin(q[1])])


PENDULUM = ns.MechanicalSystem(mass, force, ns.Contact(lambda t, q: np.sin(q[0]) + np.sin(q[1]) + 0.2))
BELT = ns.MechanicalSystem(
    1.0,
    lambda t, q, u: np.array([-4.0 * q[0] - 0.1 * u[0]]),
    friction=ns.FrictionElement(lambda t, q: np.array([1.0]), 1.5, surface_velocity=lambda t, q: -0.4),
)
PROBLEMS = {
    "double pendulum": (PENDULUM, 1.5, [0.6, 0.9], [0.0, 0.0], [0.7313989188762, 1.2020129489193, 1.2568919737577]),
    "belt": (BELT, 8.0, [1.0], [0.0], [1.7496733355439, 3.0786944187313]),
}  # fmt: skip
METHODS = {
    "lobatto2": 2, "radau3": 3, "lobatto4": 4, "radau5": 5, "lobatto6": 6, "midpoint2": 2, "kutta3": 3, "rk4": 4, "RK45": 5,
}  # fmt: skip
FINEST = {2: 360_000, 3: 12_800, 4: 1280, 5: 320, 6: 240}  # instants to 1e-9 with every method


def errors(problem, method, reference):
    """Errors of the end state and of the instants; None if the events are not those of the motion."""
    system, end, q0, u0, instants = problem
    run = ns.simulate(system, (0.0, end), q0, u0, method=method, audit=False)
    found = [event.t for event in run.events]
    if len(found) != len(instants):
        return None
    return np.max(np.abs(run.y[:, -1] - reference)), np.max(np.abs(np.array(found) - instants))


def row(what, problem, reference, wanted, p, make):
    """Orders over steps down to the finest one."""
    counts = FINEST[p] / np.array([8, 5.6, 4, 2.8, 2, 1.4, 1])
    found = [errors(problem, make(problem[1] / n), reference) for n in np.round(counts)]
    if None in found:
        return (what, wanted, "other events than those of the motion"), None
    state, instants = np.array(found).T
    steps = problem[1] / np.round(counts)
    orders = f"order {slope(steps, state, 2e-13):.2f}, of the instants {slope(steps, instants, 2e-13):.2f}"
    text = f"{len(problem[4])} events, {orders}; errors {state[-1]:.1e}, {instants[-1]:.1e}"
    return (what, wanted, text), (steps, state)


if __name__ == "__main__":
    rows = []
    picture, axes = figure(1, 2, size=(9.0, 4.0))
    for axis, (name, problem) in zip(axes, PROBLEMS.items()):
        system, end, q0, u0, _ = problem
        finest = ns.EventCapturing("lobatto6", dt=end / 1600)
        reference = ns.simulate(system, (0.0, end), q0, u0, method=finest, audit=False).y[:, -1]
        cases = {tableau: (p, {}) for tableau, p in METHODS.items()}
        if name != "belt":
            cases["radau5 "] = (5, dict(acceleration_term=False, form="index-1"))
        for tableau, (p, options) in cases.items():
            label = tableau.strip() + (", no acceleration term" if options else "")
            wanted = (
                "order 0" if options else f"{len(problem[4])} events, order >= {p - 0.3:g}, instants <= 1e-9"
            )
            line, curve = row(
                f"{name}, {label}", problem, reference, wanted, p,
                lambda dt, tableau=tableau, options=options: ns.EventCapturing(tableau.strip(), dt=dt, **options),
            )  # fmt: skip
            rows.append(line)
            if curve is not None:
                axis.loglog(*curve, "o-", markersize=3, label=f"{label} {slope(*curve, 2e-13):.2f}")
        axis.set(xlabel="step", ylabel="error of the end state", title=name)
        axis.legend(fontsize=6)
        axis.grid(True, alpha=0.3)
    show("Event capturing, sustained contact and friction", rows)
    save(picture, "acary2012_sustained.png")
    picture.savefig(IMG / "acary2012_sustained.png", dpi=80)
