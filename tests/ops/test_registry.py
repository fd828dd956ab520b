"""Every primitive against mathematics, generated from the registry: an operation cannot be added untested.

The operands are those of tests/samples.py. The derivative is measured, not derived, with an error of about 1e-11 on
these operands (see fxgrad.checking.finite_differences); the tolerance of 1e-7 leaves room for poorly scaled ones.
"""

import itertools
from functools import cache

import numpy as np
import pytest

import fxgrad.numpy as fnp
from fxgrad.core.aval import aval_of, is_differentiable
from fxgrad.core.errors import NotLinearError
from fxgrad.core.primitive import REGISTRY
from fxgrad.core.staging import stage
from fxgrad.kernels.codegen.source import compile_graph
from fxgrad.kernels.native import engine
from fxgrad.ops.kinds import Bilinear, Elementwise, Linear
from fxgrad.testing import inner, measured_jvp, random_like
from fxgrad.transforms.jvp import jvp
from fxgrad.transforms.vjp import linear_transpose, vjp
from fxgrad.transforms.vmap import vmap
from tests.sample import active, close, drawn, function_of
from tests.samples import SAMPLES
from tests.together import in_turn, together

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
    **dict.fromkeys(
        ["argmax", "argmin", "argsort", "searchsorted", "window_places"], "the result is a position"
    ),
    **dict.fromkeys(
        ["floor", "ceil", "trunc", "rint", "round", "sign", "heaviside", "floor_divide"], "steps: 0 between jumps"),
    "spacing": "the distance to the neighbouring number: steps",
    "nextafter": "moves by one spacing, a property of the representation",
    **dict.fromkeys(["full_like", "location"], "does not depend on the values"),
    **dict.fromkeys(["random_bits", "random_real", "fold_in", "multiply_high"], "random bits are a hash of the key"),
    **dict.fromkeys(["random_poisson", "random_binomial"], "the result is a count"),
    "bitcast": "reads the bits, not the number",
    "stop_gradient": "by its very purpose",
    "factorization": "what reads the factors has the derivative with respect to the matrix",
    "reflected_form": "LAPACK's own form; the Hessenberg form has it",
    **dict.fromkeys(["zero_pivot", "indefinite_minor", "row_order", "column_order"], "the result is a position"),
}  # fmt: skip

# Operations whose results are for other operations alone, and why they depend on the shape of a stack: what reads them
# is tested in tests/numpy/test_linalg_large.py.
OPAQUE = {"factorization": "small matrices in stacks are not factored but left to NumPy's solver"}

# Their derivatives need vectors, with which LAPACK computes the values in another way.
ROUNDED_OTHERWISE = ("eigvalsh", "svdvals")


def each(select=lambda sample: True):
    """Parametrize over the samples that are selected, those of a primitive in one test; `check.selects` tells them for
    other registries, and `check.__wrapped__` takes one."""

    def over_samples(check):
        check.selects = select
        chosen = pytest.mark.parametrize("sample", [s for s in SAMPLES if select(s)], ids=str)
        return together(sample=lambda s: s.name)(chosen(check))

    return over_samples


def differentiable(sample):
    return (sample.of is not None or sample.name not in NO_DERIVATIVE) and is_smooth(sample)


@cache
def is_smooth(sample):
    """Whether operands and result are of dtypes that carry tangents."""
    _, operands = drawn(sample)
    result = sample.call(*operands)
    return bool(active(sample)) and is_differentiable(aval_of(result).dtype)


def same(actual, expected):
    """Equal to the bit, in shape, dtype and kind."""
    assert aval_of(actual) == aval_of(expected)
    np.testing.assert_array_equal(actual, expected)


# -- the registry is covered --------------------------------------------------------------------------------
def test_every_primitive_has_samples():
    assert {s.name for s in SAMPLES if s.of is None} == set(REGISTRY)


def test_the_operations_without_derivative_are_exactly_those_of_the_table():
    """An operation with a derivative in mathematics for which no rule is declared shows up here."""

    def varies(sample):
        rng, operands = drawn(sample)
        f, xs = function_of(sample, operands)
        return np.any(jvp(f, xs, random_like(rng, *xs))[1])

    moving = {sample.name for sample in SAMPLES if is_smooth(sample) and varies(sample)}
    assert set(REGISTRY) - moving == set(NO_DERIVATIVE)


