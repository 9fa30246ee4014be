"""Invariants of impacts and steps on random small systems, each recomputed by plain NumPy.

One compiled system serves all examples: four degrees of freedom, two frictional contacts, everything a parameter.
Restitution and friction are written into the table of laws.
"""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import nonsmooth as ns
from nonsmooth import Contact, MechanicalSystem
from nonsmooth.errors import EnergyGainWarning
from nonsmooth.model.elements import without_underflow

N = 4
DT = 2.0**-10


def mass(t, q, p, out):
    for i in range(N):
        for j in range(N):
            out[i, j] = p.M[i, j]


def force(t, q, u, p, out):
    for i in range(N):
        out[i] = p.h[i]


def gap(t, q, p, out):
    for k in range(2):
        s = 0.0
        for i in range(N):
            s += p.W_N[k, i] * q[i]
        out[k] = s


def normals(t, q, p, out):
    for k in range(2):
        for i in range(N):
            out[k, i] = p.W_N[k, i]


def line(t, q, p, out):
    for k in range(2):
        for i in range(N):
            out[i, k] = p.W_T[k, i]


def planes(t, q, p, out):
    for k in range(4):
        for i in range(N):
            out[i, k] = p.W_T[k, i]


def build(tangent, rows):
    contacts = Contact(gap, restitution=0.5, friction=0.5, tangent=tangent, jacobian=normals, name=["a", "b"])
    params = {"M": np.eye(N), "h": np.zeros(N), "W_N": np.eye(2, N), "W_T": np.ones((rows, N))}
    return MechanicalSystem(mass, force, contacts=contacts, params=params)


SYSTEMS = {1: build(line, 2), 2: build(planes, 4)}


class Scene:
    """Parameters of a system and coefficients of its laws."""

    def __init__(self, seed, e=(0.5, 0.5), e_T=(0.0, 0.0), mu=(0.3, 0.3), dim=1, forces=False):
        rng = np.random.default_rng(seed)
        self.dim, self.e, self.e_T, self.mu = dim, np.array(e), np.array(e_T), np.array(mu)
        A = np.eye(N) + 0.3 * rng.uniform(-1, 1, (N, N))
        self.M = A @ A.T
        self.W_N = np.eye(2, N) + 0.3 * rng.uniform(-1, 1, (2, N))
        self.W_T = np.vstack([np.eye(N)[2:], np.eye(N)[2:]])[: 2 * dim] + 0.3 * rng.uniform(
            -1, 1, (2 * dim, N)
        )
        self.h = rng.normal(size=N) if forces else np.zeros(N)
        self.u = rng.normal(size=N)
        self.rng = rng

    def run(self, steps=1, q=None, t0=0.0, dt=DT, **options):
        system = SYSTEMS[self.dim].with_params(M=self.M, h=self.h, W_N=self.W_N, W_T=self.W_T)
        q = np.zeros(N) if q is None else q
        laws = system.bind(t0, q, self.u).laws
        laws.e[:] = [*self.e, *self.e_T]
        laws.mu[2:] = without_underflow(self.mu)  # as `Contact` does
        options = {"audit": False, "on_energy_gain": "ignore"} | options
        return ns.simulate(system, (t0, t0 + steps * dt), q, self.u, dt=dt, **options)

    def assume_no_tie(self, result):
        """Leave out motions in which a contact that bounced with e = 1 is back at g = 0 up to rounding, open or closed."""
        q, u, dt = result.q[:, 1:-1], result.u[:, 1:-1], result.t[1] - result.t[0]
        assume(np.all(np.abs(self.W_N @ (q + 0.5 * dt * u)) > 1e-12 * dt * np.abs(result.u).max()))

    def energy(self, u):
        return 0.5 * u @ self.M @ u

    def impulses(self, result):
        return result.P_N[:, -1], result.P_T[:, -1].reshape(2, self.dim)

    @property
    def W(self):
        return np.vstack([self.W_N, self.W_T])


coefficient = st.floats(0.0, 1.0)
friction = st.floats(0.0, 0.6)
seeds = st.integers(0, 2**32 - 1)
scenes = st.builds(
    lambda seed, e1, e2, t1, t2, m1, m2, dim, forces: Scene(seed, (e1, e2), (t1, t2), (m1, m2), dim, forces),
    seeds, coefficient, coefficient, coefficient, coefficient, friction, friction, st.sampled_from([1, 2]), st.booleans(),
)  # fmt: skip


