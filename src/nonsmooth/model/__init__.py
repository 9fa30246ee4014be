"""What moves: mechanical systems, their laws and constraints."""

from nonsmooth.model.elements import (
    Ball,
    Contact,
    ConvexSet,
    FrictionElement,
    Interval,
    Joint,
    NonholonomicConstraint,
    SetValuedElement,
)
from nonsmooth.model.system import MechanicalSystem

__all__ = [
    "Ball",
    "Contact",
    "ConvexSet",
    "FrictionElement",
    "Interval",
    "Joint",
    "MechanicalSystem",
    "NonholonomicConstraint",
    "SetValuedElement",
]
