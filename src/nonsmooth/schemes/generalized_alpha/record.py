"""The record of a compiled generalized-alpha step: its parts, tangent, mass, options (see `nonsmooth._core.stepping.alpha.records`)."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from nonsmooth._core.calls.plain import PlainCall
from nonsmooth._core.derivatives.weighted_tangent import TANGENT, weighted_tangent
from nonsmooth._core.jit import Reference, address_record
from nonsmooth._core.laws import solve_laws
from nonsmooth._core.linalg.factors import factorise, solve
from nonsmooth._core.linalg.mass import factorise_mass
from nonsmooth._core.records.problem import make_problem
from nonsmooth._core.records.scene import BETWEEN
from nonsmooth._core.space.retract import RETRACT, retract
from nonsmooth._core.stepping.alpha import records as core
from nonsmooth._core.stepping.alpha.begin import begin_step
from nonsmooth._core.stepping.alpha.finish import finish_step
from nonsmooth._core.stepping.alpha.jointed import (
    begin_jointed,
    change_jointed,
    evaluate_jointed,
    finish_jointed,
    speak_jointed,
    take_jointed,
)
from nonsmooth._core.stepping.alpha.laws import speak
from nonsmooth._core.stepping.alpha.levels import solve_levels
from nonsmooth._core.stepping.alpha.motion import FACTORISE, FACTORISE_MASS, SOLVE, change, evaluate
from nonsmooth._core.stepping.alpha.smooth import accelerate
from nonsmooth._core.stepping.alpha.subproblems import residuals, three_problems
from nonsmooth._core.stepping.between import along_the_step
from nonsmooth.contact.solvers import as_solver
from nonsmooth.schemes.projection import KeepingReference
from nonsmooth.schemes.run import _solve_outside

#: Kernels of the library that the parts call.
LIBRARY = {
    "solve": (solve, SOLVE), "factorise": (factorise, FACTORISE), "factorise_mass": (factorise_mass, FACTORISE_MASS),
    "retract": (retract, RETRACT), "weigh": (weighted_tangent, TANGENT), "line": (along_the_step, BETWEEN),
}  # fmt: skip
PARTS = {
    "begin": begin_step, "evaluate": evaluate, "change": change, "speak": speak, "levels": solve_levels, "accelerate": accelerate,
    "finish": finish_step,
}  # fmt: skip
ITERATIONS = {"coupled": {}, "subproblems": {"change": residuals, "levels": three_problems}}
#: From so many rows on the sparse step is quicker.
MANY_ROWS = 24
#: Parts of the sparse step of systems with joints only.
JOINTED = {
    "begin": begin_jointed, "evaluate": evaluate_jointed, "change": change_jointed, "speak": speak_jointed, "levels": take_jointed,
    "finish": finish_jointed,
}  # fmt: skip
FORMS = {
    "auto": core.PVA, "PVA": core.PVA, "PVV": core.PVV, "PVV-2014": core.PVV, "PV": core.PV, "PV-GGL": core.GGL, "P": core.P,
    "V": core.V, "A": core.A,
}  # fmt: skip
ACTIVATIONS = {"augmented": core.AUGMENTED, "gap": core.BY_GAP, "smooth-gap": core.BY_SMOOTH_GAP}
SMOOTH_SETS = {
    "none": core.NONE,
    "bilateral": core.BILATERAL,
    "resting": core.RESTING,
    "literal": core.LITERAL,
}
STARTS = {"shifted": core.SHIFTED, "plain": core.PLAIN, "zero": core.ZERO}


def own_record(scheme, model) -> Reference:
    """The record of the compiled step, with the tangent and the mass of the model."""
    from nonsmooth.model.matrix_operator import MatrixOperator

    tangents, size, laws = model.tangent_parts, model.size(), model.laws.core()
    definite = getattr(model, "definite_tangent", False)
    factors, mass = MatrixOperator(tangents.pattern, definite=definite), model.mass_operator
    n_P = size.n_N + size.n_joints
    problem = make_problem(
        solve_laws.addresses(model.core.project), n_P + size.n_laws, n_P + size.n_rows, as_solver(scheme.solver).options()
    )  # fmt: skip
    outside = PlainCall(partial(_solve_outside, problem, scheme.solver))
    problem.at.outside = outside.address
    at_problem = Reference(problem)
    sparse = jointed_record(scheme, model, tangents)
    parts = PARTS | ITERATIONS[scheme.iteration] | (JOINTED if sparse is not None else {})
    at = address_record(
        **{name: (part, core.PART) for name, part in parts.items()}, **LIBRARY,
        tangent=tangents.reference, factors=factors.reference, mass=mass.reference, mass_factors=mass.factors.reference,
        space=model.space.reference, problem=at_problem, jointed=0 if sparse is None else sparse,
    )  # fmt: skip
    law_of = np.zeros(max(size.n_rows, 1), dtype=np.int64)
    for l in range(size.n_laws):
        law_of[laws.row[l] : laws.row[l] + laws.dim[l]] = l
    own = core.make_alpha(at, size, tangents.pattern, pattern_of_directions(model), problem, law_of)
    own.weights.breaks = math.inf
    if FORMS[scheme.constraints] == core.A:
        own.slots.level[n_P:] = core.ACCELERATION
    take_options(own.options, scheme, model, size, sparse is not None)
    return KeepingReference(own, factors, at_problem, outside, mass, sparse)


def take_options(x, scheme, model, size, sparse: bool) -> None:
    """The options of the scheme, and how linear the model is."""
    x.form = FORMS[scheme.constraints]
    x.baumgarte_1, x.baumgarte_0 = 2.0 * scheme.baumgarte[0], scheme.baumgarte[1] ** 2
    x.alpha_m, x.alpha_f, x.gamma, x.beta = scheme.weights()
    x.activation, x.smooth = ACTIVATIONS[scheme.activation], SMOOTH_SETS[scheme.smooth_set]
    x.start, x.tol = STARTS[scheme.start_from], scheme.tol
    x.restart = int(scheme.restart or scheme.rtol is not None)
    x.apart = int(scheme.iteration == "subproblems")
    x.exact = int(
        getattr(model, "exactly_linear", False) and size.constant_M and size.constant_W and not x.apart
    )
    x.linear = int(x.exact or (not sparse and is_linear(model)))
    x.damped = int(getattr(model, "damped", True))


def jointed_record(scheme, model, tangents):
    """The record of the sparse step, where it serves: a world of many joints, "PVA", no other laws; else None."""
    if (
        scheme.constraints not in ("auto", "PVA")
        or scheme.iteration != "coupled"
        or scheme.smooth_set != "resting"
    ):
        return None
    if not hasattr(model, "assembly") or model.laws.n_rows < MANY_ROWS:
        return None
    if model.size().n_joints != model.laws.n_rows:  # contacts, friction, rolling
        return None
    from nonsmooth.schemes.jointed import make_record

    return make_record(model, tangents)


def pattern_of_directions(model):
    """Where W^T can have entries: known of worlds, anywhere in models of functions."""
    from nonsmooth.model.colouring import Pattern

    rows = max(model.laws.n_rows, 1)
    return (
        model.pattern_W
        if hasattr(model, "mass_values") and model.laws.n_rows
        else Pattern.full(rows, model.n_u)
    )


def is_linear(model) -> bool:
    """Whether the tangent is the same wherever it is looked at: then it is found once. (A wrong yes costs iterations, no more.)"""
    if not model.constant_mass or model.f_kinematics is not None:
        return False
    found: Any = []
    la = np.zeros(max(model.laws.n_rows, 1))
    for t, q, u in model.differentiator.points():
        found.append(model.tangent_parts.values(t, q, u, np.cos(u), la, model.parameters.flat, 1.0, 1.0, 1.0))
    found = np.array(found)
    found = found[np.all(np.isfinite(found), axis=1)]
    if len(found) < 2:
        return False
    size = np.max(np.abs(found), initial=0.0)
    return bool(np.max(np.abs(found - found[0]), initial=0.0) <= 1e-9 * size)
