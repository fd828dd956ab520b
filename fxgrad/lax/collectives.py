"""Collectives: operations between the entries of a mapped axis, such as sums and permutations.

`fx.vmap(f, axis_name="i")` names its axis; inside, `psum(x, "i")` is the sum of all entries' x. Axes may be nested: a
tuple of names stands for all of them, the first being the outermost. Operands are pytrees; a value that does not vary
along the axis counts as equal in every entry. Gradients follow JAX: inside the mapped function, a cotangent is that of
the sum over the entries, so that the transpose of psum is psum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from .. import numpy as fnp
from .. import ops
from ..core import pytree
from ..core.aval import SCALARS
from ..core.errors import ShapeError, UnsupportedError
from ..core.interpreter import VALUES
from ..core.typing import PyTree
from ..numpy.composite import cast, composite, operand
from ..numpy.composite import normalize_axis as normalized
from ..ops import collective, ranks


def axis_names(axis_name: Any) -> tuple:
    """Return the names of one axis or several as a tuple."""
    return tuple(axis_name) if isinstance(axis_name, tuple | list) else (axis_name,)


def single_axis_name(axis_name: Any, operation: str) -> Any:
    """Return the name of one axis; raise where there are several."""
    if len(axis_names(axis_name)) != 1:
        raise UnsupportedError(
            f"{operation} over several axes at once: {axis_name!r}", hint="one after the other"
        )
    return axis_names(axis_name)[0]


Groups = Sequence[Sequence[int]] | None


def refuse_groups(axis_index_groups: Any) -> None:
    if axis_index_groups is not None:
        raise UnsupportedError(
            "axis_index_groups: collectives among groups of entries",
            hint="two nested vmaps, each with a name of its own",
        )


def members_of_groups(groups: Any, axis_name: Any, operation: str) -> Any:
    """Return an array (entries of the axis, entries of a group): those of the group of each entry, in its order.

    Raises:
        ShapeError: the groups do not have each entry once, or are not equally large.
    """
    size = axis_size(single_axis_name(axis_name, operation))
    rows = [[int(i) for i in group] for group in groups]
    if sorted(i for row in rows for i in row) != list(range(size)) or len(set(map(len, rows))) != 1:
        raise ShapeError(
            f"{operation}: axis_index_groups has each of the {size} entries of {axis_name!r} in one group, and groups "
            f"of the same size, not {groups!r}",
            hint=f"{[[*range(size)]]}, one group of all, or None",
        )
    members = np.empty((size, len(rows[0])), int)
    for row in rows:
        members[row] = row
    return members


def gather_group(x: Any, members: Any, axis_name: Any) -> Any:
    """Return the values of an entry's group along a new first axis."""
    name = axis_names(axis_name)[0]
    gathered = collective.all_gather(x, axis_name=name, axis=0)
    return fnp.take(gathered, fnp.take(members, axis_index(name), axis=0), axis=0)


# -- the axis ------------------------------------------
@composite()
def axis_size(axis_name: Any) -> int:
    """The size of a mapped axis, or of several together: a Python number.

    Raises:
        UnboundAxisError: no axis of this name is open.

    >>> fx.vmap(lambda x: x / fx.lax.axis_size("i"), axis_name="i")(fnp.array([1.0, 3.0]))
    array([0.5, 1.5])
    """
    return prod(collective.axis_size(name) for name in axis_names(axis_name))


@composite()
def axis_index(axis_name: Any) -> PyTree:
    """The position of an entry along a mapped axis; along several, counted with the last one running fastest.

    >>> fx.vmap(lambda x: x + fx.lax.axis_index("i"), axis_name="i")(fnp.zeros(3))
    array([0., 1., 2.])
    """
    position: Any = 0
    for name in axis_names(axis_name):
        position = position * axis_size(name) + collective.axis_index(axis_name=name)
    return position


# -- reductions ------------------------------------------
@composite()
def psum(x: PyTree, axis_name: Any, *, axis_index_groups: Groups = None) -> PyTree:
    """The sum over a mapped axis, in the operand's dtype; booleans are counted. The sum of a Python number is a Python
    number: psum(1, "i") is the size of the axis.

    Args:
        x: a pytree of arrays.
        axis_name: the name of an axis, or a tuple of names.
        axis_index_groups: groups of entries of one axis, equally large: the sum is that of an entry's group.

    Raises:
        UnboundAxisError: no axis of this name is open.
        ShapeError: the groups are not a partition into equal parts.
        UnsupportedError: groups of several axes at once.

    >>> fx.vmap(lambda x: x / fx.lax.psum(x, "i"), axis_name="i")(fnp.array([1.0, 3.0]))
    array([0.25, 0.75])
    """
    members = None if axis_index_groups is None else members_of_groups(axis_index_groups, axis_name, "psum")

    def sum_leaf(x: Any) -> Any:
        if type(x) in SCALARS:
            return x * (axis_size(axis_name) if members is None else members.shape[1])
        x = operand(x)
        if x.dtype.kind == "b":
            x = cast(x, int)
        if members is not None:
            return fnp.sum(gather_group(x, members, axis_name), 0, x.dtype)
        names = axis_names(axis_name)
        if len(names) > 1:
            joined = ranks.joined_axis(list(map(collective.axis_extent, names)))
            if joined is not None:  # one message instead of several
                return ranks.sum_ranks(x, axis=joined)
        for name in names:
            x = collective.psum(x, axis_name=name)
        return x

    return sum_leaf(x) if type(x) in VALUES else pytree.map(sum_leaf, x)  # most often one array


