"""Where the arguments of `Module.to` say that a module goes."""

from __future__ import annotations

from typing import Any

from ..._core.dtypes import is_dtype
from ..._core.tensor import Tensor


def parse_to(
    *args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False, memory_format: Any = None
) -> tuple[Any, Any, bool, Any]:
    """Return the device, dtype, `non_blocking` and memory format that the arguments of `to` say: to(device), to(dtype),
    to(device, dtype), to(tensor)."""
    for given in args:
        if isinstance(given, Tensor):
            dtype, device = given.dtype, given.device
        elif is_dtype(given):
            dtype = given
        elif isinstance(given, bool):
            non_blocking = given
        elif given is not None:
            device = given
    return device, dtype, non_blocking, memory_format
