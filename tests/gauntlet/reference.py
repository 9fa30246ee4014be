"""An event-driven solver for reference motions; it shares nothing with the library.

Smooth phases are integrated by DOP853 near the rounding limit with the accelerations and forces of the mode at hand.
Gaps of open contacts are integrated along and set to zero at each impact, so that a bounce of 1e-20 is as well resolved as
one of 1. At every event the new mode is found by **enumeration** of all modes of all laws; two answers that differ are an
error, never a choice.

Units: the models handed in are of size one (lengths, velocities, times); other units are reached by scaling the result.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np
from scipy.integrate import DOP853
from scipy.optimize import brentq

OPEN, CLOSED, STICK, PLUS, MINUS = "open", "closed", "stick", "+", "-"
SIGN = {PLUS: 1.0, MINUS: -1.0}

ZERO_SPEED = 1e-10  # below it a slip velocity is zero
LAST_BOUNCE = 1e-12  # bounces slower than this end in sustained contact
TOGETHER = 1e-10  # events nearer in time than this happen together
SCAN = 6  # instants of a step at which event functions are looked at


class Inadmissible(Exception):
    """The motion is not unique, not defined, or nearer to a change of its kind than the gauntlet admits."""


@dataclass
class Terms:
    """The model at one state: M, h, and for each kind of law W^T (rows), zeta and kappa = d/dt(W^T) u + d zeta/dt."""

    M: np.ndarray
    h: np.ndarray
    N: np.ndarray
    gamma_N: np.ndarray
    kappa_N: np.ndarray
    T: np.ndarray
    gamma_T: np.ndarray
    kappa_T: np.ndarray
    J: np.ndarray
    gamma_J: np.ndarray
    kappa_J: np.ndarray
    limit: np.ndarray  # of friction elements, which follow the contacts in T


@dataclass
class Event:
    t: float
    kind: str
    law: str
    speed: float = 0.0  # approach velocity of an impact


@dataclass
class Motion:
    """What a run leaves behind."""

    t: list = field(default_factory=list)  # sampled instants
    q: list = field(default_factory=list)
    u: list = field(default_factory=list)
    events: list = field(default_factory=list)
    speed: float = 0.0  # largest velocity seen
    idle: set = field(
        default_factory=set
    )  # contacts that touch without a force: closed and open are the same
    margin: float = np.inf  # least relative distance from an event that did not happen
    decision: float = (
        np.inf
    )  # least distance of the friction ratio from the cone's edge where stick was decided


def run(model, t_span, q0, u0, samples=(), rtol=1e-13, max_step=np.inf, margins=True):
    """The motion from (q0, u0), with states at the instants `samples` and at the end."""
    return _Run(model, t_span, q0, u0, samples, rtol, max_step, margins).go()


class _Run:
    def __init__(self, model, t_span, q0, u0, samples, rtol, max_step, margins):
        self.model, self.rtol, self.margins = model, rtol, margins
        self.t, self.t_end = map(float, t_span)
        self.span = self.t_end - self.t
        self.max_step = min(max_step, self.span / 40)
        self.q, self.u = np.array(q0, dtype=float), np.array(u0, dtype=float)
        self.n, self.n_c = self.q.size, len(model.e)
        self.n_T = self.n_c + model.elements
        self.stops = [float(s) for s in samples] + [self.t_end]
        self.motion = Motion()
        self.g = np.array(model.gap(self.t, self.q), dtype=float)
        self.g[np.abs(self.g) < 1e-12] = 0.0
        self.mode = [OPEN] * self.n_c + [STICK] * model.elements
        self.fresh = True  # modes of the start are no events

    # -- the story ----------------------------------------------------------------------------------------------------

    def go(self):
        self._jump_and_decide(touching=self.g == 0.0)
        self.fresh = False
        for _ in range(20000):
            if self.t >= self.t_end:
                return self.motion
            hit = self._smooth_phase()
            if hit is not None:
                self._project()
                self._jump_and_decide(touching=hit)
        raise Inadmissible("too many events")

    def _jump_and_decide(self, touching):
        """Impacts of the contacts that touch and approach, then the modes of the next phase."""
        for _ in range(20):
            terms = self.model.terms(self.t, self.q, self.u)
            self._see_speed(terms)
            tol = ZERO_SPEED if self.fresh else LAST_BOUNCE
            closed = np.array([self.mode[i] != OPEN for i in range(self.n_c)], dtype=bool)
            hitting = touching & ~closed & (terms.gamma_N < -tol)
            resting = touching & ~closed & (np.abs(terms.gamma_N) <= tol)
            if not np.any(hitting):
                break
            self._impact(terms, closed | hitting | resting, hitting)
        else:
            raise Inadmissible("impacts without end at one instant")
        for i in np.flatnonzero(resting):
            self.mode[i] = CLOSED
            self.g[i] = 0.0
            self._record("close", i)
        self._decide()

    # -- impacts --------------------------------------------------------------------------------------------------------

    def _impact(self, terms, members, hitting):
        """Moreau's law: 0 <= P_N, gamma_N+ + e gamma_N- >= 0, complementary; Coulomb friction on impulses."""
        model = self.model
        members = np.flatnonzero(members)
        options = [(OPEN, STICK, PLUS, MINUS) if model.mu[i] > 0 else (OPEN, CLOSED) for i in members]
        found = []
        for choice in product(*options):
            mode = dict(zip(members, choice))
            answer = self._impulses(terms, mode)
            if answer is not None and self._impulse_ok(terms, mode, *answer):
                found.append((choice, answer))
        if not found:
            raise Inadmissible("no impact solution")
        u_plus = found[0][1][0]
        scale = 1e-9 * (1.0 + np.abs(self.u).max())
        if any(np.abs(answer[0] - u_plus).max() > scale for _, answer in found):
            raise Inadmissible("two impact solutions")
        before = self.u
        self.u = u_plus
        after = model.terms(self.t, self.q, self.u)
        for i in members:
            speed = -terms.gamma_N[i]
            was_open = self.mode[i] == OPEN
            if after.gamma_N[i] > (ZERO_SPEED if not was_open else LAST_BOUNCE):
                if was_open and hitting[i]:
                    self._record("impact", i, speed)
                elif not was_open:
                    self._record("open", i)
                    self.mode[i] = OPEN
                self.g[i] = 0.0
            elif was_open:
                self._record("close", i, speed)
                self.mode[i] = CLOSED
                self.g[i] = 0.0
        if np.array_equal(before, self.u):
            raise Inadmissible("an impact without effect")

    def _impulses(self, terms, mode):
        """Solve for u+ and impulses with the modes of an impact; None if it cannot be solved."""
        model, e = self.model, self.model.e
        rows, columns, right = list(terms.J), list(terms.J), list(-terms.gamma_J)
        for i, m in mode.items():
            if m == OPEN:
                continue
            rows.append(terms.N[i])
            right.append(-(1 + e[i]) * terms.gamma_N[i])
            columns.append(terms.N[i] - (SIGN[m] * model.mu[i] * terms.T[i] if m in SIGN else 0.0))
            if m == STICK:
                rows.append(terms.T[i])
                columns.append(terms.T[i])
                right.append(-terms.gamma_T[i])
        solution = _saddle(terms.M, np.zeros(self.n), rows, columns, right)
        if solution is None:
            return None
        jump, P = solution
        u_plus = self.u + jump
        P_N, P_T, k = np.zeros(self.n_c), np.zeros(self.n_c), len(terms.J)
        for i, m in mode.items():
            if m == OPEN:
                continue
            P_N[i] = P[k]
            k += 1
            if m == STICK:
                P_T[i] = P[k]
                k += 1
            elif m in SIGN:
                P_T[i] = -SIGN[m] * model.mu[i] * P_N[i]
        return u_plus, P_N, P_T

    def _impulse_ok(self, terms, mode, u_plus, P_N, P_T):
        jump = u_plus - self.u
        for i, m in mode.items():
            v = max(abs(terms.gamma_N[i]), np.linalg.norm(terms.N[i]) * np.linalg.norm(jump), 1e-300)
            xi = terms.gamma_N[i] * (1 + self.model.e[i]) + terms.N[i] @ jump
            gamma_T = terms.gamma_T[i] + terms.T[i] @ jump
            size = max(np.abs(P_N).max(), 1e-300)
            if m == OPEN and xi < -1e-9 * v:
                return False
            if P_N[i] < -1e-9 * size:
                return False
            if m == STICK and abs(P_T[i]) > self.model.mu[i] * P_N[i] + 1e-9 * size:
                return False
            if m in SIGN and SIGN[m] * gamma_T < -1e-9 * (v + abs(terms.gamma_T[i])):
                return False
        return True

    # -- modes --------------------------------------------------------------------------------------------------------

    def _decide(self):
        """Modes of the next phase by enumeration at acceleration level."""
        model = self.model
        terms = model.terms(self.t, self.q, self.u)
        options = []
        for k in range(self.n_T):
            if k < self.n_c and self.mode[k] == OPEN:
                options.append((OPEN,))
                continue
            leave = (OPEN,) if k < self.n_c else ()
            if k < self.n_c and model.mu[k] == 0:
                options.append((CLOSED, *leave))
            elif abs(terms.gamma_T[k]) > ZERO_SPEED:
                options.append((PLUS if terms.gamma_T[k] > 0 else MINUS, *leave))
            else:
                options.append((STICK, PLUS, MINUS, *leave))
        found = []
        for mode in product(*options):
            answer = self._accelerations(terms, mode)
            if answer is not None and self._acceleration_ok(terms, mode, *answer):
                found.append((mode, answer))
        if not found:
            raise Inadmissible("no acceleration (jam)")
        a = found[0][1][0]
        if any(np.abs(other[0] - a).max() > 1e-7 * (1 + np.abs(a).max()) for _, other in found):
            raise Inadmissible("two accelerations (not unique)")
        if len(found) > 1:
            found = self._lasting(found)
        mode, (_, la_N, la_T) = found[0]
        self._note_decision(mode, la_N, la_T)
        weak = 1e-9 * max(1.0, np.abs(la_N).max(initial=0.0))
        self.motion.idle |= {model.names[i] for i in range(self.n_c) if mode[i] != OPEN and la_N[i] <= weak}
        self._record_modes(mode)
        self.mode = list(mode)
        self._project()

    def _lasting(self, found):
        """Of modes with the same acceleration those that stay consistent for a short while."""
        for delta in (1e-6, 1e-5, 1e-4):
            lasting = []
            for mode, answer in found:
                y = self._short(mode, delta * self.span)
                if y is None:
                    continue
                q, u = y
                terms = self.model.terms(self.t + delta * self.span, q, u)
                after = self._accelerations(terms, mode)
                if after is not None and self._strictly_ok(terms, mode, *after):
                    lasting.append((mode, answer))
            if lasting:
                return lasting
        return found

    def _short(self, mode, tau):
        """State after a short time in a mode (one step of the classical Runge-Kutta scheme)."""

        def rate(t, q, u):
            answer = self._accelerations(self.model.terms(t, q, u), mode)
            return None if answer is None else answer[0]

        t, q, u = self.t, self.q, self.u
        k = []
        for c in (0.0, 0.5, 0.5, 1.0):
            dq = u + c * tau * (k[-1][1] if k else 0.0)
            du = rate(t + c * tau, q + c * tau * (k[-1][0] if k else 0.0), dq)
            if du is None:
                return None
            k.append((dq, du))
        weights = (1 / 6, 1 / 3, 1 / 3, 1 / 6)
        return (
            q + tau * sum(w * s[0] for w, s in zip(weights, k)),
            u + tau * sum(w * s[1] for w, s in zip(weights, k)),
        )

    def _accelerations(self, terms, mode):
        """a, la_N, la_T in a mode; None if it cannot be solved."""
        model = self.model
        rows, columns, right = list(terms.J), list(terms.J), list(-terms.kappa_J)
        h = terms.h.copy()
        place = []
        for k, m in enumerate(mode):
            if m == OPEN:
                continue
            if k < self.n_c:
                place.append(("N", k))
                rows.append(terms.N[k])
                right.append(-terms.kappa_N[k])
                columns.append(terms.N[k] - (SIGN[m] * model.mu[k] * terms.T[k] if m in SIGN else 0.0))
            elif m in SIGN:
                h -= SIGN[m] * terms.limit[k - self.n_c] * terms.T[k]
            if m == STICK:
                place.append(("T", k))
                rows.append(terms.T[k])
                columns.append(terms.T[k])
                right.append(-terms.kappa_T[k])
        solution = _saddle(terms.M, h, rows, columns, right)
        if solution is None:
            return None
        a, la = solution
        la_N, la_T = np.zeros(self.n_c), np.zeros(self.n_T)
        for value, (kind, k) in zip(la[len(terms.J) :], place):
            if kind == "N":
                la_N[k] = value
                if mode[k] in SIGN:
                    la_T[k] = -SIGN[mode[k]] * model.mu[k] * value
            else:
                la_T[k] = value
        return a, la_N, la_T

    def _cone(self, terms, k, la_N):
        return self.model.mu[k] * la_N[k] if k < self.n_c else terms.limit[k - self.n_c]

    def _slacks(self, terms, mode, a, la_N, la_T):
        """What must not be negative, relative to the sizes at hand."""
        force = max(np.abs(la_N).max(initial=0), np.abs(la_T).max(initial=0), np.abs(terms.h).max(), 1e-12)
        size = max(
            np.abs(a).max(), np.abs(terms.kappa_N).max(initial=0), np.abs(terms.kappa_T).max(initial=0), 1e-12
        )
        slack = []
        for k, m in enumerate(mode):
            if k < self.n_c and m == OPEN and self.mode[k] != OPEN:
                slack.append((terms.N[k] @ a + terms.kappa_N[k]) / size)
            if k < self.n_c and m != OPEN:
                slack.append(la_N[k] / force)
            if m == STICK:
                slack.append((self._cone(terms, k, la_N) - abs(la_T[k])) / force)
            if m in SIGN and abs(terms.gamma_T[k]) <= ZERO_SPEED:
                slack.append(SIGN[m] * (terms.T[k] @ a + terms.kappa_T[k]) / size)
        return np.array(slack)

    def _acceleration_ok(self, terms, mode, a, la_N, la_T):
        return bool(np.all(self._slacks(terms, mode, a, la_N, la_T) >= -1e-8))

    def _strictly_ok(self, terms, mode, a, la_N, la_T):
        """A little later: forces inside, gaps of the opened open, slip in its direction."""
        for k, m in enumerate(mode):
            if k < self.n_c and m == OPEN and self.mode[k] != OPEN and not terms.gamma_N[k] > 0:
                return False
            if k < self.n_c and m != OPEN and la_N[k] < 0:
                return False
            if m == STICK and abs(la_T[k]) > self._cone(terms, k, la_N):
                return False
            if m in SIGN and SIGN[m] * terms.gamma_T[k] <= 0:
                return False
        return True

    def _note_decision(self, mode, la_N, la_T):
        if not self.margins:
            return
        terms = self.model.terms(self.t, self.q, self.u)
        for k, m in enumerate(mode):
            if m == STICK and self.mode[k] in SIGN:
                cone = self._cone(terms, k, la_N)
                self.motion.decision = min(self.motion.decision, 1 - abs(la_T[k]) / max(cone, 1e-300))

    # -- smooth phases --------------------------------------------------------------------------------------------------

    def _smooth_phase(self):
        """Integrate to the next event or stop. Returns which contacts touch, or None at a stop."""
        state = np.concatenate([self.q, self.u, self.g])
        stop = self.stops[0]
        armed = None
        t, y = self.t, state
        first = self._first_step(y)
        while True:
            step = min(first, stop - t) if first else None
            solver = DOP853(
                self._rate, t, y, stop, rtol=self.rtol, atol=0.01 * self.rtol * np.ones(y.size), max_step=self.max_step,
                first_step=step,
            )  # fmt: skip
            while solver.status == "running":
                t_old, y_old = solver.t, solver.y.copy()
                message = solver.step()
                if solver.status == "failed":
                    raise Inadmissible(f"integration failed: {message}")
                dense = solver.dense_output()
                grid = np.linspace(t_old, solver.t, SCAN + 1)
                values = np.array([self._watch(s, dense(s)) for s in grid])
                values[-1] = self._watch(solver.t, solver.y)
                if armed is None:
                    level = self._levels(y)
                    armed, largest = values[0] > level, np.abs(values[0])
                hit = self._first_crossing(grid, values, armed, level, dense)
                largest = np.maximum(largest, np.abs(values).max(axis=0))
                if hit is not None:
                    return self._arrive(t_old, y_old, *hit)
                self._near_misses(values, largest)
                armed |= np.any(values > level, axis=0)
            self._keep(solver.t, solver.y)
            self._sample()
            self.stops.pop(0)
            return None

    def _levels(self, y):
        """What an event function must exceed before its next zero counts: a contact that bounced is open at once."""
        level = np.full((self.n_T, 3), 1e-9)
        n = self.n
        rising = self.model.terms(self.t, y[:n], y[n : 2 * n]).gamma_N > LAST_BOUNCE
        level[: self.n_c, 0] = np.where(rising, 0.0, 1e-13)
        return level.ravel()

    def _first_step(self, y):
        """Short enough to see the next return of a contact that has just bounced."""
        n = self.n
        terms = self.model.terms(self.t, y[:n], y[n : 2 * n])
        answer = self._accelerations(terms, self.mode)
        if answer is None:
            raise Inadmissible("no acceleration (jam)")
        first = None
        for i in range(self.n_c):
            rate = terms.N[i] @ answer[0] + terms.kappa_N[i]
            if self.mode[i] == OPEN and self.g[i] < 1e-6 and terms.gamma_N[i] > 0 and rate < 0:
                flight = 0.5 * terms.gamma_N[i] / -rate
                first = flight if first is None else min(first, flight)
        return first

    def _rate(self, t, y):
        n = self.n
        terms = self.model.terms(t, y[:n], y[n : 2 * n])
        answer = self._accelerations(terms, self.mode)
        if answer is None:
            raise Inadmissible("no acceleration (jam)")
        rate = [g if m == OPEN else 0.0 for g, m in zip(terms.gamma_N, self.mode)]
        return np.concatenate([y[n : 2 * n], answer[0], rate])

    def _watch(self, t, y):
        """Event functions, positive while the mode holds: three columns per law."""
        n = self.n
        terms = self.model.terms(t, y[:n], y[n : 2 * n])
        _, la_N, la_T = self._accelerations(terms, self.mode)
        values = np.full((self.n_T, 3), np.inf)
        for k, m in enumerate(self.mode):
            if m == OPEN:
                values[k, 0] = y[2 * n + k]
                continue
            if k < self.n_c:
                values[k, 0] = la_N[k]
            if m in SIGN:
                values[k, 1] = SIGN[m] * terms.gamma_T[k]
            elif m == STICK:
                cone = self._cone(terms, k, la_N)
                values[k, 1], values[k, 2] = cone - la_T[k], cone + la_T[k]
        return values.ravel()

    def _first_crossing(self, grid, values, armed, level, dense):
        """(instant, column) of the first event function that becomes negative, or None."""
        best = None
        for c in range(values.shape[1]):
            column = values[:, c]
            ready = bool(armed[c])
            for j in range(1, grid.size):
                if ready and column[j] <= 0 < column[j - 1]:
                    root = self._zero(c, dense, grid[j - 1], grid[j])
                    if best is None or root < best[0]:
                        best = (root, c)
                    break
                if ready and column[j] <= 0 and column[j - 1] <= 0:
                    best = (grid[j - 1], c) if best is None or grid[j - 1] < best[0] else best
                    break
                if not ready and column[j] < -1e-6:
                    raise Inadmissible("a mode fails as soon as it begins")
                ready |= column[j] > level[c]
        return best

    def _zero(self, column, dense, a, b):
        return brentq(lambda s: self._watch(s, dense(s))[column], a, b, xtol=1e-15, rtol=1e-15)

    def _near_misses(self, values, largest):
        """Event functions that come down nearly to zero and turn back."""
        if not self.margins:
            return
        inner = (values[1:-1] < values[:-2]) & (values[1:-1] <= values[2:])
        for j, c in zip(*np.nonzero(inner)):
            if values[j + 1, c] > 1e-9:
                self.motion.margin = min(self.motion.margin, values[j + 1, c] / largest[c])

    def _arrive(self, t_old, y_old, root, column):
        """Integrate once more to the event itself, polish its instant, and say which contacts touch."""
        t, y = t_old, y_old
        target = root
        for _ in range(3):
            if abs(target - t) > 0:
                y = self._direct(t, y, target)
                t = target
            value = self._watch(t, y)[column]
            step = 1e-6 * (root - t_old)
            if step <= 0:
                break
            slope = (value - self._watch(t - step, y - step * self._rate(t, y))[column]) / step
            if slope >= 0 or not np.isfinite(slope):
                break
            move = -value / slope
            if abs(move) > 1e-3 * (root - t_old) or abs(move) <= 1e-16 * abs(t):
                break
            target = t + move
        self._keep(t, y)
        touching = np.zeros(self.n_c, dtype=bool)
        terms = self.model.terms(t, self.q, self.u)
        for i in range(self.n_c):
            if self.mode[i] != OPEN:
                continue
            near = abs(self.g[i]) <= TOGETHER * self.span * max(-terms.gamma_N[i], 0.0)
            moves = self.g[i] != 0.0 or terms.gamma_N[i] < 0.0  # a gap may become exactly zero on arrival
            if (near and moves) or column == 3 * i:
                touching[i] = True
        return touching

    def _direct(self, t, y, target):
        """State at `target`, without looking for events."""
        if target == t:
            return y
        atol = 0.01 * self.rtol * np.ones(y.size)
        solver = DOP853(self._rate, t, y, target, rtol=self.rtol, atol=atol, first_step=abs(target - t))
        while solver.status == "running":
            solver.step()
        if solver.status == "failed":
            raise Inadmissible("integration failed near an event")
        return solver.y

    # -- books --------------------------------------------------------------------------------------------------------

    def _keep(self, t, y):
        n = self.n
        self.t, self.q, self.u, self.g = float(t), y[:n].copy(), y[n : 2 * n].copy(), y[2 * n :].copy()

    def _project(self):
        """Closed contacts, sticking directions and joints: drift of rounding size is removed."""
        for _ in range(3):
            terms = self.model.terms(self.t, self.q, self.u)
            closed = [i for i in range(self.n_c) if self.mode[i] != OPEN]
            gap = np.concatenate(
                [self.model.joint(self.t, self.q), np.array(self.model.gap(self.t, self.q))[closed]]
            )
            W = np.vstack([terms.J, terms.N[closed]])
            if W.shape[0]:
                self.q = (
                    self.q
                    - np.linalg.solve(terms.M, W.T)
                    @ np.linalg.lstsq(W @ np.linalg.solve(terms.M, W.T), gap, rcond=1e-10)[0]
                )
        terms = self.model.terms(self.t, self.q, self.u)
        stuck = [k for k in range(self.n_T) if self.mode[k] == STICK]
        W = np.vstack([terms.J, terms.N[closed], terms.T[stuck]])
        if W.shape[0]:
            gamma = np.concatenate([terms.gamma_J, terms.gamma_N[closed], terms.gamma_T[stuck]])
            self.u = (
                self.u
                - np.linalg.solve(terms.M, W.T)
                @ np.linalg.lstsq(W @ np.linalg.solve(terms.M, W.T), gamma, rcond=1e-10)[0]
            )

    def _sample(self):
        self._project()
        self.motion.t.append(self.t)
        self.motion.q.append(self.q.copy())
        self.motion.u.append(self.u.copy())

    def _see_speed(self, terms):
        rates = [np.abs(terms.gamma_N).max(initial=0), np.abs(terms.gamma_T).max(initial=0)]
        self.motion.speed = max(self.motion.speed, *rates)

    def _record(self, kind, k, speed=0.0):
        if self.fresh and kind not in ("impact",):
            return
        name = self.model.names[k]
        self.motion.events.append(Event(self.t, kind, name, float(speed)))

    def _record_modes(self, mode):
        for k, (old, new) in enumerate(zip(self.mode, mode)):
            if k < self.n_c and new == OPEN and old != OPEN:
                self._record("open", k)
            elif old == new or old in (OPEN, CLOSED) or new in (OPEN, CLOSED):
                continue
            else:
                kind = "stick" if new == STICK else "slip" if old == STICK else "reversal"
                if not self.fresh:
                    law = self.model.names[k] + (" friction" if k < self.n_c else "")
                    self.motion.events.append(Event(self.t, kind, law))


def _saddle(M, h, rows, columns, right):
    """a and multipliers of  M a = h + columns la,  rows a = right; None if that has no solution."""
    n, m = M.shape[0], len(rows)
    if m == 0:
        return np.linalg.solve(M, h), np.zeros(0)
    A = np.zeros((n + m, n + m))
    A[:n, :n] = M
    A[:n, n:] = -np.array(columns).T
    A[n:, :n] = np.array(rows)
    b = np.concatenate([h, right])
    try:
        x = np.linalg.solve(A, b)
    except np.linalg.LinAlgError:
        x = np.full(n + m, np.inf)
    if not np.all(np.isfinite(x)) or np.abs(x).max() > 1e8 * (1 + np.abs(b).max()):
        x = np.linalg.lstsq(A, b, rcond=1e-11)[0]
        if np.abs(A @ x - b).max() > 1e-9 * (1 + np.abs(b).max()):
            return None
    return x[:n], x[n:]
