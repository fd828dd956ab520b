"""Errors of kernels and of fxgrad's own functions, translated to torch's messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...extend import CPU, Device, aval_of, device_of, errors, kind_of, source_info
from ..errors import (
    ArgumentError,
    DimensionError,
    LinAlgError,
    NotSupportedError,
    TensorError,
    argument_error,
)
from .dtypes import can_cast, from_numpy_dtype, short_name
from .tensor import Tensor

# What an operation may have raised that is to be reworded.
REWORDED_ERRORS = (ValueError, TypeError, IndexError)
BROADCAST = re.compile("broadcast|different shapes")
UNSUPPORTED = re.compile("not supported for the input types|did not contain a loop|No loop matching")

# What most operations that do not exist for a kind of numbers exist for.
CONVERSIONS = {
    "b": "x.to(torch.int64) or x.to(torch.float32)",
    "i": "x.to(torch.float32)",
    "u": "x.to(torch.float32)",
    "f": "x.to(torch.int64) for whole numbers and bits; torch.float32 has more operations than shorter dtypes",
    "c": "x.abs(), x.real or x.imag, which are real; torch.view_as_real(x) has both parts",
}
MATRIX_HINTS = {
    "singular": "torch.linalg.pinv, torch.linalg.lstsq, or x + eps * torch.eye(n), which is not",
    "positive": "x + eps * torch.eye(n), or torch.linalg.cholesky_ex, which says by a number how far it came",
    "converge": "torch.isfinite(x).all() tells whether there are NaN or infinities in x",
}


def common_device(values: Sequence[Any]) -> Device | None:
    """Return the device of values, None for those that have none.

    Raises:
        TensorError: they are on different ones. A number without dimensions on the CPU goes with all of them.
    """
    found = None
    for value in values:
        place = device_of(value)
        if place is None or (place == CPU and not aval_of(value).shape):
            continue
        if found is not None and place != found:
            names = " and ".join(p.kind if p == CPU else str(p) for p in (found, place))
            raise TensorError(
                f"Expected all tensors to be on the same device, but found at least two devices, {names}!",
                hint="x.to(y.device)",
            )
        found = place
    return found


def reword_error(name: str, operands: Sequence[Any], error: Exception) -> Exception:
    """Return the error to raise instead of one raised inside the operation `name`; errors of user code stay as they
    are."""
    if source_info.is_from_user(error):
        made: Exception = error
    elif isinstance(error, np.exceptions.AxisError):
        made = axis_error(error)
    elif isinstance(error, ValueError) and BROADCAST.search(str(error)):
        made = broadcast_error(operands) or TensorError(first_line(error))
    elif isinstance(error, TypeError) and UNSUPPORTED.search(str(error)):
        dtypes = [aval_of(x).dtype for x in operands if isinstance(x, Tensor)]
        made = not_implemented_error(f"{name}_cpu", dtypes[0] if dtypes else None)
    elif isinstance(error, np.linalg.LinAlgError):
        words = first_line(error)
        made = LinAlgError(f"{name}: {words}", hint=matrix_hint(words))
    elif type(error) in (ValueError, errors.ShapeError):
        hint = getattr(error, "hint", None)
        made = TensorError(f"{name}: {first_line(error).removeprefix(f'{name}: ')}", hint=hint)
    else:
        made = error
    source_info.hide_frames(error)
    return made


def not_implemented_error(kernel: str, dtype) -> NotSupportedError:
    """Return the error for a kernel that does not exist for operands of a NumPy dtype (None: these operands)."""
    short = "these operands" if dtype is None else short_name(dtype)
    hint = None if dtype is None else CONVERSIONS.get(kind_of(dtype))
    return NotSupportedError(f"\"{kernel}\" not implemented for '{short}'", hint=hint)


def dtype_error(words: str, dtype) -> Exception:
    """Return the error for operands of a NumPy dtype: the words are the name of a kernel, or a sentence."""
    if " " in words:
        return TensorError(words, hint=CONVERSIONS.get(kind_of(dtype)))
    return not_implemented_error(words, dtype)


def matrix_hint(words: str) -> str | None:
    """Return what to do about a matrix of which a message says that it is singular, or something else of this kind."""
    return next((hint for word, hint in MATRIX_HINTS.items() if word in words.lower()), None)


def first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def axis_error(error) -> Exception:
    """Return the error for a dimension out of range. A number without axes counts as having one."""
    dim, ndim = error.axis, error.ndim
    if dim is None or ndim is None:
        found = re.search(r"axis (-?\d+) is out of bounds for array of dimension (\d+)", str(error))
        if found is None:
            return DimensionError(first_line(error))
        dim, ndim = map(int, found.groups())
    return dimension_error(dim, ndim)


def dimension_error(dim: int, ndim: int) -> DimensionError:
    """Return the error for a dimension that a Tensor of `ndim` dimensions does not have."""
    low, high = -max(ndim, 1), max(ndim, 1) - 1
    hint = (
        f"dim={high} or dim=-1 is the last, dim=0 or dim={low} the first" if high else "dim=0, the only one"
    )
    return DimensionError(
        f"Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})", hint=hint
    )


def broadcast_error(operands: Sequence[Any]) -> Exception | None:
    """Return the error for shapes that do not broadcast, naming the first two sizes that differ; None if all
    broadcast."""
    shapes = [tuple(aval_of(x).shape) for x in operands if hasattr(x, "shape")]
    have: tuple[int, ...] = ()
    for shape in shapes:
        rank = max(len(have), len(shape))
        a, b = ((1,) * (rank - len(s)) + tuple(s) for s in (have, shape))
        for dim in reversed(range(rank)):
            if a[dim] != b[dim] and 1 not in (a[dim], b[dim]):
                return TensorError(
                    f"The size of tensor a ({a[dim]}) must match the size of tensor b ({b[dim]}) at non-singleton "
                    f"dimension {dim}",
                    hint=broadcast_hint(*sorted((have, shape), key=len)),
                )
        have = tuple(n if m == 1 else m for m, n in zip(a, b))
    return None


def broadcast_hint(short: tuple[int, ...], long: tuple[int, ...]) -> str:
    """Return what makes two shapes broadcast: axes of length one at the end of the one with fewer dimensions, its
    transpose, or all pairs."""
    for count in range(1, len(long) - len(short) + 1):
        if do_broadcast((*short, *[1] * count), long):
            return f"x[{', '.join(['...', *['None'] * count])}] of the one of shape {list(short)}"
    if len(short) > 1 and do_broadcast((*short[:-2], *short[:-3:-1]), long):
        return f"x.mT of the one of shape {list(short)}"
    if len(short) == len(long) == 1:
        return f"x[:, None] of the first for all pairs, which are of shape {[*short, *long]}"
    return f"sizes that are equal or 1, counted from the end: {list(short)} and {list(long)} are given"


def do_broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether two shapes broadcast."""
    return all(1 in (m, n) or m == n for m, n in zip(reversed(a), reversed(b)))


