"""Reductions, running reductions, contractions and order under the names of jax.lax. Integers keep their dtype."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from string import ascii_letters
from typing import Any

import numpy as np

from .. import numpy as fnp
from .. import ops
from ..core import pytree
from ..core.errors import ShapeError
from ..core.interpreter import api_boundary
from ..core.shapes import as_dtype
from ..core.typing import Array, ArrayLike, DType
from ..numpy.composite import at_axis, cast, composite, dtype_of, kind, normalize_axes, normalize_axis
from ..numpy.composite import operand as array
from ..transforms.vmap import vmap
from .elementwise import add, max, min, mul


class Precision(Enum):
    """The precision of products on accelerators that have several, for programs written for JAX. Products here are
    always computed in the dtype of their operands.

    >>> fx.lax.dot(fnp.ones(2), fnp.ones(2), precision=fx.lax.Precision.HIGHEST)
    np.float64(2.0)
    """

    DEFAULT = "default"
    HIGH = "high"
    HIGHEST = "highest"


# -- over axes ------------------------------------------
def sum_dtype(x: Any) -> Any:
    """Return the dtype of a sum or product: that of the operand; truth values are counted."""
    return None if kind(x) == "b" else dtype_of(x)


@composite()
def reduce_sum(operand: ArrayLike, axes: Any) -> Array:
    """The sum along `axes` of `operand`, in its dtype: booleans and small integers do not widen, as they do for NumPy.
    It is linear.

    >>> fx.lax.reduce_sum(fnp.array([[1.0, 2.0], [3.0, 4.0]]), (0,))
    array([4., 6.])
    """
    return fnp.sum(operand, tuple(axes), sum_dtype(array(operand)))


@composite()
def reduce_prod(operand: ArrayLike, axes: Any) -> Array:
    """The product along `axes` of `operand`, in its dtype. Its derivative is right where entries are 0.

    >>> fx.lax.reduce_prod(fnp.array([[1.0, 2.0], [3.0, 4.0]]), (0,))
    array([3., 8.])
    """
    return fnp.prod(operand, tuple(axes), sum_dtype(array(operand)))


@composite()
def reduce_max(operand: ArrayLike, axes: Any) -> Array:
    """The largest entry along `axes` of `operand`; tied entries share the derivative.

    >>> fx.lax.reduce_max(fnp.array([[1.0, 2.0], [3.0, 4.0]]), (0,))
    array([3., 4.])
    """
    return fnp.max(operand, tuple(axes))


@composite()
def reduce_min(operand: ArrayLike, axes: Any) -> Array:
    """The smallest entry along `axes` of `operand`; tied entries share the derivative.

    >>> fx.lax.reduce_min(fnp.array([[1.0, 2.0], [3.0, 4.0]]), (0,))
    array([1., 2.])
    """
    return fnp.min(operand, tuple(axes))


@composite()
def reduce_and(operand: ArrayLike, axes: Any) -> Array:
    """Whether all entries of `operand` along `axes` are true; for integers, the bits that are set in all entries.

    >>> fx.lax.reduce_and(fnp.array([0b110, 0b011]), (0,)) == 0b010
    np.True_
    """
    x = array(operand)
    return fnp.all(x, tuple(axes)) if kind(x) == "b" else reduce(x, -1, ops.bitwise_and, axes)


@composite()
def reduce_or(operand: ArrayLike, axes: Any) -> Array:
    """Whether any entry of `operand` along `axes` is true; for integers, the bits that are set in any entry.

    >>> fx.lax.reduce_or(fnp.array([0b110, 0b011]), (0,)) == 0b111
    np.True_
    """
    x = array(operand)
    return fnp.any(x, tuple(axes)) if kind(x) == "b" else reduce(x, 0, ops.bitwise_or, axes)


@composite()
def reduce_xor(operand: ArrayLike, axes: Any) -> Array:
    """Whether an odd number of entries of `operand` along `axes` are true; for integers, the bits that are set in an
    odd number of entries.

    >>> fx.lax.reduce_xor(fnp.array([0b110, 0b011]), (0,)) == 0b101
    np.True_
    """
    return reduce(operand, 0, ops.bitwise_xor, axes)


MONOIDS: dict[Any, Callable[..., Any]] = {
    add: reduce_sum,
    mul: reduce_prod,
    max: reduce_max,
    min: reduce_min,
}


@api_boundary
def reduce(
    operands: ArrayLike, init_values: ArrayLike, computation: Callable[[Any, Any], Any], dimensions: Any
) -> Array:
    """Combine entries along axes by an associative and commutative function, by halves.

    Args:
        operands: an array, or a pytree of arrays of one shape that are reduced together.
        init_values: what the reduction starts from, in the same structure.
        computation: a function of two such values (without axes) to one, of which init_values is the identity.
        dimensions: the axes.

    Raises:
        ShapeError: the operands have different shapes, or not one initial value each.

    >>> fx.lax.reduce(fnp.array([[1.0, 2.0], [3.0, 4.0]]), 0.0, fnp.hypot, (1,))
    array([2.23606798, 5.        ])
    """
    leaves, structure = pytree.flatten(operands)
    rows = pytree.leaves(init_values)
    if len(rows) != len(leaves) or len({array(x).shape for x in leaves}) != 1:
        raise ShapeError(
            "reduce: the operands must have one shape, and there is one initial value for each",
            hint="fnp.broadcast_arrays(*operands), and init_values of the same containers",
        )
    leaves = [array(x) for x in leaves]
    shape = leaves[0].shape
    axes = normalize_axes(tuple(dimensions), len(shape))
    rest = tuple(i for i in range(len(shape)) if i not in axes)
    left = tuple(shape[i] for i in rest)
    first = [ops.broadcast_to(cast(array(v), dtype_of(x)), shape=(1, *left)) for v, x in zip(rows, leaves)]

    known = MONOIDS.get(computation) if len(leaves) == 1 else None
    if known is not None and all(shape[i] for i in axes):
        return pytree.unflatten(structure, [computation(first[0][0], known(leaves[0], axes))])

    def combine(a: list[Any], b: list[Any]) -> list[Any]:
        return pytree.leaves(computation(pytree.unflatten(structure, a), pytree.unflatten(structure, b)))

    for _ in range(1 + len(left)):
        combine = vmap(combine)
    count = int(np.prod([shape[i] for i in axes]))
    rows = [ops.reshape(ops.permute(x, axes=(*axes, *rest)), shape=(count, *left)) for x in leaves]
    rows = [ops.concatenate(v, x, axis=0) for v, x in zip(first, rows)]
    while (count := rows[0].shape[0]) > 1:
        half = count // 2
        pairs = combine([x[:half] for x in rows], [x[half : 2 * half] for x in rows])
        rows = (
            [ops.concatenate(y, x[2 * half :], axis=0) for y, x in zip(pairs, rows)] if count % 2 else pairs
        )
    return pytree.unflatten(structure, [x[0] for x in rows])


@composite()
def argmax(operand: ArrayLike, axis: int, index_dtype: DType) -> Array:
    """The position of the first greatest entry of `operand` along `axis`, as integers of the dtype `index_dtype`.

    >>> fx.lax.argmax(fnp.array([[1.0, 5.0], [7.0, 2.0]]), 1, int)
    array([1, 0])
    """
    return cast(fnp.argmax(array(operand), axis), as_dtype(index_dtype, "argmax", "iu"))


@composite()
def argmin(operand: ArrayLike, axis: int, index_dtype: DType) -> Array:
    """The position of the first smallest entry of `operand` along `axis`, as integers of the dtype `index_dtype`.

    >>> fx.lax.argmin(fnp.array([[1.0, 5.0], [7.0, 2.0]]), 1, int)
    array([0, 1])
    """
    return cast(fnp.argmin(array(operand), axis), as_dtype(index_dtype, "argmin", "iu"))


# -- running ------------------------------------------
def running_from_end(function: Callable[..., Any], operand: Any, axis: int, reverse: bool) -> Any:
    """Apply a running reduction from either end."""
    x = array(operand)
    axis = normalize_axis(axis, x.ndim)
    if reverse:
        x = ops.flip(x, axes=(axis,))
    y = function(x, axis)
    return ops.flip(y, axes=(axis,)) if reverse else y


@composite()
def cumsum(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """The sums of the entries of `operand` along `axis` up to each one, or with `reverse` from each one on. It is
    linear.

    >>> fx.lax.cumsum(fnp.array([1.0, 2.0, 3.0]), reverse=True)
    array([6., 5., 3.])
    """
    return running_from_end(lambda x, axis: fnp.cumsum(x, axis, sum_dtype(x)), operand, axis, reverse)


@composite()
def cumprod(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """The products of the entries of `operand` along `axis` up to each one, or with `reverse` from each one on. The
    derivative is right where entries are 0.

    >>> fx.lax.cumprod(fnp.array([1.0, 2.0, 3.0]))
    array([1., 2., 6.])
    """
    return running_from_end(lambda x, axis: fnp.cumprod(x, axis, sum_dtype(x)), operand, axis, reverse)


@composite()
def cummax(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """The greatest of the entries of `operand` along `axis` up to each one, or with `reverse` from each one on.

    >>> fx.lax.cummax(fnp.array([1.0, 3.0, 2.0]))
    array([1., 3., 3.])
    """
    return running_from_end(lambda x, axis: ops.cummax(x, axis=axis), operand, axis, reverse)


@composite()
def cummin(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """The least of the entries of `operand` along `axis` up to each one, or with `reverse` from each one on.

    >>> fx.lax.cummin(fnp.array([2.0, 3.0, 1.0]))
    array([2., 2., 1.])
    """
    return running_from_end(lambda x, axis: ops.cummin(x, axis=axis), operand, axis, reverse)


def running_logsumexp(x: Any, axis: int) -> Any:
    """Compute the running logsumexp by doubling: after k steps every entry has met the 2ᵏ entries before it.
    No maximum is taken out, so that terms of any size count as they come in."""
    step = 1
    while step < x.shape[axis]:
        first, late, early = (
            ops.getitem(x, index=at_axis(slice(*bounds), axis))
            for bounds in ((None, step), (step, None), (None, -step))
        )
        x = ops.concatenate(first, ops.logaddexp(late, early), axis=axis)
        step *= 2
    return x


@composite()
def cumlogsumexp(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
    """The logarithms log Σ exp of the entries of `operand` along `axis` up to each one, or with `reverse` from each one
    on, without overflow.

    >>> fx.lax.cumlogsumexp(fnp.array([-1000.0, 0.0, 1000.0]))
    array([-1000.,     0.,  1000.])
    """
    return running_from_end(running_logsumexp, operand, axis, reverse)


# -- contractions ------------------------------------------
def multiply_in_dtype(lhs: Any, rhs: Any, dtype: Any, product: Callable[[Any, Any], Any]) -> Any:
    """Multiply two arrays, in a preferred dtype if there is one."""
    lhs, rhs = array(lhs), array(rhs)
    if dtype is None:
        return product(lhs, rhs)
    common = np.result_type(dtype_of(lhs), dtype_of(rhs), dtype)
    return cast(product(cast(lhs, common), cast(rhs, common)), np.dtype(dtype))


@composite()
def dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: DType = None,
) -> Array:
    """Multiply two arrays and sum over some axes; others are matched, the rest comes in pairs.

    Args:
        dimension_numbers: ((axes of lhs, axes of rhs) that are summed over, the same that are matched).
        precision: has no effect.
        preferred_element_type: the dtype of the computation and of the result.

    Returns:
        An array with the matched axes first, then those left of lhs, then those left of rhs.

    Raises:
        ShapeError: two axes that are contracted or matched differ in size.

    >>> fx.lax.dot_general(fnp.ones((5, 2, 3)), fnp.ones((5, 3, 4)), (((2,), (1,)), ((0,), (0,)))).shape
    (5, 2, 4)
    """
    (summed, with_), (matched, to) = dimension_numbers

    def product(a: Any, b: Any) -> Any:
        left, right = list(ascii_letters[: a.ndim]), list(ascii_letters[a.ndim : a.ndim + b.ndim])
        for i, j in zip((*summed, *matched), (*with_, *to)):
            if a.shape[i] != b.shape[j]:
                raise ShapeError(
                    f"axis {i} of shape {a.shape} and axis {j} of shape {b.shape} differ in size",
                    hint="axes of one size in dimension_numbers, or one of the operands transposed",
                )
            right[j] = left[i]
        first = [left[i] for i in matched]
        gone = {*first, *(left[i] for i in summed)}
        out = [*first, *(c for c in left if c not in gone), *(c for c in right if c not in gone)]
        return ops.contract(a, b, spec=f"{''.join(left)},{''.join(right)}->{''.join(out)}")

    return multiply_in_dtype(lhs, rhs, preferred_element_type, product)


@composite()
def dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: DType = None,
) -> Array:
    """The product of vectors and matrices; with `dimension_numbers`, `dot_general`. It is linear in each operand.

    Args:
        lhs, rhs: arrays with one or two axes.
        dimension_numbers: see `dot_general`.
        precision: has no effect.
        preferred_element_type: the dtype of the computation and of the result.

    Raises:
        ShapeError: an operand has more than two axes, or the inner sizes differ.

    >>> fx.lax.dot(fnp.array([[1.0, 2.0], [3.0, 4.0]]), fnp.array([1.0, 10.0]))
    array([21., 43.])
    """
    if dimension_numbers is not None:
        return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)
    lhs, rhs = array(lhs), array(rhs)
    if not (1 <= lhs.ndim <= 2 and 1 <= rhs.ndim <= 2):
        raise ShapeError(
            f"dot is of vectors and matrices, not of shapes {lhs.shape} and {rhs.shape}", hint="dot_general"
        )
    return multiply_in_dtype(lhs, rhs, preferred_element_type, fnp.matmul)


@composite()
def batch_matmul(lhs: ArrayLike, rhs: ArrayLike, precision: Any = None) -> Array:
    """The products of the matrices in the last two axes of `lhs` and `rhs`; the other axes are the same in both.
    `precision` has no effect.

    Raises:
        ShapeError: the shapes do not fit; nothing is broadcast.

    >>> fx.lax.batch_matmul(fnp.ones((5, 2, 3)), fnp.ones((5, 3, 4))).shape
    (5, 2, 4)
    """
    lhs, rhs = array(lhs), array(rhs)
    if lhs.ndim != rhs.ndim or lhs.shape[:-2] != rhs.shape[:-2] or lhs.ndim < 2:
        raise ShapeError(
            f"batch_matmul of shapes {lhs.shape} and {rhs.shape}", hint="fnp.matmul, which broadcasts"
        )
    return fnp.matmul(lhs, rhs)


__all__ = [
    "Precision",
    "argmax",
    "argmin",
    "batch_matmul",
    "cumlogsumexp",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "dot",
    "dot_general",
    "reduce",
    "reduce_and",
    "reduce_max",
    "reduce_min",
    "reduce_or",
    "reduce_prod",
    "reduce_sum",
    "reduce_xor",
]
