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


class DTypeError(errors.DTypeError, ValueError):
    """A dtype that a function does not accept: in NumPy a TypeError, in JAX often a ValueError."""


OWN = {errors.ShapeError: ShapeError, errors.DTypeError: DTypeError}


def as_jax_raises(error: Exception, name: str, operands: Iterable[Any]) -> Exception:
    """Return the error to raise for one that NumPy or this library raised in a function: about shapes and dtypes it is
    caught as JAX's as well."""
    if type(error) is TypeError and not str(error).startswith("ufunc "):
        return error  # about arguments
    found = reword(error, name, [getattr(x, "_fx_value", x) for x in operands])
    if type(found) in OWN:
        found.__class__ = OWN[type(found)]
    return found


REFUSED = frozenset([list, tuple, str, range])


def refuse_lists(name: str, operands: Any) -> None:
    """Raise an error for an operand that is Python's list or text, where an array or a number is needed."""
    for x in operands:
        if type(x) in REFUSED:
            raise DTypeError(
                f"{name}: an operand is a {type(x).__name__}, not an array or a number", hint="jnp.array(x)"
            )
