"""Schemes that share nothing but the model agree within what they say of their errors (all 60 systems: `benchmarks/agreement.py`)."""

import pytest
from tests.agreement.systems import FAMILIES, disagreement, draw, margins

import nonsmooth as ns

SEEDS = {"walls": 9, "block": 2, "belts": 10, "pendulum": 13, "puck": 3, "jointed": 4}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_four_schemes(family):
    drawn = draw(family, SEEDS[family.__name__])
    assert margins(*drawn) == ""
    ratio, text = disagreement(*drawn)
    assert ratio <= 10.0, text


def test_margins_leave_out_what_grazes():
    touch = ns.MechanicalSystem(
        1.0, lambda t, q, u: 1.0 - q, ns.Contact(lambda t, q: 2.0 - q[0], restitution=0.5)
    )
    assert margins(touch, (0.0, 5.0), [0.0], [0.0]) != ""
