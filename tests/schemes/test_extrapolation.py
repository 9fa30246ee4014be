"""Extrapolated time-stepping: the examples of Studer, Leine, Glocker 2008, sec. 10, random systems, corner cases."""

import math
import warnings

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth import Contact, ExtrapolatedMoreau, FrictionElement, MechanicalSystem, problems, simulate
from nonsmooth.errors import EnergyGainWarning, InputError, NonFiniteError, RangeError, ZenoWarning

pytestmark = pytest.mark.filterwarnings("ignore::nonsmooth.errors.PenetrationWarning")


def quiet(problem, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZenoWarning)
        return problem.simulate(*args, method=ExtrapolatedMoreau(**options))


# -- 10.1 falling mass ------------------------------------------------------------------------------------------------

T_STAR = 0.6769509168983


@pytest.mark.parametrize("locate", [False, True])
def test_falling_mass_with_odd_and_with_all_substeps(locate):
    problem = problems.falling_ball()
    odd = quiet(problem, dt_min=1e-5, dt_max=0.05, locate=locate)
    first = problem.reference.event_times()[0]
    flight = (odd.t > 0) & (odd.t < first - 1e-4) & (odd.dt > 2e-5)
    assert flight.any() and np.all(odd.order[flight] == 2)
    # exact parabola: to rounding
    q, u = problem.reference.q(odd.t[flight]), problem.reference.u(odd.t[flight])
    assert np.abs(odd.q[:, flight] - q).max() < 2e-16 and np.abs(odd.u[:, flight] - u).max() < 1e-14
    # back to dt_max after the accumulation point, and at rest
    later = odd.t > T_STAR + 0.1
    assert odd.dt[later].max() == 0.05
    assert np.abs(odd.u[:, odd.t > T_STAR + 0.2]).max() < 1e-9
    assert np.sum(odd.dt < 2e-5) < 250 and odd.nsteps < 1000
    # all numbers of substeps make energy at the enduring contact (sec. 8.1): the step does not come back (Fig. 9)
    every = quiet(problem, (0.0, 0.8), dt_min=1e-5, dt_max=0.05, locate=locate, substeps="all")
    later = every.t > T_STAR + 0.02
    assert np.median(every.dt[later]) < 1e-4 and every.dt[later].sum() > 0.09
    # so does e^(dt/dt_min) mend it
    modified = quiet(problem, dt_min=1e-5, dt_max=0.05, locate=locate, substeps="all", restitution="modified")
    assert modified.dt[modified.t > T_STAR + 0.1].max() == 0.05


@pytest.mark.parametrize(("name", "t_star"), [("falling_ball", T_STAR), ("acary_ball", 3.0)])
def test_accumulation_point_is_passed_and_told_once(name, t_star):
    problem = problems.get(name)
    for options in ({"dt_min": 1e-5, "dt_max": 0.05}, {"dt_min": 1e-5, "dt_max": 0.05, "locate": False}, {}):
        with pytest.warns(ZenoWarning, match="accumulate") as caught:
            result = problem.simulate(method=ExtrapolatedMoreau(**options))
        assert len(caught) == 1
        zeno = [event for event in result.events if event.kind == "zeno"]
        assert len(zeno) == 1
        dt_min = result.dt[1]  # the first step is a step of dt_min
        assert abs(zeno[0].t - t_star) < 4 * dt_min
        assert zeno[0].bracket[0] <= t_star <= zeno[0].bracket[1] + 4 * dt_min
        assert np.sum(result.dt[1:] < 1.01 * dt_min) < 200
        times = [event.t for event in result.events if event.kind == "impact"]
        exact = problem.reference.event_times()[:10]
        np.testing.assert_allclose(times[:10], exact, rtol=0, atol=20 * dt_min)


