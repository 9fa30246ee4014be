"""Compere 2001, chapters 2 and 3: tables 3.1-3.3 and figures of the sliding-mode solution of index-3 equations.

Integrators behind the tables: Kutta's of order 3, Fehlberg 4(5) and 7(8) with the higher weights; t_final of Table 3.3 is 8 s, reached by
adding up steps: 160 times 0.05 is a rounding less than 8, so there is one step more (only RK-8, h = 0.05 shows it: -12 % without).
"""

import warnings

import numpy as np
from _table import figure, save, show

import nonsmooth as ns
from nonsmooth import problems

ORDERS = {"RK-3": "RK3", "RK-5": "RKF45", "RK-8": "RKF78"}
STEPS = (0.05, 0.01, 0.005, 0.001)
TABLE_1 = [
    [1.8e-1, 1.4e-4, 5.3e-11],
    [1.4e-3, 4.5e-8, 5.7e-14],
    [1.8e-4, 1.4e-9, 5.7e-14],
    [1.4e-6, 5.1e-13, 1.4e-13],
]
TABLE_2 = [
    [2.0e-1, 2.8e-4, 4.4e-8],
    [1.8e-3, 8.9e-8, 1.7e-13],
    [2.3e-4, 2.8e-9, 8.5e-14],
    [1.8e-6, 9.7e-13, 1.4e-13],
]
TABLE_3 = [
    [6.0e-7, 3.3e-10, 2.3e-14],
    [4.6e-9, 9.2e-14, 2.4e-17],
    [5.7e-10, 2.8e-15, 2.3e-17],
    [4.6e-12, 6.2e-17, 6.6e-17],
]
PENDULUM, SPHERES, THROWN = (
    problems.compere_pendulum(), problems.rolling_spheres(), problems.rolling_spheres(consistent=False)
)  # fmt: skip
ODE = ns.MechanicalSystem(
    12.0, lambda t, q, u: np.array([-36.0 * 9.81 * 0.5 * np.sin(q[0])])
)  # m l^2/3 theta'' = -m g l/2 sin(theta)


def energy(problem, result):
    """Energy along a run."""
    model = problem.system.bind(0.0, problem.q0, problem.u0)
    return np.array(
        [
            0.5 * u @ model.mass_matrix(0, q) @ u + model.potential_energy(0, q)
            for q, u in zip(result.q.T, result.u.T)
        ]
    )


def surfaces(problem, result, sigma=10.0):
    """Phi_h and S along a run."""
    model = problem.system.bind(0.0, problem.q0, problem.u0)
    pairs = [model.joint_residuals(t, q, u) for t, q, u in zip(result.t, result.q.T, result.u.T)]
    Phi, S = np.array([a for a, _ in pairs]), np.array([b for _, b in pairs])
    S[:, : Phi.shape[1]] += sigma * Phi
    return Phi, S


def summed_span(t_final, dt):
    """Where ``while t < t_final: t = t + dt`` ends, in steps of dt from zero."""
    t, steps = 0.0, 0
    while t < t_final:
        t, steps = t + dt, steps + 1
    return 0.0, steps * dt


def ode_run(integrator, dt):
    """The pendulum as one equation."""
    return ns.simulate(
        ODE, (0, 5), [np.pi / 9], [1.0], ns.SlidingMode(integrator=integrator, dt=dt), audit=False
    )


def ode_energy(result):
    return 6.0 * result.u[0] ** 2 - 36.0 * 9.81 * 0.5 * np.cos(result.q[0])


def table(title, printed, run, measured):
    """A table of energy variations, paper | here."""
    rows = []
    for k, dt in enumerate(STEPS):
        for j, (name, integrator) in enumerate(ORDERS.items()):
            value, wanted = np.ptp(measured(run(integrator, dt))), printed[k][j]
            off = (
                f"{100 * (value / wanted - 1):+.0f} %"
                if wanted > 4e-13 or (printed is TABLE_3 and wanted > 1e-15)
                else "rounding"
            )
            rows.append((f"h = {dt}, {name}", f"{wanted:.1e}", f"{value:.3e}  {off}"))
    show(title, rows)


