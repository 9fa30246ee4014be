"""Accumulation: a contact that would rebound to less than what is asked for, and whose acceleration brings it back, has come to rest.

Its impacts accumulate at t* = t + 2 gamma^+ / (|a| (1 - e)), the sum of a geometric series. Contacts that are that close come to rest
together.
"""

from nonsmooth._core.jit import kernel, phase
from nonsmooth._core.linalg.small import solve_lower_transposed
from nonsmooth._core.records.laws import CONSTRAINT
from nonsmooth._core.records.scene import scene_at, state_at
from nonsmooth._core.records.status import OK
from nonsmooth._core.stepping.event_driven.modes import slip_or_stick
from nonsmooth._core.stepping.event_driven.motion import forces
from nonsmooth._core.stepping.event_driven.records import AT_STATE, call_at_end, call_settle, own_at
from nonsmooth._core.stepping.event_driven.sizes import small
from nonsmooth._core.stepping.phases import copy_state

NEARLY_ELASTIC = 0.9999
JOINED = 2  # takes part in a transition because it comes to rest with others

# part of the tolerance that a rebound may have to count as rest
REST = 0.1


@kernel(AT_STATE, part=True)
def rest(at_scene, at_begin, t):
    """Contacts that come to rest do so; if that does not hold them, everything is as it was."""
    scene = scene_at(at_scene)
    own, model, end = own_at(scene.at.own), scene.model, scene.end
    control = own.control
    count, t_star = coming_to_rest(scene, own, t)
    if count == 0:
        return OK
    for l in range(model.size.n_N):
        struck = own.touches[l] and end.P[model.laws.row[l]] > 0.0
        if struck and own.mode[l] != CONSTRAINT and not own.resting[l]:
            return OK  # at the same instant; it goes on: so does what this impact lifted
    for l in range(model.size.n_laws):
        if l >= model.size.n_N:
            own.resting[l] = 0
        elif own.resting[l] and not own.touches[l]:
            own.touches[l] = JOINED
        if model.laws.link[l] >= 0:
            own.touches[l] = own.touches[model.laws.link[l]]
    copy_state(end, own.trial)
    work_contacts = scene.books.work_contacts
    status = stop_rebound(scene, own, state_at(at_begin), at_scene, t)
    if status == OK:
        status = call_settle(own.at.settle, at_scene, at_begin, 1)
    held = status == OK
    for l in range(model.size.n_N):
        held = held and not (own.resting[l] and own.mode[l] != CONSTRAINT)
    if held:
        control.accumulations += 1
        control.t_accumulation = t_star
        for l in range(model.size.n_N):
            if own.resting[l]:
                scene.work.t_best[l] = t_star
        return OK
    for l in range(model.size.n_laws):
        if own.touches[l] == JOINED:
            own.touches[l] = 0
    copy_state(own.trial, end)
    scene.books.work_contacts = work_contacts
    status = call_at_end(own.at.look, at_scene, t)
    return status if status != OK else call_settle(own.at.settle, at_scene, at_begin, 1)


@phase
def coming_to_rest(scene, own, t):
    """Contacts whose rebound is less than what is asked for, and that come back: they touch plastically. Returns how many, and
    the instant at which the impacts accumulate.

    Asked when the accelerations with these contacts open are known.
    """
    laws = scene.model.laws
    count, t_star, n = 0, t, scene.model.size.n_N
    for l in range(n):
        own.resting[l] = 1 if rebounds_low(scene, own, l) else 0
    # impacts go on as long as they can be told apart where the segment ends before they do, or where another contact that acts on
    # this one closes before; not where all of these come to rest: what their impulses sum up to does not depend on their order
    changed = True
    while changed:
        changed = False
        for l in range(n):
            if own.resting[l] and told_apart(scene, own, l):
                left = time_of_impacts(own, laws, l)
                if t + left > scene.ask.t_stop or disturbed(scene, own, l, left):
                    own.resting[l] = 0
                    changed = True
    for l in range(n):
        if own.resting[l]:
            count += 1
            t_star = max(t_star, t + time_of_impacts(own, laws, l))
    return count, t_star


