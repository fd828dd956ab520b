"""The errors of files that torch's users catch."""

from __future__ import annotations

from ..errors import UnpicklingError

SAVEABLE = "a whole file that torch.save wrote, of Tensors, numbers and text in lists, tuples and dicts"


def refuse(text: str, hint: str = SAVEABLE) -> UnpicklingError:
    """Return the error for an object that files may not build, or that has another form than programs save."""
    return UnpicklingError(f"Weights only load failed. WeightsUnpickler error: {text}", hint=hint)
