"""Bruls, Acary, Cardona 2018, sec. 6.3: horizontal impact of an elastic bar, Figs 14-16 (200 elements, h = 2e-3, rho = 0.8; area 1)."""

import time

import numpy as np
from _table import figure, save, show

import nonsmooth as ns

# semi-discrete problem, from the first touch (modal closed form): release of lumped and consistent bars of 200 elements
RELEASE = {True: 0.6691403348532046, False: 0.66420}


def bar(n=200, lumped=True, E=900.0, rho=1.0, L=10.0, gap=5.0):
    """The bar on its way to a wall, as a world; stiffness k of an element and the mass matrix for energies."""
    world = ns.World(gravity=(0, 0))
    mass = "lumped" if lumped else "consistent"
    made = world.add(ns.Bar([(0, 0), (L, 0)], n, EA=E, rhoA=rho, mass=mass, velocity=(10.0, 0.0), name="bar"))
    world.contact(made.end, ns.HalfPlane((L + gap, 0), (-1, 0)), restitution=0.0, name="wall")
    return world, world.bind(0.0, *world.start()).sparse_mass, E * n / L


def run(world, h=2e-3, T=2.0, method=None, **more):
    method = method or ns.GeneralizedAlpha(dt=h, **{"constraints": "PVA", "rho_inf": 0.8, **more})
    return ns.simulate(world, (0, T), method=method, audit=False)


def energy(r, M, k):
    return 0.5 * np.sum(r.u * (M @ r.u), axis=0) + 0.5 * k * np.sum(np.diff(r.q, axis=0) ** 2, axis=0)


if __name__ == "__main__":
    rows, runs = [], {}
    for lumped in (True, False):
        system, M, k = bar(lumped=lumped)
        name = "lumped" if lumped else "consistent"
        for form in ("PVA", "PVV"):
            r = runs[lumped, form] = run(system, constraints=form)
            on = r.P_N[0] > 0.0
            counts = r.newton[1:]
            rows.append((f"{name}, {form}: iterations per step, per contact step (coupled)", "-",
                         f"{np.mean(counts):.2f}, {np.mean(counts[on[1:]]):.2f}"))  # fmt: skip
        for form, printed in (("PVA", "0.80"), ("PVV", "2.94")):
            r = run(system, constraints=form, iteration="subproblems", tol=1e-4)
            on, counts = r.P_N[0, 1:] > 0.0, r.newton[1:]
            rows.append((f"{name}, {form}: iterations per step, per contact step (sub-problems, tol = 1e-4)", f"{printed} per step",
                         f"{np.mean(counts):.2f}, {np.mean(counts[on]):.2f}"))  # fmt: skip
        for h in (2e-3, 1e-3, 5e-4):
            r = run(system, h)
            release = r.t[np.flatnonzero(r.P_N[0] > 0.0)[-1]] - 0.5
            rows.append(
                (
                    f"{name}, h = {h:g}: release after contact - semi-discrete, in h",
                    "-",
                    f"{(release - RELEASE[lumped]) / h:+.2f}",
                )
            )
    system, M, k = bar()
    E = energy(runs[True, "PVA"], M, k)
    rows.append(
        ("rho = 0.8: largest rise of energy in a step / E_0", "-", f"{np.max(np.diff(E)) / E[0]:.1e}")
    )
    r = run(system, rho_inf=1.0)
    E, same = energy(r, M, k), r.sets[0, 1:] == r.sets[0, :-1]
    rows.append(
        ("rho = 1: the same where no set changes", "-", f"{np.max(np.abs(np.diff(E)[same])) / E[0]:.1e}")
    )
    for label, method in (
        ("PVA", None),
        ("Moreau theta = 0.55", ns.Theta(dt=2e-3, theta=0.55)),
        ("Moreau theta = 1/2", ns.Theta(dt=2e-3)),
    ):
        r = run(system, method=method)
        E = energy(r, M, k)
        rows.append(
            (
                f"energy lost from impact to 2 s, {label}",
                "-",
                f"{E[np.searchsorted(r.t, 0.503)] - E[-1]:.2f} J (and {E[0] - E[np.searchsorted(r.t, 0.503)]:.2f} J in the impact)",
            )
        )
        runs[label] = r
    for n in (200, 1000):
        model = bar(n)[0]
        run(model, T=0.01)
        start = time.process_time()
        r = run(model, T=2.0)
        each = (time.process_time() - start) / r.nsteps
        rows.append(
            (
                f"time per step, {n} elements",
                "-",
                f"{1e6 * each:.1f} us, {1e9 * each / n:.0f} ns per element (with all output)",
            )
        )
    show("sec. 6.3: elastic bar", rows)

    picture, axes = figure(2, 2, size=(10, 7))
    for form in ("PVV", "PVA"):
        r = runs[True, form]
        axes[0, 0].plot(r.t, 5.0 - r.q[-1], lw=0.8, label=form)
        axes[0, 1].plot(r.t, -r.u[-1], lw=0.8)
        axes[1, 0].plot(r.t, r.P_N[0] / 2e-3, lw=0.8)
        axes[1, 1].plot(r.t, energy(r, M, k), lw=0.8)
    axes[1, 1].plot(
        runs["Moreau theta = 0.55"].t,
        energy(runs["Moreau theta = 0.55"], M, k),
        lw=0.8,
        label="Moreau, theta = 0.55",
    )
    for axis, name in zip(axes.ravel(), ("gap", "gap velocity", "contact force", "energy")):
        axis.set_ylabel(name)
    axes[0, 0].legend(fontsize=7)
    axes[1, 1].legend(fontsize=7)
    save(picture, "bruls2018_fig14_to_16.png", docs=True)
