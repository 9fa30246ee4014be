"""Boxes and stacks of boxes at random, in the plane and in space: is every step's contact problem solved, with nothing but defaults?

Random tilt, spin, size, friction 0 to 1, restitution 0 to 0.9, masses up to 100 times those below. Every run must end with all
residuals below the tolerance or with a typed error; prints a table of both and the worst cases.

    python benchmarks/contact_family.py [--runs 40] [--seed 0] [--scheme moreau|extrapolated-moreau]
"""

import argparse
import time
import warnings
from collections import Counter

import numpy as np

import nonsmooth as ns
from nonsmooth.errors import NonsmoothError

GRAVITY = 9.81


def planar(n, friction, restitution):
    """`n` boxes on each other in the plane, two corners per face; half sizes and masses are parameters."""

    def corner(q, i, side, p):
        c, s = np.cos(q[3 * i + 2]), np.sin(q[3 * i + 2])
        a, b = side * p.half[2 * i], -p.half[2 * i + 1]
        return q[3 * i] + c * a - s * b, q[3 * i + 1] + s * a + c * b

    def gap(t, q, p):
        g = np.zeros(2 * n)
        for i in range(n):
            for k in range(2):
                x, y = corner(q, i, 2.0 * k - 1.0, p)
                g[2 * i + k] = y
                if i > 0:
                    s, c = np.sin(q[3 * i - 1]), np.cos(q[3 * i - 1])
                    g[2 * i + k] = -s * (x - q[3 * i - 3]) + c * (y - q[3 * i - 2]) - p.half[2 * (i - 1) + 1]
        return g

    def tangent(t, q, p):
        W = np.zeros((3 * n, 2 * n))
        for i in range(n):
            for k in range(2):
                x, y = corner(q, i, 2.0 * k - 1.0, p)
                angle = q[3 * i - 1] if i > 0 else 0.0
                e_x, e_y, j = np.cos(angle), np.sin(angle), 2 * i + k
                W[3 * i, j], W[3 * i + 1, j] = e_x, e_y
                W[3 * i + 2, j] = e_y * (x - q[3 * i]) - e_x * (y - q[3 * i + 1])
                if i > 0:
                    W[3 * i - 3, j], W[3 * i - 2, j] = -e_x, -e_y
                    W[3 * i - 1, j] = e_x * (y - q[3 * i - 2]) - e_y * (x - q[3 * i - 3])
        return W

    def mass(t, q, p):
        M = np.zeros((3 * n, 3 * n))
        for i in range(n):
            a, b = p.half[2 * i], p.half[2 * i + 1]
            M[3 * i, 3 * i] = M[3 * i + 1, 3 * i + 1] = p.m[i]
            M[3 * i + 2, 3 * i + 2] = p.m[i] * (a * a + b * b) / 3.0
        return M

    def force(t, q, u, p):
        h = np.zeros(3 * n)
        for i in range(n):
            h[3 * i + 1] = -GRAVITY * p.m[i]
        return h

    faces = ns.Contact(gap, friction=friction, restitution=restitution, tangent=tangent)
    params = {"half": np.ones(2 * n), "m": np.ones(n)}
    return ns.MechanicalSystem(mass, force, contacts=[faces], params=params)


