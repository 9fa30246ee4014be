"""What a user pays: the woodpecker with plain functions and three separate contacts, defaults, audit on, all steps kept; memory.

python benchmarks/as_a_user.py [--systems 300]
"""

import argparse
import resource
import runpy
import tempfile
import time
from pathlib import Path

import numpy as np
from start_up import HEAD, WOODPECKER

import nonsmooth as ns
from nonsmooth.schemes import audits


def written(code):
    """Names of a script with that `code`."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "script.py")
        script.write_text(HEAD + code)
        return runpy.run_path(str(script))


def plain_woodpecker():
    """The system of `start_up.WOODPECKER`: plain functions, three contacts."""
    return written(WOODPECKER)["system"]


def per_step(system, steps, repeats=5):
    """Least CPU time per step in microseconds: of the run, and of the run with its audit looked at (it is made then)."""
    run, looked_at = [], []
    for _ in range(repeats):
        tick = time.process_time()
        result = ns.simulate(
            system, (0, steps * 1e-4), [0.0, -0.1036, -0.2788], [-0.3411, 0.0, -7.4583], dt=1e-4
        )
        run.append(time.process_time() - tick)
        assert result.nsteps == steps and result.audit.ok
        looked_at.append(time.process_time() - tick)
    return min(run) / steps * 1e6, min(looked_at) / steps * 1e6


def audit_alone(system, steps, q0, u0, dt, repeats=7):
    """Least CPU time of the audit of a run, in milliseconds, and how many of its steps were recomputed."""
    spent = []

    def timed(*arguments):
        tick = time.process_time()
        audit = make_audit(*arguments)
        spent.append(time.process_time() - tick)
        return audit

    make_audit, audits._complete = audits._complete, timed
    try:
        for _ in range(repeats):
            audit = ns.simulate(system, (0, steps * dt), q0, u0, dt=dt).audit
            assert audit.ok
    finally:
        audits._complete = make_audit
    return 1e3 * min(spent), audit.steps_checked


def resident():
    """Resident memory in MiB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def alike(k):
    """Systems of one factory with the same constants."""
    return from_a_factory(2.0)


def from_a_factory(stiffness):
    """Systems made of the same code; another constant inside a function is another function to the compiler (`params` is none)."""
    return ns.MechanicalSystem(
        np.eye(1), lambda t, q, u: np.array([-stiffness * q[0]]), contacts=[ns.Contact(lambda t, q: q[0])]
    )


def different(k):
    """A system whose functions are like no other's."""
    force = written(f"def force(t, q, u):\n    return np.array([-{k + 1}.0 * q[0] + {k}.5])\n")["force"]
    return ns.MechanicalSystem(np.eye(1), force, contacts=[ns.Contact(lambda t, q: q[0])])


def growth(make, count):
    """MiB that `count` systems, each built and run once, add."""
    for k in range(3):
        ns.simulate(
            make(k + 0.25 if make is from_a_factory else 10_000 + k), (0, 0.01), [0.1], [0.0], dt=1e-3
        )
    before = resident()
    for k in range(count):
        ns.simulate(make(k), (0, 0.01), [0.1], [0.0], dt=1e-3)
    return resident() - before


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--systems", type=int, default=300)
    systems = parser.parse_args().systems
    toy = plain_woodpecker()
    for steps, wanted in ((50_000, 1.0), (5_000, 2.5)):
        run, looked_at = per_step(toy, steps)
        print(
            f"plain woodpecker, {steps} steps: {run:.2f} us per step, with its audit looked at {looked_at:.2f} (wanted {wanted})"
        )
    ball = ns.problems.falling_ball()
    for name, run in (
        ("plain woodpecker", (toy, 5_000, [0.0, -0.1036, -0.2788], [-0.3411, 0.0, -7.4583], 1e-4)),
        ("ball", (ball.system, 5_000, [1.0], [0.0], 1e-3)),
    ):
        spent, checked = audit_alone(*run)
        print(f"audit of the {name}, {checked} of 5000 steps recomputed: {spent:.2f} ms (wanted 5 for 250)")
    print(f"{systems} systems of one factory: {growth(alike, systems):.1f} MiB (wanted 30)")
    print(
        f"the same with other constants: {growth(from_a_factory, systems) / systems:.2f} MiB each (wanted 1.5)"
    )
    print(f"{systems} different systems: {growth(different, systems) / systems:.2f} MiB each (wanted 1.5)")


if __name__ == "__main__":
    main()
