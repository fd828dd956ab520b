"""Functions that create Tensors of random samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Unpack

import numpy as np

from ... import numpy as fnp
from ...extend import Tracer, aval_of, kind_of, ops
from .._core.dtypes import default_numpy_dtype, dtype_limits, from_numpy_dtype, short_name
from .._core.error_messages import broadcast_error
from .._core.layout import contiguous_format, preserve_format
from .._core.memory import is_array
from .._core.tape import current_tape
from .._core.tensor import TENSOR_CLASSES, Tensor, make_tensor, refresh
from .._declare.composite import zero_tangent_rule
from .._declare.operation import operation
from .._declare.plain import make_result
from .._declare.spaces import expose
from ..errors import ArgumentError, ArgumentValueError, NotSupportedError, TensorError
from . import rejection, variates
from .creation import create_like, create_with_options, like_order, parse_size, size_error
from .devices import CPU, DEFAULT_DEVICE
from .generators import (
    Generator,
    batch_order,
    draw,
    draw_for_each,
    draw_plainly,
    draw_tensor,
    lies_in_rows,
    random_levels,
)
from .options import OutOptions, SampleLikeOptions, SampleOptions

FLOAT = np.dtype(float)
DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}  # of floating dtypes, in base 2


# -- arrays of NumPy's dtypes: (generator, shape, dtype) → array ------------------------------------------
def sample_uniform(rng: Generator, shape, numpy) -> np.ndarray:
    """Sample numbers in [0, 1)."""
    ensure_floating(numpy, "check_uniform_bounds")
    return variates.uniform(rng, shape, numpy)


def normal_sampler(mean=0.0, std=1.0, in_rows: bool = True) -> Callable[..., np.ndarray]:
    """Return the sampler of normal numbers, see `variates.normal`."""

    def sample(rng: Generator, shape, numpy) -> np.ndarray:
        ensure_floating(numpy, "normal_kernel_cpu")
        return variates.normal(rng, shape, numpy, mean, std, in_rows)

    return sample


sample_normal = normal_sampler()


def ensure_floating(numpy, name: str) -> None:
    """Raise if the dtype is an integer one."""
    if kind_of(numpy) not in "fc":
        raise NotSupportedError(
            f"\"{name}\" not implemented for '{short_name(numpy)}'", hint="x.to(torch.float32)"
        )


def integer_sampler(low: int, high: int) -> Callable[..., np.ndarray]:
    """Return the sampler of whole numbers from `low` up to but not including `high`."""
    if low >= high:
        raise TensorError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}",
            hint=f"from={high}, to={low + 1}" if low > high else f"to={low + 1}, which gives {low}",
        )

    def sample(rng: Generator, shape, numpy) -> np.ndarray:
        first, end, kind = low, high, kind_of(numpy)
        if kind == "c":
            raise TensorError(
                "check_random_bounds handles only integral, floating-point and boolean types",
                hint=f"the dtype is {from_numpy_dtype(numpy)}",
            )
        if kind in "biu":
            check_bounds(low, high, *((0, 1) if kind == "b" else dtype_limits(numpy)), numpy)
        else:
            first, end = to_floating_range(low, high, numpy)
        return variates.integers(rng, shape, first, end - first).astype(numpy, copy=False)

    return sample


def check_bounds(low: int, high: int, least: int, greatest: int, numpy) -> None:
    """Raise if a bound of whole numbers is not in a dtype's range."""
    for bound, value in (("from", low), ("to - 1", high - 1)):
        if not least <= value <= greatest:
            raise TensorError(
                f"{bound} is out of bounds for {from_numpy_dtype(numpy)}",
                hint=f"{least} to {greatest + 1}, or another dtype",
            )


def to_floating_range(low: int, high: int, numpy) -> tuple[int, int]:
    """Round bounds of whole numbers inward to numbers of a floating dtype, where that would take them outward."""
    if numpy.name == "float16":
        check_bounds(low, high, -65504, 65504, numpy)
    first, last = numpy.type(low + 1), numpy.type(high - 1)
    if int(first) < low:
        low = int(np.nextafter(first, numpy.type(np.inf)))
    if int(last) >= high:
        high = int(np.nextafter(last, -numpy.type(np.inf)))
    return low, high


