"""Distributions by themselves: samples, their gradients, transforms of functions that use them."""

from __future__ import annotations

import copy
import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.compat as torch

D = torch.distributions
COUNT = 4000
A = torch.tensor([0.3, 1.0, 4.0], dtype=torch.float64)
B = torch.tensor([0.7, 2.0, 1.5], dtype=torch.float64)
P = torch.tensor([0.2, 0.5, 0.9], dtype=torch.float64)
MATRIX = torch.tensor([[2.0, 0.3, 0.0], [0.3, 1.0, -0.4], [0.0, -0.4, 1.5]], dtype=torch.float64)
FACTOR = torch.tensor([[1.0], [0.5], [-1.0]], dtype=torch.float64)

WITH_CDF = {
    "Normal": D.Normal(A, B),
    "Laplace": D.Laplace(A, B),
    "Cauchy": D.Cauchy(A, B),
    "Uniform": D.Uniform(-A, B),
    "Exponential": D.Exponential(B),
    "Gamma": D.Gamma(A, B),
    "Chi2": D.Chi2(A),
    "ContinuousBernoulli": D.ContinuousBernoulli(P),
    "GeneralizedPareto": D.GeneralizedPareto(A, B, P - 0.5),
    "Gumbel": D.Gumbel(A, B),
    "HalfNormal": D.HalfNormal(B),
    "HalfCauchy": D.HalfCauchy(B),
    "InverseGamma": D.InverseGamma(A, B),
    "Kumaraswamy": D.Kumaraswamy(A, B),
    "LogNormal": D.LogNormal(A, B),
    "Pareto": D.Pareto(A, B),
    "Weibull": D.Weibull(A, B),
    "mixture": D.MixtureSameFamily(D.Categorical(A.expand(3, 3)), D.Normal(A.expand(3, 3), B)),
    "transformed": D.TransformedDistribution(
        D.Normal(A, B), [D.SigmoidTransform(), D.AffineTransform(1.0, -2.0)]
    ),
}


@pytest.mark.parametrize("name", WITH_CDF)
def test_samples_have_the_distribution_function(name):
    """The test of Kolmogorov and Smirnov: a deviation of 2.5/√n has the probability 7e-6."""
    torch.manual_seed(3)
    distribution = WITH_CDF[name]
    values = distribution.sample((COUNT,))
    if name in ("Gamma", "Chi2", "InverseGamma"):
        values = values.clamp(min=1e-300, max=1e300)
    found = distribution.cdf(values).numpy()
    ranks = (np.arange(COUNT) + 0.5)[:, None] / COUNT
    assert np.abs(np.sort(found, axis=0) - ranks).max() < 2.5 / math.sqrt(COUNT)


WITH_MOMENTS = {
    "Bernoulli": D.Bernoulli(P),
    "Beta": D.Beta(A, B),
    "Binomial": D.Binomial(5, P),
    "Dirichlet": D.Dirichlet(A),
    "FisherSnedecor": D.FisherSnedecor(A + 3, 12 * A + 20),
    "Geometric": D.Geometric(P),
    "LowRankMultivariateNormal": D.LowRankMultivariateNormal(A, FACTOR, B),
    "Multinomial": D.Multinomial(4, A),
    "MultivariateNormal": D.MultivariateNormal(A, MATRIX),
    "MultivariateNormal, precision": D.MultivariateNormal(A, precision_matrix=MATRIX),
    "NegativeBinomial": D.NegativeBinomial(3 * B, P),
    "OneHotCategorical": D.OneHotCategorical(A),
    "Poisson": D.Poisson(10 * A),
    "StudentT": D.StudentT(A + 9, A, B),
    "Wishart": D.Wishart(torch.tensor(4.5, dtype=torch.float64), MATRIX),
}


ONE, TWO = torch.tensor(1.0), torch.tensor(2.0)


@pytest.mark.parametrize(
    "distribution",
    [
        D.Normal(0 * ONE, TWO),
        D.Laplace(0 * ONE, TWO),
        D.Cauchy(0 * ONE, TWO),
        D.HalfNormal(TWO),
        D.HalfCauchy(TWO),
        D.Gumbel(ONE, TWO),
        D.Weibull(TWO, TWO),
        D.LogNormal(ONE, TWO),
        D.Exponential(TWO),
        D.GeneralizedPareto(0 * ONE, ONE, 0.3 * ONE),
        D.GeneralizedPareto(0 * ONE, ONE, -0.3 * ONE),
    ],
    ids=repr,
)
def test_the_lower_tail_keeps_its_digits(distribution):
    p = torch.tensor([1e-30, 1e-12, 1e-5, 0.3, 0.9])
    torch.testing.assert_close(distribution.cdf(distribution.icdf(p)), p, rtol=2e-5, atol=0)


