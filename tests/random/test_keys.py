"""Keys and bits: NumPy's Philox to the bit, the same numbers under every transform, streams that are independent."""

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fxgrad as fx
from fxgrad import random
from fxgrad.core.errors import DTypeError, ShapeError
from fxgrad.kernels import philox
from fxgrad.kernels.native import engine

KEY = random.key(7)
KEYS = random.split(KEY, 5)

# Every distribution with parameters of one shape, as a function of a key and a shape.
DISTRIBUTIONS = {
    "bits": random.bits,
    "uniform": random.uniform,
    "uniform between arrays": lambda key, shape: random.uniform(
        key, shape, minval=np.full(3, -2.0), maxval=1
    ),
    "normal": random.normal,
    "complex normal": lambda key, shape: random.normal(key, shape, complex),
    "truncated_normal": lambda key, shape: random.truncated_normal(key, -1.0, np.array([1.0, 2, 3]), shape),
    "bernoulli": lambda key, shape: random.bernoulli(key, np.array([0.1, 0.5, 0.9]), shape),
    "rademacher": random.rademacher,
    "randint": lambda key, shape: random.randint(key, shape, -3, np.array([2, 5, 1000])),
    "gamma": lambda key, shape: random.gamma(key, np.array([0.1, 1.0, 30.0]), shape),
    "loggamma": lambda key, shape: random.loggamma(key, 0.01, shape),
    "beta": lambda key, shape: random.beta(key, 0.5, 2.0, shape),
    "chisquare": lambda key, shape: random.chisquare(key, 3.0, shape),
    "dirichlet": lambda key, shape: random.dirichlet(key, np.ones(2), shape),
    "t": lambda key, shape: random.t(key, 3.0, shape),
    "f": lambda key, shape: random.f(key, 3.0, 4.0, shape),
    "exponential": random.exponential,
    "laplace": random.laplace,
    "gumbel": random.gumbel,
    "logistic": random.logistic,
    "cauchy": random.cauchy,
    "maxwell": random.maxwell,
    "double_sided_maxwell": lambda key, shape: random.double_sided_maxwell(key, 1.0, 2.0, shape),
    "rayleigh": lambda key, shape: random.rayleigh(key, 2.0, shape),
    "lognormal": lambda key, shape: random.lognormal(key, 0.5, shape),
    "pareto": lambda key, shape: random.pareto(key, 3.0, shape),
    "weibull_min": lambda key, shape: random.weibull_min(key, 2.0, 1.5, shape),
    "triangular": lambda key, shape: random.triangular(key, -1.0, 0.0, 3.0, shape),
    "wald": lambda key, shape: random.wald(key, 2.0, shape),
    "generalized_normal": lambda key, shape: random.generalized_normal(key, 3.0, shape),
    "ball": lambda key, shape: random.ball(key, 3, 2, shape),
    "poisson": lambda key, shape: random.poisson(key, np.array([0.1, 8.0, 1000.0]), shape),
    "binomial": lambda key, shape: random.binomial(key, np.array([3, 50, 4000]), 0.3, shape),
    "geometric": lambda key, shape: random.geometric(key, 0.2, shape),
    "multivariate_normal": lambda key, shape: random.multivariate_normal(key, np.zeros(2), np.eye(2), shape),
    "categorical": lambda key, shape: random.categorical(key, np.log([0.1, 0.6, 0.3]), shape=shape),
    "categorical without replacement": lambda key, shape: random.categorical(
        key, np.zeros(30), shape=shape, replace=False
    ),
    "permutation": lambda key, shape: random.permutation(key, np.arange(np.prod(shape)).reshape(shape), -1),
    "permutation of rows": lambda key, shape: random.permutation(
        key, np.arange(np.prod(shape)).reshape(shape), -1, independent=True
    ),
    "choice": lambda key, shape: random.choice(key, 30, shape),
    "choice without replacement": lambda key, shape: random.choice(key, 30, shape, replace=False),
    "choice by p": lambda key, shape: random.choice(
        key, np.array([1.5, 2.5, 3.5]), shape, p=np.array([1, 0, 2])
    ),
    "choice by p without replacement": lambda key, shape: random.choice(
        key, 30, shape, replace=False, p=np.arange(1, 31)
    ),
    "orthogonal": lambda key, shape: random.orthogonal(key, 2, shape),
}

each = pytest.mark.parametrize("name", DISTRIBUTIONS)


