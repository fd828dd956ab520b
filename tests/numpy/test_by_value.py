"""What the tables of numpy/test_namespace.py leave of NumPy's functions: results whose shape or dtype depends on
values, functions that ask for values, special functions, updated copies, printing."""

import numpy as np
import pytest
from scipy import special

import fxgrad as fx
import fxgrad.numpy as fnp
from tests.versions import with_new_numpy
from tests.ways import agree, same

RNG = np.random.default_rng(5)
X = RNG.uniform(0.5, 2.0, (3, 4))
V = np.array([1.5, -0.5, 2.0, 0.25])


def seen(function, x):
    """What a function gives for a traced value whose numbers are known, as plain arrays."""
    kept = []

    def noted(x):
        result = function(x)
        parts = result if isinstance(result, tuple) else (result,)
        kept.append([np.asarray(p.tolist() if isinstance(p, fx.Tracer) else p) for p in parts])
        return fnp.sum(x * 0)

    fx.vjp(noted, x)
    return kept[0] if len(kept[0]) > 1 else kept[0][0]


# -- polynomials ------------------------------------------
def test_leading_zeros_of_traced_polynomials_are_kept():
    zero = np.array([0.0, 1.0, 2.0])
    assert np.polymul(zero, zero).shape == (3,)
    same(fx.jit(fnp.polymul)(zero, zero), np.array([0.0, 0.0, 1.0, 4.0, 4.0]))
    u, v = np.array([1.0, 3.0, 2.0]), np.array([1.0, 1.0])
    assert [a.shape for a in np.polydiv(u, v)] == [(2,), (1,)]
    quotient, remainder = fx.jit(fnp.polydiv)(np.append(u, 5.0), np.append(v, 0.0))
    same(quotient, np.array([1.0, 2.0]))
    same(remainder, np.array([0.0, 5.0]))


@pytest.mark.parametrize("m, n", [(5, 3), (3, 3), (2, 4), (4, 1)])
def test_the_quotient_and_the_remainder_give_the_dividend(m, n):
    u, v = RNG.normal(size=m), RNG.uniform(1, 2, n)

    def dividend(u, v):
        quotient, remainder = fnp.polydiv(u, v)
        return fnp.polyadd(fnp.polymul(quotient, v), remainder)

    assert dividend(u, v).shape == (m,) if m >= n else True
    same(fx.jit(dividend)(u, v)[-m:], u, 1e-12)
    by_u, by_v = fx.jacobian(dividend, argnums=(0, 1))(u, v)
    same(by_u[-m:], np.eye(m), 1e-10)
    np.testing.assert_allclose(by_v, 0, atol=1e-9)


def test_zeros_of_polynomials():
    zeros = np.array([3.0, 1.0, -2.0])
    p = np.poly(zeros)
    same(np.sort(seen(fnp.roots, p).real), np.sort(zeros), 1e-10)
    assert seen(fnp.roots, np.array([0.0, 2.0, 1.0, 0.0])).shape == np.roots([0, 2.0, 1.0, 0]).shape
    assert seen(fnp.roots, np.zeros(3)).shape == (0,)
    # dz = −p(z; dp)/p′(z): the implicit function theorem.
    slopes = -np.vander(zeros, 4) / np.polyval(np.polyder(p), zeros)[:, None]
    order = np.argsort(np.roots(p))[::-1]
    same(np.real(fx.jacfwd(fnp.roots)(p)[order]), slopes, 1e-9)
    round_trip = fx.jacobian(lambda zeros: fnp.real(fnp.roots(fnp.poly(zeros))))(zeros)
    same(np.abs(round_trip).sum(axis=0), np.ones(3), 1e-8)


def test_the_characteristic_polynomial():
    a = RNG.normal(size=(3, 3)) + np.diag([3.0, 0.0, -3.0])
    same(seen(lambda a: fnp.real(fnp.poly(a)), a), np.poly(a), 1e-10)
    gradient = fx.grad(lambda a: fnp.real(fnp.poly(a)[1]))(a)  # minus the trace
    same(gradient, -np.eye(3), 1e-9)


