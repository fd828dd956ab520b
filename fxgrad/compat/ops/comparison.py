"""Comparisons, logic, bits, and choices by masks."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import SCALARS, aval_of, concretize, ops
from .._core.dtypes import c_type_name, cast_number, short_name
from .._core.error_messages import reword_error
from .._core.tensor import Tensor, refresh, unwrap
from .._declare.operation import operation
from .._declare.plain import constant_array, make_result
from .._declare.promotion import convert_value, promote_values
from .._declare.spaces import expose
from ..errors import TensorError
from .declarers import add_aliases, binary, check_same_dtype, kind, unary
from .direct import fill_masked, find_among, scatter_masked


# -- order ------------------------------------------
def declare_order(name: str, function, doc: str) -> Any:
    """Declare a comparison of real numbers: complex ones have no order."""
    return binary(name, function, doc, promote="comparison", numbers="other", complex=False)


eq = binary("eq", ops.equal, "Whether two entries are equal.", promote="comparison", numbers="other")
ne = binary("ne", ops.not_equal, "Whether two entries differ.", promote="comparison", numbers="other")
lt = declare_order("lt", ops.less, "Whether an entry of `input` is less than that of `other`.")
le = declare_order(
    "le", ops.less_equal, "Whether an entry of `input` is less than that of `other`, or equal."
)
gt = declare_order("gt", ops.greater, "Whether an entry of `input` is greater than that of `other`.")
ge = declare_order(
    "ge", ops.greater_equal, "Whether an entry of `input` is greater than that of `other`, or equal."
)
add_aliases(not_equal=ne, less=lt, less_equal=le, greater=gt, greater_equal=ge)


@operation("input other", out=False, entrywise=True)
def isclose(input, other, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """Whether |input - other| ≤ atol + rtol · |other|, or both are the same infinity."""
    check_same_dtype(input, other, "{} did not match {}")
    for name, least in (("rtol", rtol), ("atol", atol)):
        if not least >= 0:
            raise TensorError(
                f"{name} must be greater than or equal to zero, but got {least}", hint=f"{name}={abs(least)}"
            )
    if kind(input) in "biu" and not (rtol or atol):  # there are more integers than floats
        return ops.equal(input, other)
    return fnp.isclose(input, other, rtol, atol, equal_nan)


@expose("function method")
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether `isclose` holds everywhere."""
    return bool(concretize(unwrap(isclose(input, other, rtol, atol, equal_nan)), "allclose").all())


