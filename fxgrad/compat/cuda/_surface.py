"""The names of `torch.cuda`."""

from .. import _surface  # Tensors have all their methods
from . import amp, devices
from .devices import *  # noqa: F403

__all__ = ["amp", *devices.__all__]
