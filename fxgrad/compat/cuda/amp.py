"""torch.cuda.amp: the deprecated CUDA names of torch.amp."""

from __future__ import annotations

import warnings
from typing import Any

from .._core.dtypes import PUBLIC, dtype
from ..amp import autocast_mode, grad_scaler


def warn_deprecated(name: str) -> None:
    """Warn as torch does."""
    warnings.warn(
        f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('cuda', args...)` instead.",
        FutureWarning,
        stacklevel=3,
    )


class autocast(autocast_mode.autocast):
    """Deprecated: `torch.amp.autocast("cuda", …)`.

    Args:
        enabled: whether it does anything.
        dtype: the dtype of the casts.
        cache_enabled: whether casts of weights are kept.

    >>> context = torch.cuda.amp.autocast(enabled=False)
    >>> with context:
    ...     y = torch.zeros(2)
    """

    def __init__(self, enabled: bool = True, dtype: dtype = PUBLIC["float16"], cache_enabled: bool = True):
        warn_deprecated("autocast")
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(grad_scaler.GradScaler):
    """Deprecated: `torch.amp.GradScaler("cuda", …)`.

    Args:
        init_scale: see `torch.amp.GradScaler`.
        growth_factor: see `torch.amp.GradScaler`.
        backoff_factor: see `torch.amp.GradScaler`.
        growth_interval: see `torch.amp.GradScaler`.
        enabled: whether it does anything.

    >>> scaler = torch.cuda.amp.GradScaler(enabled=False)
    >>> scaler.is_enabled()
    False
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ):
        warn_deprecated("GradScaler")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: dtype | None = None) -> Any:
    """Deprecated: `torch.amp.custom_fwd(device_type="cuda")`.

    Args:
        fwd: the `forward`.
        cast_inputs: see `torch.amp.custom_fwd`.

    Returns:
        The decorated function.

    >>> decorate = torch.cuda.amp.custom_fwd(lambda ctx, x: 2 * x)
    >>> callable(decorate)
    True
    """
    warn_deprecated("custom_fwd")
    return autocast_mode.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """Deprecated: `torch.amp.custom_bwd(device_type="cuda")`.

    Args:
        bwd: the `backward`.

    Returns:
        The decorated function.

    >>> decorate = torch.cuda.amp.custom_bwd(lambda ctx, grad: 2 * grad)
    >>> callable(decorate)
    True
    """
    warn_deprecated("custom_bwd")
    return autocast_mode.custom_bwd(bwd, device_type="cuda")


__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]