@composite()
def pmean(x: PyTree, axis_name: Any, *, axis_index_groups: Groups = None) -> PyTree:
    """The mean of `x`, a pytree, over the mapped axis `axis_name`; `axis_index_groups` and errors as of `psum`.

    >>> fx.vmap(lambda x: x - fx.lax.pmean(x, "i"), axis_name="i")(fnp.array([1.0, 3.0]))
    array([-1.,  1.])
    """
    count = psum(1, axis_name, axis_index_groups=axis_index_groups)
    return pytree.map(lambda y: y / count, psum(x, axis_name, axis_index_groups=axis_index_groups))


def mapped_extremum(reduce: Callable[..., Any], x: Any, axis_name: Any, groups: Groups) -> Any:
    members = None if groups is None else members_of_groups(groups, axis_name, f"p{reduce.__name__}")

    def reduce_leaf(x: Any) -> Any:
        if members is not None:
            return reduce(gather_group(operand(x), members, axis_name), 0)
        for name in axis_names(axis_name):
            if type(collective.axis_extent(name)) is int:
                x = reduce(collective.all_gather(operand(x), axis_name=name, axis=0), 0)
            else:
                between_ranks = ranks.max_ranks if reduce is fnp.max else ranks.min_ranks
                x = between_ranks(operand(x), axis=collective.axis_extent(name))
        return x

    return pytree.map(reduce_leaf, x)


@composite()
def pmax(x: PyTree, axis_name: Any, *, axis_index_groups: Groups = None) -> PyTree:
    """The largest entry of `x`, a pytree, along the mapped axis `axis_name`; `axis_index_groups` and errors as for
    `psum`. Tied entries share the derivative.

    >>> fx.vmap(lambda x: fx.lax.pmax(x, "i"), axis_name="i")(fnp.array([1.0, 3.0]))
    array([3., 3.])
    """
    return mapped_extremum(fnp.max, x, axis_name, axis_index_groups)


@composite()
def pmin(x: PyTree, axis_name: Any, *, axis_index_groups: Groups = None) -> PyTree:
    """The smallest entry of `x`, a pytree, along the mapped axis `axis_name`; `axis_index_groups` and errors as for
    `psum`. Tied entries share the derivative.

    >>> fx.vmap(lambda x: fx.lax.pmin(x, "i"), axis_name="i")(fnp.array([1.0, 3.0]))
    array([1., 1.])
    """
    return mapped_extremum(fnp.min, x, axis_name, axis_index_groups)


# -- exchange ------------------------------------------
def merge_axes(x: Any, axis: int, count: int = 2) -> Any:
    """Merge `count` consecutive axes into one."""
    return ops.reshape(
        x, shape=(*x.shape[:axis], prod(x.shape[axis : axis + count]), *x.shape[axis + count :])
    )


