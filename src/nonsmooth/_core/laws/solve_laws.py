"""The prox problem of one time step, solved: the choice between exact small solves and relaxation.

``method`` 0 (auto): Newton on the modes from the last step's modes; if that does not settle, all combinations of modes
where they are few; then projected Gauss-Seidel in rounds, each followed by Newton from its modes. 1: PSOR. 2: PJOR. The
two relaxation methods are kept pure, as in the paper.
"""

from nonsmooth._core.jit import PROJECT, addresses, caller, float64, int64, kernel
from nonsmooth._core.laws.modes_newton import BY_MODES, by_modes, call_modes
from nonsmooth._core.laws.projections import A_MODES, A_RELAX, A_SOLVE, prox_at, r_factors
from nonsmooth._core.laws.psor import RELAX, call_relax, relax
from nonsmooth._core.records.codes import P
from nonsmooth._core.records.options import (
    AUTO,
    O_MAX_ITER,
    O_METHOD,
    O_NEWTON,
    O_OMEGA,
    O_STRATEGY,
    O_TOL,
    PJOR,
)

SOLVE = float64(int64, float64, int64, int64)
# Loops call the solver at its address: linked in, its code would be compiled again with every loop.
call_solver = caller(SOLVE)


@kernel(SOLVE, part=True)
def solve_laws(problem, dt, n_laws, n):
    """Solve the problem at that address for the impulses; it holds the guess (impulses, modes) and becomes the solution.

    Returns the residual; ``counts[0]`` is the number of iterations. The spare last row of `A` keeps the relaxed
    impulses while Newton is tried.
    """
    x = prox_at(problem)
    f, rows, A, options, counts = x.f, x.rows, x.A, x.options, x.counts
    method = int(options[O_METHOD])
    tol = options[O_TOL]
    max_iter = int(options[O_MAX_ITER])
    r_factors(int(options[O_STRATEGY]), options[O_OMEGA], x.ints, x.reals, x.G, n_laws, n)
    iterations = 0.0
    sweeps = 0
    res = 1e300
    attempt = 0
    polished = False
    while True:
        if method == AUTO:
            best = res
            for enumerate_all in range(2 if attempt == 0 else 1):
                solves, exact = call_modes(
                    f[A_MODES], problem, enumerate_all, dt, n_laws, n, tol, int(options[O_NEWTON])
                )
                iterations += solves
                if exact <= tol and exact <= best:
                    counts[0] = iterations
                    return exact
            if attempt > 0:
                for i in range(n):
                    rows[P, i] = A[n, i]
        attempt += 1
        # once the budget is used up, one empty round sets xi, modes and the residual of the impulses returned
        budget = max_iter if method != AUTO else min(50 * attempt, max_iter - sweeps)
        done, res = call_relax(f[A_RELAX], problem, int(method == PJOR), dt, n_laws, n, tol, budget)
        sweeps += int(done)
        iterations += done
        if (res <= tol and polished) or budget <= 0 or method != AUTO or not res < 1e290:
            counts[0] = iterations
            return res
        polished = res <= tol  # the modes are known now: one more Newton makes them exact
        for i in range(n):
            A[n, i] = rows[P, i]


def functions(project):
    """The array `Prox.f` for a model with the projection `project` of its own sets (the model keeps that one alive)."""
    return addresses((project, by_modes, relax, solve_laws), (PROJECT, BY_MODES, RELAX, SOLVE))


@kernel(SOLVE, references=False)
def solve(problem, dt, n_laws, n):
    """`solve_laws` for callers in Python; `problem` is the address of a `Reference`."""
    return call_solver(prox_at(problem).f[A_SOLVE], problem, dt, n_laws, n)
