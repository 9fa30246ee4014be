"""Generalized-alpha steps at instants that are not like the others: starts, breakpoints, resets, instants inside steps, rest."""

import numpy as np
import pytest

import nonsmooth as ns

G = 9.81


def run(system, span, q0, u0, **more):
    """Arguments of the method first of all, the others for `simulate`."""
    own = {name: more.pop(name) for name in ("dt", "rtol", "restart", "rho_inf") if name in more}
    return ns.simulate(system, span, q0, u0, method=ns.GeneralizedAlpha(**own), **more)


@pytest.mark.parametrize("steps", [{"dt": 0.01}, {"rtol": 1e-4}], ids=["dt", "rtol"])
def test_constant_forces_are_exact_from_the_first_step_on(steps):
    """Nothing is left to be iterated here, but accelerations still have to be found."""
    floor = ns.Contact(lambda t, q: q[0] + 100.0)
    for contacts in ([], [floor]):
        r = run(ns.MechanicalSystem(2.0, -2.0 * G, contacts=contacts), (3, 4), [5.0], [1.0], **steps)
        assert r.acceleration[0, 1:] == pytest.approx(-G)
        assert r.q[0, -1] == pytest.approx(6.0 - G / 2, abs=1e-13)
        assert r.u[0, -1] == pytest.approx(1.0 - G, abs=1e-13)


@pytest.mark.parametrize("steps", [{"dt": 0.03}, {"rtol": 1e-4}], ids=["dt", "rtol"])
@pytest.mark.parametrize("closed", [False, True], ids=["t < 1", "t <= 1"])
def test_forces_that_jump_at_a_breakpoint(steps, closed):
    """u = t, then 1 - 3 (t - 1): steps see the side of the breakpoint they lie on, and accelerations start anew behind it."""
    if closed:
        force = lambda t, q, u: np.array([1.0 if t <= 1.0 else -3.0])  # noqa: E731
    else:
        force = lambda t, q, u: np.array([1.0 if t < 1.0 else -3.0])  # noqa: E731
    r = run(ns.MechanicalSystem(1.0, force), (0, 1.5), [0.0], [0.0], breakpoints=[1.0], **steps)
    assert r.u[0, -1] == pytest.approx(-0.5, abs=1e-13)
    assert r.q[0, -1] == pytest.approx(0.625, abs=1e-13)
    assert r.audit.ok, r.audit.failures()


def test_a_start_where_functions_begin():
    """No function is asked before the start."""
    system = ns.MechanicalSystem(1.0, lambda t, q, u: np.array([np.sqrt(t)]))
    errors = [abs(run(system, (0, 1), [0.0], [0.0], dt=h).u[0, -1] - 2 / 3) for h in (0.02, 0.01)]
    assert errors[0] < 1e-3 and errors[1] < 0.5 * errors[0]


def test_resets_start_anew():
    """A spring that turns round where an event says so: second order, as if the run had begun there."""
    turn = ns.Switch(
        lambda t, q, u: q[0] - 0.5, direction=-1, reset=lambda t, q, u: (q + 0.25, -u), name="turn"
    )
    t_0 = np.arccos(0.5) / 3.0
    angle = 3.0 * (1.0 - t_0)
    exact = 0.75 * np.cos(angle) + np.sin(np.pi / 3) * np.sin(angle)
    system = ns.MechanicalSystem(1.0, lambda t, q, u: -9.0 * q)
    errors = [
        abs(run(system, (0, 1), [1.0], [0.0], dt=h, events=turn).q[0, -1] - exact) for h in (0.02, 0.01)
    ]
    assert errors[1] < 5e-4 and 1.8 < np.log2(errors[0] / errors[1]) < 2.2


def test_states_inside_steps_are_better_than_lines():
    """Between two steps of a tenth of a radian a line is wrong by 1e-3, the cubic by 1e-6; the steps themselves by more."""
    system = ns.MechanicalSystem(1.0, lambda t, q, u: -q)
    inside = np.arange(0.05, 2.0, 0.1)
    ends = run(system, (0, 2), [1.0], [0.0], dt=0.1)
    r = run(system, (0, 2), [1.0], [0.0], dt=0.1, t_eval=inside)
    off = r.q[0] - np.cos(inside)
    around = ends.q[0] - np.cos(ends.t)
    assert np.max(np.abs(off - 0.5 * (around[:-1] + around[1:]))) < 1e-5
    assert np.max(np.abs(off)) < 2e-3


def test_thinned_output_is_audited():
    ball = ns.MechanicalSystem(1.0, -G, contacts=[ns.Contact(lambda t, q: q[0], restitution=0.6)])
    for more in (
        {"every": 10},
        {"t_eval": np.linspace(0, 1, 11)},
        {"t_eval": np.linspace(0, 1, 11) * 0.999877},
    ):
        for steps in ({"dt": 1e-3}, {"rtol": 1e-5}):
            r = run(ball, (0, 1), [1.0], [0.0], **steps, **more)
            assert r.audit.ok and r.audit.steps_checked >= 8


