"""Theo Jansen's leg: eleven rods whose lengths were found by evolution, so that the foot walks level.

Points joined by rods (`Distance`), a crank with a prescribed angle. The positions of the start come from intersecting circles; so do
those the motion is compared with.
"""

import numpy as np

import nonsmooth as ns

a, b, c, d, e, f, g, h, i, j, k, low, m = (
    38.0,
    41.5,
    39.3,
    40.1,
    55.8,
    39.4,
    36.7,
    65.7,
    49.0,
    50.0,
    61.9,
    7.8,
    15.0,
)
PIVOT, OMEGA, MM = np.array([-a, -low]), 2 * np.pi, 1e-3


def meet(p, r, q, s, side):
    """Where circles around p and q with radii r and s meet, on one side of the line from p to q."""
    along = q - p
    D = np.linalg.norm(along)
    along = along / D
    x = (D**2 + r**2 - s**2) / (2 * D)
    return p + x * along + side * np.sqrt(r**2 - x**2) * np.array([-along[1], along[0]])


def leg(angle):
    """Crank pin, knee, heel, ankle, shin, foot in millimetres."""
    pin = m * np.array([np.cos(angle), np.sin(angle)])
    knee = meet(pin, j, PIVOT, b, -1)
    ankle = meet(pin, k, PIVOT, c, 1)
    heel = meet(knee, e, PIVOT, d, -1)
    shin = meet(heel, f, ankle, g, -1)
    foot = meet(shin, h, ankle, i, -1)
    return dict(pin=pin, knee=knee, heel=heel, ankle=ankle, shin=shin, foot=foot)


def rate(name):
    """Velocity of a point at the start, for one radian in a second."""
    return (leg(1e-5)[name] - leg(-1e-5)[name]) / 2e-5


start = leg(0.0)
world = ns.World(gravity=(0, -9.81))
crank = world.add(ns.Body(mass=0.05, inertia=1e-5, angular_velocity=OMEGA, name="crank"))
world.add(ns.Revolute(world.ground, crank, (0, 0), drive=lambda t: 2 * np.pi * t, name="motor"))
points = {
    name: world.add(ns.Body(mass=0.02, position=MM * start[name], velocity=OMEGA * MM * rate(name), name=name))
    for name in start if name != "pin"
}  # fmt: skip
rods = [("knee", j), ("ankle", k)]
for name, length in rods:
    world.add(
        ns.Distance(crank, points[name], MM * length, at_a=MM * start["pin"], name=f"rod to the {name}")
    )
for name, length in (("knee", b), ("ankle", c), ("heel", d)):
    world.add(
        ns.Distance(world.ground, points[name], MM * length, at_a=MM * PIVOT, name=f"{name} to the pivot")
    )
for one, other, length in (
    ("knee", "heel", e),
    ("heel", "shin", f),
    ("ankle", "shin", g),
    ("shin", "foot", h),
    ("ankle", "foot", i),
):
    world.add(ns.Distance(points[one], points[other], MM * length, name=f"{one} to {other}"))
result = ns.simulate(
    world, (0, 1), method="event-driven", rtol=1e-8, dt_max=4e-3, t_eval=np.linspace(0, 1, 501), project=True
)

exact = np.array([MM * leg(OMEGA * t)["foot"] for t in result.t]).T
foot = result["foot"].position


def visualize():
    import matplotlib.pyplot as plt

    figure, (scene, torque) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
    for angle, colour in ((0.0, "0.75"), (2.1, "0.5"), (4.2, "k")):
        at = leg(angle)
        pairs = [
            ("pin", "knee"),
            ("pin", "ankle"),
            ("knee", "heel"),
            ("heel", "shin"),
            ("ankle", "shin"),
            ("shin", "foot"),
            ("ankle", "foot"),
        ]
        lines = (
            [(at[x], at[y]) for x, y in pairs]
            + [(PIVOT, at[x]) for x in ("knee", "ankle", "heel")]
            + [(np.zeros(2), at["pin"])]
        )
        for line in lines:
            scene.plot(*np.array(line).T, "o-", color=colour, markersize=3, linewidth=1)
    scene.plot(*(foot / MM), "tab:red")
    scene.set(aspect="equal", title="the leg and the path of its foot [mm]")
    torque.plot(result.t, result["motor"].torque)
    torque.set(xlabel="t [s]", title="torque of the motor [N m]")
    return figure


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    print(result.summary())
    visualize()
    plt.show()
