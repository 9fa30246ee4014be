"""The woodpecker toy: three frictional contacts, impacts, jamming and sliding in a periodic descent.

Studer, Leine & Glocker 2008, sec. 10.4. A sleeve with too large a hole carries a bird on a spring; the
sleeve jams on the pole, the bird swings and pecks, the sleeve comes loose and slides down a little. q = (y,
phi_M, phi_S): height and angle of the sleeve, angle of the bird.
"""

import numpy as np

import nonsmooth as ns

# Parameters (SI units)
params = dict(
    m_M=3e-4, m_S=4.5e-3, J_M=5e-9, J_S=7e-7, c=5.6e-3, g=9.81,
    r_0=2.5e-3, r_M=3.1e-3, h_M=5.8e-3, l_M=0.01, l_G=0.015, h_S=0.02, l_S=0.0201,
)  # fmt: skip


# System
def mass(t, q, p):
    return np.array(
        [
            [p.m_S + p.m_M, p.m_S * p.l_M, p.m_S * p.l_G],
            [p.m_S * p.l_M, p.J_M + p.m_S * p.l_M**2, p.m_S * p.l_M * p.l_G],
            [p.m_S * p.l_G, p.m_S * p.l_M * p.l_G, p.J_S + p.m_S * p.l_G**2],
        ]
    )


def force(t, q, u, p):
    spring = p.c * (q[1] - q[2])
    return np.array(
        [-(p.m_S + p.m_M) * p.g, -spring - p.m_S * p.g * p.l_M, spring - p.m_S * p.g * p.l_G],
    )


def gap(t, q, p):
    """Beak, lower edge and upper edge of the sleeve."""
    return np.array(
        [
            (p.l_M + p.l_G - p.l_S - p.r_0) - p.h_S * q[2],
            (p.r_M - p.r_0) + p.h_M * q[1],
            (p.r_M - p.r_0) - p.h_M * q[1],
        ]
    )


def tangent(t, q, p):
    """One sliding direction per contact, in columns."""
    return np.array([[1.0, 1.0, 1.0], [p.l_M, p.r_M, p.r_M], [p.l_G - p.l_S, 0.0, 0.0]])


names = ("beak", "lower sleeve", "upper sleeve")
pole = ns.Contact(gap, restitution=[0.5, 0.0, 0.0], friction=[0.3] * 3, tangent=tangent, name=names)
shapes = ns.problems.woodpecker().system.draw  # pole, sleeve and bird, as the shipped problem draws them
toy = ns.MechanicalSystem(mass, force, contacts=[pole], params=params, draw=shapes)

# Simulation
result = ns.simulate(toy, (0, 0.4), q0=[0, -0.1036, -0.2788], u0=[-0.3411, 0, -7.4583], dt=2e-5)


def visualize():
    from nonsmooth import problems
    from nonsmooth.problems.pictures import figure

    return figure(problems.woodpecker(), result)


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    print(result.summary())
    for event in result.events:
        print(f"{event.t:.5f}  {event.name:<24} {event.kind}")
    visualize()
    plt.show()
