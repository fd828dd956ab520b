"""The names of `torch.cuda`."""

from .. import _surface  # Tensors have all their methods
from .._make.tensor_types import make_types
from . import amp, devices, memory, streams
from .devices import *  # noqa: F403
from .memory import *  # noqa: F403
from .streams import *  # noqa: F403

CUDA_TYPES = make_types("cuda")
globals().update(CUDA_TYPES)
__all__ = ["amp", *CUDA_TYPES, *devices.__all__, *memory.__all__, *streams.__all__]
