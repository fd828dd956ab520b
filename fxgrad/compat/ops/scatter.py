"""Operations that write or combine entries at the places of index Tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from inspect import Parameter
from typing import Any

import numpy as np

from ...extend import aval_of, is_differentiable, kind_of, native_function, ops
from .._core.dtypes import cast_number
from .._core.inplace import to_inplace
from .._core.tape import current_tape
from .._core.tensor import Tensor, make_tensor
from .._declare.composite import Composite
from .._declare.entry import take_number
from .._declare.operation import operation
from .._declare.out import with_out
from .._declare.promotion import convert_value
from .._declare.signatures import DerivedSignature
from .._declare.spaces import expose
from .._make.devices import device_of, move_array
from ..errors import ArgumentError, ArgumentValueError, DimensionError, TensorError
from .arguments import as_sizes, dim_index, infer_shape, normalize_dim, shape_hint
from .declarers import check_same_dtype, kind, number_like, refuse, value_dtype
from .direct import add_slices, fill_slices, write_slices
from .gathering import check_index, check_index_fits, ensure_integers, scatter_index
from .indexing import index_put
from .slicing import as_strided, diagonal, select, slice_values
from .viewing import expand_values, reshape

# The operations of which torch says by an IndexError that a place is not there; of others it is a RuntimeError.
INDEXING = ("index_copy", "index_fill", "index_reduce")
REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


COMBINING = {"sum": "add", "prod": "multiply", "mean": "mean", "amax": "maximum", "amin": "minimum"}
WRITING = {None: "", "add": "add", "multiply": "multiply"}


def combine_matched(values: Sequence[Any], params: dict, names: dict[Any, str] = COMBINING) -> Any:
    """Return the function of machine code that combines entries at places and looks at these, too, where arrays
    match."""
    alpha, name = params.get("alpha", 1), names.get(params.get("reduce", next(iter(names))))
    usual = (
        name is not None and params.get("include_self", True) is True and type(alpha) is int and alpha == 1
    )
    plain = usual and all([type(v) is np.ndarray for v in values])
    return native_function("matched.combiner")(name, *values, params["dim"]) if plain else None


def write_matched(values: Sequence[Any], params: dict) -> Any:
    """Return the function that writes entries at places, unless it is to combine them."""
    return combine_matched(values, params, WRITING)


def first_of(*directs: Callable[..., Any]) -> Callable[..., Any]:
    """Return the direct way that is the first one there is for some operands."""
    return lambda values, params: next(filter(None, (direct(values, params) for direct in directs)), None)


def locate_entries(operation: str, input, dim: int, index, src) -> tuple[Any, list[Any], tuple, Any]:
    """Return (input, index arrays, the index of a primitive, the part of `src` that has places) for places along `dim`;
    numbers become vectors of length one."""
    d = normalize_dim(dim, input.ndim)
    check_index(operation, index, input.shape, d, DimensionError if operation in INDEXING else TensorError)
    if not input.ndim:
        input = ops.reshape(input, shape=(1,))
    if not index.ndim:
        index = ops.reshape(index, shape=(1,))
    if not src.ndim:
        src = ops.reshape(src, shape=(1,))
    if aval_of(index).size:
        check_index_fits(operation, index, input, d, "self")
        check_index_fits(operation, index, src, -1, "src")
    if index.ndim != input.ndim:  # an index without entries
        index = ops.reshape(index, shape=(0,) * input.ndim)
        src = ops.reshape(src, shape=(aval_of(src).size,))[:0].reshape(index.shape)
    arrays, template = scatter_index(index, input, d)
    return input, arrays, template, src[tuple([slice(0, n) for n in index.shape])]


def check_source_dtype(operation: str, input, src) -> None:
    check_same_dtype(input, src, f"{operation}(): Expected self.dtype to be equal to src.dtype")


def combine_entries(operation: str, combine, input, dim: int, index, src) -> Any:
    """Combine entries at places along a dimension with entries of `src`."""
    x, arrays, template, u = locate_entries(operation, input, dim, index, src)
    return ops.reshape(combine(x, u, arrays, template), shape=tuple(input.shape))


def add_to_entries(x, u, arrays, template) -> Any:
    return ops.add(x, ops.scatter_add(u, *arrays, index=template, shape=tuple(x.shape)))


def write_entries(x, u, arrays, template) -> Any:
    return ops.update(x, u, *arrays, index=template)


def multiply_entries(x, u, arrays, template) -> Any:
    return ops.scatter_mul(x, u, *arrays, index=template)


# -- scatter ------------------------------------------
COMBINATIONS = {None: write_entries, "add": add_to_entries, "multiply": multiply_entries}


def scatter_arguments(input, dim: int, index, src=None, *, value=None, reduce=None) -> Any:
    """One value stands for an entry of `src` at every place."""
    src = value if src is None else src
    if not isinstance(src, Tensor) or value is not None:
        if isinstance(src, Tensor):
            src = take_number(scatter.operation, "value", src)
        number = move_array(cast_number(src, input.dtype.numpy), device_of(input._fx_value))
        shape = index.shape
        if type(number) is np.ndarray:  # of which kernels read rows
            src = make_tensor(current_tape(), np.full(shape, number))
        else:
            src = expand_values(reshape(make_tensor(current_tape(), number), (1,) * len(shape)), shape)
    return (input, index, src), {"dim": dim, "reduce": reduce}


@operation("input index src", numbers="src", inplace=True, arguments=scatter_arguments, direct=write_matched)
def scatter(input, index, src, dim: int, reduce) -> Any:
    """The Tensor with entries of `src`, or one value, written at places along a dimension, entries along the others
    matched. Where places are repeated one of the entries is there afterwards, and has the gradient.

    Args:
        reduce: "add" or "multiply", to combine them with what is there instead.
    """
    check_source_dtype("scatter", input, src)
    if reduce not in COMBINATIONS:
        raise TensorError(
            "reduce argument must be either add or multiply.",
            hint='torch.scatter_reduce has "sum", "prod", "mean", "amax" and "amin"',
        )
    return combine_entries("scatter", COMBINATIONS[reduce], input, dim, index, src)


@operation("input index src", inplace=True, direct=combine_matched)
def scatter_add(input, dim: int, index, src) -> Any:
    """The Tensor with the entries of `src` added at places along a dimension."""
    check_source_dtype("scatter", input, src)
    return combine_entries("scatter_add", add_to_entries, input, dim, index, src)


# -- scatter_reduce ------------------------------------------
def extreme_number(dtype, greatest: bool) -> Any:
    """The greatest or the least number of a dtype."""
    if kind_of(dtype) == "f":
        return np.inf if greatest else -np.inf
    if kind_of(dtype) == "b":
        return greatest
    return np.iinfo(dtype).max if greatest else np.iinfo(dtype).min


def neutral_element(reduce: str, dtype) -> Any:
    """The neutral element of a reduction."""
    if reduce in ("amax", "amin"):
        return extreme_number(dtype, reduce == "amin")
    return 1 if reduce == "prod" else 0


def count_entries(x, arrays, template, shape: tuple[int, ...], include_self: bool) -> Any:
    """Count the numbers that are reduced to each entry; an entry without any counts as one."""
    ones = np.broadcast_to(np.ones((), aval_of(x).dtype), shape)
    count = ops.scatter_add(ones, *arrays, index=template, shape=tuple(x.shape))
    return ops.add(count, 1) if include_self else ops.maximum(count, 1)


def reduce_entries(x, u, arrays, template, reduce: str, include_self: bool) -> Any:
    """Reduce entries at places with entries of u."""
    dtype, shape = aval_of(x).dtype, tuple(u.shape)
    if not include_self:
        rest = np.broadcast_to(np.asarray(neutral_element(reduce, dtype), dtype), shape)
        x = ops.update(x, rest, *arrays, index=template)
    if reduce == "prod":
        return multiply_entries(x, u, arrays, template)
    if reduce in ("amax", "amin"):
        refuse("c", x, operation=f"scatter_{reduce}")
        combine = ops.scatter_max if reduce == "amax" else ops.scatter_min
        return combine(x, u, *arrays, index=template)
    y = add_to_entries(x, u, arrays, template)
    if reduce == "sum":
        return y
    refuse("b", x, operation="div_floor")
    count = count_entries(x, arrays, template, shape, include_self)
    if is_differentiable(dtype):
        return ops.divide(y, count)
    return convert_value(ops.floor_divide(y, count), dtype)


class SharedPullback:
    """The pullback of extrema that machine code shares among entries; where it cannot, the general one computes."""

    __slots__ = ("general", "needed", "places", "share")

    def __init__(
        self, share: Callable[..., Any], general: Callable[..., Any], places: list[int], needed: Any
    ):
        self.share, self.general, self.places, self.needed = share, general, places, needed

    def __call__(self, ct, residuals) -> Sequence[Any]:
        cts = self.share(ct, *[residuals[k] for k in self.places])
        if cts is None:
            return self.general(ct, residuals)
        return [cts[0] if self.needed[0] else None, None, cts[1] if self.needed[2] else None]


class Reduction(Composite):
    """Entries reduced at places: extrema pull back by machine code, where arrays match."""

    def pullback_for(self, y, values, needed, params: dict) -> Any:
        """See `Composite`."""
        rule = super().pullback_for(y, values, needed, params)
        general, kept = rule.pull_plain, [*(rule.saved_from or ())]
        plain = params["reduce"] in ("amax", "amin") and all([type(v) is np.ndarray for v in values])
        if (
            plain
            and params["include_self"]
            and {*kept} == {0, 1, 2, 3}
            and type(general) is not SharedPullback
        ):
            share = native_function("matched.sharer")(*values, params["dim"])
            if share is not None:
                rule.pull_plain = SharedPullback(share, general, [kept.index(k) for k in range(4)], needed)
        return rule


@operation("input index src", inplace=True, composite=Reduction, direct=combine_matched, keeps_results=True)
def scatter_reduce(input, dim: int, index, src, reduce: str, *, include_self: bool = True) -> Any:
    """Entries at places along a dimension reduced to one number with those of `src`.

    Args:
        reduce: "sum", "prod", "mean", "amax" or "amin".
        include_self: whether what is there already takes part.

    >>> places = torch.tensor([0, 0, 1])
    >>> torch.zeros(2).scatter_reduce(0, places, torch.tensor([1.0, 5.0, 2.0]), "amax")
    tensor([5., 2.])
    """
    if reduce not in REDUCTIONS:
        raise TensorError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}",
            hint=f'reduce="{ {"add": "sum", "multiply": "prod", "max": "amax", "min": "amin"}.get(reduce, "sum") }"',
        )
    check_source_dtype("scatter", input, src)
    combine = partial(reduce_entries, reduce=reduce, include_self=include_self)
    return combine_entries("scatter", combine, input, dim, index, src)


# -- whole slices at places along a dimension ------------------------------------------
def expand_index(operation: str, input, dim: int, index, source) -> tuple[int, Any, Any]:
    """Return (dimension, the index expanded to the shape of the slices, slices) for an index that is a vector."""
    ndim = input.ndim
    d = normalize_dim(dim, ndim)
    if index.ndim > 1:
        raise DimensionError(
            f"{operation}(): Index is supposed to be a vector, but got dim: {index.ndim}",
            hint="index.flatten(); scatter takes a place for every entry",
        )
    ensure_integers(operation, index)
    count = index.shape[0] if index.ndim else 1
    shape = (*input.shape[:d], count, *input.shape[d + 1 :]) if ndim else (count,)
    if source is not None:
        words = f"{operation}(): self ({{}}) and source ({{}}) must have the same scalar type"
        check_same_dtype(input, source, words)
        if source.ndim == ndim and ndim and source.shape[d] != count:
            counts = f"{operation}_(): Number of indices ({count}) should be equal to source.size(dim)"
            if operation == "index_copy":
                raise DimensionError(
                    f"{counts} ({source.shape[d]})",
                    hint=f"source.narrow({d}, 0, {count})"
                    if count < source.shape[d]
                    else f"index[:{source.shape[d]}]",
                )
            raise TensorError(
                f"{counts}: ({source.shape[d]}), for dim: {d}",
                hint=f"source.narrow({d}, 0, {count})"
                if count < source.shape[d]
                else f"index[:{source.shape[d]}]",
            )
        if source.ndim < len(shape):
            source = ops.reshape(source, shape=infer_shape(shape, aval_of(source).size))
    column = ops.reshape(index, shape=(count,) + (1,) * (len(shape) - d - 1))
    return d, ops.broadcast_to(column, shape=shape), source


def combine_slices(operation: str, combine, input, d: int, index, places, source) -> Any:
    """Combine slices with those of `source`: as whole slices, if the index is a plain array within range, or else as
    entries at `places`, the expanded index."""
    plain = type(index) is np.ndarray and index.ndim == 1 and index.size and input.ndim
    if plain and source.shape == places.shape and index.min() >= 0 and index.max() < input.shape[d]:
        return combine(input, source, [index], dim_index(d, ops.ARRAY))
    return combine_entries(operation, combine, input, d, places, source)


@operation("input index source", inplace=True, direct=first_of(combine_matched, add_slices))
def index_add(input, dim: int, index, source, *, alpha=1) -> Any:
    """The Tensor with slices added at places along a dimension, `alpha` times."""
    d, places, source = expand_index("index_add", input, dim, index, source)
    factor = number_like(alpha, input)
    source = source if factor == 1 else source * factor
    return combine_slices("index_add", add_to_entries, input, d, index, places, source)


@operation("input index source", inplace=True, direct=first_of(write_matched, write_slices))
def index_copy(input, dim: int, index, source) -> Any:
    """The Tensor with slices written at places along a dimension."""
    d, places, source = expand_index("index_copy", input, dim, index, source)
    return combine_slices("index_copy", write_entries, input, d, index, places, source)


@operation("input index value", numbers="value", inplace=True, out=False, direct=fill_slices)
def index_fill(input, dim: int, index, value) -> Any:
    """The Tensor with one value written into slices at places along a dimension, counted from its end if negative."""
    d, index, _ = expand_index("index_fill", input, dim, index, None)
    index = ops.where(ops.less(index, 0), index + (input.shape[d] if input.ndim else 1), index)
    if aval_of(value).shape:
        raise TensorError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s).",
            hint="index_copy, which takes a slice for every place",
        )
    value = convert_value(number_like(value, input), value_dtype(input))
    return combine_entries(
        "index_fill", write_entries, input, d, index, ops.broadcast_to(value, shape=index.shape)
    )


@operation("input index source", inplace=True, direct=combine_matched, keeps_results=True)
def index_reduce(input, dim: int, index, source, reduce: str, *, include_self: bool = True) -> Any:
    """Reduce slices at places along a dimension with those of `source`, by "prod", "mean", "amax" or "amin"."""
    if reduce not in REDUCTIONS[1:]:
        raise TensorError(
            f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.",
            hint='index_add for "sum"; reduce="prod", "mean", "amax" or "amin"',
        )
    d, places, source = expand_index("index_reduce", input, dim, index, source)
    combine = partial(reduce_entries, reduce=reduce, include_self=include_self)
    return combine_slices("scatter", combine, input, d, index, places, source)


@expose("function method")
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """The Tensor with values written, or added, at places in its flattened order."""
    check_source_dtype("put_", input, source)
    if source.numel() != index.numel():
        raise DimensionError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.numel()}, index.numel() = {index.numel()}",
            hint="source.expand_as(index), for one number at all places",
        )
    flat = index_put(reshape(input, (-1,)), (reshape(index, (-1,)),), reshape(source, (-1,)), accumulate)
    return reshape(flat, input.shape)


expose("method")(to_inplace(put))


# -- a view replaced ------------------------------------------
SRC = Parameter("src", Parameter.POSITIONAL_OR_KEYWORD)


def declare_scatter_view(view: Callable[..., Tensor], name: str, out: bool = False) -> Any:
    """Declare the function that copies a Tensor and writes other values into a view of the copy."""

    def function(input: Tensor, src: Tensor, *args, **options) -> Tensor:
        result = input.clone()
        part = view(result, *args, **options)
        if part.shape != src.shape:
            raise TensorError(
                "expected src to have a size equal to the slice of self. src size = "
                f"{list(src.shape)}, slice size = {list(part.shape)}",
                hint=shape_hint("src", src.shape, part.shape),
            )
        part.copy_(src)
        return result

    function.__name__ = name
    function.__signature__ = DerivedSignature(view, lambda given: [given[0], SRC, *given[1:]])  # type: ignore[attr-defined]
    function.__doc__ = f"A copy with `src` in place of what `{name.removesuffix('_scatter')}` gives."
    return expose("function method")(with_out(function) if out else function)


def slice_range(input: Tensor, dim: int = 0, start=None, end=None, step: int = 1) -> Tensor:
    d = normalize_dim(dim, len(input.shape))
    start, stop, step = slice(start, end, step).indices(input.shape[d])
    return slice_values(input, d, start, max(start, stop), step)


diagonal_scatter = declare_scatter_view(diagonal, "diagonal_scatter")
select_scatter = declare_scatter_view(select, "select_scatter")
slice_scatter = declare_scatter_view(slice_range, "slice_scatter", out=True)
as_strided_scatter = declare_scatter_view(as_strided, "as_strided_scatter")


# -- places counted through ------------------------------------------
@operation("indices", spaces="", out=False, results=tuple, constant=(0,))
def places_of(indices, shape: tuple[int, ...]) -> Any:
    """The places along each dimension of entries that are counted through in the order of rows, round and round."""
    places = []
    for size in reversed(shape):
        places.append(ops.remainder(indices, size))
        indices = ops.floor_divide(indices, size)
    return places[::-1]


@expose()
def unravel_index(indices: Tensor, shape) -> tuple[Tensor, ...]:
    """The places along each dimension of entries of a shape that are counted through in the order of rows.

    Args:
        indices: integers.
        shape: one integer or several.

    Raises:
        TypeError: indices that are no integers.
        ValueError: a negative size.

    >>> torch.unravel_index(torch.tensor([1, 5]), (2, 3))
    (tensor([0, 1]), tensor([1, 2]))
    """
    if kind(indices) not in "iu":
        raise ArgumentError(
            f"expected 'indices' to be integer dtype, but got {indices.dtype}", hint="indices.long()"
        )
    sizes = as_sizes(shape)
    if min(sizes, default=0) < 0:
        raise ArgumentValueError(
            f"'shape' cannot have negative values, but got {sizes}",
            hint="the shape of the Tensor that the places are in: x.shape",
        )
    return places_of(indices.long(), sizes)
