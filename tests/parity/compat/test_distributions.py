"""torch.distributions beside torch: densities, moments, divergences, transforms, errors."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.test_creation import built_in

LIBRARIES = (torch, fxt)
TOLERANCE = {"float32": 2e-4, "float64": 1e-8}


def entries(*shape, low=0.3, high=2.5, seed=0):
    return np.random.default_rng(seed).uniform(low, high, shape)


def matrix(n, seed=0):
    a = np.random.default_rng(seed).standard_normal((n, n))
    return a @ a.T + n * np.eye(n)


REAL, POSITIVE, PROBS = entries(3, low=-1, high=1), entries(2, 1), entries(3, low=0.1, high=0.9)
LOW, VECTOR = entries(2, 3, low=-1, high=1), entries(3, low=-1, high=1, seed=3)
# name → (class, parameters, those that are not Tensors)
CASES = {
    "Bernoulli": ("Bernoulli", {"probs": PROBS}, {}),
    "Bernoulli, logits": ("Bernoulli", {"logits": LOW}, {}),
    "Beta": ("Beta", {"concentration1": REAL + 1.5, "concentration0": POSITIVE}, {}),
    "Binomial": ("Binomial", {"probs": PROBS}, {"total_count": 4}),
    "Binomial, counts": ("Binomial", {"total_count": np.array([4.0, 2.0, 0.0]), "logits": LOW}, {}),
    "Categorical": ("Categorical", {"probs": entries(2, 3)}, {}),
    "Categorical, logits": ("Categorical", {"logits": LOW}, {}),
    "Cauchy": ("Cauchy", {"loc": REAL, "scale": POSITIVE}, {}),
    "Chi2": ("Chi2", {"df": POSITIVE}, {}),
    "ContinuousBernoulli": ("ContinuousBernoulli", {"probs": np.array([0.1, 0.5, 0.7])}, {}),
    "ContinuousBernoulli, logits": ("ContinuousBernoulli", {"logits": LOW}, {}),
    "Dirichlet": ("Dirichlet", {"concentration": entries(2, 3) + 0.3}, {}),
    "Exponential": ("Exponential", {"rate": POSITIVE}, {}),
    "FisherSnedecor": ("FisherSnedecor", {"df1": REAL + 3, "df2": 4 * POSITIVE}, {}),
    "Gamma": ("Gamma", {"concentration": REAL + 1.5, "rate": POSITIVE}, {}),
    "GeneralizedPareto": (
        "GeneralizedPareto",
        {"loc": REAL, "scale": POSITIVE, "concentration": np.array([0.2, -0.3, 0.7])},
        {},
    ),
    "Geometric": ("Geometric", {"probs": PROBS}, {}),
    "Geometric, logits": ("Geometric", {"logits": LOW}, {}),
    "Gumbel": ("Gumbel", {"loc": REAL, "scale": POSITIVE}, {}),
    "HalfCauchy": ("HalfCauchy", {"scale": POSITIVE}, {}),
    "HalfNormal": ("HalfNormal", {"scale": POSITIVE}, {}),
    "InverseGamma": ("InverseGamma", {"concentration": REAL + 2.5, "rate": POSITIVE}, {}),
    "Kumaraswamy": ("Kumaraswamy", {"concentration1": REAL + 1.5, "concentration0": POSITIVE}, {}),
    "LKJCholesky": ("LKJCholesky", {"concentration": entries(2)}, {"dim": 3}),
    "Laplace": ("Laplace", {"loc": REAL, "scale": POSITIVE}, {}),
    "LogNormal": ("LogNormal", {"loc": REAL, "scale": POSITIVE / 2}, {}),
    "LogisticNormal": ("LogisticNormal", {"loc": LOW, "scale": entries(2, 3)}, {}),
    "LowRankMultivariateNormal": (
        "LowRankMultivariateNormal",
        {"loc": LOW, "cov_factor": entries(3, 2), "cov_diag": entries(3)},
        {},
    ),
    "Multinomial": ("Multinomial", {"probs": entries(2, 3)}, {"total_count": 4}),
    "Multinomial, logits": ("Multinomial", {"logits": LOW}, {"total_count": 3}),
    "MultivariateNormal": ("MultivariateNormal", {"loc": LOW, "covariance_matrix": matrix(3)}, {}),
    "MultivariateNormal, precision": (
        "MultivariateNormal",
        {"loc": VECTOR, "precision_matrix": np.stack([matrix(3), matrix(3, 1)])},
        {},
    ),
    "MultivariateNormal, factor": (
        "MultivariateNormal",
        {"loc": LOW, "scale_tril": np.linalg.cholesky(matrix(3))},
        {},
    ),
    "NegativeBinomial": ("NegativeBinomial", {"total_count": 3 * POSITIVE, "probs": PROBS}, {}),
    "NegativeBinomial, logits": ("NegativeBinomial", {"logits": LOW}, {"total_count": 3}),
    "Normal": ("Normal", {"loc": REAL, "scale": POSITIVE}, {}),
    "Normal, numbers": ("Normal", {"loc": np.array(0.3)}, {"scale": 2.0}),
    "OneHotCategorical": ("OneHotCategorical", {"probs": entries(2, 3)}, {}),
    "OneHotCategoricalStraightThrough": ("OneHotCategoricalStraightThrough", {"logits": LOW}, {}),
    "Pareto": ("Pareto", {"scale": POSITIVE, "alpha": REAL + 2.5}, {}),
    "Poisson": ("Poisson", {"rate": POSITIVE}, {}),
    "RelaxedBernoulli": ("RelaxedBernoulli", {"temperature": np.array(0.7), "probs": PROBS}, {}),
    "RelaxedOneHotCategorical": (
        "RelaxedOneHotCategorical",
        {"temperature": np.array(0.7), "logits": LOW},
        {},
    ),
    "StudentT": ("StudentT", {"df": REAL + 3, "loc": POSITIVE, "scale": POSITIVE}, {}),
    "Uniform": ("Uniform", {"low": -POSITIVE, "high": REAL + 2}, {}),
    "VonMises": ("VonMises", {"loc": REAL, "concentration": POSITIVE}, {}),
    "Weibull": ("Weibull", {"scale": POSITIVE, "concentration": REAL + 2.5}, {}),
    "Wishart": ("Wishart", {"df": 4 * POSITIVE[:, 0] + 3, "covariance_matrix": matrix(3)}, {}),
    "Wishart, precision": ("Wishart", {"df": np.array(4.5), "precision_matrix": matrix(3)}, {}),
}
# What torch computes in single precision whatever the dtype: constants, counts, approximations of Bessel functions.
SINGLE_INSIDE = {"Multinomial": 1e-6, "VonMises": 1e-6}
# Where torch has no number though there is one: its formula takes the logarithm of a negative one.
MODES = {"Kumaraswamy"}


def dtypes_of(case):
    """torch has the generalized Pareto distribution in its default dtype only."""
    return ["float32"] if case == "GeneralizedPareto" else ["float64", "float32"]


def limit_for(case):
    return SINGLE_INSIDE.get(CASES[case][0], TOLERANCE[dtypes_of(case)[0]])


def build(T, case, dtype=None, requires_grad=False):
    """Return (the distribution, its parameters that are Tensors)."""
    kind, arrays, others = CASES[case]
    dtype = dtype or dtypes_of(case)[0]
    params = {n: T.tensor(a, dtype=getattr(T, dtype)) for n, a in arrays.items()}
    if requires_grad:
        params = {n: p.requires_grad_() for n, p in params.items()}
    return getattr(T.distributions, kind)(**params, **others), params


def sample_value(case, dtype=None, seed=0):
    """Draw what both are asked about, by torch."""
    torch.manual_seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return build(torch, case, dtype)[0].sample((2,)).numpy()


def array(x):
    return x.detach().numpy()


def outcome(function, *args):
    """Return what a function gives, or the class of its error."""
    try:
        return array(function(*args))
    except (NotImplementedError, AttributeError) as e:
        return built_in(e)


def assert_alike(theirs, ours, limit=1e-8):
    if isinstance(theirs, type):
        assert ours is theirs
        return
    assert not isinstance(ours, type), ours
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    np.testing.assert_allclose(ours, theirs, rtol=limit, atol=limit)


@pytest.mark.parametrize(("case", "dtype"), [(c, d) for c in CASES for d in dtypes_of(c)])
def test_densities_and_moments(case, dtype):
    (theirs, _), (ours, _) = (build(T, case, dtype) for T in LIBRARIES)
    limit = max(TOLERANCE[dtype], limit_for(case))
    assert ours.batch_shape == theirs.batch_shape and ours.event_shape == theirs.event_shape
    assert ours.has_rsample == theirs.has_rsample
    assert ours.has_enumerate_support == theirs.has_enumerate_support
    value = sample_value(case, dtype)
    at = np.linspace(0.1, 0.9, 5, dtype=dtype).reshape(-1, *(1,) * len(theirs.batch_shape))
    questions = {
        "log_prob": lambda T, d: d.log_prob(T.tensor(value)),
        "cdf": lambda T, d: d.cdf(T.tensor(value)),
        "icdf": lambda T, d: d.icdf(T.tensor(at)),
        **{n: lambda T, d, n=n: getattr(d, n) for n in ("mean", "variance", "stddev", "mode")},
        **{n: lambda T, d, n=n: getattr(d, n)() for n in ("entropy", "perplexity", "enumerate_support")},
    }
    for name, question in questions.items():
        wanted, found = outcome(question, torch, theirs), outcome(question, fxt, ours)
        if name == "mode" and case in MODES:
            wanted = np.where(np.isnan(wanted), found, wanted)
        assert_alike(wanted, found, limit)


@pytest.mark.parametrize("case", CASES)
def test_gradients_of_the_density(case):
    """To the parameters and the value, and those of the gradients."""
    value = sample_value(case)
    found = []
    for T in LIBRARIES:
        distribution, params = build(T, case, requires_grad=True)
        x = T.tensor(value, requires_grad=not distribution.support.is_discrete)
        wanted = [p for p in (*params.values(), x) if p.requires_grad]
        total = distribution.log_prob(x).sin().sum()
        first = T.autograd.grad(total, wanted, create_graph=True, allow_unused=True)
        meeting = sum(g.square().sum() for g in first if g is not None)
        second = T.autograd.grad(meeting, wanted, allow_unused=True)
        found.append([None if g is None else array(g) for g in (*first, *second)])
    for theirs, ours in zip(*found):
        ours = np.zeros_like(theirs) if ours is None and theirs is not None else ours
        theirs = np.zeros_like(ours) if theirs is None and ours is not None else theirs
        if theirs is not None:
            np.testing.assert_allclose(ours, theirs, rtol=100 * limit_for(case), atol=100 * limit_for(case))


@pytest.mark.parametrize("case", CASES)
def test_repr_and_expansion(case):
    texts, shapes, densities = [], [], []
    value = sample_value(case)
    for T in LIBRARIES:
        distribution, _ = build(T, case)
        texts.append(repr(distribution))
        wide = distribution.expand((4, *distribution.batch_shape))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            texts.append(repr(wide))
            shapes.append([tuple(s) for s in (wide.batch_shape, wide.event_shape, wide.sample((5,)).shape)])
        densities.append(array(wide.log_prob(T.tensor(value)[:1])))
    assert texts[:2] == texts[2:]
    assert shapes[0] == shapes[1]
    assert_alike(*densities, limit_for(case))


@pytest.mark.parametrize("case", CASES)
def test_constraints_and_support(case):
    (theirs, _), (ours, _) = (build(T, case) for T in LIBRARIES)
    assert repr(ours.support) == repr(theirs.support)
    assert (ours.support.event_dim, ours.support.is_discrete) == (
        theirs.support.event_dim,
        theirs.support.is_discrete,
    )
    assert {n: repr(c) for n, c in ours.arg_constraints.items()} == {
        n: repr(c) for n, c in theirs.arg_constraints.items()
    }
    value = sample_value(case)
    for changed in (value, value + 0.5, -value, 1 - value):
        wanted = array(theirs.support.check(torch.tensor(changed)))
        np.testing.assert_array_equal(array(ours.support.check(fxt.tensor(changed))), wanted)


def test_slopes_of_gamma_and_beta_variables():
    """torch's are exact to 1e-5 or so."""
    a, b, x = entries(5), entries(5, seed=1), entries(5, low=0.05, high=0.95, seed=2)
    found = [
        [
            array(T._dirichlet_grad(*map(T.tensor, (x, a, a + b)))),
            array(T._standard_gamma_grad(*map(T.tensor, (a, x)))),
        ]
        for T in LIBRARIES
    ]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4)


