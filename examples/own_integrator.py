"""An integrator of one's own: the pair of Cash and Karp, typed in from its table, on a pendulum that hits a wall.

A tableau and the orders it claims are all it takes; every order condition is checked when it is added. From then on `solve_ivp` with its
switches and `event-driven` know it by its name.

Source of the coefficients: J. R. Cash and A. H. Karp, ACM Transactions on Mathematical Software 16 (1990) 201-222.
"""

import numpy as np

import nonsmooth as ns
from nonsmooth.extend import add_integrator

ROWS = [
    [],
    [1 / 5],
    [3 / 40, 9 / 40],
    [3 / 10, -9 / 10, 6 / 5],
    [-11 / 54, 5 / 2, -70 / 27, 35 / 27],
    [1631 / 55296, 175 / 512, 575 / 13824, 44275 / 110592, 253 / 4096],
]
A = np.array([row + [0.0] * (6 - len(row)) for row in ROWS])
add_integrator(
    "Cash-Karp",
    A,
    b=[37 / 378, 0, 250 / 621, 125 / 594, 0, 512 / 1771],
    c=[0, 1 / 5, 3 / 10, 3 / 5, 1, 7 / 8],
    order=5,
    b_hat=[2825 / 27648, 0, 18575 / 48384, 13525 / 55296, 277 / 14336, 1 / 4],
    error_order=4,
    dense_order=4,
)


def pendulum():
    """Length 1, a wall at the lowest point."""
    wall = ns.Contact(lambda t, q: q[0], restitution=0.8, name="wall")
    return ns.MechanicalSystem(1.0, lambda t, q, u: np.array([-9.81 * np.sin(q[0])]), wall)


def main():
    result = ns.simulate(
        pendulum(), (0, 3), [1.0], [0.0], method=ns.EventDriven(integrator="Cash-Karp", rtol=1e-10)
    )
    other = ns.simulate(
        pendulum(), (0, 3), [1.0], [0.0], method=ns.EventDriven(integrator="DOP853", rtol=1e-12)
    )
    difference = abs(result.q[0, -1] - other.q[0, -1])
    print(f"{result.nsteps} steps, {len(result.events)} impacts, off DOP853 at 1e-12 by {difference:.1e}")
    return difference, result


if __name__ == "__main__":
    difference, result = main()
