"""Creation of Tensors from data and from sizes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any, Unpack

import numpy as np

from ...extend import Aval, Tracer, aval_of, is_differentiable, kind_of, ops
from .._core import views
from .._core.dtypes import (
    as_numpy_dtype,
    as_python_number,
    cast_number,
    default_numpy_dtype,
    dtype_hint,
    is_dtype,
    round_number,
)
from .._core.error_messages import not_a_tensor_error
from .._core.layout import (
    copy_in_order,
    inverse_order,
    layout_array,
    memory_order,
    preserve_format,
)
from .._core.memory import alias_memory, is_array
from .._core.meta import MetaTracer
from .._core.modes import current_modes
from .._core.sparse_tensor import SparseTensor
from .._core.storage import UntypedStorage
from .._core.tape import current_tape
from .._core.tensor import Tensor, make_tensor, refresh
from .._declare.out import write_out_result
from .._declare.spaces import expose
from ..errors import ArgumentError, ArgumentValueError, TensorError, argument_error
from .attributes import strided
from .data import as_shareable, copy_data
from .devices import as_device, device_count, import_cupy, move_array
from .generators import enter_batches
from .options import LikeOptions, Options, OutOptions
from .sparse import create_sparse


# -- what all have in common ------------------------------------------
def create_tensor(value, requires_grad: bool = False) -> Tensor:
    """Make a new Tensor of a value."""
    made = make_tensor(current_tape(), value)
    if current_modes().inference:
        views.mark_inference(made)
    if requires_grad:
        if not is_differentiable(aval_of(value).dtype):
            raise TensorError(
                "Only Tensors of floating point and complex dtype can require gradients",
                hint="dtype=torch.float32, or numbers with a point: 1.0 instead of 1",
            )
        made.requires_grad_()
    return made


def parse_size(given, name: str) -> tuple[int, ...]:
    """Parse sizes as users give them: zeros(2, 3), zeros((2, 3)) or zeros(size=(2, 3))."""
    if len(given) == 1:
        first = given[0]
        if type(first) is int and first >= 0:
            return (first,)
        if isinstance(first, tuple | list):
            given = first
    try:
        size = tuple([n.__index__() for n in given])
    except (AttributeError, TypeError):
        wrong = next(n for n in given if not hasattr(n, "__index__"))
        raise size_error(name, 1, wrong) from None
    if size and min(size) < 0:
        raise TensorError(
            f"Trying to create tensor with negative dimension {min(size)}: {list(size)}",
            hint="sizes are 0 or more; -1, for the size that fits, is for x.reshape and x.view",
        )
    return size


def size_error(name: str, position: int, wrong) -> ArgumentError:
    """Return the error for sizes that are not whole numbers, or one of which is not."""
    hint = "whole numbers, such as (2, 3)"
    if isinstance(wrong, int):
        hint = f"({wrong},)"
    elif isinstance(wrong, float) and wrong.is_integer():
        hint = f"{int(wrong)}; n // m is a whole number where n / m is none"
    return argument_error(name, "size", position, "tuple of ints", wrong, hint)


def parse_dtype(given, default, name: str) -> Any:
    """Return NumPy's dtype for the argument `dtype=`."""
    if given is None:
        return default
    if not is_dtype(given):
        raise argument_error(name, "dtype", None, "torch.dtype", given, dtype_hint(given))
    return as_numpy_dtype(given)


