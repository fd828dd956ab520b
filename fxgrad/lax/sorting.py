"""Sorting along an axis under the names of jax.lax. NaN is the greatest of numbers; derivatives follow the
entries."""

from __future__ import annotations

from typing import Any, overload

from .. import ops
from ..core.errors import ShapeError
from ..core.typing import Array, ArrayLike
from ..numpy.composite import at_axis, composite, normalize_axis
from ..numpy.composite import operand as array


@overload
def sort(
    operand: tuple[ArrayLike, ...] | list[Any], dimension: int = -1, is_stable: bool = True, num_keys: int = 1
) -> tuple[Array, ...]: ...
@overload
def sort(operand: ArrayLike, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Array: ...
@composite()
def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Entries in ascending order along an axis; equal ones keep their order.

    Args:
        operand: an array, or a sequence of arrays of one shape: these are all put in the order of the first one.
        dimension: the axis.
        is_stable: has no effect, since sorting always is.
        num_keys: how many of the arrays decide: where entries of the first are equal, the second, and so on.

    Returns:
        An array, or a tuple of them.

    Raises:
        ShapeError: the arrays have different shapes, or there are fewer than `num_keys`.

    >>> fx.lax.sort((fnp.array([1, 0, 1]), fnp.array([3.0, 2.0, 1.0])), num_keys=2)
    (array([0, 1, 1]), array([2., 1., 3.]))
    """
    if not isinstance(operand, tuple | list):
        x = array(operand)
        return ops.sort(x, axis=normalize_axis(dimension, x.ndim))
    arrays = [array(x) for x in operand]
    if len({x.shape for x in arrays}) != 1 or not 1 <= num_keys <= len(arrays):
        raise ShapeError(
            f"sort takes arrays of one shape and 1 to {len(arrays)} keys, not {num_keys}",
            hint="num_keys=1, the default, and fnp.broadcast_arrays(*operand)",
        )
    axis = normalize_axis(dimension, arrays[0].ndim)
    *others, last = arrays[:num_keys]
    order = ops.argsort(last, axis=axis)
    for key in reversed(others):
        order = ops.take_along(order, ops.argsort(ops.take_along(key, order, axis), axis=axis), axis)
    return tuple(ops.take_along(x, order, axis) for x in arrays)


@composite()
def sort_key_val(
    keys: ArrayLike, values: ArrayLike, dimension: int = -1, is_stable: bool = True
) -> tuple[Array, ...]:
    """The pair of the keys in ascending order and the values in the same order.

    Args:
        keys, values: arrays of one shape.
        dimension: the axis.
        is_stable: has no effect, since sorting always is.

    >>> fx.lax.sort_key_val(fnp.array([3, 1, 2]), fnp.array([30.0, 10.0, 20.0]))
    (array([1, 2, 3]), array([10., 20., 30.]))
    """
    return sort((keys, values), dimension, is_stable)


@composite()
def top_k(operand: ArrayLike, k: int, *, axis: int = -1) -> tuple[Any, Any]:
    """The pair of the k largest entries along an axis in descending order, and their positions; of equal entries the
    first comes first. The derivative of the values goes to these entries.

    Args:
        operand: an array.
        k: how many, a static integer.
        axis: the axis.

    Raises:
        ShapeError: the axis has fewer than `k` entries.

    >>> fx.lax.top_k(fnp.array([1.0, 3.0, 2.0]), 2)
    (array([3., 2.]), array([1, 2]))
    """
    x = array(operand)
    axis = normalize_axis(axis, x.ndim)
    n = x.shape[axis]
    if not 0 <= k <= n:
        raise ShapeError(f"top_k: the {k} greatest of an axis of size {n}", hint=f"k={n} for all of them")
    # Read backwards twice, so that equal entries keep their order in a descending one.
    ascending = ops.argsort(ops.flip(x, axes=(axis,)), axis=axis)
    last = ops.getitem(ascending, index=at_axis(slice(n - k, None), axis))
    positions = ops.subtract(n - 1, ops.flip(last, axes=(axis,)))
    return ops.take_along(x, positions, axis), positions


__all__ = ["sort", "sort_key_val", "top_k"]
