"""torch.types: types for annotations."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, Any, TypeAlias

from . import _surface  # noqa: F401  Tensors have all their methods
from ._core.dtypes import dtype
from ._core.storage import UntypedStorage
from ._core.tensor import Size, Tensor
from ._make.attributes import MemoryLayout
from ._make.devices import device

_bool, _bytes, _complex, _float, _int, _str = bool, bytes, complex, float, int, str
_device, _dtype, _layout = device, dtype, MemoryLayout
_qscheme = _dispatchkey = str
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_symsize: TypeAlias = _size
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrOptionalTensors: TypeAlias = Tensor | Sequence[Tensor | None]
_TensorOrTensorsOrGradEdge: TypeAlias = Tensor | Sequence[Tensor] | Any

Number: TypeAlias = int | float | bool
_Number = (bool, int, float)
# Traced sizes are plain numbers here.
IntLikeType, FloatLikeType, BoolLikeType = int, float, bool
py_sym_types: tuple[type, ...] = ()
PySymType: TypeAlias = int
Device: TypeAlias = device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
Storage = UntypedStorage

__all__ = ["Device", "FileLike", "Number", "Storage"]
