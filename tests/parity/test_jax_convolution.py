"""Convolutions and reductions of windows against jax.lax: values, shapes, derivatives in both modes, batches."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import fxgrad as fx
from fxgrad import lax
from tests.parity.oracle import same

import jax  # isort: skip

jax.config.update("jax_enable_x64", True)
JAX = jax.lax
FEW = settings(
    max_examples=5, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)


@st.composite
def padding(draw, rank):
    pairs = st.tuples(st.integers(-1, 3), st.integers(-1, 3))
    return draw(
        st.one_of(
            st.sampled_from(["VALID", "SAME", "SAME_LOWER"]), st.lists(pairs, min_size=rank, max_size=rank)
        )
    )


def sizes(draw, rank, low, high):
    return tuple(draw(st.lists(st.integers(low, high), min_size=rank, max_size=rank)))


@st.composite
def convolutions(draw):
    """(shapes of images and kernels, arguments) of a convolution."""
    rank = draw(st.integers(0, 3))
    groups, batches = draw(st.sampled_from([(1, 1), (1, 1), (2, 1), (3, 1), (1, 2)]))
    n, c, f = draw(st.integers(1, 2)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    image, window = sizes(draw, rank, 1, 7 if rank < 3 else 4), sizes(draw, rank, 1, 3)
    x, w = (n * batches, c * groups, *image), (f * groups * batches, c, *window)
    arguments = {
        "window_strides": sizes(draw, rank, 1, 3),
        "padding": draw(padding(rank)),
        "lhs_dilation": draw(st.sampled_from([None, sizes(draw, rank, 1, 3)])),
        "rhs_dilation": draw(st.sampled_from([None, sizes(draw, rank, 1, 2)])),
        "feature_group_count": groups,
        "batch_group_count": batches,
    }
    if isinstance(arguments["padding"], str):
        arguments["lhs_dilation"] = None
    if draw(st.booleans()):
        letters = "HWD"[:rank]
        names, orders = ("NC" + letters, "OI" + letters, "NC" + letters), []
        for name in names:
            orders.append("".join(draw(st.permutations(name))))
        arguments["dimension_numbers"] = tuple(orders)
        order = [c for c in orders[1] if c in letters]  # numbers are in the order of the kernel's axes
        by_letter = dict(zip(order, zip(image, window)))
        x = tuple(dict(zip("NC", x)).get(c) or by_letter[c][0] for c in orders[0])
        w = tuple(dict(zip("OI", w)).get(c) or by_letter[c][1] for c in orders[1])
    return x, w, arguments


def numbers(shape, seed=0, dtype="float64"):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def accepted(program):
    """What JAX answers; where it refuses, the example is left out."""
    try:
        return program()
    except (ValueError, TypeError, NotImplementedError):
        assume(False)


def both_modes(grad, jvp, f, x, w):
    y = f(x, w)
    return y, *jvp(f, (x, w), (numbers(x.shape, 2), numbers(w.shape, 3))), *grad(f, x, w)


def pulled_by_fxgrad(f, x, w):
    y, pullback = fx.vjp(f, x, w)
    return pullback(numbers(y.shape, 4))


def pulled_by_jax(f, x, w):
    y, pullback = jax.vjp(f, x, w)
    return pullback(numbers(y.shape, 4))


@FEW
@given(convolutions())
def test_convolutions(case):
    shape_x, shape_w, arguments = case
    x, w = numbers(shape_x), numbers(shape_w, 1)
    f = lambda x, w: JAX.conv_general_dilated(x, w, **arguments)  # noqa: E731
    theirs = accepted(lambda: jax.jit(lambda x, w: both_modes(pulled_by_jax, jax.jvp, f, x, w))(x, w))
    ours = both_modes(
        pulled_by_fxgrad, fx.jvp, lambda x, w: lax.conv_general_dilated(x, w, **arguments), x, w
    )
    same(ours, theirs)


@FEW
@given(convolutions(), st.sampled_from([(0, None), (None, 0), (0, 0), (1, 2)]))
def test_batches_of_convolutions_and_of_their_derivatives(case, axes):
    shape_x, shape_w, arguments = case
    x, w = (
        numbers(s if a is None else (*s[:a], 3, *s[a:]), k)
        for k, (s, a) in enumerate(zip((shape_x, shape_w), axes))
    )

    def loss(library):
        return lambda x, w: (library.conv_general_dilated(x, w, **arguments) ** 2).sum()

    theirs = accepted(lambda: jax.jit(jax.vmap(jax.grad(loss(JAX), (0, 1)), axes))(x, w))
    same(fx.vmap(fx.grad(loss(lax), (0, 1)), axes)(x, w), theirs)
    same(fx.jit(fx.vmap(fx.grad(loss(lax), (0, 1)), axes))(x, w), theirs)


@pytest.mark.parametrize("dtype", ["complex128", "float32", "float16", "bfloat16", "int32"])
def test_dtypes_of_convolutions(dtype):
    if dtype == "int32":
        x, w = np.arange(24, dtype="i4").reshape(2, 3, 4), np.arange(18, dtype="i4").reshape(3, 3, 2)
    else:
        given = jax.numpy.dtype(dtype)
        x, w = (
            (v.astype(given) for v in (numbers((2, 3, 9), dtype="c16"), numbers((4, 3, 2), 1, "c16")))
            if dtype.startswith("complex")
            else (numbers((2, 3, 9)).astype(given), numbers((4, 3, 2), 1).astype(given))
        )
    run = lambda library: library.conv_general_dilated(x, w, (2,), "SAME")  # noqa: E731
    same(run(lax), run(JAX))


def test_the_preferred_dtype():
    x, w = numbers((1, 2, 5), dtype="f4"), numbers((2, 2, 3), 1, "f4")
    for name in ("float64", "float32"):
        same(
            lax.conv(x, w, (1,), "VALID", preferred_element_type=name),
            JAX.conv(x, w, (1,), "VALID", preferred_element_type=name),
        )


@FEW
@given(
    st.integers(1, 5),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 2),
    st.one_of(st.sampled_from(["SAME", "VALID"]), st.tuples(st.integers(0, 2), st.integers(0, 2))),
    st.booleans(),
    st.booleans(),
)
def test_transposed_convolutions(n, size, stride, dilation, pad, transpose_kernel, consistent):
    pad = pad if isinstance(pad, str) else [pad]
    x, w = numbers((2, n, 3)), numbers((size, 2, 3) if transpose_kernel else (size, 3, 2), 1)
    options = {"transpose_kernel": transpose_kernel, "use_consistent_padding": consistent}
    run = lambda library: library.conv_transpose(x, w, (stride,), pad, (dilation,), **options)  # noqa: E731
    theirs = accepted(lambda: run(JAX))
    same(run(lax), theirs)


@FEW
@given(convolutions())
def test_patches_and_local_kernels(case):
    shape, kernel, arguments = case
    names = arguments.get("dimension_numbers")
    assume(arguments["feature_group_count"] == arguments["batch_group_count"] == 1)
    x = numbers(shape)
    axes = lax.conv_dimension_numbers(shape, kernel, names)
    window = [kernel[i] for i in axes.rhs_spec[2:]]
    options = [arguments[k] for k in ("window_strides", "padding")]
    more = {k: arguments[k] for k in ("lhs_dilation", "rhs_dilation")}
    more["dimension_numbers"] = names
    theirs = accepted(lambda: JAX.conv_general_dilated_patches(x, window, *options, **more))
    ours = lax.conv_general_dilated_patches(x, window, *options, **more)
    same(ours, theirs)
    if names is None and ours.size:
        w = numbers((2, *ours.shape[1:]), 1)
        same(
            lax.conv_general_dilated_local(x, w, *options, window, **more),
            JAX.conv_general_dilated_local(x, w, *options, window, **more),
        )


@st.composite
def pools(draw):
    rank = draw(st.integers(1, 3))
    return (
        sizes(draw, rank, 1, 6),
        {
            "window_dimensions": sizes(draw, rank, 1, 3),
            "window_strides": draw(st.sampled_from([None, sizes(draw, rank, 1, 3)])),
            "padding": draw(
                st.sampled_from(
                    ["VALID", "SAME", "SAME_LOWER", [(draw(st.integers(0, 1)), 1) for _ in range(rank)]]
                )
            ),
            "base_dilation": draw(st.sampled_from([None, None, sizes(draw, rank, 1, 2)])),
            "window_dilation": draw(st.sampled_from([None, None, sizes(draw, rank, 1, 2)])),
        },
    )


START = {"add": [0.0, 0.5], "max": [-np.inf, 0.25], "min": [np.inf, -0.25], "mul": [1.0, 2.0]}


@FEW
@given(pools(), st.sampled_from([*START]), st.booleans())
def test_reductions_of_windows(case, name, neutral):
    shape, arguments = case
    x = np.random.default_rng(0).permutation(int(np.prod(shape))).reshape(shape) / 10.0 - 1
    start = START[name][not neutral]

    def run(library, x):
        return library.reduce_window(x, start, getattr(library, name), **arguments)

    theirs = accepted(lambda: jax.jit(lambda x: run(JAX, x))(x))
    same(run(lax, x), theirs)
    if not neutral:
        return
    y, pullback = fx.vjp(lambda x: run(lax, x), x)
    if name == "mul":  # which JAX does not differentiate
        return
    ct, t, batch = numbers(y.shape, 5), numbers(x.shape, 6), np.stack([x, -x])
    f = lambda x: run(JAX, x)  # noqa: E731
    theirs = accepted(
        lambda: jax.jit(lambda x: (jax.vjp(f, x)[1](ct), jax.jvp(f, (x,), (t,))[1], jax.vmap(f)(batch)))(x)
    )
    tangent = fx.jvp(lambda x: run(lax, x), (x,), (t,))[1]
    same((pullback(ct), tangent, fx.vmap(lambda x: run(lax, x))(batch)), theirs)


def test_windows_of_several_arrays_and_of_any_function():
    x, y = numbers((5, 4)), numbers((5, 4), 1)

    def run(np, lax):
        both = lax.reduce_window(
            (x, y), (0.0, -np.inf), lambda a, b: (a[0] + b[0], lax.max(a[1], b[1])), (2, 3), (1, 2), "VALID"
        )
        return both, lax.reduce_window(x, 0.0, np.hypot, (2, 2), (2, 2), "SAME")

    same(run(fx.numpy, lax), run(jax.numpy, JAX))


@pytest.mark.parametrize("dtype", ["int32", "bool", "float16", "complex128"])
def test_dtypes_of_windows(dtype):
    x = numbers((6, 5)) * 3
    x = (x > 0) if dtype == "bool" else x.astype(dtype)
    if dtype == "bool":
        runs = [lambda library: library.reduce_window(x, False, library.bitwise_or, (2, 2), (1, 1), "SAME")]
    else:
        zero = np.zeros((), dtype)[()]
        runs = [lambda library: library.reduce_window(x, zero, library.add, (2, 2), (2, 1), "SAME")]
        if dtype != "complex128":
            low = np.array(-np.inf if dtype == "float16" else np.iinfo(dtype).min, dtype)[()]
            runs.append(lambda library: library.reduce_window(x, low, library.max, (2, 2), (2, 1), "SAME"))
    for run in runs:
        same(run(lax), run(JAX))


def test_ties_and_nan():
    x = np.array([[1.0, 1.0, 1.0, np.nan], [0.0, 1.0, np.nan, 2.0]])
    f = lambda library: lambda x: library.reduce_window(x, -np.inf, library.max, (1, 2), (1, 1), "VALID")  # noqa: E731
    same(f(lax)(x), f(JAX)(x))
    ties = np.where(np.isnan(x), 1.0, x)
    same(
        fx.grad(lambda x: f(lax)(x).sum())(ties),
        jax.grad(lambda x: f(JAX)(x).sum())(ties),
    )
