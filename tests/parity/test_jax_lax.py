"""fxgrad.lax against jax.lax: values, dtypes, derivatives in both modes, under jit and vmap."""

import inspect

import numpy
import pytest

import fxgrad
from fxgrad.core.face import public_names
from fxgrad.lax import (
    collectives,
    convolution,
    elementwise,
    operations,
    reductions,
    shaping,
    sorting,
    windows,
)
from tests.parity.oracle import JAX, same

import jax  # isort: skip

rng = numpy.random.default_rng(0)
V, W = rng.normal(size=5), rng.normal(size=5)
X, Y = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
P = rng.uniform(0.2, 0.9, (3, 4))
T = rng.normal(size=(2, 3, 4))
U = rng.normal(size=(2, 4, 5))
Z = X + 1j * Y
N = rng.integers(-50, 50, (3, 4))
M = rng.integers(1, 9, (3, 4))
B = rng.random((3, 4)) < 0.5

# (function of lax and the operands, operands)
UNARY = """
    abs acos asin asinh atan atanh cbrt ceil cos cosh exp exp2 expm1 floor log log1p logistic neg reciprocal
    round rsqrt sign sin sinh sqrt square stop_gradient tan tanh
"""
BINARY = "add atan2 complex div max min mul pow rem sub"
DIFFERENTIABLE = {
    **{name: (lambda lax, x, name=name: getattr(lax, name)(x), P) for name in UNARY.split()},
    **{
        name: (lambda lax, x, y, name=name: getattr(lax, name)(x, y), P, 0.3 + P[::-1])
        for name in BINARY.split()
    },
    "acosh": (lambda lax, x: lax.acosh(1 + x), P),
    "logistic, complex": (lambda lax, x: lax.logistic(x), Z),
    "integer_pow": (lambda lax, x: lax.integer_pow(x, -3), X),
    "round, even": (lambda lax, x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), 10 * X),
    "conj, imag": (lambda lax, z: lax.imag(lax.conj(z)) * lax.real(z), Z),
    "clamp": (lambda lax, x: lax.clamp(-0.5, x, 0.7), X),
    "select": (lambda lax, x, y: lax.select(B, x, y), X, Y),
    "select_n": (lambda lax, x, y: lax.select_n(B, x, y), X, Y),
    "select_n, integers": (lambda lax, x, y: lax.select_n(numpy.minimum(M % 3, 2), x, y, x * y), X, Y),
    "convert_element_type": (lambda lax, x: lax.convert_element_type(x, "float32"), X),
    "full_like": (lambda lax, x: x * lax.full_like(x, 2), X),
    "reshape": (lambda lax, x: lax.reshape(x, (2, 6), (1, 0)), X),
    "collapse": (lambda lax, t: (lax.collapse(t, 1), lax.collapse(t, 0, 2)), T),
    "expand_dims": (lambda lax, x: lax.expand_dims(x, (0, 2)), X),
    "squeeze": (lambda lax, x: lax.squeeze(x[:, :1], (1,)), X),
    "transpose": (lambda lax, t: lax.transpose(t, (2, 0, 1)), T),
    "rev": (lambda lax, t: lax.rev(t, (0, 2)), T),
    "broadcast": (lambda lax, x: lax.broadcast(x, (2, 1)), X),
    "broadcast_in_dim": (lambda lax, x: lax.broadcast_in_dim(x, (3, 2, 4), (0, 2)), X),
    "broadcast_in_dim, ones": (lambda lax, x: lax.broadcast_in_dim(x[:, :1], (2, 3, 5), (1, 2)), X),
    "concatenate": (lambda lax, x, y: lax.concatenate([x, y], 1), X, Y),
    "split": (lambda lax, x: lax.split(x, (1, 3), axis=1), X),
    "tile": (lambda lax, x: lax.tile(x, (2, 3)), X),
    "pad": (lambda lax, x, p: lax.pad(x, p, [(1, 2, 0), (0, 1, 2)]), X, numpy.float64(0.5)),
    "pad, negative": (lambda lax, x, p: lax.pad(x, p, [(-1, 2, 1), (3, -2, 0)]), X, numpy.float64(0.5)),
    "pad, negative and interior": (
        lambda lax, x, p: lax.pad(x, p, [(-2, -1, 2), (-1, -1, 1)]),
        X,
        numpy.float64(2),
    ),
    "pad, beyond": (lambda lax, x, p: lax.pad(x, p, [(-4, 3, 0), (0, 0, 0)]), X, numpy.float64(2)),
    "slice": (lambda lax, x: lax.slice(x, (0, 1), (3, 4), (2, 1)), X),
    "slice_in_dim": (lambda lax, x: lax.slice_in_dim(x, 1, -1, 2, axis=1), X),
    "index_in_dim": (lambda lax, x: (lax.index_in_dim(x, -1, 1), lax.index_in_dim(x, 0, keepdims=False)), X),
    "dynamic_slice": (lambda lax, t: lax.dynamic_slice(t, (0, 1, 2), (1, 2, 2)), T),
    "dynamic_slice, clamped": (lambda lax, t: lax.dynamic_slice(t, (5, -1, -3), (1, 2, 2)), T),
    "dynamic_slice, an array": (lambda lax, x: lax.dynamic_slice(x, numpy.array([1, 2]), (2, 2)), X),
    "dynamic_slice_in_dim": (lambda lax, x: lax.dynamic_slice_in_dim(x, -2, 2, axis=1), X),
    "dynamic_index_in_dim": (
        lambda lax, x: (lax.dynamic_index_in_dim(x, 7), lax.dynamic_index_in_dim(x, -1, 1, False)),
        X,
    ),
    "dynamic_update_slice": (lambda lax, x, u: lax.dynamic_update_slice(x, u[:2, :2], (2, 1)), X, Y),
    "dynamic_update_slice_in_dim": (
        lambda lax, x, u: lax.dynamic_update_slice_in_dim(x, u[:, 1:3], -1, 1),
        X,
        Y,
    ),
    "dynamic_update_index_in_dim": (
        lambda lax, x, u: (
            lax.dynamic_update_index_in_dim(x, u[0], 1, 0),
            lax.dynamic_update_index_in_dim(x, u[:, :1], 9, 1),
        ),
        X,
        Y,
    ),
    "reduce_sum": (lambda lax, t: lax.reduce_sum(t, (0, 2)), T),
    "reduce_prod": (lambda lax, t: lax.reduce_prod(t, (1,)), T),
    "reduce_max": (lambda lax, t: lax.reduce_max(t, (0, 1)), T),
    "reduce_min": (lambda lax, t: lax.reduce_min(t, (2,)), T),
    "reduce, add": (lambda lax, t: lax.reduce(t, 0.0, lax.add, (0, 2)), T),
    "reduce, max": (lambda lax, t: lax.reduce(t, 0.3, lax.max, (1,)), T),
    "cumsum": (lambda lax, x: (lax.cumsum(x), lax.cumsum(x, 1, reverse=True)), X),
    "cumprod": (lambda lax, x: (lax.cumprod(x, 1), lax.cumprod(x, reverse=True)), X),
    "cummax": (lambda lax, x: (lax.cummax(x, 1), lax.cummax(x, reverse=True)), X),
    "cummin": (lambda lax, x: (lax.cummin(x, 1), lax.cummin(x, reverse=True)), X),
    "cumlogsumexp": (lambda lax, x: (lax.cumlogsumexp(x, 1), lax.cumlogsumexp(x, reverse=True)), X),
    "cumlogsumexp, a wide range": (lambda lax, x: lax.cumlogsumexp(800 * x), V),
    "sort": (lambda lax, x: (lax.sort(x), lax.sort(x, 0) * x), X),
    "sort of several": (lambda lax, x, y: lax.sort((y * 0, x, y), dimension=0, num_keys=2), X, Y),
    "sort_key_val": (lambda lax, x, y: lax.sort_key_val(x, y, 0), X, Y),
    "top_k": (lambda lax, x: (lax.top_k(x, 2)[0], lax.top_k(x, 3, axis=0)[0] * x), X),
    "dot": (lambda lax, x, y: lax.dot(x, y.T), X, Y),
    "dot of vectors": (lambda lax, v, w: lax.dot(v, w), V, W),
    "dot, dimension_numbers": (
        lambda lax, x, y: lax.dot(x, y, dimension_numbers=(((0,), (0,)), ((), ()))),
        X,
        Y,
    ),
    "dot_general": (lambda lax, a, b: lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,)))), T, U),
    "dot_general, all": (lambda lax, a, b: lax.dot_general(a, b, (((1, 0), (1, 0)), ((), ()))), X, Y),
    "dot_general, outer": (lambda lax, a, b: lax.dot_general(a, b, (((), ()), ((1,), (1,)))), X, Y),
    "batch_matmul": (lambda lax, a, b: lax.batch_matmul(a, b), T, U),
}


