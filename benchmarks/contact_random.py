"""Random small contact problems, easy and ugly: a result may fail, it may not lie
(`python benchmarks/contact_random.py [count] [seed]`).

Eight families in the plane and in space with up to four contacts: regular, redundant (rank-deficient W),
duplicated contacts, frictionless, large friction, unsymmetric, indefinite as from implicit schemes,
bilateral blocks. For every result the residual is recomputed by plain NumPy: ``success`` must imply residual
<= tol and impulses inside the cones, failure must come with a message.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

import numpy as np

from nonsmooth.contact.problem import ContactProblem
from nonsmooth.contact.residual import residual
from nonsmooth.contact.solve import solve_contact

FAMILIES = (
    "regular",
    "redundant",
    "duplicated",
    "frictionless",
    "rough",
    "unsymmetric",
    "indefinite",
    "bilateral",
)
TOL = 1e-8


def draw(rng):
    """One random problem and the name of its family."""
    family = FAMILIES[rng.integers(len(FAMILIES))]
    dim, n = int(rng.integers(2, 4)), int(rng.integers(1, 5))
    m = n * dim
    freedom = m + 2 if family != "redundant" else max(1, int(rng.integers(1, m + 1)))
    H = rng.normal(size=(freedom, m)) * 10.0 ** rng.uniform(-1, 1, size=(freedom, 1))
    mu = rng.uniform(0.0, 1.0, n)
    q = rng.normal(size=m)
    if family == "redundant":
        q = H.T @ rng.normal(size=freedom)  # compatible with a rigid motion
    elif family == "duplicated" and n > 1:
        H[:, -dim:] = H[:, :dim]
        q[-dim:] = q[:dim]
        mu[-1] = mu[0]
    elif family == "frictionless":
        mu[:] = 0.0
    elif family == "rough":
        mu *= 10.0 ** rng.uniform(0, 6, n)
    W = H.T @ H
    if family == "unsymmetric":
        W *= 1.0 + 0.02 * rng.normal(size=W.shape)
    elif family == "indefinite":
        S = rng.normal(size=(m, m))
        W -= rng.uniform(0.0, 0.3) * np.linalg.norm(W) * (S + S.T) / m
    scale = 10.0 ** rng.uniform(-3, 3, 2)
    bilateral = rng.random(n) < 0.4 if family == "bilateral" else None
    return family, ContactProblem(scale[0] * W, scale[1] * q, mu, dim, bilateral)


def campaign(count, seed=0):
    """Solve `count` problems; returns ``(solved, failed, lies)`` as counters by family."""
    rng = np.random.default_rng(seed)
    solved, failed, lies = Counter(), Counter(), Counter()
    for _ in range(count):
        family, problem = draw(rng)
        result = solve_contact(problem, tol=TOL)
        check = residual(problem, result.r)
        honest = (
            np.all(np.isfinite(result.r))
            and abs(check.unit - result.residual_unit) <= 0.1 * TOL + 1e-6 * check.unit
        )
        if result.success:
            solved[family] += 1
            honest = honest and max(check.unit, check.scaled) <= TOL and check.cone <= 1e-12
        else:
            failed[family] += 1
            honest = honest and len(result.message) > 20
        lies[family] += not honest
    return solved, failed, lies


def main(count=100_000, seed=0):
    start = time.perf_counter()
    solved, failed, lies = campaign(count, seed)
    print(f"{'family':14s} {'problems':>9s} {'solved':>9s} {'declared':>9s} {'lies':>5s}")
    for family in FAMILIES:
        print(
            f"{family:14s} {solved[family] + failed[family]:9d} {solved[family]:9d} {failed[family]:9d} {lies[family]:5d}"
        )
    print(f"{'all':14s} {count:9d} {sum(solved.values()):9d} {sum(failed.values()):9d} {sum(lies.values()):5d}"
          f"   ({time.perf_counter() - start:.0f} s)")  # fmt: skip


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
