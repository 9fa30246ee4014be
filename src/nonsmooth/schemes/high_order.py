"""Outputs of relative order above two in a run of `sliding-mode`: their records, and what their inputs are checked for at the start.

Equations in `_core.stepping.relative_order`.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

from nonsmooth._core.jit import Reference
from nonsmooth._core.records.status import OK
from nonsmooth._core.stepping import relative_order as core
from nonsmooth._core.stepping.equivalent_control import FIND
from nonsmooth.errors import InconsistentStateError, InputError, ModelError

SPACINGS = 10.0 ** (-0.5 * np.arange(1, 10))  # of the instants of differences, in time scales of the motion
APART = 1e-6  # part of its natural size by which a derivative may depend on an input, or miss zero, and be said not to
REACHED = 1e-8  # part of its natural size by which an input must move the last derivative


def orders_of(model) -> np.ndarray:
    """Relative order of each row: that of a servo, 2 for joints, 1 for nonholonomic constraints."""
    orders = np.ones(max(model.laws.n_rows, 1), dtype=np.int64)
    system = getattr(model, "system", None)
    for joint, rows in zip(getattr(system, "joints", ()), getattr(model, "joint_rows", ())):
        orders[rows] = getattr(joint, "order", 2)
    return orders


class HighOrder:
    """Records of the outputs of a run, by `orders` of its rows; `n_y` unknowns are integrated."""

    def __init__(self, orders: np.ndarray, n_y: int):
        from nonsmooth.integrators.tableaus import get_method

        method = get_method("DOP853")
        s, tableau = method.stages, method.tableau
        self.orders = orders
        up_to = range(core.HIGHEST + 1)
        self.record = core.make_outputs(
            orders.size, n_y, np.ascontiguousarray(tableau.A[: s + 1, : s + 1]), tableau.c[: s + 1].copy(),
            differences(core.HIGHEST - 1), np.array([[comb(r, k) for k in up_to] for r in up_to], float),
        )  # fmt: skip
        self.record.control.stages = s
        self.reference = Reference(self.record)

    def parts(self) -> dict[str, Any]:
        """Addresses for the record of the run."""
        return {"find": (core.find_inputs, FIND), "outputs": self.reference}

    def begin(self, run, t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Spacing of the differences and sizes of inputs; relative orders are checked. Returns which rows start where they are wanted."""
        model, scale = run.model, time_scale(run.model, t, q, u, run.span)
        high = self.orders > 2
        sizes = self._sizes(model, t, q, u, scale)
        y = np.concatenate([q, u, np.zeros(run.own.y.size - q.size - u.size)])
        tables = [self._table(run, t, y, part * scale) for part in SPACINGS]
        table = tables[self._smoothest(tables, sizes, high)]
        self.record.control.spacing = table["spacing"]
        self._check(model.laws.name, table, sizes, high)
        lower = [np.abs(table["e"][0, i, 2:r]) <= APART * sizes[i, 2:r] for i, r in enumerate(self.orders)]
        return np.array([bool(np.all(row)) for row in lower])

    def _sizes(self, model, t, q, u, scale):
        """Natural sizes of derivatives (row, k), and of inputs: as large as the forces that act, or as the motion would need."""
        WT, _ = model.directions(t, q)
        E = WT.copy()
        model.inputs(float(t), np.ascontiguousarray(q), np.zeros(model.n_u), model.parameters.flat, E)
        solved = np.linalg.solve(model.mass_matrix(t, q), np.column_stack([model.forces(t, q, u), E.T]))
        largest = [float(np.max(np.abs(x), initial=0.0)) for x in (solved[:, 0], u, q)]
        a = max(largest[0], largest[1] / scale, largest[2] / scale**2) or 1.0
        for i in np.flatnonzero(self.orders > 2):
            reach = float(np.linalg.norm(solved[:, 1 + i]))
            if reach == 0.0:
                raise ModelError(
                    f"the input of output {model.laws.name[i]!r} is zero at the start: it moves nothing."
                )
            self.record.unit[i] = a / reach
        return (
            a * np.linalg.norm(WT, axis=1)[:, None] * scale ** -np.arange(-2.0, core.HIGHEST - 1.0)[None, :]
        )

    def _table(self, run, t, y, spacing):
        """Derivatives at the start with instants that far apart."""
        self.record.control.spacing = spacing
        run.own.control.status = OK
        core.derivatives_at(run.own.at.find, run.at_scene, float(t), y)
        return {"spacing": spacing, "e": self.record.derivative.copy()}

    def _smoothest(self, tables, sizes, high) -> int:
        """The spacing at which derivatives change least: wider ones are not straight, narrower ones are rounding."""
        columns = [0, *(1 + np.flatnonzero(high))]
        parts = [table["e"][np.ix_(columns, np.flatnonzero(high))] / sizes[high] for table in tables]
        changes = [
            float(np.max(np.abs(a - b)[..., 3 : int(self.orders.max()) + 1]))
            for a, b in zip(parts, parts[1:])
        ]
        return int(np.nanargmin(changes)) + 1

    def _check(self, names, table, sizes, high) -> None:
        """Inputs appear in the derivative of the order that was given, and not before."""
        rows, e = np.flatnonzero(high), table["e"]
        effect = {(i, k): e[1 + rows, i, k] - e[0, i, k] for i in rows for k in range(2, self.orders[i] + 1)}
        for i in rows:
            for k in range(2, self.orders[i]):
                if np.max(np.abs(effect[i, k])) > APART * sizes[i, k]:
                    raise ModelError(
                        f"the relative order of output {names[i]!r} is {k}, not {self.orders[i]}: an input appears in its derivative {k}; "
                        f"Servo(..., order={k})."
                    )
        b = np.array([effect[i, self.orders[i]] / sizes[i, self.orders[i]] for i in rows])
        if not np.linalg.svd(b, compute_uv=False)[-1] > REACHED:
            worst = rows[int(np.argmin(np.max(np.abs(b), axis=1)))]
            raise ModelError(
                f"the relative order of output {names[worst]!r} is not {self.orders[worst]}, or not defined: the inputs do not reach it in "
                "so many derivatives; give another order, other inputs or another output."
            )


