"""torch.linalg: systems of equations, inverses, determinants and norms. Matrices are in the last two dimensions.

`decompositions` has the decompositions. Differences from torch: derivatives of singular values and eigenvectors at
repeated values are finite or NaN, like the derivative of the whole function (see `fxgrad.ops.spectral`); the derivative
of det is correct for singular matrices of any rank.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import ConcretizationError, aval_of, concretize, is_differentiable, kind_of, ops
from ...numpy.composite import normalize_axes
from ...numpy.reductions import keep_reduced_axes
from .._core.dtypes import as_numpy_dtype, finfo, from_numpy_dtype, short_name
from .._core.error_messages import matrix_hint
from .._core.precision import is_number
from .._core.tensor import Tensor
from .._declare.named_results import make_result_type
from .._declare.operation import operation
from .._declare.out import with_out
from .._declare.spaces import SPACES, Space, expose
from ..errors import LinAlgError, TensorError
from .declarers import check_same_dtype, expose_with, step_primitives
from .entries import entries_of_all
from .reduction import p_norm
from .slicing import diagonal

SPACES.setdefault("linalg", Space())["LinAlgError"] = LinAlgError


# -- arguments ------------------------------------------
def check_floating(name: str, x) -> None:
    if not is_differentiable(aval_of(x).dtype):
        short = short_name(aval_of(x).dtype)
        raise TensorError(
            f"{name}: Expected a floating point or complex tensor as input. Got {short}",
            hint="convert it: A.to(torch.float64)",
        )


def check_matrix(name: str, a, parameter: str = "A") -> None:
    """Raise unless there are two dimensions or more, of floating or complex entries."""
    if a.ndim < 2:
        raise TensorError(
            f"{name}: The input tensor {parameter} must have at least 2 dimensions.",
            hint=f"{parameter}.unsqueeze(-1), one column, or torch.diag({parameter})",
        )
    check_floating(name, a)


def check_square(name: str, a, parameter: str = "A") -> None:
    """Raise unless the matrices have as many rows as columns."""
    check_matrix(name, a, parameter)
    m, n = a.shape[-2:]
    if m != n:
        raise TensorError(
            f"{name}: {parameter} must be batches of square matrices, but they are {m} by {n} matrices",
            hint=f"torch.linalg.pinv, lstsq, qr and svd take {m} by {n} matrices",
        )


def check_pair(name: str, a, b) -> None:
    """Raise unless A and B have one dtype."""
    words = f"{name}: Expected A and B to have the same dtype, but found A of type {{}} and B of type {{}} instead"
    check_same_dtype(a, b, words)


def first_failure(info) -> tuple[str, int]:
    """Return (words for the matrix, its number) for the first number that is not zero."""
    numbers = np.ravel(info)
    at = int(np.flatnonzero(numbers)[0])
    return (f"(Batch element {at}): " if np.ndim(info) else ""), int(numbers[at])


def failed_error(message, info) -> LinAlgError:
    """Return the error for the first matrix whose number in `info` is not zero."""
    words = message(*first_failure(info))
    return LinAlgError(
        words, hint=matrix_hint(words) or "the function with _ex, which says by a number what failed"
    )


@contextmanager
def translate_errors(message, info) -> Iterator[None]:
    """A context manager that replaces NumPy's LinAlgError by torch's: message(*first_failure(info()))."""
    try:
        yield
    except np.linalg.LinAlgError:
        raise failed_error(message, info()) from None


def singular_message(name: str) -> Any:
    return lambda which, k: (
        f"{name}: {which}The diagonal element {k} is zero, the inversion could not be completed because the input "
        "matrix is singular."
    )


# -- inverses ------------------------------------------
@operation("A", spaces="linalg", node="LinalgInvExBackward0", by_value=True, keeps_results=True)
def linalg_inv(A) -> Any:
    """The inverses of square matrices.

    Raises:
        LinAlgError: a matrix is singular.

    >>> torch.linalg.inv(torch.tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    check_square("linalg.inv", A)
    with translate_errors(singular_message("linalg.inv"), lambda: ops.zero_pivot(A)):
        return ops.inv(A, strict=True)


@operation(
    "A",
    spaces="linalg",
    results=make_result_type("linalg_inv_ex", "inverse", "info"),
    keeps_results=True,
    by_value=True,
)
def linalg_inv_ex(A, *, check_errors: bool = False) -> Any:
    """The inverses and codes: (inverse, info): info is 0, or the pivot of a singular matrix that is zero; its inverse
    is NaN then."""
    check_square("linalg.inv_ex", A)
    info = ops.zero_pivot(A)
    if check_errors:
        check_info(info, singular_message("linalg.inv_ex"))
    return [ops.inv(A, strict=False), info]


def check_info(info, message) -> None:
    """Raise LinAlgError where a number is not zero."""
    try:
        found = concretize(info, "check_errors")
    except ConcretizationError:  # a rule is being derived, of what was checked
        return
    if np.any(found):
        raise failed_error(message, found)


def tolerances(a, atol, rtol) -> tuple[Any, Any]:
    """Complete the absolute and relative tolerances; by default they are at the level of rounding errors."""
    atol, rtol = (read_tolerance(x) if isinstance(x, Tensor) else x for x in (atol, rtol))
    absolute = atol is not None and (not is_number(atol) or atol > 0)
    if rtol is None:
        rtol = 0.0 if absolute else finfo(from_numpy_dtype(aval_of(a).dtype)).eps * max(a.shape[-2:])
    return (atol if absolute else None), rtol


def read_tolerance(tolerance: Tensor) -> Any:
    """Return a tolerance that is a Tensor as a number, or as an array or traced value if matrices have their own."""
    value = tolerance.detach()._fx_value
    return value.item() if type(value) is np.ndarray and not value.shape else value


def is_above_tolerance(s, atol, rtol) -> Any:
    """Which of the singular values, descending, are greater than max(atol, rtol·the greatest)."""
    bound = s[..., :1] * expand_tolerance(rtol)
    return ops.greater(s, bound if atol is None else ops.maximum(bound, expand_tolerance(atol)))


def expand_tolerance(tolerance) -> Any:
    """Reshape tolerances, one for each matrix, to broadcast with singular values."""
    return ops.reshape(tolerance, shape=(*tolerance.shape, 1)) if np.ndim(tolerance) else tolerance


@operation("input", spaces="linalg", keeps_results=True)
def linalg_pinv(
    input,
    rcond: float | Tensor | None = None,
    hermitian: bool = False,
    *,
    atol: float | Tensor | None = None,
    rtol: float | Tensor | None = None,
) -> Any:
    """The pseudo-inverses. Singular values up to max(atol, rtol·the greatest) count as zeros; `rcond` is an older name
    of `rtol`."""
    rtol = rcond if rtol is None else rtol
    check_matrix("linalg.pinv", input)
    if hermitian:
        input = mirror_to_hermitian(input)
    if not prod(input.shape):
        return ops.reshape(input, shape=(*input.shape[:-2], input.shape[-1], input.shape[-2]))
    atol, rtol = tolerances(input, atol, rtol)
    if atol is None and is_number(rtol):
        return fnp.linalg.pinv(input, rtol)
    u, s, vh = ops.svd(ops.stop_gradient(input), full=False)
    s = ops.where(is_above_tolerance(s, atol, rtol), s, 0)
    return fnp.linalg.pinv(
        ops.with_derivative_of((u * s[..., None, :]) @ vh, input), tolerances(input, None, None)[1]
    )


def mirror_to_hermitian(a, upper: bool = False) -> Any:
    """The Hermitian matrices that one triangle determines."""
    return ops.mirror_triangle(a, upper=upper)


@expose("function method")
def pinverse(input, rcond: float = 1e-15) -> Any:
    """The pseudo-inverses: see `linalg.pinv`."""
    return linalg_pinv(input, rtol=rcond)


def tensorinv_hint(shape: tuple[int, ...]) -> str:
    """Return the hint for a Tensor that is no square matrix, with the dimension at which it would be one."""
    places = [i for i in range(1, len(shape)) if prod(shape[:i]) == prod(shape[i:])]
    return f"ind={places[0]}" if places else "sizes before and after ind of the same product, as in (2, 3, 6)"


@operation("input", spaces="linalg", copies_operands=True)
def linalg_tensorinv(input, ind: int = 2) -> Any:
    """The inverse with respect to tensordot(A, ·, ind): the first `ind` dimensions are the rows."""
    check_floating("linalg.tensorinv", input)
    if ind <= 0:
        raise TensorError("Expected a strictly positive integer for 'ind'", hint=f"ind={-ind or 1}")
    rows, cols = prod(input.shape[:ind]), prod(input.shape[ind:])
    if rows != cols:
        raise TensorError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{cols} != {rows}",
            hint=tensorinv_hint(input.shape),
        )
    return fnp.linalg.tensorinv(input, ind)


