"""Functions that draw random numbers: dropout and its variants, rrelu, gumbel_softmax."""

from __future__ import annotations

import math
from typing import Any

from ..._core.errors import ArgumentValueError, TensorError
from ..._declare.spaces import expose
from ..._make.generators import draw_tensor
from .activation import leaky_relu
from .softmax import softmax

ALPHA = 1.7580993408473766  # the value at which selu saturates, but for its sign


def check_probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise ArgumentValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout_factors(shape, dtype, p: float) -> Any:
    """Draw the factors of dropout: 1/(1 − p) with probability 1 − p, and 0 otherwise."""
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return draw_tensor(lambda rng, s: (rng.random(s) >= p) * scale, shape, dtype=dtype)


def apply_factor(input, factor, inplace: bool) -> Any:
    return input.mul_(factor) if inplace else input * factor


def drop_entries(input, p: float, training: bool, inplace: bool, shape) -> Any:
    """Multiply the input by dropout factors of a shape that broadcasts to its own."""
    check_probability(p)
    if not training or p == 0:
        return input
    return apply_factor(input, dropout_factors(shape, input.dtype, p), inplace)


@expose("nn.functional")
def dropout(input, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zeros with probability p, and else x/(1 − p); x itself unless `training`."""
    return drop_entries(input, p, training, inplace, input.shape)


def feature_shape(input, rank: int | None) -> tuple[int, ...]:
    """The shape of one number for each channel; with a rank, of a batch or of one entry of it."""
    ndim = input.ndim
    if rank is not None and ndim not in (rank + 1, rank + 2):
        raise TensorError(
            f"dropout{rank}d: Expected {rank + 1}D or {rank + 2}D input, but received a {ndim}D input"
        )
    lead = 1 if ndim == (rank or 0) + 1 and rank is not None else 2
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
    """dropout of whole channels."""
    return drop_entries(input, p, train, False, feature_shape(input, None))


def drop_to_saturation(input, p: float, training: bool, inplace: bool, shape) -> Any:
    """Set random entries to −ALPHA, then scale and shift so that mean 0 and variance 1 stay."""
    check_probability(p)
    if not training or p == 0:
        return input
    if p == 1:
        return apply_factor(input, 0.0, inplace)
    scale = 1 / math.sqrt((ALPHA * ALPHA * p + 1) * (1 - p))
    mask = draw_tensor(lambda rng, s: rng.random(s) >= p, shape, dtype=input.dtype)
    moved = (mask - 1) * (ALPHA * scale) + ALPHA * scale * p
    if inplace:
        return input.mul_(mask * scale).add_(moved)
    return input * (mask * scale) + moved


@expose("nn.functional")
def alpha_dropout(input, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """dropout for selu: entries are set to what it saturates at, mean 0 and variance 1 stay."""
    return drop_to_saturation(input, p, training, inplace, input.shape)


@expose("nn.functional")
def feature_alpha_dropout(input, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """alpha_dropout of whole channels."""
    return drop_to_saturation(input, p, training, inplace, feature_shape(input, None))


def declare_torch_dropout(name: str, function, **options) -> None:
    """Declare the same function as `torch.name`, with torch's other parameters."""

    @expose("function", name)
    def drop(input, p: float, train: bool) -> Any:
        return function(input, p, train, **options)

    drop.__doc__ = f"nn.functional.{function.__name__}{' in place' if options else ''}."


for function in (dropout, alpha_dropout, feature_alpha_dropout):
    declare_torch_dropout(function.__name__, function)
declare_torch_dropout("dropout_", dropout, inplace=True)


@expose("nn.functional")
def rrelu(
    input, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False
) -> Any:
    """x, where it is not positive times a random slope in [lower, upper]; the middle one unless `training`."""
    if lower > upper:
        raise TensorError(
            f"Lower bound should be less than or equal to the upper bound, but got {lower} > {upper}"
        )
    if not training:
        y = leaky_relu(input, (lower + upper) / 2)
    else:
        slope = draw_tensor(lambda rng, s: rng.uniform(lower, upper, s), input.shape, dtype=input.dtype)
        y = input * slope.masked_fill(input > 0, 1.0)
    return input.copy_(y) if inplace else y


@expose("nn.functional")
def rrelu_(input, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> Any:
    """rrelu in place."""
    return rrelu(input, lower, upper, training, True)


expose("function")(rrelu)
expose("function")(rrelu_)


@expose("nn.functional")
def gumbel_softmax(logits, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """A random weighting with the probabilities softmax(logits): softmax((logits + Gumbel noise)/tau).

    Args:
        hard: the greatest becomes 1 and the others 0; the derivative is that of the soft weighting.
    """
    noise = draw_tensor(lambda rng, s: rng.gumbel(size=s), logits.shape, dtype=logits.dtype)
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.detach().argmax(dim, keepdim=True)
    one = logits.detach() * 0
    return one.scatter_(dim, index, 1.0) - soft.detach() + soft
