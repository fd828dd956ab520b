"""Linear systems, inverses and powers."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from ... import ops
from ...core.aval import aval_of
from ...core.errors import ConcretizationError, LinAlgError, ShapeError, StructureError, UnsupportedError
from ...core.interpreter import concretize
from ...core.typing import Array, ArrayLike, Arrays
from ...ops.contraction import LETTERS
from .. import contraction, manipulation
from ..composite import cast, composite, operand
from ..documentation import NO_DERIVATIVE
from ..reductions import count_nonzero, max, squared_modulus, sum
from .decompositions import eigvalsh, svdvals
from .matrices import (
    as_inexact,
    as_matrix,
    as_square_matrix,
    batch_identity,
    hermitian_matrix,
    machine_epsilon,
    relative_roundoff,
)
from .sources import GILES, cite


def solve_broadcast(primitive: Any, a: Any, b: Any, factors: Any = None, **params: Any) -> Any:
    """Apply `primitive` to matrices and right-hand sides whose batch axes broadcast. Each matrix is factored once,
    unless its factors are given."""
    ndim = b.ndim
    if factors is None:
        factors = ops.factors_of(a) if primitive is ops.solve else ()
    if a.ndim == 2 and ndim > 2:
        wide = ops.permute(b, axes=(ndim - 2, ndim - 1, *range(ndim - 2)))
        x = primitive(
            a, ops.reshape(wide, shape=(b.shape[-2], size_product(wide.shape[1:]))), *factors, **params
        )
        x = ops.reshape(x, shape=(x.shape[0], *wide.shape[1:]))
        return ops.permute(x, axes=(*range(2, ndim), 0, 1))
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if a.shape[:-2] != batch or b.shape[:-2] != batch:
        added = len(a.shape) - 2
        factors = [ops.broadcast_to(x, shape=(*batch, *aval_of(x).shape[added:])) for x in factors]
        a, b = (ops.broadcast_to(x, shape=(*batch, *x.shape[-2:])) for x in (a, b))
    return primitive(a, b, *factors, **params)


@composite(np.linalg.solve)
@cite(GILES)
def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """x with ax = b, for matrices a (…, n, n) and b (…, n, k), or a vector b (n,).

    Raises:
        numpy.linalg.LinAlgError: a matrix is singular.

    >>> a, b = fnp.array([[2.0, 0.0], [0.0, 4.0]]), fnp.array([2.0, 4.0])
    >>> fx.grad(lambda a: fnp.linalg.solve(a, b).sum())(a)
    array([[-0.5 , -0.5 ],
           [-0.25, -0.25]])
    """
    a, b = ops.promote_dtypes([as_square_matrix(a), as_inexact(operand(b))])
    vector = b.ndim == 1
    x = solve_broadcast(ops.solve, a, ops.reshape(b, shape=(*b.shape, 1)) if vector else b)
    return ops.reshape(x, shape=x.shape[:-1]) if vector else x


@composite(np.linalg.inv)
@cite(GILES)
def inv(a: ArrayLike) -> Array:
    """The inverses of matrices (…, n, n).

    Raises:
        numpy.linalg.LinAlgError: a matrix is singular.

    >>> fx.grad(lambda a: fnp.linalg.inv(a).sum())(fnp.array([[2.0, 0.0], [0.0, 4.0]]))
    array([[-0.25  , -0.125 ],
           [-0.125 , -0.0625]])
    """
    return ops.inv(as_square_matrix(a), strict=True)


UNSET: Any = object()


def cutoff(a: Any, rcond: Any, rtol: Any) -> float:
    """Return the part of the greatest singular value up to which NumPy's `pinv` takes others for zeros."""
    if rcond is not None and rtol is not UNSET:
        raise StructureError("both rtol= and rcond= are given", hint="rtol= alone")
    if rcond is None:
        rcond = 1e-15 if rtol is UNSET else relative_roundoff(a) if rtol is None else rtol
    if np.ndim(rcond):
        raise UnsupportedError("pinv: an array of tolerances, one for each matrix", hint="one number for all")
    return float(rcond)


