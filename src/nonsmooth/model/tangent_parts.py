"""One derivative inside a tangent: a compiled function, where its derivative comes from, the pattern, and whether it is right."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from nonsmooth._core.derivatives.coloured import (
    BY_COMPLEX,
    BY_DIFFERENCES,
    GIVEN,
    NONE,
    Coloured,
    Source,
    add_coloured,
)
from nonsmooth._core.jit import Reference, address_record
from nonsmooth.model.colouring import Pattern
from nonsmooth.model.derivatives import FACTORS as ALL_FACTORS
from nonsmooth.model.derivatives import Differentiator
from nonsmooth.model.functions import UserFunction

#: How well a derivative must agree with differences in random directions.
AGREEMENT = 1e-5
#: How the sources are called in the audit.
SOURCES = {NONE: "zero", GIVEN: "given", BY_COMPLEX: "complex step", BY_DIFFERENCES: "differences"}


FACTORS = ALL_FACTORS[:5]  # (a Newton matrix asks for no more)


class Function:
    """A compiled function f(t, q, x) of n_u values.

    Parameters
    ----------
    name : str
    make : callable returning the compiled function ``(t, q, x, p, out)``
        Called when that is wanted.
    user_function : UserFunction or None
        What it depends on.
    x0 : ndarray
        Its third argument at the start: velocities, accelerations or multipliers.
    make_complex : callable returning the function for complex arguments, or None
    of_u : bool
        Whether x are the velocities.
    """

    def __init__(self, name, make, user_function: UserFunction | None, x0, make_complex, of_u=True):
        self.name, self._make, self.user_function, self.x0 = name, make, user_function, np.array(x0)
        self.make_complex, self.of_u = make_complex, of_u

    @cached_property
    def writer(self):
        return self._make()

    def depends_on(self, name: str) -> bool:
        return self.user_function is None or self.user_function.depends_on(name)

    def points(self, differ: Differentiator):
        """Points (t, q, x) to try the function at."""
        for k, (t, q, u) in enumerate(differ.points()):
            yield t, q, u if self.of_u else self.x0 + 0.5 * np.cos(7.0 * np.arange(self.x0.size) + k)

    def scale(self, differ: Differentiator) -> np.ndarray:
        """Sizes of the entries of x."""
        return differ.scales["u"] if self.of_u else np.ones(self.x0.size)


class Part:
    """The derivative of a function by q (along the columns of B) or by its third argument: source, address and pattern."""

    def __init__(
        self, model, f: Function, by_q: bool, source: int, pattern: Pattern, writer=None, signature=None
    ):
        self.model, self.f, self.by_q, self.source, self.pattern = model, f, by_q, source, pattern
        self.differ: Differentiator = model.differentiator
        self.writer, self.signature = writer, signature
        self.step = FACTORS[0]

    @classmethod
    def zero(cls, model, f: Function, by_q: bool) -> Part:
        return cls(model, f, by_q, NONE, Pattern.empty(model.n_u, model.n_u))

    @property
    def turned(self) -> bool:
        """Whether the columns are those of B."""
        return self.by_q and self.model.f_kinematics is not None

    def record(self, whole: Pattern) -> Coloured:
        """For the kernels; entries stand where `whole` has them."""
        n_q, n_u, n_x = self.model.n_q, self.model.n_u, self.f.x0.size
        columns, colour_start = self.pattern.colours()
        scale = self.differ.scales["q"] if self.by_q else self.f.scale(self.differ)
        source = Source()
        source.kind, source.by_q, source.has_B = self.source, int(self.by_q), int(self.turned)
        source.step = self.step
        zeros: Any = np.zeros
        return Coloured(
            address_record(f=0 if self.writer is None else (self.writer, self.signature)), source, colour_start, columns,
            self.pattern.column_start, self.pattern.rows, self.pattern.places_in(whole), scale,
            zeros(scale.size), zeros(n_u), zeros(n_q), zeros(n_x), zeros(n_u), zeros(n_u), zeros(n_u),
            zeros(n_q, dtype=complex), zeros(n_x, dtype=complex), zeros(n_u, dtype=complex),
            zeros((n_u, n_q if self.by_q else n_u) if self.source == GIVEN else (1, 1)),
        )  # fmt: skip

    def values(self, t, q, x) -> np.ndarray:
        """Entries on the part's own pattern, row by row."""
        values, p, B = np.zeros(self.pattern.size), self.differ.p, np.zeros((1, 1))
        if self.turned:
            B = self.model.f_kinematics.call(t, q, x, p)
        reference = Reference(self.record(self.pattern))
        add_coloured(reference.address, 1.0, t, q, x, p, B, values)
        return values

    def agrees(self) -> bool:
        """Whether the derivative agrees with differences of the function in random directions."""
        rng, tried = np.random.default_rng(1974), 0
        for t, q, x in self.f.points(self.differ):
            d = rng.standard_normal(self.model.n_u)
            if self.turned:
                move = self.model.f_kinematics.call(t, q, x, self.differ.p) @ d
            else:
                move = d = d * (self.differ.scales["q"] if self.by_q else self.f.scale(self.differ))
            wanted, doubt = self._differences(t, q, x, move)
            if not np.all(np.isfinite(wanted)):  # outside the domain of the function: says nothing
                continue
            found = self.pattern.sparse(self.values(t, q, x)) @ d
            size = np.max(np.abs(wanted), initial=0.0)
            if not np.all(np.abs(found - wanted) <= AGREEMENT * size + 10.0 * doubt):
                return False
            tried += 1
        return tried > 0

    def _differences(self, t, q, x, move) -> tuple[np.ndarray, np.ndarray]:
        """Derivative of the function along `move`, from the step at which differences change least, and that change."""
        found = [self._slope(t, q, x, move, s) for s in FACTORS]
        changes = [np.max(np.abs(a - b), initial=0.0) for a, b in zip(found, found[1:])]
        best = int(np.nanargmin(changes)) if np.any(np.isfinite(changes)) else 0
        if self.source == BY_DIFFERENCES:
            self.step = min(self.step, FACTORS[best])
        return found[best], np.abs(found[best] - found[best + 1])

    def _slope(self, t, q, x, move, s) -> np.ndarray:
        """Richardson's difference along `move` with the step `s`."""
        d = []
        for step in (s, 0.5 * s):
            values = []
            for way in (step * move, -step * move):
                out = np.zeros(self.model.n_u)
                args = (q + way, x) if self.by_q else (q, x + way)
                self.f.writer(t, *args, self.differ.p, out)
                values.append(out)
            d.append((values[0] - values[1]) / (2.0 * step))
        return (4.0 * d[1] - d[0]) / 3.0
