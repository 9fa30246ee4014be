"""What a result says of one body, joint, force element or contact, by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from nonsmooth._core.bodies.frames import ALONG, HELD, PLANAR, POINT, SPATIAL, frame_of
from nonsmooth.errors import InputError
from nonsmooth.model.bodies.plain import Poses
from nonsmooth.model.bodies.rows import USER, Ends


class BodyView:
    """Motion of a body at the instants of a result.

    Attributes
    ----------
    position, velocity : ndarray, shape (dim, n_t)
    angle : ndarray, shape (n_t,)
        In the plane.
    rotation : ndarray, shape (n_t, 3, 3)
        From the frame of the body into the world; in the plane (n_t, 2, 2).
    quaternion : ndarray, shape (4, n_t)
        In space.
    angular_velocity : ndarray, shape (n_t,), in space (3, n_t) in the frame of the body
    kinetic_energy, potential_energy : ndarray, shape (n_t,)
        Of gravity.
    """

    def __init__(self, model: Any, result: Any, number: int):
        self._model, self._result, self._number = model, result, number
        self._frame, self.name = frame_of(model.assembly.frames, number), model.assembly.body_name(number)
        self.dim = int(self._frame.dim)

    def _wants(self, kind: int, what: str) -> None:
        if self._frame.kind != kind:
            raise InputError(
                f"body {self.name!r} has no `{what}`: it is a point mass, or `{what}` belongs to the other dimension."
            )

    @property
    def position(self) -> np.ndarray:
        if self._frame.kind in (HELD, ALONG):
            return Poses(self._model.assembly, self._result.q.T).x[:, self._number, : self.dim].T
        i = self._frame.at_q
        return self._result.q[i : i + self.dim]

    @property
    def velocity(self) -> np.ndarray:
        if self._frame.kind in (HELD, ALONG):
            poses = Poses(self._model.assembly, self._result.q.T)
            return poses.velocities(self._result.u.T)[0][:, self._number, : self.dim].T
        j = self._frame.at_u
        return self._result.u[j : j + self.dim]

    @property
    def angle(self) -> np.ndarray:
        self._wants(PLANAR, "angle")
        return self._result.q[self._frame.at_q + 2]

    @property
    def quaternion(self) -> np.ndarray:
        self._wants(SPATIAL, "quaternion")
        i = self._frame.at_q + 3
        return self._result.q[i : i + 4]

    @property
    def rotation(self) -> np.ndarray:
        poses = Poses(self._model.assembly, self._result.q.T)
        return poses.R[:, self._number, : self.dim, : self.dim]

    @property
    def angular_velocity(self) -> np.ndarray:
        j = self._frame.at_u
        if self._frame.kind == PLANAR:
            return self._result.u[j + 2]
        self._wants(SPATIAL, "angular_velocity")
        return self._result.u[j + 3 : j + 6]

    def point(self, at: Any) -> np.ndarray:
        """Path of a point of the body, given in its frame: shape (dim, n_t)."""
        s = np.zeros(3)
        s[: self.dim] = at
        poses = Poses(self._model.assembly, self._result.q.T)
        moved = poses.x[:, self._number] + poses.R[:, self._number] @ s
        return moved[:, : self.dim].T

    def _wants_mass(self, what: str) -> None:
        if not self._model.assembly.is_body[self._number]:
            raise InputError(f"{self.name!r} is a node and has no `{what}`: ask its structure.")

    @property
    def kinetic_energy(self) -> np.ndarray:
        self._wants_mass("kinetic_energy")
        return self._model.plain_forces.kinetic(self._result.u.T)[self.name]

    @property
    def potential_energy(self) -> np.ndarray:
        self._wants_mass("potential_energy")
        return self._model.plain_forces.potentials(self._result.q.T)[self.name]


class RowsView:
    """Rows of a joint, stop, contact or friction: mean forces over the step that ends at each instant.

    Attributes
    ----------
    multipliers : ndarray, shape (rows, n_t)
        Force in each row; NaN at the start.
    force, torque : ndarray, shape (3, n_t) ((2, n_t) and (n_t,) in the plane)
        On the second body (of a contact: the body), in the world, the torque about its centre of mass.
    """

    def __init__(self, model: Any, result: Any, name: str, rows: slice):
        self._model, self._result, self.name, self._rows = model, result, name, rows
        self.dim = model.assembly.dim

    @property
    def multipliers(self) -> np.ndarray:
        from nonsmooth.model.redundancy import shared_forces

        return shared_forces(self._model, self._result)[self._rows]

    def _wrench(self) -> tuple[np.ndarray, np.ndarray]:
        """Force and torque on body b, summed over the rows."""
        model, result = self._model, self._result
        la = self.multipliers
        poses = Poses(model.assembly, result.q.T)
        F, T = np.zeros((len(result), 3)), np.zeros((len(result), 3))
        numbers = range(self._rows.start, self._rows.stop)
        for value, number in zip(la, numbers):
            row = model.assembly.rows[number]
            f, m = _unit_wrench(poses, row) if row.type is not USER else self._own_wrench(poses, number)
            F += value[:, None] * f
            T += value[:, None] * m
        return F.T, T.T

    def _own_wrench(self, poses: Poses, number: int) -> tuple[np.ndarray, np.ndarray]:
        """The same of a row of the user's functions, from its directions."""
        model, result = self._model, self._result
        b = model.assembly.rows[number].b
        frame = frame_of(model.assembly.frames, b)
        W = model.batch_directions(result.t, result.q.T)[0][:, number]
        F, T, j = np.zeros((len(result), 3)), np.zeros((len(result), 3)), frame.at_u
        if frame.kind not in (POINT, PLANAR, SPATIAL):
            raise InputError(
                f"{self.name!r} acts on a node of which something is held: ask for its `multipliers`."
            )
        F[:, : self.dim] = W[:, j : j + self.dim]
        if frame.kind == PLANAR:
            T[:, 2] = W[:, j + 2]
        elif frame.kind == SPATIAL:
            T[:] = np.einsum("nij,nj->ni", poses.R[:, b], W[:, j + 3 : j + 6])
        return F, T

    @property
    def force(self) -> np.ndarray:
        return self._wrench()[0][: self.dim]

    @property
    def torque(self) -> np.ndarray:
        torque = self._wrench()[1]
        return torque if self.dim == 3 else torque[2]


