"""Acary 2012, sec. 3: local errors of the theta-Moreau scheme, Lemma 1 and Propositions 1 to 3 as numbers.

(25), (26) and (27) are compared in the corrected form of errata 4 and 5; Proposition 2 on a curved contact with and without the cure of
erratum 12.
"""

import numpy as np
from _table import show
from scipy.integrate import solve_ivp

import nonsmooth as ns
from nonsmooth.problems.acary_ball import closed_form as ball_form
from nonsmooth.problems.acary_oscillator import closed_form as oscillator_form
from nonsmooth.problems.acary_oscillator import flights

F, RHO = -2.0, 0.5
CASE = (1.0, 0.2, 4.0, 0.7, 1.0, 0.5)  # the oscillator


def one_step(system, t, h, q, u, **options):
    """End of a single step."""
    run = ns.simulate(system, (t, t + h), q, u, method=ns.Theta(dt=h, **options), audit=False)
    return run.q[:, -1], run.u[:, -1]


def slope(steps, errors):
    return float(np.polyfit(np.log(steps), np.log(np.abs(errors)), 1)[0])


def formulas(ball):
    """Largest deviation of (25), (26), corrected, over theta, sigma and h; impact missed (gamma = 0) and seen (gamma = 1)."""
    worst = {25: 0.0, 26: 0.0}
    for theta in (0.0, 0.3, 0.5, 1.0):
        for sigma in (0.1, 0.35, 0.62, 0.95):
            for h in (0.2, 0.05, 0.01):
                v = -3.0
                q = -sigma * v * h - F * (sigma * h) ** 2 / 2
                rest, before = (1 - sigma) * h, v + F * sigma * h
                exact = -RHO * before * rest + F * rest**2 / 2, -RHO * before + F * rest
                half = RHO * (1 - sigma) * sigma - (1 - sigma) ** 2 / 2
                bracket = half - sigma**2 / 2
                told = {
                    0.0: (
                        -q - h * (RHO * (1 - sigma) + 1) * v - F * h**2 * (half + theta),
                        -h * (RHO * (1 - sigma) + 1 - sigma) * v - F * h**2 * (bracket + theta),
                        -(1 + RHO) * (v + h * F * sigma),
                    ),
                    1.0: (
                        -q - h * ((1 + RHO) * (1 - theta) - RHO * sigma) * v - F * h**2 * half,
                        -h * (1 + RHO) * (1 - theta - sigma) * v - F * h**2 * bracket,
                        h * F * (1 - sigma - RHO * sigma),
                    ),
                }
                for gamma in (
                    0.0,
                    1.0,
                ):  # the forecast is a straight line, and misses an impact at the very end of the step
                    e_q25, e_q26, e_v = told[1.0 if q + gamma * h * v <= 0.0 else 0.0]
                    q_1, u_1 = one_step(ball, 0.0, h, [q], [v], theta=theta, gamma=gamma)
                    e = exact[0] - q_1[0], exact[1] - u_1[0]
                    worst[25] = max(worst[25], abs(e[0] - e_q25), abs(e[1] - e_v))
                    worst[26] = max(worst[26], abs(e[0] - e_q26), abs(e[1] - e_v))
    return worst


def impact_orders(oscillator, gamma, theta):
    """Local orders (e_q, e_v) in a step with one impact at 0.6 h."""
    t_1 = flights(*CASE, 2.0)[0][0]
    steps, errors = 0.1 / 2.0 ** np.arange(10), []
    for h in steps:
        t = np.array([t_1 - 0.6 * h, t_1 + 0.4 * h])
        q, u = oscillator_form(t, *CASE)
        q_1, u_1 = one_step(oscillator, t[0], h, [q[0]], [u[0]], theta=theta, gamma=gamma)
        errors.append((q[1] - q_1[0], u[1] - u_1[0]))
    return [slope(steps, e) for e in np.array(errors).T]


def accumulation(ball):
    """(27): order of e_v in a step [3 - h, 3 + h], and its deviation from rho v_k = h - 3/2^(n0 + 1)."""
    numbers = np.arange(2, 14)
    steps, errors = 1.25 / 2.0**numbers, []
    for h in steps:
        q, v = ball_form(np.array([3.0 - h]))
        errors.append(-one_step(ball, 3.0 - h, 2 * h, q, v, theta=0.5, gamma=1.0)[1][0])
    off = np.max(np.abs(np.array(errors) - (steps - 3.0 / 2.0 ** (numbers + 1))))
    return slope(steps, errors), off