def derivatives(fx, lax, call, args):
    """(value, tangent, cotangents, the values at two points) of a function that may have several results."""

    def f(*args):
        return call(lax, *args)

    value, tangent = fx.jvp(f, args, tuple(0.5 * a + 0.25 for a in args))
    _, pullback = fx.vjp(f, *args)
    pulled = pullback(tangent)
    mapped = fx.vmap(f)(*(lax.concatenate([a[None], a[None] / 2], 0) for a in args))
    return value, tangent, pulled, mapped


@pytest.mark.parametrize("call, args", [(f, a) for f, *a in DIFFERENTIABLE.values()], ids=DIFFERENTIABLE)
def test_values_and_derivatives(call, args):
    ours = derivatives(fxgrad, fxgrad.lax, call, tuple(args))
    same(ours, jax.jit(lambda *args: derivatives(JAX, jax.lax, call, args))(*args))
    same(fxgrad.jit(lambda *args: derivatives(fxgrad, fxgrad.lax, call, args))(*args), ours)


DISCRETE = {
    "comparisons": lambda lax: [f(X, Y) for f in (lax.eq, lax.ne, lax.lt, lax.le, lax.gt, lax.ge)],
    "nextafter": lambda lax: lax.nextafter(X, Y),
    "is_finite": lambda lax: lax.is_finite(numpy.array([1.0, numpy.inf, numpy.nan])),
    "bits": lambda lax: (
        [f(N, M) for f in (lax.bitwise_and, lax.bitwise_or, lax.bitwise_xor)] + [lax.bitwise_not(N)]
    ),
    "shifts": lambda lax: [
        f(N, M) for f in (lax.shift_left, lax.shift_right_arithmetic, lax.shift_right_logical)
    ],
    "shifts of small integers": lambda lax: lax.shift_right_logical(N.astype("int8"), M.astype("int8")),
    "population_count": lambda lax: [
        lax.population_count(N.astype(d)) for d in ("int8", "int32", "int64", "uint8")
    ],
    "clz": lambda lax: [lax.clz(N.astype(d)) for d in ("int8", "int32", "int64", "uint16")],
    "clz of 0": lambda lax: lax.clz(numpy.zeros(2, "int32")),
    "div, rem": lambda lax: [lax.div(N, M), lax.rem(N, M), lax.div(N, -M), lax.rem(N, -M)],
    "round": lambda lax: lax.round(
        numpy.array([0.5, -0.5, 1.5, 2.5, -2.5, 0.49999999999999994, 2.0**52 + 1, -numpy.inf, numpy.nan])
    ),
    "sums of integers": lambda lax: [f(M.astype("int32"), (0,)) for f in (lax.reduce_sum, lax.reduce_prod)],
    "running sums of integers": lambda lax: [f(M.astype("int8"), 1) for f in (lax.cumsum, lax.cumprod)],
    "reduce_and": lambda lax: [lax.reduce_and(B, (0,)), lax.reduce_and(N, (0, 1))],
    "reduce_or": lambda lax: [lax.reduce_or(B, (1,)), lax.reduce_or(N, (0,))],
    "reduce_xor": lambda lax: [lax.reduce_xor(B, (1,)), lax.reduce_xor(N, (0,))],
    "argmax": lambda lax: [lax.argmax(X, 1, "int32"), lax.argmin(X, 0, "int16")],
    "constants": lambda lax: [lax.full((2, 3), 2.5), lax.full((2,), 3, "float32"), lax.iota("float32", 4)],
    "broadcasted_iota": lambda lax: [lax.broadcasted_iota("int32", (2, 3), i) for i in (0, 1)],
    "full_like": lambda lax: [lax.full_like(X, 1, "int32"), lax.full_like(N, 2, shape=(2,))],
    "dot of integers": lambda lax: lax.dot(N.astype("int32"), M.T.astype("int32")),
    "preferred_element_type": lambda lax: lax.dot(
        N.astype("int8"), M.T.astype("int8"), preferred_element_type="int32"
    ),
    "dot in double": lambda lax: lax.dot(
        X.astype("float32"), Y.T.astype("float32"), preferred_element_type=numpy.float64
    ),
    "broadcast_shapes": lambda lax: list(lax.broadcast_shapes((2, 1), (1, 3))),
    "top_k": lambda lax: [
        y
        for x in (M, numpy.array([1.0, numpy.nan, 2.0, numpy.nan]), numpy.array([[3, 200, 200]], "uint8"))
        for y in (lax.top_k(x, 2)[0], 0 + lax.convert_element_type(lax.top_k(x, 3)[1], "int32"))
    ],
    "sort, a key": lambda lax: list(lax.sort((M % 3, M, N), num_keys=1)),
    "sort, two keys": lambda lax: list(lax.sort([M % 3, M % 2, N], dimension=0, num_keys=2)),
    "sort, NaN": lambda lax: lax.sort(numpy.array([numpy.nan, 1.0, -numpy.inf, numpy.inf, numpy.nan])),
    "bitcast_convert_type": lambda lax: [
        lax.bitcast_convert_type(X, "int64"),
        lax.bitcast_convert_type(X.astype("float32"), "int8"),
        lax.bitcast_convert_type(N.astype("int16"), "int64"),
    ],
    "convert": lambda lax: [lax.convert_element_type(10 * X, "int32"), lax.convert_element_type(N, bool)],
}


