"""Views: other shapes and strides of the same entries."""

from __future__ import annotations

import warnings
from math import prod
from typing import Any

import numpy as np

from ...extend import ops, source_info
from .._core import strides
from .._core.bits import CONJ, NEG, has_bit
from .._core.dtypes import from_numpy_dtype, short_name
from .._core.inplace import to_inplace_view
from .._core.layout import can_view_as, layout_array
from .._core.memory import is_array
from .._core.tensor import Size, Tensor
from .._declare.entrance import make_entrance
from .._declare.operation import operation
from .._declare.rearrangement import Rearrangement
from .._declare.spaces import expose
from .._declare.view_plan import remember_views
from ..errors import ArgumentError, TensorError
from .arguments import (
    add_variadic_method,
    as_sizes,
    expansion_error,
    fitting_shape,
    infer_shape,
    normalize_dim,
    normalize_dims,
)
from .declarers import expose_as_method

VIEW: dict[str, Any] = {"view": True, "out": False, "composite": Rearrangement}


# -- dimensions in another order ------------------------------------------
@operation("input", spaces="function", **VIEW)
def permute(input, dims) -> Any:
    """The dimensions in another order.

    >>> torch.zeros(2, 3, 5).permute(2, 0, 1).shape
    torch.Size([5, 2, 3])
    """
    dims = as_sizes(dims)
    if len(dims) != input.ndim:
        raise TensorError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {input.ndim} is not equal to len(dims) = {len(dims)}",
            hint=f"x.permute{tuple(range(input.ndim))[::-1]} reverses them; x.transpose(0, 1) exchanges two",
        )
    axes = tuple([normalize_dim(d, input.ndim) for d in dims])
    if len(set(axes)) != len(axes):
        raise TensorError(
            "permute(): duplicate dims are not allowed.", hint=f"each of 0 … {input.ndim - 1} once"
        )
    return ops.permute, (input,), {"axes": axes}


@operation("input", **VIEW)
def transpose(input, dim0: int, dim1: int) -> Any:
    """Two dimensions swapped."""
    return ops.permute, (input,), {"axes": transpose_order(input.ndim, dim0, dim1)}


def transpose_order(ndim: int, dim0: int, dim1: int) -> tuple[int, ...]:
    """The order of the dimensions after two are swapped."""
    a, b = normalize_dim(dim0, ndim), normalize_dim(dim1, ndim)
    axes = list(range(ndim))
    if ndim:
        axes[a], axes[b] = b, a
    return tuple(axes)


@operation("input", **VIEW)
def t(input) -> Any:
    """The transpose of a matrix; vectors and numbers are returned unchanged."""
    if input.ndim > 2:
        raise TensorError(
            f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D",
            hint="x.mT, which exchanges the last two dimensions",
        )
    return ops.permute, (input,), {"axes": tuple(reversed(range(input.ndim)))}


@expose("function method", views=True)
def movedim(input: Tensor, source, destination) -> Tensor:
    """Dimensions moved to other places, the others in their order."""
    ndim = len(input.shape)
    sources, targets = as_sizes(source), as_sizes(destination)
    if len(sources) != len(targets):
        raise TensorError(
            f"movedim: Invalid source or destination dims: source ({list(sources)} dims) should contain the same "
            "number "
            f"of dims as destination ({list(targets)} dims)",
            hint="one destination for each source: x.movedim((0, 1), (1, 0))",
        )
    sources, targets = normalize_dims(sources, ndim), normalize_dims(targets, ndim)
    if not ndim:
        return permute(input, ())
    rest = iter([d for d in range(ndim) if d not in sources])
    return permute(input, [sources[targets.index(d)] if d in targets else next(rest) for d in range(ndim)])


expose("function method", "moveaxis", views=True)(movedim)
expose("function method", "swapdims")(transpose)


@expose("function method", views=True)
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """`transpose` by NumPy's name."""
    return transpose(input, axis0, axis1)


# -- other shapes ------------------------------------------
@operation("input", name="view", node="ViewBackward0", spaces="", **VIEW)
def view_values(input, shape) -> Any:
    """The same entries in another shape."""
    return ops.reshape, (input,), {"shape": infer_shape(shape, prod(input.shape))}


@operation("input", name="unsafe_view", spaces="", out=False)
def reshape_copy(input, shape) -> Any:
    """A copy in another shape."""
    return ops.reshape(input, shape=shape)


