"""Continuous distributions on the real line or on an interval."""

from __future__ import annotations

import math

from ...random import laws
from ...random.laws import CONTINUOUS_1, CONTINUOUS_2, chapter
from .._core.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .parameters import parameter
from .standard import FUNCTIONS, LocationScale
from .utils import attribute_of, draw_inside, draw_normal, known_truth, torch

LOG_TWO_PI = math.log(2 * math.pi)


class Normal(LocationScale, ExponentialFamily):
    """The normal distribution, of density e^(−(x − loc)²/(2·scale²))/(scale·√2π).

    >>> normal = torch.distributions.Normal(0.0, 2.0)
    >>> normal, normal.log_prob(torch.tensor(0.0))
    (Normal(loc: 0.0, scale: 2.0), tensor(-1.6121))
    """

    _fx_law = laws.Normal.over(FUNCTIONS)
    loc = parameter("the mean", constraints.real)
    scale = parameter("the standard deviation", constraints.positive)
    support = constraints.real
    _mean_carrier_measure = 0

    def __init__(self, loc, scale, validate_args: bool | None = None):
        self._fx_start_with(validate_args, loc=loc, scale=scale)

    mean = mode = attribute_of("loc")
    stddev = attribute_of("scale")

    @property
    def variance(self) -> Tensor:
        return self.scale.square()

    def rsample(self, sample_shape=()) -> Tensor:
        noise = draw_normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + noise * self.scale

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.loc / self.variance, -0.5 / self.variance

    def _log_normalizer(self, x, y) -> Tensor:
        return -0.25 * x.square() / y + 0.5 * (-math.pi / y).log()


class Laplace(LocationScale):
    """The Laplace distribution, of density exp(-|x - loc|/scale)/(2·scale).

    >>> d = torch.distributions.Laplace(0.0, 1.0)
    >>> d.log_prob(torch.tensor(1.0)), d.variance
    (tensor(-1.6931), tensor(2.))
    """

    _fx_law = laws.Laplace.over(FUNCTIONS)
    loc = parameter("the mean", constraints.real)
    scale = parameter("the mean distance from it", constraints.positive)
    support = constraints.real

    def __init__(self, loc, scale, validate_args: bool | None = None):
        self._fx_start_with(validate_args, loc=loc, scale=scale)

    mean = mode = attribute_of("loc")

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.square()

    @property
    def stddev(self) -> Tensor:
        return math.sqrt(2) * self.scale

    def rsample(self, sample_shape=()) -> Tensor:
        made = self.loc.new_empty(self._extended_shape(sample_shape))
        side = made.uniform_(torch.finfo(made.dtype).eps - 1, 1)
        return self.loc - self.scale * side.sign() * torch.log1p(-side.abs())


class Cauchy(LocationScale):
    """The Cauchy distribution, of density scale/(π·(scale² + (x − loc)²)): of the ratio of two normal variables. It has
    no mean, and no finite variance.

    >>> d = torch.distributions.Cauchy(0.0, 1.0)
    >>> d.log_prob(torch.tensor(1.0))
    tensor(-1.8379)
    """

    _fx_law = laws.Cauchy.over(FUNCTIONS)
    loc = parameter("the median", constraints.real)
    scale = parameter("the distance from there to the quartiles", constraints.positive)
    support = constraints.real

    def __init__(self, loc, scale, validate_args: bool | None = None):
        self._fx_start_with(validate_args, loc=loc, scale=scale)

    @property
    def mean(self) -> Tensor:
        return torch.full_like(self.loc, math.nan)

    mode = attribute_of("loc")

    @property
    def variance(self) -> Tensor:
        return torch.full_like(self.loc, math.inf)

    def rsample(self, sample_shape=()) -> Tensor:
        noise = torch.empty(
            self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device
        ).cauchy_()
        return self.loc + noise * self.scale


