"""`jax.lax`: what differs from `fxgrad.lax`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import partial, wraps
from inspect import unwrap
from typing import Any

import numpy as np

from ... import lax, ops
from ... import numpy as fnp
from ...core import pytree
from ...core.aval import SCALARS
from ...core.errors import DTypeError, ShapeError, StructureError, UnsupportedError
from ...core.surface import is_object
from ...lax import (
    GatherDimensionNumbers,
    GatherScatterMode,
    Precision,
    RoundingMethod,
    ScatterDimensionNumbers,
)
from ...lax.reductions import MONOIDS
from ...lax.windows import REDUCTIONS
from . import kinks
from .acceptance import accept
from .arrays import convert, value_of, weaken
from .custom_rules import number_as_array
from .dtypes import canonicalize_dtype, dtype_of, iinfo, result_type
from .lifting import lift
from .primitives import SHOWN_BY_LAX
from .programs import lift_program, map_leaves, with_arrays
from .sharding import place_all
from .special import polygamma as derivative_of_digamma

globals().update(SHOWN_BY_LAX)
__all__ = [
    *SHOWN_BY_LAX, "FftType", "GatherDimensionNumbers", "GatherScatterMode", "Precision", "RoundingMethod",
    "ScatterDimensionNumbers", "abs", "approx_max_k", "approx_min_k", "bitcast_convert_type", "broadcast_like", "clamp",
    "clz", "composite", "cond", "conj", "convert_element_type", "custom_root", "fft", "full", "igamma_grad_a", "iota",
    "mulhi", "platform_dependent", "polygamma", "population_count", "ragged_dot", "random_gamma_grad", "reduce",
    "reduce_max", "reduce_min", "reduce_window", "scan", "shape_as_value", "shift_right_logical", "stop_gradient",
    "top_k", "with_sharding_constraint",
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


abs, clamp = accept("lax.abs", kinks.absolute), accept("lax.clamp", kinks.clamp)


def reducing(function: Callable[..., Any], operations: Any) -> Callable[..., Any]:
    """Return a function that reduces entries by one of the user's, or by one of `jax.lax`: those which have a way and
    derivatives of their own are seen as this library's."""
    by_own, by_any = with_arrays(function), lift_program(function)

    @wraps(function)
    def reduced(operands: Any, init_values: Any, computation: Any, *args: Any, **options: Any) -> Any:
        known = unwrap(computation)
        if known in operations and getattr(operands, "dtype", None) is not np.dtype(bool):
            return by_own(operands, init_values, known, *args, **options)
        return by_any(operands, init_values, computation, *args, **options)

    return reduced


reduce = reducing(lax.reduce, MONOIDS)
reduce_window = reducing(lax.reduce_window, REDUCTIONS)
find_root = lift_program(lax.custom_root)
choose = lift_program(lax.cond)
go_through = lift_program(lax.scan)


@partial(accept, "lax.polygamma")
def polygamma(m: Any, x: Any) -> Any:
    """Return the derivative of order m of the digamma function at x."""
    return derivative_of_digamma(m, x)


def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """Return an array in another dtype."""
    return convert(value_of(operand), new_dtype)


def bitcast_convert_type(operand: Any, new_dtype: Any) -> Any:
    """Return the bits of the entries as another dtype."""
    value = value_of(operand)
    value = np.asarray(value, dtype_of(value))[()] if type(value) in SCALARS else value
    return lift(lax.bitcast_convert_type)(value, new_dtype)


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


def of_words(name: str) -> Callable[..., Any]:
    """Return a function of bits, in which Python's integers have as many as those of arrays."""
    function = accept(f"lax.{name}", lift(getattr(lax, name)))

    @wraps(function)
    def of_arrays(*args: Any) -> Any:
        made = function(*map(number_as_array, args))
        return weaken(made) if all(type(a) is int for a in args) else made

    return of_arrays


clz, population_count, shift_right_logical = map(of_words, ("clz", "population_count", "shift_right_logical"))


# -- products --------------------------------------------------------------------------------------------------------
@partial(accept, "lax.conj")
def conj(x: Any) -> Any:
    """Return the complex conjugate as a complex number."""
    x = convert(value_of(x), result_type(x, 0j))
    return x.conj()


