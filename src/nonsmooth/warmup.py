"""Every front door once, with each of its methods, on small problems: what they compile is kept for all later processes.

Used by ``nonsmooth warmup`` (into the user's cache) and by the build of wheels (into the wheel). Methods are taken from the doors' own
tables, kernels are found by running: there is no list of either to keep up to date.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np

# -- the doors -------------------------------------------------------------------------------------------


def mechanics(scheme: str) -> None:
    """A few steps with contacts and friction, with every solver; of a rod on a floor, with joint; of a rotation in space."""
    import nonsmooth as ns
    from nonsmooth import problems
    from nonsmooth.errors import InputError

    options = ns.METHODS[scheme]
    known = {field.name for field in fields(options)} if is_dataclass(options) else set()
    toy = problems.woodpecker()
    carries = getattr(options, "contacts", True)
    rod = ns.MechanicalSystem(
        np.eye(2),
        np.array([0.0, -9.81]),
        joints=[ns.Joint(_length)],
        contacts=[ns.Contact(_above, friction=0.3, tangent=_along)] if carries else [],
        friction=[ns.FrictionElement(_along, 0.1)] if carries else [],
    )
    top = ns.MechanicalSystem(np.eye(3), np.zeros(3), kinematics=_attitude, quaternions=[0])
    dt = toy.dt if "dt" in known else None
    settings: dict[str, Any] = {"method": scheme, "dt": dt, "progress": False}
    # iterative solvers at constant step only: step-size control goes far below what they resolve
    solvers = (ns.Exact(), ns.PSOR(), ns.PJOR(), "newton") if {"solver", "dt"} <= known else (None,)
    for solver in solvers if carries else ():
        choice: dict[str, Any] = {"solver": solver} if solver else {}
        with contextlib.suppress(InputError):  # a scheme need not know every solver
            ns.simulate(
                toy.system, (0.0, 20 * toy.dt), toy.q0, toy.u0, t_eval=[0.0, toy.dt], **settings, **choice
            )
    ns.simulate(rod, (0.0, 20 * toy.dt), [1.0, 0.0], [0.0, 0.0], **settings)
    ns.simulate(top, (0.0, 20 * toy.dt), [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0], **settings)


def bodies(dimension: str) -> None:
    """A world: something falls onto something, hinged to the ground; zeros of a function are looked for."""
    import nonsmooth as ns

    plane = dimension == "plane"
    world = ns.World(gravity=(0, -9.81) if plane else (0, 0, -9.81))
    shape: Any = ns.Box(0.2, 0.2) if plane else ns.Box(0.2, 0.2, 0.2)
    floor: Any = ns.HalfPlane() if plane else ns.Plane()
    places: Any = ((0.0, 0.1), (1.0, 0.5)) if plane else ((0.0, 0.0, 0.1), (1.0, 0.0, 0.5))
    lying, hinged = (
        ns.Body(shape, mass=1.0, position=place, name=name) for name, place in zip(("a", "b"), places)
    )
    world.add(lying, hinged, floor, ns.Distance(world.ground, hinged, 0.5, at_a=places[1][:-1] + (1.0,)))
    ns.simulate(world, (0.0, 0.01), method="moreau", dt=1e-3, events=_later, progress=False)


def smooth(method: str) -> None:
    """An equation without switches, in Python and compiled."""
    import nonsmooth as ns

    for compiled in (False, True):
        ns.solve_ivp(_oscillator, (0.0, 1.0), [1.0, 0.0], method=method, dense_output=True, compile=compiled)


def switched(method: str) -> None:
    """A ball that bounces and a field that changes sign, in Python and compiled."""
    import nonsmooth as ns

    bounce = ns.Switch(_height, kind="unilateral", reset=_bounce)
    change = ns.Switch(_height)
    for compiled in (False, True):
        ns.solve_ivp(
            _fall,
            (0.0, 1.0),
            [0.5, 0.0],
            method=method,
            switches=[bounce],
            t_eval=[0.0, 0.5],
            compile=compiled,
        )
        ns.solve_ivp(
            _bilinear,
            (0.0, 1.0),
            [0.1, -1.0],
            method=method,
            switches=[change],
            dense_output=True,
            compile=compiled,
        )


def sliding(method: str) -> None:
    """Friction that sticks and slips."""
    import nonsmooth as ns

    system = ns.FilippovSystem(_pull, [ns.sign_term(-1.0, [1.0], [1.0])])
    step = {"dt": 0.1} if method.startswith("taubert") else {}
    result = ns.solve_filippov(
        system, (0.0, 10.0), [0.3], method=method, t_eval=[0.0, 5.0], progress=False, **step
    )
    result.audit  # noqa: B018 (made when looked at)


def contact(method: str) -> None:
    """A few contacts in the plane and in space, and so many that sweeps alone do not solve them at once."""
    import nonsmooth as ns

    rng = np.random.default_rng(0)
    for dim in (2, 3):
        for contacts in (1, 5, 120) if method not in ("enumeration", "lemke") else (1, 5):
            freedom = dim * (2 + contacts // 2)
            H = rng.normal(size=(freedom, dim * contacts))
            q = H.T @ rng.normal(size=freedom)
            problem = ns.ContactProblem(H.T @ H, q, np.full(contacts, 0.4), dim)
            ns.solve_contact(
                problem, method=method, max_iter=None if contacts < 100 or method == "auto" else 20
            )


def complementarity(method: str) -> None:
    """A small linear complementarity problem."""
    import nonsmooth as ns

    ns.solve_lcp(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([-1.0, -1.0]), method=method)
    if method == "auto":
        ns.solve_lcp(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([-1.0, -1.0]), all=True)


def _later(t, q, u):
    return t - 0.0055


def _length(t, q, out):
    out[0] = q[0] * q[0] + q[1] * q[1] - 1.0


def _above(t, q, out):
    out[0] = q[1]


def _along(t, q, out):
    out[0, 0], out[1, 0] = 0.0, 1.0


def _attitude(t, q, out):
    w, x, y, z = q
    for row, values in enumerate(((-x, -y, -z), (w, -z, y), (z, w, -x), (-y, x, w))):
        for column, value in enumerate(values):
            out[row, column] = 0.5 * value


def _oscillator(t, y):
    return np.array([y[1], -y[0]])


def _fall(t, y):
    return np.array([y[1], -9.81])


def _height(t, y):
    return y[0]


def _bounce(t, y):
    return np.array([0.0, -0.8 * y[1]])


def _bilinear(t, y, mode):
    return np.array([y[1], -y[0] * (2.0 + mode[0])])


def _pull(t, x):
    return np.array([1.5 * np.cos(t)])


# -- on all cores ----------------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """What the warming of one door took."""

    door: str
    kernels: int  # compiled now
    seconds: float  # of processor time


def doors() -> dict[str, tuple[Callable[[str], None], str]]:
    """Name of a door and a method -> (function above, method), those that take longest first."""
    from nonsmooth.contact.lcp import LCP_METHODS
    from nonsmooth.contact.solve import METHODS as CONTACT
    from nonsmooth.filippov import SELECTION_METHODS
    from nonsmooth.integrators.driver import METHODS as INTEGRATORS
    from nonsmooth.simulate import METHODS as SCHEMES

    found: dict[str, tuple[Callable[[str], None], str]] = {}
    for label, function, methods in (
        ("solve_filippov", sliding, [*INTEGRATORS, *SELECTION_METHODS]),
        ("simulate", mechanics, reversed(SCHEMES)),
        ("simulate, World", bodies, ["plane", "space"]),
        ("solve_ivp with switches", switched, INTEGRATORS),
        ("solve_contact", contact, CONTACT),
        ("solve_ivp", smooth, INTEGRATORS),
        ("solve_lcp", complementarity, LCP_METHODS),
    ):
        found |= {f"{label}, {method}": (function, method) for method in methods}
    return found


def run_door(name: str) -> Outcome:
    """Use one door with one method in this process."""
    from nonsmooth._core import compile_notice

    logging.getLogger("nonsmooth.compile").setLevel(logging.ERROR)
    function, method = doors()[name]
    start, before = time.process_time(), len(compile_notice.log)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function(method)
    return Outcome(name, len(compile_notice.log) - before, time.process_time() - start)


def warm(names: list[str] | None = None, jobs: int | None = None) -> Iterator[Outcome]:
    """Use the doors in `jobs` processes (as many as there are cores); outcomes in the order in which they are ready."""
    names = list(doors()) if names is None else names
    jobs = jobs or os.cpu_count() or 1
    context: Any = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        for ready in as_completed([pool.submit(run_door, name) for name in _spread(names)]):
            yield ready.result()


def _spread(names: list[str]) -> list[str]:
    """One door of each family first: what the others of its family share with it is then there when their turn comes."""
    first: list[str] = []
    rest: list[str] = []
    seen: set[str] = set()
    for name in names:
        family = name.partition(",")[0]
        (rest if family in seen else first).append(name)
        seen.add(family)
    return first + rest