@expose("function method")
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two Tensors have the same shape and elements."""
    if input.shape != other.shape:
        return False
    return bool(concretize(unwrap(eq(input, other)), "equal").all())


@operation("elements test_elements", spaces="function", numbers="elements test_elements", direct=find_among)
def isin(elements, test_elements, *, assume_unique: bool = False, invert: bool = False) -> Any:
    """Which elements are among others."""
    for x in (elements, test_elements):
        if kind(x) in "bc":
            short = short_name(aval_of(x).dtype)
            raise TensorError(
                f"Unsupported input type encountered for isin(): {short}", hint="x.int(), x.real"
            )
    found = fnp.isin(elements, test_elements)
    return ops.logical_not(found) if invert else found


# -- logic and bits ------------------------------------------
LOGIC: dict[str, Any] = {"promote": None}
logical_and = binary("logical_and", ops.logical_and, "Whether both of two entries are true: not 0.", **LOGIC)
logical_or = binary("logical_or", ops.logical_or, "Whether one of two entries is true: not 0.", **LOGIC)
logical_xor = binary(
    "logical_xor", ops.logical_xor, "Whether exactly one of two entries is true: not 0.", **LOGIC
)
logical_not = unary("logical_not", ops.logical_not, "Whether each entry is false: 0.", **LOGIC)


def declare_bits(name: str, function, doc: str) -> Any:
    """Declare a function of the bits of two operands."""
    return binary(name, function, doc, numbers="input other")


bitwise_and = declare_bits(
    "bitwise_and",
    ops.bitwise_and,
    "The bits that two integers have in common; of booleans whether both are true.",
)
bitwise_or = declare_bits(
    "bitwise_or", ops.bitwise_or, "The bits that one of two integers has; of booleans whether one is true."
)
bitwise_xor = declare_bits(
    "bitwise_xor",
    ops.bitwise_xor,
    "The bits that exactly one of two integers has; of booleans whether they differ.",
)
bitwise_not = unary(
    "bitwise_not",
    ops.bitwise_not,
    "The bits that an integer has not; of booleans the negation.",
    **LOGIC,
)
SHIFT = "input {} 2 to the power of other."
bitwise_left_shift = declare_bits("bitwise_left_shift", ops.left_shift, SHIFT.format("·"))
bitwise_right_shift = declare_bits("bitwise_right_shift", ops.right_shift, SHIFT.format("over"))


# -- choices ------------------------------------------
@operation(
    "condition input other", name="where", numbers="input other", spaces="", by_value=False, entrywise=True
)
def where_values(condition, input, other) -> Any:
    """Select `input` where the condition holds, and `other` elsewhere."""
    if kind(condition) != "b":
        dtype = aval_of(condition).dtype
        if dtype != np.uint8:
            raise TensorError(
                f"where expected condition to be a boolean tensor, but got a tensor with dtype {short_name(dtype)}",
                hint="condition != 0, or condition.bool()",
            )
        condition = ops.not_equal(condition, 0)
    return ops.where(condition, *promote_values((input, other), "choice"))


@expose("function")
def where(condition: Tensor, input=None, other=None, *, out=None) -> Any:
    """The entries of one Tensor or another: input where the condition holds, else other; of a condition alone the
    places where it holds.

    >>> x = torch.tensor([-1.0, 2.0])
    >>> torch.where(x > 0, x, 0.0).tolist()
    [0.0, 2.0]
    """
    if input is None and other is None:
        concretize(refresh(condition)._fx_value, "where()")
        return condition.nonzero(as_tuple=True)
    return where_values(condition, input, other, out=out)


@expose("method", "where")
def where_method(self: Tensor, condition: Tensor, other) -> Tensor:
    """The Tensor where the condition holds, else other."""
    return where_values(condition, self, other)


@operation(
    "input mask value",
    numbers="value",
    inplace=True,
    out=False,
    by_value=False,
    own_precision=True,
    direct=fill_masked,
)
def masked_fill(input, mask, value) -> Any:
    """Replace entries by `value` where the mask is set."""
    ensure_mask("masked_fill_", mask, c_type_name)
    have, given = aval_of(input), aval_of(value)
    if given.shape:
        raise TensorError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{len(given.shape)} dimension(s).",
            hint="torch.where(mask, value, x), which broadcasts",
        )
    if type(value) in SCALARS:
        value = cast_number(value, have.dtype)
    return ops.where(mask, convert_value(value, have.dtype), input)


def ensure_mask(operation: str, mask, name_dtype: Callable[[Any], str]) -> None:
    """Raise unless the mask is boolean."""
    if kind(mask) != "b":
        raise TensorError(
            f"{operation} only supports boolean masks, but got mask with dtype {name_dtype(aval_of(mask).dtype)}",
            hint="mask.bool()",
        )


def masked_select_arguments(input, mask) -> Any:
    """Return the arguments of the kernel: the set places of the mask, in the flattened order of both operands after
    broadcasting; the mask must be concrete."""
    if kind(mask) != "b":
        raise TensorError("masked_select: expected BoolTensor for mask", hint="mask.bool()")
    known = concretize(unwrap(mask), "masked_select")
    if known.shape == input.shape:
        return (input, known.reshape(-1).nonzero()[0]), {"shape": known.shape}
    try:
        shape = np.broadcast_shapes(input.shape, known.shape)
    except ValueError as error:
        raise reword_error("masked_select", (mask, input), error) from None
    return (input, np.flatnonzero(np.broadcast_to(known, shape))), {"shape": shape}


def select_plainly(input, mask) -> Tensor | None:
    """Do what `masked_select` does on plain Tensors of one shape; None where there is more to decide."""
    value, known = constant_array(input), constant_array(mask)
    if value is None or known is None or known.dtype != bool or known.shape != value.shape:
        return None
    return make_result(ops.select_rows(value, known), None, None, None)


@operation("input places", arguments=masked_select_arguments, first=select_plainly)
def masked_select(input, places, shape: tuple[int, ...]) -> Any:
    """The elements where the mask, which must be known, is set, in a row."""
    whole = input if aval_of(input).shape == shape else ops.broadcast_to(input, shape=shape)
    return ops.take_along(ops.reshape(whole, shape=(prod(shape),)), places, 0)


@operation("input mask source", inplace=True, out=False, direct=scatter_masked)
def masked_scatter(input, mask, source) -> Any:
    """The elements of `source`, one after the other, where the mask is set."""
    ensure_mask("masked_scatter_", mask, short_name)
    shape = np.broadcast_shapes(aval_of(input).shape, aval_of(mask).shape)
    check_same_dtype(input, source, "masked_scatter: expected self and source to have same dtypes")
    mask, input = ops.broadcast_to(mask, shape=shape), ops.broadcast_to(input, shape=shape)
    row = fnp.ravel(mask)
    order = ops.cumsum(ops.convert(row, dtype=np.dtype(np.int64)), axis=0) - 1
    have = aval_of(source).size
    if type(order) is np.ndarray and order.size and order[-1] >= have:
        raise TensorError(
            "masked_scatter: expected self and source to have same number of elements as the mask",
            hint=f"{int(order[-1]) + 1} elements, not {have}; torch.where(mask, values, x) takes values of x's shape",
        )
    taken = ops.take_along(fnp.ravel(source), ops.maximum(ops.minimum(order, have - 1), 0), 0)
    return ops.where(mask, ops.reshape(taken, shape=shape), input)
