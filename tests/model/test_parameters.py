"""The parameter record: named tuple for the user, flat array for the loops."""

import numpy as np
import pytest

from nonsmooth._core.jit import user_kernel
from nonsmooth.errors import InputError, NonFiniteError
from nonsmooth.model.parameters import Parameters


def test_record_and_flat_array():
    p = Parameters({"m": 2, "K": [[1.0, 2.0], [3.0, 4.0]], "g": np.float32(9.5)})
    assert p.names == ("m", "K", "g")
    assert np.array_equal(p.flat, [2.0, 1.0, 2.0, 3.0, 4.0, 9.5])
    record = p.record()
    assert record.m == 2.0 and isinstance(record.m, float)
    assert np.array_equal(record.K, [[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(ValueError, match="read-only"):
        record.K[0, 0] = 5.0
    values = p.as_dict()
    values["K"][0, 0] = 7.0  # a copy
    assert p.record().K[0, 0] == 1.0


def test_compiled_code_sees_the_same_record():
    p = Parameters({"m": 2.0, "K": [[1.0, 2.0], [3.0, 4.0]], "v": [5.0, 6.0, 7.0]})
    unpack = p.unpack

    def total(flat):
        r = unpack(flat)
        return r.m + 10.0 * r.K[1, 0] + 100.0 * r.v[2]

    compiled = user_kernel(total)
    assert compiled(p.flat) == 2.0 + 30.0 + 700.0
    assert compiled(p.replaced({"m": 3.0}).flat) == 3.0 + 30.0 + 700.0  # nothing recompiled
    assert len(getattr(compiled, "signatures", [1])) == 1


@pytest.mark.parametrize("name", ["a b", "class", "_hidden", 3, ""])
def test_bad_names(name):
    with pytest.raises(InputError, match=r"p\.name"):
        Parameters({name: 1.0})


@pytest.mark.parametrize(
    ("value", "error"),
    [("x", InputError), (1j, InputError), (np.nan, NonFiniteError), ([1, np.inf], NonFiniteError)],
)
def test_bad_values(value, error):
    with pytest.raises(error, match="k"):
        Parameters({"k": value})


def test_replacing_keeps_names_and_shapes():
    p = Parameters({"m": 1.0, "v": [1.0, 2.0]})
    assert p.replaced({"v": [3, 4]}).record().v[1] == 4.0
    with pytest.raises(InputError, match=r"mass.*m, v"):
        p.replaced({"mass": 1.0})
    with pytest.raises(InputError, match="shape"):
        p.replaced({"v": [1.0]})
    assert Parameters(None).record() == ()
