"""Special functions of fxgrad.lax against values computed with 60 digits, in both modes and at every order.

The tolerance of 2e-15 is nine spacings of float64.
"""

import math

import numpy as np
import pytest
import scipy.special

import fxgrad as fx
from fxgrad import lax
from tests.ways import agree

EXACT = {
    "erf": {
        1e-300: 1.1283791670955126e-300,
        1e-09: 1.1283791670955127e-09,
        0.3: 0.3286267594591274,
        0.4999: 0.5204119951613866,
        0.5: 0.5204998778130465,
        -0.7: -0.6778011938374184,
        2.0: 0.9953222650189527,
        -5.5: -0.9999999999999927,
    },
    "erfc": {
        -3.0: 1.9999779095030015,
        -0.2: 1.2227025892104784,
        0.3: 0.6713732405408726,
        0.5: 0.4795001221869535,
        1.0: 0.15729920705028513,
        5.0: 1.537459794428035e-12,
        12.3: 9.029925149482068e-68,
        20.7: 2.2085481102488885e-188,
        26.0: 5.663192408856143e-296,
        26.5: 2.2109076642637343e-307,
    },
    "erf_inv": {
        1e-300: 8.86226925452758e-301,
        -1e-08: -8.86226925452758e-09,
        0.3: 0.2724627147267543,
        0.8499: 1.0176527650769829,
        0.86: 1.0435418436397588,
        -0.999: -2.3267537655135246,
        0.9999999990686774: 4.328028275800946,
        0.9999999999999999: 5.8635847487551676,
    },
    "lgamma": {
        1e-300: 690.7755278982137,
        1e-05: 11.512919692895826,
        0.4999: 0.5725613186041184,
        0.9999999999990905: 5.249745890089625e-13,
        1.0000000000009095: -5.249745890076018e-13,
        1.4: -0.1196129141723713,
        1.9999999999990905: -3.845201127643794e-13,
        2.0000000000009095: 3.8452011276491285e-13,
        2.5: 0.2846828704729192,
        3.0: 0.6931471805599453,
        9.99: 12.779315214350193,
        10.01: 12.824350262448247,
        171.6: 709.6573587630563,
        10000000000.0: 220258509288.81058,
        1e305: 7.012884533631839e307,
        -0.5: 1.2655121234846454,
        -1e-07: 16.118095708679895,
        -1.5: 0.860047015376481,
        -3.7: -1.3797399049658245,
        -30.25: -74.02239745035548,
    },
    "digamma": {
        1e-300: -9.999999999999999e299,
        0.001: -1000.5755719318103,
        0.46: -2.175493605465344,
        1.0: -0.5772156649015329,
        1.4616321449683622: -9.241265521729427e-17,
        1.4616321449683625: 1.2245374622004068e-16,
        1.461: -0.0006118861376865112,
        1.47: 0.008066489011364869,
        2.0: 0.42278433509846713,
        9.99: 2.250700372831201,
        10.01: 2.2528037003181356,
        10000000000.0: 23.025850929890456,
        1e300: 690.7755278982137,
        -0.3: 2.113309779635399,
        -1.1: 10.15416395914385,
        -7.25: 5.189977214956288,
        -30.9: -6.221977845049451,
    },
    "bessel_i0e": {
        0.0: 1.0,
        1e-05: 0.9999900000749996,
        -0.5: 0.6450352704491501,
        3.0: 0.2430003541618254,
        30.0: 0.0731459464822373,
        99.9: 0.03996441699417069,
        100.1: 0.03992437171422156,
        -10000.0: 0.003989472674604732,
        100000000.0: 3.989422809001105e-05,
    },
    "bessel_i1e": {
        1e-300: 5e-301,
        1e-05: 4.999950000312499e-06,
        -0.5: -0.1564208031848717,
        3.0: 0.19682671329730086,
        30.0: 0.07191633059864755,
        99.9: 0.03976388924065676,
        100.1: 0.03972444616512665,
        -10000.0: -0.003989273195983662,
        100000000.0: 3.989422789053991e-05,
    },
}
POLYGAMMA = [
    (1, 0.001, 1000001.6425331958),
    (1, 0.5, 4.934802200544679),
    (1, -0.5, 8.934802200544679),
    (1, 100000000.0, 1.000000005e-08),
    (2, 3.7, -0.09539530872855403),
    (2, -1.3, 68.54941347116214),
    (5, 20.0, 8.48426620615823e-06),
    (5, -4.6, 31893.1677360192),
    (30, 7.5, -202269.48205191913),
    (120, 300.0, -3.7641646809769974e-101),
]
ZETA = [
    (1.0001, 1.0, 10000.577222947539),
    (2.5, 0.001, 31622777.94035882),
    (2.0, 40.0, 0.02531510384129103),
    (60.5, 3.0, 1.3619592118410557e-29),
    (3.0, 1000000.0, 5.0000050000025e-13),
]
# a, x, and the two parts of the distribution
GAMMA = [
    (0.1, 1e-05, 0.3323984050405033, 0.6676015949594967),
    (0.5, 0.3, 0.5614219739190002, 0.4385780260809999),
    (3.0, 1.0, 0.08030139707139419, 0.9196986029286058),
    (3.0, 20.0, 0.9999995444850495, 4.555149505589213e-07),
    (100.0, 80.0, 0.017108313035133115, 0.9828916869648668),
    (100.0, 130.0, 0.9972495916326934, 0.002750408367306526),
    (5000.0, 5010.0, 0.5580552789463424, 0.4419447210536576),
    (50.0, 0.001, 3.2847275170409984e-215, 1.0),
]
SMOOTH = {
    "erf": (lax.erf, [-1.5, -0.2, 0.1, 0.6, 2.0]),
    "erfc": (lax.erfc, [-1.5, -0.2, 0.1, 0.6, 2.0]),
    "erf_inv": (lax.erf_inv, [-0.95, -0.2, 0.01, 0.6, 0.9]),
    "lgamma": (lax.lgamma, [-2.6, -0.4, 0.3, 1.0, 7.0]),
    "digamma": (lax.digamma, [-2.6, -0.4, 0.3, 1.4616, 7.0]),
    "polygamma": (lambda x: lax.polygamma(2, x), [-2.6, -0.4, 0.3, 1.0, 7.0]),
    "bessel_i0e": (lax.bessel_i0e, [-2.0, 0.3, 1.5, 40.0, 150.0]),
    "bessel_i1e": (lax.bessel_i1e, [-2.0, 0.3, 1.5, 40.0, 150.0]),
}


