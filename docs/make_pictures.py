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
}


def main(names):
    choose()
    for name in names or PICTURES:
        PICTURES[name]().savefig(IMG / f"theory_{name}.png", pil_kwargs={"optimize": True})
        print(f"docs/img/theory_{name}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
