"""The known divergences, registered for `kl_divergence`.

Two distributions of one family have a formula. For different families the divergence is −H(p) − E log q(X): the cross
entropy follows from a few moments of X under p, and is infinite where the support of p exceeds that of q.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._core.tensor import Tensor
from ..errors import ArgumentValueError, NotSupportedError
from .categorical import Categorical, OneHotCategorical
from .combined import Independent
from .continuous import LOG_TWO_PI, Cauchy, Laplace, Normal, Uniform
from .exp_family import ExponentialFamily
from .families import Gumbel, HalfNormal, Pareto
from .kl import kl_divergence, register_kl
from .multivariate import (
    LowRankMultivariateNormal,
    MultivariateNormal,
    half_log_det,
    mahalanobis,
    solve_lower,
)
from .odds import Bernoulli, Binomial, ContinuousBernoulli, Geometric, Poisson
from .positive import Beta, Dirichlet, Exponential, Gamma
from .transformed_distribution import TransformedDistribution
from .utils import euler_constant, sum_rightmost, torch


# -- of one family ------------------------------------------
@register_kl(Normal, Normal)
def kl_normal(p, q) -> Tensor:
    ratio = (p.scale / q.scale).square()
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).square() - 1 - ratio.log())


@register_kl(Laplace, Laplace)
def kl_laplace(p, q) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


@register_kl(Cauchy, Cauchy)
def kl_cauchy(p, q) -> Tensor:
    """Chyzak and Nielsen, "A closed-form formula for the Kullback-Leibler divergence between Cauchy distributions"
    (2019)."""
    far = (p.scale + q.scale).square() + (p.loc - q.loc).square()
    return far.log() - (4 * p.scale * q.scale).log()


@register_kl(Exponential, Exponential)
def kl_exponential(p, q) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Gamma, Gamma)
def kl_gamma(p, q) -> Tensor:
    a, b = p.concentration, q.concentration
    return (
        b * (p.rate / q.rate).log()
        + torch.lgamma(b)
        - torch.lgamma(a)
        + (a - b) * torch.digamma(a)
        + (q.rate - p.rate) * (a / p.rate)
    )


@register_kl(Gumbel, Gumbel)
def kl_gumbel(p, q) -> Tensor:
    ratio, offset = p.scale / q.scale, (p.loc - q.loc) / q.scale
    spread = (torch.lgamma(1 + ratio) - offset).exp()
    return offset - ratio.log() + ratio * euler_constant + spread - (1 + euler_constant)


@register_kl(Pareto, Pareto)
def kl_pareto(p, q) -> Tensor:
    ratio = q.alpha / p.alpha
    value = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return torch.where(p.scale < q.scale, math.inf, value)


@register_kl(Uniform, Uniform)
def kl_uniform(p, q) -> Tensor:
    value = ((q.high - q.low) / (p.high - p.low)).log()
    return torch.where((q.low > p.low) | (q.high < p.high), math.inf, value)


@register_kl(Dirichlet, Dirichlet)
def kl_dirichlet(p, q) -> Tensor:
    a, b = p.concentration, q.concentration
    slopes = torch.digamma(a) - torch.digamma(a.sum(-1, True))
    return q._log_normalizer(b) - p._log_normalizer(a) + ((a - b) * slopes).sum(-1)


@register_kl(Bernoulli, Bernoulli)
def kl_bernoulli(p, q) -> Tensor:
    softplus = torch.nn.functional.softplus
    success = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    failure = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    success = torch.where(p.probs == 0, 0.0, torch.where(q.probs == 0, math.inf, success))
    failure = torch.where(p.probs == 1, 0.0, torch.where(q.probs == 1, math.inf, failure))
    return success + failure


@register_kl(Binomial, Binomial)
def kl_binomial(p, q) -> Tensor:
    if bool((p.total_count < q.total_count).any()):
        raise NotSupportedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented",
            hint="total_count of both the same; or p.log_prob(x) - q.log_prob(x), averaged over x = "
            "p.sample((n,))",
        )
    each = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return torch.where(p.total_count > q.total_count, math.inf, p.total_count * each)


@register_kl(Geometric, Geometric)
def kl_geometric(p, q) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Poisson, Poisson)
def kl_poisson(p, q) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Bernoulli, Poisson)
def kl_bernoulli_poisson(p, q) -> Tensor:
    return q.rate - p.probs * q.rate.log() - p.entropy()  # 0 and 1 have the factorial 1


@register_kl(Categorical, Categorical)
def kl_categorical(p, q) -> Tensor:
    each = p.probs * (p.logits - q.logits)
    return torch.where(p.probs == 0, 0.0, torch.where(q.probs == 0, math.inf, each)).sum(-1)


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def kl_multivariate_normal(p, q) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ArgumentValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed",
            hint=f"{p.event_shape} and {q.event_shape}",
        )
    ours, theirs = p.scale_tril, q.scale_tril
    trace = solve_lower(theirs, ours).square().flatten(-2).sum(-1)
    square = mahalanobis(theirs, q.loc - p.loc)
    return half_log_det(theirs) - half_log_det(ours) + 0.5 * (trace + square - p.event_shape[0])


@register_kl(ExponentialFamily, ExponentialFamily)
def kl_exponential_family(p, q) -> Tensor:
    """The Bregman divergence of the normalizer: F(θ′) − F(θ) − ⟨θ′ − θ, ∇F(θ)⟩."""
    if type(p) is not type(q):
        raise NotSupportedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman "
            "divergences",
            hint=f"{type(p).__name__} and {type(q).__name__}: register_kl enters one",
        )
    params, normalizer, gradients = p._fx_normalizer_gradients()
    others = q._natural_params
    result = q._log_normalizer(*others) - normalizer
    for param, other, gradient in zip(params, others, gradients):
        term = (other - param) * gradient
        result = result - sum_rightmost(
            term, term.dim() - len(torch.broadcast_shapes(p.batch_shape, q.batch_shape))
        )
    return result


# -- of distributions made of others ------------------------------------------
register_kl(HalfNormal, HalfNormal)(lambda p, q: kl_normal(p.base_dist, q.base_dist))
register_kl(Beta, Beta)(lambda p, q: kl_dirichlet(p._dirichlet, q._dirichlet))
register_kl(OneHotCategorical, OneHotCategorical)(lambda p, q: kl_categorical(p._categorical, q._categorical))


@register_kl(Independent, Independent)
def kl_independent(p, q) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotSupportedError(
            "different numbers of dimensions are reinterpreted: "
            f"{p.reinterpreted_batch_ndims} and {q.reinterpreted_batch_ndims}",
            hint="Independent(base, n) with one n for both",
        )
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def kl_transformed(p, q) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotSupportedError(
            "the divergence of distributions with different transforms is not known",
            hint="p.log_prob(x) - q.log_prob(x), averaged over x = p.rsample((n,))",
        )
    base = kl_divergence(p.base_dist, q.base_dist)
    return sum_rightmost(base, len(p.event_shape) - len(p.base_dist.event_shape))


# -- of two families: moments of X under p ------------------------------------------
def mean_log(p) -> Tensor:
    """The mean of log X."""
    if isinstance(p, Beta):
        return torch.digamma(p.concentration1) - torch.digamma(p.concentration1 + p.concentration0)
    if isinstance(p, Gamma):
        return torch.digamma(p.concentration) - p.rate.log()
    if isinstance(p, Exponential):
        return -euler_constant - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    xlogy = torch.special.xlogy  # Uniform
    return (xlogy(p.high, p.high) - xlogy(p.low, p.low)) / (p.high - p.low) - 1


def mean_log_rest(p) -> Tensor:
    """The mean of log(1 - X), X uniform."""
    xlogy, above, below = torch.special.xlogy, 1 - p.low, 1 - p.high
    return (xlogy(above, above) - xlogy(below, below)) / (p.high - p.low) - 1


def mean_decay(p, rate) -> Tensor:
    """The mean of exp(-rate · X)."""
    if isinstance(p, Gamma):
        return (1 + rate / p.rate).pow(-p.concentration)
    if isinstance(p, Exponential):
        return p.rate / (p.rate + rate)
    if isinstance(p, Normal):
        return (0.5 * (p.scale * rate).square() - p.loc * rate).exp()
    return ((-rate * p.low).exp() - (-rate * p.high).exp()) / (rate * (p.high - p.low))  # Uniform


def mean_distance(p, loc) -> Tensor:
    """The mean of |X - loc|, X normal."""
    offset = (p.loc - loc) / p.scale
    density = (-0.5 * offset.square()).exp() / math.sqrt(2 * math.pi)
    return p.scale * (2 * density + offset * torch.erf(offset / math.sqrt(2)))


# -- and what the mean of log q(X) is in terms of them ------------------------------------------
def under_normal(p, q) -> Tensor:
    spread = (p.variance + (p.mean - q.loc).square()) / q.variance
    return -0.5 * (LOG_TWO_PI + spread) - q.scale.log()


def under_exponential(p, q) -> Tensor:
    return q.rate.log() - q.rate * p.mean


def under_gamma(p, q) -> Tensor:
    a = q.concentration
    return a * q.rate.log() - torch.lgamma(a) + (a - 1) * mean_log(p) - q.rate * p.mean


def under_gumbel(p, q) -> Tensor:
    rate = q.scale.reciprocal()
    fallen = (q.loc - p.mean) * rate
    return fallen - (q.loc * rate).exp() * mean_decay(p, rate) - q.scale.log()


def under_laplace(p, q) -> Tensor:
    return -(2 * q.scale).log() - mean_distance(p, q.loc) / q.scale


def under_pareto(p, q) -> Tensor:
    return q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * mean_log(p)


def under_uniform(p, q) -> Tensor:
    return -(q.high - q.low).log()


def under_beta(p, q) -> Tensor:
    a, b = q.concentration1, q.concentration0
    return (a - 1) * mean_log(p) + (b - 1) * mean_log_rest(p) - q._log_normalizer(a, b)


def under_continuous_bernoulli(p, q) -> Tensor:
    return p.mean * q.logits + (-q.probs).log1p() + q._fx_log_factor


def reach(p) -> tuple[Any, Any]:
    """The ends of the support."""
    support = p.support
    return getattr(support, "lower_bound", -math.inf), getattr(support, "upper_bound", math.inf)


def enter_cross_entropy(under: Callable[[Any, Any], Tensor], type_q: type, *types_p: type) -> None:
    """Enter −H(p) − E log q(X), infinite where p reaches out of the support of q."""

    def divergence(p, q) -> Tensor:
        (low, high), (q_low, q_high) = reach(p), reach(q)
        value = -p.entropy() - under(p, q)
        outside = torch.as_tensor(low < q_low) | torch.as_tensor(high > q_high)
        return torch.where(outside, math.inf, value)

    for type_p in types_p:
        register_kl(type_p, type_q)(divergence)


@register_kl(Poisson, Bernoulli)
@register_kl(Poisson, Binomial)
def kl_never_inside(p, q) -> Tensor:
    """The divergence from a distribution whose support ends before that of p does."""
    like = p.mean + q.mean
    return torch.full_like(like, math.inf)


def enter_never_inside(type_q: type, *types_p: type) -> None:
    for type_p in types_p:
        register_kl(type_p, type_q)(kl_never_inside)


enter_cross_entropy(
    under_normal, Normal, Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform
)
enter_cross_entropy(under_exponential, Exponential, Beta, ContinuousBernoulli, Gamma, Pareto, Uniform)
enter_cross_entropy(under_gamma, Gamma, Beta, Exponential, Pareto, Uniform)
enter_cross_entropy(under_gumbel, Gumbel, Exponential, Gamma, Normal, Uniform)
enter_cross_entropy(under_laplace, Laplace, Normal)
enter_cross_entropy(under_pareto, Pareto, Uniform)
enter_cross_entropy(under_uniform, Uniform, Beta, ContinuousBernoulli)
enter_cross_entropy(under_beta, Beta, Uniform)
enter_cross_entropy(under_continuous_bernoulli, ContinuousBernoulli, Beta, ContinuousBernoulli, Uniform)
enter_never_inside(Beta, Exponential, Gamma, Gumbel, Laplace, Normal, Pareto)
enter_never_inside(ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Normal, Pareto)
enter_never_inside(Uniform, Exponential, Gamma, Gumbel, Laplace, Normal, Pareto)
enter_never_inside(Exponential, Gumbel, Laplace, Normal)
enter_never_inside(Gamma, Gumbel, Laplace, Normal)
enter_never_inside(Pareto, Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Normal)
