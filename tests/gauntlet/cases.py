"""Single systems on which adaptive schemes have gone wrong, each with an independent solution.

A case holds the system as a user writes it, its exact motion (closed form, or the reference solver's), and what else must
hold of a result. `judge_case` gives the same verdicts as the judge of the gauntlet.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from scipy.special import ellipj, ellipk

import nonsmooth as ns
from nonsmooth.errors import NonsmoothError

from .generate import instants, joined
from .judge import MAX_STEPS, Verdict, judge
from .reference import Event, run
from .reference_models import MODELS
from .systems import BELTS, BOX, TWIN


@dataclass(frozen=True)
class Case:
    """A system, its start, and what is known of its motion.

    Attributes
    ----------
    system : callable
        Makes the system.
    exact : callable
        ``exact(t) -> q, u`` with instants by rows.
    events : tuple of Event, or None
        Of the exact motion; None where their instants are not asked for.
    tail : bool
        Whether `events` leaves out slow impacts of an accumulation.
    check : callable
        ``check(result) -> str``: what is wrong beyond states and events, or nothing.
    ends : bool
        Whether the motion exists up to the end of the span; if not, the run has to say so.
    """

    name: str
    system: Callable
    T: float
    q0: tuple
    u0: tuple
    exact: Callable | None = None
    events: tuple | None = ()
    tail: bool = False
    check: Callable = field(default=lambda result: "")
    ends: bool = True


def record(case):
    """The case in the form of the stored systems."""
    t = np.append(instants(case.events or (), case.T), case.T)
    events = None if case.events is None else [(e.t, e.kind, e.law, 0) for e in case.events]
    q, u = case.exact(t)
    return {
        "name": case.name, "model": "case", "T": case.T, "q0": case.q0, "u0": case.u0,
        "reference": {"t": t, "q": q, "u": u, "events": events, "tail": case.tail},
    }  # fmt: skip


def judge_case(case, rtol, **options):
    """Run a case and judge it."""
    known = record(case) if case.exact else None
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            instant = {"t_eval": known["reference"]["t"]} if known else {}
            settings = {"rtol": rtol, "max_steps": MAX_STEPS, **instant, **options}
            found = ns.simulate(case.system(), (0.0, case.T), case.q0, case.u0, **settings)
        except NonsmoothError as exc:
            found = exc
    if known is None and isinstance(found, NonsmoothError):
        return judge({"name": case.name}, rtol, found)
    if known is None:
        why = case.check(found) if case.ends else "ended with success where no motion exists"
        return Verdict(case.name, rtol, "wrong" if why else "within", why, steps=found.nsteps)
    verdict = judge(known, rtol, found, [w.category for w in heard])
    why = "" if isinstance(found, NonsmoothError) else case.check(found)
    if why and verdict.kind == "within":
        verdict.kind, verdict.why = "wrong", why
    return verdict


# -- a surface of varying speed, sticking ---------------------------------------------------------------------------------


@lru_cache
def _belt_events():
    params = {**BELTS, "kA": 20.0, "v0": 0.2, "v1": 0.3, "wv": 5.0, "L0": 2.943, "L1": 2.943}
    model = MODELS["belts"](params, [], [])
    return model, tuple(e for e in run(model, (0.0, 1.0), [0, 0], [0, 0]).events if e.law == "first")


def belt_states(t):
    model, _ = _belt_events()
    found = run(model, (0.0, 1.0), [0, 0], [0, 0], [s for s in t if s < 1.0])
    return np.array(found.q)[: len(t), :1], np.array(found.u)[: len(t), :1]


def belt_force(t, q, u):
    return np.array([-20.0 * q[0]])


def along(t, q):
    return np.array([1.0])


def belt_speed(t, q):
    return -(0.2 + 0.3 * np.sin(5.0 * t))


def varying_belt():
    element = ns.FrictionElement(along, 2.943, belt_speed, name="first")
    return Case(
        "varying belt",
        lambda: ns.MechanicalSystem(1.0, belt_force, friction=[element]),
        1.0, (0.0,), (0.0,), belt_states, _belt_events()[1],
    )  # fmt: skip


# -- the shipped problems with a reference --------------------------------------------------------------------------------


def rod():
    """Five events, no more: sticking needs 0.18 of the normal force with friction 0.3."""
    problem = ns.problems.rod_rough_plane()
    model = MODELS["box"]({**BOX, "d": 0.0, "l": 0.5, "J": 0.25 / 3}, [0, 0], [0.3, 0.3])

    def exact(t):
        found = run(model, (0.0, 1.0), problem.q0, problem.u0, [s for s in t if s < 1.0])
        return np.array(found.q), np.array(found.u)

    wanted = tuple(Event(e.t, e.kind, e.name) for e in problem.reference.events[:4])

    def check(result):
        early = [e for e in result.events if 0.01 < e.t < 0.45]
        return "" if len(early) <= 5 else f"{len(early)} events before t = 0.45 instead of 4"

    # which of the two ends sticks last is nobody's business: the last event is left to the states
    return Case(
        "rod on rough ground", lambda: problem.system, 0.46, tuple(problem.q0), tuple(problem.u0),
        lambda t: tuple(x[: len(t)] for x in exact(t)), wanted, check=check,
    )  # fmt: skip


@lru_cache
def _slider_crank():
    return ns.problems.slider_crank_clearance()  # one system for all spans: compiled once


def slider_crank(T):
    """Both corners hit together, wherever the span ends: the slider must not turn."""
    problem = _slider_crank()

    def check(result):
        turn = np.abs(result.u[2]).max()
        return "" if turn <= 1e-6 else f"the slider turns with {turn:.2g} rad/s"

    return Case(
        f"slider-crank to {T:.6g}",
        lambda: problem.system,
        T,
        tuple(problem.q0),
        tuple(problem.u0),
        check=check,
    )


# -- starts from rest -----------------------------------------------------------------------------------------------------


def cancelling_force(t, q, u):
    return np.array([-q[0], 0.1 * q[0] + 0.2 * q[0] - 0.3 * q[0]])


def cancelling():
    """A force of rounding size on one coordinate must not set the step."""

    def exact(t):
        zero = np.zeros_like(t)
        return np.column_stack([np.cos(t), zero]), np.column_stack([-np.sin(t), zero])

    def check(result):
        return "" if result.nsteps <= 200 else f"{result.nsteps} steps for a cosine"

    return Case(
        "cancelling force",
        lambda: ns.MechanicalSystem(np.eye(2), cancelling_force),
        5.0,
        (1.0, 0.0),
        (0.0, 0.0),
        exact,
        check=check,
    )


LENGTHS = (0.5, 1.0, 1.5, 2.0)
ANGLES = (0.3, -0.7, 1.1, 2.0)


def pendula_mass(t, q, p):
    return np.diag(p.l * p.l)


def pendula_force(t, q, u, p):
    return -9.81 * p.l * np.sin(q)


def four_pendula():
    """Free pendula let go at rest; Jacobi's elliptic functions."""

    def exact(t):
        q, u = [], []
        for length, start in zip(LENGTHS, ANGLES):
            k, omega = np.sin(0.5 * start), np.sqrt(9.81 / length)
            sn, cn, _, _ = ellipj(ellipk(k * k) - omega * t, k * k)
            q.append(2 * np.arcsin(k * sn))
            u.append(-2 * k * omega * cn)
        return np.array(q).T, np.array(u).T

    params = {"l": np.array(LENGTHS)}
    return Case(
        "four pendula",
        lambda: ns.MechanicalSystem(pendula_mass, pendula_force, params=params),
        2.0,
        ANGLES,
        (0.0,) * 4,
        exact,
    )


