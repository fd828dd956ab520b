"""Elementwise functions of one operand."""

from __future__ import annotations

import math
from typing import Any

from ... import numpy as fnp
from ...extend import Elementwise, ops
from .._core.primitives import declare_primitive
from .._core.tensor import Tensor
from .._declare.named_results import make_result_type
from .._declare.operation import operation
from .._declare.spaces import expose
from ..errors import NotSupportedError, TensorError
from .declarers import (
    absolute,
    add_aliases,
    kind,
    number_like,
    refuse,
    save_operands_only,
    step_primitives,
    unary,
    with_partials,
    zero_partial,
)

# -- exponentials, logarithms, roots ------------------------------------------
exp = unary("exp", ops.exp, "The exponential of each entry, eˣ.")
exp2 = unary("exp2", ops.exp2, "The power 2ˣ of each entry.")
expm1 = unary(
    "expm1",
    with_partials(ops.expm1, lambda t, y, x: t * (y + 1)),
    "The exponential less one, eˣ − 1, accurate near 0.",
)
log = unary("log", ops.log, "The natural logarithm of each entry.")
log2 = unary("log2", ops.log2, "The logarithm of each entry to base 2.")
log10 = unary("log10", ops.log10, "The logarithm of each entry to base 10.")
log1p = unary("log1p", ops.log1p, "The logarithm of one more, log(1 + x), accurate near 0.")
sqrt = unary("sqrt", ops.sqrt, "The square root of each entry.")
reciprocal = unary("reciprocal", ops.reciprocal, "The reciprocal 1/x of each entry.")

# Primitives of torch's: one node and one kernel, which the fast path takes; rules as in `ops.elementwise`.
rsqrt_primitive = declare_primitive(
    Elementwise, "rsqrt", lambda xp: lambda x: 1 / xp.sqrt(x), (lambda t, y, x: t * (-0.5 * (y * y * y)),)
)
rsqrt = unary("rsqrt", rsqrt_primitive, "The reciprocal of the square root of each entry, 1/√x.")
sigmoid = unary(
    "sigmoid",
    with_partials(ops.sigmoid, lambda t, y, x: t * (y * (1 - y))),
    "The logistic function 1/(1 + e⁻ˣ) of each entry.",
)

# -- trigonometric and hyperbolic ------------------------------------------
sin = unary("sin", ops.sin, "The sine of each entry, an angle in radians.")
cos = unary("cos", ops.cos, "The cosine of each entry, an angle in radians.")
tan = unary("tan", ops.tan, "The tangent of each entry, an angle in radians.")
asin = unary("asin", ops.arcsin, "The inverse sine of each entry, in [−π/2, π/2].")
acos = unary("acos", ops.arccos, "The inverse cosine of each entry, in [0, π].")
atan = unary("atan", ops.arctan, "The inverse tangent of each entry, in (−π/2, π/2).")
sinh = unary("sinh", ops.sinh, "The hyperbolic sine of each entry.")
cosh = unary("cosh", ops.cosh, "The hyperbolic cosine of each entry.")
tanh = unary("tanh", ops.tanh, "The hyperbolic tangent of each entry.")
asinh = unary("asinh", ops.arcsinh, "The inverse hyperbolic sine of each entry.")
acosh = unary("acosh", ops.arccosh, "The inverse hyperbolic cosine of each entry.")
atanh = unary("atanh", ops.arctanh, "The inverse hyperbolic tangent of each entry.")
deg2rad = unary("deg2rad", ops.radians, "Each entry, an angle in degrees, as radians.")
rad2deg = unary("rad2deg", ops.degrees, "Each entry, an angle in radians, as degrees.")
sinc = unary(
    "sinc", fnp.sinc, "The function sin(πx)/(πx) of each entry, 1 at 0, with derivatives of all orders there."
)
add_aliases(arcsin=asin, arccos=acos, arctan=atan, arcsinh=asinh, arccosh=acosh, arctanh=atanh)


# -- special functions ------------------------------------------
def bessel_function(order: int, scaled: bool) -> Any:
    """Make the modified Bessel function of order 0 or 1, times e⁻|ˣ| where `scaled`."""
    if scaled:
        return lambda x: ops.bessel_moment(x, order=order, power=0, degree=order)
    return lambda x: ops.bessel_i(x, order=order)