# -- 10.2 sliding mass ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("locate", [False, True])
def test_sliding_mass_sticks_once(locate):
    problem = problems.sliding_mass()
    dt_min = 1e-6
    result = quiet(problem, dt_min=dt_min, dt_max=0.1, rtol=1e-9, max_order=6, locate=locate)
    switching = [event for event in result.events if event.kind != "breakpoint"]
    assert [event.kind for event in switching] == ["stick"]
    t_stick = problem.reference.event_times("stick")[0]
    assert abs(switching[0].t - t_stick) < dt_min + 1e-8
    assert 3.0 in result.t
    # high order through the turn (closest to zero speed), order 2 far from it
    turn = problem.reference
    speed = np.hypot(*result.u)
    slides = (result.t > 0.1) & (result.t < 2.9)
    slowest = result.t[slides][np.argmin(speed[slides])]
    near = np.abs(result.t - slowest) < 0.05
    assert result.order[near].max() >= 4
    assert np.abs(result.q - turn.q(result.t)).max() < 1e-7


# -- 10.3 impact oscillator --------------------------------------------------------------------------------------------


def test_impact_oscillator_fixed_order():
    problem = problems.impact_oscillator()
    ends = np.linspace(1.9, 2.3, 8)
    exact = problem.reference.q(ends)[0]
    for p in (1, 2, 3, 4, 5, 6):
        steps = np.geomspace(0.012, 0.05, 10) if p > 1 else np.geomspace(0.004, 0.02, 10)
        errors = []
        for dt_max in steps:
            dt_min = max(0.01 * dt_max**p, 1e-13)
            result = problem.simulate(
                (0.0, 2.4), t_eval=ends, audit=False,
                method=ExtrapolatedMoreau(order=p, dt_min=dt_min, dt_max=dt_max, locate=p > 1),
            )  # fmt: skip
            assert len([e for e in result.events if e.kind == "impact"]) == np.sum(
                problem.reference.event_times() < 2.4
            )
            errors.append(np.mean(np.abs(result.q[0] - exact)))
        slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
        assert slope >= p - 0.3, (p, slope, errors)


@pytest.mark.parametrize("locate", [False, True])
def test_no_impact_is_lost_at_any_step_size(locate):
    problem = problems.impact_oscillator(t_end=10.0)
    wanted = [(event.kind, event.name) for event in problem.reference.events]
    assert len(wanted) >= 23
    speeds = [event.u_before[0] for event in problem.reference.events]
    assert speeds[-1] < 1e-4  # the late impacts nearly graze
    for dt_max in (0.04, 0.02, 0.01):
        result = quiet(problem, dt_min=1e-11, dt_max=dt_max, rtol=1e-11, max_order=8, locate=locate)
        assert [(event.kind, event.name) for event in result.events] == wanted


def test_tolerance_steers_the_error():
    problem = problems.impact_oscillator()
    t = np.linspace(0.0, 5.0, 201)
    errors = []
    for rtol in (1e-4, 1e-6, 1e-8, 1e-10):
        result = problem.simulate(method="extrapolated-moreau", rtol=rtol, t_eval=t)
        errors.append(np.abs(result.q - problem.reference.q(t)).max())
        assert errors[-1] < 40 * rtol  # the nearly grazing impacts amplify
    assert problem.simulate(method="extrapolated-moreau", rtol=1e-10).nbase < 2.5e4
    assert np.all(np.diff(errors) < 0)


# -- 10.4 woodpecker ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "tolerance"),
    [
        ({"dt_min": 1e-7, "dt_max": 5e-3, "locate": False}, 1e-6),
        ({"dt_min": 1e-7, "dt_max": 5e-3}, 1e-8),
        ({"dt_min": 1e-9, "dt_max": 5e-3, "rtol": 1e-9}, 1e-10),
        ({"rtol": 1e-6}, 1e-6),
    ],
)
def test_woodpecker_table_vii(options, tolerance):
    problem = problems.woodpecker()
    result = quiet(problem, (0.0, 0.14), **options)
    reference = [event for event in problem.reference.events if event.t < 0.14]
    assert [(e.kind, e.name) for e in result.events] == [(e.kind, e.name) for e in reference]
    # an impact closes and opens: two lines of Table VII
    assert sum(2 if event.kind == "impact" else 1 for event in result.events) == 12
    np.testing.assert_allclose([e.t for e in result.events], [e.t for e in reference], rtol=0, atol=tolerance)
    assert result.order.max() <= 6
    for event in result.events:
        assert event.bracket[0] <= event.t <= event.bracket[1]


