"""A certificate for the end of a main step: one short base step that must show the same structure.

A contact closes, or something stops slipping, in the next dt_min: the switching point is crossed there. Behind it the step is refuted.
"""

from nonsmooth._core.jit import phase
from nonsmooth._core.records.laws import CONSTRAINT, HALF_LINE, INACTIVE, LOWER, UPPER
from nonsmooth._core.stepping.extrapolation.records import FAILED, call_main
from nonsmooth._core.stepping.extrapolation.switching_points import law_functions
from nonsmooth._core.stepping.phases import structure

# what a probe says of the end of a step: the structure holds, a switching point comes next, or lies behind
CERTIFIED, CROSSING, REFUTED, PROBE_FAILED = range(4)


@phase
def certify(scene, own, at_scene, law, dt, t_new):
    """A probe from the end of the actual step, the longer one if a force may reach its edge; returns (verdict, law)."""
    model, control, previous = scene.model, own.control, own.previous
    control.dt_guess = dt
    length = control.dt_min
    for l in range(model.size.n_laws):
        if previous.state.modes[l] == CONSTRAINT:
            length = max(control.dt_min, 0.3 * (control.dt_min * max(control.dt_smooth, dt)) ** 0.5)
    certified, ahead, passed = True, False, False
    for _probe in range(2):
        if call_main(own.at.main, at_scene, own.at.actual, own.at.actual, t_new, length, 1, 1, 0) == FAILED:
            return PROBE_FAILED, law
        certified, ahead, passed, law = read_probe(scene, own, law)
        if certified or length == control.dt_min or not ahead:
            break
        length = control.dt_min
    if certified:
        for l in range(model.size.n_laws):
            own.phi[1, l] = own.phi[0, l]
        control.t_phi_old = control.t_phi
        control.t_phi = t_new
        control.shift = length if control.implicit else 0.5 * length
        law_functions(scene, length, own.phi[0])
        return CERTIFIED, law
    return (CROSSING if ahead and not passed else REFUTED), law


@phase
def read_probe(scene, own, law):
    """Whether the probe shows the structure of the step; else whether a gap or slip speed is about to vanish (`ahead`) or has
    gone through zero already (`passed`), and of which law."""
    model, problem, probe = scene.model, scene.problem, own.tableau.end
    certified, ahead, passed = True, False, False
    for l in range(model.size.n_laws):
        kind = model.laws.kind[l]
        before = structure(kind, own.previous.state.modes[l])
        if structure(kind, probe.modes[l]) == before:
            continue
        if kind != HALF_LINE and (before == INACTIVE or probe.modes[l] == INACTIVE):
            continue  # friction that comes or goes with its contact
        if certified or (before != CONSTRAINT and not ahead):
            law = l
        certified = False
        if kind == HALF_LINE and before == INACTIVE:
            ahead = True
            passed = passed or own.actual.gap[l] < 0.0
        elif before == UPPER or before == LOWER:
            ahead = True
            if problem.place[l] >= 0 and model.laws.dim[l] == 1:
                gamma = problem.rows.gamma_B[problem.laws.row[problem.place[l]]]
                passed = passed or gamma * before > 0.0
    return certified, ahead, passed, law
