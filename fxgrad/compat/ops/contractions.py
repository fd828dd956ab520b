"""Sums of products over chosen dimensions, and products that do not sum: einsum, tensordot, outer, kron, cross, …"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ... import numpy as fnp
from ...extend import FxgradError, aval_of, ops
from ...numpy import contraction
from .._core.dtypes import default_numpy_dtype
from .._core.tensor import Tensor
from .._declare.operation import operation
from .._declare.spaces import expose
from ..errors import ArgumentValueError, TensorError
from .arguments import normalize_dims
from .declarers import add_aliases, expose_with, kind, refuse
from .matmul import check_product_dtypes
from .reduction import p_norm


# -- Einstein's convention ------------------------------------------
def einsum_arguments(*args) -> Any:
    """Return the equation and operands, from these or from operands that are followed by their sublists."""
    if len(args) < 2:
        raise ArgumentValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list",
            hint='torch.einsum("ij,jk->ik", a, b)',
        )
    if isinstance(args[0], str):
        equation, operands = args[0], args[1:]
    else:
        operands = args[: len(args) // 2 * 2 : 2]
        lists = [subscripts(entries) for entries in (*args[1::2], *args[len(args) // 2 * 2 :])]
        equation = ",".join(lists[: len(operands)]) + "".join(f"->{s}" for s in lists[len(operands) :])
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = tuple(operands[0])
    return (operands,), {"equation": equation.replace(" ", "")}


def subscripts(entries) -> str:
    """Convert a sublist of numbers below 52 to letters."""
    for entry in entries:
        if entry is not Ellipsis and not 0 <= entry < 52:
            raise TensorError(
                f"einsum(): subscript {entry} is not within the valid range [0, 52)",
                hint="numbers 0 … 51 name dimensions; an equation with … for the batch has no more",
            )
    return "".join("..." if entry is Ellipsis else LETTERS[entry] for entry in entries)


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"  # in torch's order


@operation("*operands", spaces="function", out=False, arguments=einsum_arguments)
def einsum(operands, equation: str) -> Any:
    """Sums of products by Einstein's convention: einsum("ij,jk->ik", a, b), or with sublists of numbers instead of
    letters, einsum(a, [0, 1], b, [1, 2], [0, 2]).

    >>> a = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> torch.einsum("ij,ij->", a, a).item()
    30.0
    """
    if has_lone_sum(equation):  # as a sum does
        operands = [
            ops.convert(x, dtype=default_numpy_dtype("i")) if kind(x) in "biu" else x for x in operands
        ]
    check_product_dtypes("einsum", *operands)
    check_subscripts(equation, [aval_of(x).shape for x in operands])
    try:
        # Not NumPy's own: that does without BLAS.
        return contraction.einsum.__wrapped__(equation, *operands)
    except (FxgradError, ValueError, KeyError) as error:
        raise TensorError(
            f"einsum(): {error.args[0]}", hint="see torch.einsum for the form of equations"
        ) from error


def has_lone_sum(equation: str) -> bool:
    """Whether an equation sums over a letter of a single operand, so that it is no product of matrices."""
    given, arrow, result = equation.partition("->")
    terms = [set(term) - {"."} for term in given.split(",")]
    seen = [letter for term in terms for letter in term]
    kept = set(result) if arrow else {letter for letter in seen if given.count(letter) == 1}
    return any(seen.count(letter) == 1 and letter not in kept for letter in seen)


def check_subscripts(equation: str, shapes: Sequence[tuple[int, ...]]) -> None:
    """Raise where an equation is not one, or for more or fewer operands, or a letter for different sizes."""
    given, _, result = equation.partition("->")
    terms = given.split(",")
    for place, letter in enumerate(equation):
        if (
            not (letter.isascii() and letter.isalpha())
            and letter not in ",."
            and place - len(given) not in (0, 1)
        ):
            raise TensorError(
                f"einsum(): invalid subscript given at index {place} in the equation string, subscripts must be in "
                "[a-zA-Z]",
                hint="letters for dimensions, commas between operands, and one -> before the result",
            )
    if len(terms) != len(shapes):
        what = "fewer" if len(shapes) < len(terms) else "more"
        raise TensorError(
            f"einsum(): {what} operands were provided than specified in the equation",
            hint=f"an operand for each term: {', '.join(terms)}",
        )
    seen: dict[str, int] = {}
    for i, (term, shape) in enumerate(zip(terms, shapes)):
        if "..." not in term and len(term) != len(shape):
            raise TensorError(
                f"einsum(): the number of subscripts in the equation ({len(term)}) does not match the number of "
                f"dimensions ({len(shape)}) for operand {i} and no ellipsis was given",
                hint=f"{len(shape)} letters in {term!r}, or ... for some of them",
            )
        first, _, last = term.partition("...")
        for letter, size in [*zip(first, shape), *zip(reversed(last), reversed(shape))]:
            have = seen.get(letter, 1)
            if size != have and 1 not in (size, have):
                raise TensorError(
                    f"einsum(): subscript {letter} has size {size} for operand {i} which does not broadcast with "
                    f"previously seen size {have}",
                    hint=f"another letter than {letter} for one of them, or x.transpose(…)",
                )
            seen[letter] = max(size, have)
    for letter in result.replace(".", ""):
        if letter not in seen or result.count(letter) > 1:
            problem = (
                "appears more than once in the output"
                if letter in seen
                else "does not appear in the equation for any input operand"
            )
            raise TensorError(
                f"einsum(): output subscript {letter} {problem}", hint="each letter of the result once"
            )


# -- pairs of dimensions ------------------------------------------
@operation("a b", name="tensordot", spaces="")
def tensordot_values(a, b, ours: tuple[int, ...], theirs: tuple[int, ...]) -> Any:
    """The sum over pairs of dimensions."""
    check_product_dtypes("tensordot", a, b)
    if len(ours) != len(theirs):
        raise TensorError(
            "both dimension lists should have same length",
            hint=f"dims=({list(ours[: len(theirs)])}, {list(theirs[: len(ours)])})",
        )
    for i, j in zip(ours, theirs):
        n, m = a.shape[i], b.shape[j]
        if n != m == 1:
            a = fnp.sum(a, i, keepdims=True, dtype=a.dtype)
        elif m != n == 1:
            b = fnp.sum(b, j, keepdims=True, dtype=b.dtype)
        elif n != m:
            raise TensorError(
                f"contracted dimensions need to match, but first has size {n} in dim {i} and second has size {m} in "
                f"dim {j}",
                hint="dims=([those of a], [those of b]) names pairs of one size",
            )
    return fnp.tensordot(a, b, (ours, theirs))


@expose()
def tensordot(a, b, dims: Any = 2, out=None) -> Any:
    """The sum over pairs of dimensions: the last `dims` of a and the first of b, or dims = (those of a, those of b)."""
    if isinstance(dims, Tensor) and dims.numel() == 1:
        dims = dims.item()
    if isinstance(dims, int):
        if dims < 0:
            raise TensorError(
                f"tensordot expects dims >= 0, but got dims={dims}",
                hint=f"dims={-dims}, a count; dims=([-1], [0]) names dimensions",
            )
        dims = range(-dims, 0), range(dims)
    ours, theirs = (tuple(map(int, each.tolist() if hasattr(each, "tolist") else each)) for each in dims)
    return tensordot_values(a, b, ours, theirs, out=out)


@operation("input other", promote="arithmetic")
def inner(input, other) -> Any:
    """The sums of products over the last dimensions."""
    if input.ndim and other.ndim and input.shape[-1] != other.shape[-1]:
        raise TensorError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}",
            hint="other.mT, where the vectors lie along the dimension before the last",
        )
    return fnp.inner(input, other)


@operation("input vec2", promote="arithmetic")
def outer(input, vec2) -> Any:
    """The products of all pairs of entries of two vectors."""
    for name, x in (("self", input), ("vec2", vec2)):
        if x.ndim != 1:
            raise TensorError(
                f"outer: Expected 1-D argument {name}, but got {x.ndim}-D",
                hint=f"{'input' if name == 'self' else name}.flatten()",
            )
    return fnp.outer(input, vec2)


add_aliases(ger=outer)


@operation("input other", promote="arithmetic")
def kron(input, other) -> Any:
    """Kronecker's product."""
    return contraction.kron.__wrapped__(input, other)


