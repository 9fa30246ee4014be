"""Thousands of spheres: time to residual 1e-3 and to 1e-6
(`python benchmarks/contact_spheres.py [poured|settled|resting|collapsing|marginal] [spheres] [seeds]`).

*poured*      A loose column of spheres between four walls hits the floor with 3 m/s: radii 0.45 to 0.5,
              friction 0.5, no guess. The impact has to find its way up through all layers.
*settled*     A column that fell into its box and has come to rest, friction 0.3 and 0.5, simulated with Moreau's scheme (minutes);
              the step that holds it there, solved without the impulses of the step before.
*resting*     A square pyramid at rest under its weight, every sphere on four others, friction 1.2 (minutes).
              Impulses are not unique; all of the weight hangs on chains of contacts.
*collapsing*  Single steps on the way from the flight to the pile, friction 0.3 and 0.5, without the impulses of the step before
              (minutes). Dense masses that still flow are the hard part.
*marginal*    The pyramid with friction 0.9, which is a little too small: 5,000 spheres begin to spread.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from nonsmooth.contact.problem import ContactProblem
from nonsmooth.contact.residual import residual
from nonsmooth.contact.solve import solve_contact

MU = 0.5
#: Steps after which a column is damped, and after which it is at rest.
FALLEN, SETTLED = 400, 1200
MU_RESTING, MU_MARGINAL = 1.2, 0.9


def global_problem(x, radius, mass, first, second, normal, v, mu=MU):
    """The contact problem of spheres at `x` with free velocities `v`, shape (n, 6); body -1 is fixed."""
    count, n = x.shape[0], normal.shape[0]
    helper = np.where(np.abs(normal[:, [0]]) < 0.7, [[1.0, 0, 0]], [[0.0, 1, 0]])
    t1 = np.cross(normal, helper)
    t1 /= np.linalg.norm(t1, axis=1)[:, None]
    frame = np.stack([normal, t1, np.cross(normal, t1)], axis=1)  # rows: directions of a contact
    rows, columns, values = [], [], []
    for body, sign in ((first, -1.0), (second, 1.0)):
        keep = body >= 0
        arm = -sign * np.where(keep, radius[body], 0.0)[:, None] * normal
        for d in range(3):
            turn = np.cross(arm, sign * frame[:, d])
            for axis in range(3):
                for offset, entry in ((axis, sign * frame[:, d, axis]), (3 + axis, turn[:, axis])):
                    rows.append(6 * body[keep] + offset)
                    columns.append(3 * np.flatnonzero(keep) + d)
                    values.append(entry[keep])
    places = np.concatenate(rows), np.concatenate(columns)
    H = sp.csc_matrix((np.concatenate(values), places), shape=(6 * count, 3 * n))
    inertia = np.repeat(mass, 6).reshape(-1, 6)
    inertia[:, 3:] *= 0.4 * radius[:, None] ** 2
    M = inertia.ravel()
    return ContactProblem.from_global(sp.diags(M), H, M * v.ravel(), np.zeros(3 * n), mu, 3)


def touching(x, radius, width, margin):
    """Contacts closer than `margin` of spheres at `x` with each other, the floor and four walls: ``(first, second, normal)``."""
    pairs = cKDTree(x).query_pairs(2 * radius.max() + margin, output_type="ndarray")
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    d = x[pairs[:, 1]] - x[pairs[:, 0]]
    length = np.linalg.norm(d, axis=1)
    close = length - radius[pairs].sum(axis=1) < margin
    first, second, normal = [pairs[close, 0]], [pairs[close, 1]], [d[close] / length[close, None]]
    for axis, gap, sign in (
        (2, x[:, 2] - radius, 1.0),
        (0, x[:, 0] - radius, 1.0),
        (0, width - x[:, 0] - radius, -1.0),
        (1, x[:, 1] - radius, 1.0),
        (1, width - x[:, 1] - radius, -1.0),
    ):
        near = np.flatnonzero(gap < margin)
        wall = np.zeros((near.size, 3))
        wall[:, axis] = sign
        first.append(np.full(near.size, -1))
        second.append(near)
        normal.append(wall)
    return np.concatenate(first), np.concatenate(second), np.vstack(normal)


def layers(count, width, spacing, first):
    """`count` places in horizontal layers of a square box."""
    line = first + spacing * np.arange(int((width - 2 * first) / spacing + 1e-9) + 1)
    layer = np.array([(a, b) for a in line for b in line])
    height = -(-count // len(layer))
    x = np.vstack([np.column_stack([layer, np.full(len(layer), first + spacing * k)]) for k in range(height)])
    return x[:count]


def poured(count, seed=0):
    """A column of `count` spheres in a box at the moment it hits the floor."""
    rng = np.random.default_rng(seed)
    width = np.ceil((count / 2.3) ** (1 / 3))
    radius = rng.uniform(0.45, 0.5, count)
    x = layers(count, width, 1.0, 0.5)
    x[:, 2] = 0.5 + 0.95 * (x[:, 2] - 0.5)
    x += rng.uniform(-0.03, 0.03, x.shape)
    v = np.zeros((count, 6))
    v[:, 2] = -3.0
    return global_problem(x, radius, 8.0 * radius**3, *touching(x, radius, width, 0.02), v)


def names_of(first, second, normal, count):
    """One number per contact that tells which two surfaces touch, the same in every step."""
    wall = np.where(first < 0, 1 + 2 * np.argmax(np.abs(normal), axis=1) + (normal.sum(axis=1) > 0.0), 0)
    return ((first + 1) * (count + 1) + second) * 8 + wall


def collapse(count, mu, steps, seed=0, dt=2e-3):
    """Problems of the time steps `steps` of a falling column.

    From step `FALLEN` on velocities are damped and steps start from the impulses of the one before, so that the pile comes to rest.
    """
    rng = np.random.default_rng(seed)
    radius = rng.uniform(0.04, 0.05, count)
    mass = 8000 * 4 / 3 * np.pi * radius**3
    inertia = np.column_stack([mass] * 3 + [0.4 * mass * radius**2] * 3)
    width = 0.1 * np.ceil((count / 2) ** (1 / 3))
    x = layers(count, width, 0.101, 0.0505)
    x[:, :2] += rng.uniform(-0.004, 0.004, (count, 2))
    v = np.zeros((count, 6))
    v[:, :2] = rng.normal(0.0, 0.1, (count, 2))
    v[:, 2] = -1.0
    names, impulses = np.zeros(0, dtype=np.int64), np.zeros((0, 3))
    problems = {}
    for step in range(max(steps) + 1):
        settling = step >= FALLEN
        v *= 0.995 if settling else 1.0
        v[:, 2] -= 9.81 * dt
        contacts = touching(x, radius, width, 0.0)
        problem = global_problem(x, radius, mass, *contacts, v, mu)
        if step in steps:
            problems[step] = problem
        before, names = names, names_of(*contacts, count)
        guess = np.zeros((names.size, 3))
        _, here, there = np.intersect1d(names, before, return_indices=True)
        guess[here] = impulses[there]
        if settling:
            r = solve_contact(problem, "nsgs-anderson", tol=1e-4, max_iter=400, guess=guess.ravel()).r
        else:
            r = solve_contact(problem, "nsgs", tol=1e-4, max_iter=300).r
        impulses = r.reshape(-1, 3)
        v += (problem.global_form.H @ r).reshape(-1, 6) / inertia
        x = x + dt * v[:, :3]
    return problems


def pyramid(count, seed=0, mu=MU):
    """About `count` spheres at rest, each on four others or on the floor, after one time step of gravity."""
    rng = np.random.default_rng(seed)
    side = 1
    while (side + 1) * (side + 2) * (2 * side + 3) // 6 <= 1.05 * count:
        side += 1
    layers = [
        (i + 0.5 * k, j + 0.5 * k, k) for k in range(side) for i in range(side - k) for j in range(side - k)
    ]
    x = np.array(layers)
    k = x[:, 2].astype(int)
    x[:, 2] = 0.5 + np.sqrt(0.5) * k
    pairs = cKDTree(x).query_pairs(1.0 + 1e-6, output_type="ndarray")
    pairs = pairs[k[pairs[:, 0]] != k[pairs[:, 1]]]  # neighbours in a layer do not quite touch
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    floor = np.flatnonzero(k == 0)
    first = np.concatenate([pairs[:, 0], np.full(floor.size, -1)])
    second = np.concatenate([pairs[:, 1], floor])
    normal = np.vstack([x[pairs[:, 1]] - x[pairs[:, 0]], np.tile([0.0, 0, 1], (floor.size, 1))])
    v = np.zeros((k.size, 6))
    v[:, 2] = -9.81e-3
    return global_problem(
        x, np.full(k.size, 0.5), rng.uniform(0.8, 1.2, k.size), first, second, normal, v, mu
    )


def resting(count, seed=0):
    """The pyramid with enough friction to stay where it is."""
    return pyramid(count, seed, MU_RESTING)


def marginal(count, seed=0):
    """The pyramid at the limit of spreading."""
    return pyramid(count, seed, MU_MARGINAL)


def measure(problem, name, limit):
    """Print one line for a problem; returns ``time(1e-6) / time(1e-3)``, infinite if unsolved."""
    assert problem.blocks.indices.size and problem.rho.size  # formed before the clock starts
    text, times = [], []
    for tol in (1e-3, 1e-6):
        best = np.inf
        for _ in range(3):
            start = time.perf_counter()
            result = solve_contact(problem, tol=tol, time_limit=limit)
            best = min(best, time.perf_counter() - start)
            if best > 3:
                break
        times.append(best if result.success else np.inf)
        check = max(residual(problem, result.r)[:2])
        text.append(
            f"{tol:.0e} in {best:7.3f} s (residual {check:.1e}, success {result.success}, {result.method})"
        )
    start = time.perf_counter()
    plain = solve_contact(problem, "nsgs", tol=1e-6, time_limit=min(60, limit))
    took = time.perf_counter() - start
    ratio = times[1] / times[0] if np.isfinite(times[0]) else np.inf
    print(
        f"{name}: {problem.n_contacts} contacts; {'; '.join(text)}; "
        f"plain NSGS {took:.3f} s to {plain.residual:.1e}; ratio {ratio:.1f}",
        flush=True,
    )
    return ratio


def cases(kind, count, seeds):
    """``(name, problem)`` of a kind, one after the other."""
    if kind == "collapsing":
        for mu in (0.3, 0.5):
            for step, problem in collapse(count, mu, (50, 100, 150, 200)).items():
                yield f"collapsing, mu {mu}, step {step}", problem
        return
    if kind == "settled":
        for mu in (0.3, 0.5):
            (problem,) = collapse(count, mu, (SETTLED,)).values()
            yield f"settled, mu {mu}", problem
        return
    make = {"poured": poured, "resting": resting, "marginal": marginal}[kind]
    for seed in range(seeds):
        yield f"{kind} {seed}", make(count, seed)


def main(kind="poured", count=5000, seeds=5):
    solve_contact(poured(300), tol=1e-9, time_limit=20)  # compile
    solve_contact(resting(60), "interior-point")
    limit = {"poured": 120, "settled": 120, "collapsing": 60}.get(kind, 600)
    ratios = [measure(problem, name, limit) for name, problem in cases(kind, count, seeds)]
    solved = [r for r in ratios if np.isfinite(r)]
    print(
        f"{kind}, {count} spheres: {len(solved)} of {len(ratios)} problems solved to 1e-6; "
        f"time(1e-6) / time(1e-3) at most {max(solved, default=np.inf):.1f} there"
    )


if __name__ == "__main__":
    numbers = [int(a) for a in sys.argv[1:] if a.isdigit()]
    names = [a for a in sys.argv[1:] if not a.isdigit()] or ["poured"]
    if names[0] in ("resting", "marginal") and len(numbers) < 2:
        numbers = [*(numbers or [5000]), 1]
    main(names[0], *numbers)
