"""Rod with one end on rough ground, by enumeration of its modes: shares nothing with the library.

u = (x', y', omega), W_N = (0, 1, -l cos), W_T = (1, 0, l sin), J = m l^2/3; restitution 0.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.integrate import solve_ivp

L, GRAVITY = 0.5, 9.81
M_INV = np.array([1.0, 1.0, 3.0 / L**2])
FREE = np.array([0.0, -GRAVITY, 0.0])


def contact(y):
    """W^T (normal row first), kappa, G."""
    s, c, w = L * np.sin(y[2]), L * np.cos(y[2]), y[5]
    W = np.array([[0.0, 1.0, -c], [1.0, 0.0, s]])
    return W, np.array([s, c]) * w * w, (W * M_INV) @ W.T


def forces(y, mode, mu):
    """Forces (normal, tangential) in a mode: "open", "stick", or the sign of the slip."""
    W, kappa, G = contact(y)
    c = W @ FREE + kappa
    if mode == "open":
        return np.zeros(2)
    if mode == "stick":
        return np.linalg.solve(G, -c)
    ratio = -mu * mode
    return -c[0] / (G[0, 0] + ratio * G[0, 1]) * np.array([1.0, ratio])


def acceleration(y, mode, mu):
    return FREE + M_INV * (contact(y)[0].T @ forces(y, mode, mu))


def gap(y, end=-1.0):
    return y[1] + end * L * np.sin(y[2])


def possible(y, mu, slides):
    """Modes that satisfy all laws at a state with a closed contact without normal velocity."""
    W, kappa, _ = contact(y)
    found = []
    for mode in ("open", "stick", 1.0, -1.0):
        a, la = W @ acceleration(y, mode, mu) + kappa, forces(y, mode, mu)
        if slides and mode in ("stick", -slides):
            continue
        fits = {"open": a[0] > 0.0, "stick": la[0] >= 0.0 and abs(la[1]) <= mu * la[0]}
        if fits[mode] if isinstance(mode, str) else la[0] > 0.0 and (slides or mode * a[1] >= 0.0):
            found.append(mode)
    return found


def impulse(y, mu):
    """Velocities after an impact with restitution 0, and whether the contact sticks."""
    W, _, G = contact(y)
    gamma = W @ y[3:]
    P = np.linalg.solve(G, -gamma)
    if not (P[0] >= 0.0 and abs(P[1]) <= mu * P[0]):
        for ratio in (-mu, mu):
            N = -gamma[0] / (G[0, 0] + ratio * G[0, 1])
            if N > 0.0 and ratio * (gamma[1] + (G[1, 0] + ratio * G[1, 1]) * N) <= 0.0:
                P = N * np.array([1.0, ratio])
    return np.concatenate([y[:3], y[3:] + M_INV * (W.T @ P)])


@dataclass
class Motion:
    y: np.ndarray
    t: float = 0.0
    unique: bool = True
    jams: list = field(default_factory=list)
    modes: list = field(default_factory=list)


def settle(m, mu, slides):
    """The mode that follows; an impact without collision where there is none."""
    found = possible(m.y, mu, slides)
    if not found:
        m.jams.append(m.t)
        m.y = impulse(m.y, mu)
        return settle(m, mu, 0.0)
    m.unique = m.unique and len(found) == 1
    return found[0]


def run(y, mu, t_end, slides):
    """The motion until `t_end`, or until the other end touches or a force grows without bound: (Motion, reached)."""
    m = Motion(np.array(y, dtype=float))
    mode = settle(m, mu, slides)
    while m.t < t_end:
        m.modes.append(mode)

        def rate(t, y, mode=mode):
            return np.concatenate([y[3:], acceleration(y, mode, mu)])

        def ends(t, y, mode=mode):
            la, slip = forces(y, mode, mu), contact(y)[0][1] @ y[3:]
            if mode == "open":
                return gap(y)
            return min(la[0], mu * la[0] - abs(la[1])) if mode == "stick" else slip * mode

        def lifts(t, y, mode=mode):
            W, kappa, _ = contact(y)
            return -(W @ FREE + kappa)[0] if mode in (1.0, -1.0) else 1.0

        def jams(t, y, mode=mode):
            _, _, G = contact(y)
            return G[0, 0] - mu * mode * G[0, 1] - 1e-3 if mode in (1.0, -1.0) else 1.0

        def slaps(t, y):
            return gap(y, 1.0)

        for event in (ends, lifts, jams, slaps):
            event.terminal, event.direction = True, -1.0
        # (a mode that begins has its function at zero)
        sol = solve_ivp(
            rate, (m.t, t_end), m.y, "DOP853", events=(ends, lifts, jams, slaps), rtol=1e-12, atol=1e-13
        )
        m.t, m.y = float(sol.t[-1]), sol.y[:, -1]
        if sol.t_events[2].size or sol.t_events[3].size:
            return m, False
        if sol.t_events[1].size:
            mode = "open"
        elif sol.t_events[0].size:
            if mode == "open":
                slip = contact(m.y)[0][1] @ m.y[3:]
                m.y = impulse(m.y, mu)
                after = contact(m.y)[0][1] @ m.y[3:]
                mode = settle(m, mu, 0.0 if abs(after) < 1e-9 * abs(slip) else float(np.sign(after)))
            elif mode == "stick":
                la = forces(m.y, mode, mu)
                mode = -float(np.sign(la[1])) if la[0] > 1e-9 * GRAVITY else "open"
            else:
                mode = settle(m, mu, 0.0)
    return m, True
