"""Callbacks that run at the end of a backward pass: `Variable._execution_engine.queue_callback`."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

from ...errors import TensorError

# The queue of the outermost running pass; None: no pass takes calls.
QUEUE: ContextVar[list[Callable[[], object]] | None] = ContextVar("fxgrad queued callbacks", default=None)


class ExecutionEngine:
    """The engine of the backward pass, as programs see it."""

    @staticmethod
    def queue_callback(callback: Callable[[], object]) -> None:
        """Register a function to be called at the end of the backward pass that is running. It is for hooks.

        Raises:
            TensorError: none is running.
        """
        queue = QUEUE.get()
        if queue is None:
            raise TensorError(
                "Final callbacks can only be installed during backward pass.", hint="call it in a hook"
            )
        queue.append(callback)


def call_queued(queue: list[Callable[[], object]]) -> None:
    """Run the callbacks in a queue, also those that they add to it."""
    while queue:
        queue.pop(0)()
