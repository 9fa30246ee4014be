"""Three masses with friction (Stewart 1996, eq. (15)) in nosnoc (Python, with CasADi and IPOPT): time and error of a run.

Optional: nothing happens where nosnoc is not installed. One subsystem with two regions per mass; time is a state, because
the forcing depends on it; the smooth part is the same in both regions of the first subsystem. The simulation consists of
`n_sim` problems of a tenth of a second with two finite elements of a Radau IIA method, so that every element may end at a
switch. Compiling the problem is not counted. Run: python benchmarks/peers/nosnoc_three_masses.py
"""

from __future__ import annotations

import time

import numpy as np

from nonsmooth.problems.three_mass import three_mass


def run(n_sim=100, n_s=4, comp_tol=1e-10):
    """(seconds, error of the end state) of one simulation on [0, 10]."""
    import casadi as ca
    import nosnoc

    x = ca.SX.sym("x", 7)  # positions, velocities, time
    smooth = ca.vertcat(
        x[3],
        x[4],
        x[5],
        -x[0] + (x[1] - x[0]) - x[3],
        (x[0] - x[1]) + (x[2] - x[1]) - x[4],
        (x[1] - x[2]) - x[5] + 10.0 * ca.cos(np.pi * x[6]),
        1.0,
    )
    fields, surfaces, signs = [], [], []
    for j in range(3):
        push = np.zeros(7)
        push[3 + j] = 0.3
        base = smooth if j == 0 else ca.SX.zeros(7)
        fields.append(ca.horzcat(base - push, base + push))  # regions v > 0 and v < 0
        surfaces.append(x[3 + j])
        signs.append(np.array([[1], [-1]]))
    problem = three_mass()
    x0 = np.append(problem.x0, 0.0)
    model = nosnoc.NosnocModel(x=x, F=fields, S=signs, c=surfaces, x0=x0)
    options = nosnoc.NosnocOpts()
    options.n_s = n_s
    options.N_finite_elements = 2
    options.comp_tol = comp_tol
    options.print_level = 0
    options.terminal_time = 10.0 / n_sim
    solver = nosnoc.NosnocSolver(options, model)
    looper = nosnoc.NosnocSimLooper(solver, model.x0, n_sim)
    begin = time.perf_counter()
    looper.run()
    seconds = time.perf_counter() - begin
    end = np.asarray(looper.get_results()["X_sim"][-1]).ravel()[:6]
    return seconds, float(np.abs(end - problem.end_state).max())


def compare(seconds_here):
    """Print the ratio of times, or why there is none."""
    try:
        import nosnoc  # noqa: F401
    except ImportError:
        print("  nosnoc is not installed: its comparison is skipped (pip install nosnoc to run it)")
        return None
    seconds, error = run()
    print(
        f"  nosnoc                       {1e3 * seconds:8.0f} ms   end state to {error:.1e}   {seconds / seconds_here:.0f} x slower"
    )
    return seconds / seconds_here


if __name__ == "__main__":
    compare(np.nan)