@operation("input other", spaces="linalg", promote="arithmetic")
def linalg_cross(input, other, *, dim: int = -1) -> Any:
    """The cross products of vectors along a dimension."""
    if input.ndim != other.ndim:
        raise TensorError(
            f"linalg.cross: inputs must have the same number of dimensions. Got {input.ndim} and {other.ndim}",
            hint="unsqueeze(0) the one with fewer dimensions; sizes of 1 broadcast",
        )
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        raise TensorError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[dim]} and {other.shape[dim]}",
            hint="dim=…, along which the vectors lie; torch.nn.functional.pad(x, (0, 1)) adds a third coordinate",
        )
    return fnp.cross(input, other, axis=dim)


@expose("function method")
def cross(input, other, dim: int | None = None, *, out=None) -> Any:
    """The cross products of vectors along a dimension, by default the first of size 3."""
    if dim is None:
        if 3 not in input.shape:
            raise TensorError(
                "no dimension of size 3 in input",
                hint="torch.nn.functional.pad(x, (0, 1)), of vectors of size 2, adds a third coordinate",
            )
        dim = tuple(input.shape).index(3)
    return linalg_cross(input, other, dim=dim, out=out)


@operation("x y", spaces="linalg", promote="arithmetic")
def linalg_vecdot(x, y, *, dim: int = -1) -> Any:
    """The products of vectors Σ conj(x)·y along a dimension; the others broadcast."""
    products = ops.multiply(contraction.conjugate_complex(x), y)
    return ops.reduce_sum(products, axes=normalize_dims(dim, products.ndim))


