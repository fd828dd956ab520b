"""Every primitive against mathematics, generated from the registry: an operation cannot be added untested.

The operands are those of tests/samples.py. The derivative is measured, not derived: a central difference of step
h with one step of Richardson's extrapolation errs by h⁴·f⁽⁵⁾/30 from the formula and by ε·|f|/h from rounding,
about 1e-11 each for h = 2e-3 on these operands; the tolerance of 1e-7 leaves room for poorly scaled ones.
"""

import itertools
import zlib

import numpy as np
import pytest

from fxgrad import ops
from fxgrad.core.aval import Aval, aval_of, is_differentiable
from fxgrad.core.primitive import REGISTRY
from fxgrad.core.staging import stage
from fxgrad.kernels.source import compile_graph
from fxgrad.ops.kinds import Bilinear, Elementwise, General, Linear
from fxgrad.transforms.jvp import jvp
from fxgrad.transforms.vjp import linear_transpose, vjp
from fxgrad.transforms.vmap import vmap
from samples import SAMPLES

STEP = 2e-3
BATCH = 2

# Operations without a derivative, and why.
NO_DERIVATIVE = {
    **dict.fromkeys(
        ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "isnan", "isinf", "isfinite",
         "signbit", "logical_not", "logical_and", "logical_or", "logical_xor", "reduce_any", "reduce_all"],
        "the result is a truth value"),
    **dict.fromkeys(
        ["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "left_shift", "right_shift", "gcd", "lcm"],
        "defined on integers only"),
    **dict.fromkeys(["argmax", "argmin"], "the result is a position"),
    **dict.fromkeys(
        ["floor", "ceil", "trunc", "rint", "round", "sign", "heaviside", "floor_divide"], "steps: 0 between jumps"),
    "spacing": "the distance to the neighbouring number: steps",
    "nextafter": "moves by one spacing, a property of the representation",
    "full_like": "does not depend on the values",
    "stop_gradient": "by its very purpose",
}  # fmt: skip


def each(select=lambda sample: True):
    """Parametrize over the samples that are selected."""
    return pytest.mark.parametrize("sample", [s for s in SAMPLES if select(s)], ids=str)


def differentiable(sample):
    return bool(active(sample)) and sample.name not in NO_DERIVATIVE


def generator(sample):
    return np.random.default_rng(zlib.crc32(str(sample).encode()))


def drawn(sample):
    rng = generator(sample)
    return rng, sample.draw(rng)


def active(sample):
    """The positions of the operands that carry tangents."""
    return [i for i, (domain, _) in enumerate(sample.operands) if domain_dtype(sample, i).kind in "fc"]


def domain_dtype(sample, i):
    return drawn(sample)[1][i].dtype


def function_of(sample, operands):
    """(f, values): the primitive as a function of its active operands, the others fixed."""
    positions = active(sample)

    def f(*values):
        full = list(operands)
        for i, v in zip(positions, values):
            full[i] = v
        return sample.primitive.call(*full, **sample.params)

    return f, [operands[i] for i in positions]


def random_like(rng, *values):
    """Standard normal tangents (or cotangents) for values."""
    drawn = []
    for v in values:
        aval = aval_of(v)
        t = rng.normal(size=aval.shape)
        drawn.append(np.asarray(t + 1j * rng.normal(size=aval.shape) if aval.dtype.kind == "c" else t, aval.dtype))
    return drawn


def inner(a, b):
    """⟨a, b⟩ = Re Σ aᵢ·bᵢ, without conjugation: the pairing of tangents and cotangents."""
    return float(sum(np.sum(x * y).real for x, y in zip(a, b)))


def richardson(f, xs, ts):
    """The derivative of f at xs along ts, numerically."""

    def central(h):
        ahead, behind = ([x + s * h * t for x, t in zip(xs, ts)] for s in (1, -1))
        return (np.asarray(f(*ahead)) - np.asarray(f(*behind))) / (2 * h)

    return (4 * central(STEP / 2) - central(STEP)) / 3


def close(actual, expected, tolerance=1e-7):
    assert np.shape(actual) == np.shape(expected)
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def same(actual, expected):
    """Equal to the bit, in shape, dtype and kind."""
    assert aval_of(actual) == aval_of(expected)
    np.testing.assert_array_equal(actual, expected)


# -- the registry is covered -----------------------------------------------------------------------------------
def test_every_primitive_has_samples():
    assert {s.name for s in SAMPLES} == set(REGISTRY)


def test_the_operations_without_derivative_are_exactly_those_of_the_table():
    """An operation with a derivative in mathematics for which no rule is declared shows up here."""

    def varies(sample):
        rng, operands = drawn(sample)
        f, xs = function_of(sample, operands)
        return bool(xs) and np.any(jvp(f, xs, random_like(rng, *xs))[1].astype(complex) if False else tangent(f, xs, rng))

    def tangent(f, xs, rng):
        y, t = jvp(f, xs, random_like(rng, *xs))
        return t if is_differentiable(aval_of(y).dtype) else 0

    moving = {sample.name for sample in SAMPLES if varies(sample)}
    assert set(REGISTRY) - moving == set(NO_DERIVATIVE)


