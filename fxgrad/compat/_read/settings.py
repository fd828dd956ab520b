"""Settings that scripts make at their start. They have no effect: results are always deterministic and in full
precision.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

from ...extend import source_info
from .._core.dtypes import set_default_dtype
from .._core.storage import UntypedStorage
from .._core.tensor import Tensor
from .._declare.spaces import expose
from .._make.devices import device_count, set_default_device
from .._make.tensor_types import TENSOR_TYPES
from ..errors import ArgumentError, TensorError

SETTINGS: dict[str, Any] = {
    "threads": os.cpu_count() or 1,
    "interop_threads": os.cpu_count() or 1,
    "deterministic": False,
    "warn_only": False,
    "precision": "highest",
    "warn_always": False,
}


@expose()
def get_num_threads() -> int:
    """The number of threads that was set last."""
    return SETTINGS["threads"]


@expose()
def set_num_threads(num: int) -> None:
    """Remember a number of threads."""
    SETTINGS["threads"] = check_thread_count("set_num_threads", num)


@expose()
def get_num_interop_threads() -> int:
    """The number of threads between operations that was set last."""
    return SETTINGS["interop_threads"]


@expose()
def set_num_interop_threads(num: int) -> None:
    """Remember a number of threads between operations."""
    SETTINGS["interop_threads"] = check_thread_count("set_num_interop_threads", num)


def check_thread_count(name: str, number: int) -> int:
    if not isinstance(number, int):
        raise TensorError(
            f"{name} expects an int, but got {type(number).__name__}",
            hint=f"{name}(4), a whole number of threads",
        )
    if number <= 0:
        raise TensorError(
            f"{name} expects a positive integer", hint=f"{name}(1), which uses no other threads"
        )
    return number


@expose()
def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Record whether operations must be deterministic; all of them are."""
    SETTINGS["deterministic"], SETTINGS["warn_only"] = bool(mode), bool(mode and warn_only)


@expose()
def are_deterministic_algorithms_enabled() -> bool:
    """Whether operations must be deterministic."""
    return SETTINGS["deterministic"]


@expose()
def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether a nondeterministic operation would only warn."""
    return SETTINGS["warn_only"]


@expose()
def get_float32_matmul_precision() -> str:
    """The precision of products in single precision that was set last."""
    return SETTINGS["precision"]


@expose()
def set_float32_matmul_precision(precision: str) -> None:
    """Remember "highest", "high" or "medium"; products are always of the highest precision."""
    if precision not in ("highest", "high", "medium"):
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current call has no effect.",
            UserWarning,
            stacklevel=source_info.user_stacklevel(),
        )
        return
    SETTINGS["precision"] = precision


# -- what is only remembered, or asked ------------------------------------------
@expose()
def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Remember whether operations must be deterministic: 0 or "default", 1 or "warn", 2 or "error".

    Raises:
        TensorError: there is no such mode.
    """
    mode = {"default": 0, "warn": 1, "error": 2}.get(debug_mode, debug_mode)  # type: ignore[call-overload]
    if mode not in (0, 1, 2):
        modes = "one of `default`, `warn`, `error`" if isinstance(debug_mode, str) else "0, 1, or 2"
        raise TensorError(
            f"invalid value of debug_mode, expected {modes}, but got {debug_mode}",
            hint='"default" is 0 and checks nothing, "warn" 1, "error" 2',
        )
    use_deterministic_algorithms(mode > 0, warn_only=mode == 1)


@expose()
def get_deterministic_debug_mode() -> int:
    """The mode that `set_deterministic_debug_mode` set."""
    return SETTINGS["deterministic"] + (SETTINGS["deterministic"] and not SETTINGS["warn_only"])


@expose()
def set_warn_always(b: bool) -> None:
    """Remember whether torch's warnings are to come more than once; Python's filters decide that here."""
    SETTINGS["warn_always"] = bool(b)


@expose()
def is_warn_always_enabled() -> bool:
    """The value that `set_warn_always` set."""
    return SETTINGS["warn_always"]


@expose()
def set_flush_denormal(mode: bool) -> bool:
    """Return False: subnormal numbers are never flushed to zero here, as in torch on processors without that mode."""
    return False


@expose()
def is_vulkan_available() -> bool:
    """Whether there is a Vulkan device for Tensors: never."""
    return False


@expose()
def compiled_with_cxx11_abi() -> bool:
    """Whether torch's C++ has the newer of two ABIs: there is no C++ here; True, which is usual."""
    return True


@expose()
def is_storage(obj: Any) -> bool:
    """Whether an object is the memory of a Tensor."""
    return isinstance(obj, UntypedStorage)


@expose()
def typename(obj: Any) -> str:
    """Return the name of an object's type, with the module: of a Tensor that of its dtype, "torch.FloatTensor".

    >>> torch.typename(torch.ones(2)), torch.typename(3)
    ('torch.FloatTensor', 'int')
    """
    if isinstance(obj, Tensor):
        return obj.type()
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", None)
    return named.__qualname__ if module in (None, "builtins") else f"{module}.{named.__qualname__}"


@expose()
def set_default_tensor_type(t: Any) -> None:
    """Deprecated: `set_default_dtype`, by a type such as `torch.DoubleTensor` or its name.

    Raises:
        ArgumentError: no type of floating Tensors, or one of CUDA's without a device.
    """
    name = t if isinstance(t, str) else typename(t)
    place, _, last = name.removeprefix("torch.").rpartition(".")
    found = TENSOR_TYPES.get(last)
    if found is None or not found.dtype.is_floating_point or place not in ("", "cuda"):
        raise ArgumentError(
            "invalid type object: only floating-point types are supported as the default type",
            hint="torch.set_default_dtype(torch.float64)",
        )
    if place and not device_count():
        raise ArgumentError(
            f"type {name} not available. Torch not compiled with CUDA enabled.",
            hint="a type of the CPU, or torch.set_default_dtype(torch.float64)",
        )
    set_default_dtype(found.dtype)
    set_default_device(place or "cpu")
