"""`jax.lax`: what differs from `fxgrad.lax`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from ... import lax, ops
from ... import numpy as fnp
from ...core import pytree
from ...core.errors import ShapeError, StructureError
from ...core.surface import is_object
from ...lax import (
    GatherDimensionNumbers,
    GatherScatterMode,
    Precision,
    RoundingMethod,
    ScatterDimensionNumbers,
)
from .arrays import convert, lift, value_of
from .custom_rules import number_as_array
from .dtypes import canonicalize_dtype
from .primitives import SHOWN_BY_LAX
from .programs import lift_program, map_leaves
from .sharding import place_all

globals().update(SHOWN_BY_LAX)
__all__ = [
    *SHOWN_BY_LAX, "FftType", "GatherDimensionNumbers", "GatherScatterMode", "Precision", "RoundingMethod",
    "ScatterDimensionNumbers", "approx_max_k", "approx_min_k", "broadcast_like", "composite", "cond",
    "convert_element_type", "custom_root", "fft", "full", "igamma_grad_a", "iota", "platform_dependent",
    "random_gamma_grad",
    "scan", "shape_as_value", "stop_gradient", "with_sharding_constraint",
]  # fmt: skip


def cond(pred: Any, *operands: Any, **options: Any) -> Any:
    """Apply one of two functions: cond(pred, true_fun, false_fun, *operands), or with an operand for each before it."""
    if len(operands) == 4 and callable(operands[1]) and callable(operands[3]) and not callable(operands[0]):
        true_operand, true_fun, false_operand, false_fun = operands
        return choose(pred, lambda x, _: true_fun(x), lambda _, y: false_fun(y), true_operand, false_operand)
    return choose(pred, *operands, **options)


def scan(*args: Any, _split_transpose: bool = False, **options: Any) -> Any:
    """Go through arrays with a state, as `fxgrad.lax.scan`; how JAX's compiler transposes it is left aside."""
    return go_through(*args, **options)


def custom_root(
    f: Callable[..., Any], initial_guess: Any, solve: Callable[..., Any], tangent_solve: Callable[..., Any],
    has_aux: bool = False,
) -> Any:  # fmt: skip
    """Find a root of f by `solve`; numbers in the guess have the precision of arrays."""
    return find_root(
        f, pytree.map(number_as_array, initial_guess, is_leaf=is_object), solve, tangent_solve, has_aux
    )


find_root = lift_program(lax.custom_root)
choose = lift_program(lax.cond)
go_through = lift_program(lax.scan)


def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """Return an array in another dtype."""
    return convert(value_of(operand), new_dtype)


def full(shape: Any, fill_value: Any, dtype: Any = None, *, sharding: Any = None) -> Any:
    """Return an array of one value."""
    return lift(lax.full)(shape, fill_value, None if dtype is None else canonicalize_dtype(value_of(dtype)))


def iota(dtype: Any, size: int) -> Any:
    """Return 0, 1, 2, …"""
    return lift(lax.iota)(canonicalize_dtype(value_of(dtype)), size)


def stop_gradient(x: Any) -> Any:
    """Return a pytree whose derivative is 0."""
    return map_leaves(lax.stop_gradient(x))


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """Return arrays, which are whole on one device; a spec needs the mesh of `jax.set_mesh`."""
    return place_all(x, shardings, "with_sharding_constraint")


def broadcast_like(arr: Any, like_arr: Any) -> Any:
    """Return an array, broadcast to the shape of another."""
    return lift(fnp.broadcast_to)(arr, np.shape(like_arr))


def shape_as_value(shape: Any) -> Any:
    """Return a shape as NumPy's array of integers."""
    return np.array(shape, canonicalize_dtype(int)).reshape(-1)


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """Return a function: its name is for compilers that know it."""
    return lambda *args, **attributes: decomposition(*map_leaves(args), **attributes)


def platform_dependent(*args: Any, default: Callable[..., Any] | None = None, **per_platform: Any) -> Any:
    """Call the function that is given for the CPU, or else the default.

    Raises:
        StructureError: there is neither.
    """
    function = per_platform.get("cpu", default)
    if function is None:
        raise StructureError(
            f"platform_dependent: functions for {sorted(per_platform)}, none for the CPU", hint="default="
        )
    return function(*map_leaves(args))


# -- transforms of Fourier -------------------------------------------------------------------------------------------
class FftType(IntEnum):
    """Which transform `fft` is."""

    FFT, IFFT, RFFT, IRFFT = range(4)


def fft(x: Any, fft_type: FftType | str, fft_lengths: Sequence[int] | int) -> Any:
    """Return the discrete Fourier transform along the last axes: of such lengths, which for IRFFT are the result's.

    Raises:
        ShapeError: the axes have other lengths.
    """
    kind = FftType[fft_type.upper()] if isinstance(fft_type, str) else FftType(fft_type)
    lengths = tuple(np.atleast_1d(fft_lengths).tolist())
    shape, count = np.shape(x), len(lengths)
    needed = (*lengths[:-1], lengths[-1] // 2 + 1) if kind is FftType.IRFFT else lengths
    if not count or shape[-count:] != needed:
        raise ShapeError(
            f"fft: axes of lengths {needed} for fft_lengths={lengths}, not those of the shape {shape}",
            hint="fft_lengths=x.shape[-1:]",
        )
    function = getattr(fnp.fft, f"{kind.name.lower()}n")
    return lift(function)(x, lengths, tuple(range(-count, 0)))


# -- the largest entries ---------------------------------------------------------------------------------------------
def approx_max_k(operand: Any, k: int, reduction_dimension: int = -1, **options: Any) -> list[Any]:
    """Return the `k` largest entries along an axis and their places, exactly: on a CPU nothing is approximated."""
    return list(lift(lax.top_k)(operand, k, axis=reduction_dimension))


def approx_min_k(operand: Any, k: int, reduction_dimension: int = -1, **options: Any) -> list[Any]:
    """Return the `k` smallest entries along an axis and their places, exactly."""
    values, places = lift(lax.top_k)(-operand, k, axis=reduction_dimension)
    return [-values, places]


# -- derivatives of gamma numbers ------------------------------------------------------------------------------------
@lift
def random_gamma_grad(a: Any, sample: Any) -> Any:
    """Return the derivative of a gamma number with respect to `a`, where the distribution function stays what it is."""
    return (sample * ops.gamma_shift(a, fnp.log(sample))).astype(sample.dtype)


@lift
def igamma_grad_a(a: Any, x: Any) -> Any:
    """Return the derivative of the regularized incomplete gamma function P(a, x) with respect to `a`."""
    return (-x * ops.gamma_density(a, x) * ops.gamma_shift(a, fnp.log(x))).astype(x.dtype)
