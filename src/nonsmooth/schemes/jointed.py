"""Worlds of many joints for the sparse step of `generalized-alpha` (equations in `nonsmooth._core.stepping.alpha.jointed`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from nonsmooth._core.bodies.frames import HELD
from nonsmooth._core.jit import MATRIX, Reference, address_record
from nonsmooth._core.stepping.alpha import jointed as core
from nonsmooth.model.colouring import Pattern
from nonsmooth.model.independence import surely_independent
from nonsmooth.model.matrix_operator import MatrixOperator
from nonsmooth.schemes.projection import KeepingReference


def make_record(model, tangents) -> Reference | None:
    """The record, or None where rows depend on each other or meet nodes that are held in part."""
    assembly, n_u, n_rows = model.assembly, model.n_u, model.laws.n_rows
    touched = {k for row in assembly.rows for k in (row.a, row.b)}
    if any(assembly.frames.kind[k] == HELD for k in touched) or not has_own_forces(model):
        return None
    column = np.full((n_rows, 2 * core.SIDE), -1, dtype=np.int64)
    for number, joint in enumerate(assembly.rows):
        for first, body in ((0, joint.a), (core.SIDE, joint.b)):
            velocities = assembly.velocities(body)
            column[number, first : first + velocities.size] = velocities
    if redundant(model, column):
        return None
    row, k = np.nonzero(column >= 0)
    pattern = whole_pattern(model.pattern_M, row, column[row, k], n_u, n_rows)
    place, place_T = np.zeros(column.shape, dtype=np.int64), np.zeros(column.shape, dtype=np.int64)
    place[row, k], place_T[row, k] = (
        pattern.places(n_u + row, column[row, k]), pattern.places(column[row, k], n_u + row)
    )  # fmt: skip
    i, j = np.repeat(np.arange(n_u), np.diff(model.pattern_M.row_start)), model.pattern_M.columns
    factors = MatrixOperator(pattern, definite=False)
    directions = model.writers.paired_directions(core.SIDE)
    at = address_record(directions=(directions, MATRIX), factors=factors.reference)
    mass = tangents.pattern.places(i, j), pattern.places(i, j), i, j
    record = core.make_jointed(at, n_u, n_rows, pattern.size, column, (place, place_T), mass)
    return KeepingReference(record, factors, directions)


def has_own_forces(model) -> bool:
    """Whether forces are weight, rotation and loads that are given, so that the mass matrix serves as the tangent."""
    assembly: Any = model.assembly
    functions = any(callable(load.force) or callable(load.torque) for load in assembly.loads)
    return not (
        assembly.springs or assembly.torsions or assembly.bushings or assembly.structures or functions
    )


def whole_pattern(mass: Pattern, row, column, n_u: int, n_rows: int) -> Pattern:
    """Velocities, then rows: M, W and W^T, and a diagonal."""
    WT = sparse.csr_array((np.ones(row.size), (row, column)), shape=(n_rows, n_u))
    return Pattern.of(
        sparse.block_array([[mass.sparse(), WT.T], [WT, sparse.eye_array(n_rows)]], format="csr")
    )


def redundant(model, column) -> bool:
    """Whether rows may depend on each other at the start, in the metric of the masses."""
    W = np.zeros(column.shape)
    model.writers.paired_directions(core.SIDE)(model._t0, model._q0, model._u0, model.parameters.flat, W)
    row, k = np.nonzero(column >= 0)
    WT = sparse.csr_array((W[row, k], (row, column[row, k])), shape=(model.laws.n_rows, model.n_u))
    roots = sparse.dia_array(
        (1.0 / np.sqrt(model.sparse_mass.diagonal())[None], [0]), shape=(model.n_u, model.n_u)
    )
    return not surely_independent(sparse.csr_array(WT @ roots))
