"""Entries written, or combined with others, at places that index Tensors name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import numpy as fnp
from ... import ops
from ...core.aval import aval_of, is_differentiable, kind_of
from .._core.dtypes import number_in, short_name
from .._core.errors import DimensionError, TensorError
from .._core.inplace import modifying
from .._core.tape import current_tape
from .._core.tensor import Tensor, make
from .._declare.operation import exposed, in_dtype, operation
from .._declare.out import with_out
from .dimensions import dimension
from .indexing import check_alike, check_index, index_put, places
from .slicing import as_strided, diagonal, select, sliced
from .viewing import expanded, reshape

if TYPE_CHECKING:
    from collections.abc import Callable

# The operations of which torch says by an IndexError that a place is not there; of others it is a RuntimeError.
INDEXING = ("index_copy", "index_fill", "index_reduce")
REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def located(operation: str, input: Any, dim: int, index: Any, src: Any) -> tuple[Any, list[Any], tuple, Any]:
    """(input, index arrays, the index of a primitive, the part of `src` that has places) for places along `dim`; of
    numbers as vectors of length one."""
    d = dimension(dim, input.ndim)
    check_index(operation, index, input.shape, d, DimensionError if operation in INDEXING else TensorError)
    if not input.ndim:
        input = ops.reshape(input, shape=(1,))
    if not index.ndim:
        index = ops.reshape(index, shape=(1,))
    if not src.ndim:
        src = ops.reshape(src, shape=(1,))
    if aval_of(index).size:
        check_alike(operation, index, input, d, "self")
        check_alike(operation, index, src, -1, "src")
    if index.ndim != input.ndim:  # an index without entries
        index = ops.reshape(index, shape=(0,) * input.ndim)
        src = ops.reshape(src, shape=(aval_of(src).size,))[:0].reshape(index.shape)
    arrays, template = places(index, input, d)
    return input, arrays, template, src[tuple([slice(0, n) for n in index.shape])]


def check_dtypes(operation: str, input: Tensor, src: Tensor) -> None:
    if src.dtype is not input.dtype:
        raise TensorError(f"{operation}(): Expected self.dtype to be equal to src.dtype")


# -- scatter ------------------------------------------
def combination(name: str, combine: Callable[..., Any]) -> Any:
    """Declare the operation that combines entries with those of `src` at places along a dimension."""

    @operation("input index src", spaces="", name=name, out=False)
    def combined(input: Any, index: Any, src: Any, dim: int) -> Any:
        x, arrays, template, u = located(name, input, dim, index, src)
        return ops.reshape(combine(x, u, arrays, template), shape=tuple(input.shape))

    return combined


def with_added(x: Any, u: Any, arrays: Any, template: Any) -> Any:
    return ops.add(x, ops.put(u, *arrays, index=template, shape=tuple(x.shape)))


def with_others(x: Any, u: Any, arrays: Any, template: Any) -> Any:
    return ops.update(x, u, *arrays, index=template)


def with_factors(x: Any, u: Any, arrays: Any, template: Any) -> Any:
    return fnp.at(x)[tuple(arrays)].multiply(u)


written = combination("scatter", with_others)
added = combination("scatter_add", with_added)
multiplied = combination("scatter_multiply", with_factors)


@exposed("function method")
@with_out
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: Any = None
) -> Tensor:
    """The Tensor with entries of `src`, or one value, written at places along a dimension, entries along the others
    matched. Where places are repeated one of the entries is there afterwards, and has the gradient.

    Args:
        reduce: "add" or "multiply", to combine them with what is there instead.
    """
    src = value if src is None else src
    if not isinstance(src, Tensor) or value is not None:
        if not isinstance(src, Tensor):
            src = make(current_tape(), number_in(src, input.dtype.numpy))
        src = expanded(reshape(src, (1,) * len(index.shape)), index.shape)
    check_dtypes("scatter", input, src)
    if reduce is None:
        return written(input, index, src, dim)
    chosen = {"add": added, "multiply": multiplied}.get(reduce)
    if chosen is None:
        raise TensorError("reduce argument must be either add or multiply.")
    return chosen(input, index, src, dim)


@exposed("function method")
@with_out
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """The Tensor with the entries of `src` added at places along a dimension."""
    check_dtypes("scatter", input, src)
    return added(input, index, src, dim)


# -- scatter_reduce ------------------------------------------
def extreme(dtype: Any, greatest: bool) -> Any:
    """The number that no other of a dtype is greater, or less, than."""
    if kind_of(dtype) == "f":
        return np.inf if greatest else -np.inf
    if kind_of(dtype) == "b":
        return greatest
    return np.iinfo(dtype).max if greatest else np.iinfo(dtype).min


def neutral(reduce: str, dtype: Any) -> Any:
    """What changes nothing in a reduction."""
    if reduce in ("amax", "amin"):
        return extreme(dtype, reduce == "amin")
    return 1 if reduce == "prod" else 0


def counted(x: Any, arrays: Any, template: Any, shape: tuple[int, ...], include_self: bool) -> Any:
    """How many numbers are reduced to each entry; those to which there is nothing count as one."""
    ones = np.broadcast_to(np.ones((), aval_of(x).dtype), shape)
    count = ops.put(ones, *arrays, index=template, shape=tuple(x.shape))
    return ops.add(count, 1) if include_self else ops.maximum(count, 1)


def reduced(input: Any, index: Any, src: Any, dim: int, reduce: str, include_self: bool) -> Any:
    """Entries at places along a dimension reduced to one number with those of `src`."""
    x, arrays, template, u = located("scatter", input, dim, index, src)
    dtype, shape = aval_of(x).dtype, tuple(u.shape)
    if not include_self:
        rest = np.broadcast_to(np.asarray(neutral(reduce, dtype), dtype), shape)
        x = ops.update(x, rest, *arrays, index=template)
    if reduce == "prod":
        y = with_factors(x, u, arrays, template)
    elif reduce in ("amax", "amin"):
        place = fnp.at(x)[tuple(arrays)]
        y = place.max(u) if reduce == "amax" else place.min(u)
        y = with_shares(y, x, u, arrays, template) if is_differentiable(dtype) else y
    else:
        y = with_added(x, u, arrays, template)
        if reduce == "mean":
            count = counted(x, arrays, template, shape, include_self)
            y = (
                ops.divide(y, count)
                if is_differentiable(dtype)
                else in_dtype(ops.floor_divide(y, count), dtype)
            )
    return ops.reshape(y, shape=tuple(input.shape))


def with_shares(extremes: Any, x: Any, u: Any, arrays: Any, template: Any) -> Any:
    """Extremes of entries and others, such that the numbers that reach one together share its derivative."""
    extremes, dtype = ops.stop_gradient(extremes), aval_of(x).dtype
    own = in_dtype(ops.equal(x, extremes), dtype)
    theirs = in_dtype(ops.equal(u, ops.getitem(extremes, *arrays, index=template)), dtype)
    count = ops.maximum(with_added(own, theirs, arrays, template), 1)
    kept, others = (ops.where(ops.equal(share, 1), v, 0) for share, v in ((own, x), (theirs, u)))
    return ops.graft(extremes, ops.divide(with_added(kept, others, arrays, template), count))


entries_reduced: Any = operation("input index src", name="scatter_reduce", spaces="", out=False)(reduced)
slices_reduced: Any = operation("input index src", name="index_reduce", spaces="", out=False)(reduced)


@exposed("function method")
@with_out
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Entries at places along a dimension reduced to one number with those of `src`.

    Args:
        reduce: "sum", "prod", "mean", "amax" or "amin".
        include_self: whether what is there already takes part.

    >>> import fxgrad.compat as torch
    >>> places = torch.tensor([0, 0, 1])
    >>> torch.zeros(2).scatter_reduce(0, places, torch.tensor([1.0, 5.0, 2.0]), "amax")
    tensor([5., 2.])
    """
    if reduce not in REDUCTIONS:
        raise TensorError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    check_dtypes("scatter", input, src)
    return entries_reduced(input, index, src, dim, reduce, include_self)


