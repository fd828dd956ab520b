"""Functions that draw random numbers: dropout and its variants, rrelu, gumbel_softmax."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ....extend import aval_of, source_info
from ..._core.tensor import refresh
from ..._declare.spaces import expose
from ..._make import variates
from ..._make.creation import like_order
from ..._make.generators import draw_for_each, draw_tensor
from ...errors import ArgumentValueError, TensorError
from .activation import leaky_relu
from .softmax import softmax
from .spatial import batch_hint

DOUBLE = np.dtype(float)
ALPHA = 1.7580993408473766  # the value at which selu saturates, but for its sign


def check_probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise ArgumentValueError(
            f"dropout probability has to be between 0 and 1, but got {p}",
            hint=f"p={p / 100:g}, of percent" if 1 < p <= 100 else "p=0.5",
        )


def draw_kept(input, shape, p: float, scale: float = 1.0) -> Any:
    """Draw `scale` with probability 1 − p and 0 otherwise, in the input's dtype. The entries lie in memory as those of
    the input, where the shape is the same."""
    numpy = aval_of(input._fx_value).dtype
    order = like_order(input) if tuple(shape) == tuple(input.shape) else None

    return draw_tensor(
        lambda rng, size: variates.bernoulli(rng, size, numpy, 1 - p, scale), shape, None, order, input
    )


def dropout_factors(input, shape, p: float) -> Any:
    """Draw the factors of dropout: 1/(1 − p) with probability 1 − p, and 0 otherwise."""
    if p == 1:
        return input.new_zeros(())
    wide = np.promote_types(aval_of(input._fx_value).dtype, np.float32).type
    return draw_kept(input, shape, p, float(wide(1) / wide(1 - p)))


def apply_factor(input, factor, inplace: bool) -> Any:
    return input.mul_(factor) if inplace else input * factor


def drop_entries(input, p: float, training: bool, inplace: bool, shape) -> Any:
    """Multiply the input by dropout factors of a shape that broadcasts to that of the input."""
    check_probability(p)
    if not training or p == 0 or not input.numel():
        return input
    return apply_factor(input, dropout_factors(input, shape, p), inplace)


@expose("nn.functional")
def dropout(input, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zeros with probability p, and else x/(1 − p); x itself unless `training`."""
    return drop_entries(input, p, training, inplace, input.shape)


def feature_shape(input, rank: int | None) -> tuple[int, ...]:
    """The shape with one number for each channel, with a given rank for an entry or a batch."""
    ndim = input.ndim
    if rank is not None and ndim not in (rank + 1, rank + 2):
        raise TensorError(
            f"dropout{rank}d: Expected {rank + 1}D or {rank + 2}D input, but received a {ndim}D input",
            hint=batch_hint(tuple(input.shape), rank),
        )
    if rank == 2 and ndim == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is "
            "desired - input is interpreted as shape (N, C, L), where C is the channel dim. To maintain the 1D dropout "
            "behavior, please switch to using dropout1d instead.",
            stacklevel=source_info.user_stacklevel(),
        )
    lead = 1 if rank in (1, 3) and ndim == rank + 1 else 2
    return (*input.shape[:lead], *(1,) * (ndim - lead))