def curved_orders(theta, directions):
    """Local orders (e_q, e_v) of a mass that slides inside a circle: sustained contact, W depends on q."""
    inside = ns.Contact(
        lambda t, q: 1.0 - q[0] ** 2 - q[1] ** 2,
        jacobian=lambda t, q: np.array([[-2.0 * q[0], -2.0 * q[1]]]),
    )
    bowl = ns.MechanicalSystem(np.eye(2), np.array([0.0, -9.81]), inside)

    begin = [np.arcsin(0.6), 2.0]

    def state(y):
        a, w = y
        if a == begin[0]:  # exactly on the contact: a gap of rounding would be an open one
            return np.array([0.6, -0.8]), w * np.array([0.8, 0.6])
        return np.array([np.sin(a), -np.cos(a)]), w * np.array([np.cos(a), np.sin(a)])

    steps, errors = 0.05 / 2.0 ** np.arange(8), []
    for h in steps:
        end = solve_ivp(
            lambda t, y: [y[1], -9.81 * np.sin(y[0])], (0, h), begin, "DOP853", rtol=1e-13, atol=1e-14
        ).y[:, -1]
        (q, u), (q_exact, u_exact) = state(begin), state(end)
        q_1, u_1 = one_step(bowl, 0.0, h, q, u, theta=theta, gamma=1.0, directions=directions)
        errors.append((np.linalg.norm(q_exact - q_1), np.linalg.norm(u_exact - u_1)))
    return [slope(steps, e) for e in np.array(errors).T]


def lemma(theta):
    """(28): largest ratio of the error of the theta rule to h var(f), over steps of one jump anywhere and random functions of bounded
    variation; the bound is C(theta) = max(theta, 1 - theta)."""
    rng, worst = np.random.default_rng(1), 0.0
    for k in range(4000):
        inner = np.sort(rng.uniform(0, 1, rng.integers(1, 6)))
        values = rng.normal(size=inner.size + 1)
        if k < 2:  # the functions of the proof: a jump at one of the ends
            inner, values = np.array([float(k)]), np.array([1.0, 0.25])
        nodes = np.concatenate([[0.0], inner, [1.0]])
        integral = np.sum(values * np.diff(nodes))
        begin, end = (values[0], values[-1])
        error = abs(integral - (theta * end + (1 - theta) * begin))
        worst = max(worst, error / np.sum(np.abs(np.diff(values))))
    return worst


if __name__ == "__main__":
    ball = ns.problems.acary_ball().system
    oscillator = ns.problems.acary_oscillator(case=2).system
    found = formulas(ball)
    accumulated, off = accumulation(ball)
    rows = [(f"({k}) corrected, largest deviation", "exact", f"{worst:.1e}") for k, worst in found.items()]
    rows += [
        (
            "(27) e_v in a step over the accumulation",
            "O(h)",
            f"order {accumulated:.3f}; off (27) corrected by {off:.1e}",
        )
    ]
    for theta in (0.5, 1.0):
        q, v = impact_orders(oscillator, 0.0, theta)
        rows.append(
            (f"Prop. 1, 3.2: impact missed, theta = {theta:g}", "e_q O(h), e_v O(1)", f"{q:.2f}, {v:.2f}")
        )
        q, v = impact_orders(oscillator, 1.0, theta)
        rows.append((f"Prop. 3.1: impact seen, theta = {theta:g}", "e_q O(h), e_v O(h)", f"{q:.2f}, {v:.2f}"))
    for theta, directions in ((1.0, "theta"), (0.5, "theta"), (0.5, "end")):
        q, v = curved_orders(theta, directions)
        name = "as printed" if directions == "theta" else "cure: G(q_(k+1))"
        rows.append(
            (f"Prop. 2, curved contact, theta = {theta:g}, {name}", "e_q, e_v O(h^2)", f"{q:.2f}, {v:.2f}")
        )
    for theta in (0.0, 0.3, 0.5, 0.8, 1.0):
        bound = max(theta, 1 - theta)
        rows.append((f"Lemma 1, theta = {theta:g}", f"at most {bound:g}, attained", f"{lemma(theta):.12f}"))
    show("Sec. 3: local errors", rows)
