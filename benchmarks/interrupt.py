"""How soon a run stops after Ctrl-C: compiled loops and a Python callback, signals at random moments.

A child process runs without end and says when it caught the interrupt; both processes read the same monotonic clock. The
partial result must be there every time.
"""

import os
import random
import signal
import subprocess
import sys
import time

TRIALS = 40
CHILD = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where this runs in the background
import numpy as np
import nonsmooth as ns
from nonsmooth import problems

def python_force(t, q, u):
    return np.array([-9.81 + 0 * len(str(t))])

kind = sys.argv[1]
problem = problems.woodpecker()
system, q0, u0, options = problem.system, problem.q0, problem.u0, {"dt": 2e-5, "every": 10_000}
if kind == "extrapolated":
    options = {"rtol": 1e-6, "every": 1000}
if kind == "callback":
    system = ns.MechanicalSystem(lambda t, q: np.eye(1), python_force, ns.Contact(lambda t, q: q[0], restitution=0.5))
    q0, u0, options = [1.0], [0.0], {"dt": 1e-4, "every": 1000}
ns.simulate(system, (0, 0.01), q0, u0, **options)
while True:
    print("go", flush=True)
    try:
        ns.simulate(system, (0, 1e4), q0, u0, **options)
    except KeyboardInterrupt as exc:
        print(time.monotonic(), exc.partial.t[-1] > 0, flush=True)
"""


def latencies(kind):
    child = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", CHILD, kind], stdout=subprocess.PIPE, text=True, env=os.environ
    )
    found = []
    random.seed(0)
    try:
        for _ in range(TRIALS):
            if child.stdout.readline().strip() != "go":
                raise SystemExit(f"the child process of {kind!r} failed")
            time.sleep(0.2 + 0.3 * random.random())  # noqa: S311
            sent = time.monotonic()
            child.send_signal(signal.SIGINT)
            caught, partial = child.stdout.readline().split()
            if partial != "True":
                raise SystemExit("no partial result")
            found.append(float(caught) - sent)
    finally:
        child.kill()
        child.wait()
    return sorted(found)


def main():
    print(f"seconds from Ctrl-C to the partial result, {TRIALS} signals each (wanted: at most 0.2)")
    for kind in ("moreau", "extrapolated", "callback"):
        found = latencies(kind)
        print(f"  {kind:14s} median {found[len(found) // 2]:.3f}   largest {found[-1]:.3f}")


if __name__ == "__main__":
    main()
