"""`jax.core` and `jax.extend.core`: what a program asks of values, levels and Graphs, and operations of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.aval import Aval as AbstractValue
from ...core.errors import ConcretizationError
from ...core.graph import Literal, Var
from .api import ensure_compile_time_eval
from .arrays import Array, value_of
from .avals import ShapedArray, shaped, shaped_of
from .jaxprs import (
    NO_EFFECTS,
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    eval_jaxpr,
    gensym,
    jaxpr_as_fun,
    jaxprs_in_params,
    new_jaxpr_eqn,
    subjaxprs,
)
from .levels import (
    Trace,
    Tracer,
    TraceTag,
    eval_context,
    find_top_trace,
    get_opaque_trace_state,
    set_current_trace,
    take_current_trace,
    trace_state_clean,
)
from .primitives import Primitive

__all__ = [
    "AbstractValue", "Array", "Atom", "ClosedJaxpr", "DropVar", "Effect", "Jaxpr", "JaxprEqn", "Literal", "Primitive",
    "ShapedArray", "Trace", "TraceTag", "Tracer", "Value", "Var", "concrete_or_error", "ensure_compile_time_eval",
    "eval_context", "eval_jaxpr", "find_top_trace", "gensym", "get_aval", "get_opaque_trace_state", "jaxpr_as_fun",
    "jaxprs_in_params",
    "mapped_aval", "new_jaxpr_eqn", "no_effects",
    "pytype_aval_mappings", "set_current_trace", "subjaxprs", "take_current_trace",
    "trace_state_clean", "unmapped_aval", "valid_jaxtype",
]  # fmt: skip

Atom = Var | Literal
Value = Any
no_effects = NO_EFFECTS
pytype_aval_mappings = {np.ndarray: shaped_of}  # packages add their classes; `__jax_array__` is what counts


class DropVar(Var):
    """A result that no equation reads, in JAX's listings; here results have a variable in any case."""

    __slots__ = ()


class Effect:
    """The base of descriptions of effects."""


def get_aval(value: Any) -> ShapedArray:
    """Return the shape and dtype of a value."""
    return shaped_of(value)


def mapped_aval(size: int, axis: int | None, aval: Any) -> ShapedArray:
    """Return an aval without the axis along which it is mapped."""
    aval = shaped(aval)
    return aval if axis is None else aval.update(shape=(*aval.shape[:axis], *aval.shape[axis + 1 :]))


def unmapped_aval(size: int, axis: int | None, aval: Any, *options: Any) -> ShapedArray:
    """Return an aval with an axis for the batch."""
    aval = shaped(aval)
    return aval if axis is None else aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis:]))


def concrete_or_error(force: Any, value: Any, context: str = "") -> Any:
    """Return a value that has to be known, by a function such as `int`.

    Raises:
        ConcretizationError: it is traced.
    """
    if isinstance(value, Tracer):
        raise ConcretizationError(f"a value has to be known: {context}", hint="pass it as a static argument")
    return value if force is None else force(value)


def valid_jaxtype(x: Any) -> bool:
    """Whether a value is an array or a number."""
    return isinstance(x, Array) or isinstance(value_of(x), int | float | complex) or hasattr(x, "dtype")
