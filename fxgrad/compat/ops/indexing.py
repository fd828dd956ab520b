"""Indexing: `x[...]` and `x[...] = v`.

Integers, slices and None make views, as `select_view`, `narrow` and `unsqueeze` do; index Tensors, masks and lists then
select entries of the view, as copies. So an integer takes no part in the broadcasting of index Tensors, unlike in
NumPy.
"""

from __future__ import annotations

import warnings
from itertools import repeat
from math import prod
from operator import is_
from typing import Any

import numpy as np

from ...extend import (
    SCALARS,
    ConcretizationError,
    Tracer,
    UnsupportedError,
    aval_of,
    concretize,
    kind_of,
    ops,
    source_info,
)
from .._core.dtypes import round_number, short_name
from .._core.inplace import fill_number, to_inplace
from .._core.tape import current_tape
from .._core.tensor import Tensor, make_tensor, refresh
from .._declare.operation import operation
from .._declare.rearrangement import Rearrangement
from .._declare.spaces import expose
from ..errors import ArgumentError, DimensionError, TensorError
from .arguments import place_hint, shape_hint
from .basic_views import (
    check_dimension_count,
    find_basic_view,
    normalize_slice,
    position_in_dim,
    select_traced,
    select_view,
    slice_view,
)
from .copying import copy_
from .plain_indexing import index_directly, put_directly, put_directly_, write_part
from .slicing import alias
from .viewing import broadcast_shapes, expand_values, reshape, unsqueeze

INDEXING_OPTIONS: dict[str, Any] = {"out": False, "composite": Rearrangement}


# -- integers, slices, None ------------------------------------------
DIMENSION_TYPES = frozenset({int, slice})  # entries of a key that are nothing else than one dimension each
MASK_TYPES = (Tensor, np.ndarray, Tracer)  # what may be one
NON_INTEGERS = (slice, type(None), type(...), list, tuple, range, *MASK_TYPES)


def is_index_tensor(entry) -> bool:
    """Whether an entry of a key is an index Tensor, or is converted to one."""
    if isinstance(entry, Tensor):
        return bool(entry.shape) or not is_integral(entry)
    return isinstance(entry, bool | np.bool_ | list | tuple | range | np.ndarray | Tracer)


def is_integral(tensor: Tensor) -> bool:
    """Whether a Tensor is of integers; uint8 is taken for bool."""
    return kind_of(aval_of(tensor._fx_value).dtype) in "iu" and aval_of(tensor._fx_value).dtype != np.uint8


def is_mask(entry) -> bool:
    """Whether an entry of a key is a mask: a Tensor or array of bool, or of uint8."""
    if not isinstance(entry, MASK_TYPES):
        return False
    dtype = aval_of(refresh(entry)._fx_value if isinstance(entry, Tensor) else entry).dtype
    return kind_of(dtype) == "b" or dtype == np.uint8


def is_plain_index(value) -> bool:
    """Whether a value is an array of positions with axes."""
    return type(value) is np.ndarray and value.dtype.char in "lqi" and bool(value.shape)


def is_unknown(entry) -> bool:
    """Whether an entry of a key is a traced Tensor without concrete numbers."""
    value = refresh(entry)._fx_value if isinstance(entry, Tensor) else entry
    try:
        concretize(value, "indexing")
    except ConcretizationError:
        return True
    return False


def normalize_key(key) -> Any:
    """Convert a key that is a short list of more than numbers to a tuple, as NumPy once did."""
    if not isinstance(key, list) or len(key) >= 32 or not any([isinstance(e, NON_INTEGERS) for e in key]):
        return key
    warnings.warn(
        "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; "
        "use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, "
        "x[torch.tensor(seq)], which will result either in an error or a different result",
        UserWarning,
        stacklevel=source_info.user_stacklevel(),
    )
    return tuple(key)


def is_truth_value(entry) -> bool:
    """Whether an entry of a key is a single truth value: it consumes no dimension of the operand, but adds one, and
    masks that."""
    return isinstance(entry, bool | np.bool_) or (is_mask(entry) and not entry.shape)


def as_row(truth) -> Any:
    """One truth value as a mask of one dimension."""
    return reshape(truth, (1,)) if isinstance(truth, Tensor) else ops.reshape(truth, shape=(1,))


def consumed_dims(entry) -> int:
    """The number of dimensions that an entry of a key consumes."""
    if entry is None or is_truth_value(entry):
        return 0
    return len(entry.shape) if is_mask(entry) else 1


