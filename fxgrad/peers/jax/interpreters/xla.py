"""`jax.interpreters.xla`: names that packages use."""

from __future__ import annotations

from typing import Any

from ..arrays import AS_ARRAY
from ..primitives import Primitive, run_lowering

__all__ = ["apply_primitive", "canonicalize_dtype_handlers"]

canonicalize_dtype_handlers = AS_ARRAY


def apply_primitive(prim: Primitive, *args: Any, **params: Any) -> Any:
    """Compute a primitive by what was registered for the compiler."""
    return run_lowering(prim, *args, **params)
