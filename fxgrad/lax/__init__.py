"""`fxgrad.lax`: the primitives of jax.lax, by their names and with their signatures.

Operations here take NumPy's liberties, where jax.lax insists on operands of one dtype and one shape: they broadcast
and promote as `fxgrad.numpy` does. Sizes and axes are static, indices may be traced.
"""
# ruff: noqa: F401, F403

from ..numpy import methods, protocol  # traced values behave like arrays
from . import (
    associative,
    collectives,
    control,
    convolution,
    operations,
    reductions,
    shaping,
    solves,
    sorting,
    special,
    windows,
)
from .associative import *
from .collectives import *
from .control import *
from .convolution import *
from .operations import *
from .reductions import *
from .shaping import *
from .solves import *
from .sorting import *
from .special import *
from .windows import *

__all__ = []
__all__ += associative.__all__
__all__ += collectives.__all__
__all__ += control.__all__
__all__ += convolution.__all__
__all__ += operations.__all__
__all__ += reductions.__all__
__all__ += shaping.__all__
__all__ += solves.__all__
__all__ += sorting.__all__
__all__ += special.__all__
__all__ += windows.__all__
