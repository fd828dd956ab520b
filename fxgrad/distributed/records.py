"""Pytrees as bytes: the content and the description of a checkpoint file.

The file contains the arrays one after another. The description, in JSON, gives the path, the dtype and the shape of
each leaf; Python numbers and strings are stored in it. Nothing in either can be executed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from ..core import pytree
from ..core.arrays import as_value
from ..core.aval import aval_of, check_dtype
from ..core.devices import device_of, is_on_cuda
from ..core.errors import DTypeError, ShapeError, StructureError
from ..core.interpreter import Tracer
from ..core.pytree_keys import keystr
from ..numpy.placement import device_get, device_put

Description = list[dict[str, Any]]  # of leaves, in their order

ALIGNMENT = 64  # of arrays in a file
TEXTS = {
    bool: lambda x: x,
    str: lambda x: x,
    int: str,  # of any length
    float: float.hex,
    complex: lambda z: [z.real.hex(), z.imag.hex()],
}
NUMBERS = {
    "bool": bool,
    "str": str,
    "int": int,
    "float": float.fromhex,
    "complex": lambda parts: complex(*map(float.fromhex, parts)),
}


def describe_tree(tree: Any, what: str) -> tuple[Description, list[np.ndarray]]:
    """Return the description of a tree, and its arrays.

    Raises:
        DTypeError: a leaf is no array, number or text.
        EscapedTracerError, ConcretizationError: it has no values, since a transform is open.
    """
    description, arrays = [], []
    for path, leaf in pytree.leaves_with_path(tree):
        name = keystr(path)
        if type(leaf) in TEXTS:
            kind = type(leaf).__name__
            description.append({"path": name, "python": kind, "value": TEXTS[type(leaf)](leaf)})
            continue
        value = as_value(leaf, f"{what}{name}")
        if isinstance(value, Tracer):
            raise DTypeError(
                f"{what}{name} has no value yet", hint="save outside of jit and other transforms"
            )
        check_dtype(aval_of(value).dtype, f"{what}{name}")
        array = np.asarray(device_get(value))
        scalar = isinstance(leaf, np.generic)
        description.append(
            {"path": name, "dtype": array.dtype.name, "shape": list(array.shape), "scalar": scalar}
        )
        arrays.append(array)
    return description, arrays


def bytes_of(array: np.ndarray) -> memoryview:
    """Return the bytes of an array, in the order of its entries."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def pieces(arrays: Sequence[np.ndarray]) -> Iterator[Any]:
    """Yield the bytes of arrays, each filled up to the alignment."""
    for array in arrays:
        yield bytes_of(array)
        yield bytes(-array.nbytes % ALIGNMENT)


def check_description(description: Description, like: Any, what: str) -> None:
    """Raise unless a tree that was saved is like another: its structure, shapes and dtypes.

    Raises:
        StructureError, ShapeError, DTypeError: it is not.
    """
    pairs = [(keystr(path), leaf) for path, leaf in pytree.leaves_with_path(like)]
    saved = [entry["path"] for entry in description]
    if [name for name, _ in pairs] != saved:
        names = {name for name, _ in pairs}
        missing = [name for name, _ in pairs if name not in {*saved}]
        left = [name for name in saved if name not in names]
        detail = (
            f"there is no {missing[0]}" if missing else f"{left[0]} is left over" if left else "another order"
        )
        raise StructureError(
            f"{what}: the tree that was saved is not like the one given: {detail}",
            hint="a state of the same containers with the same keys as the one that was saved",
        )
    for entry, (name, leaf) in zip(description, pairs):
        kind = type(leaf)
        if "python" in entry or kind in TEXTS:
            have = entry.get("python") or f"{entry['dtype']}{entry['shape']}"
            if have != kind.__name__:
                raise DTypeError(
                    f"{what}{name} was saved as {have}, and is a {kind.__name__} here",
                    hint="a leaf of the kind that was saved",
                )
            continue
        shape, dtype = form_of(leaf)
        if tuple(entry["shape"]) != shape:
            raise ShapeError(
                f"{what}{name} was saved with shape {tuple(entry['shape'])}, expected {shape}",
                hint="an array of that shape: build the state as the program that saved it did",
            )
        if entry["dtype"] != dtype.name:
            raise DTypeError(
                f"{what}{name} was saved with dtype {entry['dtype']}, expected {dtype}",
                hint=f"x.astype({entry['dtype']!r}) in the state that is given",
            )


def form_of(leaf: Any) -> tuple[tuple[int, ...], Any]:
    """Return the shape and the dtype of an array, or of what describes one, as a `ShapeDtypeStruct`."""
    if hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
        return tuple(leaf.shape), leaf.dtype
    aval = aval_of(as_value(leaf))
    return aval.shape, aval.dtype


def build_tree(description: Description, data: np.ndarray, like: Any) -> Any:
    """Return the tree of a description, from the bytes of its arrays. Each is writable, has memory of its own, and is
    on the device of the array in its place."""
    leaves, start = [], 0
    for entry, leaf in zip(description, pytree.leaves(like)):
        if "python" in entry:
            leaves.append(NUMBERS[entry["python"]](entry["value"]))
            continue
        shape, dtype = form_of(leaf)
        size = prod(shape) * dtype.itemsize
        array = data[start : start + size].copy().view(dtype).reshape(shape)
        if is_on_cuda(leaf):
            array = device_put(array, device_of(leaf))
        leaves.append(array[()] if entry["scalar"] else array)
        start += size + -size % ALIGNMENT
    return pytree.unflatten(pytree.structure(like), leaves)
