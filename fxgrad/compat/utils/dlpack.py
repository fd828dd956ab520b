"""torch.utils.dlpack: memory exchanged with other libraries without a copy."""

from .. import _surface  # noqa: F401  Tensors have all their methods
from .._core.tensor import Tensor
from .._declare.spaces import SPACES

from_dlpack = SPACES["function"]["from_dlpack"]


def to_dlpack(tensor: Tensor) -> object:
    """Return a capsule of a Tensor's memory, which another library's `from_dlpack` takes once.

    Args:
        tensor: the Tensor.

    >>> capsule = torch.to_dlpack(torch.zeros(2))
    >>> type(capsule).__name__
    'PyCapsule'
    """
    return tensor.__dlpack__()


__all__ = ["from_dlpack", "to_dlpack"]
