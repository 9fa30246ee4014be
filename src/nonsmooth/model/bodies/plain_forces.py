"""The second route for forces, energies and masses of a world: plain NumPy, many instants at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from nonsmooth._core.bodies.frames import ALONG, FIXED_E, GROUND, HELD, PLANAR, SPATIAL, TURNING, frame_of
from nonsmooth.model.bodies.bushing import IN_PLANE, Deformation
from nonsmooth.model.bodies.plain import Poses
from nonsmooth.model.bodies.rows import angle_of, between, dot, length, turn
from nonsmooth.model.bodies.world_writers import law_of


class PlainForces:
    """Forces of a world.

    Parameters
    ----------
    assembly : Assembly
    gravity : ndarray, shape (3,)
    functions : UserFunctions
    """

    def __init__(self, assembly: Any, gravity: np.ndarray, functions: Any):
        self.assembly, self.gravity, self.functions = assembly, gravity, functions
        self.frames = assembly.frames

    def masses(self) -> np.ndarray:
        """M, shape (n_u, n_u)."""
        return self.sparse_masses().toarray()

    def sparse_masses(self, inverse: bool = False) -> sparse.csc_array:
        """M by its entries, or M^-1 of a world without structures."""
        i, j, values = ([np.zeros(0, dtype=dtype)] for dtype in (int, int, float))
        for k in np.flatnonzero(self.assembly.is_body):
            frame, placed = frame_of(self.frames, k), self.assembly.placed[k]
            block = placed.mass * np.eye(placed.u.size)
            if frame.kind == PLANAR:
                block[2, 2] = placed.J[0]
            elif frame.kind == SPATIAL:
                block[3:, 3:] = inertia_of(placed.J)
            block = np.linalg.inv(block) if inverse else block
            rows, columns = np.nonzero(block)
            i.append(frame.at_u + rows)
            j.append(frame.at_u + columns)
            values.append(block[rows, columns])
        for laid in self.assembly.structures:
            i.append(laid.first_u + laid.mass.rows)
            j.append(laid.first_u + laid.mass.columns)
            values.append(laid.mass.values)
        n = self.assembly.n_u
        places = (np.concatenate(i), np.concatenate(j))
        return sparse.coo_array((np.concatenate(values), places), shape=(n, n)).tocsc()

    def forces(self, t: np.ndarray, q: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
        """h, shape (n, n_u)."""
        poses, h = Poses(self.assembly, q), self.applied(t, q, u, p)
        v, w = poses.velocities(u)
        for k in np.flatnonzero(self.assembly.is_body):
            placed = self.assembly.placed[k]
            if placed.kind == SPATIAL:
                j = self.frames.at_u[k] + 3
                omega = u[:, j : j + 3]
                h[:, j : j + 3] -= np.cross(omega, omega @ inertia_of(placed.J))
        for item, c in zip(self.assembly.springs, self.assembly.spring_numbers):
            self._add_spring(h, poses, v, w, item, c[None], t, p)
        for item, c in zip(self.assembly.torsions, self.assembly.torsion_numbers):
            self._add_torsion(h, poses, w, item, c[None], t, p)
        for item, c in zip(self.assembly.bushings, self.assembly.bushing_numbers):
            self._add_bushing(h, poses, v, w, item, c, t, p)
        for laid in self.assembly.structures:
            h[:, laid.first_u : laid.first_u + laid.n] += laid.plain_forces(q, u)
        return h

    def applied(self, t: np.ndarray, q: np.ndarray, u: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Gravity and loads, shape (n, n_u)."""
        poses, h = Poses(self.assembly, q), np.zeros((q.shape[0], self.assembly.n_u))
        for k in np.flatnonzero(self.assembly.is_body):
            weight = self.assembly.placed[k].mass * np.broadcast_to(self.gravity, (q.shape[0], 3))
            self._add(h, poses, k, weight, np.zeros_like(weight))
        for load, c in zip(self.assembly.loads, self.assembly.load_numbers):
            self._add_load(h, poses, load, c, t, q, u, p)
        for laid in self.assembly.structures:
            h[:, laid.first_u : laid.first_u + laid.n] += laid.weights
        return h

    def _add(self, h, poses, k, F, T):
        """Force and torque in the world on body k, shape (n, 3) each."""
        kind, j, dim = self.frames.kind[k], self.frames.at_u[k], self.frames.dim[k]
        if kind == GROUND:
            return
        if kind == ALONG:
            h[:, j] += F @ self.assembly.fixed[k, FIXED_E : FIXED_E + 3]
            return
        if kind == HELD:
            for place, load in zip(
                self.frames.parts[k],
                (F[:, 0], F[:, 1], F[:, 2], np.broadcast_to(T, F.shape)[:, 2]),
            ):
                if place >= 0:
                    h[:, j + place] += load
            return
        if kind == TURNING:
            h[:, j : j + 3] += np.einsum("nij,ni->nj", poses.R[:, k], np.broadcast_to(T, F.shape))
            return
        h[:, j : j + dim] += F[:, :dim]
        if kind == PLANAR:
            h[:, j + 2] += T[:, 2]
        elif kind == SPATIAL:
            h[:, j + 3 : j + 6] += np.einsum("nij,ni->nj", poses.R[:, k], T)

    def _pair(self, item) -> tuple[int, int]:
        return self.assembly.side(item.a).number, self.assembly.side(item.b).number

    def _add_spring(self, h, poses, v, w, item, c, t, p):
        a, b = self._pair(item)
        d, p_a, p_b = (x[:, 0] for x in between(poses.ends([a], [b]), c))
        r_a, r_b = p_a - poses.x[:, a], p_b - poses.x[:, b]
        rate = v[:, b] + np.cross(w[:, b], r_b) - v[:, a] - np.cross(w[:, a], r_a)
        l = length(d)
        n = d / np.where(l > 0, l, 1.0)[:, None]
        tension = self._law(item, t, l, dot(n, rate), p)
        if tension is None:
            tension = c[0, 6] * (l - c[0, 7]) + c[0, 8] * dot(n, rate)
        F = -tension[:, None] * n
        self._add(h, poses, b, F, np.cross(r_b, F))
        self._add(h, poses, a, -F, np.cross(r_a, -F))

    def _add_torsion(self, h, poses, w, item, c, t, p):
        a, b = self._pair(item)
        ends = poses.ends([a], [b])
        theta = angle_of(ends, c, c[:, 10])[:, 0]
        E_1, E_2, E_b = (
            turn(R, c[:, 3 * k : 3 * k + 3])[:, 0] for k, R in enumerate((ends.R_a, ends.R_a, ends.R_b))
        )
        S, C = dot(E_2, E_b), dot(E_1, E_b)
        gradient = (C[:, None] * np.cross(E_b, E_2) - S[:, None] * np.cross(E_b, E_1)) / (S**2 + C**2)[
            :, None
        ]
        rate = dot(gradient, w[:, b] - w[:, a])
        torque = self._law(item, t, theta, rate, p)
        if torque is None:
            torque = c[0, 9] * (theta - c[0, 10]) + c[0, 11] * rate
        T = -torque[:, None] * gradient
        self._add(h, poses, b, 0.0 * T, T)
        self._add(h, poses, a, 0.0 * T, -T)

    def _add_bushing(self, h, poses, v, w, item, c, t, p):
        a, b = self._pair(item)
        deformed = Deformation(poses, a, b, c)
        s, rates = deformed.s, deformed.rates(v, w)
        if item.law is None:
            f = s @ c[16:52].reshape(6, 6).T + rates @ c[52:88].reshape(6, 6).T
        else:
            law = law_of(self.functions, item, self.assembly.dim).function
            seen = IN_PLANE if self.assembly.dim == 2 else np.arange(6)
            f = np.zeros_like(s)
            f[:, seen] = [law.call(*x, p) for x in zip(t, s[:, seen], rates[:, seen])]
        F, T = deformed.wrench(f)
        self._add(h, poses, b, F, T + np.cross(deformed.p_b - poses.x[:, b], F))
        self._add(h, poses, a, -F, -T - np.cross(deformed.p_b - poses.x[:, a], F))

    def deformation(self, item: Any, q: np.ndarray) -> Deformation:
        """Of a bushing."""
        numbers = self.assembly.bushing_numbers[self.assembly.bushings.index(item)]
        a, b = self._pair(item)
        return Deformation(Poses(self.assembly, q), a, b, numbers)

    def _law(self, item, t, x, rate, p):
        """What the function of a spring says, or None."""
        if item.force is None:
            return None
        f = self.functions.law(item).function
        return np.array([f.call(*x, p)[0] for x in zip(t, x[:, None], rate[:, None])])

    def _add_load(self, h, poses, load, c, t, q, u, p):
        side = self.assembly.side(load.body)
        k, n = side.number, t.size
        F, T = np.tile(c[4:7], (n, 1)), np.tile(c[7:10], (n, 1))
        for what, f in self.functions.load_parts(load, frame_of(self.frames, k), side.placed).items():
            values = np.array([f.call(*x, p) for x in zip(t, q, u)])
            if what == "force":
                F[:, : values.shape[1]] = values
            else:
                T[:, 3 - values.shape[1] :] = values
        R = poses.R[:, k]
        if load.carried:
            F, T = np.einsum("nij,nj->ni", R, F), np.einsum("nij,nj->ni", R, T)
        r = np.einsum("nij,j->ni", R, c[0:3])
        self._add(h, poses, k, F, T + np.cross(r, F))

    # -- energies ------------------------------------------------------------------------------------------------------

    def potentials(self, q: np.ndarray) -> dict[str, np.ndarray]:
        """Potential energies by name, shape (n,) each: gravity (of each body), springs, torsion springs, constant loads."""
        poses, found = Poses(self.assembly, q), {}
        for k in np.flatnonzero(self.assembly.is_body):
            found[self.assembly.body_name(k)] = -self.assembly.placed[k].mass * (poses.x[:, k] @ self.gravity)
        for laid in self.assembly.structures:
            found[laid.structure.name] = laid.strain_energy(q) + laid.work_of_weight(q)
        for item, c in zip(self.assembly.springs, self.assembly.spring_numbers):
            if item.force is None:
                a, b = self._pair(item)
                l = length(between(poses.ends([a], [b]), c[None])[0][:, 0])
                found[self.assembly.name(item)] = 0.5 * c[6] * (l - c[7]) ** 2
        for item, c in zip(self.assembly.torsions, self.assembly.torsion_numbers):
            if item.force is None:
                a, b = self._pair(item)
                theta = angle_of(poses.ends([a], [b]), c[None], c[10])[:, 0]
                found[self.assembly.name(item)] = 0.5 * c[9] * (theta - c[10]) ** 2
        for item, c in zip(self.assembly.bushings, self.assembly.bushing_numbers):
            if item.law is None:
                a, b = self._pair(item)
                s = Deformation(poses, a, b, c).s
                found[self.assembly.name(item)] = 0.5 * np.sum(s * (s @ c[16:52].reshape(6, 6)), axis=1)
        for load, c in zip(self.assembly.loads, self.assembly.load_numbers):
            if not load.carried and not callable(load.force) and load.torque is None:
                k = self.assembly.side(load.body).number
                at = poses.x[:, k] + np.einsum("nij,j->ni", poses.R[:, k], c[0:3])
                found[self.assembly.name(load)] = -(at @ c[4:7])
        return found

    def kinetic(self, u: np.ndarray) -> dict[str, np.ndarray]:
        """Kinetic energies of bodies by name."""
        found = {}
        for laid in self.assembly.structures:
            found[laid.structure.name] = laid.kinetic_energy(u)
        for k in np.flatnonzero(self.assembly.is_body):
            frame, placed = frame_of(self.frames, k), self.assembly.placed[k]
            j, dim = frame.at_u, frame.dim
            T = 0.5 * placed.mass * np.sum(u[:, j : j + dim] ** 2, axis=1)
            if placed.kind == PLANAR:
                T = T + 0.5 * placed.J[0] * u[:, j + 2] ** 2
            elif placed.kind == SPATIAL:
                w = u[:, j + 3 : j + 6]
                T = T + 0.5 * np.sum(w * (w @ inertia_of(placed.J)), axis=1)
            found[self.assembly.body_name(k)] = T
        return found


def inertia_of(J: np.ndarray) -> np.ndarray:
    """The inertia matrix from its six numbers."""
    xx, yy, zz, xy, xz, yz = J
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