@given(scenes)
def test_impulses_lie_in_their_cones(scene):
    """I3."""
    result = scene.run()
    P_N, P_T = scene.impulses(result)
    size = np.abs(scene.M).max() * np.abs(scene.u).max()
    assert np.all(P_N >= 0.0)
    assert np.all(np.linalg.norm(P_T, axis=1) <= scene.mu * P_N * (1 + 1e-10) + 1e-12 * size)


@given(scenes)
def test_complementarity(scene):
    """I4: the natural map of every law, recomputed."""
    result = scene.run()
    assert result.residual[-1] <= 1e-10
    P_N, P_T = scene.impulses(result)
    active = scene.W_N @ scene.u * DT / 2 <= 0.0
    e = np.concatenate([scene.e, np.repeat(scene.e_T, scene.dim)])
    xi = scene.W @ result.u[:, -1] + e * (scene.W @ scene.u)
    G = np.diag(scene.W @ np.linalg.solve(scene.M, scene.W.T))
    V = np.abs(scene.W @ scene.u).max()
    for k in range(2):
        if not active[k]:
            assert P_N[k] == 0.0 and not P_T[k].any()
            continue
        assert abs(min(P_N[k] * G[k], xi[k])) <= 1e-10 * V
        rows = slice(2 + k * scene.dim, 2 + (k + 1) * scene.dim)
        g = G[rows].max()
        x = P_T[k] - xi[rows] / g
        r, s = scene.mu[k] * P_N[k], np.linalg.norm(x)
        nearest = x if s <= r else x * (r / s)
        assert g * np.max(np.abs(P_T[k] - nearest)) <= 1e-10 * V


@given(scenes)
def test_work_identity(scene):
    """I5: dT = 1/2 (gamma+ + gamma-)^T P + 1/2 (u_E + u_B)^T h dt, any law, any coefficients."""
    result = scene.run()
    u_E = result.u[:, -1]
    P = np.concatenate([result.P_N[:, -1], result.P_T[:, -1]])
    T_B, T_E = scene.energy(scene.u), scene.energy(u_E)
    work = 0.5 * (scene.W @ (u_E + scene.u)) @ P + 0.5 * (u_E + scene.u) @ scene.h * DT
    assert abs(T_E - T_B - work) <= 1e-12 * (T_E + T_B)


@given(seeds, coefficient)
def test_loss_of_a_frictionless_impact(seed, e):
    """I6: dT = -1/2 (1-e)/(1+e) P^T G P for one common e."""
    scene = Scene(seed, (e, e), mu=(0.0, 0.0))
    result = scene.run()
    assume(np.any(result.P_N[:, -1] > 0))
    P_N = result.P_N[:, -1]
    G = scene.W_N @ np.linalg.solve(scene.M, scene.W_N.T)
    T_B, T_E = scene.energy(scene.u), scene.energy(result.u[:, -1])
    assert abs(T_E - T_B + 0.5 * (1 - e) / (1 + e) * P_N @ G @ P_N) <= 1e-11 * (T_B + T_E)
    assert not result.P_T.any()


@given(seeds, coefficient, friction, friction, st.sampled_from([1, 2]))
def test_common_restitution_never_gains(seed, e, m1, m2, dim):
    """I7: the same e in normals and tangents, or e = 0, with Coulomb friction."""
    for scene in (Scene(seed, (e, e), (e, e), (m1, m2), dim), Scene(seed, (0, 0), (0, 0), (m1, m2), dim)):
        with warnings.catch_warnings():
            warnings.simplefilter("error", EnergyGainWarning)  # and no false alarm
            result = scene.run(on_energy_gain="warn")
        assert scene.energy(result.u[:, -1]) <= scene.energy(scene.u) * (1 + 1e-12)


def kane(seed):
    """Strong coupling of normal and tangent, e_N > 0, e_T = 0: Newton's law may create energy."""
    scene = Scene(seed, (0.9, 0.9), (0.0, 0.0), (0.8, 0.8))
    scene.W_T[:, :2] += scene.rng.uniform(-2.5, 2.5, (2, 2))
    return scene


