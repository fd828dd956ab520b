"""Tensors from data and from nothing."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ops
from ...core.aval import aval_of, is_differentiable, kind_of
from ...core.interpreter import Tracer
from .._core import views
from .._core.dtypes import (
    SHORT_NAMES,
    as_number,
    as_numpy_dtype,
    default_numpy,
    from_name,
    get_default_dtype,
    is_dtype,
    number_in,
)
from .._core.dtypes import dtype as torch_dtype
from .._core.errors import ArgumentError, ArgumentValueError, TensorError
from .._core.layout import arranged, contiguous_format, layout, preserve_format
from .._core.memory import alias, is_array, strided
from .._core.modes import current_modes
from .._core.tape import current_tape
from .._core.tensor import Size, Tensor, as_subclass, current, make
from .._declare.operation import exposed
from .._declare.out import put_out
from .data import copied, shared
from .devices import as_device, cupy, moved

if TYPE_CHECKING:
    from collections.abc import Callable


# -- what all have in common ------------------------------------------
def created(value: Any, requires_grad: bool = False) -> Tensor:
    """A new Tensor of a value."""
    made = make(current_tape(), value)
    if current_modes().inference:
        views.mark_inference(made)
    if requires_grad:
        if not is_differentiable(aval_of(value).dtype):
            raise TensorError("Only Tensors of floating point and complex dtype can require gradients")
        made.requires_grad_()
    return made


def as_size(given: Any, name: str) -> tuple[int, ...]:
    """Sizes as they are given: zeros(2, 3), zeros((2, 3)) or zeros(size=(2, 3))."""
    if len(given) == 1 and isinstance(given[0], tuple | list):
        given = given[0]
    try:
        size = tuple([n.__index__() for n in given])
    except (AttributeError, TypeError):
        wrong = next(n for n in given if not hasattr(n, "__index__"))
        raise ArgumentError(
            f"{name}(): argument 'size' (position 1) must be tuple of ints, not {type(wrong).__name__}"
        ) from None
    if any(n < 0 for n in size):
        raise TensorError(f"Trying to create tensor with negative dimension {min(size)}: {list(size)}")
    return size


def numpy_dtype(given: Any, default: Any, name: str) -> Any:
    """NumPy's dtype for `dtype=`."""
    if given is None:
        return default
    if not is_dtype(given):
        raise ArgumentError(f"{name}(): argument 'dtype' must be torch.dtype, not {type(given).__name__}")
    return as_numpy_dtype(given)