def divide_axis(x: Any, axis: int, size: int, operation: str) -> Any:
    """Split an axis into two, of which the first has the given size."""
    n = x.shape[axis]
    if n % size:
        raise ShapeError(
            f"{operation}: axis {axis} of shape {x.shape} cannot be divided into {size} equal parts",
            hint=f"an axis of a multiple of {size} entries: fnp.pad(x, …) makes one",
        )
    return ops.reshape(x, shape=(*x.shape[:axis], size, n // size, *x.shape[axis + 1 :]))


def matching_axis(x: Any, axis: int, size: int, operation: str) -> int:
    """Return an axis made non-negative; raise unless its size is that of the mapped one."""
    axis = normalized(axis, x.ndim)
    if x.shape[axis] != size:
        raise ShapeError(
            f"{operation}: axis {axis} of shape {x.shape} is not as long as the mapped axis, {size}",
            hint="tiled=True",
        )
    return axis


@composite()
def all_gather(
    x: PyTree, axis_name: Any, *, axis_index_groups: Groups = None, axis: int = 0, tiled: bool = False
) -> PyTree:
    """The values of all entries along a new axis.

    Args:
        axis_index_groups: as of `psum`: the values of an entry's group.
        axis: its place; where `tiled`, of the existing axis along which the values are joined.

    Raises:
        UnboundAxisError: no axis of this name is open.
        ShapeError: the groups are not a partition into equal parts.
        UnsupportedError: several axes at once.

    >>> fx.vmap(lambda x: fx.lax.all_gather(x, "i") @ fnp.array([1.0, 10.0]), axis_name="i")(fnp.array([1.0, 2.0]))
    array([21., 21.])
    """
    members = (
        None if axis_index_groups is None else members_of_groups(axis_index_groups, axis_name, "all_gather")
    )

    def gather_leaf(x: Any) -> Any:
        x = operand(x)
        at = normalized(axis, x.ndim + (not tiled))
        if members is not None:
            return merge_axes(ops.move_axis(gather_group(x, members, axis_name), 0, at), at, 1 + tiled)
        for name in reversed(axis_names(axis_name)):
            x = collective.all_gather(x, axis_name=name, axis=at)
        return merge_axes(x, at, len(axis_names(axis_name)) + tiled)

    return pytree.map(gather_leaf, x)


@composite()
def psum_scatter(
    x: PyTree,
    axis_name: Any,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: None = None,
    tiled: bool = False,
) -> PyTree:
    """The sum over a mapped axis, of which each entry gets its part: the transpose of `all_gather`.

    Args:
        x: a pytree of arrays.
        axis_name: the name of the axis.
        scatter_dimension: the axis along which the sum is divided: as long as the mapped one, and dropped; where
            `tiled`, a multiple of that.
        axis_index_groups: for JAX's signature; None.

    Raises:
        UnsupportedError: several axes at once, or groups.
        ShapeError: the axis has not the size of the mapped axis, or with `tiled` cannot be divided by it.

    >>> fx.vmap(lambda x: fx.lax.psum_scatter(x, "i"), axis_name="i")(fnp.array([[1.0, 2.0], [30.0, 40.0]]))
    array([31., 42.])
    """
    refuse_groups(axis_index_groups)
    name = single_axis_name(axis_name, "psum_scatter")
    size = axis_size(name)

    def scatter_leaf(x: Any) -> Any:
        x = operand(x)
        if tiled:
            at = normalized(scatter_dimension, x.ndim)
            x = divide_axis(x, at, size, "psum_scatter")
        else:
            at = matching_axis(x, scatter_dimension, size, "psum_scatter")
        return collective.psum_scatter(x, axis_name=name, axis=at)

    return pytree.map(scatter_leaf, x)


@composite()
def ppermute(x: PyTree, axis_name: Any, perm: Sequence[tuple[int, int]]) -> PyTree:
    """Send values between entries of a mapped axis.

    Args:
        perm: pairs (source, target); no source and no target occurs twice. Who is no target gets zeros.

    Raises:
        UnsupportedError: several axes at once.
        ShapeError: `perm` has no pairs of different entries of the axis.

    >>> fx.vmap(lambda x: fx.lax.ppermute(x, "i", [(0, 1), (1, 2)]), axis_name="i")(fnp.array([1.0, 2.0, 3.0]))
    array([0., 1., 2.])
    """
    name = single_axis_name(axis_name, "ppermute")
    size = axis_size(name)
    pairs = tuple((int(source), int(target)) for source, target in perm)
    for ends in zip(*pairs):
        if len(set(ends)) < len(ends) or not all(0 <= i < size for i in ends):
            raise ShapeError(
                f"ppermute: {list(pairs)} are not pairs of different entries of an axis of size {size}",
                hint=f"[(i, (i + 1) % {size}) for i in range({size})], say, which sends each entry to the next",
            )
    return pytree.map(lambda x: collective.ppermute(operand(x), axis_name=name, perm=pairs), x)


@composite()
def pbroadcast(x: PyTree, axis_name: Any, source: int) -> PyTree:
    """Give all entries along a mapped axis the value of one of them.

    Args:
        source: the position of that entry.

    Raises:
        ShapeError: there is no such entry.
        UnsupportedError: several axes at once.

    >>> fx.vmap(lambda x: fx.lax.pbroadcast(x, "i", 1), axis_name="i")(fnp.array([1.0, 2.0, 3.0]))
    array([2., 2., 2.])
    """
    name = single_axis_name(axis_name, "pbroadcast")
    extent, size = collective.axis_extent(name), axis_size(name)
    if not 0 <= source < size:
        raise ShapeError(
            f"pbroadcast: source {source} along {name!r}, an axis of size {size}",
            hint=f"a source from 0 to {size - 1}",
        )

    def broadcast_leaf(x: Any) -> Any:
        if type(extent) is int:
            return collective.all_gather(operand(x), axis_name=name, axis=0)[source]
        return ranks.broadcast_ranks(operand(x), axis=extent, root=source)

    return pytree.map(broadcast_leaf, x)


@composite()
def pcast(x: PyTree, axis_name: Any, *, to: str) -> PyTree:
    """Values marked as different in every entry of a mapped axis, or of several, although they are equal.

    Inside `fx.distributed.shard_map` a derivative with respect to such a value is every process's own; that with
    respect to a copy is the sum over the processes.

    Args:
        to: "varying".

    Raises:
        UnsupportedError: `to` is not "varying".

    >>> fx.vmap(lambda x: x + fx.lax.pcast(1.0, "i", to="varying"), axis_name="i")(fnp.zeros(2))
    array([1., 1.])
    """
    if to != "varying":
        raise UnsupportedError(f"pcast to {to!r}", hint='to="varying"; a collective makes values equal')
    extents = list(map(collective.axis_extent, axis_names(axis_name)))

    def vary_leaf(x: Any) -> Any:
        for extent in extents:
            if type(extent) is not int:
                x = ranks.vary(operand(x), axis=extent)
        return x

    return pytree.map(vary_leaf, x)


@composite()
def pshuffle(x: PyTree, axis_name: Any, perm: Sequence[int]) -> PyTree:
    """The values of `x`, a pytree, in another order along the mapped axis `axis_name`: entry i gets that of entry
    perm[i].

    Raises:
        ShapeError: `perm` is no permutation of the entries of the axis.

    >>> fx.vmap(lambda x: fx.lax.pshuffle(x, "i", [2, 0, 1]), axis_name="i")(fnp.array([1.0, 2.0, 3.0]))
    array([3., 1., 2.])
    """
    if sorted(perm) != list(range(axis_size(axis_name))):
        raise ShapeError(
            f"pshuffle: {list(perm)} is no permutation of {axis_size(axis_name)} entries",
            hint=f"each of range({axis_size(axis_name)}) once, in the order wanted",
        )
    return ppermute(x, axis_name, list(zip(perm, range(len(perm)))))


@composite()
def all_to_all(
    x: PyTree,
    axis_name: Any,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: None = None,
    tiled: bool = False,
) -> PyTree:
    """Exchange parts of values between all entries: every value is split along one axis into a part for each entry, and
    the parts that an entry receives are joined along another.

    Args:
        x: a pytree of arrays.
        axis_name: the name of the mapped axis.
        split_axis: as long as the mapped axis, and dropped; where `tiled`, a multiple of that.
        concat_axis: the place of the new axis; where `tiled`, of an existing one along which the parts are joined.
        axis_index_groups: for JAX's signature; None.

    Raises:
        UnsupportedError: several axes at once, or groups.
        ShapeError: `split_axis` has not the size of the mapped axis, or with `tiled` cannot be divided by it.

    >>> fx.vmap(lambda x: fx.lax.all_to_all(x, "i", 0, 0), axis_name="i")(fnp.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 3.],
           [2., 4.]])
    """
    refuse_groups(axis_index_groups)
    names, size = axis_names(axis_name), axis_size(axis_name)

    def exchange(x: Any, at: int, to: int) -> Any:
        """Exchange the parts along an axis as long as the mapped ones together."""
        if len(names) == 1:
            return collective.all_to_all(x, axis_name=names[0], split_axis=at, concat_axis=to)
        x = ops.move_axis(x, at, 0)
        x = ops.reshape(x, shape=(*map(axis_size, names), *x.shape[1:]))
        for place, name in enumerate(names):
            x = collective.all_to_all(x, axis_name=name, split_axis=place, concat_axis=place)
        return ops.move_axis(merge_axes(x, 0, len(names)), 0, to)

    def exchange_leaf(x: Any) -> Any:
        x = operand(x)
        to = normalized(concat_axis, x.ndim)
        if not tiled:
            return exchange(x, matching_axis(x, split_axis, size, "all_to_all"), to)
        at = normalized(split_axis, x.ndim)
        return merge_axes(exchange(divide_axis(x, at, size, "all_to_all"), at, to), to)

    return pytree.map(exchange_leaf, x)


@composite()
def pswapaxes(x: PyTree, axis_name: Any, axis: int, *, axis_index_groups: None = None) -> PyTree:
    """The values of `x`, a pytree, with the mapped axis `axis_name` and another `axis` of the same size exchanged;
    `axis_index_groups` is for JAX's signature and must be None.

    >>> fx.vmap(lambda x: fx.lax.pswapaxes(x, "i", 0), axis_name="i")(fnp.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 3.],
           [2., 4.]])
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


__all__ = [
    "all_gather",
    "all_to_all",
    "axis_index",
    "axis_size",
    "pbroadcast",
    "pcast",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "pshuffle",
    "psum",
    "psum_scatter",
    "pswapaxes",
]
