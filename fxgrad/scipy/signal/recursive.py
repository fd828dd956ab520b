"""Recursive (IIR) filters, with derivatives in their coefficients, in signals and in initial states."""

from __future__ import annotations

from typing import Any

from ... import numpy as fnp
from ...extend import Array, ArrayLike, ShapeError, UnsupportedError, check_option, ops, wrong_shape
from ...numpy.composite import normalize_axis, operand
from ..reference import scipy_function


# -- one filter ------------------------------------------
def coefficients(b: ArrayLike, a: ArrayLike) -> tuple[Array, Array]:
    """Return numerator and denominator, divided by the first coefficient of the latter, both of the same length."""
    b, a = fnp.atleast_1d(operand(b)), fnp.atleast_1d(operand(a))
    if b.ndim != 1 or a.ndim != 1 or not b.size or not a.size:
        raise ShapeError(
            f"b and a are sequences of coefficients, not arrays of shapes {b.shape} and {a.shape}",
            hint="fx.vmap over several filters",
        )
    order = max(b.size, a.size)
    return fnp.pad(b / a[0], (0, order - b.size)), fnp.pad(a / a[0], (0, order - a.size))


def apply_filter(b: Any, a: Any, x: Any, state: Any) -> tuple[Any, Any]:
    """Return the filtered signal along the last axis and the state after it; without a state before it None for this.

    The state is what comes out later even if the input ends: the tail of the filter.
    """
    n, order = x.shape[-1], b.size - 1
    feedforward = (
        ops.convolve(*ops.promote_dtypes([x, b])) if n else fnp.zeros((*x.shape[:-1], order), x.dtype)
    )
    if state is not None:
        shape = (*x.shape[:-1], order)
        if len(state.shape) != x.ndim or state.shape[-1] != order:
            raise wrong_shape("lfilter", "zi", state.shape, shape)
        state = fnp.broadcast_to(state, shape)
        feedforward = feedforward + fnp.pad(state, ((0, 0),) * (x.ndim - 1) + ((0, n),))
    source = feedforward[..., :n]
    y = ops.all_pole(a[1:], source) if order and n else source
    if state is None:
        return y, None
    tail = feedforward[..., n:]
    if order and n:
        tail = tail - ops.convolve(*ops.promote_dtypes([y, a]))[..., n:]
    return y, tail


@scipy_function("signal")
def lfilter(b: ArrayLike, a: ArrayLike, x: ArrayLike, axis: int = -1, zi: ArrayLike | None = None) -> Any:
    """Filter a signal: a₀yₜ = Σ bₖ·xₜ₋ₖ − Σ aₖ·yₜ₋ₖ along an axis.

    Args:
        b, a: the coefficients of numerator and denominator.
        x: signals.
        axis: that of time.
        zi: the state before, with max(len(a), len(b)) − 1 entries along the axis; None for rest.

    Returns:
        The filtered signals; with `zi` a pair of these and the state after.

    Raises:
        ValueError: `b` and `a` are no sequences, or `zi` has another shape than the state.

    >>> signal.lfilter([1.0], [1.0, -0.5], [1.0, 0.0, 0.0])
    array([1.  , 0.5 , 0.25])
    >>> fx.jacobian(lambda pole: signal.lfilter([1.0], [1.0, -pole], [1.0, 0.0, 0.0]))(0.5)
    array([0., 1., 1.])
    """
    b, a = coefficients(b, a)
    x = fnp.moveaxis(operand(x), axis, -1)
    state = None if zi is None else fnp.moveaxis(operand(zi), axis, -1)
    y, state = apply_filter(b, a, x, state)
    y = fnp.moveaxis(y, -1, axis)
    return y if state is None else (y, fnp.moveaxis(state, -1, axis))


@scipy_function("signal")
def lfilter_zi(b: ArrayLike, a: ArrayLike) -> Array:
    """The state of a filter whose input has always been 1.

    Raises:
        ValueError: the coefficients are no sequences.

    >>> signal.lfilter_zi([1.0], [1.0, -0.5])
    array([1.])
    """
    b, a = coefficients(b, a)
    order = b.size - 1
    shift = fnp.eye(order, k=1)
    step = fnp.eye(order) - shift + fnp.outer(a[1:], fnp.arange(order) == 0)
    return fnp.linalg.solve(step, b[1:] - a[1:] * b[0])


