"""Interpolation of scattered values by radial functions."""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import inf
from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import Array, ArrayLike, ShapeError, StructureError, api_boundary, check_option, ops, vmap
from ...numpy.composite import operand
from ..spatial.trees import KDTree

# Functions of the squared distance, with the least degree of the polynomial that they need.
KERNELS: dict[str, tuple[Any, int]] = {
    "linear": (lambda s: -power(s, 0.5), 0),
    "thin_plate_spline": (lambda s: 0.5 * s * fnp.log(positive(s)), 1),
    "cubic": (lambda s: power(s, 1.5), 1),
    "quintic": (lambda s: -power(s, 2.5), 2),
    "multiquadric": (lambda s: -fnp.sqrt(s + 1), 0),
    "inverse_multiquadric": (lambda s: 1 / fnp.sqrt(s + 1), -1),
    "inverse_quadratic": (lambda s: 1 / (s + 1), -1),
    "gaussian": (lambda s: fnp.exp(-s), -1),
}
OF_NO_SCALE = ("linear", "thin_plate_spline", "cubic", "quintic")


def positive(s: Any) -> Any:
    """Return squared distances with 1 in the place of 0, where values do not depend on them."""
    return ops.where(ops.greater(s, 0), s, 1.0)


def power(s: Any, exponent: float) -> Any:
    """Return a power of squared distances, whose derivatives at 0 are 0."""
    return ops.where(ops.greater(s, 0), positive(s) ** exponent, 0.0)


def squared_distances(x: Any, y: Any) -> Any:
    """Return the squared distances of all pairs of rows."""
    return fnp.sum((x[:, None] - y[None]) ** 2, axis=-1)


class RBFInterpolator:
    """The function of several variables through scattered values: a polynomial and a sum of radial functions of the
    distances.

    Args:
        y: places [n, d] of the values.
        d: values [n, ...] there.
        neighbors: how many nearest places a value depends on; None: on all.
        smoothing: how far values may be missed; a number, or one for each place.
        kernel: the radial function, by SciPy's name.
        epsilon: what distances are multiplied by; needed unless the kernel has no scale.
        degree: that of the polynomial; -1 is none, None the least that the kernel needs.

    Raises:
        StructureError: another kernel, or no `epsilon` where it is needed.
        ShapeError: places and values do not fit.

    Differentiable in x, y, d, smoothing and epsilon.

    >>> y = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> f = fx.scipy.interpolate.RBFInterpolator(y, y[:, 0] * y[:, 1])
    >>> f(np.array([[0.5, 0.5]])).round(6)
    array([0.25])
    """

    @api_boundary
    def __init__(
        self,
        y: ArrayLike,
        d: ArrayLike,
        neighbors: int | None = None,
        smoothing: ArrayLike = 0.0,
        kernel: str = "thin_plate_spline",
        epsilon: ArrayLike | None = None,
        degree: int | None = None,
    ):
        places, values = fnp.asarray(y, float), operand(d)
        if places.ndim != 2 or values.shape[:1] != places.shape[:1]:
            raise ShapeError(
                f"RBFInterpolator: places of shape {places.shape} and values of shape {values.shape}",
                hint="shapes (n, d) and (n, ...); y[:, None] for one variable",
            )
        kernel = kernel.lower()
        check_option("RBFInterpolator", "kernel", kernel, KERNELS)
        if epsilon is None and kernel not in OF_NO_SCALE:
            raise StructureError(
                f"RBFInterpolator: {kernel!r} has a scale", hint="epsilon=1.0, for distances near 1"
            )
        function, least = KERNELS[kernel]
        degree = max(least, 0) if degree is None else int(degree)
        count, dimension = places.shape
        powers = [
            np.bincount(chosen, minlength=dimension)
            for order in range(degree + 1)
            for chosen in map(list, combinations_with_replacement(range(dimension), order))
        ]
        self.powers: np.ndarray = np.array(powers, int).reshape(len(powers), dimension)
        needed, known = len(powers), count if neighbors is None else min(int(neighbors), count)
        if needed > known:
            raise ShapeError(
                f"RBFInterpolator: {known} places for a polynomial of degree {degree}, which has {needed} terms",
                hint=f"{needed} places at least, or degree={max(degree - 1, -1)}",
            )
        self.kernel: Any = function
        self.scale: Any = 1.0 if epsilon is None else epsilon
        self.neighbors: int | None = None if known == count and neighbors is None else known
        self.y, self.shape = places, values.shape[1:]
        self.d: Any = ops.reshape(values, shape=(count, int(np.prod(self.shape))))
        self.smoothing: Any = fnp.broadcast_to(fnp.asarray(smoothing, float), (count,))
        self.solution: Any = None if self.neighbors else self.solve(places, self.d, self.smoothing)
        self.tree: Any = KDTree(places) if self.neighbors else None

    def solve(self, y: Any, d: Any, smoothing: Any) -> tuple[Any, ...]:
        """Return the coefficients of the radial functions and of the polynomial, and what moves places to [-1, 1]."""
        low, high = fnp.min(y, axis=0), fnp.max(y, axis=0)
        shift, scale = (high + low) / 2, (high - low) / 2
        scale = ops.where(ops.equal(scale, 0), 1.0, scale)
        radial = self.kernel(self.scale**2 * squared_distances(y, y)) + fnp.diag(smoothing)
        terms = self.polynomial((y - shift) / scale)
        size = terms.shape[1]
        matrix = fnp.concatenate(
            [
                fnp.concatenate([radial, terms], axis=1),
                fnp.concatenate([terms.T, np.zeros((size, size))], axis=1),
            ]
        )
        right = fnp.concatenate([d, np.zeros((size, d.shape[1]))])
        return fnp.linalg.solve(matrix, right), shift, scale

    def polynomial(self, x: Any) -> Any:
        """Return the terms of the polynomial at places."""
        columns = [
            fnp.prod(fnp.stack([x[:, i] ** int(n) for i, n in enumerate(row)]), axis=0) for row in self.powers
        ]
        return fnp.stack(columns, axis=1) if columns else np.zeros((x.shape[0], 0))

    def evaluate(self, x: Any, y: Any, solution: tuple[Any, ...]) -> Any:
        """Return the values at places, by a solution for the places y."""
        coefficients, shift, scale = solution
        radial = self.kernel(self.scale**2 * squared_distances(x, y))
        return fnp.concatenate([radial, self.polynomial((x - shift) / scale)], axis=1) @ coefficients

    @api_boundary
    def __call__(self, x: ArrayLike) -> Array:
        """Return the values [m, ...] at places [m, d].

        Raises:
            ShapeError: the places have another number of coordinates.
        """
        x = fnp.asarray(x, float)
        if x.ndim != 2 or x.shape[1] != self.y.shape[1]:
            raise ShapeError(
                f"RBFInterpolator: places of shape {x.shape}", hint=f"shape (m, {self.y.shape[1]})"
            )
        if self.neighbors is None:
            found = self.evaluate(x, self.y, self.solution)
        else:
            _, near = self.tree.query(x, self.neighbors, distance_upper_bound=inf)
            near = near if self.neighbors > 1 else near[:, None]

            def one(point: Any, *local: Any) -> Any:
                return self.evaluate(point[None], local[0], self.solve(*local))[0]

            found = vmap(one)(x, *(fnp.take(v, near, axis=0) for v in (self.y, self.d, self.smoothing)))
        return ops.reshape(found, shape=(x.shape[0], *self.shape))


__all__ = ["RBFInterpolator"]
