"""torch.__config__: what the library was built with, as text."""

from ._read.settings import get_num_interop_threads, get_num_threads
from .door.version import __version__


def show() -> str:
    """Describe the libraries below.

    >>> print(torch.__config__.show())
    fxgrad.compat 2.13.0...
      - NumPy ...
    """
    import numpy

    return f"fxgrad.compat {__version__} with:\n  - NumPy {numpy.__version__}\n"


def parallel_info() -> str:
    """Describe the threads that operations use.

    >>> "get_num_threads" in torch.__config__.parallel_info()
    True
    """
    return (
        f"torch.get_num_threads() : {get_num_threads()}\n"
        f"torch.get_num_interop_threads() : {get_num_interop_threads()}\n"
    )


def _cxx_flags() -> str:
    """Return the flags of the compiler of C++: none."""
    return ""


__all__ = ["parallel_info", "show"]
