"""Draw the pictures of the theory pages and the flow chart of methods (``python docs/make_pictures.py [NAME ...]``).

Writes docs/img/theory_*.png and docs/img/choose.svg. Every picture is computed by the library.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

import nonsmooth as ns

IMG = Path(__file__).parent / "img"
BLUE, RED, GREY = "#1f5fa8", "#c23b22", "#8a8a8a"


def panels(*shape, size=(9.0, 3.4)):
    picture = Figure(figsize=size, dpi=90, layout="constrained")
    FigureCanvasAgg(picture)
    return picture, picture.subplots(*shape)


def moreau():
    """One step on a time axis; order through impacts."""
    picture, (step, order) = panels(1, 2)
    step.axhline(0, color="k", lw=0.8)
    t = np.linspace(0.0, 1.0, 200)
    exact = np.where(t < 0.62, 0.62 - t, 0.6 * (t - 0.62))
    step.plot(t, exact, color=GREY, lw=1, label="exact gap")
    step.plot([0, 0.5], [0.62, 0.12], color=BLUE, ls="--", lw=1)
    step.plot([0, 1], [0.62, 0.62 - 1.0], color=BLUE, lw=1.5, marker="o", label="this step: no impact yet")
    step.annotate("g(q_M) > 0:\nopen", (0.5, 0.12), (0.55, 0.4), arrowprops={"arrowstyle": "->"}, fontsize=9)
    step.plot([1, 2], [-0.38, -0.38 + 0.6], color=RED, lw=1.5, marker="o", label="next step: impact")
    step.set(
        xticks=[0, 0.5, 1, 2],
        xticklabels=["$t_B$", "$t_M$", "$t_E$", ""],
        ylabel="gap",
        title="contacts act if they are closed at the midpoint",
    )
    step.legend(fontsize=8)
    problem = ns.problems.acary_ball()
    steps = 0.1 / 2.0 ** np.arange(8)
    errors = []
    for dt in steps:
        run = ns.simulate(problem.system, (0, 4), problem.q0, problem.u0, dt=dt, audit=False)
        errors.append(4 * np.mean(np.abs(run.q[0] - problem.reference.q(run.t)[0])))
    order.loglog(steps, errors, "o-", color=BLUE, label="ball through its accumulation point")
    order.loglog(steps, errors[-1] * steps / steps[-1], "--", color=GREY, label="order 1")
    order.set(xlabel="step", ylabel="error of q in the mean", title="order 1 through infinitely many impacts")
    order.legend(fontsize=8)
    return picture


def event_driven():
    """Steps of a run between events, and the phases of a rod."""
    picture, (phases, sizes) = panels(2, 1, size=(9.0, 4.2))
    problem = ns.problems.woodpecker()
    run = problem.simulate((0, 0.16), method=ns.EventDriven(rtol=1e-6))
    phases.plot(run.t, run.q[2], ".-", color=BLUE, ms=3, lw=1)
    for event in run.events:
        phases.axvline(event.t, color=RED if event.kind == "impact" else GREY, lw=0.6)
    phases.set(
        ylabel="angle of the bird",
        title=f"woodpecker at rtol 1e-6: {run.nsteps} steps, {len(run.events)} events (red: impacts)",
    )
    sizes.semilogy(run.t[1:], np.maximum(run.dt[1:], 1e-12), ".", color=BLUE, ms=3)
    sizes.set(xlabel="t", ylabel="step", ylim=(1e-6, None))
    return picture


def ivp():
    """A switch: modes are locked in a step, its zero is located, the step is taken again."""
    picture, (motion, switch) = panels(1, 2)
    run = ns.solve_ivp(
        lambda t, y, mode: [y[1], -y[0] - 0.3 * mode[0]],
        (0, 12),
        [3.0, 0.0],
        switches=[ns.Switch(lambda t, y: y[1], name="friction")],
        on_chatter="filippov",
        rtol=1e-8,
        dense_output=True,
    )
    t = np.linspace(0, 12, 800)
    motion.plot(*run.sol(t), color=BLUE, lw=1.2)
    at = np.array([event.t for event in run.events])
    motion.plot(*run.sol(at), "o", color=RED, ms=4)
    motion.set(xlabel="position", ylabel="velocity", title="dry friction: every crossing located")
    switch.plot(t, run.sol(t)[1], color=BLUE, lw=1.2, label="g = velocity")
    switch.plot(t, 0.3 * np.sign(run.sol(t)[1]), color=GREY, lw=1, label="mode (scaled)")
    switch.plot(at, 0 * at, "o", color=RED, ms=4, label="events")
    switch.set(xlabel="t", title="modes are locked during a step")
    switch.legend(fontsize=8)
    return picture


def filippov():
    """Crossing and sliding of x' = 1.5 cos t - sgn x."""
    picture, axes = panels(size=(7.0, 3.4))
    system = ns.FilippovSystem(
        lambda t, x: np.array([1.5 * np.cos(t)]), [ns.sign_term(-1.0, [1.0], [1.0], name="relay")]
    )
    run = ns.solve_filippov(system, (0, 13), [0.3], rtol=1e-9, t_eval=np.linspace(0, 13, 900))
    t, x = np.meshgrid(np.linspace(0, 13, 27), np.linspace(-0.6, 0.6, 13))
    rate = 1.5 * np.cos(t) - np.sign(x)
    length = np.hypot(1.0, rate)
    axes.quiver(t, x, 1 / length, rate / length, color="0.8", angles="xy", scale=45, width=2e-3)
    axes.plot(run.t, run.y[0], color=BLUE, lw=1.6)
    for event in run.events:
        axes.plot(event.t, 0, "o", color=RED, ms=4)
    axes.set(
        xlabel="t",
        ylabel="x",
        title="x' = 1.5 cos t - sgn x: crossing, sliding, leaving",
    )
    return picture


