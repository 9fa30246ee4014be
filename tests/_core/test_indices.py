"""The lean kernels are compiled without the code for negative indices: none may ever be used.

A run without the compiler on arrays that refuse negative indices, in a process of its own.
"""

import os
import subprocess
import sys

SCRIPT = """
import numpy as np
import nonsmooth as ns
from nonsmooth import problems
from nonsmooth._core.stepping import extrapolation
from nonsmooth._core.stepping import moreau
from nonsmooth.schemes import run


class Strict(np.ndarray):
    def check(self, index):
        for i in index if isinstance(index, tuple) else (index,):
            if isinstance(i, (int, np.integer)) and i < 0:
                raise IndexError(f"negative index {index}")

    def __getitem__(self, index):
        self.check(index)
        return super().__getitem__(index)

    def __setitem__(self, index, value):
        self.check(index)
        super().__setitem__(index, value)


def strict(make):
    def made(*args):
        record = make(*args)
        fields = {name: getattr(record, name) for name in record._fields}
        return record._replace(**{k: a.view(Strict) for k, a in fields.items() if isinstance(a, np.ndarray)})

    return made


moreau.make_work = strict(moreau.make_work)
run.make_prox = strict(run.make_prox)
extrapolation.make_tableau = strict(extrapolation.make_tableau)
extrapolation.make_steps = strict(extrapolation.make_steps)
try:
    np.zeros(2).view(Strict)[-1]
except IndexError:
    pass
else:
    raise SystemExit("the check does not check")

toy = problems.woodpecker()
for options in ({"dt": 1e-3}, {"dt": 1e-3, "solver": ns.PSOR()}, {"rtol": 1e-4}, {"rtol": 1e-4, "locate": False}):
    method = "moreau" if "dt" in options else "extrapolated-moreau"
    toy.simulate((0.0, 0.03), method=method, audit=False, **options)
plane = problems.sliding_mass()
plane.simulate((0.0, 0.5), dt=0.02, audit=False)
plane.simulate((0.0, 0.5), method="extrapolated-moreau", rtol=1e-4, audit=False)
print("no negative index")
"""


def test_no_negative_index():
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "ignore", "-c", SCRIPT],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "no negative index", done.stderr[-2000:]