@pytest.mark.parametrize("name", WITH_MOMENTS)
def test_samples_have_mean_and_variance(name):
    torch.manual_seed(5)
    distribution = WITH_MOMENTS[name]
    values = distribution.sample((2 * COUNT,))
    assert values.shape == (2 * COUNT, *distribution.batch_shape, *distribution.event_shape)
    error = (distribution.variance / len(values)).sqrt()
    assert ((values.mean(0) - distribution.mean).abs() <= 5 * error + 1e-12).all()
    assert torch.allclose(values.var(0), distribution.variance, rtol=0.3, atol=1e-12)


def test_samples_of_angles_have_the_circular_moments():
    torch.manual_seed(0)
    von_mises = D.VonMises(torch.tensor([0.0, 3.0, -2.0]), torch.tensor([0.01, 1.0, 50.0]))
    angles = von_mises.sample((2 * COUNT,))
    assert ((angles >= -math.pi) & (angles <= math.pi)).all()
    offsets = angles - von_mises.loc
    assert torch.allclose(1 - offsets.cos().mean(0), von_mises.variance, atol=0.04)
    assert torch.allclose(offsets.sin().mean(0), torch.zeros(3), atol=0.04)


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("concentration", [0.6, 1.0, 3.0])
def test_samples_of_correlations_are_beta_variables(size, concentration):
    """Each entry of a matrix of this distribution is 2·b - 1 for a beta variable b of concentrations η + size/2 - 1."""
    torch.manual_seed(0)
    lkj = D.LKJCholesky(size, torch.tensor(concentration, dtype=torch.float64))
    factors = lkj.sample((COUNT,))
    assert lkj.support.check(factors).all()
    variance = 1 / (2 * (concentration + size / 2) - 1)
    entries = (factors @ factors.mT)[:, *torch.tril_indices(size, size, -1)]
    assert torch.allclose(entries.square().mean(0), torch.tensor(variance, dtype=torch.float64), rtol=0.15)


def test_a_categorical_draws_by_its_probabilities():
    torch.manual_seed(0)
    categorical = D.Categorical(torch.tensor([[1.0, 2.0, 5.0], [1.0, 0.0, 0.0]]))
    drawn = categorical.sample((COUNT,))
    assert drawn.shape == (COUNT, 2) and drawn.dtype == torch.int64
    counts = torch.nn.functional.one_hot(drawn, 3).double().mean(0)
    assert torch.allclose(counts, categorical.probs.double(), atol=0.04)


@pytest.mark.parametrize("kind", ["RelaxedBernoulli", "RelaxedOneHotCategorical"])
def test_relaxed_samples_are_nearest_to_what_is_drawn_as_often(kind):
    torch.manual_seed(0)
    relaxed = getattr(D, kind)(torch.tensor(0.3), P.float() if kind == "RelaxedBernoulli" else A.float())
    values = relaxed.sample((COUNT,))
    if kind == "RelaxedBernoulli":
        chosen = (values > 0.5).float().mean(0)
    else:
        chosen = torch.nn.functional.one_hot(values.argmax(-1), 3).float().mean(0)
    assert torch.allclose(chosen, relaxed.probs, atol=0.04)


