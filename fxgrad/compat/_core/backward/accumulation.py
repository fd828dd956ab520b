"""Cotangents as the user's gradients, and their accumulation in `.grad`.

torch's gradient of a complex Tensor is the conjugate of the cotangent that rules work with.
"""

from __future__ import annotations

from collections.abc import Iterable
from sys import getrefcount
from threading import RLock
from typing import Any

import numpy as np

from ....extend import PLAIN, SINGLE_REFCOUNT, UnsupportedError, ensure_open, ops, source_info, use_device_of
from ....numpy import contraction
from ..bits import has_bit
from ..duals import dual_cotangent, dual_gradient, has_tangent
from ..error_messages import reword_error
from ..memory import (
    VERSIONS,
    copy_array,
    copy_with_strides,
    ensure_no_overlap,
    is_array,
    is_writable,
    memory_owner,
)
from ..sparse_tensor import SparseTensor
from ..sparse_value import SparseValue
from ..tape import COPY_RULE, current_tape, record_node
from ..tensor import Tensor, gradient_edge, make_tensor, refresh, to_outer, to_tracer, unwrap, wrap

ACCUMULATE_LOCK = RLock()  # several threads may run backward over the same leaves


def to_gradient(ct) -> Tensor:
    """Return a cotangent as the user's gradient: a Tensor that shares its memory."""
    if type(ct) is SparseValue:
        return SparseTensor.of(ct.places, to_gradient(ct.entries), ct.shape)
    return dual_gradient(ct, lambda value: wrap(contraction.conjugate_complex(value)))


def to_cotangent(gradient: Tensor, create_graph: bool) -> Any:
    """Return a gradient as a cotangent, with its history where a graph is to be created."""
    return dual_cotangent(
        gradient,
        lambda g: contraction.conjugate_complex(unwrap(g) if create_graph else to_outer(g, current_tape())),
    )


def is_plain(ct) -> bool:
    """Whether a cotangent is neither traced nor sparse."""
    return type(ct) in PLAIN or is_array(ct)


def is_dense(array: np.ndarray) -> bool:
    """Whether the entries of an array fill their memory without gaps or overlaps."""
    if array.flags.forc:
        return True
    expected = array.itemsize
    for stride, size in sorted((s, n) for s, n in zip(array.strides, array.shape) if n != 1):
        if stride != expected:
            return False
        expected *= size
    return True


def take_array(box: list[Any], like=None) -> np.ndarray:
    """Take the array out of the box if nobody else refers to it or to its memory; otherwise return a copy. The box
    holds the only reference of its caller. With `like`, the strides are those of that array where it is dense, and
    row-major elsewhere: torch's default gradient layout."""
    array = box.pop()
    if not is_array(array):
        array = np.array(array)
    strides = None
    if like is not None:
        alike = array.shape == like.shape and array.dtype == like.dtype and is_dense(like)
        strides = like.strides if alike else None
    in_place = array.flags.c_contiguous if strides is None else array.strides == strides
    if (
        (in_place or like is None)
        and getrefcount(array) <= SINGLE_REFCOUNT
        and is_writable(array)
        and (
            array.base is None
            or (getattr(array.base, "base", array) is None and getrefcount(array.base) <= 2)
        )
    ):
        return array
    if type(array) is not np.ndarray:
        return copy_array(array) if strides is None else copy_with_strides(array, strides)
    made = np.ndarray(array.shape, array.dtype, strides=strides)
    ops.store(made, array)
    return made


def memory_ids(tensors: Iterable[Any]) -> set[int]:
    """The ids of the arrays that own the memory of the Tensors among these."""
    return {id(memory_owner(x._fx_value)) for x in tensors if isinstance(x, Tensor) and is_array(x._fx_value)}


def separate_memory(result, used_ids: set[int], sole_owner: bool = True) -> Any:
    """Give a result memory that is not in `used_ids`, and add it there; what is no Tensor is returned unchanged. With
    `sole_owner` no other array may refer to the owner of that memory either: it would belong to a Tensor that is not
    known here."""
    if isinstance(result, Tensor) and is_array(result._fx_value):
        value = result._fx_value
        owner = memory_owner(value)
        shared = sole_owner and owner is not value and getrefcount(owner) > SINGLE_REFCOUNT + 1
        if shared or id(owner) in used_ids or not is_writable(value):
            result._fx_value = owner = copy_array(value)
        used_ids.add(id(owner))
    return result


