"""The contact problem of a transition: the laws that take part, listed in the problem's record, with their G."""

from nonsmooth._core.jit import phase
from nonsmooth._core.laws.solve_laws import call_solver


@phase
def list_law(model, problem, l, a, n):
    """Law `l` of the model as number `a` of the problem, from row n on."""
    laws, active = model.laws, problem.laws
    problem.place[l] = a
    active.law[a], active.kind[a], active.row[a], active.dim[a] = l, laws.kind[l], n, laws.dim[l]
    active.link[a] = problem.place[laws.link[l]] if laws.link[l] >= 0 else -1
    active.mu[a] = laws.mu[l]
    problem.count.laws, problem.count.rows = a + 1, n + laws.dim[l]


@phase
def fill_matrix(scene):
    """G of the rows listed."""
    model, problem, G_all = scene.model, scene.problem, scene.work.G_all
    laws, active = model.laws, problem.laws
    for a in range(problem.count.laws):
        for d in range(active.dim[a]):
            for b in range(problem.count.laws):
                for c in range(active.dim[b]):
                    problem.G[active.row[a] + d, active.row[b] + c] = G_all[
                        laws.row[active.law[a]] + d, laws.row[active.law[b]] + c
                    ]


@phase
def solved(scene, at_problem, n_laws, n_rows):
    """Solve the problem that is listed; whether that went well."""
    residual = call_solver(scene.problem.at.solve, at_problem, 1.0, n_laws, n_rows)
    scene.info.residual = max(scene.info.residual, residual)
    scene.info.iterations += scene.problem.count.iterations
    return residual <= scene.problem.options.tol
