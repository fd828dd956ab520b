"""Splines as sums of B-splines (C. de Boor, "A Practical Guide to Splines", 1978, chapters IX and X)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import (
    Array,
    ArrayLike,
    ShapeError,
    UnsupportedError,
    api_boundary,
    check_ndim,
    check_option,
    ops,
)
from ...numpy.composite import ensure, floating, normalize_axis
from ...numpy.documentation import described
from ...tree import register_pytree_node_class
from .piecewise import check_places, place_axes, samples


def active_splines(t: Any, k: int, x: Any) -> tuple[Any, Any]:
    """Return the number of the interval of each place, and the k + 1 B-splines that are not zero there, (…, k + 1).

    Outside, the polynomials of the first and the last interval are gone on with.
    """
    count = t.shape[0] - k - 1
    interval = fnp.searchsorted(t[k + 1 : count], x, "right") + k
    values = [fnp.ones_like(x)]
    for degree in range(1, k + 1):
        new = [fnp.zeros_like(x)] * (degree + 1)
        for i in range(degree):
            right, left = fnp.take(t, interval + i + 1), fnp.take(t, interval + i + 1 - degree)
            width = right - left
            share = fnp.where(width == 0, 0.0, values[i] / fnp.where(width == 0, 1.0, width))
            new[i] = new[i] + (right - x) * share
            new[i + 1] = (x - left) * share
        values = new
    return interval, fnp.stack(values, axis=-1)


@register_pytree_node_class
class BSpline:
    """A spline of degree k: Σ cⱼ·Bⱼ(x) with the B-splines of the knots t.

    Args:
        t: knots, ascending, at least 2(k + 1).
        c: coefficients along `axis`, len(t) − k − 1 of them (or more, which are left out).
        k: the degree.
        extrapolate: go on with the outer pieces; False: NaN outside; "periodic".
        axis: that of the coefficients.

    Raises:
        ShapeError: the knots, the coefficients and the degree do not fit each other.

    >>> spline = interpolate.BSpline([0.0, 0.0, 1.0, 2.0, 2.0], [0.0, 1.0, 4.0], 1)
    >>> float(spline(1.5)), float(fx.grad(spline)(1.5)), float(spline.derivative()(1.5))
    (2.5, 3.0, 3.0)
    """

    @api_boundary
    def __init__(self, t: ArrayLike, c: ArrayLike, k: int, extrapolate: Any = True, axis: int = 0):
        self.t: Array = floating(t)
        c = floating(c)
        self.k: int = int(k)
        self.axis: int = normalize_axis(axis, c.ndim)
        self.c: Array = fnp.moveaxis(c, self.axis, 0)
        self.extrapolate = extrapolate
        if self.k < 0:
            raise ShapeError(f"BSpline: the degree k={self.k} is negative", hint="k=3, of cubic splines")
        check_ndim("BSpline", "t", self.t, 1)
        count = self.t.shape[0] - self.k - 1
        if count < self.k + 1:
            raise ShapeError(
                f"BSpline: {self.t.shape[0]} knots for the degree {self.k}, which takes {2 * self.k + 2}",
                hint="a lower degree k, or make_interp_spline(x, y, k), which finds the knots",
            )
        if self.c.shape[0] < count:
            raise ShapeError(
                f"BSpline: {self.c.shape[0]} coefficients",
                hint=f"{count} coefficients for {self.t.shape[0]} knots of degree {self.k}",
            )
        ensure(self.t[1:] >= self.t[:-1], "Knots must be in a non-decreasing order.", "fnp.sort(t)")

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        """The arrays, and what is static."""
        return (self.t, self.c), (self.k, self.extrapolate, self.axis)

    @classmethod
    def tree_unflatten(cls, auxiliary: Any, children: Any) -> BSpline:
        """The spline with these arrays.

        Args:
            auxiliary, children: what `tree_flatten` gave.
        """
        made = object.__new__(cls)
        made.t, made.c = children
        made.k, made.extrapolate, made.axis = auxiliary
        return made

    def __call__(self, x: ArrayLike, nu: int = 0, extrapolate: Any = None) -> Array:
        """The value, or the derivative of order nu, at places of any shape."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        if nu:
            return self.derivative(nu)(x, extrapolate=extrapolate)
        places = floating(x)
        shape, places = places.shape, fnp.ravel(places)
        first, last = self.t[self.k], self.t[self.t.shape[0] - self.k - 1]
        if extrapolate == "periodic":
            places = first + ops.remainder(places - first, last - first)
        interval, values = active_splines(self.t, self.k, places)
        coefficients = fnp.take(self.c, interval[:, None] + np.arange(-self.k, 1), axis=0)
        rest = self.c.shape[1:]
        values = fnp.reshape(values, (*values.shape, *(1,) * len(rest)))
        found = fnp.sum(coefficients * values, 1)
        if extrapolate is False:
            outside = fnp.reshape(ops.logical_or(places < first, places > last), (-1, *(1,) * len(rest)))
            found = fnp.where(outside, np.nan, found)
        return place_axes(fnp.reshape(found, (*shape, *rest)), len(shape), self.axis)

    def derivative(self, nu: int = 1) -> BSpline:
        """The derivative as a spline; nu < 0: the antiderivative."""
        if nu < 0:
            return self.antiderivative(-nu)
        t, c, k = self.t, self.c[: self.t.shape[0] - self.k - 1], self.k
        for _ in range(nu):
            if k == 0:
                c = c * 0.0
                continue
            widths = t[k + 1 : -1] - t[1 : -k - 1]
            widths = fnp.reshape(fnp.where(widths == 0, np.inf, widths), (-1, *(1,) * (c.ndim - 1)))
            c, t, k = k * (c[1:] - c[:-1]) / widths, t[1:-1], k - 1
        return self.like(t, c, k)

    def antiderivative(self, nu: int = 1) -> BSpline:
        """The antiderivative, 0 at the first knot; nu < 0: the derivative."""
        if nu < 0:
            return self.derivative(-nu)
        t, c, k = self.t, self.c[: self.t.shape[0] - self.k - 1], self.k
        for _ in range(nu):
            widths = fnp.reshape(t[k + 1 :] - t[: -k - 1], (-1, *(1,) * (c.ndim - 1)))
            total = fnp.cumsum(c * widths, 0) / (k + 1)
            c = fnp.concatenate([fnp.zeros_like(total[:1]), total])
            t, k = fnp.concatenate([t[:1], t, t[-1:]]), k + 1
        return self.like(t, c, k, False if self.extrapolate == "periodic" else self.extrapolate)

    def integrate(self, a: ArrayLike, b: ArrayLike, extrapolate: Any = None) -> Array:
        """The integral from a to b.

        Args:
            a, b: numbers, which may be traced.
            extrapolate: whether the outer pieces go on outside; None: as the object has it.

        Raises:
            UnsupportedError: the spline is periodic.
        """
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        if extrapolate == "periodic":
            raise UnsupportedError("integrate of a periodic B-spline", hint="CubicSpline has it")
        whole = self.antiderivative()
        if extrapolate is False:  # nothing outside
            first, last = self.t[self.k], self.t[self.t.shape[0] - self.k - 1]
            a, b = fnp.clip(a, first, last), fnp.clip(b, first, last)
        return whole(b, extrapolate=True) - whole(a, extrapolate=True)

    def like(self, t: Any, c: Any, k: int, extrapolate: Any = None) -> BSpline:
        """A spline with other knots and coefficients.

        Args:
            t: the knots.
            c: the coefficients.
            k: the degree.
            extrapolate: whether the outer pieces go on outside; None: as the object has it.
        """
        return BSpline.tree_unflatten(
            (k, self.extrapolate if extrapolate is None else extrapolate, self.axis), (t, c)
        )

    @classmethod
    def design_matrix(cls, x: ArrayLike, t: ArrayLike, k: int, extrapolate: Any = False) -> Array:
        """The B-splines at places, a matrix (places, splines). (SciPy's is sparse.)

        Args:
            x: places.
            t: the knots.
            k: the degree.
            extrapolate: whether places may lie outside.
        """
        count = floating(t).shape[0] - k - 1
        return cls(t, np.eye(count), k, extrapolate)(x)


