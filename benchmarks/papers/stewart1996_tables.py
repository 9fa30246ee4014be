"""Tables 1 and 2 of Stewart 1996 (J. Austral. Math. Soc. Ser. B 37, 288-308): paper | here.

Problem: three masses with dry friction, eq. (15), on [0, 10]. "Total" counts f + h + 6 grad h as the paper
says; the total printed for Algorithm 2 in Table 1 (11 242) is f + h + 2 grad h, with the stated rule it is
16 586. Errors are the largest Euclidean norm on the grid of 0.05. Run: python
benchmarks/papers/stewart1996_tables.py [--picture FILE] [--quick]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from _table import IMG

from nonsmooth.filippov import solve_filippov
from nonsmooth.problems.three_mass import three_mass

GRID_FILE = Path(__file__).parents[2] / "tests" / "data" / "filippov" / "three_mass_grid.json"

# method, f, h, grad h, total (with the stated rule), error
PAPER = {
    1: [
        ("Taubert I", 30327, 60654, 0, 90981, 9.5e-3),
        ("Taubert II", 121308, 242616, 0, 363924, 6.4e-4),
        ("Algorithm 2", 3758, 4812, 1336, 16586, 5.4e-4),
    ],
    2: [
        ("Taubert I", 3000393, 6000786, 0, 9001179, 9.51e-5),
        ("Taubert II", 12001572, 24003144, 0, 36004716, 4.98e-6),
        ("Algorithm 2", 5267, 6924, 1864, 23375, 4.68e-6),
    ],
}

# Here: Taubert's methods with the paper's step; Algorithm 2 with the integrator and tolerance that reach the paper's error
# with the fewest evaluations, as a user gets it; with switching points on the dense output alone; all of them on the
# integration, to a bound of the switching function.
HERE = {
    1: [
        ("Taubert I", {"method": "taubert-euler", "dt": 1e-3}),
        ("Taubert II", {"method": "taubert-rk4", "dt": 1e-3}),
        ("Algorithm 2", {"method": "RK45", "rtol": 10**-4.4, "atol": 10**-4.4}),
        ("  dense only", {"method": "RK45", "rtol": 10**-4.4, "atol": 10**-4.4, "location": "dense"}),
        ("  on integration", {"method": "RK45", "rtol": 10**-4.1, "atol": 10**-4.1, "location": 10**-4.1}),
    ],
    2: [
        ("Taubert I", {"method": "taubert-euler", "dt": 1e-5}),
        ("Taubert II", {"method": "taubert-rk4", "dt": 1e-5}),
        ("Algorithm 2", {"method": "DOP853", "rtol": 10**-6.3, "atol": 10**-6.3}),
        ("  dense only", {"method": "DOP853", "rtol": 10**-6.3, "atol": 10**-6.3, "location": "dense"}),
        ("  RK45", {"method": "RK45", "rtol": 10**-6.25, "atol": 10**-6.25}),
        ("  on integration", {"method": "RK45", "rtol": 10**-6.1, "atol": 10**-6.1, "location": 10**-7.1}),
    ],
}


def reference_grid():
    return np.array(json.loads(GRID_FILE.read_text())["grid"])


def measure(problem, grid, options):
    """(f, h, grad h, total, error, switching points) of one run."""
    result = solve_filippov(problem.system, problem.t_span, problem.x0, t_eval=grid[:, 0], **options)
    error = np.sqrt(((result.y.T - grid[:, 1:]) ** 2).sum(axis=1)).max()
    e = result.evaluations
    return e["f"], e["h"], e["grad_h"], e["total"], error, len(result.t_switch)


def table(number, quick=False):
    """Print one table; returns {row name: (paper, here)}."""
    problem, grid = three_mass(), reference_grid()
    paper = {row[0]: row[1:] for row in PAPER[number]}
    print(f"Table {number}: evaluations and largest error        paper | here")
    print(f"{'method':18s} {'f':>21s} {'h':>21s} {'grad h':>13s} {'total':>21s} {'error':>19s}  here/paper")
    rows = {}
    for name, options in HERE[number]:
        if quick and options.get("dt") == 1e-5:
            continue
        here = measure(problem, grid, options)
        old = paper.get(name, paper["Algorithm 2"])
        rows[name] = (old, here)
        print(
            f"{name:18s} {old[0]:>10d}|{here[0]:>10d} {old[1]:>10d}|{here[1]:>10d} {old[2]:>6d}|{here[2]:>6d} "
            f"{old[3]:>10d}|{here[3]:>10d} {old[4]:9.2e}|{here[4]:9.2e}  {here[3] / old[3]:.3f}"
        )
    print()
    return rows


def picture(path):
    """Figures 2 and 3 of the paper: positions and velocities, with the located switching points."""
    from matplotlib.figure import Figure

    problem = three_mass()
    result = solve_filippov(problem.system, problem.t_span, problem.x0, rtol=1e-8, dense_output=True)
    t = np.linspace(0, 10, 1001)
    x = result.sol(t)
    figure = Figure(figsize=(8, 6), dpi=80, layout="constrained")
    axes = figure.subplots(2, 1, sharex=True)
    for k in range(3):
        axes[0].plot(t, x[k], label=f"$x_{k + 1}$")
        axes[1].plot(t, x[3 + k], label=f"$x_{k + 1}'$")
    axes[1].plot(result.t_switch, 0 * result.t_switch, "k.", label="switching points")
    axes[0].set_ylabel("position")
    axes[1].set_ylabel("velocity")
    axes[1].set_xlabel("time")
    for ax in axes:
        ax.legend(loc="upper right")
        ax.grid(alpha=0.3)
    figure.savefig(path)
    print(f"picture written to {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", default=IMG / "stewart1996.png")
    parser.add_argument("--quick", action="store_true", help="leave out the runs with a million steps")
    arguments = parser.parse_args()
    table(1, arguments.quick)
    table(2, arguments.quick)
    picture(arguments.picture)


if __name__ == "__main__":
    main()
