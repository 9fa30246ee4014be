"""Random systems on which schemes are held against each other: six families, parameters and starts drawn from a seed.

Only systems with margins are kept (`margins`): no grazing, no weak impact, no second solution, no event beside another or beside the end,
and neighbouring starts that stay neighbours.
"""

from __future__ import annotations

import warnings

import numpy as np

import nonsmooth as ns
from nonsmooth.errors import DegenerateWarning, GrazingWarning, NonUniqueWarning

APART = 2e-3  # of the span, between events and before the end
SPEED = 0.03  # of the largest speed, an impact has at least
GAP = 0.02  # of the largest gap, that one has left where it turns without closing
GROWTH = 100.0  # of a change of the start


def walls(U, rng):
    """Two masses on a line between walls, and with each other."""

    def force(t, q, u, p):
        f = p.k * (q[1] - q[0] - 1.0) + p.c * (u[1] - u[0])
        return np.array([f - p.k1 * q[0] + p.a * np.cos(p.w * t), -f - p.k1 * (q[1] - 1.0)])

    stops = ns.Contact(
        lambda t, q, p: np.array([q[0] + p.l, p.l + 1.0 - q[1], q[1] - q[0] - 0.3]),
        U(0.2, 0.8),
        name="stop",
        size=3,
    )
    values = dict(
        m1=U(0.5, 2), m2=U(0.5, 2), k=U(2, 20), c=U(0, 0.4), k1=U(1, 10), a=U(0, 6), w=U(1, 6), l=U(0.3, 0.8)
    )
    mass = lambda t, q, p: np.array([[p.m1, 0.0], [0.0, p.m2]])  # noqa: E731
    return (
        ns.MechanicalSystem(mass, force, stops, params=values),
        [U(-0.2, 0.2), U(0.8, 1.2)],
        [U(-3, 3), U(-3, 3)],
    )


def block(U, rng):
    """A block on a rough floor that runs, thrown against a wall, on a spring."""

    def force(t, q, u, p):
        return np.array([-p.k * q[0] + p.a * np.cos(p.w * t), -p.m * p.g])

    along = lambda t, q: np.array([1.0, 0.0])  # noqa: E731
    floor = ns.Contact(
        lambda t, q: q[1],
        rng.choice([0.0, U(0.1, 0.4)]),
        U(0.1, 0.6),
        along,
        surface_velocity=lambda t, q, p: -p.v,
        name="floor",
    )
    wall = ns.Contact(lambda t, q, p: p.l - q[0], U(0.2, 0.8), name="wall")
    values = dict(m=U(0.5, 2), k=U(2, 20), a=U(0, 6), w=U(1, 5), g=U(5, 12), v=U(-1, 1), l=U(0.3, 0.9))
    mass = lambda t, q, p: np.array([[p.m, 0.0], [0.0, p.m]])  # noqa: E731
    return (
        ns.MechanicalSystem(mass, force, [floor, wall], params=values),
        [U(-0.2, 0.2), U(0.05, 0.4)],
        [U(-2, 2), U(-1, 1)],
    )


def belts(U, rng):
    """Two masses on belts of their own."""

    def force(t, q, u, p):
        f = p.k * (q[1] - q[0])
        return np.array([f - p.k1 * q[0], -f - p.k1 * q[1] + p.a * np.cos(p.w * t)])

    elements = [
        ns.FrictionElement(lambda t, q: np.array([1.0, 0.0]), U(0.5, 2), lambda t, q, p: -p.v0, name="first"),
        ns.FrictionElement(
            lambda t, q: np.array([0.0, 1.0]), U(0.5, 2), lambda t, q, p: -p.v1, name="second"
        ),
    ]
    values = dict(k=U(1, 10), k1=U(1, 10), a=U(0, 6), w=U(1, 5), v0=U(-1, 1), v1=U(-1, 1))
    return (
        ns.MechanicalSystem(np.diag([U(0.5, 2), U(0.5, 2)]), force, friction=elements, params=values),
        [U(-1, 1), U(-1, 1)],
        [U(-2, 2), U(-2, 2)],
    )