# -- divergences ------------------------------------------
def pairs():
    """The pairs for which torch has a divergence of its own, by cases."""
    classes = {}
    for case, (kind, _, _) in CASES.items():
        classes.setdefault(kind, case)
    known = torch.distributions.kl._KL_REGISTRY
    return [(classes[p], classes[q]) for p in classes for q in classes if (
        getattr(torch.distributions, p), getattr(torch.distributions, q)) in known
    ]  # fmt: skip


OTHER = {
    "Uniform": {"low": -4 * POSITIVE, "high": REAL + 4},
    "Pareto": {"scale": POSITIVE / 9, "alpha": REAL + 2.5},
}


@pytest.mark.parametrize(("p", "q"), pairs())
def test_divergences(p, q):
    found = []
    for T in LIBRARIES:
        first, params = build(T, p, requires_grad=True)
        kind, arrays, others = CASES[q]
        second = {n: T.tensor(a * 0.9) for n, a in OTHER.get(q, arrays).items()}
        second = getattr(T.distributions, kind)(**second, **others)
        value = T.distributions.kl_divergence(first, second)
        gradients = [None] * len(params)
        if T.isfinite(value).all():
            gradients = T.autograd.grad(value.sum(), list(params.values()), allow_unused=True)
        found.append([array(value), *[None if g is None else array(g) for g in gradients]])
    theirs, ours = found
    shape = np.broadcast_shapes(theirs[0].shape, ours[0].shape)
    np.testing.assert_allclose(ours[0], np.broadcast_to(theirs[0], shape), rtol=1e-8, atol=1e-10)
    for a, b in zip(theirs[1:], ours[1:]):
        if a is not None:
            np.testing.assert_allclose(b, a, rtol=1e-7, atol=1e-9)


