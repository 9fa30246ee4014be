"""Tangents of a model of functions, for implicit schemes: one weighted matrix  cM M + cD D + cK K  on a fixed pattern.

D = -dh/du and K = d(M a - h - W la)/d delta are found along coloured columns (`_core.derivatives.coloured`): by the complex step
where the function compiles for complex input, else by Richardson's differences; given `force_tangents` are taken. The pattern is
given (`MechanicalSystem(..., sparsity=)`) or found once by moving every coordinate at the start and elsewhere. Whatever was found is
compared with differences of the whole function in random directions; a pattern that fails is replaced by the full one.
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.derivatives.coloured import BY_COMPLEX, BY_DIFFERENCES, COMPLEX, GIVEN
from nonsmooth._core.derivatives.colouring import probe
from nonsmooth._core.derivatives.weighted_tangent import WRITERS, TangentParts, weighted_tangent
from nonsmooth._core.jit import MATRIX, VECTOR, Reference, address, address_record
from nonsmooth.model.colouring import CHANGES, Pattern
from nonsmooth.model.products import directions_times, mass_times, mass_times_complex
from nonsmooth.model.tangent_parts import SOURCES, Function, Part

#: Columns of larger products M a and W la are probed at one point only: each takes n^2 operations.
LARGE = 300


class Tangents:
    """The tangents of a model, compiled.

    Attributes
    ----------
    pattern, pattern_M : Pattern
        Of the weighted tangent and of M, shape (n_u, n_u).
    parts : dict from name to Part
    reference : Reference
        ``reference.address`` is what the kernel `weighted_tangent` takes.
    """

    def __init__(self, model):
        self.model, self.differ = model, model.differentiator
        self.n_q, self.n_u = model.n_q, model.n_u
        core, sparsity = model.core, model.system.sparsity
        self._given = None if sparsity is None else Pattern.given(sparsity, self.n_u)
        by_q, by_u = model.f_force_tangents
        h = Function(
            "h",
            lambda: core.force,
            model.f_force,
            self.differ.u0,
            lambda: self.differ.complex_evaluator(model.f_force),
        )
        a, la = np.ones(self.n_u), np.ones(model.laws.n_rows)
        Ma = Function(
            "M a", lambda: mass_times(model), model.f_mass, a, lambda: mass_times_complex(model), of_u=False
        )
        # the directions of gaps are derivatives themselves: no complex step on top
        Wla = Function("W la", lambda: directions_times(model), None, la, lambda: None, of_u=False)
        self.parts = {
            "h_by_q": self._part(h, True, by_q),
            "h_by_u": self._part(h, False, by_u),
            "Ma_by_q": self._part(Ma, True) if self._mass_changes() else Part.zero(model, Ma, True),
            "Wla_by_q": self._part(Wla, True) if self._directions_change() else Part.zero(model, Wla, True),
        }
        self.pattern_M = model.pattern_M
        self.pattern = self.pattern_M
        for part in self.parts.values():
            self.pattern = self.pattern | part.pattern
        self.record = self._record(core)
        self.reference = Reference(self.record)

    def _record(self, core) -> TangentParts:
        self._references = {name: Reference(part.record(self.pattern)) for name, part in self.parts.items()}
        kinematics = 0 if self.model.f_kinematics is None else (core.kinematics, MATRIX)
        M = self.pattern_M
        return TangentParts(
            at=address_record(
                **self._references,
                **dict.fromkeys(WRITERS, 0),
                mass=(core.mass, MATRIX),
                kinematics=kinematics,
            ),
            M_rows=M.rows,
            M_columns=np.repeat(np.arange(self.n_u), np.diff(M.column_start)),
            M_place=M.places_in(self.pattern),
            M=np.zeros((self.n_u, self.n_u)),
            M_values=np.zeros(1),
            B=np.zeros((self.n_q, self.n_u)),
            known=np.zeros(1),
        )

    def values(self, t, q, u, a, la, p, cM=0.0, cD=0.0, cK=0.0) -> np.ndarray:
        """Values of cM M + cD D + cK K on `pattern`, row by row."""
        values = np.zeros(self.pattern.size)
        weighted_tangent(self.reference.address, t, q, u, a, la, p, cM, cD, cK, values)
        return values

    # -- patterns ---------------------------------------------------------------------------------------------------

    def _kinematic_pattern(self) -> Pattern:
        found = np.zeros((self.n_q, self.n_u))
        for t, q, u in self.differ.points():
            found += np.abs(self.model.f_kinematics.call(t, q, u, self.differ.p))
        return Pattern.of(found)

    def _probed(self, f: Function, by_q: bool) -> Pattern:
        """Pattern of the derivative of `f` by q or by its third argument: what changes when an entry is moved."""
        found = np.zeros((self.n_u, self.n_q if by_q else f.x0.size), dtype=np.int8)
        at = address(f.writer, VECTOR)
        changes = np.outer(CHANGES, self.differ.scales["q"] if by_q else f.scale(self.differ)).ravel()
        work = np.zeros(self.n_q), np.zeros(f.x0.size), np.zeros(self.n_u), np.zeros(self.n_u)
        for t, q, x in f.points(self.differ):
            probe(at, 0 if by_q else 1, t, q, x, self.differ.p, changes, *work, found)
            if not f.of_u and self.n_u > LARGE:
                break
        return Pattern.of(found)

    def _mass_changes(self) -> bool:
        """Whether M changes when all coordinates are moved (many functions read no more of q than its size)."""
        if not self.model.f_mass.depends_on("q"):
            return False
        write_mass, p, n = self.model.core.mass, self.differ.p, self.n_u
        before, after = np.zeros((n, n)), np.zeros((n, n))
        for t, q, u in self.differ.points():
            write_mass(t, q, u, p, before)
            for change in CHANGES:
                write_mass(t, q + change * self.differ.scales["q"], u, p, after)
                if not np.array_equal(before, after, equal_nan=True):
                    return True
        return False

    def _directions_change(self) -> bool:
        return self.model.laws.n_rows > 0 and not self.model.constant_directions

    # -- parts ------------------------------------------------------------------------------------------------------

    def _part(self, f: Function, by_q: bool, given=None) -> Part:
        """The derivative of `f` by q (along the columns of B) or by its third argument: source, pattern, checked."""
        label = f"d/d{'q' if by_q else 'u'} {f.name}"
        full = Pattern.full(self.n_u, self.n_u)
        if given is not None:
            self.differ.sources[label] = "given"
            writer = given.writer(self.differ.q0, self.differ.u0, self.differ.t0)
            return Part(self.model, f, by_q, GIVEN, full, writer, MATRIX)
        if not f.depends_on("q" if by_q else "u"):
            return Part.zero(self.model, f, by_q)
        part = self._believed(f, by_q, self._pattern(f, by_q)) or self._believed(f, by_q, full)
        if part is None:  # a function that differences cannot follow either
            part = Part(self.model, f, by_q, BY_DIFFERENCES, full, f.writer, VECTOR)
        if part.pattern.size:
            self.differ.sources[label] = SOURCES[part.source]
        return part

    def _pattern(self, f: Function, by_q: bool) -> Pattern:
        if self._given is not None:
            return self._given
        pattern = self._probed(f, by_q)
        if by_q and self.model.f_kinematics is not None:
            return pattern @ self._kinematic_pattern()
        return pattern

    def _believed(self, f: Function, by_q: bool, pattern: Pattern) -> Part | None:
        """The best source that agrees with differences in random directions, or None."""
        if pattern.size == 0:
            zero = Part.zero(self.model, f, by_q)
            return zero if zero.agrees() else None
        evaluate = f.make_complex()
        for source, writer, signature in (
            (BY_COMPLEX, evaluate, COMPLEX),
            (BY_DIFFERENCES, f.writer, VECTOR),
        ):
            if writer is not None:
                part = Part(self.model, f, by_q, source, pattern, writer, signature)
                if part.agrees():
                    return part
        return None
