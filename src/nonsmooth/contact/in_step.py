"""The contact problem of a time step as a `ContactProblem`, and its solution by any method of `solve_contact`.

A step has laws of several kinds between ``xi = G P + c`` and P (`_core.laws.projections`); a `ContactProblem` has contacts of one
dimension. With a selection ``P = T r + p_0``, ``u = T^T xi`` every law but a user set becomes a contact or an equality row:

====================================  =================================================================================
unilateral contact, Coulomb friction  a contact; frictionless ones are padded with rows that move nothing
interval with two finite bounds       friction with mu = 1 of a contact whose normal impulse is given: half the width of
                                      the interval, by a normal row of its own (u_N = g r_N - g w is zero there only); p_0
                                      is the middle
interval with one finite bound        a frictionless contact, p_0 is the bound
disk                                  as the interval with two bounds, in space
bilateral constraint, free interval   an equality row, eliminated (`ContactProblem.from_mixed`)
====================================  =================================================================================
"""

from __future__ import annotations

import numpy as np

from nonsmooth._core.records import laws as kinds
from nonsmooth.contact.problem import ContactProblem
from nonsmooth.contact.solve import solve_contact
from nonsmooth.errors import ModelError, NonsmoothError

#: A method is asked for this part of the step's tolerance where laws have another form there, and so another measure.
TIGHTER = 0.1


class StepForm:
    """The problem of a step in the form of `solve_contact`.

    Parameters
    ----------
    problem : _core.records.problem.Problem

    Attributes
    ----------
    refused : str
        Why the step has no such form; empty if it has.
    problem : ContactProblem
    guess : ndarray
        The step's impulses, as impulses of `problem`.
    """

    def __init__(self, problem):
        self.step = problem
        self.n_laws, self.n = int(problem.count.laws), int(problem.count.rows)
        self.refused = self._refusal()
        self.plain = True  # nothing but contacts with friction of one dimension
        if self.refused:
            return
        # per contact: rows of the step with their signs, given normal impulse (or none), coefficient
        self.contacts: list[tuple[list[int], float, float | None, float]] = []
        self.held: list[int] = []
        self.p_0 = np.zeros(self.n)
        for l in range(self.n_laws):
            self._add(l)
        self.dim = max((len(rows) + (given is not None) for rows, _, given, _ in self.contacts), default=1)
        self.plain = not self.held and all(
            given is None and sign > 0.0 and len(rows) == self.dim > 1
            for rows, sign, given, _ in self.contacts
        )
        self._assemble()

    def _refusal(self) -> str:
        laws = self.step.laws
        if np.any(laws.kind[: self.n_laws] == kinds.USER_SET):
            return "it has convex sets of the user"
        if not np.all(np.isfinite(laws.mu[: self.n_laws])):
            return "it has infinite friction coefficients"
        return ""

    def _add(self, l: int) -> None:
        laws, rows = self.step.laws, self.step.rows
        kind, row = int(laws.kind[l]), int(laws.row[l])
        if kind == kinds.HALF_LINE:
            friction = np.flatnonzero((laws.link[: self.n_laws] == l) & (laws.kind[: self.n_laws] != kind))
            mine, mu = [row], 0.0
            for k in friction:
                mine += range(int(laws.row[k]), int(laws.row[k] + laws.dim[k]))
                mu = float(laws.mu[k])
            self.contacts.append((mine, 1.0, None, mu))
        elif kind == kinds.DISK:
            self.contacts.append(([row, row + 1], 1.0, float(rows.hi[row]), 1.0))
        elif kind == kinds.FREE:
            self.held.append(row)
        elif kind == kinds.INTERVAL:
            self._add_interval(row, float(rows.lo[row]), float(rows.hi[row]))

    def _add_interval(self, row: int, lower: float, upper: float) -> None:
        below, above = np.isfinite(lower), np.isfinite(upper)
        if below and above:
            self.p_0[row] = 0.5 * (lower + upper)
            self.contacts.append(([row], 1.0, 0.5 * (upper - lower), 1.0))
        elif below or above:
            self.p_0[row] = lower if below else upper
            self.contacts.append(([row], 1.0 if below else -1.0, None, 0.0))
        else:
            self.held.append(row)

    def _assemble(self) -> None:
        n, size = self.n, len(self.contacts) * self.dim
        G, c = self.step.G[:n, :n], self.step.rows.c[:n]
        T = np.zeros((n, size))
        own, free = np.zeros(size), np.zeros(size)  # normal rows that stand for given impulses
        guess = np.zeros(size)
        for k, (rows, sign, given, _) in enumerate(self.contacts):
            first = k * self.dim
            if given is not None:
                own[first] = max(G[i, i] for i in rows)
                free[first] = -own[first] * given
                guess[first] = given
                first += 1
            T[rows, range(first, first + len(rows))] = sign
        shifted = c + G @ self.p_0
        F = np.eye(n)[:, self.held]
        mu = np.array([mu for *_, mu in self.contacts])
        W, q = T.T @ G @ T + np.diag(own), T.T @ shifted + free
        if self.held:
            self.problem = ContactProblem.from_mixed(
                W, T.T @ G @ F, F.T @ G @ F, q, F.T @ shifted, mu, self.dim
            )
        else:
            self.problem = ContactProblem(W, q, mu, self.dim)
        self.T = T
        self.guess = guess + T.T @ (self.step.rows.P[:n] - self.p_0)

    def impulses(self, r) -> np.ndarray:
        """Impulses of the step, shape (rows,), from those of `problem`."""
        P = self.T @ r + self.p_0
        if self.held:
            P[self.held] = self.problem.multipliers(r)["l"]
        return P


def solve_step(problem, solver) -> bool:
    """Solve the step's `problem` (impulses are written into it) as `solver`, a `contact.solvers` object, says; returns whether
    that could be tried. Called from inside a compiled step.
    """
    method = getattr(solver, "name", "auto")
    try:
        form = StepForm(problem)
    except ModelError:  # constraints that contradict each other
        if method == "auto":
            return False
        raise
    if form.refused:
        if method == "auto":
            return False
        raise ModelError(
            f"`solver` is {method!r}, which cannot solve a step of this model: {form.refused}; use Exact(...), PSOR(...) or "
            "PJOR(...)."
        )
    # what `auto` does first takes no guess, and the guess has just failed
    guess = None if method == "auto" else form.guess
    budget = None if method == "auto" else solver.max_iter
    tol = float(problem.options.tol) * (1.0 if form.plain else TIGHTER)
    try:
        result = solve_contact(form.problem, method, tol=tol, max_iter=budget, guess=guess)
    except (NonsmoothError, RuntimeError, np.linalg.LinAlgError):
        # a matrix that is not even semidefinite (friction of what slides, eliminated, may make it so) is no method's problem
        if method == "auto":
            return False
        raise
    problem.rows.P[: form.n] = form.impulses(result.r)
    problem.count.iterations += result.iterations
    return True