SPECIAL: dict[str, Any] = {"spaces": "special", "inplace": False}
erf = unary("erf", ops.erf, "The error function of each entry: 2/√π·∫ exp(−t²) from 0 to x.")
erfc = unary("erfc", ops.erfc, "The complement 1 − erf(x) of the error function, accurate where it is small.")
erfinv = unary("erfinv", save_operands_only(ops.erf_inv), "The inverse of the error function, of each entry.")
i0 = unary("i0", bessel_function(0, False), "The modified Bessel function I₀ of each entry.")
i0e = unary(
    "special_i0e",
    bessel_function(0, True),
    "The modified Bessel function I₀ of each entry, scaled by exp(−abs x).",
    **SPECIAL,
)
i1 = unary(
    "special_i1", bessel_function(1, False), "The modified Bessel function I₁ of each entry.", **SPECIAL
)
i1e = unary(
    "special_i1e",
    bessel_function(1, True),
    "The modified Bessel function I₁ of each entry, scaled by exp(−abs x).",
    **SPECIAL,
)
ndtr = unary(
    "special_ndtr",
    ops.normal_cdf,
    "The distribution function of the standard normal law, of each entry.",
    node="MulBackward0",
    **SPECIAL,
)
erfcx = unary(
    "special_erfcx",
    ops.erfcx,
    "The scaled complement of the error function, exp(x²)·erfc(x), which does not underflow.",
    **SPECIAL,
)
log_ndtr = unary(
    "special_log_ndtr", ops.log_normal_cdf, "The logarithm of `ndtr`, also where that underflows.", **SPECIAL
)
ndtri = unary("special_ndtri", ops.normal_quantile, "The inverse of `ndtr`.", **SPECIAL)


# Their slopes are infinite at the ends of their domains, and NaN outside, as values are.
entr_primitive = declare_primitive(
    Elementwise,
    "entr",
    lambda xp: (
        lambda x: xp.where(x < 0, -xp.inf, xp.where(x == 0, xp.abs(x), -x * xp.log(xp.where(x == 0, 1, x))))
    ),
    (lambda t, y, x: t * (-1 - ops.log(x)),),
)
entr = unary(
    "special_entr",
    entr_primitive,
    "The entropy −x·log x of each entry, 0 at 0, −∞ of negative numbers.",
    complex=False,
    **SPECIAL,
)
logit_primitive = declare_primitive(
    Elementwise,
    "logit",
    lambda xp: lambda x: xp.log(x / (1 - x)),
    (lambda t, y, x: t * ops.where(ops.isnan(y), y, 1 / (x * (1 - x))),),
)


@operation("input", in_range="eps", inplace=True, promote="float", entrywise=True)
def logit(input, eps=None) -> Any:
    """The log odds log(x/(1 - x)); x is first clipped to [eps, 1 - eps]."""
    if eps is None:
        return logit_primitive(input)
    eps = number_like(eps, input)
    near = ops.where(ops.greater(input, 1 - eps), 1 - eps, input)
    return logit_primitive(ops.where(ops.less(input, eps), eps, near))


add_aliases("special", erf=erf, erfc=erfc, erfinv=erfinv, exp2=exp2, expit=sigmoid, expm1=expm1)
add_aliases("special", i0=i0, log1p=log1p, logit=logit, sinc=sinc)

# -- signs, steps and parts ------------------------------------------
STEP: dict[str, Any] = {"promote": None}


def skip_integers(function) -> Any:
    """Wrap a rounding function, so that integers are returned unchanged."""

    def call(x) -> Any:
        return function(x) if kind(x) == "f" else ops.positive(x)

    call.primitive = getattr(function, "primitive", None)
    return call


round_primitive = declare_primitive(
    Elementwise,
    "round",
    ops.round.primitive.make_kernel,
    (zero_partial,),
    static=("decimals",),
    computes="round",
)


