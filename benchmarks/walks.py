"""How far a reader walks: files and functions that one step touches, and the ten longest functions of the package.

    python benchmarks/walks.py

Runs without compilation, where every call of a phase can be seen. A walk is what the slices of a run call: steps of Moreau's rule
with an impact, a switch of `solve_ivp`, a sliding step of `solve_filippov`, extrapolated and event-driven
steps. Making the run is not part of it.
"""

import ast
import os
import sys
import warnings
from pathlib import Path

os.environ["NUMBA_DISABLE_JIT"] = "1"

import numpy as np

import nonsmooth as ns
from nonsmooth.control.driver import Driver

SOURCE = Path(ns.__file__).parent


class Walk:
    """Functions of the package that are called inside a slice."""

    def __init__(self):
        self.seen = set()

    def look(self, frame, event, _argument):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(SOURCE)):
            self.seen.add((code.co_filename, code.co_qualname))

    def slice(self, driver, original):
        """A slice under the eye of `look`."""
        sys.setprofile(self.look)
        try:
            original(driver)
        finally:
            sys.setprofile(None)


def walk(run):
    """(files, functions) touched by the slices of `run()`."""
    watch, original = Walk(), Driver._slice
    Driver._slice = lambda driver: watch.slice(driver, original)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run()
    finally:
        Driver._slice = original
    return len({name for name, _ in watch.seen}), len(watch.seen)


def impact():
    """Steps of Moreau's rule up to and over an impact with friction."""
    toy = ns.problems.woodpecker()
    ns.simulate(toy.system, (0.0, 60 * toy.dt), toy.q0, toy.u0, dt=toy.dt, audit=False)


def extrapolated():
    """The same motion under extrapolation."""
    toy = ns.problems.woodpecker()
    ns.simulate(toy.system, (0.0, 60 * toy.dt), toy.q0, toy.u0, method="extrapolated-moreau", audit=False)


def event_driven():
    """The same motion with its events located."""
    toy = ns.problems.woodpecker()
    ns.simulate(toy.system, (0.0, 60 * toy.dt), toy.q0, toy.u0, rtol=1e-6, audit=False)


def switch():
    """A bouncing ball as an equation with a switch."""
    floor = ns.Switch(lambda t, y: y[0], kind="unilateral", reset=lambda t, y: np.array([0.0, -0.8 * y[1]]))
    ns.solve_ivp(lambda t, y: np.array([y[1], -9.81]), (0, 0.6), [1.0, 0.0], switches=[floor])


def slide():
    """Into a sliding mode and along it."""
    system = ns.FilippovSystem(lambda t, x: np.array([0.5 * np.cos(t)]), [ns.sign_term(-1.0, [1.0], [1.0])])
    ns.solve_filippov(system, (0, 2), [0.3])


def longest(count=10):
    """The longest functions: lines without their docstrings, name, file."""
    found = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                first = node.body[0]
                text = first.end_lineno - first.lineno + 1 if ast.get_docstring(node) is not None else 0
                found.append((node.end_lineno - node.lineno + 1 - text, node.name, path.relative_to(SOURCE)))
    return sorted(found, reverse=True, key=lambda entry: entry[0])[:count]


def main():
    for name, run in (
        ("Moreau step", impact),
        ("extrapolated step", extrapolated),
        ("event-driven step", event_driven),
        ("switch", switch),
        ("sliding step", slide),
    ):
        files, functions = walk(run)
        print(f"{name:<20} {files:3d} files {functions:4d} functions")
    for lines, name, path in longest():
        print(f"{lines:4d} lines  {name}  ({path})")


if __name__ == "__main__":
    main()
