"""Collectives: what the entries of a mapped axis have in common, and what they give to each other.

`fx.vmap(f, axis_name="i")` names its axis; inside, `psum(x, "i")` is the sum of all entries' x. Axes may be nested: a
tuple of names stands for all of them, the first being the outermost. Operands are pytrees; what does not vary along
the axis counts as the same in every entry. Gradients follow JAX: inside the mapped function, a cotangent is that of the
sum over the entries, so that the transpose of psum is psum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from .. import numpy as fnp
from .. import ops
from ..core import pytree
from ..core.aval import SCALARS
from ..core.errors import ShapeError, UnsupportedError
from ..numpy.composite import axis_index as normalized
from ..numpy.composite import cast, composite, kind, operand
from ..ops import collective


def names(axis_name: Any) -> tuple:
    """The names of one axis or several."""
    return tuple(axis_name) if isinstance(axis_name, tuple | list) else (axis_name,)


def single(axis_name: Any, operation: str) -> Any:
    """The name of one axis."""
    if len(names(axis_name)) != 1:
        raise UnsupportedError(
            f"{operation} over several axes at once: {axis_name!r}", hint="one after the other"
        )
    return names(axis_name)[0]


def ungrouped(axis_index_groups: Any) -> None:
    if axis_index_groups is not None:
        raise UnsupportedError(
            "axis_index_groups: collectives among groups of entries",
            hint="two nested vmaps, each with a name of its own",
        )


# -- the axis ------------------------------------------
@composite()
def axis_size(axis_name: Any) -> int:
    """The size of a mapped axis, or of several together: a Python number.

    Raises:
        UnboundAxisError: no axis of this name is open.
    """
    return prod(collective.axis_size(name) for name in names(axis_name))


@composite()
def axis_index(axis_name: Any) -> Any:
    """The position of an entry along a mapped axis; along several, counted with the last one running fastest.

    >>> import fxgrad as fx, fxgrad.numpy as fnp
    >>> fx.vmap(lambda x: x + fx.lax.axis_index("i"), axis_name="i")(fnp.zeros(3))
    array([0., 1., 2.])
    """
    position: Any = 0
    for name in names(axis_name):
        position = position * axis_size(name) + collective.axis_index(axis_name=name)
    return position


# -- reductions ------------------------------------------
@composite()
def psum(x: Any, axis_name: Any, *, axis_index_groups: None = None) -> Any:
    """The sum over a mapped axis, in the operand's dtype; truth values are counted. Of a Python number it is one again:
    psum(1, "i") is the size of the axis.

    Args:
        x: a pytree of arrays.
        axis_name: the name of an axis, or a tuple of names.
        axis_index_groups: not supported.

    Raises:
        UnboundAxisError: no axis of this name is open.

    >>> import fxgrad as fx, fxgrad.numpy as fnp
    >>> fx.vmap(lambda x: x / fx.lax.psum(x, "i"), axis_name="i")(fnp.array([1.0, 3.0]))
    array([0.25, 0.75])
    """
    ungrouped(axis_index_groups)

    def total(x: Any) -> Any:
        if type(x) in SCALARS:
            return x * axis_size(axis_name)
        x = operand(x)
        if kind(x) == "b":
            x = cast(x, int)
        for name in names(axis_name):
            x = collective.psum(x, axis_name=name)
        return x

    return pytree.map(total, x)


@composite()
def pmean(x: Any, axis_name: Any, *, axis_index_groups: None = None) -> Any:
    """The mean over a mapped axis; as `psum`."""
    count = axis_size(axis_name)
    return pytree.map(lambda y: y / count, psum(x, axis_name, axis_index_groups=axis_index_groups))


def extremum(reduce: Callable[..., Any], x: Any, axis_name: Any) -> Any:
    def over_all(x: Any) -> Any:
        for name in names(axis_name):
            x = reduce(collective.all_gather(operand(x), axis_name=name, axis=0), 0)
        return x

    return pytree.map(over_all, x)


@composite()
def pmax(x: Any, axis_name: Any, *, axis_index_groups: None = None) -> Any:
    """The greatest entry along a mapped axis; as `psum`. Those that tie share the derivative."""
    ungrouped(axis_index_groups)
    return extremum(fnp.max, x, axis_name)


@composite()
def pmin(x: Any, axis_name: Any, *, axis_index_groups: None = None) -> Any:
    """The least entry along a mapped axis; as `psum`. Those that tie share the derivative."""
    ungrouped(axis_index_groups)
    return extremum(fnp.min, x, axis_name)


# -- exchange ------------------------------------------
def merged(x: Any, axis: int, count: int = 2) -> Any:
    """So many axes as one."""
    return ops.reshape(
        x, shape=(*x.shape[:axis], prod(x.shape[axis : axis + count]), *x.shape[axis + count :])
    )


def parted(x: Any, axis: int, size: int, operation: str) -> Any:
    """An axis as two, of which the first has the given size."""
    n = x.shape[axis]
    if n % size:
        raise ShapeError(
            f"{operation}: axis {axis} of shape {x.shape} cannot be divided into {size} equal parts"
        )
    return ops.reshape(x, shape=(*x.shape[:axis], size, n // size, *x.shape[axis + 1 :]))


def matching(x: Any, axis: int, size: int, operation: str) -> int:
    """An axis made non-negative, of which the size is that of the mapped one."""
    axis = normalized(axis, x.ndim)
    if x.shape[axis] != size:
        raise ShapeError(
            f"{operation}: axis {axis} of shape {x.shape} is not as long as the mapped axis, {size}",
            hint="tiled=True",
        )
    return axis


@composite()
def all_gather(
    x: Any, axis_name: Any, *, axis_index_groups: None = None, axis: int = 0, tiled: bool = False
) -> Any:
    """The values of all entries along a new axis.

    Args:
        axis: its place; where `tiled`, of the existing axis along which the values are joined.

    >>> import fxgrad as fx, fxgrad.numpy as fnp
    >>> fx.vmap(lambda x: fx.lax.all_gather(x, "i") @ fnp.array([1.0, 10.0]), axis_name="i")(fnp.array([1.0, 2.0]))
    array([21., 21.])
    """
    ungrouped(axis_index_groups)

    def gathered(x: Any) -> Any:
        x = operand(x)
        at = normalized(axis, x.ndim + (not tiled))
        for name in reversed(names(axis_name)):
            x = collective.all_gather(x, axis_name=name, axis=at)
        return merged(x, at, len(names(axis_name)) + tiled)

    return pytree.map(gathered, x)


@composite()
def psum_scatter(
    x: Any, axis_name: Any, *, scatter_dimension: int = 0, axis_index_groups: None = None, tiled: bool = False
) -> Any:
    """Of the sum over a mapped axis each entry gets its part: the transpose of `all_gather`.

    Args:
        scatter_dimension: the axis along which the sum is divided: as long as the mapped one, and dropped; where
            `tiled`, a multiple of that.

    >>> import fxgrad as fx, fxgrad.numpy as fnp
    >>> fx.vmap(lambda x: fx.lax.psum_scatter(x, "i"), axis_name="i")(fnp.array([[1.0, 2.0], [30.0, 40.0]]))
    array([31., 42.])
    """
    ungrouped(axis_index_groups)
    name = single(axis_name, "psum_scatter")
    size = axis_size(name)

    def scattered(x: Any) -> Any:
        x = operand(x)
        if tiled:
            at = normalized(scatter_dimension, x.ndim)
            x = parted(x, at, size, "psum_scatter")
        else:
            at = matching(x, scatter_dimension, size, "psum_scatter")
        return collective.psum_scatter(x, axis_name=name, axis=at)

    return pytree.map(scattered, x)


@composite()
def ppermute(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """Values sent from entry to entry.

    Args:
        perm: pairs (source, target); no source and no target occurs twice. Who is no target gets zeros.

    >>> import fxgrad as fx, fxgrad.numpy as fnp
    >>> fx.vmap(lambda x: fx.lax.ppermute(x, "i", [(0, 1), (1, 2)]), axis_name="i")(fnp.array([1.0, 2.0, 3.0]))
    array([0., 1., 2.])
    """
    name = single(axis_name, "ppermute")
    size = axis_size(name)
    pairs = tuple((int(source), int(target)) for source, target in perm)
    for ends in zip(*pairs):
        if len(set(ends)) < len(ends) or not all(0 <= i < size for i in ends):
            raise ShapeError(
                f"ppermute: {list(pairs)} are not pairs of different entries of an axis of size {size}"
            )
    return pytree.map(lambda x: collective.ppermute(operand(x), axis_name=name, perm=pairs), x)


@composite()
def pshuffle(x: Any, axis_name: Any, perm: Sequence[int]) -> Any:
    """Values in another order: entry i gets that of entry perm[i]."""
    if sorted(perm) != list(range(axis_size(axis_name))):
        raise ShapeError(f"pshuffle: {list(perm)} is no permutation of {axis_size(axis_name)} entries")
    return ppermute(x, axis_name, list(zip(perm, range(len(perm)))))


@composite()
def all_to_all(
    x: Any,
    axis_name: Any,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: None = None,
    tiled: bool = False,
) -> Any:
    """Each entry's value divided along an axis among all entries; what comes from all of them along another axis.

    Args:
        split_axis: as long as the mapped axis, and dropped; where `tiled`, a multiple of that.
        concat_axis: the place of the new axis; where `tiled`, of an existing one along which the parts are joined.

    >>> import fxgrad as fx, fxgrad.numpy as fnp
    >>> fx.vmap(lambda x: fx.lax.all_to_all(x, "i", 0, 0), axis_name="i")(fnp.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 3.],
           [2., 4.]])
    """
    ungrouped(axis_index_groups)
    name = single(axis_name, "all_to_all")
    size = axis_size(name)

    def exchanged(x: Any) -> Any:
        x = operand(x)
        to = normalized(concat_axis, x.ndim)
        if tiled:
            at = normalized(split_axis, x.ndim)
            x = parted(x, at, size, "all_to_all")
        else:
            at = matching(x, split_axis, size, "all_to_all")
        x = collective.all_to_all(x, axis_name=name, split_axis=at, concat_axis=to)
        return merged(x, to) if tiled else x

    return pytree.map(exchanged, x)


@composite()
def pswapaxes(x: Any, axis_name: Any, axis: int, *, axis_index_groups: None = None) -> Any:
    """The mapped axis and another, of the same size, in each other's place."""
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


__all__ = [
    "all_gather",
    "all_to_all",
    "axis_index",
    "axis_size",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "pshuffle",
    "psum",
    "psum_scatter",
    "pswapaxes",
]