@partial(accept, "lax.mulhi")
def mulhi(x: Any, y: Any) -> Any:
    """Return the upper half of the bits of products of integers.

    Raises:
        DTypeError: the operands have no integers, or differ in dtype.
    """
    dtype = result_type(x, y)
    if dtype.kind not in "iu":
        raise DTypeError(f"mulhi: operands of dtype {dtype}", hint="integers of one dtype")
    return upper_half(*[convert(value_of(v), dtype) for v in (x, y)])


@lift
def upper_half(x: Any, y: Any) -> Any:
    """Return the upper half, from the products of the halves of the operands: 64 bits have no wider ones."""
    bits = 4 * x.dtype.itemsize
    half, mask = x.dtype.type(bits), x.dtype.type((1 << bits) - 1)
    (x1, x0), (y1, y0) = [(v >> half, v & mask) for v in (x, y)]
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    carry = ((x0 * y0).astype(unsigned) >> unsigned.type(bits)).astype(x.dtype)
    first = x1 * y0 + carry
    second = x0 * y1 + (first & mask)
    return x1 * y1 + (first >> half) + (second >> half)


def ragged_dot(
    lhs: Any, rhs: Any, group_sizes: Any, precision: Any = None, preferred_element_type: Any = None,
    group_offset: Any = None, out_sharding: Any = None,
) -> Any:  # fmt: skip
    """Return the products of groups of the rows of `lhs` (m, k) with the matrices of `rhs` (groups, k, n), where
    `group_sizes` says how many rows each has. Rows behind the last group give zeros.

    Raises:
        UnsupportedError: a `group_offset`.
    """
    if group_offset is not None:
        raise UnsupportedError(
            "ragged_dot: group_offset= is not supported", hint="the groups from the first on"
        )
    made = product_of_groups(lhs, rhs, group_sizes)
    return made if preferred_element_type is None else convert(value_of(made), preferred_element_type)


@lift
def product_of_groups(lhs: Any, rhs: Any, sizes: Any) -> Any:
    """Return for each row the product with the matrix of its group, of which each is multiplied with all rows."""
    ends = fnp.cumsum(sizes)
    row = np.arange(lhs.shape[0])[:, None]
    is_inside = fnp.logical_and(row >= ends - sizes, row < ends)
    products = fnp.einsum("mk,gkn->mgn", lhs, rhs)
    return fnp.einsum("mgn,mg->mn", products, is_inside.astype(products.dtype)).astype(products.dtype)


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
@partial(accept, "lax.top_k")
def top_k(operand: Any, k: int, *, axis: int = -1) -> list[Any]:
    """Return the `k` largest entries along an axis, and their places, of 32 bits."""
    values, places = largest(operand, k, axis=axis)
    return [values, places.astype(np.int32)]


largest = lift(lax.top_k)


def extreme(name: str, is_greatest: bool) -> Callable[..., Any]:
    """Make a reduction to the extreme entries, which of no entries is the least or greatest that there is."""
    reduce = partial(accept, f"lax.{name}")(lift(getattr(lax, name)))

    @wraps(reduce)
    def function(operand: Any, axes: Any, **options: Any) -> Any:
        shape = np.shape(operand)
        if 0 not in [shape[axis] for axis in axes]:
            return reduce(operand, axes)
        left = tuple([n for axis, n in enumerate(shape) if axis not in {a % len(shape) for a in axes}])
        return full(left, bound_of(dtype_of(value_of(operand)), not is_greatest), dtype_of(value_of(operand)))

    return function


def bound_of(dtype: Any, is_upper: bool) -> Any:
    """Return the greatest number of a dtype, or the least."""
    if dtype.kind == "b":
        return is_upper
    if dtype.kind in "iu":
        return iinfo(dtype).max if is_upper else iinfo(dtype).min
    return np.inf if is_upper else -np.inf


reduce_max, reduce_min = extreme("reduce_max", True), extreme("reduce_min", False)


def approx_max_k(operand: Any, k: int, reduction_dimension: int = -1, **options: Any) -> list[Any]:
    """Return the `k` largest entries along an axis and their places, exactly: on a CPU nothing is approximated."""
    return top_k(operand, k, axis=reduction_dimension)


def approx_min_k(operand: Any, k: int, reduction_dimension: int = -1, **options: Any) -> list[Any]:
    """Return the `k` smallest entries along an axis and their places, exactly."""
    values, places = top_k(-operand, k, axis=reduction_dimension)
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