def test_divergences_of_distributions_made_of_others():
    found = []
    for T in LIBRARIES:
        D = T.distributions
        normal = [D.Normal(T.tensor(REAL) * k, 1.0 + T.tensor(PROBS)) for k in (1, 2)]
        independent = [D.Independent(n, 1) for n in normal]
        lognormal = [
            D.TransformedDistribution(n, [D.ExpTransform(), D.AffineTransform(1.0, 2.0)]) for n in normal
        ]
        low_rank = build(T, "LowRankMultivariateNormal")[0]
        full = build(T, "MultivariateNormal")[0]
        chosen = [independent, lognormal, (low_rank, full), (full, low_rank), (low_rank, low_rank)]
        chosen.append([D.Chi2(T.tensor(POSITIVE)), D.Chi2(T.tensor(POSITIVE) + 1)])
        found.append([array(D.kl_divergence(p, q)) for p, q in chosen])
    for theirs, ours in zip(*found):
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-10)


def test_divergences_of_wishart_distributions():
    """By their formula, from which torch's differ by a tenth."""
    first, second = ({"df": df, "covariance_matrix": matrix(3, seed)} for df, seed in ((4.5, 0), (6.0, 1)))
    p, q = (fxt.distributions.Wishart(**{n: fxt.tensor(v) for n, v in w.items()}) for w in (first, second))
    n, m = first["df"], second["df"]
    ratio = np.linalg.solve(second["covariance_matrix"], first["covariance_matrix"])
    log_gamma = [torch.mvlgamma(torch.tensor(df / 2).double(), 3).item() for df in (n, m)]
    slope = sum(torch.digamma(torch.tensor(n / 2 - j / 2).double()).item() for j in range(3))
    wanted = -m / 2 * np.linalg.slogdet(ratio)[1] + n / 2 * (np.trace(ratio) - 3)
    wanted += log_gamma[1] - log_gamma[0] + (n - m) / 2 * slope
    assert fxt.distributions.kl_divergence(p, q).item() == pytest.approx(wanted, rel=1e-6)


