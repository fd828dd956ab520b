"""Tensors of equally spaced numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Unpack

import numpy as np

from ...extend import Tracer, aval_of, kind_of, ops
from .._core.dtypes import default_numpy_dtype
from .._core.tensor import Tensor, refresh
from .._declare.spaces import expose
from ..errors import ArgumentError, TensorError
from .creation import create_with_options
from .options import OutOptions


def to_python_number(given) -> Any:
    return given.item() if isinstance(given, Tensor) else given


@expose()
def arange(*bounds, start=0, end=None, step=1, **options: Unpack[OutOptions]) -> Tensor:
    """The numbers from `start` on and before `end`, `step` apart: arange(end), arange(start, end), arange(start, end,
    step). Of integers they are int64, otherwise of the default dtype.

    Raises:
        RuntimeError: `step` is 0, or leads away from `end`.
        TypeError: no end, or `dtype` is no `torch.dtype`.

    >>> torch.arange(1, 2.5, 0.5)
    tensor([1.0000, 1.5000, 2.0000])
    """
    if len(bounds) == 1:
        bounds = (start, bounds[0]) if end is None else (bounds[0], end)
    start, end, step = map(to_python_number, (*bounds, *(start, end, step)[len(bounds) :]))
    if end is None:
        raise ArgumentError(
            'arange() missing 1 required positional arguments: "end"',
            hint="torch.arange(n) has the numbers from 0 to n - 1",
        )
    if step == 0:
        raise TensorError("step must be nonzero", hint="step=1; torch.full((n,), x) has one number n times")
    if (end - start) * step < 0:
        raise TensorError(
            "upper bound and lower bound inconsistent with step sign",
            hint=f"step={-step}, or the bounds exchanged: arange({end}, {start}, {step})",
        )
    whole = all(isinstance(x, int) for x in (start, end, step))
    count = -(-(end - start) // step) if whole else math.ceil((end - start) / step)

    def make_array(numpy) -> np.ndarray:
        integral = whole or kind_of(numpy) in "iu"
        first, by = (int(start), int(step)) if integral else (float(start), float(step))
        return (first + by * np.arange(count)).astype(numpy)

    return create_with_options(make_array, "arange", default_numpy_dtype("i" if whole else "f"), **options)


@expose("function", "range")
def closed_range(start, end: Any, step=1, **options: Unpack[OutOptions]) -> Tensor:
    """The numbers from `start` to `end`, both included; torch has deprecated it for `arange`."""
    start, end, step = map(to_python_number, (start, end, step))
    count = math.floor((end - start) / step) + 1
    return create_with_options(
        lambda numpy: (start + step * np.arange(count)).astype(numpy),
        "range",
        default_numpy_dtype("f"),
        **options,
    )


def sequence_end(name: str, which: str, given) -> Any:
    """Return an end of a sequence as a number, or as a value without derivative if it differs between the entries of a
    batch."""
    if not isinstance(given, Tensor):
        return given
    if given.shape:
        raise TensorError(
            f"{name} only supports 0-dimensional start and end tensors, but got {which} with {len(given.shape)} "
            "dimension(s).",
            hint="x.item() of one entry; of several start + (end - start) * torch.linspace(0, 1, n)[:, None]",
        )
    value = refresh(given)._fx_value
    return ops.stop_gradient(value) if isinstance(value, Tracer) else value.item()


def space_evenly(start, end, steps: int, numpy) -> Any:
    """Return equally spaced numbers in a dtype, both ends included; symmetric, computed from either end to the
    middle."""
    if steps < 0:
        raise TensorError("number of steps must be non-negative", hint=f"steps={-steps}, or steps=0 for none")
    wide = np.dtype(complex if kind_of(numpy) == "c" else float)
    if isinstance(start, Tracer) or isinstance(end, Tracer):
        start, end = (as_dtype(x, wide) for x in (start, end))
        places, step = np.arange(steps), (end - start) / max(steps - 1, 1)
        near, far = start + step * places, end - step * (steps - 1 - places)
        return as_dtype(ops.where(places < steps / 2, near, far), numpy)
    if numpy in (np.float32, np.float64) and steps > 1:
        return space_by_fused_steps(start, end, steps, numpy)
    return np.linspace(start, end, steps, dtype=wide).astype(numpy)


def space_by_fused_steps(start, end, steps: int, numpy) -> np.ndarray:
    """Return equally spaced numbers with torch's rounding: the step is rounded to the dtype, then each product and sum
    only once. That of symmetric ends need not be 0 in the middle, where programs may ask for its sign."""
    start, end = np.asarray([start, end], numpy)
    wide = np.longdouble if numpy == np.float64 else np.float64
    start, end, step = wide(start), wide(end), wide((end - start) / start.dtype.type(steps - 1))
    places = np.arange(steps)
    spaced = np.where(places < steps // 2, start + step * places, end - step * (steps - 1 - places))
    return spaced.astype(numpy)


def as_dtype(value, numpy) -> Any:
    """Convert a value; complex numbers lose their imaginary part if the dtype is real."""
    return ops.convert(value if kind_of(numpy) == "c" else ops.real(value), dtype=numpy)


@expose()
def linspace(start, end, steps: int, **options: Unpack[OutOptions]) -> Tensor:
    """`steps` numbers from `start` to `end`, both included, at equal distances."""
    return create_sequence(space_evenly, "linspace", start, end, steps, options)


@expose()
def logspace(start, end, steps: int, base: float = 10.0, **options: Unpack[OutOptions]) -> Tensor:
    """A Tensor of `base` raised to the entries of `linspace`."""

    def space_powers(start, end, steps: int, numpy) -> Any:
        wide = np.dtype(complex if kind_of(numpy) == "c" else float)
        return as_dtype(ops.power(base, space_evenly(start, end, steps, wide)), numpy)

    return create_sequence(space_powers, "logspace", start, end, steps, options)


def create_sequence(
    make_values: Callable[..., Any], name: str, start, end, steps: int, options: Any
) -> Tensor:
    """Make the Tensor of make_values(start, end, steps, NumPy's dtype), without a derivative in its ends."""
    start, end = sequence_end(name, "start", start), sequence_end(name, "end", end)
    kind = "c" if "c" in [kind_of(aval_of(x).dtype) for x in (start, end)] else "f"
    return create_with_options(
        lambda numpy: make_values(start, end, steps, numpy), name, default_numpy_dtype(kind), **options
    )
