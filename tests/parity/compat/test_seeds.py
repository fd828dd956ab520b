"""A seed gives torch's numbers: of every function that draws, in any order, dtype and layout, and after any state.

Integers, permutations and choices are equal. Where torch's vectorized logarithms and cosines have other last digits
than NumPy's, numbers agree to a few units in the last place of their dtype.
"""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import fxgrad.compat as fxt

SEEDS = st.integers(-(2**63), 2**64 - 1)
TOLERANCE = {"torch.float16": 2e-3, "torch.bfloat16": 2e-2, "torch.float64": 1e-11, "torch.complex128": 1e-13}


def flat_tensors(value):
    """The Tensors in what a program makes: of a module, its state."""
    if hasattr(value, "state_dict"):
        value = list(value.state_dict().values())
    return [x.detach() for x in value] if isinstance(value, list | tuple) else [value.detach()]


def run(T, code, seed=3):
    """What a program makes from a seed, and the number that is drawn after it."""
    T.manual_seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        names = {"T": T, "F": T.nn.functional, "nn": T.nn, "init": T.nn.init, "D": T.distributions}
        return flat_tensors(eval(code, names)), T.rand(1).item()


def check(code, seed=3):
    (theirs, last), (ours, own) = (run(T, code, seed) for T in (torch, fxt))
    assert own == last, f"{code}: other words were drawn"
    assert len(ours) == len(theirs)
    for x, y in zip(ours, theirs):
        assert str(x.dtype) == str(y.dtype) and x.stride() == y.stride(), code
        if not y.dtype.is_floating_point and not y.dtype.is_complex:
            assert x.tolist() == y.tolist(), code
            continue
        allowed = TOLERANCE.get(str(y.dtype), 3e-6)
        np.testing.assert_allclose(np.array(x.tolist()), np.array(y.tolist()), allowed, allowed, err_msg=code)


# -- one function: s is a shape, d a floating dtype ------------------------------------------
FLOATING = [
    "T.rand(s, dtype=d)",
    "T.randn(s, dtype=d)",
    "T.randint(-5, 9, s, dtype=d)",
    "T.empty(s, dtype=d).uniform_(-1.3, 0.7)",
    "T.normal(0.3, 2.0, s, dtype=d)",
    "T.normal(T.full(s, 0.5, dtype=d), 2.0)",
    "T.empty(s, dtype=d).exponential_(1.7)",
    "T.empty(s, dtype=d).geometric_(0.2)",
    "T.empty(s, dtype=d).cauchy_(0.2, 3)",
    "T.empty(s, dtype=d).log_normal_(0.2, 0.3)",
    "T.empty(s, dtype=d).bernoulli_(0.3)",
    "T.empty(s, dtype=d).bernoulli_(T.full(s, 0.3))",
    "T.bernoulli(T.full(s, 0.3, dtype=d))",
    "T.bernoulli(T.full(s, 0.3, dtype=d), 0.6)",
    "T.empty(s, dtype=d).random_()",
    "T.empty(s, dtype=d).random_(3, None)",
    "T.poisson(T.full(s, 3.5, dtype=d))",
    "F.dropout(T.ones(s, dtype=d), 0.3)",
    "F.alpha_dropout(T.ones(s, dtype=d), 0.3, True)",
    "F.gumbel_softmax(T.ones((*s, 3), dtype=d))",
]
SHAPES = ["()", "(3,)", "(16,)", "(2, 5, 7)", "(0,)", "(9000,)"]


@pytest.mark.parametrize("code", FLOATING)
def test_floating_dtypes_and_shapes(code):
    for shape in SHAPES:
        for dtype in ("float32", "float64", "half", "bfloat16")[
            : 2 if shape == "(9000,)" else 3 + (shape == "(16,)")
        ]:
            filled = code.replace("*s", f"*{shape}").replace("(s", f"({shape}").replace(", s,", f", {shape},")
            check(filled.replace("=d", f"=T.{dtype}"))


