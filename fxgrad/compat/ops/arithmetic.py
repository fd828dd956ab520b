"""Arithmetic of two and more operands."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...extend import SCALARS, Elementwise, Masked, namespace_function, ops, real_power
from .._core.precision import value_dtype
from .._core.primitives import declare_primitive
from .._declare.operation import operation
from .._declare.promotion import promote_values
from ..errors import TensorError
from .declarers import (
    add_aliases,
    binary,
    kind,
    number_like,
    refuse,
    save_operands_only,
    step_primitives,
    zero_partial,
)

ARITHMETIC: dict[str, Any] = {"promote": "arithmetic", "inplace": True, "entrywise": True}
FLOAT: dict[str, Any] = {"promote": "float", "inplace": True, "entrywise": True}


def check_factor(name: str, factor, result) -> None:
    """Raise for a factor of a higher kind of dtype than the result, and for bool."""
    kinds = kind(result)
    if type(factor) is bool and kinds != "b":
        raise TensorError(f"Boolean {name} only supported for Boolean results.", hint=f"{name}={int(factor)}")
    if type(factor) is float and kinds in "biu":
        raise TensorError(
            f"For integral input tensors, argument {name} must not be a floating point number.",
            hint=f"a whole {name}, or input.float()",
        )
    if type(factor) is complex and kinds != "c":
        raise TensorError(
            f"For non-complex input tensors, argument {name} must not be a complex number.",
            hint=f"{name}.real, or input.to(torch.complex64)",
        )


def scale_by_alpha(value, alpha, result) -> Any:
    """Multiply a value by alpha, whose kind must fit that of `result`."""
    if type(alpha) is int and alpha == 1:
        return value
    check_factor("alpha", alpha, result)
    return ops.multiply(value, number_like(alpha, result))


@operation("input other", primitive=ops.add, numbers="any", in_range="alpha", mixed=True, **ARITHMETIC)
def add(input, other, *, alpha=1) -> Any:
    """The sum input + alpha · other.

    >>> torch.add(torch.tensor([1, 2]), 0.5).dtype
    torch.float32
    """
    return ops.add(input, scale_by_alpha(other, alpha, input))


def subtract_scaled(input, other, alpha) -> Any:
    """input - alpha · other."""
    booleans = [kind(v) == "b" for v in (input, other)]
    if all(booleans):
        raise TensorError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead.",
            hint="a ^ b; a & ~b for the difference of sets",
        )
    if any(booleans):
        raise TensorError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead.",
            hint="~mask; mask.int() for a number in place of a truth value",
        )
    input, other = promote_values((input, other), "arithmetic")
    return ops.subtract(input, scale_by_alpha(other, alpha, input))


@operation(
    "input other",
    primitive=ops.subtract,
    numbers="any",
    in_range="alpha",
    mixed=True,
    inplace=True,
    entrywise=True,
)
def sub(input, other, *, alpha=1) -> Any:
    """The difference input − alpha · other."""
    return subtract_scaled(input, other, alpha)


@operation(
    "input other",
    spaces="function",
    out=False,
    numbers="other",
    in_range="alpha",
    overload=lambda numbers, _: "other" in numbers,
    entrywise=True,
)
def rsub(input, other, *, alpha=1) -> Any:
    """The difference other − alpha · input."""
    return subtract_scaled(other, input, alpha)


mul = binary("mul", ops.multiply, "The product input · other of entries.", numbers="any", exact_numbers=True)


maximum = binary(
    "maximum",
    ops.maximum,
    "The greater of two entries.",
    complex=False,
    inplace=False,
)
minimum = binary("minimum", ops.minimum, "The lesser of two entries.", complex=False, inplace=False)
hypot = binary(
    "hypot",
    ops.hypot,
    "The hypotenuse √(input² + other²), without overflow.",
    complex=False,
)
gcd = binary("gcd", ops.gcd, "The greatest common divisor of two integers.")
lcm = binary("lcm", ops.lcm, "The least common multiple of two integers.")
nextafter = binary(
    "nextafter",
    lambda a, b: ops.with_derivative_of(ops.nextafter(a, b), a),
    "The number of the dtype that is next to an entry, on the way to the other.",
    own_precision=True,
)


def logaddexp_of_any(a, b) -> Any:
    """log(eᵃ + eᵇ), also for complex numbers: the operand with the greater real part, plus a correction."""
    if "c" not in (kind(a), kind(b)):
        return ops.logaddexp(a, b)
    ahead = ops.greater(ops.real(a), ops.real(b))
    high, low = ops.where(ahead, a, b), ops.where(ahead, b, a)
    settled = ops.logical_or(ops.isinf(ops.real(high)), ops.isinf(ops.real(low)))
    return ops.where(settled, high, high + ops.log1p(ops.exp(ops.where(settled, 0, low - high))))


logaddexp_of_any.primitive = ops.logaddexp.primitive  # type: ignore[attr-defined]
logaddexp = binary(
    "logaddexp",
    logaddexp_of_any,
    "The logarithm of a sum of exponentials: log(eᵃ + eᵇ), without overflow.",
    complex=False,
    inplace=False,
)
logaddexp2 = binary(
    "logaddexp2",
    ops.logaddexp2,
    "The logarithm of a sum of powers of 2: log₂(2ᵃ + 2ᵇ), without overflow.",
    inplace=False,
)
# Of torch's convention: the derivatives are 0 at the origin.
atan2_primitive = declare_primitive(
    Elementwise,
    "atan2",
    ops.arctan2.primitive.make_kernel,
    tuple(
        lambda t, y, a, b, rule=rule: Masked(
            rule(t, y, a, b), ops.logical_or(ops.not_equal(a, 0), ops.not_equal(b, 0))
        )
        for rule in ops.arctan2.primitive.partials
    ),
    computes="arctan2",
)
atan2 = binary(
    "atan2", atan2_primitive, "The angle of the point (other, input), 0 at the origin.", promote="float"
)
add_aliases(arctan2=atan2)


def extremum_without_nan(prefers_first) -> Any:
    """Make a function that returns the first operand if it is preferred or the second is NaN, otherwise the second."""
    return lambda a, b: ops.where(ops.logical_or(prefers_first(a, b), ops.isnan(b)), a, b)


fmax = binary(
    "fmax",
    extremum_without_nan(ops.greater_equal),
    "The greater of two entries; where one is NaN, the other.",
    inplace=False,
)
fmin = binary(
    "fmin",
    extremum_without_nan(ops.less_equal),
    "The lesser of two entries; where one is NaN, the other.",
    inplace=False,
)

# -- division ------------------------------------------
floor_divide_primitive = declare_primitive(
    Elementwise,
    "floor_divide",
    namespace_function("floor_divide"),
    (zero_partial, zero_partial),
    computes="floor_divide",
)


def remainder_kernel(xp) -> Any:
    def remainder(a, b) -> Any:
        rest = xp.remainder(a, b)
        if rest.dtype.kind != "f" or (xp is np and rest.all()):
            return rest
        return xp.where(rest == 0, xp.copysign(rest, a), rest)

    return remainder


# A remainder of zero has the sign of the dividend; NumPy's has that of the divisor.
remainder_primitive = declare_primitive(
    Elementwise,
    "signed_remainder",
    remainder_kernel,
    (lambda t, y, a, b: t, lambda t, y, a, b: ops.negative(t * ops.floor_divide(a, b))),
)


def check_divisor(divisor) -> None:
    """Raise where integers are divided by a known 0."""
    if kind(divisor) in "biu" and type(divisor) is np.ndarray and not divisor.all():
        raise TensorError(
            "ZeroDivisionError",
            hint="divisor.masked_fill(divisor == 0, 1), or divisor.float(), by which a division by 0 is inf or nan",
        )


def whole_quotient(a, b) -> Any:
    """The quotient of integers, rounded towards 0."""
    low = ops.floor_divide(a, b)
    inexact = ops.not_equal(ops.multiply(low, b), a)
    return ops.where(ops.logical_and(ops.less(low, 0), inexact), low + 1, low)


divide_primitive = save_operands_only(ops.divide)


@operation(
    "input other",
    primitive=divide_primitive,
    numbers="any",
    exact_numbers=True,
    inplace=True,
    entrywise=True,
    overload=lambda _, params: 2 if params.get("rounding_mode") else 0,
)
def div(input, other, *, rounding_mode: str | None = None) -> Any:
    """The quotient input / other, with `rounding_mode` "trunc" or "floor" rounded to whole numbers."""
    if rounding_mode is None:
        return divide_primitive(*promote_values((input, other), "float"))
    if rounding_mode not in ("trunc", "floor"):
        raise TensorError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'",
            hint='rounding_mode="floor" is //, "trunc" rounds towards 0, None is /',
        )
    a, b = promote_values((input, other), "arithmetic")
    refuse("bc", a, operation=f"div_{rounding_mode}")
    check_divisor(b)
    if rounding_mode == "floor":
        return floor_divide_primitive(a, b)
    if kind(a) == "f":
        return step_primitives["trunc"](ops.divide(a, b))
    return whole_quotient(a, b)


add_aliases(divide=div, true_divide=div, subtract=sub, multiply=mul)


class Refusal(Elementwise):
    """A function that raises when it is computed, not when a rule is made of it."""

    def abstract_eval(self, avals, params: dict) -> Any:
        return avals[0]


def refuse_derivative(t) -> Any:
    """Raise for the derivative of floor_divide."""
    raise TensorError(
        "derivative for aten::floor_divide is not implemented",
        hint='torch.div(x, y, rounding_mode="floor"), whose derivative is 0, or x.detach() // y',
    )


refused_derivative = declare_primitive(
    Refusal,
    "refused_derivative",
    lambda xp: refuse_derivative,
    (lambda t, y, x: refused_derivative(t),),
    linear=(0,),
)
underivable_quotient = declare_primitive(
    Elementwise,
    "underivable_quotient",
    namespace_function("floor_divide"),
    (lambda t, y, a, b: refused_derivative(t),) * 2,
    computes="floor_divide",
)


@operation("input other", numbers="any", node="torch::autograd::NotImplemented", **ARITHMETIC)
def floor_divide(input, other) -> Any:
    """The quotient of entries, rounded down."""
    check_divisor(other)
    return underivable_quotient(input, other)


@operation(
    "input other",
    numbers="input other",
    overload=lambda numbers, _: "other" not in numbers,
    **ARITHMETIC,
)
def remainder(input, other) -> Any:
    """The remainder of division rounded down, which has the sign of the divisor."""
    check_divisor(other)
    return remainder_primitive(input, other)


@operation("input other", numbers="other", overload=lambda numbers, _: "other" not in numbers, **ARITHMETIC)
def fmod(input, other) -> Any:
    """The remainder of division rounded to 0, which has the sign of the dividend."""
    check_divisor(other)
    return ops.fmod(input, other)


# -- powers ------------------------------------------
def power_kernel(xp) -> Any:
    def power(x, p) -> Any:
        if type(x) is np.ndarray and x.dtype.kind == "f":
            # torch's powers by a Tensor without dimensions are those by its number.
            is_number = type(p) is np.ndarray and not p.ndim and p.dtype is x.dtype
            number = p.item() if is_number else p
            if type(number) is int or type(number) is float:
                return 1 / np.sqrt(x) if number == -0.5 else real_power(x, number)
        if type(x) in (int, float) and x == 2 and type(p) is np.ndarray and p.dtype.kind == "f":
            return np.exp2(p)
        return x**p

    return power


def has_zero_slope(x, p) -> Any:
    """Tell where the derivative by the exponent is 0 although log(x) is infinite."""
    return ops.logical_and(ops.equal(x, 0), ops.greater_equal(ops.real(p), 0))


def log_base_kernel(xp: Any) -> Callable[[Any, Any], Any]:
    def log_base(x, p) -> Any:
        if type(x) in (int, float) and x > 0 and kind(p) == "f":
            return p.dtype.type(math.log(x))
        zero = xp.logical_and(xp.equal(x, 0), xp.greater_equal(xp.real(p), 0))
        return xp.where(zero, 0, xp.log(xp.where(zero, 1, x)))

    return log_base


# log x, and 0 where x is 0 and the exponent p is not negative.
log_base = declare_primitive(
    Elementwise,
    "log_base",
    log_base_kernel,
    (lambda t, y, x, p: ops.where(has_zero_slope(x, p), 0, t / ops.where(has_zero_slope(x, p), 1, x)), None),
)
# The exponent of the derivative of a power; 0 where that is 0 anyway, whatever x is.
lower_exponent = declare_primitive(
    Elementwise,
    "lower_exponent",
    lambda xp: lambda p: (p - 1 if p else 0) if type(p) in SCALARS else xp.where(p == 0, 0, p - 1),
    (lambda t, y, p: ops.where(ops.equal(p, 0), 0, t),),
)


def as_kind_of(y, x) -> Any:
    """Convert x to the dtype of y where that is complex: negative numbers have a logarithm then."""
    return ops.convert(x, dtype=value_dtype(y)) if kind(y) == "c" else x


# As `ops.pow_primitive`, but ∂xᵖ/∂p = 0 at x = 0 also for p = 0, as torch has it.
pow_primitive = declare_primitive(
    Elementwise,
    "pow",
    power_kernel,
    (
        lambda t, y, x, p: t * (p * pow_primitive(x, lower_exponent(p))),
        lambda t, y, x, p: t * (y * log_base(as_kind_of(y, x), p)),
    ),
    symbol="**",
)


def integer_power(x, p) -> Any:
    """The integer power xᵖ, which is 0 where the exact value is a fraction."""
    inverse = ops.where(ops.equal(ops.absolute(x), 1), ops.where(ops.equal(p % 2, 0), 1, x), 0)
    return ops.where(ops.less(p, 0), inverse, ops.power(x, ops.where(ops.less(p, 0), 0, p)))


def power_overload(numbers: set[str], params: dict[str, Any]) -> int:
    """The overload of a power: 0 for a number as exponent, 2 for one as base, 1 for two Tensors."""
    return 2 if "input" in numbers else int("exponent" not in numbers)


@operation(
    "input exponent",
    primitive=pow_primitive,
    numbers="input exponent",
    inplace=True,
    overload=power_overload,
    entrywise=True,
)
def pow(input, exponent) -> Any:
    """The power of `input` with an exponent.

    >>> torch.pow(2, torch.tensor([3, 4])).tolist()
    [8, 16]
    """
    if kind(input) == "b" and type(exponent) is bool:
        return ops.logical_or(input, not exponent)
    if kind(input) in "biu" and type(exponent) in (int, bool) and exponent < 0:
        raise TensorError("Integers to negative integer powers are not allowed.", hint="x.float() ** …")
    if kind(input) in "iu" and type(exponent) is int:
        exponent = number_like(exponent, input)
    x, p = promote_values((input, exponent), "arithmetic")
    refuse("b", x, operation="pow")
    if kind(x) in "iu":
        return integer_power(x, p)
    # NumPy's arrays keep their precision with Python's numbers, and have faster powers of these; others do not.
    return pow_primitive(x, exponent if type(exponent) in (int, float) and x.dtype.kind == "f" else p)


@operation(
    "input exponent",
    numbers="input exponent",
    inplace=True,
    node="PowBackward0",
    overload=power_overload,
    entrywise=True,
)
def float_power(input, exponent) -> Any:
    """The power of `input` with an exponent, in double precision."""
    widest = np.complex128 if "c" in (kind(input), kind(exponent)) else np.float64
    return pow_primitive(*(convert_operand(v, np.dtype(widest)) for v in (input, exponent)))


def convert_operand(value, dtype) -> Any:
    """Convert a value to a dtype; a Python number stays one."""
    return value if type(value) in SCALARS and dtype.kind == "f" else ops.convert(value, dtype=dtype)


@operation("input other", **FLOAT)
def ldexp(input, other) -> Any:
    """The product of `input` and 2 to the power of other, also where that power alone would be infinite or 0."""
    if kind(input) == "c":
        return ops.multiply(input, ops.exp2(other))
    whole = ops.stop_gradient(ops.floor(other))
    whole = ops.where(ops.less(ops.absolute(whole), 1 << 30), whole, 0)  # 0 for what is not finite
    rest = ops.exp2(ops.subtract(other, whole))
    return ops.multiply(ops.ldexp(input, ops.convert(whole, dtype=np.dtype(int))), rest)


# -- several operands ------------------------------------------
@operation(
    "input end weight",
    numbers="weight",
    overload=lambda numbers, _: "weight" not in numbers,
    exact_numbers=True,
    promote="choice",
    inplace=True,
    by_value=False,
    entrywise=True,
)
def lerp(input, end, weight) -> Any:
    """The point between `input` and `end`: input + weight · (end − input), exact at both ends."""
    step = ops.subtract(end, input)
    near = ops.less(ops.absolute(weight), 0.5)
    return ops.where(near, input + weight * step, end - step * (1 - weight))


def scale_by_value(value, x) -> Any:
    """Multiply x by a number of any kind."""
    return x if type(value) is int and value == 1 else ops.multiply(x, number_like(value, x))


@operation("input tensor1 tensor2", mixed=True, **ARITHMETIC)
def addcmul(input, tensor1, tensor2, *, value=1) -> Any:
    """The sum of `input` and a product: input + value · tensor1 · tensor2."""
    return ops.add(input, ops.multiply(scale_by_value(value, tensor1), tensor2))


@operation("input tensor1 tensor2", mixed=True, **ARITHMETIC)
def addcdiv(input, tensor1, tensor2, *, value=1) -> Any:
    """The sum of `input` and a quotient: input + value · tensor1 / tensor2."""
    if kind(input) in "biu":
        raise TensorError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a "
            "true division of tensor1 and tensor2.",
            hint="input + value * torch.trunc(tensor1 / tensor2)",
        )
    return ops.add(input, ops.divide(scale_by_value(value, tensor1), tensor2))


def declare_product_with_log(name: str, log: str, argument, doc: str, **options) -> Any:
    """Declare x·log(u), which is 0 where x is, for the argument u(y) of a function; derivatives are 0 at the ends of
    both factors."""
    log_of = getattr(ops, log)

    primitive = declare_primitive(
        Elementwise,
        f"x{log}y",
        lambda xp: lambda x, y: xp.where((x == 0) & ~xp.isnan(y), 0, x * getattr(xp, log)(y)),
        (
            lambda t, z, x, y: Masked(
                t * log_of(y),
                ops.logical_or(ops.not_equal(x, 0), ops.logical_not(ops.less_equal(argument(y), 0))),
            ),
            lambda t, z, x, y: Masked(
                t * (x / argument(y)), ops.logical_or(ops.not_equal(x, 0), ops.not_equal(argument(y), 0))
            ),
        ),
    )
    return binary(name, primitive, doc, promote="float", primitive=None, numbers="input other", **options)


xlogy = declare_product_with_log(
    "xlogy",
    "log",
    lambda y: y,
    "The product x·log(y) of entries, 0 where x is.",
    overload=lambda numbers, _: 2 if "other" in numbers else "input" in numbers,
)
xlog1py = declare_product_with_log(
    "special_xlog1py",
    "log1p",
    lambda y: 1 + y,
    "The product x·log(1 + y) of entries, 0 where x is.",
    inplace=False,
    spaces="special",
)
add_aliases("special", xlogy=xlogy)