# -- friction ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("locate", [False, True])
def test_slip_reversals_keep_the_order(locate):
    problem = problems.belt_oscillator()
    result = quiet(problem, rtol=1e-9, dt_min=1e-8, dt_max=0.4, locate=locate)
    kinds = [event.kind for event in result.events]
    if locate:
        reference = problem.reference.events
        assert [(e.kind, e.name) for e in result.events] == [(e.kind, e.name) for e in reference]
        np.testing.assert_allclose([e.t for e in result.events], [e.t for e in reference], rtol=0, atol=1e-6)
    assert kinds.count("reversal") >= 3
    assert np.abs(result.q - problem.reference.q(result.t)).max() < 2e-8
    assert result.order.max() >= 4


# -- corner cases: one mass on a spring over a floor --------------------------------------------------------------------


def mass(t, q, p, out):
    for i in range(q.size):
        for j in range(q.size):
            out[i, j] = 1.0 if i == j else 0.0


def force(t, q, u, p, out):
    for i in range(q.size):
        out[i] = -p.c * q[i] - p.g


def gap(t, q, p, out):
    out[0] = q[0] + p.h
    out[1] = q[1] + p.h


def jacobian(t, q, p, out):
    out[0, 0], out[0, 1], out[1, 0], out[1, 1] = 1.0, 0.0, 0.0, 1.0


TWO = MechanicalSystem(
    mass,
    force,
    contacts=[Contact(gap, restitution=0.5, jacobian=jacobian, name="floor")],
    params={"c": 0.0, "g": 1.0, "h": 0.0},
)


def test_two_contacts_closing_at_once():
    result = simulate(TWO, (0.0, 2.0), [0.5, 0.5], [0.0, 0.0], method="extrapolated-moreau", rtol=1e-8)
    impacts = [event for event in result.events if event.kind == "impact"]
    assert {event.law for event in impacts if abs(event.t - 1.0) < 1e-7} == {0, 1}
    np.testing.assert_array_equal(result.q[0], result.q[1])
    # nearly at once: two impacts 1e-7 apart
    shifted = 0.5 * (1 + 1e-7) ** 2
    result = simulate(TWO, (0.0, 1.5), [0.5, shifted], [0.0, 0.0], method="extrapolated-moreau", rtol=1e-9)
    times = [event.t for event in result.events if event.kind == "impact"]
    np.testing.assert_allclose(times, [1.0, 1.0 + 1e-7], rtol=0, atol=2e-9)


def test_contact_at_the_start():
    rest = simulate(TWO, (0.0, 1.0), [0.0, 0.0], [0.0, 0.0], method="extrapolated-moreau", rtol=1e-6)
    assert len(rest.events) == 0 and np.all(rest.q == 0) and np.all(rest.modes == 1)
    assert rest.nsteps < 60
    bounce = simulate(TWO, (0.0, 0.5), [0.0, 0.0], [-1.0, 2.0], method="extrapolated-moreau", rtol=1e-8)
    t = bounce.t[1:]
    np.testing.assert_allclose(bounce.q[0, 1:], 0.5 * t - 0.5 * t**2, rtol=0, atol=1e-8)
    np.testing.assert_allclose(bounce.q[1, 1:], 2.0 * t - 0.5 * t**2, rtol=0, atol=1e-8)


def test_short_and_empty_spans():
    method = ExtrapolatedMoreau(dt_min=1e-3, dt_max=0.1, locate=False)
    short = simulate(TWO, (0.0, 1e-4), [1.0, 1.0], [0.0, 0.0], method=method)
    assert short.success and short.t[-1] == 1e-4 and short.nsteps == 1
    assert simulate(TWO, (1.0, 1.0), [1.0, 1.0], [0.0, 0.0], method=method).t.tolist() == [1.0]
    late = simulate(TWO, (1e6, 1e6 + 2), [0.5, 0.5], [0.0, 0.0], method="extrapolated-moreau", rtol=1e-6)
    assert abs(late.events[0].t - 1e6 - 1.0) < 1e-6