class StudentT(LocationScale):
    """Student's t distribution, of density ∝ (1 + z²/df)^(−(df + 1)/2) with z = (x − loc)/scale.

    >>> d = torch.distributions.StudentT(3.0)
    >>> d.log_prob(torch.tensor(1.0)), d.variance
    (tensor(-1.5763), tensor(3.))
    """

    _fx_law = laws.StudentT.over(FUNCTIONS)
    _fx_shapes = ("df",)
    _fx_cdf, icdf = Distribution._fx_cdf, Distribution.icdf  # torch has none
    df = parameter("degrees of freedom", constraints.positive)
    loc = parameter("by which its samples are shifted", constraints.real)
    scale = parameter("by which they are stretched", constraints.positive)
    support = constraints.real

    def __init__(self, df, loc=0.0, scale=1.0, validate_args: bool | None = None):
        self._fx_start_with(validate_args, df=df, loc=loc, scale=scale)

    @property
    def mean(self) -> Tensor:
        return torch.where(self.df <= 1, math.nan, self.loc)

    mode = attribute_of("loc")

    @property
    def variance(self) -> Tensor:
        finite = self.df > 2
        df = torch.where(finite, self.df, 3.0)
        value = torch.where(finite, self.scale.square() * df / (df - 2), math.inf)
        return torch.where(self.df <= 1, math.nan, value)

    def rsample(self, sample_shape=()) -> Tensor:
        # a normal variable over the root of a gamma variable of mean 1, the square of a chi variable over df
        shape = self._extended_shape(sample_shape)
        noise, half = draw_normal(shape, self.df), (0.5 * self.df).expand(shape)
        mean_square = torch._standard_gamma(half).clamp(min=torch.finfo(half.dtype).tiny) / half
        return self.loc + self.scale * noise * mean_square.rsqrt()


class Uniform(Distribution):
    """The uniform distribution on [low, high), of density 1/(high − low).

    Raises:
        ArgumentValueError: low ≥ high.

    >>> d = torch.distributions.Uniform(0.0, 2.0)
    >>> d.log_prob(torch.tensor(1.0)), d.mean
    (tensor(-0.6931), tensor(1.))
    """

    _fx_source = chapter(CONTINUOUS_2, 26)
    low = parameter("the lower end")
    high = parameter("the upper end")

    def __init__(self, low, high, validate_args: bool | None = None):
        self._fx_start_with(validate_args, low=low, high=high)

    @property
    def arg_constraints(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        return math.nan * self.high

    @property
    def stddev(self) -> Tensor:
        return (self.high - self.low) / math.sqrt(12)

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low).square() / 12

    def rsample(self, sample_shape=()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        fraction = torch.rand(shape, dtype=self.low.dtype, device=self.low.device)
        return self.low + fraction * (self.high - self.low)

    def _fx_log_prob(self, value: Tensor) -> Tensor:
        inside = (self.low <= value) & (value < self.high)
        return torch.where(inside, -(self.high - self.low).log(), -math.inf)

    def _fx_cdf(self, value: Tensor) -> Tensor:
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()


class VonMises(Distribution):
    """The distribution of von Mises: normal, but of angles. Its density is e^(k·cos(x − loc))/(2π·I₀(k)), k the
    concentration.

    >>> d = torch.distributions.VonMises(0.0, 2.0)
    >>> d.log_prob(torch.tensor(0.5))
    tensor(-0.9067)
    """

    _fx_law = laws.VonMises.over(FUNCTIONS)
    loc = parameter("the mean direction, an angle", constraints.real)
    concentration = parameter("how closely samples lie about it", constraints.positive)
    support = constraints.real
    _fx_ROUNDS = (
        64  # of rejections where nobody knows whether all are accepted: 2 in 3 of a round are, or more
    )

    def __init__(self, loc, concentration, validate_args: bool | None = None):
        self._fx_start_with(validate_args, loc=loc, concentration=concentration)

    mean = mode = attribute_of("loc")

    @property
    def variance(self) -> Tensor:
        """The circular variance, 1 - E cos(x - loc)."""
        k = self.concentration
        return 1 - torch.special.i1e(k) / torch.special.i0e(k)

    def _fx_log_prob(self, value: Tensor) -> Tensor:
        return self._fx_law._logpdf(value - self.loc, self.concentration)

    def sample(self, sample_shape=()) -> Tensor:
        """Draw samples in [-π, π), by rejection from a wrapped Cauchy distribution (Best and Fisher, "Efficient
        simulation of the von Mises distribution", 1979)."""
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            k = self.concentration.double()
            tau = 1 + (1 + 4 * k.square()).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * k)
            # of small concentrations, where the quotient above is 0/0, by its series
            r = torch.where(k < 1e-5, 1 / k + k, (1 + rho.square()) / (2 * rho)).expand(shape)
            k, angle = k.expand(shape), torch.zeros(shape, dtype=torch.double, device=k.device)
            accepted = torch.zeros(shape, dtype=torch.bool, device=k.device)
            for _ in range(self._fx_ROUNDS):
                turn, height, side = draw_inside((3, *shape), k).unbind()
                z = torch.cos(math.pi * turn)
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                inside = (c * (2 - c) > height) | ((c / height).log() + 1 - c >= 0)
                found = (side - 0.5).sign() * f.clamp(-1, 1).acos()
                angle = torch.where(inside, found, angle)
                accepted = accepted | inside
                if known_truth(accepted):
                    break
            wrapped = (angle + math.pi + self.loc.double()) % (2 * math.pi) - math.pi
            return wrapped.to(self.loc.dtype)