# -- gradients of samples ------------------------------------------
PARAMETERS = {
    "Gamma": lambda a: D.Gamma(a, 1.5),
    "Weibull": lambda a: D.Weibull(2.0, a),
    "Kumaraswamy": lambda a: D.Kumaraswamy(a, 2.0),
    "ContinuousBernoulli": lambda a: D.ContinuousBernoulli(torch.sigmoid(a)),
    "Gumbel": lambda a: D.Gumbel(0.5, a),
    "Laplace": lambda a: D.Laplace(a, 2 * a),
    "GeneralizedPareto": lambda a: D.GeneralizedPareto(a, 1.0, 0.3),
    "HalfCauchy": lambda a: D.HalfCauchy(a),
    "LogNormal": lambda a: D.LogNormal(a, a),
    "Pareto": lambda a: D.Pareto(a, a),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_sample_moves_so_that_its_rank_stays(name):
    """dx/da = -(∂F/∂a)/f: the only way in which samples of one number can be differentiable in a parameter."""
    torch.manual_seed(1)
    a = torch.tensor([0.4, 1.0, 2.5], dtype=torch.float64, requires_grad=True)
    distribution = PARAMETERS[name](a)
    x = distribution.rsample()
    (found,) = torch.autograd.grad(x.sum(), a)
    x, distribution = x.detach(), PARAMETERS[name](a)
    (slope,) = torch.autograd.grad(distribution.cdf(x).sum(), a)
    assert torch.allclose(found, -slope / distribution.log_prob(x).exp(), rtol=1e-5)


MEANS = {
    "Beta": (lambda a: D.Beta(a, 2.0), lambda x: x),
    "Dirichlet": (lambda a: D.Dirichlet(torch.stack([a, 2 * a, a + 1], -1)), lambda x: x[..., 0]),
    "StudentT": (lambda a: D.StudentT(a + 6, a, 1.0), lambda x: x.square()),
    "FisherSnedecor": (lambda a: D.FisherSnedecor(a, a + 9), lambda x: x),
    "InverseGamma": (lambda a: D.InverseGamma(a + 4, 2.0), lambda x: x),
    "Wishart": (lambda a: D.Wishart(a + 3, MATRIX), lambda x: x[..., 0, 1]),
}


@pytest.mark.parametrize("name", MEANS)
def test_gradients_of_samples_average_to_that_of_the_mean(name):
    torch.manual_seed(2)
    make, read = MEANS[name]
    a = torch.tensor(1.3, dtype=torch.float64, requires_grad=True)
    each = a.detach().expand(4 * COUNT).requires_grad_()
    (found,) = torch.autograd.grad(read(make(each).rsample()).sum(), each)
    distribution = make(a)
    mean = (
        distribution.variance + distribution.mean.square() if name == "StudentT" else read(distribution.mean)
    )
    (wanted,) = torch.autograd.grad(mean, a)
    assert abs(found.mean() - wanted) < 5 * found.std() / math.sqrt(len(found))


@pytest.mark.parametrize(
    "make", [lambda a: D.Gamma(a, 1.0), lambda a: D.Dirichlet(a)], ids=["Gamma", "Dirichlet"]
)
def test_gamma_samples_are_differentiable_again(make):
    a = torch.tensor([0.5, 3.0], dtype=torch.float64, requires_grad=True)
    x = make(a).rsample().cos()
    (slope,) = torch.autograd.grad(x.sum(), a, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), a)
    assert curvature.isfinite().all() and (curvature != 0).all()


def test_tiny_concentrations_give_samples_inside_of_the_support():
    torch.manual_seed(0)
    tiny = torch.full((200,), 1e-3)
    assert (D.Gamma(tiny, 1.0).sample() > 0).all()
    beta = D.Beta(tiny, tiny).sample()
    assert beta.isfinite().all()
    assert torch.allclose(D.Dirichlet(tiny.reshape(50, 4)).sample().sum(-1), torch.ones(50))


# -- in transforms ------------------------------------------
DENSITIES = {
    "Normal": lambda x: D.Normal(x, 2.0).log_prob(torch.ones(3)).sum(),
    "Bernoulli": lambda x: D.Bernoulli(logits=x).log_prob(torch.ones(3)).sum(),
    "Beta": lambda x: D.Beta(x.exp(), 2.0).log_prob(torch.full((3,), 0.3)).sum(),
    "Binomial": lambda x: D.Binomial(3, logits=x).log_prob(torch.ones(3)).sum(),
    "Categorical": lambda x: D.Categorical(logits=x).log_prob(torch.tensor(1)),
    "Categorical, entropy": lambda x: D.Categorical(logits=x).entropy(),
    "Dirichlet": lambda x: D.Dirichlet(x.exp()).log_prob(torch.tensor([0.2, 0.3, 0.5])),
    "Gamma, cdf": lambda x: D.Gamma(x.exp(), 2.0).cdf(torch.ones(3)).sum(),
    "Independent": lambda x: D.Independent(D.Laplace(x, 1.0), 1).log_prob(torch.ones(3)),
    "MultivariateNormal": lambda x: D.MultivariateNormal(x, MATRIX.float()).log_prob(torch.ones(3)),
    "StudentT": lambda x: D.StudentT(x.exp(), x, 1.0).entropy().sum(),
    "mixture": lambda x: D.MixtureSameFamily(D.Categorical(logits=x), D.Normal(x, 1.0)).log_prob(
        torch.ones(())
    ),
    "transformed": lambda x: D.TransformedDistribution(D.Normal(x, 1.0), D.StickBreakingTransform()).log_prob(
        torch.full((4,), 0.25)
    ),
    "divergence": lambda x: D.kl_divergence(D.Normal(x, 1.0), D.Laplace(0.0, 1.0)).sum(),
}
BATCH = torch.tensor([[0.3, -0.5, 0.9], [1.1, 0.2, -0.7]])


