"""A run of Algorithm 2 (Stewart 1996) from Python: start, slices of the compiled run, and the decisions it
leaves to us.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from nonsmooth._core import filippov_run as core
from nonsmooth._core.lemke import SOLVED, lemke
from nonsmooth._core.rk import H_NEXT, NFEV, NJEV, NLU, NON_FINITE, NREJECTED, NSTEPS
from nonsmooth._core.single_step import adapt_function, dense_function, solid_function, try_function
from nonsmooth._core.sliding import SINGULAR, build_lcp, combine
from nonsmooth.errors import (
    DegenerateWarning,
    EventError,
    IntegrationError,
    NonFiniteStateError,
    NonUniqueWarning,
    StepLimitError,
    ZenoWarning,
)
from nonsmooth.integrators.driver import get_method, make_control, make_work, no_jacobian

_SLICE = 512


def entry(dispatcher):
    """The compiled form of a kernel that exists for one signature only.

    Calling it leaves out the look-up by argument types, which for a dozen first-class functions takes longer
    than a short run.
    """
    found = _entries.get(id(dispatcher))
    if found is None:
        overloads = getattr(dispatcher, "overloads", None)
        if not overloads or len(overloads) != 1:
            return dispatcher
        found = _entries[id(dispatcher)] = next(iter(overloads.values())).entry_point
    return found


_entries: dict[int, object] = {}


class Caught:
    """Catches what user code raises inside compiled code (Python can only report it there), to raise it
    again.
    """

    def __init__(self):
        self.error = None

    def __enter__(self):
        self.hook, sys.unraisablehook = sys.unraisablehook, self.keep
        return self

    def keep(self, unraisable):
        if self.error is None:
            self.error = unraisable.exc_value

    def __exit__(self, *exc):
        sys.unraisablehook = self.hook

    def reraise(self):
        if self.error is not None:
            raise self.error


_MAX_SETS = 32


@dataclass
class Options:
    """Everything a run needs beyond system, span and start."""

    method: str = "RK45"
    rtol: float = 1e-6
    atol: np.ndarray | float = 1e-9
    max_step: float = np.inf
    first_step: float = 0.0
    fixed: bool = False
    epsilon: float | None = None
    location: float | str | None = None
    choose: object = None
    max_steps: int = 10**7
    max_events: int = 10**6
    dense: bool = False


@dataclass
class Trajectory:
    """What a run leaves behind, as lists of arrays per slice."""

    t: list = field(default_factory=list)
    y: list = field(default_factory=list)
    Q: list = field(default_factory=list)
    active: list = field(default_factory=list)
    event_t: list = field(default_factory=list)
    event_k: list = field(default_factory=list)
    before: list = field(default_factory=list)
    after: list = field(default_factory=list)
    accumulations: list = field(default_factory=list)
    notes: list = field(default_factory=list)


class FilippovRun:
    """One run; `go` drives it to the end or raises.

    Parameters
    ----------
    compiled : CompiledSystem
    names : sequence of str
        Names of the groups.
    """

    def __init__(self, compiled, names, t_span, x0, options: Options):
        self.c, self.names, self.o = compiled, names, options
        self.t0, self.t1 = float(t_span[0]), float(t_span[1])
        self.span = abs(self.t1 - self.t0)
        self.y = np.array(x0, dtype=np.float64)
        n, R = compiled.n, int(compiled.lay[core.R_])
        self.n, self.R = n, R
        self.data = get_method(options.method)
        self.work = make_work(self.data, n)
        self.control = make_control(
            self.data, n, options.rtol, options.atol, options.max_step, fixed=options.fixed
        )
        self.p = compiled.new_p()
        self.C = np.zeros((core.C_ROWS, R))
        self.opt = np.zeros(core.N_OPT)
        self.info = np.zeros(core.N_INFO, dtype=np.int64)
        self.sets, self.flags = np.zeros((_MAX_SETS, R)), np.zeros(_MAX_SETS, dtype=np.int64)
        self.ring = np.zeros(core._RING)
        self.rows = 3 + self.data.n_dense
        self.pieces = (
            try_function(self.data.kind),
            adapt_function(),
            solid_function(),
            dense_function(),
        )
        self.out = Trajectory()
        self.t_star = np.inf
        self.retries, self.retry_time = 0, np.nan
        self.warned: set = set()
        location = max(3e-14, 1e-4 * options.rtol) if options.location is None else options.location
        if location == "dense":
            location = -max(
                1e-14, 0.1 * options.rtol
            )  # negative: Brent's tolerance on the dense output, nothing else
        epsilon = max(1e-13, 0.1 * options.rtol) if options.epsilon is None else options.epsilon
        self.opt[core.T], self.opt[core.T_BOUND] = self.t0, self.t1
        self.opt[core.LOCATE], self.opt[core.EPSILON] = location, epsilon
        self.opt[core.ZENO] = 1.5e-8 * max(self.span, 1e-300)
        self.new_buffers()

    # -- views into the state of the run
    # ----------------------------------------------------------------------------

    @property
    def t(self):
        return float(self.opt[core.T])

    def part(self, offset, size):
        start = int(self.c.lay[offset])
        return self.p[start : start + size]

    @property
    def active(self):
        return self.part(core.ACTIVE, self.R)

    @property
    def F(self):
        return self.part(core.FIELDS, (self.R + 1) * self.n).reshape(self.R + 1, self.n)

    @property
    def G(self):
        return self.part(core.GRADIENTS, self.R * (self.n + 1)).reshape(self.R, self.n + 1)

    @property
    def counts(self):
        """Evaluations of f_k, h_k and grad h_k."""
        c = self.part(core.COUNT, core.N_COUNT)
        return {"f": int(c[core.N_F]), "h": int(c[core.N_H]), "grad_h": int(c[core.N_G])}

    def new_buffers(self):
        n, R = self.n, self.R
        self.t_out, self.y_out = np.empty(_SLICE), np.empty((_SLICE, n))
        self.q_out = np.empty((_SLICE if self.o.dense else 0, self.rows + 1, n))
        self.mode_out = np.empty((_SLICE, R), dtype=np.int8)
        self.ev_t, self.ev_k = np.empty(_SLICE), np.empty(_SLICE, dtype=np.int64)
        self.ev_before, self.ev_after = (np.empty((_SLICE, R), dtype=np.int8) for _ in range(2))
        self.info[core.COUNT_OUT] = self.info[core.COUNT_EVENTS] = 0

    def flush(self):
        c, e = int(self.info[core.COUNT_OUT]), int(self.info[core.COUNT_EVENTS])
        o = self.out
        o.t.append(self.t_out[:c].copy())
        o.y.append(self.y_out[:c].copy())
        o.active.append(self.mode_out[:c].copy())
        if self.o.dense:
            o.Q.append(self.q_out[:c].copy())
        o.event_t.append(self.ev_t[:e].copy())
        o.event_k.append(self.ev_k[:e].copy())
        o.before.append(self.ev_before[:e].copy())
        o.after.append(self.ev_after[:e].copy())
        self.info[core.COUNT_OUT] = self.info[core.COUNT_EVENTS] = 0

    # -- Step 1 -----------------------------------------------------------------------------------------------------

    def start(self):
        """Active set at the start: I_0 = I_eps(x_0), then Step 5."""
        self.scale_indicators()
        self.trial_from_indicators()
        self.decide("start")

    def evaluate_indicators(self):
        self.part(core.WATCH, self.R)[:] = 1.0
        self.part(core.ACTIVE, self.R)[:] = 0.0
        self.c.switch(self.t, self.y, self.p, self.C[core.G_ROOT])
        return self.part(core.H, self.R).copy()

    def scale_indicators(self):
        """Size of the indicators of each group: their spread, or what their gradients make of the size of
        the state.
        """
        saved = self.active.copy()
        h = self.evaluate_indicators()
        self.active[:] = saved
        starts = self.c.starts
        for j in range(len(starts) - 1):
            members = slice(starts[j], starts[j + 1])
            spread = float(h[members].max() - h[members].min())
            if spread == 0.0:
                watch = self.part(core.WATCH, self.R)
                watch[:] = 0.0
                watch[members] = 1.0
                self.c.model(self.t, self.y, self.p, self.C[core.G_ROOT])
                G = self.G[members, : self.n]
                speed = float(np.abs(self.F[members]).max(initial=0.0))
                size = max(float(np.abs(self.y).max(initial=0.0)), 0.1 * speed * self.span, 1e-300)
                spread = 1e-3 * float(np.abs(G - G[0]).max(initial=0.0)) * size
            self.C[core.H_SCALE, members] = np.maximum(self.C[core.H_SCALE, members], spread)

    def trial_from_indicators(self):
        """I_0 = I_eps(x): regions within eps of the smallest indicator of their group."""
        h = self.evaluate_indicators()
        if not np.all(np.isfinite(h)):
            k = int(np.flatnonzero(~np.isfinite(h))[0])
            raise self.failed(
                EventError(f"solve_filippov: indicator {self.region(k)} is {h[k]} at t = {self.t:.6g}")
            )
        watch = self.part(core.WATCH, self.R)
        starts = self.c.starts
        for j in range(len(starts) - 1):
            members = slice(starts[j], starts[j + 1])
            limit = self.opt[core.EPSILON] * self.C[core.H_SCALE, members]
            watch[members] = (h[members] - h[members].min() <= limit).astype(float)

    # -- Step 5 -----------------------------------------------------------------------------------------------------

    def solve_sets(self):
        """All active sets for the candidate set in `watch`: list of (members, degenerate)."""
        trial = self.part(core.WATCH, self.R).copy()
        self.c.model(self.t, self.y, self.p, self.C[core.G_ROOT])
        count = core.active_sets(
            self.c.starts, trial, self.F, self.G, core.enumerate_function(), self.sets, self.flags
        )
        if count == -1:
            return self.one_by_lemke(trial)
        return [(self.sets[k].copy(), bool(self.flags[k])) for k in range(count)]

    def one_by_lemke(self, trial):
        """More than 16 unknowns: one solution of (13) by Lemke's method, which exists by Lemma 2."""
        starts = self.c.starts
        sizes = np.array([int(trial[starts[j] : starts[j + 1]].sum()) for j in range(len(starts) - 1)])
        size = int(sizes[sizes > 1].sum() + (sizes > 1).sum())
        index, N, q = np.zeros(self.R, dtype=np.int64), np.zeros((size, size)), np.zeros(size)
        card, _ = build_lcp(starts, trial, self.F, self.G, index, N, q)
        z, w, ray = np.empty(size), np.empty(size), np.empty(size)
        status, _ = lemke(N, q, np.ones(size), 50 * size + 1000, 1e-11, z, w, ray)
        if status != SOLVED:
            return []
        chosen = trial.copy()
        chosen[index[:card]] = z[:card] > core._STRICT
        degenerate = bool(np.any((z[:card] <= core._STRICT) & (w[:card] <= core._STRICT)))
        self.note(f"t = {self.t:.6g}: {card} regions meet; one active set taken, others were not looked for")
        return [(chosen, degenerate)]

    def slope_of(self, members):
        """x' of the active set `members`, its weights and the pivot ratio, with fields and gradients as they
        stand in p.
        """
        z, slope = np.zeros(self.R), np.zeros(self.n)
        ratio = combine(self.c.starts, members, self.F, self.G, z, slope)
        return slope, z, ratio

    def decide(self, why, exit_component=-1):
        """Determine the active set from the candidates in `watch` and continue with it."""
        found = self.solve_sets()
        if not found:
            return self.small_step("the LCP (13) has no solution to working accuracy")
        members, degenerate = found[0]
        if len(found) > 1:
            members, degenerate = self.choose(found)
        elif degenerate and exit_component < 0 and why != "retry":
            self.warn_degenerate("C'", "a weight and its slack vanish together (tangency)")
        self.commit(members)
        return None

    def choose(self, found):
        slopes = [self.slope_of(members)[0] for members, _ in found]
        size = max(np.abs(slopes).max(), 1e-300)
        if all(np.abs(s - slopes[0]).max() <= 1e-9 * size for s in slopes):
            # Different weights, one velocity: condition B' is violated. Least-norm weights on the union of
            # the sets.
            union = np.max([members for members, _ in found], axis=0)
            slope, z, ratio = self.slope_of(union)
            self.warn_degenerate("B'", "weights are not unique although x' is; least-norm weights are used")
            if (
                -0.5 < ratio <= SINGULAR
                and z[union > 0].min() >= 0
                and np.abs(slope - slopes[0]).max() <= 1e-8 * size
            ):
                return union, False
            return found[0]
        if all(degenerate for _, degenerate in found):
            holds = [k for k in range(len(found)) if self.holds(found[k][0])]
            self.warn_degenerate(
                "C'", "first derivatives do not tell the active set; candidates are tried on a short step"
            )
            if len(holds) == 1:
                return found[holds[0]]
        # Documented rule: the fewest members (a surface that may be left is left), then the order of the
        # regions.
        order = sorted(range(len(found)), key=lambda k: (found[k][0].sum(), tuple(-found[k][0])))
        pick, t_star = order[0], None
        if self.o.choose is not None:
            options = [self.named(found[k][0]) for k in order]
            answer = self.o.choose(self.t, self.y.copy(), options)
            index, t_star = answer if isinstance(answer, tuple) else (answer, None)
            if not 0 <= int(index) < len(order):
                raise EventError(f"solve_filippov: `choose` returned {index}, wanted 0 ... {len(order) - 1}")
            pick = order[int(index)]
        else:
            text = "; ".join(str(self.named(found[k][0])) for k in order)
            self.warn(
                NonUniqueWarning,
                f"solve_filippov: at t = {self.t:.9g} the solution is not unique, active sets: {text}; the first is taken, "
                "pass choose=... to decide",
                f"choice {self.t:.9g}",
            )
        self.note(f"t = {self.t:.9g}: {len(found)} active sets, {self.named(found[pick][0])} taken")
        if t_star is not None:
            # Step 5: if the chosen set allows other solutions later, restart at t*.
            if not t_star > self.t:
                raise EventError(
                    f"solve_filippov: t* = {t_star} returned by `choose` must be later than t = {self.t}"
                )
            self.t_star = float(t_star)
        return found[pick]

    def holds(self, members):
        """Whether a short midpoint step with the active set `members` ends where its regions are the
        smallest.
        """
        saved = self.active.copy(), self.part(core.WATCH, self.R).copy()
        core.set_active(self.c.lay, self.c.starts, self.p, members)
        dt = 1e-4 * min(self.span, abs(self.t1 - self.t))
        slope, middle = np.zeros(self.n), np.zeros(self.n)
        self.c.field(self.t, self.y, self.p, slope)
        self.c.field(self.t + 0.5 * dt, self.y + 0.5 * dt * slope, self.p, middle)
        self.part(core.WATCH, self.R)[:] = 1.0
        self.c.switch(self.t + dt, self.y + dt * middle, self.p, self.C[core.G_ROOT])
        good = bool(np.all(self.C[core.G_ROOT] >= 0.0))
        self.part(core.WATCH, self.R)[:] = saved[1]
        core.set_active(self.c.lay, self.c.starts, self.p, saved[0])
        self.c.model(self.t, self.y, self.p, self.C[core.G_ROOT])
        return good

    def commit(self, members):
        self.set_bound()
        with Caught() as caught:
            core.commit(
                self.data, self.c.field, self.c.switch, self.y, self.p, self.c.lay, self.c.starts, self.work,
                self.control, self.C, self.opt, self.info, members, self.ev_t, self.ev_k, self.ev_before,
                self.ev_after,
            )  # fmt: skip
        caught.reraise()

    def set_bound(self):
        self.opt[core.T_BOUND] = min(self.t1, self.t_star) if self.t1 >= self.t0 else self.t1

    # -- decisions
    # ----------------------------------------------------------------------------------------------------

    def go(self):
        """Run to the end of the span."""
        self.work.reals[H_NEXT] = self.o.first_step
        while True:
            with Caught() as caught:
                reason = entry(core.drive)(
                    self.data, *self.pieces, self.c.field, self.c.switch, self.c.model, no_jacobian(),
                    core.enumerate_function(), self.y, self.p, self.c.lay, self.c.starts, self.work,
                    self.control, self.C, self.opt, self.info, self.sets, self.flags, self.ring, self.t_out,
                    self.y_out, self.q_out, self.mode_out, self.ev_t, self.ev_k, self.ev_before,
                    self.ev_after,
                )  # fmt: skip
            caught.reraise()
            if reason == core.START:
                self.start()
                self.info[core.COUNT_EVENTS] = 0  # the first active set is no event
                self.info[core.STARTED] = 1
                continue
            if reason == core.DONE and self.t == self.t1:
                self.flush()
                self.check_sliding()
                return self.out
            self.handle(reason)
            self.flush()
            if self.work.ints[NSTEPS] > self.o.max_steps:
                raise self.failed(
                    StepLimitError(f"solve_filippov: more than {self.o.max_steps} steps at t = {self.t:.9g}")
                )
            if sum(len(t) for t in self.out.event_t) > self.o.max_events:
                raise self.failed(
                    StepLimitError(
                        f"solve_filippov: more than {self.o.max_events} switching points at t = {self.t:.9g}"
                    )
                )

    def handle(self, reason):
        k = int(self.info[core.COMPONENT])
        if reason == core.FULL:
            return
        if reason == core.DONE:  # the restart time t* of Step 5
            self.t_star = np.inf
            self.trial_after()
            self.decide("t*")
        elif reason in (core.CHOICE, core.DEGENERATE, core.NO_SET, core.TOO_LARGE):
            self.count_retries()
            self.decide("switch", k if self.active[k] > 0 else -1)
        elif reason == core.IMMEDIATE:
            self.count_retries()
            self.immediate(k)
        elif reason == core.ACCUMULATION:
            self.accumulation()
        elif reason == core.BAD_INDICATOR:
            raise self.failed(
                EventError(f"solve_filippov: indicator {self.region(k)} is not finite after t = {self.t:.9g}")
            )
        elif reason == core.LOST_ROOT:
            raise self.failed(
                EventError(
                    f"solve_filippov: the switching point of {self.region(k)} after t = {self.t:.9g} could not be located"
                )
            )
        elif self.info[core.REASON] == NON_FINITE:
            raise self.failed(
                NonFiniteStateError(
                    f"solve_filippov: the vector field is not finite after t = {self.t:.9g}, x = {self.y}"
                )
            )
        else:
            raise self.failed(
                StepLimitError(
                    f"solve_filippov: the step size fell below the spacing of numbers at t = {self.t:.9g} "
                    "(stiff field, or a discontinuity that is not declared as a group)"
                )
            )

    def count_retries(self):
        if self.t == self.retry_time:
            self.retries += 1
        else:
            self.retry_time, self.retries = self.t, 0
        if self.retries > 20:
            raise self.failed(
                EventError(
                    f"solve_filippov: the active set at t = {self.t:.9g} changes back and forth without end"
                )
            )

    def trial_after(self):
        """Candidate set at a restart: members and regions within eps."""
        members = self.active.copy()
        self.trial_from_indicators()
        watch = self.part(core.WATCH, self.R)
        watch[:] = np.maximum(watch, members)
        self.active[:] = members

    def immediate(self, k):
        """Region k is entered at once after a restart: the set was chosen at a degenerate point. Decide
        again with k, then step.
        """
        before = self.active.copy()
        self.trial_after()
        self.part(core.WATCH, self.R)[k] = 1.0
        self.part(core.ACTIVE, self.R)[:] = before
        if self.retries < 3:
            self.decide("retry")
            if not np.array_equal(self.active, before):
                return
        self.small_step(
            f"no active set found by (13) holds after t = {self.t:.9g} (region {self.region(k)} is entered at once)"
        )

    def small_step(self, text):
        """Fallback: a Taubert-type step, Euler with the least-norm selection of the field, then a new active
        set.
        """
        self.warn_degenerate("C'", text + "; a small Euler step with a selected field passes the point")
        dt = min(1e-7 * self.span, abs(self.t1 - self.t))
        members = self.active if np.any(self.active) else self.part(core.WATCH, self.R)
        slope, _, _ = self.slope_of(members.copy())
        self.y += dt * slope
        self.opt[core.T] = self.t + dt
        self.evaluate_and_continue()

    def evaluate_and_continue(self):
        saved = self.active.copy()
        self.trial_from_indicators()
        self.active[:] = saved
        found = self.solve_sets()
        if not found:
            raise self.failed(
                IntegrationError(
                    f"solve_filippov: no active set continues the solution from t = {self.t:.9g}"
                )
            )
        self.commit(found[0][0])

    def accumulation(self):
        """Switching points accumulate: continue at their limit on all surfaces that were crossed."""
        t_star = min(float(self.opt[core.T_ZENO]), self.t1)
        times = np.concatenate([*self.out.event_t, self.ev_t[: self.info[core.COUNT_EVENTS]]])
        hits = np.concatenate([*self.out.event_k, self.ev_k[: self.info[core.COUNT_EVENTS]]])[-6:]
        crossed = {
            int(np.searchsorted(self.c.starts, k, side="right") - 1)
            for k in [*hits, self.info[core.COMPONENT]]
        }
        members = self.active.copy()
        for j in crossed:
            members[self.c.starts[j] : self.c.starts[j + 1]] = 1.0
        self.warn(
            ZenoWarning,
            f"solve_filippov: switching points of {', '.join(self.names[j] for j in sorted(crossed))} accumulate at "
            f"t = {t_star:.12g} ({len(times)} located); the run continues on their intersection",
            f"zeno {t_star:.6g}",
        )
        self.out.accumulations.append((t_star, sorted(crossed)))
        for _ in range(3):
            self.part(core.ACTIVE, self.R)[:] = members
            self.part(core.WATCH, self.R)[:] = 1.0
            self.c.switch(t_star, self.y, self.p, self.C[core.G_ROOT])
            core.to_surface(self.c.lay, self.c.starts, self.p, self.y, self.F, self.G)
        self.opt[core.T] = t_star
        self.info[core.N_RING] = 0
        self.active[:] = (
            self.ev_after[self.info[core.COUNT_EVENTS] - 1] if self.info[core.COUNT_EVENTS] else members
        )
        self.part(core.WATCH, self.R)[:] = members
        c = int(self.info[core.COUNT_OUT])
        self.t_out[c], self.y_out[c] = t_star, self.y
        self.mode_out[c] = self.active > 0
        if self.o.dense:
            self.q_out[c] = 0.0
            self.q_out[c, -1] = t_star - (self.t_out[c - 1] if c else self.out.t[-1][-1])
            self.q_out[c, 0] = self.y - (self.y_out[c - 1] if c else self.out.y[-1][-1])
        self.info[core.COUNT_OUT] = c + 1
        self.decide("zeno")

    def check_sliding(self):
        worst = self.part(core.COUNT, core.N_COUNT)[core.WORST]
        if worst < -0.5:
            self.warn_degenerate("B'", "the sliding equations (11) were inconsistent in part of the run")

    # -- reporting
    # ----------------------------------------------------------------------------------------------------

    def region(self, k):
        j = int(np.searchsorted(self.c.starts, k, side="right") - 1)
        return f"{k - int(self.c.starts[j])} of {self.names[j]!r}"

    def named(self, members):
        """Active set as a tuple of tuples of region numbers, one per group."""
        return self.named_all(np.asarray(members)[None])[0]

    def named_all(self, rows):
        """`named` for the rows of an array; a run has few different sets, each is worked out once."""
        s = self.c.starts.tolist()
        known = {}
        names = []
        for row in rows:
            key = row.tobytes()
            if key not in known:
                on = row.tolist()
                known[key] = tuple(tuple(k - a for k in range(a, b) if on[k] > 0) for a, b in pairwise(s))
            names.append(known[key])
        return names

    def note(self, text):
        self.out.notes.append(text)

    def warn(self, category, text, key):
        if key not in self.warned:
            self.warned.add(key)
            self.note(text)
            warnings.warn(text, category, stacklevel=2)

    def warn_degenerate(self, condition, text):
        self.warn(
            DegenerateWarning,
            f"solve_filippov: condition {condition} of Stewart 1996 is violated at t = {self.t:.9g}: {text}",
            f"degenerate {condition}",
        )

    def failed(self, error):
        self.flush()
        error.unfinished = True
        return error

    @property
    def counters(self):
        i = self.work.ints
        return {
            "nfev": i[NFEV],
            "njev": i[NJEV],
            "nlu": i[NLU],
            "nsteps": i[NSTEPS],
            "nrejected": i[NREJECTED],
        }