# -- values ----------------------------------------------------------------------------------------------------
@each(lambda s: s.reference is not None)
def test_value_equals_the_reference(sample):
    _, operands = drawn(sample)
    tolerance = 1e-6 if sample.params.get("dtype") == np.dtype("f4") else 1e-12
    close(sample.primitive.call(*operands, **sample.params), sample.reference(*operands), tolerance)


@each()
def test_staging_checks_and_equals_eager(sample):
    _, operands = drawn(sample)
    expected = sample.primitive.call(*operands, **sample.params)
    graph = stage(lambda *xs: [sample.primitive.call(*xs, **sample.params)], [aval_of(x) for x in operands]).check()
    same(graph(*operands)[0], expected)
    same(compile_graph(graph, plain=True)(*operands)[0], expected)
    same(compile_graph(graph, plain=False)(*operands)[0], expected)
    assert graph.out_avals == [aval_of(expected)]
    assert sample.name.removeprefix("reduce_") in repr(graph) or " = " in repr(graph)


def layouts(operands):
    """The operands read-only, with gaps in memory, and with negative strides."""

    def locked(x):
        x = x.copy()
        x.flags.writeable = False
        return x

    def spaced(x):
        wide = np.zeros((*x.shape, 2), x.dtype)
        wide[..., 0] = x
        return wide[..., 0]

    def reversed_(x):
        backwards = (slice(None, None, -1),) * x.ndim
        return np.array(x[backwards])[backwards]

    def transposed(x):
        return np.array(x, order="F")

    return [[layout(x) for x in operands] for layout in (locked, spaced, reversed_, transposed)]


@each()
def test_memory_layout_does_not_matter(sample):
    rng, operands = drawn(sample)
    expected = sample.primitive.call(*operands, **sample.params)
    f, xs = function_of(sample, operands)
    (ct,) = random_like(rng, expected)
    pulled = vjp(f, *xs)[1](ct) if differentiable(sample) else []
    for arranged in layouts(operands):
        close(sample.primitive.call(*arranged, **sample.params), expected, 1e-14)
        assert all(np.array_equal(a, b) for a, b in zip(arranged, operands))
        if differentiable(sample):
            f, xs = function_of(sample, arranged)
            for a, b in zip(vjp(f, *xs)[1](ct), pulled):
                close(a, b, 1e-13)


# -- first derivatives -----------------------------------------------------------------------------------------
@each(active)
def test_jvp_equals_the_numerical_derivative(sample):
    rng, operands = drawn(sample)
    f, xs = function_of(sample, operands)
    ts = random_like(rng, *xs)
    y, t = jvp(f, xs, ts)
    same(y, f(*xs))
    if not is_differentiable(aval_of(y).dtype):
        return
    assert aval_of(t) == aval_of(y)
    model = f if sample.model is None else lambda *values: sample.model(*values, **sample.params)
    tolerance = 1e-3 if aval_of(y).dtype == np.float32 else 1e-7
    close(t, richardson(model, xs, ts) if sample.name not in ("spacing", "nextafter") else np.zeros(y.shape), tolerance)


@each(differentiable)
def test_vjp_is_the_transpose_of_jvp(sample):
    rng, operands = drawn(sample)
    f, xs = function_of(sample, operands)
    ts = random_like(rng, *xs)
    y, pullback = vjp(f, *xs)
    if not is_differentiable(aval_of(y).dtype):
        return
    (ct,) = random_like(rng, y)
    _, t = jvp(f, xs, ts)
    pulled = pullback(ct)
    assert [aval_of(c) for c in pulled] == [aval_of(x) for x in xs]
    tolerance = 1e-5 if aval_of(y).dtype == np.float32 else 1e-10
    close(inner([ct], [t]), inner(pulled, ts), tolerance)
    for i, x in enumerate(xs):  # one operand at a time takes other compiled rules than all at once
        alone = vjp(lambda v, i=i: f(*xs[:i], v, *xs[i + 1 :]), x)[1](ct)[0]
        close(alone, pulled[i], 1e-13)