# -- systems of equations ------------------------------------------
def is_vector_rhs(a, b) -> bool:
    """Whether the right-hand sides are vectors: one, or one for each matrix."""
    return b.ndim == 1 or (a.ndim - 1 == b.ndim and a.shape[:-1] == b.shape)


def solvable_hint(a, b) -> str:
    """Return the hint for matrices A and B that do not fit in AX = B."""
    m, n = a.shape[-2:]
    if m != n:
        return "torch.linalg.lstsq(A, B)"
    return "B.mT, or left=False for XA = B" if b.shape[-1] == n else f"B with {n} rows"


def solve_systems(name: str, primitive, a, b, left: bool, **params) -> Any:
    """Solve AX = B, or XA = B with `left=False`, by a primitive, for matrices that broadcast."""
    if not left:
        x = solve_systems(name, primitive, ops.matrix_transpose(a), ops.matrix_transpose(b), True, **params)
        return ops.matrix_transpose(x)
    if b.ndim < 2:
        raise TensorError(
            f"{name}: The input tensor B must have at least 2 dimensions.", hint="B.unsqueeze(-1), one column"
        )
    if a.shape[-1] != b.shape[-2]:
        m, n = a.shape[-2:]
        raise TensorError(
            f"{name}: Incompatible shapes of A and B for the equation AX = B ({m}x{n} and "
            f"{b.shape[-2]}x{b.shape[-1]})",
            hint=solvable_hint(a, b),
        )
    return fnp.linalg.solving.solve_broadcast(primitive, a, b, **params)


