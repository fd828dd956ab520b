"""Shaping primitives, which move entries without computing. All are linear, and their transposes move the entries back.

Axes in params are non-negative and normalized by the namespace functions.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import arrays
from ..core.advice import fit_broadcast, fit_reshape
from ..core.aval import PLAIN, Aval, aval_of, check_kind
from ..core.errors import ShapeError
from ..kernels.memory import join, store, zeros
from .kinds import general, linear, namespace_function
from .vocabulary import ops

if TYPE_CHECKING:
    from ..core.typing import Array


def reshape_shape(x: Aval, *, shape: tuple[int, ...]) -> tuple[int, ...]:
    if Aval(shape, None).size != x.size:
        raise ShapeError(
            f"cannot reshape array of size {x.size} into shape {shape}", hint=fit_reshape(x.size, shape)
        )
    return shape


def reshape_kernel(xp: Any) -> Any:
    if xp is np:  # NumPy's function takes four times as long as the method
        return lambda x, *, shape: x.reshape(shape) if type(x) is np.ndarray else np.reshape(x, shape)
    return lambda x, *, shape: xp.reshape(x, shape)


reshape = linear(
    "reshape",
    reshape_kernel,
    shape_rule=reshape_shape,
    transpose_rule=lambda ct, x, *, shape: reshape(ct, shape=x.shape),
    batch_rule=lambda x, *, size, shape: reshape(x, shape=(size, *shape)),
)


def permute_kernel(xp: Any) -> Any:
    if xp is np:
        return lambda x, *, axes: x.transpose(axes) if type(x) is np.ndarray else np.transpose(x, axes)
    return lambda x, *, axes: (
        xp.permute_dims(x, axes) if hasattr(xp, "permute_dims") else xp.transpose(x, axes)
    )


def inverse_permutation(axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the inverse permutation."""
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


permute = linear(
    "permute",
    permute_kernel,
    shape_rule=lambda x, *, axes: tuple(x.shape[a] for a in axes),
    transpose_rule=lambda ct, x, *, axes: permute(ct, axes=inverse_permutation(axes)),
    batch_rule=lambda x, *, size, axes: permute(x, axes=(0, *(a + 1 for a in axes))),
)


def broadcast_shape(x: Aval, *, shape: tuple[int, ...]) -> tuple[int, ...]:
    if len(x.shape) > len(shape) or any(n not in (1, m) for n, m in zip(x.shape[::-1], shape[::-1])):
        raise ShapeError(
            f"cannot broadcast an array of shape {x.shape} to shape {shape}",
            hint=fit_broadcast([shape, x.shape], ("the result", "x")),
        )
    return shape


def broadcast_transpose(ct: Any, x: Aval, *, shape: tuple[int, ...]) -> Any:
    if x.shape == shape:
        return ct
    extra = len(shape) - len(x.shape)
    axes = (*range(extra), *(i for i, n in enumerate(x.shape, extra) if n == 1 and shape[i] != 1))
    return reshape(ops.reduce_sum(ct, axes=axes), shape=x.shape)


def broadcast_kernel(xp: Any) -> Any:
    if xp is not np:
        return lambda x, *, shape: xp.broadcast_to(x, shape)

    def broadcast(x: Any, *, shape: tuple[int, ...]) -> Any:
        if isinstance(x, np.ndarray | np.generic) and x.ndim <= len(shape) and prod(shape) <= 4096:
            out = np.empty(shape, x.dtype)  # to fill a small array beats making a view
            out[...] = x
            return out
        return np.broadcast_to(x, shape)

    return broadcast


broadcast_to = linear(
    "broadcast_to",
    broadcast_kernel,
    shape_rule=broadcast_shape,
    transpose_rule=broadcast_transpose,
    batch_rule=lambda x, *, size, shape: broadcast_to(
        reshape(x, shape=(size, *(1,) * (len(shape) - len(x.shape) + 1), *x.shape[1:])), shape=(size, *shape)
    ),
)


flip = linear(
    "flip",
    lambda xp: lambda x, *, axes: xp.flip(x, axis=axes),
    shape_rule=lambda x, *, axes: x.shape,
    transpose_rule=lambda ct, x, *, axes: flip(ct, axes=axes),
    batch_rule=lambda x, *, size, axes: flip(x, axes=tuple(a + 1 for a in axes)),
)


def concatenate_shape(*xs: Aval, axis: int) -> tuple[int, ...]:
    first = xs[0].shape
    for x in xs[1:]:
        if len(x.shape) != len(first) or any(
            n != m for i, (n, m) in enumerate(zip(x.shape, first)) if i != axis
        ):
            raise ShapeError(
                f"concatenate along axis {axis}: shapes {', '.join(str(x.shape) for x in xs)} differ "
                f"in another axis",
                hint="arrays that differ along the axis joined only; fnp.stack joins along a new one",
            )
    return (*first[:axis], sum(x.shape[axis] for x in xs), *first[axis + 1 :])


