"""One table of status codes: every code is explained, those of a scheme of one's own by the scheme."""

from types import SimpleNamespace

import numpy as np
import pytest

import nonsmooth as ns
from nonsmooth._core.records import status as codes
from nonsmooth.errors import IntegrationError, NonFiniteStateError
from nonsmooth.schemes.base import Scheme
from nonsmooth.schemes.failures import FAILURES, failure


def test_every_code_has_an_error():
    answers = {value for name, value in vars(codes).items() if name.isupper()}
    no_failures = {codes.OK, codes.REJECTED, codes.WAITING, codes.EVENT, codes.OTHER_INTEGRATOR}
    assert set(FAILURES) == answers - no_failures - {codes.OWN}


def test_a_scheme_explains_its_own_codes():
    class Mine(Scheme):
        name = "mine"

        def explain(self, status):
            return {codes.OWN: "the history was lost"}.get(status, super().explain(status))

    run = SimpleNamespace(scheme=Mine(), t=1.5, dt=0.5)
    error = failure(run, codes.OWN)
    assert isinstance(error, IntegrationError)
    assert str(error) == "the history was lost (step from t = 1.5 to 2)."
    assert "mine" in str(failure(run, codes.OWN + 1)) and "101" in str(failure(run, codes.OWN + 1))


def test_functions_that_are_no_numbers_are_named():
    for name, force, gap in (
        ("force is nan", lambda t, q, u: np.array([-9.81 if t < 0.2 else np.nan]), lambda t, q: q[0]),
        (
            "'floor'",
            lambda t, q, u: np.array([-9.81]),
            lambda t, q: q[0] if t < 0.2 else np.nan,
        ),
    ):
        system = ns.MechanicalSystem(1.0, force, ns.Contact(gap, name="floor"))
        with pytest.raises(NonFiniteStateError, match=name) as caught:
            ns.simulate(system, (0, 1), [1.0], [0.0], rtol=1e-6)
        assert 0.15 < caught.value.partial.t[-1] <= 0.2
