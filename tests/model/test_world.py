"""`World`: building, names, parameters, results by name, bad input."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

import nonsmooth as ns
from nonsmooth import errors


def bouncing_disk():
    world = ns.World(gravity=(0, -9.81), material=ns.Material(restitution=0.8, friction=0.3))
    world.add(
        ns.Body(ns.Disk(0.1), mass=1.0, position=(0, 1), velocity=(0.5, 0), name="disk"), ns.HalfPlane()
    )
    return world


def test_first_bounce():
    """Free fall from a height of 0.9 above contact: sqrt(2 h / g), and back to e^2 of it."""
    result = ns.simulate(bouncing_disk(), (0, 1.0), dt=1e-3)
    assert result.audit.ok
    assert result.events[0].kind == "impact"
    assert result.events[0].t == pytest.approx(np.sqrt(2 * 0.9 / 9.81), abs=1e-3)
    assert result["disk"].position[1, result.t > 0.5].max() == pytest.approx(0.1 + 0.64 * 0.9, abs=0.01)


def test_pairs_by_themselves_and_by_hand_are_the_same():
    by_itself = bouncing_disk()
    by_hand = ns.World(gravity=(0, -9.81))
    disk = by_hand.add(ns.Body(ns.Disk(0.1), mass=1.0, position=(0, 1), velocity=(0.5, 0), name="disk"))
    by_hand.contact(disk, ns.HalfPlane(), restitution=0.8, friction=0.3)
    first, second = (ns.simulate(world, (0, 0.6), dt=1e-3) for world in (by_itself, by_hand))
    assert np.array_equal(first.q, second.q)


def test_box_in_eight_lines_comes_to_rest():
    world = ns.World(gravity=(0, 0, -9.81), material=ns.Material(friction=0.4))
    box = ns.Body(
        ns.Box(0.2, 0.3, 0.1), density=500, position=(0, 0, 0.3), rotation=(0.8, 0.6, 0, 0), name="box"
    )
    world.add(box, ns.Plane(name="floor"))
    result = ns.simulate(world, (0, 2.5), dt=1e-3)
    assert result.audit.ok
    assert np.abs(result.u[:, -1]).max() < 1e-12
    weight = 9.81 * 500 * 0.2 * 0.3 * 0.1
    np.testing.assert_allclose(result["box on floor"].force[:, -1], [0, 0, weight], atol=1e-10 * weight)
    R = result["box"].rotation[-1]
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-14)


def test_masses_from_shapes():
    """Of a box against sums over a fine grid of points; a capsule between the cylinder and the ball it contains."""
    world = ns.World((0, 0, 0))
    world.add_bodies(1, "box", shape=ns.Box(0.2, 0.4, 0.6), density=10.0)
    placed = world.assembly.placed[1]
    grids = [(np.arange(60) + 0.5) / 60 * edge - edge / 2 for edge in (0.2, 0.4, 0.6)]
    x, y, z = np.meshgrid(*grids)
    mass = 10.0 * 0.2 * 0.4 * 0.6
    assert placed.mass == pytest.approx(mass)
    found = [mass * np.mean(b**2 + c**2) for b, c in ((y, z), (x, z), (x, y))]
    np.testing.assert_allclose(placed.J[:3], found, rtol=1e-3)


@pytest.mark.parametrize("dim", [2, 3])
def test_capsule_inertia_by_sampling(dim):
    shape, rng = ns.Capsule(0.3, 0.1), np.random.default_rng(3)
    points = rng.uniform(-1, 1, (400_000, dim)) * np.array([0.25, 0.1, 0.1][:dim])
    outside = np.maximum(np.abs(points[:, 0]) - 0.15, 0.0)
    points = points[outside**2 + np.sum(points[:, 1:] ** 2, axis=1) <= 0.01]
    square = np.mean(points**2, axis=0)
    found = [square.sum()] if dim == 2 else square.sum() - square
    np.testing.assert_allclose(shape.moments(dim), found, rtol=5e-3)
    box = 0.5 * 0.2 ** (dim - 1)
    share = len(points) / 400_000
    assert shape.volume(dim) == pytest.approx(share * box, rel=5e-3)


def pendulum():
    world = ns.World((0, -9.81), params=dict(push=0.0))
    rod = world.add(ns.Body(mass=2.0, inertia=0.2, position=(0.5, 0), name="rod"))
    world.add(ns.Revolute(world.ground, rod, (0, 0), name="pin"))
    world.add(
        ns.Spring(world.ground, rod, 10.0, 0.3, at_a=(0, 1), name="spring"),
        ns.Load(rod, by_parameter, name="push"),
    )
    return world


def by_parameter(t, q, u, p):
    return np.array([p.push, 0.0])


def test_with_params_is_the_world_built_so():
    world = pendulum()
    changed = world.with_params(rod=dict(mass=3.0), spring=dict(stiffness=4.0), push=1.5)
    built = ns.World((0, -9.81), params=dict(push=1.5))
    rod = built.add(ns.Body(mass=3.0, inertia=0.2, position=(0.5, 0), name="rod"))
    built.add(ns.Revolute(built.ground, rod, (0, 0), name="pin"))
    built.add(
        ns.Spring(built.ground, rod, 4.0, 0.3, at_a=(0, 1), name="spring"),
        ns.Load(rod, by_parameter, name="push"),
    )
    first, second = (ns.simulate(w, (0, 0.3), dt=1e-3) for w in (changed, built))
    assert np.array_equal(first.q, second.q)
    assert not np.array_equal(first.q, ns.simulate(world, (0, 0.3), dt=1e-3).q)
    with pytest.raises(errors.InputError, match="unknown parameter or element 'rope'"):
        world.with_params(rope=dict(mass=1.0))
    with pytest.raises(errors.InputError, match="no number 'weight'"):
        world.with_params(rod=dict(weight=1.0))


def test_results_by_name():
    world = pendulum()
    result = ns.simulate(world, (0, 0.5), dt=1e-4)
    rod, t = result["rod"], result.t
    np.testing.assert_allclose(np.hypot(*rod.position), 0.5, atol=1e-4)
    np.testing.assert_allclose(rod.point((-0.5, 0)), 0.0, atol=1e-4)
    assert rod.rotation.shape == (t.size, 2, 2)
    # Newton's law for the centre of mass, from the force in the pin
    spring = result["spring"]
    pull = 10.0 * (spring.length - 0.3)
    d = np.array([[0.0], [1.0]]) - rod.position
    other = pull * d / spring.length + np.array([[0.0], [-9.81 * 2.0]])
    a = np.gradient(rod.velocity, t, axis=1)
    np.testing.assert_allclose((result["pin"].force + other)[:, 5:-5], 2.0 * a[:, 5:-5], atol=0.02)
    total = result.energy().total
    np.testing.assert_allclose(total, rod.kinetic_energy + rod.potential_energy + spring.energy, rtol=1e-12)
    with pytest.raises(KeyError, match="nothing"):
        result["nothing"]
    assert world["rod"].name == "rod"


def test_result_from_a_file_is_seen_through_its_world(tmp_path):
    world = pendulum()
    result = ns.simulate(world, (0, 0.1), dt=1e-3)
    result.save(tmp_path / "run.h5")
    loaded = ns.Result.load(tmp_path / "run.h5")
    np.testing.assert_array_equal(world.view(loaded, "rod").position, result["rod"].position)


def test_five_thousand_bodies_by_arrays():
    world, n = ns.World((0, -9.81)), 5000
    position = np.column_stack([np.arange(n), np.ones(n)])
    disks = world.add_bodies(n, "disk", shape=ns.Disk(0.1), mass=np.linspace(1, 2, n), position=position)
    assert len(disks) == n and world.assembly.n_q == 3 * n
    assert world.assembly.placed[n].mass == 2.0 and world["disk[17]"] is disks[17]
    with pytest.raises(errors.ShapeError, match="`mass` has 3 entries for 5 bodies"):
        world.add_bodies(5, "more", mass=[1.0, 2.0, 3.0])


def body(**arguments):
    return ns.Body(**({"mass": 1.0, "inertia": 0.1, "name": "bad"} | arguments))


def beam(**arguments):
    numbers = {"EA": 1.0, "GA": 1.0, "EI": 1.0, "rhoA": 1.0, "name": "beam"}
    return ns.Beam([(0, 0), (1, 0)], 3, **(numbers | arguments))


BAD = [
    (lambda w: w.add(body(mass=0.0)), errors.RangeError, "`mass` of body 'bad' is 0"),
    (lambda w: w.add(body(mass=-1.0)), errors.RangeError, "`mass` of body 'bad' is -1"),
    (lambda w: w.add(body(mass=np.nan)), errors.NonFiniteError, "`mass` of body 'bad'"),
    (lambda w: w.add(body(mass=None)), errors.InputError, "neither of `mass` and `density`"),
    (lambda w: w.add(body(inertia=-0.1)), errors.RangeError, "`inertia` of body 'bad'"),
    (lambda w: w.add(body(position=(1, 2, 3))), errors.ShapeError, "`position` of body 'bad'"),
    (lambda w: w.add(body(velocity=(np.inf, 0))), errors.NonFiniteError, "`velocity` of body 'bad'"),
    (lambda w: w.add(body(rotation=(1, 0, 0, 0))), errors.InputError, "in the plane give `angle`"),
    (lambda w: w.add(ns.Body(ns.Sphere(1.0), mass=1.0, name="bad")), errors.InputError, "Sphere of dimension 3"),
    (lambda w: w.add(ns.Body(1.0)), errors.InputError, "the mass is an argument of its own"),
    (lambda w: w.add(body(name="a")), errors.ModelError, "the name 'a' is used twice"),
    (lambda w: w.add(w["a"]), errors.ModelError, "'a' is in this world already"),
    (lambda w: ns.World((0, -1)).add(w["a"]), errors.ModelError, "'a' is in another world"),
    (lambda w: w.add(ns.Revolute(w.ground, body(), (0, 0))), errors.ModelError, "body 'bad', which is in no world"),
    (lambda w: w.add(ns.Revolute(w["a"], w["a"], (0, 0), name="pin")), errors.ModelError, "'pin' joins body 'a' to itself"),
    (lambda w: w.add(ns.Spherical(w.ground, w["a"], name="j")), errors.InputError, "'j' does not exist in the plane"),
    (lambda w: w.add(ns.Prismatic(w.ground, w["a"], name="j")), errors.InputError, "`axis` of Prismatic 'j'"),
    (lambda w: w.add(ns.Prismatic(w.ground, w["a"], axis=(0, 0), name="j")), errors.RangeError, "`axis` of Prismatic 'j'"),
    (lambda w: w.add(ns.Prismatic(w.ground, w["p"], axis=(1, 0), name="j")), errors.ModelError, "body 'p', which cannot turn"),
    (lambda w: w.add(ns.Revolute(w.ground, w["a"], stops=(1, 0), name="j")), errors.RangeError, "`stops` of Revolute 'j'"),
    (lambda w: w.add(ns.Distance(w["a"], w["b"], name="j")), errors.InputError, "the ends of Distance 'j' coincide"),
    (lambda w: w.add(ns.Distance(w["a"], w["b"], -1.0)), errors.RangeError, "`length`"),
    (lambda w: w.add(ns.Spring(w["a"], 3.0, 1.0, name="s")), errors.InputError, "'s' joins 3.0"),
    (lambda w: w.add(ns.Load(w["p"], torque=1.0, name="l")), errors.InputError, "'p' is a point mass"),
    (lambda w: w.add(body(angle=[[1.0]])), errors.InputError, "`angle` of body 'bad'"),
    (lambda w: w.add(body(inertia=[[1, 0], [2]])), errors.InputError, "`inertia` of body 'bad'"),
    (lambda w: w.add(body(material=0.3)), errors.InputError, "`material` of body 'bad' is 0.3: a Material"),
    (lambda w: w.add(ns.HalfPlane(material="ice", name="f")), errors.InputError, "`material` of HalfPlane 'f'"),
    (lambda w: w.add(ns.Bar([(0, 0), (1, 0)], 2, EA=1, rhoA=1, material={}, name="s")), errors.InputError, "`material` of Bar 's'"),
    (lambda w: w.add(ns.Revolute(w.ground, w["a"], axis=(1, 0, 0), name="j")), errors.InputError, "`axis` of Revolute 'j'"),
    (lambda w: w.add(ns.Gear(w["a"], w["b"], axis="z", name="g")), errors.InputError, "`axis` of Gear 'g'"),
    (lambda w: w.add(ns.TorsionSpring(w["a"], w["b"], axis=(0, np.nan, 1), name="t")), errors.InputError, "`axis` of TorsionSpring"),
    (lambda w: w.add(ns.Load(w["a"], (0, 1), carried="no", name="l")), errors.InputError, "`carried` of Load 'l'"),
    (lambda w: w.add(ns.Rolling(w["a"], 3.0, name="r")), errors.InputError, "Rolling 'r' got the surface 3.0"),
    (lambda w: w.add(beam(fixed=[[1, 2]])), errors.InputError, "Beam 'beam' has no node [1, 2]"),
    (lambda w: w.add(beam(fixed={"start": 5})), errors.InputError, "`fixed` of Beam 'beam' holds ['5']"),
    (lambda w: w.add(beam(light=np.zeros(2))), errors.InputError, "Beam 'beam' has no node"),
    (lambda w: w.add(beam(mass=np.eye(2))), errors.InputError, "`mass` of Beam 'beam'"),
    (lambda w: w.add(ns.LinearStructure(np.eye(2), np.eye(2), nodes=[1])), errors.InputError, "`nodes` of a LinearStructure"),
    (lambda w: w.add(ns.LinearStructure(np.eye(2), np.eye(2), fixed=0.5)), errors.InputError, "LinearStructure without name has 2"),
    (lambda w: w.add(ns.Plane()), errors.InputError, "use HalfPlane"),
    (lambda w: w.add("ball"), errors.InputError, "`add` got 'ball'"),
    (lambda w: w.add(ns.Revolute(w.ground, w["p"], (1, 0), name="pin")), errors.ModelError, "'p', which cannot turn"),
    (lambda w: w.contact(w["a"], w["b"]), errors.InputError, "which never meet"),
    (lambda w: w.contact(w["a"], ns.HalfPlane(), restitution=1.5), errors.RangeError, "restitution"),
    (lambda w: w.add(ns.HalfPlane(friction=0.3)), errors.InputError, "world.contact(body, surface, friction=...)"),
    (lambda w: w.add(body(restitution=0.3)), errors.InputError, "material=ns.Material(restitution=...)"),
    (lambda w: w.add(body(colour="red")), TypeError, "a Body has no argument 'colour'"),
    (lambda w: ns.World((0, 0, 0, 1)), errors.ShapeError, "`gravity`"),
    (lambda w: ns.World((0, np.nan)), errors.NonFiniteError, "`gravity`"),
    (lambda w: ns.simulate(w, (0, 1), q0=[0.0], dt=1e-3), errors.ShapeError, "q0"),
]  # fmt: skip


@pytest.mark.parametrize("wrong, error, text", BAD)
def test_bad_input_is_refused_by_name(wrong, error, text):
    world = ns.World((0, -9.81))
    world.add(body(name="a"), body(name="b"), ns.Body(mass=1.0, name="p"))
    with pytest.raises(error, match=re.escape(text)):
        wrong(world)
        world.start()


def test_inertia_in_space_is_checked():
    world = ns.World((0, 0, -9.81))
    for inertia, error in (
        ((1, 1, 3), errors.ModelError),
        ((-1, 1, 1), errors.ModelError),
        (1.0, errors.ShapeError),
    ):
        world = ns.World((0, 0, -9.81))
        world.add(ns.Body(mass=1.0, inertia=inertia, name="top"))
        with pytest.raises(error, match="body 'top'"):
            world.start()


def test_contradictory_joints_are_refused_by_name():
    world = ns.World((0, -9.81))
    rod = world.add(ns.Body(mass=1.0, inertia=0.1, position=(1, 0), name="rod"))
    world.add(
        ns.Revolute(world.ground, rod, (0, 0), name="pin"), ns.Distance(world.ground, rod, 1.5, name="strut")
    )
    with pytest.raises(errors.InconsistentStateError, match=r"'strut' is violated by -0\.5"):
        ns.simulate(world, (0, 1), dt=1e-3)
    with pytest.raises(errors.ModelError, match=r"contradict each other.*'strut'"):
        ns.simulate(world, (0, 1), dt=1e-3, project=True)


@pytest.mark.parametrize("length", [1e-3, 1.0, 1e3])
def test_projection_starts_a_driven_mechanism_from_rest(length):
    """What a drive asks for is no contradiction where nothing moved before."""
    world = ns.World((0, -9.81 * length))
    cam = world.add(ns.Body(mass=1.0, inertia=0.1 * length**2, position=(0.3 * length, 0), name="cam"))
    world.add(
        ns.Revolute(world.ground, cam, (0.1 * length, 0.2 * length), drive=lambda t: -6.0 * t, name="motor")
    )
    with pytest.raises(
        errors.InconsistentStateError, match=r"violated on velocity level by 6 .*project=True"
    ):
        ns.simulate(world, (0, 0.1), dt=1e-2)
    run = ns.simulate(world, (0, 0.1), dt=1e-2, project=True)
    np.testing.assert_allclose(run.u[:, 0], [-1.2 * length, -1.2 * length, -6.0], rtol=1e-10)


def test_many_instants_of_a_drive_are_asked_at_once():
    """The second route's rates of drives are those of the model, instant by instant."""
    world = ns.World((0, -9.81), params=dict(w=3.0))
    crank = world.add(ns.Body(mass=1.0, inertia=0.1, position=(0.3, 0), name="crank"))
    world.add(ns.Revolute(world.ground, crank, (0, 0), drive=lambda t, p: np.sin(p.w * t), name="motor"))
    q, u = world.start()
    model, t = world.bind(0.0, q, u), np.linspace(0.0, 2.0, 7)
    _, zeta = model.batch_directions(t, np.tile(q, (7, 1)))
    np.testing.assert_allclose(zeta, [model.directions(x, q)[1] for x in t], rtol=0, atol=1e-11)
    assert abs(zeta[0, -1]) == pytest.approx(3.0, abs=1e-11)