def rotation(q):
    """Matrix of a unit quaternion."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def corner_of(k, half):
    """Corner number k of a box; the first four are those of its bottom."""
    return np.array(
        [half[0] * (2 * (k % 2) - 1), half[1] * (2 * (k // 2 % 2) - 1), half[2] * (2 * (k // 4) - 1)]
    )


def spatial(n, friction, restitution):
    """The same in space: eight corners over the floor, four corners over the face below for the others; velocity and spin in own axes."""
    rows = 8 + 4 * (n - 1)

    def gap(t, q, p):
        g = np.zeros(rows)
        for j in range(rows):
            i, k = (0, j) if j < 8 else (1 + (j - 8) // 4, (j - 8) % 4)
            x = q[7 * i : 7 * i + 3] + rotation(q[7 * i + 3 : 7 * i + 7]) @ corner_of(
                k, p.half[3 * i : 3 * i + 3]
            )
            g[j] = x[2]
            if i > 0:
                below = rotation(q[7 * i - 4 : 7 * i])
                d = x - q[7 * i - 7 : 7 * i - 4]
                g[j] = below[0, 2] * d[0] + below[1, 2] * d[1] + below[2, 2] * d[2] - p.half[3 * i - 1]
        return g

    def tangent(t, q, p):
        W = np.zeros((6 * n, 2 * rows))
        for j in range(rows):
            i, k = (0, j) if j < 8 else (1 + (j - 8) // 4, (j - 8) % 4)
            R = rotation(q[7 * i + 3 : 7 * i + 7])
            r = corner_of(k, p.half[3 * i : 3 * i + 3])
            axes = np.eye(3) if i == 0 else rotation(q[7 * i - 4 : 7 * i])
            for d in range(2):
                e = axes[:, d].copy()
                W[6 * i : 6 * i + 3, 2 * j + d] = e
                W[6 * i + 3 : 6 * i + 6, 2 * j + d] = np.cross(r, R.T @ e)
                if i > 0:
                    arm = axes.T @ (q[7 * i : 7 * i + 3] + R @ r - q[7 * i - 7 : 7 * i - 4])
                    W[6 * i - 6 : 6 * i - 3, 2 * j + d] = -e
                    W[6 * i - 3 : 6 * i, 2 * j + d] = -np.cross(arm, axes.T @ e)
        return W

    def inertia(half, m):
        a, b, c = half[0] ** 2, half[1] ** 2, half[2] ** 2
        return np.array([b + c, a + c, a + b]) * m / 3.0

    def mass(t, q, p):
        M = np.zeros((6 * n, 6 * n))
        for i in range(n):
            J = inertia(p.half[3 * i : 3 * i + 3], p.m[i])
            for d in range(3):
                M[6 * i + d, 6 * i + d] = p.m[i]
                M[6 * i + 3 + d, 6 * i + 3 + d] = J[d]
        return M

    def force(t, q, u, p):
        h = np.zeros(6 * n)
        for i in range(n):
            spin = u[6 * i + 3 : 6 * i + 6]
            h[6 * i + 2] = -GRAVITY * p.m[i]
            h[6 * i + 3 : 6 * i + 6] = -np.cross(spin, inertia(p.half[3 * i : 3 * i + 3], p.m[i]) * spin)
        return h

    def kinematics(t, q):
        B = np.zeros((7 * n, 6 * n))
        for i in range(n):
            for d in range(3):
                B[7 * i + d, 6 * i + d] = 1.0
            B[7 * i + 3 : 7 * i + 7, 6 * i + 3 : 6 * i + 6] = ns.quaternion_rates(q[7 * i + 3 : 7 * i + 7])
        return B

    faces = ns.Contact(gap, friction=friction, restitution=restitution, tangent=tangent)
    params = {"half": np.ones(3 * n), "m": np.ones(n)}
    return ns.MechanicalSystem(
        mass,
        force,
        contacts=[faces],
        kinematics=kinematics,
        quaternions=[7 * i + 3 for i in range(n)],
        params=params,
    )


def case(rng, dim, n):
    """A system and its start: boxes above each other, tilted, with air between them."""
    friction = float(rng.choice([0.0, rng.uniform(0, 1), 1.0], p=[0.15, 0.7, 0.15]))
    restitution = float(rng.choice([0.0, rng.uniform(0, 0.9)], p=[0.3, 0.7]))
    half = rng.uniform(0.1, 0.4, (n, dim))
    half[:, : dim - 1] = np.sort(half[:, : dim - 1], axis=0)[::-1]  # broad ones below
    m = 10.0 ** rng.uniform(-1, 1, n)
    tilt = rng.choice([0.0, 1e-3, 0.1, 0.5])
    q, u, z = [], [], 0.0
    for i in range(n):
        z += np.linalg.norm(half[i]) + rng.choice([0.0, 0.02, 0.2])
        speed = rng.normal(size=3) * 0.5
        if dim == 2:
            q += [0.0, z, tilt * rng.uniform(-1, 1)]
            u += [speed[0], 0.0, speed[2] * (tilt > 0)]
        else:
            axis = rng.normal(size=3)
            axis, angle = axis / np.linalg.norm(axis), tilt * rng.uniform(-1, 1)
            q += [0.0, 0.0, z, np.cos(angle / 2), *(np.sin(angle / 2) * axis)]
            u += [speed[0], speed[1], 0.0, *(rng.normal(size=3) * (tilt > 0))]
        z += np.linalg.norm(half[i])
    make = planar if dim == 2 else spatial
    system = make(n, friction, restitution).with_params(half=half.ravel(), m=m)
    return system, np.array(q), np.array(u), dict(dim=dim, n=n, mu=friction, e=restitution, tilt=float(tilt))


def main(runs=40, seed=0, scheme="moreau", t_end=1.0, shapes=((2, 1), (2, 3), (2, 5), (3, 1), (3, 2))):
    """Run the family; returns the verdicts."""
    rng = np.random.default_rng(seed)
    verdicts, worst, began = Counter(), 0.0, time.perf_counter()
    for number in range(runs):
        dim, n = shapes[number % len(shapes)]
        system, q, u, what = case(rng, dim, n)
        options = {"dt": 1e-3} if scheme == "moreau" else {"time_limit": 30.0}
        tick = time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = ns.simulate(system, (0.0, t_end), q, u, scheme, **options)
            verdict = (
                "solved" if result.residual.max(initial=0.0) <= 1e-10 or scheme != "moreau" else "UNSOLVED"
            )
            worst = max(worst, float(result.residual.max(initial=0.0)))
        except NonsmoothError as error:
            verdict = f"declared {type(error).__name__}"
            print(f"  {number}: {what}: {verdict}: {str(error)[:150]}")
        taken = time.process_time() - tick
        if taken > 10.0:
            print(f"  {number}: {what}: {taken:.1f} s")
        verdicts[dim, n, verdict] += 1
    for (dim, n, verdict), count in sorted(verdicts.items()):
        print(f"{dim}-D, {n} boxes: {count:3d} {verdict}")
    print(f"{scheme}: {runs} runs, largest residual {worst:.2g}, {time.perf_counter() - began:.1f} s")
    return verdicts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scheme", default="moreau")
    parser.add_argument("--t-end", type=float, default=1.0)
    arguments = parser.parse_args()
    main(arguments.runs, arguments.seed, arguments.scheme, arguments.t_end)
