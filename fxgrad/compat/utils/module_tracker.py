"""torch.utils.module_tracker: the modules that are being called, or whose backward pass runs, by their names."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from .._core.backward.queued import QUEUE, ExecutionEngine
from .._core.tensor import Tensor
from ..autograd.multi_grad_hook import register_multi_grad_hook
from ..nn.modules.call_hooks import register_module_forward_hook, register_module_forward_pre_hook
from ..nn.modules.module import Module
from . import _pytree

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """Context manager that tracks which modules are being called, and which are being differentiated.

    `parents` is the set of their names, and of "Global": a module that is called by no other one has the name of its
    class, its children "Class.child". `is_bw` is whether a backward pass is running. In a backward pass a module counts
    from the gradients of its outputs to those of its inputs; one whose inputs require no gradient, to the end.

    >>> class Scale(torch.nn.Module):
    ...     def forward(self, x):
    ...         print(sorted(tracker.parents))
    ...         return 2 * x
    >>> with torch.utils.module_tracker.ModuleTracker() as tracker:
    ...     y = torch.nn.Sequential(Scale())(torch.ones(2))
    ['Global', 'Sequential', 'Sequential.0']
    """

    def __init__(self) -> None:
        self.parents: set[str] = {"Global"}
        self._fx_names: WeakKeyDictionary[Module, str] = WeakKeyDictionary()
        self._fx_handles: list[Any] = []
        self._fx_is_queued = False

    @property
    def is_bw(self) -> bool:
        """Whether a backward pass is running."""
        return QUEUE.get() is not None

    def __enter__(self) -> ModuleTracker:
        self._fx_handles = [
            register_module_forward_pre_hook(self._fx_enter),
            register_module_forward_hook(self._fx_leave),
        ]
        return self

    def __exit__(self, *error: object) -> None:
        for handle in self._fx_handles:
            handle.remove()
        self._fx_handles = []

    def _fx_name_of(self, module: Module) -> str:
        """Return the name of a module, and name those inside it if it is new."""
        if module not in self._fx_names:
            top = type(module).__name__
            for path, part in module.named_modules():
                self._fx_names.setdefault(part, f"{top}.{path}" if path else top)
        return self._fx_names[module]

    def _fx_enter(self, module: Module, args: Any) -> None:
        name = self._fx_name_of(module)
        self.parents.add(name)
        self._fx_await(args, partial(self._fx_leave_backward, name))

    def _fx_leave(self, module: Module, args: Any, output: Any) -> None:
        name = self._fx_name_of(module)
        self.parents.discard(name)
        self._fx_await(output, partial(self._fx_enter_backward, name))

    def _fx_await(self, tree: Any, call: Callable[[Any], None]) -> None:
        """Have a function called when the gradients of all Tensors in a tree are there."""
        tensors = [x for x in _pytree.tree_leaves(tree) if isinstance(x, Tensor) and x.requires_grad]
        if tensors:
            self._fx_handles.append(register_multi_grad_hook(tensors, call))

    def _fx_enter_backward(self, name: str, gradients: Any) -> None:
        if not self._fx_is_queued:
            self._fx_is_queued = True
            ExecutionEngine.queue_callback(self._fx_end_backward)
        self.parents.add(name)

    def _fx_leave_backward(self, name: str, gradients: Any) -> None:
        self.parents.discard(name)

    def _fx_end_backward(self) -> None:
        self.parents, self._fx_is_queued = {"Global"}, False
