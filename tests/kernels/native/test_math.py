"""Functions of vectors against exact ones, at random, structured and special points, for every width."""

import ctypes
import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fxgrad.core.primitive import REGISTRY
from fxgrad.kernels.native import engine
from fxgrad.kernels.native import math as native
from fxgrad.kernels.native.ir import I64, PTR, Function, Type
from fxgrad.kernels.native.math.trigonometric import inverse_pi_rows
from fxgrad.kernels.native.processor import vector_bytes
from fxgrad.ops import activation, special

pytestmark = pytest.mark.skipif(engine.mode() == "never", reason="native kernels are switched off")

LIBM = ctypes.CDLL(None) if hasattr(ctypes.CDLL(None), "fetestexcept") else None
DTYPES = ["float64", "float32"]
DIGITS = {"float64": 52, "float32": 23}
LONG = np.finfo(np.longdouble).nmant > 60  # where longdouble tells how far double is off


def reach(low, high):
    """Points spread over magnitudes of both signs."""
    return lambda rng, n: np.exp(rng.uniform(math.log(low), math.log(high), n)) * rng.choice([-1, 1], n)


def between(low, high):
    return lambda rng, n: rng.uniform(low, high, n)


def logistic(x):
    return 1 / (1 + np.exp(-x))


# name → (exact function of longdouble, points, bound in ulp)
FUNCTIONS = {
    "exp": (np.exp, [between(-800, 800), between(-1, 1)], 1),
    "exp2": (np.exp2, [between(-1100, 1100), between(-1, 1)], 1),
    "expm1": (np.expm1, [between(-50, 720), between(-1, 1), reach(1e-30, 1)], 1.5),
    "log": (np.log, [reach(1e-300, 1e300), between(0.5, 2)], 1),
    "log2": (np.log2, [reach(1e-300, 1e300), between(0.5, 2)], 1.2),
    "log10": (np.log10, [reach(1e-300, 1e300), between(0.5, 2)], 1.2),
    "log1p": (np.log1p, [reach(1e-30, 1e30), between(-1, 2)], 1.5),
    "sqrt": (np.sqrt, [reach(1e-300, 1e300)], 0.51),
    "cbrt": (np.cbrt, [reach(1e-300, 1e300)], 1),
    "sin": (np.sin, [between(-10, 10), reach(1e-30, 1e30), between(-1e6, 1e6)], 1),
    "cos": (np.cos, [between(-10, 10), reach(1e-30, 1e30), between(-1e6, 1e6)], 1),
    "tan": (np.tan, [between(-10, 10), reach(1e-30, 1e30), between(-1e6, 1e6)], 2),
    "arcsin": (np.arcsin, [between(-1, 1), reach(1e-30, 1)], 2),
    "arccos": (np.arccos, [between(-1, 1), reach(1e-30, 1)], 2),
    "arctan": (np.arctan, [between(-4, 4), reach(1e-30, 1e30)], 2),
    "sinh": (np.sinh, [between(-720, 720), between(-2, 2), reach(1e-30, 1)], 2),
    "cosh": (np.cosh, [between(-720, 720), between(-2, 2)], 2.5),
    "tanh": (np.tanh, [between(-20, 20), between(-2, 2), reach(1e-30, 1)], 1.5),
    "arcsinh": (np.arcsinh, [between(-4, 4), reach(1e-30, 1e30)], 2),
    "arccosh": (np.arccosh, [between(1, 2), reach(1, 1e30)], 2),
    "arctanh": (np.arctanh, [between(-1, 1), reach(1e-30, 1)], 2),
    "erf": (np.vectorize(math.erf), [between(-6, 6), reach(1e-30, 2)], 1),
    "erfc": (np.vectorize(math.erfc), [between(-6, 26), between(-1, 1)], 5),
    "normal_cdf": (
        lambda x: np.vectorize(math.erfc)(-x / np.sqrt(np.longdouble(2))) / 2,
        [between(-1.5, 9)],
        5,
    ),
    "sigmoid": (logistic, [between(-700, 40), between(-3, 3)], 2.5),
    "sigmoid_slope": (lambda x: logistic(x) * logistic(-x), [between(-300, 40), between(-3, 3)], 4),
    "silu": (lambda x: x * logistic(x), [between(-60, 40), between(-3, 3)], 3),
    "softplus": (lambda x: np.log1p(np.exp(x)), [between(-60, 40), between(-3, 3)], 2),
}
PAIRS = {
    "power": (np.power, [(between(0, 10), between(-9, 9)), (reach(1e-300, 1e300), between(-1, 1))], 1),
    "hypot": (np.hypot, [(between(-3, 3), between(-3, 3)), (reach(1e-200, 1e200), reach(1e-200, 1e200))], 1),
    "arctan2": (np.arctan2, [(between(-3, 3), between(-3, 3)), (reach(1e-300, 1e300),) * 2], 2),
    "logaddexp": (np.logaddexp, [(between(1, 9), between(-9, 9))], 2),
    "logaddexp2": (np.logaddexp2, [(between(1, 9), between(-9, 9))], 2.5),
}
SPECIAL = [
    *(
        0.0,
        5e-324,
        1e-310,
        1e-200,
        1e-40,
        1e-20,
        0.35,
        0.5,
        0.99999,
        1.0,
        1.0000001,
        1.25,
        2.0,
        3.0,
        20.0,
        27.0,
    ),
    *(
        87.4,
        88.8,
        103.9,
        104.0,
        708.5,
        709.7,
        709.79,
        710.0,
        745.1,
        745.2,
        1e5,
        1e20,
        3e38,
        1.7e308,
        np.inf,
        np.nan,
    ),
]
SPECIAL = np.array([*SPECIAL, *(-x for x in SPECIAL)])


