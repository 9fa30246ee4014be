"""Index 2: W^T(Q_i) V_i + zeta = 0 in the stages, by shifts s_i of the accelerations, W^T V'_i + kappa_i + s_i = 0,

    s <- s + A~^-1 gamma / h

where A~ takes accelerations of stages to velocities of those that follow from them; each sweep gains a factor of h.
"""

from nonsmooth._core.jit import phase
from nonsmooth._core.stepping.event_driven.law_functions import is_held
from nonsmooth._core.stepping.event_driven.sizes import relative


@phase
def correct_shifts(scene, own, capture, begin, dt):
    """Index 2: shifts of accelerations such that relative velocities of stages vanish; returns how far they are from it."""
    model, s = scene.model, own.control.stages
    first = 1 if capture.control.implicit else 0
    count = s - 1 if capture.control.implicit else s
    worst, fastest = 0.0, 0.0
    for i in range(model.size.n_u):
        fastest = max(fastest, own.scale[model.size.n_q + i], dt * abs(own.K_u[0, i]))
    for l in range(model.size.n_laws):
        if not is_held(model, begin, l):
            continue
        for i in range(model.laws.row[l], model.laws.row[l] + model.laws.dim[l]):
            w = abs(scene.work.zeta[i])
            for k in range(model.size.n_u):
                w = max(w, abs(scene.work.WT[i, k]) * fastest)
            if capture.control.implicit:
                add_correction(scene, own, capture, i, dt)
            for j in range(count):
                x = 0.0
                for k in range(count):
                    x += capture.inverse[j, k] * capture.gamma[k + 1, i]
                capture.shift[j + first, i] += x / dt
                worst = max(worst, relative(capture.gamma[j + 1, i], w))
    return worst


@phase
def add_correction(scene, own, capture, i, dt):
    """Relative velocities of row i in the stages after the correction of Newton's method that was just made."""
    s, n = own.control.stages, scene.model.size.n_u
    for k in range(1, s):
        for j in range(1, s):
            for m in range(n):
                capture.gamma[k, i] += dt * own.A[k, j] * scene.work.WT[i, m] * capture.rhs[(j - 1) * n + m]
