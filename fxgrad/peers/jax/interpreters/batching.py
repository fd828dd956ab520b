"""`jax.interpreters.batching`: rules of programs' primitives for mapped operands."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

from .... import numpy as fnp
from ..arrays import array_of, value_of
from ..primitives import BATCHERS, Primitive

__all__ = [
    "axis_primitive_batchers", "bdim_at_front", "broadcast", "defbroadcasting", "defvectorized",
    "fancy_primitive_batchers", "primitive_batchers",
]  # fmt: skip


class BatcherTable(dict):
    """A table of JAX's: an entry is kept as a rule (size, name, operands, axes, **params)."""

    def __init__(self, adapt: Callable[[Callable[..., Any]], Callable[..., Any]]):
        super().__init__()
        self.adapt = adapt

    def __setitem__(self, primitive: Primitive, rule: Callable[..., Any]) -> None:
        super().__setitem__(primitive, rule)
        BATCHERS[primitive] = self.adapt(rule)


primitive_batchers = BatcherTable(
    lambda rule: lambda size, name, args, dims, **params: rule(args, dims, **params)
)
axis_primitive_batchers = BatcherTable(
    lambda rule: lambda size, name, args, dims, **params: rule(size, name, None, args, dims, **params)
)
fancy_primitive_batchers = BatcherTable(
    lambda rule: (
        lambda size, name, args, dims, **params: rule(
            SimpleNamespace(size=size, name=name, spmd_name=None, explicit_mesh_axis=None),
            args,
            dims,
            **params,
        )
    )
)


def broadcast(x: Any, sz: int, axis: int = 0, *options: Any) -> Any:
    """Return an array repeated along a new axis."""
    value = fnp.expand_dims(value_of(x), axis)
    return array_of(fnp.broadcast_to(value, (*value.shape[:axis], sz, *value.shape[axis + 1 :])))


def bdim_at_front(x: Any, bdim: int | None, size: int, *options: Any) -> Any:
    """Return an operand with the axis of the batch as its first one."""
    return broadcast(x, size) if bdim is None else array_of(fnp.moveaxis(value_of(x), bdim, 0))


def map_aligned(prim: Primitive, args: Any, dims: Any, **params: Any) -> Any:
    """Apply an entrywise primitive to operands that are mapped along the same axis or not at all."""
    rank = max(a.ndim - (d is not None) for a, d in zip(args, dims))
    aligned = []
    for a, d in zip(args, dims):
        value = value_of(a)
        if d is not None:
            value = fnp.moveaxis(value, d, 0)
            value = fnp.reshape(value, (value.shape[0], *[1] * (rank + 1 - value.ndim), *value.shape[1:]))
        aligned.append(array_of(value))
    y = prim.bind(*aligned, **params)
    return (y, [0] * len(y)) if prim.multiple_results else (y, 0)


def defvectorized(prim: Primitive) -> None:
    """Define a primitive as entrywise in one operand."""
    primitive_batchers[prim] = partial(map_aligned, prim)


defbroadcasting = defvectorized
