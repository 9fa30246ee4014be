"""The cubic through gap and gap rate at both ends of a step: whether a contact closed and opened again inside it."""

from nonsmooth._core.jit import phase


@phase
def dips_below(g_0, d_0, g_1, d_1, tolerance):
    """Where the cubic with these values and slopes at 0 and 1 has a minimum below -tolerance; -1 if it has none.

    A contact that closed and opened again inside a step.
    """
    z, least = least_of_cubic(g_0, d_0, g_1, d_1)
    return z if z > 0.0 and least < -tolerance else -1.0


@phase
def least_of_cubic(g_0, d_0, g_1, d_1):
    """Where the cubic with these values and slopes at 0 and 1 has its minimum inside, and its value there; -1 if it has none."""
    if not (d_0 < 0.0 and d_1 > 0.0):
        return -1.0, 0.0
    # g = g_0 + d_0 z + b z^2 + a z^3; its derivative changes sign once in (0, 1)
    a = 2.0 * (g_0 - g_1) + d_0 + d_1
    b = 3.0 * (g_1 - g_0) - 2.0 * d_0 - d_1
    lo, hi, z = 0.0, 1.0, 0.5
    for _ in range(48):
        z = 0.5 * (lo + hi)
        if d_0 + z * (2.0 * b + z * 3.0 * a) < 0.0:
            lo = z
        else:
            hi = z
    # near the end, from there: what is left of the gap may be far below the rounding of the terms at the begin
    y = 1.0 - z
    if y < 0.5:
        return z, g_1 - y * (d_1 - y * (3.0 * a + b - y * a))
    return z, g_0 + z * (d_0 + z * (b + z * a))


@phase
def root_of_cubic(g_0, d_0, g_1, d_1):
    """Where the cubic with these values and slopes at 0 and 1 vanishes, next to 1 (by Newton's method from there); 0 if it does not
    fall through zero."""
    a = 2.0 * (g_0 - g_1) + d_0 + d_1
    b = 3.0 * (g_1 - g_0) - 2.0 * d_0 - d_1
    y = 0.0  # = 1 - z: what is left of the gap may be far below the rounding of the terms at the begin
    for _ in range(8):
        slope = -d_1 + y * (2.0 * (3.0 * a + b) - y * 3.0 * a)
        if not slope > 0.0:
            return 0.0
        change = (g_1 - y * (d_1 - y * (3.0 * a + b - y * a))) / slope
        y -= change
        if abs(change) <= 1e-16 * abs(1.0 - y):
            break
    return 1.0 - y