def tables():
    table("Table 3.1: pendulum, one equation, Delta E in J (wanted: 15 %)", TABLE_1, ode_run, ode_energy)
    worst = []

    def dae(integrator, dt):
        result = PENDULUM.simulate(method=ns.SlidingMode(integrator=integrator, dt=dt), audit=False)
        worst.append([np.abs(x).max() for x in surfaces(PENDULUM, result)])
        return result

    table(
        "Table 3.2: pendulum, index 3, Delta E in J (wanted: 15 %)",
        TABLE_2,
        dae,
        lambda result: energy(PENDULUM, result),
    )
    Phi, S = np.max(worst, axis=0)
    show(
        "Constraints in the runs of Table 3.2",
        [
            ("max |Phi_h| (wanted: 1e-14)", "O(1e-16)", f"{Phi:.1e}"),
            ("max |S| (wanted: 1e-14)", "O(1e-16)", f"{S:.1e}"),
        ],
    )
    for positions in ("printed", "holonomic"):
        table(
            f"Table 3.3: rolling spheres, positions by {'Phi as printed' if positions == 'printed' else 'Phi_h only'}, Delta E in J "
            f"(wanted: {'5 %' if positions == 'printed' else '10 %, RK-8 20 %'})",
            TABLE_3,
            lambda integrator, dt, form=positions: SPHERES.simulate(
                summed_span(8.0, dt),
                method=ns.SlidingMode(integrator=integrator, dt=dt, positions=form),
                audit=False,
            ),
            lambda result: energy(SPHERES, result),
        )


def single_figures():
    rows = []
    for dt in (0.001, 0.005, 0.01):
        scheme = ns.SlidingMode(integrator="RKF78", dt=dt)
        dae, ode = PENDULUM.simulate(method=scheme, audit=False), ode_run("RKF78", dt)
        apart = np.abs(dae.q[2] - ode.q[0]).max()
        rows.append((f"ODE and DAE, RK-8, h = {dt} (wanted: 1e-13)", "O(1e-12)", f"{apart:.1e}"))
    wrong = PENDULUM.simulate(
        (0, 10), method=ns.SlidingMode(integrator="RKF78", dt=0.01, acceleration=None), audit=False
    )
    rows.append(
        (
            "Fig. 3.8: Delta E without acceleration level (13.6 +- 0.5)",
            "13.8 J",
            f"{np.ptp(energy(PENDULUM, wrong)):.2f} J",
        )
    )
    for name, integrator, steps in (("RK-3", "RK3", (0.1, 0.05)), ("RK-5", "RKF45", (0.2, 0.1))):
        left = []
        for dt in steps:
            once = ns.SlidingMode(integrator=integrator, dt=dt, passes=1, bound=1e9)
            left.append(
                np.abs(surfaces(PENDULUM, PENDULUM.simulate((0, 2), method=once, audit=False))[0]).max()
            )
        order = ns.SlidingMode(integrator=integrator, dt=1.0).order
        rows.append(
            (
                f"one pass, {name}: order of Phi_h (+- 0.6)",
                f"2 (p + 1) = {2 * (order + 1)}",
                f"{np.log2(left[0] / left[1]):.2f}",
            )
        )
    forms = [
        PENDULUM.simulate(method=ns.SlidingMode(dt=0.01, acceleration=form), audit=False).y
        for form in ("equivalent", "newton")
    ]
    rows.append(
        ("both forms of sec. 3.4.2 differ by", "identical", f"{np.abs(forms[0] - forms[1]).max():.1e}")
    )
    run = SPHERES.simulate(method=ns.SlidingMode(integrator="RKF78", dt=0.01), audit=False)
    rows.append(
        (
            "spheres, consistent start, 20 s: Delta E (wanted: 1e-12)",
            "constant",
            f"{np.ptp(energy(SPHERES, run)):.1e}",
        )
    )
    show("Single figures", rows)
    return dae, ode, wrong


def long_run():
    """1e6 steps: constraints do not drift, the adjustment follows the energy."""
    rows = []
    for integrator, dt in (("RKF45", 0.05), ("RKF78", 0.01)):
        run = PENDULUM.simulate(
            (0, 1e6 * dt), method=ns.SlidingMode(integrator=integrator, dt=dt), every=100, audit=False
        )
        Phi, S = (np.abs(x).max() for x in surfaces(PENDULUM, run))
        E = energy(PENDULUM, run) + 36.0 * 9.81 * 0.5
        first, last = run.residual[1:1001].max(), run.residual[-1000:].max()
        rows += [
            (f"{integrator}, h = {dt}: max |Phi_h|, |S| (1e-14)", "-", f"{Phi:.1e}, {S:.1e}"),
            (f"{integrator}, h = {dt}: energy above the lowest point", "-", f"{E[0]:.4f} J -> {E[-1]:.4f} J"),
            (
                f"{integrator}, h = {dt}: largest adjustment, first and last tenth",
                "grows",
                f"{first:.2e}, {last:.2e}",
            ),
        ]
    show("1e6 steps of the pendulum", rows)