class GeneralizedPareto(Distribution):
    """The generalized Pareto distribution, of what exceeds a high threshold: of density (1 + c·z)^(−1 − 1/c)/scale with
    z = (x − loc)/scale, c the concentration. Moments that are infinite are NaN, as in torch.

    >>> d = torch.distributions.GeneralizedPareto(0.0, 1.0, 0.25)
    >>> d.log_prob(torch.tensor(1.0)), d.mean
    (tensor(-1.1157), tensor(1.3333))
    """

    _fx_source = chapter(CONTINUOUS_1, 20)
    loc = parameter("the threshold", constraints.real)
    scale = parameter("the scale", constraints.positive)
    concentration = parameter(
        "the shape: 0 is an exponential tail, above it is heavier, below the support is bounded",
        constraints.real,
    )

    def __init__(self, loc, scale, concentration, validate_args: bool | None = None):
        self._fx_start_with(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        end = self.loc - self.scale / torch.where(self.concentration < 0, self.concentration, 1.0)
        return constraints.interval(self.loc, torch.where(self.concentration < 0, end, math.inf))

    def _fx_exponential_part(self) -> tuple[Tensor, Tensor]:
        """Return (where the concentration is 0, the concentration with 1 in its place there)."""
        is_zero = torch.isclose(self.concentration, torch.zeros_like(self.concentration))
        return is_zero, torch.where(is_zero, 1.0, self.concentration)

    def _fx_log_survival(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of more than a value."""
        z = (value - self.loc) / self.scale
        is_zero, c = self._fx_exponential_part()
        return torch.where(is_zero, -z, -(c * z).log1p() / c)

    def rsample(self, sample_shape=()) -> Tensor:
        return self.icdf(draw_inside(self._extended_shape(sample_shape), self.loc))

    def _fx_log_prob(self, value: Tensor) -> Tensor:
        return -self.scale.log() + (1 + self.concentration) * self._fx_log_survival(value)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of more than a value."""
        if self._validate_args:
            self._validate_sample(value)
        return self._fx_log_survival(value)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of `cdf`."""
        return self.cdf(value).log()

    def _fx_cdf(self, value: Tensor) -> Tensor:
        return -self._fx_log_survival(value).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        is_zero, c = self._fx_exponential_part()
        log_rest = (-value).log1p()
        return self.loc + self.scale * torch.where(is_zero, -log_rest, (-c * log_rest).expm1() / c)

    @property
    def mean(self) -> Tensor:
        c = torch.where(self.concentration < 1, self.concentration, 0.5)
        value = self.loc + self.scale / (1 - c)
        return torch.where(self.concentration < 1, value, math.nan)

    mode = attribute_of("loc")

    @property
    def variance(self) -> Tensor:
        c = torch.where(self.concentration < 0.5, self.concentration, 0.25)
        value = self.scale.square() / ((1 - c).square() * (1 - 2 * c))
        return torch.where(self.concentration < 0.5, value, math.nan)

    def entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1


__all__ = ["Cauchy", "GeneralizedPareto", "Laplace", "Normal", "StudentT", "Uniform", "VonMises"]
