"""Random programs of entrywise operations and reductions, their operands, and how far results may be off.

A reference is evaluated step by step by NumPy, several times with errors of a few units in the last place in whatever
is not exact: results may differ as much as these do.
"""

import math
import operator
from typing import NamedTuple

import ml_dtypes
import numpy as np

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import ops
from fxgrad.core.graph import Literal
from fxgrad.kernels import tiles
from fxgrad.kernels.native import engine
from fxgrad.passes import fusion


def set_way(patch, mode):
    """Have every group fused, however small: carried out by machine code, or in tiles of a few entries."""
    patch.setattr(engine, "mode", lambda: mode)
    for place in (fusion, tiles):
        patch.setattr(place, "CACHE_ENTRIES", 16)
        patch.setattr(place, "FEWEST_TILES", 1)
    patch.setattr(fusion, "FUSED_ENTRIES", 1)
    return mode


# -- operands ------------------------------------------
SPECIAL = [
    0.0, -0.0, 1.0, -1.5, 0.5, math.inf, -math.inf, math.nan, 5e-324, -1e-310, 3e-45, 6e-8, 1e-160, 1e300, -1e38,
    3.4e38, 65504.0, 1.7e308, 88.7, -103.0, 709.8,
]  # fmt: skip
LENGTHS = [1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 130, 257, 1000]
LAYOUTS = ["dense", "dense", "every other", "backwards", "Fortran", "unaligned", "read-only", "repeated"]
REAL = ["f8", "f8", "f4", "f4", "f2", "bfloat16", "i8", "i4", "i2", "i1", "u8", "u4", "u1", "?"]
COMPLEX = ["c16", "c16", "c8", "f8", "f4"]
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def draw_shapes(draw):
    """A shape, and one that broadcasts to it."""
    shape = tuple(draw.choice(LENGTHS) for _ in range(draw.randint(1, 3)))
    while math.prod(shape) > 8_000:
        shape = shape[1:] if len(shape) > 1 else (100,)
    other = tuple(n if draw.random() < 0.5 else 1 for n in shape)
    return shape, other[draw.randint(0, len(other)) :]


def draw_array(draw, shape, dtype):
    """An array with any layout in memory and some special values."""
    random = np.random.default_rng(draw.randrange(1 << 32))
    layout, scale, special = draw.choice(LAYOUTS), draw.choice([1, 3, 30]), draw.random() < 0.5
    wide = tuple(2 * n for n in shape)

    def numbers():
        data = np.array(random.standard_normal(wide) * scale)
        places = np.asarray(random.random(wide) < 0.2 * special)
        data[places] = random.choice(SPECIAL, int(places.sum()))
        return data

    dtype = BFLOAT16 if dtype == "bfloat16" else np.dtype(dtype)
    data = numbers()
    with np.errstate(all="ignore"):
        if dtype.kind == "c":
            both = np.empty(wide, complex)
            both.real, both.imag = data, numbers()
            data = both
        elif dtype.kind in "iub":
            data = np.nan_to_num(data, posinf=99, neginf=-99).clip(0 if dtype.kind == "u" else -99, 99)
        data = np.asarray(np.asarray(data).astype(dtype))
    part = np.array(data[tuple(slice(0, n) for n in shape)])
    if layout == "every other":
        part = np.asarray(data[tuple(slice(None, None, 2) for _ in shape)])
    elif layout == "backwards" and part.ndim:
        part = part[::-1]
    elif layout == "Fortran":
        part = np.asfortranarray(part)
    elif layout == "unaligned" and part.ndim:
        memory = np.empty(part.nbytes + 1, np.uint8)
        moved = memory[1:].view(part.dtype).reshape(part.shape)
        moved[...] = part
        part = moved
    elif layout == "read-only":
        part.flags.writeable = False
    elif layout == "repeated" and part.ndim:
        part = np.broadcast_to(part[:1], part.shape)
    return part


# -- programs ------------------------------------------
def softmax(x):
    e = fnp.exp(x - fnp.max(x, axis=-1, keepdims=True))
    return e / fnp.sum(e, axis=-1, keepdims=True)


