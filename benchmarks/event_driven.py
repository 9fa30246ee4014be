"""What `event-driven` claims, printed: instants beside references, and CPU seconds per second of motion.

Run ``python benchmarks/event_driven.py``. References: `ns.problems`, ``tests/data/problems/bouncing_pendulum.json``.
"""

import json
import time
import warnings
from pathlib import Path

import numpy as np

import nonsmooth as ns
from nonsmooth.problems.three_mass import SWITCHING

DATA = Path(__file__).parents[1] / "tests" / "data" / "problems" / "bouncing_pendulum.json"


def apart(found, wanted):
    """Number of instants, and the largest distance of one from the nearest wanted (tails of accumulations are cut where they are)."""
    wanted = np.asarray(wanted)
    distance = max((float(np.min(np.abs(wanted - t))) for t in found), default=0.0)
    return f"{len(found)} | {wanted.size}, largest difference {distance:.2e}"


def instants(problem, rtol, **options):
    """Events of a problem beside its reference, up to the end of the run."""
    run = problem.simulate(method=ns.EventDriven(rtol=rtol), audit=False, **options)
    wanted = [event.t for event in problem.reference.events if event.t <= run.t[-1]]
    found = [event.t for event in run.events if event.kind not in ("zeno", "breakpoint")]
    return run, apart(found, wanted)


def woodpecker():
    for start in ("consistent", "literal"):
        toy = ns.problems.woodpecker(start=start)
        print(
            f"woodpecker, {start}, rtol 1e-10: events here | reference {instants(toy, 1e-10)[1]} (wanted 1e-9)"
        )
    toy = ns.problems.woodpecker(start="consistent")
    section = ("stick", "lower sleeve friction")
    orbit = ns.find_periodic_orbit(toy.system, (toy.q0, toy.u0), section, drift=[0], transient=2)
    print(f"  period {orbit.period:.14f} | 0.14597606514375 (wanted 1e-10), multipliers {orbit.multipliers}")
    for rtol in (1e-6, 1e-8):
        method = ns.EventDriven(rtol=rtol)
        toy.simulate(method=method, audit=False)
        begin = time.process_time()
        for _ in range(20):
            run = toy.simulate(method=method, audit=False)
        used = (time.process_time() - begin) / 20 / (run.t[-1] - run.t[0])
        print(f"  rtol {rtol:g}: {instants(toy, rtol)[1]}; {1e3 * used:.1f} ms of CPU per second of motion")
    print("  (wanted: 20 ms for instants to 1e-8)")


def pendulum():
    system = ns.MechanicalSystem(
        1.1,
        lambda t, q, u, p: np.array([p.g * np.cos(q[0])]),
        ns.Contact(lambda t, q: np.cos(q[0]) - np.sqrt(0.5), restitution=lambda p: p.e, name="wall"),
        params={"g": 10.0, "e": 0.8},
    )
    for case in json.loads(DATA.read_text()):
        if case["e"] > 0.85:
            continue
        g = 10.0 if case["gravity"] == "+y" else -10.0
        run = ns.simulate(
            system.with_params(g=g, e=case["e"]), (0, 1.05 * case["accumulation"]), [np.pi / 12], [0.0], rtol=1e-11, audit=False
        )  # fmt: skip
        found = [event.t for event in run.events.of("impact")][: len(case["impacts"])]
        closing = run.events.of("close")
        rest = f"{closing[0].t - case['accumulation']:.1e}" if len(closing) else "none"
        print(
            f"bouncing pendulum, gravity {case['gravity']}, e = {case['e']}: impacts {apart(found, case['impacts'])} (wanted 1e-9), "
            f"accumulation {rest} (wanted 1e-6)"
        )


def three_masses():
    def force(t, q, u):
        return np.array([
            -q[0] + (q[1] - q[0]) - u[0],
            (q[0] - q[1]) + (q[2] - q[1]) - u[1],
            (q[1] - q[2]) - u[2] + 10.0 * np.cos(np.pi * t),
        ])  # fmt: skip

    elements = [
        ns.FrictionElement(lambda t, q, k=k: np.eye(3)[k], limit=0.3, name=f"mass {k + 1}") for k in range(3)
    ]
    system = ns.MechanicalSystem(np.eye(3), force, friction=elements)
    run = ns.simulate(system, (0, 10), [-1.0, 1.0, -1.0], [-1.0, 1.0, 1.0], rtol=1e-11, audit=False)
    wanted = [instant for instant, *_ in SWITCHING]
    print(
        f"three masses of Stewart, friction elements: {apart([e.t for e in run.events], wanted)} (wanted 1e-9)"
    )


