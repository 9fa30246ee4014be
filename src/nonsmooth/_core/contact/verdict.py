"""The verdict on a contact result, compiled: residuals and the cone, sharing no code with any solver.

The formulas are those of `nonsmooth.contact.residual`, written a second time; the tests hold the two against
each other. The front door uses this copy for small problems, where a dozen NumPy calls would cost more than
the solution.
"""

import math

from nonsmooth._core.jit import kernel
from nonsmooth._core.laws.projections import ROUNDED


@kernel
def distance(dim, base, r, u, mu, v0, rho):
    """``|r - P(r - rho ũ)|^2`` of the contact that starts at row `base`; `v0` is the shifted normal
    velocity."""
    x0 = r[base] - rho * v0
    reach = 0.0
    for k in range(base + 1, base + dim):
        x = r[k] - rho * u[k]
        reach += x * x
    reach = math.sqrt(reach)
    # the projection is (height, factor * x_T)
    height = x0
    factor = 1.0
    if x0 < 0.0 or reach > mu * x0:
        height = max(0.0, (x0 + mu * reach) / (1.0 + mu * mu))
        factor = mu * height / reach if reach > 0.0 else 0.0
    # inside the cone the difference is rho ũ itself, without cancellation
    d = rho * v0 if height == x0 and factor == 1.0 else r[base] - height
    total = d * d
    for k in range(base + 1, base + dim):
        d = r[k] - factor * (r[k] - rho * u[k])
        if factor == 1.0:
            d = rho * u[k]
        total += d * d
    return total


@kernel
def of_laws(dim, r, u, q, mu, bilateral, law_rho, diagonal):
    """The residual of the laws, eq. (1) of `nonsmooth.contact.residual`, and ``|q|`` of the laws that are closed.

    `law_rho` has two entries for each contact, `diagonal` one for each row.
    """
    error, closed, all_of_q = 0.0, 0.0, 0.0
    for i in range(mu.size):
        base = dim * i
        for law in range(min(dim, 2)):  # the normal row, then the others
            first, last = (base, base + 1) if law == 0 else (base + 1, base + dim)
            rho = law_rho[2 * i + law]
            reach, own = 0.0, 0.0
            for k in range(first, last):
                x = r[k] - rho * u[k]
                reach += x * x
                own += max(abs(q[k]), ROUNDED * diagonal[k] * abs(r[k])) ** 2
            factor = 1.0  # of the argument r - rho u, which makes its projection
            if bilateral[i]:
                factor = 1.0
            elif law == 0:
                factor = 1.0 if r[base] - rho * u[base] > 0.0 else 0.0
            else:
                radius = mu[i] * max(r[base], 0.0)
                if reach > radius * radius:
                    factor = radius / math.sqrt(reach)
            for k in range(first, last):
                # inside its set a law has the error u itself, without cancellation
                e = u[k] if factor == 1.0 else (r[k] - factor * (r[k] - rho * u[k])) / rho
                error += e * e
            all_of_q += own
            if factor * reach > 0.0:
                closed += own
    size = closed if closed > 0.0 else all_of_q
    value = math.sqrt(error / size if size > 0.0 else error)
    return value if value < math.inf else math.inf, math.sqrt(size)


@kernel
def verdict(dim, r, u, mu, bilateral, rho, size):
    """``(scaled, unit, cone)`` as in `nonsmooth.contact.residual.residual`; `size` is ``|q|``."""
    scaled = 0.0
    unit = 0.0
    cone = 0.0
    top = 0.0
    for i in range(mu.size):
        base = dim * i
        u0 = u[base]
        ut = 0.0
        rt = 0.0
        top = max(top, abs(r[base]))
        for k in range(base + 1, base + dim):
            ut += u[k] * u[k]
            rt += r[k] * r[k]
            top = max(top, abs(r[k]))
        if bilateral[i]:
            scaled += u0 * u0 + ut
            unit += u0 * u0 + ut
            continue
        v0 = u0 + mu[i] * math.sqrt(ut)
        scaled += distance(dim, base, r, u, mu[i], v0, rho[i]) / (rho[i] * rho[i])
        unit += distance(dim, base, r, u, mu[i], v0, 1.0)
        cone = max(cone, math.sqrt(rt) - mu[i] * r[base], -r[base])
    scaled = math.sqrt(scaled) / size
    unit = math.sqrt(unit) / size
    if not scaled < math.inf or not unit < math.inf:
        return math.inf, math.inf, math.inf
    return scaled, unit, cone / top if top > 0.0 else 0.0


@kernel
def rounding(r, rho, size):
    """Part of the unit residual that is rounding of the impulses, see `nonsmooth.contact.residual.rounding`."""
    length = 0.0
    for k in range(r.size):
        length += r[k] * r[k]
    typical = 0.0
    for i in range(rho.size):
        typical += rho[i]
    return 4.0 * 2.220446049250313e-16 * min(math.sqrt(length) / size, typical / rho.size)