def contact():
    """Convex sets and their projections: half-line, interval, Coulomb's section."""
    picture, (line, cone) = panels(1, 2)
    x = np.linspace(-2, 2, 300)
    line.plot(x, np.maximum(x, 0), color=BLUE, label="half-line: contact")
    line.plot(x, np.clip(x, -1, 1), color=RED, label="interval: friction with a limit")
    line.set(xlabel="P - r xi", ylabel="P", title="P = prox(P - r xi)")
    line.legend(fontsize=8)
    mu = 0.6
    cone.add_patch(Polygon([(0, 0), (2 * mu, 2), (-2 * mu, 2)], color=BLUE, alpha=0.15))
    cone.plot([0, 2 * mu], [0, 2], [0, -2 * mu], [0, 2], color=BLUE)
    cone.plot([-mu, mu], [1, 1], color=RED, lw=2)
    cone.annotate(
        r"section $|P_T| \leq \mu P_N$", (0.1, 1), (-0.9, 1.5), arrowprops={"arrowstyle": "->"}, fontsize=9
    )
    for start in ((1.1, 1.0), (-1.0, 1.0)):
        end = (np.clip(start[0], -mu, mu), 1.0)
        cone.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": GREY})
    cone.set(xlabel="$P_T$", ylabel="$P_N$", title="Coulomb: slip at the edge, stick inside")
    return picture


def theta():
    """What theta does to energy, and what the projection does to a joint."""
    picture, (energy, drift) = panels(1, 2)
    spring = ns.MechanicalSystem(1.0, lambda t, q, u: np.array([-400.0 * q[0]]))
    for theta, colour in ((0.5, BLUE), (0.55, GREY), (1.0, RED)):
        run = ns.simulate(spring, (0, 3), [1.0], [0.0], method=ns.Theta(dt=0.02, theta=theta), audit=False)
        energy.plot(
            run.t, (run.u[0] ** 2 + 400 * run.q[0] ** 2) / 400, color=colour, label=rf"$\theta$ = {theta}"
        )
    energy.set(xlabel="t", ylabel="energy / energy at the start", title="stiff spring, 15 steps per period")
    energy.legend(fontsize=8)
    pendulum = ns.MechanicalSystem(
        np.eye(2), [0.0, -9.81], joints=ns.Joint(lambda t, q: q[0] ** 2 + q[1] ** 2 - 1.0)
    )
    for projection, colour in ((None, RED), ("direct", BLUE)):
        method = ns.Theta(dt=0.01, projection=projection)
        run = ns.simulate(pendulum, (0, 5), [1.0, 0.0], [0.0, 0.0], method=method, audit=False)
        error = np.abs(np.hypot(*run.q) - 1.0)
        drift.semilogy(
            run.t[1:], np.maximum(error[1:], 1e-17), color=colour, label=f"projection={projection!r}"
        )
    drift.set(xlabel="t", ylabel="error of the length", title="pendulum held at velocity level, dt = 0.01")
    drift.legend(fontsize=8)
    return picture


