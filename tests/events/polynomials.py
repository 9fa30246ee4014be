"""Random piecewise-polynomial switching functions with known roots, many at once, and the bookkeeping of
what was found.

    g(t) = sign * w(y) * prod_j (y - r_j)^m_j,   y' = 1,   y(0) = 0,

w > 0 continuous and piecewise linear. Roots are simple or double, clustered, at both ends of the span. The
functions of a run live in the parameter array, so that one compiled g serves them all.
"""

from __future__ import annotations

import numpy as np

from nonsmooth.events.binding import Bound
from nonsmooth.events.options import SwitchOptions
from nonsmooth.events.run import SwitchedRun
from nonsmooth.events.switch import Switch
from nonsmooth.integrators.driver import rhs

EPS = np.finfo(float).eps
M = 8  # functions per run
ROOTS, KINKS = 7, 3
WIDTH = 2 + 2 * ROOTS + 2 * (KINKS + 2)  # sign, count, roots, multiplicities, kink places, weights


def _clock(t, y, p, out):
    out[0] = 1.0


def _values(t, y, p, out):
    x = y[0]
    for i in range(M):
        at = M + i * WIDTH
        value = p[at]
        for j in range(int(p[at + 1])):
            d = x - p[at + 2 + j]
            value *= d
            if p[at + 2 + ROOTS + j] == 2.0:
                value *= d
        k0 = at + 2 + 2 * ROOTS
        w = 1.0
        for k in range(KINKS + 1):
            a, b = p[k0 + k], p[k0 + k + 1]
            if a <= x <= b:
                s = (x - a) / (b - a)
                w = (1.0 - s) * p[k0 + KINKS + 2 + k] + s * p[k0 + KINKS + 2 + k + 1]
                break
        out[i] = value * w


_cache: list = []


def compiled():
    """Right-hand side and switching functions, compiled once."""
    if not _cache:
        _cache.extend([rhs(_clock), rhs(_values)])
    return _cache


def separated(row):
    """Whether |g| rises above rounding between neighbouring roots (else they are one root to any solver)."""
    count = int(row[1])
    roots, multiplicity = row[2 : 2 + count], row[2 + ROOTS : 2 + ROOTS + count]

    def size(x):
        return (
            np.prod([np.abs(x - r) ** m for r, m in zip(roots, multiplicity)], axis=0)
            if count
            else np.ones_like(x)
        )

    order = np.sort(roots)
    largest = size(np.linspace(0.0, 1.0, 200)).max()
    return all(size(np.linspace(a, b, 9)).max() > 1e-12 * largest for a, b in zip(order, order[1:]))


def random_function(rng, kinks=True):
    """One function: the row of its numbers."""
    while True:
        row = _random_row(rng, kinks)
        if separated(row):
            return row


def _random_row(rng, kinks):
    row = np.zeros(WIDTH)
    row[0] = rng.choice([-1.0, 1.0])
    count = rng.integers(0, ROOTS)
    roots: list[float] = []
    while len(roots) < count:
        kind = rng.random()
        if kind < 0.1:
            r = 0.0
        elif kind < 0.2:
            r = 1.0
        elif kind < 0.4 and roots:
            r = roots[-1] + rng.choice([-1, 1]) * 10.0 ** rng.uniform(-4, -1)
        else:
            r = rng.uniform(0.0, 1.0)
        if 0.0 <= r <= 1.0 and all(abs(r - q) > 5e-5 for q in roots):
            roots.append(r)
    multiplicity = [2.0 if rng.random() < 0.25 and 0.0 < r < 1.0 else 1.0 for r in roots]
    row[1] = len(roots)
    row[2 : 2 + len(roots)] = roots
    row[2 + ROOTS : 2 + ROOTS + len(roots)] = multiplicity
    places = np.sort(rng.uniform(0.02, 0.98, KINKS)) if kinks else np.linspace(0.2, 0.8, KINKS)
    row[2 + 2 * ROOTS : 2 + 2 * ROOTS + KINKS + 2] = [-1.0, *places, 2.0]
    row[2 + 2 * ROOTS + KINKS + 2 :] = rng.uniform(0.3, 3.0, KINKS + 2) if kinks else 1.0
    return row


class PolynomialBound(Bound):
    """`Bound` whose functions read the parameter array."""

    def __init__(self, rows, unilateral=()):
        switches = [
            Switch(lambda t, y: 0.0, name=f"g{i}", kind="unilateral" if i in unilateral else "bilateral")
            for i in range(M)
        ]
        super().__init__(lambda t, y: [1.0], switches, 1, ())
        self.p = np.concatenate([np.ones(M), rows.ravel(), [self.python.handle]])
        self.functions = [*compiled(), self.functions[2]]

    def g(self, t, y, out):
        _values(t, np.asarray(y), self.p, out)


def run_functions(rows, method="RK45", max_step=np.inf, detection="dense"):
    """All events of the functions `rows` on [0, 1]: list of `Event`, and counters."""
    bound = PolynomialBound(rows)
    run = SwitchedRun(
        bound,
        (0.0, 1.0),
        np.zeros(1),
        method,
        1e-6,
        1e-6,
        SwitchOptions(detection=detection),
        max_step=max_step,
    )
    with bound.python:
        while not run.done:
            run.advance(400)
    assert run.status == 0, run.message
    return run.events, run.counters()


def judge(rows, events):
    """Compare with the known roots: numbers of lost, double and misplaced events, of order violations and
    wrong sides.
    """
    bad = dict(lost=0, double=0, misplaced=0, disordered=0, wrong_side=0)
    roots_total = 0
    times = [event.t for event in events]
    bad["disordered"] += sum(b < a for a, b in zip(times, times[1:]))
    by_switch: dict[int, list] = {}
    for event in events:
        by_switch.setdefault(event.law, []).append(event)
    for i, row in enumerate(rows):
        count = int(row[1])
        roots, multiplicity = row[2 : 2 + count], row[2 + ROOTS : 2 + ROOTS + count]
        found = by_switch.get(i, [])
        used = np.zeros(len(found), dtype=bool)
        roots_total += count
        for r, m in zip(roots, multiplicity):
            # A double root is found as one touch or as a pair; its place is known to the square root of
            # rounding.
            radius = 4 * EPS + EPS if m == 1.0 else 2e-6
            at = [
                k
                for k, event in enumerate(found)
                if not used[k] and abs(event.before[0] - r) <= max(radius, 1e-9)
            ]
            if not at:
                bad["lost"] += 1
                continue
            if m == 1.0:
                bad["double"] += len(at) - 1
                # t* along the computed trajectory: y' = 1, so the error in t is the error in y.
                bad["misplaced"] += sum(abs(found[k].before[0] - r) > 4 * EPS + EPS for k in at)
                for k in at:
                    if found[k].kind == "switch" and not found[k].extra.get("at_end"):
                        value = found[k].after[0] - r
                        bad["wrong_side"] += value < 0.0
            else:
                kinds = [found[k].kind for k in at]
                bad["double"] += not (kinds == ["touch"] or kinds == ["switch", "switch"])
            used[at] = True
        bad["double"] += int(np.sum(~used))
    return bad, roots_total