def test_without_contacts_it_is_plain_extrapolation():
    free = MechanicalSystem(mass, force, params={"c": 4.0, "g": 0.0})
    t = np.linspace(0.0, 10.0, 33)
    for base in ("midpoint", "implicit"):
        method = ExtrapolatedMoreau(rtol=1e-10, max_order=8, base=base)
        result = simulate(free, (0.0, 10.0), [1.0, 0.0], [0.0, 2.0], method=method, t_eval=t)
        np.testing.assert_allclose(result.q, [np.cos(2 * t), np.sin(2 * t)], rtol=0, atol=2e-8)
        assert len(result.events) == 0


def test_order_of_one_main_step():
    """Local errors of T_pp: halving the step divides them by 2^(p+1) (more where the expansion is even)."""
    free = MechanicalSystem(mass, damped, params={"c": 4.0, "g": 0.3})
    start = ([1.0, 0.2], [0.3, 2.0])
    exact = simulate(free, (0.0, 0.2), *start, method=ExtrapolatedMoreau(rtol=1e-13, max_order=12)).y[:, -1]
    for base in ("midpoint", "implicit"):
        for p in (1, 2, 3, 4):
            errors = []
            for dt in (0.02, 0.01, 0.005):
                method = ExtrapolatedMoreau(order=p, dt_min=1e-9, dt_max=dt, base=base)
                errors.append(
                    np.abs(simulate(free, (0.0, 0.2), *start, method=method).y[:, -1] - exact).max()
                )
            slope = np.polyfit(np.log([4.0, 2.0, 1.0]), np.log(errors), 1)[0]
            assert abs(slope - p) < 0.35, (base, p, slope)


def damped(t, q, u, p, out):
    for i in range(q.size):
        out[i] = -p.c * np.sin(q[i]) - p.g * u[i] * (1.0 + u[i] * u[i])


@pytest.mark.parametrize("base", ["midpoint", "implicit"])
def test_second_base_scheme(base):
    """The wrappers do not know what they wrap: events and accuracy also with a fully implicit step."""
    problem = problems.impact_oscillator(t_end=2.0)
    result = quiet(problem, rtol=1e-7, dt_min=1e-10, dt_max=0.05, base=base)
    wanted = [event for event in problem.reference.events if event.t < 2.0]
    assert [event.kind for event in result.events] == ["impact"] * len(wanted)
    np.testing.assert_allclose([e.t for e in result.events], [e.t for e in wanted], rtol=0, atol=1e-5)


def test_output_between_steps_does_not_disturb_the_run():
    problem = problems.woodpecker()
    for locate in (True, False):
        method = ExtrapolatedMoreau(dt_min=1e-7, dt_max=5e-3, locate=locate)
        plain = problem.simulate((0.0, 0.14), method=method)
        t = np.union1d(np.linspace(0.0, 0.14, 57), plain.t)
        dense = problem.simulate((0.0, 0.14), method=method, t_eval=t)
        assert np.array_equal(dense.t, t)
        same = np.isin(t, plain.t)
        assert np.array_equal(dense.q[:, same], plain.q) and np.array_equal(dense.u[:, same], plain.u)
        assert [(e.t, e.kind) for e in dense.events] == [(e.t, e.kind) for e in plain.events]
        assert dense.nsteps == plain.nsteps
    again = problem.simulate((0.0, 0.14), method=method)
    assert np.array_equal(again.y, plain.y)
    # between steps as accurate as at their ends
    ball = problems.acary_ball()
    t = np.linspace(0.0, 2.9, 100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZenoWarning)
        result = ball.simulate(method="extrapolated-moreau", rtol=1e-9, t_eval=t, t_span=(0.0, 2.9))
    assert np.abs(result.q - ball.reference.q(t)).max() < 1e-9


@pytest.mark.parametrize("solver", [ns.PSOR(tol=1e-12), ns.PJOR(tol=1e-12, r_factor="row-sum")])
def test_relaxation_solvers(solver):
    problem = problems.woodpecker()
    exact = quiet(problem, (0.0, 0.1), dt_min=1e-7, dt_max=5e-3)
    result = quiet(problem, (0.0, 0.1), dt_min=1e-7, dt_max=5e-3, solver=solver)
    assert [(e.kind, e.name) for e in result.events] == [(e.kind, e.name) for e in exact.events]
    np.testing.assert_allclose(result.q[:, -1], exact.q[:, -1], rtol=0, atol=1e-7)