def finished(
    make_array: Callable[[Any], Any],
    name: str,
    default: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    out: Tensor | None = None,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """The Tensor of make_array(NumPy's dtype), or `out` with its entries.

    `layout` and `pin_memory` are accepted and mean nothing here: all Tensors are strided, and in ordinary memory.
    """
    if out is not None:
        put_out(name, make_array(numpy_dtype(dtype, aval_of(out.value).dtype, name)), None, out)
        return out
    target = as_device(device)
    value = make_array(numpy_dtype(dtype, default, name))
    return created(value if target.type == "cpu" else moved(value, target), requires_grad)


# -- from data ------------------------------------------
@exposed()
def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """A Tensor with a copy of `data`: a number, nested sequences of numbers, an array or a Tensor.

    Python's numbers become bool, int64, the default dtype or its complex one; others keep theirs.

    Raises:
        ValueError: rows of different lengths; an integer that does not fit.
        TypeError: text.
        RuntimeError: an object that is no number.

    >>> import fxgrad.compat as torch
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
    return finished(
        lambda numpy: copied(data, None if dtype is None else numpy),
        "tensor", None, dtype=dtype, device=device, requires_grad=requires_grad,
    )  # fmt: skip


@exposed()
def scalar_tensor(s: Any, **options: Any) -> Tensor:
    """A number as a Tensor without dimensions, in the default dtype."""
    return finished(lambda numpy: np.asarray(s, numpy), "scalar_tensor", default_numpy("f"), **options)


@exposed()
def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A Tensor that shares the memory of an array.

    Raises:
        TypeError: it is no array, or one of a dtype that torch does not have.
        ValueError: it has negative strides, or its bytes in another order.

    >>> import numpy as np
    >>> import fxgrad.compat as torch
    >>> array = np.zeros(2)
    >>> x = torch.from_numpy(array)
    >>> array[0] = 1
    >>> x
    tensor([1., 0.], dtype=torch.float64)
    """
    if not isinstance(ndarray, np.ndarray):
        raise ArgumentError(f"expected np.ndarray (got {type(ndarray).__name__})")
    return created(alias(shared(ndarray)))


@exposed()
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` as a Tensor: itself where it is one, in the memory of an array, otherwise a copy."""
    if not isinstance(data, Tensor):
        if not isinstance(data, np.ndarray) and not is_array(data):
            return tensor(data, dtype=dtype, device=device)
        data = from_numpy(data) if isinstance(data, np.ndarray) else created(data)
        device = as_device(device)
    if dtype is None and device is None:
        return data
    return data.to(device=device, dtype=dtype)


@exposed()
def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False
) -> Tensor:
    """`obj` as a Tensor, in its own memory where that can be and `copy` is not True.

    Raises:
        ArgumentValueError: `copy=False`, and there must be one.
    """
    shares = isinstance(obj, Tensor | np.ndarray) or hasattr(obj, "__dlpack__") or is_buffer(obj)
    if not shares:
        if copy is False:
            raise ArgumentValueError("can't alias arbitrary sequence into a tensor.")
        return tensor(obj, dtype=dtype, device=device, requires_grad=requires_grad)
    if not isinstance(obj, Tensor | np.ndarray):
        obj = (
            np.frombuffer(obj, numpy_dtype(dtype, default_numpy("f"), "asarray"))
            if is_buffer(obj)
            else from_dlpack(obj)
        )
    given = as_tensor(obj)
    made = as_tensor(obj, dtype, device)
    same = made is given or np.shares_memory(made.value, given.value)
    if copy is False and not same:
        raise ArgumentValueError("can't alias tensor: its dtype or device is another one", hint="copy=None")
    if copy and same:
        made = made.clone()
    if requires_grad and not made.requires_grad:
        made = made.detach().requires_grad_()
    return made


def is_buffer(obj: Any) -> bool:
    return isinstance(obj, bytes | bytearray | memoryview)


@exposed()
def from_dlpack(ext_tensor: Any) -> Tensor:
    """A Tensor in the memory of another library's array, by the DLPack protocol."""
    if hasattr(ext_tensor, "__cuda_array_interface__"):
        return created(cupy().from_dlpack(ext_tensor))
    return created(np.from_dlpack(ext_tensor))


@exposed()
def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A Tensor in the memory of a buffer, from the byte `offset` on; `count` entries, or all that there are."""
    array = np.frombuffer(buffer, numpy_dtype(dtype, None, "frombuffer"), count, offset)
    return created(shared(array), requires_grad)


@exposed()
def is_tensor(obj: Any) -> bool:
    """Whether it is a Tensor."""
    return isinstance(obj, Tensor)


# -- filled ------------------------------------------
def fill_kind(value: Any) -> Any:
    """NumPy's dtype of a Tensor filled with a Python number."""
    return default_numpy(kind_of(np.asarray(value).dtype).replace("u", "i"))


@exposed()
def zeros(*size: Any, **options: Any) -> Tensor:
    """A Tensor of zeros.

    Args:
        size: its sizes, as several arguments or as one tuple.
        options: `dtype` (the default one), `device`, `requires_grad`, `out`; as for all functions that make Tensors.

    >>> import fxgrad.compat as torch
    >>> torch.zeros(2, 3, dtype=torch.int64)
    tensor([[0, 0, 0],
            [0, 0, 0]])
    """
    return filled("zeros", np.zeros, size, options)


@exposed()
def ones(*size: Any, **options: Any) -> Tensor:
    """A Tensor of ones; see `zeros`."""
    return filled("ones", np.ones, size, options)


@exposed()
def empty(*size: Any, memory_format: Any = None, **options: Any) -> Tensor:
    """A Tensor of any numbers; see `zeros`."""
    order = None if memory_format is None else memory_format.order
    return filled("empty", lambda shape, numpy: arranged(np.empty(shape, numpy), order), size, options)


def filled(name: str, fill: Callable[[tuple[int, ...], Any], Any], size: Any, options: dict) -> Tensor:
    """A Tensor of the array fill(shape, NumPy's dtype)."""
    if "size" in options:
        size = (*size, options.pop("size"))
    if not size and name != "empty":
        raise ArgumentError(f'{name}() missing 1 required positional arguments: "size"')
    shape = as_size(size, name)
    return finished(lambda numpy: fill(shape, numpy), name, default_numpy("f"), **options)


@exposed()
def full(size: Any, fill_value: Any, **options: Any) -> Tensor:
    """A Tensor of one number everywhere, whose kind decides the dtype; see `zeros`."""
    if not isinstance(size, tuple | list):
        raise ArgumentError(
            f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}"
        )
    value, default = number(fill_value, "full")
    shape = as_size((size,), "full")
    return finished(lambda numpy: spread(value, shape, numpy), "full", default, **options)


def number(given: Any, name: str) -> tuple[Any, Any]:
    """(value, NumPy's dtype) of what is to be everywhere: a number, or a Tensor without dimensions."""
    if isinstance(given, Tensor):
        if given.shape:
            raise ArgumentError(f"{name}(): argument 'fill_value' (position 2) must be Number, not Tensor")
        return current(given).value, aval_of(given.value).dtype
    given = as_number(given)
    return given, fill_kind(given)


def spread(value: Any, shape: tuple[int, ...], numpy: Any) -> Any:
    """An array of one number everywhere; traced where the number is."""
    if isinstance(value, Tracer):
        return ops.broadcast_to(ops.convert(value, dtype=numpy), shape=shape)
    return np.full(shape, number_in(value, numpy))


def like(input: Tensor, fill: Callable[[tuple[int, ...], Any], Any], name: str, options: dict) -> Tensor:
    """A Tensor of the shape, dtype, device and strides of another, filled by fill(shape, NumPy's dtype)."""
    if not isinstance(input, Tensor):
        raise ArgumentError(
            f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        )
    order = options.pop("memory_format", None) or preserve_format
    options["device"] = options.get("device") or input.device

    def made(numpy: Any) -> Any:
        value = fill(tuple(input.shape), numpy)
        if not is_array(value) or order is contiguous_format:
            return value
        if order is not preserve_format:
            return arranged(value, order.order)
        return in_layout(value, layout(input))

    return finished(made, name, aval_of(input.value).dtype, **options)


def in_layout(value: np.ndarray, other: Any) -> np.ndarray:
    """An array with its dimensions in memory in the order of another's."""
    if other.flags.c_contiguous:
        return value
    order = sorted(range(other.ndim), key=lambda d: -other.strides[d])
    return arranged(value, order)


# name → (shape, NumPy's dtype) → array, for `name_like`.
FILLED = {"zeros": np.zeros, "ones": np.ones, "empty": np.empty}


def like_function(name: str) -> Callable[..., Tensor]:
    """`zeros_like` and its kind."""

    def function(input: Tensor, **options: Any) -> Tensor:
        return like(input, FILLED[name], f"{name}_like", options)

    function.__name__ = f"{name}_like"
    function.__doc__ = (
        f"`{name}` in the shape, dtype, device and strides of a Tensor, where options do not say otherwise."
    )
    return exposed()(function)


def new_method(name: str) -> Callable[..., Tensor]:
    """`new_zeros` and its kind."""

    def method(self: Tensor, *size: Any, **options: Any) -> Tensor:
        return filled(f"new_{name}", FILLED[name], size, of_kind(self, options))

    method.__name__ = f"new_{name}"
    method.__doc__ = (
        f"`{name}` in the dtype and on the device of this Tensor, where options do not say otherwise."
    )
    return exposed("method")(method)


def of_kind(tensor: Tensor, options: dict) -> dict:
    """Options with the dtype and the device of a Tensor where they do not name others."""
    given = {name: value for name, value in options.items() if value is not None}
    return {"dtype": tensor.dtype, "device": tensor.device} | given


zeros_like, ones_like, empty_like = map(like_function, FILLED)
new_zeros, new_ones, new_empty = map(new_method, FILLED)


@exposed()
def full_like(input: Tensor, fill_value: Any, **options: Any) -> Tensor:
    """`full` in the shape, dtype, device and strides of a Tensor, where options do not say otherwise."""
    value, _ = number(fill_value, "full_like")
    return like(input, lambda shape, numpy: spread(value, shape, numpy), "full_like", options)


@exposed("method")
def new_full(self: Tensor, size: Any, fill_value: Any, **options: Any) -> Tensor:
    """`full` in the dtype and on the device of this Tensor, where options do not say otherwise."""
    return full(size, fill_value, **of_kind(self, options))


@exposed("method", "new_tensor")
def new_from_data(self: Tensor, data: Any, **options: Any) -> Tensor:
    """`tensor` in the dtype and on the device of this Tensor, where options do not say otherwise."""
    return tensor(data, **of_kind(self, options))


@exposed()
def empty_strided(size: Any, stride: Any, **options: Any) -> Tensor:
    """A Tensor of any numbers with these strides."""
    shape = as_size((size,), "empty_strided")
    count = 1 + sum((n - 1) * s for n, s in zip(shape, stride)) if 0 not in shape else 0

    def laid_out(numpy: Any) -> np.ndarray:
        return strided(np.empty(count, numpy), shape, [s * numpy.itemsize for s in stride], 0)

    return finished(laid_out, "empty_strided", default_numpy("f"), **options)


@exposed("method")
def new_empty_strided(self: Tensor, size: Any, stride: Any, **options: Any) -> Tensor:
    """`empty_strided` in the dtype and on the device of this Tensor."""
    return empty_strided(size, stride, **of_kind(self, options))


# -- sequences ------------------------------------------
def plain_number(given: Any) -> Any:
    return given.item() if isinstance(given, Tensor) else given


@exposed()
def arange(*bounds: Any, start: Any = 0, end: Any = None, step: Any = 1, **options: Any) -> Tensor:
    """The numbers from `start` on and before `end`, `step` apart: arange(end), arange(start, end), arange(start, end,
    step). Of integers they are int64, otherwise of the default dtype.

    Raises:
        RuntimeError: `step` is 0, or leads away from `end`.

    >>> import fxgrad.compat as torch
    >>> torch.arange(1, 2.5, 0.5)
    tensor([1.0000, 1.5000, 2.0000])
    """
    if len(bounds) == 1:
        bounds = (start, bounds[0]) if end is None else (bounds[0], end)
    start, end, step = map(plain_number, (*bounds, *(start, end, step)[len(bounds) :]))
    if end is None:
        raise ArgumentError('arange() missing 1 required positional arguments: "end"')
    if step == 0:
        raise TensorError("step must be nonzero")
    if (end - start) * step < 0:
        raise TensorError("upper bound and lower bound inconsistent with step sign")
    whole = all(isinstance(x, int) for x in (start, end, step))
    count = -(-(end - start) // step) if whole else math.ceil((end - start) / step)

    def numbers(numpy: Any) -> np.ndarray:
        integral = whole or kind_of(numpy) in "iu"
        first, by = (int(start), int(step)) if integral else (float(start), float(step))
        return (first + by * np.arange(count)).astype(numpy)

    return finished(numbers, "arange", default_numpy("i" if whole else "f"), **options)


@exposed("function", "range")
def closed_range(start: Any = 0, end: Any = None, step: Any = 1, **options: Any) -> Tensor:
    """The numbers from `start` to `end`, both included; torch has deprecated it for `arange`."""
    count = math.floor((end - start) / step) + 1
    return finished(
        lambda numpy: (start + step * np.arange(count)).astype(numpy), "range", default_numpy("f"), **options
    )


def spaced(start: Any, end: Any, steps: int, numpy: Any) -> np.ndarray:
    """Numbers at equal distances, both ends included; symmetric, from either end to the middle."""
    if steps < 0:
        raise TensorError("number of steps must be non-negative")
    if kind_of(numpy) in "iu":
        return np.trunc(np.linspace(start, end, steps)).astype(numpy)
    return np.linspace(start, end, steps, dtype=complex if kind_of(numpy) == "c" else float).astype(numpy)


@exposed()
def linspace(start: Any, end: Any, steps: int, **options: Any) -> Tensor:
    """`steps` numbers from `start` to `end`, both included, at equal distances."""
    start, end = plain_number(start), plain_number(end)
    kind = "c" if isinstance(start, complex) or isinstance(end, complex) else "f"
    return finished(
        lambda numpy: spaced(start, end, steps, numpy), "linspace", default_numpy(kind), **options
    )


@exposed()
def logspace(start: Any, end: Any, steps: int, base: float = 10.0, **options: Any) -> Tensor:
    """base to the powers of `linspace`."""
    start, end = plain_number(start), plain_number(end)
    kind = "c" if isinstance(start, complex) or isinstance(end, complex) else "f"

    def powers(numpy: Any) -> np.ndarray:
        wide = np.dtype(complex if kind_of(numpy) == "c" else float)
        return (base ** spaced(start, end, steps, wide)).astype(numpy)

    return finished(powers, "logspace", default_numpy(kind), **options)


@exposed()
def eye(n: int, m: int | None = None, **options: Any) -> Tensor:
    """The n × m matrix (n × n) with ones on the diagonal and zeros elsewhere."""
    for size, name in ((n, "n"), (m, "m")):
        if size is not None and size < 0:
            raise TensorError(f"{name} must be greater or equal to 0, got {size}")
    return finished(lambda numpy: np.eye(n, m, dtype=numpy), "eye", default_numpy("f"), **options)


# -- by class ------------------------------------------
def legacy(dtype: Any, args: Any, device: Any = None) -> Tensor:
    """`torch.Tensor(…)` and its kind: sizes make a Tensor of any numbers, data one of these."""
    if len(args) == 1 and isinstance(args[0], Tensor):
        return args[0].detach()
    if len(args) == 1 and not isinstance(args[0], Size | int | np.integer):
        if not isinstance(args[0], str) and not hasattr(args[0], "__len__"):
            raise ArgumentError(f"new(): data must be a sequence (got {type(args[0]).__name__})")
        return tensor(args[0], dtype=dtype, device=device)
    return empty(*(args or (0,)), dtype=dtype, device=device)


def construct(cls: type, *args: Any, device: Any = None) -> Tensor:
    """`torch.Tensor(…)`, and that of a subclass."""
    return as_subclass(legacy(get_default_dtype(), args, device), cls)


Tensor.attach(__new__=staticmethod(construct))


class TensorType:
    """`torch.FloatTensor` and its kind: makes Tensors of a dtype, and knows them by `isinstance`."""

    def __init__(self, name: str, dtype: torch_dtype):
        self.__name__, self.dtype = name, dtype

    def __call__(self, *args: Any) -> Tensor:
        return legacy(self.dtype, args)

    def __instancecheck__(self, x: Any) -> bool:
        return isinstance(x, Tensor) and x.dtype is self.dtype and not x.is_cuda

    def __repr__(self) -> str:
        return f"<class 'torch.{self.__name__}'>"


TYPES = {
    f"{short}Tensor": TensorType(f"{short}Tensor", from_name(name))
    for name, short in SHORT_NAMES.items()
    if name != "bfloat16"
}
for name in TYPES:
    exposed(name=name)(TYPES[name])


@exposed("method")
def new(self: Tensor, *args: Any) -> Tensor:
    """`torch.Tensor(…)` in the dtype and on the device of this Tensor."""
    return legacy(self.dtype, args, self.device)
