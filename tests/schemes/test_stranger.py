"""A scheme from outside the package, in one file: its order, its contacts, its audit."""

import importlib.util
from pathlib import Path

import numpy as np


def load():
    path = Path(__file__).parents[2] / "examples" / "symplectic_euler.py"
    spec = importlib.util.spec_from_file_location("symplectic_euler", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert len(path.read_text().splitlines()) <= 150
    return module


def test_a_scheme_from_outside_has_its_order_and_audit(capsys):
    errors = load().main()
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(np.abs(orders - 1) < 0.1)
    text = capsys.readouterr().out
    assert "1 impact" in text and "NOT ok" not in text
