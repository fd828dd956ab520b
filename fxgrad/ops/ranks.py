"""Collectives between processes, along an axis of a mesh: each process, a *rank*, has a value of its own.

The derivative of a program that all ranks run is the derivative of one function of all their values together. So each
collective is linear, and its transpose is a collective as well: the transpose of the sum is the sum of all ranks'
cotangents. A value that is the same on every rank, such as a parameter, is *one* value. `copy_to_ranks` turns it into
one value for each rank, and its transpose is `sum_to_one`. `unite_copies` turns equal values into one, and each of them
gets an equal share of its cotangent. No rule in between depends on which values are equal.

An axis has a communicator `comm`, its `size`, the `rank` of this process, its `mesh`, its `names` in the mesh, and
`varying`, the names along which there is more than one process; axes are compared by identity. An operation that
communicates is `effectful`, so that no pass drops, doubles or moves it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.aval import Aval, aval_of
from ..core.primitive import Primitive, bind
from . import collective
from .collective import insert_axis, remove_axis
from .kinds import General, Linear
from .vocabulary import ops


class BetweenRanks(Primitive):
    """An operation between ranks, or by which they differ. Levels are asked also where its operands are plain."""

    effectful = True
    kernel_shortcut = False
    varies: bool | None = None  # whether ranks get different results (None: where their operands differ)

    def make_call(self) -> Callable[..., Any]:
        return lambda *args, **params: bind(self, args, params)


class LinearBetweenRanks(BetweenRanks, Linear):
    """A linear operation between ranks; kernel(x, axis, **params), or None where the value stays as it is."""

    def __init__(
        self, name: str, kernel: Any, *, varies: bool | None, batch_axes: Sequence[str] = (), **rules: Any
    ):
        self.varies = varies

        def batch_rule(x: Any, *, size: int, **params: Any) -> Any:
            return self.call(x, **{k: v + 1 if k in batch_axes else v for k, v in params.items()})

        if kernel is None:
            kernel, self.changes_nothing, self.effectful = keep, True, False
        super().__init__(name, lambda xp: kernel, batch_rule=batch_rule, structural=False, **rules)


def keep(x: Any, axis: Any) -> Any:
    return x


def linear(
    name: str, kernel: Any, *, shape_rule: Any = lambda x, **params: x.shape, **rules: Any
) -> Callable[..., Any]:
    """Declare a linear operation between ranks, by default one that keeps the shape. It is in no registry: its samples
    are tests of several processes."""
    return LinearBetweenRanks(name, kernel, shape_rule=shape_rule, **rules).call


def front(x: Any, axis: int) -> Any:
    """Return an array with an axis moved to the front, by its own library."""
    return x if axis == 0 else x.transpose((axis, *(i for i in range(x.ndim) if i != axis)))


def back(x: Any, axis: int) -> Any:
    """Return an array with its first axis moved to a place, by its own library."""
    order = list(range(1, x.ndim))
    order.insert(axis, 0)
    return x if axis == 0 else x.transpose(order)


def joined_axis(extents: Sequence[Any]) -> Any:
    """Return axes of one mesh as one axis, None if these are not all of one mesh."""
    if any(type(e) is int for e in extents) or len({e.mesh for e in extents}) != 1:
        return None
    return extents[0].mesh.axis([name for e in extents for name in e.names])


# -- what one value and the values of all ranks have to do with each other ---------------------------------------
copy_to_ranks = linear(
    "copy_to_ranks",
    None,
    varies=None,
    transpose_rule=lambda ct, x, *, axis: sum_to_one(ct, axis=axis),
)

sum_to_one = linear(
    "sum_to_one",
    lambda x, axis: axis.comm.all_reduce(x)[()],
    varies=False,
    transpose_rule=lambda ct, x, *, axis: copy_to_ranks(ct, axis=axis),
)

unite_copies = linear(
    "unite_copies",
    None,
    varies=False,
    transpose_rule=lambda ct, x, *, axis: copy_to_ranks(share(ct, axis.size), axis=axis),
)


def share(ct: Any, size: int) -> Any:
    """Return the equal part of a cotangent in its own dtype."""
    return ops.divide(ct, aval_of(ct).dtype.type(size))


def take_part(x: Any, axis: Any, dim: int) -> Any:
    """Return this rank's part of an array along `dim`, of which all ranks have as much."""
    length = x.shape[dim] // axis.size
    return x[(slice(None),) * dim + (slice(axis.rank * length, (axis.rank + 1) * length),)].copy()


