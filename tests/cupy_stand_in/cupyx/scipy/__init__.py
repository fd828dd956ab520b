"""SciPy's names over CuPy's arrays."""

from . import linalg, special  # noqa: F401
