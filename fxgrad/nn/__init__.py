"""`fxgrad.nn`: activations, softmax and related functions, attention, and initializers, with the names of jax.nn.

Networks are functions of pytrees of parameters; there are no layers here.
"""
# ruff: noqa: I001

from typing import TYPE_CHECKING

from ..core.face import LazyPackage
from ..numpy import boxes  # traced values behave like arrays

if TYPE_CHECKING:
    from . import initializers
    from .activations import *
    from .rows import *
    from .attention import *

LazyPackage.of(__name__)
