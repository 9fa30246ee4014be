"""Coulomb friction in the nonsmooth generalized-alpha method (the paper names it as future work), against references and closed forms:
woodpecker, rod on rough ground, disk, block on a slope, box in space; and order 2 between impacts, on a double pendulum with a wall."""

import warnings

import numpy as np
from _table import show

import nonsmooth as ns

G = 9.81


def run(problem, h, T, **more):
    method = ns.GeneralizedAlpha(dt=h, **{"rho_inf": 0.8, **more})
    return ns.simulate(
        problem.system, (0, T), problem.q0, problem.u0, method=method, audit=False, on_energy_gain="ignore"
    )


def incidents(r, reference, h):
    """Events and those of the reference in order: how many, whether they are the same, how far apart in steps."""
    known = [(e.kind, e.name, e.t) for e in reference.events if e.t < r.t[-1]]
    found = [(e.kind, e.name, e.t) for e in r.events]
    same = [e[:2] for e in known] == [e[:2] for e in found]
    apart = max(abs(a[2] - b[2]) for a, b in zip(known, found)) / h
    return f"{len(found)} of {len(known)}, {'the same' if same else 'others'}, within {apart:.2f} h"


def mode_changes(r):
    """Changes of contacts that are no event of their own: what a contact takes back in the step after an impact."""
    modes = r.modes[:3]
    changes = np.count_nonzero(np.diff(modes, axis=1))
    impacts = sum(e.kind == "impact" for e in r.events)
    return changes - sum(e.kind in ("open", "close", "impact") for e in r.events), impacts


def woodpecker(rows):
    problem, h = ns.problems.woodpecker(start="consistent"), 1e-5
    exact = problem.reference.states_at([0.05])[1][:, 0]
    errors = [np.max(np.abs(run(problem, step, 0.05).q[:, -1] - exact)) for step in (2 * h, h)]
    rows.append(
        (
            "woodpecker, h = 1e-5: error at 0.05 s, order",
            "<= 2e-8, 2",
            f"{errors[1]:.2e}, {np.log2(errors[0] / errors[1]):.2f}",
        )
    )
    r = run(problem, h, 0.4)
    index, exact, _ = problem.reference.states_at(r.t)
    rows.append(("  positions to 0.4 s", "<= 1e-3", f"{np.max(np.abs(r.q[:, index] - exact)):.1e}"))
    rows.append(("  incidents to 0.4 s", "25", incidents(r, problem.reference, h)))
    changes, impacts = mode_changes(r)
    rows.append(("  other changes of contacts, reopenings of impacts", "the same", f"{changes}, {impacts}"))
    model = problem.system.bind(0.0, problem.q0, problem.u0)
    gap = min(np.min(model.gaps(t, q)) for t, q in zip(r.t, r.q.T))
    stuck = r.modes[4] == 1
    cone = np.max(np.abs(r.P_T) - 0.3 * r.P_N) / np.max(r.P_N)
    rows.append(
        (
            "  slip while stuck, worst gap, cone",
            "<= 1e-15, >= -1e-12, <= 1e-10",
            f"{np.max(np.abs(r.u[0, stuck])):.1e}, {gap:.1e}, {max(cone, 0.0):.1e}",
        )
    )


def rod(rows):
    """The end that stays on the ground sticks with the other one: both stand still at once."""
    problem, h = ns.problems.rod_rough_plane(), 1e-4
    errors = []
    for step in (h, h / 2):
        r = run(problem, step, 1.0)
        index, exact, _ = problem.reference.states_at(r.t)
        before = r.t[index] < 0.39  # of the other end's impact
        errors.append(np.max(np.abs(r.q[:, index] - exact)[:, before]))
        end = np.max(np.abs(r.q[:, index] - exact))
        if step == h:
            events = ", ".join(f"{e.kind} {e.t:.4f}" for e in r.events)
    known = ", ".join(f"{e.kind} {e.t:.4f}" for e in problem.reference.events)
    rows.append(("rod on rough ground: incidents", "", events))
    rows.append(("  reference", "", known))
    rows.append(
        (
            "  error before the impact, h and h/2; to 1 s, h/2",
            "",
            f"{errors[0]:.1e}, {errors[1]:.1e}; {end:.1e}",
        )
    )


def slope(rows):
    """A block thrown up a slope: stops after v/(g (sin + mu cos)), stays."""
    mu, angle, errors = 0.3, 0.2, []
    down, normal = G * np.sin(angle), G * np.cos(angle)
    floor = ns.Contact(lambda t, q: q[1], friction=mu, tangent=np.array([1.0, 0.0]))
    system = ns.MechanicalSystem(np.eye(2), np.array([-down, -normal]), contacts=[floor])
    stop = 1.0 / (down + mu * normal)
    for h in (1e-3, 5e-4):
        method = ns.GeneralizedAlpha(dt=h, rho_inf=0.8)
        r = ns.simulate(system, (0, 0.5), [0.0, 0.0], [1.0, 0.0], method=method)
        errors.append(abs(r.q[0, -1] - 0.5 * stop))
    stuck = r.t > stop + 1e-3
    rows.append(
        (
            "block on a slope, h = 1e-3: way, error with h, h/2",
            f"{0.5 * stop:.6f} m",
            f"{r.q[0, -1]:.6f} m, {errors[0]:.1e}, {errors[1]:.1e}",
        )
    )
    rows.append(
        (
            "  slip while stuck, worst gap",
            "0",
            f"{np.max(np.abs(r.u[0, stuck])):.1e}, {np.min(r.q[1]):.1e}",
        )
    )


