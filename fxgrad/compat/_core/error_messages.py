"""The errors of kernels and of fxgrad's own functions, reworded as torch's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import errors, source_info
from ...core.aval import aval_of
from ...core.devices import CPU, device_of
from .dtypes import can_cast, from_numpy_dtype, short_name
from .errors import ArgumentError, DimensionError, LinAlgError, NotSupportedError, TensorError
from .tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...core.devices import Device

# What an operation may have raised that is to be reworded.
REWORDED_ERRORS = (ValueError, TypeError, IndexError)
BROADCAST = re.compile("broadcast|different shapes")
UNSUPPORTED = re.compile("not supported for the input types|did not contain a loop|No loop matching")


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
    """Return the error to raise in place of one that was raised inside the operation `name`: that of a hook itself."""
    if source_info.is_from_user(error):
        made: Exception = error
    elif isinstance(error, np.exceptions.AxisError):
        made = axis_error(error)
    elif isinstance(error, ValueError) and BROADCAST.search(str(error)):
        made = broadcast_error(operands) or TensorError(first_line(error))
    elif isinstance(error, TypeError) and UNSUPPORTED.search(str(error)):
        dtypes = [aval_of(x).dtype for x in operands if isinstance(x, Tensor)]
        short = short_name(dtypes[0]) if dtypes else "these operands"
        made = NotSupportedError(f"\"{name}_cpu\" not implemented for '{short}'")
    elif isinstance(error, np.linalg.LinAlgError):
        made = LinAlgError(f"{name}: {first_line(error)}")
    elif type(error) in (ValueError, errors.ShapeError):
        made = TensorError(f"{name}: {first_line(error).removeprefix(f'{name}: ')}")
    else:
        made = error
    source_info.hide_frames(error)
    return made


def not_implemented_error(name: str, dtype) -> NotSupportedError:
    """Return the error for an operation that does not exist for operands of a NumPy dtype (None: these operands)."""
    short = "these operands" if dtype is None else short_name(dtype)
    return NotSupportedError(f"\"{name}_cpu\" not implemented for '{short}'")


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
    return DimensionError(
        f"Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})"
    )


def broadcast_error(operands: Sequence[Any]) -> Exception | None:
    """Return the error for shapes that do not broadcast, naming the first two sizes that differ; None if all
    broadcast."""
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


def check_result_dtype(operation: str, wanted, have) -> None:
    """Raise if a result of dtype `have` cannot be written into a Tensor of dtype `wanted` (NumPy's dtypes)."""
    if not can_cast(from_numpy_dtype(have), from_numpy_dtype(wanted)):
        names = [short_name(d) for d in (have, wanted)]
        raise TensorError(f"result type {names[0]} can't be cast to the desired output type {names[1]}")


def captured_target_error(operation: str, mapped: bool) -> TensorError:
    """Return the error for a Tensor from outside a transform that would be given a value that belongs to it."""
    if mapped:
        text = (
            "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in "
            "extra_args that has more elements than `self`. This happened due to `other` being vmapped over but `self` "
            "not being vmapped over in a vmap. Please try to use out-of-place operators instead of inplace arithmetic."
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
    kind = type(given).__name__ if type(given).__module__ != "numpy" else f"numpy.{type(given).__name__}"
    return ArgumentError(
        f"{operation}(): argument '{parameter}' (position {position}) must be Tensor, not {kind}"
    )
