"""User functions that reach beyond their arrays or return what they must not, run in child processes.

``python tests/model/fuzz_functions.py 2000`` prints how many tries ended how; a batch of tries shares one process. A try is right
if it ends in an exception (`NonsmoothError`, or the user's own IndexError or ValueError); a silent success, or a process ended by
a signal, is a failure.
"""

import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

import nonsmooth as ns

BATCH = 40
BEYOND = (2, 3, 17, 1000, 10**6, 10**9, 2**31, 2**40, -3, -4, -17, -(10**6), -(2**33))
WHEN = (-1.0, 0.0, 0.0127, 0.031)  # an index that is wrong from the start, or only later
VALUES = (
    None, [1.0], np.zeros(3), np.zeros((2, 2)), np.zeros((2, 1)), np.zeros(2, complex), np.array(["a", "b"]),
    np.array([None, 1.0], dtype=object), [[1.0], [2.0, 3.0]], "text", {1: 2.0}, 1j, [1.0, None],
)  # fmt: skip


def inner(array, i, x):
    array[i] = x


def bad_force(kind, index, when, value):
    """A force of two entries that does something forbidden after `when`."""
    if kind == "write":

        def force(t, q, u, out):
            out[0], out[1] = -9.81, 0.0
            if t > when:
                out[index] = 1.0

    elif kind == "read":

        def force(t, q, u):
            return np.array([-9.81, q[index] if t > when else 0.0])

    elif kind == "read parameter":

        def force(t, q, u, p):
            return np.array([-9.81, p.table[index] if t > when else 0.0])

    elif kind == "helper":

        def force(t, q, u, out):
            out[0], out[1] = -9.81, 0.0
            if t > when:
                inner(out, index, 1.0)

    elif kind == "fancy":

        def force(t, q, u):
            places = np.array([0, index if t > when else 1])
            return q[places] - 9.81

    elif kind == "local":

        def force(t, q, u):
            work = np.zeros(2)
            work[index if t > when else 1] = -9.81
            return work

    elif kind == "flat":

        def force(t, q, u, out):
            out[0], out[1] = -9.81, 0.0
            if t > when:
                out.flat[index] = 1.0

    elif kind == "length":

        def force(t, q, u):
            return np.zeros(2 if t <= when else abs(index) % 50 + 3)

    elif kind == "short":

        def force(t, q, u, out):
            out[0] = -9.81
            if t <= when:
                out[1] = 0.0

    else:

        def force(t, q, u):
            return value

    return force


KINDS = ("write", "read", "read parameter", "helper", "fancy", "local", "flat", "length", "short", "value")


def attempt(seed: int) -> str:
    """Run one bad model; what it ended with."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    index, when = int(rng.choice(BEYOND)), float(rng.choice(WHEN))
    value = VALUES[int(rng.integers(len(VALUES)))]
    force = bad_force(kind, index, when, value)
    system = ns.MechanicalSystem(
        np.eye(2), force, ns.Contact(lambda t, q: q[0]), params={"table": np.zeros(2)}
    )
    method = {"dt": 1e-3} if seed % 4 else {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ns.simulate(system, (0.0, 0.05), [1.0, 0.0], [0.0, 0.0], progress=False, audit=False, **method)
    except (ns.errors.NonsmoothError, IndexError, ValueError, TypeError) as exc:
        return type(exc).__name__
    return f"silent success of try {seed}: {kind}, index {index}, from t = {when}, value {value!r}"


def batch(first: int, count: int) -> list[str]:
    """Outcomes of tries in a child process; one line each, and one for the signal that ended it."""
    command = [sys.executable, str(Path(__file__)), "child", str(first), str(count)]
    done = subprocess.run(command, capture_output=True, text=True)  # noqa: S603
    outcomes = [line for line in done.stdout.splitlines() if line]
    if done.returncode != 0:
        outcomes.append(
            f"process of tries {first} to {first + count - 1} ended with {done.returncode}: {done.stderr[-300:]}"
        )
    return outcomes


def main(tries: int, first: int = 0) -> Counter:
    """Outcomes of `tries` tries, counted."""
    counts: Counter = Counter()
    for start in range(first, first + tries, BATCH):
        counts.update(batch(start, min(BATCH, first + tries - start)))
    return counts


if __name__ == "__main__":
    if sys.argv[1] == "child":
        for seed in range(int(sys.argv[2]), int(sys.argv[2]) + int(sys.argv[3])):
            print(attempt(seed), flush=True)
    else:
        for outcome, count in main(int(sys.argv[1])).most_common():
            print(f"{count:6d}  {outcome}")
