"""Runs inside a Python that has Siconos: Studer's impact oscillator by its event-driven scheme (LSODAR), prints a line of JSON.

Arguments: tolerance, end of the span, number of runs, number of output instants. Timed are the loop over events,
and all of it with the set-up of model and simulation.
"""

import json
import sys
import time

import numpy as np
import siconos.kernel as sk

M, C, D, E = 0.1, 20.0, 0.15, 0.6
Q0, U0 = -0.5, 0.2


def run(tol, t_end, instants):
    first = time.perf_counter()
    oscillator = sk.LagrangianLinearTIDS(np.array([Q0]), np.array([U0]), np.array([[M]]))
    oscillator.setKPtr(np.array([[C]]))
    oscillator.setFExtPtr(np.array([-C * D]))
    relation = sk.LagrangianLinearTIR(np.array([[-1.0]]))
    wall = sk.Interaction(sk.NewtonImpactNSL(E), relation)
    model = sk.NonSmoothDynamicalSystem(0.0, t_end)
    model.insertDynamicalSystem(oscillator)
    model.link(wall, oscillator)
    osi = sk.LsodarOSI()
    simulation = sk.EventDriven(model, sk.TimeDiscretisation(0.0, t_end / instants))
    simulation.insertIntegrator(osi)
    simulation.insertNonSmoothProblem(sk.LCP(), sk.SICONOS_OSNSP_ED_IMPACT)
    simulation.insertNonSmoothProblem(sk.LCP(), sk.SICONOS_OSNSP_ED_SMOOTH_ACC)
    simulation.initialize()
    osi.setTol(1, tol, tol)
    begin = time.perf_counter()
    while simulation.hasNextEvent():
        simulation.advanceToEvent()
        simulation.processEvents()
    used = time.perf_counter() - begin
    return used, time.perf_counter() - first, float(oscillator.q()[0]), float(oscillator.velocity()[0])


if __name__ == "__main__":
    tol, t_end, runs, instants = float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    found = [run(tol, t_end, instants) for _ in range(runs)]
    loop, whole = (min(row[k] for row in found) for k in (0, 1))
    print(json.dumps({"seconds": loop, "with_setup": whole, "q": found[0][2], "u": found[0][3]}))
