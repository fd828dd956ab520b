"""fxgrad.scipy.special: every declaration against SciPy's ufunc, through every transform.

First derivatives are checked by the examples that declarations make of themselves (`at`).
"""

import ml_dtypes
import numpy as np
import pytest
import scipy.special

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.core.errors import ArrayConversionError, NotDifferentiableError, UnsupportedError
from fxgrad.ops.library import WITHOUT_SINGLE
from fxgrad.scipy import special

DECLARED = [name for name in special.__all__ if getattr(getattr(special, name), "at", ())]  # pyright: ignore
HALVES = [np.dtype("f2"), np.dtype(ml_dtypes.bfloat16)]


def first(y):
    return y[0] if isinstance(y, tuple) else y


def of_one(name, module=special):
    """(f, x): the function of the last operand in which it can be differentiated, and its value there."""
    function, at = getattr(special, name), getattr(special, name).at
    names = function.__wrapped__.__code__.co_varnames
    i = max(k for k, v in enumerate(at) if names[k] not in function.fixed and not isinstance(v, int))
    chosen = getattr(module, name)
    return lambda x: first(chosen(*at[:i], x, *at[i + 1 :])), at[i]


SMOOTH = [n for n in DECLARED if n not in ("gammasgn", "round")]


# -- values -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", SMOOTH)
def test_values_are_scipys_through_every_transform(name):
    (f, at), (reference, _) = of_one(name), of_one(name, scipy.special)
    for dtype in [np.dtype(type(at))] if isinstance(at, complex) else [np.dtype("f8"), np.dtype("f4")]:
        x = np.full((2, 3), at, dtype)
        y = f(x)
        if not (dtype == np.float32 and name in WITHOUT_SINGLE):
            expected = reference(x)
            np.testing.assert_array_equal(y, expected)
            assert y.dtype == expected.dtype
        for z in (fx.jit(f)(x), fx.vmap(f, 1, 1)(x), fx.jvp(f, (x,), (x,))[0]):
            assert (z.shape, z.dtype) == (y.shape, y.dtype)
            np.testing.assert_allclose(z, y, rtol=1e-13 if dtype != np.float32 else 1e-5)
    assert f(np.empty((0, 2))).shape == (0, 2)
    assert np.ndim(f(at)) == 0


@pytest.mark.parametrize("name", SMOOTH)
def test_second_derivatives_are_those_of_the_first(name):
    f, at = of_one(name)
    x = np.full(1, at)

    def derivative(x):
        return fx.jvp(f, (x,), (np.ones_like(x),))[1]

    fx.testing.check_jvp(derivative, lambda p, t: fx.jvp(derivative, p, t), (x,), rtol=1e-4)
    pulled = fx.vjp(f, x)[1](f(x) * 0 + 1)[0]
    np.testing.assert_allclose(
        pulled, derivative(x) if isinstance(at, complex) else derivative(x).real, 1e-12
    )


@pytest.mark.parametrize("name", ["erf", "gammaln", "jv", "airy", "betainc", "stdtr", "mathieu_cem", "pbvv"])
def test_half_precision_stays_half(name):
    f, at = of_one(name)
    for dtype in HALVES:
        x = np.full(2, at).astype(dtype)
        for y in (f(x), fx.jit(f)(x), fx.vmap(f)(x), fx.jvp(f, (x,), (x,))[1], fx.vjp(f, x)[1](x)[0]):
            assert y.dtype == dtype
            assert np.all(np.isfinite(y.astype(float)))
        np.testing.assert_allclose(f(x).astype(float), f(x.astype(float)), rtol=1e-2)


COMPLEX = {
    (): ["erf", "erfc", "erfcx", "erfi", "dawsn", "ndtr", "log_ndtr", "gamma", "loggamma", "rgamma", "psi", "spence",
         "exp1", "expi", "wrightomega", "zeta", "log1p", "expm1"],
    (1.5,): ["jv", "yv", "iv", "kv", "kve", "hankel1", "hankel1e", "hankel2", "hankel2e"],
    (3,): ["eval_legendre", "eval_chebyt", "eval_laguerre", "eval_sh_chebyu"],
    (2,): ["spherical_jn", "spherical_kn"],
    (1.3, 2.4): ["hyp1f1"],
    (1.3, 0.6, 2.4): ["hyp2f1"],
    (0.7, 0.4): ["elliprf", "elliprd"],
    (0.7 + 0.2j,): ["xlogy"],
}  # fmt: skip


