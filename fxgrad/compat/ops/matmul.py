"""Products of matrices and vectors. torch promotes nothing here: the operands have one dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import SCALARS, BatchTracer, Bilinear, aval_of, kind_of, masked, ops
from ...extend import dot as dot_arrays
from ...numpy import contraction
from .._core.dtypes import c_type_name
from .._core.primitives import declare_primitive
from .._core.tensor import Tensor
from .._declare.operation import operation
from .._declare.spaces import expose
from ..errors import ArgumentError, NotSupportedError, TensorError
from .arguments import expansion_error
from .arithmetic import check_factor
from .declarers import add_aliases, number_like


def check_product_dtypes(name: str, *operands) -> None:
    """Raise unless all operands have one dtype, which is not bool."""
    have = aval_of(operands[0]).dtype
    for want in [aval_of(x).dtype for x in operands[1:]]:
        if want != have:
            raise TensorError(
                f"expected m1 and m2 to have the same dtype, but got: {c_type_name(have)} != {c_type_name(want)}",
                hint=f"{name} does not promote: convert one operand with .to(…)",
            )
    if kind_of(have) == "b":
        raise NotSupportedError(f"\"{name}\" not implemented for 'Bool'", hint="convert to an integer dtype")


def value_function(function) -> Any:
    """The function of values that an operation was declared with."""
    return function.operation.function


def check_rank(x, rank: int, message: str) -> None:
    if type(x) in SCALARS:
        raise ArgumentError(
            f"a product of matrices: argument must be Tensor, not {type(x).__name__}",
            hint="x * y, with a number",
        )
    if x.ndim != rank:
        raise TensorError(message, hint=f"matmul takes all ranks; this one has the shape {list(x.shape)}")


def check_sample_ranks(name: str, a, b, *wanted: int) -> None:
    """Raise in torch's words for `vmap` unless the samples of a batch have these ranks."""
    if isinstance(a, BatchTracer) or isinstance(b, BatchTracer):
        ensure_sample_ranks(name, (a.ndim, b.ndim), wanted)


def ensure_sample_ranks(name: str, have: tuple[int, int], wanted: tuple[int, ...]) -> None:
    if have == wanted:
        return
    if name == "dot":
        raise TensorError(
            "Got wrong shapes for dot", hint=f"vectors; these have {have[0]} and {have[1]} dimensions"
        )
    raise TensorError(
        f"Shape mismatch: Got incorrect dims for {name}(a, b). a has dim {have[0]} and b has dim {have[1]} but "
        f"expected them to have dim {wanted[0]} and dim {wanted[1]}",
        hint="torch.matmul takes all ranks; vmap takes one dimension of each away, that of in_dims",
    )


def inner_size_error(left: Sequence[int], right: Sequence[int]) -> TensorError:
    """Make the error for two shapes whose inner sizes differ."""
    shapes = ("x".join(map(str, shape)) for shape in (left, right))
    transposed = right[-1] == left[-1] if len(right) > 1 else False
    return TensorError(
        "mat1 and mat2 shapes cannot be multiplied ({} and {})".format(*shapes),
        hint="mat1 @ mat2.mT" if transposed else f"a second operand with {left[-1]} rows",
    )


# -- products of two ------------------------------------------
class MatrixProduct(Bilinear):
    """`contract` of two matrices of one dtype: nothing broadcasts, so cotangents are products as well."""

    def vjp(self, apply, values, needed, params: dict, own) -> tuple[Any, Any, Any]:
        a, b = values
        y = apply(a, b)
        return y, self, (a if needed[1] is not None else None, b if needed[0] is not None else None)

    def map_residuals(self, residuals: tuple, operand: Callable, result: Callable) -> tuple:
        """See `PullbackRule`."""
        return tuple([None if v is None else operand(i, v) for i, v in enumerate(residuals)])

    def pull_plain(self, ct, residuals: tuple) -> tuple[Any, Any]:
        """The pullback on plain arrays."""
        a, b = residuals
        return None if b is None else dot_arrays(ct, b.T), None if a is None else dot_arrays(a.T, ct)

    def pull(self, ct, a, b) -> tuple[Any, Any]:
        """The pullback, from the residuals that `vjp` gives."""
        ct = masked.densify(ct)
        return None if b is None else left_cotangent(ct, b), None if a is None else right_cotangent(ct, a)


def left_cotangent(ct, b) -> Any:
    return ops.contract(ct, b, spec="ij,kj->ik")


def right_cotangent(ct, a) -> Any:
    return ops.contract(a, ct, spec="ik,ij->kj")


def product_kernel(xp) -> Any:
    def product(a, b) -> Any:
        if type(a) is type(b) is np.ndarray and a.ndim == b.ndim == 2 and a.shape[1] == b.shape[0]:
            return dot_arrays(a, b)
        return multiply_matrices(a, b)

    return product