# -- functions that make Tensors ------------------------------------------
def create_samples(sample: Callable[..., np.ndarray], name: str, size, default, options: Any) -> Tensor:
    """Make a Tensor of sample(generator, shape, dtype)."""
    generator = None
    if options:
        generator = options.pop("generator", None)
        if "size" in options:
            size = (*size, options.pop("size"))
    shape = parse_size(size, name)
    if not options and DEFAULT_DEVICE.get() is CPU:
        value = draw_plainly(sample, shape, default, generator)
        if value is not None:
            return make_result(value, None, None, None)
    return create_with_options(
        lambda numpy: draw(lambda rng, s: sample(rng, s, numpy), shape, generator), name, default, **options
    )


def create_samples_like(sample: Callable[..., np.ndarray], name: str, input, options: Any) -> Tensor:
    """Make a Tensor of sample(generator, shape, dtype) in the shape, dtype, device and strides of another."""
    generator = options.pop("generator", None)
    if not options and type(input) in TENSOR_CLASSES and input._fx_view_meta is None:
        value = input._fx_value
        if type(value) is np.ndarray and value.flags.c_contiguous:
            value = draw_plainly(sample, value.shape, value.dtype, generator)
            if value is not None:
                return make_result(value, None, None, None)
    as_it_lies = options.get("memory_format") in (None, preserve_format)
    return create_like(
        input,
        lambda shape, numpy, order: draw(
            lambda rng, s: sample(rng, s, numpy), shape, generator, order, input, as_it_lies
        ),
        name,
        options,
    )


@expose()
def rand(*size, **options: Unpack[SampleOptions]) -> Tensor:
    """Numbers uniform in [0, 1).

    Args:
        size: its sizes, as several arguments or as one tuple.
    >>> torch.rand(2, 3, generator=torch.Generator().manual_seed(0)).shape
    torch.Size([2, 3])
    """
    return create_samples(sample_uniform, "rand", size, default_numpy_dtype("f"), options)


@expose()
def randn(*size, **options: Unpack[SampleOptions]) -> Tensor:
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
def randint(*bounds, low: int = 0, high=None, size=None, **options: Unpack[SampleOptions]) -> Tensor:
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
def randperm(n: int, **options: Unpack[SampleOptions]) -> Tensor:
    """The whole numbers before n in a random order; see `rand`."""
    shape = parse_size((n,), "randperm")

    def sample(rng: Generator, shape, numpy) -> np.ndarray:
        if len(shape) == 1:
            return variates.permutation(rng, n).astype(numpy, copy=False)
        rows = [variates.permutation(rng, n) for _ in range(math.prod(shape[:-1]))]
        return np.reshape(rows, shape).astype(numpy)

    return create_samples(sample, "randperm", (shape,), default_numpy_dtype("i"), options)


@expose()
def rand_like(input: Tensor, **options: Unpack[SampleLikeOptions]) -> Tensor:
    """`rand` in the shape, dtype and device of a Tensor."""
    return create_samples_like(sample_uniform, "rand_like", input, options)


@expose()
def randn_like(input: Tensor, **options: Unpack[SampleLikeOptions]) -> Tensor:
    """`randn` in the shape, dtype and device of a Tensor."""
    rows, memory = True, options.get("memory_format")
    if isinstance(input, Tensor):
        is_entry = memory in (None, preserve_format) and batch_order(input, random_levels()) is not None
        rows = lies_in_rows(input) if is_entry else like_order(input, memory) is None
    return create_samples_like(normal_sampler(in_rows=rows), "randn_like", input, options)


@expose()
def randint_like(input: Tensor, *bounds, low=0, high=None, **options: Unpack[SampleLikeOptions]) -> Tensor:
    """`randint` in the shape, dtype and device of a Tensor: randint_like(x, high), randint_like(x, low, high)."""
    low, high = parse_bounds(bounds, low, high)
    if high is None:
        raise ArgumentError(
            "randint_like() received an invalid combination of arguments", hint="randint_like(x, 10)"
        )
    return create_samples_like(integer_sampler(int(low), int(high)), "randint_like", input, options)


