"""Kernels on disk: found wherever the package lies, trusted only when everything they depend on is the same."""

import json
import os
import platform
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import nonsmooth
from nonsmooth._core import cache_dir, compile_notice, kernel_cache
from nonsmooth._core.kernel_cache import Kept, KernelSet

PACKAGE = Path(nonsmooth.__file__).parent

# A kernel with a helper in another file; what was compiled is printed.
USE = """
import json
import numpy as np
from nonsmooth._core import compile_notice
from nonsmooth._core.linalg.small import cholesky
L = np.zeros((2, 2))
assert cholesky(np.array([[4.0, 0], [0, 1]]), L, 2) == 0 and L[0, 0] == 0.5
print(json.dumps([name for _, name in compile_notice.log]))
"""


def compiled_by(place, cache, code=USE, **env):
    """Names of the kernels that a process using the package at `place` compiles."""
    # the cache of whoever runs the tests has kernels of other runs
    folders = {"PYTHONPATH": str(place), "NUMBA_CACHE_DIR": str(cache), "XDG_CACHE_HOME": f"{cache} of user"}
    env = os.environ | folders | {"NUMBA_DISABLE_JIT": "0"} | env
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def copy_package(place):
    shutil.copytree(PACKAGE, place / "nonsmooth", ignore=shutil.ignore_patterns("__pycache__", "_kernels"))
    return place


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="shipped kernels are for x86-64")
def test_shipped_kernels_fit_wherever_the_package_lies_and_only_them(tmp_path):
    built, empty = tmp_path / "built", tmp_path / "empty"
    assert "cholesky" in compiled_by(
        copy_package(tmp_path / "here"), built, NUMBA_CPU_NAME="x86-64", NUMBA_CPU_FEATURES=""
    )
    (found,) = (built / "nonsmooth").iterdir()
    (state,) = found.iterdir()
    there = copy_package(tmp_path / "there" / "deeper")
    shipped = there / "nonsmooth" / "_kernels" / found.name
    shutil.copytree(found, shipped)
    for path in (shipped / state.name, shipped, shipped.parent):
        path.chmod(0o555)
    before = contents(shipped)

    # moved, and read only: nothing is compiled, nothing is written
    assert compiled_by(there, empty) == [] and not empty.exists()
    assert compiled_by(there, empty, NONSMOOTH_KERNELS="x86-64") == [] and contents(shipped) == before
    # compiled for this very processor on request; kept, so that the next process finds it
    assert "cholesky" in compiled_by(there, empty, NONSMOOTH_KERNELS="native")
    assert compiled_by(there, empty, NONSMOOTH_KERNELS="native") == []
    # a damaged file is compiled again instead of being used
    (file,) = (path for path in shipped.rglob("*.nbc") if ".cholesky-" in path.name)
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    assert "cholesky" in compiled_by(there, tmp_path / "empty too")
    # a module it does not use edited: it still fits; one that its helper comes from: no more
    file.write_bytes(before[file])
    core = there / "nonsmooth" / "_core"
    append(core / "lcp" / "lemke.py", "\n# changed\n")
    assert compiled_by(there, tmp_path / "empty again") == []
    append(core / "jit.py", "\n# changed\n")
    assert "cholesky" in compiled_by(there, tmp_path / "empty again")


def append(path, text):
    path.write_text(path.read_text() + text)


F, G = Kept("f.nbc", "f"), Kept("f.nbc", "g")


def test_only_whole_files_of_the_right_key_are_read(tmp_path):
    one, other = KernelSet(tmp_path, "x86-64-v3", "a"), KernelSet(tmp_path, "x86-64", "a")
    assert one.directory != other.directory and one.load(F) is None
    one.save(F, b"content")
    assert one.load(F) == b"content" and one.load(G) is None
    assert [path.name for path in one.present.iterdir()] == ["f.nbc"]
    whole = (one.present / "f.nbc").read_bytes()
    for wrong in (b"", whole[:-1], whole[1:], whole[:-1] + b"?", whole + b"?"):
        (one.present / "f.nbc").write_bytes(wrong)
        assert one.load(F) is None
    other.save(G, b"")
    (other.present / "f.nbc").write_bytes(whole)
    assert other.load(F) is None


