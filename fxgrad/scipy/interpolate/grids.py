"""Interpolation of values on a rectangular grid."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import Array, ArrayLike, ShapeError, api_boundary, check_option, ops, vmap
from ...numpy.composite import ensure, floating
from ...numpy.documentation import described
from .piecewise import PchipInterpolator, check_places
from .splines import active_splines, make_interp_spline

DEGREES = {"slinear": 1, "cubic": 3, "quintic": 5}
METHODS = ("linear", "nearest", "pchip", *DEGREES)


class RegularGridInterpolator:
    """The interpolating function of several variables through values on a grid.

    Args:
        points: the places along each axis, ascending or descending.
        values: an array whose first axes are those of the grid.
        method: "linear", "nearest", "slinear", "cubic", "quintic" (products of splines) or "pchip".
        bounds_error: raise for places outside. Traced ones are trusted.
        fill_value: what is given outside; None: go on with the outer pieces.
        solver, solver_args: accepted as by SciPy; systems are solved directly.

    Raises:
        ValueError: the grid does not fit the values, or there is no such `method`.

    >>> f = interpolate.RegularGridInterpolator(([0.0, 1.0], [0.0, 2.0]), [[0.0, 2.0], [1.0, 3.0]])
    >>> f([0.5, 1.0]), fx.grad(lambda x: f(x)[0])(fnp.array([0.5, 1.0]))
    (array([1.5]), array([1., 1.]))
    """

    @api_boundary
    def __init__(
        self,
        points: Sequence[ArrayLike],
        values: ArrayLike,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: Any = np.nan,
        *,
        solver: Any = None,
        solver_args: Any = None,
    ):
        self.grid: list[Array] = [floating(p) for p in points]
        self.values: Array = floating(values)
        self.method: str = method
        self.bounds_error: bool = bounds_error
        self.fill_value: Any = fill_value
        check_option("RegularGridInterpolator", "method", method, METHODS)
        if len(self.grid) > self.values.ndim:
            raise ShapeError(
                f"There are {len(self.grid)} point arrays, but values has {self.values.ndim} dimensions",
                hint="values with an axis for each array of points, followed by others",
            )
        for i, places in enumerate(self.grid):
            if places.ndim != 1 or places.shape[0] != self.values.shape[i]:
                raise ShapeError(
                    f"There are {places.size} points and {self.values.shape[i]} values on dimension {i}",
                    hint=f"values of shape {tuple(p.size for p in self.grid)}, made with fnp.meshgrid(*points, "
                    'indexing="ij")',
                )
            descending = places[0] > places[-1] if places.shape[0] > 1 else np.bool_(False)
            self.grid[i] = fnp.where(descending, places[::-1], places)
            self.values = fnp.where(descending, fnp.flip(self.values, i), self.values)
            check_places(self.grid[i], fnp.moveaxis(self.values, i, 0), 1)

    def __call__(
        self, xi: ArrayLike | tuple[ArrayLike, ...], method: str | None = None, *, nu: Any = None
    ) -> Array:
        """The values at places.

        Args:
            xi: an array (…, number of axes), or a tuple of arrays that broadcast.
            method: another than that of the interpolator.
            nu: the order of the derivative along each axis, for splines.
        """
        method = self.method if method is None else method
        check_option("RegularGridInterpolator", "method", method, METHODS)
        rank = len(self.grid)
        if isinstance(xi, tuple):
            places: Any = fnp.stack(fnp.broadcast_arrays(*map(floating, xi)), axis=-1)
        else:
            places = floating(xi)
            places = (
                fnp.reshape(places, (-1, rank)) if places.ndim == 1 and places.size % rank == 0 else places
            )
        if places.shape[-1:] != (rank,):
            raise ShapeError(
                f"The requested sample points xi have dimension {places.shape[-1] if places.ndim else 0} but this "
                f"RegularGridInterpolator has dimension {rank}",
                hint=f"places of shape (…, {rank}): fnp.stack(coordinates, -1)",
            )
        shape, places = places.shape[:-1], fnp.reshape(places, (-1, rank))
        columns = [places[:, i] for i in range(rank)]
        outside = [ops.logical_or(x < g[0], x > g[-1]) for x, g in zip(columns, self.grid)]
        if self.bounds_error:
            for i, mask in enumerate(outside):
                message = f"One of the requested xi is out of bounds in dimension {i}"
                ensure(ops.logical_not(mask), message, "bounds_error=False; fill_value=None extrapolates")
        if nu is not None and method not in DEGREES:
            raise ShapeError(
                f"Method {method} does not accept nu, only {[*DEGREES]} do",
                hint='method="cubic", of which there are derivatives, or fx.grad of the interpolator',
            )
        if method == "pchip":
            found = self.monotone(places)
        elif method in DEGREES:
            found = self.spline(columns, DEGREES[method], nu or (0,) * rank)
        else:
            found = self.neighbours(columns, method)
        rest = self.values.shape[rank:]
        if not self.bounds_error and self.fill_value is not None:
            somewhere = outside[0]
            for mask in outside[1:]:
                somewhere = ops.logical_or(somewhere, mask)
            column = fnp.reshape(somewhere, (-1, *(1,) * len(rest)))
            found = fnp.where(column, floating(self.fill_value), found)
        return fnp.reshape(found, (*shape, *rest))

    def neighbours(self, columns: list[Any], method: str) -> Any:
        """The sum of the values at the corners of a cell by their weights, or the value at the nearest.

        Args:
            columns: the coordinates of the places, an array for each axis.
            method: "linear" or "nearest".
        """
        rest = (1,) * (self.values.ndim - len(self.grid))
        corners = []
        for x, grid in zip(columns, self.grid):
            if grid.shape[0] == 1:
                corners.append([(fnp.zeros(x.shape, int), 1.0 + 0 * x)])
                continue
            left = fnp.clip(fnp.searchsorted(grid, x, "right") - 1, 0, grid.shape[0] - 2)
            share = (x - fnp.take(grid, left)) / fnp.take(grid[1:] - grid[:-1], left)
            if method == "nearest":
                corners.append([(fnp.where(share <= 0.5, left, left + 1), None)])
            else:
                corners.append([(left, 1 - share), (left + 1, share)])
        if method == "nearest":
            return fnp.at(self.values)[tuple(choices[0][0] for choices in corners)].get()
        total = 0.0
        for choice in product(*corners):
            weight = 1.0
            for _, w in choice:
                weight = weight * w
            total = total + fnp.at(self.values)[tuple(i for i, _ in choice)].get() * fnp.reshape(
                weight, (-1, *rest)
            )
        return total

    def spline(self, columns: list[Any], degree: int, nu: Sequence[int]) -> Any:
        """The product of the splines along each axis.

        Args:
            columns: the coordinates of the places, an array for each axis.
            degree: that of the splines.
            nu: the order of the derivative along each axis.

        Raises:
            ShapeError: an axis of the grid has too few points.
        """
        c, weights, indices, rank = self.values, [], [], len(self.grid)
        for i, (x, grid, order) in enumerate(zip(columns, self.grid, nu)):
            if grid.shape[0] <= degree:
                raise ShapeError(
                    f"There are {grid.shape[0]} points in dimension {i}, but this method requires {degree + 1}",
                    hint='method="linear", or more points',
                )
            spline = make_interp_spline(grid, c, degree, axis=i).derivative(order)
            c, k = fnp.moveaxis(spline.c, 0, i), spline.k
            interval, values = active_splines(spline.t, k, x)
            places = (-1, *(1,) * i, k + 1, *(1,) * (rank - 1 - i))
            indices.append(fnp.reshape(interval[:, None] + np.arange(-k, 1), places))
            weights.append(fnp.reshape(values, places))
        parts = fnp.at(c)[tuple(indices)].get()
        rest = (1,) * (parts.ndim - rank - 1)
        for w in weights:
            parts = parts * fnp.reshape(w, (*w.shape, *rest))
        return fnp.sum(parts, tuple(range(1, rank + 1)))

    def monotone(self, places: Any) -> Any:
        """Monotone cubics along the last axis of the grid, then through their values along those before it."""

        def at(place: Any) -> Any:
            values = self.values
            for i in reversed(range(len(self.grid))):
                values = PchipInterpolator(self.grid[i], values, axis=i)(place[i])
            return values

        return vmap(at)(places)


@api_boundary
@described("scipy.interpolate.interpn", "")
def interpn(
    points: Sequence[ArrayLike], values: ArrayLike, xi: ArrayLike | tuple[ArrayLike, ...], method: str = "linear",
    bounds_error: bool = True, fill_value: Any = np.nan,
) -> Array:  # fmt: skip
    """The values at places `xi` (…, axes) of the function through values on a grid: see `RegularGridInterpolator`.

    >>> fx.scipy.interpolate.interpn([fnp.array([0.0, 1.0])], fnp.array([1.0, 3.0]), fnp.array([[0.5]]))
    array([2.])
    """
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)


__all__ = ["RegularGridInterpolator", "interpn"]
