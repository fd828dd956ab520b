"""Products with sums: matmul, dot, einsum and their relatives, all computed by one pairwise contraction."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, SupportsIndex

import numpy as np

from .. import ops
from ..core.advice import fit_product
from ..core.common_errors import check_ndim
from ..core.errors import ShapeError, describe
from ..core.interpreter import Tracer
from ..core.typing import Array, ArrayLike, DType
from ..ops.contraction import LETTERS
from .composite import cast, composite, dtype_of, kind, normalize_axes, normalize_axis, operand, operands
from .documentation import LINEAR, NO_DERIVATIVE
from .manipulation import diagonal, moveaxis, ravel


# -- the one contraction ------------------------------------------
def take_diagonals(x: Any, letters: str) -> tuple[Any, str]:
    """Replace repeated letters of an operand by the diagonal, so that every letter stands once."""
    for letter in dict.fromkeys(letters):
        while letters.count(letter) > 1:
            i = letters.index(letter)
            j = letters.index(letter, i + 1)
            if x.shape[i] != x.shape[j]:
                raise ShapeError(f"dimensions in single operand for collapsing index {letter!r} don't match "
                                 f"({x.shape[i]} != {x.shape[j]})",
                                 hint="a letter of its own for each axis")  # fmt: skip
            x = diagonal(x, 0, i, j)
            letters = letters[:i] + letters[i + 1 : j] + letters[j + 1 :] + letter
    return x, letters


def sum_unwanted(x: Any, letters: str, wanted: str) -> tuple[Any, str]:
    """Sum an operand over the letters that are not wanted."""
    axes = tuple(i for i, c in enumerate(letters) if c not in wanted)
    if not axes:
        return x, letters
    # A contraction keeps the dtype, other than a sum.
    return cast(ops.reduce_sum(x, axes=axes), dtype_of(x)), "".join(c for c in letters if c in wanted)


def drop_broadcast_axes(x: Any, letters: str, sizes: dict[str, int]) -> tuple[Any, str]:
    """Drop the axes of length one that broadcast against longer ones."""
    dropped = [i for i, c in enumerate(letters) if x.shape[i] == 1 and sizes[c] != 1]
    if not dropped:
        return x, letters
    return (ops.reshape(x, shape=tuple(n for i, n in enumerate(x.shape) if i not in dropped)),
            "".join(c for i, c in enumerate(letters) if i not in dropped))  # fmt: skip


def contract_pair(a: Any, left: str, b: Any, right: str, out: str) -> Any:
    """Contract two operands of one dtype to the letters `out`."""
    a, left = take_diagonals(a, left)
    b, right = take_diagonals(b, right)
    sizes: dict[str, int] = {}
    for letter, n in zip(left + right, a.shape + b.shape):
        if sizes.get(letter, 1) == 1:
            sizes[letter] = n
        elif n not in (1, sizes[letter]):
            raise ShapeError(f"axis {letter!r} has sizes {sizes[letter]} and {n} in the operands {describe(a)} "
                             f"({left}) and {describe(b)} ({right})",
                             hint="an operand transposed, or a letter of its own for one of the axes")  # fmt: skip
    a, left = drop_broadcast_axes(a, left, sizes)
    b, right = drop_broadcast_axes(b, right, sizes)
    a, left = sum_unwanted(a, left, right + out)
    b, right = sum_unwanted(b, right, left + out)
    return ops.contract(a, b, spec=f"{left},{right}->{out}")


def reduce_operand(x: Any, letters: str, out: str) -> Any:
    """Take the diagonal, sum and permutation of one operand."""
    x, letters = take_diagonals(x, letters)
    x, letters = sum_unwanted(x, letters, out)
    return ops.permute(x, axes=tuple(letters.index(c) for c in out))


def conjugate_complex(x: Any) -> Any:
    """Return the conjugate of a complex value, and any other as it is."""
    real = type(x) is np.ndarray and x.dtype.kind != "c"
    return x if real or kind(x) != "c" else ops.conjugate(x)


# -- matrices and vectors ------------------------------------------
def core_letters(x: Any, name: str, which: int, letters: str) -> str:
    """Return all letters of an operand that ends with the given ones; the others, from `A` on, are aligned on
    the right."""
    check_ndim(name, f"x{which + 1}", x, len(letters), or_more=True)
    return LETTERS[26 : 26 + x.ndim - len(letters)][::-1] + letters


def batch_product(name: str, a: Any, left: str, b: Any, right: str, out: str) -> Any:
    """Multiply along the last axes, broadcasting over those before."""
    a, b = ops.promote_dtypes([a, b])
    left, right = core_letters(a, name, 0, left), core_letters(b, name, 1, right)
    if a.shape[left.index("k")] != b.shape[right.index("k")]:
        raise ShapeError(f"{name}: the inner sizes {a.shape[left.index('k')]} and {b.shape[right.index('k')]} differ: "
                         f"{describe(a)} @ {describe(b)}",
                         hint=fit_product(a.shape, b.shape))  # fmt: skip
    np.broadcast_shapes(batch_shape(a, left), batch_shape(b, right))
    batch = max(left.rstrip(LETTERS[:26]), right.rstrip(LETTERS[:26]), key=len)
    return contract_pair(a, left, b, right, batch + out)


def batch_shape(x: Any, letters: str) -> tuple[int, ...]:
    return x.shape[: len(letters.rstrip(LETTERS[:26]))]


# Keywords of JAX's products, which NumPy's do not have.
OF_JAX = ("precision", "preferred_element_type")


def factors(a: ArrayLike, b: ArrayLike, dtype: DType) -> list[Array]:
    """Return the operands of a product as arrays of one dtype, of this one if it is given."""
    return ops.promote_dtypes([cast(x, dtype) for x in operands((a, b))])


@composite(np.matmul, further=OF_JAX)
def matmul(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    out: None = None,
    *,
    dtype: DType = None,
    precision: Any = None,
    preferred_element_type: DType = None,
) -> Array:
    """The matrix product over the last two axes; a one-dimensional operand is a row or a column.

    `precision` is for programs written for JAX, here and in the other products: it has no effect.
    `preferred_element_type` is the dtype in which these compute.

    Raises:
        ValueError: the inner sizes differ, or an operand has too few axes.

    >>> fx.grad(lambda a: fnp.sum(fnp.matmul(a, fnp.ones((2, 3)))))(fnp.ones((1, 2)))
    array([[3., 3.]])
    """
    dtype = dtype or preferred_element_type
    a, b = cast(operand(x1), dtype), cast(operand(x2), dtype)
    if a.ndim == b.ndim == 2 and dtype_of(a) == dtype_of(b) and a.shape[1] == b.shape[0]:
        return ops.contract(a, b, spec="ik,kj->ij")
    left, right = "k" if a.ndim == 1 else "ik", "k" if b.ndim == 1 else "kj"
    return batch_product("matmul", a, left, b, right, left[:-1] + right[1:])


@composite(np.vecdot)
def vecdot(x1: ArrayLike, x2: ArrayLike, /, out: None = None, *, axis: int = -1) -> Array:
    """The sum Σ conj(x1)·x2 along an axis, the other axes broadcast.

    Raises:
        ValueError: the inner sizes differ, or an operand has too few axes.

    >>> fnp.vecdot(fnp.array([[1.0, 2.0], [3.0, 4.0]]), fnp.array([1.0, 10.0]))
    array([21., 43.])
    """
    a, b = (moveaxis(x, axis, -1) for x in operands((x1, x2)))
    return batch_product("vecdot", conjugate_complex(a), "k", b, "k", "")


@composite(getattr(np, "matvec", None), origin="numpy.matvec")
def matvec(x1: ArrayLike, x2: ArrayLike, /, out: None = None) -> Array:
    """Matrices in the last two axes times vectors in the last one; the axes before are broadcast. For NumPy before 2.2
    as well.

    Raises:
        ValueError: the inner sizes differ, or an operand has too few axes.

    >>> fnp.matvec(fnp.array([[1.0, 2.0], [3.0, 4.0]]), fnp.array([1.0, 10.0]))
    array([21., 43.])
    """
    return batch_product("matvec", operand(x1), "ik", operand(x2), "k", "i")


@composite(getattr(np, "vecmat", None), origin="numpy.vecmat")
def vecmat(x1: ArrayLike, x2: ArrayLike, /, out: None = None) -> Array:
    """Conjugated vectors in the last axis times matrices in the last two; the axes before are broadcast. For NumPy
    before 2.2 as well.

    Raises:
        ValueError: the inner sizes differ, or an operand has too few axes.

    >>> fnp.vecmat(fnp.array([1.0, 10.0]), fnp.array([[1.0, 2.0], [3.0, 4.0]]))
    array([31., 42.])
    """
    a = operand(x1)
    return batch_product("vecmat", conjugate_complex(a), "k", operand(x2), "kj", "j")


@composite(np.dot, further=OF_JAX)
def dot(
    a: ArrayLike,
    b: ArrayLike,
    out: None = None,
    *,
    precision: Any = None,
    preferred_element_type: DType = None,
) -> Array:
    """The sum over the last axis of `a` and the last but one of `b`, or its only one; a product if one has no axes.
    Unlike `matmul` it keeps all other axes of both.

    Args:
        precision: accepted for programs written for JAX, without effect.
        preferred_element_type: the dtype in which to add and to answer.

    >>> fx.grad(fnp.dot)(fnp.array([1.0, 2.0]), fnp.array([3.0, 4.0]))
    array([3., 4.])
    """
    a, b = factors(a, b, preferred_element_type)
    if a.ndim == 0 or b.ndim == 0:
        return ops.multiply(a, b)
    return tensordot(a, b, ([-1], [max(b.ndim - 2, 0)]))


@composite(np.vdot, further=OF_JAX)
def vdot(
    a: ArrayLike, b: ArrayLike, /, *, precision: Any = None, preferred_element_type: DType = None
) -> Array:
    """The sum Σ conj(a)·b over all entries of two flattened arrays; `precision` and `preferred_element_type` as of
    `dot`.

    >>> fnp.vdot(fnp.array([1j, 2.0]), fnp.array([1j, 1.0]))
    np.complex128(3+0j)
    """
    a, b = map(ravel, factors(a, b, preferred_element_type))
    return dot(conjugate_complex(a), b)


@composite(np.inner, further=OF_JAX)
def inner(
    a: ArrayLike, b: ArrayLike, /, *, precision: Any = None, preferred_element_type: DType = None
) -> Array:
    """The sum over the last axes of two arrays; all other axes of both are kept. `precision` and
    `preferred_element_type` as of `dot`.

    >>> fnp.inner(fnp.array([[1.0, 2.0], [3.0, 4.0]]), fnp.array([1.0, 10.0]))
    array([21., 43.])
    """
    a, b = factors(a, b, preferred_element_type)
    if a.ndim == 0 or b.ndim == 0:
        return ops.multiply(a, b)
    return tensordot(a, b, ([-1], [-1]))


@composite(np.outer)
def outer(a: ArrayLike, b: ArrayLike, out: None = None) -> Array:
    """The products of all entries of `a`, along the rows, with all of `b`, along the columns; both are flattened.

    >>> fnp.outer(fnp.array([1.0, 2.0]), fnp.array([3.0, 4.0, 5.0]))
    array([[ 3.,  4.,  5.],
           [ 6.,  8., 10.]])
    """
    a, b = ravel(a), ravel(b)
    return ops.multiply(ops.reshape(a, shape=(a.size, 1)), b)


@composite(np.tensordot, further=OF_JAX)
def tensordot(
    a: ArrayLike,
    b: ArrayLike,
    axes: int | Sequence[int | Sequence[int]] = 2,
    *,
    precision: Any = None,
    preferred_element_type: DType = None,
) -> Array:
    """The sum over pairs of axes of two arrays; the remaining axes are those of `a`, then those of `b`.

    Args:
        axes: the number of last axes of a and first axes of b, or a pair of (sequences of) axes.
        precision, preferred_element_type: as of `dot`.

    Raises:
        ValueError: the sizes of two axes that are contracted differ.

    >>> fnp.tensordot(fnp.ones((2, 3, 4)), fnp.ones((4, 3)), axes=((2, 1), (0, 1)))
    array([12., 12.])
    """
    a, b = factors(a, b, preferred_element_type)
    if isinstance(axes, SupportsIndex):
        axes = range(a.ndim - axes, a.ndim), range(axes)
    ours, theirs = ((x,) if isinstance(x, SupportsIndex) else tuple(x) for x in axes)
    ours, theirs = normalize_axes(ours, a.ndim), normalize_axes(theirs, b.ndim)
    if len(ours) != len(theirs) or any(a.shape[i] != b.shape[j] for i, j in zip(ours, theirs)):
        raise ShapeError(
            f"shape-mismatch for sum: axes {ours} of {describe(a)} and {theirs} of {describe(b)}",
            hint="axes=(of_a, of_b), two tuples of axes that have the same sizes in pairs",
        )
    left, right = list(LETTERS[: a.ndim]), list(LETTERS[a.ndim : a.ndim + b.ndim])
    for i, j in zip(ours, theirs):
        right[j] = left[i]
    out = [c for c in left if c not in right] + [c for c in right if c not in left]
    return ops.contract(a, b, spec=f"{''.join(left)},{''.join(right)}->{''.join(out)}")


@composite(np.kron)
def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """The Kronecker product: each entry of `a` multiplied with all of `b`, in blocks.

    >>> fnp.kron(fnp.array([1.0, 10.0]), fnp.array([1.0, 2.0]))
    array([ 1.,  2., 10., 20.])
    """
    a, b = operand(a), operand(b)
    rank = max(a.ndim, b.ndim)
    ours, theirs = (1,) * (rank - a.ndim) + a.shape, (1,) * (rank - b.ndim) + b.shape
    a = ops.reshape(a, shape=tuple(m for n in ours for m in (n, 1)))
    b = ops.reshape(b, shape=tuple(m for n in theirs for m in (1, n)))
    return ops.reshape(ops.multiply(a, b), shape=tuple(n * m for n, m in zip(ours, theirs)))


@composite(np.cross)
def cross(
    a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Array:
    """The cross product of vectors of three or two components. Vectors of two components lie in a plane, and the
    product of two such vectors is the component perpendicular to it.

    Raises:
        ValueError: the vectors have neither 3 components nor 2.

    >>> fnp.cross(fnp.array([1.0, 0.0, 0.0]), fnp.array([0.0, 1.0, 0.0]))
    array([0., 0., 1.])
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    left, right = moveaxis(a, axisa, 0), moveaxis(b, axisb, 0)
    if not {left.shape[0], right.shape[0]} <= {2, 3}:
        raise ShapeError(
            f"cross: the vectors have {left.shape[0]} and {right.shape[0]} components, not 3 (or 2)",
            hint="axisa= and axisb=, along which the components are, or x[:3]",
        )

    def minor(i: int, j: int) -> Any:
        return ops.subtract(ops.multiply(left[i], right[j]), ops.multiply(left[j], right[i]))

    if left.shape[0] == right.shape[0] == 2:
        return minor(0, 1)
    left, right = (ops.pad(x, widths=((0, 3 - x.shape[0]), *((0, 0),) * (x.ndim - 1))) for x in (left, right))
    result = ops.stack([minor(1, 2), minor(2, 0), minor(0, 1)])
    return moveaxis(result, 0, normalize_axis(axisc, result.ndim))