@pytest.mark.parametrize("name", DENSITIES)
def test_densities_in_transforms(name):
    function = DENSITIES[name]
    one_by_one = torch.stack([function(x) for x in BATCH])
    assert torch.allclose(torch.func.vmap(function)(BATCH), one_by_one, rtol=1e-5, atol=1e-6)
    assert torch.allclose(fx.jit(function)(BATCH[0]), one_by_one[0], rtol=1e-5, atol=1e-6)
    x = BATCH[0].clone().requires_grad_()
    (wanted,) = torch.autograd.grad(function(x), x)
    for gradient in (torch.func.grad(function), torch.func.jacfwd(function), fx.grad(function)):
        assert torch.allclose(gradient(BATCH[0]), wanted, rtol=1e-4, atol=1e-5)
    curvature = torch.func.hessian(function)(BATCH[0])
    assert torch.allclose(curvature, curvature.mT, rtol=1e-4, atol=1e-5)
    assert torch.allclose(torch.func.vmap(torch.func.grad(function))(BATCH)[0], wanted, rtol=1e-4, atol=1e-5)


def test_validation_looks_at_every_entry_of_a_mapped_batch():
    scale = torch.tensor([1.0, 2.0, -1.0])
    with pytest.raises(ValueError, match="to satisfy the constraint GreaterThan"):
        torch.func.vmap(lambda s: D.Normal(0.0, s).entropy())(scale)
    with pytest.raises(ValueError, match="to be within the support"):
        torch.func.vmap(lambda x: D.Exponential(1.0).log_prob(x))(scale)


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_samples_under_vmap(randomness):
    torch.manual_seed(0)
    rates = torch.ones(4, 2)
    for make in (
        D.Exponential,
        lambda r: D.Gamma(r, 1.0),
        lambda r: D.Categorical(logits=r),
        lambda r: D.VonMises(r, r),
    ):
        drawn = torch.func.vmap(lambda r, make=make: make(r).sample((50,)), randomness=randomness)(rates)
        assert drawn.shape[:2] == (4, 50)
        assert (drawn == drawn[:1]).all() == (randomness == "same")


# -- what users do with distributions ------------------------------------------
def test_a_seed_fixes_samples():
    for distribution in (*WITH_CDF.values(), *WITH_MOMENTS.values()):
        torch.manual_seed(7)
        first = distribution.sample((2,))
        torch.manual_seed(7)
        assert torch.equal(first, distribution.sample((2,)))


def test_probabilities_and_logits_follow_from_one_another_once():
    probs = torch.tensor([0.2, 0.7], requires_grad=True)
    bernoulli = D.Bernoulli(probs)
    with torch.no_grad():
        logits = bernoulli.logits
    assert logits.requires_grad and bernoulli.logits is logits
    torch.func.vmap(bernoulli.log_prob)(torch.ones(3, 2))
    (found,) = torch.autograd.grad(logits.sum(), probs)
    assert torch.allclose(found, 1 / (probs * (1 - probs)))


def test_a_subclass_expands_if_it_is_made_like_its_base():
    class Named(D.Normal):
        name = "mine"

    class Standard(D.Normal):
        def __init__(self):
            super().__init__(0.0, 1.0)

    class Own(Standard):
        def expand(self, batch_shape, _instance=None):
            return super().expand(batch_shape, _instance=self._get_checked_instance(Own, _instance))

    assert type(Named(0.0, 1.0).expand((2,))) is Named
    assert Own().expand((2, 3)).batch_shape == (2, 3)
    with pytest.raises(NotImplementedError, match=r"must also define a custom .expand\(\) method"):
        Standard().expand((2,))