def pendulum(U, rng):
    """A double pendulum whose lower end strikes a rough wall: a mass matrix that turns, a curved gap."""

    def mass(t, q, p):
        c = np.cos(q[0] - q[1])
        return np.array([[p.m1 + p.m2, p.m2 * c], [p.m2 * c, p.m2]])

    def force(t, q, u, p):
        s = p.m2 * np.sin(q[0] - q[1])
        g1, g2 = (p.m1 + p.m2) * p.g * np.sin(q[0]), p.m2 * p.g * np.sin(q[1])
        return np.array([-s * u[1] ** 2 - g1 - p.c * u[0], s * u[0] ** 2 - g2 - p.c * u[1]])

    wall = ns.Contact(
        lambda t, q, p: p.l - np.sin(q[0]) - np.sin(q[1]), U(0.1, 0.7), U(0.0, 0.3), lambda t, q: np.array([-np.sin(q[0]), -np.sin(q[1])]),
        name="wall",
    )  # fmt: skip
    values = dict(m1=U(0.5, 2), m2=U(0.5, 2), g=U(5, 12), c=U(0, 0.3), l=U(0.3, 0.8))
    return (
        ns.MechanicalSystem(mass, force, wall, params=values),
        [U(-0.8, 0.0), U(-0.8, 0.0)],
        [U(-1, 1), U(-1, 1)],
    )


def puck(U, rng):
    """A puck on a rough table (friction in two directions), held by springs, that strikes an edge."""

    def force(t, q, u, p):
        return np.array([-p.k * q[0] + p.a * np.cos(p.w * t), -p.k2 * q[1]])

    table = ns.FrictionElement(lambda t, q: np.eye(2), U(0.2, 1.0), name="table")
    edge = ns.Contact(lambda t, q, p: p.l - q[0], U(0.2, 0.8), name="edge")
    values = dict(k=U(2, 15), k2=U(2, 15), a=U(1, 5), w=U(1, 4), l=U(0.2, 0.8))
    return (
        ns.MechanicalSystem(np.eye(2) * U(0.5, 2), force, edge, friction=[table], params=values),
        [U(-1, 0.1), U(-1, 1)],
        [U(-2, 2), U(-2, 2)],
    )


def jointed(U, rng):
    """A rod on a joint, in the coordinates of its centre, that strikes a rough wall."""

    def force(t, q, u, p):
        return np.array([0.0, -p.m * p.g, -p.c * u[2]])

    pivot = ns.Joint(
        lambda t, q, p: np.array([q[0] - p.r * np.sin(q[2]), q[1] + p.r * np.cos(q[2])]), name="pivot"
    )
    wall = ns.Contact(
        lambda t, q, p: p.l - q[0] - p.r * np.sin(q[2]), U(0.1, 0.8), U(0.0, 0.3), lambda t, q, p: np.array([0.0, 1.0, p.r * np.sin(q[2])]),
        name="wall",
    )  # fmt: skip
    r, a, w = U(0.3, 0.7), U(-1.5, -0.3), U(-2, 2)
    values = dict(m=U(0.5, 2), g=U(5, 12), c=U(0, 0.2), r=r, l=U(0.1, 0.4))
    mass = lambda t, q, p: np.diag(np.array([p.m, p.m, p.m * p.r**2 / 3]))  # noqa: E731
    start = [r * np.sin(a), -r * np.cos(a), a], [r * np.cos(a) * w, r * np.sin(a) * w, w]
    return ns.MechanicalSystem(mass, force, wall, joints=[pivot], params=values), *start


FAMILIES = (walls, block, belts, pendulum, puck, jointed)


def draw(family, seed):
    """System, span and start."""
    rng = np.random.default_rng([seed, FAMILIES.index(family)])
    system, q0, u0 = family(rng.uniform, rng)
    return system, (0.0, float(rng.uniform(1.5, 2.5))), q0, u0