def differences(n: int) -> np.ndarray:
    """Weights of central differences of orders 0 ... n - 1 on the nodes -K ... K, shape (n, 2 K + 1)."""
    nodes = np.arange(-core.NODES, core.NODES + 1.0)
    powers = nodes[None, :] ** np.arange(nodes.size)[:, None]
    factorials = np.cumprod([1.0, *range(1, nodes.size)])
    return np.ascontiguousarray(np.linalg.solve(powers, np.diag(factorials))[:, :n].T)


def time_scale(model, t: float, q: np.ndarray, u: np.ndarray, span: float) -> float:
    """Of the motion: 1 over the fastest rate of its linearisation at the start, at most the span."""
    x, n_q = np.concatenate([q, u]), q.size

    def rates(x):
        q, u = x[:n_q], x[n_q:]
        a = np.linalg.solve(model.mass_matrix(t, q), model.forces(t, q, u))
        return np.concatenate([model.kinematic_matrix(t, q) @ u, a])

    steps = 1e-6 * np.maximum(
        np.abs(x), np.concatenate([np.full(v.size, np.max(np.abs(v), initial=0.0) or 1.0) for v in (q, u)])
    )
    J = np.array(
        [(rates(x + step) - rates(x - step)) / (2 * size) for size, step in zip(steps, np.diag(steps))]
    ).T
    fastest = float(np.max(np.abs(np.linalg.eigvals(J)), initial=0.0))
    return min(span, 1.0 / fastest) if fastest > 0.0 else span


def check_scheme(scheme, model, t) -> None:
    """What a run with such outputs cannot do."""
    if getattr(model, "inputs", None) is None:
        raise InputError(
            "a Servo of order above 2 needs an `input`: without one it is a constraint, of order 2."
        )
    if scheme.acceleration != "equivalent" or scheme.stabilisation != "post":
        raise InputError(
            'outputs of relative order above 2 need acceleration="equivalent" and stabilisation="post" (the defaults).'
        )


def refuse_start(names, orders, there, reaches: bool) -> None:
    """Outputs whose derivatives do not start where they are wanted."""
    off = np.flatnonzero((orders > 2) & ~there)
    if off.size and not reaches:
        i = int(off[0])
        raise InconsistentStateError(
            f"output {names[i]!r} of relative order {orders[i]} does not start as wanted: a derivative up to order {orders[i] - 1} differs "
            "from that of `wanted`; correct q0 and u0, or let it come there: SlidingMode(reach=...), which it does as exp(-sigma t)."
        )