@pytest.mark.parametrize("name", EXACT)
def test_values_are_exact_to_rounding(name):
    x, exact = np.array([*EXACT[name]]), [*EXACT[name].values()]
    np.testing.assert_allclose(getattr(lax, name)(x), exact, rtol=2e-15)
    with np.errstate(over="ignore"):  # of the conversions
        x = x.astype(np.float32)
        rounded = getattr(lax, name)(x.astype(float)).astype(np.float32)
    y = getattr(lax, name)(x)
    assert y.dtype == np.float32
    np.testing.assert_array_equal(y, rounded)


def test_values_of_two_arguments_are_exact_to_rounding():
    for m, x, exact in POLYGAMMA:
        np.testing.assert_allclose(lax.polygamma(m, x), exact, rtol=5e-15)
    for s, q, exact in ZETA:
        np.testing.assert_allclose(lax.zeta(s, q), exact, rtol=2e-15)
    for a, x, below, above in GAMMA:
        np.testing.assert_allclose(lax.igamma(a, x), below, rtol=1e-13)
        np.testing.assert_allclose(lax.igammac(a, x), above, rtol=1e-13)
    a = 1e15  # ½ ∓ 1/(3·√(2πa)) at the mean
    np.testing.assert_allclose(lax.igammac(a, a) - 0.5, -1 / (3 * math.sqrt(2 * math.pi * a)), atol=1e-15)