FUNCTIONS = [
    fnp.exp, fnp.log, fnp.sin, fnp.cos, fnp.tan, fnp.tanh, fnp.sinh, fnp.cosh, fnp.expm1, fnp.log1p, fnp.exp2, fnp.log2,
    fnp.log10, fnp.cbrt, fnp.arctan, fnp.arcsinh, fnp.arccosh, fnp.arctanh, fnp.sinc, ops.sigmoid, ops.softplus,
    ops.erf, ops.erfc, ops.normal_cdf, ops.log_normal_cdf, ops.log_gamma, lambda x: ops.polygamma(x, n=0), softmax,
]  # fmt: skip
ONE = [
    operator.neg, abs, lambda x: x * x, lambda x: x + 1, lambda x: 2 * x - 0.5, lambda x: fnp.sqrt(abs(x)),
    lambda x: fnp.where(x > 0.5, x, 0), lambda x: 1 / x, fnp.floor, fnp.rint, fnp.sign, fnp.reciprocal,
    lambda x: x.astype(float) * 0.25, lambda x: x.astype(np.float32), lambda x: x.astype(np.float16),
    lambda x: fnp.isnan(x) | (x < 0), lambda x: fnp.isfinite(x) & (x != 1), lambda x: fnp.clip(x, -1, 1),
    fnp.nan_to_num, ops.relu, lambda x: fx.stop_gradient(x) * x, lambda x: x - fnp.max(x, axis=-1, keepdims=True),
    lambda x: x / fnp.sum(x, axis=-1, keepdims=True), lambda x: x**3, lambda x: fnp.broadcast_to(x[:1], x.shape),
]  # fmt: skip
TWO = [
    operator.add, operator.sub, operator.mul, operator.truediv, fnp.maximum, fnp.minimum, fnp.fmax,
    lambda x, y: fnp.copysign(x, fnp.where(fnp.isnan(y), 1, y)),  # the sign of a NaN is anybody's
    lambda x, y: fnp.where(x < y, x, y), lambda x, y: fnp.where(x == y, y, -1.5), lambda x, y: (x > y) & (x != y),
    fnp.hypot, fnp.arctan2, fnp.fmod, fnp.heaviside, lambda x, y: abs(x) ** y,
]  # fmt: skip
ENDS = [
    lambda y: (y, y * 2), lambda y: (fnp.max(y),), lambda y: (fnp.max(y, axis=-1), y), lambda y: (fnp.min(y, axis=0),),
    lambda y: (fnp.any(y > 1, axis=-1),), lambda y: (fnp.all(y > -5),), lambda y: (fnp.sum(y),),
    lambda y: (fnp.sum(y, axis=0), fnp.sum(y > 0, axis=-1)), lambda y: (fnp.sum(y, axis=-1), y),
]  # fmt: skip
COMPLEX_ONE = [
    operator.neg, abs, lambda x: x * x, lambda x: x + 1, lambda x: 2j * x - 0.5, lambda x: 1 / x, fnp.conj, fnp.angle,
    lambda x: x.real * 2, lambda x: x.imag + 1, fnp.exp, fnp.square, fnp.reciprocal, fnp.sqrt, fnp.isnan, fnp.isfinite,
    lambda x: fnp.where(abs(x) > 1, x, 0), lambda x: x.astype(np.complex64), lambda x: x != 1j,
    lambda x: x.real + 1j * x.imag, lambda x: fnp.sum(x, axis=-1, keepdims=True) * x,
]  # fmt: skip
COMPLEX_TWO = [
    operator.add, operator.sub, operator.mul, operator.truediv, lambda x, y: fnp.where(x == y, x, y),
    lambda x, y: x * fnp.conj(y), lambda x, y: abs(x - y) ** 2,
]  # fmt: skip
COMPLEX_ENDS = [
    lambda y: (y, y * 2), lambda y: (fnp.sum(y),), lambda y: (fnp.sum(y, axis=-1), y), lambda y: (fnp.sum(y, axis=0),),
]  # fmt: skip
TRANSFORMS = ["none", "none", "none", "grad", "jvp", "vmap", "hessian"]


