"""Files of the package safetensors, `pip install fxgrad[safetensors]`: Tensors by name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._core.dtypes import from_name
from .._core.error_messages import tensor_hint
from .._core.tape import current_tape
from .._core.tensor import Tensor, make_tensor
from .._make.devices import as_device, device, move_array
from ..errors import ArgumentError, TensorError

# The names of dtypes in the package's files.
DTYPES = {
    f"{letter}{bits}": f"{name}{bits}"
    for letter, name, sizes in (
        ("F", "float", (16, 32, 64)),
        ("C", "complex", (64,)),
        ("I", "int", (8, 16, 32, 64)),
        ("U", "uint", (8, 16, 32, 64)),
    )
    for bits in sizes
} | {"BOOL": "bool", "BF16": "bfloat16"}


def import_package() -> Any:
    """Import the package's functions of arrays.

    Raises:
        RuntimeError: it is not installed.
    """
    try:
        import safetensors.numpy  # type: ignore[import-not-found]
    except ImportError:
        raise TensorError(
            "Attempting to load a safetensors file but safetensors is not installed. Please install safetensors with: "
            "pip install safetensors",
            hint="torch.save(module.state_dict(), path), which needs no package",
        ) from None
    return safetensors.numpy


def to_arrays(tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    """Return the arrays of Tensors, contiguous and on the CPU.

    Raises:
        TypeError: it is no dict of Tensors.
    """
    if not isinstance(tensors, Mapping):
        raise ArgumentError(
            f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}", hint="module.state_dict()"
        )
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ArgumentError(
                f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor)}",
                hint=tensor_hint(tensor) or f"leave {name!r} out: such files hold Tensors only",
            )
    return {
        name: x.detach().resolve_conj().resolve_neg().cpu().contiguous()._fx_value
        for name, x in tensors.items()
    }


def to_tensors(arrays: Mapping[str, Any], place) -> dict[str, Tensor]:
    """Return arrays as Tensors on a device."""
    target = as_device(place)
    return {name: make_tensor(current_tape(), move_array(x, target)) for name, x in arrays.items()}


def save_file(
    tensors: Mapping[str, Tensor], filename: str | os.PathLike[str], metadata: dict[str, str] | None = None
) -> None:
    """Save Tensors by their names. Those that share memory do not when they are loaded.

    Args:
        tensors: Tensors by their names, `module.state_dict()` say.
        filename: the path of the file.
        metadata: texts by their names, which are saved beside them.

    Raises:
        TypeError: it is no dict of Tensors.
        RuntimeError: the package is not installed.
    """
    import_package().save_file(to_arrays(tensors), os.fspath(filename), metadata)


def save(tensors: Mapping[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """Return the bytes that `save_file` would write."""
    return import_package().save(to_arrays(tensors), metadata)


def load_file(filename: str | os.PathLike[str], device: str | device | None = "cpu") -> dict[str, Tensor]:
    """Load Tensors by their names, onto a device.

    Raises:
        SafetensorError: the file is broken.
        RuntimeError: the package is not installed.
    """
    return to_tensors(import_package().load_file(os.fspath(filename)), device)


def load(data: bytes) -> dict[str, Tensor]:
    """Load Tensors by their names from the bytes of a file.

    Raises:
        SafetensorError: they are broken.
        RuntimeError: the package is not installed, or a dtype is not known here.
    """
    import_package()
    from safetensors import deserialize  # type: ignore[import-not-found]

    arrays = {}
    for name, part in deserialize(data):
        if part["dtype"] not in DTYPES:
            raise TensorError(
                f"the dtype {part['dtype']} of {name!r} is not known", hint="save it as another one"
            )
        memory = np.frombuffer(bytearray(part["data"]), from_name(DTYPES[part["dtype"]]).numpy)
        arrays[name] = memory.reshape(part["shape"])
    return to_tensors(arrays, "cpu")


__all__ = ["load", "load_file", "save", "save_file"]
