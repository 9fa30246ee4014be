"""Signatures of functions of the user as the loops of discontinuous equations call them: p is a flat parameter array."""

from nonsmooth._core.jit import caller, f8_1, f8_2, float64, int64, void

#: Right-hand sides and switching functions, ``f(t, y, p, out)``.
VALUE = void(float64, f8_1, f8_1, f8_1)
#: Jacobians, ``jac(t, y, p, out)``, out of shape (n, n).
JACOBIAN = void(float64, f8_1, f8_1, f8_2)
#: Reset maps, ``reset(i, t, y, p, out)``.
RESET = void(int64, float64, f8_1, f8_1, f8_1)

call_value, call_jacobian, call_reset = caller(VALUE), caller(JACOBIAN), caller(RESET)