def test_unconverged_steps_are_raised_accepted_or_retried():
    problem = problems.woodpecker()
    weak = ns.PSOR(tol=1e-14, max_iter=2)
    method = ExtrapolatedMoreau(dt_min=1e-6, dt_max=5e-3, solver=weak)
    with pytest.raises(ns.errors.ConvergenceError, match="residual") as caught:
        problem.simulate((0.0, 0.05), method=method)
    assert caught.value.partial.t[-1] < 0.05
    result = problem.simulate((0.0, 0.01), method=method, on_failure="accept")
    assert result.success and result.audit.unconverged > 0
    with pytest.raises(ns.errors.ConvergenceError):
        problem.simulate((0.0, 0.05), method=method, on_failure="halve")


def floor_gap(t, q, p, out):
    out[0] = q[1]


def leaning_tangent(t, q, p, out):
    out[0, 0], out[1, 0] = 1.0, 2.0


def test_energy_gain_is_told():
    """Newton's law with friction can create energy: with gamma_T = u_0 + 2 u_1 the impact ends with u = (-1.8, 0.9) v,
    T = 2.025 v^2 after 0.5 v^2."""
    contact = Contact(floor_gap, restitution=0.9, friction=0.8, tangent=leaning_tangent, name="floor")
    system = MechanicalSystem(mass, force, contacts=[contact], params={"c": 0.0, "g": 1.0, "h": 0.0})
    start = ([0.0, 0.5], [1.0, 0.0])
    with pytest.warns(EnergyGainWarning, match="raised the kinetic energy at t = 1 "):
        result = simulate(system, (0.0, 1.5), *start, method="extrapolated-moreau", rtol=1e-8)
    after = np.searchsorted(result.t, 1.0 + 1e-6)
    np.testing.assert_allclose(result.u[:, after], [-1.8, 0.9], rtol=0, atol=1e-5)
    tame = MechanicalSystem(
        mass,
        force,
        contacts=[Contact(floor_gap, restitution=0.9, tangent=leaning_tangent)],
        params={"c": 0.0, "g": 1.0, "h": 0.0},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", EnergyGainWarning)
        simulate(tame, (0.0, 1.5), *start, method="extrapolated-moreau", rtol=1e-8)


def test_breakpoints_are_hit_and_forces_jump_there():
    problem = problems.sliding_mass()
    method = ExtrapolatedMoreau(rtol=1e-8)
    result = problem.simulate(method=method, breakpoints=[1.0, 3.0])
    assert {1.0, 3.0} <= set(result.t.tolist())
    assert [e.t for e in result.events if e.kind == "breakpoint"] == [1.0, 3.0]


# -- 50 random systems --------------------------------------------------------------------------------------------------


def chain_mass(t, q, p, out):
    for i in range(q.size):
        for j in range(q.size):
            out[i, j] = p.M[i, j]


def chain_force(t, q, u, p, out):
    for i in range(q.size):
        out[i] = p.f[i]
        for j in range(q.size):
            out[i] -= p.K[i, j] * q[j] + p.D[i, j] * u[j]


def planes(t, q, p, out):
    for c in range(6):
        out[c] = p.h[c]
        for j in range(q.size):
            out[c] += p.N[c, j] * q[j]


def plane_jacobian(t, q, p, out):
    for c in range(6):
        for j in range(q.size):
            out[c, j] = p.N[c, j]


def plane_tangents(t, q, p, out):
    for c in range(6):
        for j in range(q.size):
            out[j, c] = p.T[c, j]


def random_parameters(n, rng):
    """A linear chain among up to six frictional planes; planes not used are far away."""
    A, B = rng.normal(size=(2, n, n))
    K = 4.0 * (B @ B.T / n + 0.5 * np.eye(n))
    N, T = rng.normal(size=(2, 6, n))
    N /= np.linalg.norm(N, axis=1)[:, None]
    T -= np.sum(T * N, axis=1)[:, None] * N
    T /= np.linalg.norm(T, axis=1)[:, None]
    h = 0.2 + 0.5 * rng.random(6)
    h[rng.permutation(6)[: rng.integers(0, 6)]] = 1e3
    return {
        "M": A @ A.T / n + np.eye(n), "K": K, "D": 0.05 * rng.random() * K, "f": 2.0 * rng.normal(size=n), "N": N, "T": T,
        "h": h,
    }  # fmt: skip


def several_contacts(run, t):
    """Whether impacts of more than one contact lead up to t."""
    return len({e.name for e in run.events if e.kind == "impact" and t - 0.05 < e.t <= t}) > 1


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
@pytest.mark.filterwarnings("ignore::nonsmooth.errors.NonsmoothWarning")
def test_random_systems_agree_with_tiny_steps(n):
    rng = np.random.default_rng(1000 + n)
    contact = Contact(
        planes, restitution=[0.0, 0.3, 0.6, 0.0, 0.3, 0.6], friction=[0.0, 0.2, 0.5, 0.5, 0.3, 0.0], tangent=plane_tangents,
        jacobian=plane_jacobian, name="plane",
    )  # fmt: skip
    system = MechanicalSystem(chain_mass, chain_force, contacts=[contact], params=random_parameters(n, rng))
    t = np.linspace(0.0, 1.0, 21)
    dt = 8e-5
    touched = unsettled = 0
    for _ in range(10):
        system = system.with_params(**random_parameters(n, rng))
        start = (np.zeros(n), 2.0 * rng.normal(size=n))
        settings = dict(method="extrapolated-moreau", t_eval=t, max_steps=20_000, audit=False)
        fine = simulate(system, (0.0, 1.0), *start, **settings, rtol=1e-8)
        coarse = simulate(system, (0.0, 1.0), *start, **settings, rtol=1e-6)
        # the first-order error depends on where in a step the impacts fall: estimated by the spread over many step sizes
        factors = (1.0, 0.9, 0.81, 2.0, 1.8, 1.6, 4.0, 3.6)
        tiny = [simulate(system, (0.0, 1.0), *start, dt=f * dt, t_eval=t, audit=False).q for f in factors]
        # Impacts of two contacts may accumulate in a corner: which of them is the last decides how the motion goes on, for
        # any scheme and any step. Up to there the motion is determined; behind an accumulation of one contact alone it is, too.
        corner = min(
            (z.t for z in fine.events if z.kind == "zeno" and several_contacts(fine, z.t)), default=2.0
        )
        settled = t < corner
        own = np.abs(fine.q - coarse.q)[:, settled].max()
        moreau = max(np.abs(a - b)[:, settled].max() for a in tiny for b in tiny)
        assert own < 1e-6 * max(np.abs(fine.q).max(), 1.0)
        assert np.abs(fine.q - tiny[0])[:, settled].max() <= own + moreau
        assert fine.nsteps < 5000 and fine.nbase < 60_000
        touched += len(fine.events) > 0
        unsettled += corner < 1.0
    assert touched >= 5 and unsettled <= 1


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"dt_min": 0.1, "dt_max": 0.1}, RangeError, "smaller than `dt_max`"),
        ({"dt_min": 0.2, "dt_max": 0.1}, RangeError, "smaller than `dt_max`"),
        ({"dt_min": 0.0}, RangeError, "dt_min"),
        ({"dt_min": -1e-5}, RangeError, "dt_min"),
        ({"dt_max": float("nan")}, NonFiniteError, "dt_max"),
        ({"dt_min": "small"}, InputError, "dt_min"),
        ({"order": 0}, RangeError, "order"),
        ({"order": -2}, RangeError, "order"),
        ({"order": 2.5}, RangeError, "order"),
        ({"order": "two"}, InputError, "order"),
        ({"max_order": 0}, RangeError, "max_order"),
        ({"max_order": 99}, RangeError, "max_order"),
        ({"rtol": 0.0}, RangeError, "rtol"),
        ({"rtol": -1e-6}, RangeError, "rtol"),
        ({"rtol": float("inf")}, NonFiniteError, "rtol"),
        ({"atol": -1.0}, RangeError, "atol"),
        ({"atol": None}, InputError, "atol"),
        ({"substeps": "even"}, InputError, "substeps"),
        ({"substeps": [2, 3]}, InputError, "substeps"),
        ({"substeps": [1, 3, 3]}, InputError, "substeps"),
        ({"substeps": [1, 3], "max_order": 6}, RangeError, "substeps"),
        ({"substeps": 3}, InputError, "substeps"),
        ({"restitution": "poisson"}, InputError, "restitution"),
        ({"base": "theta"}, InputError, "base"),
        ({"solver": "guess"}, InputError, "solver"),
    ],
)
def test_bad_options(options, error, text):
    with pytest.raises(error, match=text):
        ExtrapolatedMoreau(**options)


