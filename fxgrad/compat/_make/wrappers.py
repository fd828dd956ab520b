"""Wrapper Tensors without entries of their own, whose classes define the operations on them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ...extend import Aval
from .._core.dtypes import as_numpy_dtype, default_numpy_dtype
from .._core.meta import WrapperTracer
from .._core.tape import current_tape
from .._core.tensor import Tensor, as_subclass, make_tensor
from .._declare.spaces import expose
from ..errors import ArgumentError
from .attributes import strided
from .devices import as_device


@expose("method", "_make_wrapper_subclass")
@staticmethod
def make_wrapper(
    cls: type,
    size: Sequence[int],
    strides: Sequence[int] | None = None,
    storage_offset: int | None = None,
    memory_format: Any = None,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: Any = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
) -> Tensor:
    """Make a Tensor of a shape, dtype and device, without entries: operations on it are what its class makes of them.

    The class has `__torch_dispatch__(func, types, args, kwargs)`. Here it is asked, after `__torch_function__`, about
    the functions of torch that the user calls, which `func` is one of: above autograd, so that gradients flow through
    the Tensors inside, and the wrapper itself gets none.

    Args:
        cls: a subclass of Tensor.
        size, strides: its shape, and the strides that it shows; by default those of contiguous entries.
        storage_offset, memory_format, layout, pin_memory: accepted; there is no memory that they would describe.
        dtype, device: those that it shows; by default the default ones.
        requires_grad: whether it is a leaf that requires a gradient.
        dispatch_sizes_strides_policy, dispatch_device, dispatch_layout: accepted: attributes ask
            `__torch_function__`, and may be properties of the class.

    Returns:
        A Tensor of the class.

    Raises:
        TypeError: the class is no subclass of Tensor, or has no `__torch_dispatch__`.

    >>> class Doubled(torch.Tensor):
    ...     @staticmethod
    ...     def __new__(cls, half):
    ...         made = torch.Tensor._make_wrapper_subclass(cls, half.shape, dtype=half.dtype)
    ...         made.half = half
    ...         return made
    ...     @classmethod
    ...     def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
    ...         return func(*(2 * x.half if isinstance(x, cls) else x for x in args), **(kwargs or {}))
    >>> Doubled(torch.ones(2)) + 1
    tensor([3., 3.])
    """
    if not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise ArgumentError(
            f"_make_wrapper_subclass(): a subclass of Tensor is needed, not {cls!r}",
            hint="class MyTensor(torch.Tensor): …",
        )
    if not cls._fx_has_own_dispatch:
        raise ArgumentError(
            f"{cls.__name__} must define __torch_dispatch__",
            hint="@classmethod def __torch_dispatch__(cls, func, types, args=(), kwargs=None): …",
        )
    shape, numpy = tuple(map(int, size)), default_numpy_dtype("f") if dtype is None else as_numpy_dtype(dtype)
    made = make_tensor(current_tape(), WrapperTracer(Aval(shape, numpy), as_device(device)))
    made = as_subclass(made, cls)
    if strides is not None:
        made._fx_memory_layout = partial(show_layout, shape, tuple(strides), numpy)
    return made.requires_grad_() if requires_grad else made


def show_layout(shape: Sequence[int], strides: Sequence[int], numpy: np.dtype) -> np.ndarray:
    """Return an array with these strides, counted in entries; its entries have no meaning."""
    steps = [s * numpy.itemsize for s in strides]
    return np.lib.stride_tricks.as_strided(np.zeros(1, numpy), shape, steps, writeable=False)