@pytest.mark.parametrize("call", DISCRETE.values(), ids=DISCRETE)
def test_integers_and_constants(call):
    same(call(fxgrad.lax), call(jax.lax))


def argmaximum(lax, np):
    """The greatest value with its place: a reduction of two arrays together."""

    def better(a, b):
        return tuple(np.where(a[0] >= b[0], p, q) for p, q in zip(a, b))

    places = lax.broadcasted_iota("int64", X.shape, 1)
    return lax.reduce((np.asarray(X), places), (np.asarray(-numpy.inf), np.asarray(-1)), better, (1,))


STARTS = {
    "vmap over starts": lambda fx, lax: fx.vmap(lambda i: lax.dynamic_slice(T, (0, i, 1), (2, 2, 2)))(
        numpy.array([0, 1, 5, -1])
    ),
    "vmap over operand and starts": lambda fx, lax: fx.vmap(
        lambda x, i: lax.dynamic_slice(x, (i, i), (2, 1)), (0, 0)
    )(T, numpy.array([0, 1])),
    "grad with batched starts": lambda fx, lax: fx.vmap(
        fx.grad(lambda x, i: (lax.dynamic_slice_in_dim(x, i, 2) ** 3).sum()), (None, 0)
    )(V, numpy.array([0, 3, -2])),
    "updates with batched starts": lambda fx, lax: fx.vmap(
        lambda x, u, i: lax.dynamic_update_slice(x, u, (i,)), (None, 0, 0)
    )(V, X[:, :2], numpy.array([0, 3, 9])),
    "grad of updates with batched starts": lambda fx, lax: fx.vmap(
        fx.grad(lambda x, u, i: (lax.dynamic_update_index_in_dim(x, u, i, 0) ** 3).sum(), (0, 1)),
        (None, 0, 0),
    )(V, V[:3], numpy.array([0, 3, 9])),
    "traced starts under jit": lambda fx, lax: fx.jit(
        lambda x, i: lax.dynamic_update_slice_in_dim(x, lax.dynamic_slice_in_dim(x, i, 2), i + 2, 0)
    )(V, 1),
    "traced starts, not from the end": lambda fx, lax: fx.jit(
        lambda i: lax.dynamic_slice_in_dim(V, i, 2, allow_negative_indices=False)
    )(-2),
    "hessian": lambda fx, lax: fx.hessian(lambda x: (lax.dynamic_slice_in_dim(x, 2, 2) ** 3).sum())(V),
    "reduce of two": lambda fx, lax: argmaximum(lax, jax.numpy if lax is jax.lax else fxgrad.numpy),
}