def test_complex_zeros_give_complex_coefficients():
    z = np.array([1j, -1j])
    assert np.poly(z).dtype == np.float64
    same(fx.vjp(fnp.poly, z)[0], np.array([1.0, 0, 1.0]) + 0j)
    assert fx.vjp(lambda x: fnp.asarray(fnp.poly(x)), np.zeros(0))[0] == 1.0


FITS = {
    "line": (lambda x, y: fnp.polyfit(x, y, 1), 1),
    "several": (lambda x, y: fnp.polyfit(x, fnp.stack([y, y**2], 1), 2), 1),
    "weights": (lambda x, y: fnp.polyfit(x, y, 2, w=1 + x**2), 1),
    "covariance": (lambda x, y: fnp.polyfit(x, y, 1, cov=True), 1),
    "unscaled": (lambda x, y: fnp.polyfit(x, y, 1, cov="unscaled", w=x), 1),
    "several with covariance": (lambda x, y: fnp.polyfit(x, fnp.stack([y, y**2], 1), 1, cov=True), 1),
}


@pytest.mark.parametrize("fit", [f for f, _ in FITS.values()], ids=list(FITS))
def test_fits(fit):
    x = np.array([0.3, 0.9, 1.4, 2.2, 3.1])
    y = np.array([1.0, 0.4, 2.5, 2.0, 4.0])
    agree(lambda x, y: fit(x, y), x, y)


def test_what_a_full_fit_gives():
    x, y = np.arange(5.0), np.array([1.0, 0.4, 2.5, 2.0, 4.0])
    expected = np.polyfit(x, y, 1, full=True)
    same(fx.vjp(lambda y: fnp.polyfit(x, y, 1, full=True)[0], y)[0], expected[0], 1e-12)
    for degree, count, weights in [(-1, 5, None), (1, 3, None), (1, 5, x[:2])]:
        with pytest.raises((TypeError, ValueError)) as error:
            fx.jit(lambda y, d=degree, n=count, w=weights: fnp.polyfit(x, y[:n], d, w=w))(y)
        assert isinstance(error.value, fx.FxgradError)


# -- known values ------------------------------------------
@pytest.mark.parametrize("trim", ["fb", "f", "b"])
@pytest.mark.parametrize("x", [np.array([0.0, 0, 1, 0, 2, 0]), np.zeros(3), np.ones(2), np.zeros(0)])
def test_trimming(x, trim):
    same(seen(lambda x: fnp.trim_zeros(x, trim), x), np.trim_zeros(x, trim))


@with_new_numpy
def test_trimming_of_several_axes():
    x = np.zeros((4, 5))
    x[1:3, 2:4] = [[0, 1], [2, 0]]
    for axis in (None, 0, 1, -1):
        same(seen(lambda x, axis=axis: fnp.trim_zeros(x, axis=axis), x), np.trim_zeros(x, axis=axis))
    same(fx.grad(lambda x: fnp.trim_zeros(x).sum())(np.array([0.0, 3.0])), np.array([0.0, 1.0]))
    with pytest.raises(fx.ConcretizationError):
        fx.jit(fnp.trim_zeros)(np.ones(3))


def test_positions():
    """Traced ones, by jit and vmap."""
    flat, shape = np.array([0, 7, 23, 4]), (2, 3, 4)
    for order in ("C", "F"):
        places = np.unravel_index(flat, shape, order)
        same(fx.jit(lambda i, o=order: fnp.unravel_index(i, shape, o))(flat), places)
        same(fx.vmap(lambda *p, o=order: fnp.ravel_multi_index(p, shape, order=o))(*places), flat)
    outside = (np.array([-1, 5]), np.array([4, 1]), np.array([9, -2]))
    for mode in ("wrap", "clip", ("wrap", "clip", "clip")):
        expected = np.ravel_multi_index(outside, shape, mode)
        same(fx.jit(lambda *p, m=mode: np.ravel_multi_index(p, shape, m))(*outside), expected)
    same(fx.jit(fnp.unravel_index, static_argnums=1)(5, 7), (np.int64(5),))
    rows, columns = np.array([2, 0]), np.array([True, False, True, True])
    same(fx.jit(lambda i: np.ix_(i, columns))(rows), np.ix_(rows, columns))
    same(fx.jit(lambda x, i: x[fnp.ix_(i, i)])(X, rows), X[np.ix_(rows, rows)])
    with pytest.raises(ValueError, match="expected one axis"):
        fx.jit(fnp.ix_)(X.astype(int))


