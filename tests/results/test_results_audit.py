"""The audit accepts correct runs to rounding and finds every kind of planted fault."""

import numpy as np
import pytest
from results_standin import Standin, ball, disk_on_belt, law_table, moreau, puck

import nonsmooth as ns
from nonsmooth.results import Audit, Event, Result, audit_moreau

CASES = {
    "ball": (ball, 2.0, [1.0], [0.0], 1000),
    "belt": (disk_on_belt, 2.0, [0.0, 0.01], [0.0, 0.0], 800),
    "puck": (puck, 1.0, [0.0, 0.0, 0.2], [4.0, 2.0, 0.0], 400),
}


@pytest.fixture(scope="module", params=list(CASES))
def run(request):
    make, t_end, q0, u0, n = CASES[request.param]
    system = make()
    columns, totals = moreau(system, t_end, q0, u0, n)
    return system, columns, totals


def test_correct_runs_pass_to_rounding(run):
    system, columns, totals = run
    audit = audit_moreau(system, columns, totals)
    assert audit.ok, str(audit)
    assert audit.steps_checked == audit.steps_total == columns["t"].size - 1
    assert audit.momentum_residual < 1e-14
    assert audit.position_residual < 1e-14
    assert audit.energy_identity_error < 1e-12  # reliability row I5
    assert audit.complementarity < 1e-12
    assert audit.cone_violation < 1e-14
    assert audit.activation_mismatch == 0
    assert audit.energy_balance["unexplained"] < 1e-12
    assert audit.derivatives == {"W": "given"}


def test_runs_exercise_several_modes(run):
    _, columns, _ = run
    assert len(np.unique(columns["modes"])) >= 3 or columns["modes"].shape[0] == 1


@pytest.mark.parametrize(
    ("field", "row", "change", "finds"),
    [
        ("u", 0, 1e-6, "momentum_residual"),
        ("q", 0, 1e-6, "position_residual"),
        ("P_N", 0, 1e-5, "momentum_residual"),
        ("u", -1, 1e-6, "complementarity"),
    ],
)
def test_one_changed_number_is_found(run, field, row, change, finds):
    system, columns, totals = run
    damaged = {name: np.array(value) for name, value in columns.items()}
    k = 1 + int(np.argmax(columns["P_N"][0, 1:] > 0))
    damaged[field][row, k] += change
    audit = audit_moreau(system, damaged, totals)
    assert getattr(audit, finds) > audit.tolerance
    assert not audit.ok
    assert "NOT ok" in str(audit)


def test_friction_outside_its_cone_is_found():
    system = puck()
    columns, totals = moreau(system, 1.0, [0, 0, 0.2], [4, 2, 0], 400)
    k = int(np.flatnonzero((columns["modes"][1] == 2) & (columns["P_N"][0] > 0))[0])
    columns["P_T"][:2, k] *= 1.001
    audit = audit_moreau(system, columns, totals)
    assert audit.cone_violation == pytest.approx(0.001 * 0.3 / 1.0, rel=0.3)
    assert not audit.ok


def test_friction_pushing_with_the_slip_is_found():
    system = puck()
    columns, totals = moreau(system, 1.0, [0, 0, 0.2], [4, 2, 0], 400)
    k = int(np.flatnonzero((columns["modes"][1] == 2) & (columns["P_N"][0] > 0))[0])
    columns["P_T"][:2, k] *= -1.0  # still in the cone, but driving
    audit = audit_moreau(system, columns, totals)
    assert audit.cone_violation < 1e-14
    assert audit.complementarity > 1e-3


def test_contact_that_was_not_activated_is_found():
    system = ball()
    columns, totals = moreau(system, 2.0, [1.0], [0.0], 1000)
    k = int(np.flatnonzero(columns["modes"][0])[0])
    columns["modes"][0, k] = 0
    assert audit_moreau(system, columns, totals).activation_mismatch == 1


