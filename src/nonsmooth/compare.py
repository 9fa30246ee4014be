"""`compare`: what a method costs and how accurate it is, in norms fit for jumps; `richardson`: the same for one method without a reference.

Positions and velocities are compared with a reference over all of the span (`results.norms`): the integral norms L1 and L2, the largest
difference, which does not converge for velocities that jump, and the Hausdorff distance of the filled-in graphs (Acary 2012, sec. 2.1).
Both are taken at common instants, inside long steps as the method itself tells them (`results.motions`).
Work is counted in steps of the base scheme (solutions of a step's contact problem), as in Fig. 3 there.

Global error of a scheme of constant step by Richardson: runs x_h with steps h, h/4, h/8 and their distances from the last one in one
of the norms, d_h = ||x_h - x_(h/8)||. With ||x_h - x|| = C h^p and errors of one sign

    d_h / d_(h/4) = 1 + 2^p + 4^p  gives p,     ||x_h - x|| ~ d_h / (1 - 8^-p)

which asks of the errors only that their norms shrink by a constant factor: no smooth expansion in h, which does not exist across impacts.
(Neighbours h and h/2 alone mislead: the error of a step with an impact depends on where in the step the impact lies.) Where d does not
shrink the norm does not converge, and says so.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nonsmooth.errors import InputError, NonsmoothError
from nonsmooth.results.comparison import Comparison, Row
from nonsmooth.results.motions import ClosedForm, at_common_instants, pieces_of
from nonsmooth.results.norms import hausdorff_error, l1_error, l2_error, sup_error
from nonsmooth.schemes.base import Scheme
from nonsmooth.simulate import simulate

NORMS: dict[str, Callable[..., float]] = {
    "L1": l1_error,
    "L2": l2_error,
    "sup": sup_error,
    "hausdorff": hausdorff_error,
}
#: Options that set how fine a run is, by order of preference: what runs of one method differ in.
FINENESS = ("dt", "tol", "rtol", "dt_max", "dt_min")
CONVERGES = 0.2  # an order below this is none


def compare(
    system: Any,
    t_span: Sequence[float],
    q0: Any,
    u0: Any,
    methods: Any,
    reference: Any = "richardson",
    *,
    norms: Sequence[str] = tuple(NORMS),
    time_scale: float = 1.0,
    refine: int = 8,
    **options: Any,
) -> Comparison:
    """Run methods beside each other and measure their errors and work.

    Parameters
    ----------
    system, t_span, q0, u0
        As in `simulate`.
    methods : sequence of schemes, or mapping of labels to them
        Configured objects, for example ``[ns.Moreau(dt) for dt in (1e-2, 5e-3)]``. Runs that differ only in step size or tolerance are
        one method; with a mapping a label may stand for a sequence of schemes.
    reference
        What errors are measured against: the `reference` of a problem of the literature or any object with closed forms ``q(t)``,
        ``u(t)``; a function ``reference(t) -> (q, u)`` of an array of instants; a `Result`; another scheme, which is run once; "refine",
        the same method with the finest of its steps divided by `refine`; or "richardson", the estimate from three runs of the method
        itself (see `richardson`), both for schemes of constant step.
    norms : sequence of {"L1", "L2", "sup", "hausdorff"}
    time_scale : float
        Units of time that weigh as much as one unit of the values in the Hausdorff distance.
    **options
        Further options of `simulate`; no audit is made unless ``audit=True`` is among them.

    Returns
    -------
    Comparison
        A method that fails is listed with its message.
    """
    norms = _checked_norms(norms)
    families = _families(methods)
    options = {"audit": False, **options}
    problem = _Problem(system, (float(t_span[0]), float(t_span[1])), q0, u0, options, norms, time_scale)
    known = _reference(reference, problem)
    rows = []
    for label, schemes in families.items():
        against = known
        if against is None and reference == "refine":
            finest = min(schemes, key=lambda scheme: _constant_step(scheme, "refine").dt)
            against = pieces_of(problem.whole(replace(finest, dt=finest.dt / refine)))
        for k, scheme in enumerate(schemes):
            rows.append(_row(problem, label, scheme, against, again=k == 0))
    text = reference if isinstance(reference, str) else _described(reference)
    return Comparison(rows, norms, text, str(getattr(system, "name", "") or ""))


def richardson(
    system: Any,
    t_span: Sequence[float],
    q0: Any,
    u0: Any,
    method: Any,
    *,
    norms: Sequence[str] = tuple(NORMS),
    time_scale: float = 1.0,
    **options: Any,
) -> Row:
    """Estimate of the global error of a scheme of constant step, from runs with dt, dt/4 and dt/8 (no reference is needed).

    Parameters
    ----------
    system, t_span, q0, u0
        As in `simulate`.
    method : scheme
        Of constant step.
    norms, time_scale, **options
        As in `compare`.

    Returns
    -------
    Row
        ``errors["q", "L1"]`` estimates the error of the run with steps dt, ``orders["q", "L1"]`` is the order observed. Where that is below
        0.2 the norm does not converge; the error is then the distance from the finest run, a lower bound.
    """
    problem = _Problem(
        system, (float(t_span[0]), float(t_span[1])), q0, u0, {"audit": False, **options}, _checked_norms(norms), time_scale
    )  # fmt: skip
    return _estimated(problem, _label(method), _constant_step(method, "richardson"))


# -- inside ------------------------------------------------------------------------------------------------------------


@dataclass
class _Problem:
    """What all runs of a comparison share."""

    system: Any
    t_span: tuple[float, float]
    q0: Any
    u0: Any
    options: dict[str, Any]
    norms: tuple[str, ...]
    time_scale: float

    def run(self, scheme):
        return simulate(self.system, self.t_span, self.q0, self.u0, method=scheme, **self.options)

    def whole(self, scheme):
        """A run that knows its motion inside steps, unless options ask for another output."""
        if any(self.options.get(name) is not None for name in ("t_eval", "every", "output")):
            return self.run(scheme)
        return replace(self, options={**self.options, "dense_output": True}).run(scheme)

    def errors(self, run, reference) -> dict[tuple[str, str], float]:
        """Norms of the differences of a run and a motion."""
        motion = pieces_of(run)
        t, a, b = at_common_instants(motion, reference)
        if a.shape != b.shape:
            raise InputError(
                f"`reference` has {b.shape[0]} components of q and u, the system {a.shape[0]}: they must be the same ones."
            )
        found = {}
        for quantity, rows in (("q", slice(0, motion.n_q)), ("u", slice(motion.n_q, None))):
            for norm in self.norms:
                scale = {"time_scale": self.time_scale} if norm == "hausdorff" else {}
                found[quantity, norm] = NORMS[norm](t, a[rows], t, b[rows], **scale)
        return found


def _row(problem: _Problem, label: str, scheme: Any, against: Any, again: bool) -> Row:
    """One run of one method; where compilation or states inside steps would count in its time, it is made twice."""
    row = Row(label, _fineness(scheme))
    try:
        if against is None:
            return _estimated(problem, label, _constant_step(scheme, "richardson"))
        begin = time.perf_counter()
        run = problem.whole(scheme)
        row.seconds = time.perf_counter() - begin
        row.work, row.steps = run.nbase, run.nsteps
        if again or pieces_of(run).sol.nodes.size > 2:
            begin = time.perf_counter()
            plain = problem.run(scheme)
            row.seconds = time.perf_counter() - begin
            row.work, row.steps = plain.nbase, plain.nsteps
    except InputError:
        raise
    except NonsmoothError as exc:
        row.message = f"failed: {type(exc).__name__}: {exc}"
        return row
    row.errors = problem.errors(run, against)
    return row


def _estimated(problem: _Problem, label: str, scheme: Any) -> Row:
    """Error by Richardson."""
    row = Row(label, scheme.dt)
    begin = time.perf_counter()
    runs = [problem.whole(scheme)]
    row.seconds = time.perf_counter() - begin
    runs += [problem.whole(replace(scheme, dt=scheme.dt / n)) for n in (4, 8)]
    row.work, row.steps = runs[0].nbase, runs[0].nsteps
    finest = pieces_of(runs[-1])
    coarse, fine = (problem.errors(run, finest) for run in runs[:2])
    for key, d in coarse.items():
        if d == 0.0:
            row.errors[key], row.orders[key] = 0.0, math.inf
            continue
        ratio = d / fine[key] if fine[key] > 0.0 else math.inf
        p = math.log2(0.5 * (math.sqrt(4.0 * ratio - 3.0) - 1.0)) if ratio > 1.0 else -math.inf
        row.orders[key] = p
        row.errors[key] = d / (1.0 - 8.0**-p) if p >= CONVERGES else d
    return row


def _checked_norms(norms: Sequence[str]) -> tuple[str, ...]:
    names = (norms,) if isinstance(norms, str) else tuple(norms)
    for name in names:
        if name not in NORMS:
            raise InputError(f"`norms` has {name!r}: names out of {', '.join(NORMS)} are wanted.")
    if not names:
        raise InputError("`norms` is empty: at least one norm is wanted.")
    return names


def _families(methods: Any) -> dict[str, list[Any]]:
    """Schemes by method."""
    if isinstance(methods, Scheme):
        methods = [methods]
    if isinstance(methods, Mapping):
        families = {
            str(k): list(v) if isinstance(v, Sequence) and not isinstance(v, str) else [v]
            for k, v in methods.items()
        }
    elif isinstance(methods, Sequence) and not isinstance(methods, str):
        families = {}
        for scheme in methods:
            families.setdefault(_label(scheme), []).append(scheme)
    else:
        raise InputError(
            f"`methods` is {methods!r}: a sequence of schemes, or a mapping of labels to them, is wanted."
        )
    if not families or any(not schemes for schemes in families.values()):
        raise InputError("`methods` holds no scheme: at least one is wanted.")
    for schemes in families.values():
        for scheme in schemes:
            _label(scheme)
    return families


def _label(scheme: Any) -> str:
    """A scheme by what sets it apart, without its fineness."""
    if isinstance(scheme, type) or not hasattr(scheme, "start") or not hasattr(scheme, "options"):
        raise InputError(
            f"`methods` has {scheme!r}: a configured scheme such as ns.Moreau(dt=1e-3) is wanted."
        )
    plain = {name: value for name, value in scheme.options().items() if name not in FINENESS}
    standard = {}
    try:
        given = {name: getattr(scheme, name) for name in FINENESS if getattr(scheme, name, None) is not None}
        some = {name: given[name] for name in FINENESS[:2] if name in given}
        standard = type(scheme)(**some).options()
    except TypeError:
        pass
    odd = [f"{name}={value}" for name, value in plain.items() if standard.get(name, None) != value]
    return f"{scheme.name}({', '.join(odd)})" if odd else scheme.name


def _fineness(scheme: Any) -> float:
    for name in FINENESS:
        value = getattr(scheme, name, None)
        if value is not None:
            return float(value)
    return math.nan


def _constant_step(scheme: Any, why: str) -> Any:
    if getattr(scheme, "dt", None) is None:
        raise InputError(
            f'`reference` is "{why}", which repeats a run with smaller steps: {_label(scheme)} has no constant step; give a closed '
            "form, a Result or another scheme."
        )
    return scheme


def _reference(reference: Any, problem: _Problem) -> Any:
    """The reference as a motion; None where every method has its own."""
    if isinstance(reference, str):
        if reference not in ("refine", "richardson"):
            raise InputError(
                f'`reference` is {reference!r}: "refine", "richardson", a closed form, a Result or a scheme is wanted.'
            )
        return None
    if isinstance(reference, Scheme):
        return pieces_of(problem.whole(reference))
    if all(isinstance(getattr(reference, name, None), np.ndarray) for name in ("t", "q", "u")):
        return _covering(pieces_of(reference), problem.t_span)
    if callable(getattr(reference, "q", None)) and callable(getattr(reference, "u", None)):
        instants = getattr(reference, "event_times", lambda: np.zeros(0))()
        return ClosedForm(lambda t: (reference.q(t), reference.u(t)), np.asarray(instants), problem.t_span)
    if callable(reference):
        return ClosedForm(reference, np.zeros(0), problem.t_span)
    raise InputError(
        f'`reference` is {reference!r}: "refine", "richardson", closed forms q(t) and u(t), a function of t, a Result or a scheme '
        "is wanted."
    )


def _covering(pieces: Any, t_span: tuple[float, float]) -> Any:
    """A reference that reaches over the span."""
    slack = 1e-9 * (t_span[1] - t_span[0])
    if pieces.sol.t_min > t_span[0] + slack or pieces.sol.t_max < t_span[1] - slack:
        raise InputError(
            f"`reference` covers {pieces.sol.t_min:.9g} ... {pieces.sol.t_max:.9g}, the span is {t_span[0]:.9g} ... {t_span[1]:.9g}: "
            "the reference must cover it."
        )
    return pieces


def _described(reference: Any) -> str:
    if isinstance(reference, Scheme):
        return f"{_label(reference)}, {_fineness(reference):g}"
    origin = getattr(reference, "origin", None)
    if origin:
        return str(origin)
    method = getattr(reference, "method", None)
    return f"a run of {method}" if method else "a closed form"
