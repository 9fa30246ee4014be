"""The front door: what it accepts, what the result carries, that the form of the model does not matter."""

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth import Contact, MechanicalSystem, Moreau, Result, simulate
from nonsmooth.errors import InputError, OutputExistsError


def mass(t, q, p, out):
    out[0, 0], out[0, 1], out[1, 0], out[1, 1] = p.m, 0.0, 0.0, p.m


def force(t, q, u, p, out):
    out[0] = p.a * np.sin(8.0 * t) - p.c * u[0]
    out[1] = -p.m * p.g


def gap(t, q, p, out):
    out[0] = q[1] - 0.05 * np.sin(3.0 * t) - 0.1 * q[0] ** 2


def jacobian(t, q, p, out):
    out[0, 0], out[0, 1] = -0.2 * q[0], 1.0


def tangent(t, q, p, out):
    out[0, 0], out[1, 0] = 1.0, 0.2 * q[0]


def mass_by_return(t, q, p):
    return np.array([[p.m, 0.0], [0.0, p.m]])


def force_by_return(t, q, u, p):
    return np.array([p.a * np.sin(8.0 * t) - p.c * u[0], -p.m * p.g])


def gap_by_return(t, q, p):
    return q[1] - 0.05 * np.sin(3.0 * t) - 0.1 * q[0] ** 2


def tangent_by_return(t, q, p):
    return np.array([1.0, 0.2 * q[0]])


class InPython:
    """The same functions as objects, which Numba does not compile."""

    def __init__(self, f):
        self.f = f

    def __call__(self, *args):
        return self.f(*args)


class Three(InPython):
    def __call__(self, t, q, p):
        return self.f(t, q, p)


class Four(InPython):
    def __call__(self, t, q, u, p):
        return self.f(t, q, u, p)


PARAMS = {"m": 2.0, "g": 9.81, "a": 6.0, "c": 0.5}
COEFFICIENTS = {"restitution": 0.4, "friction": 0.3, "name": "ground"}
BY_OUT = MechanicalSystem(
    mass,
    force,
    contacts=Contact(gap, jacobian=jacobian, tangent=tangent, **COEFFICIENTS),
    params=PARAMS,
    name="hopper",
)
BY_RETURN = MechanicalSystem(
    mass_by_return,
    force_by_return,
    contacts=Contact(gap_by_return, tangent=tangent_by_return, **COEFFICIENTS),
    params=PARAMS,
)
BY_PYTHON = MechanicalSystem(
    Three(mass_by_return),
    Four(force_by_return),
    contacts=Contact(Three(gap_by_return), tangent=Three(tangent_by_return), **COEFFICIENTS),
    params=PARAMS,
)


def run(system=BY_OUT, **options):
    return simulate(system, (0.0, 1.0), [0.0, 0.3], [0.4, 0.0], **({"dt": 1e-3} | options))


@pytest.fixture(scope="module")
def result():
    return run()


def test_fields_of_the_result(result):
    assert result.success and result.status == 0
    assert result.t.shape == (1001,) and result.q.shape == (2, 1001) and result.u.shape == (2, 1001)
    assert result.P_N.shape == (1, 1001) and result.P_T.shape == (1, 1001)
    assert result.modes.shape == (2, 1001) and result.modes.dtype == np.int8
    assert list(result.law_names) == ["ground", "ground friction"]
    assert (
        result.problem_name == "hopper" and result.method == "moreau" and result.method_options["dt"] == 1e-3
    )
    assert result.params == PARAMS
    assert result.nsteps == 1000 and len(result.events) > 3
    assert result.P_N[0, 0] == 0 and result.dt[0] == 0 and np.all(result.order[1:] == 1)
    assert result.audit.ok and result.audit.energy_identity_error < 1e-12
    assert result.audit.derivatives["d/dq gap of contact 'ground'"] == "given"
    assert result.audit.derivatives["d/dt gap of contact 'ground'"] == "complex step"


def test_the_form_of_the_functions_does_not_matter(result):
    returned = run(BY_RETURN)
    np.testing.assert_allclose(returned.q, result.q, rtol=0, atol=1e-13)
    assert np.array_equal(returned.modes, result.modes)
    assert set(returned.audit.derivatives.values()) == {"complex step"}


def test_python_callbacks_give_the_same_numbers(result):
    slow = run(BY_PYTHON)
    # derivatives come from differences here: the rest is the same to rounding
    assert set(slow.audit.derivatives.values()) == {"differences"}
    np.testing.assert_allclose(slow.q, result.q, rtol=0, atol=1e-9)
    given = MechanicalSystem(
        Three(mass_by_return),
        Four(force_by_return),
        contacts=Contact(gap, jacobian=jacobian, tangent=Three(tangent_by_return), **COEFFICIENTS),
        params=PARAMS,
    )
    same = run(given)
    np.testing.assert_allclose(same.q, result.q, rtol=0, atol=1e-15)
    assert any("mass, force" in note for note in same.audit.notes)


def test_changed_parameters(result):
    other = run(BY_OUT.with_params(g=5.0, a=0.0))
    assert other.params["g"] == 5.0 and BY_OUT.params["g"] == 9.81
    free = other.t < 0.3
    np.testing.assert_allclose(
        other.q[1, free], 0.3 - 2.5 * other.t[free] ** 2, atol=1e-12
    )  # exact for a parabola
    assert np.array_equal(run().q, result.q)  # the old values are untouched


def test_a_method_may_be_a_name_or_an_object(result):
    for method, options in (("moreau", {"dt": 1e-3}), (Moreau(dt=1e-3), {"dt": None}), (None, {"dt": 1e-3})):
        assert np.array_equal(run(method=method, **options).q, result.q)
    with pytest.raises(InputError, match="needs a step size"):
        run(method="moreau", dt=None)


def test_too_much_output_for_memory_is_refused_with_advice():
    with pytest.raises(InputError, match=r"GiB of memory: store every k-th.*t_eval.*output=path"):
        simulate(BY_OUT, (0.0, 1e6), [0.0, 0.3], [0.4, 0.0], dt=1e-3)


def test_output_is_not_overwritten_unasked(tmp_path, result):
    path = tmp_path / "run"
    first = run(output=path)
    assert np.array_equal(first.q, result.q)
    with pytest.raises(OutputExistsError):
        run(output=path)
    assert np.array_equal(Result.load(path).q, result.q)
    assert run(output=path, overwrite=True, every=100).t.size == 11


def test_thinned_output_is_audited_too(result):
    thin = run(every=50)
    assert thin.audit.steps_checked >= 10 and thin.audit.ok
    assert thin.audit.steps_total == 1000
    assert run(audit=False).audit is None
    instants = run(t_eval=[0.5])
    assert np.array_equal(instants.q[:, 0], result.q[:, 500])


def test_progress_is_silent_in_logs(capsys):
    run(progress=None)
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err == ""
    run(progress=True)
    assert "simulate" in capsys.readouterr().err


def test_public_names():
    for name in ns.__all__:
        assert getattr(ns, name) is not None