def test_ends_and_poles():
    inf, nan = math.inf, math.nan
    ends = np.array([inf, -inf, nan, 0.0, -0.0, -1.0, -2.0])
    for f, expected in {
        lax.erf: [1, -1, nan, 0, 0, scipy.special.erf(-1), scipy.special.erf(-2)],
        lax.erf_inv: [nan, nan, nan, 0, 0, -inf, nan],
        lax.lgamma: [inf, inf, nan, inf, inf, inf, inf],
        lax.digamma: [inf, nan, nan, -inf, inf, nan, nan],
        lambda x: lax.polygamma(1, x): [0, nan, nan, inf, inf, inf, inf],
        lambda x: lax.polygamma(2, x): [0, nan, nan, -inf, inf, nan, nan],
    }.items():
        np.testing.assert_allclose(f(ends), expected, rtol=1e-15)
    np.testing.assert_array_equal(lax.erfc(ends[:3]), [0, 2, nan])
    np.testing.assert_array_equal(lax.bessel_i0e(ends[:3]), [0, 0, nan])
    np.testing.assert_array_equal(lax.bessel_i1e(ends[:3]), [0, 0, nan])
    np.testing.assert_array_equal(
        lax.zeta(np.array([1.0, 0.5, 2.0, 2.0]), np.array([2, 2, 0, -1.0])), [inf, nan, inf, inf]
    )
    a, x = np.array([1.0, 1.0, inf, inf, 0.0, 1.0, nan]), np.array([0.0, inf, 1.0, inf, 1.0, -1.0, 1.0])
    np.testing.assert_array_equal(lax.igamma(a, x), [0, 1, 0, nan, 1, nan, nan])
    np.testing.assert_array_equal(lax.igammac(a, x), [1, 0, 1, nan, 0, nan, nan])


# Poles, zeros, ends of domains, and the largest and smallest numbers.
GRID = np.array([
    -np.inf, -1e300, -3.5, -3.0, -2.0, -1.0, -0.5, -1e-300, -0.0, 0.0, 1e-300, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 30.0,
    1e300, np.inf, np.nan,
])  # fmt: skip
# fxgrad's, SciPy's, and where SciPy's is not to be followed.
OF_ONE = {
    "erf": (lax.erf, scipy.special.erf, ()),
    "erfc": (lax.erfc, scipy.special.erfc, ()),
    "erf_inv": (lax.erf_inv, scipy.special.erfinv, ()),
    "lgamma": (lax.lgamma, scipy.special.gammaln, (-np.inf,)),  # C has ∞ there
    "digamma": (lax.digamma, scipy.special.digamma, ()),
    "bessel_i0e": (lax.bessel_i0e, scipy.special.i0e, ()),
    "bessel_i1e": (lax.bessel_i1e, scipy.special.i1e, ()),
    **{f"polygamma {m}": (lambda x, m=m: lax.polygamma(m, x), lambda x, m=m: scipy.special.polygamma(m, x),
                          (-np.inf, *([-1e300, -3, -2, -1, -0.0] if m % 2 == 0 else [])))
       for m in (1, 2, 3, 5)},  # for even m the sides of a pole differ, and no number is right
}  # fmt: skip


@pytest.mark.parametrize("ours, theirs, except_at", OF_ONE.values(), ids=OF_ONE)
def test_a_grid_of_poles_and_ends(ours, theirs, except_at):
    x = np.array([v for v in GRID if not any(v == e and np.signbit(v) == np.signbit(e) for e in except_at)])
    np.testing.assert_allclose(ours(x), theirs(x), rtol=1e-13)
    np.testing.assert_allclose(fx.jit(ours)(x), theirs(x), rtol=1e-13)


OF_TWO = {
    "igamma": (lax.igamma, scipy.special.gammainc, lambda a, x: False),
    "igammac": (lax.igammac, scipy.special.gammaincc, lambda a, x: False),
    # Of no number SciPy's is ∞ at a pole, at −∞ it is one; of large numbers it has NaN for 0.
    "zeta": (lax.zeta, scipy.special.zeta, lambda s, q: (
        np.isnan(s) | (q == -np.inf) | (s >= 1e300) & ((q > 1) | (q < 0) & (np.floor(q) != q)))),
}  # fmt: skip


@pytest.mark.parametrize("ours, theirs, excepted", OF_TWO.values(), ids=OF_TWO)
def test_a_grid_of_two_operands(ours, theirs, excepted):
    a, x = (v.ravel() for v in np.meshgrid(GRID, GRID))
    kept = ~(excepted(a, x) & np.ones(a.shape, bool))
    a, x = a[kept], x[kept]
    np.testing.assert_allclose(ours(a, x), theirs(a, x), rtol=1e-10, atol=1e-290)