def test_functions_on_parts_do_not_warn_of_other_parts():
    x = np.array([-1.0, 4.0])
    roots = lambda x: fnp.piecewise(x, [x > 0], [fnp.sqrt])  # noqa: E731
    same(fx.jacobian(roots)(x), np.diag([0.0, 0.25]))


def test_real_parts_of_what_is_nearly_real():
    near, far = np.array([1 + 1e-16j, 2]), np.array([1 + 1j, 2])
    assert [fx.vjp(fnp.real_if_close, z)[0].dtype for z in (near, far)] == [float, complex]
    with pytest.raises(fx.ConcretizationError):
        fx.jit(fnp.real_if_close)(near)


def test_vectors_in_a_plane():
    u, v = RNG.normal(size=(4, 2)), RNG.normal(size=(4, 3))
    deep = np.pad(u, ((0, 0), (0, 1)))
    same(fx.jit(fnp.cross)(u, u[::-1]), np.cross(deep, deep[::-1])[:, 2])
    same(fx.jit(fnp.cross)(u, v), np.cross(deep, v))
    same(fx.jit(fnp.cross)(v, u), np.cross(v, deep))
    with pytest.raises(ValueError, match="components"):
        fx.jit(fnp.cross)(RNG.normal(size=4), v)


# -- special functions ------------------------------------------
@pytest.mark.parametrize("x", [0.0, 1e-9, -0.3, 4.0, 7.999, 8.0, 60.0, -300.0, 700.0])
def test_derivatives_of_i0_of_every_order(x):
    """Against SciPy's: to 1e-13, but for the rounding of eˣ, which is x·ε."""
    f = fnp.i0
    for order in range(5):
        np.testing.assert_allclose(f(x), special.ivp(0, x, order), rtol=1e-13 + 3e-16 * abs(x))
        f = fx.grad(f)
    batch = np.array([x, x + 0.5, -x])
    np.testing.assert_allclose(fx.jit(fx.vmap(fx.grad(fnp.i0)))(batch), special.i1(batch), rtol=1e-13)


def test_single_precision_of_i0():
    x = np.linspace(-9, 9, 7, dtype=np.float32)
    slopes = fx.vmap(fx.grad(fnp.i0))(x)
    assert slopes.dtype == np.float32
    np.testing.assert_allclose(slopes, special.i1(x.astype(float)), rtol=3e-6)
    with pytest.raises(TypeError):
        fx.vmap(fnp.i0)(x + 1j)


def test_the_slope_of_a_window():
    step = 1e-6
    numerical = (np.kaiser(7, 5 + step) - np.kaiser(7, 5 - step)) / (2 * step)
    np.testing.assert_allclose(fx.jacobian(lambda beta: fnp.kaiser(7, beta))(5.0), numerical, atol=1e-8)


# -- functions of functions ------------------------------------------
@fnp.vectorize
def hinge(x, slope=0.5):
    """Kinked."""
    return x if x > 0 else slope * x


def test_functions_that_look_at_values_are_vectorized():
    x = np.array([[1.0, -2.0], [0.0, 3.0]])
    assert hinge.__doc__ == "Kinked." and hinge.__name__ == "hinge"
    same(hinge(x), np.where(x > 0, x, 0.5 * x))
    same(fx.grad(lambda x: hinge(x).sum())(x), np.where(x > 0, 1, 0.5))
    with pytest.raises(fx.ConcretizationError):
        fx.vmap(hinge)(x)
    same(fx.grad(lambda slope: hinge(x, slope=slope).sum())(0.5), np.float64(-2.0))
    same(fx.grad(lambda slope: hinge(1.0 - x, slope).sum())(0.5), np.float64(-2.0))
    picked = fx.grad(lambda x: fnp.apply_along_axis(lambda v: v[0] if v[0] > 0 else v[1], 1, x).sum())
    same(picked(x), np.array([[1.0, 0.0], [0.0, 1.0]]))


