"""Mode changes as recorded by a loop, turned into events."""

import numpy as np

from nonsmooth._core.records import laws as codes
from nonsmooth.contact.laws import LawTableBuilder
from nonsmooth.schemes.incidents import event_table


def laws():
    table = LawTableBuilder()
    table.add(codes.HALF_LINE, 1, "wall", e=0.5)
    table.add(codes.COULOMB_1D, 1, "wall friction", link=0, mu=0.3)
    table.add(codes.INTERVAL, 1, "brake")
    return table.build(1, 0)


def events(rows, dt=0.1):
    raw = np.array(rows, dtype=np.int64).reshape(-1, 4)
    times = np.column_stack([raw[:, 0] * dt, (raw[:, 0] + 1) * dt])
    return event_table(raw, times, laws())


def test_kinds():
    found = events([
        (3, 0, 0, 1), (3, 1, 0, 1), (7, 1, 1, 2), (9, 1, 2, -2), (11, 1, -2, 1), (20, 0, 1, 0), (20, 1, 1, 0),
        (25, 2, 1, -2), (26, 2, -2, 2), (27, 2, 2, 1),
    ])  # fmt: skip
    assert [(e.kind, e.name) for e in found] == [
        ("close", "wall"), ("slip", "wall friction"), ("reversal", "wall friction"), ("stick", "wall friction"),
        ("open", "wall"), ("slip", "brake"), ("reversal", "brake"), ("stick", "brake"),
    ]  # fmt: skip
    np.testing.assert_allclose([e.t for e in found], [0.3, 0.7, 0.9, 1.1, 2.0, 2.5, 2.6, 2.7])
    assert (found[1].before, found[1].after) == (1, 2)
    np.testing.assert_allclose(found[0].bracket, (0.2, 0.4))  # the switching point lies here


def test_closed_for_one_step_is_one_impact():
    found = events([(3, 0, 0, 1), (4, 0, 1, -2), (8, 0, 0, 1), (9, 0, 1, 0), (12, 0, 0, 1)])
    assert [e.kind for e in found] == ["impact", "impact", "close"]
    assert found[0].after == -2


def test_nothing_happened():
    assert len(events([])) == 0