def reaching():
    eta = np.array([0.5, 0.05, 0.05])
    run = THROWN.simulate((0, 8), method=ns.SlidingMode(dt=0.01, eta=eta), audit=False)
    _, S = surfaces(THROWN, run)
    rows = []
    for event in run.events:
        wanted = abs(S[0, event.law]) / eta[event.law]
        rows.append(
            (
                f"{event.name} reached at (wanted: 1e-8)",
                f"|s(0)|/eta = {wanted:.9f}",
                f"{event.t:.9f}, {event.t - wanted:+.1e}",
            )
        )
    late = run.t >= max(event.t for event in run.events) + 3.0
    rows.append(
        (
            "t_reach + 30/sigma on: |Phi_h| (wanted: 1e-13)",
            "1e-16",
            f"{np.abs(run.q[0, late] - 0.6).max():.1e}",
        )
    )
    rows.append(
        (
            "t_reach + 30/sigma on: Delta E (wanted: 1e-11)",
            "constant",
            f"{np.ptp(energy(THROWN, run)[late]):.1e}",
        )
    )
    show("Spheres, inconsistent start (eta are not printed: 0.5, 0.05, 0.05)", rows)
    return run, S


def controls():
    """What chapters 2 and 3 warn of, beside post-stabilisation: the pendulum, RK-3, h = 0.01, 5 s."""
    others = {
        "post-stabilisation": {},
        "none": {"stabilisation": None},
        "eta sgn(S) kept on": {"stabilisation": "switching", "eta": 0.5},
        "boundary layer": {"stabilisation": "boundary-layer", "eta": 0.5, "layer": 0.05},
        "Baumgarte": {"stabilisation": "baumgarte", "alpha": 5.0, "beta": 5.0},
        "stiff springs": {"stabilisation": "springs", "stiffness": 2e4, "damping": 500.0},
    }
    rows, (picture, axis) = [], figure(1, 1, size=(6, 3.5))
    for name, options in others.items():
        run = PENDULUM.simulate(method=ns.SlidingMode(integrator="RK3", dt=0.01, **options), audit=False)
        worst = np.abs(np.hstack(surfaces(PENDULUM, run))).max(axis=1)
        change = np.ptp(energy(PENDULUM, run))
        rows.append(
            (
                name,
                "O(1e-16)" if not options else "constraint dynamics",
                f"{worst.max():.1e}, Delta E {change:.1e} J",
            )
        )
        axis.semilogy(run.t, np.maximum(worst, 1e-18), label=name, linewidth=0.8)
    axis.set(xlabel="t", ylabel="max(|Phi|, |S|)", title="Chapters 2, 3: what keeps constraints")
    axis.legend(fontsize=6)
    save(picture, "compere2001_controls.png")
    show("What keeps the constraints: max(|Phi_h|, |S|)", rows)


def traces(dae, ode):
    """Figs 3.5, 3.7: the pendulum as one equation and as index 3."""
    picture, axes = figure(1, 2, size=(9, 3))
    axes[0].plot(ode.t, ode.q[0], color="tab:green")
    axes[0].set(title="Fig. 3.5: one equation", xlabel="t", ylabel="theta")
    axes[1].plot(dae.t, dae.q.T, label=["x", "y", "theta"])
    axes[1].set(title="Fig. 3.7: index 3", xlabel="t", ylabel="q", ylim=(-0.5, 0.8))
    axes[1].legend(ncols=3, loc="upper center", fontsize=8)
    save(picture, "compere2001_fig3_5_3_7.png", docs=True)


def adjustments(dae, wrong):
    """Figs 3.3, 3.8: an adjustment beyond the uncertainty of a step, and the wrong motion it makes."""
    picture, axes = figure(1, 2, size=(9, 3))
    axes[0].plot(wrong.t, wrong.q.T, label=["x", "y", "theta"])
    axes[0].set(title="Fig. 3.8: frozen input, wrong motion", xlabel="t", ylabel="q", ylim=(-0.5, 0.8))
    axes[0].legend(ncols=3, loc="upper center", fontsize=8)
    axes[1].semilogy(wrong.t[1:], wrong.residual[1:], label="frozen input")
    axes[1].semilogy(dae.t[1:], np.maximum(dae.residual[1:], 1e-17), label="equivalent control")
    axes[1].axhline(0.01**7, color="k", linewidth=0.8, linestyle=":", label="bound, h^(p-1)")
    axes[1].legend(fontsize=8)
    axes[1].set(title="Fig. 3.3: adjustment of a step", xlabel="t", ylabel="|x - x_bar|", xlim=(0, 5))
    save(picture, "compere2001_fig3_3_3_8.png", docs=True)


