"""Conversion of the data from which users make Tensors: numbers, nested sequences, arrays, Tensors."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np

from ...extend import SCALARS, Tracer, aval_of, concretize, kind_of, ops
from .._core.dtypes import as_numpy_dtype, check_numpy_dtype, common_dtype, default_numpy_dtype
from .._core.memory import is_array
from .._core.tensor import Tensor, refresh
from ..errors import ArgumentError, ArgumentValueError, TensorError

KIND_BY_TYPE = {bool: "b", int: "i", float: "f", complex: "c"}


def copy_data(data, dtype=None) -> Any:
    """Copy the entries of `data` into a new value of one of torch's dtypes, by default the dtype that the entries
    suggest.

    Raises:
        ArgumentValueError: a ragged sequence, or a Tensor with several entries in one.
        ArgumentError: text.
        TensorError: an object that is no number, or a number that the dtype does not have.
    """
    if isinstance(data, Tensor):
        data = refresh(data)._fx_value
    numpy = None if dtype is None else as_numpy_dtype(dtype)
    data = to_plain_array(data)
    if is_array(data):
        check_numpy_dtype(data.dtype)
        return data.astype(data.dtype if numpy is None else numpy) if data.shape else np.array(data, numpy)
    if isinstance(data, Tracer):
        return ops.convert(data, dtype=numpy) if numpy is not None else ops.positive(data)
    if isinstance(data, str | bytes):
        raise ArgumentError(
            f"new(): invalid data type {type(data).__name__!r}",
            hint="torch.tensor([ord(c) for c in text]), the codes of its characters",
        )
    shape = nested_shape(data)
    leaves = list(iterate_entries(data, shape, 0))
    if any(isinstance(x, Tensor) and isinstance(x._fx_value, Tracer) for x in leaves):
        return stack_traced(leaves, shape, numpy)
    values = [entry_number(x) for x in leaves]
    wanted = infer_dtype(leaves) if numpy is None else numpy
    try:
        array = np.array(values, reading_dtype(values, wanted))
    except OverflowError:
        if kind_of(wanted) in "fc":
            raise
        raise ArgumentValueError(
            "Overflow when unpacking long long",
            hint="dtype=torch.float64, which rounds: whole numbers of 64 bits end at 2**63 - 1",
        ) from None
    if numpy is not None:
        check_range(array, values, wanted)
    with np.errstate(all="ignore"):
        return array.astype(wanted, copy=False).reshape(shape)


TEXT_HINT = "numbers: texts have none; [ord(c) for c in text], or an index for each word"


def to_plain_array(data) -> Any:
    """Return arrays of other libraries and subclasses of NumPy's, scalars included, as plain arrays of their entries,
    and everything else unchanged. (A row of a matrix is a matrix, and a Series is not indexed by position.)"""
    if is_array(data) or isinstance(data, Tensor | Tracer) or not hasattr(data, "__array__"):
        return data
    return np.asarray(data)


def nested_shape(data) -> tuple[int, ...]:
    """The shape of nested sequences by their first entries."""
    shape: list[int] = []
    data = to_plain_array(data)
    while is_sequence(data):
        shape.append(len(data))
        if not shape[-1]:
            break
        data = to_plain_array(data[0])
    if shape and isinstance(data, str):
        raise ArgumentValueError("too many dimensions 'str'", hint=TEXT_HINT)
    return tuple(shape)


def is_sequence(data) -> bool:
    """Whether data counts as a sequence of entries."""
    if isinstance(data, np.ndarray):
        return data.ndim > 0
    if isinstance(data, str | bytes | Tensor):
        return False
    return hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, dict)


def iterate_entries(data, shape: Sequence[int], dim: int) -> Iterator[Any]:
    """Iterate over the entries of nested sequences in order."""
    if type(data) in SCALARS and dim == len(shape):
        yield data
        return
    data = to_plain_array(data)
    if dim == len(shape):
        if isinstance(data, str):
            raise ArgumentError("new(): invalid data type 'str'", hint=TEXT_HINT)
        if is_sequence(data):
            raise ArgumentError(
                f"{type(data).__name__!r} object cannot be interpreted as an integer",
                hint="all rows are of one length",
            )
        yield data
        return
    if not is_sequence(data):
        raise ArgumentError("not a sequence", hint="all rows are of one length")
    if len(data) != shape[dim]:
        raise ArgumentValueError(
            f"expected sequence of length {shape[dim]} at dim {dim} (got {len(data)})",
            hint="all rows are of one length: torch.nn.utils.rnn.pad_sequence makes them so",
        )
    for part in data:
        yield from iterate_entries(part, shape, dim + 1)


def entry_number(x) -> Any:
    """Return an entry as a number."""
    if isinstance(x, Tensor):
        value = concretize(refresh(x)._fx_value, "tensor()")
        if value.size != 1:
            raise ArgumentValueError(
                "only one element tensors can be converted to Python scalars",
                hint="torch.stack joins Tensors",
            )
        return value.item()
    if isinstance(x, np.ndarray | np.generic):
        check_numpy_dtype(x.dtype)
        return x.item()
    if not isinstance(x, int | float | complex):
        raise TensorError(
            f"Could not infer dtype of {type(x).__name__}",
            hint="numbers, lists of them, arrays and Tensors: torch.tensor([1.0, 2.0])",
        )
    return x


def infer_dtype(leaves: Sequence[Any]) -> np.dtype:
    """Infer the common dtype of all entries: Python's numbers count as the default dtypes."""
    found = {
        x.dtype if isinstance(x, np.ndarray | np.generic) else aval_of(x._fx_value).dtype if isinstance(x, Tensor)
        else default_numpy_dtype(next((k for kind, k in KIND_BY_TYPE.items() if isinstance(x, kind)), "i"))
        for x in leaves
    }  # fmt: skip
    return reduce(common_dtype, found) if found else default_numpy_dtype("f")


