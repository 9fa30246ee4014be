"""Bruls, Acary, Cardona 2018, sec. 6.1: bouncing rigid pendulum, Figs 5-8.

Gravity +y and e = 0.8, which the paper does not print; h = 1e-3, rho = 0.9.

Instants of impacts are of first order with a factor that depends on where in its step an impact falls: it acts at the end of the step, with
the velocity at its begin. `by_the_rule` applies this to exact flights and foretells the errors of the scheme; `fitted_orders` shows
how much nine steps can say about an order then: the largest of three errors says least, all three errors together most. Telling another
instant of the step, also the one at which the flight meets the wall, does not help (`told_elsewhere`): what comes late is the state. Steps
that follow a tolerance become short where an impact happens, and know its instant.
"""

import numpy as np
from _table import figure, save, show
from scipy.integrate import solve_ivp

import nonsmooth as ns

J, X = 0.1, np.sqrt(0.5)


#: Gravity and restitution with tabulated impacts; all fit the figures of the paper in some way.
CASES = [(-10.0, e) for e in (0.5, 0.6, 0.7, 0.8, 0.9)] + [(10.0, e) for e in (0.6, 0.8)]


def rod(t, q):
    return np.array([q[0] - np.cos(q[2]), q[1] - np.sin(q[2])])


def rod_jacobian(t, q):
    return np.array([[1.0, 0.0, np.sin(q[2])], [0.0, 1.0, -np.cos(q[2])]])


def gap(t, q):
    return q[0] - np.sqrt(0.5)


def system(e=0.8, gravity=10.0, unit=1.0):
    """The pendulum with its wall; masses in `unit` kg."""
    return ns.MechanicalSystem(
        unit * np.diag([1.0, 1.0, J]),
        unit * np.array([0.0, gravity, 0.0]),
        joints=[ns.Joint(rod, jacobian=rod_jacobian)],
        contacts=[ns.Contact(gap, restitution=e)],
    )


SYSTEM = system()


def run(form="PVA", h=1e-3, T=4.0, model=SYSTEM, **more):
    """A run with steps of length `h`, or controlled by `rtol`."""
    c, s = np.cos(np.pi / 12), np.sin(np.pi / 12)
    more = {"rho_inf": 0.9, **({} if "rtol" in more else {"dt": h}), **more}
    method = ns.GeneralizedAlpha(constraints=form, **more)
    return ns.simulate(model, (0, T), [c, s, np.pi / 12], [0.0, 0.0, 0.0], method=method, audit=False)


def flight(t, y, s, end=10.0):
    """The reduced motion until it meets the wall."""
    f = lambda t, y: [y[1], s * 10 * np.cos(y[0]) / (1 + J)]  # noqa: E731
    hit = lambda t, y: np.cos(y[0]) - X  # noqa: E731
    hit.terminal, hit.direction = True, -1
    return solve_ivp(f, (t, end), y, events=hit, rtol=1e-12, atol=1e-13, method="DOP853", dense_output=True)


def exact_impacts(n, e=0.8, s=1.0):
    """Instants of the first impacts of the reduced equation."""
    t, y, found = 0.0, [np.pi / 12, 0.0], []
    for _ in range(n):
        piece = flight(t, y, s)
        t, y = piece.t[-1], [piece.y[0, -1], -e * piece.y[1, -1]]
        found.append(t)
    return np.array(found)


def by_the_rule(n, h, e=0.8, s=1.0):
    """The same with impacts that act at the end of their step, on the wall, with the velocity at the begin of the step; instants where the
    flight before meets the wall (inside the step), and where the impact acts (its end)."""
    t, y, inside, ends = 0.0, [np.pi / 12, 0.0], [], []
    for _ in range(n):
        piece = flight(t, y, s)
        hit = piece.t[-1]
        k = np.floor(hit / h)
        rate = lambda y: -np.sin(y[0]) * y[1]  # noqa: E731
        wall = piece.y[0, -1]
        t, y = (k + 1) * h, [wall, e * rate(piece.sol(k * h)) / np.sin(wall)]
        inside.append(hit)
        ends.append(t)
    return np.array(inside), np.array(ends)


def told_elsewhere(steps, exact):
    """Errors of instants told at the end of the step an impact falls into, in its middle, at its begin, inside it."""
    inside, ends = np.swapaxes([by_the_rule(len(exact), h) for h in steps], 0, 1) - exact
    h = steps[:, None]
    return {"end": ends, "middle": ends - 0.5 * h, "begin": ends - h, "inside": inside}


def impacts(r, n=3):
    """Ends of the steps in which the first impacts happen."""
    return r.t[1:][(r.P_N[0, 1:] > 0.0) & (r.P_N[0, :-1] == 0.0)][:n]