def concatenate_transpose(ct: Any, *xs: Aval, axis: int) -> list[Any]:
    results, start = [], 0
    for x in xs:
        stop = start + x.shape[axis]
        results.append(ops.getitem(ct, index=(slice(None),) * axis + (slice(start, stop, None),)))
        start = stop
    return results


def concatenate_kernel(xp: Any) -> Any:
    if xp is np:
        return lambda *xs, axis: join(xs, axis)
    function = namespace_function("concat", "concatenate")(xp)
    return lambda *xs, axis: function(xs, axis=axis)


concatenate = linear(
    "concatenate",
    concatenate_kernel,
    count=None,
    shape_rule=concatenate_shape,
    transpose_rule=concatenate_transpose,
    batch_rule=lambda *xs, size, axis: concatenate(*xs, axis=axis + 1),
)


def pad_kernel(xp: Any) -> Any:
    def pad(x: Any, *, widths: tuple[tuple[int, int], ...]) -> Any:
        shape = tuple(a + n + b for n, (a, b) in zip(x.shape, widths))
        middle = tuple(slice(a, a + n) for n, (a, _) in zip(x.shape, widths))
        if xp is np:
            out = zeros(shape, x.dtype)
            store(out[middle], x)
        else:
            out = xp.zeros(shape, dtype=x.dtype)
            out[middle] = x
        return out

    return pad


# Zeros around: the transpose of a slice that keeps the middle.
pad = linear(
    "pad",
    pad_kernel,
    shape_rule=lambda x, *, widths: tuple(a + n + b for n, (a, b) in zip(x.shape, widths)),
    transpose_rule=lambda ct, x, *, widths: ops.getitem(
        ct, index=tuple(slice(a, a + n, None) for n, (a, _) in zip(x.shape, widths))
    ),
    batch_rule=lambda x, *, size, widths: pad(x, widths=((0, 0), *widths)),
)


def full_like_kernel(xp: Any) -> Any:
    if xp is np:
        return fill_new
    return lambda x, *, value: xp.full_like(x, value)


def fill_new(x: Any, *, value: Any) -> Any:
    """Implement `np.full_like`, which takes twice as long."""
    y = np.empty_like(x, subok=False)
    np.copyto(y, value, casting="unsafe")
    return y


# A constant of the operand's shape, dtype and array library.
full_like = general(
    "full_like",
    full_like_kernel,
    abstract_rule=lambda self, x, *, value: Aval(x.shape, x.dtype),
    tangent_rule=None,
    batch_rule=lambda x, *, size, value: full_like(x, value=value),
)


def zeros_like(x: Any) -> Any:
    """Return zeros of the shape and dtype of x."""
    return full_like(x, value=0)


def stack(values: Any, axis: int = 0) -> Any:
    """Join arrays of one shape and dtype along a new axis."""
    parts = []
    for value in values:
        shape = aval_of(value).shape
        parts.append(reshape(value, shape=(*shape[:axis], 1, *shape[axis:])))
    return concatenate(*parts, axis=axis)


def from_sequence(sequence: Any) -> Any:
    """Convert a (nested) sequence to an array, as NumPy reads it; its entries may be whatever `as_value` takes."""
    if not is_plain(sequence):
        return stack_entries(sequence)
    array = np.asarray(sequence)
    check_kind(array.dtype, "an operand")
    return array


def is_plain(item: Any) -> bool:
    """Whether an entry of a sequence is plain, or a sequence of plain entries."""
    return all(map(is_plain, item)) if isinstance(item, list | tuple) else type(item) in PLAIN


def stack_entries(item: Any) -> Any:
    """Stack the entries of a nested sequence; an entry is converted."""
    if not isinstance(item, list | tuple):
        value = arrays.as_value(item)
        aval = aval_of(value)  # inside a sequence NumPy takes Python scalars in their own dtype
        return ops.convert(value, dtype=aval.dtype) if aval.weak else value
    parts = [stack_entries(i) for i in item]
    shapes = {aval_of(p).shape for p in parts}
    if len(shapes) != 1:
        raise ShapeError(
            f"a sequence of arrays of different shapes {sorted(shapes)} is not an array",
            hint="fnp.concatenate, or fnp.pad of the shorter ones",
        )
    return stack(promote_dtypes(parts))


def promote_dtypes(values: Any) -> list[Array]:
    """Convert values to their common dtype by NumPy's promotion; Python scalars are weak."""
    dtype = result_dtype(values)
    return [
        v if aval_of(v).dtype == dtype and not aval_of(v).weak else ops.convert(v, dtype=dtype)
        for v in values
    ]


def result_dtype(values: Any) -> Any:
    """Return the common dtype of values by NumPy's promotion (NEP 50)."""
    avals = [aval_of(v) for v in values]
    return np.result_type(*[_WEAK[a.dtype.kind] if a.weak else a.dtype for a in avals])


_WEAK = {"b": True, "i": 0, "f": 0.0, "c": 0j}
arrays.from_sequence = from_sequence
