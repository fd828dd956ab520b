"""Indexing: `x[...]` and `x[...] = v`, and entries chosen by index Tensors.

Integers, slices and None make views, as `select`, `narrow` and `unsqueeze` do; index Tensors, masks and lists then
choose entries of that, which are copies. So an integer takes no part in the broadcasting of index Tensors, as it does
in NumPy.
"""

from __future__ import annotations

import warnings
from math import prod
from operator import index as as_index
from typing import Any

import numpy as np

from ... import ops
from ...core.aval import aval_of, kind_of
from ...core.errors import ConcretizationError, UnsupportedError
from ...core.interpreter import Tracer, concrete
from .._core import strides
from .._core.dtypes import short_name
from .._core.errors import ArgumentValueError, DimensionError, TensorError
from .._core.inplace import modifying
from .._core.tape import current_tape
from .._core.tensor import Tensor, current, make
from .._declare.operation import exposed, operation
from .._declare.out import with_out
from .._declare.rearrangement import Rearrangement
from .dimensions import dimension
from .joining import cat
from .sizes import at
from .slicing import alias
from .viewing import broadcast_shapes, expanded, reshape, unsqueeze

CHOICE: dict[str, Any] = {"out": False, "composite": Rearrangement}


# -- integers, slices, None ------------------------------------------
def basic(name: str) -> Any:
    """The view operation of an index of integers and slices, for one of the names that torch has for parts of it."""

    @operation("input", name=name, spaces="", view=True, **CHOICE)
    def part(input: Any, index: Any) -> Any:
        return strides.part, (input,), {"index": index}

    return part


select, sliced = basic("select"), basic("slice")


@operation("input place", name="select", spaces="", view=True, **CHOICE)
def selected(input: Any, place: Any, dim: int) -> Any:
    """The part at a place that is not known: the entries of a batch may have different ones."""
    return ops.getitem, (input, place), {"index": (*[slice(None)] * dim, ops.ARRAY)}


MASKS = (Tensor, np.ndarray, Tracer)  # what may be one
SEVERAL = (slice, type(None), type(...), list, tuple, range, *MASKS)


def is_tensor(entry: Any) -> bool:
    """Whether an entry of a key is, or stands for, an index Tensor."""
    if isinstance(entry, Tensor):
        return bool(entry.shape) or not is_integral(entry)
    return isinstance(entry, bool | np.bool_ | list | tuple | range | np.ndarray | Tracer)


def is_integral(tensor: Tensor) -> bool:
    """Whether it is of integers; uint8 is taken for bool."""
    return kind_of(aval_of(tensor.value).dtype) in "iu" and aval_of(tensor.value).dtype != np.uint8


def is_mask(entry: Any) -> bool:
    """Whether an entry of a key is a mask: a Tensor or array of bool, or of uint8."""
    if not isinstance(entry, MASKS):
        return False
    dtype = aval_of(current(entry).value if isinstance(entry, Tensor) else entry).dtype
    return kind_of(dtype) == "b" or dtype == np.uint8


def is_unknown(entry: Any) -> bool:
    """Whether an entry of a key is a Tensor of numbers that are traced and not known."""
    value = current(entry).value if isinstance(entry, Tensor) else entry
    try:
        concrete(value, "indexing")
    except ConcretizationError:
        return True
    return False


def as_key(key: Any) -> tuple[Any, ...]:
    """A key as a tuple of entries."""
    return key if isinstance(key, tuple) else (key,)


def settled(key: Any) -> Any:
    """A key; a short list with more than numbers in it as a tuple, which it once was in NumPy, too."""
    if not isinstance(key, list) or len(key) >= 32 or not any([isinstance(e, SEVERAL) for e in key]):
        return key
    warnings.warn(
        "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; "
        "use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, "
        "x[torch.tensor(seq)], which will result either in an error or a different result",
        UserWarning,
        stacklevel=4,
    )
    return tuple(key)


def is_single(entry: Any) -> bool:
    """Whether an entry of a key is one truth value: it stands for no dimension of the operand, but makes one, of which
    it is the mask."""
    return isinstance(entry, bool | np.bool_) or (is_mask(entry) and not entry.shape)


def as_row(truth: Any) -> Any:
    """One truth value as a mask of one dimension."""
    return reshape(truth, (1,)) if isinstance(truth, Tensor) else ops.reshape(truth, shape=(1,))


def width(entry: Any) -> int:
    """How many dimensions an entry of a key stands for."""
    if entry is None or is_single(entry):
        return 0
    return len(entry.shape) if is_mask(entry) else 1


