"""torch.nn.utils.stateless: the former module of `func.functional_call`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from ...func import stateless
from ..modules.module import Module


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Any],
    args=None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """The older name of `func.functional_call`; see there."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future "
        "version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return stateless.functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )


__all__ = ["functional_call"]
