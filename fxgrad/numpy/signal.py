"""Functions of sampled signals: convolution, differences, gradients, phases, windows."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy import bartlett, blackman, hamming, hanning

from .. import ops
from ..core.arrays import as_value
from ..core.common_errors import check_ndim, check_option, unknown_option
from ..core.errors import DTypeError, ShapeError, StructureError
from ..core.typing import Array, ArrayLike, Axis
from .composite import cast, composite, dtype_of, kind, normalize_axes, normalize_axis, operand
from .documentation import LINEAR
from .manipulation import moveaxis, ravel, slice_axis
from .reductions import cumsum, sum


# -- convolution ------------------------------------------
def sequences(a: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
    """Return two non-empty one-dimensional arrays of one dtype."""
    a, v = (ops.reshape(x, shape=(1,)) if x.ndim == 0 else x for x in map(operand, (a, v)))
    for name, x in (("a", a), ("v", v)):
        check_ndim("convolve", name, x, 1)
        if not x.size:
            raise ShapeError(f"{name} cannot be empty", hint=f"look at {name}.size first")
    a, v = ops.promote_dtypes([a, v])
    return a, v


def crop_convolution(a: Array, v: Array, mode: str, offset: int) -> Array:
    """Crop the full convolution as `mode` wants; `offset` is where 'same' begins."""
    full, long, short = ops.convolve(a, v), max(a.size, v.size), min(a.size, v.size)
    check_option("convolve", "mode", mode, ("full", "same", "valid"))
    if mode == "full":
        return full
    return (
        slice_axis(full, 0, offset, offset + long) if mode == "same" else slice_axis(full, 0, short - 1, long)
    )


@composite(np.convolve)
def convolve(a: ArrayLike, v: ArrayLike, mode: str = "full") -> Array:
    """Return the convolution Σᵢ aᵢ·vₖ₋ᵢ, which is also the product of polynomials.

    Args:
        mode: 'full', 'same' (as long as the longer operand) or 'valid' (where the operands overlap entirely).

    Raises:
        ValueError: an operand is empty or has more than one axis, or there is no such `mode`.

    >>> fx.jacobian(lambda v: fnp.convolve([1.0, 2.0], v, "valid"))(fnp.ones(3))
    array([[2., 1., 0.],
           [0., 2., 1.]])
    """
    a, v = sequences(a, v)
    return crop_convolution(a, v, mode, (min(a.size, v.size) - 1) // 2)


@composite(np.correlate)
def correlate(a: ArrayLike, v: ArrayLike, mode: str = "valid") -> Array:
    """The correlation Σₙ aₙ₊ₖ·conj(vₙ) of two vectors for shifts k; modes as those of `convolve`.

    Raises:
        ValueError: an operand is empty or has more than one axis, or there is no such `mode`.

    >>> fnp.correlate(fnp.array([1.0, 2.0, 3.0]), fnp.array([0.0, 1.0]))
    array([2., 3.])
    """
    a, v = sequences(a, v)
    short = min(a.size, v.size)
    offset = (short - 1) // 2 if a.size >= v.size else short // 2
    v = ops.conjugate(v) if kind(v) == "c" else v
    return crop_convolution(a, ops.flip(v, axes=(0,)), mode, offset)


# -- differences ------------------------------------------
@composite(np.diff, derivative=LINEAR)
def diff(
    a: ArrayLike,
    n: int = 1,
    axis: Axis = -1,
    prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> Array:
    """The n-th difference of neighbours along an axis, which becomes n entries shorter. For booleans it tells where
    neighbours differ.

    Raises:
        ValueError: `n` is negative, or `a` has no axes.

    >>> fnp.diff(fnp.array([1.0, 4.0, 9.0]))
    array([3., 5.])
    """
    a = operand(a)
    if n < 0:
        raise ShapeError(f"diff: n={n} is negative", hint="n from 0 on; fnp.cumsum is the other way")
    check_ndim("diff", "a", a, 1, or_more=True)
    axis = normalize_axis(axis, a.ndim)
    parts = []
    for part in (prepend, a, append):
        if part is None:
            continue
        part = operand(part)
        if part.ndim == 0:
            part = ops.broadcast_to(part, shape=tuple(1 if i == axis else m for i, m in enumerate(a.shape)))
        parts.append(part)
    a = ops.concatenate(*ops.promote_dtypes(parts), axis=axis) if len(parts) > 1 else a
    subtract = ops.not_equal if kind(a) == "b" else ops.subtract
    for _ in range(n):
        a = subtract(slice_axis(a, axis, 1, None), slice_axis(a, axis, None, -1))
    return a


@composite(np.ediff1d, derivative=LINEAR)
def ediff1d(ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None) -> Array:
    """The differences of neighbours among all entries, with values prepended and appended.

    Raises:
        TypeError: the dtype of `to_begin` or `to_end` does not fit that of `ary`.

    >>> fnp.ediff1d(fnp.array([1.0, 4.0, 9.0]), to_end=0.0)
    array([3., 5., 0.])
    """
    ary = ravel(ary)
    parts = [diff(ary) if kind(ary) != "b" else ops.subtract(ary[1:], ary[:-1])]
    for name, ends, place in (("to_begin", to_begin, 0), ("to_end", to_end, 2)):
        if ends is not None:
            ends = ravel(ends)
            if not np.can_cast(dtype_of(ends), dtype_of(ary), "same_kind"):
                raise DTypeError(
                    f"ediff1d: {name} has dtype {dtype_of(ends)}, which does not fit into {dtype_of(ary)}, that of ary",
                    hint=f"ary.astype({dtype_of(ends).name!r}), or {name}.astype({dtype_of(ary).name!r})",
                )
            parts.insert(place, cast(ends, dtype_of(ary)))
    return ops.concatenate(*parts, axis=0)


@overload
def gradient(f: ArrayLike, *varargs: ArrayLike, axis: int, edge_order: int = 1) -> Array: ...
@overload
def gradient(f: ArrayLike, *varargs: ArrayLike, axis: Axis = None, edge_order: int = 1) -> Any: ...
@composite(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Axis = None, edge_order: int = 1) -> Any:
    """Second-order finite differences of samples along axes, one-sided at both ends.

    Args:
        varargs: the spacing of the samples: a number for all axes, or for each axis a number or the coordinates.
        edge_order: 1 or 2, the order of the differences at the ends.

    Raises:
        TypeError: not one distance for all axes, or one for each.
        ValueError: an axis is too short, distances do not fit its length, or `edge_order` is greater than 2.

    >>> fx.jacobian(lambda h: fnp.gradient(fnp.array([0.0, 1.0, 4.0]), h))(1.0)
    array([-1., -2., -3.])
    """
    f = operand(f)
    axes = normalize_axes(axis, f.ndim)
    spacings = [operand(v) for v in varargs] or [np.float64(1)]
    if len(spacings) == 1 and spacings[0].ndim == 0:
        spacings *= len(axes)
    if len(spacings) != len(axes):
        raise StructureError(
            f"gradient: {len(spacings)} spacings for {len(axes)} axes",
            hint="one spacing for all axes, or one for each",
        )
    if edge_order > 2:
        raise unknown_option("gradient", "edge_order", edge_order, (1, 2))
    if kind(f) in "iu":
        f = cast(f, np.float64)
    slopes = [slope(f, i, h, edge_order) for i, h in zip(axes, spacings)]
    return slopes[0] if len(slopes) == 1 else tuple(slopes)


def slope(f: Any, axis: int, spacing: Any, edge_order: int) -> Any:
    """The derivative along an axis of the parabolas (at the ends, for edge_order 1, lines) through neighbours."""
    count = f.shape[axis]
    if count < edge_order + 1:
        raise ShapeError(
            f"gradient: axis {axis} has {count} entries, edge_order={edge_order} takes {edge_order + 1}",
            hint="edge_order=1, which takes 2 entries",
        )
    if spacing.ndim == 1 and spacing.size != count:
        raise ShapeError(
            f"gradient: {spacing.size} coordinates along axis {axis} of size {count}",
            hint=f"a number, or the coordinates of all {count} entries",
        )
    if spacing.ndim > 1:
        raise ShapeError(
            f"gradient: the coordinates along axis {axis} have shape {spacing.shape}",
            hint="a number, or one axis of coordinates",
        )
    gaps = spacing
    if spacing.ndim:
        gaps = ops.reshape(spacing[1:] - spacing[:-1], shape=(count - 1, *(1,) * (f.ndim - 1)))

    def share(mine: slice, other: slice) -> Any:
        """Return the share of one of two neighbouring gaps."""
        return gaps[mine] / (gaps[mine] + gaps[other]) if gaps.ndim else 0.5

    def interpolate(near: Any, far: Any, share: Any) -> Any:
        return ops.add(near, ops.multiply(share, ops.subtract(far, near)))

    samples = moveaxis(f, axis, 0)
    chords = ops.divide(ops.subtract(samples[1:], samples[:-1]), gaps)
    if gaps.ndim:
        middle = interpolate(chords[:-1], chords[1:], share(slice(-1), slice(1, None)))
    else:  # the sample in the middle has no say, whether or not it is a number
        middle = ops.divide(ops.subtract(samples[2:], samples[:-2]), 2 * gaps)
    first, last = chords[:1], chords[-1:]
    if edge_order == 2:
        first = interpolate(first, chords[1:2], -share(slice(1), slice(1, 2)))
        last = interpolate(last, chords[-2:-1], -share(slice(-1, None), slice(-2, -1)))
    slopes = ops.concatenate(*ops.promote_dtypes([first, middle, last]), axis=0)
    return cast(moveaxis(slopes, 0, axis), dtype_of(f))


@composite(np.trapezoid)
def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: Any = 1.0, axis: Axis = -1) -> Array:
    """The integral of samples along an axis by the trapezoidal rule, at points `x` or at distances `dx`; differentiated
    by all of these.

    >>> fnp.trapezoid(fnp.array([0.0, 1.0, 4.0]))
    np.float64(3.0)
    """
    y = operand(y)
    axis = normalize_axis(axis, y.ndim)
    if x is None:
        width = as_value(dx)
    else:
        x = operand(x)
        width = diff(x, axis=-1 if x.ndim == 1 else axis)
    if np.ndim(width) == 1:
        width = ops.reshape(width, shape=tuple(width.shape[0] if i == axis else 1 for i in range(y.ndim)))
    both = ops.add(slice_axis(y, axis, 1, None), slice_axis(y, axis, None, -1))
    return sum(ops.divide(ops.multiply(width, both), 2.0), axis)


@composite(np.unwrap)
def unwrap(p: ArrayLike, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Array:
    """Phases with multiples of the period added, so that neighbours differ by at most half a period.

    The multiples are steps: the derivative with respect to `p` is 1.

    >>> fnp.unwrap(fnp.array([0.0, 3.0, 6.5]) % 5, period=5)
    array([ 0. , -2. , -3.5])
    """
    p = operand(p)
    axis, period = normalize_axis(axis, p.ndim), as_value(period)
    jumps = diff(p, axis=axis)
    dtype = ops.result_dtype([jumps, period])
    integral = dtype.kind in "iu"
    half = ops.floor_divide(period, 2) if integral else ops.divide(period, 2)
    low = ops.negative(half)
    wrapped = ops.add(ops.remainder(ops.subtract(jumps, low), period), low)
    ambiguous = ops.equal(ops.remainder(period, 2), 0) if integral else True
    at_low = ops.logical_and(ops.equal(wrapped, low), ops.greater(jumps, 0))
    wrapped = ops.where(ops.logical_and(ambiguous, at_low), half, wrapped)
    small = ops.less(ops.absolute(jumps), half if discont is None else as_value(discont))
    turns = ops.where(small, 0, ops.subtract(wrapped, jumps))
    later = ops.add(slice_axis(p, axis, 1, None), cumsum(turns, axis))
    return ops.concatenate(cast(slice_axis(p, axis, None, 1), dtype), cast(later, dtype), axis=axis)


# -- windows ------------------------------------------
@composite(np.i0)
def i0(x: ArrayLike) -> Array:
    """The modified Bessel function of order 0, with exact derivatives of every order (the first one is I₁).

    Raises:
        TypeError: complex numbers.

    >>> print(fnp.isclose(fx.grad(fx.grad(fnp.i0))(0.0), 0.5))
    True
    """
    x = operand(x)
    if kind(x) == "c":
        raise DTypeError(f"i0: x has the complex dtype {dtype_of(x)}", hint="x.real or abs(x)")
    return ops.bessel_i(x if kind(x) == "f" else cast(x, np.float64), order=0)


@composite(np.kaiser)
def kaiser(M: int, beta: ArrayLike) -> Array:
    """The Kaiser window of `M` points: I₀(β·√(1 − u²)) / I₀(β) for u from −1 to 1, differentiated by β.

    >>> fnp.kaiser(3, 2.0).round(6)
    array([0.438676, 1.      , 0.438676])
    """
    beta = cast(operand(beta), np.result_type(dtype_of(operand(beta)), np.float64))
    if M <= 1:
        return np.ones(max(M, 0), dtype_of(beta))
    middle = (M - 1) / 2
    height = np.sqrt(1 - ((np.arange(M) - middle) / middle) ** 2)
    return ops.divide(i0(ops.multiply(beta, height)), i0(beta))


__all__ = [
    "bartlett",
    "blackman",
    "convolve",
    "correlate",
    "diff",
    "ediff1d",
    "gradient",
    "hamming",
    "hanning",
    "i0",
    "kaiser",
    "trapezoid",
    "unwrap",
]
