"""`event-driven` at 1e-12 beside Siconos' event-driven scheme (LSODAR): Studer's impact oscillator, seconds of a run and error of its end.

Run ``python benchmarks/event_driven_siconos.py``. Needs a Python with Siconos (Debian: python3-siconos), found on the system path or
named by the environment variable SICONOS_PYTHON. Timed are calls of `simulate`; of Siconos the loop over its events alone, and with the
set-up of model and simulation. Late impacts of long runs graze.
"""

import json
import subprocess
import time
import warnings
from pathlib import Path

import numpy as np
from contact_siconos import find_siconos

import nonsmooth as ns

PEER = Path(__file__).with_name("peers") / "siconos_event_driven.py"
SPANS = {5.0: 100, 20.0: 100, 100.0: 1000}  # and Siconos' own instants, without which it fails


def here(problem, t_end):
    """Least seconds of a warm call, and the error of the end."""
    method, best = ns.EventDriven(rtol=1e-12), np.inf
    for _ in range(50):
        begin = time.perf_counter()
        run = ns.simulate(problem.system, (0.0, t_end), problem.q0, problem.u0, method=method, audit=False)
        best = min(best, time.perf_counter() - begin)
    return best, abs(run.q[0, -1] - problem.reference.q(np.array([t_end]))[0, 0])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    python, problem = find_siconos(), ns.problems.impact_oscillator()
    for t_end, instants in SPANS.items():
        seconds, error = here(problem, t_end)
        line = f"{t_end:5g} s: here {1e3 * seconds:.2f} ms, error {error:.1e}"
        if python:
            arguments = [python, str(PEER), "1e-12", str(t_end), "20", str(instants)]
            found = json.loads(subprocess.run(arguments, capture_output=True, text=True, check=True).stdout)
            off = abs(found["q"] - problem.reference.q(np.array([t_end]))[0, 0])
            loop, whole = found["seconds"], found["with_setup"]
            line += (
                f"; Siconos {1e3 * loop:.2f} ms ({1e3 * whole:.2f} with set-up), error {off:.1e}; "
                f"{loop / seconds:.1f} times ({whole / seconds:.1f})"
            )
        print(line)