@composite(np.linalg.pinv)
def pinv(a: ArrayLike, rcond: Any = None, hermitian: bool = False, *, rtol: Any = UNSET) -> Array:
    """The pseudo-inverses (Moore and Penrose) of matrices (…, m, n).

    Its derivative (Golub and Pereyra 1973) is that along directions that keep the rank. Singular values may repeat.

    Args:
        rcond, rtol: singular values up to this part of the greatest count as zeros.
        hermitian: a is Hermitian; its lower triangle is read.

    Raises:
        ValueError: both `rcond` and `rtol` are given.
        UnsupportedError: the tolerance is an array.

    >>> fx.grad(lambda a: fnp.linalg.pinv(a).sum())(fnp.array([[1.0], [1.0]]))
    array([[-0.5],
           [-0.5]])
    """
    a = hermitian_matrix(a) if hermitian else as_matrix(a)
    rcond = cutoff(a, rcond, rtol)
    return (
        ops.lstsq(a, batch_identity(a, a.shape[-2]), *ops.singular_factors_of(a), rcond=rcond)
        if a.size
        else manipulation.matrix_transpose(a)
    )


@composite(np.linalg.lstsq)
def lstsq(a: ArrayLike, b: ArrayLike, rcond: Any = None) -> tuple[Array, Array, Array, Array]:
    """The shortest x among those that minimize ‖ax − b‖, for a matrix a (m, n) and b (m,) or (m, k).

    The derivative is that along directions that keep the rank of a (Golub and Pereyra 1973).

    Args:
        rcond: singular values up to this part of the greatest count as zeros; None stands for ε·max(m, n), a negative
            number for ε.

    Returns:
        (x, sums of squared residuals, rank, singular values). As in NumPy the second is empty if m ≤ n or the rank is
        less than n; under `jit` and `vmap`, where the rank is not known, it has its entries if m > n.

    Raises:
        LinAlgError: the operands are no matrices, or their rows differ in number.

    >>> a, b = fnp.array([[1.0], [1.0], [1.0], [1.0]]), fnp.array([1.0, 3.0, 5.0, 3.0])
    >>> fx.grad(lambda b: fnp.linalg.lstsq(a, b)[0][0])(b).round(12)
    array([0.25, 0.25, 0.25, 0.25])
    """
    a, b = ops.promote_dtypes([as_matrix(a), as_inexact(operand(b))])
    vector = b.ndim == 1
    b = ops.reshape(b, shape=(*b.shape, 1)) if vector else b
    if a.ndim != 2 or b.ndim != 2:
        raise LinAlgError(
            f"lstsq: a has shape {a.shape} and b {b.shape}, expected matrices",
            hint="fx.vmap(fnp.linalg.lstsq) for several systems",
        )
    m, n = a.shape
    if b.shape[0] != m:
        raise LinAlgError(f"lstsq: a has {m} rows and b {b.shape[0]}", hint=f"b of {m} rows")
    rcond = relative_roundoff(a) if rcond is None else machine_epsilon(a) if rcond < 0 else float(rcond)
    x, s = ops.lstsq(a, b, *ops.singular_factors_of(a), rcond=rcond), svdvals(a)
    rank = cast(count_nonzero(ops.greater(s, s[:1] * rcond)), np.int32)
    try:
        full = concretize(rank, "the rank") == n
    except ConcretizationError:
        full = True
    residuals = sum(squared_modulus(b - contraction.matmul(a, x)), 0) if full and m > n else s[:0]
    return ops.reshape(x, shape=(n,)) if vector else x, residuals, rank, s


def align_tolerance(tolerance: Any) -> Any:
    """Align a tolerance, for all matrices or for each of them, with singular values."""
    scalar = isinstance(tolerance, int | float)
    return float(tolerance) if scalar else manipulation.expand_dims(operand(tolerance), -1)