def apply_basic_index(input: Tensor, key) -> tuple[Tensor, list[Any]]:
    """Return (the view that integers, slices and None make, the index Tensors left for its dimensions: None for one
    that is taken whole)."""
    entries, shape = key if isinstance(key, tuple) else (key,), tuple(input.shape)
    used = sum([1 if type(e) in DIMENSION_TYPES else consumed_dims(e) for e in entries if e is not Ellipsis])
    if used > len(shape):
        if not shape and isinstance(key, slice):
            raise DimensionError("slice() cannot be applied to a 0-dim tensor.", hint="x.reshape(1)")
        if not shape and not isinstance(key, tuple) and not is_index_tensor(key):
            raise DimensionError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                "convert a 0-dim tensor to a number",
                hint="x.item(), or x[()] and x[...] for the Tensor",
            )
        check_dimension_count(used, shape)
    template: list[Any] = []  # for the dimensions of the input
    left: list[Any] = []  # for those of the result
    new: list[int] = []  # the places of dimensions of length one to be made there
    taken: list[tuple[Any, int]] = []  # places that are not known, and their dimensions before that
    last, whole = None, True
    for e in entries:
        d = len(template)
        if e is Ellipsis:
            count = len(shape) - used
            used += count  # a second one stands for none
            template += [slice(None)] * count
            left += [None] * count
        elif e is None:
            new.append(len(left))
            left.append(None)
            last = None
        elif isinstance(e, slice):
            template.append(normalize_slice(e, shape[d]))
            left.append(None)
            if template[d] != slice(0, shape[d], 1) or not isinstance(key, tuple):
                last, whole = slice_view, False
        elif type(e) is not int and is_truth_value(e):
            new.append(len(left))
            left += index_arrays(as_row(e), (1,), 0)
        elif type(e) is not int and is_index_tensor(e):
            for entry in index_arrays(e, shape, d):
                template.append(slice(None))
                left.append(entry)
        elif isinstance(e, Tensor) and is_unknown(e):
            template.append(slice(None))
            taken.append((e, len(left) - len(new)))
        else:
            template.append(position_in_dim(e, shape, d))
            last, whole = select_view, False
    if not whole or not left:
        template += [slice(None)] * (len(shape) - len(template))
        input = (last or slice_view)(input, tuple(template))
    elif not has_indices(left) and not new and not taken:
        input = alias(input)
    for place, dim in taken:
        input = select_traced.operation((input, place), {"dim": dim})
    for place in new:
        input = unsqueeze(input, place)
    return input, left


def index_arrays(entry, shape: tuple[int, ...], dim: int) -> list[Any]:
    """The integer arrays, one for each dimension, that an index Tensor, a mask or a list stands for; a mask itself, for
    each of its dimensions, that is not known."""
    if isinstance(entry, list | tuple | range):
        try:
            entry = np.asarray([e.__index__() if isinstance(e, Tensor) else e for e in entry])
        except ValueError:  # lists of different lengths, or beside numbers
            raise ArgumentError(
                "'list' object cannot be interpreted as an integer",
                hint="lists of one length, as in x[[[0, 1], [2, 3]]]",
            ) from None
        entry = entry.astype(np.intp) if not entry.size else entry
    value = refresh(entry)._fx_value if isinstance(entry, Tensor) else entry
    aval = aval_of(value)
    if kind_of(aval.dtype) not in "biu":
        raise DimensionError(
            "tensors used as indices must be long, int, byte or bool tensors",
            hint="index.long() for places, index.bool() for a mask",
        )
    if kind_of(aval.dtype) != "b" and aval.dtype != np.uint8:
        return [entry if isinstance(entry, Tensor) else value]
    for i, n in enumerate(aval.shape):
        if n != shape[dim + i]:
            raise DimensionError(
                f"The shape of the mask {list(aval.shape)} at index {i} does not match the shape of the indexed tensor "
                f"{list(shape)} at index {dim + i}",
                hint=f"a mask of shape {list(shape[dim : dim + aval.ndim])}; x[:, mask] is of later dimensions",
            )
    if isinstance(entry, Tensor) and is_unknown(entry):
        return [entry] * len(aval.shape)
    return list(ops.find_nonzero(concretize(value, "indexing")))


# -- index Tensors ------------------------------------------
def template_index(template: tuple[bool, ...]) -> tuple[Any, ...]:
    """Make the index of a primitive: arrays where `template` is true, and whole dimensions elsewhere."""
    return tuple([ops.ARRAY if used else slice(None) for used in template])