def test_scene_comes_from_the_bodies():
    world = bouncing_disk()
    assert [shape.kind for shape in world.draw] == ["ground", "circle", "force"]
    q, _ = world.start()
    tracks = world.draw[1].track(np.zeros(1), q[:, None], None)
    np.testing.assert_allclose(tracks["at"], [[0, 1]])


def test_scene_of_blocks_and_varying_friction():
    """Arrows of contacts with boxes stand where they touch; friction that varies is drawn, too."""
    world = ns.World((0, -9.81))
    box = world.add(ns.Body(ns.Box(0.4, 0.2), mass=1.0, position=(0, 0.7), name="box"))
    world.contact(box, ns.Circle(0.6, (0.05, 0), name="drum"), friction=ns.Stribeck(0.4, 0.3, 0.1))
    from nonsmooth.model.bodies.scene_forces import contact_forces

    q, _ = world.start()
    (arrow,) = contact_forces(world)
    found = arrow.track(np.zeros(1), q[:, None], None)
    np.testing.assert_allclose(found["at"], [[0.05, 0.6]], atol=1e-15)
    np.testing.assert_allclose(found["normal"], [[0.0, 1.0]], atol=1e-15)


def test_parts_show_class_and_name():
    world = ns.World(gravity=(0, -9.81))
    body = ns.Body(mass=1.0, name="stone")
    shown = [
        body, ns.Distance(world.ground, body, name="rope"), ns.Load(body, (0, 1)), ns.HalfPlane(name="floor"), ns.Disk(0.5),
        ns.Box(1, 2), ns.Capsule(1.0, 0.25),
    ]  # fmt: skip
    assert [repr(part) for part in shown] == [
        "<Body 'stone'>", "<Distance 'rope'>", "<Load>", "<HalfPlane 'floor'>", "Disk(0.5)", "Box(1, 2)", "Capsule(1, 0.25)",
    ]  # fmt: skip