def fitted_orders(steps, errors, fit, nine=9):
    """Orders fitted to every family of nine of these geometrically spaced steps that reaches over the decade; to all steps."""
    apart = (len(steps) - 1) // (nine - 1)
    families = np.array([fit(steps[k::apart], errors[k::apart]) for k in range(apart)])
    return families, fit(steps, errors)


def fit(steps, errors):
    """Order fitted to one error of each step."""
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]


def fit_all(steps, errors):
    """One order for all impacts, each with a factor of its own: the mean of their orders."""
    return np.mean([fit(steps, each) for each in errors.T])


def fit_largest(steps, errors):
    return fit(steps, np.max(errors, axis=1))


def fit_mean(steps, errors):
    return fit(steps, np.mean(errors, axis=1))


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
    for label, steps in (
        ("equally", np.linspace(4e-4, 4e-3, 9)),
        ("geometrically", np.geomspace(4e-4, 4e-3, 9)),
    ):
        signed = np.array([impacts(run(h=h, T=1.6)) - exact for h in steps])
        told = told_elsewhere(steps, exact)
        errors = np.abs(signed)
        rows += [
            (f"impacts 1-3, nine steps {label} spaced: largest error / h", "-", f"{np.max(errors / steps[:, None]):.2f}"),
            ("  order fitted to all 27 errors; to the means of three; to the largest of three", "-",
             "; ".join(f"{how(steps, errors):.2f}" for how in (fit_all, fit_mean, fit_largest))),
            ("  largest difference to what phases foretell, in h", "-", f"{np.max(np.abs(signed - told['end']) / steps[:, None]):.2f}"),
            ("  order fitted to the largest of three, instants told at the " + ", ".join(told) + " of the step", "-",
             ", ".join(f"{fit_largest(steps, np.abs(e)):.2f}" for e in told.values())),
            ("  largest error / h of these", "-", ", ".join(f"{np.max(np.abs(e) / steps[:, None]):.2f}" for e in told.values())),
        ]  # fmt: skip
    steps = np.geomspace(4e-4, 4e-3, 201)
    errors = np.array([np.abs(impacts(run(h=h, T=1.6)) - exact) for h in steps])
    size = np.max(errors, axis=1) / steps
    rows.append(("201 steps: largest error / h from, to", "-", f"{np.min(size):.2f}, {np.max(size):.2f}"))
    for label, how in (("all errors", fit_all), ("largest of three", fit_largest)):
        nine, every = fitted_orders(steps, errors, how)
        rows.append((f"  order by {label}: 201 steps; 25 families of nine: from, mean, to; below 0.75", "-",
                     f"{every:.2f}; {nine.min():.2f}, {nine.mean():.2f}, {nine.max():.2f}; {np.sum(nine < 0.75)}"))  # fmt: skip
    for rtol in (1e-4, 1e-5, 1e-6, 1e-7):
        r = run(T=1.6, rtol=rtol)
        rows.append((f"rtol = {rtol:g} instead of h: steps, largest error of impacts 1-3", "-",
                     f"{r.nsteps}, {np.max(np.abs(impacts(r) - exact)):.1e} s"))  # fmt: skip
    for gravity, e in CASES:
        first, r = exact_impacts(3, e, np.sign(gravity)), run(T=4.0, model=system(e, gravity))
        others = [run(T=4.0, model=system(e, gravity, unit)) for unit in (1e-6, 1e-3, 1e3, 1e6)]
        apart = max(np.max(np.abs(o.q - r.q)) for o in others)
        rows.append(
            (f"gravity {gravity:+.0f} y, e = {e}: impacts 1-3 in h; iterations, masses x 1e-6 ... 1e6 (as r); motion apart", "-",
             f"{np.max(np.abs(impacts(r) - first)) / 1e-3:.2f}; {max(o.newton.max() for o in (r, *others)):.0f}; {apart:.1e}")
        )  # fmt: skip
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
    hits = np.flatnonzero(np.diff(literal.P_N[0] > 0.0) & (literal.P_N[0, 1:] > 0.0))[:3] + 1
    rows += [
        ("PVA as printed: closure, last step before it", "later than PVV", f"{closure(literal):.3f} s, {closure(literal) - 1e-3:.3f} s"),
        ("  lambda~_1 in the steps of impacts 1-3, one step before", "-",
         f"{np.round(literal.la[1, hits], 1)}, {np.round(literal.la[1, hits - 1], 1)}"),
        ("  largest rise of energy; iterations at most", "-", f"{np.max(np.diff(energy(literal))):.1e} J; {literal.newton.max():.0f}"),
    ]  # fmt: skip
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
    save(picture, "bruls2018_fig5_to_8.png", docs=True)
