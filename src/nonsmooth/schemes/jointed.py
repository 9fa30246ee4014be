"""Worlds of many joints for sparse steps: the matrix of masses and joints (equations in `nonsmooth._core.stepping.saddle`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from nonsmooth._core.bodies.frames import HELD
from nonsmooth._core.jit import MATRIX, Reference, address_record
from nonsmooth._core.linalg.factors import factorise, solve
from nonsmooth._core.stepping import saddle as core
from nonsmooth._core.stepping.alpha.jointed import make_jointed
from nonsmooth.model.colouring import Pattern
from nonsmooth.model.independence import surely_independent
from nonsmooth.model.matrix_operator import MatrixOperator
from nonsmooth.schemes.projection import KeepingReference

#: From so many rows of joints on a sparse step of Moreau's rule is quicker.
MANY_JOINTS = 36


def has_many_joints(model) -> bool:
    """Whether a model is a world of joints enough for a sparse step; rows on nodes that are held in part have no place in it."""
    return hasattr(model, "assembly") and model.laws.n_J >= MANY_JOINTS and not touches_held(model)


def touches_held(model) -> bool:
    """Whether rows meet nodes that are held in part."""
    assembly = model.assembly
    touched = {k for row in assembly.rows for k in (row.a, row.b)}
    return any(assembly.frames.kind[k] == HELD for k in touched)


def make_record(model, tangents) -> Reference | None:
    """The record of `generalized-alpha`, or None where rows depend on each other or meet nodes that are held in part."""
    if touches_held(model) or not has_own_forces(model) or redundant(model, columns_of(model)):
        return None
    saddle, kept = make_saddle(model, tangents.pattern, model.pattern_M)
    return KeepingReference(make_jointed(saddle, model.n_u, model.laws.n_rows), *kept)


def make_saddle(model, given: Pattern, pattern_A: Pattern | None = None, soft: float = 0.0):
    """The record of the matrix and what it points at; values of A come on the pattern `given`, and stand on `pattern_A`."""
    pattern_A, n_u, n_rows = given if pattern_A is None else pattern_A, model.n_u, model.laws.n_rows
    column, first = columns_of(model), n_rows - model.laws.n_J
    row, k = np.nonzero(column[first:] >= 0)
    row += first
    pattern = whole_pattern(pattern_A, row - first, column[row, k], n_u, n_rows - first)
    place, place_T = np.zeros(column.shape, dtype=np.int64), np.zeros(column.shape, dtype=np.int64)
    place[row, k] = pattern.places(n_u + row - first, column[row, k])
    place_T[row, k] = pattern.places(column[row, k], n_u + row - first)
    joints = np.arange(n_u, n_u + n_rows - first)
    i, j = np.repeat(np.arange(n_u), np.diff(pattern_A.row_start)), pattern_A.columns
    factors = MatrixOperator(pattern, definite=False)
    directions = model.writers.paired_directions(core.SIDE)
    at = address_record(
        directions=(directions, MATRIX), factors=factors.reference, factorise=(factorise, core.FACTORISE), solve=(solve, core.SOLVE)
    )  # fmt: skip
    A = given.places(i, j), pattern.places(i, j), i, j
    record = core.make_saddle(
        at,
        n_u,
        n_rows,
        first,
        pattern.size,
        column,
        (place, place_T, pattern.places(joints, joints)),
        A,
        soft,
    )
    return record, (factors, directions)


def columns_of(model) -> np.ndarray:
    """The velocities of both bodies of every row, -1 where there is none."""
    assembly = model.assembly
    column = np.full((model.laws.n_rows, 2 * core.SIDE), -1, dtype=np.int64)
    for number, row in enumerate(assembly.rows):
        for first, body in ((0, row.a), (core.SIDE, row.b)):
            velocities = assembly.velocities(body)
            column[number, first : first + velocities.size] = velocities
    return column


def has_own_forces(model) -> bool:
    """Whether forces are weight, rotation and loads that are given, so that the mass matrix serves as the tangent."""
    assembly: Any = model.assembly
    functions = any(callable(load.force) or callable(load.torque) for load in assembly.loads)
    return not (
        assembly.springs or assembly.torsions or assembly.bushings or assembly.structures or functions
    )


def whole_pattern(A: Pattern, row, column, n_u: int, n_rows: int) -> Pattern:
    """Velocities, then rows: A, W and W^T, and a diagonal."""
    WT = sparse.csr_array((np.ones(row.size), (row, column)), shape=(n_rows, n_u))
    return Pattern.of(sparse.block_array([[A.sparse(), WT.T], [WT, sparse.eye_array(n_rows)]], format="csr"))


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
