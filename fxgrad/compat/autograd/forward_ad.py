"""torch.autograd.forward_ad: duals, Tensors that carry a tangent through all operations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...extend import CURRENT, api_boundary, use_context
from .._core.bits import memory_array
from .._core.duals import (
    DUAL_LEVEL,
    DualLevel,
    check_tangent,
    ensure_floating,
    ensure_no_dual_level,
    get_tangent,
    set_tangent,
)
from .._core.error_messages import not_a_tensor_error, tensor_hint
from .._core.memory import has_overlap, is_array, memory_address, memory_owner, strided_view
from .._core.modes import current_modes, with_modes
from .._core.tape import current_tape
from .._core.tensor import Tensor, make_tensor
from .._declare.generated import entry_point
from ..errors import ArgumentError, TensorError
from ..ops.slicing import alias


class UnpackedDualTensor(NamedTuple):
    """The result of `unpack_dual`: the value, and its tangent or None.

    Args:
        primal: the value.
        tangent: the tangent, a Tensor of the same shape, or None.

    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(torch.tensor(2.0), torch.tensor(1.0))
    ...     print(fwAD.unpack_dual(x * x).tangent)
    tensor(4.)
    """

    primal: Tensor
    tangent: Tensor | None


@entry_point
def enter_dual_level() -> int:
    """Open the level in which duals are made; its number is returned, which is 0: there is one level only.

    Returns:
        The number of the level, 0.

    Raises:
        TensorError: a level is open.

    >>> level = fwAD.enter_dual_level()
    >>> x = fwAD.make_dual(torch.tensor(2.0), torch.tensor(1.0))
    >>> print(fwAD.unpack_dual(x * x).tangent)
    tensor(4.)
    >>> fwAD.exit_dual_level()
    """
    ensure_no_dual_level()
    DUAL_LEVEL.set(DualLevel())
    return 0


@entry_point
def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level; duals lose their tangents.

    Args:
        level: 0, or None.

    Raises:
        TensorError: no level is open, or not this one.

    >>> level = fwAD.enter_dual_level()
    >>> x = fwAD.make_dual(torch.tensor(2.0), torch.tensor(1.0))
    >>> fwAD.exit_dual_level()
    >>> fwAD.unpack_dual(x).tangent is None
    True
    """
    opened = DUAL_LEVEL.get()
    if opened is None:
        raise TensorError("Dual level must be a positive number.", hint="enter_dual_level() comes first")
    if level not in (None, 0):
        raise TensorError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported.",
            hint="the level that is open is 0",
        )
    DUAL_LEVEL.set(None)
    opened.close()


class dual_level:
    """Context manager: a level is open in which duals are made and carry their tangents.

    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0]))
    ...     fwAD.unpack_dual(x * x).tangent.numpy()
    array([2., 0.], dtype=float32)
    """

    @api_boundary
    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc: object) -> None:
        exit_dual_level()


@entry_point
def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A dual of a value and its tangent: a view of `tensor`, differentiable with respect to both.

    The tangent is kept as it is if its layout is that of the value, otherwise as a copy; one of another dtype is
    converted, which torch leaves to the operations.

    Args:
        tensor: the value, floating or complex.
        tangent: a Tensor of the same shape.
        level: 0, or None.

    Returns:
        A Tensor of the shape and dtype of `tensor`.

    Raises:
        TensorError: no level is open; the sizes differ; one of them is a dual.
        ArgumentValueError: one of them is neither floating nor complex.
        TypeError: `tensor` or `tangent` is no Tensor.

    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0]))
    ...     print(fwAD.unpack_dual(x * x).tangent)
    tensor([2., 0.])
    """
    opened = DUAL_LEVEL.get()
    if opened is None:
        raise TensorError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.",
            hint="with torch.autograd.forward_ad.dual_level(): …",
        )
    for given, name in ((tensor, "primal"), (tangent, "tangent")):
        if not isinstance(given, Tensor):
            raise ArgumentError(
                f"make_dual: the {name} must be a Tensor, not {type(given).__name__}", hint=tensor_hint(given)
            )
        ensure_floating(given, name)
    if get_tangent(tensor) is not None or get_tangent(tangent) is not None:
        raise TensorError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not "
            "supported.",
            hint="unpack_dual(x).primal is without it",
        )
    check_tangent(tangent, tensor)
    if tangent.dtype is not tensor.dtype:
        tangent = tangent.to(tensor.dtype)
    dual = alias(tensor)
    if current_modes().forward:
        set_tangent(dual, match_layout(tangent, dual), opened)
    return dual


def match_layout(tangent: Tensor, tensor: Tensor) -> Tensor:
    """Return the tangent in the layout of the value, perhaps a copy: views of the value must give views of it."""
    here = memory_array(tensor)
    if not is_array(here) or (is_array(tangent._fx_value) and has_same_layout(memory_array(tangent), here)):
        return tangent
    return make_tensor(current_tape(), copy_layout(here)).copy_(tangent)


def place_in_memory(array) -> tuple[int, int]:
    """The place of the first entry of an array in its memory, and the size of that, in bytes."""
    owner = memory_owner(array)
    return memory_address(array) - memory_address(owner), owner.nbytes


def has_same_layout(a, b) -> bool:
    """Whether two arrays of one shape have the same strides, and lie at the same place in memories of one size."""
    same = all([n < 2 or s == t for n, s, t in zip(a.shape, a.strides, b.strides)])
    return same and place_in_memory(a) == place_in_memory(b)


def copy_layout(array) -> Any:
    """Make zeros with the strides and offset of an array in memory of the same size; row-major if its entries
    overlap."""
    if type(array) is not np.ndarray or has_overlap(array):
        return np.zeros_like(array, order="C")
    start, size = place_in_memory(array)
    return strided_view(np.zeros(size, np.uint8), array.shape, array.strides, start, array.dtype)


@entry_point
def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value of a dual, as a view without tangent, and its tangent; of another Tensor itself and None.

    Args:
        tensor: a Tensor.
        level: 0, or None.

    Returns:
        A named tuple (primal, tangent).

    Raises:
        TypeError: `tensor` is no Tensor.

    >>> torch.autograd.forward_ad.unpack_dual(torch.tensor(1.0)).tangent is None
    True
    """
    if not isinstance(tensor, Tensor):
        raise not_a_tensor_error("_unpack_dual", "dual", 1, tensor)
    if DUAL_LEVEL.get() is None:
        return UnpackedDualTensor(tensor, None)
    tangent = get_tangent(tensor)
    with use_context(with_modes(CURRENT.get(), forward=False)):
        primal = alias(tensor)
    set_tangent(primal, None, None)
    return UnpackedDualTensor(primal, tangent)


__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]