def viewed(input: Tensor, key: Any) -> tuple[Tensor, list[Any]]:
    """(the view that integers, slices and None make, the index Tensors left over for its dimensions: None for one that
    is taken as it is)."""
    entries, shape = as_key(key), input.shape
    used = sum(width(e) for e in entries if e is not Ellipsis)
    if used > len(shape):
        if not shape and isinstance(key, slice):
            raise DimensionError("slice() cannot be applied to a 0-dim tensor.")
        if not shape and not isinstance(key, tuple) and not is_tensor(key):
            raise DimensionError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                "convert a 0-dim tensor to a number"
            )
        raise DimensionError(f"too many indices for tensor of dimension {len(shape)}")
    template: list[Any] = []  # for the dimensions of the input
    left: list[Any] = []  # for those of the result
    new: list[int] = []  # the places of dimensions of length one to be made there
    taken: list[tuple[Any, int]] = []  # places that are not known, and their dimensions before that
    last = None
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
            if e.step is not None and as_index(e.step) <= 0:
                raise ArgumentValueError("step must be greater than zero")
            start, stop, step = e.indices(shape[d])
            template.append(slice(start, max(start, stop), step))
            left.append(None)
            last = sliced
        elif is_single(e):
            new.append(len(left))
            left += index_arrays(as_row(e), (1,), 0)
        elif is_tensor(e):
            for entry in index_arrays(e, shape, d):
                template.append(slice(None))
                left.append(entry)
        elif isinstance(e, Tensor) and is_unknown(e):
            template.append(slice(None))
            taken.append((e, len(left) - len(new)))
        else:
            template.append(position(e, shape, d))
            last = select
    if any(e != slice(None) for e in template) or not left:
        template += [slice(None)] * (len(shape) - len(template))
        input = (last or sliced).operation((input,), {"index": tuple(template)})
    elif not any(a is not None for a in left) and not new and not taken:
        input = alias(input)
    for place, dim in taken:
        input = selected.operation((input, place), {"dim": dim})
    for place in new:
        input = unsqueeze(input, place)
    return input, left


def position(entry: Any, shape: tuple[int, ...], dim: int) -> int:
    """An integer of a key as a place along a dimension."""
    try:
        place = as_index(entry)
    except TypeError:
        raise DimensionError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
            f"{type(entry).__name__})"
        ) from None
    if not -shape[dim] <= place < shape[dim]:
        raise DimensionError(f"index {place} is out of bounds for dimension {dim} with size {shape[dim]}")
    return place % shape[dim]


def index_arrays(entry: Any, shape: tuple[int, ...], dim: int) -> list[Any]:
    """The integer arrays, one for each dimension, that an index Tensor, a mask or a list stands for; a mask itself, for
    each of its dimensions, that is not known."""
    if isinstance(entry, list | tuple | range):
        entry = np.asarray([e.__index__() if isinstance(e, Tensor) else e for e in entry])
        entry = entry.astype(np.intp) if not entry.size else entry
    value = current(entry).value if isinstance(entry, Tensor) else entry
    aval = aval_of(value)
    if kind_of(aval.dtype) not in "biu":
        raise DimensionError("tensors used as indices must be long, int, byte or bool tensors")
    if kind_of(aval.dtype) != "b" and aval.dtype != np.uint8:
        return [entry if isinstance(entry, Tensor) else value]
    for i, n in enumerate(aval.shape):
        if n != shape[dim + i]:
            raise DimensionError(
                f"The shape of the mask {list(aval.shape)} at index {i} does not match the shape of the indexed tensor "
                f"{list(shape)} at index {dim + i}"
            )
    if isinstance(entry, Tensor) and is_unknown(entry):
        return [entry] * len(aval.shape)
    return list(np.nonzero(concrete(value, "indexing")))


# -- index Tensors ------------------------------------------
def filled(template: tuple[bool, ...]) -> tuple[Any, ...]:
    """The index of a primitive with arrays where `template` says so, and all entries along other dimensions."""
    return tuple([ops.ARRAY if used else slice(None) for used in template])


@operation("input *indices", spaces="", name="index", **CHOICE)
def entries_at(input: Any, indices: Any, template: Any) -> Any:
    """The entries at places given by index arrays for some of the dimensions."""
    check_bounds(indices, template, input.shape)
    return ops.getitem, (input, *indices), {"index": filled(template)}


@operation("input values *indices", spaces="", name="index_put", **CHOICE)
def entries_replaced(input: Any, values: Any, indices: Any, template: Any) -> Any:
    """The Tensor with other entries at such places."""
    check_bounds(indices, template, input.shape)
    return ops.update, (input, values, *indices), {"index": filled(template)}


