"""A flexible pendulum falls from the horizontal and hits a stop at its middle; the free half whips on."""

import nonsmooth as ns

elements, L = 16, 1.0

world = ns.World(gravity=(0, -9.81))
beam = world.add(
    ns.Beam(
        [(0, 0), (L, 0)],
        elements,
        EA=2e4,
        GA=8e3,
        EI=1.0,
        rhoA=1.0,
        mass="lumped",
        damping=1e-4,
        fixed={"start": "position"},
        name="pendulum",
    )
)
world.contact(beam.node(elements // 2), ns.HalfPlane((0.1, 0), (1, 0), name="stop"), restitution=0.0)
result = ns.simulate(world, (0, 1.0), method=ns.GeneralizedAlpha(dt=1e-3, rho_inf=0.8))

view = result["pendulum"]
total = view.kinetic_energy + view.strain_energy + view.potential_energy
hits = [event.t for event in result.events if event.kind in ("close", "impact")]


def visualize():
    import matplotlib.pyplot as plt

    figure, (scene, energy) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for k in range(0, len(result), 40):
        scene.plot(*view.position[:, :, k], color=plt.cm.viridis(k / len(result)))
    scene.axvline(0.1, color="0.6", linewidth=1)
    scene.set(aspect="equal", title="every 40 ms")
    for name in ("kinetic", "strain", "potential"):
        energy.plot(result.t, getattr(view, f"{name}_energy"), label=name)
    energy.plot(result.t, total, "k", label="total")
    energy.set(xlabel="t", title="energy [J]")
    energy.legend()
    return figure


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    print(result.summary())
    visualize()
    plt.show()