# -- values -------------------------------------------------------------------------------------------------
@each(lambda s: s.reference is not None)
def test_value_equals_the_reference(sample):
    _, operands = drawn(sample)
    tolerance = 1e-6 if sample.params.get("dtype") == np.dtype("f4") else 1e-12
    close(sample.call(*operands), sample.reference(*operands), tolerance)


@each()
def test_staging_checks_and_equals_eager(sample):
    _, operands = drawn(sample)
    graph = stage(lambda *xs: [sample.call(*xs)], [aval_of(x) for x in operands]).check()
    with pytest.MonkeyPatch.context() as patch:
        if engine.mode() == "auto":  # machine code, which may round otherwise, would take over from a call on
            patch.setattr(engine, "mode", lambda: "never")
        expected = sample.call(*operands)
        for f in (graph, compile_graph(graph, plain=True), compile_graph(graph, plain=False)):
            same(f(*operands)[0], expected)
    assert graph.out_avals == [aval_of(expected)]
    assert " = " in repr(graph)


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
    expected = sample.call(*operands)
    f, xs = function_of(sample, operands)
    (ct,) = random_like(rng, expected)
    pulled = vjp(f, *xs)[1](ct) if differentiable(sample) else []
    for arranged in layouts(operands):
        close(sample.call(*arranged), expected, 1e-14)
        assert all(np.array_equal(a, b) for a, b in zip(arranged, operands))
        if differentiable(sample):
            f, xs = function_of(sample, arranged)
            for a, b in zip(vjp(f, *xs)[1](ct), pulled):
                close(a, b, 1e-13)


# -- first derivatives --------------------------------------------------------------------------------------
@each(is_smooth)
def test_jvp_equals_the_numerical_derivative(sample):
    rng, operands = drawn(sample)
    f, xs = function_of(sample, operands)
    ts = random_like(rng, *xs)
    y, t = jvp(f, xs, ts)
    if sample.name in ROUNDED_OTHERWISE:
        close(y, f(*xs), 1e-13)
    else:
        same(y, f(*xs))
    assert (t.shape, t.dtype) == (aval_of(y).shape, aval_of(y).dtype)
    model = f if sample.model is None else lambda *values: sample.model(*values, **sample.params)
    tolerance = 1e-3 if aval_of(y).dtype == np.float32 else 1e-7
    close(
        t,
        measured_jvp(model, xs, ts) if sample.name not in ("spacing", "nextafter") else np.zeros(y.shape),
        tolerance,
    )


@each(differentiable)
def test_vjp_is_the_transpose_of_jvp(sample):
    rng, operands = drawn(sample)
    f, xs = function_of(sample, operands)
    ts = random_like(rng, *xs)
    y, pullback = vjp(f, *xs)
    (ct,) = random_like(rng, y)
    _, t = jvp(f, xs, ts)
    pulled = pullback(ct)
    assert [aval_of(c) for c in pulled] == [aval_of(x) for x in xs]
    tolerance = 1e-5 if aval_of(y).dtype == np.float32 else 1e-10
    close(inner([ct], [t]), inner(pulled, ts), tolerance)
    for i, x in enumerate(xs):  # one operand at a time takes other compiled rules than all at once
        alone = vjp(lambda v, i=i: f(*xs[:i], v, *xs[i + 1 :]), x)[1](ct)[0]
        close(alone, pulled[i], 1e-13)


@each(differentiable)
def test_a_masked_cotangent_is_one_with_zeros(sample):
    """What a rule says of the support leaves out no entry whose cotangent is another number than 0. The product by 1
    asks for the support: its rule could make NaN of zeros."""
    rng, operands = drawn(sample)
    f, xs = function_of(sample, operands)
    y, pullback = vjp(f, *xs)
    (ct,) = random_like(rng, y)
    for mask in (np.ones(ct.shape, bool), rng.random(ct.shape) < 0.6):
        masked = vjp(lambda *values, mask=mask: fnp.where(mask, f(*[1 * v for v in values]), 0), *xs)[1](ct)
        for a, b in zip(masked, pullback(np.where(mask, ct, 0).astype(ct.dtype))):
            close(a, b, 1e-12)


