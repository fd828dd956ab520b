"""`jax.typing`: annotations."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import Array

__all__ = ["ArrayLike", "DTypeLike"]

ArrayLike = Array | np.ndarray | np.generic | bool | int | float | complex
DTypeLike = Any
