"""Typed errors and warnings. Text form: what, where, value got, value wanted, what to do.

Bad input raises a subclass of `InputError` before any step is taken. Trouble during a run raises a `SolverError` or an
`IntegrationError` that carries the result so far as ``exc.partial``.
"""

from __future__ import annotations

from typing import Any


class NonsmoothError(Exception):
    """Base class of every error of the library."""

    #: What was computed before the fault (a `Result`), or None.
    partial: Any = None


class InputError(NonsmoothError, ValueError):
    """An argument or a model is not usable."""


class ShapeError(InputError):
    """An array has the wrong shape."""


class NonFiniteError(InputError):
    """An argument is NaN or infinite where it must be finite."""


class RangeError(InputError):
    """A value lies outside its admissible range."""


class ModelError(InputError):
    """The model contradicts itself (singular mass matrix, duplicate names, conflicting constraints)."""


class InconsistentStateError(InputError):
    """The start state violates a contact or a constraint."""


class ScenarioError(InputError):
    """A scenario file, or a name in it or in a model, cannot be used."""


class SolverError(NonsmoothError, RuntimeError):
    """A contact or complementarity problem could not be solved."""


class ConvergenceError(SolverError):
    """The iteration stopped above its tolerance."""


class NoSolutionError(SolverError):
    """The problem provably has no solution; `certificate` holds the proof where one exists."""

    certificate: Any = None


class IntegrationError(NonsmoothError, RuntimeError):
    """The run could not be continued."""


class NonFiniteStateError(IntegrationError):
    """The state or a user function became NaN or infinite during the run."""


class FunctionIndexError(IntegrationError, IndexError):
    """A user function reached beyond the size of an array."""


class StepLimitError(IntegrationError):
    """Too many steps or events, or a step below the resolution of time."""


class EventError(IntegrationError):
    """A switch or event function misbehaves."""


class PenetrationError(IntegrationError):
    """A contact was passed through."""


class StorageError(NonsmoothError, OSError):
    """A result could not be written or read."""


class OutputExistsError(StorageError):
    """The output exists already and `overwrite` was not asked for."""


class OutputLockedError(StorageError):
    """Another process is writing this output."""


class ResultFormatError(StorageError):
    """The file is not a result of this library, or is damaged."""


class CheckpointError(StorageError):
    """A checkpoint is damaged or belongs to another run."""


class SweepError(NonsmoothError, RuntimeError):
    """Some runs of a sweep failed."""


class NonsmoothWarning(UserWarning):
    """Base class of every warning of the library."""


class EnergyGainWarning(NonsmoothWarning):
    """An impact raised the kinetic energy (possible with Newton's law and friction, or unequal restitution)."""


class NonUniqueWarning(NonsmoothWarning):
    """The problem has several solutions; one was chosen by the documented rule."""


class DegenerateWarning(NonsmoothWarning):
    """A regularity condition of the theory fails at a point of the solution; a documented fallback was used."""


class RedundantConstraintWarning(NonsmoothWarning):
    """Constraints depend on each other; multipliers are of minimum norm."""


class AdjustmentWarning(NonsmoothWarning):
    """States were moved onto their constraints by more than the integration is uncertain."""


class ZenoWarning(NonsmoothWarning):
    """Events accumulate; sustained contact was assumed after the estimated instant."""


class DiscontinuityWarning(NonsmoothWarning):
    """A force or gap jumps at an instant that was not declared."""


class GrazingWarning(NonsmoothWarning):
    """An event function touches zero without crossing."""


class SensitivityWarning(NonsmoothWarning):
    """Derivatives by start and parameters do not exist behind an instant of the run."""


class RateWarning(NonsmoothWarning):
    """The rate given for a switching function is not the one found along the solution; the found one was used."""


class NormalisationWarning(NonsmoothWarning):
    """A quaternion of the start state was not of unit length."""


class PenetrationWarning(NonsmoothWarning):
    """The start state overlaps slightly; it is accepted and not pushed out."""


class CallbackWarning(NonsmoothWarning):
    """A user function cannot be compiled and runs in Python, many times slower; said once for each function."""


class DerivativeWarning(NonsmoothWarning):
    """A derivative given by the user contradicts differences of its function along the run."""
