"""Parts of the Hausdorff distance against obvious versions."""

import numpy as np
import pytest

from nonsmooth._core.norms.hausdorff import DEPTH, box_tree, directed, nearest, to_segment


def line(rng, n, k):
    """A polygonal line with jumps (instants given twice) and resting pieces."""
    t = np.sort(np.round(rng.random(n), 2))
    return np.ascontiguousarray(np.column_stack([t, np.round(rng.normal(size=(n, k)), 1)]))


def naive(x, B, j, fine=2001):
    s = np.linspace(0, 1, fine)[:, None]
    points = B[j] + s * (B[j + 1] - B[j]) - x
    return np.maximum(np.abs(points[:, 0]), np.linalg.norm(points[:, 1:], axis=1)).min()


@pytest.mark.parametrize("k", [1, 3])
def test_point_to_segment(k):
    rng = np.random.default_rng(k)
    B = line(rng, 40, k)
    for j in range(39):
        x = np.append(rng.random(), rng.normal(size=k))
        distance, s = to_segment(x, B, j)
        assert 0.0 <= s <= 1.0
        assert distance == pytest.approx(naive(x, B, j), abs=3e-3)
        assert distance <= naive(x, B, j) + 1e-12


@pytest.mark.parametrize("n", [2, 5, 6, 33])
def test_the_tree_finds_the_nearest_segment(n):
    rng = np.random.default_rng(n)
    B = line(rng, n, 2)
    nodes, bounds = np.empty(2 * DEPTH, dtype=np.int64), np.empty(2 * DEPTH)
    for _ in range(50):
        x = np.append(rng.random(), rng.normal(size=2))
        all_of_them = [to_segment(x, B, j)[0] for j in range(n - 1)]
        guess = int(rng.integers(n - 1))
        distance, j, _ = nearest(x, B, *box_tree(B), guess, 0.0, nodes, bounds)
        assert distance == min(all_of_them) == all_of_them[j]
        near = nearest(x, B, *box_tree(B), guess, 2.0 * distance, nodes, bounds)[0]
        assert distance <= near <= 2.0 * distance


@pytest.mark.parametrize("seed", range(8))
def test_directed_distance_against_sampled_points(seed):
    rng = np.random.default_rng(seed)
    A, B = line(rng, 12, 1), line(rng, 9, 1)
    s = np.linspace(0, 1, 400)[:, None]
    points = np.vstack([p + s * (q - p) for p, q in zip(A[:-1], A[1:])])
    sampled = max(min(to_segment(x, B, j)[0] for j in range(8)) for x in points)
    found = directed(A, B, 1e-9, 1e-14)
    assert sampled <= found * (1 + 1e-9) + 1e-14
    assert found == pytest.approx(sampled, abs=0.01)


def test_noise_in_three_components():
    """Boxes overlap, every search stops early: the distance is the same as that of all vertices against all segments, or more."""
    rng = np.random.default_rng(3)
    A, B = line(rng, 300, 3), line(rng, 300, 3)
    vertices = max(min(to_segment(x, B, j)[0] for j in range(299)) for x in A)
    s = np.linspace(0, 1, 30)[:, None]
    points = np.vstack([p + s * (q - p) for p, q in zip(A[:-1], A[1:])])
    found = directed(A, B, 1e-9, 1e-14)
    assert vertices <= found * (1 + 1e-9)
    assert found == pytest.approx(
        max(min(to_segment(x, B, j)[0] for j in range(299)) for x in points), rel=0.02
    )