# -- made of others ------------------------------------------
def combinations(D, T):
    normal = D.Normal(T.tensor(LOW), T.tensor(entries(2, 3)))
    weights = T.tensor(entries(2, 3))
    return {
        "Independent": D.Independent(normal, 1),
        "Independent, 0": D.Independent(normal, 0),
        "Independent, 2": D.Independent(D.Bernoulli(logits=T.tensor(LOW)), 2),
        "mixture": D.MixtureSameFamily(D.Categorical(weights), normal),
        "mixture of vectors": D.MixtureSameFamily(D.Categorical(weights[0, :2]), D.Independent(normal, 1)),
        "mixture of counts": D.MixtureSameFamily(D.Categorical(weights), D.Poisson(weights)),
        "transformed": D.TransformedDistribution(
            normal, [D.AffineTransform(0.5, T.tensor([-2.0, 1.0, 3.0]).double()), D.SigmoidTransform()]
        ),
        "transformed, broadcast": D.TransformedDistribution(
            D.Normal(T.tensor(0.0).double(), 1.0), D.AffineTransform(T.tensor(REAL), 2.0)
        ),
        "transformed, vectors": D.TransformedDistribution(
            normal, [D.TanhTransform(), D.StickBreakingTransform()]
        ),
        "transformed, reshaped": D.TransformedDistribution(
            D.Independent(normal, 1), [D.ReshapeTransform((3,), (3, 1)), D.ExpTransform()]
        ),
        "transformed, not at all": D.TransformedDistribution(normal, []),
        "transformed, independent": D.TransformedDistribution(
            D.Independent(normal, 1), D.IndependentTransform(D.SoftplusTransform(), 1)
        ),
    }


