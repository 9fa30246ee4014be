"""Acary 2012, sec. 6 (perspectives): index-1, stabilised and index-2 forms, and the order that each of them leaves of a method.

A pendulum in Cartesian coordinates: orders of positions at t = 1 and of the mean force of the steps, against the angle by DOP853.
"""

import numpy as np
from _acary import slope
from _table import IMG, figure, save, show
from scipy.integrate import solve_ivp

import nonsmooth as ns

PENDULUM = ns.MechanicalSystem(
    np.eye(2), [0.0, -9.81], joints=[ns.Joint(lambda t, q: 0.5 * (q[0] ** 2 + q[1] ** 2 - 1.0))]
)
COUNTS = np.array([20, 28, 40, 56, 80])
GAUSS, WEIGHTS = np.polynomial.legendre.leggauss(6)


def reference():
    """Angle and its rate."""
    run = solve_ivp(
        lambda t, y: [y[1], -9.81 * np.sin(y[0])], (0, 1), [0.8, 0.0], method="DOP853", rtol=1e-13, atol=1e-14, dense_output=True
    )  # fmt: skip
    return run.sol


def errors(method, exact, n):
    """Errors of the positions at the end, and of the mean force of the joint in the worst step."""
    start = [np.sin(0.8), -np.cos(0.8)], [0.0, 0.0]
    run = ns.simulate(PENDULUM, (0, 1), *start, method=method, audit=False)
    angle = exact(1.0)[0]
    position = np.max(np.abs(run.q[:, -1] - [np.sin(angle), -np.cos(angle)]))
    taken = run.dt > 0
    t, dt = run.t[taken], run.dt[taken]
    nodes = (t - dt)[:, None] + 0.5 * dt[:, None] * (1 + GAUSS)
    theta, rate = exact(nodes.ravel()).reshape(2, *nodes.shape)
    mean = -0.5 * (rate**2 + 9.81 * np.cos(theta)) @ WEIGHTS
    return position, np.max(np.abs(run.extra["P_J"][0, taken] / dt - mean))


if __name__ == "__main__":
    exact, rows = reference(), []
    picture, axes = figure(1, 3, size=(10.0, 3.6))
    shown = dict(zip(("radau3", "radau5", "rk4"), axes))
    for tableau in ("radau3", "radau5", "lobatto4", "lobatto6", "midpoint2", "kutta3", "rk4", "RK45"):
        for form in ("index-1", "stabilised", "index-2"):
            try:
                made = [ns.EventCapturing(tableau, dt=1 / n, form=form) for n in COUNTS]
            except ns.errors.InputError:
                rows.append((f"{tableau}, {form}", "-", "cannot carry the form"))
                continue
            found = np.array([errors(method, exact, n) for method, n in zip(made, COUNTS)])
            q, force = (slope(1 / COUNTS, column) for column in found.T)
            rows.append(
                (
                    f"{tableau}, {form}",
                    "-",
                    f"q {q:.2f}, force {force:.2f}; errors {found[-1, 0]:.1e}, {found[-1, 1]:.1e}",
                )
            )
            if tableau in shown:
                shown[tableau].loglog(
                    1 / COUNTS, found[:, 1], "o-", markersize=3, label=f"{form} {force:.2f}"
                )
                shown[tableau].set(xlabel="step", ylabel="error of the force", title=tableau)
                shown[tableau].legend(fontsize=7)
                shown[tableau].grid(True, alpha=0.3)
    show("Orders of the forms (method, form | paper | here)", rows)
    save(picture, "acary2012_forms.png")
    picture.savefig(IMG / "acary2012_forms.png", dpi=80)