def same(actual, expected):
    assert np.shape(actual) == np.shape(expected)
    assert np.asarray(actual).dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(actual, expected)


# -- bits ---------------------------------------------------------------------------------------------------
@given(key=st.integers(0, 2**64 - 1), count=st.integers(0, 1000), domain=st.integers(0, 2))
def test_the_words_are_those_of_numpy(key, count, domain):
    expected = np.random.Philox(key=np.array([key, domain], np.uint64)).random_raw(count)
    many = philox.stream(np, np.full(60, key, np.uint64), domain, min(count, 40))  # vector arithmetic
    same(many, np.broadcast_to(expected[:40], many.shape))
    same(philox.stream(np, np.array([key], np.uint64), domain, count)[0], expected)


def test_known_answers():
    """The vectors of the authors' distribution of Philox4x64-10, for counter and key of zeros and of ones."""
    ones = np.full(1, 2**64 - 1, np.uint64)
    zeros = np.zeros(1, np.uint64)
    words = [int(w[0]) for w in philox.block(np, zeros, 0, zeros, zeros, 0)]
    assert words == [0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B]
    assert philox.multiply_high(ones, ones)[0] == 2**64 - 2


def test_bits_split_and_fold_in_are_streams_of_numpy():
    same(random.bits(KEY, (3, 4)).ravel(), np.random.Philox(key=[7, 0]).random_raw(12))
    same(KEYS, np.random.Philox(key=[7, 1]).random_raw(5))
    same(random.split(KEY, (2, 3)).ravel()[:5], KEYS)
    same(random.fold_in(KEY, 9), np.random.Philox(key=[7, 2], counter=[0, 9, 0, 0]).random_raw(1)[0])


def test_the_words_of_a_round_of_rejection_are_streams_of_numpy():
    index = np.arange(5, dtype=np.uint64)
    words = philox.blocks(np, np.full(5, 7, np.uint64), 0, index + 1, third=3)
    same(words.ravel(), np.random.Philox(key=[7, 0], counter=[0, 0, 3, 0]).random_raw(20))


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_narrow_bits_are_the_leading_ones(dtype):
    width = 8 * np.dtype(dtype).itemsize
    same(random.bits(KEY, 10, dtype), (random.bits(KEY, 10) >> np.uint64(64 - width)).astype(dtype))


def test_streams_are_independent():
    """Neither duplicates nor correlations among 2000 streams of 50, from a tree of splits and folds."""
    parents = random.split(KEY, 10)
    keys = np.concatenate(
        [fx.vmap(lambda k: random.split(k, 100))(parents).ravel(),
         fx.vmap(lambda k: fx.vmap(lambda i: random.fold_in(k, i))(np.arange(100)))(parents).ravel()]
    )  # fmt: skip
    assert len(np.unique(keys)) == len(keys) == 2000
    words = fx.vmap(lambda k: random.bits(k, 50))(keys)
    assert len(np.unique(np.concatenate([words.ravel(), keys, parents]))) == 2000 * 51 + 10
    x = fx.vmap(lambda k: random.normal(k, (50,)))(keys)
    neighbours = [np.mean(x[:-1] * x[1:]), np.mean(x[:1000] * x[1000:]), np.mean(x[:, :-1] * x[:, 1:])]
    assert np.abs(neighbours).max() < 4.5 / np.sqrt(50 * 1000)


@pytest.mark.parametrize("bit", [0, 1, 31, 63])
def test_one_bit_of_a_key_changes_half_of_the_bits(bit):
    other = KEYS ^ np.uint64(1 << bit)
    a, b = (fx.vmap(lambda k: random.bits(k, 1000))(keys) for keys in (KEYS, other))
    changed = np.unpackbits((a ^ b).view(np.uint8)).mean()
    assert abs(changed - 0.5) < 5 * 0.5 / np.sqrt(5 * 64000)