@pytest.mark.parametrize("name", combinations(torch.distributions, torch))
def test_distributions_made_of_others(name):
    theirs, ours = (combinations(T.distributions, T)[name] for T in LIBRARIES)
    assert repr(ours) == repr(theirs)
    assert (ours.batch_shape, ours.event_shape) == (theirs.batch_shape, theirs.event_shape)
    assert repr(ours.support) == repr(theirs.support)
    assert (ours.has_rsample, ours.has_enumerate_support) == (
        theirs.has_rsample,
        theirs.has_enumerate_support,
    )
    torch.manual_seed(0)
    value = theirs.sample((3,)).numpy()
    assert ours.sample((3,)).shape == value.shape
    assert_alike(array(theirs.log_prob(torch.tensor(value))), array(ours.log_prob(fxt.tensor(value))))
    for each in ("mean", "variance", "mode"):
        assert_alike(outcome(getattr, theirs, each), outcome(getattr, ours, each))
    assert_alike(outcome(theirs.entropy), outcome(ours.entropy))
    assert_alike(
        outcome(lambda: theirs.cdf(torch.tensor(value))), outcome(lambda: ours.cdf(fxt.tensor(value)))
    )
    wide = [d.expand((4, *d.batch_shape)) for d in (theirs, ours)]
    assert wide[0].batch_shape == wide[1].batch_shape
    assert_alike(
        array(wide[0].log_prob(torch.tensor(value)[:1])), array(wide[1].log_prob(fxt.tensor(value)[:1]))
    )


# -- transforms ------------------------------------------
def transforms(D, T):
    return {
        "Exp": D.ExpTransform(),
        "Power": D.PowerTransform(T.tensor([2.0, -1.0, 0.5]).double()),
        "Sigmoid": D.SigmoidTransform(),
        "Softplus": D.SoftplusTransform(),
        "Tanh": D.TanhTransform(),
        "Abs": D.AbsTransform(),
        "Affine": D.AffineTransform(T.tensor(REAL), T.tensor(-PROBS)),
        "Affine of vectors": D.AffineTransform(1.0, -2.0, event_dim=1),
        "CumulativeDistribution": D.CumulativeDistributionTransform(D.Normal(T.tensor(REAL), 1.0)),
        "Softmax": D.SoftmaxTransform(),
        "StickBreaking": D.StickBreakingTransform(),
        "CorrCholesky": D.CorrCholeskyTransform(),
        "Reshape": D.ReshapeTransform((3,), (1, 3)),
        "Compose": D.ComposeTransform(
            [D.AffineTransform(0.5, T.tensor(REAL)), D.ExpTransform(), D.StickBreakingTransform()]
        ),
        "Compose, inverted": D.ComposeTransform([D.ExpTransform(), D.AffineTransform(0.0, 3.0)]).inv.inv,
        "Identity": D.identity_transform,
        "Independent": D.IndependentTransform(D.ExpTransform(), 1),
        "Cat": D.CatTransform([D.ExpTransform(), D.TanhTransform()], -1, [2, 1]),
        "Cat of rows": D.CatTransform([D.ExpTransform(), D.TanhTransform()], 0, [1, 1]),
        "Stack": D.StackTransform([D.ExpTransform(), D.SigmoidTransform(), D.AffineTransform(1.0, 2.0)], -1),
        "Cached": D.ExpTransform(cache_size=1),
    }


