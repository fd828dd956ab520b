"""Piecewise polynomials, and cubic interpolation.

C. de Boor, "A Practical Guide to Splines", 1978; F. N. Fritsch and J. Butland, SIAM J. Sci. Comput. 5 (1984) for
monotone ones; H. Akima, J. ACM 17 (1970).
"""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import Array, ArrayLike, ShapeError, api_boundary, check_ndim, check_option, ops, wrong_shape
from ...numpy.composite import ensure, floating, normalize_axis
from ...tree import register_pytree_node_class


def check_places(x: Any, y: Any, least: int = 2) -> None:
    """Raise unless places are an ascending sequence with a value for each."""
    check_ndim("the interpolation", "x", x, 1)
    if x.shape[0] != y.shape[0]:
        raise ShapeError(
            f"{x.shape[0]} places x and {y.shape[0]} values y", hint="axis=, along which y belongs to x"
        )
    if x.shape[0] < least:
        raise ShapeError(
            f"{x.shape[0]} places x, expected {least} or more",
            hint="more places, or a curve that takes fewer: fnp.interp takes one",
        )
    ensure(
        x[1:] > x[:-1],
        "`x` must be strictly increasing sequence.",
        "order = fnp.argsort(x); x[order], y[order]",
    )


def place_axes(found: Any, rank: int, axis: int) -> Any:
    """Move the leading axes of a result, those of the places that were asked for, to where the axis was."""
    order = list(range(found.ndim))
    order = [*order[rank : rank + axis], *order[:rank], *order[rank + axis :]]
    return fnp.transpose(found, order)


