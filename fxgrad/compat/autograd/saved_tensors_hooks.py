"""Context managers for saved-tensor hooks, which transform the values that are saved for backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...extend import api_boundary
from .._core.modes import current_modes
from .._core.packing import PackingHooks, ensure_callable, ensure_hooks_allowed
from .._core.tensor import Tensor
from ..errors import TensorError
from .grad_mode import ModeSwitch, switch_modes


class saved_tensors_hooks:
    """A context manager under which whatever an operation saves for backward goes through a pair of hooks.

    `pack_hook` is called as often as an operation, or a Function by `save_for_backward`, saves a Tensor, once for each;
    what it returns is kept in its place. `unpack_hook` is called wherever the Tensor is needed: in backward, and when
    it is asked for (`grad_fn._saved_self`). Only the innermost pair is called. The pair belongs to the thread or async
    task that entered it.

    Args:
        pack_hook: takes the Tensor and returns anything. It must not modify it, and what it returns should not refer to
            it, for a result would then keep its own graph alive: x.detach(), not x.
        unpack_hook: takes what `pack_hook` returned and returns a Tensor of the same shape, dtype and value.

    Raises:
        TypeError: on entering, a hook cannot be called.
        RuntimeError: on entering, inside `disable_saved_tensors_hooks`.

    >>> x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.to(torch.float16), lambda t: t.to(torch.float32)):
    ...     y = x.square()
    >>> y.sum().backward()
    >>> x.grad
    tensor([2., 4., 6.])
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    @api_boundary
    def __enter__(self) -> None:
        ensure_callable("saved_tensors_hooks", self.pack_hook, self.unpack_hook)
        ensure_hooks_allowed()
        hooks = PackingHooks(self.pack_hook, self.unpack_hook)
        switch_modes(packing=(*current_modes().packing, hooks))

    def __exit__(self, *exc: object) -> None:
        switch_modes(packing=current_modes().packing[:-1])


class save_on_cpu(saved_tensors_hooks):
    """A context manager under which what operations save for backward is kept in the memory of the CPU, and brought
    back to its device when it is needed. What is there already is kept as it is.

    Args:
        pin_memory, device_type: accepted; memory is never pinned here.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> with torch.autograd.graph.save_on_cpu():
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    tensor(6.)
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        def pack_to_cpu(tensor: Tensor) -> tuple[Any, Tensor]:
            return tensor.device, tensor.detach().cpu()

        def unpack_from_cpu(packed: tuple[Any, Tensor]) -> Tensor:
            device, kept = packed
            return kept.to(device)

        super().__init__(pack_to_cpu, unpack_from_cpu)


class disable_saved_tensors_hooks(ModeSwitch):
    """A context manager and decorator under which saved-tensor hooks are refused: for code that does not work with
    them.

    Args:
        error_message: what the RuntimeError says.

    Raises:
        RuntimeError: on entering, such hooks are in force.

    >>> with torch.autograd.graph.disable_saved_tensors_hooks("no hooks here"):
    ...     with torch.autograd.graph.save_on_cpu():
    ...         pass
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.TensorError: no hooks here
    ...
    """

    def __init__(self, error_message: str):
        super().__init__()
        self._fx_changes = {"packing_refusal": error_message}

    @api_boundary
    def __enter__(self) -> None:
        if current_modes().packing:
            raise TensorError(self._fx_changes["packing_refusal"])
        super().__enter__()


__all__ = ["disable_saved_tensors_hooks", "save_on_cpu", "saved_tensors_hooks"]
