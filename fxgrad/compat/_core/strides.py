"""Linear primitives whose results are arrays of other strides in the same memory: NumPy has no writable ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ops
from ...core.aval import Aval, aval_of
from ...ops.indexing import ARRAY
from ...ops.kinds import Linear
from ...ops.shaping import broadcast_transposed
from .errors import TensorError
from .layout import arranged
from .memory import address, root, strided
from .primitives import declare

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def restrided(x: np.ndarray, shape: Sequence[int], strides: Sequence[int], shift: int = 0) -> np.ndarray:
    """The array of these strides whose first entry is `shift` behind that of x; in bytes. One without entries is in the
    memory of x as well."""
    start = address(x) - address(root(x))
    return strided(x, shape, strides, start if 0 in shape else start + shift)


def on_memory(kernel: Callable[..., Any]) -> Callable[[Any], Callable[..., Any]]:
    """Make the kernel of a primitive from one for NumPy arrays."""
    return lambda xp: lambda x, **params: kernel(np.asarray(x), **params)


def positions(x: Aval, call: Callable[..., Any], params: dict) -> Any:
    """The places in the flattened operand from which a primitive takes its results."""
    return call.primitive.kernel(np.arange(x.size).reshape(x.shape), **params)


def returned(ct: Any, x: Aval, call: Callable[..., Any], params: dict) -> Any:
    """The transpose: cotangents added up where the entries came from."""
    places = positions(x, call, params).reshape(-1)
    flat = ops.put(ops.reshape(ct, shape=places.shape), places, index=(ARRAY,), shape=(x.size,))
    return ops.reshape(flat, shape=x.shape)


def taken(x: Any, call: Callable[..., Any], params: dict) -> Any:
    """The result for traced values with a leading batch axis."""
    aval = aval_of(x)
    places = positions(Aval(aval.shape[1:], aval.dtype), call, params)
    flat = ops.reshape(x, shape=(aval.shape[0], -1 if aval.size else 0))
    return ops.getitem(flat, places, index=(slice(None), ARRAY))


# -- integers and slices ------------------------------------------
# One entry is a view as well, where NumPy makes a number of it.
part = declare(
    Linear,
    "part",
    on_memory(lambda x, *, index: x[(*index, ...)]),
    shape=lambda x, *, index: np.broadcast_to(np.zeros((), bool), x.shape)[index].shape,
    transposed=lambda ct, x, *, index: ops.getitem.primitive.transposed(ct, x, index=index),
    batched=lambda x, *, size, index: part(x, index=(slice(None), *index)),
)


# -- more entries along dimensions of length one ------------------------------------------
def expand_kernel(x: np.ndarray, *, shape: tuple[int, ...]) -> np.ndarray:
    extra = len(shape) - x.ndim
    strides = [0 if n == 1 and m != 1 else s for n, m, s in zip(x.shape, shape[extra:], x.strides)]
    return restrided(x, shape, (*(0,) * extra, *strides))


expand = declare(
    Linear,
    "expand",
    on_memory(expand_kernel),
    shape=lambda x, *, shape: shape,
    transposed=broadcast_transposed,
    batched=lambda x, *, size, shape: expand(
        ops.reshape(x, shape=(size, *(1,) * (len(shape) - x.ndim + 1), *x.shape[1:])), shape=(size, *shape)
    ),
)


# -- one more dimension ------------------------------------------
def unsqueeze_kernel(x: np.ndarray, *, dim: int) -> np.ndarray:
    stride = x.shape[dim] * x.strides[dim] if dim < x.ndim else x.itemsize
    return restrided(x, (*x.shape[:dim], 1, *x.shape[dim:]), (*x.strides[:dim], stride, *x.strides[dim:]))


unsqueeze = declare(
    Linear,
    "unsqueeze",
    on_memory(unsqueeze_kernel),
    shape=lambda x, *, dim: (*x.shape[:dim], 1, *x.shape[dim:]),
    transposed=lambda ct, x, *, dim: ops.reshape(ct, shape=x.shape),
    batched=lambda x, *, size, dim: unsqueeze(x, dim=dim + 1),
)


# -- a copy ------------------------------------------
def clone_kernel(x: np.ndarray, *, order: tuple[int, ...] | None) -> np.ndarray:
    """`order` are the dimensions by decreasing stride; None: as those of the operand, () as they come."""
    if order is None:
        return x.copy(order="K")
    return arranged(x, order or None)


# The same entries in memory of their own.
clone = declare(
    Linear,
    "clone",
    on_memory(clone_kernel),
    shape=lambda x, *, order: x.shape,
    transposed=lambda ct, x, *, order: ct,
    batched=lambda x, *, size, order: clone(x, order=order and (0, *(d + 1 for d in order))),
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
    return restrided(x, shape, (*strides, x.strides[first] + x.strides[second]), shift)


diagonal = declare(
    Linear,
    "diagonal",
    on_memory(diagonal_kernel),
    shape=lambda x, *, offset, dims: (
        *(n for i, n in enumerate(x.shape) if i not in dims),
        diagonal_size(x.shape, offset, *dims),
    ),
    transposed=lambda ct, x, **params: returned(ct, x, diagonal, params),
    batched=lambda x, *, size, offset, dims: diagonal(x, offset=offset, dims=tuple(d + 1 for d in dims)),
)


# -- windows as the last dimension ------------------------------------------
def unfold_shape(x: Any, *, dim: int, length: int, step: int) -> tuple[int, ...]:
    if not x.shape:
        return (length,)
    return (*x.shape[:dim], (x.shape[dim] - length) // step + 1, *x.shape[dim + 1 :], length)


def unfold_kernel(x: np.ndarray, *, dim: int, length: int, step: int) -> np.ndarray:
    strides = x.strides or (x.itemsize,)
    moved = [s * step if i == dim else s for i, s in enumerate(strides)] if x.shape else []
    return restrided(x, unfold_shape(x, dim=dim, length=length, step=step), (*moved, strides[dim]))


def unfold_batched(x: Any, *, size: int, dim: int, **params: Any) -> Any:
    if aval_of(x).ndim > 1:
        return unfold(x, dim=dim + 1, **params)
    return taken(x, unfold, {"dim": dim, **params})


unfold = declare(
    Linear,
    "unfold",
    on_memory(unfold_kernel),
    shape=unfold_shape,
    transposed=lambda ct, x, **params: returned(ct, x, unfold, params),
    batched=unfold_batched,
)


# -- any strides ------------------------------------------
def extent(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """The lowest and the highest place of an array relative to its first entry."""
    reaches = [s * (n - 1) for s, n in zip(strides, shape)]
    return sum(r for r in reaches if r < 0), sum(r for r in reaches if r > 0)


def source_places(x: Any, shape: Any, strides: Any, shift: int, layout: Any) -> np.ndarray:
    """For every entry of the result its place in the flattened operand; -1 where it is outside of that."""
    if 0 in shape:
        return np.zeros(shape, np.intp)
    (low, high), (first, last) = extent(x.shape, layout), extent(shape, strides)
    low = min(low, shift + first)
    memory = np.full(max(high, shift + last) - low + 1, -1)
    item = memory.itemsize
    operand = np.ndarray(x.shape, memory.dtype, memory, -low * item, [s * item for s in layout])
    operand[...] = np.arange(operand.size).reshape(x.shape)
    return np.ndarray(shape, memory.dtype, memory, (shift - low) * item, [s * item for s in strides]).copy()


def as_strided_kernel(x: np.ndarray, *, shape: Any, strides: Any, shift: int, layout: Any) -> np.ndarray:
    """`layout` are the strides of the operand for which the others are meant; all are in entries."""
    item = x.itemsize
    if x.strides == tuple([s * item for s in layout]):
        return restrided(x, shape, [s * item for s in strides], shift * item)
    places = source_places(x, shape, strides, shift, layout)
    return np.where(places < 0, np.zeros((), x.dtype), x.reshape(-1)[places])


def as_strided_returned(ct: Any, x: Aval, **params: Any) -> Any:
    """Cotangents added up where the entries came from, as far as that is in the operand."""
    places = source_places(x, **params).reshape(-1)
    inside = np.flatnonzero(places >= 0)
    ct = ops.getitem(ops.reshape(ct, shape=places.shape), inside, index=(ARRAY,))
    flat = ops.put(ct, places[inside], index=(ARRAY,), shape=(x.size,))
    return ops.reshape(flat, shape=x.shape)


def as_strided_batched(x: Any, *, size: int, **params: Any) -> Any:
    """The same of every entry of the batch: each is laid out as one is meant to be."""
    aval = aval_of(x)
    places = source_places(Aval(aval.shape[1:], aval.dtype), **params)
    if (places < 0).any():
        raise TensorError(
            "as_strided: there is nothing outside of a traced Tensor", hint="smaller strides or sizes"
        )
    return ops.getitem(
        ops.reshape(x, shape=(size, aval.size // max(size, 1))), places, index=(slice(None), ARRAY)
    )


as_strided = declare(
    Linear,
    "as_strided",
    on_memory(as_strided_kernel),
    shape=lambda x, *, shape, **params: shape,
    transposed=as_strided_returned,
    batched=as_strided_batched,
)