def test_worst_gap_is_that_of_the_columns_or_of_the_totals():
    system = ball()
    columns, totals = moreau(system, 2.0, [1.0], [0.0], 1000)
    audit = audit_moreau(system, columns, totals)
    k = int(np.argmin(columns["q"][0]))
    assert (audit.worst_gap, audit.worst_gap_t) == (columns["q"][0, k], columns["t"][k])
    audit = audit_moreau(system, columns, {**totals, "worst_gap": -0.25, "worst_gap_t": 1.5})
    assert (audit.worst_gap, audit.worst_gap_t) == (-0.25, 1.5)
    assert any("penetration" in line for line in audit.failures())


def test_energy_bookkeeping_of_the_ball():
    system = ball(e=0.5)
    columns, totals = moreau(system, 2.0, [1.0], [0.0], 1000)
    audit = audit_moreau(system, columns, totals)
    balance = audit.energy_balance
    assert balance["kinetic_end"] == pytest.approx(0.0, abs=1e-20)
    # All potential energy goes into the contact: m g times the way down.
    lost = balance["potential_start"] - balance["potential_end"]
    assert balance["loss_contacts"] == pytest.approx(lost, rel=1e-12)


def test_scale_of_units_does_not_matter():
    """The same ball in other units gives the same relative residuals (reliability row I20)."""
    found = []
    for s in (1e-6, 1.0, 1e6):
        laws = law_table([(0, 0, 1, -1, 0.0, 0.5, "floor")], 1)
        system = Standin(
            2.0 * s,
            lambda t, q, u, s=s: [-2.0 * s * 9.81 * s],
            laws,
            gaps=lambda t, q: q[0],
            directions=lambda t, q: (np.array([[1.0]]), np.zeros(1)),
        )
        columns, totals = moreau(system, 2.0, [1.0 * s], [0.0], 500)
        columns["P_N"][0, 400] *= 1 + 1e-6
        found.append(audit_moreau(system, columns, totals).momentum_residual)
    assert found[0] == pytest.approx(found[1], rel=1e-6)
    assert found[2] == pytest.approx(found[1], rel=1e-6)


def test_energy_gain_is_reported_with_its_law():
    """Two contacts with unequal restitution on one rod can create energy; the audit names step and law."""
    laws = law_table([(0, 0, 1, -1, 0.0, 1.0, "left"), (0, 1, 1, -1, 0.0, 0.0, "right")], 2)
    WT = np.array([[1.0, -1.0], [1.0, 1.0]])

    def system(mass):
        return Standin(
            mass,
            lambda t, q, u: [0.0, 0.0],
            laws,
            gaps=lambda t, q: WT @ q - 0.1,
            directions=lambda t, q: (WT, np.zeros(2)),
        )

    rng = np.random.default_rng(3)
    gained = 0
    for _ in range(100):
        model = system(np.diag(rng.uniform(0.1, 3.0, 2)))
        columns, totals = moreau(model, 0.01, [0.0, 0.0], [rng.normal() - 0.5, 1.0], 1)
        T = 0.5 * np.einsum("ik,ij,jk->k", columns["u"], model.M, columns["u"])
        gain = T[1] / T[0] - 1.0
        audit = audit_moreau(model, columns, totals)
        assert audit.ok == (gain <= 1e-9), str(audit)
        if gain > 1e-9:
            gained += 1
            assert audit_moreau(model, columns, totals, accept_gains=True).ok
            assert audit.energy_gains["count"] == 1
            assert audit.energy_gains["worst"] == pytest.approx(gain, rel=1e-9)
            assert audit.energy_gains["law"] in ("left", "right")
            assert "created energy" in str(audit)
        else:
            assert audit.energy_gains["count"] == 0
    assert gained > 5


