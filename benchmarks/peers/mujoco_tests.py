"""The tests of `benchmarks/engines.py` in MuJoCo: elliptic cones, Newton's solver, implicitfast integrator, step as given.

MuJoCo's contacts are soft. Restitution is set by a spring and damper (`solref` with negative numbers) of the damping ratio that gives 0.8
for a linear impact; the other tests keep its default softness.
"""

import mujoco
import numpy as np

HEAD = """<mujoco>
<option timestep="{dt}" gravity="{gravity}" cone="elliptic" solver="Newton" integrator="implicitfast"/>
<worldbody>{bodies}</worldbody>{more}</mujoco>"""
FLOOR = '<geom type="plane" size="50 50 1" friction="{mu} 0 0" condim="3" {more}/>'


def model(bodies, dt, gravity="0 0 -9.81", more=""):
    made = mujoco.MjModel.from_xml_string(HEAD.format(dt=dt, gravity=gravity, bodies=bodies, more=more))
    return made, mujoco.MjData(made)


def bounce(dt):
    ratio = -np.log(0.8) / np.hypot(np.pi, np.log(0.8))
    stiff = 1e5
    soft = f'solref="-{stiff} -{2 * ratio * np.sqrt(stiff)}" solimp="0.99 0.99 0.001"'
    bodies = FLOOR.format(mu=0, more=soft) + (
        f'<body pos="0 0 1.1"><joint type="slide" axis="0 0 1"/><geom type="sphere" size="0.1" mass="1" {soft}/></body>'
    )
    m, d = model(bodies, dt)
    first, heights = np.sqrt(2 / 9.81), []
    while d.time < 2 * first:
        mujoco.mj_step(m, d)
        if d.time > 1.1 * first:
            heights.append(1.0 + d.qpos[0])
    return max(heights)


def block(dt, angle, friction):
    a = np.deg2rad(angle)
    gravity = f"{9.81 * np.sin(a)} 0 {-9.81 * np.cos(a)}"
    bodies = FLOOR.format(mu=friction, more="") + (
        f'<body pos="0 0 0.1"><freejoint/><geom type="box" size="0.2 0.2 0.1" mass="1" friction="{friction} 0 0"/></body>'
    )
    return model(bodies, dt, gravity)


def creep(dt):
    m, d = block(dt, 20, 0.5)
    while d.time < 10:
        mujoco.mj_step(m, d)
    return abs(d.qpos[0])


def slip(dt):
    m, d = block(dt, 30, 0.3)
    d.qvel[0] = 0.1
    while d.time < 1:
        mujoco.mj_step(m, d)
    return (d.qvel[0] - 0.1) / d.time


def stack(dt):
    boxes = "".join(
        f'<body pos="0 0 {0.1 + 0.2 * k}"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="{mass}"/></body>'
        for k, mass in enumerate((1, 1, 1, 1, 100))
    )
    m, d = model(FLOOR.format(mu=1, more="") + boxes, dt)
    lowest = 0.9
    while d.time < 5:
        mujoco.mj_step(m, d)
        lowest = min(lowest, d.qpos[7 * 4 + 2])
    return 0.9 - lowest


def four_bar(dt):
    from engines import closed_loop

    angles = closed_loop(1.0)

    def rod(length, angle, inner=""):
        return (
            f'<body pos="{{at}}" euler="0 {-np.rad2deg(angle)} 0"><joint type="hinge" axis="0 -1 0"/>'
            f'<geom type="capsule" fromto="0 0 0 {length} 0 0" size="0.01" mass="1" contype="0" conaffinity="0"/>{inner}</body>'
        )

    coupler = rod(0.8, angles[1] - angles[0], '<site name="a" pos="0.8 0 0"/>').format(at="0.3 0 0")
    bodies = rod(0.3, angles[0], coupler).format(at="0 0 0")
    bodies += rod(0.5, angles[2], '<site name="b" pos="0.5 0 0"/>').format(at="0.7 0 0")
    loop = '<equality><connect site1="a" site2="b"/></equality>'
    m, d = model(bodies, dt, more=loop)
    gap = 0.0
    while d.time < 2:
        mujoco.mj_step(m, d)
        gap = max(gap, np.linalg.norm(d.site("a").xpos - d.site("b").xpos))
    return gap


TESTS = {"bounce": bounce, "creep": creep, "slip": slip, "stack": stack, "four-bar": four_bar}