@pytest.mark.parametrize("name", transforms(torch.distributions, torch))
def test_transforms(name):
    x, found = entries(2, 3, low=0.1, high=1.5), []
    for T in LIBRARIES:
        t = transforms(T.distributions, T)[name]
        given = T.tensor(x, requires_grad=True)
        y = t(given)
        back = t.inv(y)
        results = [y, back, outcome(t.log_abs_det_jacobian, given, y)]
        results.append(T.autograd.grad(y.sin().sum(), given, retain_graph=True)[0])
        if not isinstance(results[2], type):
            slope = t.log_abs_det_jacobian(given, y).sum()
            results.append(
                T.autograd.grad(slope, given, allow_unused=True)[0] if slope.requires_grad else None
            )
        numbers = [r if isinstance(r, type | np.ndarray) or r is None else array(r) for r in results]
        shapes = [tuple(t.forward_shape((2, 3))), tuple(t.inverse_shape(tuple(y.shape)))]
        texts = [repr(t), repr(t.domain), repr(t.codomain), t.bijective, repr(t.inv)]
        texts += [t.domain.event_dim, t.codomain.event_dim, t == t, t.inv.inv is t]
        sign = None
        with contextlib.suppress(NotImplementedError):
            sign = np.asarray(t.sign).tolist()
        found.append((numbers, shapes, texts, sign))
    assert found[0][1:] == found[1][1:]
    for theirs, ours in zip(found[0][0], found[1][0]):
        if theirs is None or ours is None:
            assert theirs is None or not theirs.any()
            assert ours is None or not ours.any()
        else:
            assert_alike(theirs, ours)


@pytest.mark.parametrize("name", ["LowerCholesky", "PositiveDefinite"])
def test_transforms_of_matrices(name):
    x, found = entries(2, 3, 3, low=-1, high=1), []
    for T in LIBRARIES:
        t = getattr(T.distributions, f"{name}Transform")()
        found.append([array(v) for v in (t(T.tensor(x)), t.inv(t(T.tensor(x))))])
    for theirs, ours in zip(*found):
        assert_alike(theirs, ours)


CONSTRAINTS = {
    "real": lambda C: C.real,
    "positive": lambda C: C.positive,
    "greater than": lambda C: C.greater_than(1.5),
    "greater than or equal": lambda C: C.greater_than_eq(-1.0),
    "less than": lambda C: C.less_than(0.5),
    "unit interval": lambda C: C.unit_interval,
    "interval": lambda C: C.interval(-1.0, 3.0),
    "half-open interval": lambda C: C.half_open_interval(-1.0, 3.0),
    "simplex": lambda C: C.simplex,
    "vectors": lambda C: C.independent(C.positive, 1),
    "cat": lambda C: C.cat([C.positive, C.real], -1, [1, 2]),
    "stack": lambda C: C.stack([C.positive, C.real, C.unit_interval], -1),
    "corr_cholesky": lambda C: C.corr_cholesky,
}


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_transforms_to_constrained_values(name, registry):
    x, found = entries(2, 3, low=-2, high=2), []
    for T in LIBRARIES:
        constraint = CONSTRAINTS[name](T.distributions.constraints)
        t = getattr(T.distributions, registry)(constraint)
        y = t(T.tensor(x))
        assert constraint.check(y).all()
        found.append((repr(t), array(y)))
    assert found[0][0] == found[1][0]
    assert_alike(found[0][1], found[1][1])


