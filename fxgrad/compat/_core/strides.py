"""Linear primitives whose results have other strides in the same memory: NumPy has no writable views of this kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...extend import Aval, Linear, aval_of, ops
from ..errors import TensorError
from .layout import contained_array, copy_in_order
from .memory import array_library, restride
from .primitives import declare_primitive


def make_array_kernel(kernel: Callable[..., Any]) -> Callable[[Any], Callable[..., Any]]:
    """Make a primitive's kernel of one for arrays."""
    return lambda xp: lambda x, **params: kernel(xp.asarray(x), **params)


def gather_positions(x: Aval, call: Callable[..., Any], params: dict) -> Any:
    """The positions in the flattened operand from which a primitive takes its results."""
    return call.primitive.kernel(np.arange(x.size).reshape(x.shape), **params)


def scatter_cotangent(ct, x: Aval, call: Callable[..., Any], params: dict) -> Any:
    """Compute the transpose: add up cotangents at the positions from which the entries came."""
    places = gather_positions(x, call, params).reshape(-1)
    flat = ops.scatter_add(ops.reshape(ct, shape=places.shape), places, index=(ops.ARRAY,), shape=(x.size,))
    return ops.reshape(flat, shape=x.shape)


def gather_batched(x, call: Callable[..., Any], params: dict) -> Any:
    """Compute the result for a traced value with a leading batch axis."""
    aval = aval_of(x)
    places = gather_positions(Aval(aval.shape[1:], aval.dtype), call, params)
    flat = ops.reshape(x, shape=(aval.shape[0], -1 if aval.size else 0))
    return ops.getitem(flat, places, index=(slice(None), ops.ARRAY))


# -- integers and slices ------------------------------------------
# One entry is a view as well, where NumPy makes a number of it.
basic_view = declare_primitive(
    Linear,
    "part",
    make_array_kernel(lambda x, *, index: x[(*index, ...)]),
    shape_rule=lambda x, *, index: np.broadcast_to(np.zeros((), bool), x.shape)[index].shape,
    transpose_rule=lambda ct, x, *, index: ops.getitem.primitive.transpose_rule(ct, x, index=index),
    batch_rule=lambda x, *, size, index: basic_view(x, index=(slice(None), *index)),
)


# -- more entries along dimensions of length one ------------------------------------------
def expand_kernel(x: np.ndarray, *, shape: tuple[int, ...]) -> np.ndarray:
    extra = len(shape) - x.ndim
    strides = [0 if n == 1 and m != 1 else s for n, m, s in zip(x.shape, shape[extra:], x.strides)]
    return restride(x, shape, (*(0,) * extra, *strides))


expand = declare_primitive(
    Linear,
    "expand",
    make_array_kernel(expand_kernel),
    shape_rule=lambda x, *, shape: shape,
    transpose_rule=ops.broadcast_transpose,
    batch_rule=lambda x, *, size, shape: expand(
        ops.reshape(x, shape=(size, *(1,) * (len(shape) - x.ndim + 1), *x.shape[1:])), shape=(size, *shape)
    ),
)


# -- one more dimension ------------------------------------------
def unsqueeze_kernel(x: np.ndarray, *, dim: int) -> np.ndarray:
    stride = x.shape[dim] * x.strides[dim] if dim < x.ndim else x.itemsize
    return restride(x, (*x.shape[:dim], 1, *x.shape[dim:]), (*x.strides[:dim], stride, *x.strides[dim:]))


unsqueeze = declare_primitive(
    Linear,
    "unsqueeze",
    make_array_kernel(unsqueeze_kernel),
    shape_rule=lambda x, *, dim: (*x.shape[:dim], 1, *x.shape[dim:]),
    transpose_rule=lambda ct, x, *, dim: ops.reshape(ct, shape=x.shape),
    batch_rule=lambda x, *, size, dim: unsqueeze(x, dim=dim + 1),
)


# -- a copy ------------------------------------------
def clone_kernel(x: np.ndarray, *, order: tuple[int, ...] | None) -> np.ndarray:
    """Copy an array. `order` lists the dimensions by decreasing stride; None: as those of the operand, ():
    row-major."""
    if order is None:
        return ops.copy(x, "K")
    return copy_in_order(x, order or None)


# The same entries in memory of their own.
clone = declare_primitive(
    Linear,
    "clone",
    make_array_kernel(clone_kernel),
    shape_rule=lambda x, *, order: x.shape,
    transpose_rule=lambda ct, x, *, order: ct,
    batch_rule=lambda x, *, size, order: clone(x, order=order and (0, *(d + 1 for d in order))),
)


# -- a diagonal as the last dimension ------------------------------------------
def diagonal_size(shape: Sequence[int], offset: int, first: int, second: int) -> int:
    return max(min(shape[first] + min(offset, 0), shape[second] - max(offset, 0)), 0)


def diagonal_kernel(x: np.ndarray, *, offset: int, dims: tuple[int, int]) -> np.ndarray:
    first, second = dims
    size = diagonal_size(x.shape, offset, first, second)
    shape = (*(n for i, n in enumerate(x.shape) if i not in dims), size)
    strides = [s for i, s in enumerate(x.strides) if i not in dims]
    shift = (max(offset, 0) * x.strides[second] - min(offset, 0) * x.strides[first]) if size else 0
    return restride(x, shape, (*strides, x.strides[first] + x.strides[second]), shift)


