"""Bruls, Acary, Cardona 2018, sec. 5: the pendulum as a DAE, Figs 2 and 3, with orders and drifts (gravity -y, h = 2e-3, rho = 0.9)."""

import numpy as np
from _table import figure, save, show
from scipy.integrate import solve_ivp

import nonsmooth as ns

J, H = 0.1, 2e-3
FORMS = ("P", "V", "PV", "PV-GGL", "PVA")


def system():
    joint = ns.Joint(
        lambda t, q: np.array([q[0] - np.cos(q[2]), q[1] - np.sin(q[2])]),
        jacobian=lambda t, q: np.array([[1.0, 0.0, np.sin(q[2])], [0.0, 1.0, -np.cos(q[2])]]),
    )
    return ns.MechanicalSystem(np.diag([1.0, 1.0, J]), np.array([0.0, -10.0, 0.0]), joints=[joint])


PENDULUM = system()


def run(form, h=H, T=2.0, **more):
    c, s = np.cos(np.pi / 6), np.sin(np.pi / 6)
    method = ns.GeneralizedAlpha(constraints=form, dt=h, **{"rho_inf": 0.9, **more})
    return ns.simulate(
        PENDULUM, (0, T), [c, s, np.pi / 6], [-10 * s, 10 * c, 10.0], method=method, audit=False
    )


def levels(r):
    """g, its rate and its second derivative, both components."""
    c, s, omega, w = np.cos(r.q[2]), np.sin(r.q[2]), r.u[2], r.acceleration
    g = np.array([r.q[0] - c, r.q[1] - s])
    rate = np.array([r.u[0] + s * omega, r.u[1] - c * omega])
    return g, rate, np.array([w[0] + s * w[2] + c * omega**2, w[1] - c * w[2] + s * omega**2])


def reference(T):
    """theta, theta', lambda_1 of the reduced equation."""
    f = lambda t, y: [y[1], -10 * np.cos(y[0]) / (1 + J)]  # noqa: E731
    y = solve_ivp(f, (0, T), [np.pi / 6, 10.0], rtol=1e-13, atol=1e-13, method="DOP853").y[:, -1]
    second = -10 * np.cos(y[0]) / (1 + J)
    return y[0], y[1], -np.sin(y[0]) * second - np.cos(y[0]) * y[1] ** 2


def worst(x, first=1):
    return float(np.max(np.abs(x[:, first:])))


def order(form, T=0.5, steps=(2e-3, 1e-3), **more):
    errors = []
    for h in steps:
        r = run(form, h, T, **more)
        errors.append(np.abs(np.array([r.q[2, -1], r.u[2, -1], r.la[0, -1]]) - reference(T)))
    return np.log2(np.array(errors[-2]) / np.array(errors[-1]))


def transient(form, **more):
    """Order of the largest residual on acceleration level in the first twenty steps, apart from its smooth part."""
    sizes = []
    for h in (2e-3, 1e-3):
        second = levels(run(form, h, 60 * h, **more))[2][:, 1:]
        sizes.append(np.max(np.abs(np.diff(second, axis=1)[:, :20])))
    return np.log2(sizes[0] / sizes[1])


if __name__ == "__main__":
    rows = []
    for start_from in ("shifted", "zero"):
        g, rate, second = levels(run("PVA", start_from=start_from))
        what = "consistent" if start_from == "shifted" else "disturbed"
        rows.append(
            (
                f"PVA, {what} start: |g|, |g'|, |g''|",
                "machine precision",
                f"{worst(g):.1e}, {worst(rate):.1e}, {worst(second):.1e}",
            )
        )
    g = levels(run("V"))[0]
    rows.append(("V: drift |g| at T = 2", "grows", f"{np.max(np.abs(g[:, -1])):.2e}"))
    for form in (*FORMS, "A"):
        rows.append((f"{form}: order in q, v, lambda", 2, np.round(order(form), 2)))
    rows.append(
        (
            "PVA from v' = a = 0: order",
            "-",
            np.round(order("PVA", steps=(5e-4, 2.5e-4), start_from="zero"), 2),
        )
    )
    rows.append(
        (
            "PVA from v' = a = 0, restarted: order",
            "-",
            np.round(order("PVA", start_from="zero", restart=True), 2),
        )
    )
    for form, paper in (("P", "O(h)"), ("V", "O(h^2)"), ("PV", "O(h^2)")):
        here = ", ".join(
            f"{name} a_0: {transient(form, start_from=name):.2f}" for name in ("shifted", "plain")
        )
        rows.append((f"{form}: order of the transient of g''", paper, here))
    show("sec. 5: pendulum", rows)

    picture, axes = figure(3, 2, size=(10, 8))
    for form in ("P", "V", "PV", "PVA"):
        r = run(form)
        for k, values in enumerate(levels(r)):
            axes[k, 0].plot(r.t[1:], values[0, 1:], lw=0.8, label=form)
            if form != "P" or k < 2:
                axes[k, 1].plot(r.t[1:31], values[0, 1:31], "o", ms=2.5, label=form)
    for k, name in enumerate(("g_1", "dg_1/dt", "d2g_1/dt2")):
        axes[k, 0].set_ylabel(name)
    axes[0, 0].legend(fontsize=7)
    save(picture, "bruls2018_fig2.png", docs=True)
    picture, axes = figure(2, 2, size=(10, 6))
    for form in ("P", "V", "PV", "PVA"):
        r = run(form, start_from="zero")
        for k, values in enumerate((levels(r)[2][0], r.la[0])):
            axes[k, 0].plot(r.t[1:], values[1:], lw=0.8, label=form)
            axes[k, 1].plot(r.t[1:41], values[1:41], "o", ms=2.5, label=form)
    axes[0, 0].set_ylabel("d2g_1/dt2")
    axes[1, 0].set_ylabel("lambda_1")
    axes[0, 0].legend(fontsize=7)
    save(picture, "bruls2018_fig3.png", docs=True)
