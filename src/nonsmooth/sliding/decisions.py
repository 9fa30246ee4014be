"""The decisions a run of Algorithm 2 (Stewart 1996) leaves to Python: the first active set, choices between several,
points where the conditions of the theory fail, accumulations of switching points.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.lcp.lemke import SOLVED, lemke
from nonsmooth._core.sliding import records as core
from nonsmooth._core.sliding.algebra import SINGULAR, build_lcp, combine, project
from nonsmooth._core.sliding.functions import field, model, switch
from nonsmooth._core.sliding.run import activate, carry_out, evaluate
from nonsmooth.errors import EventError, IntegrationError, NonUniqueWarning, ZenoWarning

from .report import Report


class Decisions(Report):
    """Steps 1 and 5 of Algorithm 2 where the compiled run cannot decide; base of `FilippovRun`, which holds the state."""

    # -- Step 1: the candidates at a point

    def start(self):
        """Active set at the start: I_0 = I_eps(x_0), then Step 5."""
        self.scale_indicators()
        self.trial_from_indicators()
        self.decide("start")

    def evaluate_indicators(self):
        """All indicators at the present point."""
        self.watch[:] = 1.0
        self.evaluate(switch, reuse=True)
        return self.run.values.h.copy()

    def evaluate(self, function, reuse=False):
        """Call `switch` or `model` at the present point; the components (or the mask of gradients) are returned."""
        self.run.watch.reuse = reuse
        evaluate(function.address, self.address, self.t, self.y, self.psi.root)
        self.run.watch.reuse = 0
        return self.psi.root

    def set_active(self, members):
        """Make `members` the active set, without more."""
        self.run.set.chosen[:] = members
        activate(self.address)

    def commit(self, members):
        """Continue with the active set `members`."""
        self.solver.now.t_bound = min(self.t1, self.t_star)
        self.run.set.chosen[:] = members
        carry_out(self.run.at.commit, self.address)

    def scale_indicators(self):
        """Size of the indicators of each group: their spread, or what their gradients make of the size of
        the state.
        """
        h = self.evaluate_indicators()
        starts = self.c.starts
        for j in range(len(starts) - 1):
            members = slice(starts[j], starts[j + 1])
            spread = float(h[members].max() - h[members].min())
            if spread == 0.0:
                self.watch[:] = 0.0
                self.watch[members] = 1.0
                self.evaluate(model)
                G = self.G[members, : self.n]
                speed = float(np.abs(self.F[members]).max(initial=0.0))
                size = max(float(np.abs(self.y).max(initial=0.0)), 0.1 * speed * self.span, 1e-300)
                spread = 1e-3 * float(np.abs(G - G[0]).max(initial=0.0)) * size
            self.psi.scale[members] = np.maximum(self.psi.scale[members], spread)

    def trial_from_indicators(self):
        """I_0 = I_eps(x): regions within eps of the smallest indicator of their group."""
        h = self.evaluate_indicators()
        if not np.all(np.isfinite(h)):
            k = int(np.flatnonzero(~np.isfinite(h))[0])
            raise EventError(f"solve_filippov: indicator {self.region(k)} is {h[k]} at t = {self.t:.6g}")
        starts = self.c.starts
        for j in range(len(starts) - 1):
            members = slice(starts[j], starts[j + 1])
            limit = self.info.epsilon * self.psi.scale[members]
            self.watch[members] = (h[members] - h[members].min() <= limit).astype(float)

    def trial_after(self):
        """Candidate set at a restart: members and regions within eps."""
        self.trial_from_indicators()
        self.watch[:] = np.maximum(self.watch, self.active)

    # -- Step 5: the active sets that continue the solution

    def solve_sets(self):
        """All active sets for the candidate set in `watch`: list of (members, degenerate)."""
        given = self.evaluate(model) > 0.0
        wrong = np.flatnonzero(given & ~np.isfinite(self.G).all(axis=1))
        if wrong.size:
            raise EventError(
                f"solve_filippov: the gradient of indicator {self.region(int(wrong[0]))} is not finite at t = {self.t:.9g}"
            )
        count = carry_out(self.run.at.sets, self.address)
        if count == -1:
            return self.one_by_lemke(self.watch.copy())
        I = self.run.set
        return [(I.found[k].copy(), bool(I.degenerate[k])) for k in range(count)]

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
        chosen[index[:card]] = z[:card] > core.STRICT
        degenerate = bool(np.any((z[:card] <= core.STRICT) & (w[:card] <= core.STRICT)))
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
        """One of several active sets: by their velocities, by a trial step, by the user, by the documented rule."""
        trials = [self.slope_of(members) for members, _ in found]
        # A set whose weights by (11) are negative or do not exist is an end of a continuum of solutions, no active set.
        good = [k for k, (_, z, ratio) in enumerate(trials) if ratio > -0.5 and z.min(initial=0.0) > -1e-7]
        if good:
            found, trials = [found[k] for k in good], [trials[k] for k in good]
        if len(found) == 1:
            return found[0]
        slopes = [slope for slope, _, _ in trials]
        rows = np.append(self.watch > 0.0, True)
        size = max(np.abs(slopes).max(), np.abs(self.F[rows]).max(), 1e-300)  # at rest x' is rounding
        if all(np.abs(s - slopes[0]).max() <= 1e-9 * size for s in slopes):
            return self.one_velocity(found, slopes[0], size)
        if all(degenerate for _, degenerate in found):
            holds = [k for k in range(len(found)) if self.holds(found[k][0])]
            self.warn_degenerate(
                "C'", "first derivatives do not tell the active set; candidates are tried on a short step"
            )
            if len(holds) == 1:
                return found[holds[0]]
        # Documented rule: the fewest members (a surface that may be left is left), then the order of the
        # regions.
        ordered = sorted(found, key=lambda entry: (entry[0].sum(), tuple(-entry[0])))
        pick = self.by_user(ordered) if self.o.choose is not None else self.by_rule(ordered)
        self.note(f"t = {self.t:.9g}: {len(found)} active sets, {self.named(ordered[pick][0])} taken")
        return ordered[pick]

    def one_velocity(self, found, slope_0, size):
        """Different weights, one velocity: condition B' is violated. Least-norm weights on the union of the sets."""
        union = np.max([members for members, _ in found], axis=0)
        slope, z, ratio = self.slope_of(union)
        self.warn_degenerate("B'", "weights are not unique although x' is; least-norm weights are used")
        same = np.abs(slope - slope_0).max() <= 1e-8 * size
        if -0.5 < ratio <= SINGULAR and z[union > 0].min() >= 0 and same:
            return union, False
        return found[0]

    def by_rule(self, ordered):
        """The first, with a warning."""
        text = "; ".join(str(self.named(members)) for members, _ in ordered)
        self.warn(
            NonUniqueWarning,
            f"solve_filippov: at t = {self.t:.9g} the solution is not unique, active sets: {text}; the first is taken, "
            "pass choose=... to decide",
            f"choice {self.t:.9g}",
        )
        return 0

    def by_user(self, ordered):
        """What `choose` says. With a later time t* it is asked again there (Step 5: the set may allow other solutions later)."""
        answer = self.o.choose(self.t, self.y.copy(), [self.named(members) for members, _ in ordered])
        index, t_star = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, None)
        if index not in range(len(ordered)) or not isinstance(t_star, (float, int, type(None))):
            raise EventError(
                f"solve_filippov: `choose` returned {answer!r}, wanted 0 ... {len(ordered) - 1}, or that and a later time"
            )
        if t_star is not None:
            if not t_star > self.t:
                raise EventError(
                    f"solve_filippov: t* = {t_star} returned by `choose` must be later than t = {self.t}"
                )
            self.t_star = float(t_star)
        return int(index)

    def holds(self, members):
        """Whether a short midpoint step with the active set `members` ends where its regions are the
        smallest.
        """
        saved = self.active.copy(), self.watch.copy()
        self.set_active(members)
        dt = 1e-4 * min(self.span, abs(self.t1 - self.t))
        slope, middle = np.zeros(self.n), np.zeros(self.n)
        evaluate(field.address, self.address, self.t, self.y, slope)
        evaluate(field.address, self.address, self.t + 0.5 * dt, self.y + 0.5 * dt * slope, middle)
        self.watch[:] = 1.0
        evaluate(switch.address, self.address, self.t + dt, self.y + dt * middle, self.psi.root)
        good = bool(np.all(self.psi.root >= 0.0))
        self.set_active(saved[0])
        self.evaluate_indicators()
        self.watch[:] = saved[1]
        self.evaluate(model)
        return good

    def settle_at_end(self):
        """A switching point exactly at the end of the span is reached, but not passed: it happens there as anywhere else."""
        reached = (self.psi.armed > 0.0) & (self.psi.start <= self.psi.eps)
        if reached.any():
            self.info.component = int(np.flatnonzero(reached)[0])
            self.trial_after()
            self.decide("end")

    # -- where the theory gives out

    def count_retries(self):
        """Fail if the same instant is decided again and again."""
        if self.t == self.retry_time:
            self.retries += 1
        else:
            self.retry_time, self.retries = self.t, 0
        if self.retries > 20:
            raise EventError(
                f"solve_filippov: the active set at t = {self.t:.9g} changes back and forth without end"
            )

    def immediate(self, k):
        """Region k is entered at once after a restart: the set was chosen at a degenerate point. Decide
        again with k, then step.
        """
        if self.near_accumulation():
            return self.accumulation()
        before = self.active.copy()
        self.trial_after()
        self.watch[k] = 1.0
        if self.retries < 3:
            self.decide("retry")
            if not np.array_equal(self.active, before):
                return None
        return self.small_step(
            f"no active set found by (13) holds after t = {self.t:.9g} (region {self.region(k)} is entered at once)"
        )

    def near_accumulation(self):
        """Whether the last switching points converge to a limit that is near.

        Where an indicator vanishes faster than the time that is left (the twisting controller: with its square) the points
        cannot be told apart long before `accumulation` is due, and no active set holds any more.
        """
        left = self.info.t_zeno - self.t
        return self.info.points > 10 and 0.0 < left <= 1e-2 * self.span

    def small_step(self, text):
        """Fallback: a Taubert-type step, Euler with the least-norm selection of the field, then a new active
        set.
        """
        if self.near_accumulation():
            return self.accumulation()
        self.warn_degenerate("C'", text + "; a small Euler step with a selected field passes the point")
        dt = min(1e-7 * self.span, abs(self.t1 - self.t))
        self.small_steps = self.small_steps + 1 if self.t - self.last_small_step <= 20.0 * dt else 1
        self.last_small_step = self.t
        if self.small_steps > 200:
            raise EventError(
                f"solve_filippov: no active set holds for longer than {dt:.2g} before t = {self.t:.9g}: the solution "
                "chatters along a surface on which the sliding equations (11) do not determine it (an indicator "
                "whose derivative does not depend on the discontinuous term)"
            )
        members = self.active if np.any(self.active) else self.watch
        self.evaluate(model)
        slope, _, _ = self.slope_of(members.copy())
        self.y += dt * slope
        self.solver.now.t = self.t + dt
        self.trial_from_indicators()
        found = self.solve_sets()
        if not found:
            raise IntegrationError(
                f"solve_filippov: no active set continues the solution from t = {self.t:.9g}"
            )
        self.commit(found[0][0])
        return None

    def limit_of_states(self, t_star, rows):
        """The state at the limit of the switching points: a polynomial through states one and two turns apart.

        `rows` are the steps of this slice. Four switching points make a turn (or several) around an intersection of two
        surfaces; all that vanishes there and all that drifts meanwhile is smooth from turn to turn.
        """
        t, y = (
            np.concatenate([getattr(part, name) for part in (*self.out.rows[-3:], rows)])
            for name in ("t", "y")
        )
        known = [(self.t, self.y.copy())]
        for back in (4, 8):
            if self.info.points > back:
                at = int(np.searchsorted(t, self.run.ring[back]))
                if at < t.size and t[at] == self.run.ring[back]:
                    known.append((self.run.ring[back], y[at]))
        limit = np.zeros(self.n)
        for i, (t, x) in enumerate(known):
            others = [s for k, (s, _) in enumerate(known) if k != i]
            limit += x * np.prod([(t_star - s) / (t - s) for s in others])
        return limit

    def accumulation(self):
        """Switching points accumulate: continue at their limit on all surfaces that were crossed."""
        t_star = min(float(self.info.t_zeno), self.t1)
        run, used = self.run, self.run.used
        crossed = self.crossed_lately()
        members = self.active.copy()
        for j in crossed:
            members[self.c.starts[j] : self.c.starts[j + 1]] = 1.0
        self.warn(
            ZenoWarning,
            f"solve_filippov: switching points of {', '.join(self.names[j] for j in crossed)} accumulate at "
            f"t = {t_star:.12g} ({self.located + used.events} located); the run continues on their intersection",
            f"zeno {t_star:.6g}",
        )
        self.out.accumulations.append((t_star, crossed))
        before = run.log.after[used.events - 1].astype(float) if used.events else self.active.copy()
        self.y[:] = self.limit_of_states(t_star, core.Rows(*(array[: used.rows] for array in run.rows)))
        self.set_active(members)
        self.solver.now.t = t_star
        for _ in range(3):
            self.watch[:] = 1.0
            self.evaluate(switch)
            project(self.c.starts, members, run.values.h, self.G, self.y)
        self.evaluate_indicators()
        self.info.points = 0
        self.set_active(before)
        self.watch[:] = members
        self.add_row()
        self.evaluate(model)
        _, z, ratio = self.slope_of(members)
        if -0.5 < ratio <= SINGULAR and z[members > 0].min() >= 0.0:
            # Rest on all surfaces is possible, though not with unique weights: the solution has come to stay there.
            self.warn_degenerate("B'", "weights are not unique although x' is; least-norm weights are used")
            self.commit(members)
        else:
            self.decide("zeno")

    def crossed_lately(self):
        """Groups of the last seven switching points."""
        logs = [*(log.component for log in self.out.log[-7:]), self.run.log.component[: self.run.used.events]]
        hits = [*np.concatenate(logs)[-6:], int(self.info.component)]
        return sorted({int(np.searchsorted(self.c.starts, k, side="right") - 1) for k in hits})

    def add_row(self):
        """Store the present state as the end of a straight step."""
        rows, c = self.run.rows, int(self.run.used.rows)
        t_last, y_last = (
            (rows.t[c - 1], rows.y[c - 1]) if c else (self.out.rows[-1].t[-1], self.out.rows[-1].y[-1])
        )
        rows.t[c], rows.y[c], rows.active[c] = self.t, self.y, self.active > 0
        if self.o.dense:
            rows.Q[c] = 0.0
            rows.Q[c, 0], rows.length[c] = self.y - y_last, self.t - t_last
        self.run.used.rows = c + 1