@operation("input values *indices", spaces="", name="index_put", out=False)
def entries_added(input: Any, values: Any, indices: Any, template: Any) -> Any:
    """The Tensor with values added at such places."""
    check_bounds(indices, template, input.shape)
    return input + ops.put(values, *indices, index=filled(template), shape=tuple(input.shape))


def check_bounds(indices: Any, template: Any, shape: tuple[int, ...]) -> None:
    """Raise for the first index, of those that are known, which is not there."""
    dims = [d for d, used in enumerate(template) if used]
    for d, index in zip(dims, indices):
        if type(index) is np.ndarray and index.size:
            n = shape[d]
            low, high = index.min(), index.max()
            if low < -n or high >= n:
                bad = low if low < -n else high
                if not n:
                    raise DimensionError("index is out of bounds for dimension with size 0")
                raise DimensionError(f"index {bad} is out of bounds for dimension {d} with size {n}")


def chosen(left: list[Any]) -> tuple[list[Any], tuple[bool, ...]]:
    """(the index arrays, the template) of what `viewed` has left over."""
    for mask in filter(is_mask, left):
        concrete(mask.value, "indexing")  # which raises
    indices = [a for a in left if a is not None]
    if len(indices) > 1:
        check_broadcast(indices)
    return indices, tuple([a is not None for a in left])


def check_broadcast(indices: list[Any]) -> None:
    """Raise unless the index arrays broadcast."""
    shapes = [tuple(i.shape) for i in indices]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        raise DimensionError(
            "shape mismatch: indexing tensors could not be broadcast together with shapes "
            + ", ".join(str(list(s)) for s in shapes)
        ) from None


@exposed("method", "__getitem__")
def getitem(self: Tensor, key: Any) -> Tensor:
    """Part of a Tensor: a view for integers, slices, None and `...`; a copy where Tensors, masks or lists are used.

    >>> import fxgrad.compat as torch
    >>> x = torch.arange(6).view(2, 3)
    >>> x[1], x[:, [0, 2]], x[x > 3]
    (tensor([3, 4, 5]), tensor([[0, 2],
            [3, 5]]), tensor([4, 5]))
    """
    if type(key) is int and self.value.shape and -len(self.value) <= key < len(self.value):
        return select(self, (key % len(self.value),))
    view, left = viewed(self, settled(key))
    indices, template = chosen(left)
    return entries_at(view, indices, template) if indices else view


@operation("input values mask", spaces="", name="index_put", out=False)
def entries_covered(input: Any, values: Any, mask: Any) -> Any:
    """The Tensor with other entries where a mask is true."""
    return ops.where(mask, values, input)


cover_entries = modifying(entries_covered, "index_put_")


