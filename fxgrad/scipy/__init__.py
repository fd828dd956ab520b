"""`fxgrad.scipy`: functions of SciPy under its names and with its signatures, with derivatives.

`pip install fxgrad[scipy]` brings SciPy, whose kernels compute the values where this library has none of its own; it
is imported when a function first needs it. The namespaces are loaded as they are used.
"""

from ..core.face import LazyPackage
from ..numpy import methods, protocol  # traced values behave like arrays  # noqa: F401

_NAMESPACES = (
    "cluster", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "special",
    "stats",
)  # fmt: skip

LazyPackage.of(__name__, parts=(), listed=_NAMESPACES)
