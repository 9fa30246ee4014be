"""Active sets at a switching point: the short way for two-sided groups against the LCP, and the sliding algebra against NumPy."""

import numpy as np
import pytest

from nonsmooth._core.jit import JIT_ENABLED
from nonsmooth._core.lcp.enumeration import enumerate_lcp
from nonsmooth._core.sliding.algebra import build_lcp, combine, project
from nonsmooth._core.sliding.run import activate, carry_out
from nonsmooth.sliding.run import CompiledRun

COUNT = 400 if JIT_ENABLED else 40


class Standing:
    """A run without functions, which stands still."""

    def __init__(self, n, sizes):
        starts = tuple(np.concatenate([[0], np.cumsum(sizes)]).tolist())
        self.compiled = CompiledRun("RK45", n, 0, starts)
        self.record, self.starts = self.compiled.record, self.compiled.record.starts
        self.F, self.G, self.set = self.record.values.F, self.record.values.G, self.record.set

    def sets(self, trial):
        """Active sets from the candidates `trial`, and whether each is degenerate."""
        self.set.watch[:] = trial
        count = carry_out(self.record.at.sets, self.compiled.address)
        return self.set.found[:count], self.set.degenerate[:count]

    def activate(self, members):
        self.set.chosen[:] = members
        return activate(self.compiled.address)


def sets_by_lcp(run, F, G, trial):
    """Active sets from all solutions of (13), and whether all of them are strictly complementary."""
    members = [trial[a:b].sum() for a, b in zip(run.starts[:-1], run.starts[1:])]
    c = int(sum(k + 1 for k in members if k > 1))
    index, N, q = np.zeros(trial.size, dtype=np.int64), np.zeros((c, c)), np.zeros(c)
    card, _ = build_lcp(run.starts, trial, F, G, index, N, q)
    Z, Y, masks = np.zeros((64, c)), np.zeros((8, c)), np.zeros(8, dtype=np.int64)
    _, count, _, _ = enumerate_lcp(N, q, 1e-10, Z, Y, masks)
    found, strict = set(), True
    for z in Z[:count]:
        w = N @ z + q
        strict = strict and np.all((z[:card] > 1e-6) | (w[:card] > 1e-6))
        chosen = trial.copy()
        chosen[index[:card]] = z[:card] > 1e-9
        found.add(tuple(chosen))
    return found, strict


@pytest.mark.parametrize("sizes", [(2,), (2, 2), (2, 2, 2), (3, 2)])
def test_all_active_sets(sizes):
    rng = np.random.default_rng(7)
    run = Standing(3, sizes)
    R = sum(sizes)
    several = 0
    for _ in range(COUNT):
        run.F[:], run.G[:] = rng.normal(size=run.F.shape), rng.normal(size=run.G.shape)
        trial = np.ones(R)
        if len(sizes) == 3:
            trial[rng.integers(0, 6)] = 0.0  # one group has a single candidate
        found, degenerate = run.sets(trial)
        expected, strict = sets_by_lcp(run, run.F, run.G, trial)
        if strict:
            assert {tuple(row) for row in found} == expected
            assert len(found) == len(expected) and not degenerate.any()
        several += len(found) > 1
    assert several > COUNT // 50


def test_degenerate_points_go_to_the_lcp():
    # A weight that vanishes, and fields without a normal speed: the short way must not decide.
    run = Standing(1, (2,))
    run.G[:, 0] = -1.0, 1.0
    run.F[:, 0] = -1.0, 1.0, 1.0  # -sgn x + 1: the field of x > 0 is zero
    found, degenerate = run.sets(1.0)
    assert len(found) >= 1 and degenerate[0] == 1
    run.F[:, 0] = 0.0
    assert len(run.sets(1.0)[0]) >= 1


def test_bookkeeping_of_an_active_set():
    run = Standing(2, (2, 3))
    assert run.activate([0.0, 1.0, 1.0, 0.0, 1.0]) == 1
    size = run.record.size
    assert (size.active, size.slides, size.codimension) == (3, 2, 1)
    assert (size.pair_base, size.pair_row) == (2, 4)
    assert run.set.members[:3].tolist() == [1, 2, 4]
    assert run.set.slides.tolist() == [0, 0, 1, 0, 1]
    assert run.activate(0.0) == 0


@pytest.mark.parametrize("members", [(1, 1), (2, 1), (2, 2), (2, 3)])
def test_sliding_field_and_projection(members):
    rng = np.random.default_rng(3)
    starts, n = np.array([0, 2, 5]), 4
    active = np.array([1.0, members[0] > 1, 1.0, members[1] > 1, members[1] > 2])
    d = sum(members) - 2
    for _ in range(20):
        F, G = rng.normal(size=(6, n)), rng.normal(size=(5, n + 1))
        z, out = np.zeros(5), np.zeros(n)
        assert combine(starts, active, F, G, z, out) > 1e-12
        np.testing.assert_allclose(out, F[5] + z @ F[:5], atol=1e-12)
        assert abs(z[:2].sum() - 1) < 1e-12 and abs(z[2:].sum() - 1) < 1e-12
        rate = G[:, :n] @ out + G[:, n]
        for a, b in ((0, 1), (2, 3), (2, 4)):
            if active[a] and active[b]:
                assert abs(rate[a] - rate[b]) < 1e-8 * (1 + np.abs(z).max())
        # One projection puts linear indicators onto their surfaces, at right angles to them.
        y = rng.normal(size=n)
        before, h = y.copy(), G[:, :n] @ y
        project(starts, active, h, G, y)
        h = G[:, :n] @ y
        assert (
            max(abs(h[0] - h[1]) * active[1], abs(h[2] - h[3]) * active[3], abs(h[2] - h[4]) * active[4])
            < 1e-9
        )
        assert d > 0 or np.array_equal(before, y)