def test_derivatives_at_ends():
    assert fx.grad(lambda x: lax.igamma(0.0, x))(1.0) == 0.0
    np.testing.assert_allclose(fx.grad(lambda q: lax.zeta(3.0, q))(-1.5), -3 * scipy.special.zeta(4.0, -1.5))
    assert fx.grad(lambda q: lax.zeta(2.0, q))(-1.0) == -np.inf
    assert np.isnan(fx.grad(lambda s: lax.zeta(s, -1.5))(3.0))  # a function of integers s
    np.testing.assert_allclose(
        lax.igamma(1e20, 1e20) - 0.5, 1 / (3 * math.sqrt(2 * math.pi * 1e20)), atol=2e-15
    )


@pytest.mark.parametrize("name", SMOOTH)
def test_transforms_and_second_derivatives(name):
    f, x = SMOOTH[name]
    agree(f, np.array(x))
    agree(fx.vmap(fx.grad(f)), np.array(x))


@pytest.mark.parametrize("f", [lax.igamma, lax.igammac, lax.zeta])
def test_transforms_with_respect_to_both_arguments(f):
    a, x = np.array([1.2, 2.5, 6.0, 12.0]), np.array([0.3, 2.0, 8.0, 5.0])
    agree(f, a, x)
    agree(fx.vmap(fx.grad(f)), a, x)
    agree(fx.vmap(fx.grad(f, 1)), a, x)


def test_known_derivatives():
    assert fx.grad(lax.lgamma)(2.5) == lax.digamma(2.5)
    assert fx.grad(fx.grad(lax.lgamma))(-2.5) == lax.polygamma(1, -2.5)
    assert fx.grad(lax.erf)(0.0) == 2 / math.sqrt(math.pi)
    np.testing.assert_allclose(fx.grad(lax.erf_inv)(lax.erf(0.7)), 1 / fx.grad(lax.erf)(0.7), rtol=1e-14)
    np.testing.assert_allclose(fx.grad(lax.polygamma, 1)(3.0, 1.5), lax.polygamma(4, 1.5), rtol=1e-15)
    np.testing.assert_allclose(fx.grad(lax.zeta, 1)(3.0, 1.5), -3 * lax.zeta(4.0, 1.5), rtol=1e-15)
    assert fx.grad(lax.bessel_i0e)(0.0) == 0 and fx.grad(lax.bessel_i1e)(0.0) == 0.5
    # I₁ − I₀, scaled, would lose eight digits here: −1/(2x)·I₀·(1 + 3/(8x) + …)
    x = 1e8
    np.testing.assert_allclose(
        fx.grad(lax.bessel_i0e)(x), -lax.bessel_i0e(x) / (2 * x) * (1 + 0.25 / x), rtol=1e-15
    )
    assert [fx.grad(lax.igamma, 1)(a, 0.0) for a in (0.5, 1.0, 2.0)] == [math.inf, 1, 0]
    assert fx.grad(lax.igamma)(2.0, 0.0) == 0


def test_reduced_precision():
    x = np.random.default_rng(0).normal(size=100) * 10.0 ** np.arange(-50, 50)
    with np.errstate(over="ignore"):
        single = x.astype(np.float32)
    single = np.where(abs(single) < np.finfo(np.float32).tiny, 0, single)
    np.testing.assert_array_equal(lax.reduce_precision(x, 8, 23), single)
    np.testing.assert_array_equal(lax.reduce_precision(x, 11, 52), x)
    assert lax.reduce_precision(np.float32(3.14159), 5, 10).dtype == np.float32
    assert np.isnan(lax.reduce_precision(math.nan, 8, 0)) and lax.reduce_precision(-1e300, 8, 7) == -math.inf
    assert fx.grad(lambda x: lax.reduce_precision(x, 8, 7) ** 2)(3.1415926) == 2 * 3.140625
    assert fx.jit(fx.vmap(lambda x: lax.reduce_precision(x, 8, 0)))(np.array([2.5, 3.5])).tolist() == [2, 4]


def test_what_is_refused():
    with pytest.raises(TypeError, match="erf is a function of real numbers"):
        lax.erf(1j)
    with pytest.raises(ValueError, match="whole number"):
        lax.polygamma(1.5, 2.0)
    with pytest.raises(TypeError, match="order of polygamma"):
        fx.jit(lax.polygamma)(1, 2.0)
    with pytest.raises(ValueError, match="not a format"):
        lax.reduce_precision(1.0, 0, 3)
    with pytest.raises(TypeError, match="reduce_precision is for real floating-point numbers"):
        lax.reduce_precision(np.arange(3), 8, 3)
