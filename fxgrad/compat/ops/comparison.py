"""Comparisons, logic, bits, and choices by masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as fnp
from ... import ops
from ...core.aval import SCALARS, aval_of
from ...core.interpreter import concrete
from .._core.dtypes import from_numpy_dtype, number_in, short_name
from .._core.error_messages import refusal
from .._core.errors import TensorError
from .._core.tensor import Tensor, unwrap
from .._declare.operation import exposed, in_dtype, operation, promoted
from .declarers import aliased, binary, kind, refuse, unary
from .dimensions import flattened


# -- order ------------------------------------------
def ordering(name: str, function: Any) -> Any:
    """A comparison that complex numbers do not have."""

    def checked(a: Any, b: Any) -> Any:
        refuse("c", a, b, operation=name)
        return function(a, b)

    checked.primitive = function.primitive
    return checked


eq = binary("eq", ops.equal, "input = other.", promote="comparison")
ne = binary("ne", ops.not_equal, "input ≠ other.", promote="comparison")
lt = binary("lt", ordering("lt", ops.less), "input < other.", promote="comparison", complex=False)
le = binary("le", ordering("le", ops.less_equal), "input ≤ other.", promote="comparison", complex=False)
gt = binary("gt", ordering("gt", ops.greater), "input > other.", promote="comparison", complex=False)
ge = binary("ge", ordering("ge", ops.greater_equal), "input ≥ other.", promote="comparison", complex=False)
aliased(not_equal=ne, less=lt, less_equal=le, greater=gt, greater_equal=ge)


@operation("input other", out=False)
def isclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """Whether |input - other| ≤ atol + rtol · |other|, or both are the same infinity."""
    ensure_same_dtype(input, other)
    for name, least in (("rtol", rtol), ("atol", atol)):
        if not least >= 0:
            raise TensorError(f"{name} must be greater than or equal to zero, but got {least}")
    near = ops.equal(input, other)
    if kind(input) in "fc":
        limit = ops.add(atol, ops.multiply(rtol, ops.absolute(other)))
        within = ops.less_equal(ops.absolute(ops.subtract(input, other)), limit)
        near = ops.logical_or(near, ops.logical_and(within, ops.isfinite(other)))
    elif rtol or atol:
        a, b = (ops.convert(v, dtype=np.dtype(float)) for v in (input, other))
        limit = ops.add(atol, ops.absolute(ops.multiply(rtol, b)))
        near = ops.logical_or(near, ops.less_equal(ops.absolute(ops.subtract(a, b)), limit))
    if equal_nan:
        near = ops.logical_or(near, ops.logical_and(ops.isnan(input), ops.isnan(other)))
    return near


def ensure_same_dtype(input: Any, other: Any) -> None:
    """Raise for two dtypes."""
    have, want = (aval_of(v).dtype for v in (input, other))
    if have != want:
        raise TensorError(f"{short_name(have)} did not match {short_name(want)}")


@exposed("function method")
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether `isclose` holds everywhere."""
    return bool(concrete(unwrap(isclose(input, other, rtol, atol, equal_nan)), "allclose").all())


