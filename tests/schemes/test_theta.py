"""The theta-Moreau scheme: closed forms of single steps, orders, Newton's method, laws, bad input."""

from dataclasses import replace

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.errors import ConvergenceError, InputError, NonFiniteError, RangeError


def one_step(f, rho, q, v, h, theta, gamma=1.0):
    """A single step of the ball."""
    ball = ns.MechanicalSystem(
        1.0,
        lambda t, q, u, p: np.array([p.f]),
        ns.Contact(lambda t, q: q[0], restitution=rho),
        params={"f": f},
    )
    return ns.simulate(ball, (0.0, h), [q], [v], method=ns.Theta(dt=h, theta=theta, gamma=gamma), audit=False)


@pytest.mark.parametrize("theta", [0.0, 0.5, 0.7, 1.0])
@pytest.mark.parametrize("sigma", [0.2, 0.9])
def test_local_errors_of_the_ball(theta, sigma):
    """Acary 2012, eqs. (25), (26) in the form of erratum 4, to rounding; gamma = 0 misses the impact, gamma = 1 sees it."""
    f, rho, h, v = -2.0, 0.5, 0.1, -3.0
    q = -sigma * v * h - f * (sigma * h) ** 2 / 2  # the impact is at sigma h
    v_minus = v + f * sigma * h
    rest = (1 - sigma) * h
    v_exact = -rho * v_minus + f * rest
    q_exact = -rho * v_minus * rest + f * rest**2 / 2
    half = rho * (1 - sigma) * sigma - (1 - sigma) ** 2 / 2
    missed = one_step(f, rho, q, v, h, theta, gamma=0.0)
    e_v, e_q = v_exact - missed.u[0, -1], q_exact - missed.q[0, -1]
    assert e_v == pytest.approx(-(1 + rho) * (v + h * f * sigma), abs=1e-14)
    assert e_q == pytest.approx(-q - h * (rho * (1 - sigma) + 1) * v - f * h**2 * (half + theta), abs=1e-14)
    bracket = half - sigma**2 / 2
    reduced = -h * (rho * (1 - sigma) + 1 - sigma) * v - f * h**2 * (bracket + theta)
    assert e_q == pytest.approx(reduced, abs=1e-14)
    seen = one_step(f, rho, q, v, h, theta)
    e_v, e_q = v_exact - seen.u[0, -1], q_exact - seen.q[0, -1]
    assert e_v == pytest.approx(h * f * (1 - sigma - rho * sigma), abs=1e-14)
    assert e_q == pytest.approx(
        -q - h * ((1 + rho) * (1 - theta) - rho * sigma) * v - f * h**2 * half, abs=1e-14
    )
    assert e_q == pytest.approx(-h * (1 + rho) * (1 - theta - sigma) * v - f * h**2 * bracket, abs=1e-14)


def slope(steps, errors):
    return np.polyfit(np.log(steps), np.log(np.abs(errors)), 1)[0]


@pytest.mark.parametrize("gamma, orders", [(0.0, (1.0, 0.0)), (1.0, (1.0, 1.0))], ids=["missed", "seen"])
def test_local_orders_across_an_impact(gamma, orders):
    """Propositions 1 and 3: e_q = O(h); e_v = O(1) where the impact is missed, O(h) where it is seen."""
    problem = ns.problems.acary_oscillator(case=2)
    t_1, exact = problem.reference.event_times()[0], problem.reference
    steps, errors = 0.1 / 2.0 ** np.arange(7), []
    for h in steps:
        t_0, t_2 = t_1 - 0.6 * h, t_1 + 0.4 * h
        run = ns.simulate(
            problem.system,
            (t_0, t_0 + h),
            exact.q(t_0),
            exact.u(t_0),
            method=ns.Theta(dt=h, gamma=gamma),
            audit=False,
        )
        errors.append([exact.q(t_2)[0] - run.q[0, -1], exact.u(t_2)[0] - run.u[0, -1]])
    for e, order in zip(np.array(errors).T, orders):
        assert slope(steps, e) == pytest.approx(order, abs=0.1)


def test_local_error_over_an_accumulation():
    """(27) in the form of erratum 5: e_v = rho v_k = h - 3/2^(n0 + 1) in a step [3 - h, 3 + h], of first order."""
    ball = ns.problems.acary_ball()
    for n in range(2, 12):
        h = 1.25 / 2.0**n
        q, v = ball.reference.q(3.0 - h), ball.reference.u(3.0 - h)
        run = ns.simulate(
            ball.system, (3.0 - h, 3.0 + h), q, v, method=ns.Theta(dt=2 * h, gamma=1.0), audit=False
        )
        assert 0.0 - run.u[0, -1] == pytest.approx(h - 3.0 / 2.0 ** (n + 1), abs=1e-14)


