"""The generalized-alpha method: levels of constraints, orders, impacts, friction, starts, bad input."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth.errors import InconsistentStateError, InputError, RangeError, RedundantConstraintWarning
from nonsmooth.schemes.generalized_alpha import hht, newmark

J = 0.1


def pendulum(gravity=-10.0, contacts=()):
    """Bruls, Acary, Cardona 2018, sec. 5: a body on a rod of length one, in three coordinates."""
    joint = ns.Joint(
        lambda t, q: np.array([q[0] - np.cos(q[2]), q[1] - np.sin(q[2])]),
        jacobian=lambda t, q: np.array([[1.0, 0.0, np.sin(q[2])], [0.0, 1.0, -np.cos(q[2])]]),
    )
    return ns.MechanicalSystem(
        np.diag([1.0, 1.0, J]), np.array([0.0, gravity, 0.0]), joints=[joint], contacts=contacts
    )


def state(theta, omega):
    c, s = np.cos(theta), np.sin(theta)
    return [c, s, theta], [-s * omega, c * omega, omega]


def levels(r):
    """Residuals of the joint on the three levels."""
    c, s, omega = np.cos(r.q[2]), np.sin(r.q[2]), r.u[2]
    g = np.array([r.q[0] - c, r.q[1] - s])
    rate = np.array([r.u[0] + s * omega, r.u[1] - c * omega])
    w = r.acceleration
    second = np.array([w[0] + s * w[2] + c * omega**2, w[1] - c * w[2] + s * omega**2])
    return tuple(np.max(np.abs(x[:, 1:])) for x in (g, rate, second))


SMOOTH = pendulum()
WALL = ns.Contact(lambda t, q: q[0] - np.sqrt(0.5), restitution=0.8)
BOUNCING = pendulum(10.0, [WALL])


def swing(form, h=2e-3, T=0.5, system=SMOOTH, **more):
    method = ns.GeneralizedAlpha(constraints=form, dt=h, **{"rho_inf": 0.9, **more})
    return ns.simulate(system, (0, T), *state(np.pi / 6, 10.0), method=method)


# closed form of the pendulum at t = 0.5 (energy integral, quadrature to 1e-12)
THETA, OMEGA = 5.711691786695225, 10.905285493129451
LA = -104.16312944060333


@pytest.mark.parametrize("start_from", ["shifted", "zero"])
def test_all_three_levels_hold(start_from):
    position, velocity, acceleration = levels(swing("PVA", start_from=start_from))
    assert position <= 1e-13 and velocity <= 1e-12 and acceleration <= 1e-11


@pytest.mark.parametrize("form", ["PVA", "PVV", "PV", "PV-GGL", "P", "V", "A"])
def test_second_order_in_positions_velocities_and_multipliers(form):
    errors = []
    for h in (4e-3, 2e-3):
        r = swing(form, h)
        assert r.audit.ok, r.audit.failures()
        errors.append(np.abs([r.q[2, -1] - THETA, r.u[2, -1] - OMEGA, r.la[0, -1] - LA]))
    order = np.log2(errors[0] / errors[1])
    assert np.all(np.abs(order - 2.0) < 0.2), order


def test_disturbed_accelerations_cost_an_order_and_restarting_gives_it_back():
    def order(**more):
        e = [abs(swing("PVA", h, start_from="zero", **more).q[2, -1] - THETA) for h in (5e-4, 2.5e-4)]
        return np.log2(e[0] / e[1])

    assert 0.8 < order() < 1.3
    assert 1.8 < order(restart=True) < 2.2


def test_baumgarte_and_other_coefficients():
    drift = levels(swing("A"))[0]
    assert levels(swing("A", baumgarte=(20.0, 20.0)))[0] < 0.3 * drift
    for coefficients in (newmark(), hht(0.1)):
        assert abs(swing("PVA", coefficients=coefficients).q[2, -1] - THETA) < 2e-3


def bounce(form="PVA", h=1e-3, T=4.0, **more):
    method = ns.GeneralizedAlpha(constraints=form, dt=h, **{"rho_inf": 0.9, **more})
    return ns.simulate(BOUNCING, (0, T), *state(np.pi / 12, 0.0), method=method)


@pytest.fixture(scope="module")
def bounced():
    return bounce()


def test_bouncing_pendulum_closes_and_comes_to_rest(bounced):
    """Sec. 6.1: impacts where they belong, no energy made, the smooth motion takes over when the contact has closed."""
    r = bounced
    hits = np.flatnonzero((r.P_N[0] > 1.0) & (np.roll(r.P_N[0], 1) == 0.0))[:3]
    assert np.all(np.abs(r.t[hits] - [0.351186525, 1.3098, 2.0]) < [5e-3, 0.5, 0.6])
    assert np.min(r.P_N) >= 0.0
    energy = 0.5 * (r.u[0] ** 2 + r.u[1] ** 2 + J * r.u[2] ** 2) - 10.0 * r.q[1]
    assert np.max(np.diff(energy)) <= 1e-4
    position, velocity, _ = levels(r)
    assert max(position, velocity) <= 1e-12 and np.min(r.q[0]) >= np.sqrt(0.5) - 1e-12
    for x in (r.U, r.W, r.La):
        assert np.max(np.abs(x[:, -1])) <= 1e-12
    assert r.la[0, -1] == pytest.approx(10.0, abs=1e-9)  # force of the wall: rows of contacts come first
    assert r.audit.ok, r.audit.failures()


def test_smooth_motion_of_velocity_level_never_knows_the_wall():
    r = bounce("PVV", T=4.0)
    assert np.max(np.abs(r.W[:, -1])) >= 1e-3 and np.all(r.la[0] == 0.0)


@pytest.mark.parametrize("activation", ["gap", "smooth-gap"])
def test_other_activations_see_the_first_impact(activation):
    r = bounce(T=0.5, activation=activation)
    assert r.t[np.argmax(r.P_N[0] > 1.0)] == pytest.approx(0.3512, abs=5e-3)


@pytest.mark.parametrize("form", ["PVA", "PVV"])
def test_three_sub_problems_lead_to_the_same_motion(form):
    """Algorithm 1 of the paper: joints, an impact, sets; iterations converge to the coupled solution."""
    one, three = (bounce(form, h=2e-3, T=0.5, iteration=x) for x in ("coupled", "subproblems"))
    assert np.max(np.abs(one.q - three.q)) < 1e-12 and np.max(np.abs(one.P_N - three.P_N)) < 1e-11
    assert np.array_equal(one.sets, three.sets) and np.max(np.abs(one.la - three.la)) < 1e-8


def chain(n=8):
    """Masses and springs that meet a wall: stiff enough that a step couples positions and forces."""

    def force(t, q, u, out):
        out[0] = 0.0
        for i in range(q.size - 1):
            f = 800.0 * (q[i + 1] - q[i])
            out[i] += f
            out[i + 1] = -f

    wall = ns.Contact(lambda t, q: 1.0 - q[q.size - 1])
    return ns.MechanicalSystem(np.eye(n) * 0.1, force, contacts=[wall])


def test_sub_problems_converge_linearly_where_the_smooth_motion_does_not_know_the_contact():
    """Sec. 6.3: one iteration per contact step for PVA, many for PVV; none in free flight."""
    counts, ends = {}, []
    for form in ("PVA", "PVV"):
        method = ns.GeneralizedAlpha(
            constraints=form, dt=1e-2, rho_inf=0.8, iteration="subproblems", tol=1e-4
        )
        r = ns.simulate(chain(), (0, 0.3), np.full(8, 0.5), np.full(8, 10.0), method=method)
        on = r.P_N[0] > 0.0
        assert np.all(r.newton[1:5] == 0.0)
        counts[form] = np.mean(r.newton[on])
        ends.append(r.q[:, -1])
    assert counts["PVA"] < 1.5 and counts["PVV"] > 4.0
    assert np.max(np.abs(ends[0] - ends[1])) < 0.05


def double_pendulum():
    """Two rods of length one with unit masses at their ends, in angles; the lower mass meets a wall."""

    def mass(t, q):
        c = np.cos(q[0] - q[1])
        return np.array([[2.0, c], [c, 1.0]])

    def force(t, q, u):
        s = np.sin(q[0] - q[1])
        return np.array([-s * u[1] ** 2 - 19.62 * np.sin(q[0]), s * u[0] ** 2 - 9.81 * np.sin(q[1])])

    wall = ns.Contact(lambda t, q: 0.6 - np.sin(q[0]) - np.sin(q[1]), restitution=0.7)
    return ns.MechanicalSystem(mass, force, contacts=[wall])


HANGING = double_pendulum()


def fall(T=1.4, **options):
    return ns.simulate(
        HANGING, (0, T), [-0.8, -0.5], [0.0, 0.0], method=ns.GeneralizedAlpha(rho_inf=0.9, **options)
    )


def test_restarting_gives_second_order_between_impacts():
    """From the state after the impact on, the motion is that of an event-driven run from the same state."""

    errors = []
    for h in (5e-3, 2.5e-3):
        r = fall(dt=h, restart=True)
        k = np.argmax(r.P_N[0] > 0.0)
        exact = ns.simulate(HANGING, (r.t[k], 1.4), r.q[:, k], r.u[:, k], method=ns.EventDriven(rtol=1e-10))
        errors.append(np.max(np.abs(r.q[:, -1] - exact.q[:, -1])))
    assert 1.8 < np.log2(errors[0] / errors[1]) < 2.2


def test_steps_that_follow_a_tolerance_keep_second_order_across_an_impact():
    exact = ns.simulate(HANGING, (0, 1.4), [-0.8, -0.5], [0.0, 0.0], method=ns.EventDriven(rtol=1e-11))
    errors, steps = [], []
    for rtol in (1e-4, 1e-6):
        r = fall(rtol=rtol)
        assert r.audit.ok, r.audit.failures()
        errors.append(np.max(np.abs(r.q[:, -1] - exact.q[:, -1])))
        steps.append(r.nsteps)
        assert errors[-1] < 100 * rtol
    assert np.log(errors[0] / errors[1]) / np.log(steps[1] / steps[0]) > 1.8


def test_control_does_not_depend_on_units():
    """The same fall in micrometres and kilotonnes takes the same steps."""

    def drop(length, mass):
        ball = ns.MechanicalSystem(
            mass, -9.81 * mass * length, contacts=[ns.Contact(lambda t, q: q[0], restitution=0.5)]
        )
        return ns.simulate(ball, (0, 1), [0.5 * length], [0.0], method=ns.GeneralizedAlpha(rtol=1e-4))

    one, other = drop(1.0, 1.0), drop(1e6, 1e6)
    assert one.nsteps == other.nsteps
    assert np.allclose(other.q / 1e6, one.q, rtol=0, atol=1e-9)


def block(mu=0.3, slope=0.2, speed=1.0):
    g, c, s = 9.81, np.cos(slope), np.sin(slope)
    floor = ns.Contact(lambda t, q: q[1], friction=mu, tangent=lambda t, q: np.array([1.0, 0.0]))
    system = ns.MechanicalSystem(np.eye(2), np.array([-g * s, -g * c]), contacts=[floor])
    method = ns.GeneralizedAlpha(dt=1e-3, rho_inf=0.8)
    return ns.simulate(system, (0, 0.5), [0.0, 0.0], [speed, 0.0], method=method), g * s, g * c


def test_block_on_a_slope_slides_to_rest_and_sticks():
    r, down, normal = block()
    stop = 1.0 / (down + 0.3 * normal)
    assert r.q[0, -1] == pytest.approx(0.5 * stop, abs=2e-6)
    stuck = r.t > stop + 2e-3
    assert np.max(np.abs(r.u[0, stuck])) <= 1e-15
    assert np.min(r.q[1]) >= -1e-12
    assert r.la[1, -1] == pytest.approx(down, rel=1e-9)
    assert r.audit.ok, r.audit.failures()


@pytest.mark.parametrize("slope", [0.1429, 0.1654, 0.2])
def test_block_that_starts_at_rest_on_a_slope_stays_there(slope):
    """Nothing moves: what forces make in the step measures the iteration and the audit, not velocities that are rounding."""
    floor = ns.Contact(
        lambda t, q: q[1] - slope * q[0], friction=0.3, tangent=lambda t, q: np.array([1.0, slope])
    )
    system = ns.MechanicalSystem(np.eye(2), np.array([0.0, -9.81]), contacts=[floor])
    r = ns.simulate(
        system, (0, 0.2), [0.0, 0.0], [0.0, 0.0], method=ns.GeneralizedAlpha(dt=1e-3, rho_inf=0.9)
    )
    assert np.max(np.abs(r.u)) <= 1e-15 and np.max(np.abs(r.q)) <= 1e-15
    assert r.audit.ok, r.audit.failures()


def test_block_that_cannot_hold_turns_back_in_one_step():
    """Up a slope steeper than the angle of friction and down again: a reversal, no stick."""
    r, down, normal = block(mu=0.1, slope=0.5, speed=1.0)
    up, back = down + 0.1 * normal, down - 0.1 * normal
    stop = 1.0 / up
    assert [e.kind for e in r.events] == ["reversal"]
    assert r.events[0].t == pytest.approx(stop, abs=1e-3)
    assert r.q[0, -1] == pytest.approx(0.5 / up - 0.5 * back * (0.5 - stop) ** 2, abs=5e-4)
    assert r.audit.ok, r.audit.failures()


def test_disk_goes_from_slip_to_roll():
    """Uniform disk, slip velocity v - omega falls by 3 mu g: rolls from 1/(3 mu g) on at 2/3 of its speed."""
    floor = ns.Contact(
        lambda t, q: q[1], friction=0.2, tangent=lambda t, q: np.array([1.0, 0.0, -1.0]), name="floor"
    )
    disk = ns.MechanicalSystem(np.diag([1.0, 1.0, 0.5]), np.array([0.0, -9.81, 0.0]), contacts=[floor])
    method = ns.GeneralizedAlpha(dt=1e-3, rho_inf=0.8)
    r = ns.simulate(disk, (0, 0.3), [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], method=method)
    rolls = 1.0 / (3 * 0.2 * 9.81)
    assert [e.kind for e in r.events] == ["stick"] and abs(r.events[0].t - rolls) <= 1e-3
    assert r.u[0, -1] == pytest.approx(2 / 3, abs=1e-12) and r.u[2, -1] == pytest.approx(2 / 3, abs=1e-12)
    assert r.q[0, -1] == pytest.approx(rolls - 0.5 * 1.962 * rolls**2 + 2 / 3 * (0.3 - rolls), abs=2e-6)


TABLE = ns.MechanicalSystem(
    1.0, lambda t, q, u: np.array([10.0 * t - 10.0]), contacts=[ns.Contact(lambda t, q: q[0])]
)


@pytest.mark.parametrize("form", ["P", "V", "A", "PVA"])
def test_contacts_that_only_open(form):
    """(11)-(13): a mass on a table, lifted by a force that outgrows its weight at t = 1."""
    errors = []
    for h in (2e-2, 1e-2):
        r = ns.simulate(TABLE, (0, 1.5), [0.0], [0.0], method=ns.GeneralizedAlpha(constraints=form, dt=h))
        assert [e.kind for e in r.events] == ["open"] and abs(r.events[0].t - 1.0) <= h + 1e-12
        assert np.max(np.abs(r.q[0, r.t <= 1.0 - h])) <= 1e-15
        errors.append(abs(r.q[0, -1] - 10 / 6 * 0.5**3))
    assert 1.8 < np.log2(errors[0] / errors[1]) < 2.2


def test_the_earlier_scheme_is_selectable():
    r, other = bounce("PVV-2014", T=0.5), bounce("PVV", T=0.5, activation="smooth-gap")
    assert np.array_equal(r.q, other.q)


def test_redundant_joints_are_told_and_move_alike():
    joint = ns.Joint(lambda t, q: np.array([q[0] - np.cos(q[2]), q[1] - np.sin(q[2]), q[0] - np.cos(q[2])]))
    twice = ns.MechanicalSystem(np.diag([1.0, 1.0, J]), np.array([0.0, -10.0, 0.0]), joints=[joint])
    with pytest.warns(RedundantConstraintWarning, match="rank 2"):
        r = swing("PVA", h=5e-3, T=0.1, system=twice)
    once = swing("PVA", h=5e-3, T=0.1)
    assert np.max(np.abs(r.q - once.q)) < 1e-9


def test_inconsistent_starts_are_refused_or_projected():
    q, u = state(np.pi / 6, 10.0)
    q[0] += 0.1
    method = ns.GeneralizedAlpha(dt=5e-3)
    with pytest.raises(InconsistentStateError, match="project=True"):
        ns.simulate(SMOOTH, (0, 0.1), q, u, method=method)
    r = ns.simulate(SMOOTH, (0, 0.1), q, u, method=method, project=True)
    assert levels(r)[0] <= 1e-13


def test_bodies_that_turn_in_space():
    """A top without moments: kinetic energy and the length of the quaternion, second order."""
    inertia = np.array([1.0, 2.0, 3.0])

    def force(t, q, u):
        return np.array([(2.0 - 3.0) * u[1] * u[2], (3.0 - 1.0) * u[2] * u[0], (1.0 - 2.0) * u[0] * u[1]])

    top = ns.MechanicalSystem(
        np.diag(inertia), force, kinematics=lambda t, q: ns.quaternion_rates(q), quaternions=[0]
    )
    ends = []
    for n in (50, 100, 200):
        r = ns.simulate(
            top, (0, 2), [1.0, 0, 0, 0], [0.3, 1.0, 0.2], method=ns.GeneralizedAlpha(dt=2 / n, rho_inf=0.9)
        )
        ends.append(r.q[:, -1])
        assert np.linalg.norm(r.q[:, -1]) == pytest.approx(1.0, abs=1e-14)
    ratio = np.linalg.norm(ends[0] - ends[1]) / np.linalg.norm(ends[1] - ends[2])
    assert 3.3 < ratio < 4.7


@pytest.mark.parametrize(
    "options, what",
    [
        ({"rho_inf": 1.2}, "rho_inf"),
        ({"rho_inf": -0.1}, "rho_inf"),
        ({"constraints": "Q"}, "constraints"),
        ({"constraints": "P", "rho_inf": 1.0}, "rho_inf"),
        ({"constraints": "P", "coefficients": (0.0, 0.0, 0.5, 0.25)}, "coefficients"),
        ({"coefficients": (1, 2)}, "coefficients"),
        ({"baumgarte": (1.0, 1.0)}, "baumgarte"),
        ({"start_from": "here"}, "start_from"),
        ({"smooth_set": "all"}, "smooth_set"),
        ({"tol": 0.0}, "tol"),
        ({"rtol": 1e-4}, "both"),
        ({"dt_max": 0.1}, "dt_max"),
        ({"dt": None}, "none"),
        ({"dt": None, "rtol": 0.0}, "rtol"),
        ({"dt": None, "rtol": 1e-4, "constraints": "P"}, "index 3"),
        ({"iteration": "all"}, "iteration"),
        ({"iteration": "subproblems", "constraints": "P"}, "iteration"),
    ],
)
def test_bad_options(options, what):
    with pytest.raises((InputError, RangeError), match=what):
        ns.GeneralizedAlpha(**{"dt": 1e-3, **options})


def test_forms_that_do_not_fit():
    free = ns.MechanicalSystem(1.0, -9.81)
    with pytest.raises(InputError, match="no joints"):
        ns.simulate(free, (0, 1), [0.0], [0.0], method=ns.GeneralizedAlpha(constraints="P", dt=1e-2))
    with pytest.raises(InputError, match="restitution"):
        bounce("V", T=0.1)


def test_woodpecker_slips_and_sticks_at_second_order():
    """Up to 0.05 s: a sliding sleeve, then a stuck one; reference by event-driven integration to 1e-13."""
    problem = ns.problems.woodpecker(start="consistent")
    exact = [-0.0044039470884396385, -0.10344827586206896, -0.3926267532826196]
    errors = []
    for h in (4e-5, 2e-5):
        r = ns.simulate(
            problem.system, (0, 0.05), problem.q0, problem.u0, method=ns.GeneralizedAlpha(dt=h, rho_inf=0.8)
        )
        assert [e.kind for e in r.events] == ["stick"]
        assert np.max(np.abs(r.u[0, -100:])) <= 1e-15
        errors.append(np.max(np.abs(r.q[:, -1] - exact)))
    assert 1.8 < np.log2(errors[0] / errors[1]) < 2.2


def test_limits_of_friction_elements_are_those_of_the_instant():
    """An element whose limit grows with time stops a mass: v = 1 - t^2/2 until sqrt(2), second order."""
    element = ns.FrictionElement(lambda t, q: np.array([1.0]), lambda t, q, u: t)
    system = ns.MechanicalSystem(1.0, 0.0, friction=[element])
    T, errors = np.sqrt(2.0), []
    for h in (2e-3, 1e-3):
        r = ns.simulate(system, (0, 2), [0.0], [1.0], method=ns.GeneralizedAlpha(dt=h))
        errors.append(abs(r.q[0, -1] - (T - T**3 / 6)))
    assert errors[0] < 4e-6 and errors[1] < 1e-6
    assert np.max(np.abs(r.u[0, r.t > T + 2e-3])) <= 1e-15