class Program(NamedTuple):
    """A function, and operands for it."""

    function: object
    operands: tuple


def draw_program(draw, with_complex):
    """A program of a few steps, and a derivative or a batch of it."""
    one, two = (COMPLEX_ONE, COMPLEX_TWO) if with_complex else ([*ONE, *FUNCTIONS], TWO)
    ends, dtypes = (COMPLEX_ENDS, COMPLEX) if with_complex else (ENDS, REAL)
    transform = draw.choice(TRANSFORMS)
    shape, other = draw_shapes(draw)
    if transform == "hessian":
        shape = other = (draw.choice([2, 5, 8, 9]),)
    differentiable = [d for d in dtypes if d[0] == "fc"[with_complex and transform != "hessian"]]
    x = draw_array(draw, shape, draw.choice(dtypes if transform in ("none", "vmap") else differentiable))
    y = draw_array(draw, other, draw.choice(dtypes))
    steps = [
        (draw.choice(one if draw.random() < 0.6 else two), draw.random() < 0.6, draw.randrange(6))
        for _ in range(draw.randint(4, 12))
    ]
    end = draw.choice(ends)

    def compute(x, y):
        found = [x]
        for function, is_chain, place in steps:
            operand = found[-1] if is_chain else found[place % len(found)]
            try:
                z = function(operand) if function in one else function(operand, y if is_chain else found[-1])
            except (TypeError, fx.FxgradError):  # the operation is none of this dtype
                continue
            if fnp.shape(z) == fnp.shape(x):
                found.append(z)
        return found[1:] or found

    def loss(x, y):
        *_, z = compute(x, y)
        return fnp.sum(abs(z) ** 2 if z.dtype.kind == "c" else z * 1.0)

    function = {
        "none": lambda x, y: (*(found := compute(x, y)), *end(found[-1])),
        "vmap": lambda x, y: fx.vmap(lambda r: compute(r[None], np.float64(1.5)))(x),
        "grad": lambda x, y: fx.value_and_grad(loss)(x, y),
        "jvp": lambda x, y: fx.jvp(lambda x: loss(x, y), (x,), (fnp.ones_like(x),)),
        "hessian": lambda x, y: (fx.hessian(loss)(x, y),),
    }[transform]
    return Program(function, (x, y))


# -- how far results may be off ------------------------------------------
EXACT = frozenset({
    "absolute", "add", "argmax", "argmin", "bitwise_and", "bitwise_not", "bitwise_or", "broadcast_to", "conjugate",
    "convert", "copysign", "divide", "equal", "floor", "fmax", "fmin", "fmod", "full_like", "getitem", "greater",
    "greater_equal", "heaviside", "imag", "isfinite", "isinf", "isnan", "less", "less_equal", "logical_and",
    "logical_not", "logical_or", "make_complex", "maximum", "minimum", "multiply", "negative", "not_equal",
    "permute", "positive", "real", "reciprocal", "reduce_all", "reduce_any", "reduce_max", "reduce_min", "relu",
    "reshape", "rint", "sign", "sqrt", "square", "stop_gradient", "subtract", "unit_vector", "weaken", "where",
    "with_derivative_of",
})  # fmt: skip
COMPLEX_INEXACT = frozenset({"absolute", "divide", "multiply", "reciprocal", "square", "unit_vector"})
RUNS = 4  # with random errors


class Bias:
    """Errors that are all as large as they may be, of one sign: jumps are met from either side."""

    def __init__(self, sign):
        self.sign = sign

    def uniform(self, low, high, shape):
        return np.full(shape, self.sign)

    def choice(self, values, shape):
        return np.full(shape, self.sign * np.inf)


def is_exact(equation):
    """Whether machine code and NumPy give the same to the last bit."""
    name = equation.primitive.name
    with_complex = any(a.aval.dtype.kind == "c" for a in (*equation.inputs, *equation.outputs))
    return name in EXACT and not (with_complex and name in COMPLEX_INEXACT)


def epsilon(dtype):
    return float(ml_dtypes.finfo(dtype).eps)


def least(dtype):
    return float(ml_dtypes.finfo(dtype).smallest_subnormal)