@phase
def rebounds_low(scene, own, l):
    """Whether a contact that does not stay closed comes back, from less than the height that counts."""
    laws = scene.model.laws
    gamma, a = own.gamma[laws.row[l]], own.acceleration[laws.row[l]]
    if own.mode[l] == CONSTRAINT or not a < 0.0 or laws.e[l] > NEARLY_ELASTIC:
        return False
    height = rest_height(scene, own, l)
    return scene.work.g[l] <= height and gamma * gamma <= 2.0 * height * -a


@phase
def told_apart(scene, own, l):
    """Whether a rebound is higher than what rounding hides of the gap."""
    i = scene.model.laws.row[l]
    return own.gamma[i] * own.gamma[i] > -2.0 * own.acceleration[i] * 64.0 * scene.work.slack[l]


@phase
def time_of_impacts(own, laws, l):
    """How long the impacts of a contact go on."""
    i = laws.row[l]
    gamma, a = own.gamma[i], own.acceleration[i]
    return 2.0 * gamma / (-a * (1.0 - laws.e[l])) if gamma > 0.0 else 0.0


@phase
def disturbed(scene, own, l, left):
    """Whether an open contact that acts on contact `l`, and does not come to rest with it, closes (in uniformly accelerated motion)
    before that time is over."""
    laws, work = scene.model.laws, scene.work
    for m in range(scene.model.size.n_N):
        if m == l or own.resting[m] or own.mode[m] == CONSTRAINT or not acts_on(scene, l, m):
            continue
        g, gamma, a = max(work.g[m], 0.0), own.gamma[laws.row[m]], own.acceleration[laws.row[m]]
        if g + left * (gamma + 0.5 * a * left) < 0.0:
            return True
    return False


@phase
def acts_on(scene, l, m):
    """Whether impulses of contact m, or of its friction, change the relative velocities of contact l or of its friction."""
    laws, G = scene.model.laws, scene.work.G_all
    for a in range(scene.model.size.n_laws):
        for b in range(scene.model.size.n_laws):
            if (a == l or laws.link[a] == l) and (b == m or laws.link[b] == m):
                for i in range(laws.row[a], laws.row[a] + laws.dim[a]):
                    for j in range(laws.row[b], laws.row[b] + laws.dim[b]):
                        if G[i, j] ** 2 > 1e-24 * G[i, i] * G[j, j]:
                            return True
    return False


@phase
def rest_height(scene, own, l):
    """Height of a rebound that is nothing beside the accuracy asked for."""
    return max(REST * own.control.rtol * own.gap_max[l], 64.0 * scene.work.slack[l])


@phase
def stop_rebound(scene, own, begin, at_scene, t):
    """Contacts that come to rest, and laws that hold already, lose their relative velocities: by what the impacts still to come would
    have given beyond the force of a contact that lasts, sum P_N = N (t* - t) - m gamma^+. What slips has its friction, mu P_N, with it."""
    model, work, end, c, la = scene.model, scene.work, scene.end, scene.problem.rows.c, own.La[0]
    laws, n_u = model.laws, model.size.n_u
    for l in range(model.size.n_laws):
        if own.resting[l]:
            own.mode[l] = CONSTRAINT
        elif laws.link[l] >= 0 and own.resting[laws.link[l]]:
            own.mode[l] = slip_or_stick(own, laws, l, small(scene, own, l), begin.modes[l], True, False)
    for i in range(model.size.n_rows):
        c[i] = own.gamma[i]
    forces(scene, own, own.mode, la, True)
    for k in range(n_u):
        work.du[k] = 0.0
        for i in range(model.size.n_rows):
            work.du[k] += work.Y[i, k] * la[i]
    solve_lower_transposed(work.L, work.du, work.du, n_u)
    for i in range(model.size.n_rows):
        end.P[i] += la[i]
    for k in range(n_u):
        end.u[k] += work.du[k]
    return call_at_end(own.at.look, at_scene, t)