# -- the same numbers in every way ---------------------------------------------------------------------------
@each
def test_vmap_and_jit_give_the_same_numbers(name):
    draw = DISTRIBUTIONS[name]
    expected = np.stack([draw(key, (4, 3)) for key in KEYS])
    assert expected.shape[:3] == (5, 4, 3)
    mapped = fx.vmap(lambda key: draw(key, (4, 3)))
    # Matrix products are not the same to the bit, nor are functions of which machine code may have been made.
    products = name in ("multivariate_normal", "orthogonal") or engine.mode() != "never"
    tolerance = dict(rtol=1e-13, atol=1e-14) if products else None
    for results in (mapped(KEYS), fx.jit(mapped)(KEYS), fx.vmap(fx.jit(lambda k: draw(k, (4, 3))))(KEYS)):
        if tolerance and expected.dtype.kind in "fc":
            np.testing.assert_allclose(results, expected, **tolerance)
        else:
            same(results, expected)
    chunked = fx.vmap(lambda key: draw(key, (4, 3)), chunk_size=2)(KEYS)
    np.testing.assert_allclose(chunked, expected, **tolerance or dict(rtol=0))
    many = fx.vmap(fx.vmap(lambda key: draw(key, (4, 3))))(np.stack([KEYS] * 30))  # the other way to the bits
    np.testing.assert_allclose(many[-1], expected, **tolerance or dict(rtol=0))


@each
def test_the_result_has_the_shape_asked_for(name):
    draw = DISTRIBUTIONS[name]
    assert draw(KEY, (2, 0, 3)).shape[:3] == (2, 0, 3)
    key, nested = KEY, draw(KEY, (2, 1, 3))
    np.testing.assert_allclose(np.reshape(nested, (2, 3, *nested.shape[3:])), draw(key, (2, 3)), rtol=1e-14)


def test_many_and_few_entries_agree():
    """Rejection proceeds in chunks, and entries beyond the first chunk have the counters of their index. Logarithms may
    be NumPy's for few entries and machine code's for many."""
    alone = random.gamma(KEY, np.full(40_000, 0.7))
    mapped = fx.vmap(lambda key: random.gamma(key, np.full(40_000, 0.7)))(np.array([KEY, KEY]))
    np.testing.assert_allclose(mapped, np.stack([alone] * 2), rtol=1e-13)
    np.testing.assert_allclose(random.gamma(KEY, np.full(20, 0.7)), alone[:20], rtol=1e-13)
    same(random.poisson(KEY, np.full(17_000, 40.0))[-1], random.poisson(KEY, np.full(20_000, 40.0))[16_999])


@pytest.mark.parametrize(
    "name", ["uniform", "normal", "exponential", "laplace", "gumbel", "logistic", "cauchy", "maxwell"]
)
def test_narrow_dtypes_round_the_same_numbers(name):
    draw = getattr(random, name)
    exact = draw(KEY, (1000,))
    for dtype, digits in [("float32", 24), ("float16", 11)]:
        x = draw(KEY, (1000,), dtype)
        assert x.dtype == dtype
        scale = np.maximum(np.abs(exact), 1) if name == "uniform" else np.maximum(np.abs(exact), 1e-3)
        np.testing.assert_array_less(np.abs(x - exact) / scale, 2.0 ** (1 - digits))
    assert random.uniform(KEY, (100_000,), np.float16).max() < 1


def test_keys_are_arrays_like_others():
    keys = random.split(KEY, (2, 3))
    same(fx.vmap(fx.vmap(random.split))(keys)[1, 2], random.split(keys[1, 2]))
    value, slope = fx.value_and_grad(lambda x, key: x * random.normal(key))(2.0, KEY)
    assert value == 2 * slope == 2 * random.normal(KEY)
    same(fx.jit(random.key)(3), random.key(3))
    same(fx.vmap(random.key)(np.arange(3)), np.arange(3, dtype=np.uint64))
    same(random.key(-1), np.uint64(2**64 - 1))
    same(random.key_data(KEYS), KEYS)
    same(random.wrap_key_data(KEYS), KEYS)
    same(random.clone(KEY), KEY)
    assert random.PRNGKey is random.key


@pytest.mark.parametrize("name", ["bits", "uniform", "normal", "complex normal", "rademacher", "exponential", "laplace",
                                  "gumbel", "logistic", "cauchy", "maxwell"])  # fmt: skip
def test_keys_of_another_library_give_its_arrays(name):
    strict = pytest.importorskip("array_api_strict")
    key, draw = strict.asarray(KEY), DISTRIBUTIONS[name]
    for k, same_key in [
        (key, KEY),
        (random.split(key)[1], KEYS[1]),
        (random.fold_in(key, 3), random.fold_in(KEY, 3)),
    ]:
        x = draw(k, (4, 3))
        assert type(x) is type(key)
        np.testing.assert_allclose(np.asarray(x), draw(same_key, (4, 3)), rtol=1e-14)


