"""What an impact that is followed as a process (`stepping.event_driven.impact_process`) is made of."""

from typing import NamedTuple

import numpy as np

STAGES = 12  # of the Runge-Kutta method that follows it

# restitution
NEWTON, POISSON, ENERGETIC = range(3)

# a contact during the impact
IDLE, COMPRESSES, EXPANDS = range(3)


class Process(NamedTuple):
    """Course of an impact: relative velocities and impulses by row of the problem listed, forces and reserves by its laws."""

    A: np.ndarray  # Butcher's tableau; its last row is b
    y: np.ndarray  # gamma, P by row; la, R by law
    y_new: np.ndarray
    K: np.ndarray  # slopes of the stages
    la: np.ndarray  # by row: forces at the last evaluation
    slip: np.ndarray  # by row: unit direction of slip
    held: np.ndarray  # by row: does not move
    phase: np.ndarray  # by law
    stuck: np.ndarray  # by law: friction that does not slip
    leaves: np.ndarray  # by law: friction that has just reached its limit
    kind: np.ndarray  # by law: its set, while another one stands in the problem
    slope: np.ndarray  # by law: rate of the force in expansion (Poisson)
    size: np.ndarray  # by row: velocity that is none
    phi_0: (
        np.ndarray
    )  # two functions of each law, positive until its phase ends: at the begin of a step, at its end
    phi: np.ndarray


def make_process(n_laws, n_rows):
    """The record for so many laws and rows."""
    n, r = max(n_laws, 1), max(n_rows, 1)
    count = 2 * (n + r)
    return Process(
        A=np.zeros((STAGES + 1, STAGES)), y=np.zeros(count), y_new=np.zeros(count), K=np.zeros((STAGES, count)), la=np.zeros(r),
        slip=np.zeros(r), held=np.zeros(r, dtype=np.int64), phase=np.zeros(n, dtype=np.int64), stuck=np.zeros(n, dtype=np.int64),
        leaves=np.zeros(n, dtype=np.int64), kind=np.zeros(n, dtype=np.int64), slope=np.zeros(n), size=np.zeros(r),
        phi_0=np.zeros(2 * n), phi=np.zeros(2 * n),
    )  # fmt: skip
