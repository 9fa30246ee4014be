"""The prox problem of one time step, solved: the choice between exact small solves and relaxation.

``method`` 0 (auto): Newton on the modes from the last step's modes; if that does not settle, all combinations of modes
where they are few; then projected Gauss-Seidel in rounds, each followed by Newton from its modes. 1: PSOR. 2: PJOR. The
two relaxation methods are kept pure, as in the paper.
"""

from nonsmooth._core.jit import PROJECT_FT, f8_1, f8_2, float64, function_type, i8_2, int64, kernel
from nonsmooth._core.laws import P, r_factors
from nonsmooth._core.modes_newton import by_modes
from nonsmooth._core.psor import relax

AUTO = 0
PSOR = 1
PJOR = 2

# positions in the float64 array of options: of the solver, and of the step (contacts that were closed stay active up to
# the gap O_STAY; O_IMPLICIT asks for evaluation at the end of the step)
O_METHOD, O_TOL, O_MAX_ITER, O_OMEGA, O_STRATEGY, O_NEWTON, O_STAY, O_IMPLICIT = range(8)
N_OPTIONS = 8


SOLVE = float64(PROJECT_FT, i8_2, f8_2, f8_2, f8_2, f8_2, f8_2, float64, int64, int64, f8_1, f8_1)
# Loops take the solver as a first-class function: linked in, its code would be compiled again with every loop.
SOLVE_FT = function_type(SOLVE)


@kernel(SOLVE, references=False)
def solve_laws(f_project, ints, reals, rows, G, A, xy, dt, n_laws, n, options, counts):
    """Solve for the impulses; the arrays hold the guess (impulses, modes) and become the solution.

    Returns the residual; ``counts[0]`` is the number of iterations. The spare last row of `A` keeps the relaxed
    impulses while Newton is tried.
    """
    method = int(options[O_METHOD])
    tol = options[O_TOL]
    max_iter = int(options[O_MAX_ITER])
    r_factors(int(options[O_STRATEGY]), options[O_OMEGA], ints, reals, G, n_laws, n)
    iterations = 0.0
    sweeps = 0
    res = 1e300
    attempt = 0
    polished = False
    while True:
        if method == AUTO:
            best = res
            for enumerate_all in range(2 if attempt == 0 else 1):
                solves, exact = by_modes(
                    enumerate_all,
                    f_project,
                    ints,
                    reals,
                    rows,
                    G,
                    A,
                    xy,
                    dt,
                    n_laws,
                    n,
                    tol,
                    int(options[O_NEWTON]),
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
        done, res = relax(
            int(method == PJOR), f_project, ints, reals, rows, G, xy, dt, n_laws, n, tol, budget
        )
        sweeps += int(done)
        iterations += done
        if (res <= tol and polished) or budget <= 0 or method != AUTO or not res < 1e290:
            counts[0] = iterations
            return res
        polished = res <= tol  # the modes are known now: one more Newton makes them exact
        for i in range(n):
            A[n, i] = rows[P, i]
