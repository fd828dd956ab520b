"""Random programs: every pass preserves their values, derivatives and batches."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax
from fxgrad.kernels.codegen.source import compile_graph
from fxgrad.passes.table import PASSES, optimize

EXACT = ["marks", "loops", "bodies", "constants", "common", "algebra", "tidy"]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, np.inf, -np.inf, np.nan, 1e-40, -3.0]
ORDINARY = [1.0, -1.0, 0.5, 2.0, -3.0, 0.25, 1.5, -0.75]
SHAPES = [(), (3,), (1,), (2, 3), (2, 1), (1, 3)]
DTYPES = ["f4", "f8", "i4", "c8", "f2", "?"]
NUMBERS = [0, 1, -1, 2, 0.0, -0.0, 0.5, 1.0]


def reshaped(x, k):
    shape = np.shape(x)
    return fnp.reshape(x, [(-1,), (*shape, 1), (1, *shape), shape[::-1]][k % 4])


UNARY = [
    lambda x, k: -x if x.dtype != bool else ~x,
    lambda x, k: fnp.sin(x * 1.0),
    lambda x, k: x * NUMBERS[k % len(NUMBERS)],
    lambda x, k: NUMBERS[k % len(NUMBERS)] + x,
    lambda x, k: x - NUMBERS[k % len(NUMBERS)],
    lambda x, k: x / (NUMBERS[k % len(NUMBERS)] or 1),
    lambda x, k: fnp.sum(x, axis=k % x.ndim if x.ndim and k % 3 else None),
    lambda x, k: fnp.sum(x, axis=()),
    reshaped,
    lambda x, k: x.T,
    lambda x, k: fnp.broadcast_to(x, np.broadcast_shapes(x.shape, (2, 3)) if x.ndim < 3 else x.shape),
    lambda x, k: fnp.full_like(x, NUMBERS[k % len(NUMBERS)]),
    lambda x, k: lax.stop_gradient(x),
    lambda x, k: fnp.conj(fnp.conj(x)),
    lambda x, k: x.astype(DTYPES[k % 2]) if x.dtype.kind != "c" else x,
    lambda x, k: x**1,
    lambda x, k: x[..., : k % 3 + 1] if x.ndim else x,
    lambda x, k: fnp.logical_not(x),
]
BINARY = [
    lambda x, y, k: x + y,
    lambda x, y, k: x * y,
    lambda x, y, k: x - 1.0 * y,
    lambda x, y, k: x / y,
    lambda x, y, k: fnp.where(x.astype(bool), x, y),
    lambda x, y, k: fnp.where(y > 0 if y.dtype.kind != "c" else y == 1, x, 0),
    lambda x, y, k: fnp.where(x == y, 0, y) + fnp.where(x == y, x, 0),
    lambda x, y, k: fnp.logical_and(x, y),
    lambda x, y, k: fnp.logical_or(x, y == y),
    lambda x, y, k: fnp.dot(x, x.T if x.ndim == 2 else x),
    lambda x, y, k: fnp.tensordot(x, y, axes=0),
    lambda x, y, k: fnp.maximum(x, y) if "c" not in x.dtype.kind + y.dtype.kind else x,
]


@st.composite
def programs(draw, dtypes=DTYPES, numbers=SPECIAL):
    """(function of arrays, arrays): each step takes what is there already; those that do not fit are left out."""
    shapes = draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=3))
    values = draw(st.lists(st.sampled_from(numbers), min_size=6, max_size=6))
    args = []
    with np.errstate(all="ignore"):
        for i, shape in enumerate(shapes):
            entries = np.resize(np.roll(values, i), shape)
            args.append(np.array(entries).astype(draw(st.sampled_from(dtypes))).reshape(shape))
    index = st.integers(0, 20)
    steps = draw(
        st.lists(st.tuples(st.integers(0, len(UNARY) + len(BINARY) - 1), index, index, index), max_size=9)
    )

    def program(*args):
        made = list(args)
        for op, i, j, k in steps:
            x, y = made[i % len(made)], made[j % len(made)]
            try:
                z = UNARY[op](x, k) if op < len(UNARY) else BINARY[op - len(UNARY)](x, y, k)
            except (ValueError, TypeError):
                continue
            if np.size(z) <= 64 and np.ndim(z) <= 4:
                made.append(z if hasattr(z, "dtype") else fnp.asarray(z))
        return made[-3:]

    return program, args


def run(graph, args):
    with np.errstate(all="ignore"):
        return compile_graph(graph, True, quiet=True)(*args)


def bits(value):
    """Everything about a value but the sign and the payload of a NaN."""
    value = np.asarray(value)
    if value.dtype.kind in "fc":
        value = np.where(np.isnan(value), np.nan, value).astype(value.dtype)
    return value.dtype, value.shape, value.tobytes()


@given(programs())
@settings(max_examples=150)
def test_exact_passes_keep_every_bit(case):
    program, args = case
    with np.errstate(all="ignore"):
        graph = fx.make_graph(program)(*args)
    expected = [bits(v) for v in run(graph, args)]
    for name in EXACT:
        done = PASSES[name](graph).check()
        assert [v.aval for v in done.outputs] == [v.aval for v in graph.outputs], name
        assert [bits(v) for v in run(done, args)] == expected, (name, graph, done)


@given(programs(dtypes=["f8", "c16"], numbers=ORDINARY))
@settings(max_examples=100)
def test_passes_keep_values_and_derivatives(case):
    program, args = case
    graph = fx.make_graph(program)(*args)
    whole = optimize(graph)
    passes = {name: PASSES[name](graph) for name in PASSES} | {"all": whole}

    def values(graph):
        with np.errstate(all="ignore"):
            return [*map(np.asarray, graph(*args))]

    def derivatives(graph):
        with np.errstate(all="ignore"):
            _, tangents = fx.jvp(lambda *xs: graph(*xs), args, [np.ones_like(x) for x in args])
            ys, pull = fx.vjp(lambda *xs: graph(*xs), *args)
            cotangents = pull([tangents_like(y) for y in ys])
        return [*map(np.asarray, tangents), *map(np.asarray, cotangents)]

    def batches(graph):
        with np.errstate(all="ignore"):
            return fx.vmap(lambda *xs: graph(*xs))(*[np.stack([x, x + 0.5]) for x in args])

    expected = values(graph)
    for name, done in passes.items():
        assert [v.aval for v in done.outputs] == [v.aval for v in graph.outputs], name
        for a, b in zip(expected, values(done)):
            close(a, b, (name, graph, done))
        if name in ("fusion", "all", "marks") or done is graph:
            continue
        for question in (derivatives, batches):
            for a, b in zip(question(graph), question(done)):
                close(a, b, (name, question, graph, done))


def tangents_like(y):
    return np.ones_like(y) if np.asarray(y).dtype.kind in "fc" else np.zeros(np.shape(y), fx.float0)


def close(a, b, what):
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype == fx.float0:
        return
    with np.errstate(all="ignore"):
        finite = np.isfinite(a)
    np.testing.assert_allclose(b[finite], a[finite], rtol=1e-9, atol=1e-9, err_msg=str(what))


@pytest.mark.parametrize("size", [5, 64, 100])
def test_big_arrays_take_the_rules_for_big_arrays(size):
    rng = np.random.default_rng(size)
    t, w, a = rng.standard_normal((size, 128)), rng.standard_normal((128, 512)), rng.standard_normal(128)

    def f(t, w, a):
        u = fnp.where(a > 0, -(t * a), 0) + fnp.where(a > 0, 0, t / a)
        v = fnp.maximum(u @ w, 0)
        return fnp.mean(v * v) + fnp.sum((v @ w.T) / 7 @ a) + fnp.sum(-v)

    for transform in (lambda g: g, lambda g: fx.grad(g, argnums=(0, 1, 2)), fx.hessian):
        chosen = f if transform is not fx.hessian else lambda a: f(t[:5], w, a)
        args = (t, w, a) if transform is not fx.hessian else (a,)
        if transform is fx.hessian and size > 5:
            continue
        for expected, found in zip(
            fx.tree.leaves(transform(chosen)(*args)), fx.tree.leaves(fx.jit(transform(chosen))(*args))
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
