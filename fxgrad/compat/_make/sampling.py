"""Random samples: functions that make Tensors of them, and methods that fill Tensors with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import numpy as fnp
from ... import ops
from ... import random as keyed
from ...core.aval import aval_of, kind_of
from ...core.interpreter import Tracer
from .._core.dtypes import default_numpy_dtype, from_numpy_dtype, short_name
from .._core.error_messages import broadcast_error
from .._core.errors import ArgumentError, NotSupportedError, TensorError
from .._core.inplace import assign, ensure_modifiable
from .._core.tape import current_tape
from .._core.tensor import Tensor, make_tensor, refresh
from .._declare.composite import zero_tangent_rule
from .._declare.operation import expose, operation
from .creation import create_like, create_with_options, parse_size
from .generators import draw

if TYPE_CHECKING:
    from collections.abc import Callable

HALF_DIGITS = {"float16": 11, "bfloat16": 8}  # binary digits


# -- arrays of NumPy's dtypes ------------------------------------------
def extend_to_complex(sample: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Extend a sampler to complex numbers, each made of two samples."""

    def sample_any(rng: np.random.Generator, shape, numpy) -> np.ndarray:
        if kind_of(numpy) != "c":
            return sample(rng, shape, numpy)
        return sample(rng, (*shape, 2), np.dtype(f"f{numpy.itemsize // 2}")).view(numpy)[..., 0]

    return sample_any


@extend_to_complex
def sample_uniform(rng: np.random.Generator, shape, numpy) -> np.ndarray:
    """Sample numbers in [0, 1): those of the shorter dtypes are multiples of their precision, so that none is rounded
    to 1."""
    ensure_floating(numpy, "check_uniform_bounds")
    digits = HALF_DIGITS.get(numpy.name)
    if digits is not None:
        return (rng.integers(0, 1 << digits, shape) / (1 << digits)).astype(numpy)
    return rng.random(shape, numpy.type)


@extend_to_complex
def sample_standard_normal(rng: np.random.Generator, shape, numpy) -> np.ndarray:
    """Sample normal numbers."""
    ensure_floating(numpy, "normal_kernel_cpu")
    wide = np.float32 if numpy.name in HALF_DIGITS else numpy.type
    return np.asarray(rng.standard_normal(shape, wide)).astype(numpy, copy=False)


def sample_normal(rng: np.random.Generator, shape, numpy) -> np.ndarray:
    """Sample normal numbers of variance 1; the variance of a complex number is the sum of those of its parts."""
    found = sample_standard_normal(rng, shape, numpy)
    return found * numpy.type(np.sqrt(0.5)) if kind_of(numpy) == "c" else found


def sample_positive_unit(rng: np.random.Generator, shape) -> np.ndarray:
    """Sample numbers in (0, 1]."""
    return 1.0 - rng.random(shape)


def ensure_floating(numpy, name: str) -> None:
    """Raise if the dtype is an integer one."""
    if kind_of(numpy) not in "fc":
        raise NotSupportedError(f"\"{name}\" not implemented for '{short_name(numpy)}'")


def integer_sampler(low: int, high: int) -> Callable[..., np.ndarray]:
    """Return the sampler of whole numbers from `low` up to but not including `high`."""
    if low >= high:
        raise TensorError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")

    def sample(rng: np.random.Generator, shape, numpy) -> np.ndarray:
        if kind_of(numpy) in "iu":
            limits = np.iinfo(numpy)
            for bound, value in (("from", low), ("to - 1", high - 1)):
                if not limits.min <= value <= limits.max:
                    raise TensorError(f"{bound} is out of bounds for {from_numpy_dtype(numpy)}")
        wide = np.uint64 if high > np.iinfo(np.int64).max else np.int64
        return np.asarray(rng.integers(low, high, shape, wide)).astype(numpy)

    return sample