def test_parameters_of_another_library():
    strict = pytest.importorskip("array_api_strict")
    key, a, b = strict.asarray(KEY), np.array([0.3, 2.0, 30.0]), np.array([1.0, 0.2, 5.0])
    for draw in (random.gamma, random.loggamma, random.chisquare, random.poisson):
        np.testing.assert_allclose(np.asarray(draw(key, strict.asarray(a))), draw(KEY, a), rtol=1e-13)
    moved = random.beta(key, strict.asarray(a), strict.asarray(b))
    np.testing.assert_allclose(np.asarray(moved), random.beta(KEY, a, b), rtol=1e-13)


# -- errors -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("key", [0, 1.0, np.int64(3), np.zeros(2), True], ids=repr)
def test_a_seed_is_no_key(key):
    for use in (random.normal, random.split, lambda k: random.fold_in(k, 1), lambda k: random.gamma(k, 2.0)):
        with pytest.raises(DTypeError, match=r"fx\.random\.key\(seed\)"):
            use(key)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: random.normal(KEYS), ShapeError, r"one key is needed.*\n.*vmap"),
        (lambda: random.normal(KEY, (2, -1)), ShapeError, "negative size"),
        (lambda: random.normal(KEY, "ab"), ShapeError, "tuple of integers"),
        (lambda: random.normal(KEY, (2.5,)), ShapeError, "tuple of integers"),
        (lambda: random.normal(KEY, (), int), DTypeError, "floating"),
        (lambda: random.uniform(KEY, (), complex), DTypeError, "floating"),
        (lambda: random.bits(KEY, (), int), DTypeError, "unsigned"),
        (lambda: random.gamma(KEY, np.ones(3), (2,)), ShapeError, r"gamma: parameters of shape \(3,\)"),
        (lambda: random.gamma(KEY, np.ones(3), (1,)), ShapeError, r"do not broadcast to the shape \(1,\)"),
        (lambda: random.beta(KEY, np.ones(3), np.ones(2)), ShapeError, "do not broadcast to each other"),
        (lambda: random.gamma(KEY, 1j), DTypeError, "real numbers"),
        (lambda: random.key(2**64), ShapeError, "64 bits"),
        (lambda: random.key(1.5), DTypeError, "integer"),
        (lambda: random.key(np.arange(2)), ShapeError, "no axes"),
        (lambda: random.fold_in(KEY, 0.5), DTypeError, "integer"),
        (lambda: random.randint(KEY, (), 0.0, 1), DTypeError, "bounds"),
        (lambda: random.dirichlet(KEY, 1.0), ShapeError, "axis"),
        (lambda: random.multivariate_normal(KEY, np.zeros(2), np.eye(3)), ShapeError, "covariance"),
        (
            lambda: random.multivariate_normal(KEY, np.zeros(2), np.eye(2), method="lu"),
            ValueError,
            "cholesky",
        ),
    ],
)
def test_errors_name_what_is_wrong(call, error, words):
    with pytest.raises(error, match=words):
        call()


# -- the interface ------------------------------------------------------------------------------------------
# Parameters of JAX that have no meaning here: one generator, no devices, no trade of accuracy against speed.
JAX_ONLY = {"impl", "out_sharding", "mode"}
NOT_HERE = {"key_impl", "key_dtype", "random_gamma_p", "multinomial"}


def test_names_and_signatures_are_those_of_jax():
    theirs = pytest.importorskip("jax.random")
    public = {name for name in dir(theirs) if inspect.isfunction(getattr(theirs, name)) and name[0] != "_"}
    public -= NOT_HERE
    assert public <= set(random.__all__) | {"PRNGKey"}
    for name in sorted(public):
        parameters = inspect.signature(getattr(theirs, name)).parameters
        wanted = [p for p in parameters if p not in JAX_ONLY or (p == "mode" and name == "triangular")]
        wanted = [
            p for p in wanted if (name, p) != ("key", "dtype") and (name, p) != ("wrap_key_data", "dtype")
        ]
        if name == "PRNGKey":
            wanted = ["seed"]
        mine = inspect.signature(getattr(random, name)).parameters
        assert list(mine) == wanted, name
        for p in wanted:
            required = parameters[p].default is inspect.Parameter.empty
            assert (mine[p].default is inspect.Parameter.empty) == required, (name, p)
