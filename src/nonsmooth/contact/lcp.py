"""Linear complementarity problems: ``w = M z + q``, ``z >= 0``, ``w >= 0``, ``z^T w = 0``.

`solve_lcp` equilibrates the problem (rows and columns are scaled, so that units do not matter), solves it,
and judges the answer by a residual that plain NumPy recomputes from the data. What it promises:

- a returned solution satisfies the problem to the residual it carries;
- "no solution" is a proof: a Farkas vector ``y >= 0, M^T y <= 0, q^T y < 0`` when not even ``z >= 0, w >=
  0`` can be met, else the complete enumeration of the complementary index sets (n <= 16);
- if several solutions exist (seen for n <= 16 and for positive semidefinite problems) the one of smallest
  ``|z|`` in the equilibrated scaling is chosen among the vertices of the solution set, ties by the
  lexicographically smallest z, and a `NonUniqueWarning` says so;
- a mixed problem (``free``: rows with ``w_i = 0`` and z_i of any sign) is reduced to a pure one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nonsmooth._core.lcp.enumeration import TOO_MANY, enumerate_lcp, ray_is_attached
from nonsmooth._core.lcp.iterative import newton_min, psor
from nonsmooth._core.lcp.lemke import SOLVED, lemke, solve_support
from nonsmooth.contact.lcp_problem import LCPResult, checked, definiteness, equilibrate, reduce_free
from nonsmooth.errors import (
    InputError,
    NonFiniteError,
    NonUniqueWarning,
    NoSolutionError,
    RangeError,
    ShapeError,
)
from nonsmooth.warn import warn_user

#: Names accepted by ``solve_lcp(method=...)``.
LCP_METHODS = ("auto", "lemke", "enumerate", "psor", "newton-min")

#: Largest n for which all index sets are examined.
MAX_ENUMERATION = 16

_MAX_VERTICES = 4096
_MAX_RAYS = 256
_PIVOT_TOL = 1e-11


@dataclass
class NoSolutionCertificate:
    """Proof that an LCP has no solution.

    Attributes
    ----------
    kind : {"farkas", "enumeration"}
    y : ndarray or None
        For "farkas": ``y >= 0, M^T y <= 0, q^T y < 0``, so that no ``z >= 0`` has ``M z + q >= 0``.
    nodes : int
        For "enumeration": nodes of the complete tree of index sets.
    """

    kind: str
    y: np.ndarray | None = None
    nodes: int = 0


def _farkas(problem):
    """Vector y proving that ``z >= 0, M z + q >= 0`` is impossible, or None."""
    from scipy.optimize import linprog

    lp = linprog(
        problem.q, A_ub=problem.M.T, b_ub=np.zeros(len(problem.q)), bounds=(0.0, 1.0), method="highs"
    )
    if lp.status != 0 or lp.fun > -1e-8:
        return None
    y = np.maximum(lp.x, 0.0)
    y[y < 1e-12] = 0.0
    # The proof must hold for the data as given, up to rounding of the products.
    slack = problem.M.T @ y
    if problem.q @ y < -1e-9 and slack.max(initial=0.0) <= 1e-12 * y.max():
        return y / problem.w_scale
    return None


def _no_solution(problem, nodes=0):
    """Raise `NoSolutionError` with the best certificate there is (Farkas before enumeration)."""
    y = _farkas(problem)
    if y is not None:
        certificate = NoSolutionCertificate("farkas", y)
        text = "not even z >= 0, M z + q >= 0 can be met (certificate.y: y >= 0, M^T y <= 0, q^T y < 0)"
    else:
        certificate = NoSolutionCertificate("enumeration", None, nodes)
        text = f"all complementary index sets were excluded ({nodes} nodes)"
    error = NoSolutionError(f"solve_lcp: the problem has no solution: {text}; check the signs of M and q")
    error.certificate = certificate
    raise error


def _result(problem, z_scaled, method, iterations, tol, message=""):
    """Unscale, clean and judge a solution."""
    M, q = problem.origin
    z = np.maximum(z_scaled, 0.0) * problem.z_scale
    residual = problem.residual(z)
    # Solve once more for the support, with the data as given: removes the rounding of the scaling.
    polished, w = np.empty_like(z), np.empty_like(z)
    if residual <= 1e3 * tol and solve_support(M, q, (z_scaled > tol).astype(np.int8), polished, w) > 1e-12:
        polished = np.maximum(polished, 0.0)
        if (
            problem.residual(polished) <= max(residual, 1e-14)
            and np.max(np.abs(polished - z) / problem.z_scale) < 1e-6
        ):
            z, residual = polished, problem.residual(polished)
    w = M @ z + q
    # Complementary zeros are exact: the smaller of the two (in equilibrated size) is rounding noise.
    ws = w / problem.w_scale
    w = np.where((np.abs(ws) <= tol) & (ws <= z / problem.z_scale), 0.0, w)
    success = bool(residual <= tol)
    if not message:
        message = "solved" if success else f"residual {residual:.1e} is above tol = {tol:.1e}"
    return LCPResult(z, w, residual, success, message, method, int(iterations))


def _cross_complementary(problem, za, zb, tol):
    wa, wb = problem.M @ za + problem.q, problem.M @ zb + problem.q
    return not (np.any((za > tol) & (wb > tol)) or np.any((zb > tol) & (wa > tol)))


def _enumerate(problem, tol):
    """All vertices (equilibrated), whether each is isolated, whether the list is complete, and the nodes
    visited.
    """
    n = len(problem.q)
    Z, Y = np.zeros((_MAX_VERTICES, n)), np.zeros((_MAX_RAYS, n))
    masks = np.zeros(_MAX_RAYS, dtype=np.int64)
    inner = min(tol, 1e-9)
    status, count, n_rays, nodes = enumerate_lcp(problem.M, problem.q, inner, Z, Y, masks)
    Z = Z[:count]
    # The documented rule of choice: smallest norm, then lexicographic order.
    norms = np.linalg.norm(Z, axis=1)
    order = sorted(range(count), key=lambda k: (float(f"{norms[k]:.8e}"), tuple(Z[k])))
    Z = Z[order]
    isolated = np.ones(count, dtype=bool)
    for a in range(count):
        for b in range(a + 1, count):
            if (isolated[a] or isolated[b]) and _cross_complementary(problem, Z[a], Z[b], 10 * inner):
                isolated[a] = isolated[b] = False
        if isolated[a]:
            isolated[a] = not any(
                ray_is_attached(problem.M, problem.q, Z[a], masks[k], 10 * inner) for k in range(n_rays)
            )
    return Z, isolated, status != TOO_MANY, nodes


def solve_lcp(M, q, method="auto", all=False, *, tol=1e-9, max_iter=None, guess=None, omega=1.0, free=None):
    """Solve the linear complementarity problem ``w = M z + q``, ``0 <= z _|_ w >= 0``.

    Parameters
    ----------
    M : array_like or sparse, shape (n, n)
    q : array_like, shape (n,)
    method : {"auto", "lemke", "enumerate", "psor", "newton-min"}
        "auto": enumeration for n <= 16 unless the symmetric part of M is positive definite (then Lemke: it is
        unique); for larger n Lemke, then min-Newton, then PSOR, each started from the best point so far.
    all : bool
        Return the list of all solutions (n <= 16): every isolated solution and the vertices of every
        continuum.
    tol : float
        Bound on the residual for success.
    max_iter : int, optional
        Pivots (Lemke: 50 n + 1000), active-set changes (100), sweeps (PSOR: 10000).
    guess : array_like, optional
        Starting point of the iterative methods.
    omega : float
        Relaxation of PSOR, in (0, 2).
    free : array_like of int or bool, optional
        Rows of a mixed problem: there ``w_i = 0`` and z_i has any sign.

    Returns
    -------
    LCPResult, or list of LCPResult with ``all=True``
        Fields z, w, residual, success, message, method, iterations, unique, isolated.

    Raises
    ------
    NoSolutionError
        No solution exists; ``exc.certificate`` is a `NoSolutionCertificate`.
    ShapeError, NonFiniteError, RangeError, InputError
        Unusable arguments.

    Warns
    -----
    NonUniqueWarning
        Several solutions exist and one was chosen (smallest norm in the equilibrated scaling, then
        lexicographic order).

    Examples
    --------
    >>> result = solve_lcp([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0])
    >>> result.z
    array([1.33333333, 2.33333333])
    """
    if method not in LCP_METHODS:
        raise InputError(f"solve_lcp: method {method!r} is unknown; use one of {', '.join(LCP_METHODS)}")
    if not (np.isfinite(tol) and tol > 0.0):
        raise RangeError(f"solve_lcp: tol = {tol} must be positive and finite")
    if not 0.0 < omega < 2.0:
        raise RangeError(f"solve_lcp: omega = {omega} must lie in (0, 2)")
    M, q = checked(M, q)
    if free is not None and np.size(free):
        M_c, q_c, back = reduce_free(M, q, free)
        options = {"tol": tol, "max_iter": max_iter, "guess": None, "omega": omega}
        found = solve_lcp(M_c, q_c, method, all, **options)
        return [back(r) for r in found] if all else back(found)
    n = len(q)
    if n == 0:
        empty = LCPResult(np.zeros(0), np.zeros(0), 0.0, True, "empty problem", method, 0, True, True)
        return [empty] if all else empty
    problem = equilibrate(M, q)
    if all:
        if n > MAX_ENUMERATION:
            raise RangeError(
                f"solve_lcp: all=True examines 2^n index sets, got n = {n}, at most {MAX_ENUMERATION}"
            )
        return _all_solutions(problem, tol)
    if method == "enumerate" and n > MAX_ENUMERATION:
        raise RangeError(
            f"solve_lcp: enumeration is for n <= {MAX_ENUMERATION}, got n = {n}; use method='lemke'"
        )
    definite = definiteness(problem.M)
    if method == "enumerate" or (method == "auto" and n <= MAX_ENUMERATION and definite < 2):
        return _chosen_of_all(problem, tol)
    if method == "auto":
        return _staged(problem, tol, max_iter, definite)
    z0 = np.zeros(n)
    if guess is not None:
        z0 = np.array(guess, dtype=np.float64)
        if z0.shape != (n,):
            raise ShapeError(f"solve_lcp: guess must have shape ({n},), got {z0.shape}")
        if not np.all(np.isfinite(z0)):
            raise NonFiniteError("solve_lcp: guess must be finite")
        z0 = np.maximum(z0, 0.0) / problem.z_scale
    result = {"lemke": _by_lemke, "psor": _by_psor, "newton-min": _by_newton}[method](
        problem, tol, max_iter, z0, omega
    )
    return _judge(problem, result, definite, tol)


def _all_solutions(problem, tol):
    Z, isolated, complete, nodes = _enumerate(problem, tol)
    if len(Z) == 0:
        _no_solution(problem, nodes)
    results = [_result(problem, z, "enumerate", nodes, tol) for z in Z]
    for result, alone in zip(results, isolated):
        result.isolated = bool(alone)
        result.unique = len(Z) == 1 and bool(alone) and complete
        if not alone:
            result.message += "; vertex of a continuum of solutions"
        if not complete:
            result.message += f"; the list was cut at {_MAX_VERTICES} vertices"
    return results


def _chosen_of_all(problem, tol):
    results = _all_solutions(problem, tol)
    best = results[0]
    if not best.unique:
        many = (
            "a continuum of solutions"
            if any(not r.isolated for r in results)
            else f"{len(results)} solutions"
        )
        best.message += f"; chosen among {many}"
        warn_user(
            f"solve_lcp: the problem has {many}; the one of smallest norm was chosen, "
            f"all=True lists {len(results)} vertices",
            NonUniqueWarning,
        )
    return best


def _by_lemke(problem, tol, max_iter, z0, omega):
    n = len(problem.q)
    z, w, ray = np.empty(n), np.empty(n), np.empty(n)
    limit = 50 * n + 1000 if max_iter is None else int(max_iter)
    pivots = 0
    result = None
    # Another covering vector gives another path: a ray or a numerical breakdown on one is not the last word.
    for d in (
        np.ones(n),
        1.0 + 0.5 * np.cos(np.arange(1, n + 1)),
        1.0 + 0.9 * np.sin(np.arange(1, n + 1) ** 2),
    ):
        # a limit given by the caller holds for all paths together
        left = limit if max_iter is None else limit - pivots
        if left <= 0 and pivots:
            break
        status, used = lemke(problem.M, problem.q, d, left, _PIVOT_TOL, z, w, ray)
        pivots += used
        if status == SOLVED:
            result = _result(problem, z, "lemke", pivots, tol)
            if result.success:
                return result
    if result is None:
        text = {
            1: "the path ended on a ray",
            2: f"pivot limit {limit} reached",
            3: "the final basis is singular",
        }[status]
        result = _result(
            problem, np.maximum(-problem.q, 0.0), "lemke", pivots, tol, f"no solution found: {text}"
        )
        result.success = False
    return result


def _by_psor(problem, tol, max_iter, z0, omega):
    if np.any(np.diag(problem.M) <= 0.0):
        k = int(np.argmin(np.diag(problem.M)))
        raise InputError(
            f"solve_lcp: PSOR needs a positive diagonal, got {problem.origin[0][k, k]} in row {k}; use 'lemke'"
        )
    z = z0.copy()
    _, sweeps = psor(problem.M, problem.q, omega, 0.5 * tol, 10000 if max_iter is None else int(max_iter), z)
    return _result(problem, z if np.all(np.isfinite(z)) else z0, "psor", sweeps, tol)


def _by_newton(problem, tol, max_iter, z0, omega):
    z, w = z0.copy(), np.empty(len(z0))
    _, steps = newton_min(problem.M, problem.q, tol, 100 if max_iter is None else int(max_iter), z, w)
    return _result(problem, z if np.all(np.isfinite(z)) else z0, "newton-min", steps, tol)


def _judge(problem, result, definite, tol):
    """Add what is known about uniqueness; prove non-existence where the class of M allows it."""
    if result.success:
        zs, ws = result.z / problem.z_scale, result.w / problem.w_scale
        if definite == 2:
            result.unique = True
        elif definite == 1 and np.all(np.maximum(zs, ws) > 1e-9):
            # The solution set of a monotone problem is convex: strict complementarity and a regular block
            # make it one point.
            a = zs > ws
            block = problem.M[np.ix_(a, a)]
            result.unique = bool(np.linalg.matrix_rank(block) == len(block)) or None
    elif result.method in ("lemke", "auto"):
        y = _farkas(problem)
        if y is not None:
            _no_solution(problem)
    return result


def _staged(problem, tol, max_iter, definite):
    """Large or definite problems: Lemke, then min-Newton, then PSOR from the best point so far; reports the
    stage that solved it.
    """
    result = _by_lemke(problem, tol, max_iter, None, 1.0)
    notes = [result]
    stages = [_by_newton] + ([_by_psor] if np.all(np.diag(problem.M) > 0.0) else [])
    for stage in stages:
        if result.success:
            break
        best = min(notes, key=lambda r: r.residual)
        result = stage(problem, tol, max_iter, best.z / problem.z_scale, 1.0)
        notes.append(result)
    if not result.success:
        result = min(notes, key=lambda r: r.residual)
        result.method = "auto"
        tried = ", ".join(f"{r.method} ({r.message})" for r in notes)
        result.message = f"no method reached tol = {tol:.1e}: {tried}; whether a solution exists is not known"
    return _judge(problem, result, definite, tol)