# -- functions that make Tensors ------------------------------------------
def create_sampled(sample: Callable[..., np.ndarray], name: str, size, default, options: dict) -> Tensor:
    """Make a Tensor of sample(NumPy's generator, shape, dtype)."""
    generator = options.pop("generator", None)
    if "size" in options:
        size = (*size, options.pop("size"))
    shape = parse_size(size, name)
    return create_with_options(
        lambda numpy: draw(lambda rng, s: sample(rng, s, numpy), shape, generator), name, default, **options
    )


def create_sampled_like(sample: Callable[..., np.ndarray], name: str, input, options: dict) -> Tensor:
    """Make a Tensor of samples in the shape, dtype and device of another."""
    generator = options.pop("generator", None)
    return create_like(
        input,
        lambda shape, numpy: draw(lambda rng, s: sample(rng, s, numpy), shape, generator),
        name,
        options,
    )


@expose()
def rand(*size, **options) -> Tensor:
    """Numbers uniform in [0, 1).

    Args:
        size: its sizes, as several arguments or as one tuple.
        options: `generator`, and those of `zeros`.

    >>> import fxgrad.compat as torch
    >>> torch.rand(2, 3, generator=torch.Generator().manual_seed(0)).shape
    torch.Size([2, 3])
    """
    return create_sampled(sample_uniform, "rand", size, default_numpy_dtype("f"), options)


@expose()
def randn(*size, **options) -> Tensor:
    """Normal numbers of mean 0 and variance 1; see `rand`."""
    return create_sampled(sample_normal, "randn", size, default_numpy_dtype("f"), options)


def parse_bounds(bounds, low, high) -> tuple[Any, Any]:
    """Parse (low, high) as users give them: (high), (low, high), or by name."""
    if len(bounds) > 1:
        return tuple(bounds)  # type: ignore[return-value]
    if bounds:
        return (low, bounds[0]) if high is None else (bounds[0], high)
    return low, high


@expose()
def randint(*bounds, low: int = 0, high=None, size=None, **options) -> Tensor:
    """Whole numbers from `low` on and before `high`: randint(high, size), randint(low, high, size); see `rand`."""
    given = [*bounds]
    if size is None and given:
        size = given.pop()
    low, high = parse_bounds(given, low, high)
    if high is None or not isinstance(size, tuple | list):
        raise ArgumentError(
            "randint() received an invalid combination of arguments", hint="randint(0, 10, (2, 3))"
        )
    return create_sampled(
        integer_sampler(int(low), int(high)), "randint", (size,), default_numpy_dtype("i"), options
    )


@expose()
def randperm(n: int, **options) -> Tensor:
    """The whole numbers before n in a random order; see `rand`."""
    shape = parse_size((n,), "randperm")

    def sample(rng: np.random.Generator, shape, numpy) -> np.ndarray:
        return rng.permuted(np.broadcast_to(np.arange(n), shape), axis=-1).astype(numpy)

    return create_sampled(sample, "randperm", (shape,), default_numpy_dtype("i"), options)


@expose()
def rand_like(input: Tensor, **options) -> Tensor:
    """`rand` in the shape, dtype and device of a Tensor."""
    return create_sampled_like(sample_uniform, "rand_like", input, options)


@expose()
def randn_like(input: Tensor, **options) -> Tensor:
    """`randn` in the shape, dtype and device of a Tensor."""
    return create_sampled_like(sample_normal, "randn_like", input, options)


@expose()
def randint_like(input: Tensor, *bounds, low=0, high=None, **options) -> Tensor:
    """`randint` in the shape, dtype and device of a Tensor: randint_like(x, high), randint_like(x, low, high)."""
    low, high = parse_bounds(bounds, low, high)
    if high is None:
        raise ArgumentError(
            "randint_like() received an invalid combination of arguments", hint="randint_like(x, 10)"
        )
    return create_sampled_like(integer_sampler(int(low), int(high)), "randint_like", input, options)


# -- of parameters that are Tensors ------------------------------------------
def concrete_array(value) -> Any:
    """Return an array whose entries can be inspected, or None where the value is traced."""
    return None if isinstance(value, Tracer) else np.asarray(value)


