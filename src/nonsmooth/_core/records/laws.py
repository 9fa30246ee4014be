"""Set-valued laws by name: kinds of sets, modes, and the table of laws of a model."""

from typing import NamedTuple

import numpy as np

# kinds of sets
HALF_LINE = 0  # unilateral contact
INTERVAL = 1
DISK = 2
COULOMB_1D = 3  # [-mu P_N, mu P_N]
COULOMB_2D = 4  # disk of radius mu P_N
USER_SET = 5
FREE = 6  # bilateral constraint: no bound

# modes (Studer, Leine, Glocker 2008, sec. 4, with the bound added)
INACTIVE = 0
CONSTRAINT = 1
UPPER, LOWER = 2, -2  # impressed at a bound; an open contact whose law took part is at its lower one


class Laws(NamedTuple):
    """The laws of a model, one entry per law."""

    kind: np.ndarray
    row: np.ndarray  # first row of its impulse
    dim: np.ndarray  # number of rows
    link: np.ndarray  # the normal law of a Coulomb law, else -1
    mu: np.ndarray
    e: np.ndarray  # restitution


def make_laws(n):
    """A table of `n` laws (never empty, so that types stay the same)."""
    n = max(n, 1)
    ints = (np.zeros(n, dtype=np.int64) for _ in range(4))
    return Laws(*ints, mu=np.zeros(n), e=np.zeros(n))