def box_mass(t, q):
    return np.diag(np.array([1.0, 1.0, 0.1]))


def box_weight(t, q, u):
    return np.array([0.0, -9.81, 0.0])


def box_corners(t, q):
    s, c = 0.5 * np.sin(q[2]), 0.2 * np.cos(q[2])
    return np.array([q[1] - s - c, q[1] + s - c])


def box_slip(t, q):
    s, c = 0.5 * np.sin(q[2]), 0.2 * np.cos(q[2])
    return np.array([[1.0, 1.0], [0.0, 0.0], [s + c, c - s]])


def resting_box():
    """A box at rest on two corners."""
    ground = ns.Contact(
        box_corners, restitution=[0.3] * 2, friction=[0.3] * 2, tangent=box_slip, name=("left", "right")
    )

    def exact(t):
        return np.tile([0.0, 0.2, 0.0], (t.size, 1)), np.zeros((t.size, 3))

    return Case(
        "resting box",
        lambda: ns.MechanicalSystem(box_mass, box_weight, [ground]),
        1.0,
        (0.0, 0.2, 0.0),
        (0.0,) * 3,
        exact,
    )


# -- accumulation of two contacts with friction ---------------------------------------------------------------------------


def twin_force(t, q, u):
    return np.array([-9.81, -9.81, 0.0])


