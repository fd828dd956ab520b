"""Methods that fill Tensors with random samples, in the order of their entries in memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter
from typing import Any

import numpy as np

from ...extend import aval_of, kind_of, source_info
from .._core.dtypes import short_name
from .._core.inplace import assign, ensure_modifiable
from .._core.memory import VERSIONS
from .._core.meta import is_meta
from .._core.tensor import Tensor
from .._declare.gate import writable_array
from .._declare.signatures import DerivedSignature
from .._declare.spaces import expose
from ..errors import NotSupportedError, TensorError
from . import variates
from .creation import like_order
from .generators import Generator, draw_plainly, draw_tensor, ensure_mapped, lies_in_rows
from .sampling import (
    DIGITS,
    bernoulli_of_noise,
    check_probability,
    draw_noise,
    ensure_floating,
    integer_sampler,
    normal_sampler,
)

SELF = Parameter("self", Parameter.POSITIONAL_ONLY)
GENERATOR = Parameter("generator", Parameter.KEYWORD_ONLY, default=None)


def fill_with_samples(tensor: Tensor, name: str, generator, sample: Callable[..., Any]) -> Tensor:
    """Fill a Tensor with sample(generator, shape, dtype)."""
    memory = writable_array(tensor)
    if memory is not None and memory.flags.c_contiguous:
        value = draw_plainly(sample, memory.shape, memory.dtype, generator)
        if value is not None:
            memory[...] = value
            VERSIONS.record_change(memory, name, source_info.user_frame())
            return tensor
    ensure_modifiable(tensor)
    ensure_mapped(tensor, name)
    if is_meta(tensor._fx_value):
        return tensor
    numpy = aval_of(tensor._fx_value).dtype
    made = draw_tensor(
        lambda rng, s: sample(rng, s, numpy).astype(numpy, copy=False),
        tensor.shape,
        generator,
        like_order(tensor),
        tensor,
        as_in_memory=True,
    )
    assign(tensor, made, name)
    return tensor


def fill_method(sampler: Callable[..., Callable[..., Any]]) -> None:
    """Declare a method that fills a Tensor, by a function from its parameters to the arguments of
    `fill_with_samples`."""

    name = sampler.__name__

    @wraps(sampler)
    def fill(self: Tensor, *args, generator=None, **names) -> Tensor:
        if "from" in names:
            names["from_"] = names.pop("from")
        sample = sampler(*args, **names) if names else sampler(*args)
        return fill_with_samples(self, name, generator, sample)

    fill.__signature__ = DerivedSignature(sampler, lambda given: [SELF, *given, GENERATOR])  # type: ignore[attr-defined]
    expose("method")(fill)


def continuous(name: str, sample: Callable[..., np.ndarray], *parameters: float) -> Callable[..., np.ndarray]:
    """Return the sampler of a continuous distribution with these parameters, for floating dtypes."""

    def check_and_sample(rng: Generator, shape, numpy) -> np.ndarray:
        if kind_of(numpy) != "f":
            raise TensorError(
                f"{name} distribution is a continuous probability distribution. dtype must be a floating point but you "
                f"specified {short_name(numpy)}",
                hint="x.to(torch.float32), or x.random_(low, high) for whole numbers",
            )
        return sample(rng, shape, numpy, *parameters)

    return check_and_sample


@fill_method
def uniform_(from_: float = 0, to: float = 1) -> Any:
    """Fill the Tensor with numbers uniform in [from, to)."""
    if not from_ <= to:
        raise TensorError(
            f"uniform_ expects to return a [from, to) range, but found from={from_} > to={to}",
            hint=f"x.uniform_({to}, {from_})",
        )

    def sample(rng: Generator, shape, numpy) -> np.ndarray:
        ensure_floating(numpy, "check_uniform_bounds")
        return variates.uniform(rng, shape, numpy, from_, to)

    return sample


@expose("method")
def normal_(self: Tensor, mean: float = 0, std: float = 1, *, generator=None) -> Tensor:
    """Fill the Tensor with normal numbers."""
    if not std >= 0:
        raise TensorError(f"normal expects std >= 0.0, but found std {std}", hint="a deviation is 0 or more")
    return fill_with_samples(self, "normal_", generator, normal_sampler(mean, std, lies_in_rows(self)))


UNBOUNDED: Any = object()  # an end of whole numbers that is not given


@fill_method
def random_(from_=0, to=UNBOUNDED) -> Any:
    """Fill the Tensor with whole numbers: random_() draws from 0 to the largest of the dtype; random_(to);
    random_(from, to), without an upper end if `to` is None."""
    if to is UNBOUNDED:
        if from_:
            return integer_sampler(0, int(from_))
        return sample_nonnegative
    if to is not None:
        return integer_sampler(int(from_), int(to))
    return lambda rng, s, dtype: integer_sampler(int(from_), integer_limit(dtype))(rng, s, dtype)


def sample_nonnegative(rng: Generator, shape, numpy) -> np.ndarray:
    """Sample whole numbers before the `integer_limit` of a dtype."""
    return variates.integers(rng, shape, 0, integer_limit(numpy), numpy.itemsize == 8).astype(numpy)


def integer_limit(numpy) -> int:
    """The end (exclusive) of the whole numbers from 0 on that a dtype represents without gaps."""
    if kind_of(numpy) == "b":
        return 2
    if kind_of(numpy) in "iu":
        return min(int(np.iinfo(numpy).max) + 1, 1 << 63)
    digits = DIGITS.get(numpy.name)
    if digits is None:
        raise NotSupportedError(
            f"\"random_kernel_cpu\" not implemented for '{short_name(numpy)}'",
            hint="x.uniform_(), or torch.randint(high, x.shape)",
        )
    return (1 << digits) + 1


@expose("method")
def bernoulli_(self: Tensor, p=0.5, *, generator=None) -> Tensor:
    """Fill the Tensor with ones, each with probability `p`, and zeros elsewhere."""
    if isinstance(p, Tensor):
        ensure_modifiable(self)
        ensure_mapped(self, "bernoulli_", p)
        p = p.detach().expand(self.shape)
        check_probability(p)
        made = bernoulli_of_noise(p, draw_noise(p, like_order(self), generator, self))
        assign(self, made.to(self.dtype), "bernoulli_")
        return self
    if not 0 <= p <= 1:
        raise TensorError(f"bernoulli_ expects p to be in [0, 1], but got p={p}", hint="p is a probability")
    return fill_with_samples(
        self, "bernoulli_", generator, lambda rng, s, dtype: variates.bernoulli(rng, s, dtype, p)
    )


@fill_method
def exponential_(lambd: float = 1) -> Any:
    """Fill the Tensor with numbers of the density λ·exp(-λx)."""
    if not lambd > 0:
        raise TensorError(
            f"exponential_ expects lambda > 0.0, but found lambda={lambd}", hint="the rate is positive"
        )
    return continuous("Exponential", variates.exponential, lambd)


@fill_method
def geometric_(p: float) -> Any:
    """Fill the Tensor with the number of trials of probability p up to the first success."""
    if not 0 < p < 1:
        raise TensorError(
            f"geometric_ expects p to be in (0, 1), but got p={p}", hint="p is a probability, neither 0 nor 1"
        )
    return lambda rng, s, dtype: variates.geometric(rng, s, dtype, p)


@fill_method
def cauchy_(median: float = 0, sigma: float = 1) -> Any:
    """Fill the Tensor with numbers of the density σ / (π·((x - median)² + σ²))."""
    if not sigma > 0:
        raise TensorError(
            f"cauchy_ expects sigma > 0.0, but found sigma={sigma}", hint="the width is positive"
        )
    return continuous("Cauchy", variates.cauchy, median, sigma)


@fill_method
def log_normal_(mean: float = 1, std: float = 2) -> Any:
    """Fill the Tensor with numbers whose logarithms are normal."""
    if not std > 0:
        raise TensorError(
            f"log_normal_ expects std > 0.0, but found std={std}",
            hint="the deviation of the logarithms is positive",
        )
    return continuous("LogNormal", variates.log_normal, mean, std)
