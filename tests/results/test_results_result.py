"""The result object: fields, shapes, text, xarray, cost of importing it."""

import copy
import subprocess
import sys

import numpy as np
import pytest
from results_standin import ball, moreau

from nonsmooth.errors import InputError, ShapeError
from nonsmooth.results import Audit, Event, EventTable, Result

FIELDS = (
    "t q u y P_N P_T modes events dt order status success message nfev njev nlu nsteps nrejected nbase audit"
).split()


def make(**changes):
    columns, _ = moreau(ball(), 1.0, [1.0], [0.0], 50)
    given = {"nsteps": 50, "method": "moreau", "law_names": ["floor"], "problem_name": "ball"}
    return Result(**(columns | given | changes))


def test_every_field_of_the_design_is_there():
    result = make()
    for name in FIELDS:
        assert name in result
        getattr(result, name)
        assert result[name] is getattr(result, name)
    assert np.array_equal(result.y, np.vstack([result.q, result.u]))
    assert result.success and result.status == 0 and result.message


def test_missing_arrays_are_empty():
    result = Result(t=[0.0, 1.0, 2.0])
    assert result.q.shape == result.modes.shape == result.P_N.shape == (0, 3)
    assert result.dt.size == result.order.size == 0
    assert result.audit is None and len(result.events) == 0


def test_extra_fields_are_attributes_like_scipy():
    result = Result(t=[0.0], y=[[1.0]], extra={"t_events": None, "sol": None})
    assert result.t_events is None and result["sol"] is None
    assert "t_events" in dir(result) and "t_events" in result.keys()
    with pytest.raises(AttributeError, match="no field 'velocity'"):
        result.velocity  # noqa: B018
    with pytest.raises(KeyError):
        result["velocity"]
    twin = copy.copy(result)
    assert twin.t_events is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"q": np.zeros((1, 3))},
        {"t": np.zeros((2, 2))},
        {"modes": np.zeros(51, dtype=np.int8)},
        {"dt": np.zeros(7)},
        {"law_names": ["a", "b"]},
    ],
)
def test_shapes_are_checked(wrong):
    with pytest.raises(ShapeError, match=r"wanted|names"):
        make(**wrong)


def test_failure_is_loud():
    result = make(status=-1, message="the step became too small")
    assert not result.success
    assert "NOT SUCCESSFUL: the step became too small" in repr(result)
    assert "NO success" in result.summary()
    assert "audit: NOT ok" in repr(make(audit=Audit(unconverged=2)))


def test_repr_and_summary_say_what_happened():
    event = Event(0.5, "impact", "floor", before=0, after=1, law=0)
    result = make(events=[event, event], nfev=51, method_options={"dt": 0.02, "long": "x" * 100})
    text = repr(result)
    assert "\n" not in text
    for part in ("ball", "moreau", "51 instants", "n_q = 1", "1 laws", "50 steps", "2 impact"):
        assert part in text
    summary = result.summary()
    for part in ("dt=0.02", "0 ... 1", "nfev 51", "step size", "2 impact", "q[0]"):
        assert part in summary
    assert max(len(line) for line in summary.splitlines()) < 130
    assert "impact" in repr(event) and "0 -> 1" in repr(event)
    assert repr(Result(t=np.zeros(0)))
    assert Result(t=np.zeros(0)).summary()


def test_many_coordinates_are_cut():
    t = np.linspace(0, 1, 4)
    assert "28 more" in Result(t=t, q=np.zeros((40, 4)), u=np.zeros((40, 4))).summary()


def test_event_table_is_a_sequence_of_events():
    table = EventTable([0.1, 0.2, 0.3], [0, 3, 5], [0, 1, -1], [0, 2, -2], [1, 1, 2], names=["floor", "rail"])
    assert len(table) == 3
    assert table[1] == Event(0.2, "stick", "rail", before=2, after=1, law=1)
    assert table[-1].name == "" and table[-1].kind == "reversal"
    assert [e.t for e in table[:2]] == [0.1, 0.2]
    assert list(table) == [table[0], table[1], table[2]]
    assert table[0] != table[1]
    with pytest.raises(IndexError):
        table[3]
    assert "1 impact, 1 stick, 1 reversal" in repr(table)
    assert isinstance(table[0].before, int) and table[0].bracket == (0.1, 0.1)


def test_bad_events_are_refused():
    with pytest.raises(InputError, match="'bang'"):
        Event(0.0, "bang")
    with pytest.raises(ShapeError):
        EventTable([0.1], [0, 1], [0], [0], [1])
    with pytest.raises(ShapeError):
        EventTable([0.1], [0], [0], [0], [1], bracket=np.zeros((1, 2)))
    with pytest.raises(InputError, match="code 77"):
        EventTable([0.1], [77], [0], [0], [1])
    with pytest.raises(AttributeError):
        Event(0.0, "impact").t = 1.0


def test_to_xarray():
    result = make(order=np.ones(51, dtype=int), coordinate_names=["height"])
    data = result.to_xarray()
    assert data["q"].dims == ("coordinate", "t")
    assert float(data["q"].sel(coordinate="height", t=0.0)) == 1.0
    assert data["modes"].sel(law="floor").shape == (51,)
    assert set(data.data_vars) == {"q", "u", "P_N", "modes", "dt", "order"}
    only_y = Result(t=[0.0, 1.0], y=[[1.0, 2.0]]).to_xarray()
    assert only_y["y"].dims == ("component", "t")
    wheel = Result(t=[0.0, 1.0], q=np.zeros((4, 2)), u=np.zeros((3, 2))).to_xarray()
    assert wheel["u"].dims == ("velocity", "t")


def test_to_xarray_without_xarray_names_the_cure(monkeypatch):
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "xarray" else find(name, *a)
    )
    with pytest.raises(InputError, match=r"pip install 'nonsmooth\[xarray\]'"):
        make().to_xarray()


def test_importing_results_loads_neither_hdf5_nor_matplotlib():
    code = "import sys, nonsmooth.results; print(sorted({'h5py', 'matplotlib', 'xarray', 'numba'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert found.stdout.strip() == "[]"