def multiply_matrices(a, b) -> Any:
    """Multiply two matrices, with torch's errors where that is not possible."""
    check_rank(a, 2, "self must be a matrix")
    check_rank(b, 2, "mat2 must be a matrix")
    check_product_dtypes("mm", a, b)
    if a.shape[1] != b.shape[0]:
        raise inner_size_error(a.shape, b.shape)
    return ops.contract(a, b, spec="ik,kj->ij")


def multiply_batches(a, b, a_batched: bool, b_batched: bool) -> Any:
    """Multiply batches of matrices."""
    left, right = a.shape[a_batched:], b.shape[b_batched:]
    ensure_sample_ranks("mm", (len(left), len(right)), (2, 2))
    if left[1] != right[0]:
        raise inner_size_error(left, right)
    return ops.contract(a, b, spec=f"{'b' * a_batched}ik,{'b' * b_batched}kj->bij")


matrix_product = declare_primitive(
    MatrixProduct,
    "mm",
    product_kernel,
    abstract_rule=lambda self, a, b: ops.contract_aval(self, a, b, spec="ik,kj->ij"),
    transpose_rule=lambda i, ct, aval, other: (right_cotangent if i else left_cotangent)(ct, other),
    batch_rule=multiply_batches,
)


@operation("input mat2", primitive=matrix_product)
def mm(input, mat2) -> Any:
    """The product of two matrices.

    >>> a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> torch.mm(a, a).sum().backward()
    >>> a.grad
    tensor([[ 7., 11.],
            [ 9., 13.]])
    """
    return multiply_matrices(input, mat2)


add_aliases("function", spmm=mm, dsmm=mm, hsmm=mm)  # as programs with sparse matrices call it


@operation("input mat2")
def bmm(input, mat2) -> Any:
    """The products of matrices (b, n, k) and (b, k, m)."""
    check_batches(input, mat2)
    return ops.contract(input, mat2, spec="bik,bkj->bij")


def check_batches(input, mat2) -> None:
    """Raise unless both are batches of equally many matrices that can be multiplied."""
    check_sample_ranks("bmm", input, mat2, 3, 3)
    check_rank(input, 3, "batch1 must be a 3D tensor")
    check_rank(mat2, 3, "batch2 must be a 3D tensor")
    check_product_dtypes("bmm", input, mat2)
    expected, got = [input.shape[0], input.shape[2]], list(mat2.shape[:2])
    if expected != got:
        raise TensorError(
            f"Expected size for first two dimensions of batch2 tensor to be: {expected} but got: {got}.",
            hint="torch.matmul broadcasts the batch; mat2.mT where rows and columns are exchanged",
        )


@operation("input vec")
def mv(input, vec) -> Any:
    """The product of a matrix and a vector."""
    check_sample_ranks("mv", input, vec, 2, 1)
    if input.ndim != 2 or vec.ndim != 1:
        raise TensorError(
            f"vector + matrix @ vector expected, got 1, {input.ndim}, {vec.ndim}",
            hint="torch.matmul takes all ranks",
        )
    check_product_dtypes("mv", input, vec)
    (n, k), (m,) = input.shape, vec.shape
    if k != m:
        raise TensorError(
            f"size mismatch, got input ({n}), mat ({n}x{k}), vec ({m})",
            hint=f"a vector of {k} entries" + ", or mat.T" * (m == n),
        )
    return ops.contract(input, vec, spec="ik,k->i")


def check_vectors(name: str, a, b) -> None:
    check_sample_ranks("dot", a, b, 1, 1)
    if a.ndim != 1 or b.ndim != 1:
        raise TensorError(
            f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors",
            hint="torch.matmul, or torch.dot(a.flatten(), b.flatten())",
        )
    check_product_dtypes(name, a, b)
    if a.shape != b.shape:
        raise TensorError(
            f"inconsistent tensor size, expected tensor {list(a.shape)} and src {list(b.shape)} to have the same "
            f"number of elements, but got {a.shape[0]} and {b.shape[0]} elements respectively",
            hint="a[:n], b[:n], or torch.outer for all products",
        )


@operation("input tensor")
def dot(input, tensor) -> Any:
    """The product of vectors Σ input·tensor of two vectors."""
    check_vectors("dot", input, tensor)
    return ops.contract(input, tensor, spec="k,k->")


@operation("input other")
def vdot(input, other) -> Any:
    """The product of vectors Σ conj(input)·other of two vectors."""
    check_vectors("vdot", input, other)
    return ops.contract(contraction.conjugate_complex(input), other, spec="k,k->")


