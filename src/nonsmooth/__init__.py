"""Dynamical systems that impact, stick, slip and switch: one model, any scheme, at compiled speed."""

from __future__ import annotations

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

# Public names and the modules they live in. They are imported when first used, so that `import nonsmooth` is quick.
_PUBLIC = {
    "simulate": "simulate",
    "METHODS": "simulate",
    "compare": "compare",
    "richardson": "compare",
    "Comparison": "results.comparison",
    "MechanicalSystem": "model.system",
    "Contact": "model.elements",
    "FrictionElement": "model.elements",
    "SetValuedElement": "model.elements",
    "Interval": "model.elements",
    "Ball": "model.elements",
    "ConvexSet": "model.elements",
    "Joint": "model.elements",
    "NonholonomicConstraint": "model.elements",
    "equilibrium": "model.statics",
    "modes": "model.small_motions",
    "stabilised_form": "constrained.stabilised",
    "diagnose": "model.diagnose",
    "World": "model.world",
    "Body": "model.bodies.body",
    "Bar": "model.structures.bar",
    "Beam": "model.structures.beam",
    "Cable": "model.structures.cable",
    "LinearStructure": "model.structures.linear",
    "Material": "model.bodies.material",
    "Stribeck": "model.bodies.material",
    "Disk": "model.bodies.shapes",
    "Sphere": "model.bodies.shapes",
    "Box": "model.bodies.shapes",
    "Capsule": "model.bodies.shapes",
    "HalfPlane": "model.bodies.shapes",
    "Plane": "model.bodies.shapes",
    "Circle": "model.bodies.shapes",
    "Spring": "model.bodies.forces",
    "Damper": "model.bodies.forces",
    "TorsionSpring": "model.bodies.forces",
    "Bushing": "model.bodies.bushing",
    "Load": "model.bodies.forces",
    "Revolute": "model.joints.joints",
    "Prismatic": "model.joints.joints",
    "Cylindrical": "model.joints.joints",
    "Spherical": "model.joints.joints",
    "Universal": "model.joints.joints",
    "PlanarJoint": "model.joints.joints",
    "Fixed": "model.joints.joints",
    "Distance": "model.joints.joints",
    "PointOnLine": "model.joints.joints",
    "PointOnPlane": "model.joints.joints",
    "PointOnCurve": "model.joints.on_curve",
    "Gear": "model.joints.joints",
    "Rolling": "model.joints.joints",
    "Servo": "model.servo",
    "quaternion_rates": "model.rotations",
    "inertia_matrix": "model.rotations",
    "Moreau": "schemes.moreau",
    "SlidingMode": "schemes.sliding_mode",
    "GeneralizedAlpha": "schemes.generalized_alpha",
    "Theta": "schemes.theta",
    "SchatzmanPaoli": "schemes.schatzman_paoli",
    "AdaptiveMoreau": "schemes.adaptive",
    "ExtrapolatedMoreau": "schemes.extrapolation",
    "EventCapturing": "schemes.event_capturing",
    "EventDriven": "schemes.event_driven",
    "Sampled": "schemes.controllers",
    "Hysteresis": "schemes.controllers",
    "Exact": "contact.solvers",
    "ContactMethod": "contact.solvers",
    "PSOR": "contact.solvers",
    "PJOR": "contact.solvers",
    "solve_ivp": "ivp",
    "Switch": "events.switch",
    "IvpResult": "ivp",
    "solve_dae": "dae",
    "find_periodic_orbit": "orbits",
    "PeriodicOrbit": "orbits",
    "continue_orbit": "continuation",
    "solve_filippov": "filippov",
    "FilippovSystem": "sliding.groups",
    "Group": "sliding.groups",
    "sign_term": "sliding.groups",
    "relay": "sliding.groups",
    "solve_contact": "contact.solve",
    "ContactResult": "contact.solve",
    "ContactProblem": "contact.problem",
    "read_fclib": "contact.fclib",
    "write_fclib": "contact.fclib",
    "solve_lcp": "contact.lcp",
    "Result": "results.result",
    "Event": "results.events",
    "Audit": "results.audit",
    "open_stream": "results.store",
    "l1_error": "results.norms",
    "l2_error": "results.norms",
    "sup_error": "results.norms",
    "hausdorff_error": "results.norms",
}
_MODULES = {"errors": "errors", "problems": "problems", "draw": "model.drawing"}

