"""Linear systems with operators and sparse matrices, differentiated implicitly: reverse mode keeps nothing of the
solver.

Signatures are those of jax.scipy.sparse.linalg; the keywords of scipy.sparse.linalg are accepted as well. Algorithms:
Y. Saad, Iterative Methods for Sparse Linear Systems, SIAM 2003, chapters 6, 7 and 9; `minres` has the iterates of C. C.
Paige and M. A. Saunders, SIAM J. Numer. Anal. 12 (1975).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import lax, tree
from ... import numpy as fnp
from ...extend import (
    Array,
    ArrayLike,
    LinearOperator,
    PyTree,
    ShapeError,
    StructureError,
    api_boundary,
    aval_of,
    check_option,
    linear_transpose,
    ops,
    show_public_names,
)
from ...numpy.composite import cast, dtype_of, operand
from ...numpy.linalg.matrices import as_inexact
from .arrays import coo_array, issparse

Operator = Callable[[Any], Any]


# -- operators ------------------------------------------
def operator_of(a: Any, name: str) -> Operator:
    """Return x → ax of a function, a matrix, a sparse one, or an operator of this library's or of SciPy's."""
    if issparse(a):
        sparse = coo_array(a)
        return lambda x: sparse @ x
    if isinstance(a, LinearOperator):
        return lambda x: a(x) if is_like_parameters(x, a) else a @ x
    if hasattr(a, "matvec") and hasattr(a, "rmatmat"):
        return lambda x: multiply_operator(a, x)
    if callable(a):
        return a
    matrix = operand(a)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ShapeError(
            f"{name}: the matrix has shape {matrix.shape}, which is not square",
            hint="cg of a.T @ a and a.T @ b, the normal equations",
        )
    return lambda x: fnp.matmul(matrix, x)


def is_like_parameters(x: Any, a: LinearOperator) -> bool:
    """Whether x is a pytree like the parameters of an operator, and not the vector of all their entries."""
    leaves, structure = tree.flatten(x)
    return structure == a.structure and all(aval_of(v).shape == p.shape for v, p in zip(leaves, a.avals))


def multiply_operator(a: Any, x: Any) -> Any:
    """Multiply an operator of SciPy and a vector, or the columns of a matrix."""
    columns = ops.reshape(x, shape=(x.shape[0], 1)) if x.ndim == 1 else x
    y = ops.operator_product(columns, operator=a, transposed=False)
    return ops.reshape(y, shape=y.shape[:1]) if x.ndim == 1 else y


def transposed_operator(apply: Operator) -> Operator:
    """Return x → aᵀx of x → ax."""
    return lambda x: linear_transpose(apply, x)(x)[0]


def dtype_of_operator(a: Any) -> tuple[Any, ...]:
    """Return the dtype of a matrix, with which that of a right-hand side is promoted."""
    if issparse(a) or hasattr(a, "dtype"):
        return (np.dtype(a.dtype),)
    return () if callable(a) else (dtype_of(operand(a)),)


# -- vectors that are pytrees ------------------------------------------
def inner(x: PyTree, y: PyTree) -> Any:
    """Return xᴴy."""
    return sum(fnp.vdot(a, b) for a, b in zip(tree.leaves(x), tree.leaves(y)))


def squared_norm(x: PyTree) -> Any:
    """Return ‖x‖²."""
    return fnp.real(inner(x, x))


def add_multiple(x: PyTree, factor: Any, y: PyTree) -> PyTree:
    """Return x + factor·y in the dtype of x."""
    return tree.map(lambda a, b: cast(a + factor * b, dtype_of(a)), x, y)


def subtract(x: PyTree, y: PyTree) -> PyTree:
    """Return x − y."""
    return tree.map(ops.subtract, x, y)


def quotient(x: Any, y: Any) -> Any:
    """Return x/y, and 0 where y is zero: there the iteration has nothing left to do, or breaks down."""
    zero = ops.equal(y, 0)
    return ops.where(zero, 0, x / ops.where(zero, 1, y))


# -- the common frame ------------------------------------------
def solve_iteratively(
    name: str,
    iterate: Callable[..., Any],
    a: Any,
    b: PyTree,
    x0: PyTree | None,
    tolerances: tuple[float, float],
    maxiter: int | None,
    preconditioner: Any,
    symmetric: bool,
) -> tuple[PyTree, Any]:
    """Solve ax = b by iterate(apply, precondition, b, start, threshold, steps) → (x, info)."""
    apply = operator_of(a, name)
    precondition = (lambda x: x) if preconditioner is None else operator_of(preconditioner, f"{name}: M")
    wider = dtype_of_operator(a)
    b = tree.map(lambda x: as_inexact(operand(x)), b)
    b = tree.map(lambda x: cast(x, np.result_type(dtype_of(x), *wider)), b)
    start = tree.map(ops.zeros_like, b) if x0 is None else tree.map(operand, x0)
    if tree.structure(start) != tree.structure(b) or any(
        aval_of(x).shape != aval_of(y).shape for x, y in zip(tree.leaves(start), tree.leaves(b))
    ):
        raise StructureError(
            f"{name}: x0 and b must have matching structure and shapes: {start} vs {b}",
            hint="x0=None, which begins at zero",
        )
    start = tree.map(lambda x, y: cast(ops.stop_gradient(x), dtype_of(y)), start, b)
    relative, absolute = tolerances
    size = sum(aval_of(x).size for x in tree.leaves(b))
    steps = 10 * size if maxiter is None else int(maxiter)

    def solver(precondition: Operator) -> Callable[[Operator, Any], Any]:
        def solve(apply: Operator, right: Any) -> Any:
            threshold = fnp.maximum(relative**2 * squared_norm(right), absolute**2)
            return iterate(apply, precondition, right, start, threshold, steps)

        return solve

    backward = precondition if preconditioner is None else transposed_operator(precondition)
    real = all(dtype_of(x).kind != "c" for x in tree.leaves(b))
    return lax.custom_linear_solve(
        apply,
        b,
        solver(precondition),
        None if symmetric and real else solver(backward),
        symmetric=symmetric and real,
        has_aux=True,
    )


def count_steps(steps: Any, rest: Any, threshold: Any) -> Any:
    """Return 0 where the threshold is reached, otherwise the number of steps."""
    return ops.where(ops.less_equal(rest, threshold), 0, steps)


def choose_tolerance(tol: float, rtol: float | None) -> float:
    """Return the relative tolerance, by JAX's word or SciPy's."""
    return tol if rtol is None else rtol


def repeat(step: Callable[[Any], Any], state: Any, threshold: Any, steps: int) -> tuple[Any, Any]:
    """Repeat a step of a state (x, residual, …, number of steps) until the residual is small enough."""

    def unfinished(state: Any) -> Any:
        return ops.logical_and(ops.greater(squared_norm(state[1]), threshold), ops.less(state[-1], steps))

    x, r, *_, k = lax.while_loop(unfinished, step, state)
    return x, count_steps(k, squared_norm(r), threshold)


# -- conjugate gradients ------------------------------------------
@api_boundary
def cg(
    A: Any,
    b: PyTree,
    x0: PyTree | None = None,
    *,
    tol: float = 1e-5,
    rtol: float | None = None,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[PyTree, Any]:
    """x with Ax = b for a Hermitian positive definite A, by conjugate gradients.

    The derivative is that of a solution, in b and in all that A closes over, in both modes and to any order; the
    systems of derivatives are solved as this one is, to the same tolerance.

    Args:
        A: a function x → Ax of pytrees like b, a matrix, a sparse one, a `fx.LinearOperator`, or one of SciPy's, which
            is constant.
        b: an array, or a pytree of them.
        x0: where the iteration starts; zeros unless it is given. No derivative depends on it.
        tol, atol: it ends when ‖b − Ax‖ ≤ max(tol·‖b‖, atol); `rtol` is SciPy's word for `tol`.
        maxiter: the greatest number of steps; ten times the number of unknowns unless it is given.
        M: what A is: x → Mx with M near A⁻¹.

    Returns:
        (x, info): info is 0, or the number of steps where the tolerance was not reached.

    >>> b = fnp.array([1.0, 8.0])
    >>> fx.grad(lambda d: fnp.sum(linalg.cg(lambda x: d * x, b)[0]))(fnp.array([1.0, 2.0])).round(6)
    array([-1., -2.])
    """
    rule = (choose_tolerance(tol, rtol), atol)
    return solve_iteratively("cg", iterate_cg, A, b, x0, rule, maxiter, M, True)


def iterate_cg(
    apply: Operator, precondition: Operator, b: Any, start: Any, threshold: Any, steps: int
) -> Any:
    """Do what `cg` says."""
    residual = subtract(b, apply(start))
    z = precondition(residual)

    def step(state: Any) -> Any:
        x, r, p, gamma, k = state
        along = apply(p)
        alpha = quotient(gamma, inner(p, along))
        x, r = add_multiple(x, alpha, p), add_multiple(r, -alpha, along)
        z = precondition(r)
        after = inner(r, z)
        return x, r, add_multiple(z, quotient(after, gamma), p), after, k + 1

    state = (start, residual, z, inner(residual, z), np.int32(0))
    return repeat(step, state, threshold, steps)


# -- bicgstab ------------------------------------------
@api_boundary
def bicgstab(
    A: Any,
    b: PyTree,
    x0: PyTree | None = None,
    *,
    tol: float = 1e-5,
    rtol: float | None = None,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[PyTree, Any]:
    """x with Ax = b for any regular A, by stabilized biconjugate gradients: see `cg` for arguments and results.

    H. A. van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992).

    >>> a = fnp.array([[2.0, 1.0], [0.0, 4.0]])
    >>> fx.grad(lambda b: fnp.sum(linalg.bicgstab(a, b)[0]))(fnp.ones(2)).round(6)
    array([0.5  , 0.125])
    """
    rule = (choose_tolerance(tol, rtol), atol)
    return solve_iteratively("bicgstab", iterate_bicgstab, A, b, x0, rule, maxiter, M, False)


def iterate_bicgstab(
    apply: Operator, precondition: Operator, b: Any, start: Any, threshold: Any, steps: int
) -> Any:
    """Do what `bicgstab` says, preconditioned from the right."""
    residual = subtract(b, apply(start))
    one = ops.full_like(inner(residual, residual), value=1)

    def step(state: Any) -> Any:
        x, r, p, v, rho, alpha, omega, k = state
        after = inner(residual, r)
        beta = quotient(after, rho) * quotient(alpha, omega)
        p = add_multiple(r, beta, add_multiple(p, -omega, v))
        p_hat = precondition(p)
        v = apply(p_hat)
        alpha = quotient(after, inner(residual, v))
        s = add_multiple(r, -alpha, v)
        s_hat = precondition(s)
        t = apply(s_hat)
        omega = quotient(inner(t, s), inner(t, t))
        x = add_multiple(add_multiple(x, alpha, p_hat), omega, s_hat)
        return x, add_multiple(s, -omega, t), p, v, after, alpha, omega, k + 1

    nothing = tree.map(ops.zeros_like, b)
    state = (start, residual, nothing, nothing, one, one, one, np.int32(0))
    return repeat(step, state, threshold, steps)


# -- gmres ------------------------------------------
@api_boundary
def gmres(
    A: Any,
    b: PyTree,
    x0: PyTree | None = None,
    *,
    tol: float = 1e-5,
    rtol: float | None = None,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Any = None,
    solve_method: str = "batched",
) -> tuple[PyTree, Any]:
    """x with Ax = b for any regular A, by generalized minimal residuals: see `cg` for arguments and results.

    Y. Saad and M. H. Schultz, SIAM J. Sci. Stat. Comput. 7 (1986), preconditioned from the right.

    Args:
        restart: the dimension of the Krylov space in which a residual is least, before another is built.
        maxiter: the greatest number of such spaces.
        solve_method: "batched" or "incremental", which are one here.

    >>> a = fnp.array([[2.0, 1.0], [0.0, 4.0]])
    >>> fx.grad(lambda b: fnp.sum(linalg.gmres(a, b)[0]))(fnp.ones(2)).round(6)
    array([0.5  , 0.125])
    """
    check_option("gmres", "solve_method", solve_method, ("batched", "incremental"))

    def iterate(*args: Any) -> Any:
        return iterate_gmres(restart, *args)

    rule = (choose_tolerance(tol, rtol), atol)
    return solve_iteratively("gmres", iterate, A, b, x0, rule, maxiter, M, False)


def iterate_gmres(
    restart: int, apply: Operator, precondition: Operator, b: Any, start: Any, threshold: Any, steps: int
) -> Any:
    """Do what `gmres` says."""
    flat, unravel = tree.ravel_pytree(b)
    first, _ = tree.ravel_pytree(start)
    n, dtype = flat.shape[0], dtype_of(flat)
    m = max(min(restart, n), 1)

    def product(v: Any) -> Any:
        return cast(tree.ravel_pytree(apply(unravel(v)))[0], dtype)

    def prepared(v: Any) -> Any:
        return cast(tree.ravel_pytree(precondition(unravel(v)))[0], dtype)

    def unfinished(state: Any) -> Any:
        return ops.logical_and(ops.greater(squared_norm(state[1]), threshold), ops.less(state[2], steps))

    def extend(j: Any, state: Any) -> Any:
        """Add a vector to the orthonormal basis of the space, and a column to the matrix of A in it."""
        basis, matrix = state
        w = product(prepared(basis[:, j]))
        column = fnp.zeros(m + 1, dtype)
        for _ in range(2):  # once is not enough: L. Giraud et al., Numer. Math. 101 (2005)
            h = fnp.matmul(fnp.conj(basis.T), w)
            w, column = w - fnp.matmul(basis, h), column + h
        size = fnp.sqrt(squared_norm(w))
        column = fnp.at(column)[j + 1].add(cast(size, dtype))
        basis = fnp.at(basis)[:, j + 1].set(quotient(w, cast(size, dtype)))
        return basis, fnp.at(matrix)[:, j].set(column)

    def step(state: Any) -> Any:
        x, r, k = state
        size = cast(fnp.sqrt(squared_norm(r)), dtype)
        basis = fnp.at(ops.zeros_like(r)[:, None] * fnp.zeros((1, m + 1), dtype))[:, 0].set(quotient(r, size))
        basis, matrix = lax.fori_loop(0, m, extend, (basis, fnp.zeros((m + 1, m), dtype)))
        right = fnp.concatenate([size[None], fnp.zeros(m, dtype)])[:, None]
        y = ops.lstsq(matrix, right, rcond=float(np.finfo(dtype).eps))[:, 0]
        x = x + prepared(fnp.matmul(basis[:, :m], y))
        return x, flat - product(x), k + 1

    x, r, k = lax.while_loop(unfinished, step, (first, flat - product(first), np.int32(0)))
    return unravel(x), count_steps(k, squared_norm(r), threshold)


# -- minres ------------------------------------------
@api_boundary
def minres(
    A: Any,
    b: PyTree,
    x0: PyTree | None = None,
    *,
    tol: float = 1e-5,
    rtol: float | None = None,
    atol: float = 0.0,
    maxiter: int | None = None,
) -> tuple[PyTree, Any]:
    """x with Ax = b for a Hermitian A that need not be definite, by minimal residuals: see `cg`.

    >>> b = fnp.array([1.0, 8.0])
    >>> fx.grad(lambda d: fnp.sum(linalg.minres(lambda x: d * x, b)[0]))(fnp.array([1.0, -2.0])).round(6)
    array([-1., -2.])
    """
    rule = (choose_tolerance(tol, rtol), atol)
    return solve_iteratively("minres", iterate_minres, A, b, x0, rule, maxiter, None, True)


def iterate_minres(
    apply: Operator, precondition: Operator, b: Any, start: Any, threshold: Any, steps: int
) -> Any:
    """Do what `minres` says: directions p whose images Ap are orthonormal, which the last two see to."""
    residual = subtract(b, apply(start))
    nothing = tree.map(ops.zeros_like, b)
    smallest = max((float(np.finfo(dtype_of(x)).eps) for x in tree.leaves(b)), default=0.0)

    def normalize(p: Any, image: Any, whole: Any) -> tuple[Any, Any]:
        """Return a direction with an image of length one, or zeros where that is a rounding error of a whole."""
        size, most = (fnp.sqrt(squared_norm(v)) for v in (image, whole))
        scale = quotient(1.0, ops.where(ops.greater(size, 8 * smallest * most), size, 0.0))
        return add_multiple(nothing, scale, p), add_multiple(nothing, scale, image)

    def step(state: Any) -> Any:
        x, r, p, image, before, image_before, k = state
        alpha = inner(image, r)
        x, r = add_multiple(x, alpha, p), add_multiple(r, -alpha, image)
        q, whole = image, apply(image)
        image_q = whole
        for v, image_v in ((p, image), (before, image_before)):
            beta = inner(image_v, image_q)
            q, image_q = add_multiple(q, -beta, v), add_multiple(image_q, -beta, image_v)
        return x, r, *normalize(q, image_q, whole), p, image, k + 1

    image = apply(residual)
    state = (start, residual, *normalize(residual, image, image), nothing, nothing, np.int32(0))
    return repeat(step, state, threshold, steps)


# -- factors ------------------------------------------
@api_boundary
def spsolve(A: Any, b: ArrayLike, permc_spec: str | None = None, use_umfpack: bool = True) -> Array:
    """x with Ax = b for a sparse matrix A and b (n,) or (n, k), by SuperLU.

    Args:
        A: a sparse array of SciPy, which is constant, or a `coo_array` or `fx.SparseMatrix`, in whose entries there
            is a derivative.
        permc_spec, use_umfpack: accepted, and of no effect.

    Raises:
        numpy.linalg.LinAlgError: A is singular.

    >>> def solution(data):
    ...     return sparse.linalg.spsolve(sparse.coo_array((data, ([0, 1], [0, 1]))), fnp.array([2.0, 4.0]))
    >>> fx.jacobian(solution)(fnp.array([2.0, 4.0])) + 0.0
    array([[-0.5 ,  0.  ],
           [ 0.  , -0.25]])
    """
    a, b = coo_array(A), as_inexact(operand(b))
    if a.shape[0] != a.shape[1] or b.ndim not in (1, 2) or b.shape[0] != a.shape[1]:
        raise ShapeError(
            f"spsolve: a matrix of shape {a.shape} and a right-hand side of shape {b.shape}",
            hint="a square matrix [n, n], and b [n] or [n, k]",
        )
    columns = ops.reshape(b, shape=(b.shape[0], 1)) if b.ndim == 1 else b
    x = ops.sparse_solve(as_inexact(a.data), a.row, a.col, columns, shape=a.shape)
    return ops.reshape(x, shape=b.shape)


def factorized(A: Any) -> Callable[[ArrayLike], Array]:
    """Return the function b → A⁻¹b of a sparse matrix: see `spsolve`."""
    return lambda b: spsolve(A, b)


__all__ = ["bicgstab", "cg", "factorized", "gmres", "minres", "spsolve"]

show_public_names(__name__)