def write_loop(name, primitive, dtype, width, count, params):
    """Write a function that applies a primitive to whole vectors; the caller sees to it that there are no others."""
    function = Function(name, [I64] + [PTR] * (count + 1))
    n, *operands, result = function.arguments
    lanes = Type(native.ELEMENTS[dtype], width)
    with function.loop(n, step=width) as loop:
        y = native.apply(primitive, *(function.load(x, lanes, loop.index) for x in operands), **params)
        if y.type.element == "i1":
            y = function.cast("zext", y, y.type.of("i8"))
        function.store(y, result, loop.index)
    return function


@cache
def compiled(dtype, width):
    """All functions for one dtype and width, compiled together."""
    functions = [write_loop(n, n, dtype, width, 1, {}) for n in FUNCTIONS]
    functions += [write_loop(n, n, dtype, width, 2, {}) for n in PAIRS]
    return engine.compile_functions(functions)


def run(code, name, dtype, *operands, result=None):
    """Apply a compiled function; return the results and the flags raised."""
    operands = [np.ascontiguousarray(x, dtype).ravel() for x in np.broadcast_arrays(*operands)]
    n = len(operands[0])
    padded = [np.ones(-(-n // 16) * 16, dtype) for _ in operands]
    for box, x in zip(padded, operands):
        box[:n] = x
    y = np.empty(len(padded[0]), result or dtype)
    types = [ctypes.c_int64] + [ctypes.c_void_p] * (len(padded) + 1)
    function = engine.bind_function(code, name, *types)
    arguments = len(y), *(x.ctypes.data for x in padded), y.ctypes.data
    if LIBM is None:
        function(*arguments)
        return y[:n], 0
    LIBM.feclearexcept(0x1F)
    function(*arguments)
    return y[:n], LIBM.fetestexcept(0x1F)


def native_width(dtype):
    return vector_bytes() // np.dtype(dtype).itemsize


def error_in_ulp(got, want):
    """The distance to exact results in units of the last place of the results' dtype."""
    info = np.finfo(got.dtype)
    with np.errstate(all="ignore"):
        size = np.abs(want)
        exponent = np.floor(np.log2(np.where((size > 0) & np.isfinite(size), size, 1)))
        ulp = np.exp2(np.maximum(exponent, info.minexp).astype(np.longdouble) - info.nmant)
        error = np.abs(got.astype(np.longdouble) - want) / ulp
        same = (got == want.astype(got.dtype)) | (np.isnan(got) & np.isnan(want))
    return np.where(same, 0, error)


def assert_close(got, want, bound, *points):
    error = error_in_ulp(got, want)
    worst = np.argmax(np.where(np.isnan(error), np.inf, error))
    at = [x[worst] for x in points]
    assert error[worst] <= bound, f"{error[worst]:.2f} ulp at {at}: {got[worst]!r}, not {want[worst]!r}"


def slack(name, bound):
    """The bound, and what a reference in double precision may be off itself."""
    in_double = name.startswith("erf") or name == "normal_cdf" or not LONG
    return bound + 1.5 * in_double


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_as_exact_as_it_says(name, dtype):
    reference, points, bound = FUNCTIONS[name]
    rng = np.random.default_rng(7)
    with np.errstate(all="ignore"):
        x = np.concatenate([p(rng, 4000) for p in points]).astype(dtype)
        powers = np.ldexp(1.0, np.arange(-30, 10)).astype(dtype)
        x = np.concatenate([x, powers, np.nextafter(powers, np.dtype(dtype).type(0))])
        if name in ("log", "log2", "log10", "sqrt", "arccosh"):
            x = np.abs(x)
        want = reference(x.astype(np.longdouble)).astype(np.longdouble)
    got, _ = run(compiled(dtype, native_width(dtype)), name, dtype, x)
    assert_close(
        got, want, slack(name, bound if dtype == "float64" else max(bound, 5 * (name == "normal_cdf"))), x
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PAIRS)
def test_a_function_of_two_is_as_exact_as_it_says(name, dtype):
    reference, points, bound = PAIRS[name]
    rng = np.random.default_rng(7)
    with np.errstate(all="ignore"):
        x, y = (np.concatenate([p[k](rng, 4000) for p in points]).astype(dtype) for k in (0, 1))
        x = np.abs(x) if name == "power" else x
        want = reference(x.astype(np.longdouble), y.astype(np.longdouble))
    got, _ = run(compiled(dtype, native_width(dtype)), name, dtype, x, y)
    assert_close(got, want, slack(name, bound), x, y)


def kernel_of(name):
    """What NumPy computes for a primitive."""
    ufunc = getattr(np, name, None)
    if ufunc is not None:
        return ufunc
    return getattr(special, name, None) or getattr(activation, name)


def numpy_flags(function, *operands):
    """Return results and the flags of a function of NumPy."""
    seen = set()
    before = np.seterrcall(lambda kind, _: seen.add(kind))
    try:
        with np.errstate(all="call", under="ignore"):
            result = function(*operands)
    finally:
        np.seterrcall(before)
    return result, seen


def same(got, want):
    """Same numbers to 1e-15 or four ulp, same infinities, NaN and signs of zeros."""
    with np.errstate(all="ignore"):
        close = error_in_ulp(got, want.astype(np.longdouble)) <= 12
    return close & ~((got == 0) & (want == 0) & (np.signbit(got) != np.signbit(want)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values_and_signs_of_zeros_are_numpys(name, dtype):
    with np.errstate(all="ignore"):
        x = SPECIAL.astype(dtype)
        want = np.asarray(kernel_of(name)(x))
    got, _ = run(compiled(dtype, native_width(dtype)), name, dtype, x)
    wrong = ~same(got, want)
    if name == "sigmoid_slope" or (name == "silu" and dtype == "float32"):
        wrong &= np.abs(want) > 1e-37  # near the end of the exponents, products of rounded numbers
    assert not wrong.any(), list(zip(x[wrong], got[wrong], want[wrong]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["power", "hypot", "arctan2"])
def test_special_pairs_are_numpys(name, dtype):
    with np.errstate(all="ignore"):
        x, y = (a.ravel() for a in np.meshgrid(SPECIAL.astype(dtype), SPECIAL.astype(dtype)))
        want = kernel_of(name)(x, y)
    got, _ = run(compiled(dtype, native_width(dtype)), name, dtype, x, y)
    wrong = ~same(got, want)
    assert not wrong.any(), list(zip(x[wrong], y[wrong], got[wrong], want[wrong]))[:5]


FLAGS = {"invalid": 1, "divide by zero": 4, "overflow": 8}
NAMES = {"invalid value": "invalid"}


@pytest.mark.skipif(LIBM is None or np.dtype("long").itemsize < 8, reason="reads the flags by the C library")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [n for n in FUNCTIONS if getattr(np, n, None) is not None])
def test_flags_are_raised_where_numpy_raises_them(name, dtype):
    code = compiled(dtype, native_width(dtype))
    with np.errstate(all="ignore"):
        points = SPECIAL.astype(dtype)
    for x in points:
        x = np.full(16, x)
        _, seen = numpy_flags(getattr(np, name), x)
        _, flags = run(code, name, dtype, x)
        want = sum(FLAGS[NAMES.get(kind, kind)] for kind in seen)
        assert flags & 13 == want, (x[0], flags, seen)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [1, 2])
def test_every_width_gives_the_same_bits(dtype, width):
    code, other = compiled(dtype, native_width(dtype)), compiled(dtype, width)
    rng = np.random.default_rng(3)
    with np.errstate(all="ignore"):
        x = np.concatenate([SPECIAL, rng.uniform(-3, 3, 200), rng.standard_normal(200) * 1e3]).astype(dtype)
    for name in (*FUNCTIONS, *PAIRS):
        operands = (x,) if name in FUNCTIONS else (x, x[::-1].copy())
        (a, _), (b, _) = run(code, name, dtype, *operands), run(other, name, dtype, *operands)
        np.testing.assert_array_equal(a, b, err_msg=name)


@given(st.lists(st.floats(allow_subnormal=True), min_size=1, max_size=40))
def test_any_number_agrees_with_numpy(numbers):
    x = np.array(numbers)
    code = compiled("float64", native_width("float64"))
    for name in ("exp", "log", "sin", "tanh", "expm1", "log1p", "cbrt", "arctan", "sqrt"):
        with np.errstate(all="ignore"):
            want = getattr(np, name)(x)
        got, _ = run(code, name, "float64", x)
        assert same(got, want).all(), (name, x, got, want)


def test_sines_of_huge_numbers_are_exact():
    """6381956970095103·2⁷⁹⁷ is as near to a multiple of π/2 as a double can be."""
    x = np.array([6381956970095103 * 2.0**797, 1e22, 2.0**1000, 1e300])
    sines = [1.0, -0.8522008497671888, -0.15920170308624243, -0.8178819121159085]
    got, _ = run(compiled("float64", native_width("float64")), "sin", "float64", x)
    np.testing.assert_array_max_ulp(got, np.array(sines), 1)
    cosine, _ = run(compiled("float64", native_width("float64")), "cos", "float64", x[:1])
    np.testing.assert_array_max_ulp(cosine, np.array([-4.687165924254628e-19]), 1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "name", ["erfcx", "log_normal_cdf", "normal_cdf", "normal_quantile", "erf_inv", "erfc", "silu_slope"]
)
def test_special_functions_are_those_of_the_kernels(name, dtype):
    with np.errstate(all="ignore"):
        x = np.concatenate([SPECIAL, np.random.default_rng(1).uniform(-37, 6, 500)]).astype(dtype)
        x = np.tanh(x) if "inv" in name else 1 / (1 + np.exp(-x)) if "quantile" in name else x
        want = np.asarray(kernel_of(name)(x))
    code = engine.compile_functions([write_loop(name, name, dtype, native_width(dtype), 1, {})])
    got, _ = run(code, name, dtype, x)
    single = dtype == "float32"
    least = (1e-7 if single else 1e-15) if name == "silu_slope" else (1e-38 if single else 1e-307)
    np.testing.assert_allclose(got, want, rtol=5e-7 if single else 5e-15, atol=least)


def test_the_table_of_inverse_pi_begins_with_it():
    assert inverse_pi_rows()[0] == 1 / math.pi
    assert len(inverse_pi_rows()) == 4 * 41


# -- single instructions ------------------------------------------
@pytest.mark.parametrize(
    "dtype", ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8"]
)
def test_arithmetic_is_numpys(dtype):
    import ml_dtypes

    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    rng = np.random.default_rng(5)
    with np.errstate(all="ignore"):
        x, y = (
            np.concatenate([rng.integers(-9, 9, 60), rng.standard_normal(60) * 9]).astype(kind) for _ in "xy"
        )
        if kind.kind not in "iu":
            x, y = (
                np.concatenate([a, np.array(b).astype(kind)])
                for a, b in zip((x, y), np.meshgrid(*[[0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, 3e-8]] * 2))
                for b in [np.ravel(b)]
            )
        names = [
            *(
                "add",
                "subtract",
                "multiply",
                "divide",
                "negative",
                "square",
                "absolute",
                "sign",
                "less",
                "greater_equal",
            ),
            *(
                "equal",
                "not_equal",
                "maximum",
                "minimum",
                "fmax",
                "fmin",
                "floor",
                "rint",
                "isnan",
                "isfinite",
                "sqrt",
            ),
            *(
                "bitwise_and",
                "bitwise_xor",
                "left_shift",
                "right_shift",
                "copysign",
                "heaviside",
                "exp",
                "sin",
                "reciprocal",
                "signbit",
                "isinf",
            ),
        ]
        covered = [n for n in names if native.covers(n, kind)]
        assert len(covered) > (8 if kind.kind in "iu" else 20)
        ufuncs = {n: getattr(np, n) for n in covered}
        functions = [write_loop(n, n, kind.name, 8, ufuncs[n].nin, {}) for n in covered]
        code = engine.compile_functions(functions)
        for name, ufunc in ufuncs.items():
            want = ufunc(*(x, y)[: ufunc.nin])
            got, _ = run(code, name, kind, *(x, y)[: ufunc.nin], result=want.dtype)
            if name in ("exp", "sin"):
                np.testing.assert_allclose(
                    got.astype("f8"), want.astype("f8"), rtol=1e-2 if kind.itemsize == 2 else 4e-7
                )
            else:
                np.testing.assert_array_equal(got.astype("f8"), want.astype("f8"), err_msg=name)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["fmod", "remainder", "floor_divide"])
def test_remainders_are_exact_whatever_the_quotient(name, dtype):
    rng, ufunc = np.random.default_rng(11), getattr(np, name)
    with np.errstate(all="ignore"):
        pairs = [p.ravel() for p in np.meshgrid(SPECIAL, SPECIAL)]
        for x, y in (
            (between(-100, 100)(rng, 2000), between(-3, 3)(rng, 2000)),
            (reach(1e-300, 1e300)(rng, 2000), reach(1e-320, 1e300)(rng, 2000)),
            (rng.integers(-50, 50, 2000) * 0.5, rng.integers(-10, 10, 2000) * 0.25),
        ):
            pairs = [np.concatenate(p) for p in zip(pairs, (x, y))]
        x, y = (p.astype(dtype) for p in pairs)
        want = ufunc(x, y)
    code = engine.compile_functions([write_loop(name, name, dtype, native_width(dtype), 2, {})])
    got, _ = run(code, name, dtype, x, y)
    np.testing.assert_array_equal(got, want)
    zero = got == 0
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(want[zero]))


@pytest.mark.parametrize("p", [0, 1, 2, 3, -1, 0.5, 1.5, -2])
def test_powers_by_a_number(p):
    x = np.linspace(0.1, 5, 64)
    assert native.covers("static_power", x.dtype, p=p)
    code = engine.compile_functions([write_loop("power", "static_power", "float64", 4, 1, {"p": p})])
    got, _ = run(code, "power", "float64", x)
    np.testing.assert_array_max_ulp(got, x**p, 1)


def test_doubles_are_rounded_to_half_precision_once():
    tie = 1 + 2.0**-11
    x = np.array(
        [
            tie,
            tie + 2.0**-40,
            tie - 2.0**-40,
            -tie,
            -tie - 2.0**-40,
            3e-8,
            3e-8 + 1e-16,
            65519.999999,
            1e-40,
            0.1,
        ]
    )
    x = np.concatenate([x, SPECIAL, np.random.default_rng(2).standard_normal(300)])
    function = Function("half", [I64, PTR, PTR])
    n, source, target = function.arguments
    with function.loop(n, step=8) as loop:
        function.store(
            native.narrow(function.load(source, Type("double", 8), loop.index), "half"), target, loop.index
        )
    got, _ = run(engine.compile_functions([function]), "half", "float64", x, result=np.float16)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(got, x.astype(np.float16))


PIECES = {"short_power", "log_gamma_above", "digamma", "digamma_above", "trigamma", "trigamma_above"}


def test_functions_are_named_after_primitives():
    native.load_all()
    assert {*native.FUNCTIONS} - PIECES <= {*REGISTRY}
    assert {*native.complex_numbers.COMPLEX} <= {*REGISTRY}


def test_what_is_covered_depends_on_the_dtype():
    assert native.covers("exp", "float32") and native.covers("add", "int8") and native.covers("where", bool)
    assert not native.covers("exp", "int64") and not native.covers("exp", "bool")
    assert native.covers("exp", "complex128") and not native.covers("arccosh", "complex64")
    assert not native.covers("sort", "float64") and not native.covers("less", "uint8")
    assert not native.covers("static_power", "int64", p=-1)
