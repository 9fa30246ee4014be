"""Start-up: CPU seconds of a new process to its first result, through each front door.

    python benchmarks/start_up.py [--wheel dist/nonsmooth-...whl] [--cold]

* wheel: installed into an empty folder, with an empty user cache (needs `make wheel`);
* warm: this installation, kernels kept from an earlier process;
* cold: this installation with an empty cache, everything compiled (only with --cold: minutes).

`compiled` counts the library's kernels that had to be compiled. New models are written into a script of their own: a plain one, and the
woodpecker with plain functions and three separate contacts.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HEAD = "import numpy as np\nimport nonsmooth as ns\n"
TAIL = """
import resource
from nonsmooth._core import compile_notice
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime, len(compile_notice.log))
"""
BALL = """
switch = ns.Switch(lambda t, y: y[0], kind="unilateral", reset=lambda t, y: np.array([0.0, -0.8 * y[1]]))
ns.solve_ivp(lambda t, y: np.array([y[1], -9.81]), (0, 1), [1.0, 0.0], method={method!r}, switches=[switch])
"""
SLIDE = """
system = ns.FilippovSystem(lambda t, x: np.array([0.5 * np.cos(t)]), [ns.sign_term(-1.0, [1.0], [1.0])])
ns.solve_filippov(system, (0, 10), [0.3])
"""
TOY = "p = ns.problems.woodpecker(); p.simulate((0, 0.05), {options})"
#: Schemes that take contacts, with the options of a run of the woodpecker.
SCHEMES = {
    "moreau": "dt=p.dt",
    "theta": "method='theta', dt=p.dt",
    "schatzman-paoli": "method='schatzman-paoli', dt=p.dt",
    "generalized-alpha": "method='generalized-alpha', dt=p.dt",
    "adaptive-moreau": "method='adaptive-moreau'",
    "extrapolated-moreau": "method='extrapolated-moreau'",
    "event-capturing": "method='event-capturing', dt=p.dt",
    "event-driven (default)": "rtol=1e-6",
}
FALL = """
world = ns.World(gravity=(0, -9.81))
world.add(ns.Body(ns.Disk(0.1), mass=1.0, position=(0, 1), name="ball"), ns.HalfPlane())
ns.simulate(world, (0, 0.6), dt=1e-3)
"""
PENDULUM = """
rod = ns.Joint(lambda t, q: q[0] ** 2 + q[1] ** 2 - 1.0)
system = ns.MechanicalSystem(np.eye(2), np.array([0.0, -9.81]), joints=[rod])
ns.simulate(system, (0, 0.1), [1.0, 0.0], [0.0, 0.0], method="sliding-mode", dt=1e-3)
"""
DOORS = {
    "import": "",
    **{f"simulate, {name}": TOY.format(options=options) for name, options in SCHEMES.items()},
    "simulate, sliding-mode": PENDULUM,
    "simulate, World": FALL,
    "solve_ivp": "ns.solve_ivp(lambda t, y: -y, (0, 1), [1.0])",
    "solve_ivp with a switch, RK45": BALL.format(method="RK45"),
    "solve_ivp with a switch, Radau": BALL.format(method="Radau"),
    "solve_filippov": SLIDE,
    "solve_contact": "ns.solve_contact(ns.ContactProblem(np.eye(3), [-1.0, 0.3, 0.2], [0.3], 3))",
    "solve_lcp": "ns.solve_lcp(np.eye(2), np.array([-1.0, 1.0]))",
}
PLAIN = """
def mass(t, q, p): return np.array([[p.m]])
def force(t, q, u, p): return np.array([-p.c * (q[0] + 0.15)])
def gap(t, q, p): return np.array([-q[0]])
system = ns.MechanicalSystem(mass, force, ns.Contact(gap, restitution=0.6), params=dict(m=0.1, c=20.0))
ns.simulate(system, (0, 1e-3), [-0.5], [0.2], dt=1e-3)
"""
WOODPECKER = """
g, m_M, m_S, J_M, J_S, c = 9.81, 0.0003, 0.0045, 5e-9, 7e-7, 0.0056
r_0, r_M, h_M, l_M, l_G, h_S, l_S = 0.0025, 0.0031, 0.0058, 0.010, 0.015, 0.02, 0.0201

