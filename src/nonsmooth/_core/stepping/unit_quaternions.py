"""Unit quaternions are brought back to length one at the end of a step (a kernel of its own: only rotations need it).

The exact motion keeps |q| = 1, a step only up to its error: q <- q / |q| removes the part of that error which can be seen. It is
a smooth map that leaves exact values alone, so that a step followed by it is again a one-step method of the same order.
Extrapolation divides at the ends of its main steps only: dividing in the substeps keeps the order, too, but costs calls and hides
the error in the length from the error test.
"""

from nonsmooth._core.jit import kernel
from nonsmooth._core.records.codes import N_SIZES, S_UNIT
from nonsmooth._core.stepping.moreau import UNIT


@kernel(UNIT, part=True)
def unit_quaternions(size, q):
    """Divide the quaternions in `q` by their lengths; where they begin stands behind the sizes of the model."""
    for k in range(size[S_UNIT]):
        i = size[N_SIZES + k]
        length = (q[i] * q[i] + q[i + 1] * q[i + 1] + q[i + 2] * q[i + 2] + q[i + 3] * q[i + 3]) ** 0.5
        for j in range(i, i + 4):
            q[j] /= length
