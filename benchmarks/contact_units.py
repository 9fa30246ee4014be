"""The same problems in other units: iterations and impulses must not change
(`python benchmarks/contact_units.py [DIRECTORY]`).

Masses and speeds are multiplied by 1e-6 to 1e6 (W by the inverse of the mass factor, q by the speed factor).
Printed for every problem: the largest change of the number of iterations, of the impulses (relative to the
largest impulse) and of the velocities (relative to the largest free velocity).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from nonsmooth.contact.fclib import read_fclib
from nonsmooth.contact.problem import ContactProblem
from nonsmooth.contact.solve import solve_contact


def main(directory):
    worst_count, worst_change, worst_velocity = 0, 0.0, 0.0
    for path in sorted(Path(directory).glob("*.hdf5")):
        given = read_fclib(path)
        W = sp.csc_matrix(given.W)
        base = solve_contact(ContactProblem(W, given.q, given.mu, given.dim))
        scale = max(np.abs(base.r).max(), 1e-300)
        count, change, velocity, solved = 0, 0.0, 0.0, True
        for mass, speed in ((1e-6, 1.0), (1e6, 1.0), (1.0, 1e-6), (1.0, 1e6), (1e-3, 1e6), (1e6, 1e-3)):
            other = solve_contact(ContactProblem(W / mass, given.q * speed, given.mu, given.dim))
            count = max(count, abs(other.iterations - base.iterations))
            change = max(change, np.abs(other.r / (mass * speed) - base.r).max() / scale)
            velocity = max(velocity, np.abs(other.u / speed - base.u).max() / np.abs(given.q).max())
            solved = solved and other.success
        worst_count, worst_change = max(worst_count, count), max(worst_change, change)
        worst_velocity = max(worst_velocity, velocity)
        print(
            f"{path.stem:40s} iterations {base.iterations:5d} +- {count:3d}   impulses {change:.1e}   "
            f"velocities {velocity:.1e}   solved {solved}",
            flush=True,
        )
    print(f"largest change: {worst_count} iterations, {worst_change:.1e} of the largest impulse, "
          f"{worst_velocity:.1e} of the largest free velocity")  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1] / "tests" / "data" / "contact")
