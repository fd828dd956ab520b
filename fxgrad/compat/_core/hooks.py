"""Hooks: user code that backward calls with gradients, and that may give others in their place.

They are kept by the Node of whose result the gradient is, so that a Tensor that is modified in place keeps those that
were registered before for what it was then. See `backward.callbacks` for how they are called.
"""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from .tape import Node
    from .tensor import Tensor


class RemovableHandle:
    """What takes a hook away again: by `remove()`, or at the end of a `with` block. It does not keep the hook alive."""

    next_id = itertools.count()

    def __init__(self, hooks: OrderedDict, *, extra_dict: Any = None):
        self.id = next(RemovableHandle.next_id)
        extra = [] if extra_dict is None else extra_dict if isinstance(extra_dict, list) else [extra_dict]
        self.places = [weakref.ref(place) for place in (hooks, *extra)]

    def remove(self) -> None:
        """Take the hook away; nothing happens where it is gone."""
        for reference in self.places:
            place = reference()
            if place is not None:
                place.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


class HookList(OrderedDict):
    """Hooks of one kind by the number of their handle, in the order in which they are called."""

    def add(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Put a hook at the end."""
        handle = RemovableHandle(self)
        self[handle.id] = hook
        return handle

    def now(self) -> list[Callable[..., Any]]:
        """The hooks: one of them may remove others."""
        return list(self.values())


class Hooks:
    """What a Node has of hooks: of its results (by number), before and after it, and, on a leaf, after its gradient is
    accumulated; and the Tensors that retain the gradients of its results."""

    __slots__ = ("accumulated", "after", "before", "results", "retaining")

    def __init__(self) -> None:
        self.results: dict[int, HookList] = {}
        self.retaining: dict[int, weakref.ref[Tensor]] = {}
        self.before, self.after, self.accumulated = HookList(), HookList(), HookList()


def hooks_of(node: Node) -> Hooks:
    """The hooks of a node, which is no longer passed on the short way."""
    if node.hooks is None:
        node.hooks = Hooks()
        node.plain = None
    return node.hooks