@pytest.mark.parametrize("program", STARTS.values(), ids=STARTS)
def test_program(program):
    same(program(fxgrad, fxgrad.lax), jax.jit(lambda: program(JAX, jax.lax))())


# Options of JAX's compiler, which mean nothing here.
COMPILER = {"accuracy", "out_sharding", "sharding", "out_dtype", "to"}
ELSEWHERE = {
    "RoundingMethod",
    "broadcast_shapes",
    "dtype",
}  # an enumeration, NumPy's function, one of all types
NAMES = {
    name
    for part in (elementwise, operations, shaping, reductions, convolution, windows, collectives, sorting)
    for name in public_names(part)
} - ELSEWHERE


@pytest.mark.parametrize("name", sorted(NAMES))
def test_names_and_signatures_are_jaxs(name):
    """Parameters have JAX's names, places and defaults; those of elementwise functions are given by position."""
    theirs = inspect.signature(getattr(jax.lax, name)).parameters.values()
    theirs = [p for p in theirs if p.name not in COMPILER]
    ours = list(inspect.signature(getattr(fxgrad.lax, name)).parameters.values())
    by_position = all(p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL) for p in ours)
    assert by_position or [(p.name, p.default) for p in ours][: len(theirs)] == [
        (p.name, p.default) for p in theirs
    ]
