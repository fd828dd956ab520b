"""`fxgrad.scipy`: functions of SciPy under its names and with its signatures, with derivatives.

`pip install fxgrad[scipy]` installs SciPy, whose kernels compute the values that this library does not compute itself.
SciPy is imported when a function first needs it. The namespaces are loaded on first use.
"""

from ..extend import LazyPackage
from ..numpy import boxes  # traced values behave like arrays  # noqa: F401

_NAMESPACES = (
    "cluster", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "special",
    "stats",
)  # fmt: skip

LazyPackage.of(__name__, parts=(), listed=_NAMESPACES)