@pytest.mark.parametrize(("name", "others"), [(name, at) for at, names in COMPLEX.items() for name in names])
def test_complex_derivatives_are_those_of_analytic_functions(name, others):
    """Along both axes, and in reverse mode, which JAX's convention pairs without conjugation."""
    z = np.array([0.4 + 0.3j, 0.3 - 0.2j])

    def f(z):
        return getattr(special, name)(*others, z)

    slope = fx.jvp(f, (z,), (np.ones_like(z),))[1]
    step = 1e-4
    measured = [
        (8 * (f(z + d) - f(z - d)) - (f(z + 2 * d) - f(z - 2 * d))) / (12 * d) for d in (step, 1j * step)
    ]
    for expected in measured:
        np.testing.assert_allclose(slope, expected, rtol=1e-9)
    np.testing.assert_allclose(fx.vjp(f, z)[1](np.ones_like(z))[0], slope, rtol=1e-13)


def test_higher_derivatives_of_complex_digamma():
    """By the recurrence ψ(z + 1) − ψ(z) = 1/z, on both sides of the line of reflection."""
    z = np.array([0.3 + 0.2j, -2.4 - 0.7j, 0.45 + 9j])

    def f(z):
        return special.psi(z + 1) - special.psi(z)

    for order in range(1, 4):
        f = (lambda g: lambda z: fx.jvp(g, (z,), (np.ones_like(z),))[1])(f)
        expected = (-1) ** order * [1, 1, 2, 6][order] / z ** (order + 1)
        np.testing.assert_allclose(f(z), expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["airy", "fresnel", "sici", "shichi", "ellipj", "kelvin", "pbdv", "itairy"])
def test_every_one_of_several_results_has_its_derivative(name):
    function = getattr(special, name)
    at = tuple(map(float, function.at))
    for k in range(len(function(*at))):
        fx.testing.check_jvp(
            lambda x, k=k: function(*at[:-1], x)[k],
            lambda p, t, k=k: fx.jvp(lambda x: function(*at[:-1], x)[k], p, t),
            at[-1:],
        )


# -- where there is no derivative ---------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore:floating point number truncated:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:non-integer arg:DeprecationWarning")
def test_an_operand_without_a_closed_form_is_refused_by_name():
    for name in DECLARED:
        function = getattr(special, name)
        names = function.__wrapped__.__code__.co_varnames
        for k, v in enumerate(function.at):
            if names[k] not in function.fixed or "hermite" in name:  # whose degrees are whole
                continue

            def f(v, k=k, function=function):
                return function(*function.at[:k], v, *function.at[k + 1 :])

            with pytest.raises(NotDifferentiableError, match=f"no closed form.*{names[k]}") as caught:
                fx.jvp(f, (float(v),), (1.0,))
            assert function.__name__ in str(caught.value)
            assert "stop_gradient" in str(caught.value)


def test_scaled_functions_of_complex_numbers_say_which_function_is_analytic():
    for name in ("jve", "yve", "ive"):
        with pytest.raises(NotDifferentiableError, match="absolute value"):
            fx.jvp(lambda z, n=name: getattr(special, n)(1.5, z), (1j,), (1.0 + 0j,))


def test_steps_have_derivative_zero():
    assert fx.grad(special.gammasgn)(-1.3) == 0
    assert fx.grad(special.pdtr)(2.5, 1.5) == 0


def test_what_has_no_derivative_is_scipys():
    np.testing.assert_array_equal(special.roots_legendre(3)[0], scipy.special.roots_legendre(3)[0])
    assert special.smirnov(3, 0.4) == scipy.special.smirnov(3, 0.4)
    with pytest.raises(AttributeError):
        special.no_such_function  # noqa: B018


