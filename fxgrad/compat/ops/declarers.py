"""Declarers of one-line operations, which differ in nothing but the function of their values, and of aliases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ops
from ...core.aval import aval_of, kind_of
from ...ops.kinds import Elementwise
from ...ops.masked import Masked
from .._core.dtypes import cast_number, short_name
from .._core.errors import NotSupportedError
from .._core.precision import value_dtype
from .._core.primitives import declare_primitive
from .._declare.operation import SPACES, expose, operation

if TYPE_CHECKING:
    from collections.abc import Callable


def unary(name: str, function: Callable[[Any], Any], doc: str, **options) -> Callable[..., Any]:
    """Declare an operation on one Tensor; integers are computed in the default dtype, unless `promote` says otherwise.
    The fast path is taken where the function is a primitive."""

    def compute(input) -> Any:
        return function(input)

    return declare_operation(
        name, compute, function, "input", doc, {"promote": "float", "inplace": True} | options
    )


def binary(name: str, function: Callable[[Any, Any], Any], doc: str, **options) -> Callable[..., Any]:
    """Declare an operation on two Tensors."""

    def compute(input, other) -> Any:
        return function(input, other)

    options = {"promote": "arithmetic", "inplace": True} | options
    return declare_operation(name, compute, function, "input other", doc, options)


def declare_operation(
    name: str, compute, function, operands: str, doc: str, options: dict
) -> Callable[..., Any]:
    """Declare the operation that `unary` or `binary` describes."""
    compute.__name__ = compute.__qualname__ = name
    compute.__doc__ = doc
    if isinstance(getattr(function, "primitive", None), Elementwise) and not function.primitive.static:
        options = {"primitive": function} | options
    return operation(operands, **options)(compute)


def add_aliases(spaces: str = "function method", /, **names: Callable[..., Any]) -> None:
    """Expose operations, and their in-place methods, under other names."""
    methods = SPACES["method"]
    for name, function in names.items():
        expose(spaces, name)(function)
        inplace = methods.get(function.operation.name + "_")
        if inplace is not None and "method" in spaces:
            expose("method", name + "_")(inplace)


def zero_partial(t, y, *xs, **params) -> Masked:
    """The partial derivative of a step function: a recorded zero, so that gradients flow through it as in torch."""
    return Masked(t, False)


step_primitives: dict[str, Any] = {
    name: declare_primitive(Elementwise, name, getattr(ops, name).primitive.make_kernel, (zero_partial,))
    for name in ("floor", "ceil", "trunc", "rint", "sign")
}


def save_operands_only(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make an elementwise primitive whose node saves operands alone, as torch's does: its rules compute the result
    again, so the result may be modified in place."""
    primitive: Any = function.primitive  # type: ignore[attr-defined]

    def recompute_result(rule) -> Any:
        return lambda t, y, *xs: rule(t, call(*xs), *xs)

    call = declare_primitive(
        Elementwise,
        primitive.name,
        primitive.make_kernel,
        [
            r if r is None or i in primitive.linear else recompute_result(r)
            for i, r in enumerate(primitive.partials)
        ],
        linear=primitive.linear,
        jointly=primitive.jointly,
        finite=primitive.finite,
        symbol=primitive.symbol,
    )
    return call


def kind(value) -> str:
    """The kind of a value's dtype: 'b', 'i', 'u', 'f' or 'c'."""
    return kind_of(value_dtype(value))


def number_like(number, x) -> Any:
    """Convert a number to the dtype of x, or raise RuntimeError where it does not fit; a traced one stays as it is."""
    known = isinstance(number, int | float | complex | np.generic)
    return cast_number(number, value_dtype(x)).item() if known else number


def refuse(kinds: str, *values, operation: str) -> None:
    """Raise where an operand has a kind of dtype that torch does not implement the operation for."""
    for value in values:
        if kind(value) in kinds:
            short = short_name(aval_of(value).dtype)
            raise NotSupportedError(f"\"{operation}_cpu\" not implemented for '{short}'")