@scipy_function("signal")
def lfiltic(b: ArrayLike, a: ArrayLike, y: ArrayLike, x: ArrayLike | None = None) -> Array:
    """The state of a filter b, a after outputs y = (y₋₁, y₋₂, …) and inputs x = (x₋₁, x₋₂, …), for `lfilter`.

    Raises:
        ValueError: the coefficients are no sequences.

    >>> fx.scipy.signal.lfiltic(fnp.array([0.5]), fnp.array([1.0, -0.5]), fnp.array([2.0]))
    array([1.])
    """
    b, a = coefficients(b, a)
    order = b.size - 1

    def past(v: Any) -> Any:
        v = fnp.atleast_1d(operand(v))[:order]
        return fnp.pad(v, (0, order - v.size))

    y, x = past(y), past(0.0 if x is None else x)

    def remember(k: Any, v: Any) -> Any:
        """Σ k_{m+1+j}·v_j for each m."""
        return fnp.stack([fnp.dot(k[m + 1 :], v[: order - m]) for m in range(order)])

    return remember(b, x) - remember(a, y)


# -- sections of second order ------------------------------------------
def check_sections(sos: Any) -> Array:
    """Return sections as an array (sections, 6)."""
    sos = fnp.atleast_2d(operand(sos))
    if sos.ndim != 2 or sos.shape[1] != 6:
        raise ShapeError(
            f"sos array must be shape (n_sections, 6), not {sos.shape}",
            hint='signal.butter(…, output="sos"), say: six coefficients a section',
        )
    return sos


@scipy_function("signal")
def sosfilt(sos: ArrayLike, x: ArrayLike, axis: int = -1, zi: ArrayLike | None = None) -> Any:
    """Filter a signal by sections of second order, one after the other.

    Args:
        sos: rows (b₀, b₁, b₂, a₀, a₁, a₂).
        x, axis: as for `lfilter`.
        zi: the states before, (sections, …, 2, …) with the 2 at the axis of time.

    Raises:
        ValueError: `sos` has not the shape (sections, 6).

    >>> signal.sosfilt([[1.0, 0.0, 0.0, 1.0, -0.5, 0.0]], [1.0, 0.0, 0.0])
    array([1.  , 0.5 , 0.25])
    """
    sos, x = check_sections(sos), operand(x)
    axis = normalize_axis(axis, x.ndim)
    states = None if zi is None else operand(zi)
    after = []
    for i in range(sos.shape[0]):
        result = lfilter(sos[i, :3], sos[i, 3:], x, axis, None if states is None else states[i])
        x, state = (result, None) if states is None else result
        after.append(state)
    return x if states is None else (x, fnp.stack(after))


@scipy_function("signal")
def sosfilt_zi(sos: ArrayLike) -> Array:
    """The states, (sections, 2), of a filter whose input has always been 1.

    Raises:
        ValueError: `sos` has not the shape (sections, 6).

    >>> fx.scipy.signal.sosfilt_zi(fnp.array([[0.5, 0.0, 0.0, 1.0, -0.5, 0.0]])).round(6)
    array([[0.5, 0. ]])
    """
    sos, scale, states = check_sections(sos), 1.0, []
    for i in range(sos.shape[0]):
        b, a = sos[i, :3], sos[i, 3:]
        states.append(scale * lfilter_zi(b, a))
        scale = scale * fnp.sum(b) / fnp.sum(a)
    return fnp.stack(states)


# -- forwards and backwards ------------------------------------------
PADDINGS = ("odd", "even", "constant")


def extend(x: Array, count: int, padtype: str | None) -> Array:
    """Extend signals at both ends of the last axis."""
    if padtype is None or not count:
        return x
    check_option("filtfilt", "padtype", padtype, (*PADDINGS, None))
    n = x.shape[-1]
    if n <= count:
        raise ShapeError(
            f"filtfilt: {n} samples, padlen={count} takes more",
            hint=f"padlen={max(n - 1, 0)}, or padtype=None",
        )
    first, last = x[..., :1], x[..., -1:]
    if padtype == "constant":
        shape = (*x.shape[:-1], count)
        before, after = fnp.broadcast_to(first, shape), fnp.broadcast_to(last, shape)
    else:
        before, after = x[..., count:0:-1], x[..., -2 : -(count + 2) : -1]
        if padtype == "odd":
            before, after = 2 * first - before, 2 * last - after
    return fnp.concatenate([before, x, after], axis=-1)


