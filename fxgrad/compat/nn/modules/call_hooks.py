"""The call of a Module: its `forward`, and the hooks before and after."""

from __future__ import annotations

import warnings
from collections.abc import Callable  # which `typing.get_type_hints` of users' classes looks up
from typing import Any

from ..._core.hooks import HookList, RemovableHandle
from ..._declare.packages import complete_methods, complete_module
from ...errors import TensorError


class ModuleHook:
    """A hook of one module or of all modules, with its kind and calling convention."""

    def __init__(self, kind: str, function: Callable, with_kwargs: bool = False, always: bool = False):
        self.kind, self.function, self.with_kwargs, self.always = kind, function, with_kwargs, always


# The hooks of all modules, by the number of their handle: what users register here is global to the process.
GLOBAL_HOOKS: HookList = HookList()


class LazyHookList:
    """The hooks of a Module under torch's attribute name, a HookList that is made on first access. From then on calls
    of the Module look for hooks: whoever has the list may put one in."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, module: Any, owner: type | None = None) -> Any:
        if module is None:
            return self
        module.__dict__["_fx_may_have_hooks"] = True
        return module.__dict__.setdefault(self.name, HookList())

    def __set__(self, module: Any, hooks: Any) -> None:
        module.__dict__["_fx_may_have_hooks"] = True
        module.__dict__[self.name] = hooks


class CallMixin:
    """The part of a Module that is called: `forward` and its hooks."""

    _fx_may_have_hooks = False
    _is_full_backward_hook: bool | None = None
    _forward_pre_hooks = LazyHookList()
    _forward_pre_hooks_with_kwargs = LazyHookList()
    _forward_hooks = LazyHookList()
    _forward_hooks_with_kwargs = LazyHookList()
    _forward_hooks_always_called = LazyHookList()
    _backward_pre_hooks = LazyHookList()
    _backward_hooks = LazyHookList()
    forward: Callable[..., Any]

    def __call__(self, *args, **kwargs) -> Any:
        if self._fx_may_have_hooks or GLOBAL_HOOKS:
            return self._fx_call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    def _call_impl(self, *args, **kwargs) -> Any:
        """Carry out a call; subclasses that wrap calls call this method."""
        return CallMixin.__call__(self, *args, **kwargs)

    _wrapped_call_impl = _call_impl

    def _slow_forward(self, *input, **kwargs) -> Any:
        """Carry out a call without hooks, as torch does where it traces modules."""
        return self.forward(*input, **kwargs)

    def register_forward_pre_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Register hook(module, args) to be called before `forward`: what it returns, if not None, is used as
        arguments. With `with_kwargs` it is hook(module, args, kwargs) → None or (args, kwargs).
        """
        marks = {"with_kwargs": (self._forward_pre_hooks_with_kwargs, with_kwargs)}
        return add_hook(self._forward_pre_hooks, hook, prepend, **marks)

    def register_forward_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Register hook(module, args, output) to be called after `forward`: what it returns, if not None, is the
        output. With `with_kwargs` it is hook(module, args, kwargs, output); with `always_call` it is called after an
        error, too.
        """
        marks = {
            "with_kwargs": (self._forward_hooks_with_kwargs, with_kwargs),
            "always_call": (self._forward_hooks_always_called, always_call),
        }
        return add_hook(self._forward_hooks, hook, prepend, **marks)

    def register_full_backward_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Register hook(module, grad_output) to be called when the gradients of the outputs are known: what it
        returns, if not None, is used in their place.
        """
        return add_hook(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Register hook(module, grad_input, grad_output) to be called when the gradients of the inputs are known: what
        it returns, if not None, is used in their place.
        """
        self._is_full_backward_hook = True
        return add_hook(self._backward_hooks, hook, prepend)

    register_backward_hook = register_full_backward_hook

    def _fx_find_hooks(self) -> None:
        """Record whether there are hooks, after the attributes were set from elsewhere."""
        kinds = ("forward_pre", "forward", "backward_pre", "backward")
        if any(self.__dict__.get(f"_{kind}_hooks") for kind in kinds):
            self.__dict__["_fx_may_have_hooks"] = True

    def _fx_hooks_of(self, kind: str) -> list[ModuleHook]:
        """Return the hooks of a kind: global ones first, then those of this module."""
        found = [hook for hook in list(GLOBAL_HOOKS.values()) if hook.kind == kind]
        own = self.__dict__.get(f"_{kind}_hooks")
        if own:
            with_kwargs = self.__dict__.get(f"_{kind}_hooks_with_kwargs") or ()
            always = self.__dict__.get(f"_{kind}_hooks_always_called") or ()
            found += [ModuleHook(kind, hook, i in with_kwargs, i in always) for i, hook in list(own.items())]
        return found

    def _fx_call_with_hooks(self, args: tuple, kwargs: dict) -> Any:
        """Call `forward` with all hooks."""
        result = None
        pending = [h for h in self._fx_hooks_of("forward") if h.always]
        try:
            for hook in self._fx_hooks_of("forward_pre"):
                args, kwargs = apply_pre_hook(self, hook, args, kwargs)
            watch = None
            pre_hooks, post_hooks = self._fx_hooks_of("backward_pre"), self._fx_hooks_of("backward")
            if pre_hooks or post_hooks:
                from .backward_hooks import (
                    BackwardHooks,  # few modules have any, and Functions are many files
                )

                watch = BackwardHooks(self, [h.function for h in pre_hooks], [h.function for h in post_hooks])
                args = watch.inputs(args)
            result = self.forward(*args, **kwargs)
            for hook in self._fx_hooks_of("forward"):
                pending = [h for h in pending if h.function is not hook.function]
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


def add_hook(
    place: HookList, hook: Callable, prepend: bool = False, **marks: tuple[HookList, bool]
) -> RemovableHandle:
    """Register a hook, and record its options in the lists of the module."""
    handle = RemovableHandle(place, extra_dict=[marked for marked, _ in marks.values()])
    place[handle.id] = hook
    for marked, has in marks.values():
        if has:
            marked[handle.id] = True
    if prepend:
        place.move_to_end(handle.id, last=False)
    return handle


# -- hooks of all modules ------------------------------------------
def register_module_forward_pre_hook(hook: Callable) -> RemovableHandle:
    """Register hook(module, args) to be called before the `forward` of every module, as by
    `Module.register_forward_pre_hook`."""
    return GLOBAL_HOOKS.add(ModuleHook("forward_pre", hook))  # type: ignore[arg-type]


def register_module_forward_hook(
    hook: Callable, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Register hook(module, args, output) to be called after the `forward` of every module, as by
    `Module.register_forward_hook`.

    >>> from fxgrad.compat.nn.modules.module import register_module_forward_hook
    >>> with register_module_forward_hook(lambda module, args, output: output * 2):
    ...     torch.nn.ReLU()(torch.ones(2))
    tensor([2., 2.])
    """
    return GLOBAL_HOOKS.add(ModuleHook("forward", hook, with_kwargs, always_call))  # type: ignore[arg-type]


def register_module_full_backward_pre_hook(hook: Callable) -> RemovableHandle:
    """Register hook(module, grad_output) to be called in the backward pass of every module, as by
    `Module.register_full_backward_pre_hook`.
    """
    return GLOBAL_HOOKS.add(ModuleHook("backward_pre", hook))  # type: ignore[arg-type]


def register_module_full_backward_hook(hook: Callable) -> RemovableHandle:
    """Register hook(module, grad_input, grad_output) to be called in the backward pass of every module, as by
    `Module.register_full_backward_hook`.
    """
    return GLOBAL_HOOKS.add(ModuleHook("backward", hook))  # type: ignore[arg-type]


register_module_backward_hook = register_module_full_backward_hook


def register_module_parameter_registration_hook(hook: Callable) -> RemovableHandle:
    """Register hook(module, name, parameter) to be called when a module gets a parameter: what it returns, if not
    None, becomes the parameter.
    """
    return REGISTRATION_HOOKS["parameter"].add(hook)


def register_module_buffer_registration_hook(hook: Callable) -> RemovableHandle:
    """Register hook(module, name, buffer) to be called when a module gets a buffer: what it returns, if not None,
    becomes the buffer.
    """
    return REGISTRATION_HOOKS["buffer"].add(hook)


def register_module_module_registration_hook(hook: Callable) -> RemovableHandle:
    """Register hook(module, name, submodule) to be called when a module gets a submodule: what it returns, if not
    None, becomes that.
    """
    return REGISTRATION_HOOKS["module"].add(hook)


# Those of all modules that get a member; packages read them by torch's names.
_global_parameter_registration_hooks, _global_buffer_registration_hooks = HookList(), HookList()
_global_module_registration_hooks = HookList()
REGISTRATION_HOOKS = {
    "parameter": _global_parameter_registration_hooks,
    "buffer": _global_buffer_registration_hooks,
    "module": _global_module_registration_hooks,
}


def apply_registration_hooks(kind: str, module, name: str, member: Any) -> Any:
    """Call the hooks for a new member of a module, and return the member after them."""
    for hook in list(REGISTRATION_HOOKS[kind].values()):
        found = hook(module, name, member)
        member = member if found is None else found
    return member


def apply_pre_hook(module, hook: ModuleHook, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
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
            f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {found}.",
            hint="return args, kwargs",
        )
    return found


def apply_forward_hook(module, hook: ModuleHook, args: tuple, kwargs: dict, result) -> Any:
    """Call a forward hook, and return the output that it gives, or None."""
    given = (args, kwargs) if hook.with_kwargs else (args,)
    return hook.function(module, *given, result)


complete_module(globals(), "nn.modules.call_hooks")
complete_methods(CallMixin, "nn.modules.call_hooks")