def take_tensor(box: list[Any]) -> Tensor:
    """Take the cotangent out of the box as a Tensor with memory of its own."""
    if not is_plain(box[0]):
        return to_gradient(box.pop())
    box[0] = contraction.conjugate_complex(box[0])
    return make_tensor(current_tape(), take_array(box))


def accumulate_grad(tensor: Tensor, box: list[Any], create_graph: bool) -> None:
    """Add the cotangent in the box to the `.grad` of a Tensor: in place, unless a graph is created."""
    if not tensor._fx_tape.permanent:
        ensure_open(to_tracer(tensor), "backward")
    if type(box[0]) is SparseValue or isinstance(tensor._grad, SparseTensor):
        accumulate_sparse_grad(tensor, to_gradient(box.pop()), create_graph)
        return
    plain = is_plain(box[0])
    if not plain and has_tangent(box[0]) and not create_graph and tensor.is_leaf:
        box[0] = box[0].primal  # a leaf outlives the level
        plain = is_plain(box[0])
    if plain:
        box[0] = contraction.conjugate_complex(box[0])
    with ACCUMULATE_LOCK:
        grad = tensor._grad
        if grad is None:
            like = refresh(tensor)._fx_value if is_array(tensor._fx_value) else None
            tensor._grad = (
                make_tensor(tensor._fx_tape, take_array(box, like))
                if plain
                else first_gradient(tensor, box, like)
            )
        elif create_graph:
            tensor._grad = total = grad + to_gradient(box.pop())
            if (
                is_array(total._fx_value)
                and is_array(grad._fx_value)
                and total._fx_value.strides != grad._fx_value.strides
            ):
                total._fx_value = take_array([total._fx_value], grad._fx_value)
        elif plain and is_array(grad._fx_value) and (grad._fx_view_meta is None or not has_bit(grad)):
            ensure_no_overlap(grad._fx_value)
            try:
                with use_device_of([grad._fx_value], "add_"):
                    grad._fx_value += box[0]
            except ValueError as error:  # set_() has changed the shape since
                raise reword_error("add", (grad, make_tensor(grad._fx_tape, box[0])), error) from None
            VERSIONS.record_change(grad._fx_value, "add_", source_info.user_frame())
        else:
            new = make_tensor(grad._fx_tape, box.pop()) if plain else to_gradient(box.pop())
            grad.add_(new)  # under no_grad, as `create_graph` says


def accumulate_sparse_grad(tensor: Tensor, new: Tensor, create_graph: bool) -> None:
    """Add a gradient to the `.grad` of a Tensor where one of them is sparse. A dense `.grad` stays dense."""
    with ACCUMULATE_LOCK:
        grad = tensor._grad
        if grad is None:
            tensor._grad = new
        elif isinstance(grad, SparseTensor):
            tensor._grad = grad + new if isinstance(new, SparseTensor) else new + grad
        elif create_graph:
            tensor._grad = grad + new
        else:
            grad.add_(new.to_dense())


def release_lock() -> None:
    """Let other threads accumulate. Ctrl-C may come between the end of a `with` and the release of its lock."""
    try:
        while True:
            ACCUMULATE_LOCK.release()
    except RuntimeError:  # this thread does not have it
        return


def first_gradient(tensor: Tensor, box: list[Any], like) -> Tensor:
    """Return the first gradient of a Tensor where that gradient is traced or has a history."""
    new = to_gradient(box.pop())
    if tensor._fx_tape is not (new._fx_origin_tape or new._fx_tape):
        raise UnsupportedError(
            "backward: a Tensor from outside the transform would be given a gradient that belongs to it",
            hint="make the leaf inside the transformed function (w.detach().requires_grad_()), or return the gradient "
            "of autograd.grad",
        )
    if not is_array(new._fx_value):
        return new
    node = None if new._fx_node is None else record_node(COPY_RULE, COPY_RULE, (), (gradient_edge(new),))
    return make_tensor(new._fx_tape, take_array([new._fx_value], like), node, new._fx_view_meta)
