"""What a result says of a structure, by its name."""

from __future__ import annotations

from typing import Any

import numpy as np

from nonsmooth.errors import InputError
from nonsmooth.model.bodies.plain import Poses


class StructureView:
    """Motion of the nodes of a structure at the instants of a result.

    Attributes
    ----------
    position, velocity : ndarray, shape (dim, nodes, n_t)
    angle : ndarray, shape (nodes, n_t)
        Of the cross-sections, in the plane.
    kinetic_energy, strain_energy, potential_energy : ndarray, shape (n_t,)
        The last one is that of its weight.
    section_forces : ndarray, shape (k, elements, n_t)
        In the middle of every element: normal force N of a bar or cable; N, shear force Q and bending moment M of a beam; in space N, Q
        and Q_2 along `normal` and across, torque T, bending moments M_2 and M, of EI_2 and EI.
    """

    def __init__(self, model: Any, result: Any, laid: Any):
        self._model, self._result, self._laid = model, result, laid
        self.name = laid.structure.name
        numbers, nodes = model.system._numbers, laid.structure.nodes
        self._numbers = np.array([numbers[id(node)] for node in nodes], dtype=np.int64)
        self.dim = model.assembly.dim

    def _poses(self) -> Poses:
        return Poses(self._model.assembly, self._result.q.T)

    @property
    def position(self) -> np.ndarray:
        return self._poses().x[:, self._numbers, : self.dim].transpose(2, 1, 0)

    @property
    def velocity(self) -> np.ndarray:
        v, _ = self._poses().velocities(self._result.u.T)
        return v[:, self._numbers, : self.dim].transpose(2, 1, 0)

    @property
    def angle(self) -> np.ndarray:
        phi = self._poses().phi
        if phi is None:
            raise InputError(f"{self.name!r} has no `angle` in space.")
        return phi[:, self._numbers].T

    @property
    def kinetic_energy(self) -> np.ndarray:
        return self._laid.kinetic_energy(self._result.u.T)

    @property
    def strain_energy(self) -> np.ndarray:
        return self._laid.strain_energy(self._result.q.T)

    @property
    def potential_energy(self) -> np.ndarray:
        return self._laid.work_of_weight(self._result.q.T)

    @property
    def section_forces(self) -> np.ndarray:
        return self._laid.resultants(self._result.q.T, self._result.u.T).transpose(2, 1, 0)