def adaptive_steps():
    """Steps of a bouncing ball: long in flight, short at impacts."""
    picture, (motion, sizes) = panels(2, 1, size=(9.0, 4.2))
    problem = ns.problems.acary_ball()
    run = ns.simulate(problem.system, (0, 4), problem.q0, problem.u0, method=ns.AdaptiveMoreau(tol=1e-4))
    motion.plot(run.t, run.q[0], ".-", color=BLUE, ms=3, lw=0.8)
    motion.set(ylabel="height", title=f"ball through its accumulation point: {run.nsteps} steps, tol 1e-4")
    sizes.semilogy(run.t[1:], run.dt[1:], ".", color=BLUE, ms=3)
    sizes.set(xlabel="t", ylabel="step")
    return picture


def event_capturing():
    """Error over step of an impact oscillator for methods of order 2 to 6."""
    picture, axes = panels(size=(7.0, 3.8))
    problem = ns.problems.acary_oscillator()
    steps = 0.2 / 2.0 ** np.arange(6)
    for name, order in (("lobatto2", 2), ("radau3", 3), ("lobatto4", 4), ("radau5", 5), ("lobatto6", 6)):
        errors = []
        for dt in steps:
            method = ns.EventCapturing(name, dt=dt, critical=1e-5)
            run = ns.simulate(problem.system, (0, 5), problem.q0, problem.u0, method=method, audit=False)
            errors.append(np.abs(run.q[:, -1] - problem.reference.q(run.t[-1:])[:, 0]).max())
        axes.loglog(steps, np.maximum(errors, 1e-16), "o-", ms=4, label=f"{name}, order {order}")
    axes.set(xlabel="step", ylabel="error of q at t = 5", title="impacts on the way, full order")
    axes.legend(fontsize=8)
    return picture


def generalized_alpha():
    """Damping of a step over frequency, and constraints under three forms."""
    picture, (damping, levels) = panels(1, 2)
    frequencies = np.logspace(-2, 3, 200)
    for rho, colour in ((1.0, GREY), (0.8, BLUE), (0.5, RED)):
        radius = [spectral_radius(ns.GeneralizedAlpha(dt=1.0, rho_inf=rho).weights(), w) for w in frequencies]
        damping.semilogx(frequencies, radius, color=colour, label=rf"$\rho_\infty$ = {rho}")
    damping.set(xlabel=r"$\omega h$", ylabel="factor in a step", title="only high frequencies are damped")
    damping.legend(fontsize=8)
    pendulum = ns.MechanicalSystem(
        np.eye(2), [0.0, -9.81], joints=ns.Joint(lambda t, q: q[0] ** 2 + q[1] ** 2 - 1.0)
    )
    for form, colour in (("A", RED), ("V", GREY), ("PVA", BLUE)):
        method = ns.GeneralizedAlpha(constraints=form, rho_inf=0.9, dt=0.01)
        run = ns.simulate(pendulum, (0, 4), [1.0, 0.0], [0.0, 0.0], method=method, audit=False)
        error = np.abs(np.hypot(*run.q) - 1.0)[1:]
        levels.semilogy(run.t[1:], np.maximum(error, 1e-17), color=colour, label=f"{form!r}")
    levels.set(xlabel="t", ylabel="error of the length", title="a pendulum under three forms, dt = 0.01")
    levels.legend(fontsize=8)
    return picture


def spectral_radius(weights, w):
    """Largest factor by which a step of x'' = -w^2 x (step 1) multiplies (x, v, a)."""
    am, af, gamma, beta = weights
    # unknowns x_1, v_1, a_1, x''_1 over x_0, v_0, a_0, x''_0: eqs. (60), (61)
    new = np.array([[1, 0, -beta, 0], [0, 1, -gamma, 0], [0, 0, 1 - am, -(1 - af)], [w**2, 0, 0, 1.0]])
    old = np.array([[1, 1, 0.5 - beta, 0], [0, 1, 1 - gamma, 0], [0, 0, -am, af], [0, 0, 0, 0.0]])
    return np.abs(np.linalg.eigvals(np.linalg.solve(new, old))).max()


