"""The best combination of the last points of a fixed-point iteration, in plain loops (see `nonsmooth.contact.anderson`).

Vectors have tens of thousands of entries and there are five of them: threads of a linear algebra library cost more than they
bring, and their order of sums would not be fixed.
"""

import numpy as np

from nonsmooth._core.jit import kernel
from nonsmooth._core.linalg.elimination import lu_factor, lu_solve


@kernel
def combine(dF, dG, count, f, g, damping, out):
    """``out = g - dG^T w`` with the `w` that minimises ``|f - dF^T w|``; `dF`, `dG` of shape (memory, n).

    `count` rows are in use. `damping` is relative to the trace of the normal equations. Returns False, and `g`, where all
    differences vanish.
    """
    normal = np.zeros((count, count))
    w = np.zeros(count)
    piv = np.empty(count, dtype=np.int64)
    trace = 0.0
    for a in range(count):
        for b in range(a + 1):
            total = 0.0
            for k in range(f.size):
                total += dF[a, k] * dF[b, k]
            normal[a, b] = total
            normal[b, a] = total
        total = 0.0
        for k in range(f.size):
            total += dF[a, k] * f[k]
        w[a] = total
        trace += normal[a, a]
    for k in range(g.size):
        out[k] = g[k]
    if not trace > 0.0:
        return False
    for a in range(count):
        normal[a, a] += damping * trace
    if not lu_factor(normal, piv, count) > 0.0:
        return False
    lu_solve(normal, piv, count, w)
    for a in range(count):
        for k in range(g.size):
            out[k] -= w[a] * dG[a, k]
    return True
