"""Cotangents as the user's gradients, and their accumulation in `.grad`.

torch's gradient of a complex Tensor is the conjugate of the cotangent that rules work with.
"""

from __future__ import annotations

from sys import getrefcount
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from .... import ops
from ....core import source_info
from ....core.aval import PLAIN, aval_of, kind_of
from ....core.errors import UnsupportedError
from ....core.interpreter import ensure_open
from ....core.snapshot import ALONE
from ....numpy import contraction
from ..dtypes import from_numpy_dtype
from ..duals import handed, is_pair, seed
from ..errors import TensorError
from ..memory import MEMORIES, ensure_separate, is_array, root
from ..tape import COPY, Node, current_tape
from ..tensor import Tensor, current, lower, make, parent_of, tracer_of, unwrap, wrap

if TYPE_CHECKING:
    from collections.abc import Iterable

ACCUMULATING = RLock()  # several threads may run backward over the same leaves


def handed_out(ct: Any) -> Tensor:
    """A cotangent as a Tensor, which shares its memory."""
    return handed(ct, lambda value: wrap(contraction.conjugated(value)))


def taken(gradient: Tensor, create: bool) -> Any:
    """A gradient as a cotangent, with its history where a graph is to be created."""
    return seed(gradient, lambda g: contraction.conjugated(unwrap(g) if create else lower(g, current_tape())))


def of_output(ct: Any, dtype: Any, position: int) -> Any:
    """A cotangent converted to the dtype of the output at a position. A complex one, or of a complex output, must have
    it: a real part is no cotangent of the whole."""
    have = aval_of(ct).dtype
    if have == dtype:
        return ct
    if "c" in (kind_of(have), kind_of(dtype)):
        raise TensorError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{position}] has a dtype of {from_numpy_dtype(have)} and output[{position}] has a dtype of "
            f"{from_numpy_dtype(dtype)}."
        )
    return ops.convert(ct, dtype=dtype)


def dense(array: np.ndarray) -> bool:
    """Whether the entries of an array fill their memory, each in a place of its own."""
    if array.flags.forc:
        return True
    expected = array.itemsize
    for stride, size in sorted((s, n) for s, n in zip(array.strides, array.shape) if n != 1):
        if stride != expected:
            return False
        expected *= size
    return True


def settled(box: list[Any], like: Any = None) -> np.ndarray:
    """The array in the box, if nobody else refers to it or to its memory; otherwise a copy. The box has the only
    reference of its caller. With `like`, its strides are those of that array where this is dense, those of rows
    after rows elsewhere: torch's default gradient layout."""
    array = box.pop()
    if type(array) is not np.ndarray:
        array = np.array(array)
    strides = None
    if like is not None:
        alike = array.shape == like.shape and array.dtype == like.dtype and dense(like)
        strides = like.strides if alike else None
    in_place = array.flags.c_contiguous if strides is None else array.strides == strides
    if (
        (in_place or like is None)
        and getrefcount(array) <= ALONE
        and array.flags.writeable
        and (
            array.base is None
            or (getattr(array.base, "base", array) is None and getrefcount(array.base) <= 2)
        )
    ):
        return array
    made = np.ndarray(array.shape, array.dtype, strides=strides)
    made[...] = array
    return made


def memories(tensors: Iterable[Any]) -> set[int]:
    """Which memories the Tensors among these have."""
    return {id(root(x.value)) for x in tensors if isinstance(x, Tensor) and is_array(x.value)}


def apart(result: Any, taken: set[int], alone: bool = True) -> Any:
    """A result with memory that is not `taken`, which it is from now on; what is no Tensor as it is. With `alone` no
    array but this one refers to what holds the memory, either: that of a Tensor which is not known here."""
    if isinstance(result, Tensor) and is_array(result.value):
        value = result.value
        owner = root(value)
        shared = alone and owner is not value and getrefcount(owner) > ALONE + 1
        if shared or id(owner) in taken or (type(value) is np.ndarray and not value.flags.writeable):
            result.value = owner = value.copy()
        taken.add(id(owner))
    return result


def own(box: list[Any]) -> Tensor:
    """The cotangent in the box as a Tensor with memory of its own."""
    if type(box[0]) not in PLAIN:
        return handed_out(box.pop())
    box[0] = contraction.conjugated(box[0])
    return make(current_tape(), settled(box))


def accumulate(tensor: Tensor, box: list[Any], create: bool) -> None:
    """Add the cotangent in the box to the `.grad` of a Tensor: in place, unless a graph is created."""
    if not tensor.tape.permanent:
        ensure_open(tracer_of(tensor), "backward")
    if is_pair(box[0]) and not create and tensor.is_leaf:
        box[0] = box[0].primal  # a leaf outlives the level
    plain = type(box[0]) in PLAIN
    if plain:
        box[0] = contraction.conjugated(box[0])
    with ACCUMULATING:
        grad = tensor._grad
        if grad is None:
            like = current(tensor).value if type(tensor.value) is np.ndarray else None
            tensor._grad = make(tensor.tape, settled(box, like)) if plain else first(tensor, box, like)
        elif create:
            tensor._grad = total = grad + handed_out(box.pop())
            if (
                type(total.value) is type(grad.value) is np.ndarray
                and total.value.strides != grad.value.strides
            ):
                total.value = settled([total.value], grad.value)
        elif plain and is_array(grad.value):
            ensure_separate(grad.value)
            np.add(grad.value, box[0], out=grad.value)
            MEMORIES.modified(grad.value, "add_", source_info.caller())
        else:
            grad.add_(handed_out(box.pop()))  # under no_grad, as `create` says


def unlock() -> None:
    """Let other threads accumulate. Ctrl-C may come between the end of a `with` and the release of its lock."""
    try:
        while True:
            ACCUMULATING.release()
    except RuntimeError:  # this thread does not have it
        return


def first(tensor: Tensor, box: list[Any], like: Any) -> Tensor:
    """The first gradient of a Tensor, where that is traced or has a history."""
    new = handed_out(box.pop())
    if tensor.tape is not (new.home or new.tape):
        raise UnsupportedError(
            "backward: a Tensor from outside the transform would be given a gradient that belongs to it",
            hint="make the leaf inside the transformed function (w.detach().requires_grad_()), or return the gradient "
            "of autograd.grad",
        )
    if type(new.value) is not np.ndarray:
        return new
    node = None if new.node is None else Node(COPY, COPY, (), (parent_of(new),))
    return make(new.tape, settled([new.value], like), node, new.aspect)