def cover(view: Tensor, left: list[Any], mask: Tensor, value: Tensor) -> None:
    """Write where a mask is true that is not known, as inside vmap, where it may differ between entries of the batch.
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
    cover_entries(view, value, reshape(mask, (*mask.shape, *[1] * after)))


@exposed("method", "__setitem__")
def setitem(self: Tensor, key: Any, value: Any) -> None:
    """Write a number or a Tensor, broadcast, into part of a Tensor."""
    if key is False:
        return
    key = settled(key)
    view, left = viewed(self, key)
    mask = next(filter(is_mask, left), None)
    indices, template = chosen(left) if mask is None else ([mask], ())
    if not indices and not isinstance(value, Tensor):
        view.fill_(value)
        return
    if not isinstance(value, Tensor):
        value = make(current_tape(), np.asarray(value).astype(self.dtype.numpy))
    if indices:
        if not value.shape and all(e is True or is_mask(e) or not is_tensor(e) for e in as_key(key)):
            value = value.to(self.dtype)
        check_source(self, value)
        if mask is None:
            replace_entries(view, indices, template, value)
        else:
            cover(view, left, mask, value)
        return
    while len(value.shape) > len(view.shape) and value.shape[0] == 1:
        value = value.select(0, 0)
    view.copy_(value if value.shape == view.shape else expanded(value, view.shape))


def check_source(input: Tensor, values: Tensor) -> None:
    if values.dtype is not input.dtype:
        raise TensorError(
            f"Index put requires the source and destination dtypes match, got {short_name(input.dtype)} for the "
            f"destination and {short_name(values.dtype)} for the source."
        )


def replaced_entries(
    input: Tensor, indices: Any, template: Any, values: Tensor, accumulate: bool = False
) -> Tensor:
    """The Tensor with values, broadcast, at the places of index arrays."""
    shape = chosen_shape(input, indices, template)
    while len(values.shape) > len(shape) and values.shape[0] == 1:
        values = values.select(0, 0)
    try:
        values = values if values.shape == shape else expanded(values, shape)
    except TensorError:
        raise TensorError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result "
            "of shape "
            f"{list(shape)}"
        ) from None
    put = entries_added if accumulate else entries_replaced
    return put(input, values, indices, template)


replace_entries = modifying(replaced_entries, "index_put_")


def chosen_shape(input: Tensor, indices: Any, template: Any) -> tuple[int, ...]:
    """The shape of what index arrays choose."""
    stand_in = np.broadcast_to(np.zeros((), bool), input.shape)
    shapes = [i.shape for i in indices]
    if prod(broadcast_shapes(*shapes)) and 0 in input.shape:
        return aval_of(entries_at(input, indices, template).value).shape
    rest = iter([np.broadcast_to(np.zeros((), np.intp), s) for s in shapes])
    return stand_in[tuple([next(rest) if used else slice(None) for used in template])].shape


def put_indices(input: Tensor, indices: Any) -> tuple[Tensor, list[Any], tuple[bool, ...]]:
    """(the Tensor with the dimensions of single truth values, index arrays, template) of the argument `indices` of
    index_put."""
    left: list[Any] = []
    for entry in indices:
        if entry is not None and is_single(entry):
            input, entry = unsqueeze(input, len(left)), as_row(entry)
        left += [None] if entry is None else index_arrays(entry, input.shape, len(left))
    if len(left) > len(input.shape):
        raise DimensionError(f"too many indices for tensor of dimension {len(input.shape)} (got {len(left)})")
    return input, *chosen(left + [None] * (len(input.shape) - len(left)))


@exposed("function method")
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """The Tensor with values written, or added, at the places of index Tensors, one for each leading dimension."""
    check_source(input, values)
    result = replaced_entries(*put_indices(input, indices), values, accumulate)
    return result if result.shape == input.shape else reshape(result, input.shape)


exposed("method")(modifying(index_put))


# -- along one dimension ------------------------------------------
def check_index(
    operation: str, index: Any, shape: tuple[int, ...], dim: int, error: type = TensorError
) -> None:
    """Raise unless the places along a dimension are integers and there."""
    if kind_of(aval_of(index).dtype) not in "iu":
        raise TensorError(f"{operation}(): Expected dtype int32/int64 for index")
    n = shape[dim] if shape else 1
    if type(index) is np.ndarray and index.size and (index.min() < 0 or index.max() >= n):
        bad = index.min() if index.min() < 0 else index.max()
        raise error(f"index {bad} is out of bounds for dimension {dim} with size {n}")


def check_alike(operation: str, index: Any, input: Any, dim: int, other: str = "input") -> None:
    """Raise unless the index fits into a Tensor along the other dimensions."""
    if max(index.ndim, 1) != max(input.ndim, 1):
        raise TensorError(f"Index tensor must have the same number of dimensions as {other} tensor")
    for d, (n, m) in enumerate(zip(index.shape, input.shape)):
        if n > m and d != dim:
            raise TensorError(
                f"Size does not match at dimension {d} expected index {list(index.shape)} to be no larger than self "
                f"{list(input.shape)} apart from dimension {dim}"
            )


def along(index: Any, dim: int) -> list[Any]:
    """The index arrays of places along one dimension, entries along the others matched."""
    shape = index.shape
    return [
        index if d == dim else np.arange(n).reshape((-1,) + (1,) * (len(shape) - d - 1))
        for d, n in enumerate(shape)
    ]


def places(index: Any, input: Any, dim: int) -> tuple[list[Any], tuple[Any, ...]]:
    """(index arrays, the index of a primitive) of places along one dimension."""
    if not input.ndim:
        return [], ()
    index = index if index.ndim else ops.reshape(index, shape=(1,))
    return along(index, dim), (ops.ARRAY,) * input.ndim


@operation("input index", spaces="", name="gather", composite=Rearrangement)
def gathered(input: Any, index: Any, dim: int) -> Any:
    """The entries at places along a dimension."""
    rank = input.ndim if index.ndim else 0
    arrays = along(index, dim) if index.ndim == rank else [index] * rank  # there are none
    return ops.getitem, (input, *(arrays or [index])), {"index": (ops.ARRAY,) * rank}


@exposed("function method")
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False, out: Any = None) -> Tensor:
    """The entries at places along a dimension; entries along the others are matched.

    >>> import fxgrad.compat as torch
    >>> torch.tensor([[1, 2], [3, 4]]).gather(1, torch.tensor([[1], [0]])).tolist()
    [[2], [3]]
    """
    d = dimension(dim, len(input.shape))
    here, places = current(input).value, current(index).value
    check_index("gather", places, here.shape, d)
    if aval_of(places).size:
        check_alike("gather", places, here, d)
    if len(input.shape) == len(index.shape) or not aval_of(places).size:
        return gathered.operation((input, index), {"dim": d}, out)
    flat = gathered.operation(
        (reshape(input, (prod(input.shape),)), reshape(index, (prod(index.shape),))), {"dim": 0}
    )
    result = reshape(flat, index.shape)
    return result if out is None else out.resize_(index.shape).copy_(result)


@operation("input index", composite=Rearrangement)
def index_select(input: Any, dim: int, index: Any) -> Any:
    """The entries at places along a dimension, one after the other."""
    d = dimension(dim, input.ndim)
    if index.ndim > 1:
        raise DimensionError("index_select(): Index is supposed to be a vector")
    if aval_of(index).dtype not in (np.dtype("i4"), np.dtype("i8")):
        raise TensorError("index_select(): Expected dtype int32 or int64 for index")
    n = input.shape[d] if input.ndim else 1
    if type(index) is np.ndarray and index.size and (index.min() < 0 or index.max() >= n):
        raise DimensionError("index out of range in self")
    if not input.ndim:
        return ops.getitem, (input, index), {"index": ()}
    flat = index if index.ndim else ops.reshape(index, shape=(1,))
    return ops.getitem, (input, flat), {"index": at(d, ops.ARRAY)}


@operation("input index", spaces="", name="take", composite=Rearrangement, out=False)
def taken(input: Any, index: Any) -> Any:
    """The entries of a vector at these places."""
    return ops.getitem, (input, index), {"index": (ops.ARRAY,)}


@exposed("function method")
@with_out
def take(input: Tensor, index: Tensor) -> Tensor:
    """The entries at places in the flattened Tensor."""
    size = prod(input.shape)
    value = current(index).value
    if kind_of(aval_of(value).dtype) not in "iu":
        raise TensorError(f"take(): Expected a long tensor for index, but got {short_name(index.dtype)}")
    if type(value) is np.ndarray and value.size and (value.min() < -size or value.max() >= size):
        bad = value.min() if value.min() < -size else value.max()
        raise DimensionError(f"out of range: tried to access index {bad} on a tensor of {size} elements.")
    return taken(reshape(input, (size,)), index)


@exposed("function method")
@with_out
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """The entries at places along a dimension, counted from its end if negative, the others broadcast; without a
    dimension, those of the flattened Tensor."""
    if dim is None:
        return gather(reshape(input, (-1,)), 0, reshape(indices, (-1,)))
    if len(input.shape) != len(indices.shape):
        raise TensorError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{len(input.shape)} dimensions for input, and {len(indices.shape)} dimensions for indices"
        )
    d = dimension(dim, len(input.shape))
    own, theirs = list(input.shape), list(indices.shape)
    common = broadcast_shapes((*own[:d], 1, *own[d + 1 :]), (*theirs[:d], 1, *theirs[d + 1 :]))
    source = expanded(input, (*common[:d], own[d], *common[d + 1 :]))
    indices = indices + (indices < 0) * own[d]
    return gather(source, d, expanded(indices, (*common[:d], theirs[d], *common[d + 1 :])))


# -- where entries are not zero ------------------------------------------
@exposed("function method")
def nonzero(input: Tensor, *, as_tuple: bool = False, out: Any = None) -> Any:
    """The places of the entries that are not zero, as rows, or as one index Tensor for each dimension."""
    value = concrete(current(input).value, "nonzero()")
    tape = current_tape()
    if as_tuple:
        return tuple([make(tape, a.copy()) for a in np.nonzero(np.atleast_1d(value))])
    found = np.asarray(np.argwhere(value), order="C")
    if out is not None:
        return out.resize_(found.shape).copy_(make(tape, found))
    return make(tape, found)


@exposed("function method")
@with_out
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The first `size` rows of `nonzero`; where there are fewer, rows of `fill_value`."""
    found = nonzero(input)[:size]
    rest = found.new_full((size - found.shape[0], input.ndim), fill_value)
    return cat([found, rest])


@exposed("function method")
def argwhere(input: Tensor) -> Tensor:
    """The places of the entries that are not zero, as rows."""
    return nonzero(input)
