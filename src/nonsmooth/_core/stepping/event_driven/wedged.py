"""What does not move and has more rows than motions: forces that hold it are not unique, and modes end only where there are none left.

A body between two rough walls rests as long as *some* forces inside the sets of the laws balance the others. Those that a step goes on
with (`motion`: the ones nearest to what the laws allowed) may reach the edge of a set long before, and a law let go there would slip at no
speed. So others are looked for first: projections in turn onto the sets, made smaller by a margin so that what is found lasts, and onto
the forces that balance.
"""

from nonsmooth._core.jit import phase
from nonsmooth._core.records.laws import CONSTRAINT, DISK, FREE, HALF_LINE, INTERVAL
from nonsmooth._core.stepping.event_driven.motion import forces, relative_accelerations
from nonsmooth._core.stepping.event_driven.sizes import INFINITY

MOST_DRAWN = 40  # projections for each margin
WIDE, NARROW = 0.5, 1e-3  # margins tried: parts of the sets, each a fifth of the one before
STILL = 1e-9  # part of the largest acceleration that is none
TOP = 0.1  # of the largest force: what a contact presses with, at least, for a margin of one


@phase
def rests_wedged(scene, own):
    """Whether everything that ``own.mode`` holds is at rest under forces well inside their sets. Leaves these in ``own.allowed``, and the
    accelerations."""
    control = own.control
    if not may_depend(scene, own):
        return False
    control.wedged = 0
    relative_accelerations(scene, own)
    if not (control.dependent and stands_still(scene, own)):
        return False
    margin = WIDE
    while margin >= NARROW:
        control.wedged = 0
        forces(scene, own, own.mode, own.La[0], False)
        for _ in range(MOST_DRAWN):
            if inside(scene, own, margin):
                return True
            into_sets(scene, own, 0.9 * margin + 0.1)
            control.wedged = 1
            forces(scene, own, own.mode, own.La[0], False)
        margin *= 0.2
    control.wedged = 0
    return False


@phase
def may_depend(scene, own):
    """Whether friction that holds is among rows that may depend on others."""
    laws, rows, friction = scene.model.laws, 0, False
    for l in range(scene.model.size.n_laws):
        if own.mode[l] == CONSTRAINT:
            rows += laws.dim[l]
            friction = friction or laws.link[l] >= 0
    return friction and (own.control.dependent or rows > scene.model.size.n_u)


@phase
def stands_still(scene, own):
    """Whether the rows that hold have no accelerations, but for rounding."""
    laws, largest = scene.model.laws, 0.0
    for i in range(scene.model.size.n_rows):
        largest = max(largest, abs(scene.problem.rows.c[i]), abs(own.La[0, i]) * scene.work.G_all[i, i])
    for l in range(scene.model.size.n_laws):
        for i in range(laws.row[l], laws.row[l] + laws.dim[l]):
            if own.mode[l] == CONSTRAINT and abs(own.acceleration[i]) > STILL * largest:
                return False
    return True


@phase
def inside(scene, own, margin):
    """Whether the forces of constraints lie in their sets made smaller by that part, but for rounding."""
    largest = largest_force(scene, own)
    for l in range(scene.model.size.n_laws):
        if own.mode[l] == CONSTRAINT and scene.model.laws.kind[l] != FREE:
            if room(scene, own, l, margin, largest) < -1e-9 * largest:
                return False
    return True


@phase
def largest_force(scene, own):
    """The largest of the forces."""
    largest = 0.0
    for i in range(scene.model.size.n_rows):
        largest = max(largest, abs(own.La[0, i]))
    return largest


@phase
def room(scene, own, l, margin, largest):
    """How far the force of a law is from the edge of its set."""
    laws, la, bounds, n = scene.model.laws, own.La[0], scene.work.bounds, scene.model.size.n_rows
    i, part = laws.row[l], 1.0 - margin
    if laws.kind[l] == HALF_LINE:
        return la[i] - TOP * margin * largest
    if laws.kind[l] == INTERVAL:
        off = 0.5 * margin * (bounds[n + i] - bounds[i])
        return min(bounds[n + i] - off - la[i], la[i] - bounds[i] - off)
    if laws.kind[l] == DISK:
        return part * bounds[n + i] - length(laws, la, l)
    if laws.mu[l] > INFINITY:
        return INFINITY
    return part * laws.mu[l] * la[laws.row[laws.link[l]]] - length(laws, la, l)


@phase
def length(laws, la, l):
    """Of the force of a law."""
    s = 0.0
    for i in range(laws.row[l], laws.row[l] + laws.dim[l]):
        s += la[i] ** 2
    return s**0.5


@phase
def into_sets(scene, own, margin):
    """The forces, moved into their sets made smaller by that part, as what is allowed: friction and pressure of a contact together."""
    laws, la, allowed, largest = scene.model.laws, own.La[0], own.allowed, largest_force(scene, own)
    for i in range(scene.model.size.n_rows):
        allowed[i] = la[i]
    for l in range(scene.model.size.n_laws):
        if own.mode[l] != CONSTRAINT or laws.kind[l] == FREE or laws.kind[l] == HALF_LINE:
            continue
        lacking = -room(scene, own, l, margin, largest)
        if lacking <= 0.0:
            continue
        i, size = laws.row[l], length(laws, la, l)
        if laws.kind[l] == INTERVAL:
            above = la[i] > 0.5 * (scene.work.bounds[i] + scene.work.bounds[scene.model.size.n_rows + i])
            allowed[i] = la[i] - lacking if above else la[i] + lacking
            continue
        less = lacking
        if laws.link[l] >= 0:  # the nearest point of its cone, in the metric that `forces` is drawn in
            k, mu = laws.row[laws.link[l]], (1.0 - margin) * laws.mu[l]
            G_N, G_T = scene.work.G_all[k, k], scene.work.G_all[i, i]
            less = lacking * G_N / (G_N + mu * mu * G_T)
            allowed[k] = la[k] + mu * lacking * G_T / (G_N + mu * mu * G_T)
        for j in range(i, i + laws.dim[l]):
            allowed[j] = la[j] * max(1.0 - less / size, 0.0)
    for l in range(scene.model.size.n_laws):
        if laws.kind[l] == HALF_LINE and own.mode[l] == CONSTRAINT:
            allowed[laws.row[l]] = max(allowed[laws.row[l]], TOP * margin * largest)
