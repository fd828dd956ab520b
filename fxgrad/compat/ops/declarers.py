"""Declarers of aliases, and of one-line operations that differ only in the function of their values."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from ...extend import Elementwise, Masked, aval_of, kind_of, ops
from .._core.dtypes import cast_number, from_numpy_dtype, short_name
from .._core.error_messages import not_implemented_error
from .._core.precision import value_dtype
from .._core.primitives import declare_primitive
from .._declare.generated import define_functions
from .._declare.operation import operation
from .._declare.spaces import SPACES, expose
from ..errors import TensorError


def unary(
    name: str, function: Callable[[Any], Any], doc: str, *, operand: str = "input", **options
) -> Callable[..., Any]:
    """Declare an operation on one Tensor, which is called `operand`; integers are computed in the default dtype, unless
    `promote` says otherwise. The fast path is taken where the function is a primitive."""

    def compute(**given) -> Any:
        return function(given[operand])

    compute.__signature__ = Signature([Parameter(operand, Parameter.POSITIONAL_OR_KEYWORD)])  # type: ignore[attr-defined]
    options = {"promote": "float", "inplace": True} | options
    return declare_operation(name, compute, function, operand, doc, options)


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
    return operation(operands, **{"entrywise": True} | options)(compute)


def over_dims(numbers: set[str], params: dict[str, Any]) -> bool:
    """The overload of a reduction: 1 over some dimensions."""
    return params.get("dim") is not None


def add_aliases(spaces: str = "function method", /, **names: Callable[..., Any]) -> None:
    """Expose functions under further names; as methods they are operations with their own in-place methods."""
    methods = SPACES["method"]
    for name, function in names.items():
        expose(spaces, name)(function)
        inplace = methods.get(function.operation.name + "_") if "method" in spaces else None
        if inplace is not None:
            expose("method", name + "_")(inplace)


def expose_with(
    parameters: str, function: Callable[..., Any], name: str | None = None, spaces: str = "function"
) -> None:
    """Expose a function with other parameters, given as text, and perhaps under another name. It gets the first one by
    position and the others by name; those that it does not have change nothing."""
    name, known = name or function.__name__, inspect.signature(function).parameters
    first, *others = [text.partition("=")[0] for text in parameters.split(", ")]
    given = ", ".join([first, *(f"{n}={n}" for n in others if n in known)])
    text = f"def {name}({parameters}): return function({given})"
    (made,) = define_functions(text, {"function": function}, f"parameters of {name}", name)
    made.__doc__ = function.__doc__
    expose(spaces)(made)


def expose_as_method(function: Callable[..., Any], *without: str) -> None:
    """Expose a function as the method that torch has written in Python: its first parameter is `self`, and some of the
    others are missing."""
    _, *others = inspect.signature(function).parameters.values()
    shown = [
        p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in others if p.name not in without
    ]
    expose_with(", ".join(["self", *shown]), function, spaces="method")


def first_result(result, *others) -> Any:
    """Return the first of several results; the derivative uses the others."""
    return result


def zero_partial(t, y, *xs, **params) -> Masked:
    """The partial derivative of a step function: a recorded zero, so that gradients flow through it as in torch."""
    return Masked(t, False)


step_primitives: dict[str, Any] = {
    name: declare_primitive(
        Elementwise, name, getattr(ops, name).primitive.make_kernel, (zero_partial,), computes=name
    )
    for name in ("floor", "ceil", "trunc", "rint", "sign")
}


def save_operands_only(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make an elementwise primitive whose node saves only operands, as torch's does; its rules recompute the result,
    which may therefore be modified in place."""
    primitive: Any = function.primitive  # type: ignore[attr-defined]

    def recompute_result(rule) -> Any:
        return lambda t, y, *xs: rule(t, call(*xs), *xs)

    call = with_partials(
        function,
        *[
            r if r is None or i in primitive.linear else recompute_result(r)
            for i, r in enumerate(primitive.partials)
        ],
    )
    return call


def with_partials(function: Callable[..., Any], *partials: Any) -> Callable[..., Any]:
    """Make an elementwise primitive with the kernel of another, whose partial derivatives read the values that torch's
    node saves: if it saves the result, the operand may be modified in place."""
    primitive: Any = function.primitive  # type: ignore[attr-defined]
    return declare_primitive(
        Elementwise,
        primitive.name,
        primitive.make_kernel,
        partials,
        linear=primitive.linear,
        jointly=primitive.jointly,
        finite=primitive.finite,
        symbol=primitive.symbol,
        computes=primitive.computes,
    )


def absolute_partial(t, y, x) -> Any:
    """The partial derivative of a modulus, which torch computes of the operand; that of a sign is a recorded zero."""
    if kind(x) == "c":
        return ops.absolute.primitive.partials[0](t, absolute(x), x)
    return t * step_primitives["sign"](x)


absolute = with_partials(ops.absolute, absolute_partial)


def kind(value) -> str:
    """The kind of a value's dtype: 'b', 'i', 'u', 'f' or 'c'."""
    return kind_of(value_dtype(value))


def number_like(number, x) -> Any:
    """Convert a number to the dtype of x, or raise RuntimeError if it does not fit; a traced number is unchanged."""
    known = isinstance(number, int | float | complex | np.generic)
    return cast_number(number, value_dtype(x)).item() if known else number


def refuse(kinds: str, *values, operation: str) -> None:
    """Raise where an operand has a kind of dtype that torch does not implement the operation for."""
    for value in values:
        if kind(value) in kinds:
            raise not_implemented_error(operation, value_dtype(value))


def check_same_dtype(first, second, words: str) -> None:
    """Raise unless two values have one dtype. Each {} in the words becomes the name of a dtype."""
    names = [short_name(aval_of(x).dtype) for x in (first, second)]
    if names[0] != names[1]:
        wanted = from_numpy_dtype(aval_of(first).dtype)
        raise TensorError(words.format(*names), hint=f"convert one of them: .to({wanted})")
