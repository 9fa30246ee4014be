"""The contact problem of a step, as its solvers take it: laws that act, their rows, G and c (see `laws.projections`)."""

from typing import Any, NamedTuple

import numpy as np

from nonsmooth._core.jit import address_record, by_reference, scalars

# solvers of a step; OUTSIDE is a method of `nonsmooth.contact`, called in Python
AUTO, PSOR, PJOR, NEWTON, OUTSIDE = range(5)


class ActiveLaws(NamedTuple):
    """The laws that act in a step, in the order of the model."""

    law: np.ndarray  # number in the model
    kind: np.ndarray
    row: np.ndarray  # first row in the problem
    dim: np.ndarray
    link: np.ndarray  # place of the normal law of a Coulomb law, else -1
    mode: np.ndarray
    tried: np.ndarray  # mode before the last solve
    mu: np.ndarray
    e: np.ndarray  # restitution in this step
    rho: np.ndarray  # the factor r of the projection


class Rows(NamedTuple):
    """One entry per row of the laws that act."""

    c: np.ndarray  # xi = G P + c
    P: np.ndarray  # impulse
    xi: np.ndarray  # gamma_E + e gamma_B
    lo: np.ndarray  # bounds of the impulse; `hi` is the radius of a disk
    hi: np.ndarray
    gamma_B: np.ndarray  # relative velocity at the begin of the step
    gamma_F: np.ndarray  # the one finite forces alone would lead to
    b: np.ndarray  # work space of Newton's method
    best: np.ndarray


class Proximal(NamedTuple):
    """What the proximal Newton method keeps, one entry per row (see `laws.proximal_newton`)."""

    diagonal: np.ndarray  # of G as given
    c: np.ndarray  # as given
    start: np.ndarray  # impulses at the begin of a Newton step
    kept: np.ndarray  # best impulses so far


class Problem(NamedTuple):
    """The problem, its solver's options and work space."""

    at: Any  # addresses: project, by_modes, relax, proximal, outside, solve
    laws: ActiveLaws
    rows: Rows
    G: np.ndarray
    A: np.ndarray  # matrix of Newton's method, with a spare row
    proximal: Proximal
    xy: np.ndarray  # argument and value of a projection
    options: Any
    count: Any
    order: np.ndarray  # laws of the model in the order in which they are listed: friction behind its contact
    place: np.ndarray  # by law of the model: where it stands among those that act, or -1
    acts: np.ndarray  # by law of the model: whether it acts


SolverOptions = scalars(
    "SolverOptions",
    method=int,
    tol=float,  # residual that counts as solved
    max_iter=int,
    omega=float,  # relaxation
    strategy=int,  # what stands for G_ii in r = omega / G_ii (see `projections.r_factors`)
    newton=int,  # most solves of Newton on the modes
)

Count = scalars(
    "Count",
    laws=int,
    rows=int,
    iterations=int,
    reach=int,  # G_ij = 0 where i and j are further apart
)


def make_problem(at, n_laws, n_rows, options, order=None, reach=None):
    """A problem with up to so many laws and rows; `at` as `laws.solve_laws.addresses` makes it.

    With `order`, in which laws are listed, rows do not see those further away than `reach`. (The arrays are square all the same: memory
    that is never touched costs nothing.)
    """
    n, r = max(n_laws, 1), max(n_rows, 1)
    count = Count()
    count.reach = r if reach is None else reach
    ints = [np.zeros(n, dtype=np.int64) for _ in range(7)]
    return Problem(
        at=at,
        laws=ActiveLaws(*ints, mu=np.zeros(n), e=np.zeros(n), rho=np.zeros(n)),
        rows=Rows(*(np.zeros(r) for _ in Rows._fields)),
        G=np.zeros((r, r)),
        A=np.zeros((r + 1, r)),
        proximal=Proximal(*(np.zeros(r) for _ in Proximal._fields)),
        xy=np.zeros((2, 4)),
        options=options,
        count=count,
        order=np.arange(n) if order is None else np.array(order, dtype=np.int64),
        place=np.zeros(n, dtype=np.int64),
        acts=np.zeros(n, dtype=np.int64),
    )


PARTS = ("project", "by_modes", "relax", "proximal", "outside", "solve")
EXAMPLE = make_problem(address_record(**dict.fromkeys(PARTS, 0)), 1, 1, SolverOptions())
_, problem_at = by_reference(EXAMPLE)
