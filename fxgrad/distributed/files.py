"""One file for one pytree: `fx.save` and `fx.load`, in the formats of NumPy and of safetensors.

An array is found under its path. Beside the arrays there is the description of `records`, JSON, by which numbers, texts
and NumPy's scalars come back as what they were. Nothing in a file can be executed.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable, Mapping
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..core import pytree
from ..core.errors import CheckpointError, DTypeError, StructureError
from ..core.interpreter import api_boundary
from ..core.pytree_keys import keystr
from .records import build_tree, bytes_of, check_description, describe_tree, pieces

DESCRIPTION = "__fxgrad__"
LETTERS = {"float": "F", "int": "I", "uint": "U", "complex": "C"}
# The names of dtypes in files of safetensors, which know no complex128.
CODES = {
    f"{name}{bits}": f"{letter}{bits}"
    for name, letter in LETTERS.items()
    for bits in (8, 16, 32, 64)
    if f"{name}{bits}" not in ("float8", "complex8", "complex16", "complex32")
} | {"bool": "BOOL", "bfloat16": "BF16"}
DTYPES = {code: name for name, code in CODES.items()}

Arrays = Mapping[str, np.ndarray]


def dtype_named(name: str) -> np.dtype[Any]:
    """Return the dtype of this name; bfloat16 is another library's."""
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def write_npz(file: BinaryIO, arrays: Arrays, text: str) -> None:
    """Write arrays by name, and a text."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in {**arrays, DESCRIPTION: np.frombuffer(text.encode(), np.uint8)}.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def read_npz(file: BinaryIO) -> tuple[dict[str, np.ndarray], str | None]:
    """Return arrays by name, and the text, if there is one."""
    with np.load(file, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    text = arrays.pop(DESCRIPTION, None)
    return arrays, None if text is None else text.tobytes().decode()


def write_safetensors(file: BinaryIO, arrays: Arrays, text: str) -> None:
    """Write arrays by name, and a text: the size of the header, the header, and the arrays one after the other.

    Raises:
        DTypeError: the format has no name for a dtype.
    """
    header: dict[str, Any] = {"__metadata__": {DESCRIPTION: text}}
    place = 0
    for name, array in arrays.items():
        if array.dtype.name not in CODES:
            raise DTypeError(
                f"save: safetensors have no {array.dtype} ({name})",
                hint="a file .npz, or x.real and x.imag as two leaves",
            )
        offsets = [place, place := place + array.nbytes]
        header[name] = {"dtype": CODES[array.dtype.name], "shape": array.shape, "data_offsets": offsets}
    words = json.dumps(header).encode()
    words += b" " * (-len(words) % 8)
    file.write(len(words).to_bytes(8, "little") + words)
    for array in arrays.values():
        file.write(bytes_of(array))


def read_safetensors(file: BinaryIO) -> tuple[dict[str, np.ndarray], str | None]:
    """Return arrays by name, and the text, if there is one."""
    data = np.frombuffer(file.read(), np.uint8)
    start = 8 + int.from_bytes(data[:8].tobytes(), "little")
    header = json.loads(data[8:start].tobytes())
    text = header.pop("__metadata__", {}).get(DESCRIPTION)
    arrays = {}
    for name, entry in header.items():
        dtype, (first, last) = dtype_named(DTYPES[entry["dtype"]]), entry["data_offsets"]
        part = data[start + first : start + last]
        if min(first, last) < 0 or part.size != prod(entry["shape"]) * dtype.itemsize:
            raise ValueError(f"{name} is cut off")
        arrays[name] = part.copy().view(dtype).reshape(entry["shape"])
    return arrays, text


FORMATS: dict[str, tuple[Callable[..., None], Callable[..., Any]]] = {
    ".npz": (write_npz, read_npz),
    ".safetensors": (write_safetensors, read_safetensors),
}


def format_of(operation: str, path: Path) -> tuple[Callable[..., None], Callable[..., Any]]:
    """Return the functions that write and read a file of this name."""
    if path.suffix not in FORMATS:
        raise StructureError(
            f"{operation}: the name {path.name!r} does not tell the format",
            hint=f"{path.stem}{' or '.join(FORMATS)}",
        )
    return FORMATS[path.suffix]


@api_boundary
def save(file: str | os.PathLike[str], tree: Any) -> None:
    """Save a pytree in one file: parameters, states of optimizers, keys, numbers. `load` reads it.

    Args:
        file: its name, which ends in ".npz", NumPy's format, or ".safetensors". The file is complete or as it was.
        tree: a pytree of arrays, numbers and texts. Arrays stand in the file under their paths.

    Raises:
        StructureError: the name has another ending.
        DTypeError: a leaf is of another kind, or (complex128) of none that safetensors know.
        CheckpointError: the file cannot be written.

    >>> import os, tempfile
    >>> params = {"w": np.ones(2), "b": 0.0}
    >>> state = fx.optim.adam(0.1).init(params)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fx.save(os.path.join(folder, "run.safetensors"), (params, state, 7))
    ...     loaded, state, step = fx.load(os.path.join(folder, "run.safetensors"), (params, state, 0))
    >>> loaded, step
    ({'w': array([1., 1.]), 'b': 0.0}, 7)
    """
    path = Path(file)
    write, _ = format_of("save", path)
    description, arrays = describe_tree(tree, "save: tree")
    names = [entry["path"] for entry in description if "python" not in entry]
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with open(partial, "wb") as opened:
            write(opened, dict(zip(names, arrays, strict=True)), json.dumps(description))
        os.replace(partial, path)
    except OSError as error:
        raise CheckpointError(
            f"save: {error}", hint="a folder that is there and can be written into"
        ) from error
    finally:
        partial.unlink(missing_ok=True)


@api_boundary
def load(file: str | os.PathLike[str], like: Any = None) -> Any:
    """Load a pytree that `save` has saved. Nothing in the file is executed.

    Args:
        file: its name.
        like: a tree of the same structure, shapes and dtypes, of which only these matter: what the program makes at its
            beginning. None gives a dict from paths to arrays, also of files of other programs.

    Returns:
        A tree like `like`, with arrays of its own.

    Raises:
        StructureError, ShapeError, DTypeError: another tree was saved; the message names the leaf.
        CheckpointError: the file is not there, or damaged.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fx.save(os.path.join(folder, "a.npz"), {"w": np.ones(2)})
    ...     fx.load(os.path.join(folder, "a.npz"))
    {"['w']": array([1., 1.])}
    """
    path = Path(file)
    _, read = format_of("load", path)
    try:
        with open(path, "rb") as opened:
            arrays, text = read(opened)
        description = None if text is None else json.loads(text)
        if description is not None:
            described = {e["path"]: e for e in description if "python" not in e}
            arrays = {name: as_described(arrays[name], entry) for name, entry in described.items()}
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise CheckpointError(
            f"load: {path} cannot be read: {error}", hint="a file that fx.save has written to its end"
        ) from error
    if like is None:
        return arrays
    if description is None:  # of another program: arrays only
        order = [name for where, _ in pytree.leaves_with_path(like) if (name := keystr(where)) in arrays]
        description = [
            {"path": name, "dtype": x.dtype.name, "shape": x.shape, "scalar": False}
            for name in dict.fromkeys([*order, *arrays])
            if (x := arrays[name]) is not None
        ]
        arrays = {entry["path"]: arrays[entry["path"]] for entry in description}
    check_description(description, like, "load: tree")
    return build_tree(description, np.frombuffer(b"".join(pieces([*arrays.values()])), np.uint8), like)


def as_described(array: np.ndarray, entry: dict[str, Any]) -> np.ndarray:
    """Return an array with the dtype of its description, which NumPy's files do not know if it is bfloat16."""
    dtype = dtype_named(entry["dtype"])
    if array.dtype.itemsize != dtype.itemsize or list(array.shape) != entry["shape"]:
        raise ValueError(f"{entry['path']} is not what its description says")
    return array.view(dtype)