def test_answer_to_a_force_is_no_energy_gain():
    """Close to rest a pressed contact that is about to separate does positive work of order dt: not an impact."""
    system = ball(e=0.5)
    columns, totals = moreau(system, 2.0, [1.0], [0.0], 1000)
    work = 0.5 * (columns["u"][0, 1:] + columns["u"][0, :-1]) * columns["P_N"][0, 1:]
    T = columns["u"][0, :-1] ** 2
    k = 1 + int(np.argmax(np.where(work > 1e-12, work / (T + 1e-300), 0.0)))
    assert work[k - 1] / T[k - 1] > 1e-3  # it does occur in this run
    assert audit_moreau(system, columns, totals).energy_gains["count"] == 0
    totals |= {"energy_gain_count": 3, "energy_gain_t": columns["t"][k], "energy_gain_worst": 0.2}
    audit = audit_moreau(system, columns, totals)
    assert audit.energy_gains == {"count": 0, "candidates": 3}
    assert any("only answers a force" in note for note in audit.notes)


def test_friction_with_newton_restitution_gains_energy_under_gravity():
    """Kane's paradox on random rods with friction, e_N > 0 and e_T = 0, with a force of ordinary size acting."""
    rng = np.random.default_rng(8)
    laws = law_table([(0, 0, 1, -1, 0.0, 0.9, "tip"), (3, 1, 1, 0, 0.6, 0.0, "tip friction")], 2)
    gained = 0
    for _ in range(300):
        A = rng.normal(size=(2, 2))
        mass = A @ A.T + 0.05 * np.eye(2)
        model = Standin(
            mass,
            lambda t, q, u: [-9.81, 0.0],
            laws,
            gaps=lambda t, q: q[0] - 0.1,
            directions=lambda t, q: (np.eye(2), np.zeros(2)),
        )
        columns, totals = moreau(model, 1e-9, [0.0, 0.0], [-1.0, 3.0 * rng.normal()], 1)
        T = 0.5 * np.einsum("ik,ij,jk->k", columns["u"], model.M, columns["u"])
        audit = audit_moreau(model, columns, totals)
        if T[1] / T[0] - 1.0 > 1e-6:
            gained += 1
            assert audit.energy_gains["worst"] == pytest.approx(T[1] / T[0] - 1.0, rel=1e-2)
        elif T[1] / T[0] - 1.0 < -1e-6:
            assert audit.energy_gains["count"] == 0
    assert gained >= 3


def test_thinned_output_is_audited_through_samples():
    system = ball()
    columns, totals = moreau(system, 2.0, [1.0], [0.0], 1000)
    P = np.vstack([columns["P_N"], columns["P_T"]])
    picks = np.arange(1, 1001, 17)
    samples = {
        "t_B": columns["t"][picks - 1],
        "q_B": columns["q"][:, picks - 1],
        "u_B": columns["u"][:, picks - 1],
        "t_E": columns["t"][picks],
        "q_E": columns["q"][:, picks],
        "u_E": columns["u"][:, picks],
        "P": P[:, picks],
        "modes": columns["modes"][:, picks],
        "dt": columns["dt"][picks],
        **{f"{name}_seen": columns[name][..., picks] for name in ("t", "q", "u")},
    }
    thin = {name: value[..., ::10] for name, value in columns.items()}
    without = audit_moreau(system, thin, totals)
    assert without.steps_checked == 0
    assert any("no step could be recomputed" in note for note in without.notes)
    audit = audit_moreau(system, {**thin, "nsteps": 1000}, totals, samples=samples)
    assert (audit.steps_checked, audit.steps_total) == (picks.size, 1000)
    assert audit.ok
    samples["u_E"][0, 3] += 1e-6
    assert not audit_moreau(system, thin, totals, samples=samples).ok


def test_large_runs_are_sampled_and_events_are_always_checked():
    system = ball()
    columns, totals = moreau(system, 2.0, [1.0], [0.0], 1000)
    k = int(np.flatnonzero(columns["modes"][0])[0])
    columns["u"][0, k] += 1e-3
    event = Event(columns["t"][k], "impact", "floor", before=0, after=1, law=0)
    assert audit_moreau(system, {**columns, "events": [event]}, totals, max_checked=10).steps_checked <= 13
    assert not audit_moreau(system, {**columns, "events": [event]}, totals, max_checked=10).ok


