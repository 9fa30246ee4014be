"""Runs inside a Python that has Siconos: solves one problem with one solver, prints a line of JSON (see
contact_siconos.py)."""

import json
import sys
import time

import numpy as np
import siconos.numerics as sn

SOLVERS = {
    (3, "NSGS"): (sn.SICONOS_FRICTION_3D_NSGS, 100_000),
    (3, "NSN_AC"): (sn.SICONOS_FRICTION_3D_NSN_AC, 200),
    (3, "ADMM"): (sn.SICONOS_FRICTION_3D_ADMM, 20_000),
    (2, "NSGS"): (sn.SICONOS_FRICTION_2D_NSGS, 100_000),
}


def main(path, dim, rows, solver, tol, out):
    problem = sn.frictionContact_new_from_filename(path)
    number, limit = SOLVERS[dim, solver]
    options = sn.SolverOptions(number)
    options.dparam[0] = tol
    options.iparam[0] = limit
    drive = sn.fc3d_driver if dim == 3 else sn.fc2d_driver
    times = []
    while len(times) < 3 or (sum(times) < 0.3 and len(times) < 200):
        r, u = np.zeros(rows), np.zeros(rows)
        start = time.perf_counter()
        info = drive(problem, r, u, options)
        times.append(time.perf_counter() - start)
        if sum(times) > 20:
            break
    np.save(out, r)
    print(json.dumps({"time": min(times), "info": int(info)}))


if __name__ == "__main__":
    path, dim, rows, solver, tol, out = sys.argv[1:]
    main(path, int(dim), int(rows), solver, float(tol), out)
