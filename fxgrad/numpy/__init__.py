"""NumPy's namespace (2.x, which is also the Array API's) for arrays, numbers, sequences and traced values alike.

    import fxgrad.numpy as fnp

On plain arrays a function here is NumPy's, with its values, dtypes and errors; on traced values it is made of
primitives, so that it can be differentiated, mapped and staged. Nothing is done in place and there is no `out=`.
"""
# ruff: noqa: F403

from importlib import import_module
from typing import TYPE_CHECKING, Any

from numpy import e, euler_gamma, inf, nan, newaxis, pi

from . import (
    contraction,
    creation,
    dtypes,
    elementwise,
    functional,
    histograms,
    indexing,
    inspection,
    manipulation,
    padding,
    polynomial,
    reductions,
    sets,
    signal,
    sorting,
    statistics,
    updates,
)
from .at_index import at
from .contraction import *
from .creation import *
from .dtypes import *
from .elementwise import *
from .functional import *
from .histograms import *
from .indexing import *
from .inspection import *
from .manipulation import *
from .missing import missing_name_error
from .padding import *
from .polynomial import *
from .reductions import *
from .sets import *
from .signal import *
from .sorting import *
from .statistics import *
from .updates import *

if TYPE_CHECKING:
    from . import fft, linalg

__all__ = ["at", "e", "euler_gamma", "fft", "inf", "linalg", "nan", "newaxis", "pi"]
__all__ += contraction.__all__
__all__ += creation.__all__
__all__ += dtypes.__all__
__all__ += elementwise.__all__
__all__ += functional.__all__
__all__ += histograms.__all__
__all__ += indexing.__all__
__all__ += inspection.__all__
__all__ += manipulation.__all__
__all__ += padding.__all__
__all__ += polynomial.__all__
__all__ += reductions.__all__
__all__ += sets.__all__
__all__ += signal.__all__
__all__ += sorting.__all__
__all__ += statistics.__all__
__all__ += updates.__all__

# For doctest, which does not look behind decorators.
__test__ = {
    name: f.__doc__
    for name in __all__
    if getattr(f := globals().get(name), "__module__", "").startswith(__name__)
}


def __getattr__(name: str) -> Any:
    """Load what is loaded only when first used: the submodules, and bfloat16, which is another library's; for
    NumPy's other names, say why they are not here."""
    if name in ("fft", "linalg"):
        return import_module(f".{name}", __name__)
    if name != "bfloat16":
        raise missing_name_error(name)
    import ml_dtypes

    return ml_dtypes.bfloat16
