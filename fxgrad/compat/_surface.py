"""The content of `torch`: functions, dtypes, and Tensors with all their methods. Its namespaces are modules of the
package."""

from math import e, inf, nan, pi

from ._core.backward import saved_tensors as _saved_tensors
from ._core.dtypes import PUBLIC, dtype, from_name, get_default_dtype, set_default_dtype
from ._core.tensor import Size, Tensor
from ._declare.spaces import SPACES
from ._make import attributes, creation, devices, sampling, strided, windows
from ._read import conversion, numpy_protocol, printing, python_protocols, settings
from .autograd import anomaly_mode as _anomaly_mode
from .autograd import grad_mode as _grad_mode
from .autograd import gradients as _gradients
from .autograd import members as _members
from .autograd import node as _node
from .func import vectorize as _vectorize
from .ops import _surface as _operations

newaxis = None
Tensor.attach(**SPACES["method"])
globals().update(SPACES["function"] | PUBLIC)

NAMESPACES = [
    "autograd",
    "backends",
    "cuda",
    "fft",
    "func",
    "linalg",
    "nn",
    "optim",
    "profiler",
    "random",
    "special",
    "utils",
]
__all__ = [*(name for name in globals() if not name.startswith("_")), *NAMESPACES]


def __getattr__(name: str) -> dtype:
    """Return `bfloat16`, whose package is imported when it is first asked for."""
    if name != "bfloat16":
        raise AttributeError(name)
    return from_name(name)
