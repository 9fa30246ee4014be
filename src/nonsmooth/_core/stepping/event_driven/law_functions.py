"""What a law does in its mode: whether it can carry a force, whether its rows are constraints, and the function that is positive in the
mode and vanishes where it ends:

    open contact      the gap                          sticking      the room of the force to the edge of its set
    closed contact    the contact force                slipping      the slip speed
"""

from nonsmooth._core.jit import phase
from nonsmooth._core.records.laws import (
    CONSTRAINT,
    COULOMB_1D,
    COULOMB_2D,
    DISK,
    HALF_LINE,
    INACTIVE,
    INTERVAL,
    UPPER,
)
from nonsmooth._core.stepping.event_driven.sizes import INFINITY


@phase
def acts(model, modes, l):
    """Whether law `l` can carry a force in these modes."""
    if model.laws.kind[l] == HALF_LINE:
        return modes[l] == CONSTRAINT
    if model.laws.link[l] >= 0:
        return modes[model.laws.link[l]] == CONSTRAINT
    return True


@phase
def none_acts(model, modes):
    """Whether no law can carry a force: free flight."""
    for l in range(model.size.n_laws):
        if acts(model, modes, l):
            return False
    return True


@phase
def is_held(model, state, l):
    """Whether the rows of law `l` are constraints."""
    return state.modes[l] == CONSTRAINT and acts(model, state.modes, l)


@phase
def law_functions(scene, own, modes, la, phi):
    """For each law a function that is positive in its mode and vanishes where that ends; gap rates on the side."""
    model, work = scene.model, scene.work
    laws, n = model.laws, model.size.n_rows
    for l in range(model.size.n_laws):
        i = laws.row[l]
        kind = laws.kind[l]
        phi[l] = INFINITY
        if kind == HALF_LINE:
            own.rate[l] = own.gamma[i]
            phi[l] = la[i] if modes[l] == CONSTRAINT else work.g[l] - own.rest_gap[l]
        elif modes[l] == INACTIVE or not acts(model, modes, l) or laws.mu[l] > INFINITY:
            continue
        elif modes[l] == CONSTRAINT:
            phi[l] = room(model, work, la, l, n)
        elif laws.dim[l] == 1:
            phi[l] = -own.gamma[i] if modes[l] == UPPER else own.gamma[i]
        else:
            phi[l] = 0.0
            for d in range(laws.dim[l]):
                phi[l] += own.gamma[i + d] * own.slip[i + d]


@phase
def room(model, work, la, l, n):
    """How far the force of a sticking law is from the edge of its set."""
    laws, i = model.laws, model.laws.row[l]
    kind = laws.kind[l]
    if kind == INTERVAL:
        return min(work.bounds[n + i] - la[i], la[i] - work.bounds[i])
    s = 0.0
    for d in range(laws.dim[l]):
        s += la[i + d] ** 2
    if kind == COULOMB_1D or kind == COULOMB_2D:
        return laws.mu[l] * la[laws.row[laws.link[l]]] - s**0.5
    if kind == DISK:
        return work.bounds[n + i] - s**0.5
    return INFINITY
