"""Settings that scripts make at their start. Results here are always deterministic and in full precision, and NumPy has
threads of its own: settings are remembered, and change nothing."""

from __future__ import annotations

import os
import warnings
from typing import Any

from .._core.errors import TensorError
from .._declare.spaces import expose

SETTINGS: dict[str, Any] = {
    "threads": os.cpu_count() or 1,
    "interop_threads": os.cpu_count() or 1,
    "deterministic": False,
    "warn_only": False,
    "precision": "highest",
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
        raise TensorError(f"{name} expects an int, but got {type(number).__name__}")
    if number <= 0:
        raise TensorError(f"{name} expects a positive integer")
    return number


@expose()
def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Remember whether operations must be deterministic, as all of them are."""
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
            stacklevel=2,
        )
        return
    SETTINGS["precision"] = precision
