"""A contact solver of one's own: Uzawa's method (De Saxce and Feng 1991), for `solve_contact` and for the steps of a run.

With the shifted velocity v = u + (mu |u_T|, 0, 0) a solution is a fixed point of one projection per contact,

    r <- P_K(r - rho v),     u = W r + q,

and with rho below 2 / |W| the iteration contracts where friction is small. Slow, but ten lines: a solver owes a function
``solver(problem, r, run) -> (r, residual, iterations)`` and nothing else. Whatever it claims, the library's residual judges it.
"""

import numpy as np

import nonsmooth as ns
from nonsmooth.contact.residual import project


def uzawa(problem, r, run):
    """Impulses by Uzawa's method from the guess `r`."""
    n, dim, mu = problem.n_contacts, problem.dim, problem.mu
    W = problem.dense_W
    rho = 1.0 / np.linalg.norm(W, 2)
    best, best_r, done = run.measure(r), r, 0
    while best > run.tol and done < run.limit(20_000) and not run.expired():
        done += 1
        u = (W @ r + problem.q).reshape(n, dim)
        u[:, 0] += mu * np.linalg.norm(u[:, 1:], axis=1)
        r = project(r.reshape(n, dim) - rho * u, mu).ravel()
        if done % 10 == 0:
            residual = run.measure(r)
            if residual < best:
                best, best_r = residual, r
    return best_r, best, done


def box():
    """A box in the plane on two corners with friction, pushed by a force that grows: it slides, then tips."""
    half, gravity = np.array([0.2, 0.1]), 9.81

    def corners(q):
        c, s = np.cos(q[2]), np.sin(q[2])
        x = np.array([-half[0], half[0]])
        return q[0] + c * x + s * half[1], q[1] + s * x - c * half[1]

    def gap(t, q):
        return corners(q)[1]

    def tangent(t, q):
        x, y = corners(q)
        W = np.zeros((3, 2))
        for k in range(2):
            W[0, k], W[2, k] = 1.0, -(y[k] - q[1])
        return W

    inertia = (half[0] ** 2 + half[1] ** 2) / 3.0
    floor = ns.Contact(gap, friction=0.3, tangent=tangent)
    return ns.MechanicalSystem(
        np.diag([1.0, 1.0, inertia]), lambda t, q, u: np.array([8.0 * t, -gravity, 0.0]), contacts=[floor]
    )


def main():
    """Solve every step with it, and compare with the library's own solver; returns the largest difference."""
    start = [0.0, 0.1, 0.0], [0.0, 0.0, 0.0]
    own = ns.Moreau(dt=2e-3, solver=ns.ContactMethod(uzawa))
    result = ns.simulate(box(), (0.0, 0.6), *start, own)
    reference = ns.simulate(box(), (0.0, 0.6), *start, dt=2e-3)
    difference = float(np.max(np.abs(result.q - reference.q)))
    print(
        f"{result.nsteps} steps, at most {result.iterations.max()} iterations, largest residual {result.residual.max():.2g}"
    )
    print(
        f"largest difference to the default solver {difference:.2g}, audit {'ok' if result.audit.ok else 'NOT ok'}"
    )
    return difference, result


if __name__ == "__main__":
    main()
