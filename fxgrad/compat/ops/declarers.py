"""Operations that differ in nothing but the function of their values, declared in one line each; and their aliases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ops
from ...core.aval import aval_of, kind_of
from ...ops.kinds import Elementwise
from ...ops.masked import Masked
from .._core.dtypes import number_in, short_name
from .._core.errors import NotSupportedError
from .._core.precision import dtype_of
from .._core.primitives import declare
from .._declare.operation import SPACES, exposed, operation

if TYPE_CHECKING:
    from collections.abc import Callable


def unary(name: str, function: Callable[[Any], Any], doc: str, **options: Any) -> Callable[..., Any]:
    """An operation on one Tensor; of integers it is computed in the default dtype, unless `promote` says otherwise.
    The fast path is taken where the function is a primitive."""

    def computed(input: Any) -> Any:
        return function(input)

    return declared(name, computed, function, "input", doc, {"promote": "float", "inplace": True} | options)


def binary(name: str, function: Callable[[Any, Any], Any], doc: str, **options: Any) -> Callable[..., Any]:
    """An operation on two Tensors."""

    def computed(input: Any, other: Any) -> Any:
        return function(input, other)

    options = {"promote": "arithmetic", "inplace": True} | options
    return declared(name, computed, function, "input other", doc, options)


def declared(
    name: str, computed: Any, function: Any, operands: str, doc: str, options: dict
) -> Callable[..., Any]:
    """The declaration of both."""
    computed.__name__ = computed.__qualname__ = name
    computed.__doc__ = doc
    if isinstance(getattr(function, "primitive", None), Elementwise) and not function.primitive.static:
        options = {"primitive": function} | options
    return operation(operands, **options)(computed)


def aliased(spaces: str = "function method", /, **names: Callable[..., Any]) -> None:
    """Other names of operations; of their methods in place, too."""
    methods = SPACES["method"]
    for name, function in names.items():
        exposed(spaces, name)(function)
        inplace = methods.get(function.operation.name + "_")
        if inplace is not None and "method" in spaces:
            exposed("method", name + "_")(inplace)


def flat(t: Any, y: Any, *xs: Any, **params: Any) -> Masked:
    """The derivative of steps: 0, but one that is there, so that gradients flow through them as torch's do."""
    return Masked(t, False)


steps: dict[str, Any] = {
    name: declare(Elementwise, name, getattr(ops, name).primitive.make_kernel, (flat,))
    for name in ("floor", "ceil", "trunc", "rint", "sign")
}


def by_operands(function: Callable[..., Any]) -> Callable[..., Any]:
    """An elementwise primitive whose rules read operands alone, and so does its node in torch: what they say of the
    result is computed again, and it may be modified in place."""
    primitive: Any = function.primitive  # type: ignore[attr-defined]

    def again(rule: Any) -> Any:
        return lambda t, y, *xs: rule(t, call(*xs), *xs)

    call = declare(
        Elementwise,
        primitive.name,
        primitive.make_kernel,
        [r if r is None or i in primitive.linear else again(r) for i, r in enumerate(primitive.rules)],
        linear=primitive.linear,
        jointly=primitive.jointly,
        finite=primitive.finite,
        symbol=primitive.symbol,
    )
    return call


def kind(value: Any) -> str:
    """'b', 'i', 'u', 'f' or 'c'."""
    return kind_of(dtype_of(value))


def suited(number: Any, x: Any) -> Any:
    """A number as one of the dtype of x, which RuntimeError says it has to be; a traced one stays as it is."""
    known = isinstance(number, int | float | complex | np.generic)
    return number_in(number, dtype_of(x)).item() if known else number


def refuse(kinds: str, *values: Any, operation: str) -> None:
    """Raise where an operand has a kind of dtype that torch does not implement the operation for."""
    for value in values:
        if kind(value) in kinds:
            short = short_name(aval_of(value).dtype)
            raise NotSupportedError(f"\"{operation}_cpu\" not implemented for '{short}'")
