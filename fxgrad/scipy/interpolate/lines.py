"""Interpolation in one variable, with the kind of interpolation given by its name."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import Array, ArrayLike, ShapeError, UnsupportedError, api_boundary, ops
from ...numpy.composite import ensure, floating
from .piecewise import check_places, place_axes, samples
from .splines import BSpline, make_interp_spline

DEGREES = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3}
STEPS = ("nearest", "nearest-up", "previous", "next")


class interp1d:
    """The interpolating function through given values.

    Args:
        x, y: places and values, the latter along `axis`.
        kind: "linear", "nearest", "nearest-up", "previous", "next", the splines "zero", "slinear", "quadratic",
            "cubic", or their degree.
        axis: that of the places.
        copy: accepted as by SciPy.
        bounds_error: raise for places outside; None: unless there is a fill_value. Traced places are trusted.
        fill_value: what is given outside: a number, a pair (below, above), or "extrapolate".
        assume_sorted: x is ascending; otherwise it is sorted.

    Raises:
        ShapeError: (a ValueError) for places outside, and sizes that do not fit.
        NotImplementedError: there is no such `kind`.

    >>> f = interpolate.interp1d([0.0, 1.0, 2.0], [0.0, 1.0, 4.0])
    >>> float(f(1.5)), float(fx.grad(f)(1.5))
    (2.5, 3.0)
    """

    @api_boundary
    def __init__(self, x: ArrayLike, y: ArrayLike, kind: Any = "linear", axis: int = -1, copy: bool = True,
                 bounds_error: bool | None = None, fill_value: Any = np.nan, assume_sorted: bool = False):  # fmt: skip
        self.x: Array
        self.y: Array
        self.axis: int
        self.x, self.y, self.axis = samples(x, y, axis)
        if not assume_sorted and self.x.ndim == 1:
            order = fnp.argsort(ops.stop_gradient(self.x), kind="stable")
            self.x, self.y = self.x[order], self.y[order]
        self.kind: Any = kind
        self.fill_value: Any = fill_value
        self.extrapolates: bool = isinstance(fill_value, str) and fill_value == "extrapolate"
        default = isinstance(fill_value, float) and np.isnan(fill_value)
        self.bounds_error: bool = default if bounds_error is None else bounds_error
        if self.extrapolates and bounds_error:
            raise ShapeError(
                'interp1d: fill_value="extrapolate" and bounds_error=True',
                hint='bounds_error=None with fill_value="extrapolate"',
            )
        degree = kind if isinstance(kind, int) else DEGREES.get(kind)
        self.spline: BSpline | None = None
        if degree is not None:
            check_places(self.x, self.y, degree + 1)
            self.spline = make_interp_spline(self.x, self.y, degree)
        elif kind not in ("linear", *STEPS):
            raise UnsupportedError(
                f"interp1d: there is no kind={kind!r}",
                hint=f"one of {', '.join([*DEGREES, 'linear', *STEPS])}",
            )
        if self.x.shape[0] != self.y.shape[0]:
            raise ShapeError(
                f"interp1d: {self.x.shape[0]} places x and {self.y.shape[0]} values y",
                hint="axis=, along which y belongs to x",
            )

    def __call__(self, x: ArrayLike) -> Array:
        """The values at places of any shape."""
        places = floating(x)
        shape, places = places.shape, fnp.ravel(places)
        first, last = self.x[0], self.x[-1]
        below, above = places < first, places > last
        if self.bounds_error:
            hint = "bounds_error=False, or fill_value='extrapolate'"
            ensure(ops.logical_not(below), "A value in x_new is below the interpolation range.", hint)
            ensure(ops.logical_not(above), "A value in x_new is above the interpolation range.", hint)
        rest = self.y.shape[1:]
        column = (-1, *(1,) * len(rest))
        if self.spline is not None:
            spline = self.spline
            found = type(spline).tree_unflatten((spline.k, True, 0), (spline.t, spline.c))(places)
        elif self.kind == "linear":
            left = fnp.clip(fnp.searchsorted(self.x, places) - 1, 0, self.x.shape[0] - 2)
            start, stop = fnp.take(self.y, left, axis=0), fnp.take(self.y, left + 1, axis=0)
            share = (places - fnp.take(self.x, left)) / fnp.take(self.x[1:] - self.x[:-1], left)
            found = start + fnp.reshape(share, column) * (stop - start)
        else:
            found = fnp.take(self.y, self.step(places), axis=0)
        if self.extrapolates:
            missing = {"previous": below, "next": above}.get(self.kind)  # on that side there is no value
            if missing is not None:
                found = fnp.where(fnp.reshape(missing, column), np.nan, found)
        else:
            fill = self.fill_value
            low, high = fill if isinstance(fill, tuple) else (fill, fill)
            found = fnp.where(fnp.reshape(below, column), floating(low), found)
            found = fnp.where(fnp.reshape(above, column), floating(high), found)
        return place_axes(fnp.reshape(found, (*shape, *rest)), len(shape), self.axis)

    def step(self, places: Any) -> Any:
        """The positions of the values that are given at places."""
        last = self.x.shape[0] - 1
        if self.kind == "previous":
            found = fnp.searchsorted(self.x, places, "right") - 1
        elif self.kind == "next":
            found = fnp.searchsorted(self.x, places, "left")
        else:
            middles = (self.x[1:] + self.x[:-1]) / 2
            found = fnp.searchsorted(middles, places, "right" if self.kind == "nearest-up" else "left")
        return fnp.clip(found, 0, last)


__all__ = ["interp1d"]
