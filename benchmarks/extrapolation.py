"""Extrapolated time-stepping against plain Moreau and against SciPy's solve_ivp with events and restarts.

Work at equal error (1e-6, largest over the end times of the position) on the impact oscillator and the woodpecker, and time
at equal error on the oscillator. Ratios are taken within one run; times are the best of several repeats.
"""

import time
import warnings

import numpy as np
from scipy.integrate import solve_ivp

from nonsmooth import ExtrapolatedMoreau, Moreau, problems, simulate

TARGET = 1e-6


def best_of(function, repeats=7):
    times = []
    for _ in range(repeats):
        tick = time.perf_counter()
        function()
        times.append(time.perf_counter() - tick)
    return min(times)


def scipy_oscillator(t_end, ends, rtol, max_step):
    """Event-driven reference: integrate to the wall, reflect, restart. Returns the positions at `ends`."""
    m, c, d, e = 0.1, 20.0, 0.15, 0.6

    def f(t, y):
        return (y[1], -c / m * (y[0] + d))

    def wall(t, y):
        return y[0]

    wall.terminal, wall.direction = True, 1
    t, y, positions = 0.0, np.array([-0.5, 0.2]), []
    while t < t_end:
        run = solve_ivp(f, (t, t_end), y, method="DOP853", rtol=rtol, atol=rtol * 1e-2, events=wall, dense_output=True,
                        max_step=max_step)  # fmt: skip
        inside = ends[(ends >= t) & (ends < run.t[-1])]
        positions += [run.sol(x)[0] for x in inside]
        t, y = run.t[-1], run.y[:, -1].copy()
        if run.status == 1:
            y[0], y[1] = 0.0, -e * y[1]
    return np.array(positions)


def work(problem, span, ends, exact, component):
    """(base steps, rtol) of the extrapolated scheme and (steps, dt) of Moreau's rule at an error of at most TARGET."""

    def error(run):
        return np.abs(run.q[component] - exact).max()

    for rtol in 10.0 ** -np.arange(3.0, 11.0, 0.5):
        run = problem.simulate(span, t_eval=ends, audit=False, method=ExtrapolatedMoreau(rtol=rtol))
        if error(run) <= TARGET:
            break
    base = problem.simulate(span, audit=False, method=ExtrapolatedMoreau(rtol=rtol)).nbase
    reached = error(run)
    # Moreau: from two steps, the dt that would do by its first order, then checked
    steps = (span[1] - span[0]) / np.array([2e4, 2e5, 2e6])
    errors = [error(problem.simulate(span, t_eval=ends, audit=False, method=Moreau(dt=dt))) for dt in steps]
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    plain = (span[1] - span[0]) / steps[-1] * (errors[-1] / TARGET) ** (1 / slope)
    return base, rtol, reached, plain, errors[-1], slope


def compare_times(oscillator, t_end, ends, values):
    """Time at equal error on the impact oscillator."""
    # SciPy finds an impact by a change of sign between two steps: the late, nearly grazing ones need a small max_step
    reached = []
    for max_step in (np.inf, 0.05, 0.02, 0.01, 5e-3, 2e-3, 1e-3, 5e-4):
        for rtol_scipy in 10.0 ** -np.arange(4.0, 10.0):
            found = scipy_oscillator(t_end, ends, rtol_scipy, max_step)
            scipy_error = np.abs(found - values).max()
            if scipy_error <= TARGET:
                seconds = best_of(lambda m=max_step, r=rtol_scipy: scipy_oscillator(t_end, ends, r, m), 3)
                reached.append((seconds, max_step, rtol_scipy, scipy_error))
                break
    # the quickest of its runs that are accurate enough
    _, max_step, rtol_scipy, scipy_error = min(reached)
    for rtol in 10.0 ** -np.arange(3.0, 11.0, 0.5):
        method = ExtrapolatedMoreau(rtol=rtol)
        run = oscillator.simulate((0.0, t_end), t_eval=ends, method=method)
        error = np.abs(run.q[0] - values).max()
        if error <= TARGET:
            break
    system, q0, u0 = oscillator.system, oscillator.q0, oscillator.u0
    t_scipy = best_of(lambda: scipy_oscillator(t_end, ends, rtol_scipy, max_step))
    t_full = best_of(lambda: simulate(system, (0.0, t_end), q0, u0, method=method, t_eval=ends))
    t_here = best_of(lambda: simulate(system, (0.0, t_end), q0, u0, method=method, t_eval=ends, audit=False))
    impacts = sum(event.kind == "impact" for event in run.events)
    print(f"time on the impact oscillator at an error of {TARGET:g}: {t_end} s of motion, {impacts} impacts")
    print(f"  SciPy DOP853 with events and restarts, rtol {rtol_scipy:.0e}, max_step {max_step:g}: {1e3 * t_scipy:.2f} ms "
          f"(error {scipy_error:.1e})")  # fmt: skip
    print(f"  extrapolated-moreau, rtol {rtol:.0e} (error {error:.1e}): {1e3 * t_here:.2f} ms without audit, "
          f"{t_scipy / t_here:.0f} times faster; {1e3 * t_full:.2f} ms with audit, {t_scipy / t_full:.0f} times faster")  # fmt: skip


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    oscillator = problems.impact_oscillator()
    ENDS = np.linspace(0.25, 4.9, 40)
    exact = oscillator.reference.q(ENDS)[0]
    print(f"base steps at an error of {TARGET:g}")
    toy = problems.woodpecker()
    samples = toy.reference.t_samples
    samples = samples[(samples > 0.005) & (samples < 0.13)]
    toy_exact = toy.reference.states_at(samples)[1][2]
    for name, problem, span, ends, values, k in (
        ("impact oscillator", oscillator, (0.0, 5.0), ENDS, exact, 0),
        ("woodpecker", toy, (0.0, 0.13), samples, toy_exact, 2),
    ):
        base, rtol, reached, plain, error, slope = work(problem, span, ends, values, k)
        print(f"  {name}: extrapolated {base} (rtol {rtol:.1e}, error {reached:.1e}); Moreau {plain:.3g} "
              f"(error {error:.1e} with 2e6 steps, order {slope:.2f}): {plain / base:.0f} times fewer")  # fmt: skip

    for t_end in (2.4, 5.0):
        compare_times(oscillator, t_end, ENDS[ENDS < t_end], exact[ENDS < t_end])