@scipy_function("signal")
def filtfilt(b: ArrayLike, a: ArrayLike, x: ArrayLike, axis: int = -1, padtype: str | None = "odd",
             padlen: int | None = None, method: str = "pad", irlen: int | None = None) -> Array:  # fmt: skip
    """Filter a signal forwards and then backwards, without a phase shift.

    Args:
        b, a, x, axis: as for `lfilter`.
        padtype: how the signal is extended: "odd", "even", "constant" or None.
        padlen: by how many entries at each end; None: three times the number of coefficients.
        method: "pad"; "gust" on plain arrays only.

    Raises:
        ValueError: `b` and `a` are no sequences, there is no such `padtype`, or the signal is not longer than
            `padlen`.
        UnsupportedError: a `method` other than "pad", of traced values.

    >>> signal.filtfilt([0.5, 0.5], [1.0], [1.0, 1.0, 1.0, 1.0], padlen=2)
    array([1., 1., 1., 1.])
    """
    if method != "pad":
        raise UnsupportedError(f"filtfilt with method={method!r} of traced values", hint='method="pad"')
    b, a = coefficients(b, a)
    x = fnp.moveaxis(operand(x), axis, -1)
    count = 3 * b.size if padlen is None else padlen
    wide = extend(x, count if padtype is not None else 0, padtype)
    zi = lfilter_zi(b, a) if b.size > 1 else fnp.zeros(0)
    y, _ = apply_filter(b, a, wide, zi * wide[..., :1])
    y, _ = apply_filter(b, a, ops.flip(y, axes=(y.ndim - 1,)), zi * y[..., -1:])
    y = ops.flip(y, axes=(y.ndim - 1,))
    count = (y.shape[-1] - x.shape[-1]) // 2
    return fnp.moveaxis(y[..., count : count + x.shape[-1]], -1, axis)


@scipy_function("signal")
def sosfiltfilt(sos: ArrayLike, x: ArrayLike, axis: int = -1, padtype: str | None = "odd",
                padlen: int | None = None) -> Array:  # fmt: skip
    """Signals filtered forward and backward by sections of second order: see `filtfilt`. (The default of `padlen` of
    traced sections counts each as one of second order.)

    Raises:
        ValueError: `sos` has not the shape (sections, 6), there is no such `padtype`, or the signal is not longer
            than `padlen`.

    >>> sos = fnp.array([[0.5, 0.0, 0.0, 1.0, -0.5, 0.0]])
    >>> fx.scipy.signal.sosfiltfilt(sos, fnp.ones(8)).round(6)
    array([1., 1., 1., 1., 1., 1., 1., 1.])
    """
    sos = check_sections(sos)
    x = fnp.moveaxis(operand(x), axis, -1)
    count = 3 * (2 * sos.shape[0] + 1 - vanishing(sos)) if padlen is None else padlen
    wide = extend(x, count if padtype is not None else 0, padtype)
    zi = fnp.reshape(sosfilt_zi(sos), (sos.shape[0], *(1,) * (x.ndim - 1), 2))
    y, _ = sosfilt(sos, wide, zi=zi * wide[None, ..., :1])
    y, _ = sosfilt(sos, ops.flip(y, axes=(y.ndim - 1,)), zi=zi * y[None, ..., -1:])
    y = ops.flip(y, axes=(y.ndim - 1,))
    count = (y.shape[-1] - x.shape[-1]) // 2
    return fnp.moveaxis(y[..., count : count + x.shape[-1]], -1, axis)


def vanishing(sos: Any) -> int:
    """By how much the order of sections is below two each, as far as their coefficients are known."""
    from ...extend import is_plain

    if not is_plain([sos]):
        return 0
    return int(min((sos[:, 2] == 0).sum(), (sos[:, 5] == 0).sum()))


__all__ = ["filtfilt", "lfilter", "lfilter_zi", "lfiltic", "sosfilt", "sosfilt_zi", "sosfiltfilt"]