# -- limits -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "operands", "position", "expected"),
    [
        ("jv", (1, 0.0), 1, 0.5),
        ("iv", (1, 0.0), 1, 0.5),
        ("j1", (0.0,), 0, 0.5),
        ("beip", (0.0,), 0, 0.5),
        ("rgamma", (0.0,), 0, 1.0),
        ("rgamma", (-2.0,), 0, 2.0),
        ("binom", (2.0, 5.0), 0, 1 / 30),
        ("binom", (2.0, 5.0), 1, -1 / 30),
        ("exprel", (0.0,), 0, 0.5),
        ("spence", (1.0,), 0, -1.0),
        ("boxcox", (2.0, 0.0), 1, np.log(2) ** 2 / 2),
        ("boxcox", (0.0, 2.0), 1, 0.25),
        ("ellipk", (0.0,), 0, np.pi / 8),
        ("ellipe", (0.0,), 0, -np.pi / 8),
        ("agm", (1.0, 1.0), 0, 0.5),
        ("betainc", (2.0, 3.0, 0.0), 0, 0.0),
        ("betainc", (2.0, 3.0, 1.0), 1, 0.0),
        ("gammainc", (2.0, 0.0), 0, 0.0),
        ("gammainc", (1.0, 0.0), 1, 1.0),
        ("xlogy", (0.0, 0.0), 1, 0.0),
        ("eval_legendre", (4, 1.0), 1, 10.0),
        ("eval_hermite", (0, 0.5), 1, 0.0),
        ("stdtr", (3.0, 0.0), 0, 0.0),
        ("lambertw", (0.0,), 0, 1.0),
        ("erfcx", (1e8,), 0, -5.641895835477562e-17),
        ("dawsn", (1e8,), 0, -5e-17),
        ("k0e", (1e8,), 0, -np.sqrt(np.pi / 8) * 1e-12),
        ("log_ndtr", (-1e8,), 0, 1e8),
        ("expit", (-np.inf,), 0, 0.0),
        ("chndtr", (1.7, 3, 0.0), 0, 0.2223229092706097),
        ("pseudo_huber", (1.0, 1e-9), 0, 2.5e-37),
    ],
)
def test_derivatives_at_zeros_poles_and_infinity(name, operands, position, expected):
    def f(x):
        return fnp.real(getattr(special, name)(*operands[:position], x, *operands[position + 1 :]))

    np.testing.assert_allclose(fx.grad(f)(operands[position]), expected, rtol=1e-7, atol=1e-300)
    _, slope = fx.jvp(f, (np.float64(operands[position]),), (np.float64(1),))
    np.testing.assert_allclose(slope, expected, rtol=1e-7, atol=1e-300)


def test_hessians_are_symmetric():
    for name, at in [("stdtr", (3.0, 0.0)), ("betainc", (1.7, 0.6, 0.3)), ("elliprj", (0.7, 0.4, 1.3, 0.9)),
                     ("hyp2f1", (1.3, 0.6, 2.4, 0.3)), ("ellipkinc", (2.1, 0.4))]:  # fmt: skip
        second = np.array(fx.hessian(getattr(special, name), argnums=tuple(range(len(at))))(*at), float)
        np.testing.assert_allclose(second, second.T, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("function", [special.ellipkinc, special.ellipeinc])
def test_quasi_periods_of_elliptic_integrals(function):
    def f(m):
        return function(np.array([0.5, 1.5, 2.0, 4.0, -5.0]), m)

    for m in (0.0, 0.4, -3.0):
        fx.testing.check_jvp(f, lambda p, t: fx.jvp(f, p, t), (m,))


def test_degrees_and_orders_broadcast():
    n, x = np.arange(4)[:, None], np.array([0.3, 0.9])
    for name in ("eval_legendre", "expn", "jv", "spherical_jn", "eval_hermite"):
        f = getattr(special, name)
        slope = fx.jvp(lambda x, f=f: f(n, x), (x,), (np.ones(2),))[1]
        rows = [fx.jvp(lambda x, f=f, k=k: f(k, x), (x,), (np.ones(2),))[1] for k in range(4)]
        np.testing.assert_allclose(slope, rows, rtol=1e-13)
    both = fx.vmap(fx.grad(special.expn, argnums=1))(np.arange(3), np.full(3, 0.7))
    np.testing.assert_allclose(both[1:], -scipy.special.expn([0, 1], 0.7), rtol=1e-13)


# -- functions that are no ufuncs ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "arguments", "options"),
    [
        ("logsumexp", (np.array([[0.3, -1.0], [2.0, 0.5]]),), {"axis": 1, "b": np.array([1.0, 0.5])}),
        ("logsumexp", (np.array([[0.3, -1.0], [2.0, 0.5]]),), {"keepdims": True}),
        ("softmax", (np.array([[0.3, -1.0], [2.0, 0.5]]),), {"axis": 0}),
        ("log_softmax", (np.array([[0.3, -1.0], [2.0, 0.5]]),), {}),
        ("multigammaln", (np.array([2.3, 4.0]), 3), {}),
        ("polygamma", (np.array([1, 0, 3]), np.array([0.7, 1.3, 2.4])), {}),
        ("factorial", (np.array([0.7, 3.0]),), {}),
        ("comb", (np.array([4.7, 6.0]), np.array([1.3, 2.0])), {}),
        ("comb", (np.array([4.7, 6.0]), np.array([2.0, 2.0])), {"repetition": True}),
        ("perm", (np.array([4.7, 6.0]), np.array([1.3, 2.0])), {}),
        ("zeta", (np.array([2.3, 4.0, 0.3, 0.0, -3.6, -0.6]),), {}),
        ("zetac", (np.array([2.3, 0.3, -3.6]),), {}),
        ("zeta", (np.array([2.3, 4.0]), np.array([0.7, 1.9])), {}),
        ("lambertw", (np.array([0.3, 4.0]),), {}),
        ("lambertw", (np.array([-0.3, -0.1]), -1), {}),
        ("sph_harm_y", (np.array([2, 3]), np.array([1, -3]), np.array([0.7, 1.3]), 0.4), {}),
        ("diric", (np.array([0.0, 1e-5, 1.3, 2 * np.pi, 4.0]), 4), {}),
        ("sinc", (np.array([0.0, 0.3]),), {}),
        ("softplus", (np.array([-1.0, 0.3]),), {}),
        ("jvp", (2, np.array([0.7, 1.3]), 2), {}),
        ("kvp", (1.5, np.array([0.7, 1.3])), {}),
        ("spherical_in", (np.array([0, 2]), np.array([0.7, 1.3])), {"derivative": True}),
    ],
)
def test_functions_traced_are_scipys(name, arguments, options):
    moving = [i for i, a in enumerate(arguments) if isinstance(a, np.ndarray) and a.dtype.kind == "f"]

    def call(*values):
        given = list(arguments)
        for i, v in zip(moving, values):
            given[i] = v
        return getattr(special, name)(*given, **options)

    values = [arguments[i] for i in moving]
    expected = getattr(scipy.special, name)(*arguments, **options)
    np.testing.assert_allclose(call(*values), expected, rtol=1e-12)
    np.testing.assert_allclose(fx.jit(call)(*values), expected, rtol=1e-12, atol=1e-15)
    fx.testing.check_jvp(call, lambda p, t: fx.jvp(call, p, t), tuple(values), rtol=1e-6)


