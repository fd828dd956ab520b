"""Backward hooks of Modules: arguments and results each pass through one Node, which receives their gradients
together.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....extend import aval_of, source_info
from ..._core.tape import Node
from ..._core.tensor import Tensor, refresh, wrap
from ...autograd.function import Function
from ...autograd.grad_mode import is_grad_enabled
from ...errors import TensorError

NO_INPUTS_WARNING = (
    "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require "
    "gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module."
    "register_full_backward_hook for more details."
)


class BackwardHookFunction(Function):
    """A function that passes Tensors through one Node, so that gradients arrive together; missing ones are zeros."""

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
    """The Tensors of some values, passed through one Node if any of them requires a gradient. Neither they nor the Node
    are kept: a hook of that Node refers to this."""

    def __init__(self, values: Sequence[Any]):
        self.count = len(values)
        self.places = [i for i, x in enumerate(values) if isinstance(x, Tensor)]
        self.avals = [aval_of(refresh(values[i])._fx_value) for i in self.places]
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
    """Check the gradients that a hook returned: one for each Tensor, alone or in a tuple."""
    found = given if isinstance(given, tuple) else (given,)
    if len(found) != len(gradients):
        raise TensorError(
            f"{hook} returned an invalid number of {what}, got {len(found)}, but expected {len(gradients)}",
            hint="return a tuple with one gradient, or None, for each; None alone changes nothing",
        )
    return found


class BackwardHooks:
    """The backward hooks of one call of a Module."""

    def __init__(self, module, pre_hooks: list[Callable[..., Any]], post_hooks: list[Callable[..., Any]]):
        self.module, self.pre_hooks, self.post_hooks = module, pre_hooks, post_hooks
        self.has_watched_arguments = False
        self.arguments: Passage | None = None
        self.results: Passage | None = None
        self.grad_output: tuple | None = None  # of the pass that has come through the results

    def inputs(self, args: tuple) -> tuple:
        """Watch the gradients of the arguments, and return these."""
        passage = Passage(args)
        self.has_watched_arguments = passage.is_watched
        if not self.post_hooks:
            return args
        self.arguments = passage
        if not passage.is_watched:
            return args
        found, node = passage.pass_values(args)
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
            found = hook(self.module, gradients)
            if found is not None:
                gradients = check_hook_result(found, gradients, "Backward pre hook", "grad_output")
        self.grad_output = gradients
        if not self.has_watched_arguments:
            warnings.warn(NO_INPUTS_WARNING, UserWarning, stacklevel=source_info.user_stacklevel())
        if self.arguments is not None and not self.arguments.is_watched:
            self.call_post_hooks((None,) * self.arguments.count)
        return None if gradients is original else results.gather(gradients)

    def on_input_gradients(self, given: tuple, _) -> tuple | None:
        """Call the hooks, unless the gradients came around the results, such as the gradient of a gradient."""
        if self.grad_output is None:
            return None
        arguments: Any = self.arguments
        gradients = original = arguments.spread(given, zeros=True)
        for hook in self.post_hooks:
            found = hook(self.module, gradients, self.grad_output)
            if found is not None:
                gradients = check_hook_result(found, gradients, "Backward hook", "grad_input")
        self.grad_output = None
        return None if gradients is original else arguments.gather(gradients)

    def call_post_hooks(self, grad_input: tuple) -> None:
        """Call the hooks where no argument requires a gradient."""
        for hook in self.post_hooks:
            if hook(self.module, grad_input, self.grad_output) is not None:
                raise TensorError(
                    "Backward hook for Modules where no input requires gradient should always return None or None "
                    "for all gradients.",
                    hint="x.requires_grad_() for an input, or return None",
                )
        self.grad_output = None