def is_inexact(dtype):
    return dtype.kind in "fc" or dtype == BFLOAT16


def perturb(equation, operands, result, random, signs=False):
    """A result with errors of a few units in the last place; of a sum, of its terms. With `signs` of any zero."""
    y = np.asarray(result)
    if not is_inexact(y.dtype):
        return result
    size = size_of(y)
    lost = np.zeros(y.shape, bool)
    if equation.primitive.name == "reduce_sum":
        size = size_of(np.asarray(operands[0])).sum(axis=equation.params["axes"])
        lost = size > float(ml_dtypes.finfo(y.dtype).max)  # ∞ or not, as the order will have it
    error = size * epsilon(y.dtype) * 3 + (size > 0) * 4 * least(y.dtype)
    whole = [v + random.uniform(-1, 1, y.shape) * error for v in parts(y)]
    whole = [np.where(lost, random.choice([np.inf, -np.inf, np.nan], y.shape), v) for v in whole]
    if signs:
        whole = [np.where(v == 0, np.copysign(v, random.uniform(-1, 1, y.shape)), v) for v in whole]
    if y.dtype.kind != "c":
        return whole[0].astype(y.dtype)
    z = np.empty_like(y)
    z.real, z.imag = whole
    return z


def evaluate(graph, operands, random, is_exact=is_exact, signs=False):
    """Evaluate a Graph step by step, with errors in what is not exact and in what comes of it."""
    values = {**dict(graph.captured), **dict(zip(graph.inputs, operands))}
    inexact = set()
    for e in graph.equations:
        given = [a.value if type(a) is Literal else values[a] for a in e.inputs]
        found = e.primitive.call(*given, **e.params)
        results = found if e.primitive.multiple_results else [found]
        if not is_exact(e) or any(a in inexact for a in e.inputs):
            inexact.update(e.outputs)
            results = [perturb(e, given, r, random, signs) for r in results]
        values.update(zip(e.outputs, results))
    return [a.value if type(a) is Literal else values[a] for a in graph.outputs]


def parts(x):
    x = np.asarray(x)
    return [x.real, x.imag] if x.dtype.kind == "c" else [x]


def size_of(x):
    """The larger one of the parts that are finite."""
    sizes = [np.abs(v.astype(np.longdouble)) for v in parts(x)]
    return np.max([np.where(np.isfinite(v), v, 0) for v in sizes], axis=0)


def same(a, b):
    return (a == b) | (np.isnan(a) & np.isnan(b)) if is_inexact(a.dtype) else a == b


def check_results(got, want, graph, operands, is_exact=is_exact, signs=False):
    """Check results against NumPy's: the same to the last bit if every step is exact."""
    exact = all(map(is_exact, graph.equations))
    sources = [] if exact else [Bias(1), Bias(-1), *map(np.random.default_rng, range(RUNS))]
    runs = [evaluate(graph, operands, source, is_exact, signs) for source in sources]
    assert len(got) == len(want)
    for i, (g, w) in enumerate(zip(got, want)):
        assert (np.shape(g), np.asarray(g).dtype, type(g)) == (np.shape(w), np.asarray(w).dtype, type(w))
        size = size_of(w)
        others = [parts(r[i]) for r in runs]
        for k, (a, b) in enumerate(zip(parts(g), parts(w))):
            good = same(a, b)
            for other in others:  # where a decision may fall either way, any result will do
                good |= ~same(np.asarray(other[k]), np.asarray(others[0][k])) & ~np.isfinite(size + other[k])
                good |= ~same(np.asarray(other[k]), b) & (not is_inexact(a.dtype))
            if others and is_inexact(a.dtype):
                wide = np.array([o[k] for o in others]).astype(np.longdouble)
                spread = np.nan_to_num(wide.max(0) - wide.min(0), nan=np.inf, posinf=np.inf)
                bound = 12 * spread + 8 * epsilon(a.dtype) * size + 4 * least(a.dtype)
                good |= np.abs(a.astype(np.longdouble) - b.astype(np.longdouble)) <= bound
            assert good.all(), (a[~good][:3], b[~good][:3], np.argwhere(~good)[:3], graph)