def test_smallest_step_below_the_resolution_of_time():
    with pytest.raises(RangeError, match="resolution of time"):
        simulate(TWO, (1e6, 1e6 + 1), [1.0, 1.0], [0.0, 0.0], method=ExtrapolatedMoreau(dt_min=1e-12))
    with pytest.raises(RangeError, match="smaller than `dt_max`"):
        simulate(TWO, (0.0, 1.0), [1.0, 1.0], [0.0, 0.0], method=ExtrapolatedMoreau(dt_min=10.0))
    with pytest.raises(InputError, match="does not take"):
        simulate(TWO, (0.0, 1.0), [1.0, 1.0], [0.0, 0.0], method="extrapolated-moreau", dt=0.1)


@pytest.mark.parametrize("substeps", ["bulirsch", [1, 3, 7, 15, 31, 63]])
def test_other_odd_sequences(substeps):
    problem = problems.impact_oscillator(t_end=2.0)
    result = quiet(problem, dt_min=1e-9, dt_max=0.05, substeps=substeps, rtol=1e-7)
    wanted = [event.t for event in problem.reference.events if event.t < 2.0]
    np.testing.assert_allclose([event.t for event in result.events], wanted, rtol=0, atol=1e-5)


def test_friction_element_with_a_limit_that_grows():
    """Force-type ends of modes: a mass pulled by a growing force begins to slip when the force reaches the limit."""

    def pull(t, q, u, p):
        return np.array([t])

    block = MechanicalSystem(
        lambda t, q, p: np.eye(1),
        pull,
        friction=[FrictionElement(lambda t, q, p: np.ones(1), 1.0, name="floor")],
    )
    for rtol in (1e-4, 1e-6, 1e-9):
        result = simulate(block, (0.0, 2.0), [0.0], [0.0], method="extrapolated-moreau", rtol=rtol)
        assert [(event.kind, event.name) for event in result.events] == [("slip", "floor")]
        assert abs(result.events[0].t - 1.0) < 1e-6
        assert abs(result.u[0, -1] - 0.5) < rtol
        assert result.nsteps < 200


