"""The names of `torch.nn`."""

from .. import _surface  # Tensors have all their methods
from . import functional, init, modules, utils
from .modules import _surface as _modules
from .modules._surface import *  # noqa: F403
from .parameter import Buffer, Parameter

__all__ = ["Buffer", "Parameter", "functional", "init", "modules", "utils", *_modules.__all__]