def test_constraints_check_like_torch():
    values = {
        "lower_triangular": np.stack([np.tril(matrix(3)), matrix(3)]),
        "square": matrix(3)[:2],
        "symmetric": np.stack([matrix(3), np.tril(matrix(3))]),
        "positive_semidefinite": np.stack([matrix(3), -matrix(3), np.ones((3, 3)) * 2]),
        "positive_definite": np.stack([matrix(3), -matrix(3)]),
        "lower_cholesky": np.stack([np.tril(matrix(3)), -np.tril(matrix(3))]),
        "one_hot": np.array([[0.0, 1, 0], [1, 1, 0], [0.5, 0.5, 0]]),
        "boolean": np.array([0.0, 1, 0.5, np.nan]),
        "nonnegative_integer": np.array([0.0, 2, -1, 0.5]),
        "positive_integer": np.array([0.0, 2, -1, 0.5]),
        "real": np.array([0.0, np.inf, np.nan]),
        "real_vector": np.array([[0.0, np.inf], [np.nan, 1]]),
        "simplex": np.array([[0.5, 0.5], [0.5, 0.6], [1.5, -0.5]]),
    }
    for name, value in values.items():
        theirs, ours = (getattr(T.distributions.constraints, name).check(T.tensor(value)) for T in LIBRARIES)
        np.testing.assert_array_equal(array(ours), array(theirs), err_msg=name)