@operation("input noise", name="bernoulli", spaces="", out=False, tangent=zero_tangent_rule)
def bernoulli_of_noise(input, noise) -> Any:
    """Return 1 where the noise is less than the probability, and 0 elsewhere."""
    return ops.convert(ops.less(noise, input), dtype=aval_of(input).dtype)


@expose("function method")
def bernoulli(input: Tensor, p: float | None = None, *, generator=None, out=None) -> Tensor:
    """A Tensor of ones, each with the probability of its entry (or `p`), and zeros."""
    aval = aval_of(refresh(input).value)
    if p is not None:
        return create_like(
            input,
            lambda s, d: draw(lambda rng, s: (rng.random(s) < p).astype(d), s, generator),
            "bernoulli",
            {},
        )
    ensure_floating(aval.dtype, "bernoulli_tensor_cpu_p_")
    probability = concrete_array(input.value)
    if probability is not None and not ((probability >= 0) & (probability <= 1)).all():
        raise TensorError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    made = bernoulli_of_noise(
        input, make_tensor(current_tape(), draw(lambda rng, s: rng.random(s), aval.shape, generator))
    )
    return made if out is None else out.copy_(made)


@operation("mean std noise", name="normal", spaces="", promote="float", out=False, tangent=zero_tangent_rule)
def normal_of_noise(mean, std, noise) -> Any:
    """Compute mean + std · noise; its derivative is zero in both, as in torch."""
    return ops.add(mean, ops.multiply(std, noise))


@expose()
def normal(mean=0.0, std=1.0, size=None, *, generator=None, **options) -> Tensor:
    """Normal numbers: of Tensors of means and standard deviations, or of numbers and in a size; see `rand`."""
    out = options.get("out")
    if size is not None or not (isinstance(mean, Tensor) or isinstance(std, Tensor)):
        check_std(np.asarray(std), f"normal expects std >= 0.0, but found std {std:g}")

        def sample(rng: np.random.Generator, shape, numpy) -> np.ndarray:
            return (mean + std * sample_normal(rng, shape, numpy)).astype(numpy)

        return create_sampled(
            sample, "normal", (size,), default_numpy_dtype("f"), options | {"generator": generator}
        )
    given = [refresh(x).value for x in (mean, std) if isinstance(x, Tensor)]
    check_std(
        concrete_array(std.value) if isinstance(std, Tensor) else np.asarray(std),
        "normal expects all elements of std >= 0.0",
    )
    aval = aval_of(given[0])
    wrong = broadcast_error(given)
    if wrong is not None:
        raise wrong
    noise = draw(
        lambda rng, s: sample_standard_normal(rng, s, aval.dtype),
        np.broadcast_shapes(*(v.shape for v in given)),
        generator,
    )
    made = normal_of_noise(mean, std, make_tensor(current_tape(), noise))
    return made if out is None else out.copy_(made)


def check_std(std, message: str) -> None:
    """Raise for negative standard deviations."""
    if std is not None and not (std >= 0).all():
        raise TensorError(message)


def draw_key(generator) -> Any:
    """Draw a key for fxgrad's own samplers."""
    return draw(lambda rng, shape: rng.integers(0, 1 << 64, shape, np.uint64), (), generator)


@operation("input key", name="poisson", spaces="", out=False, tangent=zero_tangent_rule)
def poisson_of_key(input, key) -> Any:
    """Sample Poisson counts of these means."""
    return ops.convert(keyed.poisson(key, input), dtype=aval_of(input).dtype)


@expose()
def poisson(input: Tensor, generator=None) -> Tensor:
    """Poisson counts of the means that are the entries."""
    ensure_floating(aval_of(input.value).dtype, "poisson_cpu")
    rate = concrete_array(refresh(input).value)
    if rate is not None and not (rate >= 0).all():
        raise TensorError("invalid Poisson rate, expected rate to be non-negative")
    return poisson_of_key(input, make_tensor(current_tape(), draw_key(generator)))