@pytest.mark.parametrize("options", [{"dt": 0.1}, {"rtol": 1e-6}], ids=str)
def test_a_world_in_which_nothing_moves(options):
    for gravity, surface in (((0, -9.81), ns.HalfPlane()), ((0, 0, -9.81), ns.Plane())):
        world = ns.World(gravity)
        world.add(surface)
        run = ns.simulate(world, (0, 1), **options)
        assert run.t[-1] == 1.0 and run.q.shape[0] == 0 and run.audit.ok
        assert ns.equilibrium(world).q.size == 0 and ns.modes(world).frequencies.size == 0
        assert "0 degrees of freedom" in str(ns.diagnose(world))


@pytest.mark.parametrize("dim", [2, 3])
def test_a_ball_may_start_in_the_middle_of_a_circle(dim):
    """Open contacts need no direction; it falls onto the lowest point as from anywhere else above it."""
    g, shape = np.r_[np.zeros(dim - 1), -9.81], ns.Disk(0.1) if dim == 2 else ns.Sphere(0.1)
    ends = []
    for x in (0.0, 1e-9):
        world = ns.World(g)
        ball = world.add(ns.Body(shape, mass=1.0, position=np.r_[x, np.zeros(dim - 1)], name="ball"))
        middle = np.zeros(dim)
        world.contact(
            ball, ns.Circle(1.0, middle, inside=True), restitution=0.5, friction=0.3, rolling_friction=0.01
        )
        run = ns.simulate(world, (0, 0.6), dt=1e-3)
        assert run.audit.ok
        ends.append(run["ball"].position[:, -1])
    assert_allclose(ends[0], ends[1], atol=1e-6)
    assert ends[0][-1] < -0.6


