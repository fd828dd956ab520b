"""Views of parts: entries, slices, splits, diagonals, windows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import prod
from operator import index as as_index
from typing import Any

import numpy as np

from ...extend import ops
from .._core import strides
from .._core.inplace import to_inplace_view
from .._core.layout import batch_levels, element_strides, layout_array
from .._core.memory import memory_address, memory_owner
from .._core.tensor import LEAF, Tensor
from .._core.views import base_tensor, is_view
from .._declare.operation import operation
from .._declare.out import with_out
from .._declare.rearrangement import Partition, Rearrangement
from .._declare.spaces import expose
from ..errors import ArgumentError, DimensionError, TensorError
from .arguments import as_sizes, diagonal_dims, dim_index, place_hint
from .arguments import normalize_dim as place_of
from .complex import view_memory

VIEW: dict[str, Any] = {"view": True, "out": False, "composite": Rearrangement}
UNTRACKED: dict[str, Any] = {"by_value": True, "out": False, "composite": Partition, "results": tuple}
PIECES = UNTRACKED | {"view": True}


# -- entries and slices ------------------------------------------
@operation("input", **VIEW)
def select(input, dim: int, index: int) -> Any:
    """One entry along a dimension."""
    if not input.ndim:
        raise DimensionError(
            "select() cannot be applied to a 0-dim tensor.", hint="x.item(), or x.reshape(1)"
        )
    d, index = place_of(dim, input.ndim), as_index(index)
    if not -input.shape[d] <= index < input.shape[d]:
        raise DimensionError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {d}",
            hint=place_hint(input.shape[d]),
        )
    return strides.basic_view, (input,), {"index": dim_index(d, index % input.shape[d])}


@operation("input", name="slice", spaces="", **VIEW)
def slice_values(input, dim: int, start: int, stop: int, step: int = 1) -> Any:
    """Every step-th entry along a dimension from `start` on and before `stop`."""
    return strides.basic_view, (input,), {"index": dim_index(dim, slice(start, stop, step))}


@operation("input", spaces="", **VIEW)
def alias(input) -> Any:
    """A view of the whole Tensor."""
    return strides.basic_view, (input,), {"index": (slice(None),) * input.ndim}


def slice_dim(input: Tensor, dim: int, start: int, stop: int) -> Tensor:
    """Slice from `start` to `stop` along a normalized dimension."""
    return slice_values(input, dim, start, stop)


@expose("function method", views=True)
def narrow(input: Tensor, dim: int, start, length: int) -> Tensor:
    """`length` entries along a dimension from `start` on."""
    shape = input.shape
    if not shape:
        raise TensorError("narrow() cannot be applied to a 0-dim tensor.", hint="x.reshape(1)")
    if length < 0:
        raise TensorError(
            "narrow(): length must be non-negative.",
            hint=f"length={shape[place_of(dim, len(shape))]}, or less",
        )
    d, first = place_of(dim, len(shape)), as_index(start)
    if not -shape[d] <= first <= shape[d]:
        raise DimensionError(
            f"Dimension out of range (expected to be in range of [{-shape[d]}, {shape[d]}], but got {first})",
            hint=place_hint(shape[d]),
        )
    first += shape[d] * (first < 0)
    if first + length > shape[d]:
        raise TensorError(
            f"start ({first}) + length ({length}) exceeds dimension size ({shape[d]}).",
            hint=f"length={shape[d] - first}",
        )
    return slice_dim(input, d, first, first + length)


@expose("function method")
@with_out
def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A copy of the result of `narrow`."""
    return narrow(input, dim, start, length).clone()


# -- pieces ------------------------------------------
@operation("input", **PIECES)
def unbind(input, dim: int = 0) -> Any:
    """All entries along a dimension."""
    if not input.ndim:
        raise DimensionError("Dimension specified as 0 but tensor has no dimensions", hint="x.reshape(1)")
    d = place_of(dim, input.ndim)
    return [dim_index(d, i) for i in range(input.shape[d])]


def consecutive_slices(sizes, dim: int) -> list[Any]:
    """The indices of consecutive parts of the given sizes."""
    stops = list(accumulate(sizes, initial=0))
    return [dim_index(dim, slice(start, stop)) for start, stop in pairwise(stops)]


