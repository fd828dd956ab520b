"""`fxgrad.lax`: the primitives of jax.lax, with its names and signatures.

jax.lax requires operands of one dtype and one shape; operations here broadcast and promote as `fxgrad.numpy` does.
Sizes and axes are static, indices may be traced.

The families of functions are loaded on first use.
"""
# ruff: noqa: I001

from typing import TYPE_CHECKING

from ..core.face import LazyPackage
from ..numpy import boxes  # traced values behave like arrays

if TYPE_CHECKING:  # those that programs use most come first: a name is looked for in one after another
    from . import linalg
    from .control import *
    from .elementwise import *
    from .operations import *
    from .reductions import *
    from .shaping import *
    from .sorting import *
    from .convolution import *
    from .windows import *
    from .gather_scatter import *
    from .segments import *
    from .associative import *
    from .collectives import *
    from .solves import *
    from .special import *

LazyPackage.of(__name__)
