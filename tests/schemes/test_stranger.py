"""A scheme, a law, a contact solver and an integrator from outside the package, each in one file of `examples`."""

import importlib.util
from pathlib import Path

import numpy as np


def load(name):
    path = Path(__file__).parents[2] / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert len(path.read_text().splitlines()) <= 150
    return module


def test_a_scheme_from_outside_has_its_order_and_audit(capsys):
    errors = load("symplectic_euler").main()
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(np.abs(orders - 1) < 0.1)
    text = capsys.readouterr().out
    assert "1 impact" in text and "NOT ok" not in text


def test_a_law_from_outside():
    """Friction in an ellipse: first order while it slides, at rest in the end."""
    module = load("own_law")
    errors, result = module.main()
    assert 0.9 < np.log2(errors[0] / errors[1]) < 1.1
    assert np.all(np.abs(result.u[:, -1]) < 1e-12) and result.audit.ok
    x = np.array([4.0, -2.0])
    y = module.nearest_on_ellipse(x)
    assert abs((y[0] / module.ACROSS) ** 2 + (y[1] / module.ALONG) ** 2 - 1.0) < 1e-14
    normal = y / np.array([module.ACROSS, module.ALONG]) ** 2
    assert abs(normal[0] * (x - y)[1] - normal[1] * (x - y)[0]) < 1e-14  # x - y is normal to the rim


def test_a_contact_solver_from_outside():
    """Its steps are solved to the tolerance, and the motion is that of the default solver up to an opening by rounding."""
    difference, result = load("own_solver").main()
    assert result.residual.max() <= 1e-10 and result.audit.ok
    assert difference < 5 * 9.81 * 2e-3**2


def test_an_integrator_from_outside():
    difference, result = load("own_integrator").main()
    assert difference < 1e-8 and result.audit.ok