# -- whole slices at places along a dimension ------------------------------------------
slices_added = combination("index_add", with_added)
slices_written = combination("index_copy", with_others)
slices_filled = combination("index_fill", with_others)


def spread(
    operation: str, input: Tensor, dim: int, index: Tensor, source: Tensor | None
) -> tuple[int, Tensor, Any]:
    """(dimension, index of the shape of the slices, slices) for an index that is a vector."""
    ndim = len(input.shape)
    d = dimension(dim, ndim)
    if len(index.shape) > 1:
        raise DimensionError(
            f"{operation}(): Index is supposed to be a vector, but got dim: {len(index.shape)}"
        )
    if not index.dtype.is_signed or index.dtype.is_floating_point:
        raise TensorError(f"{operation}(): Expected dtype int32/int64 for index")
    count = index.shape[0] if index.shape else 1
    shape = (*input.shape[:d], count, *input.shape[d + 1 :]) if ndim else (count,)
    if source is not None:
        if source.dtype is not input.dtype:
            raise TensorError(
                f"{operation}(): self ({short_name(input.dtype)}) and source "
                f"({short_name(source.dtype)}) must "
                "have the same scalar type"
            )
        if len(source.shape) == ndim and ndim and source.shape[d] != count:
            counts = f"{operation}_(): Number of indices ({count}) should be equal to source.size(dim)"
            if operation == "index_copy":
                raise DimensionError(f"{counts} ({source.shape[d]})")
            raise TensorError(f"{counts}: ({source.shape[d]}), for dim: {d}")
        source = reshape(source, shape) if len(source.shape) < len(shape) else source
    flat = reshape(index, (1,) * d + (count,) + (1,) * (len(shape) - d - 1))
    return d, expanded(flat, shape), source