def test_whole_numbers_without_rounding_are_for_plain_arguments():
    assert special.factorial(25, exact=True) == scipy.special.factorial(25, exact=True)
    assert special.comb(60, 30, exact=True) == scipy.special.comb(60, 30, exact=True)
    with pytest.raises(UnsupportedError, match="exact"):
        fx.grad(lambda n: special.comb(n, 2, exact=True))(5.0)


def test_many_orders_of_polygamma_are_ours():
    x = np.linspace(0.1, 3, 9000)
    np.testing.assert_allclose(special.polygamma(1, x), scipy.special.polygamma(1, x), rtol=1e-13)


# -- SciPy's own ufuncs -------------------------------------------------------------------------------------
def test_every_ufunc_of_scipy_is_ours_or_refused_by_name():
    ufuncs = {n: getattr(scipy.special, n) for n in dir(scipy.special)}
    for name, ufunc in ufuncs.items():
        if not isinstance(ufunc, np.ufunc):
            continue
        if ufunc.__name__ not in DECLARED:
            with pytest.raises(UnsupportedError, match=f"scipy.special.{ufunc.__name__} "):
                fx.jit(ufunc)(*[0.5] * ufunc.nin)
        else:
            f, x = of_one(ufunc.__name__, scipy.special) if name in SMOOTH else (ufunc, 0.7)
            ours, _ = of_one(ufunc.__name__) if name in SMOOTH else (getattr(special, name), None)
            x = np.full(2, x)
            same = fx.jvp(f, (x,), (x,)), fx.jvp(ours, (x,), (x,))
            np.testing.assert_array_equal(*same)


def test_options_of_ufuncs():
    x = np.array([0.3, 0.7])
    np.testing.assert_allclose(
        fx.grad(lambda x: scipy.special.erf(x, where=x > 0.5).sum())(x), [0, fx.grad(special.erf)(0.7)]
    )
    assert fx.jvp(lambda x: scipy.special.erf(x, dtype=np.float32), (x,), (x,))[1].dtype == np.float32
    with pytest.raises(ArrayConversionError, match="out="):
        fx.grad(lambda x: scipy.special.erf(x, **{"out": np.zeros(2)}).sum())(x)
    with pytest.raises(TypeError, match="out"):
        special.erf(x, **{"out": np.zeros(2)})


def test_scipys_array_api_finds_them():
    """With SCIPY_ARRAY_API=1 its functions ask the namespace of a tracer for `special`."""
    assert getattr(fnp, "special", None) is special


def test_tensors():
    torch = pytest.importorskip("fxgrad.compat")
    t = torch.tensor([0.3, 0.7], dtype=torch.float64)
    for f in (scipy.special.erf, special.erf):
        assert isinstance(f(t), torch.Tensor)
        slope = torch.func.grad(lambda t, f=f: f(t).sum())(t)
        np.testing.assert_allclose(slope.numpy(), fx.grad(lambda x: special.erf(x).sum())(t.numpy()))
    assert isinstance(special.airy(t)[1], torch.Tensor)
