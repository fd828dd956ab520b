"""The operators of Tensors: what stands between them in Python's expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.interpreter import Tracer, concrete
from ...core.source_info import hide_frames
from .._core.errors import ArgumentError, ArgumentValueError, TensorError
from .._core.tensor import Tensor, unwrap
from .._declare.operation import SPACES, exposed
from . import arithmetic, comparison, pointwise

if TYPE_CHECKING:
    from collections.abc import Callable

METHODS = SPACES["method"]
OPERANDS = (Tensor, Tracer, bool, int, float, complex, np.ndarray, np.generic)


def operator(name: str, function: Callable[..., Any], swapped: bool = False) -> None:
    """A binary operator, which leaves operands that it does not know to their own."""

    def apply(self: Tensor, other: Any) -> Any:
        if not isinstance(other, OPERANDS):
            return NotImplemented
        try:
            return function(other, self) if swapped else function(self, other)
        except BaseException as error:
            hide_frames(error)
            raise

    apply.__name__ = name
    METHODS[name] = apply


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
    operator(f"__{name}__", function)
    operator(f"__r{name}__", function, swapped=True)
    operator(f"__i{name}__", METHODS[f"{function.operation.name}_"])
for name in ("eq", "ne", "lt", "le", "gt", "ge"):
    operator(f"__{name}__", getattr(comparison, name))
exposed("method", "__neg__")(pointwise.neg)
exposed("method", "__pos__")(pointwise.positive)
exposed("method", "__abs__")(pointwise.abs)


@exposed("method", "__invert__")
def invert(self: Tensor) -> Tensor:
    """~x: the bits that it has not."""
    if self.dtype.is_floating_point or self.dtype.is_complex:
        raise ArgumentError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return comparison.bitwise_not(self)


@exposed("method", "__reversed__")
def reversed_entries(self: Tensor) -> Tensor:
    """The entries along the first dimension from the last to the first."""
    return self.flip(0) if self.shape else self


# -- as Python's numbers ------------------------------------------
@exposed("function method")
def is_nonzero(input: Tensor) -> bool:
    """Whether the only element is not 0."""
    value = concrete(unwrap(input), "bool")
    if value.size != 1:
        many = "no values" if value.size == 0 else "more than one value"
        raise TensorError(
            f"Boolean value of Tensor with {many} is ambiguous",
            hint="x.any(), x.all(), or torch.where(x > 0, …)",
        )
    return bool(value.reshape(())[()])


exposed("method", "__bool__")(is_nonzero)


def number(self: Tensor, name: str) -> Any:
    """The only element as a number."""
    value = concrete(unwrap(self), name)
    if value.size != 1:
        raise ArgumentValueError(
            "only one element tensors can be converted to Python scalars", hint="x.tolist()"
        )
    return value.reshape(())[()].item()


def conversion(kind: type) -> Callable[[Tensor], Any]:
    """int(x), float(x), complex(x)."""

    def convert(self: Tensor) -> Any:
        found = number(self, kind.__name__)
        if type(found) is complex and kind is not complex:
            if found.imag:
                raise TensorError(
                    f"value cannot be converted to type {'double' if kind is float else 'int64_t'} without "
                    "overflow"
                )
            found = found.real
        return kind(found)

    return convert


for python in (int, float, complex):
    exposed("method", f"__{python.__name__}__")(conversion(python))


@exposed("method", "__index__")
def as_index(self: Tensor) -> int:
    """The only element as an index."""
    if concrete(unwrap(self), "index").dtype.kind not in "biu" or (self.shape and np.prod(self.shape) != 1):
        raise ArgumentError("only integer tensors of a single element can be converted to an index")
    return int(number(self, "index"))


@exposed("method", "__contains__")
def contains(self: Tensor, element: Any) -> bool:
    """Whether an element equals a number."""
    if not isinstance(element, OPERANDS):
        raise TensorError(
            f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
        )
    return bool(concrete(unwrap(comparison.eq(self, element)), "in").any())
