"""Rotations in three dimensions as pytrees, with SciPy's methods."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ... import numpy as fnp
from ... import random as fxrandom
from ...extend import (
    Array,
    ArrayLike,
    ShapeError,
    StructureError,
    api_boundary,
    ops,
    show_public_names,
)
from ...tree import register_pytree_node_class
from ..stats.generator import check_that_all_is_plain, is_of_numpy, random_key
from .distance import floating

AXES = "xyz"
SMALL = 1e-3  # angles below which series are exact


def need_shape(name: str, x: Any, ending: tuple[int, ...]) -> Any:
    """Return an array of floating numbers whose last axes have these sizes."""
    x = floating(x)
    if x.shape[x.ndim - len(ending) :] != ending or x.ndim < len(ending):
        raise ShapeError(f"{name}: an array of shape {x.shape}", hint=f"shape {ending}, or (n, *{ending})")
    return x


def multiply(p: Any, q: Any) -> Any:
    """Multiply quaternions with the scalar part last."""
    v, w = p[..., :3], q[..., :3]
    a, b = p[..., 3:], q[..., 3:]
    p, q, a, b = *fnp.broadcast_arrays(v, w), a, b
    return fnp.concatenate(
        [a * w + b * v + fnp.cross(p, q), a * b - fnp.sum(v * w, axis=-1, keepdims=True)], axis=-1
    )


def choose(small: Any, series: Any, exact: Any) -> Any:
    """Return a series where an angle is small; derivatives of the other formula there do not matter."""
    return ops.where(small, series, exact)


@register_pytree_node_class
class Rotation:
    """One rotation or n of them, of vectors in three dimensions; its leaf is the quaternion, [4] or [n, 4].

    It is made by `from_quat`, `from_matrix`, `from_rotvec`, `from_euler`, `identity`, `random` and `concatenate`.
    Derivatives are smooth through the identity.

    >>> Rotation = fx.scipy.spatial.transform.Rotation
    >>> turn = Rotation.from_euler("z", 90, degrees=True)
    >>> turn.apply(np.array([1.0, 0.0, 0.0])).round(6) + 0.0
    array([0., 1., 0.])
    >>> angle = lambda v: Rotation.from_rotvec(v).magnitude()
    >>> fx.grad(angle)(np.array([0.0, 0.0, 0.5]))
    array([0., 0., 1.])
    """

    quat: Any
    __array_ufunc__ = None  # so that NumPy's arrays leave their operators to it

    @api_boundary
    def __init__(self, quat: Any, normalize: bool = True):
        quat = need_shape("Rotation", quat, (4,))
        self.quat = quat / fnp.linalg.norm(quat, axis=-1, keepdims=True) if normalize else quat

    def tree_flatten(self) -> tuple[tuple[Any], None]:
        """See `fxgrad.tree.register_pytree_node_class`."""
        return (self.quat,), None

    @classmethod
    def tree_unflatten(cls, _: None, children: Any) -> Rotation:
        """See `fxgrad.tree.register_pytree_node_class`."""
        made = object.__new__(cls)
        (made.quat,) = children
        return made

    # -- made of ------------------------------------------
    @classmethod
    def from_quat(cls, quat: ArrayLike, *, scalar_first: bool = False) -> Rotation:
        """Return the rotation of a quaternion of any length, its scalar part last (or first)."""
        quat = need_shape("from_quat", quat, (4,))
        return cls(fnp.roll(quat, -1, axis=-1) if scalar_first else quat)

    @classmethod
    def from_rotvec(cls, rotvec: ArrayLike, degrees: bool = False) -> Rotation:
        """Return the rotation about a vector, by the angle that is its length."""
        v = need_shape("from_rotvec", rotvec, (3,))
        v = fnp.deg2rad(v) if degrees else v
        square = fnp.sum(v * v, axis=-1, keepdims=True)
        small = ops.less(square, SMALL**2)
        angle = fnp.sqrt(ops.where(small, 1.0, square))
        scale = choose(small, 0.5 - square / 48 + square**2 / 3840, fnp.sin(angle / 2) / angle)
        cosine = choose(small, 1 - square / 8 + square**2 / 384, fnp.cos(angle / 2))
        return cls(fnp.concatenate([scale * v, cosine], axis=-1), normalize=False)

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Rotation:
        """Return the rotation of an orthogonal matrix of determinant 1."""
        m = need_shape("from_matrix", matrix, (3, 3))
        entries = [[m[..., i, j] for j in range(3)] for i in range(3)]
        trace = entries[0][0] + entries[1][1] + entries[2][2]
        candidates = []
        for i in range(3):  # each is the quaternion times four times an entry of it
            j, k = (i + 1) % 3, (i + 2) % 3
            parts = {
                i: 1 - trace + 2 * entries[i][i],
                j: entries[j][i] + entries[i][j],
                k: entries[k][i] + entries[i][k],
                3: entries[k][j] - entries[j][k],
            }
            candidates.append(fnp.stack([parts[n] for n in range(4)], axis=-1))
        turned = [entries[(i + 2) % 3][(i + 1) % 3] - entries[(i + 1) % 3][(i + 2) % 3] for i in range(3)]
        candidates.append(fnp.stack([*turned, 1 + trace], axis=-1))
        decision = fnp.stack([entries[0][0], entries[1][1], entries[2][2], trace], axis=-1)
        largest = fnp.argmax(decision, axis=-1)[..., None, None]
        found = fnp.take_along_axis(fnp.stack(candidates, axis=-2), largest, axis=-2)
        return cls(found[..., 0, :])

    @classmethod
    def from_euler(cls, seq: str, angles: ArrayLike, degrees: bool = False) -> Rotation:
        """Return the rotation by angles about axes, one after the other.

        Args:
            seq: up to three letters: "xyz" about fixed axes, "XYZ" about axes that turn along.
            angles: as many as letters, in the last axis; a number, or a vector of n, for one letter.
            degrees: whether they are degrees.

        Raises:
            StructureError: other letters, or not as many angles.
        """
        check_axes(seq, (1, 2, 3))
        given = floating(angles)
        given = fnp.deg2rad(given) if degrees else given
        if len(seq) == 1 and (given.ndim == 0 or given.shape[-1] != 1):
            given = given[..., None]
        if given.ndim == 0 or given.shape[-1] != len(seq):
            raise StructureError(
                f"from_euler: angles of shape {given.shape} about {seq!r}",
                hint=f"{len(seq)} angles in the last axis",
            )
        result: Any = None
        for index, letter in enumerate(seq.lower()):
            axis = np.eye(3)[AXES.index(letter)]
            half = given[..., index, None] / 2
            turn = fnp.concatenate([fnp.sin(half) * axis, fnp.cos(half)], axis=-1)
            result = (
                turn if result is None else multiply(*((result, turn) if seq.isupper() else (turn, result)))
            )
        return cls(result, normalize=False)

    @classmethod
    def identity(cls, num: int | None = None) -> Rotation:
        """Return the identity, or n of them."""
        return cls(np.array([0.0, 0.0, 0.0, 1.0]) * np.ones((*([] if num is None else [num]), 1)))

    @classmethod
    def random(cls, num: int | None = None, rng: Any = None) -> Rotation:
        """Return rotations that are distributed evenly.

        Args:
            num: how many; None is one without an axis.
            rng: a key of random numbers; outside of transforms it may be left out, or a seed or generator of NumPy's.

        Raises:
            StructureError: no key under a transform.
        """
        if is_of_numpy(rng):
            check_that_all_is_plain("Rotation.random", [], "rng")
            rng = random_key(rng)
        return cls(fxrandom.normal(rng, (4,) if num is None else (num, 4)))

    @classmethod
    def concatenate(cls, rotations: Any) -> Rotation:
        """Return rotations in one."""
        return cls(fnp.concatenate([fnp.atleast_2d(r.quat) for r in rotations]), normalize=False)

    # -- shown as ------------------------------------------
    def as_quat(self, canonical: bool = False, *, scalar_first: bool = False) -> Array:
        """Return the quaternion of length 1; `canonical`: that of both whose scalar part is not negative."""
        quat = self.quat
        if canonical:
            quat = quat * ops.where(ops.less(quat[..., 3:], 0), -1.0, 1.0)
        return fnp.roll(quat, 1, axis=-1) if scalar_first else quat

    def as_matrix(self) -> Array:
        """Return the orthogonal matrix, [3, 3] or [n, 3, 3]."""
        columns = [self.apply(axis) for axis in np.eye(3)]
        return fnp.stack(columns, axis=-1)

    def as_rotvec(self, degrees: bool = False) -> Array:
        """Return the axis, as long as the angle, which is at most π."""
        quat = self.as_quat(canonical=True)
        v, w = quat[..., :3], quat[..., 3:]
        square = fnp.sum(v * v, axis=-1, keepdims=True)
        small = ops.less(square, SMALL**2)
        sine = fnp.sqrt(ops.where(small, 1.0, square))
        scale = choose(small, 2 + square / 3 + 3 * square**2 / 20, 2 * fnp.arctan2(sine, w) / sine)
        return fnp.rad2deg(scale * v) if degrees else scale * v

    def as_euler(self, seq: str, degrees: bool = False) -> Array:
        """Return the angles about three axes, by the method of Bernardes and Viollet (2022). Where the second one makes
        the other two one, the third is 0.

        Args:
            seq: three letters, as for `from_euler`.
            degrees: whether angles are degrees.

        Raises:
            StructureError: other letters, or an axis twice in a row.
        """
        check_axes(seq, (3,))
        extrinsic = seq.islower()
        i, j, k = (AXES.index(letter) for letter in (seq.lower() if extrinsic else seq.lower()[::-1]))
        symmetric = i == k
        k = 3 - i - j if symmetric else k
        sign = (i - j) * (j - k) * (k - i) // 2
        q = self.quat
        a, b, c, d = q[..., 3], q[..., i], q[..., j], q[..., k] * sign
        if not symmetric:
            a, b, c, d = a - c, b + d, c + a, d - b
        middle = 2 * fnp.arctan2(fnp.hypot(c, d), fnp.hypot(a, b))
        low, high = ops.less_equal(abs(middle), 1e-7), ops.less_equal(abs(middle - np.pi), 1e-7)
        half_sum, half_difference = fnp.arctan2(b, a), fnp.arctan2(d, c)
        lone = ops.where(low, 2 * half_sum, 2 * half_difference * (-1 if extrinsic else 1))
        special = ops.logical_or(low, high)
        one, other = half_sum - half_difference, half_sum + half_difference
        first, third = (one, other) if extrinsic else (other, one)
        if not symmetric:
            first, third = (first, third * sign) if extrinsic else (first * sign, third)
            middle = middle - np.pi / 2
        angles = fnp.stack([ops.where(special, lone, first), middle, ops.where(special, 0.0, third)], axis=-1)
        angles = angles - 2 * np.pi * ops.stop_gradient(fnp.round(angles / (2 * np.pi)))
        return fnp.rad2deg(angles) if degrees else angles

    # -- computed with ------------------------------------------
    @api_boundary
    def apply(self, vectors: ArrayLike, inverse: bool = False) -> Array:
        """Rotate vectors [3] or [n, 3]; `inverse`: the other way round.

        Raises:
            ShapeError: they have other shapes.
        """
        x = need_shape("apply", vectors, (3,))
        v, w = self.quat[..., :3] * (-1 if inverse else 1), self.quat[..., 3:]
        v, x = fnp.broadcast_arrays(v, x)
        twice = 2 * fnp.cross(v, x)
        return x + w * twice + fnp.cross(v, twice)

    def inv(self) -> Rotation:
        """Return the inverse."""
        return Rotation(self.quat * np.array([-1.0, -1.0, -1.0, 1.0]), normalize=False)

    def magnitude(self) -> Array:
        """Return the angle, from 0 to π."""
        return 2 * fnp.arctan2(fnp.linalg.norm(self.quat[..., :3], axis=-1), abs(self.quat[..., 3]))

    def __mul__(self, other: Rotation) -> Rotation:
        """The rotation by `other`, and then by this one."""
        return Rotation(multiply(self.quat, other.quat))

    def __pow__(self, n: float) -> Rotation:
        return Rotation.from_rotvec(n * self.as_rotvec())

    def __getitem__(self, index: Any) -> Rotation:
        if self.single:
            raise TypeError("a single rotation has no parts")
        return Rotation(self.quat[index], normalize=False)

    def __len__(self) -> int:
        if self.single:
            raise TypeError("a single rotation has no length")
        return self.quat.shape[0]

    @property
    def single(self) -> bool:
        """Whether it is one rotation without an axis."""
        return self.quat.ndim == 1

    def __repr__(self) -> str:
        return f"Rotation.from_quat({self.quat!r})"


def check_axes(seq: str, sizes: tuple[int, ...]) -> None:
    """Raise unless letters are names of axes, all small or all capital, none twice in a row."""
    known = len(seq) in sizes and {*seq.lower()} <= {*AXES} and (seq.islower() or seq.isupper())
    if not known or any(a == b for a, b in pairwise(seq)):
        raise StructureError(
            f"Rotation: the axes {seq!r}", hint="as 'xyz' (fixed axes) or 'ZYX' (that turn along)"
        )


__all__ = ["Rotation"]

show_public_names(__name__)