def spheres(thrown):
    """Figs 3.10, 3.11: coordinates, velocities, constraints and energy from a consistent and an inconsistent start."""
    run = SPHERES.simulate((0, 8), method=ns.SlidingMode(integrator="RKF78", dt=0.01), audit=False)
    for number, problem, shown in (("10", SPHERES, run), ("11", THROWN, thrown)):
        Phi, S = surfaces(problem, shown)
        E = energy(problem, shown)
        picture, axes = figure(2, 2, size=(9, 5))
        axes[0, 0].plot(shown.t, shown.q.T, label=problem.coordinates)
        axes[0, 0].legend(fontsize=6, ncols=2, loc="upper left")
        axes[0, 1].plot(shown.t, shown.u.T)
        axes[1, 0].plot(
            shown.t, np.hstack([Phi, S[:, 1:]]), linewidth=0.8, label=["Phi_h", "Phi_n1", "Phi_n2"]
        )
        axes[1, 0].legend(fontsize=6)
        axes[1, 1].plot(shown.t, 1e3 * E)
        axes[1, 1].set_ylim(1e3 * E.min() - 0.5, 1e3 * E.max() + 0.5)
        axes[1, 1].ticklabel_format(useOffset=False)
        names = ("q", "u", "constraints", f"energy in mJ, at the end {1e3 * E[-1]:.6f}")
        for axis, title in zip(axes.flat, names):
            axis.set(title=title, xlabel="t")
        picture.suptitle(f"Fig. 3.{number}: {'consistent' if problem is SPHERES else 'inconsistent'} start")
        save(picture, f"compere2001_fig3_{number}.png", docs=True)


def reaching_pictures(thrown, S):
    """Figs 2.1, 3.12: which means holds a surface when; Figs 3.1, 3.2: the two phases in the plane of output and rate."""
    names = ["s_h", "s_n1", "s_n2"]
    reached = {event.law: event.t for event in thrown.events}
    picture, axes = figure(1, 3, size=(11, 3.2))
    for k in range(3):
        axes[0].barh(k, reached[k], color="tab:orange", label="u_eq - eta sgn(s)" if k == 0 else None)
        axes[0].barh(
            k,
            3.0 - reached[k],
            left=reached[k],
            color="tab:blue",
            label="u_eq, post-stabilised" if k == 0 else None,
        )
    axes[0].set(
        title="Fig. 2.1: what holds a surface", xlabel="t", xlim=(0, 3), ylim=(-0.5, 3.4), yticks=range(3)
    )
    axes[0].set_yticklabels(names)
    axes[0].legend(fontsize=7, ncols=2, loc="upper center")
    axes[1].plot(thrown.t, S, label=names)
    for t in reached.values():
        axes[1].axvline(t, color="k", linewidth=0.5, linestyle=":")
    axes[1].set(title="Fig. 3.12: reaching, then held", xlabel="t", xlim=(0, 3))
    axes[1].legend(fontsize=7)
    for eta, color in ((0.5, "tab:blue"), (2.0, "tab:green"), (5.0, "tab:red")):
        run = THROWN.simulate((0, 4), method=ns.SlidingMode(dt=0.01, eta=[eta, 0.05, 0.05]), audit=False)
        axes[2].plot(run.q[0] - 0.6, run.u[0], color=color, label=f"eta = {eta:g}")
    axes[2].plot([0, 0.1], [0, -1.0], "k:", label="s = 0")
    axes[2].set(
        title="Figs 3.1, 3.2: to the surface, along it",
        xlabel="Phi_h",
        ylabel="d Phi_h/dt",
        ylim=(-0.5, 0.05),
    )
    axes[2].legend(fontsize=7)
    save(picture, "compere2001_fig3_12.png", docs=True)


def pictures(dae, ode, wrong, thrown, S):
    traces(dae, ode)
    adjustments(dae, wrong)
    spheres(thrown)
    reaching_pictures(thrown, S)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    tables()
    found = single_figures()
    controls()
    long_run()
    pictures(*found, *reaching())