@operation(
    "count prob key",
    name="binomial",
    spaces="",
    out=False,
    tangent=lambda ys, p, t, params: zero_tangent_rule(ys, p, t[:2], params),
)
def binomial_of_key(count, prob, key) -> Any:
    """Sample numbers of successes in `count` trials of probability `prob`."""
    return ops.convert(keyed.binomial(key, count, prob), dtype=aval_of(count).dtype)


@expose()
def binomial(count: Tensor, prob: Tensor, generator=None) -> Tensor:
    """The numbers of successes among `count` trials of the probability `prob`."""
    return binomial_of_key(count, prob, make_tensor(current_tape(), draw_key(generator)))


@operation("input noise", name="multinomial", spaces="", out=False)
def multinomial_of_noise(input, noise, num_samples: int, replacement: bool) -> Any:
    """Choose categories by noise. With replacement it is uniform, and looked up in the cumulated probabilities;
    without, it is exponential: the categories whose clocks ring first, which run as fast as they are probable."""
    if replacement:
        cumulated = fnp.cumsum(input, axis=-1)
        reached = noise * cumulated[..., -1:]
        return fnp.sum(fnp.greater_equal(reached[..., :, None], cumulated[..., None, :]), axis=-1)
    return fnp.argsort(noise / input, axis=-1)[..., :num_samples]


@expose("function method")
def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator=None, out=None
) -> Tensor:
    """Categories drawn by the weights in each row of `input`, which need not add up to 1.

    Raises:
        RuntimeError: negative or infinite probabilities, or none positive; more samples than categories.
    """
    aval = aval_of(refresh(input).value)
    if kind_of(aval.dtype) != "f":
        short = short_name(input.dtype)
        raise TensorError(f"multinomial only supports floating-point dtypes for input, got: {short}")
    if len(aval.shape) not in (1, 2):
        raise TensorError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise TensorError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > aval.shape[-1]:
        raise TensorError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    weights = concrete_array(input.value)
    if weights is not None:
        if not (np.isfinite(weights) & (weights >= 0)).all():
            raise TensorError("probability tensor contains either `inf`, `nan` or element < 0")
        if not (weights.sum(-1) > 0).all():
            raise TensorError("invalid multinomial distribution (sum of probabilities <= 0)")
    shape = (*aval.shape[:-1], num_samples) if replacement else aval.shape
    sample = (
        (lambda rng, s: rng.random(s))
        if replacement
        else (lambda rng, s: -np.log(sample_positive_unit(rng, s)))
    )
    noise = make_tensor(current_tape(), draw(sample, shape, generator))
    made = multinomial_of_noise(input.detach(), noise, num_samples, replacement)
    return made if out is None else out.copy_(made)


# -- methods that fill ------------------------------------------
def fill_with_samples(tensor: Tensor, name: str, generator, sample: Callable[..., Any]) -> Tensor:
    """Fill a Tensor with sample(NumPy's generator, shape, dtype)."""
    ensure_modifiable(tensor)
    numpy = aval_of(tensor.value).dtype
    value = draw(lambda rng, shape: sample(rng, shape, numpy), tuple(tensor.shape), generator)
    assign(tensor, make_tensor(current_tape(), value), name)
    return tensor


