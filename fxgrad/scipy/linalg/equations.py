"""Equations whose unknowns are matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import Array, ArrayLike, check_option, costs, ops
from ...numpy.composite import dtype_of
from ...numpy.linalg.sources import LANCASTER, cite
from ..reference import scipy_function
from .arguments import as_matrix, as_square_matrix


def broadcast_matrices(*matrices: Array) -> list[Array]:
    """Return matrices of one dtype and the same batch axes."""
    found = ops.promote_dtypes(list(matrices))
    batch = np.broadcast_shapes(*[a.shape[:-2] for a in found])
    return [ops.broadcast_to(a, shape=(*batch, *a.shape[-2:])) for a in found]


@scipy_function("linalg")
def solve_sylvester(a: ArrayLike, b: ArrayLike, q: ArrayLike) -> Array:
    """x with ax + xb = q, for matrices a (…, m, m), b (…, n, n) and q (…, m, n); NaN where it is not unique.

    By Schur's forms: R. H. Bartels and G. W. Stewart, Comm. ACM 15 (1972).

    >>> a, b = fnp.array([[1.0]]), fnp.array([[3.0]])
    >>> fx.grad(lambda a: linalg.solve_sylvester(a, b, fnp.array([[8.0]])).sum())(a)
    array([[-0.5]])
    """
    return ops.sylvester(*broadcast_matrices(as_square_matrix(a), as_square_matrix(b), as_matrix(q)))


@scipy_function("linalg")
@cite(LANCASTER)
def solve_continuous_lyapunov(a: ArrayLike, q: ArrayLike) -> Array:
    """x with ax + xaᴴ = q, for matrices (…, n, n): see `solve_sylvester`.

    >>> fx.grad(lambda a: linalg.solve_continuous_lyapunov(a, fnp.array([[8.0]])).sum())(fnp.array([[2.0]]))
    array([[-1.]])
    """
    a, q = broadcast_matrices(as_square_matrix(a), as_square_matrix(q))
    return ops.sylvester(a, ops.adjoint(a), q)


solve_lyapunov = solve_continuous_lyapunov


@scipy_function("linalg")
@cite(LANCASTER)
def solve_discrete_lyapunov(a: ArrayLike, q: ArrayLike, method: str | None = None) -> Array:
    """x with axaᴴ − x + q = 0, for matrices (…, n, n).

    Args:
        method: "direct" for one system of n² equations, "bilinear" for an equation of Sylvester's; the first is the
            default below order 10.

    Raises:
        ValueError: there is no such `method`.

    >>> fx.grad(lambda a: linalg.solve_discrete_lyapunov(a, fnp.array([[3.0]])).sum())(fnp.array([[0.5]])).round(12)
    array([[5.33333333]])
    """
    a, q = broadcast_matrices(as_square_matrix(a), as_square_matrix(q))
    n = a.shape[-1]
    method = ("direct" if n < costs.STEIN_ORDER else "bilinear") if method is None else method.lower()
    check_option("solve_discrete_lyapunov", "method", method, ("direct", "bilinear"))
    if method == "bilinear":
        return ops.solve_stein(a, q)
    batch = a.shape[:-2]
    products = a[..., :, None, :, None] * fnp.conj(a)[..., None, :, None, :]
    system = np.eye(n * n, dtype=dtype_of(a)) - ops.reshape(products, shape=(*batch, n * n, n * n))
    x = fnp.linalg.solve(system, ops.reshape(q, shape=(*batch, n * n, 1)))
    return ops.reshape(x, shape=(*batch, n, n))


def solve_riccati(a: Any, b: Any, q: Any, r: Any, e: Any, s: Any, discrete: bool) -> Any:
    """Solve Riccati's equation: e and s are taken out of it first."""
    a, q, r = as_square_matrix(a), as_square_matrix(q), as_square_matrix(r)
    b = as_matrix(b)
    if e is not None:
        inverse = fnp.linalg.inv(as_square_matrix(e))
        a, q = fnp.matmul(a, inverse), fnp.matmul(ops.adjoint(inverse), fnp.matmul(q, inverse))
        s = None if s is None else fnp.matmul(ops.adjoint(inverse), as_matrix(s))
    if s is not None:
        back = fnp.linalg.solve(ops.hermitian_part(r), ops.adjoint(as_matrix(s)))
        a, q = a - fnp.matmul(b, back), q - fnp.matmul(s, back)
    return ops.riccati(*broadcast_matrices(a, b, q, r), discrete=discrete)


@scipy_function("linalg")
@cite(LANCASTER)
def solve_continuous_are(
    a: ArrayLike,
    b: ArrayLike,
    q: ArrayLike,
    r: ArrayLike,
    e: ArrayLike | None = None,
    s: ArrayLike | None = None,
    balanced: bool = True,
) -> Array:
    """The stabilizing x with aᴴxe + eᴴxa − (eᴴxb + s)r⁻¹(bᴴxe + sᴴ) + q = 0.

    The derivative is that of the implicit function theorem, an equation of Sylvester's with the closed loop; q and r
    count by their Hermitian parts.

    Args:
        a, q, e: (…, m, m); e is the identity unless it is given.
        b, s: (…, m, n); s is zero unless it is given.
        r: (…, n, n).

    Raises:
        numpy.linalg.LinAlgError: there is no such x.

    >>> one = fnp.array([[1.0]])
    >>> fx.grad(lambda q: linalg.solve_continuous_are(0 * one, one, q, one).sum())(4 * one).round(12)
    array([[0.25]])
    """
    return solve_riccati(a, b, q, r, e, s, False)


@scipy_function("linalg")
@cite(LANCASTER)
def solve_discrete_are(
    a: ArrayLike,
    b: ArrayLike,
    q: ArrayLike,
    r: ArrayLike,
    e: ArrayLike | None = None,
    s: ArrayLike | None = None,
    balanced: bool = True,
) -> Array:
    """The stabilizing x with aᴴxa − eᴴxe − (aᴴxb + s)(r + bᴴxb)⁻¹(bᴴxa + sᴴ) + q = 0: see `solve_continuous_are`.

    >>> one = fnp.array([[1.0]])
    >>> fx.grad(lambda q: linalg.solve_discrete_are(one, one, q, one).sum())(2 * one).round(12)
    array([[1.07735027]])
    """
    return solve_riccati(a, b, q, r, e, s, True)


__all__ = [
    "solve_continuous_are", "solve_continuous_lyapunov", "solve_discrete_are", "solve_discrete_lyapunov",
    "solve_lyapunov", "solve_sylvester",
]  # fmt: skip