@composite(np.trace, derivative=LINEAR)
def trace(
    a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DType = None, out: None = None
) -> Array:
    """The sum along a diagonal of the matrices in two axes.

    >>> fnp.trace(fnp.array([[1.0, 2.0], [3.0, 4.0]]))
    np.float64(5.0)
    """
    entries = cast(diagonal(a, offset, axis1, axis2), dtype)
    return cast(ops.reduce_sum(entries, axes=(entries.ndim - 1,)), dtype)


# -- einsum ------------------------------------------
@lru_cache(1024)
def parse_subscripts(subscripts: str, shapes: tuple) -> tuple[tuple[str, ...], str]:
    """Return the letters of each operand and those of the result, with dots written out."""
    from opt_einsum.parser import parse_einsum_input

    inputs, out, _ = parse_einsum_input((subscripts, *shapes), shapes=True)
    inputs = tuple(inputs.split(","))
    for letters, shape in zip(inputs, shapes):
        if len(letters) != len(shape):
            raise ShapeError(
                f"einsum {subscripts!r}: {letters!r} for an operand of shape {shape}",
                hint=f"{len(shape)} letters for it, or '...' for axes that broadcast",
            )
    renamed = dict(zip(dict.fromkeys("".join(inputs)), LETTERS))
    if any(c not in renamed for c in out):
        raise ShapeError(
            f"einsum {subscripts!r}: the result has a letter that no operand has",
            hint="fnp.broadcast_to of the result where an axis is to be added",
        )
    return tuple("".join(renamed[c] for c in i) for i in inputs), "".join(renamed[c] for c in out)


