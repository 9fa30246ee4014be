"""Speed of `event-capturing` (Radau 5) on Studer's impact oscillator against SciPy's Radau with events and restarts.

Both find the instants to 1e-9.

python benchmarks/event_capturing_speed.py
"""

import time

import numpy as np
from scipy.integrate import solve_ivp

import nonsmooth as ns
from nonsmooth import problems

END, WANTED = 3.0, 1e-9


def best_of(repeats, run):
    """Shortest processor time in seconds, and the last result."""
    shortest = np.inf
    for _ in range(repeats):
        begin = time.process_time()
        found = run()
        shortest = min(shortest, time.process_time() - begin)
    return shortest, found


def by_scipy(rtol):
    """Impact instants: an integration up to each impact, started again with the velocity after it."""

    def field(t, y):
        return [y[1], -200.0 * (y[0] + 0.15)]

    def wall(t, y):
        return y[0]

    wall.terminal, wall.direction = True, 1.0
    t, y, instants = 0.0, [-0.5, 0.2], []
    while t < END:
        part = solve_ivp(field, (t, END), y, method="Radau", events=wall, rtol=rtol, atol=1e-3 * rtol)
        if part.status != 1:
            break
        t = float(part.t_events[0][0])
        instants.append(t)
        y = [-1e-300, -0.6 * part.y_events[0][0][1]]
    return np.array(instants)


def here(problem, dt):
    result = problem.simulate((0.0, END), method=ns.EventCapturing("radau5", dt=dt), audit=False)
    return np.array([event.t for event in result.events if event.kind == "impact"])


def first_that_holds(exact, options, run, repeats):
    """The cheapest option with all instants to 1e-9: option, time, error."""
    for option in options:
        instants = run(option)
        if instants.size == exact.size and np.max(np.abs(instants - exact)) <= WANTED:
            seconds, instants = best_of(repeats, lambda option=option: run(option))
            return option, seconds, float(np.max(np.abs(instants - exact)))
    raise SystemExit("no option reached the accuracy")


if __name__ == "__main__":
    problem = problems.impact_oscillator()
    exact = problem.reference.event_times()
    exact = exact[exact <= END]
    dt, mine, error = first_that_holds(
        exact, END / np.array([200, 400, 600, 800, 900, 950, 1000]), lambda dt: here(problem, dt), 60
    )
    rtol, theirs, error_scipy = first_that_holds(exact, [1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12], by_scipy, 3)
    print(f"{exact.size} impacts to {END:g} s, instants to {WANTED:g}")
    print(f"event-capturing, radau5, dt = {dt:.3g}: {mine * 1e3:.2f} ms, worst instant {error:.1e}")
    print(
        f"SciPy Radau, rtol = {rtol:g}, events and restarts: {theirs * 1e3:.0f} ms, worst instant {error_scipy:.1e}"
    )
    print(f"ratio {theirs / mine:.0f}")
