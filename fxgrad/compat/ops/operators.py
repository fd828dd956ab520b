"""The operators of Tensors in Python's expressions, and their conversions to numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...extend import Tracer, concretize
from .._core.tensor import Tensor, unwrap
from .._declare.entry import make_operator
from .._declare.spaces import SPACES, expose
from ..errors import ArgumentError, ArgumentValueError, TensorError
from . import arithmetic, comparison, matmul, pointwise

METHODS = SPACES["method"]
MATRICES = (Tensor, Tracer, np.ndarray)
OPERANDS = (*MATRICES, bool, int, float, complex, np.generic)


def add_operator(
    name: str, op, function: Callable[..., Any], operands: tuple[type, ...] = OPERANDS, **options
) -> None:
    """Add a binary operator to Tensor, which leaves operands of unknown types to their own operators."""
    METHODS[name] = make_operator(op, name, function, operands, **options)


# name → operation; the reflected operator takes its operands the other way round, the one in place is `name_`.
BINARY: dict[str, Callable[..., Any]] = {
    "add": arithmetic.add,
    "sub": arithmetic.sub,
    "mul": arithmetic.mul,
    "truediv": arithmetic.div,
    "floordiv": arithmetic.floor_divide,
    "mod": arithmetic.remainder,
    "pow": arithmetic.pow,
    "and": comparison.bitwise_and,
    "or": comparison.bitwise_or,
    "xor": comparison.bitwise_xor,
    "lshift": comparison.bitwise_left_shift,
    "rshift": comparison.bitwise_right_shift,
}
for name, function in BINARY.items():
    op = function.operation
    is_bitwise, is_arithmetic = op.name.startswith("bitwise"), name in ("add", "sub", "mul", "truediv", "mod")
    add_operator(f"__{name}__", op, function, own=not is_arithmetic)
    reflected = function if name in ("add", "mul", "and", "or", "xor") else None
    add_operator(f"__r{name}__", op, function, swapped=True, own=reflected is None)
    add_operator(f"__i{name}__", op, METHODS[f"{op.name}_"], own=is_bitwise or name == "pow")
for name in ("eq", "ne", "lt", "le", "gt", "ge"):
    function = getattr(comparison, name)
    add_operator(f"__{name}__", function.operation, function)
add_operator("__matmul__", matmul.mm.operation, matmul.matmul, MATRICES, product=True)
add_operator(
    "__rmatmul__", matmul.mm.operation, matmul.matmul, MATRICES, swapped=True, product=True, own=True
)
expose("method", "__neg__")(pointwise.neg)
expose("method", "__pos__")(pointwise.positive)
expose("method", "__abs__")(pointwise.abs)


@expose("method", "__invert__")
def invert(self: Tensor) -> Tensor:
    """The operator ~x: every bit inverted."""
    if self.dtype.is_floating_point or self.dtype.is_complex:
        raise ArgumentError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors",
            hint="x == 0, or ~x.bool()",
        )
    return comparison.bitwise_not(self)


@expose("method", "__reversed__")
def reversed_entries(self: Tensor) -> Tensor:
    """The entries along the first dimension from the last to the first."""
    return self.flip(0) if self.shape else self


# -- as Python's numbers ------------------------------------------
@expose("function method")
def is_nonzero(input: Tensor) -> bool:
    """Whether the only element is not 0."""
    value = concretize(unwrap(input), "bool")
    if value.size != 1:
        many = "no values" if value.size == 0 else "more than one value"
        raise TensorError(
            f"Boolean value of Tensor with {many} is ambiguous",
            hint="x.any(), x.all(), or torch.where(x > 0, …)",
        )
    return bool(value.reshape(())[()])


expose("method", "__bool__")(is_nonzero)


def only_element(self: Tensor, name: str) -> Any:
    """The only element as a number."""
    value = concretize(unwrap(self), name)
    if value.size != 1:
        raise ArgumentValueError(
            "only one element tensors can be converted to Python scalars", hint="x.tolist()"
        )
    return value.reshape(())[()].item()


def make_number_method(kind: type) -> Callable[[Tensor], Any]:
    """Make the method behind int(x), float(x) or complex(x)."""

    def convert(self: Tensor) -> Any:
        found = only_element(self, kind.__name__)
        if type(found) is complex and kind is not complex:
            if found.imag:
                raise TensorError(
                    f"value cannot be converted to type {'double' if kind is float else 'int64_t'} without "
                    "overflow",
                    hint="abs(x), or x.real.item()",
                )
            found = found.real
        return kind(found)

    return convert


for python in (int, float, complex):
    expose("method", f"__{python.__name__}__")(make_number_method(python))


@expose("method", "__index__")
def as_index(self: Tensor) -> int:
    """The only element as an index."""
    if concretize(unwrap(self), "index").dtype.kind not in "biu" or (self.shape and np.prod(self.shape) != 1):
        raise ArgumentError(
            "only integer tensors of a single element can be converted to an index",
            hint="int(x), or x.long()[i]",
        )
    return int(only_element(self, "index"))


@expose("method", "__contains__")
def contains(self: Tensor, element) -> bool:
    """Whether an element equals a number."""
    if not isinstance(element, OPERANDS):
        raise TensorError(
            f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.",
            hint="(x == torch.as_tensor(…)).any()",
        )
    return bool(concretize(unwrap(comparison.eq(self, element)), "in").any())