# -- of parameters that are Tensors ------------------------------------------
def concrete_array(value) -> Any:
    """Return an array whose entries can be inspected, or None if the value is traced."""
    return None if isinstance(value, Tracer) else value if is_array(value) else np.asarray(value)


@operation("input noise", name="bernoulli", numbers="input", spaces="", out=False, tangent=zero_tangent_rule)
def bernoulli_of_noise(input, noise) -> Any:
    """Return 1 where the noise is less than the probability, and 0 elsewhere."""
    return ops.convert(ops.less(noise, input), dtype=aval_of(input).dtype)


@expose("function method")
def bernoulli(input: Tensor, p: float | None = None, *, generator=None, out=None) -> Tensor:
    """A Tensor of ones, each with the probability of its entry (or `p`), and zeros elsewhere."""
    aval = aval_of(refresh(input)._fx_value)
    if p is not None:
        if not 0 <= p <= 1:
            raise TensorError(
                f"bernoulli_ expects p to be in [0, 1], but got p={p}", hint="p is a probability"
            )
        options = {"generator": generator, "memory_format": contiguous_format}
        return create_samples_like(
            lambda rng, s, d: variates.bernoulli(rng, s, d, p), "bernoulli", input, options
        )
    ensure_floating(aval.dtype, "bernoulli_tensor_cpu_p_")
    check_probability(input)
    made = bernoulli_of_noise(input, draw_noise(input, None, generator))
    return made if out is None else out.copy_(made)


def check_probability(p: Tensor) -> None:
    """Raise if entries are no probabilities."""
    entries = concrete_array(p._fx_value)
    if entries is not None and not ((entries >= 0) & (entries <= 1)).all():
        raise TensorError(
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false.",
            hint="p.clamp(0, 1), or torch.sigmoid(x) of what may be any number",
        )


def draw_noise(p: Tensor, order, generator, filled: Tensor | None = None) -> Tensor:
    """Draw uniform numbers to be compared with probabilities: in double precision for these, and else in single. They
    lie as the entries of what is filled by the comparison, if that is a Tensor that there is."""
    dtype = np.dtype(np.float64 if aval_of(p._fx_value).dtype == np.float64 else np.float32)
    like, in_memory = (p, False) if filled is None else (filled, True)
    return draw_tensor(
        lambda rng, s: variates.uniform(rng, s, dtype), p.shape, generator, order, like, in_memory
    )


@operation(
    "mean std noise",
    name="normal",
    numbers="mean std",
    spaces="",
    promote="float",
    out=False,
    tangent=zero_tangent_rule,
)
def normal_of_noise(mean, std, noise) -> Any:
    """Compute mean + std · noise; its derivative is zero in both, as in torch."""
    return ops.add(mean, ops.multiply(std, noise))


@expose()
def normal(mean=0.0, std=1.0, size=None, *, generator=None, **options: Unpack[OutOptions]) -> Tensor:
    """Normal numbers: of Tensors of means and standard deviations, or of numbers and in a size; see `rand`."""
    out = options.get("out")
    if size is not None or not (isinstance(mean, Tensor) or isinstance(std, Tensor)):
        mean, std = (moment_number(x) for x in (mean, std))
        if not isinstance(size, tuple | list):
            raise size_error("normal", 3, size)
        check_std(np.asarray(std), f"normal expects std >= 0.0, but found std {std:g}")

        return create_samples(
            normal_sampler(mean, std),
            "normal",
            (size,),
            default_numpy_dtype("f"),
            options | {"generator": generator},
        )
    given = [refresh(x)._fx_value for x in (mean, std) if isinstance(x, Tensor)]
    check_std(
        concrete_array(std._fx_value) if isinstance(std, Tensor) else np.asarray(std),
        "normal expects all elements of std >= 0.0",
    )
    aval = aval_of(given[0])
    wrong = broadcast_error(given)
    if wrong is not None:
        raise wrong
    noise = draw_tensor(
        lambda rng, s: sample_normal(rng, s, aval.dtype),
        np.broadcast_shapes(*(v.shape for v in given)),
        generator,
        like=next(x for x in (mean, std) if isinstance(x, Tensor)),
    )
    made = normal_of_noise(mean, std, noise)
    return made if out is None else out.copy_(made)


