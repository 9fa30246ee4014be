"""Bruls, Acary, Cardona 2018, sec. 6.1: bouncing rigid pendulum, Figs 5-8.

Gravity +y and e = 0.8, which the paper does not print; h = 1e-3, rho = 0.9.
"""

import numpy as np
from _table import figure, save, show
from scipy.integrate import solve_ivp

import nonsmooth as ns

J, X = 0.1, np.sqrt(0.5)


def system(e=0.8, gravity=10.0):
    joint = ns.Joint(
        lambda t, q: np.array([q[0] - np.cos(q[2]), q[1] - np.sin(q[2])]),
        jacobian=lambda t, q: np.array([[1.0, 0.0, np.sin(q[2])], [0.0, 1.0, -np.cos(q[2])]]),
    )
    wall = ns.Contact(lambda t, q: q[0] - np.sqrt(0.5), restitution=e)
    return ns.MechanicalSystem(
        np.diag([1.0, 1.0, J]), np.array([0.0, gravity, 0.0]), joints=[joint], contacts=[wall]
    )


SYSTEM = system()


def run(form="PVA", h=1e-3, T=4.0, model=SYSTEM, **more):
    c, s = np.cos(np.pi / 12), np.sin(np.pi / 12)
    method = ns.GeneralizedAlpha(constraints=form, dt=h, **{"rho_inf": 0.9, **more})
    return ns.simulate(model, (0, T), [c, s, np.pi / 12], [0.0, 0.0, 0.0], method=method, audit=False)


def exact_impacts(n, e=0.8, s=1.0):
    """Instants of the first impacts of the reduced equation."""
    f = lambda t, y: [y[1], s * 10 * np.cos(y[0]) / (1 + J)]  # noqa: E731
    hit = lambda t, y: np.cos(y[0]) - X  # noqa: E731
    hit.terminal, hit.direction = True, -1
    t, y, found = 0.0, [np.pi / 12, 0.0], []
    for _ in range(n):
        piece = solve_ivp(f, (t, 10), y, events=hit, rtol=1e-12, atol=1e-13, method="DOP853")
        t, y = piece.t[-1], [piece.y[0, -1], -e * piece.y[1, -1]]
        found.append(t)
    return np.array(found)


def closure(r):
    """From when on the contact stays closed."""
    opened = np.flatnonzero(r.P_N[0] == 0.0)
    return r.t[opened[-1] + 1] if opened[-1] + 1 < r.t.size else np.nan


def energy(r):
    return 0.5 * (r.u[0] ** 2 + r.u[1] ** 2 + J * r.u[2] ** 2) - 10.0 * r.q[1]


def roughness(r, after=3, until=60):
    """Largest second difference of lambda~ of the joint from the third step after an impact on, before the next one."""
    hits, worst = np.flatnonzero((r.P_N[0, 1:] > 0.0) & (r.P_N[0, :-1] == 0.0)) + 1, 0.0
    la = r.la[1]
    for k in hits[:3]:
        worst = max(worst, float(np.max(np.abs(np.diff(la[k + after : k + until], 2)))))
    return worst


if __name__ == "__main__":
    exact, rows = exact_impacts(3), []
    steps = np.linspace(4e-4, 4e-3, 9)
    errors = []
    for h in steps:
        r = run(h=h, T=2.6)
        hits = r.t[1:][(r.P_N[0, 1:] > 0.0) & (r.P_N[0, :-1] == 0.0)][:3]
        errors.append(np.abs(hits - exact))
    errors = np.array(errors)
    rows.append(("impacts 1-3, largest error / h, nine steps", "-", f"{np.max(errors / steps[:, None]):.2f}"))
    rows.append(
        (
            "fitted order of their instants",
            "-",
            np.round(np.polyfit(np.log(steps), np.log(errors.max(axis=1)), 1)[0], 2),
        )
    )
    runs = {(form, rho): run(form, rho_inf=rho) for form in ("PVA", "PVV") for rho in (0.9, 1.0)}
    for (form, rho), r in runs.items():
        k = np.searchsorted(r.t, closure(r))
        g = max(
            np.max(np.abs(r.q[0] - np.cos(r.q[2]))),
            np.max(np.abs(r.q[1] - np.sin(r.q[2]))),
            -np.min(r.q[0] - X),
        )
        rate = np.max(np.abs([r.u[0] + np.sin(r.q[2]) * r.u[2], r.u[1] - np.cos(r.q[2]) * r.u[2]]))
        rows += [
            (f"{form}, rho = {rho}: second difference of lambda~_1", "smooth" if form == "PVA" else "oscillates", f"{roughness(r):.1e}"),
            ("  closure", "before 4 s", f"{closure(r):.3f} s"),
            ("  largest rise of energy in a step", "-", f"{np.max(np.diff(energy(r))):.1e} J"),
            ("  |W| 80 steps after closure; |U|, |W|, |Lambda| at 4 s", "0" if form == "PVA" else "not 0",
             f"{np.max(np.abs(r.W[:, min(k + 80, r.t.size - 1)])):.1e}; "
             + ", ".join(f"{np.max(np.abs(x[:, -1])):.1e}" for x in (r.U, r.W, r.La))),
            ("  |g|, |g'|", "0", f"{g:.1e}, {rate:.1e}"),
        ]  # fmt: skip
    literal = run(smooth_set="literal")
    rows.append(
        (
            "PVA as printed: closure, largest rise of energy",
            "later than PVV",
            f"{closure(literal):.3f} s, {np.max(np.diff(energy(literal))):.1e} J",
        )
    )
    show("sec. 6.1: bouncing pendulum", rows)

    a, v = runs["PVA", 0.9], runs["PVV", 0.9]
    picture, axes = figure(3, 2, size=(10, 9))
    for r, name in ((v, "PVV"), (a, "PVA")):
        axes[0, 0].plot(r.t, r.q[0] - X, lw=0.8, label=name)
        axes[0, 1].plot(r.t, r.u[0], lw=0.8)
        axes[1, 0].plot(r.t[1:], r.la[1, 1:], lw=0.8)
        zoom = slice(340, 420)
        axes[1, 1].plot(r.t[zoom], r.la[1, zoom], ".", ms=3)
        axes[2, 0].plot(r.t[1:], np.max(np.abs(r.W[:, 1:]), axis=0), lw=0.8)
    for (form, rho), r in runs.items():
        if rho == 1.0:
            axes[2, 1].plot(r.t[1:], r.la[1, 1:], lw=0.6, label=f"{form}, rho = 1")
    for axis, name in zip(
        axes.ravel(), ("g_3", "dg_3/dt", "lambda~_1", "lambda~_1, first impact", "|W|", "lambda~_1")
    ):
        axis.set_ylabel(name)
    axes[2, 0].set_yscale("log")
    axes[0, 0].legend(fontsize=7)
    axes[2, 1].legend(fontsize=7)
    save(picture, "bruls2018_fig5_to_8.png")