floor = unary(
    "floor",
    skip_integers(step_primitives["floor"]),
    "Each entry rounded down: the greatest whole number that is not greater.",
    **STEP,
)
ceil = unary(
    "ceil",
    skip_integers(step_primitives["ceil"]),
    "Each entry rounded up: the least whole number that is not less.",
    **STEP,
)
trunc = unary(
    "trunc", skip_integers(step_primitives["trunc"]), "Each entry rounded towards 0: its whole part.", **STEP
)
add_aliases(fix=trunc)


@operation("input", inplace=True, overload=lambda _, params: params.get("decimals", 0) != 0, entrywise=True)
def round(input, *, decimals: int = 0) -> Any:
    """The nearest number of so many decimals, of two the even one."""
    if decimals:
        refuse("biuc", input, operation="round")
        return round_primitive(input, decimals=decimals)
    return skip_integers(step_primitives["rint"])(input)


add_aliases("special", round=round)


@operation("input", inplace=True, entrywise=True)
def frac(input) -> Any:
    """The fractional part, which `trunc` takes away."""
    return ops.subtract(input, ops.trunc(input))


def sign_values(x) -> Any:
    """The signs of real numbers: -1, 0 or 1."""
    if kind(x) == "c":
        raise NotSupportedError(
            "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.",
            hint="torch.sgn(x)",
        )
    return x if kind(x) == "b" else step_primitives["sign"](x)


def sgn_values(x) -> Any:
    """The signs of numbers of any kind: x/|x|, and 0 at 0."""
    if kind(x) != "c":
        return sign_values(x)
    zero = ops.equal(x, 0)
    safe = ops.where(zero, 1, x)
    return ops.where(zero, 0, ops.unit_vector(safe, ops.absolute(safe)))


sign = unary("sign", sign_values, "The sign of each entry: −1, 0 or 1.", **STEP)
sgn = unary("sgn", sgn_values, "The sign of each entry, real or complex: `x/|x|`, and 0 at 0.", **STEP)
neg = unary(
    "neg",
    ops.negative,
    "The negative −x of each entry.",
    promote=None,
)
abs = unary(
    "abs",
    absolute,
    "The absolute value of each entry, `|x|`; of a complex number its modulus.",
    promote=None,
)
square = unary("square", ops.square, "The square x² of each entry.", promote="number", node="PowBackward0")
add_aliases(negative=neg, absolute=abs)


@expose("function method")
def positive(input: Tensor) -> Tensor:
    """The Tensor itself."""
    if kind(input) == "b":
        raise TensorError("The `+` operator, on a bool tensor is not supported.", hint="x.int()")
    return input


@operation("input", inplace=True, own_precision=True, entrywise=True)
def nan_to_num(input, nan=None, posinf=None, neginf=None) -> Any:
    """The entries, with NaN and infinities replaced by numbers: 0 and the greatest that there are, unless given."""
    return fnp.nan_to_num(input, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)


@operation("input", results=make_result_type("frexp", "mantissa", "exponent"), copies_operands=True)
def frexp(input) -> Any:
    """Mantissas of modulus ½ to 1, and the exponents of 2 that go with them."""
    if kind(input) != "f":
        raise TensorError("torch.frexp() only supports floating-point dtypes", hint="x.float()")
    return fnp.frexp(input)


# -- tests ------------------------------------------
TEST: dict[str, Any] = {"promote": None, "inplace": False, "out": False}
REAL_TEST: dict[str, Any] = TEST | {"out": True}
signbit = unary(
    "signbit",
    lambda x: ops.signbit(x) if kind(x) == "f" else ops.less(x, 0),
    "Whether the sign of each entry is negative, that of −0 included.",
    **REAL_TEST,
)
isnan = unary("isnan", ops.isnan, "Whether each entry is NaN.", **TEST)
isinf = unary("isinf", ops.isinf, "Whether each entry is infinite, ∞ or −∞.", **TEST)
isfinite = unary("isfinite", ops.isfinite, "Whether each entry is finite: neither infinite nor NaN.", **TEST)
isposinf = unary("isposinf", lambda x: ops.equal(x, math.inf), "Whether each entry is ∞.", **REAL_TEST)
isneginf = unary("isneginf", lambda x: ops.equal(x, -math.inf), "Whether each entry is −∞.", **REAL_TEST)
isreal = unary(
    "isreal", lambda x: ops.equal(ops.imag(x), 0), "Whether each entry has no imaginary part.", **TEST
)
