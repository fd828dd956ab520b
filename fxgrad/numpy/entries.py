"""Reading from and writing into boxes: keys, the positions of entries, and the conversion of written values to the
dtype and shape of the entries that they replace.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..core import pytree
from ..core.advice import fit_broadcast
from ..core.arrays import as_value
from ..core.aval import aval_of, is_differentiable, kind_of
from ..core.errors import ConcretizationError, DTypeError, ShapeError, describe
from ..core.interpreter import Tracer, concretize
from ..core.surface import is_box


def unbox(value: Any) -> Any:
    """Return an argument with the values of boxes in their place, also in sequences."""
    if is_box(value):
        return value.value
    if type(value) is list or type(value) is tuple:
        return type(value)([unbox(v) for v in value])
    return value


def read_key(key: Any) -> tuple[Any, bool]:
    """Return a key without boxes, with known values in place of traced entries, and whether all of it is known."""
    if isinstance(key, tuple):
        entries = [read_key(e) for e in key]
        return tuple([e for e, _ in entries]), all(known for _, known in entries)
    if is_box(key):
        key = key.value
    if isinstance(key, slice):
        ends = [read_key(e) for e in (key.start, key.stop, key.step)]
        return slice(*[e for e, _ in ends]), True
    if isinstance(key, list):
        key = as_value(key) if any(isinstance(e, Tracer) for e in pytree.leaves(unbox(key))) else unbox(key)
    if not isinstance(key, Tracer):
        return key, True
    try:
        return concretize(key, "indexing"), True
    except ConcretizationError:
        return key, False


def is_basic(key: Any) -> bool:
    """Whether a key with traced entries would give a view, were they known: it has slices and single integers only."""
    entries = key if isinstance(key, tuple) else (key,)
    return not any(
        isinstance(e, list) or aval_of(e).ndim or kind_of(aval_of(e).dtype) == "b"
        for e in entries
        if not is_range(e)
    )


def is_mask(key: Any, shape: tuple[int, ...]) -> bool:
    """Whether a key is a mask over the leading axes, or over none, whose values are not known."""
    return isinstance(key, Tracer) and kind_of(key.dtype) == "b" and key.shape == shape[: key.ndim]


def first_of(key: Any) -> Any:
    """Return a basic key with zeros in place of traced integers, which selects entries with the same memory layout."""
    if isinstance(key, tuple):
        return tuple([first_of(e) for e in key])
    return 0 if isinstance(key, Tracer) else key


def is_range(entry: Any) -> bool:
    """Whether an entry of a key is a slice, an ellipsis or None."""
    return entry is None or entry is Ellipsis or isinstance(entry, slice)


def entries_at(value: Any, key: Any) -> Any:
    """Return value[key], whatever is traced."""
    x, arrays, index = ops.parse_index(value, key)
    return ops.getitem(x, *arrays, index=index)


def flat_key(spot: Any) -> Any:
    """Return positions as the key of one axis: a slice where they are evenly spaced."""
    spot = ops.reshape(spot, shape=(aval_of(spot).size,)) if aval_of(spot).ndim != 1 else spot
    if isinstance(spot, Tracer) or spot.size == 0:
        return spot
    first = int(spot[0])
    step = int(spot[1]) - first if spot.size > 1 else 1
    if step > 0 and np.array_equal(spot, np.arange(first, first + spot.size * step, step)):
        return slice(first, first + spot.size * step, step)
    return spot


def fit_values(values: Any, dtype: Any) -> Any:
    """Convert values to a dtype as NumPy's assignment does; raise if the conversion would lose a derivative."""
    values = as_value(unbox(values))
    aval = aval_of(values)
    if aval.dtype == dtype and not aval.weak:
        return values
    if not isinstance(values, Tracer):
        return np.asarray(values).astype(dtype)
    loses = is_differentiable(aval.dtype) and not np.can_cast(aval.dtype, dtype, "same_kind")
    if loses and not (is_differentiable(dtype) and aval.dtype.kind != "c"):
        raise DTypeError(
            f"x[…] = values: {describe(values)} goes into an array of dtype {dtype}: its derivative would be lost",
            hint=f"make the array with dtype={aval.dtype}, or write values.astype({str(dtype)!r})",
        )
    return ops.convert(values, dtype=dtype)


def stretch(values: Any, shape: tuple[int, ...]) -> Any:
    """Broadcast values to the shape of the entries in whose place they are put."""
    have = aval_of(values).shape
    if have == shape:
        return values
    if len(have) > len(shape) and set(have[: len(have) - len(shape)]) == {1}:
        have = have[len(have) - len(shape) :]
        values = ops.reshape(values, shape=have)
    try:
        return ops.broadcast_to(values, shape=shape)
    except ValueError as error:
        raise ShapeError(
            f"could not broadcast input array from shape {have} into shape {shape}",
            hint=fit_broadcast([shape, have], ("x[…]", "values")),
        ) from error


def without_count(values: Any, trailing: int) -> Any:
    """Return values for entries that a mask selects without the axis that counts these, if its size is 1: all of them
    get the same, however many there are."""
    shape = aval_of(values).shape
    return ops.reshape(values, shape=shape[1:]) if len(shape) == trailing + 1 and shape[0] == 1 else values
