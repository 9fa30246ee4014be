"""The contact problem of one time step, solved: exact small solves first, then what redundant and stiff contacts need.

``method`` AUTO goes through

1. Newton on the modes from the last step's modes (of a single contact in closed form); all combinations of modes where they are few;
2. a round of projected Gauss-Seidel, and Newton from its modes;
3. proximal Newton (`proximal_newton`), made for redundant contacts and large ratios of masses;
4. the stages of `solve_contact`, in Python (where ``at.outside`` is given);
5. further rounds of 2, up to the budget.

PSOR and PJOR are kept pure, as in the paper; NEWTON is 3 alone, OUTSIDE is 4 alone.
"""

from nonsmooth._core.calls.late import Late, late
from nonsmooth._core.jit import PROJECT, address_record, call_plain, caller, float64, int64, kernel, phase
from nonsmooth._core.laws.modes_newton import BY_MODES, HUGE, by_modes, call_modes
from nonsmooth._core.laws.one_contact import NOT_FOUND, is_one_contact, one_contact
from nonsmooth._core.laws.projections import r_factors, residual
from nonsmooth._core.laws.proximal_newton import PROXIMAL, call_proximal, proximal_newton
from nonsmooth._core.laws.psor import RELAX, call_relax, relax
from nonsmooth._core.records.problem import AUTO, NEWTON, OUTSIDE, PJOR, problem_at

SOLVE = float64(int64, float64, int64, int64)
# Loops call the solver at its address: linked in, its code would be compiled again with every loop.
call_solver = caller(SOLVE)

# Most steps need neither.
RELAXATION, PROXIMAL_NEWTON = Late(relax, RELAX), Late(proximal_newton, PROXIMAL)

ROUND = 50  # sweeps in the first round; later ones are as much longer


@kernel(SOLVE, part=True)
def solve_laws(problem, dt, n_laws, n):
    """Solve the problem at that address for the impulses; it holds the guess (impulses, modes) and becomes the solution.

    Returns the residual; ``count.iterations`` is the number of iterations.
    """
    x = problem_at(problem)
    options, count = x.options, x.count
    if options.method == AUTO and is_one_contact(x, n_laws, n):
        res = one_contact(x)
        if res < NOT_FOUND:
            count.iterations = 1
            return res
    r_factors(x, n_laws, n)
    count.iterations = 0
    if options.method == AUTO:
        return in_stages(x, problem, dt, n_laws, n)
    if options.method == NEWTON:
        return by_proximal_newton(x, problem, dt, n_laws, n)
    if options.method == OUTSIDE:
        return from_outside(x, dt, n_laws, n)
    done, res = by_relaxation(x, problem, int(options.method == PJOR), dt, n_laws, n, options.max_iter)
    count.iterations = done
    return res


@phase
def in_stages(x, problem, dt, n_laws, n):
    """AUTO. The spare last row of `A` keeps the relaxed impulses while Newton is tried."""
    P, kept, options, count = x.rows.P, x.A[n], x.options, x.count
    sweeps = 0
    res = HUGE
    attempt = 0
    polished = False
    while True:
        solved = exact(x, problem, dt, n_laws, n, attempt == 0, res)
        if solved < HUGE:
            return solved
        if attempt > 0:
            take_back(P, kept, n)
        if attempt == 1 and res > options.tol:
            solved = by_proximal_newton(x, problem, dt, n_laws, n)
            if not solved <= options.tol:
                solved = from_outside(x, dt, n_laws, n)
            if solved <= options.tol:
                return solved
            take_back(P, kept, n)
        attempt += 1
        # once the budget is used up, one empty round sets xi, modes and the residual of the impulses returned
        budget = min(ROUND * attempt, options.max_iter - sweeps)
        done, res = by_relaxation(x, problem, 0, dt, n_laws, n, budget)
        sweeps += done
        count.iterations += done
        if (res <= options.tol and polished) or budget <= 0 or not res < 1e290:
            return res
        polished = res <= options.tol  # the modes are known now: one more Newton makes them exact
        for i in range(n):
            kept[i] = P[i]


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
    return HUGE


@phase
def by_relaxation(x, problem, jacobi, dt, n_laws, n, budget):
    """Up to `budget` sweeps from the impulses as they are; returns how many were made, and the residual."""
    part = late(x.at.relax)
    if part == 0:
        return 0, HUGE
    done, res = call_relax(part, problem, jacobi, dt, n_laws, n, x.options.tol, budget)
    return int(done), res


@phase
def by_proximal_newton(x, problem, dt, n_laws, n):
    """Proximal Newton from the impulses as they are; returns the residual."""
    part = late(x.at.proximal)
    if part == 0:
        return HUGE
    done, res = call_proximal(part, problem, dt, n_laws, n, x.options.tol, x.options.max_iter)
    x.count.iterations += int(done)
    return res


@phase
def from_outside(x, dt, n_laws, n):
    """Impulses from a method of `nonsmooth.contact` (see `contact.in_step`); returns their residual."""
    if x.at.outside == 0 or call_plain(x.at.outside) != 0:
        return HUGE
    return residual(x, dt, n_laws, n)


@phase
def take_back(P, kept, n):
    """The relaxed impulses again."""
    for i in range(n):
        P[i] = kept[i]


def addresses(project):
    """``Problem.at`` for a model with the projection `project` of its own sets (the model keeps that one alive).

    ``outside``, the address of a `calls.plain.PlainCall`, is for the owner of the problem to set.
    """
    return address_record(
        project=(project, PROJECT),
        by_modes=(by_modes, BY_MODES),
        relax=RELAXATION,
        proximal=PROXIMAL_NEWTON,
        outside=0,
        solve=(solve_laws, SOLVE),
    )


@kernel(SOLVE, references=False)
def solve(problem, dt, n_laws, n):
    """`solve_laws` for callers in Python; `problem` is the address of a `Reference`."""
    return call_solver(problem_at(problem).at.solve, problem, dt, n_laws, n)