@composite(np.linalg.matrix_rank, derivative=NO_DERIVATIVE)
def matrix_rank(A: ArrayLike, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Array:
    """The number of singular values above a tolerance, an integer.

    Raises:
        ValueError: both `tol` and `rtol` are given.

    >>> fnp.linalg.matrix_rank(fnp.array([[1.0, 2.0], [2.0, 4.0]]))
    np.int64(1)
    """
    if rtol is not None and tol is not None:
        raise StructureError(
            "matrix_rank: both tol= and rtol= are given",
            hint="rtol=, relative to the greatest singular value, or tol=, absolute",
        )
    a = ops.stop_gradient(as_inexact(operand(A)))
    if a.ndim < 2:
        return cast(ops.reduce_any(ops.not_equal(a, 0), axes=tuple(range(a.ndim))), np.intp)
    s = ops.absolute(eigvalsh(a)) if hermitian else svdvals(a)
    if tol is None:
        tol = max(s, -1, keepdims=True, initial=0) * align_tolerance(
            relative_roundoff(a) if rtol is None else rtol
        )
    else:
        tol = align_tolerance(tol)
    return count_nonzero(ops.greater(s, tol), -1)


@composite(np.linalg.matrix_power)
@cite(GILES)
def matrix_power(a: ArrayLike, n: int) -> Array:
    """The n-th power of matrices, by repeated squaring; for n < 0, of the inverse.

    >>> fx.grad(lambda a: fnp.linalg.matrix_power(a, 3)[0, 0])(fnp.array([[1.0, 1.0], [0.0, 1.0]]))
    array([[3., 0.],
           [3., 0.]])
    """
    n = operator.index(n)
    a = operand(a) if n >= 0 else inv(a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        as_square_matrix(a)  # raises
    result, n = None, abs(n)
    while n:
        if n & 1:
            result = a if result is None else contraction.matmul(result, a)
        n >>= 1
        a = contraction.matmul(a, a) if n else a
    return batch_identity(a, a.shape[-1]) if result is None else result


@composite(np.linalg.multi_dot)
def multi_dot(arrays: Arrays, *, out: Any = None) -> Array:
    """The product of matrices in the order with the fewest multiplications; the first and the last may be vectors.

    Raises:
        ValueError: there are fewer than two arrays.
        LinAlgError: an array has not two axes; the first and the last may have one.

    >>> fnp.linalg.multi_dot([fnp.array([1.0, 2.0]), fnp.eye(2), fnp.array([3.0, 4.0])])
    np.float64(11.0)
    """
    factors = [operand(x) for x in arrays]
    if len(factors) < 2:
        raise StructureError(f"multi_dot: {len(factors)} factors", hint="two matrices or more")
    letters = [LETTERS[i : i + 2] for i in range(len(factors))]
    if factors[0].ndim == 1:
        letters[0] = letters[0][1:]
    if factors[-1].ndim == 1:
        letters[-1] = letters[-1][:1]
    for x, ends in zip(factors, letters):
        if x.ndim != len(ends):
            raise LinAlgError(
                f"multi_dot: a factor of shape {x.shape}, expected {len(ends)} axes",
                hint="fnp.matmul, whose operands may be stacks of matrices",
            )
    result = letters[0][:-1] + letters[-1][1:]
    return contraction.einsum(f"{','.join(letters)}->{result}", *factors, optimize="dp")


def size_product(sizes: Any) -> int:
    return reduce(operator.mul, sizes, 1)


@composite(np.linalg.tensorsolve)
def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """The x with tensordot(a, x, x.ndim) = b; `axes` of a are moved to its end first. LinAlgError if a is singular.

    Raises:
        LinAlgError: `a` is no square matrix of the axes of `b`.

    >>> fnp.linalg.tensorsolve(2 * fnp.eye(4).reshape(2, 2, 2, 2), fnp.ones((2, 2)))
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    a, b = as_inexact(operand(a)), as_inexact(operand(b))
    if axes is not None:
        a = manipulation.moveaxis(a, tuple(axes), tuple(range(a.ndim - len(axes), a.ndim)))
    shape = a.shape[b.ndim :]
    if a.size != size_product(shape) ** 2:
        raise LinAlgError(
            f"tensorsolve: a of shape {a.shape} and b of shape {b.shape} make no square system",
            hint="a whose first and last axes have equally many entries",
        )
    x = solve(ops.reshape(a, shape=(size_product(shape),) * 2), ops.reshape(b, shape=(b.size,)))
    return ops.reshape(x, shape=shape)


@composite(np.linalg.tensorinv)
def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """The inverse with respect to tensordot(a, b, ind): the first `ind` axes of a are its rows. LinAlgError if a is
    singular.

    Raises:
        ValueError: `ind` is not positive.

    >>> fnp.linalg.tensorinv(2 * fnp.eye(2), ind=1)
    array([[0.5, 0. ],
           [0. , 0.5]])
    """
    a = as_inexact(operand(a))
    if ind <= 0:
        raise ShapeError(f"tensorinv: ind={ind}", hint=f"ind={a.ndim // 2}")
    rows, cols = a.shape[:ind], a.shape[ind:]
    inverse = inv(ops.reshape(a, shape=(size_product(rows), size_product(cols))))
    return ops.reshape(inverse, shape=(*cols, *rows))


__all__ = [
    "inv", "lstsq", "matrix_power", "matrix_rank", "multi_dot", "pinv", "solve", "tensorinv", "tensorsolve",
]  # fmt: skip