OTHERS = [
    *(f"T.empty(700, dtype=T.{d}).random_()" for d in ("bool", "uint8", "int8", "int16", "int32", "int64")),
    *(f"T.empty(700, dtype=T.{d}).bernoulli_(0.4)" for d in ("bool", "uint8", "int64")),
    *(f"T.randint({n}, (9,))" for n in (2**24, 2**28 - 1, 2**28, 2**32, 2**40 + 3)),
    "T.randint(-(2**63), 2**63 - 1, (9,))",
    "T.empty(9, dtype=T.int64).random_(-(2**63), None)",
    "T.empty(9).random_(0, 2**28)",
    "T.empty(9).random_(2**25 + 1, 2**26)",
    *(
        f"T.randperm({n}, dtype=T.{d})"
        for n, d in ((0, "int64"), (1, "int64"), (64, "int32"), (257, "float32"))
    ),
    *(f"T.randperm({n})" for n in (256, 1000, 5000)),
    *(f"T.randn({n}, dtype=T.{d})" for n in (3, 7, 8, 20) for d in ("cfloat", "cdouble")),
    "T.rand(5, dtype=T.cfloat)",
    "T.empty(9, dtype=T.cdouble).normal_(1, 2)",
    "T.empty(9, 2, dtype=T.cfloat)[:, 0].normal_(1, 2)",
    "T.multinomial(T.tensor([1.0, 2, 0, 5]), 20, True)",
    "T.multinomial(T.tensor([1.0, 2, 0, 5]), 3)",
    "T.multinomial(T.arange(1.0, 41).reshape(4, 10), 7, True)",
    "T.multinomial(T.arange(1.0, 41).reshape(4, 10), 1, True)",
    "T.multinomial(T.arange(1.0, 41).reshape(10, 4).t().double(), 9)",
    "T.poisson(T.arange(0.0, 60))",
    "T.binomial(T.arange(0.0, 60), T.linspace(0, 1, 60))",
    "T.binomial(T.tensor(300.0), T.linspace(0, 1, 6))",
    "T._standard_gamma(T.linspace(0.2, 20, 60))",
    "T._standard_gamma(T.linspace(0.2, 20, 60, dtype=T.float64))",
    "T._sample_dirichlet(T.linspace(0.2, 20, 60).reshape(5, 12))",
    "F.rrelu(T.linspace(-1, 1, 20), training=True)",
    "F.rrelu(T.linspace(-1, 1, 20, dtype=T.float64), 0.1, 0.9, training=True)",
    *(f"F.dropout{n}d(T.ones((5, 4) + (2,) * {n}), 0.3)" for n in (1, 2, 3)),
    *(f"F.dropout{n}d(T.ones((4,) + (2,) * {n}), 0.3)" for n in (1, 2, 3)),
    "F.feature_alpha_dropout(T.ones(5, 4, 3), 0.3, True)",
    "F.dropout(T.ones(5), 1.0)",
    "F.alpha_dropout(T.ones(5), 1.0, True)",
    "F.scaled_dot_product_attention(*[T.linspace(0, 1, 40).reshape(1, 2, 5, 4)] * 3, dropout_p=0.4)",
    "F.fractional_max_pool2d(T.rand(2, 3, 9, 9), 2, output_size=4)",
    "F.gumbel_softmax(T.ones(4, 5), tau=0.3, hard=True, dim=0)",
]


@pytest.mark.parametrize("code", OTHERS)
def test_functions(code):
    check(code)


LAYOUTS = [
    "T.ones(6, 4).t()",
    "T.ones(24, 2)[:, 0]",
    "T.ones(4, 12)[:, ::2].t()",
    "T.ones(2, 3, 4, 5).permute(2, 0, 3, 1)",
    "T.ones(3, 7, 2, dtype=T.float64).transpose(0, 2)",
]
IN_PLACE = [
    "uniform_()",
    "normal_(1, 2)",
    "exponential_()",
    "bernoulli_(0.5)",
    "random_(1000)",
    "log_normal_()",
]
LIKE = [
    "T.rand_like(x)",
    "T.randn_like(x)",
    "T.randint_like(x, 50)",
    "T.bernoulli(x * 0.4)",
    "T.bernoulli(x, 0.4)",
    "F.dropout(x, 0.4)",
    "F.gumbel_softmax(x)",
    "T.normal(x, 2.0)",
    "T.poisson(x * 30)",
    "T._standard_gamma(x * 0.7)",
    "T.binomial(x * 60, x * 0.3)",
    "T.rand_like(x, memory_format=T.contiguous_format)",
]


@pytest.mark.parametrize("layout", [*LAYOUTS, "T.ones(1, 5).expand(6, 5)"])
def test_layouts(layout):
    for code in LIKE:
        check(f"(lambda x, T, F: {code})({layout}, T, F)")
    if "expand" not in layout:
        for code in IN_PLACE:
            check(f"{layout}.{code}")