def check_result_dtype(operation: str, wanted, have) -> None:
    """Raise if a result of dtype `have` cannot be written into a Tensor of dtype `wanted` (NumPy's dtypes)."""
    if not can_cast(from_numpy_dtype(have), from_numpy_dtype(wanted)):
        names = [short_name(d) for d in (have, wanted)]
        raise TensorError(
            f"result type {names[0]} can't be cast to the desired output type {names[1]}",
            hint=f"x.to({from_numpy_dtype(have)}) as what is written into, or a new Tensor: x = x + y for x += y",
        )


def captured_target_error(operation: str, mapped: bool, called: str = "arithmetic") -> TensorError:
    """Return the error for assigning a value of a transform to a Tensor from outside of it."""
    if mapped:
        text = (
            f"vmap: inplace {called}(self, *extra_args) is not possible because there exists a Tensor `other` in "
            "extra_args that has more elements than `self`. This happened due to `other` being vmapped over but `self` "
            f"not being vmapped over in a vmap. Please try to use out-of-place operators instead of inplace {called}."
        )
    else:
        text = (
            "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation "
            f"(aten::{operation}) that would mutate a captured Tensor. This is not supported; please rewrite the "
            "function being transformed to explicitly accept the mutated Tensor(s) as inputs."
        )
    return TensorError(text, hint="clone it inside the transformed function, or return the value")


def not_a_tensor_error(operation: str, parameter: str, position: int, given) -> ArgumentError:
    """Return the error for an argument that is no Tensor."""
    return argument_error(operation, parameter, position, "Tensor", given, tensor_hint(given))


def tensor_hint(given) -> str | None:
    """Return the hint to make a Tensor from an argument that should be one, if it consists of numbers."""
    if isinstance(given, bool | int | float | complex):
        return f"torch.tensor({given!r})"
    if isinstance(given, np.ndarray | np.generic | list | tuple | range):
        return "torch.as_tensor(x)"
    return None