def test_what_other_states_of_the_sources_left_is_used(tmp_path):
    KernelSet(tmp_path, "x86-64", "before").save(F, b"content")
    now = KernelSet(tmp_path, "x86-64", "now")
    assert now.load(F) == b"content" and now.load(G) is None


def aged(tmp_path, name, days, size=0):
    """A set whose folder was used so many days ago."""
    one = KernelSet(tmp_path, name, "a")
    one.save(F, bytes(size))
    then = time.time() - 86400 * days
    os.utime(one.directory, (then, then))
    return one


def test_sets_nobody_uses_go(tmp_path):
    old, last_week = aged(tmp_path, "old", kernel_cache.KEPT_DAYS + 1), aged(tmp_path, "last week", 7)
    many = [aged(tmp_path, f"work tree {k}", 0) for k in range(20)]
    assert not old.directory.exists() and last_week.directory.exists()
    assert all(one.load(F) == b"" for one in many)


def test_where_they_take_too_much_space_the_oldest_go(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_cache, "KEPT_BYTES", 3000)
    sets = [aged(tmp_path, f"{days}", days, 1000) for days in (5, 4, 3, 2)]
    now = [aged(tmp_path, f"now {k}", 0, 1000) for k in range(6)]
    assert not any(one.directory.exists() for one in sets) and all(one.directory.exists() for one in now)


def test_using_a_set_keeps_it(tmp_path):
    one = aged(tmp_path, "old", kernel_cache.KEPT_DAYS + 1)
    os.utime(one.present, (0, 0))
    assert one.load(F) == b""
    aged(tmp_path, "new", 0)
    assert one.directory.exists() and time.time() - one.present.stat().st_mtime < 86400


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_folders_open_to_others_are_not_used(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    given, home = cache_dir.candidates()
    assert cache_dir.ensure() == given and stat.S_IMODE(given.stat().st_mode) == 0o700
    given.chmod(0o770)
    assert cache_dir.ensure() == home
    assert given not in [found.directory.parent for found in kernel_cache.library.readable()]


def test_the_processor_class_can_be_chosen(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(kernel_cache.config, "CPU_NAME", None)
    features = dict.fromkeys(kernel_cache.CLASSES["x86-64-v3"], True)
    monkeypatch.setattr(kernel_cache.binding, "get_host_cpu_features", lambda: features)
    monkeypatch.delenv(kernel_cache.CHOICE, raising=False)
    assert kernel_cache.classes() == ["x86-64-v3", "x86-64"]
    monkeypatch.setenv(kernel_cache.CHOICE, "x86-64")
    assert kernel_cache.classes() == ["x86-64"]
    monkeypatch.setenv(kernel_cache.CHOICE, "native")
    assert kernel_cache.classes() == []
    features["avx2"] = False
    monkeypatch.setenv(kernel_cache.CHOICE, "x86-64-v3")
    with pytest.raises(ValueError, match="NONSMOOTH_KERNELS"):
        kernel_cache.classes()
    monkeypatch.delenv(kernel_cache.CHOICE)
    assert kernel_cache.classes() == ["x86-64"]


def test_one_line_says_that_kernels_are_compiled_unless_progress_is_false(monkeypatch, caplog):
    monkeypatch.setattr(compile_notice, "_told", set())
    monkeypatch.setattr(compile_notice, "log", [])

    def kernel():
        """Any function."""

    with compile_notice.first_use("moreau", progress=False, seconds=25):
        compile_notice.compiling(kernel)
    assert not caplog.records
    with compile_notice.first_use("moreau", seconds=25):
        compile_notice.compiling(kernel)
        compile_notice.compiling(kernel)
    (said,) = caplog.records
    assert (
        said.name == "nonsmooth.compile"
        and "moreau" in said.message
        and f"about {compile_notice.SECONDS['moreau']} s" in said.message
    )
    monkeypatch.setattr(kernel, "__module__", "nonsmooth._core.lcp.lemke")
    compile_notice.compiling(kernel)
    assert len(caplog.records) == 2 and "solve_lcp" in caplog.text and len(compile_notice.log) == 4
