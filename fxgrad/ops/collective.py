"""Collectives: operations among the entries of a mapped axis, which `vmap(f, axis_name=…)` names. If the axis belongs
to a mesh of processes, they are operations of `ranks`.

At the level of its axis a collective is an operation on whole batches (`collect_rule`); at every other level it is an
ordinary linear operation. Its transpose is a collective over the same axis, as in JAX: the cotangent of an entry is
that of the sum of all entries' results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.aval import Aval, aval_of, is_differentiable
from ..core.errors import UnboundAxisError
from ..core.interpreter import CURRENT, named_axes
from ..core.primitive import Primitive, bind
from .indexing import ARRAY, move_axis
from .kinds import Linear, ensure_batched
from .vocabulary import ops


def axis_extent(name: Any) -> Any:
    """The size of a mapped axis, or the axis of a mesh; raises `UnboundAxisError` for an unknown name."""
    level = CURRENT.get().interpreter
    while level.outer is not None:
        if level.axis_name == name and name is not None:
            return level.extent
        level = level.outer.interpreter
    there = ", ".join(f"{n!r} of size {size_of(extent)}" for n, extent in named_axes()) or "none"
    raise UnboundAxisError(
        f"no mapped axis is named {name!r}; open are: {there}",
        hint=f"call it inside fx.vmap(f, axis_name={name!r}), or `with mesh:` where its axes are between processes",
    )


def size_of(extent: Any) -> int:
    """The number of entries along an axis."""
    return extent if type(extent) is int else extent.size


def axis_size(name: Any) -> int:
    """The size of an axis; raises `UnboundAxisError` for an unknown name."""
    return size_of(axis_extent(name))


class AxisPrimitive(Primitive):
    """An operation that is bound wherever its axis is open, whatever its operands are: plain values too differ, or are
    as many as the axis is long. collect(values, batched, size, params) → (result, whether it is batched).
    between_ranks(*operands, axis of the mesh, **params) binds it where the axis is between processes."""

    bound_to_axis = True
    kernel_shortcut = False
    between_ranks: Callable[..., Any]  # see `ranks`, without which there is no such axis

    def make_call(self) -> Callable[..., Any]:
        def call(*args: Any, axis_name: Any, **params: Any) -> Any:
            extent = axis_extent(axis_name)
            if type(extent) is not int:
                return self.between_ranks(*args, extent, **params)
            return bind(self, args, {"axis_name": axis_name, **params})

        return call

    def collect(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, bool]:
        """Apply the operation at the level whose axis it is."""
        raise NotImplementedError


class Collective(AxisPrimitive, Linear):
    """A linear collective. collect_rule(x, is_batched, size, **params) → (result, whether it is batched); params lack
    the name."""

    def __init__(self, name: str, *, collect_rule: Callable[..., Any], **rules: Any):
        self.collect_rule = collect_rule
        super().__init__(name, None, structural=False, **rules)

    def collect(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, bool]:
        params = {key: value for key, value in params.items() if key != "axis_name"}
        return self.collect_rule(values[0], is_batched[0], size, **params)


class AxisIndex(AxisPrimitive):
    """The position of an entry along the axis."""

    def abstract_eval(self, avals: Sequence[Aval], params: dict) -> Aval:
        return Aval((), np.dtype(np.intp))

    def collect(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, bool]:
        return np.arange(size), True


def remove_axis(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def insert_axis(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    return (*shape[:axis], size, *shape[axis:])


def sum_over_axis(x: Any, is_batched: bool, size: int) -> Any:
    """The sum over the axis, in the dtype of x."""
    dtype = aval_of(x).dtype
    if not is_batched and is_differentiable(dtype):
        return ops.multiply(x, size)
    y = ops.reduce_sum(ensure_batched(x, is_batched, size), axes=(0,))
    return y if aval_of(y).dtype == dtype else ops.convert(y, dtype=dtype)


axis_index = AxisIndex("axis_index").call

psum = Collective(
    "psum",
    collect_rule=lambda x, batched, size: (sum_over_axis(x, batched, size), False),
    shape_rule=lambda x, *, axis_name: x.shape,
    transpose_rule=lambda ct, x, *, axis_name: psum(ct, axis_name=axis_name),
    batch_rule=lambda x, *, size, axis_name: psum(x, axis_name=axis_name),
).call

# All entries along a new axis; the same to each of them.
all_gather = Collective(
    "all_gather",
    collect_rule=lambda x, batched, size, axis: (move_axis(ensure_batched(x, batched, size), 0, axis), False),
    shape_rule=lambda x, *, axis_name, axis: insert_axis(x.shape, axis, axis_size(axis_name)),
    transpose_rule=lambda ct, x, *, axis_name, axis: psum_scatter(ct, axis_name=axis_name, axis=axis),
    batch_rule=lambda x, *, size, axis_name, axis: all_gather(x, axis_name=axis_name, axis=axis + 1),
).call

# Each entry gets its part of the sum, along an axis as long as the mapped one.
psum_scatter = Collective(
    "psum_scatter",
    collect_rule=lambda x, batched, size, axis: (move_axis(sum_over_axis(x, batched, size), axis, 0), True),
    shape_rule=lambda x, *, axis_name, axis: remove_axis(x.shape, axis),
    transpose_rule=lambda ct, x, *, axis_name, axis: all_gather(ct, axis_name=axis_name, axis=axis),
    batch_rule=lambda x, *, size, axis_name, axis: psum_scatter(x, axis_name=axis_name, axis=axis + 1),
).call


def ppermute_collect(
    x: Any, is_batched: bool, size: int, perm: tuple[tuple[int, int], ...]
) -> tuple[Any, bool]:
    x = ensure_batched(x, is_batched, size)
    sources, targets = np.array(perm, np.intp).reshape(-1, 2).T
    index = (ARRAY, *(slice(None),) * (x.ndim - 1))
    return ops.update(ops.zeros_like(x), ops.getitem(x, sources, index=index), targets, index=index), True


# Entries sent along `perm`, pairs (source, target), in which each occurs at most once; zeros where none arrives.
ppermute = Collective(
    "ppermute",
    collect_rule=ppermute_collect,
    shape_rule=lambda x, *, axis_name, perm: x.shape,
    transpose_rule=lambda ct, x, *, axis_name, perm: ppermute(
        ct, axis_name=axis_name, perm=tuple((target, source) for source, target in perm)
    ),
    batch_rule=lambda x, *, size, axis_name, perm: ppermute(x, axis_name=axis_name, perm=perm),
).call


def all_to_all_collect(
    x: Any, is_batched: bool, size: int, split_axis: int, concat_axis: int
) -> tuple[Any, bool]:
    x = ensure_batched(x, is_batched, size)
    rest = [i for i in range(1, x.ndim) if i != split_axis + 1]
    rest.insert(concat_axis, 0)
    return ops.permute(x, axes=(split_axis + 1, *rest)), True


def all_to_all_shape(x: Aval, *, axis_name: Any, split_axis: int, concat_axis: int) -> tuple[int, ...]:
    return insert_axis(remove_axis(x.shape, split_axis), concat_axis, x.shape[split_axis])


# The mapped axis changes places with another, of the same size: entry i gets the i-th part of every entry.
all_to_all = Collective(
    "all_to_all",
    collect_rule=all_to_all_collect,
    shape_rule=all_to_all_shape,
    transpose_rule=lambda ct, x, *, axis_name, split_axis, concat_axis: all_to_all(
        ct, axis_name=axis_name, split_axis=concat_axis, concat_axis=split_axis
    ),
    batch_rule=lambda x, *, size, axis_name, split_axis, concat_axis: all_to_all(
        x, axis_name=axis_name, split_axis=split_axis + 1, concat_axis=concat_axis + 1
    ),
).call
