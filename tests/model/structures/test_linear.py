"""Given matrices: against the bar they come from, reduced, from files; hostile ones are refused by name."""

import numpy as np
import pytest
from scipy import io, sparse

import nonsmooth as ns

N = 20


def matrices():
    """M and K of a lumped bar with N + 1 nodes."""
    k, m = 900.0 * N / 10, 10.0 / N
    K = sparse.diags_array(
        [np.full(N, -k), np.full(N + 1, 2 * k), np.full(N, -k)], offsets=[-1, 0, 1]
    ).tolil()
    K[0, 0] = K[N, N] = k
    M = np.full(N + 1, m)
    M[0] = M[N] = m / 2
    return sparse.diags_array(M), K.tocsr()


def test_same_motion_as_a_bar():
    M, K = matrices()
    worlds = [ns.World(gravity=(0, 0)) for _ in range(2)]
    bar = worlds[0].add(
        ns.Bar([(0, 0), (10, 0)], N, EA=900.0, rhoA=1.0, mass="lumped", velocity=(10.0, 0), name="bar")
    )
    given = worlds[1].add(
        ns.LinearStructure(M, K, nodes={"tip": ((10, 0), (N,))}, velocity=np.full(N + 1, 10.0), name="given")
    )
    for world, tip in zip(worlds, (bar.end, given.node("tip"))):
        world.contact(tip, ns.HalfPlane((10.1, 0), (-1, 0)))
    results = [ns.simulate(world, (0, 0.3), method=ns.GeneralizedAlpha(dt=1e-3)) for world in worlds]
    np.testing.assert_allclose(results[0].q, results[1].q, atol=1e-11)
    np.testing.assert_allclose(
        results[0]["bar"].position[:, -1], results[1]["given"].position[:, 0], atol=1e-11
    )


def test_craig_bampton():
    """All inner modes: the same frequencies; four of them: the lowest ones. The whole moves with its mass."""
    M, K = matrices()
    whole = ns.LinearStructure(
        M, K, nodes={"a": ((0, 0), (0,)), "b": ((10, 0), (N,))}, directions=np.tile([1.0, 0.0], (N + 1, 1))
    )

    def frequencies(structure):
        world = ns.World(gravity=(0, 0))
        world.add(structure)
        found = ns.modes(world).frequencies
        return found[found > 0.1]  # without the rigid motion

    exact = frequencies(whole)
    np.testing.assert_allclose(frequencies(whole.reduced(N - 1)), exact, rtol=1e-8)
    np.testing.assert_allclose(frequencies(whole.reduced(4))[:3], exact[:3], rtol=3e-2)
    small = whole.reduced(4)
    np.testing.assert_allclose(small.directions[:, 0] @ small.M @ small.directions[:, 0], 10.0)
    with pytest.raises(ns.errors.RangeError, match="modes"):
        whole.reduced(N)
    with pytest.raises(ns.errors.ModelError, match="'b'"):
        whole.reduced(3, keep=[0])


def test_from_files(tmp_path):
    M, K = matrices()
    io.mmwrite(tmp_path / "m.mtx", M)
    io.mmwrite(tmp_path / "k.mtx", K, symmetry="symmetric")
    io.mmwrite(tmp_path / "d.mtx", 0.01 * K.toarray())
    found = ns.LinearStructure.from_files(
        tmp_path / "m.mtx", tmp_path / "k.mtx", tmp_path / "d.mtx", fixed=[0], name="read"
    )
    assert abs(found.K - K).max() == 0 and abs(found.M - M).max() == 0
    world = ns.World(gravity=(0, 0))
    world.add(found)
    assert world.start()[0].size == N


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no Matrix Market"),
        ("hello", "no Matrix Market"),
        ("%%MatrixMarket matrix coordinate real general\n", "no Matrix Market"),
        ("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n", "complex"),
        ("%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n", "pattern"),
        ("%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1.0\n", "square"),
        ("%%MatrixMarket matrix coordinate real general\n1000000000 1000000000 1\n1 1 1.0\n", "at most"),
        ("%%MatrixMarket matrix coordinate real general\n10 10 900000000000\n1 1 1.0\n", "cannot hold"),
        ("%%MatrixMarket matrix array real general\n100000 100000\n1.0\n", "cannot hold"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n3 1 1.0\n", "could not be read"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n0 1 1.0\n", "could not be read"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1.0\n2 2 1.0\n", "could not be read"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n2 2 x\n", "could not be read"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n2 2 nan\n", "NaN"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1.0\n2 2 1.0\n1 2 0.5\n", "symmetric"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n2 2 -1.0\n", "positive definite"),
    ],
)
def test_hostile_files(tmp_path, text, says):
    bad, good = tmp_path / "bad.mtx", tmp_path / "good.mtx"
    bad.write_text(text)
    io.mmwrite(good, sparse.eye_array(2))
    with pytest.raises(ns.errors.NonsmoothError, match=says):
        ns.LinearStructure.from_files(bad, good, name="read")


def test_bad_matrices():
    one = np.eye(2)
    for M, K, says in (
        (one[:1], one, "M"), (one, np.eye(3), "K"), (one, np.array([[1, 2], [3, 4.0]]), "symmetric"),
        (np.array([[1, 2], [2, 1.0]]), one, "positive definite"), (one, one * np.nan, "NaN"), ("x", one, "M"),
    ):  # fmt: skip
        with pytest.raises(ns.errors.NonsmoothError, match=says):
            ns.LinearStructure(M, K, name="given")
    with pytest.raises(ns.errors.NonsmoothError, match="path"):
        ns.LinearStructure.from_files("/nowhere/m.mtx", "/nowhere/k.mtx")
    with pytest.raises(ns.errors.InputError, match="coordinates"):
        ns.LinearStructure(one, one, fixed=[5])
    with pytest.raises(ns.errors.InputError, match="'tip'"):
        ns.LinearStructure(one, one, nodes={"tip": 3})
    with pytest.raises(ns.errors.InputError, match="no node"):
        ns.LinearStructure(one, one).node("tip")