def create_with_options(
    make_array: Callable[[Any], Any],
    name: str,
    default,
    shape: tuple[int, ...] | None = None,
    *,
    dtype=None,
    device=None,
    requires_grad: bool = False,
    out: Tensor | None = None,
    layout=None,
    pin_memory: bool = False,
    sparse_dim: int | None = None,
    **unknown: Any,
) -> Tensor:
    """Make the Tensor of make_array(NumPy's dtype), or write its entries into `out`. Where the shape is known, nothing
    is made for the device "meta".

    A sparse `layout` gives Tensors without entries, with places in the first `sparse_dim` dimensions: see
    `create_sparse`. With `pin_memory` it is in pinned memory, if there is a CUDA device.
    """
    if unknown:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(unknown))}'")
    if layout is not None and layout is not strided:
        own = {"dtype": dtype, "device": device, "requires_grad": requires_grad}

        def make_entries(size: tuple[int, ...]) -> Tensor:
            return create_with_options(partial(np.zeros, size), name, default, size, **own)

        return create_sparse(layout, name, shape, sparse_dim, make_entries, out)
    if out is not None:
        if isinstance(out, SparseTensor):
            raise TensorError(
                "layout Strided does not match layout of out parameter (Sparse)",
                hint="layout=torch.sparse_coo, or without out=",
            )
        write_out_result(name, make_array(parse_dtype(dtype, aval_of(out._fx_value).dtype, name)), None, out)
        return out
    target = as_device(device)
    if target.type == "meta" and shape is not None:
        return create_tensor(MetaTracer(Aval(shape, parse_dtype(dtype, default, name))), requires_grad)
    value = make_array(parse_dtype(dtype, default, name))
    if target.type != "cpu":
        return create_tensor(move_array(value, target), requires_grad)
    made = create_tensor(value, requires_grad)
    return made.pin_memory() if pin_memory and device_count() else made


