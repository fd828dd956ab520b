"""`jax.scipy.spatial.transform`: rotations as named tuples of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ... import numpy as fnp
from ...scipy.spatial.transform import Rotation as Here
from . import random
from .arrays import Array
from .lifting import lift
from .numpy import asarray

__all__ = ["Rotation", "Slerp"]


def make(name: str, *args: Any) -> Rotation:
    """Return the rotation that a constructor of this library's class makes."""
    return Rotation(lift(lambda *given: getattr(Here, name)(*given).quat)(*args))


def ask(rotation: Rotation, name: str, *args: Any) -> Any:
    """Return what a method of this library's class gives for a rotation."""
    return lift(lambda quat, *given: getattr(Here(quat, normalize=False), name)(*given))(rotation.quat, *args)


class Rotation(NamedTuple):
    """Rotations in three dimensions, as quaternions of length 1 whose scalar part is last."""

    quat: Array

    @classmethod
    def from_quat(cls, quat: Any) -> Rotation:
        """Return the rotation of a quaternion of any length."""
        return make("from_quat", quat)

    @classmethod
    def from_rotvec(cls, rotvec: Any, degrees: bool = False) -> Rotation:
        """Return the rotation about a vector, by the angle that is its length."""
        return make("from_rotvec", rotvec, degrees)

    @classmethod
    def from_matrix(cls, matrix: Any) -> Rotation:
        """Return the rotation of an orthogonal matrix of determinant 1."""
        return make("from_matrix", matrix)

    @classmethod
    def from_euler(cls, seq: str, angles: Any, degrees: bool = False) -> Rotation:
        """Return the rotation by angles about axes, one after the other."""
        return make("from_euler", seq, angles, degrees)

    @classmethod
    def from_mrp(cls, mrp: Any) -> Rotation:
        """Return the rotation of modified Rodrigues parameters, tan(angle / 4) about the axis."""
        return cls(lift(quaternion_of_mrp)(mrp))

    @classmethod
    def identity(cls, num: int | None = None, dtype: Any = float) -> Rotation:
        """Return the identity, or `num` of them."""
        return cls(make("identity", num).quat.astype(dtype))

    @classmethod
    def random(cls, random_key: Any, num: int | None = None) -> Rotation:
        """Return rotations that are distributed evenly."""
        return cls.from_quat(random.normal(random_key, (4,) if num is None else (num, 4)))

    @classmethod
    def concatenate(cls, rotations: Sequence[Rotation]) -> Rotation:
        """Return rotations in one."""
        return cls(lift(fnp.concatenate)([r.quat for r in rotations]))

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Any:
        """Return the quaternion; `canonical`: that of both whose scalar part is not negative."""
        return lift(lambda quat: Here(quat, False).as_quat(canonical, scalar_first=scalar_first))(self.quat)

    def as_matrix(self) -> Any:
        """Return the orthogonal matrix."""
        return ask(self, "as_matrix")

    def as_rotvec(self, degrees: bool = False) -> Any:
        """Return the axis, as long as the angle."""
        return ask(self, "as_rotvec", degrees)

    def as_euler(self, seq: str, degrees: bool = False) -> Any:
        """Return the angles about three axes."""
        return ask(self, "as_euler", seq, degrees)

    def as_mrp(self) -> Any:
        """Return the axis times the tangent of a quarter of the angle."""
        quat = self.as_quat(canonical=True)
        return quat[..., :3] / (1 + quat[..., 3:])

    def apply(self, vectors: Any, inverse: bool = False) -> Any:
        """Rotate vectors; `inverse`: the other way round."""
        return ask(self, "apply", vectors, inverse)

    def inv(self) -> Rotation:
        """Return the inverse."""
        return Rotation(ask(self, "inv").quat)

    def magnitude(self) -> Any:
        """Return the angle."""
        return ask(self, "magnitude")

    def mean(self, weights: Any = None) -> Rotation:
        """Return the rotation that is nearest to all: the main direction of their quaternions."""
        return Rotation(lift(main_direction)(self.quat, weights))

    @property
    def single(self) -> bool:
        """Whether it is one rotation without an axis."""
        return self.quat.ndim == 1

    def __mul__(self, other: Any) -> Rotation:
        product = lift(lambda p, q: (Here(p, normalize=False) * Here(q, normalize=False)).quat)
        return Rotation(product(self.quat, other.quat))

    def __getitem__(self, index: Any) -> Rotation:  # type: ignore[override]
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return Rotation(self.quat[index])

    def __len__(self) -> int:
        if self.single:
            raise TypeError("Single rotation has no len().")
        return self.quat.shape[0]


def quaternion_of_mrp(mrp: Any) -> Any:
    """Return the quaternion of modified Rodrigues parameters."""
    square = fnp.sum(mrp * mrp, axis=-1, keepdims=True)
    return fnp.concatenate([2 * mrp, 1 - square], axis=-1) / (1 + square)


def main_direction(quat: Any, weights: Any) -> Any:
    """Return the eigenvector of the largest eigenvalue of the weighted sum of the products of quaternions."""
    weights = fnp.ones(quat.shape[:1], quat.dtype) if weights is None else weights
    return fnp.linalg.eigh(fnp.einsum("n,ni,nj->ij", weights, quat, quat))[1][:, -1]


class Slerp(NamedTuple):
    """Rotations between those at given times, about one axis in between."""

    times: Array
    timedelta: Array
    rotations: Rotation
    rotvecs: Array

    @classmethod
    def init(cls, times: Any, rotations: Rotation) -> Slerp:
        """Return what interpolates rotations at times, which increase.

        Raises:
            ValueError: there are not as many times as rotations, or fewer than two.
        """
        times = asarray(times)
        if rotations.single or len(rotations) < 2 or times.shape != (len(rotations),):
            raise ValueError(
                f"Slerp: times of shape {times.shape} for rotations of shape {rotations.quat.shape}"
            )
        starts: Any = rotations[:-1]
        between = starts.inv() * rotations[1:]
        return cls(times, times[1:] - times[:-1], starts, between.as_rotvec())

    def __call__(self, times: Any) -> Rotation:
        times = asarray(times)
        last = len(self.timedelta) - 1
        place = lift(lambda known, t: fnp.clip(fnp.searchsorted(known, t) - 1, 0, last))(self.times, times)
        part = ((times - self.times[place]) / self.timedelta[place])[..., None]
        return self.rotations[place] * Rotation.from_rotvec(self.rotvecs[place] * part)