def solve_for_any(name: str, a, b, left: bool, **params) -> Any:
    """Solve AX = B, or XA = B with `left=False`; B may be vectors."""
    if not is_vector_rhs(a, b):
        return solve_systems(name, ops.solve, a, b, left, **params)
    x = solve_systems(name, ops.solve, a, ops.column_matrix(b), True, **params)
    return ops.reshape(x, shape=x.shape[:-1])


@operation(
    "A B",
    name="linalg_solve",
    spaces="",
    node="LinalgSolveExBackward0",
    out=False,
    by_value=True,
    keeps_results=True,
    results=tuple,
    constant=(1, 2),
)
def solution_and_factors(A, B, left: bool) -> Any:
    """(X, the factors of A, if these are worth while): the derivative solves with them."""
    check_square("linalg.solve", A)
    check_pair("linalg.solve", A, B)
    with translate_errors(unsolvable_message, lambda: ops.zero_pivot(A)):
        factors = ops.factors_of(A if left or is_vector_rhs(A, B) else ops.matrix_transpose(A))
        return [solve_for_any("linalg.solve", A, B, left, factors=factors), *factors]


@expose("linalg", "solve")
@with_out
def linalg_solve(A, B, *, left: bool = True) -> Any:
    """The solution X with AX = B, or with `left=False` XA = B. B is a matrix or a vector.

    Raises:
        LinAlgError: a matrix is singular.

    >>> torch.linalg.solve(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.tensor([2.0, 4.0])).tolist()
    [1.0, 1.0]
    """
    return solution_and_factors(A, B, left)[0]


def unsolvable_message(which: str, pivot: int) -> str:
    return f"torch.linalg.solve: {which}The solver failed because the input matrix is singular."