# -- chains ------------------------------------------
@operation("*tensors", spaces="linalg")
def linalg_multi_dot(tensors) -> Any:
    """The product of matrices in the order that takes the fewest multiplications; vectors may be first and last."""
    if len(tensors) < 2:
        raise TensorError(
            f"multi_dot(): expected at least 2 tensors but got {len(tensors)}",
            hint="torch.linalg.multi_dot([a, b, c])",
        )
    check_product_dtypes("multi_dot", *tensors)
    last = len(tensors) - 1
    for i, x in enumerate(tensors):
        allowed = (1, 2) if i in (0, last) else (2,)
        if x.ndim not in allowed:
            which = {0: "the first tensor", last: "the last tensor"}.get(i, f"tensor {i}")
            raise TensorError(
                f"multi_dot(): {which} must be {'1D or ' if 1 in allowed else ''}2D but got {x.ndim}D",
                hint="torch.matmul, which takes batches",
            )
    for i, (a, b) in enumerate(pairwise(tensors)):
        if a.shape[-1] != b.shape[0]:
            raise TensorError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(a.shape)} and {list(b.shape)} cannot be "
                "multiplied",
                hint=f"tensor {i + 1} with {a.shape[-1]} rows: its .mT, where rows and columns are exchanged",
            )
    return fnp.linalg.multi_dot(tensors)


@expose()
def chain_matmul(*matrices, out=None) -> Any:
    """The product of matrices, as `linalg.multi_dot`."""
    if len(matrices) == 1:
        return matrices[0].clone()
    return linalg_multi_dot(matrices, out=out)


@operation("input", spaces="linalg")
def linalg_matrix_power(input, n: int) -> Any:
    """The n-th power of square matrices; of the inverse for n < 0."""
    if input.ndim < 2 or input.shape[-1] != input.shape[-2]:
        raise TensorError(
            "linalg.matrix_power: A must be batches of square matrices",
            hint="A.mT @ A, or A @ A.mT, which are square",
        )
    if n < 0:
        refuse("biu", input, operation="linalg_inv")
    return fnp.linalg.matrix_power(input, n)


expose_with("input, n, *, out=None", linalg_matrix_power, "matrix_power", "function method")


# -- distances ------------------------------------------
@operation("x1 x2", spaces="function", out=False)
def cdist(x1, x2, p: float = 2.0, compute_mode: str | None = "use_mm_for_euclid_dist_if_necessary") -> Any:
    """The p-norms of the differences of all pairs of rows, (…, P, M) and (…, R, M) → (…, P, R).

    The derivative is 0 where two rows agree. `compute_mode` is for speed in torch; here differences are always exact.
    """
    for name, x in (("X1", x1), ("X2", x2)):
        if x.ndim < 2:
            raise TensorError(
                f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D",
                hint=f"x{name[1]}.unsqueeze(0), one point",
            )
    if x1.shape[-1] != x2.shape[-1]:
        raise TensorError(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}",
            hint="points are rows: x1.T, x2.T where they are columns",
        )
    if not p >= 0:
        raise TensorError("cdist only supports non-negative p values", hint=f"p={abs(p)}")
    check_product_dtypes("cdist", x1, x2)
    differences = ops.subtract(fnp.expand_dims(x1, -2), fnp.expand_dims(x2, -3))
    if p == 0:  # a step, which has the derivative 0, and not none
        flat = fnp.sum(ops.where(False, differences, 0), axis=-1)
        return fnp.sum(ops.not_equal(differences, 0), axis=-1, dtype=aval_of(x1).dtype) + flat
    if 0 < p < 1:
        return p_norm(differences, p, differences.ndim - 1)
    return fnp.linalg.norms.norm_of_vectors(differences, p, (differences.ndim - 1,), False)


# -- powers ------------------------------------------
@operation("x", spaces="function", out=False)
def vander(x, N: int | None = None, increasing: bool = False) -> Any:
    """The powers of the entries of a vector as columns, descending unless `increasing`."""
    if x.ndim != 1:
        raise TensorError("x must be a one-dimensional tensor.", hint="torch.linalg.vander(x), of batches")
    if N is not None and N < 0:
        raise TensorError("N must be non-negative.", hint=f"N={-N}")
    powers = powers_of(x, x.shape[0] if N is None else N)
    return powers if increasing else fnp.flip(powers, -1)


@operation("x", spaces="linalg", out=False)
def linalg_vander(x, *, N: int | None = None) -> Any:
    """The powers 0 … N − 1 of the entries along the last dimension, as a new dimension."""
    count = N if N is not None else x.shape[-1] if x.ndim else 0
    if count <= 1:
        raise TensorError(
            "N must be greater than 1.", hint="torch.ones_like(x).unsqueeze(-1), which N=1 would be"
        )
    return powers_of(x if x.ndim else ops.reshape(x, shape=(1,)), count)


def powers_of(x, count: int) -> Any:
    """x⁰, x¹, …, by products: a power function would be singular in its derivative at 0."""
    if kind(x) in "iub":
        x = ops.convert(x, dtype=default_numpy_dtype("i"))
    if count == 0:
        return ops.reshape(x, shape=(*x.shape, 1))[..., :0]
    powers = [ops.full_like(x, value=1)]
    while len(powers) < count:
        powers.append(ops.multiply(powers[-1], x))
    return fnp.stack(powers, -1)