def disk(rows):
    """A disk put down with a slip of 1 m/s: rolls after v/(3 mu g), at two thirds of its speed."""
    mu = 0.2
    floor = ns.Contact(lambda t, q: q[1], friction=mu, tangent=np.array([1.0, 0.0, 1.0]))
    system = ns.MechanicalSystem(np.diag([1.0, 1.0, 0.5]), np.array([0.0, -G, 0.0]), contacts=[floor])
    r = ns.simulate(
        system, (0, 0.4), np.zeros(3), [1.0, 0.0, 0.0], method=ns.GeneralizedAlpha(dt=1e-3, rho_inf=0.8)
    )
    event = next(e for e in r.events if e.kind == "stick")
    rows.append(
        (
            "disk: rolls from, speed",
            f"{1 / (3 * mu * G):.4f} s, {2 / 3:.6f}",
            f"{event.t:.4f} s, {r.u[0, -1]:.6f}",
        )
    )
    rows.append(("  slip when rolling", "0", f"{np.abs(r.u[0, -1] + r.u[2, -1]):.1e}"))


def box(rows):
    """A box that slides obliquely over a plane: v^2/(2 mu g) in the direction of its velocity."""
    world = ns.World(gravity=(0, 0, -G))
    body = world.add(
        ns.Body(
            shape=ns.Box(0.2, 0.2, 0.2), mass=1.0, position=(0, 0, 0.1), velocity=(0.4, 0.3, 0), name="box"
        )
    )
    world.contact(body, ns.Plane(), restitution=0.0, friction=0.3)
    r = ns.simulate(world, (0, 0.2), method=ns.GeneralizedAlpha(dt=1e-3))
    way, end = 0.5 * 0.5**2 / (0.3 * G), r["box"].position[:, -1]
    rows.append(
        (
            "box in space: way in x, y",
            f"{0.8 * way:.6f}, {0.6 * way:.6f} m",
            f"{end[0]:.6f}, {end[1]:.6f} m; height {end[2] - 0.1:+.1e}, speed {np.max(np.abs(r.u[:, -1])):.1e}",
        )
    )


def double_pendulum():
    """Two rods of length one with unit masses at their ends, in angles; the lower mass meets a wall."""

    def mass(t, q):
        c = np.cos(q[0] - q[1])
        return np.array([[2.0, c], [c, 1.0]])

    def force(t, q, u):
        s = np.sin(q[0] - q[1])
        return np.array([-s * u[1] ** 2 - 2 * G * np.sin(q[0]), s * u[0] ** 2 - G * np.sin(q[1])])

    wall = ns.Contact(lambda t, q: 0.6 - np.sin(q[0]) - np.sin(q[1]), restitution=0.7)
    return ns.MechanicalSystem(mass, force, contacts=[wall])


def control(rows):
    """Restart: from the state after the impact on. Steps that follow a tolerance: across the impact."""
    system, start, T = double_pendulum(), ([-0.8, -0.5], [0.0, 0.0]), 1.4
    errors, steps = [], (1e-2, 5e-3, 2.5e-3, 1.25e-3)
    for h in steps:
        method = ns.GeneralizedAlpha(rho_inf=0.9, dt=h, restart=True)
        r = ns.simulate(system, (0, T), *start, method=method)
        k = np.argmax(r.P_N[0] > 0.0)
        exact = ns.simulate(system, (r.t[k], T), r.q[:, k], r.u[:, k], method=ns.EventDriven(rtol=1e-11))
        errors.append(np.max(np.abs(r.q[:, -1] - exact.q[:, -1])))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    rows.append(("double pendulum, restart: order after the impact", "2", np.round(orders, 2)))
    exact = ns.simulate(system, (0, T), *start, method=ns.EventDriven(rtol=1e-11)).q[:, -1]
    errors, counts = [], []
    for rtol in (1e-4, 1e-5, 1e-6, 1e-7):
        r = ns.simulate(system, (0, T), *start, method=ns.GeneralizedAlpha(rho_inf=0.9, rtol=rtol))
        errors.append(np.max(np.abs(r.q[:, -1] - exact)))
        counts.append(r.nsteps)
    orders = np.log(np.array(errors[:-1]) / errors[1:]) / np.log(np.array(counts[1:]) / counts[:-1])
    rows.append(("  rtol = 1e-4 ... 1e-7: steps", "", counts))
    rows.append(("  errors; order in the number of steps", "2", f"{np.array(errors)}; {np.round(orders, 2)}"))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.set_printoptions(formatter={"float": lambda x: f"{x:.3g}"})
    table = []
    for part in (woodpecker, rod, slope, disk, box, control):
        part(table)
    show("friction", table)
