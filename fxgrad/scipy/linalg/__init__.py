"""`fxgrad.scipy.linalg`: linear algebra with the names of scipy.linalg, with derivatives.

The last two axes are those of the matrices. Matrices that are Hermitian by SciPy's convention are read from one
triangle; the derivative is that of a function of Hermitian matrices, so gradients are Hermitian. Choices that LAPACK
makes by values (orders of rows and columns, places of blocks) count as constants. `overwrite_a` and similar options are
accepted, and nothing traced is overwritten; `check_finite` is honoured where values are known.
"""
# ruff: noqa: I001

from typing import TYPE_CHECKING, Any

from numpy.linalg import LinAlgError as LinAlgError

from ...extend import LazyPackage

if TYPE_CHECKING:
    from .systems import *
    from .factors import *
    from .spectra import *
    from .matrix_functions import *
    from .special_matrices import *
    from .equations import *
    from .forms import *

    LinAlgWarning: type[Warning]


def find_warning(name: str) -> Any:
    """Return SciPy's class of warnings, which is imported with SciPy."""
    if name != "LinAlgWarning":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    from ..reference import library

    return library("linalg", "LinAlgWarning").LinAlgWarning


LazyPackage.of(
    __name__,
    listed=("LinAlgError", "LinAlgWarning"),
    find_otherwise=find_warning,
)