def twin_gaps(t, q):
    return np.array([q[1], q[0]])


def twin_tangents(t, q):
    return np.array([[1.0, 0.0], [0.0, 1.0], [0.1, -0.1]])


def twin():
    """Both masses hit at once, their impacts accumulate together, friction couples them."""
    q0, u0, T = (0.5, 0.5, 0.0), (0.0, 0.0, 3.0), 1.2
    model = MODELS["twin"](TWIN, [0.5, 0.5], [0.3, 0.3])
    events = joined(run(model, (0.0, T), q0, u0).events)
    fast = [e for e in events if e.kind != "impact" or e.speed > 0.03]

    def exact(t):
        found = run(model, (0.0, T), q0, u0, [s for s in t if s < T])
        return np.array(found.q), np.array(found.u)

    ground = ns.Contact(
        twin_gaps, restitution=[0.5] * 2, friction=[0.3] * 2, tangent=twin_tangents, name=("first", "second")
    )
    return Case(
        "twin accumulation",
        lambda: ns.MechanicalSystem(np.eye(3), twin_force, [ground]),
        T,
        q0,
        u0,
        exact,
        tuple(fast),
        True,
    )


# -- near-grazing ---------------------------------------------------------------------------------------------------------


def spring(t, q, u):
    return np.array([-q[0]])


def stop(t, q, p):
    return p.w - q[0]


def grazing(depth):
    """q'' = -q meets a wall at 1 - depth with velocity sqrt(2 depth): hit, touch or miss, never a stall."""
    wall = 1.0 - depth
    speed = np.sqrt(max(2 * depth - depth**2, 0.0))
    hit = np.arcsin(wall) if depth > 0 else np.inf
    e = 0.8

    def exact(t):
        late = t > hit
        tau = np.where(late, t - min(hit, 1e300), 0.0)
        q = np.where(late, wall * np.cos(tau) - e * speed * np.sin(tau), np.sin(t))
        u = np.where(late, -wall * np.sin(tau) - e * speed * np.cos(tau), np.cos(t))
        return q[:, None], u[:, None]

    contact = ns.Contact(stop, restitution=e, name="wall")
    # the instant of so slow an impact is uncertain by the root of the tolerance: only states are asked for
    return Case(
        f"grazing by {depth:g}",
        lambda: ns.MechanicalSystem(1.0, spring, [contact], params={"w": wall}),
        3.0,
        (0.0,),
        (1.0,),
        exact,
        None,
    )


# -- discontinuities nobody declared --------------------------------------------------------------------------------------


def stepped(t, q, u):
    return np.array([1.0 if t < 0.377 else -2.0])


def undeclared_jump():
    def exact(t):
        first, second = np.minimum(t, 0.377), np.maximum(t - 0.377, 0.0)
        u = first - 2.0 * second
        q = 0.5 * first**2 + 0.377 * second - second**2
        return q[:, None], u[:, None]

    return Case("undeclared jump", lambda: ns.MechanicalSystem(1.0, stepped), 1.0, (0.0,), (0.0,), exact)


def singular(t, q, u):
    return np.array([1.0 / (0.25 - t) ** 3])


def pole():
    return Case("pole", lambda: ns.MechanicalSystem(1.0, singular), 0.5, (0.0,), (0.0,), ends=False)


def cases():
    """All cases, the slider-crank with a few of its span ends."""
    return [
        varying_belt(), rod(), *(slider_crank(T) for T in np.linspace(0.0076, 0.0084, 33)[::8]), cancelling(), four_pendula(),
        resting_box(), twin(), *(grazing(d) for d in (1e-4, 1e-8, 1e-10, 1e-12, 0.0, -1e-10)), undeclared_jump(), pole(),
    ]  # fmt: skip