@pytest.mark.parametrize("height", [1.0, -3.3, 1e3, 1e5])
@pytest.mark.parametrize("e", [0.1, 0.4, 0.9])
def test_accumulation_on_a_displaced_floor(height, e):
    """Where a body falls slower than rounding of its coordinate shows, the contact closes; the run does not grind."""
    system = ns.MechanicalSystem(
        1.0,
        lambda t, q, u: np.array([-9.81]),
        ns.Contact(lambda t, q, p: q[0] - p.height, restitution=e),
        params=dict(height=height),
    )
    fall = math.sqrt(0.8 / 9.81)
    t_star = fall * (1 + 2 * e / (1 - e))  # geometric series of flights
    for rtol in (1e-4, 1e-6, 1e-8, 1e-10):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ZenoWarning)
            settings = dict(method="extrapolated-moreau", rtol=rtol, max_steps=4000)
            result = ns.simulate(system, (0, t_star + 0.5), [height + 0.4], [0.0], **settings)
        assert abs(result.q[0, -1] - height) < 1e-12 * max(1.0, abs(height))
        assert result.u[0, -1] == 0.0
        closed = [event.t for event in result.events if event.kind == "close"]
        assert len(closed) == 1 and abs(closed[0] - t_star) < 5e-3 * t_star