def gather_parts(x: Any, axis: Any, dim: int) -> Any:
    """Return all ranks' parts joined along `dim`."""
    joined = axis.comm.all_gather(front(x, dim))
    return back(joined.reshape(joined.shape[0] * joined.shape[1], *joined.shape[2:]), dim)


def part_shape(x: Aval, *, axis: Any, dim: int) -> tuple[int, ...]:
    return insert_axis(remove_axis(x.shape, dim), dim, x.shape[dim] // axis.size)


def joined_shape(x: Aval, *, axis: Any, dim: int) -> tuple[int, ...]:
    return insert_axis(remove_axis(x.shape, dim), dim, x.shape[dim] * axis.size)


# One value that is divided among the ranks, and the parts of all ranks as one value.
scatter_part = linear(
    "scatter_part",
    take_part,
    varies=True,
    batch_axes=("dim",),
    shape_rule=part_shape,
    transpose_rule=lambda ct, x, *, axis, dim: join_parts(ct, axis=axis, dim=dim),
)
join_parts = linear(
    "join_parts",
    gather_parts,
    varies=False,
    batch_axes=("dim",),
    shape_rule=joined_shape,
    transpose_rule=lambda ct, x, *, axis, dim: scatter_part(ct, axis=axis, dim=dim),
)

# -- collectives -------------------------------------------------------------------------------------------------
sum_ranks = linear(
    "sum_ranks",
    lambda x, axis: axis.comm.all_reduce(x)[()],
    varies=False,
    transpose_rule=lambda ct, x, *, axis: sum_ranks(ct, axis=axis),
)


def sum_at(ct: Any, axis: Any, root: int) -> Any:
    """Return the sum of all ranks' values on one of them, zeros on the others."""
    here = ops.equal(rank_index(axis=axis), root)
    return ops.where(here, sum_ranks(ct, axis=axis), aval_of(ct).dtype.type(0))


# The value of one rank.
broadcast_ranks = linear(
    "broadcast_ranks",
    lambda x, axis, root: axis.comm.broadcast(x, root)[()],
    varies=False,
    transpose_rule=lambda ct, x, *, axis, root: sum_at(ct, axis, root),
)

# The values as they are, of which nothing says that they are equal.
vary = linear(
    "vary",
    None,
    varies=True,
    transpose_rule=lambda ct, x, *, axis: vary(ct, axis=axis),
)

# All ranks' values along a new axis `dim`.
gather_ranks = linear(
    "gather_ranks",
    lambda x, axis, dim: back(axis.comm.all_gather(x), dim),
    varies=False,
    batch_axes=("dim",),
    shape_rule=lambda x, *, axis, dim: insert_axis(x.shape, dim, axis.size),
    transpose_rule=lambda ct, x, *, axis, dim: sum_scatter_ranks(ct, axis=axis, dim=dim),
)

# Each rank gets its entry of the sum along `dim`.
sum_scatter_ranks = linear(
    "sum_scatter_ranks",
    lambda x, axis, dim: axis.comm.reduce_scatter(front(x, dim))[()],
    varies=True,
    batch_axes=("dim",),
    shape_rule=lambda x, *, axis, dim: remove_axis(x.shape, dim),
    transpose_rule=lambda ct, x, *, axis, dim: gather_ranks(ct, axis=axis, dim=dim),
)

# Values sent along `perm`, pairs (source, target), in which each rank occurs at most once; zeros where none arrives.
permute_ranks = linear(
    "permute_ranks",
    lambda x, axis, perm: axis.comm.permute(x, perm)[()],
    varies=True,
    transpose_rule=lambda ct, x, *, axis, perm: permute_ranks(
        ct, axis=axis, perm=tuple((target, source) for source, target in perm)
    ),
)

# Entry j along `split_axis` goes to rank j; received entries are joined along `concat_axis`.
exchange_ranks = linear(
    "exchange_ranks",
    lambda x, axis, split_axis, concat_axis: back(axis.comm.all_to_all(front(x, split_axis)), concat_axis),
    varies=True,
    batch_axes=("split_axis", "concat_axis"),
    shape_rule=lambda x, *, axis, split_axis, concat_axis: insert_axis(
        remove_axis(x.shape, split_axis), concat_axis, x.shape[split_axis]
    ),
    transpose_rule=lambda ct, x, *, axis, split_axis, concat_axis: exchange_ranks(
        ct, axis=axis, split_axis=concat_axis, concat_axis=split_axis
    ),
)


class Extremum(BetweenRanks, General):
    """A value that is chosen among those of all ranks, entry by entry."""

    varies = False


def extremum(name: str) -> Callable[..., Any]:
    """Declare the greatest or least of all ranks' values, by the name of the reduction."""

    def tangent_rule(y: Any, primals: Any, tangents: Any, params: dict) -> Any:
        """Ranks that tie share the derivative; a NaN result leads to the NaN entries."""
        (x,), (t,), axis = primals, tangents, params["axis"]
        hit = ops.logical_or(ops.equal(x, y), ops.isnan(x))
        count = sum_ranks(ops.convert(hit, dtype=aval_of(y).dtype), axis=axis)
        return ops.divide(sum_ranks(ops.where(hit, t, 0), axis=axis), count)

    primitive = Extremum(
        f"{name}_ranks",
        lambda xp: lambda x, axis: axis.comm.all_reduce(x, name)[()],
        abstract_rule=lambda self, x, *, axis: Aval(x.shape, x.dtype),
        tangent_rule=tangent_rule,
        batch_rule=lambda x, *, size, axis: primitive.call(x, axis=axis),
    )
    return primitive.call


max_ranks, min_ranks = extremum("max"), extremum("min")


class RankIndex(BetweenRanks):
    """The place of a rank along the axis."""

    varies = True

    def abstract_eval(self, avals: Sequence[Aval], params: dict) -> Aval:
        return Aval((), np.dtype(np.intp))


rank_index = RankIndex("rank_index", lambda xp: lambda axis: np.intp(axis.rank)).call

# What collectives along a mapped axis are where it is one of a mesh.
for operation, between_ranks in {
    collective.axis_index: lambda axis: rank_index(axis=axis),
    collective.psum: lambda x, axis: sum_ranks(x, axis=axis),
    collective.all_gather: lambda x, mesh_axis, axis: gather_ranks(x, axis=mesh_axis, dim=axis),
    collective.psum_scatter: lambda x, mesh_axis, axis: sum_scatter_ranks(x, axis=mesh_axis, dim=axis),
    collective.ppermute: lambda x, axis, perm: permute_ranks(x, axis=axis, perm=perm),
    collective.all_to_all: lambda x, axis, split_axis, concat_axis: exchange_ranks(
        x, axis=axis, split_axis=split_axis, concat_axis=concat_axis
    ),
}.items():
    operation.primitive.between_ranks = between_ranks

__all__ = [
    "broadcast_ranks",
    "copy_to_ranks",
    "exchange_ranks",
    "gather_ranks",
    "join_parts",
    "joined_axis",
    "max_ranks",
    "min_ranks",
    "permute_ranks",
    "rank_index",
    "scatter_part",
    "share",
    "sum_ranks",
    "sum_scatter_ranks",
    "sum_to_one",
    "unite_copies",
    "vary",
]