@operation(
    "A B",
    spaces="linalg",
    results=make_result_type("linalg_solve_ex", "result", "info"),
    copies_operands=True,
    by_value=True,
)
def linalg_solve_ex(A, B, *, left: bool = True, check_errors: bool = False) -> Any:
    """The solution and codes: (X, info): info is 0, or the pivot of a singular matrix that is zero; its X is NaN
    then."""
    check_square("linalg.solve_ex", A)
    check_pair("linalg.solve_ex", A, B)
    info = ops.zero_pivot(A)
    if check_errors:
        check_info(info, unsolvable_message)
    hollow = ops.not_equal(info, 0)[..., None, None]
    regular = ops.where(hollow, np.eye(A.shape[-1], dtype=aval_of(A).dtype), A)
    x = solve_for_any("linalg.solve_ex", regular, B, left)
    return [ops.where(hollow[..., 0] if is_vector_rhs(A, B) else hollow, np.nan, x), info]


@operation("input B", spaces="linalg", keeps_results=True)
def linalg_solve_triangular(input, B, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """The solution X of AX = B, or XA = B, for triangular A, of which only that triangle is read."""
    check_square("linalg.solve_triangular", input)
    check_matrix("linalg.solve_triangular", B, "B")
    check_pair("linalg.solve_triangular", input, B)
    lower = upper if not left else not upper
    return solve_systems(
        "linalg.solve_triangular",
        ops.triangular_solve,
        input,
        B,
        left,
        lower=lower,
        unit_diagonal=unitriangular,
    )


@operation(
    "input A",
    results=make_result_type("triangular_solve", "solution", "cloned_coefficient"),
    keeps_results=True,
)
def triangular_solve(
    input, A, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """The solution of triangular systems of equations: (X with AX = b, or AᵀX = b, for triangular A; a copy of A)."""
    check_square("triangular_solve", A)
    matrix = ops.matrix_transpose(A) if transpose else A
    lower = upper if transpose else not upper
    x = solve_systems(
        "triangular_solve",
        ops.triangular_solve,
        matrix,
        input,
        True,
        lower=lower,
        unit_diagonal=unitriangular,
    )
    return [x, ops.positive(A)]


@operation("input other", spaces="linalg", copies_operands=True)
def linalg_tensorsolve(input, other, dims=None) -> Any:
    """The solution X with tensordot(A, X, X.ndim) = B; `dims` of A are moved to its end first."""
    check_floating("linalg.tensorsolve", input)
    return fnp.linalg.tensorsolve(input, other, dims)


DRIVERS = ("gels", "gelsy", "gelsd", "gelss")
LstsqResult = make_result_type("linalg_lstsq", "solution", "residuals", "rank", "singular_values")


@operation("A B", name="linalg_lstsq", spaces="", results=tuple, out=False)
def least_squares(A, B, rcond: float, residuals: bool) -> Any:
    """(the shortest X that minimizes ‖AX − B‖, the sums of squared residuals or an empty array)."""
    vector = is_vector_rhs(A, B)
    b = ops.column_matrix(B) if vector else B
    batch = np.broadcast_shapes(A.shape[:-2], b.shape[:-2])
    a, b = (ops.broadcast_to(m, shape=(*batch, *m.shape[-2:])) for m in (A, b))
    x = ops.lstsq(a, b, *ops.singular_factors_of(a), rcond=rcond)
    squares = fnp.sum(fnp.abs(b - a @ x) ** 2, axis=-2)
    return [
        ops.reshape(x, shape=x.shape[:-1]) if vector else x,
        squares if residuals else ops.reshape(squares, shape=(squares.size,))[:0],
    ]


@operation("A", spaces="", results=tuple, out=False)
def ranks(A, rcond: float) -> Any:
    """(rank, singular values)."""
    s = ops.svdvals(A)
    rank = fnp.sum(ops.greater(s, s[..., :1] * rcond), axis=-1)
    return [ops.convert(rank, dtype=np.dtype(np.int64)), s]


@expose("linalg", "lstsq")
@with_out
def linalg_lstsq(input, b, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """The shortest X that minimizes ‖AX − B‖, sums of squared residuals, ranks, singular values.

    As in torch the last three are empty where the driver ("gelsy" unless it is given) does not compute them. The rank
    is found by singular values for all drivers.
    """
    check_matrix("torch.linalg.lstsq", input._fx_value)
    check_pair("torch.linalg.lstsq", input, b)
    driver = driver or "gelsy"
    if driver not in DRIVERS:
        raise TensorError(
            f"torch.linalg.lstsq: parameter `driver` should be one of ({', '.join(DRIVERS)})",
            hint='driver="gelsy"',
        )
    if rcond is None:
        rcond = tolerances(input, None, None)[1]
    rank, values = ranks(input.detach(), rcond)
    m, n = input.shape[-2:]
    full = driver != "gelsy" and m > n and bool(np.all(entries_of_all(rank._fx_value, "the rank") == n))
    solution, residuals = least_squares(input, b, rcond, full)
    nothing = tuple(x.new_zeros(0) for x in (rank, values))
    return LstsqResult(
        solution,
        residuals,
        nothing[0] if driver == "gels" else rank,
        values if driver in ("gelsd", "gelss") else nothing[1],
    )


# -- determinants ------------------------------------------
@operation("A", spaces="linalg")
def linalg_det(A) -> Any:
    """The determinants of square matrices."""
    check_square("linalg.det", A)
    return ops.det(A, *ops.factors_of(A))


@operation("A", spaces="linalg", results=make_result_type("linalg_slogdet", "sign", "logabsdet"))
def linalg_slogdet(A) -> Any:
    """The determinants by sign and logarithm: (sign, log|det|) of square matrices."""
    check_square("linalg.slogdet", A)
    return ops.slogdet(A, *ops.factors_of(A))


@operation("input", out=False)
def logdet(input) -> Any:
    """The logarithms of determinants: NaN where one is negative, −∞ where it is zero."""
    check_square("linalg.slogdet", input)
    sign, size = ops.slogdet(input, *ops.factors_of(input))
    if kind_of(aval_of(sign).dtype) == "c":
        return size + ops.log(sign)
    return ops.where(ops.equal(sign, -1), np.nan, size)


# -- norms ------------------------------------------
def norm_operand(name: str, x, dtype) -> Any:
    """Convert the operand of a norm to the dtype of the computation."""
    if dtype is not None:
        target = as_numpy_dtype(dtype)
        if (kind_of(target) == "c") != (kind_of(aval_of(x).dtype) == "c"):
            want = "complex for complex" if kind_of(aval_of(x).dtype) == "c" else "real for real"
            raise TensorError(
                f"{name}: dtype should be {want} inputs, but got {short_name(dtype)}",
                hint="x.real, or x.abs()" if kind_of(aval_of(x).dtype) == "c" else f"x.to({dtype})",
            )
        x = ops.convert(x, dtype=target)
    check_floating(name, x)
    return x


def linalg_axes(dim, ndim: int) -> tuple[int, ...]:
    """The axes of `dim`; None and () mean all. Dimension 0 of what has none is itself."""
    return normalize_axes(None if dim in ((), []) else dim, max(ndim, 1))[:ndim]


@operation("input", spaces="linalg")
def linalg_vector_norm(input, ord=2, dim=None, keepdim: bool = False, *, dtype=None) -> Any:
    """The norm of vectors: (Σ|x|ᵖ)^(1/p) over dimensions, all unless they are given; the derivative at the origin
    is 0."""
    input = norm_operand("linalg.vector_norm", input, dtype)
    dims = linalg_axes(dim, input.ndim)
    if (ord < 0 or ord == np.inf) and not prod([input.shape[d] for d in dims]):
        raise TensorError(
            f"linalg.vector_norm cannot compute the {ord} norm on an empty tensor because the operation does not have "
            "an identity",
            hint="ord=2, which is 0 there",
        )
    if not dims:  # the only element
        return step_primitives["sign"](ops.absolute(input)) if ord == 0 else ops.absolute(input)
    if 0 < ord < 1:  # of torch's convention: the derivative is 0 where an entry is 0
        return p_norm(input, ord, dims, keepdim)
    return fnp.linalg.norms.norm_of_vectors(input, ord, dims, keepdim)


@operation("input", spaces="linalg")
def linalg_matrix_norm(input, ord="fro", dim=(-2, -1), keepdim: bool = False, *, dtype=None) -> Any:
    """The norm of matrices: "fro", "nuc", or 1, 2, ∞ and their negatives.

    The gradient of "nuc" is U·Vᴴ with all vectors, as torch's: of a singular matrix it depends on which ones the
    decomposition finds. (That of `fxgrad.numpy.linalg.norm` leaves the null vectors out.)
    """
    if input.ndim < 2:
        raise TensorError(
            "linalg.matrix_norm: The input tensor A must have at least 2 dimensions.",
            hint="torch.linalg.vector_norm",
        )
    input = norm_operand("linalg.matrix_norm", input, dtype)
    if not isinstance(dim, tuple | list) or len(dim) != 2:
        raise TensorError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {dim}", hint="dim=(-2, -1)")
    if ord not in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        raise TensorError(
            f"linalg.matrix_norm: Order {ord} not supported.",
            hint='ord="fro", "nuc", 1, 2, torch.inf, or their negatives',
        )
    rows, cols = linalg_axes(dim, input.ndim)
    if ord == "nuc":
        values = ops.svdvals(fnp.moveaxis(input, (rows, cols), (-2, -1)), null_vectors=True)
        return keep_reduced_axes(fnp.sum(values, -1), input.shape, (rows, cols), keepdim)
    return fnp.linalg.norms.norm_of_matrices(input, ord, (rows, cols), keepdim)


@expose("linalg", "norm")
def linalg_norm(input, ord=None, dim=None, keepdim: bool = False, *, out=None, dtype=None) -> Any:
    """The norm of vectors (along one dimension, or of all elements) or of matrices (two dimensions, or an `ord`)."""
    ndim = len(input.shape)
    if ord is None or (
        not isinstance(ord, str) and dim is not None and (not isinstance(dim, tuple | list) or len(dim) == 1)
    ):
        return linalg_vector_norm(input, 2 if ord is None else ord, dim, keepdim, dtype=dtype, out=out)
    if dim is None:
        if ndim not in (1, 2):
            raise TensorError(
                f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {ndim}D.",
                hint="dim=(-2, -1) for matrices, dim=-1 for vectors",
            )
        if ndim == 1 and not isinstance(ord, str):
            return linalg_vector_norm(input, ord, None, keepdim, dtype=dtype, out=out)
        dim = (-2, -1)
    return linalg_matrix_norm(input, ord, dim, keepdim, dtype=dtype, out=out)


@expose("linalg", "diagonal")
def linalg_diagonal(A, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The diagonals of matrices, as a view."""
    return diagonal(A, offset, dim1, dim2)


@operation("input", spaces="linalg", copies_operands=True)
def linalg_cond(input, p=None) -> Any:
    """The condition numbers in the matrix norm of order p; None is 2."""
    check_matrix("linalg.cond", input)
    if p not in (None, 2, -2):
        check_square(f"linalg.cond(ord={p})", input)
    if not prod(input.shape[-2:]):
        return ops.reduce_sum(ops.absolute(input), axes=(input.ndim - 2, input.ndim - 1))
    return fnp.linalg.cond(input, p)


@operation("input", spaces="linalg")
def linalg_matrix_rank(
    input,
    tol: float | Tensor | None = None,
    hermitian: bool = False,
    *,
    atol: float | Tensor | None = None,
    rtol: float | Tensor | None = None,
) -> Any:
    """The number of singular values above max(atol, rtol·the greatest)."""
    check_matrix("torch.linalg.matrix_rank", input, "input")
    s = ops.svdvals(ops.stop_gradient(mirror_to_hermitian(input) if hermitian else input))
    return fnp.sum(is_above_tolerance(s, *tolerances(input, tol if atol is None else atol, rtol)), axis=-1)


# -- older names ------------------------------------------
expose_with("input, *, out=None", linalg_inv, "inverse", "function method")
expose_with("input", linalg_det, "det", "function method")
expose_with("input, *, out=None", linalg_slogdet, "slogdet", "function method")
