"""`jax.errors`: the classes that programs catch, as those of this library that are raised instead."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...core import errors
from ...core.errors import (
    ArrayConversionError,
    ConcretizationError,
    EscapedTracerError,
    FxgradError,
    IndexingError,
    reword,
)

__all__ = [
    "ConcretizationTypeError", "JAXTypeError", "JaxRuntimeError", "NonConcreteBooleanIndexError",
    "TracerArrayConversionError", "TracerBoolConversionError", "TracerIntegerConversionError", "UnexpectedTracerError",
]  # fmt: skip

ConcretizationTypeError = TracerBoolConversionError = TracerIntegerConversionError = ConcretizationError
NonConcreteBooleanIndexError = IndexingError
TracerArrayConversionError = ArrayConversionError
UnexpectedTracerError = EscapedTracerError
JAXTypeError = JaxRuntimeError = FxgradError


class ShapeError(errors.ShapeError, TypeError):
    """Shapes that do not match: in JAX mostly a TypeError, in NumPy a ValueError."""


def as_jax_raises(error: Exception, name: str, operands: Iterable[Any]) -> Exception:
    """Return the error to raise for one that NumPy or this library raised in a function: about shapes it is caught as
    JAX's as well."""
    found = reword(error, name, [getattr(x, "_fx_value", x) for x in operands])
    if type(found) is errors.ShapeError:
        found.__class__ = ShapeError
    return found