def test_a_distribution_of_ones_own():
    class Triangular(D.Distribution):
        arg_constraints = {"width": D.constraints.positive}  # noqa: RUF012
        has_rsample = True

        def __init__(self, width, validate_args=None):
            (self.width,) = D.utils.broadcast_all(width)
            super().__init__(self.width.shape, validate_args=validate_args)

        @D.constraints.dependent_property(is_discrete=False, event_dim=0)
        def support(self):
            return D.constraints.interval(-self.width, self.width)

        def log_prob(self, value):
            if self._validate_args:
                self._validate_sample(value)
            return ((self.width - value.abs()) / self.width.square()).log()

    triangular = Triangular(torch.tensor([1.0, 2.0]))
    assert repr(triangular) == "Triangular(width: torch.Size([2]))"
    assert torch.allclose(D.Independent(triangular, 1).log_prob(torch.zeros(2)), torch.tensor(-math.log(2)))
    with pytest.raises(ValueError, match="within the support"):
        triangular.log_prob(torch.tensor(1.5))
    with pytest.raises(ValueError, match="width"):
        Triangular(-1.0)
    with pytest.raises(NotImplementedError, match="entropy"):
        triangular.entropy()


def test_a_transform_of_ones_own_with_a_cache():
    calls = []

    class Cube(D.Transform):
        bijective, sign = True, 1
        domain = codomain = D.constraints.real

        def _call(self, x):
            calls.append("there")
            return x**3

        def _inverse(self, y):
            calls.append("back")
            return y.sign() * y.abs() ** (1 / 3)

        def log_abs_det_jacobian(self, x, y):
            return (3 * x.square()).log()

    x = torch.tensor([0.5, 2.0])
    cube = Cube(cache_size=1)
    assert cube.inv(cube(x)) is x and cube(x) is cube(x) and calls == ["there"]
    assert torch.allclose(cube.with_cache(0).inv(cube(x)), x) and calls == ["there", "back"]
    assert cube != Cube() and cube == cube and cube.inv == cube.inv
    transformed = D.TransformedDistribution(D.Normal(torch.zeros(2), 1.0), [cube])
    assert torch.allclose(transformed.cdf(x**3), D.Normal(0.0, 1.0).cdf(x))


def test_divergences_are_found_by_the_nearest_classes():
    class First(D.Normal): ...

    class Second(First): ...

    D.register_kl(First, D.Normal)(lambda p, q: "first")
    assert D.kl_divergence(Second(0.0, 1.0), D.Normal(0.0, 1.0)) == "first"
    assert D.kl_divergence(D.Normal(0.0, 1.0), Second(0.0, 1.0)) == 0


def test_distributions_are_copied_and_pickled():
    for distribution in (D.Normal(0.0, 1.0), D.LogNormal(0.0, 1.0), D.Independent(D.Beta(A, B), 1)):
        for other in (copy.deepcopy(distribution), pickle.loads(pickle.dumps(distribution))):
            assert repr(other) == repr(distribution)
            value = distribution.sample()
            assert torch.equal(other.log_prob(value), distribution.log_prob(value))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_dtypes_stay(dtype):
    scale = torch.ones(3, dtype=dtype)
    for distribution in (
        D.Normal(0, scale),
        D.Gamma(scale, 2),
        D.Gumbel(0, scale),
        D.Beta(scale, 1),
        D.Poisson(scale),
    ):
        value = distribution.sample()
        assert value.dtype == dtype
        assert distribution.log_prob(value).dtype == dtype


def test_empty_batches():
    assert D.Normal(torch.zeros(0), 1.0).sample((2,)).shape == (2, 0)
    assert D.MultivariateNormal(torch.zeros(0, 2), torch.eye(2)).log_prob(torch.zeros(0, 2)).shape == (0,)
    assert D.Dirichlet(torch.ones(0, 2)).rsample().shape == (0, 2)
    assert D.Categorical(torch.ones(0, 3)).sample().shape == (0,)


def test_threads_may_share_a_distribution():
    bernoulli = D.Bernoulli(torch.full((50,), 0.3))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: bernoulli.log_prob(bernoulli.sample()).shape, range(20), timeout=30))
    assert found == [(50,)] * 20


def test_errors_show_the_line():
    with pytest.raises(ValueError, match=r"D\.Normal\(0\.0, -1\.0\)  # here"):
        D.Normal(0.0, -1.0)  # here


def test_validation_can_be_turned_off():
    assert D.Normal(0.0, -1.0, validate_args=False).scale == -1
    assert not D.Normal(0.0, 1.0, validate_args=False).expand((2,))._validate_args
    try:
        D.Distribution.set_default_validate_args(False)
        assert D.Uniform(0.0, 1.0).log_prob(torch.tensor(2.0)) == -math.inf
    finally:
        D.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError, match="True or False"):
        D.Distribution.set_default_validate_args("yes")
