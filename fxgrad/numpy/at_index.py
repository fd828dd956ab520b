"""Updated copies: `x.at[index].set(v)` is x with v at the index; `at(x)[index].set(v)` for plain arrays.

Nothing is modified, so a derivative never sees a half-updated array. The operations are those of `jax.numpy.ndarray.at`
and agree with NumPy's `x[index] = v` and `np.multiply.at`: values broadcast to the shape of x[index], and the result
keeps the dtype of x (casting to it must be of the same kind). Where an index repeats an entry, `set` stores the last
value, while all other operations apply one after another.

An index out of bounds raises, as in NumPy (JAX drops it by default); `mode` selects other behaviour.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from .. import ops
from ..core.advice import fit_broadcast
from ..core.arrays import as_value
from ..core.aval import SCALARS, aval_of, kind_of
from ..core.devices import CPU, put_array
from ..core.errors import (
    ConcretizationError,
    DTypeError,
    ShapeError,
    StructureError,
    UnsupportedError,
    describe,
)
from ..core.interpreter import concretize
from ..core.surface import is_object
from ..ops.indexing import array_axes_position, parse_entry
from ..ops.scatter import split_into_rounds

__all__ = ["at"]

MODES = (None, "promise_in_bounds", "clip", "drop", "fill")


def at(x: Any) -> At:
    """Updated copies of an array, plain or traced: `at(x)[index].add(v)`. Traced values have it as `x.at`.

    >>> fnp.at(np.zeros(3))[[0, 0, 2]].add(1.0)
    array([2., 0., 1.])
    """
    return At(as_operand(x))


def as_operand(x: Any) -> Any:
    """Return an argument as operations take it: surface objects as they are."""
    return x if is_object(x) else as_value(x)


class At:
    """The attribute `x.at`, which takes an index."""

    __slots__ = ("x",)

    def __init__(self, x: Any):
        self.x: Any = x

    def __getitem__(self, key: Any) -> IndexedUpdate:
        return IndexedUpdate(self.x, key)

    def __call__(self, *args: Any) -> NoReturn:
        raise StructureError("x.at is called", hint="x.at[index].set(value), with brackets")


def update_method(
    name: str, method_name: str, function: Callable[[Any, Any], Any], words: str
) -> Callable[..., Any]:
    """Make the method of `IndexedUpdate` that combines entries with values by the function; `method_name` is
    the method that does it."""

    def method(
        self: IndexedUpdate,
        values: Any,
        *,
        mode: str | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
    ) -> Any:
        return getattr(self, method_name)(function, values, mode, unique_indices)

    method.__name__, method.__qualname__ = name, f"IndexedUpdate.{name}"
    method.__doc__ = f"A copy with the entries {words}."
    return method


class IndexedUpdate:
    """Entries of an array that are to be read or updated: `x.at[index]`.

    `mode` says what becomes of integers out of bounds: None raises IndexError, "clip" takes the nearest entry,
    "drop" and "fill" leave out the update (in `get`: give `fill_value`). `unique_indices` is the caller's promise
    that no entry is repeated; without it, indices whose values are not known (staged or batched) make `divide`,
    `power` and `apply` go through the entries one by one. `indices_are_sorted` is accepted
    for JAX's sake and makes no difference.
    """

    __slots__ = ("key", "x")

    def __init__(self, x: Any, key: Any):
        self.x: Any = x
        self.key: Any = key

    def get(
        self,
        *,
        mode: str | None = None,
        fill_value: Any = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
    ) -> Any:
        """Return the entries themselves.

        >>> fnp.at(np.arange(3.0))[[1, 7]].get(mode="fill", fill_value=-1)
        array([ 1., -1.])
        """
        if mode in ("fill", "drop") and fill_value is None:
            fill_value = missing_entry_value(aval_of(self.x).dtype)
        x, arrays, index = self.locate(mode, fill_value)
        return ops.getitem(x, *arrays, index=index)

    def set(
        self,
        values: Any,
        *,
        mode: str | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
    ) -> Any:
        """A copy with the entries replaced by `values`; the last one wins where an entry is repeated."""
        x, arrays, index = self.locate(mode)
        values = cast_same_kind(broadcast_values(values, x, arrays, index), x)
        return self.restore_shape(ops.update(x, values, *arrays, index=index))

    add: Callable[..., Any] = update_method("add", "apply_summed", ops.add, "increased by `values`")
    subtract: Callable[..., Any] = update_method(
        "subtract", "apply_summed", ops.subtract, "decreased by `values`"
    )
    multiply: Callable[..., Any] = update_method(
        "multiply", "apply_combined", ops.multiply, "multiplied by `values`"
    )
    mul = multiply  # JAX has both
    divide: Callable[..., Any] = update_method("divide", "apply_in_rounds", ops.divide, "divided by `values`")
    power: Callable[..., Any] = update_method(
        "power", "apply_in_rounds", ops.power, "raised to the power of `values`"
    )
    min: Callable[..., Any] = update_method(
        "min", "apply_combined", ops.minimum, "limited from above by `values`"
    )
    max: Callable[..., Any] = update_method(
        "max", "apply_combined", ops.maximum, "limited from below by `values`"
    )

    def apply(
        self,
        function: Callable[[Any], Any],
        *,
        mode: str | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
    ) -> Any:
        """A copy with an elementwise function applied to the entries, as often as each is repeated."""
        return self.apply_in_rounds(lambda entries, _: function(entries), 0, mode, unique_indices)

    def locate(self, mode: str | None, spare: Any = True) -> tuple[Any, Any, tuple[Any, ...]]:
        """Return (x, index arrays, template). With mode "drop" or "fill" x is flat and has one entry more,
        `spare`, which stands for all that is out of bounds (True, which is 1, is harmless to every operation)."""
        if mode not in MODES:
            raise UnsupportedError(
                f"x.at[…] with mode={mode!r}", hint=f"one of {', '.join(map(repr, MODES))}"
            )
        if mode in (None, "promise_in_bounds"):
            return ops.parse_index(self.x, self.key)
        key, valid = clip_index(self.x, self.key)
        x, arrays, index = ops.parse_index(self.x, key)
        if mode == "clip":
            return x, arrays, index
        targets = flat_targets(x, arrays, index)
        position, count = array_axes_position(index, arrays)
        trailing = aval_of(targets).ndim - position - count
        valid = ops.reshape(valid, shape=(*aval_of(valid).shape, *(1,) * trailing))
        size = aval_of(x).size
        spares = cast_same_kind(np.full(1, spare, ops.result_dtype([x, spare])), x)
        x = ops.concatenate(ops.reshape(x, shape=(size,)), spares, axis=0)
        return x, [ops.where(valid, targets, size)], (ops.ARRAY,)

    def restore_shape(self, y: Any) -> Any:
        """Return an updated array in the shape of x, without the spare entry."""
        aval = aval_of(self.x)
        if aval_of(y).size != aval.size:
            y = ops.getitem(y, index=(slice(0, aval.size, None),))
        return y if aval_of(y).shape == aval.shape else ops.reshape(y, shape=aval.shape)

    def apply_summed(
        self, function: Callable[[Any, Any], Any], values: Any, mode: str | None, unique: bool
    ) -> Any:
        """Return a copy combined, by addition or subtraction, with the values put in place; repetitions do no
        harm."""
        x, arrays, index = self.locate(mode)
        values = ops.scatter_add(
            broadcast_values(values, x, arrays, index), *arrays, index=index, shape=aval_of(x).shape
        )
        return self.restore_shape(cast_same_kind(function(x, values), x))

    def apply_combined(
        self, function: Callable[[Any, Any], Any], values: Any, mode: str | None, unique: bool
    ) -> Any:
        """Return a copy multiplied or limited by the values."""
        x, arrays, index = self.locate(mode)
        values = cast_same_kind(broadcast_values(values, x, arrays, index), x)
        return self.restore_shape(COMBINATIONS[function](x, values, *arrays, index=index))

    def apply_in_rounds(
        self, function: Callable[[Any, Any], Any], values: Any, mode: str | None, unique: bool
    ) -> Any:
        """Return a copy with function(entry, value) in place of the entries: in rounds, in which no entry is
        repeated."""
        x, arrays, index = self.locate(mode)
        values = broadcast_values(values, x, arrays, index)
        if unique or not arrays:
            return self.restore_shape(replace_at(x, arrays, index, function, values))
        count = aval_of(values).size
        targets = ops.reshape(flat_targets(x, arrays, index), shape=(count,))
        turns = disjoint_rounds(targets, count)
        if len(turns) == 1:
            return self.restore_shape(replace_at(x, arrays, index, function, values))
        x, values = ops.reshape(x, shape=(aval_of(x).size,)), ops.reshape(values, shape=(count,))
        for turn in turns:
            some, theirs = (ops.getitem(v, turn, index=(ops.ARRAY,)) for v in (targets, values))
            x = replace_at(x, [some], (ops.ARRAY,), function, theirs)
        return self.restore_shape(x)


COMBINATIONS = {ops.maximum: ops.scatter_max, ops.minimum: ops.scatter_min, ops.multiply: ops.scatter_mul}


def replace_at(x: Any, arrays: Any, index: tuple, function: Callable[[Any, Any], Any], values: Any) -> Any:
    """Return x with function(entry, value) in place of its entries at an index without repetitions."""
    new = function(ops.getitem(x, *arrays, index=index), values)
    return ops.update(x, cast_same_kind(new, x), *arrays, index=index)


def disjoint_rounds(targets: Any, count: int) -> list[Any]:
    """Group the positions in `targets` so that no group has a target twice: first occurrences, second ones, …
    Each position is a group of its own where the targets are not known."""
    try:
        targets = concretize(targets, "indexing")
    except ConcretizationError:
        return list(np.arange(count).reshape(count, 1))
    return split_into_rounds(put_array(targets, CPU))


def flat_targets(x: Any, arrays: Any, index: tuple) -> Any:
    """Return the positions in the flattened x that an index selects, in the shape of x[index]."""
    aval = aval_of(x)
    return ops.getitem(np.arange(aval.size).reshape(aval.shape), *arrays, index=index)


def clip_index(x: Any, key: Any) -> tuple[tuple, Any]:
    """Move the integers of a key into bounds; return the key, and where they were in bounds before."""
    shape = aval_of(x).shape
    keys = key if isinstance(key, tuple) else (key,)
    entries = [e if e is None or e is Ellipsis or isinstance(e, slice) else parse_entry(e) for e in keys]
    result, valid, axis = [], np.True_, 0
    for i, (given, e) in enumerate(zip(keys, entries)):
        if e is Ellipsis:
            axis = len(shape) - sum(map(count_axes, entries[i:]))
        elif is_integral(e) and axis < len(shape):  # with too many indices, `parse_index` will say so
            n = shape[axis]
            e = ops.convert(e, dtype=np.dtype(np.intp))
            wrapped = ops.where(ops.less(e, 0), ops.add(e, n), e)
            valid = ops.logical_and(valid, ops.logical_and(ops.less_equal(0, wrapped), ops.less(wrapped, n)))
            given = ops.minimum(ops.maximum(wrapped, 0), n - 1)
        axis += count_axes(e)
        result.append(given)
    return tuple(result), valid


def is_integral(e: Any) -> bool:
    """Whether an entry of an index is an integer or an array of integers."""
    return type(e) is int or (hasattr(e, "shape") and kind_of(e.dtype) != "b")


def count_axes(e: Any) -> int:
    """Count the axes for which an entry of an index stands: none for `None`, `...` and boolean scalars."""
    if isinstance(e, slice) or is_integral(e):
        return 1
    return len(e.shape) if hasattr(e, "shape") else 0


def missing_entry_value(dtype: Any) -> Any:
    """Return JAX's stand-in for an entry that is not there: NaN, the least signed or greatest unsigned
    integer, True."""
    kind = kind_of(dtype)
    if kind in "fc":
        return np.nan
    return True if kind == "b" else np.iinfo(dtype).min if kind == "i" else np.iinfo(dtype).max


def broadcast_values(values: Any, x: Any, arrays: Any, index: tuple) -> Any:
    """Broadcast values to the shape of x[index]; Python scalars take the precision of x."""
    values = as_operand(values)
    aval, entries = aval_of(values), ops.getitem(x, *arrays, index=index)
    if aval.weak:
        dtype = ops.result_dtype([x, values])
        if type(values) in SCALARS:  # an array where x is, on a device perhaps
            return ops.full_like(ops.convert(entries, dtype=dtype), value=values)
        values = ops.convert(values, dtype=dtype)
    shape = aval_of(entries).shape
    extra = aval.ndim - len(shape)
    if extra > 0 and set(aval.shape[:extra]) == {1}:
        values = ops.reshape(values, shape=aval.shape[extra:])
    if aval_of(values).shape == shape:
        return values
    try:
        return ops.broadcast_to(values, shape=shape)
    except ValueError as error:
        raise ShapeError(
            f"x.at[…]: values of shape {aval.shape} do not broadcast to {shape}, the shape of "
            f"x[…] for x of shape {aval_of(x).shape}",
            hint=fit_broadcast([shape, aval.shape], ("x[…]", "values")),
        ) from error


def cast_same_kind(values: Any, x: Any) -> Any:
    """Convert values to the dtype of x, by a cast of the same kind."""
    dtype = aval_of(x).dtype
    if aval_of(values).dtype == dtype:
        return values
    if not np.can_cast(aval_of(values).dtype, dtype, "same_kind"):
        raise DTypeError(
            f"x.at[…]: {describe(values)} does not fit into x, which is {describe(x)}",
            hint="convert x first: x.astype(…)",
        )
    return ops.convert(values, dtype=dtype)
