"""Collections of Tensors that know which of their dimensions are those of a batch, such as TensorDicts. `vmap` has them
add and remove the mapped dimension by their own methods, which call the functions of `torch._C._functorch` here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ...extend import BatchTracer
from .._core.tensor import Tensor, refresh
from .arguments import is_leaf

Convert = Callable[[Tensor, int], Tensor]
# For each open `vmap` of collections what enters a Tensor that is mapped over a dimension; and what brings one out of
# the `vmap` that ends.
ENTER: ContextVar[tuple[Convert, ...]] = ContextVar("fxgrad collections in vmap", default=())
LEAVE: ContextVar[Convert | None] = ContextVar("fxgrad collections out of vmap", default=None)


def is_collection(x: Any) -> bool:
    """Whether an object adds and removes mapped dimensions itself."""
    return hasattr(type(x), "_maybe_remove_batch_dim")


def is_mapped_leaf(x: Any) -> bool:
    """Whether a subtree has one dimension for `vmap`: what torch takes for a leaf, and a collection."""
    return is_leaf(x) or is_collection(x)


@contextmanager
def entering(enter: Convert) -> Iterator[None]:
    """Return a context in which collections enter their Tensors so."""
    token = ENTER.set((*ENTER.get(), enter))
    try:
        yield
    finally:
        ENTER.reset(token)


def enter_collection(collection: Any, dim: int | None) -> Any:
    """Return a copy of a collection with the Tensors inside `vmap`."""
    copied = collection.copy()  # which remembers no earlier call
    return copied if dim is None else copied._add_batch_dim(in_dim=dim, vmap_level=len(ENTER.get()))


def leave_collection(collection: Any, leave: Convert, name: str, size: int, place: int) -> Any:
    """Return a collection with the Tensors outside `vmap`, and with the mapped dimension at a place."""
    token = LEAVE.set(leave)
    try:
        level = len(ENTER.get()) + 1
        return collection._maybe_remove_batch_dim(name, vmap_level=level, batch_size=size, out_dim=place)
    finally:
        LEAVE.reset(token)


# -- torch._C._functorch ------------------------------------------
def add_batch_dim(tensor: Tensor, in_dim: int, level: int) -> Tensor:
    """Enter a Tensor of a collection into the `vmap` of a level."""
    return ENTER.get()[level - 1](tensor, in_dim)


def remove_batch_dim(tensor: Tensor, level: int, batch_size: int, out_dim: int) -> Tensor:
    """Bring a Tensor of a collection out of the `vmap` that ends."""
    leave = LEAVE.get()
    if leave is None:
        raise NotImplementedError(
            "_remove_batch_dim: a collection leaves `vmap` when the function has returned it"
        )
    return leave(tensor, out_dim)


def maybe_remove_batch_dim(name: str, tensor: Tensor, level: int, batch_size: int, out_dim: int) -> Tensor:
    """Do what `remove_batch_dim` does, also for what is not mapped."""
    return remove_batch_dim(tensor, level, batch_size, out_dim)


def is_batched(tensor: Any) -> bool:
    """Whether a Tensor is one entry of a batch."""
    return isinstance(tensor, Tensor) and isinstance(refresh(tensor)._fx_value, BatchTracer)
