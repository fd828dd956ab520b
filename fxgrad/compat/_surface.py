"""The names of `torch`: functions, dtypes, and Tensors with all their methods."""

from math import e, inf, nan, pi
from typing import Any as _Any

from ..numpy import boxes as _boxes  # traced values behave like arrays
from ._core.absence import make_absent as _make_absent
from ._core.backward import saved_tensors as _saved_tensors
from ._core.dtypes import PUBLIC, dtype, from_name, get_default_dtype, set_default_dtype
from ._core.storage import TypedStorage, UntypedStorage
from ._core.tensor import Size, Tensor
from ._declare.late_text import LateText as _LateText
from ._declare.spaces import SPACES
from ._make import (
    attributes,
    creation,
    devices,
    filling,
    other_devices,
    sampling,
    sequences,
    strided,
    tensor_types,
    windows,
    wrappers,
)
from ._read import conditions, control_flow, conversion, numpy_protocol, printing, python_protocols, settings
from .amp import autocast_mode as _autocast_mode
from .autograd import anomaly_mode as _anomaly_mode
from .autograd import grad_mode as _grad_mode
from .autograd import gradients as _gradients
from .autograd import members as _members
from .autograd import node as _node
from .distributed.futures import Future
from .func import vectorize as _vectorize
from .ops import _surface as _operations
from .sparse import dense as _dense_answers
from .sparse import members as _sparse_members


def _document(subject: object, declared: str) -> str:
    """Complete a docstring."""
    from ._declare.module_documentation import document  # loaded with the first docstring that is read

    return document(subject, declared)


_LateText.writer = _document
newaxis = None
# What programs ask `isinstance` of, though nothing here is one.
SymBool, SymFloat, SymInt = (
    _make_absent(f"torch.{_name}", "sizes are numbers here") for _name in ("SymBool", "SymFloat", "SymInt")
)
Event, Stream = (
    _make_absent(f"torch.{_name}", "work on a device is in the stream that CuPy has chosen")
    for _name in ("Event", "Stream")
)
_functions = SPACES["function"]
Tensor._fx_attach(**SPACES["method"])
globals().update(_functions.loaded() | PUBLIC)

__all__ = [name for name in [*globals(), *_functions.rare] if not name.startswith("_")]


def __getattr__(name: str) -> _Any:
    """Return `bfloat16`, or a function of a family that few programs use; both are loaded when first asked for."""
    if name == "bfloat16":
        return from_name(name)
    if name not in _functions:
        raise AttributeError(name)
    return _functions[name]