def moment_number(given) -> Any:
    """Return a mean or deviation as a number, for a call with a size."""
    if not isinstance(given, Tensor):
        return given
    if given.shape or given.requires_grad:
        raise ArgumentError(
            "normal() received an invalid combination of arguments: a Tensor and a size",
            hint="beside a size, mean and std are numbers; mean + std * torch.randn(size) has gradients",
        )
    return given.item()


def check_std(std, message: str) -> None:
    """Raise for negative standard deviations."""
    if std is not None and not (std >= 0).all():
        raise TensorError(message, hint="std.abs(), or torch.exp(x) of what may be any number")


def draw_keys(shape, generator) -> Any:
    """Draw a key for every entry of fxgrad's own samplers, so that a batch gets the same keys whether it is mapped or
    not. They take the place of torch's where the operands' entries are not known."""

    def sample(rng: Generator, shape) -> np.ndarray:
        return rng._fx_twister.long_words(math.prod(shape)).reshape(shape)

    return draw(sample, tuple(shape), generator)


def poisson_arguments(input, generator=None) -> Any:
    """The rates are checked, counts are drawn."""
    value = refresh(input)._fx_value
    ensure_floating(aval_of(value).dtype, "poisson_cpu")
    rate = concrete_array(value)
    if rate is not None and not (rate >= 0).all():
        raise TensorError(
            "invalid Poisson rate, expected rate to be non-negative",
            hint="rate.clamp(min=0), or torch.exp(x) of what may be any number",
        )
    drawn = draw_for_each(rejection.poisson, (value,), generator)
    if drawn is None:
        rate = ops.stop_gradient(ops.convert(input.detach()._fx_value, dtype=FLOAT))
        drawn = make_tensor(current_tape(), ops.random_poisson(draw_keys(input.shape, generator), rate))
    return (input, drawn), {}


@operation(
    "input drawn", arguments=poisson_arguments, spaces="function", out=False, tangent=zero_tangent_rule
)
def poisson(input, drawn) -> Any:
    """Poisson counts of the means that are the entries."""
    return ops.convert(drawn, dtype=aval_of(input).dtype)


def binomial_arguments(count, prob, generator=None) -> Any:
    """The dtypes and shapes are checked, numbers of successes are drawn."""
    values = [refresh(x)._fx_value for x in (count, prob)]
    given = [aval_of(v) for v in values]
    names = [short_name(a.dtype) for a in given]
    for name, aval, short in zip(("count", "prob"), given, names):
        if kind_of(aval.dtype) != "f":
            raise ArgumentValueError(
                f"binomial only supports floating-point dtypes for {name}, got: {short}",
                hint=f"{name}.to(torch.float32)",
            )
    if names[0] != names[1]:
        raise TensorError(
            f"Found dtype {names[1]} but expected {names[0]}",
            hint=f"prob.to({from_numpy_dtype(given[0].dtype)})",
        )
    wrong = broadcast_error(given)
    if wrong is not None:
        raise wrong
    drawn = draw_for_each(sample_binomial, values, generator)
    if drawn is None:
        drawn = make_tensor(current_tape(), binomial_by_keys(count, prob, generator))
    return (count, prob, drawn), {}


def sample_binomial(rng: Generator, count: np.ndarray, prob: np.ndarray) -> np.ndarray:
    """Sample numbers of successes among whole trials: parts of one do not count, and probabilities outside [0, 1] are
    the nearest of these."""
    return rejection.binomial(rng, np.floor(np.maximum(count, 0)), np.clip(prob, 0, 1))