@exposed("function method")
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two Tensors have the same shape and elements."""
    if input.shape != other.shape:
        return False
    return bool(concrete(unwrap(eq(input, other)), "equal").all())


@operation("elements test_elements", spaces="function", numbers=True)
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Any:
    """Which elements are among others."""
    found = fnp.isin(elements, test_elements)
    return ops.logical_not(found) if invert else found


# -- logic and bits ------------------------------------------
LOGIC: dict[str, Any] = {"promote": None}
logical_and = binary("logical_and", ops.logical_and, "Whether both are true: not 0.", **LOGIC)
logical_or = binary("logical_or", ops.logical_or, "Whether one is true: not 0.", **LOGIC)
logical_xor = binary("logical_xor", ops.logical_xor, "Whether exactly one is true: not 0.", **LOGIC)
logical_not = unary("logical_not", ops.logical_not, "Whether it is 0.", **LOGIC)


def bitwise(name: str, function: Any, kinds: str = "fc") -> Any:
    """A function of the bits of integers."""

    def checked(*values: Any) -> Any:
        refuse(kinds, *values, operation=name)
        return function(*values)

    return checked


bitwise_and = binary(
    "bitwise_and", bitwise("bitwise_and", ops.bitwise_and), "The bits that both have.", numbers=True
)
bitwise_or = binary(
    "bitwise_or", bitwise("bitwise_or", ops.bitwise_or), "The bits that one has.", numbers=True
)
bitwise_xor = binary(
    "bitwise_xor", bitwise("bitwise_xor", ops.bitwise_xor), "The bits that one of them has.", numbers=True
)
bitwise_not = unary(
    "bitwise_not", bitwise("bitwise_not", ops.bitwise_not), "The bits that it has not.", **LOGIC
)
bitwise_left_shift = binary(
    "bitwise_left_shift",
    bitwise("lshift", ops.left_shift, "bfc"),
    "input · 2 to the power of other.",
    numbers=True,
)
bitwise_right_shift = binary(
    "bitwise_right_shift",
    bitwise("rshift", ops.right_shift, "bfc"),
    "input over 2 to the power of other.",
    numbers=True,
)


# -- choices ------------------------------------------
@operation("condition input other", name="where", spaces="")
def chosen(condition: Any, input: Any, other: Any) -> Any:
    """input where the condition holds, else other."""
    if kind(condition) != "b":
        dtype = aval_of(condition).dtype
        if dtype != np.uint8:
            raise TensorError(
                f"where expected condition to be a boolean tensor, but got a tensor with dtype {short_name(dtype)}"
            )
        condition = ops.not_equal(condition, 0)
    return ops.where(condition, *promoted((input, other), "choice"))


@exposed("function")
def where(condition: Tensor, input: Any = None, other: Any = None, *, out: Any = None) -> Any:
    """input where the condition holds, else other; of a condition alone the places where it holds.

    >>> import fxgrad.compat as torch
    >>> x = torch.tensor([-1.0, 2.0])
    >>> torch.where(x > 0, x, 0.0).tolist()
    [0.0, 2.0]
    """
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    return chosen(condition, input, other, out=out)


@exposed("method", "where")
def where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """The Tensor where the condition holds, else other."""
    return chosen(condition, self, other)


@operation("input mask value", inplace=True, out=False)
def masked_fill(input: Any, mask: Any, value: Any) -> Any:
    """`value` where the mask is set."""
    ensure_mask("masked_fill", mask)
    have, given = aval_of(input), aval_of(value)
    if given.shape:
        raise TensorError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{len(given.shape)} dimension(s)."
        )
    if type(value) in SCALARS:
        value = number_in(value, have.dtype)
    return ops.where(mask, in_dtype(value, have.dtype), input)


def ensure_mask(operation: str, mask: Any) -> None:
    """Raise unless the mask is boolean."""
    if kind(mask) != "b":
        raise TensorError(
            f"{operation} only supports boolean masks, but got mask with dtype "
            f"{from_numpy_dtype(aval_of(mask).dtype).name}"
        )


@operation("input places", name="masked_select", spaces="")
def elements(input: Any, places: Any, shape: tuple[int, ...]) -> Any:
    """The elements of the Tensor in this shape at places in a row."""
    return ops.take_along(flattened(ops.broadcast_to(input, shape=shape)), places, 0)


@exposed("function method")
def masked_select(input: Tensor, mask: Tensor, *, out: Any = None) -> Tensor:
    """The elements where the mask, which must be known, is set, in a row."""
    if kind(mask) != "b":
        raise TensorError("masked_select: expected BoolTensor for mask")
    known = concrete(unwrap(mask), "masked_select")
    try:
        shape = np.broadcast_shapes(input.shape, known.shape)
    except ValueError as error:
        raise refusal("masked_select", (input, mask), error) from None
    return elements(input, np.flatnonzero(np.broadcast_to(known, shape)), shape, out=out)


@operation("input mask source", inplace=True, out=False)
def masked_scatter(input: Any, mask: Any, source: Any) -> Any:
    """The elements of `source`, one after the other, where the mask is set."""
    ensure_mask("masked_scatter", mask)
    shape = np.broadcast_shapes(aval_of(input).shape, aval_of(mask).shape)
    if aval_of(input).dtype != aval_of(source).dtype:
        raise TensorError("masked_scatter: expected self and source to have same dtypes")
    mask, input = ops.broadcast_to(mask, shape=shape), ops.broadcast_to(input, shape=shape)
    row = flattened(mask)
    order = ops.cumsum(ops.convert(row, dtype=np.dtype(np.int64)), axis=0) - 1
    have = aval_of(source).size
    if type(order) is np.ndarray and order.size and order[-1] >= have:
        raise TensorError(
            "masked_scatter: expected self and source to have same number of elements as the mask"
        )
    taken = ops.take_along(flattened(source), ops.maximum(ops.minimum(order, have - 1), 0), 0)
    return ops.where(mask, ops.reshape(taken, shape=shape), input)