@operation("input *indices", spaces="", name="index", **INDEXING_OPTIONS)
def index_values(input, indices, template) -> Any:
    """Take the entries at the places that index arrays give for some of the dimensions."""
    check_bounds(indices, template, input.shape)
    return ops.getitem, (input, *indices), {"index": template_index(template)}


@operation("input values *indices", spaces="", name="index_put", **INDEXING_OPTIONS)
def index_put_values(input, values, indices, template) -> Any:
    """Replace the entries at the places of index arrays."""
    check_bounds(indices, template, input.shape)
    return ops.update, (input, values, *indices), {"index": template_index(template)}


@operation("input values *indices", spaces="", name="index_put", out=False)
def index_put_sums(input, values, indices, template) -> Any:
    """Add values at the places of index arrays."""
    check_bounds(indices, template, input.shape)
    return input + ops.scatter_add(values, *indices, index=template_index(template), shape=tuple(input.shape))


def check_bounds(indices, template, shape: tuple[int, ...]) -> None:
    """Raise for the first concrete index that is out of bounds."""
    dims = [d for d, used in enumerate(template) if used]
    for d, index in zip(dims, indices):
        if type(index) is np.ndarray and index.size:
            n = shape[d]
            low, high = index.min(), index.max()
            if low < -n or high >= n:
                bad = low if low < -n else high
                words = f"index {bad} is out of bounds for dimension {d} with size {n}"
                raise DimensionError(
                    words if n else "index is out of bounds for dimension with size 0", hint=place_hint(n)
                )


def has_indices(left: list[Any]) -> bool:
    """Whether `apply_basic_index` leaves index Tensors."""
    return not all(map(is_, left, repeat(None)))


def indices_and_template(left: list[Any]) -> tuple[list[Any], tuple[bool, ...]]:
    """Return (the index arrays, their template) of the index Tensors that `apply_basic_index` leaves."""
    for mask in filter(is_mask, left):
        concretize(mask._fx_value, "indexing")  # which raises
    indices = [a for a in left if a is not None]
    if len(indices) > 1:
        check_indices_broadcast(indices)
    return indices, tuple([a is not None for a in left])


def check_indices_broadcast(indices: list[Any]) -> None:
    """Raise unless the index arrays broadcast."""
    shapes = [tuple(i.shape) for i in indices]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        raise DimensionError(
            "shape mismatch: indexing tensors could not be broadcast together with shapes "
            + ", ".join(str(list(s)) for s in shapes),
            hint="x[rows.unsqueeze(-1), columns] takes every row with every column",
        ) from None


@expose("method", "__getitem__", views=True, direct=index_directly(index_values.operation))
def getitem(self: Tensor, key) -> Tensor:
    """Part of a Tensor: a view for integers, slices, None and `...`; a copy where Tensors, masks or lists are used.

    >>> x = torch.arange(6).view(2, 3)
    >>> x[1], x[:, [0, 2]], x[x > 3]
    (tensor([3, 4, 5]), tensor([[0, 2],
            [3, 5]]), tensor([4, 5]))
    """
    if key is None:
        return unsqueeze(self, 0)
    basic = (key,) if type(key) is int and self._fx_value.shape else key
    maker = find_basic_view(basic)
    if maker is not None:
        return maker(self, basic)
    if type(key) is Tensor and is_plain_index(key._fx_value) and self._fx_value.shape:
        return index_values(self, [key], (True, *repeat(False, len(self._fx_value.shape) - 1)))
    view, left = apply_basic_index(self, normalize_key(key))
    return index_values(view, *indices_and_template(left)) if has_indices(left) else view


@operation("input values mask", spaces="", name="index_put", out=False)
def put_masked(input, values, mask) -> Any:
    """Replace the entries where a mask is true."""
    return ops.where(mask, values, input)


put_masked_ = to_inplace(put_masked, "index_put_")


def write_masked(view: Tensor, left: list[Any], mask: Tensor, value: Tensor) -> None:
    """Write where a traced mask is true: inside vmap it may differ between the entries of the batch.
    So it is not known how many entries it chooses, and the value has to be the same for all of them."""
    rank, shape = len(mask.shape), value.shape
    after = len(view.shape) - rank - next(d for d, a in enumerate(left) if a is mask)
    head, tail = shape[: max(len(shape) - after, 0)], shape[max(len(shape) - after, 0) :]
    if any(a is not None and a is not mask for a in left) or (head and head[-1] != 1):
        raise UnsupportedError(
            "a mask that is not known, as inside vmap, with a value for each entry that it chooses or beside other "
            "index Tensors",
            hint="torch.where(mask, values, x)",
        )
    if head:
        value = reshape(value, (*head[:-1], *[1] * rank, *tail))
    put_masked_(view, value, reshape(mask, (*mask.shape, *[1] * after)))