@exposed("function method")
@with_out
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """The Tensor with slices added at places along a dimension, `alpha` times."""
    d, full, source = spread("index_add", input, dim, index, source)
    factor = number_in(alpha, input.dtype.numpy).item()
    return slices_added(input, full, source if factor == 1 else source * factor, d)


@exposed("function method")
@with_out
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """The Tensor with slices written at places along a dimension."""
    d, full, source = spread("index_copy", input, dim, index, source)
    return slices_written(input, full, source, d)


@exposed("function method")
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """The Tensor with one value written into slices at places along a dimension, counted from its end if negative."""
    d, full, _ = spread("index_fill", input, dim, index, None)
    full = full + (full < 0) * (input.shape[d] if input.shape else 1)
    if isinstance(value, Tensor):
        if value.shape:
            raise TensorError(
                f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {len(value.shape)} "
                "dimension(s)."
            )
        value = value.to(input.dtype)
    else:
        value = make(current_tape(), number_in(value, input.dtype.numpy))
    return slices_filled(input, full, expanded(value, full.shape), d)


@exposed("function method")
@with_out
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Slices at places along a dimension reduced to one with those of `source`: by "prod", "mean", "amax" or "amin"."""
    if reduce not in REDUCTIONS[1:]:
        raise TensorError(
            f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}."
        )
    d, full, source = spread("index_reduce", input, dim, index, source)
    return slices_reduced(input, full, source, d, reduce, include_self)


@exposed("function method")
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """The Tensor with values written, or added, at places in its flattened order."""
    check_dtypes("put_", input, source)
    flat = index_put(reshape(input, (-1,)), (reshape(index, (-1,)),), reshape(source, (-1,)), accumulate)
    return reshape(flat, input.shape)


for function in (
    scatter, scatter_add, scatter_reduce, index_add, index_copy, index_fill, index_reduce, put
):  # fmt: skip
    exposed("method")(modifying(function))


# -- a view replaced ------------------------------------------
def embedding(view: Callable[..., Tensor], name: str) -> Any:
    """Make the function that gives a copy of a Tensor a view of which has other values."""

    def function(input: Tensor, src: Tensor, *args: Any, **options: Any) -> Tensor:
        result = input.clone()
        part = view(result, *args, **options)
        if part.shape != src.shape:
            raise TensorError(
                "expected src to have a size equal to the slice of self. src size = "
                f"{list(src.shape)}, slice size = {list(part.shape)}"
            )
        part.copy_(src)
        return result

    function.__name__ = name
    function.__doc__ = f"A copy with `src` in place of what `{name.removesuffix('_scatter')}` gives."
    return exposed("function method")(with_out(function))


def slice_of(input: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Tensor:
    d = dimension(dim, len(input.shape))
    start, stop, step = slice(start, end, step).indices(input.shape[d])
    return sliced(input, d, start, max(start, stop), step)


diagonal_scatter = embedding(diagonal, "diagonal_scatter")
select_scatter = embedding(select, "select_scatter")
slice_scatter = embedding(slice_of, "slice_scatter")
as_strided_scatter = embedding(as_strided, "as_strided_scatter")