@operation("input", spaces="", name="split", **PIECES)
def split_values(input, split_size: int, dim: int) -> Any:
    """Slices of one size; the last may be shorter."""
    size = input.shape[dim]
    starts = range(0, size, split_size) if size else [0]
    return consecutive_slices([min(split_size, size - start) for start in starts], dim)


@operation("input", **PIECES)
def split_with_sizes(input, split_sizes, dim: int = 0) -> Any:
    """Slices of the given sizes."""
    d = place_of(dim, input.ndim)
    if sum(split_sizes) != input.shape[d] or any(n < 0 for n in split_sizes):
        raise TensorError(
            f"split_with_sizes expects split_sizes to sum exactly to {input.shape[d]} (input tensor's size at "
            "dimension "
            f"{d}), but got split_sizes={list(split_sizes)}",
            hint=f"split_sizes that add up to {input.shape[d]}, or torch.split(x, n), whose last part is smaller",
        )
    return consecutive_slices(split_sizes, d)


@expose("method")
def split(self: Tensor, split_size, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of `split_size` entries along a dimension, or of as many each as a list says.

    >>> torch.arange(5).split([2, 3])
    (tensor([0, 1]), tensor([2, 3, 4]))
    """
    if isinstance(split_size, tuple | list):
        return split_with_sizes(self, as_sizes(split_size), dim)
    if not self.shape:
        raise TensorError("split expects at least a 1-dimensional tensor", hint="x.reshape(1)")
    d, size = place_of(dim, len(self.shape)), as_index(split_size)
    if size < 0 or (size == 0 and self.shape[d]):
        raise TensorError(
            f"split expects split_size be non-negative, but got split_size={size}"
            if size < 0
            else f"split_size can only be 0 if dimension size is 0, but got dimension size of {self.shape[d]}",
            hint="split_size=1, or more",
        )
    return split_values(self, max(size, 1), d)


@expose("function", "split")
def split_function(tensor: Tensor, split_size_or_sections, dim: int = 0) -> tuple[Tensor, ...]:
    """`Tensor.split` as a function."""
    return split(tensor, split_size_or_sections, dim)


@expose("function method")
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most so many views of equal size along a dimension; the last may be smaller."""
    if not input.shape:
        raise TensorError("chunk expects at least a 1-dimensional tensor", hint="x.reshape(1)")
    if chunks <= 0:
        raise TensorError(
            f"chunk expects `chunks` to be greater than 0, got: {chunks}", hint="chunks=1, for one part"
        )
    d = place_of(dim, len(input.shape))
    size = -(-input.shape[d] // chunks)
    if not size:
        return split_with_sizes(input, (0,) * chunks, d)
    return split_values(input, size, d)


@operation("input", **UNTRACKED)
def unsafe_split_with_sizes(input, split_sizes, dim: int = 0) -> Any:
    """`split_with_sizes` whose pieces may be modified in place, without notice to the whole."""
    return split_with_sizes.operation.function(input, split_sizes, dim)


def split_like(input: Tensor, pieces: Sequence[Tensor], dim: int) -> tuple[Tensor, ...]:
    """Split a Tensor into sizes like those of other pieces; autograd does not see views."""
    return unsafe_split_values(input, tuple([p.shape[dim] for p in pieces]), dim)


@operation("input", name="unsafe_split", spaces="", **UNTRACKED)
def unsafe_split_values(input, split_sizes, dim: int) -> Any:
    """See `unsafe_split`."""
    return split_with_sizes.operation.function(input, split_sizes, dim)


@expose("function method")
def unsafe_split(input: Tensor, split_size, dim: int = 0) -> tuple[Tensor, ...]:
    """`split` whose pieces may be modified in place, without notice to the whole."""
    return split_like(input, split(input.detach(), split_size, dim), dim)


@expose("function method")
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """`chunk` whose pieces may be modified in place, without notice to the whole."""
    return split_like(input, chunk(input.detach(), chunks, dim), dim)


def choose_parts(name: str, *given) -> Any:
    """Return what says where to split: the one of several arguments that is given."""
    found = [x for x in given if x is not None]
    if len(found) != 1:
        raise ArgumentError(
            f"{name}() received an invalid combination of arguments", hint=f"torch.{name}(x, 2), of two parts"
        )
    return found[0]


@expose("function method")
def tensor_split(
    input: Tensor, sections=None, dim: int = 0, *, indices=None, tensor_indices_or_sections=None
) -> tuple[Tensor, ...]:
    """So many views along a dimension, of sizes that differ by one at most; or split before given places."""
    indices_or_sections = choose_parts("tensor_split", sections, indices, tensor_indices_or_sections)
    shape = input.shape
    if not shape:
        raise TensorError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims",
            hint="x.reshape(1)",
        )
    d = place_of(dim, len(shape))
    if isinstance(indices_or_sections, Tensor):
        indices_or_sections = indices_or_sections.tolist()
    if not isinstance(indices_or_sections, tuple | list):
        sections = as_index(indices_or_sections)
        if sections <= 0:
            raise TensorError(
                f"number of sections must be larger than 0, got {sections}", hint="1, for one part"
            )
        small, more = divmod(shape[d], sections)
        sizes = [small + (i < more) for i in range(sections)]
        indices_or_sections = [sum(sizes[: i + 1]) for i in range(sections - 1)]
    bounds = [slice(None, stop).indices(shape[d])[1] for stop in indices_or_sections]
    starts, stops = [0, *bounds], [*bounds, shape[d]]
    return tuple([slice_dim(input, d, a, max(a, b)) for a, b in zip(starts, stops)])


def declare_split(name: str, least: int, dim: int) -> Any:
    """Declare hsplit, vsplit or dsplit."""

    def function(input: Tensor, sections=None, *, indices=None) -> tuple[Tensor, ...]:
        indices_or_sections = choose_parts(name, sections, indices)
        ndim = len(input.shape)
        if ndim < least:
            raise TensorError(
                f"torch.{name} requires a tensor with at least {least} dimension{'s'[: least > 1]}, but got a tensor "
                f"with {ndim} dimensions!",
                hint=f"torch.atleast_{least}d(x)",
            )
        d = min(dim, ndim - 1)
        if not isinstance(indices_or_sections, tuple | list | Tensor) and (
            indices_or_sections == 0 or input.shape[d] % indices_or_sections
        ):
            raise TensorError(
                f"torch.{name} attempted to split along dimension {d}, but the size of the dimension "
                f"{input.shape[d]} is "
                f"not divisible by the split_size {indices_or_sections}!",
                hint=f"torch.tensor_split(x, {indices_or_sections or 1}, {d}), whose parts may differ by one",
            )
        return tensor_split(input, indices_or_sections, d)

    function.__name__ = name
    function.__doc__ = f"`tensor_split` along dimension {dim}."
    return expose("function method")(function)


hsplit = declare_split("hsplit", 1, 1)
vsplit = declare_split("vsplit", 2, 0)
dsplit = declare_split("dsplit", 3, 2)


# -- diagonals and windows ------------------------------------------
@operation("input", **VIEW)
def diagonal(input, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """The diagonals of matrices in two dimensions, as the last dimension."""
    dims = diagonal_dims(dim1, dim2, input.ndim)
    return strides.diagonal, (input,), {"offset": as_index(offset), "dims": dims}


@operation("input", spaces="method", **VIEW)
def unfold(input, dimension: int, size: int, step: int) -> Any:
    """Windows of `size` entries along a dimension, `step` apart, as the last dimension.

    >>> torch.arange(4).unfold(0, 2, 1).tolist()
    [[0, 1], [1, 2], [2, 3]]
    """
    d = place_of(dimension, input.ndim)
    have = input.shape[d] if input.ndim else 1
    if size < 0:
        raise TensorError(f"size is {size} but must be >= 0", hint=f"size={-size}")
    if size > have:
        raise TensorError(
            f"maximum size for tensor at dimension {d} is {have} but size is {size}",
            hint=f"size={have}, or torch.nn.functional.pad before",
        )
    if step <= 0:
        raise TensorError(
            f"step is {step} but must be > 0",
            hint=f"step={-step or 1}; x.flip({d}).unfold(…) counts backwards",
        )
    return strides.unfold, (input,), {"dim": d, "length": size, "step": step}


def write_as_strided(input, view, shape, steps, shift: int, layout) -> Any:
    """The value of a traced operand after its `as_strided` view was given another."""
    places = strides.strided_positions(input, shape, steps, shift, layout)
    strides.ensure_inside(places)
    flat = ops.update(ops.reshape(input, shape=(prod(input.shape),)), view, places, index=(ops.ARRAY,))
    return ops.reshape(flat, shape=input.shape)


@operation("input", spaces="", name="as_strided", **VIEW | {"view": write_as_strided})
def as_strided_values(input, shape, steps, shift: int, layout) -> Any:
    """`as_strided` relative to the first entry, for an operand whose own strides are `layout_array`."""
    return strides.as_strided, (input,), {"shape": shape, "strides": steps, "shift": shift, "layout": layout}


def entry_offset(array) -> int:
    """The place of the first entry of an array in its memory, in entries."""
    return (memory_address(array) - memory_address(memory_owner(array))) // array.itemsize


def ensure_inside_entry(entry: np.ndarray, size, stride, offset: int) -> None:
    """Raise if strides lead out of the memory of one entry of a batch."""
    below, above = strides.memory_extent(entry.shape, element_strides(entry))
    low, high = entry_offset(entry) + below, entry_offset(entry) + above
    reach = offset + strides.memory_extent(size, stride)[1]
    if 0 not in size and not (low <= offset and reach <= high):
        raise TensorError(
            f"result = tensor.as_strided({list(size)}, {list(stride)}, {offset}) can access memory outside of "
            f"`tensor`. `result` can access some memory in range [{offset}, {reach + 1}], but `tensor` can only access "
            f"some memory in range [{low}, {high + 1}]. This is not supported inside of vmap, please try to rewrite "
            "the `as_strided` call as a sequence of PyTorch view operations",
            hint="x.unfold, narrow, expand, diagonal and transpose, of one entry of the batch",
        )


@expose("function method")
def as_strided(input: Tensor, size, stride, storage_offset: int | None = None) -> Tensor:
    """The view of a Tensor's memory with given strides, from the entry `storage_offset` on.

    Strides may make one entry appear in several places; its derivative is then the sum over these.
    """
    return view_memory(input, lambda memory: stride_memory(memory, size, stride, storage_offset))


def stride_memory(input: Tensor, size, stride, storage_offset: int | None) -> Tensor:
    """`as_strided` of a Tensor without conjugate or negative bit."""
    size, stride = as_sizes(size), as_sizes(stride)
    if len(size) != len(stride):
        raise TensorError(
            "mismatch in length of strides and shape", hint=f"one stride for each of {len(size)} sizes"
        )
    if any(s < 0 for s in stride):
        raise TensorError(
            f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}",
            hint="x.flip(dim), a copy",
        )
    here = layout_array(input)
    owner, item = memory_owner(here), here.itemsize
    offset = entry_offset(here) if storage_offset is None else storage_offset
    if offset < 0:
        raise TensorError(f"Tensor: invalid storage offset {offset}", hint="storage_offset=0")
    if batch_levels(input._fx_value):
        ensure_inside_entry(here, size, stride, offset)
    # What is outside of the view has a history as well; a tangent is that of the view, and a leaf has its own gradient.
    if (
        is_view(input)
        and input._fx_node is not LEAF
        and input._fx_view_meta.creation == "default"
        and input._fx_view_meta.tangent is None
    ):
        input = base_tensor(input)
        here = layout_array(input)
    needed = 0 if 0 in size else (offset + sum((n - 1) * s for n, s in zip(size, stride)) + 1) * item
    if needed > owner.nbytes:
        raise TensorError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {item} "
            f"requiring a storage size of {needed} are out of bounds for storage of size {owner.nbytes}",
            hint=f"sizes, strides and an offset within the {owner.nbytes // item} entries of the storage",
        )
    return as_strided_values(input, size, stride, offset - entry_offset(here), element_strides(here))


expose("method")(to_inplace_view(as_strided))