@lru_cache(1024)
def contraction_path(
    inputs: tuple[str, ...], out: str, shapes: tuple, optimize: Any
) -> tuple[tuple[int, ...], ...]:
    """Return the order in which operands are contracted, two at a time."""
    if len(inputs) <= 2:
        return (tuple(range(len(inputs))),)
    from opt_einsum import contract_path

    return tuple(contract_path(f"{','.join(inputs)}->{out}", *shapes, shapes=True, optimize=optimize)[0])


@composite(np.einsum_path, derivative=NO_DERIVATIVE)
def einsum_path(
    *operands: ArrayLike, optimize: Any = "greedy", einsum_call: bool = False
) -> tuple[list[Any], str]:
    """The order in which NumPy would contract operands, and a report of its cost. It depends only on shapes, so traced
    operands need not be known.

    >>> fnp.einsum_path("ij,jk->ik", fnp.ones((2, 3)), fnp.ones((3, 4)))[0]
    ['einsum_path', (0, 1)]
    """
    stand_ins: list[Any] = [np.broadcast_to(0.0, x.shape) if isinstance(x, Tracer) else x for x in operands]
    return np.einsum_path(*stand_ins, optimize=optimize)


def is_explicit_path(optimize: Any) -> bool:
    """Whether `optimize` is an order of contraction itself, not the name of a way to find one."""
    return isinstance(optimize, list | tuple) and not (optimize and isinstance(optimize[-1], int | float))