def test_a_closed_contact_without_direction_is_refused():
    world = ns.World((0, -9.81))
    balls = world.add_bodies(2, "ball", shape=ns.Disk(0.1), mass=1.0, position=(0.0, 0.0))
    world.contact(*balls, friction=0.3)
    with pytest.raises((errors.ModelError, errors.InconsistentStateError), match=r"ball\[0\]"):
        ns.simulate(world, (0, 1), dt=1e-2)


def test_a_point_mass_turns_about_nothing_but_itself():
    """It would be held fast by a hinge from afar; it may hang at the end of a lever, and on a rod."""
    world = ns.World((0, 0, -9.81))
    point = world.add(ns.Body(mass=1.0, position=(1, 0, 0), name="point"))
    world.add(ns.Spherical(world.ground, point, at=(0, 0, 0), name="ball joint"))
    with pytest.raises(errors.ModelError, match=r"'ball joint'.*'point'.*take a Distance"):
        world.start()
    world = ns.World((0, -9.81))
    lever = world.add(ns.Body(mass=1.0, inertia=0.1, position=(0.5, 0), name="lever"))
    point = world.add(ns.Body(mass=1.0, position=(1, 0), name="point"))
    world.add(ns.Revolute(world.ground, lever, (0, 0)), ns.Revolute(lever, point, (1, 0)))
    assert ns.diagnose(world).degrees_of_freedom == 1
