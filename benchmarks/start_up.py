"""Start-up times: import, first result with a cold and a warm compiler cache, first step of a new user model.

Each figure is the wall time of a fresh process (best of three; the cold ones once, with an empty NUMBA_CACHE_DIR).
"""

import os
import subprocess
import sys
import tempfile
import time

IMPORT = "import nonsmooth"
SHIPPED = """
import nonsmooth as ns
from nonsmooth import problems
p = problems.falling_ball()
ns.simulate(p.system, (0, 0.5), p.q0, p.u0, dt=1e-3)
"""
NEW_MODEL = """
import time
import numpy as np
import nonsmooth as ns
ns.simulate  # the library is loaded
def mass(t, q, p): return np.array([[p.m]])
def force(t, q, u, p): return np.array([-p.c * (q[0] + 0.15)])
def gap(t, q, p): return np.array([-q[0]])
start = time.perf_counter()
system = ns.MechanicalSystem(mass, force, ns.Contact(gap, restitution=0.6), params=dict(m=0.1, c=20.0))
ns.simulate(system, (0, 1e-3), [-0.5], [0.2], dt=1e-3)
print(time.perf_counter() - start)
"""
EXTRAPOLATED = SHIPPED.replace(", dt=1e-3", "")


def run(code, cache):
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], env=environment, capture_output=True, text=True
    )
    seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(done.stderr)
    return float(done.stdout) if done.stdout.strip() else seconds


def main():
    with tempfile.TemporaryDirectory() as cache:
        print(f"shipped problem, moreau, cold cache          {run(SHIPPED, cache):6.2f} s")
        print(
            f"shipped problem, moreau, warm cache          {min(run(SHIPPED, cache) for _ in range(3)):6.2f} s"
        )
        print(
            f"shipped problem, extrapolated-moreau, cold   {run(EXTRAPOLATED, cache):6.2f} s (after moreau)"
        )
        print(
            f"shipped problem, extrapolated-moreau, warm   {min(run(EXTRAPOLATED, cache) for _ in range(3)):6.2f} s"
        )
        print(
            f"new user model to its first step, warm       {min(run(NEW_MODEL, cache) for _ in range(3)):6.2f} s"
        )
        print(
            f"import nonsmooth                             {min(run(IMPORT, cache) for _ in range(3)):6.2f} s"
        )


if __name__ == "__main__":
    main()
