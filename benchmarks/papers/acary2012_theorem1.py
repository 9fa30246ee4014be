"""Acary 2012, Theorem 1 and Remark 5 as numbers: local error of event capturing over an impact; BDF and extrapolation beside it.

Example 2 (the oscillator) with the data of `problems.acary_oscillator`, case 2. Remark 5 counts evaluations of the force for one error of q
at the end: BDF restarts after every impact (SciPy, events located by its root finder), extrapolation crosses them with its smallest step.
"""

import numpy as np
from _table import show
from scipy.integrate import solve_ivp

import nonsmooth as ns
from nonsmooth.problems.acary_oscillator import closed_form, flights

CASE = (1.0, 0.2, 4.0, 0.7, 1.0, 0.5)
END = 5.0
TABLEAUS = {"lobatto2": 2, "radau3": 3, "lobatto4": 4, "radau5": 5}


def local_order(system, tableau, p):
    """Slope of e_q at the end of one step with an impact at 0.6 h."""
    t_1 = flights(*CASE, 2.0)[0][0]
    steps, errors = 0.8 / 1.4 ** np.arange(7 if p < 5 else 5), []
    for h in steps:
        t = np.array([t_1 - 0.6 * h, t_1 + 0.4 * h])
        q, u = closed_form(t, *CASE)
        # the span sets the time scale, and with it the length of the critical step; only the first step is looked at
        method = ns.EventCapturing(tableau, dt=h, critical=1e-8)
        span = (t[0], t[0] + 25.0)
        run = ns.simulate(system, span, [q[0]], [u[0]], method=method, audit=False, t_eval=[t[0] + h])
        errors.append(abs(run.q[0, -1] - q[1]))
    return np.polyfit(np.log(steps), np.log(errors), 1)[0], errors[-1]


def bdf(rtol):
    """(evaluations, error of q at the end) of SciPy's BDF with a restart after every impact."""
    m, c, k, e, *y = CASE
    t, count = 0.0, 0

    def hits(t, y):
        return y[0]

    hits.terminal, hits.direction = True, -1
    while t < END:
        run = solve_ivp(
            lambda t, y: [y[1], (-c * y[1] - k * y[0]) / m],
            (t, END),
            y,
            "BDF",
            events=hits,
            rtol=rtol,
            atol=rtol,
        )
        count += run.nfev
        t, y = run.t[-1], [0.0, -e * run.y[1, -1]]
    return count, abs(run.y[0, -1] - closed_form(np.array([END]), *CASE)[0][0])


def ours(system, method):
    run = ns.simulate(system, (0.0, END), [CASE[4]], [CASE[5]], method=method, audit=False)
    return run.nfev, abs(run.q[0, -1] - closed_form(np.array([END]), *CASE)[0][0])


if __name__ == "__main__":
    system = ns.problems.acary_oscillator(case=2).system
    rows = []
    for tableau, p in TABLEAUS.items():
        order, last = local_order(system, tableau, p)
        rows.append(
            (
                f"Theorem 1: e_q over an impact, {tableau}",
                f"O(h^{p + 1})",
                f"order {order:.2f}, down to {last:.1e}",
            )
        )
    for name, found in (
        ("event capturing, radau5, rtol 1e-8", ours(system, ns.EventCapturing("radau5", rtol=1e-8))),
        ("extrapolated-moreau, rtol 1e-8", ours(system, ns.ExtrapolatedMoreau(rtol=1e-8))),
        ("BDF with restarts, rtol 1e-8", bdf(1e-8)),
    ):
        rows.append(
            (
                f"Remark 5: {name}",
                "frequent restarts penalise",
                f"{found[0]} evaluations or base steps, error {found[1]:.1e}",
            )
        )
    show("Theorem 1, Remark 5", rows)