def test_the_decorator_with_options():
    @fnp.vectorize(otypes=[np.complex64], doc="Turned.")
    def turned(x):
        return 1j * x

    assert turned.__doc__ == "Turned."
    assert fx.vjp(turned, X)[0].dtype == np.complex64


def test_values_in_a_closure_are_differentiated():
    """Also where all arguments are plain."""
    same(fx.grad(lambda w: fnp.vectorize(lambda v: w * v)(V).sum())(2.0), np.float64(V.sum()))
    same(
        fx.grad(lambda w: fnp.apply_along_axis(lambda v: w * v[0], 1, X).sum())(2.0),
        np.float64(X[:, 0].sum()),
    )
    same(
        fx.grad(lambda w: fnp.piecewise(V, [V > 0], [lambda v: w * v]).sum())(2.0), np.float64(V[V > 0].sum())
    )


def test_signatures():
    product = fnp.vectorize(lambda a, b: (a @ b, a), signature="(m,n),(n)->(m),(m,n)")
    a, b = RNG.normal(size=(5, 1, 2, 3)), RNG.normal(size=(4, 3))
    values, same_a = fx.jit(product)(a, b)
    same(values, np.einsum("aimn,bn->abm", a, b))
    same(same_a, np.broadcast_to(a, (5, 4, 2, 3)))
    for wrong in ((a, b[0, :2]), (a[0, 0, 0], b[0]), (a,)):
        with pytest.raises((ValueError, TypeError)):
            fx.jit(product)(*wrong)
    with pytest.raises(ValueError, match="not a valid gufunc signature"):
        fnp.vectorize(abs, signature="(n->n")
    with pytest.raises(ValueError, match="wrong number of outputs"):
        fx.jit(fnp.vectorize(lambda a: (a, a), signature="()->()"))(V)
    with pytest.raises(ValueError, match="give the axes of the results"):
        fx.jit(fnp.vectorize(lambda a: fnp.stack([a, a])))(V)
    assert fx.vjp(fnp.vectorize(lambda n, a: n * a, excluded=[0]), 3.0, X)[0].shape == X.shape


def test_python_functions_as_ufuncs():
    double = fnp.frompyfunc(lambda a, b: a + 2 * b, 2, 1)
    assert double(V, 1).dtype == object
    same(fx.grad(lambda x: double(x, V).sum())(V), np.ones(4))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: fnp.apply_over_axes(lambda x, axis: x[0, 0], x, 0),
        lambda x: fnp.piecewise(x, [x > 1], [1, 2, 3]),
        lambda x: fnp.pad(x, 1, lambda *_: None),
        lambda x: fnp.pad(x, 1, "unknown"),
        lambda x: fnp.pad(x, 1, "edge", constant_values=1),
        lambda x: fnp.gradient(x, edge_order=3),
        lambda x: fnp.gradient(x, 1.0, 2.0, 3.0),
        lambda x: fnp.gradient(x[:, :1]),
        lambda x: fnp.gradient(x, np.ones(2), np.ones(4)),
        lambda x: fnp.convolve(x, x),
        lambda x: fnp.convolve(x[0], x[0, :0]),
        lambda x: fnp.correlate(x[0], x[0], "middle"),
        lambda x: fnp.ediff1d(x.astype(int), to_end=x),
        lambda x: fnp.packbits(x),
        lambda x: fnp.unpackbits(x),
        lambda x: fnp.packbits(x > 0, bitorder="middle"),
        lambda x: fnp.polyder(x[0], -1),
        lambda x: fnp.polyint(x[0], 3, k=[1, 2]),
        lambda x: fnp.polyint(x[0], -1),
        lambda x: fnp.r_["r", x],
        lambda x: fnp.insert(x, 9, 1.0, axis=0),
        lambda x: fnp.trim_zeros(x, "x"),
        lambda x: fnp.fill_diagonal(x[0], 1.0, inplace=False),
        lambda x: fnp.place(x, x > 0, [], inplace=False),
        lambda x: fnp.put_along_axis(x, np.array([0]), 1.0, 0, inplace=False),
        lambda x: fnp.tril_indices_from(x[0]),
        lambda x: fnp.diag_indices_from(x),
        lambda x: fnp.poly(x),
        lambda x: fnp.roots(x),
    ],
)
def test_what_cannot_be_done_raises(call):
    with pytest.raises(fx.FxgradError) as error:
        fx.vjp(call, X)
    assert isinstance(error.value, ValueError | TypeError | IndexError | NotImplementedError)