def binomial_by_keys(count: Tensor, prob: Tensor, generator) -> Any:
    """Draw numbers of successes where the operands' entries are not known."""
    shape = np.broadcast_shapes(count.shape, prob.shape)
    keys = draw_keys(shape, generator)
    n, p = (
        ops.broadcast_to(ops.stop_gradient(ops.convert(x.detach()._fx_value, dtype=FLOAT)), shape=shape)
        for x in (count, prob)
    )
    drawn = ops.random_binomial(keys, ops.floor(ops.maximum(n, 0)), ops.minimum(ops.maximum(p, 0), 1))
    return ops.where(ops.less(drawn, 0), np.nan, drawn)


@operation(
    "count prob drawn",
    arguments=binomial_arguments,
    spaces="function",
    out=False,
    tangent=lambda ys, p, t, params: zero_tangent_rule(ys, p, t[:2], params),
)
def binomial(count, prob, drawn) -> Any:
    """The numbers of successes among `count` trials of the probability `prob`. Parts of a trial do not count, and
    probabilities outside [0, 1] are the nearest of these; NaN has no successes but NaN."""
    return ops.convert(drawn, dtype=aval_of(count).dtype)


def multinomial_arguments(input, num_samples: int, replacement: bool = False, *, generator=None) -> Any:
    """Return the arguments of the kernel: with replacement, uniform noise for a search in the cumulated probabilities;
    without, or for one sample, exponential noise: the categories whose clocks ring first, which run at the speed of
    their probabilities."""
    aval = aval_of(refresh(input)._fx_value)
    if kind_of(aval.dtype) != "f":
        short = short_name(input.dtype)
        raise TensorError(
            f"multinomial only supports floating-point dtypes for input, got: {short}",
            hint="counts.to(torch.float32)",
        )
    if len(aval.shape) not in (1, 2):
        raise TensorError(
            "prob_dist must be 1 or 2 dim",
            hint="weights.reshape(-1, n): one row for each distribution over n categories",
        )
    if num_samples <= 0:
        raise TensorError("cannot sample n_sample <= 0 samples", hint="num_samples=1")
    if not replacement and num_samples > aval.shape[-1]:
        raise TensorError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement",
            hint=f"replacement=True, or num_samples={aval.shape[-1]} at most",
        )
    weights = concrete_array(input._fx_value)
    if weights is not None:
        if not (np.isfinite(weights) & (weights >= 0)).all():
            raise TensorError(
                "probability tensor contains either `inf`, `nan` or element < 0",
                hint="torch.softmax(x, -1) of logarithms; weights.nan_to_num(0.0).clamp(min=0) of weights",
            )
        if not (weights.sum(-1) > 0).all():
            raise TensorError(
                "invalid multinomial distribution (sum of probabilities <= 0)",
                hint="a positive weight in each row: weights + (weights.sum(-1, keepdim=True) == 0)",
            )
    looked_up = replacement and num_samples > 1
    if looked_up:
        noise = draw_tensor(
            lambda rng, s: variates.uniform(rng, s, FLOAT),
            (*aval.shape[:-1], num_samples),
            generator,
            like=input,
        )
    else:
        noise = draw_tensor(
            lambda rng, s: variates.exponential(rng, s, aval.dtype, 1.0),
            aval.shape,
            generator,
            like_order(input),
            input,
            as_in_memory=len(aval.shape) == 1,  # rows are joined to those of the batch
        )
    return (input.detach(), noise), {"num_samples": num_samples, "looked_up": looked_up}


@operation("input noise", arguments=multinomial_arguments)
def multinomial(input, noise, num_samples: int, looked_up: bool) -> Any:
    """Categories drawn by the weights in each row of `input`, which need not add up to 1.

    Raises:
        RuntimeError: negative or infinite probabilities, or none positive; more samples than categories.
    """
    if not looked_up:
        return fnp.argsort(-(input / noise), axis=-1, stable=True)[..., :num_samples]
    wide = ops.convert(input, dtype=np.promote_types(aval_of(input).dtype, np.float32))
    cumulated = fnp.cumsum(wide, axis=-1)
    cumulated = ops.convert(cumulated / cumulated[..., -1:], dtype=FLOAT)
    if len(cumulated.shape) == 1:
        return fnp.searchsorted(cumulated, noise)
    return fnp.sum(fnp.less(cumulated[..., None, :], noise[..., :, None]), axis=-1)
