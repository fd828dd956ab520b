"""`fxgrad.scipy`: functions of SciPy under its names and with its signatures, with derivatives.

`pip install fxgrad[scipy]` installs SciPy, whose kernels compute the values that this library does not compute itself.
SciPy is imported when a function first needs it. The namespaces are loaded on first use.
"""

from typing import TYPE_CHECKING

from ..extend import LazyPackage
from ..numpy import boxes  # traced values behave like arrays

if TYPE_CHECKING:
    from . import (
        cluster,
        fft,
        integrate,
        interpolate,
        linalg,
        ndimage,
        optimize,
        signal,
        sparse,
        spatial,
        special,
        stats,
    )

LazyPackage.of(__name__)