def knots_for(x: Any, k: int, ends: bool) -> Any:
    """The knots for places: with conditions at the ends the places themselves, without not those next to the ends."""
    first, last = fnp.broadcast_to(x[:1], (k + 1,)), fnp.broadcast_to(x[-1:], (k + 1,))
    if k == 0:
        return fnp.concatenate([x, x[-1:]])
    if ends or k == 1:
        inner = x[1:-1]
    elif k % 2:
        half = (k + 1) // 2
        inner = x[half:-half]
    else:
        inner = ((x[1:] + x[:-1]) / 2)[k // 2 : -(k // 2)]
    return fnp.concatenate([first, inner, last])


NAMED_ENDS = {"clamped": [(1, 0.0)], "natural": [(2, 0.0)], "not-a-knot": []}


def end_derivatives(bc_type: Any, k: int) -> tuple[list[Any], list[Any]]:
    """Return for each end pairs of the order and the value of a derivative."""
    if bc_type is None or bc_type == "not-a-knot":
        return [], []
    if bc_type == "periodic":
        raise UnsupportedError(
            "make_interp_spline with bc_type='periodic'", hint="CubicSpline(…, bc_type='periodic')"
        )
    both = (bc_type, bc_type) if isinstance(bc_type, str) else tuple(bc_type)
    found = []
    for end in both:
        if isinstance(end, str):
            check_option("make_interp_spline", "bc_type", end, NAMED_ENDS)
        found.append(NAMED_ENDS[end] if isinstance(end, str) else [] if end is None else list(end))
    return found[0], found[1]


@api_boundary
def make_interp_spline(
    x: ArrayLike, y: ArrayLike, k: int = 3, t: ArrayLike | None = None, bc_type: Any = None, axis: int = 0,
    check_finite: bool = True,
) -> BSpline:  # fmt: skip
    """The spline of degree k through given values.

    Args:
        x: places, ascending.
        y: values, with as many entries along `axis`.
        k: the degree.
        t: knots; None: the places, but those next to the ends.
        bc_type: conditions at the ends: "natural", "clamped", "not-a-knot", or for each end a list of pairs (order of a
            derivative, its value).
        axis: that of the places.
        check_finite: accepted as by SciPy.

    Raises:
        ValueError: the conditions at the ends are too few, too many or unknown.
        UnsupportedError: `bc_type` is "periodic".

    >>> x = np.arange(5.0)
    >>> print(round(float(interpolate.make_interp_spline(x, x**3)(2.5)), 6))
    15.625
    """
    x, y, axis = samples(x, y, axis)
    check_places(x, y, 1)
    left, right = end_derivatives(bc_type, k)
    if k < 2 and t is None and not left and not right:
        knots = knots_for(x, k, False)
        return BSpline.tree_unflatten((k, True, axis), (knots, y))
    knots = knots_for(x, k, bool(left or right)) if t is None else floating(t)
    count = knots.shape[0] - k - 1
    if count != x.shape[0] + len(left) + len(right):
        raise ShapeError(
            f"The number of derivatives at boundaries does not match: expected {count - x.shape[0]}, "
            f"got {len(left)}+{len(right)}",
            hint='bc_type="natural", say, or t=None, which finds the knots',
        )
    unit = BSpline(knots, np.eye(count), k)
    rows = [unit.derivative(order)(x[:1]) for order, _ in left]
    rows += [unit(x), *(unit.derivative(order)(x[-1:]) for order, _ in right)]
    flat, tail = fnp.reshape(y, (x.shape[0], -1)), y.shape[1:]

    def given(value: Any) -> Any:
        return fnp.reshape(fnp.broadcast_to(floating(value), tail), (1, -1))

    values = [*(given(v) for _, v in left), flat, *(given(v) for _, v in right)]
    matrix, values = fnp.concatenate(rows), fnp.concatenate(ops.promote_dtypes(values))
    c = fnp.linalg.solve(*ops.promote_dtypes([matrix, values]))
    return BSpline.tree_unflatten((k, True, axis), (knots, fnp.reshape(c, (count, *tail))))


@api_boundary
@described("scipy.interpolate.splev", "")
def splev(x: ArrayLike, tck: Any, der: int = 0, ext: int = 0) -> Array:
    """The values at `x`, or derivatives of order `der`, of a spline `tck` = (t, c, k). Outside of its knots it is
    extrapolated (ext=0), is 0 (1), raises ValueError (2), or stays constant (3).

    >>> knots = fnp.array([0.0, 0.0, 1.0, 1.0])
    >>> fx.scipy.interpolate.splev(0.25, (knots, fnp.array([1.0, 3.0, 0.0, 0.0]), 1))
    array(1.5)
    """
    t, c, k = tck if not isinstance(tck, BSpline) else (tck.t, tck.c, tck.k)
    spline, x, t = BSpline(t, c, k), floating(x), floating(t)
    first, last = t[k], t[t.shape[0] - k - 1]
    if ext == 2:
        ensure(
            ops.logical_and(x >= first, x <= last),
            "Error code returned by splev: 1",
            "ext=0 to extrapolate, 1 for zeros, 3 for the value at the end",
        )
    found = spline(fnp.clip(x, first, last) if ext == 3 else x, der)
    return fnp.where(ops.logical_or(x < first, x > last), 0.0, found) if ext == 1 else found


__all__ = ["BSpline", "make_interp_spline", "splev"]