def mass(t, q):
    m = m_S * l_M
    return np.array([[m_M + m_S, m, m_S * l_G], [m, J_M + m * l_M, m * l_G], [m_S * l_G, m * l_G, J_S + m_S * l_G**2]])

def force(t, q, u):
    spring = c * (q[2] - q[1])
    return np.array([-(m_M + m_S) * g, spring - m_S * g * l_M, -spring - m_S * g * l_G])

def beak(t, q): return l_M + l_G - l_S - r_0 - h_S * q[2]
def lower(t, q): return r_M - r_0 + h_M * q[1]
def upper(t, q): return r_M - r_0 - h_M * q[1]
def along_beak(t, q): return np.array([1.0, l_M, l_G - l_S])
def along_sleeve(t, q): return np.array([1.0, r_M, 0.0])

contacts = [
    ns.Contact(beak, restitution=0.5, friction=0.3, tangent=along_beak, name="beak"),
    ns.Contact(lower, friction=0.3, tangent=along_sleeve, name="lower"),
    ns.Contact(upper, friction=0.3, tangent=along_sleeve, name="upper"),
]
system = ns.MechanicalSystem(mass, force, contacts=contacts)
ns.simulate(system, (0, 0.01), [0.0, -0.1036, -0.2788], [-0.3411, 0.0, -7.4583], dt=1e-4)
"""
MODELS = {"new model": PLAIN, "new woodpecker, three contacts": WOODPECKER}


def first_result(code, cache, place=None):
    """(CPU seconds, compiled kernels) of a new process that runs `code`."""
    env = os.environ | {"NUMBA_CACHE_DIR": str(cache), "XDG_CACHE_HOME": str(cache)}
    if place is not None:
        env["PYTHONPATH"] = str(place)
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "script.py")
        script.write_text(HEAD + code + TAIL)
        done = subprocess.run(
            [sys.executable, "-W", "ignore", script],
            env=env,
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise SystemExit(done.stderr)
    seconds, compiled = done.stdout.split()
    return float(seconds), int(compiled)


def installed(wheel, folder):
    """The wheel unpacked into an empty folder, without its dependencies."""
    install = [sys.executable, "-m", "pip", "install", "-qq", "--no-deps", "--target", folder, wheel]
    subprocess.run(install, check=True)
    return Path(folder)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--wheel", type=Path, help="a wheel with kernels")
    parser.add_argument("--cold", action="store_true", help="also with an empty cache and no shipped kernels")
    options = parser.parse_args()
    print(f"{'first result, CPU seconds (compiled kernels)':<46}{'wheel':>14}{'warm':>14}{'cold':>14}")
    with tempfile.TemporaryDirectory() as folder:
        place = installed(options.wheel.resolve(), Path(folder, "wheel")) if options.wheel else None
        warm = Path(folder, "warm")
        for k, (name, code) in enumerate((DOORS | MODELS).items()):
            shown = []
            if place is not None:
                shown.append(first_result(code, Path(folder, f"wheel {k}"), place))
            first_result(code, warm)
            shown.insert(1, min(first_result(code, warm) for _ in range(2)))
            if options.cold and name in DOORS:
                shown.append(first_result(code, Path(folder, f"cold {k}")))
            cells = [f"{seconds:8.2f} ({compiled:3d})" for seconds, compiled in shown]
            print(
                f"{name:<46}" + ("" if place else " " * 14) + "".join(f"{cell:>14}" for cell in cells),
                flush=True,
            )


if __name__ == "__main__":
    main()