# -- modules, initial values, distributions ------------------------------------------
MODULES = """
Linear(5, 7, dtype=T.float64); Bilinear(3, 4, 5); Conv2d(3, 6, 3, groups=3); ConvTranspose1d(3, 6, 3); Embedding(10, 4)
EmbeddingBag(10, 4); LSTM(3, 4, 2, bidirectional=True); LSTM(3, 4, proj_size=2); GRUCell(3, 4); MultiheadAttention(8, 2)
MultiheadAttention(8, 2, kdim=3, vdim=5, add_bias_kv=True); Transformer(8, 2, 1, 1, 16); PReLU(); BatchNorm2d(3)
AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10]); Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
utils.parametrizations.spectral_norm(nn.Linear(4, 5)); RReLU().train()(T.linspace(-1, 1, 9))
LSTM(3, 4, 2, dropout=0.5)(T.ones(5, 2, 3))[0]; TransformerEncoderLayer(8, 2, 16)(T.ones(3, 2, 8))
""".replace("\n", ";").split(";")
INITS = """
uniform_(x, -2, 3); normal_(x, 1, 2); trunc_normal_(x, 0.5, 2.0, -1.0, 3.0); trunc_normal_(x, 0, 1, 0.5, 0.6)
trunc_normal_(x, 0, 0.02); xavier_uniform_(x, gain=2.0); xavier_normal_(x); kaiming_uniform_(x, a=0.3, mode='fan_out')
kaiming_normal_(x, nonlinearity='relu'); orthogonal_(x); sparse_(x, 0.25)
""".replace("\n", ";").split(";")


@pytest.mark.parametrize("code", [code.strip() for code in MODULES if code.strip()])
def test_modules(code):
    check(f"nn.{code}")


@pytest.mark.parametrize("code", [code.strip() for code in INITS if code.strip()])
def test_initial_values(code):
    for tensor in ("T.empty(9, 5)", "T.empty(30, 41, dtype=T.float64)", "T.empty(5, 9).t()", "T.empty(3, 3)"):
        check("init." + code.replace("(x", f"({tensor}"))


P, M, S = "T.tensor([0.2, 0.5, 0.8])", "T.tensor([0.3, -1.0, 2.0])", "T.tensor([0.5, 1.0, 2.0])"
DISTRIBUTIONS = f"""
Bernoulli({P}); Beta({S}, {P}); Binomial(20, {P}); Categorical({P}); Cauchy({M}, {S}); Chi2({S})
ContinuousBernoulli({P})
Dirichlet({S}); Exponential({S}); FisherSnedecor({S}, {S}); Gamma({S}, {S}); GeneralizedPareto({M}, {S}, {P})
Geometric({P}); Gumbel({M}, {S}); HalfCauchy({S}); InverseGamma({S}, {S}); Kumaraswamy({S}, {S}); LKJCholesky(2, 0.7)
Laplace({M}, {S}); LogNormal({M}, {S}); LogisticNormal({M}, {S})
LowRankMultivariateNormal({M}, T.ones(3, 2), {S}); MixtureSameFamily(D.Categorical({P}), D.Normal({M}, {S}))
Multinomial(10, {P}); MultivariateNormal({M}, T.eye(3)); NegativeBinomial(5, {P}); Normal({M}, {S})
OneHotCategorical({P}); Pareto({S}, {S}); Poisson({S} * 9); RelaxedBernoulli(T.tensor(0.7), {P})
RelaxedOneHotCategorical(T.tensor(0.7), {P}); StudentT({S}, {M}, {S}); Uniform({M}, {M} + 1); VonMises({M}, {S})
Weibull({S}, {S}); Wishart(T.tensor(4.0), T.eye(3))
""".replace("\n", ";").split(";")


@pytest.mark.parametrize("code", [code.strip() for code in DISTRIBUTIONS if code.strip()])
def test_distributions(code):
    for shape in ("()", "(7,)"):
        check(f"D.{code}.sample({shape})")


# -- programs of several draws ------------------------------------------
STEPS = [
    "T.rand(n)",
    "T.rand(n, dtype=T.float64)",
    "T.randn(n)",
    "T.randn(n, dtype=T.float64)",
    "T.randint(100, (n,))",
    "T.randint(2**40, (n,))",
    "T.randperm(n)",
    "T.empty(n).exponential_()",
    "T.empty(n, 2)[:, 1].normal_()",
    "T.bernoulli(T.full((n,), 0.4))",
    "T._standard_gamma(T.full((n,), 1.5))",
    "T.poisson(T.full((n,), 2.5))",
    "T.multinomial(T.ones(9), n + 1, True)",
]
COUNTS = st.sampled_from([0, 1, 2, 15, 16, 17, 100, 311, 623, 624, 625, 1250])