def test_solver_totals_are_shown():
    system = ball()
    columns, totals = moreau(system, 2.0, [1.0], [0.0], 100)
    totals |= {"unconverged": 3, "max_residual": 0.1, "max_residual_t": 0.5, "max_iterations": 7}
    totals["sum_iterations"] = 200
    audit = audit_moreau(system, columns, totals)
    assert (audit.unconverged, audit.max_iterations, audit.mean_iterations) == (3, 7, 2.0)
    assert not audit.ok
    assert "3 contact problems did not converge" in str(audit)


def test_nan_is_not_ok():
    system = ball()
    columns, totals = moreau(system, 2.0, [1.0], [0.0], 100)
    columns["u"][0, 50] = np.nan
    assert not audit_moreau(system, columns, totals).ok


def test_no_laws_at_all():
    system = Standin(np.eye(2), lambda t, q, u: -q, law_table([], 0))
    columns, totals = moreau(system, 1.0, [1.0, 0.0], [0.0, 1.0], 50)
    audit = audit_moreau(system, columns, totals)
    assert audit.ok
    assert audit.worst_gap is None


def test_audit_accepts_a_result_and_round_trips():
    system = ball()
    columns, totals = moreau(system, 2.0, [1.0], [0.0], 100)
    audit = audit_moreau(system, Result(**columns, nsteps=100), totals)
    assert audit.ok
    again = Audit.from_dict(audit.as_dict())
    assert str(again) == str(audit)


def test_a_motion_that_a_step_does_not_resolve_is_no_motion():
    """Shear waves of a beam turn its sections 4 rad per step: the motion grows without bounds, while the work of the forces explains it."""
    world = ns.World((0, -9.81))
    world.add(ns.Beam([(0, 0), (1, 0)], 4, EA=1e5, GA=4e4, EI=10.0, rhoA=1.0, fixed="start", name="beam"))
    run = ns.simulate(world, (0, 0.2), dt=2e-4)
    assert np.abs(run.q).max() > 1e3 and not run.audit.ok and run.audit.energy_rise > 0.5
    fine = ns.simulate(world, (0, 0.02), dt=2e-5)
    assert fine.audit.ok and fine.audit.energy_rise < 1e-3


def test_a_mechanism_at_rest_is_no_alarm():
    """Rods that stand upright: nothing moves but by rounding, which is not measured against itself."""
    world, corners = (
        ns.World((0, 0, -9.81)),
        np.array([(0, 0, 0), (0, 0, 1), (2, 0, 1.5), (2, 0, 0)], dtype=float),
    )
    rods = [
        world.add(ns.Body(mass=1.0, inertia=(0.1,) * 3, position=0.5 * (a + b)))
        for a, b in zip(corners, corners[1:])
    ]
    sides = [world.ground, *rods, world.ground]
    world.add(*(ns.Spherical(sides[k], sides[k + 1], corners[k]) for k in range(4)))
    for method in (ns.Moreau(dt=1e-3), ns.Theta(dt=1e-3, projection="combined")):
        run = ns.simulate(world, (0, 0.2), method=method)
        assert run.audit.ok, run.audit.failures()


def test_what_a_drive_hands_to_and_fro_is_no_loss():
    """A cart that is moved to and fro and ends where it began, at rest: its energies at both ends say nothing of what went through."""
    world = ns.World((0, -9.81))
    cart = world.add(ns.Body(mass=1.0, inertia=0.1, name="cart"))
    bob = world.add(ns.Body(mass=0.5, inertia=0.1, position=(0, -1), name="bob"))
    guide = ns.Prismatic(
        world.ground, cart, axis=(1, 0), drive=lambda t: 0.1 * np.sin(4 * t) ** 2, name="guide"
    )
    world.add(guide, ns.Revolute(cart, bob, (0, 0)))
    run = ns.simulate(world, (0, np.pi / 2), dt=1e-3)
    assert run.audit.ok, run.audit.failures()
    assert 0.0 < run.audit.joint_loss_relative < 1e-2
