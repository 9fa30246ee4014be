"""Bouncing ball and woodpecker in Siconos, driven from Python; prints seconds per step as JSON.

Run by the benchmarks with the interpreter that has Siconos (Debian package python3-siconos). Usage:
``python siconos_moreau.py N_STEPS REPEATS``.
"""

import json
import sys
import time

import numpy as np
import siconos.kernel as sk


def ball(n, dt=1e-3):
    ds = sk.LagrangianLinearTIDS([1.0], [0.0], np.eye(1))
    ds.setFExtPtr([-9.81])
    interaction = sk.Interaction(sk.NewtonImpactNSL(0.7), sk.LagrangianLinearTIR(np.eye(1), [0.0]))
    model = sk.NonSmoothDynamicalSystem(0.0, n * dt)
    model.insertDynamicalSystem(ds)
    model.link(interaction, ds)
    return _run(sk.TimeStepping(model, sk.TimeDiscretisation(0.0, dt), sk.MoreauJeanOSI(0.5), sk.LCP()), ds)


def woodpecker(n, dt=2e-5):
    m_M, m_S, J_M, J_S, c, g = 3e-4, 4.5e-3, 5e-9, 7e-7, 5.6e-3, 9.81
    r_0, r_M, h_M, l_M, l_G, h_S, l_S = 2.5e-3, 3.1e-3, 5.8e-3, 0.01, 0.015, 0.02, 0.0201
    M = np.array(
        [
            [m_S + m_M, m_S * l_M, m_S * l_G],
            [m_S * l_M, J_M + m_S * l_M**2, m_S * l_M * l_G],
            [m_S * l_G, m_S * l_M * l_G, J_S + m_S * l_G**2],
        ]
    )
    K = np.array([[0, 0, 0], [0, c, -c], [0, -c, c]], dtype=float)
    ds = sk.LagrangianLinearTIDS([0.0, -0.1036, -0.2788], [-0.3411, 0.0, -7.4583], M, K, np.zeros((3, 3)))
    ds.setFExtPtr([-(m_S + m_M) * g, -m_S * g * l_M, -m_S * g * l_G])
    model = sk.NonSmoothDynamicalSystem(0.0, n * dt)
    model.insertDynamicalSystem(ds)
    contacts = [
        (0.5, [0, 0, -h_S], [1, l_M, l_G - l_S], l_M + l_G - l_S - r_0),
        (0.0, [0, h_M, 0], [1, r_M, 0], r_M - r_0),
        (0.0, [0, -h_M, 0], [1, r_M, 0], r_M - r_0),
    ]
    for e, normal, tangent, gap in contacts:
        relation = sk.LagrangianLinearTIR(np.array([normal, tangent], dtype=float), [gap, 0.0])
        model.link(sk.Interaction(sk.NewtonImpactFrictionNSL(e, 0.0, 0.3, 2), relation), ds)
    osns = sk.FrictionContact(2)
    return _run(sk.TimeStepping(model, sk.TimeDiscretisation(0.0, dt), sk.MoreauJeanOSI(0.5), osns), ds)


def _run(simulation, ds):
    steps = 0
    start = time.perf_counter()
    while simulation.hasNextEvent():
        simulation.computeOneStep()
        simulation.nextStep()
        steps += 1
    return (time.perf_counter() - start) / steps, [float(x) for x in ds.q()]


if __name__ == "__main__":
    n, repeats = int(sys.argv[1]), int(sys.argv[2])
    result = {}
    for name, run in (("ball", ball), ("woodpecker", woodpecker)):
        runs = [run(n) for _ in range(repeats)]
        result[name] = {"seconds_per_step": [seconds for seconds, _ in runs], "q_end": runs[0][1]}
    json.dump(result, sys.stdout)