def rod_and_slider_crank():
    rod, crank = ns.problems.rod_rough_plane(), ns.problems.slider_crank_clearance()
    for rtol in (1e-4, 1e-6, 1e-8, 1e-10):
        run, _ = instants(rod, rtol)
        found = sorted({event.t for event in run.events})
        wanted = [event.t for event in rod.reference.events]
        off = np.max(np.abs(np.array(found) - wanted)) if len(found) == len(wanted) else np.nan
        print(
            f"{rod.name}, rtol {rtol:g}: {len(found)} | {len(wanted)} instants, largest difference {off:.2e}"
        )
    wanted = np.unique([event.t for event in crank.reference.events if event.kind == "impact"])
    for rtol in (1e-4, 1e-6, 1e-8, 1e-10):
        run, _ = instants(crank, rtol)
        corners = [
            [e.t for e in run.events.of("impact") if e.name == f"upper {side}"] for side in ("left", "right")
        ]
        together = sum(a == b for a, b in zip(*corners))
        rest = {kind: run.events.of(kind)[0].t for kind in ("close", "open")}
        print(
            f"{crank.name}, rtol {rtol:g}: {together} of {max(map(len, corners))} impacts strike both corners at once, "
            f"{apart(corners[0], wanted)} (the others are the accumulation, closed at {rest['close']:.10f} | "
            f"{next(e.t for e in crank.reference.events if e.kind == 'close'):.10f}), open at {rest['open']:.10f}"
        )


def stiff():
    """x'' + (1e6 + 1) x' + 1e6 (x + 0.2) = 0 over a stop at x = 0: eigenvalues -1 and -1e6."""
    suspension = ns.MechanicalSystem(
        1.0,
        lambda t, q, u: np.array([-(1e6 + 1.0) * u[0] - 1e6 * (q[0] + 0.2)]),
        ns.Contact(lambda t, q: q[0], restitution=0.3, name="stop"),
    )
    wanted = np.log(6.0 * 1e6 / (1e6 - 1.0))
    steps = {}
    for integrator in ("Radau", "auto", "DOP853"):
        method = ns.EventDriven(integrator=integrator, rtol=1e-6)
        run = ns.simulate(suspension, (0, 4), [1.0], [0.0], method, every=1000, audit=False)
        steps[integrator] = run.nsteps
        off = run.events.of("close")[0].t - wanted
        print(
            f"overdamped suspension, eigenvalue ratio 1e6, {integrator}: {run.nsteps} steps, stop reached {off:+.1e}"
        )
    print(f"  explicit / implicit: {steps['DOP853'] / steps['Radau']:.0f} times the steps (wanted 1000)")


def loop():
    """A motor turns a slider-crank with a rough guide until its piston meets a stop: joints of index 3 on nine coordinates, one call."""
    world = ns.World(gravity=(0, -9.81))
    crank = world.add(ns.Body(mass=0.2, inertia=2e-4, position=(0.05, 0), name="crank"))
    rod = world.add(ns.Body(mass=0.3, inertia=3e-3, position=(0.25, 0), name="rod"))
    piston = world.add(ns.Body(ns.Box(0.08, 0.06), mass=0.4, position=(0.4, 0), name="piston"))
    world.add(
        ns.Revolute(world.ground, crank, (0, 0), name="shaft"),
        ns.Revolute(crank, rod, (0.1, 0), name="crank pin"),
        ns.Revolute(rod, piston, (0.4, 0), name="piston pin"),
        ns.Prismatic(world.ground, piston, axis=(1, 0), friction=2.0, stops=(-0.15, 0.05), name="cylinder"),
        ns.Load(crank, torque=lambda t, q, u: 0.2 * (20.0 - u[2]), name="motor"),
    )
    for integrator in ("DOP853", "Radau"):
        run = ns.simulate(world, (0, 0.5), method=ns.EventDriven(integrator=integrator, rtol=1e-8))
        drift = np.abs(np.hypot(*run["rod"].point((-0.15, 0))) - 0.1).max()
        events = ", ".join(f"{event.kind} {event.name!r} {event.t:.9f}" for event in run.events)
        print(
            f"slider-crank with joints, stops and friction, {integrator}: {run.nsteps} steps, {events}; crank pin "
            f"off its circle {drift:.1e}, end known to {float(run.error_estimate):.1e}, audit {'ok' if run.audit.ok else 'NOT ok'}"
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for part in (woodpecker, pendulum, three_masses, rod_and_slider_crank, stiff, loop):
        part()
