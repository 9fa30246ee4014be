"""The projection half of an ADMM iteration on the De Saxcé problem, in scaled variables (see
`nonsmooth.contact.admm`)."""

import math

from nonsmooth._core.jit import kernel


@kernel
def project_and_update(dim, x, z, y, rho, relax, mu, bilateral):
    """``z = P_K(x̂ + y / rho)``, ``y += rho (x̂ - z)`` with ``x̂ = relax x + (1 - relax) z``; `z`, `y` are
    modified in place.

    Returns ``(|x - z|, rho |z - z_old|)``, the primal and dual residuals.
    """
    primal = 0.0
    dual = 0.0
    for i in range(mu.size):
        base = dim * i
        length = 0.0
        for a in range(dim):
            k = base + a
            primal_old = z[k]
            hat = relax * x[k] + (1.0 - relax) * primal_old
            y[k] += rho * hat  # y now holds rho times the point to project
            if a > 0:
                length += y[k] * y[k]
        length = math.sqrt(length) / rho
        height = y[base] / rho
        scale = 1.0
        if not bilateral[i] and (height < 0.0 or length > mu[i] * height):
            height = (height + mu[i] * length) / (1.0 + mu[i] * mu[i])
            if height <= 0.0:
                height = 0.0
                scale = 0.0
            else:
                scale = mu[i] * height / length
        for a in range(dim):
            k = base + a
            new = height if a == 0 else scale * y[k] / rho
            change = new - z[k]
            dual += change * change
            z[k] = new
            y[k] -= rho * new
            gap = x[k] - new
            primal += gap * gap
    return math.sqrt(primal), rho * math.sqrt(dual)


@kernel
def right_hand_side(dim, q, z, y, rho, mu, bilateral, out):
    """``rho z - y - q - shift`` with the shift ``mu |u_T|`` at the current dual estimate ``u_T = -y_T``."""
    for i in range(mu.size):
        base = dim * i
        slip = 0.0
        for a in range(1, dim):
            slip += y[base + a] * y[base + a]
        for a in range(dim):
            k = base + a
            out[k] = rho * z[k] - y[k] - q[k]
        if not bilateral[i]:
            out[base] -= mu[i] * math.sqrt(slip)
