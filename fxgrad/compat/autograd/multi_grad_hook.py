"""Hooks for the gradients of several Tensors at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

from .._core.hooks import RUNNING, RemovableHandle, RunningPass
from .._core.tape import node_and_index
from .._core.tensor import Tensor, gradient_edge
from ..errors import ArgumentValueError, NoGradientError


class MultiGradHook(RemovableHandle):
    """A hook for the gradients of several Tensors; it is its own handle.

    What it has got in a backward pass is in the notes of that pass: passes may run at the same time, and fail.
    """

    def __init__(self, tensors: Sequence[Tensor], function: Callable[[Any], None]):
        self.function = function
        self.handles = [t.register_hook(partial(self.receive, i)) for i, t in enumerate(tensors)]

    def remove(self) -> None:
        """Remove the hook, unless it is removed already."""
        for handle in self.handles:
            handle.remove()
        self.handles = []

    def __getstate__(self) -> list[RemovableHandle]:
        return self.handles

    def __setstate__(self, handles: list[RemovableHandle]) -> None:
        self.handles = handles

    def receive(self, position: int, gradient: Tensor) -> None:
        """Take the gradient of the Tensor at a position."""
        running = RUNNING.get()
        if running is not None:
            self.note(running, position, gradient)

    def note(self, running: RunningPass, position: int, gradient: Tensor) -> None:
        """Record a gradient of a pass, and call the function if it is due."""
        raise NotImplementedError

    def finish(self, running: RunningPass) -> None:
        """Complete a pass that had gradients for the hook."""


class FirstGradientHook(MultiGradHook):
    """The mode "any": the function gets the first gradient of every pass."""

    def note(self, running: RunningPass, position: int, gradient: Tensor) -> None:
        """See `MultiGradHook`."""
        if self not in running.notes:
            running.notes[self] = position
            self.function(gradient)


class AllGradientsHook(MultiGradHook):
    """The hook in the mode "all": the function gets the list of all gradients of a pass after the last arrives."""

    def __init__(self, tensors: Sequence[Tensor], function: Callable[[Any], None]):
        self.nodes = [node_and_index(gradient_edge(t))[0] for t in tensors]
        super().__init__(tensors, function)

    def note(self, running: RunningPass, position: int, gradient: Tensor) -> None:
        """See `MultiGradHook`."""
        gradients = running.notes.setdefault(self, {})
        gradients[position] = gradient
        if len(gradients) == sum(map(running.visits, self.nodes)):
            self.finish(running)

    def finish(self, running: RunningPass) -> None:
        """Call the function. That is left to be done where a Tensor on the way has got no gradient after all."""
        gradients = running.notes.pop(self)
        if self.handles:
            self.function([gradients.get(i) for i in range(len(self.nodes))])


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Any], None], *, mode: Literal["all", "any"] = "all"
) -> RemovableHandle:
    """Register `fn` to be called with the gradients of several Tensors, once in every backward pass that computes some
    of them.

    Args:
        tensors: the Tensors. Those that are not in the graph of a pass, or not on the way to its `inputs`, are not
            waited for.
        fn: a function of the list of the gradients, with None for those that were not computed; in the mode "any" of
            the first gradient. It should not modify them, and what it returns is not used.
        mode: "all" to wait for all gradients, "any" to be called with the first.

    Returns:
        A handle whose `remove()` takes the hook away again.

    Raises:
        ValueError: the mode is neither.
        AssertionError: a Tensor requires no gradient, and all are to be waited for.

    >>> a = torch.rand(2, 3, requires_grad=True)
    >>> b = torch.rand(2, 3, requires_grad=True)
    >>> c, d = a * b, a * b
    >>> handle = torch.autograd.graph.register_multi_grad_hook(
    ...     (a, b, c, d), lambda gradients: print([g is not None for g in gradients])
    ... )
    >>> c.sum().backward(retain_graph=True)
    [True, True, True, False]
    >>> c.sum().backward(inputs=(a,), retain_graph=True)
    [True, False, True, False]
    >>> handle.remove()
    """
    if mode not in ("all", "any"):
        raise ArgumentValueError(
            f"Expects mode to be one of ('all', 'any') but got {mode}",
            hint='mode="all" calls with all gradients, mode="any" with the first',
        )
    if mode == "any":
        return FirstGradientHook([t for t in tensors if t.requires_grad], fn)
    tensors = list(tensors)
    for i, t in enumerate(tensors):
        if not t.requires_grad:
            raise NoGradientError(
                "Expected gradient function to be set",
                hint=f"leave out tensors[{i}], which requires no gradient",
            )
    return AllGradientsHook(tensors, fn)
