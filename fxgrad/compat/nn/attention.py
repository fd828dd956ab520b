"""torch.nn.attention: causal masks, and the choice of the attention kernel, of which only one exists here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import Enum

from .._core.tensor import Tensor
from .._make.creation import ones
from ..errors import RequirementError

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(Enum):
    """The kernels of torch's for attention.

    >>> from fxgrad.compat.nn.attention import SDPBackend
    >>> SDPBackend.MATH.name
    'MATH'
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(backends: SDPBackend | Iterable[SDPBackend], set_priority: bool = False) -> Iterator[None]:
    """Return a context manager in which attention may use certain kernels of torch's: it changes nothing here.

    Args:
        set_priority: accepted and without effect.

    >>> from fxgrad.compat.nn.attention import SDPBackend, sdpa_kernel
    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     torch.nn.functional.scaled_dot_product_attention(*[torch.ones(1, 2)] * 3)
    tensor([[1., 1.]])

    Raises:
        AssertionError: `backends` are none.
    """
    if not all(
        isinstance(b, SDPBackend) for b in (backends if isinstance(backends, (list, tuple)) else [backends])
    ):
        raise RequirementError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}",
            hint="SDPBackend.MATH",
        )
    yield


def causal_upper_left(*size: int) -> Tensor:
    """Return the mask by which the first query sees the first key, the second the first two, and so on.

    >>> from fxgrad.compat.nn.attention import causal_upper_left
    >>> causal_upper_left(2, 3)
    tensor([[ True, False, False],
            [ True,  True, False]])
    """
    queries, keys = size
    return ones(queries, keys, dtype=bool).tril()


def causal_lower_right(*size: int) -> Tensor:
    """Return the mask by which the last query sees all keys, the one before all but the last, and so on.

    >>> from fxgrad.compat.nn.attention import causal_lower_right
    >>> causal_lower_right(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    queries, keys = size
    return ones(queries, keys, dtype=bool).tril(keys - queries)


__all__ = ["WARN_FOR_UNFUSED_KERNELS", "SDPBackend", "sdpa_kernel"]