def declare_feature_dropout(rank: int) -> Any:
    """Declare dropout of channels with so many dimensions."""

    def feature_dropout(input, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
        """dropout of whole channels."""
        return drop_entries(input, p, training, inplace, feature_shape(input, rank))

    feature_dropout.__name__ = feature_dropout.__qualname__ = f"dropout{rank}d"
    return expose("nn.functional")(feature_dropout)


dropout1d, dropout2d, dropout3d = map(declare_feature_dropout, (1, 2, 3))


@expose("function")
def feature_dropout(input, p: float, train: bool) -> Any:
    """The dropout of whole channels."""
    return drop_entries(input, p, train, False, feature_shape(input, None))


def drop_to_saturation(input, p: float, training: bool, inplace: bool, shape) -> Any:
    """Set random entries to −ALPHA, then scale and shift so that mean 0 and variance 1 stay."""
    check_probability(p)
    if not training or p == 0 or not input.numel():
        return input
    if p == 1:
        return apply_factor(input, 0.0, inplace)
    scale = 1 / math.sqrt((ALPHA * ALPHA * p + 1) * (1 - p))
    mask = draw_kept(input, shape, p)
    moved = (mask - 1) * (ALPHA * scale) + ALPHA * scale * p
    if inplace:
        return input.mul_(mask * scale).add_(moved)
    return input * (mask * scale) + moved


@expose("nn.functional")
def alpha_dropout(input, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """Dropout for selu: dropped entries get the saturation value of selu, and mean 0 and variance 1 are kept."""
    return drop_to_saturation(input, p, training, inplace, input.shape)


@expose("nn.functional")
def feature_alpha_dropout(input, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """alpha_dropout of whole channels."""
    return drop_to_saturation(input, p, training, inplace, feature_shape(input, None))


def declare_torch_dropout(name: str, function, **options) -> None:
    """Declare the same function as `torch.name`, with torch's other parameters."""

    def drop(input, p: float, train: bool) -> Any:
        return function(input, p, train, **options)

    place = ", in place" if options else ""
    drop.__doc__ = f"`nn.functional.{function.__name__}`{place}, under the name of its operation."
    expose("function", name)(drop)


for function in (dropout, alpha_dropout, feature_alpha_dropout):
    declare_torch_dropout(function.__name__, function)
declare_torch_dropout("dropout_", dropout, inplace=True)


def sample_slopes(rng, x: np.ndarray, lower: float, upper: float) -> np.ndarray:
    """Sample slopes for the entries that are not positive, one after the other; 1 for the others."""
    slopes, here = np.ones(x.shape), x <= 0
    slopes[here] = variates.uniform(rng, (np.count_nonzero(here),), DOUBLE, lower, upper)
    return slopes


def draw_slopes(input, lower: float, upper: float) -> Any:
    """Draw a slope for each entry that is not positive; the slope of positive entries is 1. Where entries are not
    known, one is drawn for each."""
    drawn = draw_for_each(
        lambda rng, x: sample_slopes(rng, x, lower, upper),
        (refresh(input)._fx_value,),
        None,
    )
    if drawn is not None:
        return drawn.to(input.dtype)
    drawn = draw_tensor(
        lambda rng, s: variates.uniform(rng, s, DOUBLE, lower, upper), input.shape, like=input
    )
    return drawn.to(input.dtype).masked_fill(input > 0, 1.0)


@expose("nn.functional")
def rrelu(
    input, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False
) -> Any:
    """The randomized leaky rectified linear unit: x where it is positive, elsewhere times a slope in [lower, upper],
    which is random in training and else the mean."""
    if lower > upper:
        raise TensorError(
            f"Lower bound should be less than or equal to the upper bound, but got {lower} > {upper}",
            hint=f"lower={upper:g}, upper={lower:g}",
        )
    if not training:
        y = leaky_relu(input, (lower + upper) / 2)
    else:
        y = input * draw_slopes(input, lower, upper)
    return input.copy_(y) if inplace else y


@expose("function nn.functional")
def rrelu_(input, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> Any:
    """The in-place form of rrelu in place."""
    return rrelu(input, lower, upper, training, True)


expose("function")(rrelu)


@expose("nn.functional")
def gumbel_softmax(logits, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """A random weighting with the probabilities softmax(logits): softmax((logits + Gumbel noise)/tau).

    Args:
        hard: the greatest becomes 1 and the others 0; the derivative is that of the soft weighting.
    """
    numpy = aval_of(logits._fx_value).dtype
    waits = draw_tensor(
        lambda rng, s: variates.exponential(rng, s, numpy, 1.0), logits.shape, like=logits, as_in_memory=True
    )
    soft = softmax((logits - waits.log()) / tau, dim)
    if not hard:
        return soft
    index = soft.detach().argmax(dim, keepdim=True)
    one = logits.detach() * 0
    return one.scatter_(dim, index, 1.0) - soft.detach() + soft
