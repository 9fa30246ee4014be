"""Tables on complex numbers: `np.interp` as derivatives by the complex step want it.

Numba's own takes real points alone. Here the real part says which piece of the table it is, and the imaginary part moves along that piece:
the derivative is its slope, at a point of the table that of the piece which begins there (at the last one of the last piece), and zero
beyond the ends, where the value stays.
"""

import numpy as np
from numba import types
from numba.extending import overload


@overload(np.interp)
def interp_of_complex(x, xp, fp):
    if not isinstance(x, types.Complex):
        return None

    def at(x, xp, fp):
        t, last = x.real, len(xp) - 1
        if not t >= xp[0]:
            return complex(fp[0] if t < xp[0] else t, 0.0)
        if t > xp[last]:
            return complex(fp[last], 0.0)
        k = min(np.searchsorted(xp, t, side="right"), last) - 1
        slope = (fp[k + 1] - fp[k]) / (xp[k + 1] - xp[k])
        return complex(slope * (t - xp[k]) + fp[k], slope * x.imag)

    return at
