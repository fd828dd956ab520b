"""The errors of the torch-compatible API as its rooms raise them. `fxgrad.compat.errors` defines them, where messages
show them and `inspect` finds their source.
"""

from __future__ import annotations

from ..errors import (
    ArgumentError,
    ArgumentValueError,
    DeviceError,
    DimensionError,
    LinAlgError,
    NoGradientError,
    NotSupportedError,
    RequirementError,
    TensorError,
)

__all__ = [
    "ArgumentError",
    "ArgumentValueError",
    "DeviceError",
    "DimensionError",
    "LinAlgError",
    "NoGradientError",
    "NotSupportedError",
    "RequirementError",
    "TensorError",
    "argument_error",
]


def argument_error(
    function: str, parameter: str, position: int | None, wanted: str, given: object, hint: str | None = None
) -> ArgumentError:
    """Return the error for an argument of another kind than the one that is wanted."""
    place = "" if position is None else f" (position {position})"
    kind = f"{'numpy.' * (type(given).__module__ == 'numpy')}{type(given).__name__}"
    return ArgumentError(
        f"{function}(): argument '{parameter}'{place} must be {wanted}, not {kind}", hint=hint
    )
