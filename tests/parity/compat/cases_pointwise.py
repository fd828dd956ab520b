"""Functions of each element."""

from tests.parity.compat.case import T, case

KINKS = T(values=[-2.5, -1.5, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 1.5, 2.5])
SPECIALS = T(values=[0.5, float("nan"), float("inf"), -float("inf"), -0.0, 3.0], grad=False)
# name → the interval in which the function and its derivatives are compared
REAL = {
    "sin": (-3, 3),
    "cos": (-3, 3),
    "tan": (-1, 1),
    "asin": (-0.9, 0.9),
    "acos": (-0.9, 0.9),
    "atan": (-3, 3),
    "sinh": (-3, 3),
    "cosh": (-3, 3),
    "tanh": (-3, 3),
    "asinh": (-3, 3),
    "acosh": (1.1, 3),
    "atanh": (-0.9, 0.9),
    "exp": (-3, 3),
    "exp2": (-3, 3),
    "expm1": (-3, 3),
    "log": (0.1, 3),
    "log2": (0.1, 3),
    "log10": (0.1, 3),
    "log1p": (-0.9, 3),
    "sqrt": (0.1, 3),
    "rsqrt": (0.1, 3),
    "reciprocal": (0.2, 3),
    "sigmoid": (-3, 3),
    "square": (-3, 3),
    "erf": (-2, 2),
    "erfc": (-2, 2),
    "erfinv": (-0.9, 0.9),
    "lgamma": (0.2, 4),
    "digamma": (0.3, 4),
    "i0": (-3, 3),
    "sinc": (-2.5, 2.5),
    "logit": (0.1, 0.9),
    "deg2rad": (-90, 90),
    "rad2deg": (-3, 3),
}
COMPLEX = [
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "exp",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "sigmoid",
    "square",
    "neg",
    "abs",
    "sgn",
]
STEPS = ["floor", "ceil", "trunc", "round", "sign", "frac", "abs", "neg", "sgn"]
TESTS = ["signbit", "isnan", "isinf", "isfinite", "isposinf", "isneginf", "isreal"]

ALIASES = ["arcsin", "arccos", "arctan", "arcsinh", "arctanh", "negative", "absolute", "fix"]
# torch has no derivative of these in place.
UNDIFFERENTIATED = {"asinh", "acosh", "atanh"}
SPECIAL = {
    "i0e": (-3, 3),
    "i1": (-3, 3),
    "i1e": (-3, 3),
    "ndtr": (-3, 3),
    "entr": (0.1, 2),
    "expit": (-2, 2),
    "psi": (0.5, 3),
    "gammaln": (0.5, 3),
    "exp2": (-2, 2),
    "expm1": (-2, 2),
    "log1p": (0, 2),
    "erf": (-1, 1),
    "sinc": (-1, 1),
}

CASES = [
    *[case(name, T(2, 3, low=low, high=high)) for name, (low, high) in REAL.items()],
    *[case(name, T(low=low, high=high, dtype="float32")) for name, (low, high) in REAL.items()],
    *[
        case(name, T(values=[1, 2], dtype="int64"))
        for name in REAL
        if name not in ("atanh", "asin", "acos", "erfinv", "logit")
    ],
    *[case(name, T(3, dtype="complex128", low=0.1)) for name in COMPLEX],
    *[
        case(f".{name}_", T(2, 3, low=low, high=high), backward=name not in UNDIFFERENTIATED)
        for name, (low, high) in REAL.items()
    ],
    *[case(f"special.{name}", T(2, 3, low=low, high=high)) for name, (low, high) in SPECIAL.items()],
    *[case(f"special.{name}", T(2, 3, low=-6, high=3)) for name in ("erfcx", "log_ndtr")],
    case("special.log_ndtr", T(values=[-1e4, -60.0, 0.0], grad=False)),
    case("special.ndtri", T(2, 3, low=0.1, high=0.9)),
    *[case(name, KINKS) for name in STEPS],
    *[case(f".{name}_", KINKS) for name in STEPS],
    *[case(name, T(3, dtype="int32")) for name in STEPS if name != "frac"],
    *[case(name, SPECIALS) for name in TESTS],
    *[case(name, T(4, dtype="int16")) for name in TESTS],
    *[case(name, T(2, 3, low=-0.9, high=0.9)) for name in ALIASES],
    *[
        case(f".{name}_", T(2, 3, low=-0.9, high=0.9), backward=f"a{name[3:]}" not in UNDIFFERENTIATED)
        for name in ALIASES
    ],
    *[case(name, T(3, low=0.2, high=0.8, dtype="bfloat16", grad=False)) for name in REAL if name != "acosh"],
    *[case(name, T(0, 3)) for name in ("sin", "abs", "sigmoid", "floor")],
    *[case(name, T(3, dtype="bool")) for name in ("sin", "square", "sign", "sigmoid")],
    case("arccosh", T(2, low=1.2, high=3)),
    case("sqrt", T(values=[0.0, 4.0]), double=False),  # NaN of torch's at the infinite derivative
    case("sinc", T(values=[0.0, 0.5]), double=False),  # torch has 0 as second derivative at 0
    case("sgn", T(values=[0.0, 3 + 4j], dtype="complex128"), double=False),  # there is no derivative at 0
    case("abs", T(values=[0.0, 3 + 4j], dtype="complex128"), double=False),  # there is no derivative at 0
    case("round", T(2, 3, low=-9, high=9), decimals=1),
    case("round", T(2, 3, low=-900, high=900), decimals=-2),
    case("special.round", T(2, 3, low=-9, high=9), decimals=2),
    case(
        "logit", T(values=[0.05, 0.1, 0.3, 0.9, 0.99]), 0.1, double=False
    ),  # torch has 0 at the ends of the interval
    case("mvlgamma", T(2, 3, low=2, high=5), 3),
    case("polygamma", 1, T(2, 3, low=0.5, high=3)),
    case(".polygamma", T(2, 3, low=0.5, high=3), 2),
    case(".polygamma_", T(2, 3, low=0.5, high=3), 1),
    case("positive", T(2, 3)),
    case("frexp", T(values=[-6.0, 0.3, 1.0, 0.0])),
    case("nan_to_num", SPECIALS),
    case("nan_to_num", T(values=[0.5, float("nan"), float("inf"), -float("inf")])),
    case("nan_to_num", SPECIALS, 1.0, 2.0, -2.0),
    case("nan_to_num", T(3, dtype="int64")),
    case(".nan_to_num_", SPECIALS),
    # Where they have overflowed.
    case("i0", T(values=[1e30, -1e30, 1e5]), double=False),  # NaN there
    case("special.i1", T(values=[1e30, -1e30, 1e5], grad=False)),
    # At the ends of the domain, where slopes are infinite.
    case("special.entr", T(values=[0.0, 1.0, 2.0])),
    case("special.entr", T(values=[-1.0, float("nan")], grad=False)),
    case("logit", T(values=[0.5, 0.0, 1.0]), double=False),  # which is NaN or infinite by the formula
]