def rk4(a, w, h):
    """A step of a pendulum."""
    y, f = np.array([a, w]), lambda y: np.array([y[1], -9.81 * np.sin(y[0])])
    k_1 = f(y)
    k_2 = f(y + 0.5 * h * k_1)
    k_3 = f(y + 0.5 * h * k_2)
    k_4 = f(y + h * k_3)
    return y + h / 6.0 * (k_1 + 2.0 * k_2 + 2.0 * k_3 + k_4)


@pytest.mark.parametrize(
    "theta, directions, order",
    [(0.5, "end", 3.0), (0.5, "theta", 1.0), (1.0, "theta", 2.0), (1.0, "end", 2.0)],
)
def test_local_order_in_sustained_contact(theta, directions, order):
    """Proposition 2 on a curved contact, a mass inside a circle: fails as printed for theta = 1/2 (erratum 12); with the cure it is
    better by one."""
    inside = ns.Contact(
        lambda t, q: 1.0 - q[0] ** 2 - q[1] ** 2,
        jacobian=lambda t, q: np.array([[-2.0 * q[0], -2.0 * q[1]]]),
    )
    bowl = ns.MechanicalSystem(np.eye(2), np.array([0.0, -9.81]), inside)
    steps, errors = 0.04 / 2.0 ** np.arange(6), []
    for h in steps:
        a, w = np.arcsin(0.6), 2.0  # the angle by a fine Runge-Kutta rule
        for _ in range(64):
            a, w = rk4(a, w, h / 64)
        start = np.array([0.6, -0.8]), 2.0 * np.array([0.8, 0.6])  # exactly on the contact
        run = ns.simulate(
            bowl,
            (0, h),
            *start,
            method=ns.Theta(dt=h, theta=theta, gamma=1.0, directions=directions),
            audit=False,
        )
        errors.append(np.linalg.norm(run.u[:, -1] - w * np.array([np.cos(a), np.sin(a)])))
    assert slope(steps, errors) == pytest.approx(order, abs=0.2)


def swing(theta=0.5, directions="end", n=100, **more):
    """A pendulum in Cartesian coordinates."""
    system = ns.MechanicalSystem(
        np.eye(2), np.array([0.0, -9.81]), joints=[ns.Joint(lambda t, q: q[0] ** 2 + q[1] ** 2 - 1.0)]
    )
    method = ns.Theta(dt=1.0 / n, theta=theta, directions=directions, **more)
    return ns.simulate(system, (0, 1), [1.0, 0.0], [0.0, 0.0], method=method)


@pytest.mark.parametrize(
    "theta, directions, order",
    [(0.5, "end", 2), (0.5, "enduring", 2), (0.5, "secant", 2), (0.5, "theta", 1), (1.0, "end", 1)],
)
def test_order_on_a_curved_constraint(theta, directions, order):
    """Erratum 12: theta = 1/2 is of second order with its cures, and of first order as printed."""
    exact = np.array([-0.98629175113, -0.16501085313])  # of the angle, by DOP853 to 1e-12
    error = [np.linalg.norm(swing(theta, directions, n).q[:, -1] - exact) for n in (50, 100, 200)]
    assert np.log2(np.array(error[:-1]) / error[1:]) == pytest.approx(order, abs=0.25)


def test_forces_are_implicit():
    """A stiff spring and a stiff damper at steps a thousand times their time scales, and a mass matrix that depends on q."""
    stiff = ns.MechanicalSystem(
        lambda t, q: np.array([[1.0 + 0.5 * np.sin(q[0])]]),
        lambda t, q, u: np.array([-1e8 * q[0] ** 3 - 1e5 * u[0]]),
    )
    result = ns.simulate(stiff, (0, 1), [0.1], [0.0], method=ns.Theta(dt=0.01, theta=1.0))
    assert max(result.audit.momentum_residual, result.audit.position_residual) < 1e-12
    assert np.all(np.diff(result.q[0]) <= 0.0) and result.q[0, -1] > 0.0


def belt(q0, u0, method):
    """A block on a belt that hits a wall moving to and fro, pulled by a spring."""
    system = ns.MechanicalSystem(
        1.0, lambda t, q, u: -4.0 * q, ns.Contact(lambda t, q: q[0] + 0.5 + 0.1 * np.sin(3.0 * t), restitution=0.3, name="wall"),
        friction=[ns.FrictionElement(lambda t, q: np.array([1.0]), 1.5, surface_velocity=lambda t, q: np.array([-0.4]))],
    )  # fmt: skip
    return ns.simulate(system, (0, 3), q0, u0, method=method)