# -- from data ------------------------------------------
@expose()
def tensor(data, *, dtype=None, device=None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A Tensor with a copy of `data`: a number, nested sequences of numbers, an array or a Tensor.

    Python's numbers become bool, int64, the default dtype or its complex one; others keep theirs.

    Raises:
        ValueError: rows of different lengths; an integer that does not fit.
        TypeError: text.
        RuntimeError: an object that is no number.

    >>> torch.tensor([[1, 2], [3, 4.5]])
    tensor([[1.0000, 2.0000],
            [3.0000, 4.5000]])
    """
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=3,
        )
        device = data.device if device is None else device
    return create_with_options(
        lambda numpy: copy_data(data, None if dtype is None else numpy),
        "tensor", None, dtype=dtype, device=device, requires_grad=requires_grad,
    )  # fmt: skip


@expose()
def scalar_tensor(s, **options: Unpack[Options]) -> Tensor:
    """A number as a Tensor without dimensions, in the default dtype."""
    return create_with_options(
        lambda numpy: np.asarray(s, numpy), "scalar_tensor", default_numpy_dtype("f"), **options
    )


@expose()
def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A Tensor that shares the memory of an array.

    Raises:
        TypeError: it is no array, or one of a dtype that torch does not have.
        ValueError: it has negative strides, or its bytes in another order.

    >>> array = np.zeros(2)
    >>> x = torch.from_numpy(array)
    >>> array[0] = 1
    >>> x
    tensor([1., 0.], dtype=torch.float64)
    """
    if not isinstance(ndarray, np.ndarray):
        raise ArgumentError(
            f"expected np.ndarray (got {type(ndarray).__name__})",
            hint="torch.tensor(x), or torch.from_numpy(np.asarray(x))",
        )
    return create_tensor(alias_memory(as_shareable(ndarray)))


@expose()
def as_tensor(data, dtype=None, device=None) -> Tensor:
    """`data` as a Tensor: itself where it is one, in the memory of an array, otherwise a copy."""
    if not isinstance(data, Tensor):
        if not isinstance(data, np.ndarray) and not is_array(data):
            return tensor(data, dtype=dtype, device=device)
        data = from_numpy(data) if isinstance(data, np.ndarray) else create_tensor(data)
        device = as_device(device)
    if dtype is None and device is None:
        return data
    return data.to(device=device, dtype=dtype)


@expose()
def asarray(
    obj, *, dtype=None, device=None, copy: bool | None = None, requires_grad: bool | None = None
) -> Tensor:
    """`obj` as a Tensor, in its own memory where that can be and `copy` is not True. The bytes of buffers and storages
    are read as entries of `dtype`.

    Raises:
        ArgumentValueError: `copy=False`, and there must be one.
        TypeError: `dtype` is no `torch.dtype`.
    """
    if isinstance(obj, UntypedStorage):
        dtype = getattr(obj, "dtype", np.uint8) if dtype is None else dtype
        obj = obj.untyped()._fx_entries.data
    shares = isinstance(obj, Tensor | np.ndarray) or hasattr(obj, "__dlpack__") or is_buffer(obj)
    if not shares:
        if copy is False:
            raise ArgumentValueError(
                "can't alias arbitrary sequence into a tensor.",
                hint="copy=None, which copies where memory cannot be shared; or torch.from_numpy(np.asarray(x))",
            )
        return tensor(obj, dtype=dtype, device=device, requires_grad=bool(requires_grad))
    if not isinstance(obj, Tensor | np.ndarray):
        obj = (
            np.frombuffer(obj, parse_dtype(dtype, default_numpy_dtype("f"), "asarray"))
            if is_buffer(obj)
            else from_dlpack(obj)
        )
    given = as_tensor(obj)
    made = as_tensor(obj, dtype, device)
    same = made is given or np.shares_memory(made._fx_value, given._fx_value)
    if copy is False and not same:
        raise ArgumentValueError("can't alias tensor: its dtype or device is another one", hint="copy=None")
    if copy and same:
        made = made.clone()
    if requires_grad and not made.requires_grad:
        made = made.detach().requires_grad_()
    return made


def is_buffer(obj) -> bool:
    return isinstance(obj, bytes | bytearray | memoryview)


@expose()
def from_dlpack(ext_tensor, *, device=None, copy: bool | None = None) -> Tensor:
    """Make a Tensor in the memory of another library's array, by the DLPack protocol.

    Args:
        ext_tensor: the array, of any shape.
        device: where the Tensor is to be; where the array is unless given.
        copy: True: always in memory of its own.

    >>> torch.from_dlpack(np.arange(3.0))
    tensor([0., 1., 2.], dtype=torch.float64)
    """
    library = import_cupy() if hasattr(ext_tensor, "__cuda_array_interface__") else np
    made = create_tensor(library.from_dlpack(ext_tensor))
    placed = made if device is None else made.to(device)
    return placed.clone() if copy else placed


@expose()
def frombuffer(buffer, *, dtype, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A Tensor in the memory of a buffer, from the byte `offset` on; `count` entries, or all that there are."""
    array = np.frombuffer(buffer, parse_dtype(dtype, None, "frombuffer"), count, offset)
    return create_tensor(as_shareable(array), requires_grad)


@expose()
def is_tensor(obj) -> bool:
    """Whether an object is a Tensor."""
    return isinstance(obj, Tensor)


# -- filled ------------------------------------------
def fill_dtype(value) -> Any:
    """NumPy's dtype of a Tensor filled with a Python number."""
    return default_numpy_dtype(kind_of(np.asarray(value).dtype).replace("u", "i"))


@expose()
def zeros(*size, **options: Unpack[OutOptions]) -> Tensor:
    """A Tensor of zeros.

    Args:
        size: its sizes, as several arguments or as one tuple.
        dtype: the default one unless it is given.
        layout: `torch.sparse_coo` or `torch.sparse_csr` gives a sparse Tensor without entries.

    >>> torch.zeros(2, 3, dtype=torch.int64)
    tensor([[0, 0, 0],
            [0, 0, 0]])
    """
    return create_filled("zeros", np.zeros, size, options)


@expose()
def ones(*size, **options: Unpack[OutOptions]) -> Tensor:
    """A Tensor of ones; see `zeros`."""
    return create_filled("ones", np.ones, size, options)


@expose()
def empty(*size, memory_format=None, **options: Unpack[OutOptions]) -> Tensor:
    """A Tensor of arbitrary numbers; see `zeros`."""
    order = None if memory_format is None else memory_format.order

    def allocate(shape: tuple[int, ...], numpy: Any) -> np.ndarray:
        made = np.empty(shape, numpy)
        return made if order is None else copy_in_order(made, order)

    return create_filled("empty", allocate, size, options)


def create_filled(name: str, fill: Callable[[tuple[int, ...], Any], Any], size, options: Any) -> Tensor:
    """Make a Tensor of the array fill(shape, NumPy's dtype)."""
    if "size" in options:
        size = (*size, options.pop("size"))
    if not size and name != "empty":
        raise ArgumentError(
            f'{name}() missing 1 required positional arguments: "size"',
            hint=f"{name}(2, 3), or {name}(()) for a number",
        )
    shape = parse_size(size, name)
    default = default_numpy_dtype("f")
    return create_with_options(lambda numpy: fill(shape, numpy), name, default, shape, **options)


@expose()
def full(size, fill_value, **options: Unpack[OutOptions]) -> Tensor:
    """A Tensor of one number everywhere, whose kind decides the dtype; see `zeros`."""
    if not isinstance(size, tuple | list):
        raise size_error("full", 1, size)
    value, default = parse_fill_value(fill_value, "full")
    shape = parse_size((size,), "full")
    make_array = partial(fill_array, value, shape)
    return create_with_options(make_array, "full", default, shape, **options)


def parse_fill_value(given, name: str) -> tuple[Any, Any]:
    """Return (value, NumPy's dtype) of a fill value: a number, or a Tensor without dimensions."""
    if isinstance(given, Tensor):
        if given.shape or given.requires_grad:
            raise ArgumentError(
                f"{name}(): argument 'fill_value' (position 2) must be Number, not Tensor",
                hint="x.expand(size) repeats a Tensor without dimensions, with its gradient",
            )
        return refresh(given)._fx_value, aval_of(given._fx_value).dtype
    given = as_python_number(given)
    return given, fill_dtype(given)


def fill_array(value, shape: tuple[int, ...], numpy) -> Any:
    """Make an array filled with one number, which may be traced."""
    if isinstance(value, Tracer):
        return ops.broadcast_to(ops.convert(value, dtype=numpy), shape=shape)
    cast = round_number if prod(shape) == 1 else cast_number  # torch looks at the range for several entries
    return np.full(shape, cast(value, numpy))


def create_like(
    input: Tensor, fill: Callable[[tuple[int, ...], Any, Any], Any], name: str, options: Any
) -> Tensor:
    """Make a Tensor of the shape, dtype, device and strides of another, filled by fill(shape, NumPy's dtype, dimensions
    by decreasing stride)."""
    if not isinstance(input, Tensor):
        raise not_a_tensor_error(name, "input", 1, input)
    memory = options.pop("memory_format", None) or preserve_format
    if isinstance(input, SparseTensor) and options.get("layout") is not strided:
        if memory is not preserve_format:
            raise TensorError(
                "memory format option is only supported by strided tensors",
                hint="leave memory_format out, or x.to_dense()",
            )
        options["layout"] = options.get("layout") or input.layout
        options["sparse_dim"] = len(input.places)
    options["device"] = options.get("device") or input.device
    aval = aval_of(input._fx_value)
    return create_with_options(
        lambda numpy: fill(tuple(input.shape), numpy, like_order(input, memory)),
        name,
        aval.dtype,
        aval.shape,
        **options,
    )


def like_order(input: Tensor, memory: Any = None) -> tuple[int, ...] | None:
    """The dimensions by decreasing stride of a Tensor in the memory format, or in the order of another Tensor for None;
    None if its entries are contiguous."""
    if memory is not None and memory is not preserve_format:
        return memory.order
    return memory_order(layout_array(input))


def make_in_order(make: Callable[..., np.ndarray]) -> Callable[..., Any]:
    """The function for `create_like` by one of (shape, NumPy's dtype)."""

    def fill(shape: tuple[int, ...], numpy, order) -> Any:
        if order is None:
            return make(shape, numpy)
        return make(tuple([shape[d] for d in order]), numpy).transpose(inverse_order(order))

    return fill


# name → (shape, NumPy's dtype) → array, for `name_like`.
ARRAY_MAKERS = {"zeros": np.zeros, "ones": np.ones, "empty": np.empty}


def make_like_function(name: str) -> Callable[..., Tensor]:
    """Declare a function such as `zeros_like`."""

    def function(input: Tensor, **options: Unpack[LikeOptions]) -> Tensor:
        as_it_lies = options.get("memory_format") in (None, preserve_format)
        made = create_like(input, make_in_order(ARRAY_MAKERS[name]), f"{name}_like", options)
        return enter_batches(made, input, as_it_lies)

    function.__name__ = f"{name}_like"
    function.__doc__ = (
        f"`{name}` in the shape, dtype, device and strides of a Tensor, where options do not say otherwise."
    )
    return expose()(function)


def make_new_method(name: str) -> Callable[..., Tensor]:
    """Declare a method such as `new_zeros`."""

    def method(self: Tensor, *size, **options: Unpack[Options]) -> Tensor:
        return enter_batches(
            create_filled(f"new_{name}", ARRAY_MAKERS[name], size, options_like(self, options)), self
        )

    method.__name__ = f"new_{name}"
    method.__doc__ = (
        f"`{name}` in the dtype and on the device of this Tensor, where options do not say otherwise."
    )
    return expose("method")(method)


def options_like(tensor: Tensor, options: Any) -> dict[str, Any]:
    """Return the options, completed with the dtype, device and sparse layout of a Tensor."""
    given = {name: value for name, value in options.items() if value is not None}
    own = {"layout": tensor.layout} if isinstance(tensor, SparseTensor) else {}
    return {"dtype": tensor.dtype, "device": tensor.device} | own | given


zeros_like, ones_like, empty_like = map(make_like_function, ARRAY_MAKERS)
new_zeros, new_ones, new_empty = map(make_new_method, ARRAY_MAKERS)


@expose()
def full_like(input: Tensor, fill_value, **options: Unpack[LikeOptions]) -> Tensor:
    """`full` in the shape, dtype, device and strides of a Tensor, where options do not say otherwise."""
    value, _ = parse_fill_value(fill_value, "full_like")
    make_array = make_in_order(lambda shape, numpy: fill_array(value, shape, numpy))
    return create_like(input, make_array, "full_like", options)


@expose("method")
def new_full(self: Tensor, size, fill_value, **options: Unpack[Options]) -> Tensor:
    """`full` in the dtype and on the device of this Tensor, where options do not say otherwise."""
    parse_fill_value(fill_value, "new_full")  # which names the method in its errors
    return full(size, fill_value, **options_like(self, options))


@expose("method", "new_tensor")
def new_from_data(self: Tensor, data, **options: Unpack[Options]) -> Tensor:
    """`tensor` in the dtype and on the device of this Tensor, where options do not say otherwise."""
    given = options_like(self, options)
    given.pop("layout", None)  # the data is dense
    return tensor(data, **given)


@expose()
def eye(n: int, m: int | None = None, **options: Unpack[OutOptions]) -> Tensor:
    """The n × m matrix (n × n) with ones on the diagonal and zeros elsewhere."""
    for size, name in ((n, "n"), (m, "m")):
        if size is not None and size < 0:
            raise TensorError(
                f"{name} must be greater or equal to 0, got {size}",
                hint=f"{name}=0 makes a matrix without entries",
            )
    return create_with_options(
        lambda numpy: np.eye(n, m, dtype=numpy), "eye", default_numpy_dtype("f"), **options
    )
