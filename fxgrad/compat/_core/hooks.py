"""Hooks: user code that backward calls with gradients, and that may replace them.

The Node that computes a Tensor keeps the hooks of its gradient. So after a Tensor is modified in place, hooks that were
registered earlier still belong to its earlier value. `backward.callbacks` calls them.
"""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .tape import Node


class RunningPass:
    """The interface of the running backward pass to hooks: see `backward.engine.Pass`."""

    __slots__ = ()
    notes: dict[Any, Any]  # of hooks that wait for several gradients
    wanted: Any  # the targets, None where it goes to all leaves

    def visits(self, node: Node) -> bool:
        """Whether a node is among those that the pass visits."""
        raise NotImplementedError


RUNNING: ContextVar[RunningPass | None] = ContextVar("fxgrad backward pass", default=None)  # the innermost


class RemovableHandle:
    """A handle that removes a hook: by `remove()`, or at the end of a `with` block. It does not keep the hook alive.
    One that is copied or pickled together with what the hook is on removes the hook there.

    Args:
        hooks_dict: where the hook is.
        extra_dict: another dict, or several, with something about it.

    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> with x.register_hook(lambda grad: print("gradient", grad.item())):
    ...     (3 * x).backward()
    gradient 3.0
    >>> (3 * x).backward()
    """

    next_id = itertools.count()

    def __init__(self, hooks_dict: OrderedDict, *, extra_dict=None):
        self.id = next(RemovableHandle.next_id)
        extra = [] if extra_dict is None else extra_dict if isinstance(extra_dict, list) else [extra_dict]
        self._fx_places = [weakref.ref(place) for place in (hooks_dict, *extra)]

    def remove(self) -> None:
        """Remove the hook, unless it has been removed already."""
        for reference in self._fx_places:
            place = reference()
            if place is not None:
                place.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()

    def __getstate__(self) -> tuple[Any, ...]:
        return self.id, [reference() for reference in self._fx_places]

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.id, places = state
        self._fx_places = [weakref.ref(place) for place in places if place is not None]
        RemovableHandle.next_id = itertools.count(max(self.id + 1, next(RemovableHandle.next_id)))


class HookList(OrderedDict):
    """Hooks of one kind by the number of their handle, in the order of their calls."""

    def add(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Append a hook."""
        handle = RemovableHandle(self)
        self[handle.id] = hook
        return handle

    def to_list(self) -> list[Callable[..., Any]]:
        """A copy of the hooks as a list: one of them may remove others."""
        return list(self.values())


class Hooks:
    """The hooks of a Node: those of its results (by number), its pre-hooks and post-hooks, and, on a leaf, those after
    the accumulation of its gradient; and the Tensors that retain the gradients of its results."""

    __slots__ = ("post_accumulate_hooks", "post_hooks", "pre_hooks", "result_hooks", "retaining_tensors")

    def __init__(self) -> None:
        self.result_hooks: dict[int, HookList] = {}
        self.retaining_tensors: dict[int, weakref.ref[Any]] = {}
        self.pre_hooks, self.post_hooks, self.post_accumulate_hooks = HookList(), HookList(), HookList()


def ensure_hooks(node: Node) -> Hooks:
    """Return the hooks of a node, made where it has none; from then on backward no longer takes the fast path through
    it."""
    if node.hooks is None:
        node.hooks = Hooks()
        node.pull_plain = None
    return node.hooks


def unserializable_hook(f: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a hook as one that need not come along when its Tensor is pickled or copied: nothing warns of it.

    Args:
        f: the hook.

    Returns:
        The hook itself.

    >>> import copy
    >>> @torch.utils.hooks.unserializable_hook
    ... def double(gradient):
    ...     return gradient * 2
    >>> x = torch.ones(1, requires_grad=True)
    >>> handle = x.register_hook(double)
    >>> y = copy.copy(x)
    """
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f