@expose("method", "__setitem__")
def setitem(self: Tensor, key, value) -> None:
    """Write a number or a Tensor, broadcast, into part of a Tensor."""
    if key is False or write_part(self, key, value):
        return
    key = normalize_key(key)
    basic = (key,) if type(key) is int and self._fx_value.shape else key
    maker = find_basic_view(basic)
    if maker is not None:
        write_view(maker(self, basic), value)
        return
    view, left = apply_basic_index(self, key)
    if not has_indices(left):
        write_view(view, value)
        return
    if not isinstance(value, Tensor):
        numpy = self.dtype.numpy
        array = round_number(value, numpy) if type(value) in SCALARS else np.asarray(value).astype(numpy)
        value = make_tensor(current_tape(), array)
    entries = key if isinstance(key, tuple) else (key,)
    if not value.shape and all(e is True or is_mask(e) or not is_index_tensor(e) for e in entries):
        value = value.to(self.dtype)
    check_source(self, value)
    mask = next(filter(is_mask, left), None)
    if mask is None:
        put_entries_(view, *indices_and_template(left), value)
    else:
        write_masked(view, left, mask, value)


def write_view(view: Tensor, value) -> None:
    """Write a number or a Tensor, broadcast, into a view. Surplus leading dimensions of length one are dropped."""
    if not isinstance(value, Tensor):
        fill_number(view, value, "fill_")
        return
    while len(value.shape) > len(view.shape) and value.shape[0] == 1:
        value = value.select(0, 0)
    copy_(view, value if value.shape == view.shape else expand_values(value, view.shape))


def check_source(input: Tensor, values: Tensor) -> None:
    if values.dtype is not input.dtype:
        raise TensorError(
            f"Index put requires the source and destination dtypes match, got {short_name(input.dtype)} for the "
            f"destination and {short_name(values.dtype)} for the source.",
            hint=f"values.to({input.dtype})",
        )


def put_entries(input: Tensor, indices, template, values: Tensor, accumulate: bool = False) -> Tensor:
    """Write values, broadcast, at the places of index arrays, into a copy."""
    shape = indexed_shape(input, indices, template)
    while len(values.shape) > len(shape) and values.shape[0] == 1:
        values = values.select(0, 0)
    try:
        values = values if values.shape == shape else expand_values(values, shape)
    except TensorError:
        raise TensorError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result "
            f"of shape {list(shape)}",
            hint=shape_hint("values", values.shape, shape),
        ) from None
    put = index_put_sums if accumulate else index_put_values
    return put(input, values, indices, template)


put_entries_ = to_inplace(put_entries, "index_put_")


def indexed_shape(input: Tensor, indices, template) -> tuple[int, ...]:
    """The shape of the entries that index arrays select."""
    stand_in = np.broadcast_to(np.zeros((), bool), input.shape)
    shapes = [i.shape for i in indices]
    if prod(broadcast_shapes(*shapes)) and 0 in input.shape:
        return aval_of(index_values(input, indices, template)._fx_value).shape
    rest = iter([np.broadcast_to(np.zeros((), np.intp), s) for s in shapes])
    return stand_in[tuple([next(rest) if used else slice(None) for used in template])].shape


def parse_put_indices(input: Tensor, indices) -> tuple[Tensor, list[Any], tuple[bool, ...]]:
    """Return (the Tensor with a dimension for each single truth value, index arrays, template) for the argument
    `indices` of index_put."""
    left: list[Any] = []
    for entry in indices:
        if entry is not None and is_truth_value(entry):
            input, entry = unsqueeze(input, len(left)), as_row(entry)
        left += [None] if entry is None else index_arrays(entry, input.shape, len(left))
    if len(left) > len(input.shape):
        raise DimensionError(
            f"too many indices for tensor of dimension {len(input.shape)} (got {len(left)})",
            hint=f"at most {len(input.shape)}; a mask counts as many as it has dimensions",
        )
    return input, *indices_and_template(left + [None] * (len(input.shape) - len(left)))


@expose("function method", direct=put_directly)
def index_put(input: Tensor, indices, values: Tensor, accumulate: bool = False) -> Tensor:
    """The Tensor with values written, or added, at the places of index Tensors, one for each leading dimension."""
    check_source(input, values)
    result = put_entries(*parse_put_indices(input, indices), values, accumulate)
    return result if result.shape == input.shape else reshape(result, input.shape)


expose("method", direct=put_directly_)(to_inplace(index_put))


# -- along one dimension ------------------------------------------
