"""Batches in pinned memory, so that copies to a CUDA device overlap with other work."""

from __future__ import annotations

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

from ..._core.tensor import Tensor


def pin_batch(batch: Any) -> Any:
    """Return a batch with all its Tensors in pinned memory; objects with a method `pin_memory` are pinned by it."""
    if isinstance(batch, Tensor) or hasattr(batch, "pin_memory"):
        return batch.pin_memory()
    if isinstance(batch, str | bytes):
        return batch
    if isinstance(batch, Mapping):
        pinned = {name: pin_batch(part) for name, part in batch.items()}
        if type(batch) is dict or not isinstance(batch, MutableMapping):
            return pinned
        made = copy.copy(batch)
        made.update(pinned)
        return made
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*map(pin_batch, batch))
    if isinstance(batch, tuple):
        return [pin_batch(part) for part in batch]  # as torch does
    if isinstance(batch, Sequence):
        parts = [pin_batch(part) for part in batch]
        if type(batch) is list or not isinstance(batch, MutableSequence):
            return parts
        made = copy.copy(batch)
        made[:] = parts
        return made
    return batch