# -- errors ------------------------------------------
MISTAKES = {
    "a negative scale": lambda T, D: D.Normal(0.0, -1.0),
    "a negative scale in a batch": lambda T, D: D.Normal(T.ones(3), T.tensor([1.0, -1.0, 2.0])),
    "text": lambda T, D: D.Normal("a", 1.0),
    "ends in the wrong order": lambda T, D: D.Uniform(1.0, 0.0),
    "a value outside": lambda T, D: D.Uniform(0.0, 1.0).log_prob(T.tensor(2.0)),
    "a negative value": lambda T, D: D.Exponential(1.0).log_prob(T.tensor(-2.0)),
    "neither 0 nor 1": lambda T, D: D.Bernoulli(T.tensor(0.25)).log_prob(T.tensor(2.0)),
    "a number": lambda T, D: D.Normal(0.0, 1.0).log_prob(1.0),
    "probs and logits": lambda T, D: D.Bernoulli(0.3, logits=1.0),
    "nothing": lambda T, D: D.Categorical(),
    "a single probability": lambda T, D: D.Categorical(T.tensor(1.0)),
    "a single concentration": lambda T, D: D.Dirichlet(T.tensor(1.0)),
    "no matrix": lambda T, D: D.MultivariateNormal(T.ones(2)),
    "no vector": lambda T, D: D.MultivariateNormal(T.tensor(1.0), T.eye(2)),
    "a number as a matrix": lambda T, D: D.MultivariateNormal(T.ones(2), T.tensor(1.0)),
    "no triangle": lambda T, D: D.MultivariateNormal(T.ones(2), scale_tril=T.ones(2, 2)),
    "a vector of another length": lambda T, D: D.MultivariateNormal(T.ones(2), T.eye(2)).log_prob(T.ones(3)),
    "another batch": lambda T, D: D.MultivariateNormal(T.ones(3, 2), T.eye(2)).log_prob(T.ones(2, 2)),
    "low rank, no matrix": lambda T, D: D.LowRankMultivariateNormal(T.ones(2), T.ones(2), T.ones(2)),
    "low rank, another size": lambda T, D: D.LowRankMultivariateNormal(T.ones(2), T.ones(3, 1), T.ones(2)),
    "low rank, diagonal": lambda T, D: D.LowRankMultivariateNormal(T.ones(2), T.ones(2, 1), T.ones(3)),
    "different counts": lambda T, D: D.Binomial(T.tensor([3.0, 4.0]), T.tensor(0.5)).enumerate_support(),
    "counts that are Tensors": lambda T, D: D.Multinomial(T.tensor(3), T.ones(3)),
    "too many dimensions": lambda T, D: D.Independent(D.Normal(T.ones(3), T.ones(3)), 2),
    "a product of supports": lambda T, D: D.Independent(D.Bernoulli(T.ones(3) / 2), 1).enumerate_support(),
    "a mixture of what is not categorical": lambda T, D: D.MixtureSameFamily(
        D.Normal(0.0, 1.0), D.Normal(0.0, 1.0)
    ),
    "components that are none": lambda T, D: D.MixtureSameFamily(D.Categorical(T.ones(3)), 3),
    "another number of components": lambda T, D: D.MixtureSameFamily(
        D.Categorical(T.ones(3)), D.Normal(T.ones(2), T.ones(2))
    ),
    "another batch of components": lambda T, D: D.MixtureSameFamily(
        D.Categorical(T.ones(2, 3)), D.Normal(T.ones(3, 3), 1.0)
    ),
    "no transform": lambda T, D: D.TransformedDistribution(D.Normal(0.0, 1.0), 3),
    "no transforms": lambda T, D: D.TransformedDistribution(D.Normal(0.0, 1.0), [3]),
    "too few dimensions": lambda T, D: D.TransformedDistribution(
        D.Normal(0.0, 1.0), D.StickBreakingTransform()
    ),
    "a matrix of size 1": lambda T, D: D.LKJCholesky(1),
    "Wishart without a matrix": lambda T, D: D.Wishart(T.tensor(3.0)),
    "a probability of 0": lambda T, D: D.Geometric(T.tensor([0.0, 0.5])),
    "a batch that does not expand": lambda T, D: D.Normal(0.0, 1.0).expand([2]).expand([3]),
    "an unknown constraint": lambda T, D: D.biject_to(D.constraints.integer_interval(0, 3)),
    "a constraint that is none": lambda T, D: D.transform_to.register(3, lambda c: c),
    "a dependent constraint": lambda T, D: D.constraints.dependent.check(T.ones(2)),
    "an unknown dimension": lambda T, D: D.constraints.dependent.event_dim,
    "another number of elements": lambda T, D: D.ReshapeTransform((2,), (3,)),
    "a great cache": lambda T, D: D.ExpTransform(cache_size=2),
    "a shape without a vector": lambda T, D: D.StickBreakingTransform().forward_shape(()),
    "another shape": lambda T, D: D.ReshapeTransform((2,), (2, 1)).forward_shape((3,)),
    "no triangular number": lambda T, D: D.CorrCholeskyTransform().forward_shape((4,)),
    "no samples with gradients": lambda T, D: D.Poisson(1.0).rsample(),
    "no quantiles": lambda T, D: D.Gamma(1.0, 1.0).icdf(T.ones(1)),
    "no support to list": lambda T, D: D.Normal(0.0, 1.0).enumerate_support(),
    "an unknown divergence": lambda T, D: D.kl_divergence(D.Cauchy(0.0, 1.0), D.Poisson(1.0)),
    "more trials": lambda T, D: D.kl_divergence(D.Binomial(3, T.tensor(0.5)), D.Binomial(4, T.tensor(0.5))),
    "a triangle of no size": lambda T, D: D.utils.vec_to_tril_matrix(T.ones(5)),
    "a diagonal that is none": lambda T, D: D.utils.tril_matrix_to_vec(T.ones(2, 2), 2),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_errors(mistake, monkeypatch):
    found = []
    for T in LIBRARIES:
        # torch validates no longer once a test has loaded its compiler.
        monkeypatch.setattr(T.distributions.Distribution, "_validate_args", True)
        with pytest.raises(Exception) as e:
            MISTAKES[mistake](T, T.distributions)
        found.append((built_in(e.value), str(e.value)))
    (kind, text), (our_kind, our_text) = found
    assert our_kind is kind
    assert our_text.startswith(text.split("\n")[0])


# -- names ------------------------------------------
def test_every_name_is_there():
    assert set(torch.distributions.__all__) <= set(dir(fxt.distributions))
    for part in ("constraints", "transforms", "constraint_registry", "utils", "kl", "distribution"):
        theirs, ours = getattr(torch.distributions, part), getattr(fxt.distributions, part)
        assert [n for n in theirs.__all__ if not hasattr(ours, n)] == []


def test_packed_triangles():
    for diag in (-2, -1, 0, 1, 2):
        theirs, ours = (
            T.distributions.utils.tril_matrix_to_vec(T.tensor(matrix(4)), diag) for T in LIBRARIES
        )
        assert_alike(array(theirs), array(ours))
        if diag <= 0:
            wanted = torch.distributions.utils.vec_to_tril_matrix(theirs, diag)
            assert_alike(array(wanted), array(fxt.distributions.utils.vec_to_tril_matrix(ours, diag)))