def test_energy_gain_is_detected_every_time():
    """I8: detection rate 1 on cases with a gain above 1e-9, no report without a gain."""
    gains = 0
    for seed in range(600):
        scene = kane(seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = scene.run(on_energy_gain="warn")
        T_B, T_E = scene.energy(scene.u), scene.energy(result.u[:, -1])
        reported = [w for w in caught if issubclass(w.category, EnergyGainWarning)]
        if T_E > T_B * (1 + 1e-9):
            gains += 1
            assert len(reported) == 1, seed
            assert "raised the kinetic energy" in str(reported[0].message)
        elif T_E < T_B * (1 + 1e-12):
            assert not reported, seed
    assert gains >= 20


def test_reference_case_of_an_energy_gain():
    """A planar body hit so that T+/T- = 2.5 exactly: reported with law, both energies, or raised, always in the audit."""
    scene = Scene(0, (1.0, 1.0), (0.0, 0.0), (2.0, 2.0))
    scene.M = np.eye(N)
    scene.W_N, scene.W_T = np.zeros((2, N)), np.zeros((2, N))
    # one contact with G = [[1, a], [a, b]]; the other one is far from acting
    a = 1.5
    scene.W_N[0, 0], scene.W_N[1, 3] = 1.0, 1.0
    scene.W_T[0, :2], scene.W_T[1, 2] = (a, 1.0), 1.0
    # sticking: gamma_N+ = 1, gamma_T+ = 0 from gamma_N- = -1, u_2- = s:  u+ = (1, -a), T+ = (1 + a^2)/2
    s = np.sqrt((1 + a**2) / 2.5 - 1.0)
    scene.u = np.array([-1.0, s, 0.0, 1.0])
    rest = 0.5  # of the mass that does not take part
    with pytest.warns(EnergyGainWarning, match=r"law 'a.*', T from 1.15 to 2.125; 1 such steps"):
        result = scene.run(on_energy_gain="warn", audit=True)
    T_B, T_E = scene.energy(scene.u) - rest, scene.energy(result.u[:, -1]) - rest
    assert abs(T_E / T_B - 2.5) < 1e-14
    gains = result.audit.energy_gains
    assert gains["count"] == 1 and abs(gains["T_after"] - gains["T_before"] - (T_E - T_B)) < 1e-14
    with pytest.raises(ns.errors.IntegrationError, match="raised the kinetic energy") as info:
        scene.run(on_energy_gain="raise")
    assert info.value.partial.t.size == 2


@given(seeds, coefficient, coefficient, friction)
def test_momentum_of_free_bodies(seed, e1, e2, mu):
    """I11: contacts between bodies exchange momentum, they do not make it."""
    scene = Scene(seed, (e1, e2), (e2, e1), (mu, mu))
    scene.M = np.diag(scene.rng.uniform(0.1, 10, N))
    scene.W_N = np.array([[-1.0, 1.0, 0.0, 0.0], [0.0, -1.0, 1.0, 0.0]])
    scene.W_T = scene.W_N * scene.rng.uniform(-0.4, 0.4, (2, 1)) + np.array([[0, 0, -1, 1], [-1, 0, 0, 1.0]])
    result = scene.run(steps=3)
    momentum = np.sum(scene.M @ result.u, axis=0)
    assert np.max(np.abs(momentum - momentum[0])) <= 1e-12 * np.sum(np.abs(scene.M @ scene.u))


@given(seeds, coefficient, coefficient)
def test_order_of_contacts_and_coordinates_does_not_matter(seed, e1, e2):
    """I18, for problems with one solution (no friction, G regular)."""
    scene = Scene(seed, (e1, e2), mu=(0.0, 0.0), forces=True)
    result = scene.run(steps=5)
    scene.assume_no_tie(result)
    order = scene.rng.permutation(N)
    swapped = Scene(seed, (e2, e1), mu=(0.0, 0.0), forces=True)
    swapped.W_N = scene.W_N[::-1][:, order]
    swapped.W_T = scene.W_T[::-1][:, order]
    swapped.M, swapped.h, swapped.u = scene.M[np.ix_(order, order)], scene.h[order], scene.u[order]
    other = swapped.run(steps=5)
    np.testing.assert_allclose(other.u, result.u[order], rtol=0, atol=1e-10)
    np.testing.assert_allclose(other.P_N, result.P_N[::-1], rtol=0, atol=1e-10)


@given(seeds, coefficient, st.floats(0.0, 0.6))
def test_order_of_redundant_contacts_changes_no_velocity(seed, e, mu):
    """I18, several solutions: two contacts at one point share the impulse as they like; motion and sum are determined."""
    scene = Scene(seed, (e, e), mu=(mu, mu))
    scene.W_N[1], scene.W_T[1] = scene.W_N[0], scene.W_T[0]
    result = scene.run()
    order = scene.rng.permutation(N)
    other = Scene(seed, (e, e), mu=(mu, mu))
    other.W_N, other.W_T = scene.W_N[::-1][:, order], scene.W_T[::-1][:, order]
    other.M, other.h, other.u = scene.M[np.ix_(order, order)], scene.h[order], scene.u[order]
    swapped = other.run()
    V = np.abs(scene.u).max()
    np.testing.assert_allclose(swapped.u, result.u[order], rtol=0, atol=1e-9 * V)
    np.testing.assert_allclose(swapped.P_N.sum(axis=0), result.P_N.sum(axis=0), rtol=0, atol=1e-9 * V)


@given(scenes, st.integers(-1000, 1000))
def test_time_shift(scene, shift):
    """I19: an autonomous system does not know the date."""
    result = scene.run(steps=20)
    later = scene.run(steps=20, t0=float(shift))
    assert np.array_equal(later.u, result.u) and np.array_equal(later.q, result.q)
    np.testing.assert_allclose(later.t - shift, result.t, rtol=0, atol=1e-12 * max(abs(shift), 1))


def in_other_units(scene, m, l, s):
    """The scene after three steps, with unit factors for mass, length and time: speeds, impulses, iterations in old units."""
    scene.M, scene.u, scene.h = m * scene.M, l / s * scene.u, m * l / s**2 * scene.h
    result = scene.run(steps=3, dt=DT * s)
    return result.u * s / l, result.P_N * s / (m * l), result.P_T * s / (m * l), result.iterations


@given(scenes, st.integers(-10, 10), st.integers(-20, 20), st.integers(-20, 20))
def test_units_do_not_matter(scene, mass_power, length_power, time_power):
    """I20: with factors that are powers of two (of four for masses, which have roots) nothing is rounded: same bits."""
    result = scene.run(steps=3)
    u, P_N, P_T, iterations = in_other_units(scene, 4.0**mass_power, 2.0**length_power, 2.0**time_power)
    assert np.array_equal(iterations, result.iterations)
    assert np.array_equal(u, result.u) and np.array_equal(P_N, result.P_N) and np.array_equal(P_T, result.P_T)


@given(scenes, st.integers(-6, 6), st.integers(-6, 6), st.integers(-6, 6))
def test_decimal_units_do_not_matter(scene, mass_power, length_power, time_power):
    """I20: kilograms or milligrams, metres or micrometres, seconds or days. (Rounding may add or save an iteration.)"""
    result = scene.run(steps=3)
    scene.assume_no_tie(result)
    u, P_N, _, _ = in_other_units(scene, 10.0**mass_power, 10.0**length_power, 10.0**time_power)
    V = np.abs(result.u).max()
    np.testing.assert_allclose(u, result.u, rtol=0, atol=1e-9 * V)
    np.testing.assert_allclose(P_N, result.P_N, rtol=0, atol=1e-9 * V)


@given(scenes)
def test_mirror(scene):
    """I21: the mirrored scene, tangents turned around, makes the mirrored motion."""
    result = scene.run(steps=3)
    mirror = np.diag([-1.0, 1.0, -1.0, 1.0])
    scene.M, scene.u, scene.h = mirror @ scene.M @ mirror, mirror @ scene.u, mirror @ scene.h
    scene.W_N, scene.W_T = scene.W_N @ mirror, -scene.W_T @ mirror
    other = scene.run(steps=3)
    np.testing.assert_allclose(mirror @ other.u, result.u, rtol=0, atol=1e-10)
    np.testing.assert_allclose(other.P_T, -result.P_T, rtol=0, atol=1e-10)


def test_a_symmetric_scene_stays_symmetric():
    """I21: two equal walls hit at once; no side is preferred."""
    scene = Scene(0, (0.4, 0.4), (0.0, 0.0), (0.5, 0.5))
    scene.M = np.eye(N)
    scene.M[2, 2] = 3.0
    scene.W_N = np.array([[1.0, 0.0, 0.3, 0.0], [0.0, 1.0, 0.3, 0.0]])
    scene.W_T = np.array([[0.2, 0.0, 1.0, 1.0], [0.0, 0.2, 1.0, -1.0]])
    scene.u, scene.h = np.array([-1.0, -1.0, 0.5, 0.0]), np.zeros(N)
    result = scene.run(steps=5)
    np.testing.assert_allclose(result.u[0], result.u[1], rtol=0, atol=1e-10)
    np.testing.assert_allclose(result.P_N[0], result.P_N[1], rtol=0, atol=1e-10)
    assert result.P_N.max() > 0.1 and np.max(np.abs(result.u[3])) < 1e-10