@pytest.mark.parametrize("theta", [0.5, 1.0])
def test_friction_and_moving_walls_against_moreau(theta):
    """First order: it meets Moreau's scheme as steps become small."""
    reference = belt([1.0], [0.0], ns.Moreau(dt=5e-5))
    result = belt([1.0], [0.0], ns.Theta(dt=5e-4, theta=theta))
    assert result.audit.ok, result.audit.failures()
    assert ns.l1_error(result.t, result.q, reference.t, reference.q) < 3e-3
    assert len(result.events) == len(reference.events)


@pytest.mark.parametrize("activation", ["none", "midpoint", "forecast"])
def test_activation(activation):
    """Where an impact is seen first: not forecast, half a step ahead, by gamma."""
    ball = ns.MechanicalSystem(1.0, 0.0, ns.Contact(lambda t, q: q[0], restitution=1.0))
    result = ns.simulate(
        ball, (0, 2), [1.03], [-1.0], method=ns.Theta(dt=0.1, gamma=0.2, activation=activation)
    )
    first = result.t[np.flatnonzero(result.P_N[0])[0]]
    assert first == pytest.approx({"none": 1.2, "midpoint": 1.1, "forecast": 1.2}[activation])
    assert result.audit.ok, result.audit.failures()


@pytest.mark.parametrize(
    "method",
    [ns.Theta(dt=1e-3, theta=1.0), ns.Theta(dt=1e-3, theta=0.75), ns.AdaptiveMoreau(tol=1e-4), ns.SchatzmanPaoli(dt=1e-3)],
    ids=["theta-1", "theta-3/4", "adaptive", "schatzman-paoli"],
)  # fmt: skip
@pytest.mark.parametrize("period", [1.0, 1e-6])
def test_carried_by_a_floor_that_shakes(method, period):
    """What rests on a floor that gathers speed is carried along up to O(dt), in any unit of time; the audit knows."""
    system = ns.MechanicalSystem(
        1.0,
        lambda t, q, u, p: np.array([-10.0 / p.T**2]),
        ns.Contact(lambda t, q, p: q[0] - 0.04 * np.sin(3.0 * t / p.T), restitution=0.3),
        params={"T": period},
    )
    method = replace(method, dt=method.dt * period) if hasattr(method, "dt") else method
    run = ns.simulate(system, (0, 2 * period), [0.0], [0.12 / period], method=method)
    assert np.max(np.abs(run.q[0] - 0.04 * np.sin(3.0 * run.t / period))) < 1e-3
    assert run.audit.ok, run.audit.failures()


@pytest.mark.parametrize("theta", [0.5, 1.0])
def test_stiff_parts_at_rest_are_audited(theta):
    """Two masses on a stiff damped spring come to rest: what is left of their energy is rounding, and no violation of its balance."""
    system = ns.MechanicalSystem(
        np.eye(2),
        lambda t, q, u: np.array([-1.0, 1.0]) * (4e4 * (q[0] - q[1]) + 400.0 * (u[0] - u[1])) - 9.81,
        ns.Contact(lambda t, q: q[0] - 1.2),
    )
    run = ns.simulate(system, (0, 1), [1.3, 1.3], [0.0, 0.0], method=ns.Theta(dt=5e-3, theta=theta))
    assert run.audit.ok, run.audit.failures()


def test_a_jump_of_a_force_is_named():
    """Newton's method fails where forces jump, and says so."""
    system = ns.MechanicalSystem(1.0, lambda t, q, u: np.array([-1e6 if u[0] > 0.0 else 1e6]))
    with pytest.raises(ConvergenceError, match="Newton's method for the implicit step"):
        ns.simulate(system, (0, 1), [0.0], [1.0], method="theta", dt=0.1)


@pytest.mark.parametrize(
    "options, error",
    [
        ({"theta": 1.2}, RangeError),
        ({"theta": -0.1}, RangeError),
        ({"theta": "half"}, InputError),
        ({"gamma": float("nan")}, NonFiniteError),
        ({"gamma": 2}, RangeError),
        ({"activation": "all"}, InputError),
        ({"directions": "begin"}, InputError),
        ({"directions": "enduring", "theta": 0.0}, InputError),
        ({"directions": "secant", "theta": 0.0}, InputError),
        ({"projection": "sometimes"}, InputError),
        ({"projection": 1}, InputError),
        ({"dt": 0.0}, RangeError),
    ],
)
def test_bad_options(options, error):
    with pytest.raises(error, match=next(name for name in options)):
        ns.Theta(**{"dt": 0.1, **options})
