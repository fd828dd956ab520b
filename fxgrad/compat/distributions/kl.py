"""The Kullback–Leibler divergence: `kl_divergence`, and `register_kl` for user-defined ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.tensor import Tensor
from ..errors import ArgumentError, NotSupportedError
from .distribution import Distribution

__all__ = ["kl_divergence", "register_kl"]

DIVERGENCES: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Any], Any]:
    """Enter the divergence of two classes of distributions: a decorator of a function of two of them.

    Args:
        type_p, type_q: the classes; it serves their subclasses as well, unless there is one that fits better.

    Raises:
        ArgumentError: they are no such classes. It is a TypeError.

    >>> from fxgrad.compat.distributions import Normal, kl_divergence, register_kl
    >>> class Shifted(Normal): ...
    >>> @register_kl(Shifted, Shifted)
    ... def divergence(p, q):
    ...     return (p.loc - q.loc).abs()
    >>> kl_divergence(Shifted(0.0, 1.0), Shifted(2.0, 1.0))
    tensor(2.)
    """
    for given in (type_p, type_q):
        if not isinstance(given, type):
            raise ArgumentError(
                f"Expected type_p and type_q to be classes, but got {given}",
                hint="register_kl(Normal, Normal): classes, without parameters",
            )

    def enter(divergence: Callable[[Any, Any], Tensor]) -> Callable[[Any, Any], Tensor]:
        DIVERGENCES[type_p, type_q] = divergence
        return divergence

    return enter


def find_divergence(type_p: type, type_q: type) -> Callable[[Any, Any], Tensor] | None:
    """Find the function for the classes nearest to these: for the first one as near as possible, then the second."""
    for p in type_p.__mro__:
        for q in type_q.__mro__:
            if (p, q) in DIVERGENCES:
                return DIVERGENCES[p, q]
    return None


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Compute the divergence of Kullback and Leibler, the mean of log p(x)/q(x) under p.

    Args:
        p, q: distributions whose batches broadcast against one another.

    Returns:
        A Tensor of the shape of the batch.

    Raises:
        NotSupportedError: none is known of these. It is a NotImplementedError.

    >>> D = torch.distributions
    >>> D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(1.0, 1.0))
    tensor(0.5000)
    """
    divergence = find_divergence(type(p), type(q))
    if divergence is None:
        raise NotSupportedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}",
            hint="register_kl enters one",
        )
    return divergence(p, q)