diagonal = declare_primitive(
    Linear,
    "diagonal",
    make_array_kernel(diagonal_kernel),
    shape_rule=lambda x, *, offset, dims: (
        *(n for i, n in enumerate(x.shape) if i not in dims),
        diagonal_size(x.shape, offset, *dims),
    ),
    transpose_rule=lambda ct, x, **params: scatter_cotangent(ct, x, diagonal, params),
    batch_rule=lambda x, *, size, offset, dims: diagonal(x, offset=offset, dims=tuple(d + 1 for d in dims)),
)


# -- windows as the last dimension ------------------------------------------
def unfold_shape(x, *, dim: int, length: int, step: int) -> tuple[int, ...]:
    if not x.shape:
        return (length,)
    return (*x.shape[:dim], (x.shape[dim] - length) // step + 1, *x.shape[dim + 1 :], length)


def unfold_kernel(x: np.ndarray, *, dim: int, length: int, step: int) -> np.ndarray:
    strides = x.strides or (x.itemsize,)
    moved = [s * step if i == dim else s for i, s in enumerate(strides)] if x.shape else []
    return restride(x, unfold_shape(x, dim=dim, length=length, step=step), (*moved, strides[dim]))


def unfold_batch(x, *, size: int, dim: int, **params) -> Any:
    if aval_of(x).ndim > 1:
        return unfold(x, dim=dim + 1, **params)
    return gather_batched(x, unfold, {"dim": dim, **params})


unfold = declare_primitive(
    Linear,
    "unfold",
    make_array_kernel(unfold_kernel),
    shape_rule=unfold_shape,
    transpose_rule=lambda ct, x, **params: scatter_cotangent(ct, x, unfold, params),
    batch_rule=unfold_batch,
)


# -- any strides ------------------------------------------
def memory_extent(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """The lowest and the highest position of an array's entries relative to its first entry."""
    reaches = [s * (n - 1) for s, n in zip(strides, shape)]
    return sum(r for r in reaches if r < 0), sum(r for r in reaches if r > 0)


def strided_positions(x, shape, strides, shift: int, layout) -> np.ndarray:
    """The position in the flattened operand of every entry of the result; -1 where it is outside the operand. Strides
    may be counted in any unit."""
    if 0 in shape:
        return np.zeros(shape, np.intp)
    (low, high), (first, last) = memory_extent(x.shape, layout), memory_extent(shape, strides)
    low = min(low, shift + first)
    memory = np.full(max(high, shift + last) - low + 1, -1)
    item = memory.itemsize
    operand = np.ndarray(x.shape, memory.dtype, memory, -low * item, [s * item for s in layout])
    operand[...] = np.arange(operand.size).reshape(x.shape)
    return np.ndarray(shape, memory.dtype, memory, (shift - low) * item, [s * item for s in strides]).copy()


def as_strided_kernel(x: np.ndarray, *, shape, strides, shift: int, layout) -> np.ndarray:
    """View or gather the entries at these strides. `layout` states the strides of the operand for which they are meant;
    all are counted in entries."""
    item = x.itemsize
    if x.strides == tuple([s * item for s in layout]):
        return restride(x, shape, [s * item for s in strides], shift * item)
    places = strided_positions(x, shape, strides, shift, layout)
    xp = array_library(x)
    places = xp.asarray(places)
    return xp.where(places < 0, xp.zeros((), x.dtype), x.reshape(-1)[places])


def as_strided_transpose(ct, x: Aval, **params) -> Any:
    """Add cotangents up at the positions of their entries in the operand; entries from outside it have none."""
    places = strided_positions(x, **params).reshape(-1)
    inside = np.flatnonzero(places >= 0)
    ct = ops.getitem(ops.reshape(ct, shape=places.shape), inside, index=(ops.ARRAY,))
    flat = ops.scatter_add(ct, places[inside], index=(ops.ARRAY,), shape=(x.size,))
    return ops.reshape(flat, shape=x.shape)


def as_strided_batch(x, *, size: int, shape, strides, shift: int, layout) -> Any:
    """Compute the result for every entry of a batch: in its memory where that is laid out as meant, otherwise from the
    entries."""
    here, item = contained_array(x), aval_of(x).dtype.itemsize
    own = () if here is None else here.strides[here.ndim - len(layout) - 1 :]
    if own[1:] == tuple([s * item for s in layout]) and own:
        step = own[0] // item
        return as_strided(
            x, shape=(size, *shape), strides=(step, *strides), shift=shift, layout=(step, *layout)
        )
    aval = aval_of(x)
    places = strided_positions(Aval(aval.shape[1:], aval.dtype), shape, strides, shift, layout)
    ensure_inside(places)
    return ops.getitem(
        ops.reshape(x, shape=(size, aval.size // max(size, 1))), places, index=(slice(None), ops.ARRAY)
    )


def ensure_inside(places: np.ndarray) -> None:
    """Raise if some of `strided_positions` are outside of a traced operand."""
    if (places < 0).any():
        raise TensorError(
            "as_strided: there is nothing outside of a traced Tensor", hint="smaller strides or sizes"
        )


as_strided = declare_primitive(
    Linear,
    "as_strided",
    make_array_kernel(as_strided_kernel),
    shape_rule=lambda x, *, shape, **params: shape,
    transpose_rule=as_strided_transpose,
    batch_rule=as_strided_batch,
)
