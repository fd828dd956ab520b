"""Samples of distributions: functions that make Tensors of them, and methods that fill Tensors with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import numpy as fnp
from ... import ops
from ... import random as keyed
from ...core.aval import aval_of, kind_of
from ...core.interpreter import Tracer
from .._core.dtypes import default_numpy, from_numpy_dtype, short_name
from .._core.error_messages import mismatch
from .._core.errors import ArgumentError, NotSupportedError, TensorError
from .._core.inplace import assign, ensure_modifiable
from .._core.tape import current_tape
from .._core.tensor import Tensor, current, make
from .._declare.composite import flat_tangent
from .._declare.operation import exposed, operation
from .creation import as_size, finished, like
from .generators import draw

if TYPE_CHECKING:
    from collections.abc import Callable

HALVES = {"float16": 11, "bfloat16": 8}  # binary digits


# -- arrays of NumPy's dtypes ------------------------------------------
def parts(sample: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A sampler that also makes complex numbers, of two samples each."""

    def both(rng: np.random.Generator, shape: Any, numpy: Any) -> np.ndarray:
        if kind_of(numpy) != "c":
            return sample(rng, shape, numpy)
        return sample(rng, (*shape, 2), np.dtype(f"f{numpy.itemsize // 2}")).view(numpy)[..., 0]

    return both


@parts
def uniform(rng: np.random.Generator, shape: Any, numpy: Any) -> np.ndarray:
    """Numbers of [0, 1): of the shorter dtypes multiples of their precision, so that none is rounded to 1."""
    check_floating(numpy, "check_uniform_bounds")
    digits = HALVES.get(numpy.name)
    if digits is not None:
        return (rng.integers(0, 1 << digits, shape) / (1 << digits)).astype(numpy)
    return rng.random(shape, numpy.type)


@parts
def standard_normal(rng: np.random.Generator, shape: Any, numpy: Any) -> np.ndarray:
    """Normal numbers."""
    check_floating(numpy, "normal_kernel_cpu")
    wide = np.float32 if numpy.name in HALVES else numpy.type
    return np.asarray(rng.standard_normal(shape, wide)).astype(numpy, copy=False)


def normal_array(rng: np.random.Generator, shape: Any, numpy: Any) -> np.ndarray:
    """Normal numbers of variance 1; of complex ones that is the sum of those of the parts."""
    found = standard_normal(rng, shape, numpy)
    return found * numpy.type(np.sqrt(0.5)) if kind_of(numpy) == "c" else found


def inside(rng: np.random.Generator, shape: Any) -> np.ndarray:
    """Numbers of (0, 1]."""
    return 1.0 - rng.random(shape)


def check_floating(numpy: Any, name: str) -> None:
    """Raise for integers."""
    if kind_of(numpy) not in "fc":
        raise NotSupportedError(f"\"{name}\" not implemented for '{short_name(numpy)}'")


def integers(low: int, high: int) -> Callable[..., np.ndarray]:
    """The sampler of whole numbers from `low` on and before `high`."""
    if low >= high:
        raise TensorError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")

    def sample(rng: np.random.Generator, shape: Any, numpy: Any) -> np.ndarray:
        if kind_of(numpy) in "iu":
            limits = np.iinfo(numpy)
            for bound, value in (("from", low), ("to - 1", high - 1)):
                if not limits.min <= value <= limits.max:
                    raise TensorError(f"{bound} is out of bounds for {from_numpy_dtype(numpy)}")
        wide = np.uint64 if high > np.iinfo(np.int64).max else np.int64
        return np.asarray(rng.integers(low, high, shape, wide)).astype(numpy)

    return sample


# -- functions that make Tensors ------------------------------------------
def sampled(sample: Callable[..., np.ndarray], name: str, size: Any, default: Any, options: dict) -> Tensor:
    """A Tensor of sample(NumPy's generator, shape, dtype)."""
    generator = options.pop("generator", None)
    if "size" in options:
        size = (*size, options.pop("size"))
    shape = as_size(size, name)
    return finished(
        lambda numpy: draw(lambda rng, s: sample(rng, s, numpy), shape, generator), name, default, **options
    )


def sampled_like(sample: Callable[..., np.ndarray], name: str, input: Any, options: dict) -> Tensor:
    """The same in the shape, dtype and device of a Tensor."""
    generator = options.pop("generator", None)
    return like(
        input,
        lambda shape, numpy: draw(lambda rng, s: sample(rng, s, numpy), shape, generator),
        name,
        options,
    )