# -- updated copies ------------------------------------------
UPDATES = {
    "put": (np.put, [0, 5, -1], [1.0, 2.0]),
    "put, clipped": (np.put, [0, 50], [1.0, 2.0], "clip"),
    "place": (np.place, X > 1, [1.0, 2.0]),
    "put_along_axis": (np.put_along_axis, np.array([[0], [3], [1]]), 7.0, 1),
    "put_along_axis, flat": (np.put_along_axis, np.array([0, 7]), np.array([1.0, 2.0]), None),
    "put_along_axis, rows": (np.put_along_axis, np.array([[2, 0, 1, 1]]), np.ones((1, 4)), 0),
    "fill_diagonal": (np.fill_diagonal, 5.0),
    "fill_diagonal, list": (np.fill_diagonal, [1.0, 2.0]),
    "fill_diagonal, wrapped": (np.fill_diagonal, 1.0, True),
}


@pytest.mark.parametrize("function, arguments", [(f, a) for f, *a in UPDATES.values()], ids=list(UPDATES))
def test_updated_copies(function, arguments):
    for x in (X, X.T) if function is np.fill_diagonal else (X,):
        expected = x.copy()
        function(expected, *arguments)
        ours = getattr(fnp, function.__name__)
        same(ours(x, *arguments, inplace=False), expected)
        agree(lambda x, ours=ours: ours(x, *arguments, inplace=False), x)


def test_values_and_masks_of_updated_copies_are_traced():
    agree(lambda x, v: fnp.place(x, x > 1, v, inplace=False), X, V)
    agree(lambda x, v: fnp.put(x, [1, 2], v, inplace=False), X, V)
    agree(lambda x, v: fnp.fill_diagonal(x, v[:3], inplace=False), X, V)
    cube = RNG.normal(size=(3, 3, 3))
    expected = cube.copy()
    np.fill_diagonal(expected, 9.0)
    same(fx.jit(lambda x: fnp.fill_diagonal(x, 9.0, inplace=False))(cube), expected)


# -- text ------------------------------------------
def test_traced_values_are_shown():
    assert seen(lambda x: fnp.array_str(x), V) == str(V)
    assert seen(lambda x: np.array_repr(x), V).item().startswith("Traced<f64[4]>")
    assert seen(lambda x: np.array2string(x, precision=2), V) == str(V)
    assert fnp.array2string(V, precision=1) == np.array2string(V, precision=1)


def test_what_is_known_without_values():
    x = np.ones(3, np.float32)
    kept = []
    fx.jit(lambda x: kept.append((fnp.iinfo(x).max, fnp.finfo(x * 1.0).bits)) or x)(np.ones(3, np.int8))
    assert kept.pop() == (127, 64)
    fx.jit(lambda x: kept.append((fnp.common_type(x), fnp.min_scalar_type(x), fnp.iterable(x))) or x)(x)
    assert kept == [(np.float32, np.float32, True)]
    assert fnp.min_scalar_type(3) == np.uint8 and fnp.finfo(np.float32).bits == 32
    assert fnp.finfo(x).eps == fnp.finfo("f4").eps
    operands = ("ij,jk,kl", *[np.ones((2, 2))] * 3)
    assert fnp.einsum_path(*operands)[0] == np.einsum_path(*operands)[0]
