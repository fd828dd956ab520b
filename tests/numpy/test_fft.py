"""fxgrad.numpy.fft: NumPy's values, dtypes and errors, plain and traced; transposes that are adjoint; every nesting."""

import inspect

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import fxgrad as fx
import fxgrad.numpy as fnp
from tests.ways import same

ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
TWO = ["fft2", "ifft2", "rfft2", "irfft2"]
SEVERAL = ["fftn", "ifftn", "rfftn", "irfftn"]
REAL_ONLY = {"rfft", "ihfft", "rfft2", "rfftn"}
NORMS = [None, "backward", "ortho", "forward"]
TOLERANCE = {"float32": 1e-5, "complex64": 1e-5}


def normal(shape, dtype, seed=0):
    """Standard normal entries of any inexact dtype."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    return np.asarray(z if np.dtype(dtype).kind == "c" else z.real).astype(dtype)


def inner(a, b):
    """Re Σ aᵢ·bᵢ, the pairing of tangents and cotangents, without conjugation."""
    return float(np.sum(np.asarray(a, complex) * b).real)


@st.composite
def transforms(draw):
    """(name, options, operand) for any function, shape, size, axes, normalization and dtype that NumPy takes."""
    name = draw(st.sampled_from(ONE + TWO + SEVERAL))
    rank = draw(st.integers(1 + (name in TWO), 3))
    shape = draw(st.lists(st.integers(2, 5), min_size=rank, max_size=rank))
    options = {"norm": draw(st.sampled_from(NORMS))}
    sizes = st.integers(1, 7)
    if name in ONE:
        options["axis"] = draw(st.integers(-rank, rank - 1))
        if draw(st.booleans()):
            options["n"] = draw(sizes)
    else:
        count = 2 if name in TWO else draw(st.integers(1, rank))
        axes = draw(st.permutations(range(-rank, 0)))[:count]
        options["axes"] = draw(st.sampled_from([axes, tuple(i % rank for i in axes)]))
        if draw(st.booleans()):
            options["s"] = draw(
                st.lists(st.sampled_from([-1, 1, 2, 3, 6, 7]), min_size=count, max_size=count)
            )
    dtypes = ["float32", "float64"] + ["complex64", "complex128"] * (name not in REAL_ONLY)
    return name, options, normal(shape, draw(st.sampled_from(dtypes)))


@given(transforms())
@settings(max_examples=120, deadline=None)
def test_traced_transforms_are_numpys(case):
    """Value and dtype; the tangent is the transform of the tangent, the pullback its adjoint."""
    name, options, x = case
    expected = getattr(np.fft, name)(x, **options)
    tolerance = TOLERANCE.get(x.dtype.name, 1e-12)
    for namespace in (fnp, np):

        def f(x, namespace=namespace):
            return getattr(namespace.fft, name)(x, **options)

        same(f(x), expected)
        same(fx.jit(f)(x), expected, tolerance)
        t = normal(x.shape, x.dtype, 1)
        value, tangent = fx.jvp(f, (x,), (t,))
        same(value, expected, tolerance)
        same(tangent, getattr(np.fft, name)(t, **options), tolerance)
        ct = normal(expected.shape, expected.dtype, 2)
        (pulled,) = fx.vjp(f, x)[1](ct)
        assert (pulled.shape, pulled.dtype) == (x.shape, x.dtype)
        size = np.linalg.norm(tangent) * np.linalg.norm(ct)
        assert abs(inner(tangent, ct) - inner(t, pulled)) <= tolerance * size
        # The transpose is linear itself, and its own transpose is the transform.
        again = fx.jvp(lambda ct: fx.vjp(f, x)[1](ct)[0], (ct,), (ct,))[1]
        same(again, pulled, tolerance)
        (back,) = fx.vjp(lambda ct: fx.vjp(f, x)[1](ct)[0], ct)[1](t)
        same(back, tangent, tolerance)


@given(transforms(), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_every_axis_can_be_mapped(case, axis):
    name, options, x = case
    axis %= x.ndim + 1
    xs = np.stack([x, normal(x.shape, x.dtype, 3)], axis)
    tolerance = TOLERANCE.get(x.dtype.name, 1e-12)

    def f(x):
        return getattr(fnp.fft, name)(x, **options)

    rows = [f(row) for row in np.moveaxis(xs, axis, 0)]
    same(fx.vmap(f, axis)(xs), np.stack(rows), tolerance)
    cts = normal(np.shape(rows), rows[0].dtype, 4)
    pulled = fx.vmap(lambda x, ct: fx.vjp(f, x)[1](ct)[0], (axis, 0))(xs, cts)
    same(
        pulled,
        np.stack([fx.vjp(f, row)[1](ct)[0] for row, ct in zip(np.moveaxis(xs, axis, 0), cts)]),
        tolerance,
    )


@pytest.mark.parametrize("axes", [None, 0, -1, (0, 2), (1, 1)], ids=str)
@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_shifts(name, axes):
    x, t = normal((3, 4, 5), float), normal((3, 4, 5), float, 1)
    expected = getattr(np.fft, name)(t, axes)
    for namespace in (np, fnp):
        function = getattr(namespace.fft, name)
        same(fx.jvp(lambda x, f=function: f(x, axes), (x,), (t,))[1], expected)
        inverse = getattr(np.fft, {"fftshift": "ifftshift", "ifftshift": "fftshift"}[name])
        same(fx.vjp(lambda x, f=function: f(x, axes), x)[1](t)[0], inverse(t, axes))


@pytest.mark.parametrize("n", [1, 4, 5])
def test_frequencies_of_a_traced_spacing(n):
    for name in ("fftfreq", "rfftfreq"):
        for namespace in (np, fnp):
            function = getattr(namespace.fft, name)
            y, t = fx.jvp(lambda d, f=function: f(n, d), (0.5,), (1.0,))
            same(y, function(n, 0.5))
            same(t, -function(n, 0.5) / 0.5)


def test_parsevals_theorem_gives_the_second_derivative():
    """Σ|F x|² = n·Σx², of which the Hessian is 2n."""

    def power(x):
        return fnp.sum(fnp.abs(fnp.fft.fft(x)) ** 2)

    x = normal((4,), float)
    same(fx.hessian(power)(x), 8 * np.eye(4))
    same(fx.jacfwd(fx.jacfwd(power))(x), 8 * np.eye(4))
    same(fx.jit(fx.hessian(power))(x), 8 * np.eye(4))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_spectral_derivative_is_differentiated_as_a_whole(dtype):
    """½∫u′² with u′ by the spectrum of a periodic function has the gradient −u″."""
    grid = np.linspace(0, 2 * np.pi, 9)[:-1].astype(dtype)
    k = 1j * np.array([0, 1, 2, 3, 0], dtype)  # the highest frequency has no derivative on this grid

    def energy(u):
        return fnp.sum(fnp.fft.irfft(k * fnp.fft.rfft(u), 8) ** 2) / 2

    u = np.sin(grid) + np.cos(2 * grid)
    same(fx.grad(energy)(u), np.sin(grid) + 4 * np.cos(2 * grid), TOLERANCE.get(dtype, 1e-12))


def test_imaginary_parts_that_have_no_effect_have_no_derivative():
    for n in (1, 2, 5, 6):
        z = normal((n // 2 + 1,), complex)
        for row in np.eye(n):
            (g,) = fx.vjp(lambda z, n=n: fnp.fft.irfft(z, n), z)[1](row)
            assert g[0].imag == 0
            assert n % 2 or g[-1].imag == 0


def test_a_mask_does_not_leak_through_a_transform():
    """Masked cotangents end here: what is not selected afterwards is zero, not NaN."""

    def loss(x):
        return fnp.fft.fft(fnp.where(x > 0, fnp.sqrt(x), 0.0)).real[1:3].sum()

    gradient = fx.grad(loss)(np.array([1.0, 0.0, 4.0]))
    assert np.isfinite(gradient).all() and gradient[1] == 0


def test_empty_axes_beside_the_transformed_one():
    x = np.zeros((0, 3))
    assert fx.vjp(fnp.fft.rfft, x)[1](np.zeros((0, 2), complex))[0].shape == (0, 3)
    assert fx.jit(lambda x: fnp.fft.fftn(x, axes=()))(x).dtype == float


ERRORS = {
    "no points": lambda f, x: f.fft(x[:0]),
    "size 0": lambda f, x: f.rfft(x, 0),
    "negative size": lambda f, x: f.fft(x, -2),
    "size is no integer": lambda f, x: f.fft(x, 2.0),
    "half a spectrum of one entry": lambda f, x: f.irfft(x[:1]),
    "axis": lambda f, x: f.fft(x, axis=1),
    "axes": lambda f, x: f.fftn(x, axes=(0, 3)),
    "two axes": lambda f, x: f.fft2(x),
    "no axes": lambda f, x: f.rfftn(x, axes=()),
    "no axes back": lambda f, x: f.irfftn(x, axes=()),
    "lengths": lambda f, x: f.fftn(x, s=(2, 2), axes=(0,)),
    "norm": lambda f, x: f.fft(x, norm="unitary"),
    "norm of hfft": lambda f, x: f.hfft(x, norm="unitary"),
    "scalar": lambda f, x: f.fft(x[0]),
    "complex": lambda f, x: f.rfft(x + 1j),
    "complex, several": lambda f, x: f.rfftn(x + 1j),
}


@pytest.mark.parametrize("call", ERRORS.values(), ids=ERRORS)
def test_errors_are_numpys(call):
    x = np.ones(4)
    with pytest.raises((ValueError, TypeError, IndexError)) as theirs:
        call(np.fft, x)
    for way in (lambda f: fx.vjp(f, x), lambda f: fx.jit(f)(x), lambda f: fx.vmap(f)(x[None])):
        with pytest.raises(theirs.type) as ours:
            way(lambda x: call(fnp.fft, x))
        assert isinstance(ours.value, fx.FxgradError)


def test_an_axis_is_not_given_two_sizes():
    with pytest.raises(fx.UnsupportedError, match="twice"):
        fx.jit(lambda x: fnp.fft.fftn(x, s=(2, 3), axes=(0, 0)))(np.ones(4))
    same(fx.jit(lambda x: fnp.fft.fftn(x, axes=(0, 0)))(np.ones(4)), np.fft.fftn(np.ones(4), axes=(0, 0)))


def test_other_arguments():
    x = np.ones((2, 4))
    y = np.empty((2, 4), complex)
    assert fnp.fft.fft(x, out=y) is y
    same(y, np.fft.fft(x))
    same(fnp.fft.fft([1, 2, 3]), np.fft.fft([1, 2, 3]))


@pytest.mark.parametrize("name", fnp.fft.__all__)
def test_names_and_signatures_are_numpys(name):
    assert name in np.fft.__all__
    ours, theirs = (inspect.signature(getattr(m.fft, name)).parameters for m in (fnp, np))
    known = [p for p in ours.values() if p.name in theirs or "freq" not in name]  # which have a dtype as well
    assert [(p.name, p.default) for p in known] == [(p.name, p.default) for p in theirs.values()]


def test_the_namespace_is_complete():
    assert set(fnp.fft.__all__) == set(np.fft.__all__)


def test_frequencies_have_a_dtype_and_a_device():
    for f, plain in ((fnp.fft.fftfreq, np.fft.fftfreq), (fnp.fft.rfftfreq, np.fft.rfftfreq)):
        assert f(5, 0.1, dtype=np.float32, device="cpu").dtype == np.float32
        np.testing.assert_array_equal(f(5, 0.1), plain(5, 0.1))
        with pytest.raises(ValueError, match=r"[Dd]evice"):
            f(5, device="gpu")
