"""Arithmetic of two and more operands."""

import math

from tests.parity.compat.case import T, case

A, B = T(2, 3), T(3, low=0.5, high=2)
POSITIVE = T(2, 3, low=0.2, high=2)
INTEGERS = T(values=[-7, -3, 0, 3, 7], dtype="int64"), T(values=[2, -2, 3, 2, -3], dtype="int64")
TIES = T(values=[1.0, 2.0, 3.0, -1.0]), T(values=[1.0, 3.0, 2.0, -1.0])
NUMBERS = [
    "add",
    "sub",
    "mul",
    "div",
    "remainder",
    "pow",
    "floor_divide",
    "true_divide",
    "subtract",
    "multiply",
    "divide",
]
TENSORS = [
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "hypot",
    "logaddexp",
    "logaddexp2",
    "atan2",
    "fmod",
    "copysign",
    "xlogy",
]
INPLACE = ["add", "sub", "mul", "div", "remainder", "pow", "hypot", "atan2", "fmod", "copysign", "xlogy"]
# No derivative in torch, where there is one.
UNDIFFERENTIATED = {"floor_divide"}
FLAT = {name: {"backward": False} for name in UNDIFFERENTIATED}

CASES = [
    case("logaddexp", T(3, dtype="complex128"), T(2, 3, dtype="complex128")),
    case(
        "logaddexp",
        T(values=[1 + 2j, 800 + 1j, -800 + 2j], dtype="complex128"),
        T(values=[3j, -900, float("-inf")], dtype="complex128"),
        backward=False,  # torch has NaN where one of them is 0 beside the other
    ),
    *[case(name, POSITIVE, B, **FLAT.get(name, {})) for name in (*NUMBERS, *TENSORS)],
    *[case(name, POSITIVE, 2, **FLAT.get(name, {})) for name in NUMBERS],
    *[case(name, T(3, low=0.2, high=2, dtype="float32"), 1.5, **FLAT.get(name, {})) for name in NUMBERS],
    *[case(name, T(low=0.5, high=2), POSITIVE, **FLAT.get(name, {})) for name in NUMBERS],
    *[
        case(
            name, T(2, dtype="float32", low=0.5), T(dtype="float64", low=0.5), tol=1e-6, **FLAT.get(name, {})
        )
        for name in NUMBERS
    ],
    *[case(name, T(0, 3), B, **FLAT.get(name, {})) for name in ("add", "div", "maximum")],
    *[
        case(name, *INTEGERS)
        for name in (
            "add",
            "sub",
            "mul",
            "div",
            "remainder",
            "floor_divide",
            "fmod",
            "gcd",
            "lcm",
            "maximum",
            "fmin",
            "atan2",
            "copysign",
            "xlogy",
        )
    ],
    *[case(name, *TIES) for name in ("maximum", "minimum", "fmin")],
    case(
        "fmax", *TIES, forward=False
    ),  # torch gives ties to the other operand there, to the first one in backward
    *[
        case(name, T(3, dtype="complex128"), T(3, dtype="complex128"))
        for name in ("add", "sub", "mul", "div", "pow")
    ],
    *[case(name, T(3, dtype="complex128"), T(3)) for name in ("add", "sub", "mul", "div")],
    *[case(name, T(3, low=0.5), T(3, dtype="complex128")) for name in ("mul", "div")],
    # Of a real operand torch's tangent is not the derivative.
    case("pow", T(3, dtype="complex128"), T(3), forward=False),
    case("pow", T(3, low=0.5), T(3, dtype="complex128"), forward=False),
    *[case(f".{name}_", POSITIVE, B) for name in INPLACE],
    *[case(f".{name}_", POSITIVE, 2) for name in ("add", "sub", "mul", "div", "remainder", "pow", "fmod")],
    case(".floor_divide_", POSITIVE, 2, backward=False),  # torch has no derivative
    case("add", A, T(3), alpha=2.5),
    case("add", T(3, dtype="int32"), T(3, dtype="int64"), alpha=2),
    case("add", T(3, dtype="bool"), T(3, dtype="bool")),
    case("mul", T(3, dtype="bool"), T(3, dtype="bool")),
    case("sub", A, T(3), alpha=-0.5),
    case(".add_", A, T(3), alpha=2.5),
    case(".sub_", A, T(3), alpha=2),
    *[case(f".__r{name}__", POSITIVE, 2.0) for name in ("add", "sub", "mul", "truediv", "pow")],
    *[
        case(f".__r{name}__", POSITIVE, 2.0, backward=False) for name in ("mod", "floordiv")
    ],  # torch has no derivative
    *[case(f".__{name}__", T(2, 3)) for name in ("neg", "abs", "pos")],
    case("rsub", A, T(3)),
    case("rsub", A, 2.0, alpha=3),
    *[case("div", A, B, rounding_mode=mode) for mode in ("floor", "trunc")],
    *[case("div", *INTEGERS, rounding_mode=mode) for mode in ("floor", "trunc")],
    case(".div_", A, B, rounding_mode="floor"),
    case("remainder", T(5, low=-5, high=5), T(5, low=-3, high=-1)),
    case("fmod", T(5, low=-5, high=5), T(5, low=-3, high=-1)),
    case("remainder", 5, T(4, low=1, high=3), backward=False),  # torch has no derivative
    case("pow", 2, T(2, 3)),
    case("pow", 0, T(values=[0.0, 1.0, 2.0]), double=False),  # torch: NaN
    case(
        "pow", T(values=[0.0, 0.0, 0.0, 2.0]), T(values=[0.0, 1.0, 2.0, 0.0]), double=False
    ),  # torch: NaN at 0
    *[case("pow", T(values=[0.0, 1.0, -2.0]), p) for p in (0, 1, 2, 3)],
    case("pow", T(2, low=0.1), 0.5),
    case("pow", T(2, low=0.1), -2),
    *[case("pow", T(values=[-2.0, -0.5, 1.5]), p) for p in (4, 3.0, 5.0, 8, -1, -2, -3.0)],
    *[case("pow", T(values=[0.0, -1.5, 2.0], dtype="float32"), p, double=False) for p in (4, 7.0, 70)],
    case("pow", T(values=[math.inf, math.nan, -1.0, 0.0]), 0),
    case("pow", T(values=[-2.0, 3.0]), T(values=3.0), double=False),
    case("pow", T(values=[-2, -1, 0, 1, 3], dtype="int64"), T(values=[3, 2, 0, 5, 3], dtype="int64")),
    case("pow", T(values=[-2, -1, 1, 3, -1], dtype="int64"), T(values=[-3, -2, -1, -5, -3], dtype="int64")),
    case("pow", T(3, dtype="int64"), 2),
    case("pow", T(3, dtype="int64"), 2.5),
    case("float_power", T(3, dtype="float32", low=0.1), T(3)),
    case("float_power", T(3, dtype="int32", low=1, high=4), -2),
    case("float_power", 2, T(3, dtype="float32")),
    case("ldexp", A, T(3, dtype="int32")),
    case("ldexp", A, T(3)),
    case("ldexp", T(3, dtype="int32"), T(3, dtype="int32")),
    case("copysign", T(values=[1.0, -2.0, 0.0]), -1.0, double=False),  # torch: NaN at 0
    case(
        "copysign", T(values=[1.0, -2.0, 0.0]), T(values=[-0.0, 0.0, -3.0]), double=False
    ),  # torch: NaN at 0
    case("atan2", T(values=[1.0, -1.0, 2.0]), T(values=[0.0, -1.0, -2.0])),
    case("xlogy", T(values=[0.0, 0.0, 2.0], grad=False), T(values=[0.0, float("nan"), 3.0], grad=False)),
    case("xlogy", T(2), 2.0),
    case("xlogy", 2.0, T(2, low=0.5)),
    case("special.xlog1py", T(2, 3), B),
    case("special.xlogy", T(2, 3), B),
    case("special.zeta", T(2, low=1.5, high=3, grad=False), T(2, low=1, high=2)),
    case("igamma", T(3, low=0.5, high=3, grad=False), T(3, low=0.5, high=3)),
    case("igammac", T(3, low=0.5, high=3, grad=False), T(3, low=0.5, high=3)),
    case("special.gammainc", T(3, low=0.5, high=3, grad=False), T(3, low=0.5, high=3)),
    case("heaviside", T(values=[-1.0, 0.0, 2.0], grad=False), T(3, grad=False)),
    case("nextafter", T(3, grad=False), T(3, grad=False)),
    case("clamp", T(values=[-2.0, -1.0, 0.0, 1.0, 2.0]), -1.0, 1.0),
    case("clamp", T(values=[-2.0, -1.0, 0.0, 1.0, 2.0]), max=0.5),
    case("clamp", A, T(3, low=-0.5, high=0), T(3, low=0.1, high=0.5)),
    case("clamp", T(values=[1.0, 2.0]), 3.0, 0.0),
    case("clamp", T(4, dtype="int64"), 1, 3),
    case("clamp", T(4, dtype="int64"), 1.5),
    case("clip", A, min=0.0),
    case(".clamp_", A, -0.5, 0.5),
    case("clamp_min", A, 0.0),
    case("clamp_min", A, T(3)),
    case("clamp_max", A, 0.0),
    case(".clamp_max_", A, 0.0),
    case("clamp", T(values=[float("nan"), 2.0], grad=False), 0.0, 1.0),
    case("ldexp", T(3), T(3, low=-3, high=3)),
    case("lerp", A, T(3), 0.3),
    case("lerp", A, T(3), 0.9),
    case("lerp", A, T(3), T(2, 1)),
    case("lerp", T(3, dtype="complex128"), T(3, dtype="complex128"), 0.25),
    case(".lerp_", A, T(2, 3), 0.3),
    case("addcmul", A, T(2, 1), T(3), value=2),
    case("addcmul", T(3, dtype="int64"), T(3, dtype="int64"), T(3, dtype="int64"), value=2),
    case(".addcmul_", A, T(2, 1), T(3)),
    case(".mul_", A, T(3)),
    case("mul", T(2, 3, dtype="int64"), T(3, dtype="float32")),
    case("addcdiv", A, T(2, 1), B, value=-0.5),
    case(".addcdiv_", A, T(2, 1), B),
    # Forward mode of torch's, other than its backward, has NaN at the origin.
    case("atan2", T(values=[0.0, 0.0, 1.0]), T(values=[0.0, -1.0, 0.0]), forward=False),
    case("xlogy", T(values=[0.0, 0.0, 2.0]), T(values=[2.0, 0.5, 3.0])),
    case("special.xlog1py", T(values=[0.0, 0.0, 2.0]), T(values=[2.0, 0.5, 3.0])),
    case("clamp", T(3, grad=False), T(values=[0.0, float("nan"), 0.5], grad=False)),
]
