"""The contact problem of one time step, solved: the choice between exact small solves and relaxation.

``method`` AUTO: Newton on the modes from the last step's modes; if that does not settle, all combinations of modes
where they are few; then projected Gauss-Seidel in rounds, each followed by Newton from its modes. PSOR and PJOR are kept
pure, as in the paper.
"""

from nonsmooth._core.jit import PROJECT, address_record, caller, float64, int64, kernel, phase
from nonsmooth._core.laws.modes_newton import BY_MODES, by_modes, call_modes
from nonsmooth._core.laws.projections import r_factors
from nonsmooth._core.laws.psor import RELAX, call_relax, relax
from nonsmooth._core.records.problem import AUTO, PJOR, problem_at

SOLVE = float64(int64, float64, int64, int64)
# Loops call the solver at its address: linked in, its code would be compiled again with every loop.
call_solver = caller(SOLVE)


@phase
def exact(x, problem, dt, n_laws, n, with_enumeration, best):
    """Newton on the modes, then (if asked) enumeration; returns the residual, or a huge one if none is better than `best`."""
    for enumerate_all in range(2 if with_enumeration else 1):
        solves, res = call_modes(
            x.at.by_modes, problem, enumerate_all, dt, n_laws, n, x.options.tol, x.options.newton
        )
        x.count.iterations += int(solves)
        if res <= x.options.tol and res <= best:
            return res
    return 1e300


@kernel(SOLVE, part=True)
def solve_laws(problem, dt, n_laws, n):
    """Solve the problem at that address for the impulses; it holds the guess (impulses, modes) and becomes the solution.

    Returns the residual; ``count.iterations`` is the number of iterations. The spare last row of `A` keeps the relaxed
    impulses while Newton is tried.
    """
    x = problem_at(problem)
    P, kept, options, count = x.rows.P, x.A[n], x.options, x.count
    automatic = options.method == AUTO
    r_factors(x, n_laws, n)
    count.iterations = 0
    sweeps = 0
    res = 1e300
    attempt = 0
    polished = False
    while True:
        if automatic:
            solved = exact(x, problem, dt, n_laws, n, attempt == 0, res)
            if solved < 1e300:
                return solved
            if attempt > 0:
                for i in range(n):
                    P[i] = kept[i]
        attempt += 1
        # once the budget is used up, one empty round sets xi, modes and the residual of the impulses returned
        budget = min(50 * attempt, options.max_iter - sweeps) if automatic else options.max_iter
        done, res = call_relax(
            x.at.relax, problem, int(options.method == PJOR), dt, n_laws, n, options.tol, budget
        )
        sweeps += int(done)
        count.iterations += int(done)
        if (res <= options.tol and polished) or budget <= 0 or not automatic or not res < 1e290:
            return res
        polished = res <= options.tol  # the modes are known now: one more Newton makes them exact
        for i in range(n):
            kept[i] = P[i]


def addresses(project):
    """``Problem.at`` for a model with the projection `project` of its own sets (the model keeps that one alive)."""
    return address_record(
        project=(project, PROJECT),
        by_modes=(by_modes, BY_MODES),
        relax=(relax, RELAX),
        solve=(solve_laws, SOLVE),
    )


@kernel(SOLVE, references=False)
def solve(problem, dt, n_laws, n):
    """`solve_laws` for callers in Python; `problem` is the address of a `Reference`."""
    return call_solver(problem_at(problem).at.solve, problem, dt, n_laws, n)
