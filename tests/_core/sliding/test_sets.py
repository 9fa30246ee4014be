"""Active sets at a switching point: the short way for two-sided groups against the LCP, and the sliding algebra against NumPy."""

import numpy as np
import pytest

from nonsmooth._core.jit import JIT_ENABLED
from nonsmooth._core.lcp.enumeration import enumerate_lcp
from nonsmooth._core.sliding import layout as core
from nonsmooth._core.sliding.algebra import build_lcp, combine, project
from nonsmooth._core.sliding.run import parts
from nonsmooth._core.sliding.sets import active_sets, set_active

COUNT = 400 if JIT_ENABLED else 40


def make_run(n, sizes):
    """A run without functions: only its arrays."""
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    R = int(starts[-1])
    lay = core.layout(0, n, R, len(sizes))
    p = np.zeros(lay[core.SIZE])
    p[-1] = lay[core.HEAD]
    p[[core.P_N, core.P_R, core.P_M]] = n, R, len(sizes)
    p[lay[core.STARTS] : lay[core.STARTS] + starts.size] = starts
    none = [0] * 7 if JIT_ENABLED else [None] * 7
    own = parts()
    addresses = np.array([*none, *own], dtype=np.int64) if JIT_ENABLED else (*none, *own)
    return core.Run(
        np.zeros(n), p, np.zeros((core.C_ROWS, R)), np.zeros((core.B_ROWS, n)), np.zeros(core.N_OPT), lay, starts,
        np.zeros(core.N_INFO, dtype=np.int64), addresses,
    )  # fmt: skip


def part(run, offset, shape):
    start = int(run.lay[offset])
    return run.p[start : start + int(np.prod(shape))].reshape(shape)


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
    n = 3
    run = make_run(n, sizes)
    R = sum(sizes)
    sets, flags = np.zeros((32, R)), np.zeros(32, dtype=np.int64)
    several = 0
    for _ in range(COUNT):
        F, G = part(run, core.FIELDS, (R + 1, n)), part(run, core.GRADIENTS, (R, n + 1))
        F[:], G[:] = rng.normal(size=F.shape), rng.normal(size=G.shape)
        trial = np.ones(R)
        if len(sizes) == 3:
            trial[rng.integers(0, 6)] = 0.0  # one group has a single candidate
        part(run, core.WATCH, (R,))[:] = trial
        count = active_sets(run, sets, flags)
        expected, strict = sets_by_lcp(run, F, G, trial)
        if strict:
            assert {tuple(row) for row in sets[:count]} == expected
            assert count == len(expected) and not flags[:count].any()
        several += count > 1
    assert several > COUNT // 50


def test_degenerate_points_go_to_the_lcp():
    # A weight that vanishes, and fields without a normal speed: the short way must not decide.
    run = make_run(1, (2,))
    F, G = part(run, core.FIELDS, (3, 1)), part(run, core.GRADIENTS, (2, 2))
    sets, flags = np.zeros((32, 2)), np.zeros(32, dtype=np.int64)
    G[:, 0] = -1.0, 1.0
    F[:, 0] = -1.0, 1.0, 1.0  # -sgn x + 1: the field of x > 0 is zero
    part(run, core.WATCH, (2,))[:] = 1.0
    assert active_sets(run, sets, flags) >= 1 and flags[0] == 1
    F[:, 0] = 0.0
    assert active_sets(run, sets, flags) >= 1


def test_bookkeeping_of_an_active_set():
    run = make_run(2, (2, 3))
    assert set_active(run, np.array([0.0, 1.0, 1.0, 0.0, 1.0])) == 1
    head = part(run, core.HEAD, (core.N_HEAD,))
    assert head[core.N_ACTIVE] == 3 and head[core.N_MASK] == 2 and head[core.SLIDES] == 1
    assert (head[core.PAIR_B], head[core.PAIR_I]) == (2, 4)
    assert part(run, core.LIST, (5,))[:3].tolist() == [1, 2, 4]
    assert part(run, core.MASK, (5,)).tolist() == [0, 0, 1, 0, 1]
    assert set_active(run, np.zeros(5)) == 0


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