# -- second derivatives -------------------------------------------------------------------------------------
@each(lambda s: differentiable(s) and s.model is None)
def test_second_order_in_every_mode(sample):
    rng, operands = drawn(sample)
    f, xs = function_of(sample, operands)
    ts, us = random_like(rng, *xs), random_like(rng, *xs)
    (ct,) = random_like(rng, f(*xs))

    def forward(*values):
        return jvp(f, values, ts)[1]

    def reverse(*values):
        return vjp(f, *values)[1](ct)

    expected = inner([ct], [measured_jvp(forward, xs, us)])
    modes = {
        "forward over forward": inner([ct], [jvp(forward, xs, us)[1]]),
        "reverse over forward": inner(vjp(forward, *xs)[1](ct), us),
        "forward over reverse": inner(jvp(reverse, xs, us)[1], ts),
        "reverse over reverse": inner(vjp(reverse, *xs)[1](tuple(ts)), us),
    }
    tolerance = 1e-2 if aval_of(ct).dtype == np.float32 else 1e-6
    for value in modes.values():
        close(value, expected, tolerance)


# -- vmap ---------------------------------------------------------------------------------------------------
def batches(sample, n=1):
    """(in_axes, operands with a batch axis there, the list of the operands of each entry): all operands mapped, the
    last one, and in turn one in n of the other choices."""
    rng, first = drawn(sample)
    draws = [first] + [sample.draw(rng) for _ in range(BATCH - 1)]
    count = len(sample.operands)
    few = [(0,) * count, (None,) * (count - 1) + (-1,)]
    others = [axes for axes in itertools.product((None, 0, -1), repeat=count) if {*axes} != {None}]
    for in_axes in dict.fromkeys([*few, *in_turn(others, n)]):
        columns = [d[0] if a is None else np.stack(d, a) for a, d in zip(in_axes, zip(*draws))]
        rows = [[draws[0][i] if a is None else draw[i] for i, a in enumerate(in_axes)] for draw in draws]
        yield in_axes, columns, rows


@each(lambda s: s.name not in OPAQUE)
def test_vmap_equals_the_loop(sample):
    def call(*operands):
        return sample.call(*operands)

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
    """vmap∘jvp, jvp∘vmap, vmap∘vjp and vjp∘vmap against the loop. The test above batches every choice of axes; here
    one is added to the first two, another one in each run."""
    rng = np.random.default_rng(0)
    positions = active(sample)
    for in_axes, operands, rows in batches(sample, n=3 ** len(sample.operands) - 1):
        xs = [operands[i] for i in positions]
        fs = [function_of(sample, row) for row in rows]
        y = fs[0][0](*fs[0][1])
        ts = random_like(rng, *xs)
        axes = [in_axes[i] for i in positions]
        t_rows = [
            [t if a is None else np.moveaxis(t, a, 0)[k] for a, t in zip(axes, ts)] for k in range(BATCH)
        ]
        cts = random_like(rng, np.stack([y] * BATCH))[0]
        expected_t = np.stack([jvp(g, x, t)[1] for (g, x), t in zip(fs, t_rows)])
        pulled = [vjp(g, *x)[1](ct) for (g, x), ct in zip(fs, cts)]

        def mapped(*values, in_axes=in_axes, operands=operands):
            full = list(operands)
            for i, v in zip(positions, values):
                full[i] = v
            return vmap(lambda *o: sample.call(*o), in_axes)(*full)

        close(jvp(mapped, xs, ts)[1], expected_t, 1e-12)
        for a, ct, row in zip(axes, vjp(mapped, *xs)[1](cts), zip(*pulled)):
            close(ct, sum(row) if a is None else np.stack(row, a), 1e-12)

        def one_jvp(full, tangents):
            g, x = function_of(sample, full)
            return jvp(g, x, tangents)[1]

        def one_vjp(full, ct):
            g, x = function_of(sample, full)
            return vjp(g, *x)[1](ct)

        close(vmap(one_jvp, (list(in_axes), axes))(operands, ts), expected_t, 1e-12)
        for ct, row in zip(vmap(one_vjp, (list(in_axes), 0))(operands, cts), zip(*pulled)):
            close(ct, np.stack(row), 1e-12)


