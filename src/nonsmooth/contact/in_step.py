"""The contact problem of a time step, solved by any method of `solve_contact`."""

from __future__ import annotations

import numpy as np

from nonsmooth.contact.problem import ContactProblem
from nonsmooth.contact.solve import solve_contact
from nonsmooth.errors import ModelError, NonsmoothError

#: A method is asked for this part of the step's tolerance where laws have another form there, and so another measure.
TIGHTER = 0.1


def solve_step(step, solver) -> bool:
    """Solve the problem of a `step` (impulses are written into it) as `solver`, a `contact.solvers` object, says; returns whether
    that could be tried. Called from inside a compiled step.
    """
    method, m = getattr(solver, "name", "auto"), int(step.count.rows)
    try:
        problem = ContactProblem.of_step(step)
    except ModelError as error:  # sets of the user, or constraints that contradict each other
        if method == "auto":
            return False
        raise ModelError(
            f"`solver` is {method!r}, which cannot solve a step of this model: {error}; use Exact(...), PSOR(...) or PJOR(...)."
        ) from None
    # what `auto` does first takes no guess, and the guess has just failed
    guess = None if method == "auto" else problem.guess(step.rows.P[:m])
    budget = None if method == "auto" else solver.max_iter
    tol = float(step.options.tol) * (1.0 if problem.law_form.plain else TIGHTER)
    try:
        result = solve_contact(problem, method, tol=tol, max_iter=budget, guess=guess)
    except (NonsmoothError, RuntimeError, np.linalg.LinAlgError):
        # a matrix that is not even semidefinite (friction of what slides, eliminated, may make it so) is no method's problem
        if method == "auto":
            return False
        raise
    step.rows.P[:m] = problem.impulses(result.r)
    step.count.iterations += result.iterations
    return True
