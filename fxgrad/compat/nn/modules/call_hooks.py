"""Calling a Module: its `forward` between hooks."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ..._core.errors import TensorError
from ..._core.hooks import HookList, RemovableHandle

if TYPE_CHECKING:
    from collections.abc import Callable


HOOK_KINDS = ("forward_pre", "forward", "backward_pre", "backward")


class Hook:
    """One hook and how it is called."""

    def __init__(self, function: Callable, with_kwargs: bool = False, always: bool = False):
        self.function, self.with_kwargs, self.always = function, with_kwargs, always


class CallMixin:
    """The part of a Module that is called: `forward` and its hooks."""

    _hooks: dict[str, HookList] | Any = None  # kind → hooks in their order, once there is one
    forward: Callable[..., Any]

    def __call__(self, *args, **kwargs) -> Any:
        if self._hooks is None:
            return self.forward(*args, **kwargs)
        return self._call_with_hooks(args, kwargs)

    def _add_hook(self, kind: str, hook: Hook, prepend: bool) -> RemovableHandle:
        """Register a hook."""
        if self._hooks is None:
            self._hooks = {kind: HookList() for kind in HOOK_KINDS}
        place = self._hooks[kind]
        handle = place.add(hook)  # type: ignore[arg-type]
        if prepend:
            place.move_to_end(handle.id, last=False)
        return handle

    def register_forward_pre_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Have hook(module, args) called before `forward`: what it returns, if not None, is used as arguments. With
        `with_kwargs` it is hook(module, args, kwargs) → None or (args, kwargs).

        Returns:
            A handle whose `remove()` takes it away again.
        """
        return self._add_hook("forward_pre", Hook(hook, with_kwargs), prepend)

    def register_forward_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Have hook(module, args, output) called after `forward`: what it returns, if not None, is the output. With
        `with_kwargs` it is hook(module, args, kwargs, output); with `always_call` it is called after an error, too."""
        return self._add_hook("forward", Hook(hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Have hook(module, grad_output) called when the gradients of the outputs are known: what it returns, if not
        None, is used in their place."""
        return self._add_hook("backward_pre", Hook(hook), prepend)

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Have hook(module, grad_input, grad_output) called when the gradients of the inputs are known: what it
        returns, if not None, is used in their place."""
        return self._add_hook("backward", Hook(hook), prepend)

    register_backward_hook = register_full_backward_hook

    def _call_with_hooks(self, args: tuple, kwargs: dict) -> Any:
        """Call `forward` with all hooks."""
        result = None
        pending = [h for h in self._hooks["forward"].values() if h.always]
        try:
            for hook in list(self._hooks["forward_pre"].values()):
                args, kwargs = apply_pre_hook(self, hook, args, kwargs)
            watch = None
            if self._hooks["backward"] or self._hooks["backward_pre"]:
                from .backward_hooks import (
                    BackwardHooks,  # few modules have any, and Functions are many files
                )

                watch = BackwardHooks(self)
                args = watch.inputs(args)
            result = self.forward(*args, **kwargs)
            for hook in list(self._hooks["forward"].values()):
                if hook in pending:
                    pending.remove(hook)
                found = apply_forward_hook(self, hook, args, kwargs, result)
                if found is not None:
                    result = found
            return result if watch is None else watch.outputs(result)
        except Exception:
            for hook in pending:
                try:
                    apply_forward_hook(self, hook, args, kwargs, result)
                except Exception as error:
                    warnings.warn(
                        f"module forward hook with ``always_call=True`` raised an exception that was silenced as "
                        f"another error was raised in forward: {error}",
                        stacklevel=3,
                    )
            raise


def apply_pre_hook(module, hook: Hook, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Call a forward pre-hook, and return the arguments after it."""
    if not hook.with_kwargs:
        found = hook.function(module, args)
        if found is None:
            return args, kwargs
        return found if isinstance(found, tuple) else (found,), kwargs
    found = hook.function(module, args, kwargs)
    if found is None:
        return args, kwargs
    if not (isinstance(found, tuple) and len(found) == 2):
        raise TensorError(
            f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {found}."
        )
    return found


def apply_forward_hook(module, hook: Hook, args: tuple, kwargs: dict, result) -> Any:
    """Call a forward hook, and return what it makes of the output, or None."""
    given = (args, kwargs) if hook.with_kwargs else (args,)
    return hook.function(module, *given, result)