@pytest.mark.parametrize("e", [0.3, 0.9])
def test_piles_at_rest_share_in_the_smooth_motion(e):
    """Bodies on bodies, and one pushed against a wall through another: none is pulled towards its contact by forces of its own."""
    pile = [
        ns.Contact(lambda t, q: q[0] - 0.1, restitution=e),
        ns.Contact(lambda t, q: q[1] - q[0] - 0.1, restitution=e),
        ns.Contact(lambda t, q: q[2] - q[1] - 0.1, restitution=e),
    ]
    m = np.array([1.0, 2.0, 0.5])
    r = run(
        ns.MechanicalSystem(np.diag(m), -G * m, contacts=pile),
        (0, 0.1),
        [0.1, 0.2, 0.3],
        np.zeros(3),
        dt=1e-3,
    )
    assert r.la[:, -1] == pytest.approx(G * np.cumsum(m[::-1])[::-1])
    assert np.all(r.sets[:, 1:] == 7) and np.max(np.abs(r.W[:, 1:])) < 1e-14
    row = [
        ns.Contact(lambda t, q: q[0], restitution=e),
        ns.Contact(lambda t, q: q[1] - q[0] - 1.0, restitution=e),
    ]
    pushed = ns.MechanicalSystem(np.eye(2), np.array([0.0, -5.0]), contacts=row)
    r = run(pushed, (0, 0.1), [0.0, 1.0], [0.0, 0.0], dt=1e-3)
    assert r.la[:, -1] == pytest.approx([5.0, 5.0])


@pytest.mark.parametrize("far", [1e3, 1e6])
def test_joints_far_from_the_origin(far):
    """Gaps and joints are known to rounding of coordinates; no iteration can ask for more."""
    rod = ns.Joint(lambda t, q, p: np.array([((q[0] - p.o) ** 2 + (q[1] - p.o) ** 2 - 1.0) / 2.0]))
    found = []
    for o in (0.0, far):
        system = ns.MechanicalSystem(np.eye(2), np.array([0.0, -G]), joints=[rod], params={"o": o})
        r = run(system, (0, 0.2), [o + 1.0, o], [0.0, 0.0], dt=1e-4)
        found.append(r.q[:, -1] - o)
    assert found[1] == pytest.approx(found[0], abs=1e-12 * far)


def test_audit_of_stiff_forces_near_rest():
    """Forces are differences of large numbers there: what rounding makes of them is no fault."""
    k, c = 5.9e5, 1.5e3

    def force(t, q, u):
        f = -k * (q[0] - q[1] + 0.3713) - c * (u[0] - u[1])
        return np.array([f - G, -f - G])

    r = run(ns.MechanicalSystem(np.eye(2), force), (0, 0.3), [0.1857, 0.557], [0.0, -1.0], dt=3e-4)
    assert r.audit.ok, r.audit.failures()


def test_stick_and_slip_follow_the_tolerance():
    """Where accelerations jump velocities are wrong by a step of it: this is measured, too."""
    belt = ns.FrictionElement(lambda t, q: np.array([1.0]), 1.5, surface_velocity=lambda t, q: -0.4)
    system = ns.MechanicalSystem(1.0, lambda t, q, u: np.array([-4.0 * q[0] - 0.1 * u[0]]), friction=[belt])
    exact = ns.simulate(system, (0, 5), [1.0], [0.0], method=ns.EventDriven(rtol=1e-10)).q[0, -1]
    errors = [abs(run(system, (0, 5), [1.0], [0.0], rtol=rtol).q[0, -1] - exact) for rtol in (1e-4, 1e-6)]
    assert errors[0] < 1e-2 and errors[1] < 1e-3 and errors[1] < 0.2 * errors[0]


def test_rounding_of_joints_does_not_lift_what_rests():
    """A rod whose end strikes the floor at the start, far from the origin: in steps so short that coordinates hardly move, the joint
    corrects rounding, which lifted the contact off and let it fall again (2,207 steps here, without end a little farther)."""
    rod = ns.Joint(lambda t, q: np.array([0.5 * ((q[2] - q[0]) ** 2 + (q[3] - q[1]) ** 2 - 1.16)]))
    floor = ns.Contact(lambda t, q, p: q[1] - p.o)
    q, u = np.array([0.0, 0.0, 1.0, 0.4]), np.array([0.3, -1.0, -0.06, -0.1])
    along = np.array([-1.0, -0.4, 1.0, 0.4])
    u -= along * (along @ u) / (along @ along)
    found = []
    for far in (0.0, 100.0):
        system = ns.MechanicalSystem(
            np.diag([0.57, 0.57, 1.2, 1.2]),
            -G * np.array([0.0, 0.57, 0.0, 1.2]),
            joints=[rod],
            contacts=[floor],
            params={"o": far},
        )
        r = run(system, (0, 0.5), q + far, u, rtol=1e-6)
        found.append(r.q[:, -1] - far)
        assert r.nsteps < 1000 and len(r.events) < 20, (r.nsteps, len(r.events))
    assert found[1] == pytest.approx(found[0], abs=1e-4)