@exposed()
def rand(*size: Any, **options: Any) -> Tensor:
    """Numbers uniform in [0, 1).

    Args:
        size: its sizes, as several arguments or as one tuple.
        options: `generator`, and those of `zeros`.

    >>> import fxgrad.compat as torch
    >>> torch.rand(2, 3, generator=torch.Generator().manual_seed(0)).shape
    torch.Size([2, 3])
    """
    return sampled(uniform, "rand", size, default_numpy("f"), options)


@exposed()
def randn(*size: Any, **options: Any) -> Tensor:
    """Normal numbers of mean 0 and variance 1; see `rand`."""
    return sampled(normal_array, "randn", size, default_numpy("f"), options)


def interval(bounds: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """(low, high) as they are given: (high), (low, high), or by name."""
    if len(bounds) > 1:
        return tuple(bounds)  # type: ignore[return-value]
    if bounds:
        return (low, bounds[0]) if high is None else (bounds[0], high)
    return low, high


@exposed()
def randint(*bounds: Any, low: int = 0, high: Any = None, size: Any = None, **options: Any) -> Tensor:
    """Whole numbers from `low` on and before `high`: randint(high, size), randint(low, high, size); see `rand`."""
    given = [*bounds]
    if size is None and given:
        size = given.pop()
    low, high = interval(given, low, high)
    if high is None or not isinstance(size, tuple | list):
        raise ArgumentError(
            "randint() received an invalid combination of arguments", hint="randint(0, 10, (2, 3))"
        )
    return sampled(integers(int(low), int(high)), "randint", (size,), default_numpy("i"), options)


@exposed()
def randperm(n: int, **options: Any) -> Tensor:
    """The whole numbers before n in a random order; see `rand`."""
    shape = as_size((n,), "randperm")

    def sample(rng: np.random.Generator, shape: Any, numpy: Any) -> np.ndarray:
        return rng.permuted(np.broadcast_to(np.arange(n), shape), axis=-1).astype(numpy)

    return sampled(sample, "randperm", (shape,), default_numpy("i"), options)


@exposed()
def rand_like(input: Tensor, **options: Any) -> Tensor:
    """`rand` in the shape, dtype and device of a Tensor."""
    return sampled_like(uniform, "rand_like", input, options)


@exposed()
def randn_like(input: Tensor, **options: Any) -> Tensor:
    """`randn` in the shape, dtype and device of a Tensor."""
    return sampled_like(normal_array, "randn_like", input, options)


@exposed()
def randint_like(input: Tensor, *bounds: Any, low: Any = 0, high: Any = None, **options: Any) -> Tensor:
    """`randint` in the shape, dtype and device of a Tensor: randint_like(x, high), randint_like(x, low, high)."""
    low, high = interval(bounds, low, high)
    if high is None:
        raise ArgumentError(
            "randint_like() received an invalid combination of arguments", hint="randint_like(x, 10)"
        )
    return sampled_like(integers(int(low), int(high)), "randint_like", input, options)


# -- of parameters that are Tensors ------------------------------------------
def known(value: Any) -> Any:
    """An array of which entries can be asked, or None where it is traced."""
    return None if isinstance(value, Tracer) else np.asarray(value)


@operation("input noise", name="bernoulli", spaces="", out=False, tangent=flat_tangent)
def below(input: Any, noise: Any) -> Any:
    """1 where the noise is less than the probability, and 0 elsewhere."""
    return ops.convert(ops.less(noise, input), dtype=aval_of(input).dtype)


@exposed("function method")
def bernoulli(input: Tensor, p: float | None = None, *, generator: Any = None, out: Any = None) -> Tensor:
    """1 with the probability of each entry (or `p`), otherwise 0."""
    aval = aval_of(current(input).value)
    if p is not None:
        return like(
            input,
            lambda s, d: draw(lambda rng, s: (rng.random(s) < p).astype(d), s, generator),
            "bernoulli",
            {},
        )
    check_floating(aval.dtype, "bernoulli_tensor_cpu_p_")
    probability = known(input.value)
    if probability is not None and not ((probability >= 0) & (probability <= 1)).all():
        raise TensorError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    made = below(input, make(current_tape(), draw(lambda rng, s: rng.random(s), aval.shape, generator)))
    return made if out is None else out.copy_(made)


@operation("mean std noise", name="normal", spaces="", promote="float", out=False, tangent=flat_tangent)
def shifted(mean: Any, std: Any, noise: Any) -> Any:
    """mean + std · noise; constant in both, as torch has it."""
    return ops.add(mean, ops.multiply(std, noise))


@exposed()
def normal(
    mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Any = None, **options: Any
) -> Tensor:
    """Normal numbers: of Tensors of means and standard deviations, or of numbers and in a size; see `rand`."""
    out = options.get("out")
    if size is not None or not (isinstance(mean, Tensor) or isinstance(std, Tensor)):
        check_std(np.asarray(std), f"normal expects std >= 0.0, but found std {std:g}")

        def sample(rng: np.random.Generator, shape: Any, numpy: Any) -> np.ndarray:
            return (mean + std * normal_array(rng, shape, numpy)).astype(numpy)

        return sampled(sample, "normal", (size,), default_numpy("f"), options | {"generator": generator})
    given = [current(x).value for x in (mean, std) if isinstance(x, Tensor)]
    check_std(
        known(std.value) if isinstance(std, Tensor) else np.asarray(std),
        "normal expects all elements of std >= 0.0",
    )
    aval = aval_of(given[0])
    wrong = mismatch(given)
    if wrong is not None:
        raise wrong
    noise = draw(
        lambda rng, s: standard_normal(rng, s, aval.dtype),
        np.broadcast_shapes(*(v.shape for v in given)),
        generator,
    )
    made = shifted(mean, std, make(current_tape(), noise))
    return made if out is None else out.copy_(made)


def check_std(std: Any, message: str) -> None:
    """Raise for negative standard deviations."""
    if std is not None and not (std >= 0).all():
        raise TensorError(message)


def random_key(generator: Any) -> Any:
    """A key for fxgrad's own samplers."""
    return draw(lambda rng, shape: rng.integers(0, 1 << 64, shape, np.uint64), (), generator)


@operation("input key", name="poisson", spaces="", out=False, tangent=flat_tangent)
def counts(input: Any, key: Any) -> Any:
    """Counts of these means."""
    return ops.convert(keyed.poisson(key, input), dtype=aval_of(input).dtype)


@exposed()
def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Poisson counts of the means that are the entries."""
    check_floating(aval_of(input.value).dtype, "poisson_cpu")
    rate = known(current(input).value)
    if rate is not None and not (rate >= 0).all():
        raise TensorError("invalid Poisson rate, expected rate to be non-negative")
    return counts(input, make(current_tape(), random_key(generator)))


@operation(
    "count prob key",
    name="binomial",
    spaces="",
    out=False,
    tangent=lambda ys, p, t, params: flat_tangent(ys, p, t[:2], params),
)
def successes(count: Any, prob: Any, key: Any) -> Any:
    """Numbers of successes among so many trials."""
    return ops.convert(keyed.binomial(key, count, prob), dtype=aval_of(count).dtype)


@exposed()
def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """The numbers of successes among `count` trials of the probability `prob`."""
    return successes(count, prob, make(current_tape(), random_key(generator)))


@operation("input noise", name="multinomial", spaces="", out=False)
def chosen(input: Any, noise: Any, num_samples: int, replacement: bool) -> Any:
    """Categories by noise: with replacement uniform, in the cumulated probabilities; without, exponential: the
    categories whose clocks, which run as fast as they are probable, ring first."""
    if replacement:
        cumulated = fnp.cumsum(input, axis=-1)
        reached = noise * cumulated[..., -1:]
        return fnp.sum(fnp.greater_equal(reached[..., :, None], cumulated[..., None, :]), axis=-1)
    return fnp.argsort(noise / input, axis=-1)[..., :num_samples]


@exposed("function method")
def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None, out: Any = None
) -> Tensor:
    """Categories, each row of `input` being their probabilities, which need not add up to 1.

    Raises:
        RuntimeError: negative or infinite probabilities, or none positive; more samples than categories.
    """
    aval = aval_of(current(input).value)
    if kind_of(aval.dtype) != "f":
        short = short_name(input.dtype)
        raise TensorError(f"multinomial only supports floating-point dtypes for input, got: {short}")
    if len(aval.shape) not in (1, 2):
        raise TensorError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise TensorError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > aval.shape[-1]:
        raise TensorError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    weights = known(input.value)
    if weights is not None:
        if not (np.isfinite(weights) & (weights >= 0)).all():
            raise TensorError("probability tensor contains either `inf`, `nan` or element < 0")
        if not (weights.sum(-1) > 0).all():
            raise TensorError("invalid multinomial distribution (sum of probabilities <= 0)")
    shape = (*aval.shape[:-1], num_samples) if replacement else aval.shape
    sample = (lambda rng, s: rng.random(s)) if replacement else (lambda rng, s: -np.log(inside(rng, s)))
    noise = make(current_tape(), draw(sample, shape, generator))
    made = chosen(input.detach(), noise, num_samples, replacement)
    return made if out is None else out.copy_(made)


# -- methods that fill ------------------------------------------
def fill(tensor: Tensor, name: str, generator: Any, sample: Callable[..., Any]) -> Tensor:
    """Fill a Tensor with sample(NumPy's generator, shape, dtype)."""
    ensure_modifiable(tensor)
    numpy = aval_of(tensor.value).dtype
    value = draw(lambda rng, shape: sample(rng, shape, numpy), tuple(tensor.shape), generator)
    assign(tensor, make(current_tape(), value), name)
    return tensor


def continuous(name: str, sample: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A sampler for floating dtypes, computed in double precision."""

    def checked(rng: np.random.Generator, shape: Any, numpy: Any) -> np.ndarray:
        if kind_of(numpy) != "f":
            raise TensorError(
                f"{name} distribution is a continuous probability distribution. dtype must be a floating point but you "
                f"specified {short_name(numpy)}"
            )
        return np.asarray(sample(rng, shape)).astype(numpy)

    return checked


def expect(holds: bool, message: str) -> None:
    if not holds:
        raise TensorError(message)


@exposed("method")
def uniform_(self: Tensor, from_: float = 0, to: float = 1, *, generator: Any = None, **names: Any) -> Tensor:
    """Fill with numbers uniform in [from, to)."""
    low = names.pop("from", from_)
    expect(low <= to, f"uniform_ expects to return a [from, to) range, but found from={low} > to={to}")
    return fill(
        self, "uniform_", generator, lambda rng, s, d: (low + (to - low) * uniform(rng, s, d)).astype(d)
    )


@exposed("method")
def normal_(self: Tensor, mean: float = 0, std: float = 1, *, generator: Any = None) -> Tensor:
    """Fill with normal numbers."""
    expect(std >= 0, f"normal expects std >= 0.0, but found std {std}")
    return fill(
        self, "normal_", generator, lambda rng, s, d: (mean + std * normal_array(rng, s, d)).astype(d)
    )


@exposed("method")
def random_(self: Tensor, from_: Any = 0, to: Any = None, *, generator: Any = None, **names: Any) -> Tensor:
    """Fill with whole numbers: random_(), of all that the dtype has; random_(to); random_(from, to)."""
    low, high = names.pop("from", from_), to
    if high is None and low:
        low, high = 0, low
    if high is None:
        high = whole_limit(aval_of(self.value).dtype)
    return fill(self, "random_", generator, integers(int(low), int(high)))


def whole_limit(numpy: Any) -> int:
    """Where the numbers end that a dtype has beside all whole ones before them."""
    if kind_of(numpy) == "b":
        return 2
    if kind_of(numpy) in "iu":
        return min(int(np.iinfo(numpy).max) + 1, 1 << 63)
    digits = {"float32": 24, "float64": 53} | HALVES
    return (1 << digits[numpy.name]) + 1


@exposed("method")
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with ones, each with probability `p`, and zeros."""
    if isinstance(p, Tensor):
        ensure_modifiable(self)
        made = bernoulli(p.detach().expand(self.shape), generator=generator)
        assign(self, made.to(self.dtype), "bernoulli_")
        return self
    expect(0 <= p <= 1, f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return fill(self, "bernoulli_", generator, lambda rng, s, d: np.asarray(rng.random(s) < p).astype(d))


@exposed("method")
def exponential_(self: Tensor, lambd: float = 1, *, generator: Any = None) -> Tensor:
    """Fill with numbers of the density λ·exp(-λx)."""
    expect(lambd > 0, f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    sample = continuous("Exponential", lambda rng, s: rng.standard_exponential(s) / lambd)
    return fill(self, "exponential_", generator, sample)


@exposed("method")
def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Fill with the number of trials of probability p up to the first success."""
    expect(0 < p < 1, f"geometric_ expects p to be in (0, 1), but got p={p}")
    return fill(self, "geometric_", generator, lambda rng, s, d: np.asarray(rng.geometric(p, s)).astype(d))


@exposed("method")
def cauchy_(self: Tensor, median: float = 0, sigma: float = 1, *, generator: Any = None) -> Tensor:
    """Fill with numbers of the density σ / (π·((x - median)² + σ²))."""
    expect(sigma > 0, f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    sample = continuous("Cauchy", lambda rng, s: median + sigma * rng.standard_cauchy(s))
    return fill(self, "cauchy_", generator, sample)


@exposed("method")
def log_normal_(self: Tensor, mean: float = 1, std: float = 2, *, generator: Any = None) -> Tensor:
    """Fill with numbers whose logarithms are normal."""
    expect(std > 0, f"log_normal_ expects std > 0.0, but found std={std}")
    return fill(
        self, "log_normal_", generator, continuous("LogNormal", lambda rng, s: rng.lognormal(mean, std, s))
    )