@each(lambda s: s.name not in OPAQUE)
def test_vmap_of_vmap_equals_two_loops(sample):
    def call(*operands):
        return sample.call(*operands)

    rng, _ = drawn(sample)
    draws = [[sample.draw(rng) for _ in range(BATCH)] for _ in range(3)]
    columns = [
        np.stack([np.stack([draw[i] for draw in row]) for row in draws]) for i in range(len(sample.operands))
    ]
    close(
        vmap(vmap(call))(*columns),
        np.stack([np.stack([call(*draw) for draw in row]) for row in draws]),
        1e-13,
    )


# -- transposes ---------------------------------------------------------------------------------------------
def linear_choices(primitive, count):
    """The sets of operands in which the primitive is linear."""
    if isinstance(primitive, Elementwise):
        return [tuple(sorted(primitive.linear))] if primitive.jointly else [(i,) for i in primitive.linear]
    if isinstance(primitive, Linear):
        return [tuple(range(primitive.count or count))]
    if isinstance(primitive, Bilinear):
        return [(0,), (1,)]
    return [(1,)] if primitive.name == "recurrence" else []


@each(lambda s: is_smooth(s) and linear_choices(s.primitive, len(s.operands)))
def test_linear_transpose_is_the_vjp(sample):
    rng, operands = drawn(sample)
    (ct,) = random_like(rng, sample.call(*operands))
    for choice in linear_choices(sample.primitive, len(sample.operands)):
        if not choice or not set(choice) <= set(active(sample)):
            continue

        def f(*values, choice=choice):
            full = list(operands)
            for i, v in zip(choice, values):
                full[i] = v
            return sample.call(*full)

        xs = [operands[i] for i in choice]
        for actual, expected in zip(linear_transpose(f, *xs)(ct), vjp(f, *xs)[1](ct)):
            assert aval_of(actual) == aval_of(expected)
            close(actual, expected, 1e-13)


@together("dtype")
@pytest.mark.parametrize("dtype", [np.int64, np.int8])
@each(lambda s: is_smooth(s) and linear_choices(s.primitive, len(s.operands)))
def test_linear_transpose_of_integers_is_that_of_numbers(sample, dtype):
    """Of the same whole numbers, in the integer dtype, where the operation is one from integers to such."""
    rng, operands = drawn(sample)
    if any(aval_of(x).dtype.kind == "c" for x in operands):
        return
    floating = active(sample)
    operands = [np.rint(x).astype(dtype) if i in floating else x for i, x in enumerate(operands)]
    for choice in linear_choices(sample.primitive, len(sample.operands)):

        def f(*values, choice=choice):
            kind = float if aval_of(values[0]).dtype.kind == "f" else dtype
            full = [x.astype(kind) if i in floating else x for i, x in enumerate(operands)]
            for i, v in zip(choice, values):
                full[i] = v
            return sample.call(*full)

        xs = [operands[i] for i in choice]
        with np.errstate(all="ignore"):
            try:
                result = aval_of(f(*xs)) if xs else None
            except TypeError:  # of floating-point numbers only
                result = None
        if result is None or result.dtype.kind != "i":
            continue
        ct = rng.integers(-2, 3, result.shape).astype(result.dtype)
        expected = linear_transpose(f, *[x.astype(float) for x in xs])(ct.astype(float))
        for x, actual, number in zip(xs, linear_transpose(f, *xs)(ct), expected):
            same(actual, np.asarray(number).astype(x.dtype)[()])


def test_what_is_not_linear_has_no_transpose():
    for name in ("sin", "power", "maximum", "reduce_max", "cumprod", "norm2"):
        primitive = REGISTRY[name]
        sample = next(s for s in SAMPLES if s.name == name)
        f, xs = function_of(sample, drawn(sample)[1])
        with pytest.raises(NotLinearError, match=name):
            linear_transpose(f, *xs)(primitive.call(*xs, **sample.params))
