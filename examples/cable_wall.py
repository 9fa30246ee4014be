"""A cable in space swings against a wall and lays itself along it; its nodes touch with the radius of the cable."""

import nonsmooth as ns

radius, wall_x = 0.01, -0.2

world = ns.World(gravity=(0, 0, -9.81), material=ns.Material(restitution=0.0, friction=0.4))
cable = world.add(
    ns.Cable(
        [(0, 0, 0), (0.8, 0.3, 0)],
        16,
        EA=500.0,
        rhoA=0.4,
        damping=2e-3,
        radius=radius,
        fixed="start",
        name="cable",
    )
)
wall = ns.Plane((wall_x, 0, 0), (1, 0, 0), name="wall")
for node in cable.nodes[1:]:
    world.contact(node, wall)
result = ns.simulate(world, (0, 0.9), dt=2e-4, every=5)
nearest = result["cable"].position[0].min() - wall_x - radius


def visualize():
    import matplotlib.pyplot as plt

    figure, (side, front) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    at = result["cable"].position
    for k in range(0, len(result), 60):
        colour = plt.cm.viridis(k / len(result))
        side.plot(at[0, :, k], at[2, :, k], color=colour)
        front.plot(at[1, :, k], at[2, :, k], color=colour)
    side.axvline(wall_x, color="0.5")
    side.set(aspect="equal", title="from the side, every 60 ms")
    front.set(aspect="equal", title="along the wall")
    return figure


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    print(result.summary())
    visualize()
    plt.show()