# -- second derivatives ----------------------------------------------------------------------------------------
@each(differentiable)
def test_second_order_in_every_mode(sample):
    rng, operands = drawn(sample)
    f, xs = function_of(sample, operands)
    if not is_differentiable(aval_of(f(*xs)).dtype) or sample.model is not None:
        return
    ts, us = random_like(rng, *xs), random_like(rng, *xs)
    (ct,) = random_like(rng, f(*xs))

    def forward(*values):
        return jvp(f, values, ts)[1]

    def reverse(*values):
        return vjp(f, *values)[1](ct)

    expected = inner([ct], [richardson(forward, xs, us)])
    modes = {
        "forward over forward": inner([ct], [jvp(forward, xs, us)[1]]),
        "reverse over forward": inner(vjp(forward, *xs)[1](ct), us),
        "forward over reverse": inner(jvp(reverse, xs, us)[1], ts),
        "reverse over reverse": inner(vjp(reverse, *xs)[1](tuple(ts)), us),
    }
    tolerance = 1e-2 if aval_of(ct).dtype == np.float32 else 1e-6
    for value in modes.values():
        close(value, expected, tolerance)


# -- vmap ------------------------------------------------------------------------------------------------------
def batches(sample, every=True):
    """(in_axes, operands with a batch axis there, the list of the operands of each entry)."""
    rng = generator(sample)
    draws = [sample.draw(rng) for _ in range(BATCH)]
    count = len(sample.operands)
    choices = itertools.product((None, 0, -1), repeat=count) if every and count <= 3 else [(0,) * count, (None,) * (count - 1) + (-1,)]
    for in_axes in choices:
        if any(a is not None for a in in_axes):
            columns = [d[0] if a is None else np.stack(d, a) for a, d in zip(in_axes, zip(*draws))]
            rows = [[draws[0][i] if a is None else draw[i] for i, a in enumerate(in_axes)] for draw in draws]
            yield in_axes, columns, rows


@each()
def test_vmap_equals_the_loop(sample):
    def call(*operands):
        return sample.primitive.call(*operands, **sample.params)

    for in_axes, operands, rows in batches(sample):
        expected = np.stack([call(*row) for row in rows])
        result = vmap(call, in_axes)(*operands)
        close(result, expected, 1e-13)
        assert aval_of(result).dtype == aval_of(expected).dtype
        rank = expected.ndim
        for out_axis in {-1, min(1, rank - 1)}:
            close(vmap(call, in_axes, out_axis)(*operands), np.moveaxis(expected, 0, out_axis), 1e-13)


@each(differentiable)
def test_vmap_of_derivatives_and_derivatives_of_vmap(sample):
    """vmap∘jvp, jvp∘vmap, vmap∘vjp and vjp∘vmap against the loop."""
    rng = generator(sample)
    positions = active(sample)
    for in_axes, operands, rows in batches(sample, every=len(sample.operands) <= 2):
        f, xs = function_of(sample, operands)
        fs = [function_of(sample, row) for row in rows]
        y = fs[0][0](*fs[0][1])
        if not is_differentiable(aval_of(y).dtype):
            return
        ts = random_like(rng, *xs)
        axes = [in_axes[i] for i in positions]
        rest_axes = tuple(None if i in positions else a for i, a in enumerate(in_axes))
        t_rows = [[t if a is None else np.moveaxis(t, a, 0)[k] for a, t in zip(axes, ts)] for k in range(BATCH)]
        cts = random_like(rng, np.stack([y] * BATCH))[0]
        expected_t = np.stack([jvp(g, x, t)[1] for (g, x), t in zip(fs, t_rows)])
        pulled = [vjp(g, *x)[1](ct) for (g, x), ct in zip(fs, cts)]

        def mapped(*values, in_axes=in_axes, operands=operands):
            full = list(operands)
            for i, v in zip(positions, values):
                full[i] = v
            return vmap(lambda *o: sample.primitive.call(*o, **sample.params), in_axes)(*full)

        close(jvp(mapped, xs, ts)[1], expected_t, 1e-12)
        for a, ct, row in zip(axes, vjp(mapped, *xs)[1](cts), zip(*pulled)):
            close(ct, sum(row) if a is None else np.stack(row, a), 1e-12)

        def one_jvp(full, tangents):
            g, x = function_of(sample, full)
            return jvp(g, x, tangents)[1]

        def one_vjp(full, ct):
            g, x = function_of(sample, full)
            return vjp(g, *x)[1](ct)

        assert rest_axes is not None
        t_axes = list(axes)
        close(vmap(one_jvp, (list(in_axes), t_axes))(operands, ts), expected_t, 1e-12)
        for ct, row in zip(vmap(one_vjp, (list(in_axes), 0))(operands, cts), zip(*pulled)):
            close(ct, np.stack(row), 1e-12)


@each()
def test_vmap_of_vmap_equals_two_loops(sample):
    rng = generator(sample)
    draws = [[sample.draw(rng) for _ in range(BATCH)] for _ in range(3)]
    stacked = [np.stack([np.stack(row) for row in rows]) for rows in (zip(*map(lambda r: zip(*r), draws)))]
    result = vmap(vmap(lambda *o: sample.primitive.call(*o, **sample.params)))(*stacked)
    expected = np.stack([np.stack([sample.primitive.call(*o, **sample.params) for o in row]) for row in draws])
    close(result, expected, 1e-13)