def dae():
    """The pendulum as an equation of index 3: motion, constraint, multiplier."""
    picture, (motion, rest) = panels(1, 2)
    run = ns.solve_dae(
        lambda t, y, z: np.array([y[2], y[3], -z[0] * y[0], -z[0] * y[1] - 9.81]),
        lambda t, y: y[0] ** 2 + y[1] ** 2 - 1.0,
        (0, 4),
        [1.0, 0.0, 0.0, 0.0],
        rtol=1e-8,
    )
    motion.plot(run.t, run.y[0], color=BLUE, label="x")
    motion.plot(run.t, run.y[1], color=GREY, label="y")
    motion.plot(run.t, run.z[0] / 30, color=RED, label="z / 30")
    motion.set(xlabel="t", title="pendulum of index 3 with its multiplier")
    motion.legend(fontsize=8)
    error = np.abs(run.y[0] ** 2 + run.y[1] ** 2 - 1.0)
    rate = np.abs(run.y[0] * run.y[2] + run.y[1] * run.y[3])
    rest.semilogy(run.t, np.maximum(error, 1e-18), ".", color=BLUE, ms=3, label="g")
    rest.semilogy(run.t, np.maximum(rate, 1e-18), ".", color=RED, ms=3, label="dg/dt / 2")
    rest.set(xlabel="t", ylim=(1e-18, 1e-10), title="constraint and its rate after each step")
    rest.legend(fontsize=8)
    return picture


# -- the flow chart ----------------------------------------------------------------------------------------------------

QUESTIONS = [
    ("Is there time in it?", "no", "solve_contact, solve_lcp"),
    (
        "Contacts, impacts or friction between bodies?",
        "no",
        "solve_ivp with switches; solve_filippov if it slides",
    ),
    ("An accuracy to reach, or instants to know?", "yes", "simulate(..., rtol=...)"),
    ("Stiff springs or dampers?", "yes", 'simulate(..., method="theta", dt=...)'),
    ("Joints or contacts that must not drift?", "yes", 'Moreau(dt=..., projection="direct")'),
]
LAST = "simulate(..., dt=...): Moreau"


def choose():
    """The flow chart, as a drawing made of text and lines."""
    width, row, left, right = 760, 74, 20, 420
    height = row * len(QUESTIONS) + 70
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="14">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>',
    ]

    def box(x, y, w, text, fill):
        parts.append(f'<rect x="{x}" y="{y}" width="{w}" height="40" rx="6" fill="{fill}" stroke="#555"/>')
        parts.append(f'<text x="{x + w / 2}" y="{y + 25}" text-anchor="middle">{text}</text>')

    def arrow(x1, y1, x2, y2, text, dx, dy):
        parts.append(f'<path d="M{x1} {y1}L{x2} {y2}" stroke="#555" marker-end="url(#tip)"/>')
        parts.append(f'<text x="{x1 + dx}" y="{y1 + dy}" fill="#555">{text}</text>')

    for k, (question, answer, leads) in enumerate(QUESTIONS):
        y = 15 + k * row
        box(left, y, 330, question, "#eef3fa")
        box(right, y, 320, leads.replace('"', "&quot;"), "#fdf3e7")
        arrow(left + 330, y + 20, right, y + 20, answer, 24, -5)
        arrow(left + 165, y + 40, left + 165, y + row, "yes" if answer == "no" else "no", 8, 22)
    box(left, 15 + len(QUESTIONS) * row, 330, LAST, "#fdf3e7")
    parts.append("</svg>")
    (IMG / "choose.svg").write_text("\n".join(parts) + "\n", encoding="utf-8")


PICTURES = {
    "moreau": moreau,
    "event_driven": event_driven,
    "ivp": ivp,
    "filippov": filippov,
    "contact": contact,
    "theta": theta,
    "adaptive_steps": adaptive_steps,
    "event_capturing": event_capturing,
    "generalized_alpha": generalized_alpha,
    "dae": dae,
}


def main(names):
    choose()
    for name in names or PICTURES:
        PICTURES[name]().savefig(IMG / f"theory_{name}.png", pil_kwargs={"optimize": True})
        print(f"docs/img/theory_{name}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
