"""Calling a Module: its `forward` between hooks."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.errors import TensorError
from ..._core.hooks import HookList, RemovableHandle
from ..._core.tensor import Tensor, wrap
from ...autograd.function import Function
from ...autograd.grad_mode import is_grad_enabled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..._core.tape import Node

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
            watch = BackwardHooks(self) if self._hooks["backward"] or self._hooks["backward_pre"] else None
            if watch is not None:
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


class BackwardHookFunction(Function):
    """Tensors passed through one Node, which gets their gradients together, zeros where there are none."""

    generate_vmap_rule = True

    @staticmethod
    def forward(*tensors) -> tuple[Tensor, ...]:
        return tensors

    @staticmethod
    def setup_context(ctx, inputs: tuple, output: tuple) -> None:
        ctx.mark_non_differentiable(*[x for x in inputs if not x.requires_grad])

    @staticmethod
    def backward(ctx, *gradients) -> tuple[Tensor, ...]:
        return gradients

    @staticmethod
    def jvp(ctx, *tangents) -> tuple[Tensor | None, ...]:
        return tuple([None if t is None else t.view_as(t) for t in tangents])


class Passage:
    """The Tensors among some values, which are passed through one Node if any of them requires a gradient. Neither they
    nor the Node are kept: a hook of that Node refers to this."""

    def __init__(self, values: Sequence[Any]):
        self.count = len(values)
        self.places = [i for i, x in enumerate(values) if isinstance(x, Tensor)]
        self.avals = [values[i].aval for i in self.places]
        self.is_watched = is_grad_enabled() and any(values[i].requires_grad for i in self.places)

    def pass_values(self, values: Sequence[Any]) -> tuple[list[Any], Node]:
        """Return the values, the Tensors among them with a new history, and the Node that this is."""
        passed = BackwardHookFunction.apply(*[values[i] for i in self.places])
        found = list(values)
        for i, t in zip(self.places, passed):
            found[i] = t
        return found, next(t.grad_fn for t in passed if t.requires_grad)

    def spread(self, gradients: Sequence[Any], zeros: bool) -> tuple[Any, ...]:
        """Return a gradient for each value: None for those that are no Tensors, and, unless zeros are wanted, for those
        that have none."""
        found: list[Any] = [None] * self.count
        for i, gradient, aval in zip(self.places, gradients, self.avals):
            if gradient is None and zeros:
                gradient = wrap(np.zeros(aval.shape, aval.dtype))
            found[i] = gradient
        return tuple(found)

    def gather(self, gradients: Sequence[Any]) -> tuple[Any, ...]:
        """Return the gradients of the Tensors."""
        return tuple([gradients[i] for i in self.places])


def check_hook_result(given, gradients: tuple, hook: str, what: str) -> tuple:
    """Check what a hook returned in place of gradients: one for each, alone or in a tuple."""
    found = given if isinstance(given, tuple) else (given,)
    if len(found) != len(gradients):
        raise TensorError(
            f"{hook} returned an invalid number of {what}, got {len(found)}, but expected {len(gradients)}"
        )
    return found


class BackwardHooks:
    """The backward hooks of one call of a Module."""

    def __init__(self, module):
        self.module = module
        self.pre_hooks = list(module._hooks["backward_pre"].values())
        self.post_hooks = list(module._hooks["backward"].values())
        self.arguments: Passage | None = None
        self.results: Passage | None = None
        self.grad_output: tuple | None = None  # of the pass that has come through the results

    def inputs(self, args: tuple) -> tuple:
        """Watch the gradients of the arguments, and return these."""
        if not self.post_hooks:
            return args
        self.arguments = Passage(args)
        if not self.arguments.is_watched:
            return args
        found, node = self.arguments.pass_values(args)
        node.register_hook(self.on_input_gradients)
        return tuple(found)

    def outputs(self, result) -> Any:
        """Watch the gradients of the results, and return these."""
        if not isinstance(result, Tensor | tuple | list):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(result)}",
                stacklevel=4,
            )
            return result
        values = [result] if isinstance(result, Tensor) else result
        self.results = Passage(values)
        if not self.results.is_watched:
            return result
        found, node = self.results.pass_values(values)
        node.register_prehook(self.on_output_gradients)
        return found[0] if values is not result else type(result)(found)

    def on_output_gradients(self, given: tuple) -> tuple | None:
        """Call the pre-hooks, and, where no argument requires a gradient, the hooks."""
        results: Any = self.results
        gradients = original = results.spread(given, zeros=False)
        for hook in self.pre_hooks:
            found = hook.function(self.module, gradients)
            if found is not None:
                gradients = check_hook_result(found, gradients, "Backward pre hook", "grad_output")
        self.grad_output = gradients
        if self.arguments is not None and not self.arguments.is_watched:
            self.call_post_hooks((None,) * self.arguments.count)
        return None if gradients is original else results.gather(gradients)

    def on_input_gradients(self, given: tuple, _) -> tuple | None:
        """Call the hooks, unless the gradients did not come through the results: those of a gradient do not."""
        if self.grad_output is None:
            return None
        arguments: Any = self.arguments
        gradients = original = arguments.spread(given, zeros=True)
        for hook in self.post_hooks:
            found = hook.function(self.module, gradients, self.grad_output)
            if found is not None:
                gradients = check_hook_result(found, gradients, "Backward hook", "grad_input")
        self.grad_output = None
        return None if gradients is original else arguments.gather(gradients)

    def call_post_hooks(self, grad_input: tuple) -> None:
        """Call the hooks where no argument requires a gradient."""
        for hook in self.post_hooks:
            if hook.function(self.module, grad_input, self.grad_output) is not None:
                raise TensorError(
                    "Backward hook for Modules where no input requires gradient should always return None or None "
                    "for all gradients."
                )
        self.grad_output = None