def plain_einsum(*operands: Any, **options: Any) -> Any:
    """Call NumPy's einsum, which takes explicit orders only with a mark before them."""
    order: Any = options.get("optimize")
    if is_explicit_path(order) and "einsum_path" not in order[:1]:
        options["optimize"] = ["einsum_path", *order]
    return np.einsum(*operands, **options)


def as_contract_path(optimize: Any) -> Any:
    """Return `optimize` as opt_einsum takes it: an explicit order without NumPy's mark, no limit of
    memory."""
    if is_explicit_path(optimize):
        return tuple(tuple(step) for step in optimize if step != "einsum_path")
    return optimize[0] if isinstance(optimize, list | tuple) else optimize or "greedy"


@composite(plain_einsum, further=OF_JAX, origin="numpy.einsum")
def einsum(*operands: ArrayLike, out: None = None, optimize: Any = False, dtype: DType = None, order: str = "K",
           casting: str = "safe", precision: Any = None, preferred_element_type: DType = None) -> Array:  # fmt: skip
    """Sums of products by Einstein's convention, in the string or in the sublist form.

    More than two operands are contracted in the order that `opt_einsum` finds (`optimize` as there), or in the one that
    `optimize` gives, as `einsum_path` or as `opt_einsum` writes it.

    Raises:
        ValueError: a letter stands for different sizes.

    >>> fx.grad(lambda a: fnp.einsum("ij,ij->", a, a))(fnp.ones((1, 2)))
    array([[2., 2.]])
    """
    if isinstance(operands[0], str):
        subscripts, arrays = operands[0], operands[1:]
    else:
        arrays = operands[: len(operands) // 2 * 2 : 2]
        lists: list[Any] = [*operands[1::2], *operands[len(operands) // 2 * 2 :]]
        symbols = ["".join("..." if i is Ellipsis else LETTERS[i] for i in entries) for entries in lists]
        subscripts = ",".join(symbols[: len(arrays)]) + "".join(f"->{s}" for s in symbols[len(arrays) :])
    dtype = dtype or preferred_element_type
    arrays = ops.promote_dtypes([cast(operand(x), dtype) for x in arrays])
    shapes = tuple(x.shape for x in arrays)
    inputs, result = parse_subscripts(subscripts, shapes)
    terms = list(zip(arrays, inputs))
    for chosen in contraction_path(inputs, result, shapes, as_contract_path(optimize)):
        taken = [terms.pop(i) for i in sorted(chosen, reverse=True)]
        last = not terms
        while len(taken) > 1:
            (a, left), (b, right) = taken.pop(), taken.pop()
            still = result + "".join(letters for _, letters in terms + taken)
            kept = (
                result
                if last and not taken
                else "".join(c for c in dict.fromkeys(left + right) if c in still)
            )
            taken.append((contract_pair(a, left, b, right, kept), kept))
        terms += taken
    ((x, letters),) = terms
    return reduce_operand(x, letters, result) if letters != result else x


__all__ = [
    "cross", "dot", "einsum", "einsum_path", "inner", "kron", "matmul", "matvec", "outer", "tensordot",
    "trace", "vdot", "vecdot", "vecmat",
]  # fmt: skip
