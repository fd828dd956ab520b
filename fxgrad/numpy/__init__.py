"""NumPy's namespace (2.x, which is also the Array API's) for arrays, numbers, sequences and traced values alike.

    import fxgrad.numpy as fnp

On plain arrays a function here is NumPy's, with its values, dtypes and errors. On traced values it is composed of
primitives, so that it can be differentiated, mapped and staged. Functions do not work in place and have no `out=`.
Traced arrays can be written into (see `boxes`).

The families of functions are loaded on first use.
"""
# ruff: noqa: I001

from importlib import import_module
from typing import TYPE_CHECKING, Any

from numpy import e as e
from numpy import euler_gamma as euler_gamma
from numpy import inf as inf
from numpy import nan as nan
from numpy import newaxis as newaxis
from numpy import pi as pi

from ..core.face import LazyPackage

if TYPE_CHECKING:  # those that programs use most come first: a name is looked for in one after another
    from ..core.array_type import Array as ndarray
    from . import emath, fft, linalg
    from .ufuncs import *
    from .elementwise import *
    from .reductions import *
    from .creation import *
    from .manipulation import *
    from .joining import *
    from .contraction import *
    from .dtypes import *
    from .indexing import *
    from .at_index import *
    from .sorting import *
    from .statistics import *
    from .nan_reductions import *
    from .signal import *
    from .updates import *
    from .padding import *
    from .sets import *
    from .histograms import *
    from .polynomial import *
    from .functional import *
    from .inspection import *


def _find_otherwise(name: str) -> Any:
    """Find the names of no family: those of the Array API's inspection, and bfloat16, which is another library's. For
    NumPy's other names, say why they are not here."""
    from .missing import missing_name_error

    if name in ("__array_api_version__", "__array_namespace_info__"):
        return getattr(import_module(f"{__name__}.inspection"), name)
    if (
        name == "special"
    ):  # an extension proposed for the Array API, by which SciPy finds functions of tracers
        return import_module("fxgrad.scipy.special")
    if name == "__test__":  # for doctest, which does not look behind decorators
        namespace = import_module(__name__)
        functions = {name: getattr(namespace, name) for name in namespace.__all__}
        return {
            n: f.__doc__ for n, f in functions.items() if getattr(f, "__module__", "").startswith(__name__)
        }
    if name != "bfloat16":
        raise missing_name_error(name)
    import ml_dtypes

    return ml_dtypes.bfloat16


LazyPackage.of(
    __name__,
    listed=("e", "euler_gamma", "inf", "nan", "newaxis", "pi"),
    find_otherwise=_find_otherwise,
)
