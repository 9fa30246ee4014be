"""`Assembled`: what schemes see of a model. Models made of functions satisfy it, and worlds of bodies, and a class of your own.

A scheme knows this protocol and nothing else of what moves: not whether the mass matrix came from a function, from bodies or from
finite elements. Everything in it is fixed when the model is bound to a start (sizes, patterns, addresses) or written into arrays of
fixed size by compiled functions, so that whole runs stay inside compiled loops.

What a model owes:

1. Sizes and scales: `n_q`, `n_u`, `laws` (its rows are the rows of W^T), `parameters`.
2. Compiled writers ``(t, q, u, p, out)``, p the flat parameters: ``core.mass`` M, ``core.force`` h, ``core.gap`` g_N,
   ``core.directions`` W^T, ``core.zeta``, ``core.bounds``, ``core.kinematics`` B; `joints` g_J; `kappa` d/dt(W^T) u + d zeta/dt.
   A question the model does not have is answered by a function that writes nothing (`no_vector`, `no_matrix`).
3. Patterns, fixed: `pattern_M`, `pattern_K`, `pattern_W`.
4. One weighted tangent on `pattern_K`: the kernel `weighted_tangent` with the address `tangent_parts.reference.address`. It is a Newton
   matrix: 1e-8 is enough, and terms may be dropped if the docstring names them.
5. `space`: n_q, n_u and the kernel `retract` with the address ``space.reference.address``.
6. `mass_operator`: M factorised and solved with.
7. `laws_at(t, q)`: the laws of the step that starts there. Models of functions always have the same ones; a world's change.
8. The second route: the same answers in plain NumPy, not through the compiled writers where that can be avoided, for the audit.

The writers of one model share scratch space: one run at a time (`MechanicalSystem.running`).
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from nonsmooth.contact.laws import LawTable


@runtime_checkable
class Assembled(Protocol):
    """A model, as schemes see it. Shapes: q (n_q,), u, a (n_u,), la (n_rows,).

    ``isinstance`` may ask for every member, and so compile it (Python 3.11): for tests, not for runs.
    """

    n_q: int
    n_u: int
    laws: LawTable
    parameters: Any

    # -- compiled ---------------------------------------------------------------------------------------------------

    @property
    def core(self) -> Any:
        """Writers mass, force, gap, directions, zeta, bounds, kinematics, and the projections of user-defined sets."""

    @property
    def joints(self) -> Any:
        """Writer of the values of the joints, in the order of their rows."""

    @property
    def kappa(self) -> Any:
        """Writer of the quadratic term of all rows."""

    @property
    def space(self) -> Any:
        """A `model.space.Space`."""

    @property
    def pattern_M(self) -> Any:
        """Of M, a `model.colouring.Pattern`."""

    @property
    def pattern_K(self) -> Any:
        """Of the weighted tangent."""

    @property
    def pattern_W(self) -> Any:
        """Of W^T."""

    @property
    def tangent_parts(self) -> Any:
        """Parts of the weighted tangent, with the `reference` the kernel takes."""

    @property
    def mass_operator(self) -> Any:
        """M as an operator."""

    def laws_at(self, t: float, q: np.ndarray) -> LawTable:
        """The laws of the step that starts at (t, q)."""

    def record(self) -> Any:
        """What the run loop takes: addresses of the writers, sizes, laws, parameters."""

    # -- plain NumPy: the second route ------------------------------------------------------------------------------

    def mass_matrix(self, t, q) -> np.ndarray:
        """M, shape (n_u, n_u)."""

    def forces(self, t, q, u) -> np.ndarray:
        """h, shape (n_u,)."""

    def gaps(self, t, q) -> np.ndarray:
        """g_N, shape (n_N,)."""

    def directions(self, t, q) -> tuple[np.ndarray, np.ndarray]:
        """W^T, shape (n_rows, n_u), and zeta, shape (n_rows,)."""

    def bounds(self, t, q, u) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper force bounds by row."""

    def kinematic_matrix(self, t, q) -> np.ndarray:
        """B, shape (n_q, n_u)."""

    def joint_residuals(self, t, q, u) -> tuple[np.ndarray, np.ndarray]:
        """Position residual of joints, velocity residual of all bilateral constraints."""

    def quadratic_term(self, t, q, u) -> np.ndarray:
        """kappa, shape (n_rows,)."""

    def tangent(self, t, q, u, a, la, cM=0.0, cD=0.0, cK=0.0) -> Any:
        """cM M + cD D + cK K as a sparse matrix."""
