"""Tangents of a world for implicit schemes: bodies that share an element couple, and nothing else does.

The derivatives are taken along coloured columns by differences of the compiled forces and of W la (`model.tangent_parts`): linear
in the number of elements. Structures write their own. M does not depend on q.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from nonsmooth._core.bodies import assemble
from nonsmooth._core.bodies.frames import SPATIAL
from nonsmooth._core.calls.model_functions import ModelFunction
from nonsmooth._core.derivatives.coloured import BY_DIFFERENCES
from nonsmooth._core.derivatives.weighted_tangent import TangentParts, weighted_tangent
from nonsmooth._core.jit import MATRIX, VECTOR, Reference, address_record
from nonsmooth.model.bodies.writers import sequence
from nonsmooth.model.colouring import Pattern
from nonsmooth.model.tangent_parts import Function, Part

#: Step of the differences, relative to the coordinates: bodies far from the origin may hang on short springs.
STEP = 1e-6


class WorldTangents:
    """The weighted tangent of a world; same members as `model.tangents.Tangents`."""

    def __init__(self, model):
        self.model, self.differ = model, model.differentiator
        assembly, core, n = model.assembly, model.core, model.n_u
        rows = assembly.laws.n_rows
        writers = model.writers
        h = Function("h", lambda: writers.own_force, None, model._u0, lambda: None)
        words = assemble.Directions(core.directions, np.zeros((max(rows, 1), n)), rows, np.zeros(n))
        Wla = Function(
            "W la",
            lambda: ModelFunction(assemble.directions_times, VECTOR, words),
            None,
            np.ones(rows),
            lambda: None,
            of_u=False,
        )
        acting = [(e.a, e.b) for e in (*assembly.springs, *assembly.torsions, *assembly.bushings)]
        acting += [(None, load.body) for load in assembly.loads]
        forces = [tuple(assembly.side(body).number for body in pair) for pair in acting]
        spinning = [(k, k) for k in np.flatnonzero(assembly.frames.kind == SPATIAL)]
        laws = [(row.a, row.b) for row in assembly.rows]
        self.parts = {
            "h_by_q": self._part(h, True, self._coupling(forces)),
            "h_by_u": self._part(h, False, self._coupling(forces + spinning)),
            "Ma_by_q": Part.zero(model, h, True),
            "Wla_by_q": self._part(Wla, True, self._coupling(laws)),
        }
        self.pattern_M = model.pattern_M
        self.pattern = self.pattern_M
        for part in self.parts.values():
            self.pattern = self.pattern | part.pattern
        for laid in assembly.structures:
            i, j = laid.coupled()
            coupled = sparse.csr_array((np.ones(i.size), (laid.first_u + i, laid.first_u + j)), shape=(n, n))
            self.pattern = self.pattern | Pattern.of(coupled)
        self._known = self._structures(assembly.structures)
        self._references = {name: Reference(part.record(self.pattern)) for name, part in self.parts.items()}
        kinematics = 0 if model.f_kinematics is None else (core.kinematics, MATRIX)
        M, none = self.pattern_M, np.zeros(1, dtype=np.int64)
        rows_of_M = np.repeat(np.arange(n), np.diff(M.row_start))
        self.record = TangentParts(
            at=address_record(
                **self._references,
                mass_values=(writers.mass_values, VECTOR),
                **self._known,
                mass=0,
                kinematics=kinematics,
            ),
            M_rows=none,
            M_columns=none,
            M_place=self.pattern.places(rows_of_M, M.columns),
            M=np.zeros((1, 1)),
            M_values=np.zeros(M.size),
            B=np.zeros((model.n_q, n) if kinematics else (1, 1)),
            known=np.zeros(self.pattern.size),
        )
        self.reference = Reference(self.record)

    def _structures(self, structures) -> dict:
        """Compiled K and D of structures, as addresses."""
        made = []
        for laid in structures:
            first = laid.first_u
            made.append(laid.tangents(lambda i, j, first=first: self.pattern.places(first + i, first + j)))
        K, D = ([pair[k] for pair in made if pair[k] is not None] for k in (0, 1))
        return {
            "stiffness": (sequence(K, VECTOR), VECTOR) if K else 0,
            "damping": (sequence(D, VECTOR), VECTOR) if D else 0,
        }

    def _coupling(self, pairs) -> Pattern:
        """Pattern in which the velocities of both bodies of each pair couple."""
        return coupling(self.model.assembly, pairs)

    def _part(self, f: Function, by_q: bool, pattern: Pattern) -> Part:
        if pattern.size == 0:
            return Part.zero(self.model, f, by_q)
        part = Part(self.model, f, by_q, BY_DIFFERENCES, pattern, f.writer, VECTOR)
        part.step = STEP
        return part

    def values(self, t, q, u, a, la, p, cM=0.0, cD=0.0, cK=0.0) -> np.ndarray:
        """Values of cM M + cD D + cK K on `pattern`, row by row."""
        values = np.zeros(self.pattern.size)
        weighted_tangent(self.reference.address, t, q, u, a, la, p, cM, cD, cK, values)
        return values


def coupling(assembly, pairs) -> Pattern:
    """Where the velocities of both bodies of each pair meet."""
    n, i, j = assembly.n_u, [], []
    for pair in set(pairs):
        places = np.concatenate([assembly.velocities(k) for k in sorted(set(pair))])
        i.append(np.repeat(places, places.size))
        j.append(np.tile(places, places.size))
    if not i:
        return Pattern.empty(n, n)
    rows, columns = np.concatenate(i), np.concatenate(j)
    return Pattern.of(sparse.csr_array((np.ones(rows.size), (rows, columns)), shape=(n, n)))
