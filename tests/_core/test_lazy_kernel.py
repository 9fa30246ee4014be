"""Kernels are made when they are first used: by a call, by another kernel, by several threads at once."""

import threading

import numpy as np
import pytest

from nonsmooth._core.jit import JIT_ENABLED, f8_1, float64, kernel, noinline

pytestmark = pytest.mark.skipif(not JIT_ENABLED, reason="nothing is compiled")


@kernel(float64(float64, float64), cache=False)
def _add(a, b):
    noinline()
    return a + b


@kernel(float64(f8_1), cache=False)
def _total(values):
    total = 0.0
    for value in values:
        total = _add(total, value)
    return total


def made(function):
    return len(function._made)


def test_nothing_is_compiled_before_it_is_used():
    assert not made(_add) and not made(_total)
    assert _total(np.array([1.0, 2.0, 3.0])) == 6.0
    assert made(_add) == made(_total) == 1
    assert _add(1, 2) == 3.0  # converted to the declared types, not compiled for new ones
    with pytest.raises(TypeError):
        _total("text")
    assert made(_add) == made(_total) == 1


def test_several_threads_at_once():
    @kernel(float64(float64), cache=False)
    def twice(x):
        return 2.0 * x

    found, start = [], threading.Barrier(4)

    def run():
        start.wait()
        found.append(twice(1))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [2.0] * 4 and made(twice) == 1


def test_what_cannot_be_compiled_says_so_every_time():
    @kernel(float64(float64), cache=False)
    def wrong(x):
        return x.no_such_field

    for _ in range(2):
        with pytest.raises(Exception, match="no_such_field"):
            wrong(1.0)
