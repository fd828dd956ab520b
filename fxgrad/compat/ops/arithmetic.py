"""Arithmetic of two and more operands."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ...core.aval import SCALARS, aval_of
from ...ops.kinds import Elementwise, named
from ...ops.masked import Masked
from .._core.errors import TensorError
from .._core.precision import dtype_of
from .._core.primitives import declare
from .._declare.operation import operation, promoted
from .declarers import aliased, binary, by_operands, flat, kind, refuse, steps, suited

ARITHMETIC: dict[str, Any] = {"promote": "arithmetic", "inplace": True}
FLOAT: dict[str, Any] = {"promote": "float", "inplace": True}


def check_factor(name: str, factor: Any, result: Any) -> None:
    """Raise for a number of a higher kind than that of the result, and for bool."""
    kinds = kind(result)
    if type(factor) is bool and kinds != "b":
        raise TensorError(f"Boolean {name} only supported for Boolean results.")
    if type(factor) is float and kinds in "biu":
        raise TensorError(f"For integral input tensors, argument {name} must not be a floating point number.")
    if type(factor) is complex and kinds != "c":
        raise TensorError(f"For non-complex input tensors, argument {name} must not be a complex number.")


def scaled(value: Any, alpha: Any, result: Any) -> Any:
    """alpha · value, for a result of the kind of `result`."""
    if type(alpha) is int and alpha == 1:
        return value
    check_factor("alpha", alpha, result)
    return ops.multiply(value, suited(alpha, result))


@operation("input other", primitive=ops.add, numbers=True, mixed=True, **ARITHMETIC)
def add(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """input + alpha · other.

    >>> import fxgrad.compat as torch
    >>> torch.add(torch.tensor([1, 2]), 0.5).dtype
    torch.float32
    """
    return ops.add(input, scaled(other, alpha, input))


def difference(input: Any, other: Any, alpha: Any) -> Any:
    """input - alpha · other."""
    booleans = [kind(v) == "b" for v in (input, other)]
    if all(booleans):
        raise TensorError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead."
        )
    if any(booleans):
        raise TensorError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead."
        )
    input, other = promoted((input, other), "arithmetic")
    return ops.subtract(input, scaled(other, alpha, input))


@operation("input other", primitive=ops.subtract, numbers=True, mixed=True, inplace=True)
def sub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """input - alpha · other."""
    return difference(input, other, alpha)


@operation("input other", spaces="function", out=False)
def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """other - alpha · input."""
    return difference(other, input, alpha)


mul = binary("mul", ops.multiply, "input · other.", numbers=True)


def real(function: Any, kinds: str = "c") -> Any:
    """A primitive of two operands that torch does not have for these kinds of dtypes."""
    name = function.primitive.name

    def checked(a: Any, b: Any) -> Any:
        if kind(a) == "c" and kinds == "c":
            raise TensorError(f"{name} not implemented for complex tensors.")
        refuse(kinds, a, operation=name)
        return function(a, b)

    checked.primitive = function.primitive
    return checked


maximum = binary(
    "maximum", real(ops.maximum), "The greater; ties share the derivative.", complex=False, inplace=False
)
minimum = binary(
    "minimum", real(ops.minimum), "The less; ties share the derivative.", complex=False, inplace=False
)
hypot = binary("hypot", real(ops.hypot, "biuc"), "√(input² + other²).", complex=False)
gcd = binary("gcd", ops.gcd, "The greatest common divisor.")
lcm = binary("lcm", ops.lcm, "The least common multiple.")
nextafter = binary(
    "nextafter",
    lambda a, b: ops.graft(ops.nextafter(a, b), a),
    "The next number on the way to the other.",
    own_precision=True,
)
logaddexp = binary("logaddexp", ops.logaddexp, "log(eᵃ + eᵇ).", inplace=False)
logaddexp2 = binary("logaddexp2", ops.logaddexp2, "log₂(2ᵃ + 2ᵇ).", inplace=False)
# Of torch's convention: the derivatives are 0 at the origin.
angle = declare(
    Elementwise,
    "atan2",
    ops.arctan2.primitive.make_kernel,
    tuple(
        lambda t, y, a, b, rule=rule: Masked(
            rule(t, y, a, b), ops.logical_or(ops.not_equal(a, 0), ops.not_equal(b, 0))
        )
        for rule in ops.arctan2.primitive.rules
    ),
)
atan2 = binary("atan2", angle, "The angle of the point (other, input), 0 at the origin.", promote="float")
aliased(arctan2=atan2)


def first_unless(takes: Any) -> Any:
    """The first operand where takes(first, second) or the second is NaN, else the second: it has the ties."""
    return lambda a, b: ops.where(ops.logical_or(takes(a, b), ops.isnan(b)), a, b)


fmax = binary("fmax", first_unless(ops.greater_equal), "The greater of two that are not NaN.", inplace=False)
fmin = binary("fmin", first_unless(ops.less_equal), "The less of two that are not NaN.", inplace=False)

# -- division ------------------------------------------
floor_quotient = declare(Elementwise, "floor_divide", named("floor_divide"), (flat, flat))


def ensure_divisor(divisor: Any) -> None:
    """Raise for integers divided by 0, as far as they are known."""
    if kind(divisor) in "biu" and type(divisor) is np.ndarray and not divisor.all():
        raise TensorError("ZeroDivisionError")


def whole_quotient(a: Any, b: Any) -> Any:
    """The quotient of whole numbers rounded to 0."""
    low = ops.floor_divide(a, b)
    inexact = ops.not_equal(ops.multiply(low, b), a)
    return ops.where(ops.logical_and(ops.less(low, 0), inexact), low + 1, low)


quotient = by_operands(ops.divide)


@operation("input other", primitive=quotient, numbers=True, inplace=True)
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """input / other, with `rounding_mode` "trunc" or "floor" rounded to whole numbers."""
    if rounding_mode is None:
        return quotient(*promoted((input, other), "float"))
    if rounding_mode not in ("trunc", "floor"):
        raise TensorError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    a, b = promoted((input, other), "arithmetic")
    refuse("bc", a, operation=f"div_{rounding_mode}")
    ensure_divisor(b)
    if rounding_mode == "floor":
        return floor_quotient(a, b)
    if kind(a) == "f":
        return steps["trunc"](ops.divide(a, b))
    return whole_quotient(a, b)


aliased(divide=div, true_divide=div, subtract=sub, multiply=mul)


@operation("input other", numbers=True, **ARITHMETIC)
def floor_divide(input: Any, other: Any) -> Any:
    """The quotient rounded down."""
    refuse("bc", input, operation="floor_divide")
    ensure_divisor(other)
    return floor_quotient(input, other)


@operation("input other", numbers=True, **ARITHMETIC)
def remainder(input: Any, other: Any) -> Any:
    """The remainder of division rounded down: it has the sign of the divisor."""
    refuse("bc", input, operation="remainder")
    ensure_divisor(other)
    return ops.remainder(input, other)


@operation("input other", **ARITHMETIC)
def fmod(input: Any, other: Any) -> Any:
    """The remainder of division rounded to 0: it has the sign of the dividend."""
    refuse("bc", input, operation="fmod")
    ensure_divisor(other)
    return ops.fmod(input, other)


# -- powers ------------------------------------------
def power_kernel(xp: Any) -> Any:
    def power(x: Any, p: Any) -> Any:
        if type(p) is int and p == 3:
            return x * x * x  # a tenth of the time
        return x**p

    return power


def without_logarithm(x: Any, p: Any) -> Any:
    """Where the derivative in the exponent is 0, though log(x) is infinite."""
    return ops.logical_and(ops.equal(x, 0), ops.greater_equal(ops.real(p), 0))


def logarithm(x: Any, y: Any) -> Any:
    """log(x), which complex powers have of negative numbers as well."""
    return ops.log(ops.convert(x, dtype=dtype_of(y)) if kind(y) == "c" else x)


# As `ops.power`, but ∂xᵖ/∂p = 0 at x = 0 also for p = 0, as torch has it.
power = declare(
    Elementwise,
    "pow",
    power_kernel,
    (
        lambda t, y, x, p: t * (p * power(x, ops.where(ops.equal(p, 0), 1, p - 1))),
        lambda t, y, x, p: t * (y * logarithm(ops.where(without_logarithm(x, p), 1, x), y)),
    ),
    symbol="**",
)


def integer_power(x: Any, p: Any) -> Any:
    """xᵖ, 0 where it is a fraction."""
    inverse = ops.where(ops.equal(ops.absolute(x), 1), ops.where(ops.equal(p % 2, 0), 1, x), 0)
    return ops.where(ops.less(p, 0), inverse, ops.power(x, ops.where(ops.less(p, 0), 0, p)))


@operation("input exponent", primitive=power, numbers=True, inplace=True)
def pow(input: Any, exponent: Any) -> Any:
    """input to the power of exponent.

    >>> import fxgrad.compat as torch
    >>> torch.pow(2, torch.tensor([3, 4])).tolist()
    [8, 16]
    """
    if kind(input) == "b" and type(exponent) is bool:
        return ops.logical_or(input, not exponent)
    if kind(input) in "biu" and type(exponent) in (int, bool) and exponent < 0:
        raise TensorError("Integers to negative integer powers are not allowed.", hint="x.float() ** …")
    if kind(input) in "iu" and type(exponent) is int:
        exponent = suited(exponent, input)
    x, p = promoted((input, exponent), "arithmetic")
    refuse("b", x, operation="pow")
    if kind(x) in "iu":
        return integer_power(x, p)
    # NumPy's arrays keep their precision with Python's numbers, and have faster powers of these; others do not.
    return power(x, exponent if type(exponent) in (int, float) and x.dtype.kind == "f" else p)


@operation("input exponent", numbers=True, inplace=True, node="PowBackward0")
def float_power(input: Any, exponent: Any) -> Any:
    """input to the power of exponent, in double precision."""
    widest = np.complex128 if "c" in (kind(input), kind(exponent)) else np.float64
    return power(*(in_precision(v, np.dtype(widest)) for v in (input, exponent)))


def in_precision(value: Any, dtype: Any) -> Any:
    """A value in a dtype; a number stays one."""
    return value if type(value) in SCALARS and dtype.kind == "f" else ops.convert(value, dtype=dtype)


@operation("input other", **FLOAT)
def ldexp(input: Any, other: Any) -> Any:
    """input · 2 to the power of other, also where that power alone would be infinite or 0."""
    if kind(input) == "c":
        return ops.multiply(input, ops.exp2(other))
    whole = ops.stop_gradient(ops.floor(other))
    whole = ops.where(ops.less(ops.absolute(whole), 1 << 30), whole, 0)  # 0 for what is not finite
    rest = ops.exp2(ops.subtract(other, whole))
    return ops.multiply(ops.ldexp(input, ops.convert(whole, dtype=np.dtype(int))), rest)


# -- signs and limits ------------------------------------------
# Of torch's convention: the derivative of copysign is 0 at 0.
copysigned = declare(
    Elementwise,
    "copysign",
    lambda xp: xp.copysign,
    (
        lambda t, y, a, b: Masked(
            t * ops.copysign(ops.copysign(1.0, a), ops.copysign(1.0, a) * b), ops.not_equal(a, 0)
        ),
        None,
    ),
)
copysign = binary("copysign", copysigned, "The first number with the sign of the second.", promote="float")


@operation("input values", inplace=True)
def heaviside(input: Any, values: Any) -> Any:
    """0 of negative numbers, 1 of positive ones, `values` of 0."""
    if aval_of(input).dtype != aval_of(values).dtype:
        raise TensorError("heaviside is not yet implemented for tensors with different dtypes.")
    a, b = ops.convert(ops.greater(input, 0), dtype=aval_of(input).dtype), values
    return ops.where(ops.equal(input, 0), b, ops.where(ops.isnan(input), input, a))


CHOICE: dict[str, Any] = {"promote": "choice", "inplace": True}


def limited(x: Any, low: Any, high: Any) -> Any:
    """x in [low, high]; at the limits the derivative is that of x. What is not a number is no limit, but the result."""
    refuse("bc", x, operation="clamp")
    if low is not None:
        x = ops.where(ops.logical_or(ops.less(x, low), ops.isnan(low)), low, x)
    return x if high is None else ops.where(ops.logical_or(ops.greater(x, high), ops.isnan(high)), high, x)


@operation("input min max", **CHOICE)
def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """Numbers limited to [min, max].

    >>> import fxgrad.compat as torch
    >>> torch.clamp(torch.tensor([-2.0, 0.5]), min=0.0).tolist()
    [0.0, 0.5]
    """
    if min is None and max is None:
        raise TensorError("torch.clamp: At least one of 'min' or 'max' must not be None")
    return limited(input, min, max)


@operation("input min", **CHOICE)
def clamp_min(input: Any, min: Any) -> Any:
    """Numbers of at least `min`."""
    return limited(input, min, None)


@operation("input max", **CHOICE)
def clamp_max(input: Any, max: Any) -> Any:
    """Numbers of at most `max`."""
    return limited(input, None, max)


aliased(clip=clamp)


# -- several operands ------------------------------------------
@operation("input end weight", **CHOICE)
def lerp(input: Any, end: Any, weight: Any) -> Any:
    """input + weight · (end - input), exact at both ends."""
    step = ops.subtract(end, input)
    near = ops.less(ops.absolute(weight), 0.5)
    return ops.where(near, input + weight * step, end - step * (1 - weight))


def times(value: Any, x: Any) -> Any:
    """value · x for a number of any kind."""
    return x if type(value) is int and value == 1 else ops.multiply(x, suited(value, x))


@operation("input tensor1 tensor2", mixed=True, **ARITHMETIC)
def addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """input + value · tensor1 · tensor2."""
    return ops.add(input, ops.multiply(times(value, tensor1), tensor2))


@operation("input tensor1 tensor2", mixed=True, **ARITHMETIC)
def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """input + value · tensor1 / tensor2."""
    if kind(input) in "biu":
        raise TensorError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a "
            "true division of tensor1 and tensor2.",
            hint="input + value * torch.trunc(tensor1 / tensor2)",
        )
    return ops.add(input, ops.divide(times(value, tensor1), tensor2))


def product_with_log(log: Any, slope: Any) -> Any:
    """x·log(y), 0 where x is, as a primitive; `slope` is the derivative of the logarithm."""
    return declare(
        Elementwise,
        f"x{log}y",
        lambda xp: lambda x, y: xp.where((x == 0) & ~xp.isnan(y), 0, x * getattr(xp, log)(y)),
        (
            lambda t, z, x, y: Masked(
                t * getattr(ops, log)(y),
                ops.logical_or(ops.not_equal(x, 0), ops.isfinite(getattr(ops, log)(y))),
            ),
            lambda t, z, x, y: Masked(
                t * (x * slope(y)), ops.logical_or(ops.not_equal(x, 0), ops.isfinite(slope(y)))
            ),
        ),
    )


xlogy = binary(
    "xlogy",
    product_with_log("log", ops.reciprocal),
    "x·log(y), 0 where x is.",
    promote="float",
    primitive=None,
    numbers=True,
    kinds="f",
)
xlog1py = binary(
    "special_xlog1py",
    product_with_log("log1p", lambda y: 1 / (1 + y)),
    "x·log(1 + y), 0 where x is.",
    promote="float",
    primitive=None,
    numbers=True,
    kinds="f",
    inplace=False,
    spaces="special",
)
aliased("special", xlogy=xlogy)


@operation("input other", name="special_zeta", spaces="special", promote="float", numbers=True)
def zeta(input: Any, other: Any) -> Any:
    """Hurwitz' zeta function Σ (other + k)⁻ⁱⁿᵖᵘᵗ."""
    return ops.zeta(input, other, power=0)


def incomplete(upper: bool) -> Any:
    """A regularised incomplete gamma function."""
    return lambda a, x: ops.incomplete_gamma(a, x, upper=upper)


igamma = binary(
    "igamma", incomplete(False), "The regularised lower incomplete gamma function.", promote="float"
)
igammac = binary(
    "igammac", incomplete(True), "The regularised upper incomplete gamma function.", promote="float"
)
aliased("special", gammainc=igamma, gammaincc=igammac)