@register_pytree_node_class
class PPoly:
    """A piecewise polynomial: Σ c[k − i]·(x − x[j])ⁱ between the breakpoints x[j] and x[j + 1].

    Args:
        c: coefficients (k + 1, pieces, …), those of the highest power first.
        x: breakpoints, ascending, one more than there are pieces.
        extrapolate: go on with the first and the last piece outside; False: NaN there; "periodic".
        axis: where in a result the axes of the places stand.

    Raises:
        ShapeError: the coefficients do not fit the breakpoints.

    >>> p = interpolate.PPoly([[1.0], [0.0], [2.0]], [0.0, 1.0])
    >>> float(p(0.5)), float(fx.grad(p)(0.5)), float(p.derivative()(0.5)), round(float(p.integrate(0.0, 1.0)), 6)
    (2.25, 1.0, 1.0, 2.333333)
    """

    @api_boundary
    def __init__(self, c: ArrayLike, x: ArrayLike, extrapolate: Any = None, axis: int = 0):
        self.c: Array = floating(c)
        self.x: Array = floating(x)
        self.axis: int = axis
        self.extrapolate = True if extrapolate is None else extrapolate
        if self.c.ndim < 2 or self.x.ndim != 1 or self.c.shape[1] != self.x.shape[0] - 1:
            raise ShapeError(
                f"coefficients of shape {self.c.shape} do not fit breakpoints of shape {self.x.shape}",
                hint="c has the shape (order, pieces, …)",
            )

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        """The arrays, and what is static."""
        return (self.c, self.x), (self.extrapolate, self.axis)

    @classmethod
    def tree_unflatten(cls, auxiliary: Any, children: Any) -> PPoly:
        """The polynomial with these arrays.

        Args:
            auxiliary, children: what `tree_flatten` gave.
        """
        made = object.__new__(PPoly)
        made.c, made.x = children
        made.extrapolate, made.axis = auxiliary
        return made

    def __call__(self, x: ArrayLike, nu: int = 0, extrapolate: Any = None) -> Array:
        """The value, or the derivative of order nu, at places of any shape."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        places = floating(x)
        shape = places.shape
        places = fnp.ravel(places)
        first, last = self.x[0], self.x[-1]
        if extrapolate == "periodic":
            places = first + ops.remainder(places - first, last - first)
        piece = fnp.searchsorted(self.x[1:-1], places, "right")
        rest = self.c.shape[2:]
        offset = fnp.reshape(places - fnp.take(self.x, piece), (-1, *(1,) * len(rest)))
        coefficients = fnp.take(self.c, piece, axis=1)
        order = self.c.shape[0] - 1
        if nu > order:
            found = fnp.zeros((places.size, *rest), coefficients.dtype) * offset
        else:
            found = 0.0
            for i in range(order, nu - 1, -1):
                found = found * offset + coefficients[order - i] * (factorial(i) // factorial(i - nu))
        if extrapolate is False:
            outside = fnp.reshape(ops.logical_or(places < first, places > last), (-1, *(1,) * len(rest)))
            found = fnp.where(outside, np.nan, found)
        return place_axes(fnp.reshape(found, (*shape, *rest)), len(shape), self.axis)

    def derivative(self, nu: int = 1) -> PPoly:
        """The derivative as a piecewise polynomial; nu < 0: the antiderivative."""
        if nu < 0:
            return self.antiderivative(-nu)
        order = self.c.shape[0] - 1
        if nu > order:
            return self.with_coefficients(fnp.zeros((1, *self.c.shape[1:]), self.c.dtype))
        powers = np.arange(order, nu - 1, -1)
        factors = np.array([factorial(i) // factorial(i - nu) for i in powers], float)
        kept = self.c[: order + 1 - nu]
        return self.with_coefficients(kept * factors.reshape(-1, *(1,) * (self.c.ndim - 1)))

    def antiderivative(self, nu: int = 1) -> PPoly:
        """The antiderivative that is 0 at the first breakpoint, and continuous; nu < 0: the derivative."""
        if nu <= 0:
            return self.derivative(-nu)
        found = self
        for _ in range(nu):
            order = found.c.shape[0]
            factors = (1.0 / np.arange(order, 0, -1)).reshape(-1, *(1,) * (found.c.ndim - 1))
            parts = found.c * factors
            gaps = fnp.reshape(found.x[1:] - found.x[:-1], (-1, *(1,) * (found.c.ndim - 2)))
            whole = fnp.zeros_like(parts[0])
            for part in parts:
                whole = (whole + part) * gaps
            start = fnp.cumsum(whole, 0) - whole
            onward = False if found.extrapolate == "periodic" else found.extrapolate  # which it is not itself
            found = PPoly(fnp.concatenate([parts, start[None]]), found.x, onward, found.axis)
        return found

    def integrate(self, a: ArrayLike, b: ArrayLike, extrapolate: Any = None) -> Array:
        """The integral from a to b.

        Args:
            a, b: numbers, which may be traced.
            extrapolate: whether the outer pieces go on outside; None: as the object has it.
        """
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        whole = self.antiderivative()
        if extrapolate != "periodic":
            return whole(b, extrapolate=extrapolate) - whole(a, extrapolate=extrapolate)
        first, period = self.x[0], self.x[-1] - self.x[0]

        def running(x: Any) -> Any:
            turns = fnp.floor((x - first) / period)
            return turns * whole(self.x[-1], extrapolate=True) + whole(x - turns * period, extrapolate=True)

        return running(b) - running(a)

    def with_coefficients(self, c: Any) -> PPoly:
        """A piecewise polynomial with the same breakpoints."""
        return PPoly(c, self.x, self.extrapolate, self.axis)


def samples(x: ArrayLike, y: ArrayLike, axis: int) -> tuple[Array, Array, int]:
    """Return places, values with the axis first, and the axis."""
    x, y = floating(x), floating(y)
    axis = normalize_axis(axis, y.ndim)
    y = fnp.moveaxis(y, axis, 0)
    return x, y, axis


def columns(x: Any, y: Any) -> Any:
    """Numbers for each place with the axes of the values."""
    return fnp.reshape(x, (-1, *(1,) * (y.ndim - 1)))


def hermite_coefficients(x: Any, y: Any, slopes: Any) -> Any:
    """The coefficients of the cubics with given values and slopes at their ends."""
    gaps = columns(x[1:] - x[:-1], y)
    chords = (y[1:] - y[:-1]) / gaps
    bend = (slopes[:-1] + slopes[1:] - 2 * chords) / gaps
    return fnp.stack([bend / gaps, (chords - slopes[:-1]) / gaps - bend, slopes[:-1], y[:-1]])


@register_pytree_node_class
class CubicHermiteSpline(PPoly):
    """Cubic pieces with given values and slopes.

    Args:
        x: places, ascending.
        y: values, with as many entries along `axis`.
        dydx: slopes, like the values.
        axis, extrapolate: as for SciPy.

    Raises:
        ShapeError: `x` has not one axis of at least two entries, `y` another length, or `dydx` another shape than
            `y`.

    >>> float(interpolate.CubicHermiteSpline([0.0, 1.0], [0.0, 1.0], [0.0, 0.0])(0.5))
    0.5
    """

    @api_boundary
    def __init__(self, x: ArrayLike, y: ArrayLike, dydx: ArrayLike, axis: int = 0, extrapolate: Any = None):
        x, y, axis = samples(x, y, axis)
        slopes = fnp.moveaxis(floating(dydx), axis, 0)
        if slopes.shape != y.shape:
            raise wrong_shape("CubicHermiteSpline", "dydx", slopes.shape, y.shape)
        check_places(x, y)
        super().__init__(hermite_coefficients(x, y, slopes), x, extrapolate, axis)


@register_pytree_node_class
class PchipInterpolator(PPoly):
    """Cubic pieces that are monotone where the values are (F. N. Fritsch, J. Butland, 1984).

    Args:
        x: the places, ascending.
        y: the values there, along an axis.
        axis: that axis.
        extrapolate: whether the pieces at the ends go on outside; otherwise NaN. None: they do.

    Raises:
        ShapeError: `x` has not one axis of at least two entries, or `y` another length.

    >>> f = lambda y: interpolate.PchipInterpolator([0.0, 1.0, 2.0], y)(1.0)
    >>> fx.grad(f)(fx.numpy.array([0.0, 1.0, 3.0]))
    array([0., 1., 0.])
    """

    @api_boundary
    def __init__(self, x: ArrayLike, y: ArrayLike, axis: int = 0, extrapolate: Any = None):
        x, y, axis = samples(x, y, axis)
        check_places(x, y)
        super().__init__(hermite_coefficients(x, y, monotone_slopes(x, y)), x, extrapolate, axis)


def monotone_slopes(x: Any, y: Any) -> Any:
    """Slopes by weighted harmonic means of those of the chords (Fritsch and Butland)."""
    gaps = columns(x[1:] - x[:-1], y)
    chords = (y[1:] - y[:-1]) / gaps
    if y.shape[0] == 2:
        return fnp.concatenate([chords, chords])
    before, after = chords[:-1], chords[1:]
    flat = fnp.sign(before) * fnp.sign(after) <= 0
    left, right = 2 * gaps[1:] + gaps[:-1], gaps[1:] + 2 * gaps[:-1]
    mean = left / fnp.where(flat, 1.0, before) + right / fnp.where(flat, 1.0, after)
    inner = fnp.where(flat, 0.0, (left + right) / fnp.where(flat, 1.0, mean))

    def end(near: Any, far: Any, chord: Any, other: Any) -> Any:
        slope = ((2 * near + far) * chord - near * other) / (near + far)
        turned = fnp.sign(slope) != fnp.sign(chord)
        steep = ops.logical_and(fnp.sign(chord) != fnp.sign(other), abs(slope) > 3.0 * abs(chord))
        return fnp.where(turned, 0.0, fnp.where(steep, 3.0 * chord, slope))

    first = end(gaps[:1], gaps[1:2], chords[:1], chords[1:2])
    last = end(gaps[-1:], gaps[-2:-1], chords[-1:], chords[-2:-1])
    return fnp.concatenate([first, inner, last])


@register_pytree_node_class
class Akima1DInterpolator(PPoly):
    """Cubic pieces whose slopes follow the nearest chords (H. Akima, Journal of the ACM 17, 1970).

    Args:
        x: the places, ascending.
        y: the values there, along an axis.
        axis: that axis.
        method: "akima", or "makima", which overshoots less where values stay the same.
        extrapolate: whether the pieces at the ends go on outside; otherwise, and by default, NaN.

    Raises:
        ValueError: `x` has not one axis of at least two entries, `y` another length, or there is no such `method`.

    >>> float(interpolate.Akima1DInterpolator([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.0, 3.0])(1.5))
    1.5
    """

    @api_boundary
    def __init__(
        self, x: ArrayLike, y: ArrayLike, axis: int = 0, *, method: str = "akima", extrapolate: Any = None
    ):
        check_option("Akima1DInterpolator", "method", method, ("akima", "makima"))
        x, y, axis = samples(x, y, axis)
        check_places(x, y)
        slopes = akima_slopes(x, y, method == "makima")
        extrapolate = False if extrapolate is None else extrapolate
        super().__init__(hermite_coefficients(x, y, slopes), x, extrapolate, axis)


def akima_slopes(x: Any, y: Any, modified: bool) -> Any:
    """Slopes between those of the chords, nearer to those which change less."""
    inner = (y[1:] - y[:-1]) / columns(x[1:] - x[:-1], y)
    if y.shape[0] == 2:
        return fnp.concatenate([inner, inner])
    first = 2 * inner[:1] - inner[1:2]
    last = 2 * inner[-1:] - inner[-2:-1]
    m = fnp.concatenate([2 * first - inner[:1], first, inner, last, 2 * last - inner[-1:]])
    change = abs(m[1:] - m[:-1])
    if modified:
        change = change + 0.5 * abs(m[1:] + m[:-1])
    late, early = change[2:], change[:-2]
    both = late + early
    clear = both > 1e-9 * fnp.max(both, initial=-np.inf)
    weighed = (late * m[1:-2] + early * m[2:-1]) / fnp.where(clear, both, 1.0)
    return fnp.where(clear, weighed, 0.5 * (m[3:] + m[:-3]))


# -- cubic splines ------------------------------------------
@register_pytree_node_class
class CubicSpline(PPoly):
    """The cubic spline through given values: two continuous derivatives.

    Args:
        x: places, ascending.
        y: values, with as many entries along `axis`.
        axis, extrapolate: as for SciPy.
        bc_type: what holds at the ends: "not-a-knot", "natural", "clamped", "periodic", or for each end one of these or
            a pair (1 or 2, value of this derivative).

    Raises:
        ValueError: `x` has not one axis of at least two entries, `y` another length, or there are no such conditions
            at the ends.

    >>> x = np.linspace(0, 3, 4)
    >>> print(round(float(interpolate.CubicSpline(x, x**3)(1.5)), 6))
    3.375
    >>> fx.grad(lambda y: interpolate.CubicSpline(x, y)(1.5))(x**3)
    array([-0.0625,  0.5625,  0.5625, -0.0625])
    """

    @api_boundary
    def __init__(
        self, x: ArrayLike, y: ArrayLike, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
    ):
        x, y, axis = samples(x, y, axis)
        check_places(x, y)
        if extrapolate is None:
            extrapolate = "periodic" if bc_type == "periodic" else True
        if bc_type == "periodic":
            ensure(fnp.isclose(y[:1], y[-1:], rtol=1e-15, atol=1e-15),
                   "The first and last `y` point along axis must be identical when bc_type='periodic'.",
                   "fnp.concatenate([y[:-1], y[:1]])")  # fmt: skip
            slopes = periodic_slopes(x, y)
        else:
            slopes = spline_slopes(x, y, end_conditions(bc_type, y))
        super().__init__(hermite_coefficients(x, y, slopes), x, extrapolate, axis)


NAMED_CONDITIONS = {"not-a-knot": None, "clamped": (1, 0.0), "natural": (2, 0.0)}


def end_conditions(bc_type: Any, y: Any) -> list[Any]:
    """Return for each end None (not-a-knot) or the order of a derivative and its value."""
    if isinstance(bc_type, str):
        check_option("CubicSpline", "bc_type", bc_type, (*NAMED_CONDITIONS, "periodic"))
        bc_type = (bc_type, bc_type)
    both = tuple(bc_type)
    if len(both) != 2:
        raise ShapeError(
            f"CubicSpline: bc_type has {len(both)} parts", hint='bc_type="natural", say, or (start, end)'
        )
    found = []
    for condition in both:
        if isinstance(condition, str):
            check_option("CubicSpline", "bc_type", condition, NAMED_CONDITIONS)
            found.append(NAMED_CONDITIONS[condition])
            continue
        order, value = condition
        if order not in (1, 2):
            raise ShapeError(
                f"CubicSpline: bc_type has a condition on the derivative of order {order}",
                hint="(1, slope) or (2, curvature)",
            )
        value = floating(value)
        if value.ndim and value.shape != y.shape[1:]:
            raise wrong_shape("CubicSpline: bc_type", "the derivative", value.shape, y.shape[1:])
        found.append((order, value))
    return found


def spline_slopes(x: Any, y: Any, ends: list[Any]) -> Any:
    """The slopes with which second derivatives are continuous: a system with three diagonals."""
    n = y.shape[0]
    h = x[1:] - x[:-1]
    gaps = columns(h, y)
    chords = (y[1:] - y[:-1]) / gaps
    if n == 2:
        ends = [(1, chords[0]) if e is None else e for e in ends]
    if n == 3 and ends == [None, None]:  # one parabola, of which the conditions say the same twice
        second = (chords[1] - chords[0]) / (x[2] - x[0])
        return fnp.stack(
            [chords[0] - second * gaps[0], chords[0] + second * gaps[0], chords[1] + second * gaps[1]]
        )

    def condition(end: Any, near: Any, far: Any, chord: Any, other: Any, sign: float) -> tuple[Any, Any, Any]:
        """The entries of a row at the end and beside it, and its right-hand side."""
        if end is None:
            whole = near + far
            right = ((near + 2 * whole) * far * chord + near**2 * other) / whole
            return far, whole, right
        order, value = end
        value = fnp.broadcast_to(value, y.shape[1:])
        if order == 1:
            return 1.0 + 0 * near, 0.0 * near, value
        return 2 * near, near, -0.5 * sign * value * near**2 + 3 * chord * near

    far = 1 if n > 2 else 0
    start, after, first = condition(ends[0], h[0], h[far], chords[0], chords[far], 1.0)
    stop, before, last = condition(ends[1], h[-1], h[-1 - far], chords[-1], chords[-1 - far], -1.0)
    inner = 3 * (gaps[1:] * chords[:-1] + gaps[:-1] * chords[1:])
    right = fnp.concatenate([first[None], inner, last[None]])
    main = fnp.concatenate([fnp.stack([start]), 2 * (h[:-1] + h[1:]), fnp.stack([stop])])
    above = fnp.concatenate([fnp.zeros(1), fnp.stack([after]), h[:-1]])
    below = fnp.concatenate([h[1:], fnp.stack([before]), fnp.zeros(1)])
    return solve_tridiagonal(above, main, below, right)


def solve_tridiagonal(above: Any, main: Any, below: Any, right: Any) -> Any:
    """Solve a system with three diagonals, given as rows of a band, for right-hand sides with any axes."""
    band = fnp.stack(ops.promote_dtypes([above, main, below]))
    flat = fnp.reshape(right, (right.shape[0], -1))
    band, flat = ops.promote_dtypes([band, flat])
    return fnp.reshape(ops.banded_solve(band, flat, lower=1, upper=1), right.shape)


def periodic_slopes(x: Any, y: Any) -> Any:
    """The slopes of the periodic spline: the corners of the system make it one with three diagonals and a correction
    of rank one (J. Sherman and W. J. Morrison, 1950)."""
    h = x[1:] - x[:-1]
    chords = (y[1:] - y[:-1]) / columns(h, y)
    n = h.shape[0]
    if n == 1:
        return fnp.concatenate([chords, chords]) * 0.0
    if n == 2:
        weights = columns(1 / h, y)
        slope = fnp.sum(chords * weights, 0, keepdims=True) / fnp.sum(weights, 0, keepdims=True)
        return fnp.concatenate([slope] * 3)
    h_before, chords_before = fnp.roll(h, 1), fnp.roll(chords, 1, 0)
    right = 3 * (columns(h, y) * chords_before + columns(h_before, y) * chords)
    main, after, before = 2 * (h + h_before), h_before, h  # of rows: hᵢ·sᵢ₋₁ + 2(hᵢ₋₁ + hᵢ)sᵢ + hᵢ₋₁·sᵢ₊₁
    corner = -main[0]
    top, bottom = before[0], after[-1]
    ends = np.arange(n) == 0, np.arange(n) == n - 1
    main = main - fnp.where(ends[0], corner, 0.0) - fnp.where(ends[1], top * bottom / corner, 0.0)
    above = fnp.concatenate([fnp.zeros(1), after[:-1]])
    below = fnp.concatenate([before[1:], fnp.zeros(1)])
    u = fnp.where(ends[0], corner, 0.0) + fnp.where(ends[1], bottom, 0.0)
    flat = fnp.reshape(right, (n, -1))
    found = solve_tridiagonal(above, main, below, fnp.concatenate([flat, u[:, None]], axis=1))
    z, q = found[:, :-1], found[:, -1:]
    ratio = top / corner
    z = z - q * (z[:1] + ratio * z[-1:]) / (1 + q[0] + ratio * q[-1])
    slopes = fnp.reshape(z, right.shape)
    return fnp.concatenate([slopes, slopes[:1]])


__all__ = ["Akima1DInterpolator", "CubicHermiteSpline", "CubicSpline", "PPoly", "PchipInterpolator"]