def describe_conversion(old, new) -> str:
    """Describe a view as another dtype, in the words of torch's errors."""
    return f"view {short_name(old)} as {short_name(new)} (different element sizes)"


@operation("input", name="view_dtype", node="ViewBackward0", spaces="", out=False, view=True)
def view_dtype_values(input, dtype) -> Any:
    """Read the same memory as another dtype: the last dimension grows or shrinks where its items have another size."""
    size, new = input.dtype.itemsize, dtype.numpy
    if size != new.itemsize and not input.ndim:
        raise TensorError(
            f"self.dim() cannot be 0 to {describe_conversion(input.dtype, new)}",
            hint=f"x.reshape(1).view({from_numpy_dtype(new)}), or x.to(…), which converts the number",
        )
    if size == new.itemsize:
        return input.view(new) if is_array(input) else ops.bitcast(input, dtype=new)
    if is_array(input) and input.size and input.strides[-1] != size:
        raise TensorError(
            f"self.stride(-1) must be 1 to {describe_conversion(input.dtype, new)}, but got "
            f"{input.strides[-1] // size}",
            hint="x.contiguous(), a copy",
        )
    if input.shape[-1] * size % new.itemsize:
        raise TensorError(
            f"self.size(-1) must be divisible by {new.itemsize // size} to {describe_conversion(input.dtype, new)}, "
            f"but got {input.shape[-1]}",
            hint=f"x.to({from_numpy_dtype(new)}), which converts the numbers",
        )
    if is_array(input):
        return input.view(new)
    *shape, last = input.shape
    if size > new.itemsize:
        return ops.reshape(ops.bitcast(input, dtype=new), shape=(*shape, last * (size // new.itemsize)))
    pieces = new.itemsize // size
    return ops.bitcast(ops.reshape(input, shape=(*shape, last // pieces, pieces)), dtype=new)


def view(self: Tensor, size=None, *, dtype=None) -> Tensor:
    """The same memory in another shape, or read as another dtype.

    Raises:
        RuntimeError: there are too few or too many entries, or their strides do not allow it.
        TypeError: the arguments are neither sizes nor a dtype.

    >>> torch.arange(6).view(2, -1).shape
    torch.Size([2, 3])
    """
    if dtype is None and isinstance(size, tuple) and len(size) == 1 and hasattr(size[0], "is_complex"):
        dtype = size[0]
    if dtype is not None:
        check_readable(self)
        return view_dtype_values(self, dtype)
    try:
        shape = as_sizes(size)
    except TypeError:
        raise ArgumentError(
            "view() received an invalid combination of arguments", hint="x.view(2, 3)"
        ) from None
    if is_c_contiguous(self._fx_value):
        return view_values(self, shape)
    here = layout_array(self)
    shape = infer_shape(shape, here.size)
    if not can_view_as(here, shape):
        raise TensorError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead.",
            hint=f"x.reshape({', '.join(map(str, shape))}), which copies where it has to",
        )
    return view_values(self, shape)


def check_readable(tensor: Tensor) -> None:
    """Raise where the memory of a Tensor holds the conjugates or negatives of its entries."""
    for bit, kind in ((CONJ, "conjugate view tensors"), (NEG, "tensors with negative bit set")):
        if has_bit(tensor, bit):
            raise TensorError(
                f"torch.Tensor.view is not supported for {kind} when converting to a different dtype.",
                hint=f"x.{'resolve_conj' if bit == CONJ else 'resolve_neg'}(), a copy",
            )


def is_c_contiguous(value) -> bool:
    """Whether a value is an array in row-major order, so that every shape is a view."""
    return type(value) is np.ndarray and value.flags.c_contiguous


@expose(views=True)
def reshape(input: Tensor, shape) -> Tensor:
    """The same entries in another shape: a view if the strides allow it, a copy otherwise."""
    shape = as_sizes(shape)
    if is_c_contiguous(input._fx_value):
        return view_values(input, shape)
    here = layout_array(input)
    shape = infer_shape(shape, here.size)
    return view_values(input, shape) if can_view_as(here, shape) else reshape_copy(input, shape)


add_variadic_method(view, views=True)
add_variadic_method(reshape, views=True)
add_variadic_method(permute, views=True)


@expose("method")
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """`view` in the shape of another Tensor."""
    return view(self, other.shape)


@expose("method")
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """`reshape` to the shape of another Tensor."""
    return reshape(self, other.shape)


@expose("function method", views=True)
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Several neighbouring dimensions as one."""
    shape = input.shape
    first, last = normalize_dim(start_dim, len(shape)), normalize_dim(end_dim, len(shape))
    if first > last:
        raise TensorError(
            "flatten() has invalid args: start_dim cannot come after end_dim",
            hint=f"start_dim={last}, end_dim={first}",
        )
    if not shape:
        return reshape(input, (1,))
    if first == last:
        return input
    return reshape(input, (*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :]))


@expose("function method", views=True)
def ravel(input: Tensor) -> Tensor:
    """All dimensions as one, contiguous."""
    return reshape(input, (-1 if prod(input.shape) else 0,))


@expose("function", views=True)
def unflatten(input: Tensor, dim: int, sizes) -> Tensor:
    """One dimension as several."""
    shape = input.shape
    d, sizes = normalize_dim(dim, len(shape)), as_sizes(sizes)
    if not sizes:
        raise TensorError("unflatten: sizes must be non-empty", hint="sizes=(-1, 1)")
    known = prod(n for n in sizes if n != -1)
    if (known == 0 or shape[d] % known) if -1 in sizes else known != shape[d]:
        raise TensorError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} ({shape[d]}) in the "
            "input tensor",
            hint=f"x.unflatten({d}, {fitting_shape(sizes, shape[d])})",
        )
    sizes = infer_shape(sizes, shape[d])
    return view(input, (*shape[:d], *sizes, *shape[d + 1 :]))


expose_as_method(unflatten)


@operation("input", **VIEW)
def squeeze(input, dim=None) -> Any:
    """Remove all dimensions of length one, or the given ones."""
    shape = input.shape
    dims = () if dim == () else normalize_dims(dim, len(shape))
    kept = tuple([n for i, n in enumerate(shape) if n != 1 or i not in dims])
    return ops.reshape, (input,), {"shape": kept}


@operation("input", **VIEW)
def unsqueeze(input, dim: int) -> Any:
    """Insert a dimension of length one."""
    return strides.unsqueeze, (input,), {"dim": normalize_dim(dim, input.ndim + 1)}


@operation("input", spaces="", name="expand", **VIEW)
def expand_values(input, size) -> Any:
    """Expand dimensions of length one, and add dimensions in front, without copies; -1 keeps a length."""
    size = as_sizes(size)
    if len(size) < input.ndim:
        raise TensorError(
            f"expand({from_numpy_dtype(input.dtype)}{list(input.shape)}, size={list(size)}): the number of sizes "
            f"provided ({len(size)}) must be greater or equal to the number of dimensions in the tensor ({input.ndim})",
            hint=f"x.expand({', '.join(map(str, [-1] * (input.ndim - len(size)) + list(size)))})",
        )
    extra = len(size) - input.ndim
    shape = []
    for i, n in enumerate(size):
        have = input.shape[i - extra] if i >= extra else None
        if n == -1 and have is None:
            raise TensorError(
                f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {i}",
                hint=f"1 or more in place {i}, which is new",
            )
        if have not in (None, 1, n) and n != -1:
            raise expansion_error(n, have, i, size, input.shape)
        shape.append(have if n == -1 else n)
    return strides.expand, (input,), {"shape": tuple(shape)}


def expand(self: Tensor, size, *, implicit: bool = False) -> Tensor:
    """A view with dimensions of length one, and new ones before all others, made longer; -1 leaves one as it is.

    >>> torch.arange(3).expand(2, -1)
    tensor([[0, 1, 2],
            [0, 1, 2]])
    """
    return expand_values(self, size)


add_variadic_method(expand, views=True)


@expose("method")
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """`expand` to the shape of another Tensor."""
    return expand_values(self, other.shape)


@expose("function", views=True)
def broadcast_to(input: Tensor, size) -> Tensor:
    """`expand` as a function."""
    return expand_values(input, size)


add_variadic_method(broadcast_to, views=True)


@expose()
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Views of the common shape of several Tensors."""
    if len(tensors) == 1 and isinstance(tensors[0], tuple | list):
        tensors = tuple(tensors[0])
    shape = broadcast_shapes(*[x.shape for x in tensors])
    return tuple([x if x.shape == shape else expand_values(x, shape) for x in tensors])


@expose()
def broadcast_shapes(*shapes) -> Size:
    """The common shape of shapes after broadcasting."""
    given = [as_sizes(s) for s in shapes]
    rank = max(map(len, given), default=0)
    result = [1] * rank
    for shape in given:
        for i, n in enumerate(shape, rank - len(shape)):
            if n != 1 and result[i] not in (1, n):
                raise TensorError(
                    f"The size of tensor a ({result[i]}) must match the size of tensor b ({n}) at non-singleton "
                    f"dimension {i}",
                    hint="sizes of 1 broadcast with all others",
                )
            result[i] = n if n != 1 else result[i]
    return Size(result)


def declare_atleast(ndim: int, places) -> Any:
    """Declare a function that gives Tensors at least `ndim` dimensions; `places` are the new ones."""

    def add_dims(*tensors) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], tuple | list):
            tensors = tuple(tensors[0])
        elif len(tensors) == 1:
            x = tensors[0]
            while len(x.shape) < ndim:
                x = unsqueeze(x, places[len(x.shape)])
            return x
        return tuple([add_dims(x) for x in tensors])

    add_dims.__name__ = f"atleast_{ndim}d"
    add_dims.__doc__ = f"Views of Tensors with at least {ndim} dimension{'s'[: ndim > 1]}."
    return expose()(add_dims)


atleast_1d = declare_atleast(1, (0,))
atleast_2d = declare_atleast(2, (0, 0))
atleast_3d = declare_atleast(3, (0, 0, 2))


# -- the transpose as an attribute ------------------------------------------
@expose("function method")
def adjoint(input: Tensor) -> Tensor:
    """The conjugate transpose of matrices, a view."""
    return transpose_matrices(input, "adjoint()").conj()


def reverse_dims(self: Tensor) -> Tensor:
    """The dimensions in reverse order."""
    ndim = self._fx_value.ndim
    if ndim != 2 and ndim:
        warnings.warn(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will "
            "throw an error in a future release. Consider `x.mT` to transpose batches of matrices or "
            "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor.",
            UserWarning,
            stacklevel=source_info.user_stacklevel(),
        )
    return permute(self, (1, 0) if ndim == 2 else tuple(reversed(range(ndim))))


def transpose_matrices(self: Tensor, name: str = "mT") -> Tensor:
    """The transposes of matrices."""
    if len(self.shape) < 2:
        raise TensorError(
            f"tensor.{name} is only supported on matrices or batches of matrices. Got {len(self.shape)}-D tensor.",
            hint="x.unsqueeze(-1), one column" if self.shape else "x, a number",
        )
    return transpose(self, -2, -1)


def conjugate_transpose_matrices(self: Tensor) -> Tensor:
    """The conjugate transposes of matrices, a view."""
    return transpose_matrices(self, "mH").conj()


def conjugate_transpose(self: Tensor) -> Tensor:
    """The conjugate transpose of a matrix."""
    if len(self.shape) not in (0, 2):
        raise TensorError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {len(self.shape)}-D tensor."
            + " For batches of matrices, consider using tensor.mH" * (len(self.shape) > 2),
            hint="x.mH" if len(self.shape) > 2 else "x.unsqueeze(-1).mH, one row",
        )
    return reverse_dims(self).conj()


for name, function in {
    "T": reverse_dims,
    "mT": make_entrance(transpose_matrices, "mT", ("fxgrad.compat", "Tensor.mT"), remember_views()),
    "mH": conjugate_transpose_matrices,
    "H": conjugate_transpose,
}.items():
    expose("method", name)(property(function))


for function in (transpose, t, squeeze, unsqueeze, swapaxes):
    expose("method")(to_inplace_view(function))
expose("method", "swapdims_")(to_inplace_view(transpose, "swapdims_"))


@expose("method")
def sum_to_size(self: Tensor, *size) -> Tensor:
    """The sum over the dimensions in which the Tensor is larger than `size`, from which it could be broadcast.

    >>> torch.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
    if not size:
        raise ArgumentError(
            'sum_to_size() missing 1 required positional arguments: "size"', hint="x.sum_to_size(*shape)"
        )
    target = as_sizes(size[0] if len(size) == 1 else size)
    shape = tuple(self.shape)
    extra = len(shape) - len(target)
    if extra < 0 or any(n not in (1, m) for n, m in zip(target, shape[extra:])):
        raise TensorError(
            f"size {{{list(target)}}} is not expandable to size {{{list(shape)}}}.",
            hint=f"sizes of x, or 1 where they are summed: {list(shape)}",
        )
    dims = [*range(extra), *(i + extra for i, n in enumerate(target) if n != shape[i + extra])]
    if not shape:
        return self.sum()  # which gives int64 for whole numbers
    return self.sum(dims, keepdim=True).reshape(target) if dims else self
