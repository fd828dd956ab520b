"""`fxgrad.lax`: the primitives of jax.lax, with its names and signatures.

jax.lax requires operands of one dtype and one shape; operations here broadcast and promote as `fxgrad.numpy` does.
Sizes and axes are static, indices may be traced.

The families of functions are loaded on first use.
"""
# ruff: noqa: F401, F403

from typing import TYPE_CHECKING

from ..core.face import LazyPackage
from ..numpy import boxes  # traced values behave like arrays

if TYPE_CHECKING:
    from . import linalg
    from .associative import *
    from .collectives import *
    from .control import *
    from .convolution import *
    from .gather_scatter import *
    from .operations import *
    from .reductions import *
    from .shaping import *
    from .solves import *
    from .sorting import *
    from .special import *
    from .windows import *

# Those that programs use most come first: a name is looked for in one after another.
_FAMILIES = (
    "control", "operations", "reductions", "shaping", "sorting", "convolution", "windows", "gather_scatter",
    "associative", "collectives", "solves", "special",
)  # fmt: skip

LazyPackage.of(__name__, parts=_FAMILIES, listed=("linalg",))