def continuous_sampler(name: str, sample: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Return a sampler for floating dtypes that computes in double precision."""

    def sample_checked(rng: np.random.Generator, shape, numpy) -> np.ndarray:
        if kind_of(numpy) != "f":
            raise TensorError(
                f"{name} distribution is a continuous probability distribution. dtype must be a floating point but you "
                f"specified {short_name(numpy)}"
            )
        return np.asarray(sample(rng, shape)).astype(numpy)

    return sample_checked


def check_condition(holds: bool, message: str) -> None:
    if not holds:
        raise TensorError(message)


@expose("method")
def uniform_(self: Tensor, from_: float = 0, to: float = 1, *, generator=None, **names) -> Tensor:
    """Fill the Tensor with numbers uniform in [from, to)."""
    low = names.pop("from", from_)
    check_condition(
        low <= to, f"uniform_ expects to return a [from, to) range, but found from={low} > to={to}"
    )
    return fill_with_samples(
        self,
        "uniform_",
        generator,
        lambda rng, s, d: (low + (to - low) * sample_uniform(rng, s, d)).astype(d),
    )


@expose("method")
def normal_(self: Tensor, mean: float = 0, std: float = 1, *, generator=None) -> Tensor:
    """Fill the Tensor with normal numbers."""
    check_condition(std >= 0, f"normal expects std >= 0.0, but found std {std}")
    return fill_with_samples(
        self, "normal_", generator, lambda rng, s, d: (mean + std * sample_normal(rng, s, d)).astype(d)
    )


@expose("method")
def random_(self: Tensor, from_=0, to=None, *, generator=None, **names) -> Tensor:
    """Fill the Tensor with whole numbers: random_(), of all that the dtype has; random_(to); random_(from, to)."""
    low, high = names.pop("from", from_), to
    if high is None and low:
        low, high = 0, low
    if high is None:
        high = integer_limit(aval_of(self.value).dtype)
    return fill_with_samples(self, "random_", generator, integer_sampler(int(low), int(high)))


def integer_limit(numpy) -> int:
    """The end (exclusive) of the whole numbers from 0 on that a dtype represents without gaps."""
    if kind_of(numpy) == "b":
        return 2
    if kind_of(numpy) in "iu":
        return min(int(np.iinfo(numpy).max) + 1, 1 << 63)
    digits = {"float32": 24, "float64": 53} | HALF_DIGITS
    return (1 << digits[numpy.name]) + 1


@expose("method")
def bernoulli_(self: Tensor, p=0.5, *, generator=None) -> Tensor:
    """Fill the Tensor with ones, each with probability `p`, and zeros."""
    if isinstance(p, Tensor):
        ensure_modifiable(self)
        made = bernoulli(p.detach().expand(self.shape), generator=generator)
        assign(self, made.to(self.dtype), "bernoulli_")
        return self
    check_condition(0 <= p <= 1, f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return fill_with_samples(
        self, "bernoulli_", generator, lambda rng, s, d: np.asarray(rng.random(s) < p).astype(d)
    )


@expose("method")
def exponential_(self: Tensor, lambd: float = 1, *, generator=None) -> Tensor:
    """Fill the Tensor with numbers of the density λ·exp(-λx)."""
    check_condition(lambd > 0, f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    sample = continuous_sampler("Exponential", lambda rng, s: rng.standard_exponential(s) / lambd)
    return fill_with_samples(self, "exponential_", generator, sample)


@expose("method")
def geometric_(self: Tensor, p: float, *, generator=None) -> Tensor:
    """Fill the Tensor with the number of trials of probability p up to the first success."""
    check_condition(0 < p < 1, f"geometric_ expects p to be in (0, 1), but got p={p}")
    return fill_with_samples(
        self, "geometric_", generator, lambda rng, s, d: np.asarray(rng.geometric(p, s)).astype(d)
    )


@expose("method")
def cauchy_(self: Tensor, median: float = 0, sigma: float = 1, *, generator=None) -> Tensor:
    """Fill the Tensor with numbers of the density σ / (π·((x - median)² + σ²))."""
    check_condition(sigma > 0, f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    sample = continuous_sampler("Cauchy", lambda rng, s: median + sigma * rng.standard_cauchy(s))
    return fill_with_samples(self, "cauchy_", generator, sample)


@expose("method")
def log_normal_(self: Tensor, mean: float = 1, std: float = 2, *, generator=None) -> Tensor:
    """Fill the Tensor with numbers whose logarithms are normal."""
    check_condition(std > 0, f"log_normal_ expects std > 0.0, but found std={std}")
    return fill_with_samples(
        self,
        "log_normal_",
        generator,
        continuous_sampler("LogNormal", lambda rng, s: rng.lognormal(mean, std, s)),
    )
