"""Integrals of samples along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import Array, ArrayLike, ShapeError, wrong_shape
from ...numpy.composite import cast, kind, normalize_axis, operand
from ..reference import scipy_function


def samples_along(y: ArrayLike, x: ArrayLike | None, axis: int) -> tuple[Array, Any]:
    """Return samples with the axis last, and the gaps between their places (None where there are no places)."""
    y = operand(y)
    y = cast(y, np.float64) if kind(y) in "biu" else y
    axis = normalize_axis(axis, y.ndim)
    y = fnp.moveaxis(y, axis, -1)
    if x is None:
        return y, None
    x = operand(x)
    if x.ndim == 1:
        if x.shape[0] != y.shape[-1]:
            raise wrong_shape("the integral", "x", x.shape, (y.shape[-1],))
    elif x.ndim != y.ndim:
        raise wrong_shape("the integral", "x", x.shape, y.shape)
    else:
        x = fnp.moveaxis(x, axis, -1)
    return y, x[..., 1:] - x[..., :-1]


@scipy_function("integrate")
def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: Any = 1.0, axis: int = -1) -> Array:
    """The integral of samples by the trapezoidal rule; x are their places, or dx the distance between them.

    Source: P. J. Davis and P. Rabinowitz, Methods of Numerical Integration, 1984, section 2.1.

    Raises:
        ValueError: `x` has neither the shape of `y` nor its length along the axis.

    >>> fx.grad(integrate.trapezoid)(fx.numpy.array([0.0, 1.0, 4.0]))
    array([0.5, 1. , 0.5])
    """
    y, gaps = samples_along(y, x, axis)
    return fnp.sum((dx if gaps is None else gaps) * (y[..., 1:] + y[..., :-1]) / 2.0, -1)


@scipy_function("integrate")
def cumulative_trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: Any = 1.0, axis: int = -1,
                         initial: Any = None) -> Array:  # fmt: skip
    """The running integral of samples by the trapezoidal rule; initial=0 puts a zero before it.

    Source: P. J. Davis and P. Rabinowitz, Methods of Numerical Integration, 1984, section 2.1.

    Raises:
        ValueError: `x` has neither the shape of `y` nor its length along the axis, there are no samples, or `initial`
            is neither None nor 0.

    >>> fx.scipy.integrate.cumulative_trapezoid(fnp.array([0.0, 1.0, 4.0]), initial=0)
    array([0. , 0.5, 3. ])
    """
    y, gaps = samples_along(y, x, axis)
    if y.shape[-1] == 0:
        raise ShapeError("cumulative_trapezoid: no samples along the axis", hint="look at y.size first")
    found = fnp.cumsum((dx if gaps is None else gaps) * (y[..., 1:] + y[..., :-1]) / 2.0, -1)
    if initial is not None:
        if not np.isscalar(initial) or initial != 0:
            raise ShapeError(
                f"cumulative_trapezoid: initial={initial!r} is neither None nor 0",
                hint="add it to the result",
            )
        found = fnp.concatenate([fnp.zeros((*found.shape[:-1], 1), found.dtype), found], axis=-1)
    return fnp.moveaxis(found, -1, axis)


def parabola_integrals(y: Any, gaps: Any) -> Any:
    """The integrals over the first of two gaps of the parabolas through three neighbours."""
    first, second = gaps[..., :-1], gaps[..., 1:]
    whole, ratio = first / (first + second), first / second
    mixed = whole * ratio
    return first / 6 * ((3 - whole) * y[..., :-2] + (3 + mixed + whole) * y[..., 1:-1] - mixed * y[..., 2:])


@scipy_function("integrate")
def simpson(y: ArrayLike, x: ArrayLike | None = None, *, dx: Any = 1.0, axis: int = -1) -> Array:
    """The integral of samples by Simpson's rule; where their number is even, the last gap has a parabola of its own.

    K. V. Cartwright, "Simpson's rule cumulative integration with MS Excel and irregularly-spaced data", 2017.

    Source: P. J. Davis and P. Rabinowitz, Methods of Numerical Integration, 1984, section 2.2.

    Raises:
        ValueError: `x` has neither the shape of `y` nor its length along the axis.

    >>> fx.grad(integrate.simpson)(fx.numpy.array([0.0, 1.0, 4.0])).round(4)
    array([0.3333, 1.3333, 0.3333])
    """
    y, gaps = samples_along(y, x, axis)
    n = y.shape[-1]
    if gaps is None:
        gaps = fnp.broadcast_to(operand(dx), (n - 1,))
    if n == 2:
        return fnp.sum(gaps * (y[..., 1:] + y[..., :-1]) / 2.0, -1)
    pairs = (n - 1) // 2 * 2
    forth = parabola_integrals(y[..., : pairs + 1], gaps[..., :pairs])
    back = parabola_integrals(y[..., : pairs + 1][..., ::-1], gaps[..., :pairs][..., ::-1])[..., ::-1]
    total = fnp.sum(forth[..., ::2] + back[..., ::2], -1)
    if pairs < n - 1:
        total = total + parabola_integrals(y[..., -3:][..., ::-1], gaps[..., -2:][..., ::-1])[..., 0]
    return total


@scipy_function("integrate")
def cumulative_simpson(y: ArrayLike, *, x: ArrayLike | None = None, dx: Any = 1.0, axis: int = -1,
                       initial: Any = None) -> Array:  # fmt: skip
    """The running integral of samples by Simpson's rule; `initial` is put before it and added.

    Source: P. J. Davis and P. Rabinowitz, Methods of Numerical Integration, 1984, section 2.2.

    Raises:
        ValueError: `x` has neither the shape of `y` nor its length along the axis.

    >>> fx.scipy.integrate.cumulative_simpson(fnp.array([0.0, 1.0, 4.0]))
    array([0.33333333, 2.66666667])
    """
    samples, gaps = samples_along(y, x, axis)
    n = samples.shape[-1]
    if n < 3:
        found = fnp.moveaxis(cumulative_trapezoid(y, x, dx, axis), axis, -1)
    else:
        if gaps is None:
            gaps = fnp.asarray(dx)
            gaps = fnp.broadcast_to(gaps[..., None] if gaps.ndim == 0 else fnp.moveaxis(gaps, axis, -1),
                                    (*samples.shape[:-1], n - 1))  # fmt: skip
        gaps = fnp.broadcast_to(gaps, (*samples.shape[:-1], n - 1))
        forth = parabola_integrals(samples, gaps)
        back = parabola_integrals(samples[..., ::-1], gaps[..., ::-1])[..., ::-1]
        # Every gap but the last has a parabola with the gap after it, every one but the first with that before it.
        even = np.arange(n - 1) % 2 == 0
        even[-1] = False
        forth = fnp.concatenate([forth, forth[..., :1]], axis=-1)
        back = fnp.concatenate([back[..., :1], back], axis=-1)
        found = fnp.cumsum(fnp.where(even, forth, back), -1)
    if initial is not None:
        start = fnp.broadcast_to(fnp.moveaxis(operand(initial), axis, -1) if np.ndim(initial) else initial,
                                 (*found.shape[:-1], 1))  # fmt: skip
        found = fnp.concatenate([cast(start, found.dtype), found + start], axis=-1)
    return fnp.moveaxis(found, -1, axis)


@scipy_function("integrate")
def romb(y: ArrayLike, dx: Any = 1.0, axis: int = -1, show: bool = False) -> Array:
    """The integral of 2ᵏ + 1 equally spaced samples by Romberg's extrapolation of the trapezoidal rule; ValueError for
    other numbers of samples.

    Source: P. J. Davis and P. Rabinowitz, Methods of Numerical Integration, 1984, section 6.3.

    Raises:
        ValueError: the number of samples is not a power of 2 plus 1.

    >>> fx.scipy.integrate.romb(fnp.array([0.0, 1.0, 4.0])).round(6)
    np.float64(2.666667)
    """
    y, _ = samples_along(y, None, axis)
    intervals = y.shape[-1] - 1
    if intervals < 1 or intervals & (intervals - 1):
        raise ShapeError(
            f"romb: {intervals + 1} samples, not one more than a power of 2",
            hint="simpson or trapezoid, which take any number; "
            f"{2 ** (max(intervals, 1) - 1).bit_length() + 1} samples make the next power",
        )
    row: list[Any] = []
    step = intervals
    while step:
        rule = dx * step * (fnp.sum(y[..., ::step], -1) - (y[..., 0] + y[..., -1]) / 2.0)
        new = [rule]
        for order, coarse in enumerate(row, 1):
            new.append(new[-1] + (new[-1] - coarse) / (4**order - 1))
        row, step = new, step // 2
    return row[-1]


__all__ = ["cumulative_simpson", "cumulative_trapezoid", "romb", "simpson", "trapezoid"]
