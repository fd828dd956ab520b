"""Saved-tensor hooks: user code that packs the values that nodes save for backward.

A pair of hooks in force is a mode. When a node is recorded in this mode, each array or traced value that it saves is
passed to the first hook as a Tensor, and replaced among the residuals by a `PackedValue` that holds the result. In
backward, the second hook turns this into a Tensor again. Other nodes are not affected, except that they have the
attribute `is_packed`, which is False.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...extend import CURRENT, Tracer, use_context
from ..errors import ArgumentError, TensorError, argument_error
from .memory import is_array
from .modes import current_modes, with_modes
from .tape import AccumulateGrad, Edge, Node, TapeInterpreter
from .tensor import Tensor, make_tensor, to_outer
from .views import tensor_version

MODIFIED_MESSAGE = (
    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be "
    "modified by in-place operations as this can lead to unexpected side-effects."
)


class PackedValue:
    """A saved value, possibly a Python number, packed by a hook, with the hook that unpacks it."""

    __slots__ = ("is_number", "packed", "tape", "unpack_hook")

    def __init__(self, packed, unpack_hook: Callable[[Any], Any], tape: TapeInterpreter):
        self.packed, self.unpack_hook, self.tape = packed, unpack_hook, tape
        self.is_number = False

    def unpack(self) -> Any:
        """Return the value, for the levels outside the tape.

        Raises:
            TypeError: the hook returned no Tensor.
        """
        tensor = self.unpack_hook(self.packed)
        if not isinstance(tensor, Tensor):
            raise ArgumentError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(tensor).__name__}",
                hint="return the Tensor that pack_hook was given, or one of its shape and dtype",
            )
        value = to_outer(tensor, self.tape)
        return value.item() if self.is_number else value


class PackingHooks:
    """A pair of hooks: pack_hook(tensor) → anything, unpack_hook(anything) → tensor."""

    __slots__ = ("pack_hook", "unpack_hook")

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Any]):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def pack(self, tensor: Tensor) -> PackedValue:
        """Pack a saved Tensor. Operations of the hook are not recorded, unless it enables that.

        Raises:
            TensorError: the hook modified the Tensor.
        """
        version = tensor_version(tensor)
        with use_context(with_modes(CURRENT.get(), grad=False)):
            packed = self.pack_hook(tensor)
        if tensor_version(tensor) != version:
            raise TensorError(MODIFIED_MESSAGE, hint="clone() what is to be modified")
        return PackedValue(packed, self.unpack_hook, tensor._fx_tape)

    def accepts(self, value) -> bool:
        """Whether the hooks are to see a residual: Python's numbers, and what is packed, they are not.

        Raises:
            TensorError: outer levels differentiate it, which a hook that returns x.detach() would make an end of.
        """
        if isinstance(value, Tracer):
            ensure_constant(value)
            return True
        return is_array(value) or isinstance(value, np.generic)

    def pack_node(self, node: Node, tape: TapeInterpreter, operands: Sequence[Any] = ()) -> None:
        """Pack all values that a node of a tape saves. `operands` are the user's Tensors where they are known."""
        if node.is_packed:
            return

        def pack(tensor: Tensor) -> PackedValue:
            node.is_packed, node.pull_plain = True, None
            return self.pack(tensor)

        def pack_operand(index: int, value) -> Any:
            if not self.accepts(value):
                return value
            given = operands[index] if index < len(operands) else None
            if not isinstance(given, Tensor) or given._fx_value is not value:
                given = saved_operand(node, tape, index, value)
            return pack(given)

        def pack_result(index: int, value) -> Any:
            return pack(saved_result(node, tape, index, value)) if self.accepts(value) else value

        node.residuals = node.rule.map_residuals(node.residuals, pack_operand, pack_result)


def ensure_callable(name: str, *hooks) -> None:
    """Raise unless both hooks can be called."""
    for hook, role in zip(hooks, ("pack_hook", "unpack_hook")):
        if not callable(hook):
            hint = "a function of one argument, such as lambda x: x"
            raise argument_error(name, role, None, "callable", hook, hint)


def ensure_hooks_allowed() -> None:
    """Raise where saved-tensor hooks are disabled."""
    refusal = current_modes().packing_refusal
    if refusal is not None:
        raise TensorError(refusal)


def ensure_constant(value: Tracer) -> None:
    """Raise if a traced value carries a derivative of an outer level."""
    parts = value.contents()
    if value.is_differentiated or not parts:
        raise TensorError(
            "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with "
            "your use case.",
            hint="one derivative by them, or backward(), has its hooks; a derivative of that has not",
        )
    for part in parts:
        if isinstance(part, Tracer):
            ensure_constant(part)


def saved_operand(node: Node, tape: TapeInterpreter, index: int, value) -> Tensor:
    """Return a saved operand of a node as a Tensor with the history that it had."""
    edge = node.next_edges[index] if index < len(node.next_edges) else None  # a primitive may have made more
    if type(edge) is AccumulateGrad:
        leaf = edge.variable
        return leaf if leaf._fx_value is value else edge.stand_in(value)
    return make_tensor(tape, value, edge)


def saved_result(node: Node, tape: TapeInterpreter, index: int, value) -> Tensor:
    """Return a saved result of a node as a Tensor with its history."""
    return make_tensor(tape, value, node if node.result_avals is None else Edge(node, index))


def unpack_residuals(node: Node, residuals) -> Any:
    """Return the residuals of a node with the values in place of those that are packed."""

    def unpack(index: int, value) -> Any:
        return value.unpack() if type(value) is PackedValue else value

    return node.rule.map_residuals(residuals, unpack, unpack)
