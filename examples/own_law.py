"""A set-valued law of one's own: friction on a grooved plate, strong across the grooves and weak along them.

The friction force lies in an ellipse with the half-axes a (across) and b (along), and dissipates as much as it can:

    |u| > 0:   F = -(a^2 u_x, b^2 u_y) / sqrt(a^2 u_x^2 + b^2 u_y^2)            u = 0:   F inside the ellipse

All a law owes is the projection onto its set. A block that starts obliquely is turned into the grooves, and stops.
"""

import numpy as np
from scipy.integrate import solve_ivp

import nonsmooth as ns

ACROSS, ALONG = 3.0, 1.0  # N; the block has 1 kg
START = np.array([1.0, 1.0])  # m/s


def nearest_on_ellipse(x):
    """The point of the ellipse nearest to `x`: (a^2 x/(a^2 + s), b^2 y/(b^2 + s)) with the multiplier s >= 0 that puts it on the rim."""
    a, b = ACROSS, ALONG
    y = x.copy()
    if (x[0] / a) ** 2 + (x[1] / b) ** 2 <= 1.0:
        return y
    # f(s) = (a x/(a^2 + s))^2 + (b y/(b^2 + s))^2 - 1 is convex and falls: Newton's method from s = 0 never passes the root
    s = 0.0
    for _ in range(100):
        f = (a * x[0] / (a * a + s)) ** 2 + (b * x[1] / (b * b + s)) ** 2 - 1.0
        slope = -2.0 * ((a * x[0]) ** 2 / (a * a + s) ** 3 + (b * x[1]) ** 2 / (b * b + s) ** 3)
        step = -f / slope
        s += step
        if step <= 1e-15 * s:
            break
    y[0] = a * a * x[0] / (a * a + s)
    y[1] = b * b * x[1] / (b * b + s)
    return y


def block():
    """One kilogram on the plate, x across the grooves and y along them."""
    grooves = ns.SetValuedElement(
        lambda t, q: np.eye(2),
        ns.ConvexSet(nearest_on_ellipse),
        name="grooves",
        direction_rate=lambda t, q, u: np.zeros(2),
    )
    return ns.MechanicalSystem(np.eye(2), lambda t, q, u: np.zeros(2), elements=[grooves])


def exact(t):
    """Velocities while the block slides, by SciPy."""

    def slide(t, u):
        F = -np.array([ACROSS**2 * u[0], ALONG**2 * u[1]])
        return F / np.sqrt((ACROSS * u[0]) ** 2 + (ALONG * u[1]) ** 2)

    return solve_ivp(slide, (0.0, t[-1]), START, t_eval=t, rtol=1e-10, atol=1e-12).y


def main():
    """Simulate with two step sizes; returns the errors of the velocity while it slides, and the run."""
    errors = []
    for dt in (2e-3, 1e-3):
        result = ns.simulate(block(), (0.0, 1.5), [0.0, 0.0], START, dt=dt)
        sliding = result.t <= 0.5
        errors.append(float(np.max(np.abs(result.u[:, sliding] - exact(result.t[sliding])))))
    print(f"errors of the velocity: {errors[0]:.2g} with dt = 2e-3, {errors[1]:.2g} with dt = 1e-3")
    print(f"stops at q = {result.q[:, -1]}, audit {'ok' if result.audit.ok else 'NOT ok'}")
    return errors, result


if __name__ == "__main__":
    main()