def _unit_wrench(poses: Poses, row: Any) -> tuple[np.ndarray, np.ndarray]:
    """Force and torque on body b of a row with multiplier one, shape (n, 3) each: its change with motions of b."""
    from nonsmooth.model.bodies.plain import CROSS, STEP

    a, b = np.array([row.a]), np.array([row.b])
    ends, c = poses.ends(a, b), row.numbers[None]
    n, found = ends.x_a.shape[0], []
    for k in range(6):
        e = np.eye(3)[k % 3]
        if row.type.plain_value is None:
            zero, along = np.zeros_like(ends.x_b), np.broadcast_to(e, ends.x_b.shape)
            motion = (along, zero) if k < 3 else (zero, along)
            found.append(row.type.plain_gamma(ends, c, zero, zero, *motion)[:, 0])
            continue
        x, R, phi = ends[3:]
        if k < 3:
            x = x + 1j * STEP * e
        else:
            R = R + 1j * STEP * (CROSS[k - 3] @ R)
            phi = phi + 1j * STEP if phi is not None and k == 5 else phi
        value = row.type.plain_value(Ends(*ends[:3], x, R, phi), c)[:, 0]
        found.append(np.imag(value) / STEP * np.ones(n))
    return np.array(found[:3]).T, np.array(found[3:]).T


class ForceView:
    """A spring, damper, torsion spring, bushing or load.

    Attributes
    ----------
    energy : ndarray, shape (n_t,)
        Stored in it.
    length : ndarray, shape (n_t,)
        Of a spring or damper.
    deformation : ndarray, shape (n, n_t)
        Components of a bushing.
    """

    def __init__(self, model: Any, result: Any, item: Any):
        self._model, self._result, self._item = model, result, item
        self.name = model.assembly.name(item)

    @property
    def energy(self) -> np.ndarray:
        found = self._model.plain_forces.potentials(self._result.q.T)
        if self.name not in found:
            raise InputError(
                f"{self._item.owner} stores no energy that is known: its force is a function, or turns with the body."
            )
        return found[self.name]

    @property
    def length(self) -> np.ndarray:
        from nonsmooth.model.bodies.forces import Spring
        from nonsmooth.model.bodies.rows import between, length

        assembly = self._model.assembly
        if not isinstance(self._item, Spring):
            raise InputError(f"{self._item.owner} has no length.")
        a, b = assembly.side(self._item.a).number, assembly.side(self._item.b).number
        numbers = assembly.spring_numbers[assembly.springs.index(self._item)]
        poses = Poses(assembly, self._result.q.T)
        return length(between(poses.ends([a], [b]), numbers[None])[0][:, 0])

    @property
    def deformation(self) -> np.ndarray:
        from nonsmooth.model.bodies.bushing import IN_PLANE, Bushing

        if not isinstance(self._item, Bushing):
            raise InputError(f"{self._item.owner} has no `deformation`: it is no bushing.")
        s = self._model.plain_forces.deformation(self._item, self._result.q.T).s.T
        return s[IN_PLANE] if self._model.assembly.dim == 2 else s


def view_of(model: Any, result: Any, name: str) -> Any:
    """The view of whatever has this name."""
    assembly = model.assembly
    for laid in assembly.structures:
        if laid.structure.name == name:
            from nonsmooth.model.structures.views import StructureView

            return StructureView(model, result, laid)
    for number in range(1, len(assembly.bodies)):
        if assembly.body_name(number) == name:
            return BodyView(model, result, number)
    for item in (*assembly.springs, *assembly.torsions, *assembly.bushings, *assembly.loads):
        if assembly.name(item) == name:
            return ForceView(model, result, item)
    if name in assembly.rows_of:
        whole = model.whole
        return RowsView(whole, result, name, whole.assembly.rows_of[name])
    laws = assembly.laws
    chosen = [k for k, law in enumerate(laws.name) if law == name or law.startswith(f"{name} [")]
    if chosen:
        return RowsView(
            model,
            result,
            name,
            slice(int(laws.row[chosen[0]]), int(laws.row[chosen[-1]] + laws.dim[chosen[-1]])),
        )
    known = [assembly.body_name(k) for k in range(1, len(assembly.bodies))] + list(assembly.rows_of)
    raise KeyError(
        f"neither the result nor its world has {name!r}; bodies and joints are {', '.join(known[:20])}"
    )
