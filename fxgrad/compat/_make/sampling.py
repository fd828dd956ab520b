"""Random samples: functions that make Tensors of them, and methods that fill Tensors with them."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import numpy as fnp
from ... import ops
from ...core.aval import aval_of, kind_of
from ...core.interpreter import Tracer
from .._core.dtypes import default_numpy_dtype, from_numpy_dtype, short_name
from .._core.error_messages import broadcast_error
from .._core.errors import ArgumentError, ArgumentValueError, NotSupportedError, TensorError
from .._core.inplace import assign, ensure_modifiable
from .._core.meta import is_meta
from .._core.tensor import Tensor, refresh
from .._declare.composite import zero_tangent_rule
from .._declare.operation import operation
from .._declare.spaces import expose
from .creation import create_like, create_with_options, parse_size
from .generators import draw, draw_tensor

if TYPE_CHECKING:
    from collections.abc import Callable

FLOAT = np.dtype(float)
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
def create_samples(sample: Callable[..., np.ndarray], name: str, size, default, options: dict) -> Tensor:
    """Make a Tensor of sample(NumPy's generator, shape, dtype)."""
    generator = options.pop("generator", None)
    if "size" in options:
        size = (*size, options.pop("size"))
    shape = parse_size(size, name)
    return create_with_options(
        lambda numpy: draw(lambda rng, s: sample(rng, s, numpy), shape, generator), name, default, **options
    )


def create_samples_like(sample: Callable[..., np.ndarray], name: str, input, options: dict) -> Tensor:
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
    return create_samples(sample_uniform, "rand", size, default_numpy_dtype("f"), options)


@expose()
def randn(*size, **options) -> Tensor:
    """Normal numbers of mean 0 and variance 1; see `rand`."""
    return create_samples(sample_normal, "randn", size, default_numpy_dtype("f"), options)


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
    return create_samples(
        integer_sampler(int(low), int(high)), "randint", (size,), default_numpy_dtype("i"), options
    )


@expose()
def randperm(n: int, **options) -> Tensor:
    """The whole numbers before n in a random order; see `rand`."""
    shape = parse_size((n,), "randperm")

    def sample(rng: np.random.Generator, shape, numpy) -> np.ndarray:
        return rng.permuted(np.broadcast_to(np.arange(n), shape), axis=-1).astype(numpy)

    return create_samples(sample, "randperm", (shape,), default_numpy_dtype("i"), options)


@expose()
def rand_like(input: Tensor, **options) -> Tensor:
    """`rand` in the shape, dtype and device of a Tensor."""
    return create_samples_like(sample_uniform, "rand_like", input, options)


@expose()
def randn_like(input: Tensor, **options) -> Tensor:
    """`randn` in the shape, dtype and device of a Tensor."""
    return create_samples_like(sample_normal, "randn_like", input, options)


@expose()
def randint_like(input: Tensor, *bounds, low=0, high=None, **options) -> Tensor:
    """`randint` in the shape, dtype and device of a Tensor: randint_like(x, high), randint_like(x, low, high)."""
    low, high = parse_bounds(bounds, low, high)
    if high is None:
        raise ArgumentError(
            "randint_like() received an invalid combination of arguments", hint="randint_like(x, 10)"
        )
    return create_samples_like(integer_sampler(int(low), int(high)), "randint_like", input, options)


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
        options = {"generator": generator}
        return create_samples_like(
            lambda rng, s, d: (rng.random(s) < p).astype(d), "bernoulli", input, options
        )
    ensure_floating(aval.dtype, "bernoulli_tensor_cpu_p_")
    probability = concrete_array(input.value)
    if probability is not None and not ((probability >= 0) & (probability <= 1)).all():
        raise TensorError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    made = bernoulli_of_noise(input, draw_tensor(lambda rng, s: rng.random(s), aval.shape, generator))
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

        return create_samples(
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
    noise = draw_tensor(
        lambda rng, s: sample_standard_normal(rng, s, aval.dtype),
        np.broadcast_shapes(*(v.shape for v in given)),
        generator,
    )
    made = normal_of_noise(mean, std, noise)
    return made if out is None else out.copy_(made)


def check_std(std, message: str) -> None:
    """Raise for negative standard deviations."""
    if std is not None and not (std >= 0).all():
        raise TensorError(message)


def draw_keys(shape, generator) -> Tensor:
    """Draw a key for every entry of fxgrad's own samplers, so that those of a batch are the same, mapped or not."""
    return draw_tensor(lambda rng, s: rng.integers(0, 1 << 64, s, np.uint64), shape, generator)


def poisson_arguments(input, generator=None) -> Any:
    """The rates are checked, keys are drawn."""
    aval = aval_of(refresh(input).value)
    ensure_floating(aval.dtype, "poisson_cpu")
    rate = concrete_array(input.value)
    if rate is not None and not (rate >= 0).all():
        raise TensorError("invalid Poisson rate, expected rate to be non-negative")
    return (input, draw_keys(aval.shape, generator)), {}


@operation("input keys", arguments=poisson_arguments, spaces="function", out=False, tangent=zero_tangent_rule)
def poisson(input, keys) -> Any:
    """Poisson counts of the means that are the entries."""
    count = ops.random_poisson(keys, ops.convert(input, dtype=FLOAT))
    return ops.convert(count, dtype=aval_of(input).dtype)


def binomial_arguments(count, prob, generator=None) -> Any:
    """The dtypes and shapes are checked, keys are drawn."""
    given = [aval_of(refresh(x).value) for x in (count, prob)]
    names = [short_name(a.dtype) for a in given]
    for name, aval, short in zip(("count", "prob"), given, names):
        if kind_of(aval.dtype) != "f":
            raise ArgumentValueError(f"binomial only supports floating-point dtypes for {name}, got: {short}")
    if names[0] != names[1]:
        raise TensorError(f"Found dtype {names[1]} but expected {names[0]}")
    wrong = broadcast_error(given)
    if wrong is not None:
        raise wrong
    return (count, prob, draw_keys(np.broadcast_shapes(*[a.shape for a in given]), generator)), {}


@operation(
    "count prob keys",
    arguments=binomial_arguments,
    spaces="function",
    out=False,
    tangent=lambda ys, p, t, params: zero_tangent_rule(ys, p, t[:2], params),
)
def binomial(count, prob, keys) -> Any:
    """The numbers of successes among `count` trials of the probability `prob`. Parts of a trial do not count, and
    probabilities outside [0, 1] are the nearest of these; NaN has no successes but NaN."""
    n, p = (ops.broadcast_to(ops.convert(x, dtype=FLOAT), shape=keys.shape) for x in (count, prob))
    drawn = ops.random_binomial(keys, ops.floor(ops.maximum(n, 0)), ops.minimum(ops.maximum(p, 0), 1))
    return ops.convert(ops.where(ops.less(drawn, 0), np.nan, drawn), dtype=aval_of(count).dtype)


def multinomial_arguments(input, num_samples: int, replacement: bool = False, *, generator=None) -> Any:
    """With replacement the noise is uniform, and looked up in the cumulated probabilities; without, it is exponential:
    the categories whose clocks ring first, which run as fast as they are probable."""
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
    if replacement:
        noise = draw_tensor(lambda rng, s: rng.random(s), (*aval.shape[:-1], num_samples), generator)
    else:
        noise = draw_tensor(lambda rng, s: -np.log(sample_positive_unit(rng, s)), aval.shape, generator)
    return (input.detach(), noise), {"num_samples": num_samples, "replacement": replacement}


@operation("input noise", arguments=multinomial_arguments)
def multinomial(input, noise, num_samples: int, replacement: bool) -> Any:
    """Categories drawn by the weights in each row of `input`, which need not add up to 1.

    Raises:
        RuntimeError: negative or infinite probabilities, or none positive; more samples than categories.
    """
    if replacement:
        cumulated = fnp.cumsum(input, axis=-1)
        reached = noise * cumulated[..., -1:]
        return fnp.sum(fnp.greater_equal(reached[..., :, None], cumulated[..., None, :]), axis=-1)
    return fnp.argsort(noise / input, axis=-1)[..., :num_samples]


# -- methods that fill ------------------------------------------
def fill_with_samples(tensor: Tensor, name: str, generator, sample: Callable[..., Any]) -> Tensor:
    """Fill a Tensor with sample(NumPy's generator, shape, dtype)."""
    ensure_modifiable(tensor)
    if is_meta(tensor.value):
        return tensor
    numpy = aval_of(tensor.value).dtype
    made = draw_tensor(
        lambda rng, s: np.asarray(sample(rng, s, numpy)).astype(numpy, copy=False), tensor.shape, generator
    )
    assign(tensor, made, name)
    return tensor


def fill_method(sampler: Callable[..., Callable[..., Any]]) -> None:
    """Declare a method that fills a Tensor by a function of its parameters, which returns what
    `fill_with_samples` takes."""

    @wraps(sampler)
    def fill(self: Tensor, *args, generator=None, **names) -> Tensor:
        if "from" in names:
            names["from_"] = names.pop("from")
        return fill_with_samples(self, sampler.__name__, generator, sampler(*args, **names))

    given = inspect.signature(sampler).parameters.values()
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    last = inspect.Parameter("generator", inspect.Parameter.KEYWORD_ONLY, default=None)
    fill.__signature__ = inspect.Signature([own, *given, last])  # type: ignore[attr-defined]
    expose("method")(fill)


def continuous(name: str, sample: Callable[..., Any]) -> Callable[..., Any]:
    """Return the sampler of a continuous distribution, for floating dtypes, by one in double precision."""

    def check_and_sample(rng: np.random.Generator, shape, numpy) -> Any:
        if kind_of(numpy) != "f":
            raise TensorError(
                f"{name} distribution is a continuous probability distribution. dtype must be a floating point but you "
                f"specified {short_name(numpy)}"
            )
        return sample(rng, shape)

    return check_and_sample


def check_condition(holds: bool, message: str) -> None:
    if not holds:
        raise TensorError(message)


@fill_method
def uniform_(from_: float = 0, to: float = 1) -> Any:
    """Fill the Tensor with numbers uniform in [from, to)."""
    check_condition(
        from_ <= to, f"uniform_ expects to return a [from, to) range, but found from={from_} > to={to}"
    )
    return lambda rng, s, dtype: from_ + (to - from_) * sample_uniform(rng, s, dtype)


@fill_method
def normal_(mean: float = 0, std: float = 1) -> Any:
    """Fill the Tensor with normal numbers."""
    check_condition(std >= 0, f"normal expects std >= 0.0, but found std {std}")
    return lambda rng, s, dtype: mean + std * sample_normal(rng, s, dtype)


@fill_method
def random_(from_=0, to=None) -> Any:
    """Fill the Tensor with whole numbers: random_(), of all that the dtype has; random_(to); random_(from, to)."""
    low, high = (0, from_) if to is None and from_ else (from_, to)
    if high is not None:
        return integer_sampler(int(low), int(high))
    return lambda rng, s, dtype: integer_sampler(0, integer_limit(dtype))(rng, s, dtype)


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
    return fill_with_samples(self, "bernoulli_", generator, lambda rng, s, dtype: rng.random(s) < p)


@fill_method
def exponential_(lambd: float = 1) -> Any:
    """Fill the Tensor with numbers of the density λ·exp(-λx)."""
    check_condition(lambd > 0, f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    return continuous("Exponential", lambda rng, s: rng.standard_exponential(s) / lambd)


@fill_method
def geometric_(p: float) -> Any:
    """Fill the Tensor with the number of trials of probability p up to the first success."""
    check_condition(0 < p < 1, f"geometric_ expects p to be in (0, 1), but got p={p}")
    return lambda rng, s, dtype: rng.geometric(p, s)


@fill_method
def cauchy_(median: float = 0, sigma: float = 1) -> Any:
    """Fill the Tensor with numbers of the density σ / (π·((x - median)² + σ²))."""
    check_condition(sigma > 0, f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    return continuous("Cauchy", lambda rng, s: median + sigma * rng.standard_cauchy(s))


@fill_method
def log_normal_(mean: float = 1, std: float = 2) -> Any:
    """Fill the Tensor with numbers whose logarithms are normal."""
    check_condition(std > 0, f"log_normal_ expects std > 0.0, but found std={std}")
    return continuous("LogNormal", lambda rng, s: rng.lognormal(mean, std, s))