def reference(system, span, q0, u0):
    """A run by `event-driven`, and whether it was warned of."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        run = ns.simulate(system, span, q0, u0, method=ns.EventDriven(rtol=1e-10), audit=False)
    return run, any(
        issubclass(w.category, GrazingWarning | NonUniqueWarning | DegenerateWarning) for w in heard
    )


def margins(system, span, q0, u0) -> str:
    """Why a system is left out; empty if it has its margins."""
    run, warned = reference(system, span, q0, u0)
    if warned:
        return "warned of"
    if not len(run.events):
        return "nothing happens"
    length = span[1] - span[0]
    resting = {event.name for event in run.events if event.kind in ("zeno", "close")}
    lasting = [e for e in run.events if not (e.kind == "impact" and e.name in resting)]
    instants = sorted({0.0, length, *(event.t for event in lasting)})
    if (
        np.min(np.diff([t for k, t in enumerate(instants) if k == 0 or t - instants[k - 1] > 1e-9]))
        < APART * length
    ):
        return "events beside each other"
    model = run._model
    gaps = np.array([model.gaps(t, q) for t, q in zip(run.t, run.q.T)])
    rates = np.array([directions_rates(model, t, q, u) for t, q, u in zip(run.t, run.q.T, run.u.T)])
    fastest = np.max(np.abs(run.u))
    for event in run.events.of("impact"):
        if event.name in resting:
            continue
        column = int(np.flatnonzero(run.t >= event.t)[0])
        if abs(rates[column, event.law]) < SPEED * fastest:
            return "a weak impact"
    for k in range(gaps.shape[1]):
        turning = np.flatnonzero((rates[:-1, k] < 0) & (rates[1:, k] >= 0) & (np.diff(run.t) > 0))
        if any(0 < min(gaps[i, k], gaps[i + 1, k]) < GAP * np.max(np.abs(gaps[:, k])) for i in turning):
            return "almost a contact"
    small = 1e-7
    other, _ = reference(
        system.with_params(**{k: v * (1 + small) for k, v in system.params.items() if k not in ("r",)}),
        span,
        q0,
        u0,
    )
    if np.max(np.abs(other.y[:, -1] - run.y[:, -1]) / scale(run)) > GROWTH * small:
        return "neighbours part"
    return ""


def directions_rates(model, t, q, u):
    WT, zeta = model.directions(t, q)
    return (WT @ u + zeta)[: model.laws.n_N]


def scale(run):
    """Largest size of positions and of velocities."""
    n = run.q.shape[0]
    return np.concatenate([np.full(n, np.max(np.abs(run.q))), np.full(run.u.shape[0], np.max(np.abs(run.u)))])


def kept(family, count, first=0):
    """The first `count` systems of a family that have their margins: (seed, system, span, q0, u0)."""
    found, seed = [], first
    while len(found) < count:
        drawn = draw(family, seed)
        if not margins(*drawn):
            found.append((seed, *drawn))
        seed += 1
    return found


# -- agreement -----------------------------------------------------------------------------------------------------------

ROUNDING = 1e-13


def estimates(system, span, q0, u0, steps=20_000):
    """End states and estimates of their errors (relative to the motion) by four schemes: ``{name: (y, estimate)}``."""
    found = {}
    methods = {
        "event-driven": ns.EventDriven(rtol=1e-8),
        "event-capturing": ns.EventCapturing("radau5", rtol=1e-7),
        "extrapolated-moreau": ns.ExtrapolatedMoreau(rtol=1e-6),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, method in methods.items():
            run = ns.simulate(system, span, q0, u0, method=method, audit=False)
            found[name] = run.y[:, -1], float(np.max(run.error_estimate.y / scale(run)))
        dt = (span[1] - span[0]) / steps
        ends = [
            ns.simulate(system, span, q0, u0, method=ns.Moreau(dt=dt * c), audit=False) for c in (4, 2, 1)
        ]
    size = scale(ends[-1])
    apart = [float(np.max(np.abs(a.y[:, -1] - b.y[:, -1]) / size)) for a, b in zip(ends, ends[1:])]
    found["moreau, halved"] = (
        ends[-1].y[:, -1],
        max(apart[0] / 2, apart[1]),
    )  # an error of first order halves with the step
    return found, size


def disagreement(system, span, q0, u0) -> tuple[float, str]:
    """The largest distance of two schemes over the sum of their estimates, and which they are."""
    found, size = estimates(system, span, q0, u0)
    worst, names = 0.0, list(found)
    text = ""
    for i, one in enumerate(names):
        for other in names[i + 1 :]:
            distance = float(np.max(np.abs(found[one][0] - found[other][0]) / size))
            ratio = distance / (found[one][1] + found[other][1] + ROUNDING)
            if ratio > worst:
                worst, text = (
                    ratio,
                    f"{one} and {other}: {distance:.1e} of {found[one][1]:.1e} + {found[other][1]:.1e}",
                )
    return worst, text
