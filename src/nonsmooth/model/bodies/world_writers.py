"""The compiled writers of a world with what its elements add to those of bodies, springs and loads: bushings."""

from __future__ import annotations

import numpy as np

from nonsmooth._core.bodies import bushings
from nonsmooth._core.calls.model_functions import ModelFunction
from nonsmooth._core.jit import VECTOR
from nonsmooth.model.bodies.bushing import Bushing, components
from nonsmooth.model.bodies.writers import OnBody, UserFunctions, Writers, element
from nonsmooth.model.functions import UserFunction


class WorldWriters(Writers):
    """Made once for a world laid out in tables."""

    def _forces(self) -> list:
        return [*super()._forces(), *self._bushings()]

    def _bushings(self) -> list:
        """Linear ones together, those with a law one by one."""
        items, places, dim = self.assembly.bushings, self.layout.bushings, self.assembly.dim
        linear = [k for k, item in enumerate(items) if item.law is None]
        found = []
        if linear:
            found.append(element(bushings.bushings, VECTOR, self._pairs(items, places, linear)))
        for k, item in enumerate(items):
            if item.law is not None:
                n, reference = components(dim), self._pairs(items, places, [k])
                law = law_of(self.functions, item, dim).function.writer(np.zeros(n), np.zeros(n), 0.0)
                words = bushings.ByLaw(reference.address, law, np.zeros(3 * n), n)
                found.append(
                    ModelFunction(bushings.bushing_by_function, VECTOR, words, keep=(reference, law))
                )
        return found


def law_of(functions: UserFunctions, item: Bushing, dim: int) -> OnBody:
    """The user's law of a bushing; at the start all it sees is zero."""
    owner, n = f"law of {item.owner}", components(dim)
    return functions.known(
        (item.law, owner),
        lambda: OnBody(
            UserFunction(item.law, owner, (n,), True, functions.parameters),
            lambda q, u: (np.zeros(n), np.zeros(n)),
        ),
    )
