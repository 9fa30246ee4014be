"""A hanging chain and a bending beam in Exudyn; prints processor time and end position of every step size as JSON.

Run by `benchmarks/exudyn.py` with the interpreter that has Exudyn: ``python exudyn_smooth.py CASE N SPAN STEPS [STEPS ...]``.
"""

import json
import sys
import time

import exudyn as exu
import exudyn.itemInterface as item
import numpy as np

G = 9.81


def chain(n):
    """Rods of one metre in the plane, level and at rest, hinged to each other."""
    system = exu.SystemContainer()
    mbs = system.AddSystem()
    before = mbs.AddMarker(item.MarkerBodyPosition(bodyNumber=mbs.AddObject(item.ObjectGround())))
    for k in range(n):
        node = mbs.AddNode(item.NodeRigidBody2D(referenceCoordinates=[k + 0.5, 0, 0]))
        body = mbs.AddObject(item.ObjectRigidBody2D(physicsMass=1.0, physicsInertia=1 / 12, nodeNumber=node))
        left, right = (
            mbs.AddMarker(item.MarkerBodyPosition(bodyNumber=body, localPosition=[s, 0, 0]))
            for s in (-0.5, 0.5)
        )
        mbs.AddObject(item.ObjectJointRevolute2D(markerNumbers=[before, left]))
        mass = mbs.AddMarker(item.MarkerBodyMass(bodyNumber=body))
        mbs.AddLoad(item.LoadMassProportional(markerNumber=mass, loadVector=[0, -G, 0]))
        before = right
    return system, mbs, lambda: mbs.GetNodeOutput(node, exu.OutputVariableType.Position)[:2]


def beam(n):
    """A clamped beam of one metre that bends under its weight, level and at rest at the start."""
    system = exu.SystemContainer()
    mbs = system.AddSystem()
    nodes = [mbs.AddNode(item.NodeRigidBody2D(referenceCoordinates=[k / n, 0, 0])) for k in range(n + 1)]
    for a, b in zip(nodes, nodes[1:]):
        mbs.AddObject(
            item.ObjectBeamGeometricallyExact2D(
                nodeNumbers=[a, b], physicsLength=1 / n, physicsMassPerLength=1.0, physicsCrossSectionInertia=1e-3,
                physicsBendingStiffness=1.0, physicsAxialStiffness=1e3, physicsShearStiffness=4e2,
                includeReferenceRotations=False,
            )
        )  # fmt: skip
    zero = mbs.AddNode(item.NodePointGround())
    held = mbs.AddMarker(item.MarkerNodeCoordinate(nodeNumber=zero, coordinate=0))
    for k in range(3):
        clamp = mbs.AddMarker(item.MarkerNodeCoordinate(nodeNumber=nodes[0], coordinate=k))
        mbs.AddObject(item.CoordinateConstraint(markerNumbers=[held, clamp]))
    for k, node in enumerate(nodes):
        weight = G / n * (0.5 if k in (0, n) else 1.0)
        at = mbs.AddMarker(item.MarkerNodePosition(nodeNumber=node))
        mbs.AddLoad(item.LoadForceVector(markerNumber=at, loadVector=[0, -weight, 0]))
    return system, mbs, lambda: mbs.GetNodeOutput(nodes[-1], exu.OutputVariableType.Position)[:2]


def run(make, n, span, steps):
    """Processor time of the run alone, and where the end is."""
    system, mbs, end = make(n)
    mbs.Assemble()
    settings = exu.SimulationSettings()
    integration = settings.timeIntegration
    integration.numberOfSteps, integration.endTime = steps, span
    integration.verboseMode, settings.displayComputationTime = 0, False
    integration.newton.useModifiedNewton = True
    integration.newton.relativeTolerance, integration.newton.absoluteTolerance = 1e-10, 1e-12
    integration.generalizedAlpha.spectralRadius = 0.9
    settings.solutionSettings.writeSolutionToFile = False
    settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    settings.parallel.numberOfThreads = 1
    begin = time.process_time()
    mbs.SolveDynamic(settings)
    seconds = time.process_time() - begin
    return seconds, [float(x) for x in np.array(end())]


if __name__ == "__main__":
    make, n, span = {"chain": chain, "beam": beam}[sys.argv[1]], int(sys.argv[2]), float(sys.argv[3])
    found = []
    numbers = [int(x) for x in sys.argv[4:]]
    for steps in numbers:
        runs = [run(make, n, span, steps) for _ in range(1 if steps == numbers[-1] else 3)]
        found.append((steps, min(seconds for seconds, _ in runs), runs[0][1]))
    print(json.dumps(found))
