"""What kernels and fxgrad's own functions raise, in torch's words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import errors, source_info
from ...core.aval import aval_of
from .dtypes import can_cast, from_numpy_dtype, short_name
from .errors import ArgumentError, DimensionError, NotSupportedError, TensorError
from .tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

# What an operation may have raised that is to be reworded.
REWORDED = (ValueError, TypeError, IndexError)
BROADCAST = re.compile("broadcast|different shapes")
UNSUPPORTED = re.compile("not supported for the input types|did not contain a loop|No loop matching")


def refusal(name: str, operands: Sequence[Any], error: Exception) -> Exception:
    """The error to raise for one that was raised inside the operation `name`."""
    if isinstance(error, np.exceptions.AxisError):
        made: Exception = out_of_range(error)
    elif isinstance(error, ValueError) and BROADCAST.search(str(error)):
        made = mismatch(operands) or TensorError(first_line(error))
    elif isinstance(error, TypeError) and UNSUPPORTED.search(str(error)):
        dtypes = [aval_of(x).dtype for x in operands if isinstance(x, Tensor)]
        short = short_name(dtypes[0]) if dtypes else "these operands"
        made = NotSupportedError(f"\"{name}_cpu\" not implemented for '{short}'")
    elif type(error) in (ValueError, errors.ShapeError):
        made = TensorError(f"{name}: {first_line(error).removeprefix(f'{name}: ')}")
    else:
        made = error
    source_info.hide_frames(error)
    return made


def not_implemented(name: str, dtype: Any) -> NotSupportedError:
    """For operands of one of NumPy's dtypes (None: these operands) that an operation does not exist of."""
    short = "these operands" if dtype is None else short_name(dtype)
    return NotSupportedError(f"\"{name}_cpu\" not implemented for '{short}'")


def first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def out_of_range(error: Any) -> Exception:
    """For a dimension that is not there. A number without axes has one for this purpose."""
    dim, ndim = error.axis, error.ndim
    if dim is None or ndim is None:
        found = re.search(r"axis (-?\d+) is out of bounds for array of dimension (\d+)", str(error))
        if found is None:
            return DimensionError(first_line(error))
        dim, ndim = map(int, found.groups())
    return dimension_error(dim, ndim)


def dimension_error(dim: int, ndim: int) -> DimensionError:
    """For a dimension that a Tensor of `ndim` of them does not have."""
    low, high = -max(ndim, 1), max(ndim, 1) - 1
    return DimensionError(
        f"Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})"
    )


def mismatch(operands: Sequence[Any]) -> Exception | None:
    """For shapes that do not broadcast, the first two that differ: None if all do."""
    shapes = [aval_of(x).shape for x in operands if hasattr(x, "shape")]
    have: tuple[int, ...] = ()
    for shape in shapes:
        rank = max(len(have), len(shape))
        a, b = ((1,) * (rank - len(s)) + tuple(s) for s in (have, shape))
        for dim in reversed(range(rank)):
            if a[dim] != b[dim] and 1 not in (a[dim], b[dim]):
                return TensorError(
                    f"The size of tensor a ({a[dim]}) must match the size of tensor b ({b[dim]}) at non-singleton "
                    f"dimension {dim}",
                    hint="give one of them an axis of length one there: x.unsqueeze(…)",
                )
        have = tuple(n if m == 1 else m for m, n in zip(a, b))
    return None


def check_result(operation: str, wanted: Any, have: Any) -> None:
    """Raise where a result of dtype `have` cannot be written into a Tensor of dtype `wanted` (NumPy's dtypes)."""
    if not can_cast(from_numpy_dtype(have), from_numpy_dtype(wanted)):
        names = [short_name(d) for d in (have, wanted)]
        raise TensorError(f"result type {names[0]} can't be cast to the desired output type {names[1]}")


def not_a_tensor(operation: str, parameter: str, position: int, given: Any) -> ArgumentError:
    """For an argument that is no Tensor."""
    kind = type(given).__name__ if type(given).__module__ != "numpy" else f"numpy.{type(given).__name__}"
    return ArgumentError(
        f"{operation}(): argument '{parameter}' (position {position}) must be Tensor, not {kind}"
    )
