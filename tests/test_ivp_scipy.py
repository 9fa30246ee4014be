"""SciPy's own test module of `solve_ivp`, as installed, run against this library's function. Nothing is
excluded.
"""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def test_scipy_test_module_passes(tmp_path):
    module = importlib.util.find_spec("scipy.integrate._ivp.tests.test_ivp")
    assert module is not None, "the installed SciPy has no tests"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}
    run = subprocess.run(  # noqa: S603
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "scipy_ivp_plugin",
            "-p",
            "no:cacheprovider",
            "-o",
            "addopts=",
            "--rootdir",
            str(tmp_path),
            module.origin,
        ],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
    )
    summary = run.stdout.strip().splitlines()[-1]
    assert run.returncode == 0, run.stdout[-4000:]
    assert int(re.search(r"(\d+) passed", summary).group(1)) >= 50, summary
    assert "failed" not in summary and "skipped" not in summary, summary
