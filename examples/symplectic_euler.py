"""A scheme of one's own in one file: symplectic Euler with contacts.

    u_1 = u_0 + M^-1 (h(t_0, q_0, u_0) dt + W P)      contacts with g(t_0, q_0) <= 0, Moreau's impact law
    q_1 = q_0 + B u_1 dt

First order, but it keeps the energy of an oscillator within bounds for ever. The laws of a step, their solver, output, events and
limits are the library's.
"""

from dataclasses import dataclass, field

import numpy as np

import nonsmooth as ns
from nonsmooth import extend as kit


@kit.step_kernel
def symplectic_step(at_scene, at_state, t, dt):
    """One step."""
    scene, begin = kit.scene_at(at_scene), kit.state_at(at_state)
    model, work, end = scene.model, scene.work, scene.end
    for i in range(model.size.n_u):
        work.u_e[i] = begin.u[i]
    kit.evaluation_point(model, begin, work, t, t, 0.0)  # everything is evaluated at the begin
    status = kit.velocity_step(scene, begin, t, dt, 0.0, True)  # forces, contacts, impulses
    if status != kit.OK and status != kit.UNCONVERGED:
        return status
    finite = kit.move(model, begin, end, work, 1.0, dt)  # with the new velocity
    return kit.close_step(scene, begin, status if finite else kit.NON_FINITE, t, dt)


@dataclass(frozen=True)
class SymplecticEuler(kit.ConstantStep):
    """Options of the scheme: what a user writes."""

    dt: float
    solver: ns.Exact = field(default_factory=ns.Exact)

    name = "symplectic-euler"
    order = 1
    step = symplectic_step

    def audit(self, model, result, totals, plan, samples):
        """A second route in plain NumPy: the equation of motion of every step in which no contact acts."""
        audit = super().audit(model, result, totals, plan, samples)
        audit.notes.clear()
        audit.momentum_residual = 0.0
        for k in range(1, result.t.size):
            if np.any(result.P_N[:, k]):
                continue
            t, q, u, dt = result.t[k - 1], result.q[:, k - 1], result.u[:, k - 1], result.dt[k]
            u_1 = u + dt * np.linalg.solve(model.mass_matrix(t, q), model.forces(t, q, u))
            audit.momentum_residual = max(
                audit.momentum_residual, float(np.max(np.abs(u_1 - result.u[:, k])))
            )
            audit.steps_checked += 1
        return audit


def oscillator():
    """A mass on a spring beside a wall."""
    return ns.MechanicalSystem(1.0, lambda t, q, u: -q, ns.Contact(lambda t, q: q[0] + 0.5, restitution=0.8))


def end(dt, t_end=2.0):
    """State at t_end, shortly before the impact (an impact between two steps makes the error scatter)."""
    result = ns.simulate(oscillator(), (0, t_end), [1.0], [0.0], method=SymplecticEuler(dt=dt), audit=False)
    return result.y[:, -1]


def main():
    exact = np.array([np.cos(2.0), -np.sin(2.0)])
    errors = [np.max(np.abs(end(2.0 / n) - exact)) for n in (500, 1000, 2000, 4000)]
    print("errors", *(f"{error:.3g}" for error in errors))
    print("order ", *(f"{np.log2(a / b):.2f}" for a, b in zip(errors, errors[1:])))
    result = ns.simulate(oscillator(), (0, 2.5), [1.0], [0.0], method=SymplecticEuler(dt=1e-3))
    print(result, result.audit, sep="\n")
    return errors


if __name__ == "__main__":
    main()
