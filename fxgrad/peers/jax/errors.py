"""`jax.errors`: the classes that programs catch, as those of this library that are raised instead."""

from __future__ import annotations

from ...core.errors import ArrayConversionError, ConcretizationError, EscapedTracerError, FxgradError

__all__ = [
    "ConcretizationTypeError", "JAXTypeError", "JaxRuntimeError", "NonConcreteBooleanIndexError",
    "TracerArrayConversionError", "TracerBoolConversionError", "TracerIntegerConversionError", "UnexpectedTracerError",
]  # fmt: skip

ConcretizationTypeError = TracerBoolConversionError = TracerIntegerConversionError = ConcretizationError
NonConcreteBooleanIndexError = ConcretizationError
TracerArrayConversionError = ArrayConversionError
UnexpectedTracerError = EscapedTracerError
JAXTypeError = JaxRuntimeError = FxgradError