def reading_dtype(values: Sequence[Any], wanted: np.dtype) -> Any:
    """The dtype in which numbers are read before they are converted."""
    if any(isinstance(v, complex) for v in values):
        if wanted.kind != "c":
            raise ArgumentError("must be real number, not complex", hint="dtype=torch.complex64, or z.real")
        return np.complex128
    if kind_of(wanted) in "fc" or any(isinstance(v, float) for v in values):
        return np.float64
    return np.uint64 if wanted.kind == "u" and all(v >= 0 for v in values) else np.int64


def check_range(array: np.ndarray, values: Sequence[Any], wanted: np.dtype) -> None:
    """Raise if a number does not fit into an integer dtype; negative numbers may wrap around."""
    if wanted.kind not in "iu" or not array.size:
        return
    limits = np.iinfo(wanted)
    low = limits.min if wanted.kind == "i" else -limits.max
    inside = np.isfinite(array) & (array >= low) & (array <= limits.max) if array.dtype.kind == "f" else None
    if not (all(low <= v <= limits.max for v in values) if inside is None else inside.all()):
        raise TensorError(
            f"value cannot be converted to type {wanted.name} without overflow",
            hint=f"dtype=torch.int64, or numbers from {limits.min} to {limits.max}",
        )


def stack_traced(leaves: Sequence[Any], shape: tuple[int, ...], numpy) -> Any:
    """Stack nested entries, some of them traced, into a traced value."""
    wanted = infer_dtype(leaves) if numpy is None else numpy
    values = [x._fx_value if isinstance(x, Tensor) else np.asarray(x) for x in leaves]
    parts = [ops.reshape(ops.convert(v, dtype=wanted), shape=(1,)) for v in values]
    return ops.reshape(ops.concatenate(*parts, axis=0), shape=shape)


def as_shareable(array: np.ndarray) -> np.ndarray:
    """Return an array that a Tensor may use as its memory.

    Raises:
        ArgumentValueError: its strides are negative, or its bytes in another order.
    """
    check_numpy_dtype(array.dtype)
    if any(s < 0 for s in array.strides):
        raise ArgumentValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. (You can probably work around this by making a copy of your array  with "
            "array.copy().) ",
            hint="torch.from_numpy(array.copy())",
        )
    if not array.flags.writeable:
        warnings.warn(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means "
            "writing to this tensor will result in undefined behavior.",
            UserWarning,
            stacklevel=4,
        )
    return np.asarray(array)
