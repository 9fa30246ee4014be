"""Other processes: spawned workers, many at once with a cold cache, and places that cannot be written (F15, F16)."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numba

import nonsmooth._core.cache_dir as cache_dir

MODULE = """
import numpy as np
import nonsmooth as ns


def force(t, q, u, p):
    return np.array([-p.g])


def gap(t, q):
    return q[0]


SYSTEM = ns.MechanicalSystem(np.eye(1), force, contacts=[ns.Contact(gap, restitution=0.8)], params={"g": 9.81})


def run(system):
    result = ns.simulate(system, (0, 2), [1.0], [0.0], dt=1e-3)
    return result.q.tobytes() + result.u.tobytes(), len(result.events)


def run_at(g):
    return run(SYSTEM.with_params(g=g))
"""

MAIN = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import a_model

if __name__ == "__main__":
    for method in {"spawn", "fork"} & set(multiprocessing.get_all_start_methods()):
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
            by_value = list(pool.map(a_model.run_at, [9.81, 1.62]))
            by_model = list(pool.map(a_model.run, [a_model.SYSTEM]))
        assert by_value == [a_model.run_at(9.81), a_model.run_at(1.62)] and by_model == by_value[:1], method
        assert [events for _, events in by_value] == [3, 1]
"""


def python(code, **env):
    """A process that runs `code`."""
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-W", "default", "-c", code],
        env=os.environ | env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_workers_run_models_of_a_module(tmp_path):
    (tmp_path / "a_model.py").write_text(MODULE)
    (tmp_path / "main.py").write_text(MAIN)
    done = subprocess.run(
        [sys.executable, "main.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]


KERNELS = (
    "import numpy as np; from nonsmooth._core.linalg.small import cholesky; "
    "L = np.zeros((2, 2)); assert cholesky(np.array([[4.0, 0], [0, 1]]), L, 2) == 0 and L[0, 0] == 0.5"
)


def test_many_processes_with_a_cold_cache(tmp_path):
    several = [python(KERNELS, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(4)]
    for process in several:
        _, errors = process.communicate(timeout=200)
        assert process.returncode == 0, errors
    kept = {path: path.read_bytes() for path in tmp_path.rglob("*.nb*")}
    assert kept
    later = python(KERNELS, NUMBA_CACHE_DIR=str(tmp_path))
    assert later.communicate(timeout=100) and later.returncode == 0
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.nb*")} == kept  # nothing was compiled again


def test_a_private_directory_where_nothing_can_be_written(tmp_path):
    code = (
        "import os; access = os.access; "
        "os.access = lambda path, mode: False if mode & os.W_OK else access(path, mode); " + KERNELS + "; "
        "private = os.environ['NUMBA_CACHE_DIR']; print(private, oct(os.stat(private).st_mode & 0o777), "
        "any(name.endswith('.nbc') for _, _, names in os.walk(private) for name in names))"
    )
    process = python(code, NUMBA_CACHE_DIR=str(tmp_path / "refused"), TMPDIR=str(tmp_path))
    told, errors = process.communicate(timeout=100)
    assert process.returncode == 0, errors
    private, mode, used = told.split()
    assert Path(private).parent == tmp_path and mode == "0o700" and used == "True"
    assert errors.count("compiled functions cannot be kept") == 1 and "set NUMBA_CACHE_DIR" in errors
    assert list(tmp_path.iterdir()) == []  # gone with the process


def test_what_can_be_written(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("")
    assert cache_dir._writable(tmp_path / "new" / "deep") and cache_dir._writable(tmp_path)
    assert not cache_dir._writable(file) and not cache_dir._writable(file / "below")
    before = numba.config.CACHE_DIR, os.environ.get("NUMBA_CACHE_DIR")
    monkeypatch.setattr(cache_dir, "candidates", lambda: [file, tmp_path])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache_dir.ensure()
    assert (numba.config.CACHE_DIR, os.environ.get("NUMBA_CACHE_DIR")) == before