__all__ = ["__version__", *_PUBLIC, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        value = getattr(importlib.import_module(f"nonsmooth.{_PUBLIC[name]}"), name)
    elif name in _MODULES:
        value = importlib.import_module(f"nonsmooth.{_MODULES[name]}")
    else:
        raise AttributeError(f"module 'nonsmooth' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(types.ModuleType):
    """Importing the file simulate.py must not hide the function `simulate`: public names win over submodules."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _PUBLIC and isinstance(value, types.ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


if TYPE_CHECKING:
    import nonsmooth.model.drawing as draw  # noqa: F401
    from nonsmooth import errors as errors
    from nonsmooth import problems as problems
    from nonsmooth.compare import compare as compare
    from nonsmooth.compare import richardson as richardson
    from nonsmooth.constrained.stabilised import stabilised_form as stabilised_form
    from nonsmooth.contact.fclib import read_fclib as read_fclib
    from nonsmooth.contact.fclib import write_fclib as write_fclib
    from nonsmooth.contact.lcp import solve_lcp as solve_lcp
    from nonsmooth.contact.problem import ContactProblem as ContactProblem
    from nonsmooth.contact.solve import ContactResult as ContactResult
    from nonsmooth.contact.solve import solve_contact as solve_contact
    from nonsmooth.contact.solvers import PJOR as PJOR
    from nonsmooth.contact.solvers import PSOR as PSOR
    from nonsmooth.contact.solvers import ContactMethod as ContactMethod
    from nonsmooth.contact.solvers import Exact as Exact
    from nonsmooth.continuation import continue_orbit as continue_orbit
    from nonsmooth.dae import solve_dae as solve_dae
    from nonsmooth.events.switch import Switch as Switch
    from nonsmooth.filippov import solve_filippov as solve_filippov
    from nonsmooth.ivp import IvpResult as IvpResult
    from nonsmooth.ivp import solve_ivp as solve_ivp
    from nonsmooth.model.bodies.body import Body as Body
    from nonsmooth.model.bodies.bushing import Bushing as Bushing
    from nonsmooth.model.bodies.forces import Damper as Damper
    from nonsmooth.model.bodies.forces import Load as Load
    from nonsmooth.model.bodies.forces import Spring as Spring
    from nonsmooth.model.bodies.forces import TorsionSpring as TorsionSpring
    from nonsmooth.model.bodies.material import Material as Material
    from nonsmooth.model.bodies.material import Stribeck as Stribeck
    from nonsmooth.model.bodies.shapes import Box as Box
    from nonsmooth.model.bodies.shapes import Capsule as Capsule
    from nonsmooth.model.bodies.shapes import Circle as Circle
    from nonsmooth.model.bodies.shapes import Disk as Disk
    from nonsmooth.model.bodies.shapes import HalfPlane as HalfPlane
    from nonsmooth.model.bodies.shapes import Plane as Plane
    from nonsmooth.model.bodies.shapes import Sphere as Sphere
    from nonsmooth.model.diagnose import diagnose as diagnose
    from nonsmooth.model.elements import Ball as Ball
    from nonsmooth.model.elements import Contact as Contact
    from nonsmooth.model.elements import ConvexSet as ConvexSet
    from nonsmooth.model.elements import FrictionElement as FrictionElement
    from nonsmooth.model.elements import Interval as Interval
    from nonsmooth.model.elements import Joint as Joint
    from nonsmooth.model.elements import NonholonomicConstraint as NonholonomicConstraint
    from nonsmooth.model.elements import SetValuedElement as SetValuedElement
    from nonsmooth.model.joints.joints import Cylindrical as Cylindrical
    from nonsmooth.model.joints.joints import Distance as Distance
    from nonsmooth.model.joints.joints import Fixed as Fixed
    from nonsmooth.model.joints.joints import Gear as Gear
    from nonsmooth.model.joints.joints import PlanarJoint as PlanarJoint
    from nonsmooth.model.joints.joints import PointOnLine as PointOnLine
    from nonsmooth.model.joints.joints import PointOnPlane as PointOnPlane
    from nonsmooth.model.joints.joints import Prismatic as Prismatic
    from nonsmooth.model.joints.joints import Revolute as Revolute
    from nonsmooth.model.joints.joints import Rolling as Rolling
    from nonsmooth.model.joints.joints import Spherical as Spherical
    from nonsmooth.model.joints.joints import Universal as Universal
    from nonsmooth.model.joints.on_curve import PointOnCurve as PointOnCurve
    from nonsmooth.model.rotations import inertia_matrix as inertia_matrix
    from nonsmooth.model.rotations import quaternion_rates as quaternion_rates
    from nonsmooth.model.servo import Servo as Servo
    from nonsmooth.model.small_motions import modes as modes
    from nonsmooth.model.statics import equilibrium as equilibrium
    from nonsmooth.model.structures.bar import Bar as Bar
    from nonsmooth.model.structures.beam import Beam as Beam
    from nonsmooth.model.structures.cable import Cable as Cable
    from nonsmooth.model.structures.linear import LinearStructure as LinearStructure
    from nonsmooth.model.system import MechanicalSystem as MechanicalSystem
    from nonsmooth.model.world import World as World
    from nonsmooth.orbits import PeriodicOrbit as PeriodicOrbit
    from nonsmooth.orbits import find_periodic_orbit as find_periodic_orbit
    from nonsmooth.results.audit import Audit as Audit
    from nonsmooth.results.comparison import Comparison as Comparison
    from nonsmooth.results.events import Event as Event
    from nonsmooth.results.norms import hausdorff_error as hausdorff_error
    from nonsmooth.results.norms import l1_error as l1_error
    from nonsmooth.results.norms import l2_error as l2_error
    from nonsmooth.results.norms import sup_error as sup_error
    from nonsmooth.results.result import Result as Result
    from nonsmooth.results.store import open_stream as open_stream
    from nonsmooth.schemes.adaptive import AdaptiveMoreau as AdaptiveMoreau
    from nonsmooth.schemes.controllers import Hysteresis as Hysteresis
    from nonsmooth.schemes.controllers import Sampled as Sampled
    from nonsmooth.schemes.event_capturing import EventCapturing as EventCapturing
    from nonsmooth.schemes.event_driven import EventDriven as EventDriven
    from nonsmooth.schemes.extrapolation import ExtrapolatedMoreau as ExtrapolatedMoreau
    from nonsmooth.schemes.generalized_alpha import GeneralizedAlpha as GeneralizedAlpha
    from nonsmooth.schemes.moreau import Moreau as Moreau
    from nonsmooth.schemes.schatzman_paoli import SchatzmanPaoli as SchatzmanPaoli
    from nonsmooth.schemes.sliding_mode import SlidingMode as SlidingMode
    from nonsmooth.schemes.theta import Theta as Theta
    from nonsmooth.simulate import METHODS as METHODS
    from nonsmooth.simulate import simulate as simulate
    from nonsmooth.sliding.groups import FilippovSystem as FilippovSystem
    from nonsmooth.sliding.groups import Group as Group
    from nonsmooth.sliding.groups import relay as relay
    from nonsmooth.sliding.groups import sign_term as sign_term