@given(SEEDS, st.lists(st.tuples(st.sampled_from(STEPS), COUNTS), max_size=8), st.integers(0, 8))
@settings(max_examples=40, deadline=None)
def test_programs_of_draws(seed, steps, moment):
    """Draws in any order agree, and so do the bytes of the state; each library goes on from the other's state."""
    found = []
    for T, other in ((torch, fxt), (fxt, torch)):
        T.manual_seed(seed)
        made, state = [], T.get_rng_state()
        for i, (code, n) in enumerate(steps):
            if i == moment:
                other.set_rng_state(other.tensor(list(T.get_rng_state().tolist()), dtype=other.uint8))
                T.rand(5)
                T.set_rng_state(T.tensor(other.get_rng_state().tolist(), dtype=T.uint8))
            made.append(eval(code, {"T": T, "n": n}).tolist())
        found.append((made, state.tolist(), T.get_rng_state().tolist(), T.initial_seed()))
    (theirs, *their_states), (ours, *our_states) = found
    for x, y in zip(ours, theirs):
        np.testing.assert_allclose(x, y, 1e-5, 1e-5)
    spare = slice(24 + 8 * 624 + 8, 24 + 8 * 624 + 16)  # a double, of which the last digit may differ
    assert our_states[0] == their_states[0] and our_states[2] == their_states[2]
    ours, theirs = (np.array(states[1], np.uint8) for states in (our_states, their_states))
    np.testing.assert_allclose(ours[spare].view(np.float64), theirs[spare].view(np.float64), 1e-14)
    ours[spare] = theirs[spare] = 0
    assert ours.tolist() == theirs.tolist()


def test_states_in_generators():
    for T in (torch, fxt):
        g = T.Generator().manual_seed(2**40 + 7)
        T.randn(3, generator=g)
        state = g.get_state()
        a = T.randn(4, generator=g)
        assert T.equal(T.randn(4, generator=T.Generator().set_state(state)), a)
        with T.random.fork_rng():
            T.manual_seed(5)
        bad = state.clone()
        bad[8:10] = 0  # words left
        for wrong in (bad, state[:-1], state.int(), [1]):
            with pytest.raises((RuntimeError, TypeError), match=r"mt19937|size 5056|ByteTensor"):
                g.set_state(wrong)


# -- data ------------------------------------------
SAMPLES = [
    "list(D.RandomSampler(range(10)))",
    "list(D.RandomSampler(range(10), True, 70))",
    "list(D.RandomSampler(range(10), False, 25))",
    "list(D.RandomSampler(range(10), num_samples=20, generator=T.default_generator))",
    "list(D.SubsetRandomSampler(range(10)))",
    "list(D.WeightedRandomSampler([0.1, 0.2, 0.7], 20))",
    "list(D.WeightedRandomSampler([0.1, 0.2, 0.7], 2, False))",
    "[list(x) for x in D.random_split(range(10), [0.7, 0.3])]",
    "(lambda l: [x.tolist() for _ in range(3) for x in l])(D.DataLoader(range(10), 3, shuffle=True))",
    "list(D.distributed.DistributedSampler(range(10), 2, 1, seed=4))",
]


@pytest.mark.parametrize("code", SAMPLES)
def test_orders_of_samples(code):
    found = []
    for T in (torch, fxt):
        T.manual_seed(3)
        found.append((eval(code, {"T": T, "D": T.utils.data}), T.rand(2).tolist()))
    assert found[0] == found[1]


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.filterwarnings(r"ignore:os\.fork\(\) was called:RuntimeWarning")
def test_numbers_in_workers():
    found = []
    for T in (torch, fxt):

        class Drawn(T.utils.data.Dataset):
            library = T

            def __len__(self):
                return 4

            def __getitem__(self, i):
                numbers = [
                    self.library.randint(1000, ()).item(),
                    random.randint(0, 1000),
                    np.random.randint(1000),
                ]
                return self.library.tensor([i, *numbers])

        T.manual_seed(3)
        options = {"num_workers": 2, "shuffle": True, "multiprocessing_context": "fork", "timeout": 60}
        found.append([batch.tolist() for batch in T.utils.data.DataLoader(Drawn(), 1, **options)])
    assert found[0] == found[1]
