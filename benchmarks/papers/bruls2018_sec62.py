"""Bruls, Acary, Cardona 2018, sec. 6.2: bouncing flexible pendulum, Figs 10-12 (4 beam elements, h = 5e-6, rho = 0.8, e = 0; gravity 10).

Gravity is not printed: 10 fits the printed first contact. Each closing of the tip with e = 0 takes the energy of the mass of its node,
so the loss depends on the mesh; beside it the same beam with the mass of the tip redistributed to its neighbour.
"""

import time

import numpy as np
from _table import figure, save, show

import nonsmooth as ns

E, NU, RHO, AREA, INERTIA = 2.1e11, 0.3, 7800.0, 1e-4, 8.33e-10
H, T = 5e-6, 0.6
FIRST_CONTACT = 0.3270234  # 4 linear elements, from runs of an explicit scheme with h = 1e-7 and 2e-7


def pendulum(elements=4, **more):
    """A beam pinned at the origin, horizontal and at rest; its tip must stay at x >= sqrt(1/2)."""
    world = ns.World(gravity=(0, -10.0))
    shear = E / (2 * (1 + NU))
    beam = ns.Beam(
        [(0, 0), (1, 0)], elements, EA=E * AREA, GA=shear * AREA * 5 / 6, EI=E * INERTIA, rhoA=RHO * AREA, rhoI=RHO * INERTIA,
        fixed={"start": "position"}, name="beam", **more,
    )  # fmt: skip
    world.add(beam)
    world.contact(beam.end, ns.HalfPlane((np.sqrt(0.5), 0), (1, 0)), restitution=0.0, name="stop")
    return world


def run(world, h=H, end=T, every=1):
    method = ns.GeneralizedAlpha(constraints="PVA", rho_inf=0.8, dt=h)
    return ns.simulate(world, (0, end), method=method, audit=False, every=every)


def total_energy(result):
    view = result["beam"]
    return view.kinetic_energy + view.strain_energy + view.potential_energy


def contact(result):
    """First and last instant of the first contact phase (pauses shorter than 0.02 s count as contact)."""
    closed = result.t[result.P_N[0] > 0]
    pause = np.flatnonzero(np.diff(closed) > 0.02)
    return closed[0], closed[pause[0]] if pause.size else closed[-1]


if __name__ == "__main__":
    rows, kept = [], {}
    for label, elements, more in (
        ("4 elements", 4, {}), ("8 elements", 8, {}), ("16 elements", 16, {}), ("16 elements, lumped", 16, {"mass": "lumped"}),
        ("16 elements, light tip", 16, {"mass": "lumped", "light": "end"}),
    ):  # fmt: skip
        world = pendulum(elements, **more)
        run(world, end=20 * H)
        start = time.process_time()
        result = run(world)
        seconds = time.process_time() - start
        energy = total_energy(result)
        rise = np.diff(energy)
        begin, end = contact(result)
        paper = ("0.327", "0.348", "monotonous decay") if elements == 4 else ("-", "-", "-")
        rows += [
            (f"{label}: first contact", paper[0], f"{begin:.7f} ({(begin - FIRST_CONTACT) / H:+.2f} h from 0.3270234)"),
            (f"{label}: end of the first contact phase", paper[1], f"{end:.4f}"),
            (f"{label}: energy at {T} s, sum of all rises", paper[2], f"{energy[-1]:.4f} J, {np.sum(rise[rise > 0]):.2e} J"),
            (f"{label}: processor time per step, all stored", "-", f"{1e6 * seconds / result.nsteps:.1f} us"),
        ]  # fmt: skip
        kept[label] = (
            result.t,
            result["beam"].position[0, -1] - np.sqrt(0.5),
            result.u[-3],
            result.P_N[0] / H,
            energy,
        )
        print(label, "done", flush=True)
    show("sec. 6.2: bouncing flexible pendulum", rows)

    picture, axes = figure(2, 2, size=(10, 7))
    for label in ("4 elements", "16 elements", "16 elements, light tip"):
        t, gap, velocity, force, energy = (x[::20] for x in kept[label])
        for axis, values in zip(axes.ravel(), (gap, velocity, force, energy)):
            axis.plot(t, values, lw=0.8, label=label)
    for axis, name in zip(axes.ravel(), ("gap [m]", "gap velocity [m/s]", "contact force [N]", "energy [J]")):
        axis.set_ylabel(name)
        axis.set_xlim(0.3, 0.4)
    axes[1, 1].legend(fontsize=7)
    save(picture, "bruls2018_fig10_to_12.png", docs=True)