@operation("input other", name="matmul", spaces="")
def matmul_values(input, other) -> Any:
    """The matrix product of the last two dimensions; the dimensions before broadcast."""
    if not (input.ndim and other.ndim):
        raise TensorError(
            f"both arguments to matmul need to be at least 1D, but they are {input.ndim}D and {other.ndim}D",
            hint="input * other",
        )
    check_product_dtypes("matmul", input, other)
    inner = input.shape[-1], other.shape[max(other.ndim - 2, 0)]
    if inner[0] != inner[1]:
        raise inner_size_error(input.shape, other.shape)
    for i, (n, m) in enumerate(zip(reversed(input.shape[:-2]), reversed(other.shape[:-2]))):
        if n != m and 1 not in (n, m):
            rank = max(input.ndim, other.ndim) - 2
            raise TensorError(
                f"The size of tensor a ({n}) must match the size of tensor b ({m}) at non-singleton dimension "
                f"{rank - 1 - i}",
                hint="x.unsqueeze(0), whose size of 1 broadcasts",
            )
    return fnp.matmul(input, other)


# By the ranks of the operands, where nothing broadcasts.
PRODUCTS = {(2, 2): mm, (2, 1): mv, (1, 1): dot}


@expose("function method linalg")
def matmul(input: Tensor, other: Tensor, *, out=None) -> Any:
    """The product of matrices in the last two dimensions; a vector is a row on the left, a column on the right, and
    the dimensions before broadcast.

    >>> (torch.tensor([[1.0, 2.0], [3.0, 4.0]]) @ torch.tensor([1.0, 1.0])).tolist()
    [3.0, 7.0]
    """
    return PRODUCTS.get((len(input.shape), len(other.shape)), matmul_values)(input, other, out=out)


# -- sums with products ------------------------------------------
def add_scaled(input, product, beta, alpha) -> Any:
    """Compute β·input + α·product. With β = 0 not even NaN of the input counts; integers take integer factors."""
    beta, alpha = number_like(beta, product), number_like(alpha, product)
    if alpha != 1:
        product = ops.multiply(product, alpha)
    check_product_dtypes("addmm", input, product)
    check_expands(input, product.shape)
    if beta == 0:
        return product
    return ops.add(input if beta == 1 else ops.multiply(input, beta), product)


def check_expands(x, shape: tuple[int, ...]) -> None:
    """Raise unless x broadcasts to the shape."""
    offset = len(shape) - x.ndim
    for i in reversed(range(x.ndim)):
        size = shape[i + offset] if i + offset >= 0 else 1
        if x.shape[i] not in (size, 1) or i + offset < 0:
            raise expansion_error(size, x.shape[i], i + offset, shape, x.shape)


@operation("input mat1 mat2", mixed=True, inplace=True)
def addmm(input, mat1, mat2, *, beta=1, alpha=1) -> Any:
    """A matrix plus the product of two matrices: beta·input + alpha·(mat1 @ mat2); the input broadcasts."""
    for which, matrix in (("mat1", mat1), ("mat2", mat2)):
        check_rank(matrix, 2, f"{which} must be a matrix, got {matrix.ndim}-D tensor")
    return add_scaled(input, value_function(mm)(mat1, mat2), beta, alpha)


@operation("input mat vec", in_range="beta alpha", mixed=True, inplace=True)
def addmv(input, mat, vec, *, beta=1, alpha=1) -> Any:
    """A vector plus the product of a matrix and a vector: beta·input + alpha·(mat @ vec)."""
    return add_scaled(input, value_function(mv)(mat, vec), beta, alpha)


@operation("input vec1 vec2", mixed=True, inplace=True)
def addr(input, vec1, vec2, *, beta=1, alpha=1) -> Any:
    """A matrix plus the outer product of two vectors: beta·input + alpha·(vec1 ⊗ vec2)."""
    for which, vector in (("vec1", vec1), ("vec2", vec2)):
        check_rank(vector, 1, f"addr: Expected 1-D argument {which}, but got {vector.ndim}-D")
    product = contraction.outer(vec1, vec2)
    for name, factor in (("beta", beta), ("alpha", alpha)):
        check_factor(name, factor, product)
    return add_scaled(input, product, beta, alpha)


@operation("input batch1 batch2", mixed=True, inplace=True)
def baddbmm(input, batch1, batch2, *, beta=1, alpha=1) -> Any:
    """Matrices plus the products of matrices: beta·input + alpha·(batch1 @ batch2), matrix by matrix."""
    return add_scaled(input, value_function(bmm)(batch1, batch2), beta, alpha)


@operation("input batch1 batch2", mixed=True, inplace=True)
def addbmm(input, batch1, batch2, *, beta=1, alpha=1) -> Any:
    """A matrix plus the sum of products of matrices: beta·input + alpha·Σ(batch1 @ batch2) over the matrices."""
    check_batches(batch1, batch2)
    return add_scaled(input, ops.contract(batch1, batch2, spec="bik,bkj->ij"), beta, alpha)
