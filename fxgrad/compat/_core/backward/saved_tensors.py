"""The saved values of a Node, as its user sees them.

`_saved_self`, `_saved_other`, …, `_saved_result` are the Tensors; `_raw_saved_self`, … the places where they are kept,
for which hooks can be registered; `_saved_dim` and the like are the parameters of the operation.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from ....extend import SCALARS
from ...errors import TensorError
from ..memory import ensure_unmodified
from ..packing import (
    PackedValue,
    PackingHooks,
    ensure_callable,
    saved_operand,
    saved_result,
)
from ..recorded_call import given_operands, recorded_params
from ..tape import BASE_TAPE, FREED, AccumulateGrad, Edge, Node, freed_error, next_serial
from ..tensor import Tensor, make_tensor

SAVED_PREFIX, RAW_PREFIX = "_saved_", "_raw_saved_"
HOOKED_MESSAGE = (
    "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is "
    "allowed at a time."
)
FREED_HOOKS_MESSAGE = (
    "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are "
    "freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved variables after calling backward."
)
# Operations whose derivative torch declares for a number as well; elsewhere a number is saved as a Tensor.
TAKE_NUMBERS = {"pow", "float_power", "clamp"}


class Saved(NamedTuple):
    """One thing that a node has saved: whether it is a result, the number of that operand or result, and the residual,
    which is None where an operand was not needed beside others."""

    is_result: bool
    index: int
    residual: Any


class SavedTensor:
    """The place in the graph where a Tensor is saved for backward: `grad_fn._raw_saved_self`, or one of the
    `_raw_saved_tensors` of a Function.

    Args:
        args: whatever they are.
        options: whatever they are.

    Raises:
        RuntimeError: when called: operations make them.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> y = x * x
    >>> y.grad_fn._raw_saved_self.register_hooks(lambda t: t.item(), lambda number: torch.tensor(number))
    >>> y.backward()
    >>> x.grad
    tensor(6.)
    """

    __slots__ = ("__weakref__", "name", "node")
    node: Node
    name: Any

    def __new__(cls, *args, **options) -> SavedTensor:
        raise TensorError(
            "Trying to create a SavedTensor object from Python is forbidden.",
            hint="y.grad_fn._raw_saved_self and its like are those that operations make",
        )

    @classmethod
    def of(cls, node: Node, name) -> SavedTensor:
        """Return the one SavedTensor of a name at a node, which is kept by weak reference."""
        known = node.__dict__.setdefault("saved_places", weakref.WeakValueDictionary())
        found = known.get(name)
        if found is None:
            found = known[name] = object.__new__(cls)
            found.node, found.name = node, name
        return found

    def register_hooks(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        """Pack the Tensor by a hook now, and unpack it by another whenever it is needed: see
        `torch.autograd.graph.saved_tensors_hooks`.

        Args:
            pack_hook: a function of the Tensor, whose result is kept.
            unpack_hook: a function of that, which gives the Tensor.

        Raises:
            RuntimeError: nothing is saved here, or it has been freed, or has hooks already.
            TypeError: a hook cannot be called.
        """
        ensure_callable("register_hooks", pack_hook, unpack_hook)
        node, name = self.node, self.name
        residual = node.read_saved(name)
        if residual is FREED:
            raise freed_error(FREED_HOOKS_MESSAGE)
        if residual is None:
            raise TensorError(
                "Calling register_hooks on a saved tensor with value None is forbidden",
                hint="the operation has not saved this one: ask `is None` of the attribute _saved_… before",
            )
        if type(residual) is PackedValue:
            raise TensorError(HOOKED_MESSAGE, hint="one pair of functions that does what both do")
        packed = PackingHooks(pack_hook, unpack_hook).pack(as_tensor(node.open_saved(name)))
        packed.is_number = type(residual) in SCALARS
        node.write_saved(name, packed)

    def unpack(self) -> Any:
        """Return the Tensor, with the history that it had."""
        return self.node.open_saved(self.name)

    @property
    def data(self) -> Any:
        """The Tensor itself, or what a hook has packed it into."""
        residual = self.node.read_saved(self.name)
        return residual.packed if type(residual) is PackedValue else self.unpack()

    @property
    def unpack_hook(self) -> Callable[[Any], Tensor] | None:
        """The hook that unpacks, if there is one."""
        residual = self.node.read_saved(self.name)
        return residual.unpack_hook if type(residual) is PackedValue else None


def as_tensor(value) -> Tensor:
    """Return a saved number as a Tensor."""
    return value if isinstance(value, Tensor) else make_tensor(BASE_TAPE, value)


# -- what a node has saved ------------------------------------------
def find_saved(node: Node) -> dict[str, Saved]:
    """All that a node has saved, by the names that torch has for it, without prefix."""
    if node.residuals is FREED:
        raise freed_error()
    names, found = saved_operand_names(node), {}

    def operand(index: int, value) -> Any:
        if index < len(names):
            for i, name in enumerate(names):
                found.setdefault(name, Saved(False, i, None))
            found[names[index]] = Saved(False, index, value)
        return value

    def result(index: int, value) -> Any:
        found[f"result{index if node.result_avals is not None else ''}"] = Saved(True, index, value)
        return value

    if node.rule is not None:
        node.rule.map_residuals(node.residuals, operand, result)
    return found


def saved_operand_names(node: Node) -> list[str]:
    """The names that torch has for a node's operands; none where they are not known."""
    if getattr(node.operation, "names", None) is None:
        return ["self", "other"]
    return ["self" if name == "input" else name for name in given_operands(node)]


# -- the methods of Nodes ------------------------------------------
def read_saved(node: Node, name: str) -> Any:
    """Return the saved value of a name: a value, a PackedValue, None, or FREED."""
    if node.residuals is FREED:
        return FREED
    return find_saved(node)[name].residual


def write_saved(node: Node, name: str, packed: PackedValue) -> None:
    """Replace the value that a node saved under a name by a PackedValue."""
    place = find_saved(node)[name]

    def replace(is_result: bool) -> Callable[[int, Any], Any]:
        return lambda index, value: packed if (is_result, index) == place[:2] else value

    node.residuals = node.rule.map_residuals(node.residuals, replace(False), replace(True))
    node.is_packed, node.pull_plain = True, None


def open_saved(node: Node, name: str) -> Any:
    """Return the saved Tensor of a name with the history that it had: the very operand, as long as that is alive."""
    is_result, index, value = find_saved(node)[name]
    if value is None:
        return None
    edge = None
    if is_result:
        edge = node if node.result_avals is None else Edge(node, index)
    elif index < len(node.next_edges):
        edge = node.next_edges[index]
    packed = type(value) is PackedValue
    if packed:
        value = value.unpack()
    elif type(value) in SCALARS:
        return value if node.operation.name in TAKE_NUMBERS else make_tensor(BASE_TAPE, value)
    else:
        ensure_unmodified(value, node.order, edge, node)
    if is_result:
        return saved_result(node, BASE_TAPE, index, value)
    if type(edge) is AccumulateGrad:
        return edge.stand_in(value) if packed else saved_operand(node, BASE_TAPE, index, value)
    found = None if packed else find_operand(node, value, edge)
    return make_tensor(BASE_TAPE, value, edge) if found is None else found


class TensorIndex:
    """The Tensors that were alive at a serial number, by their values. An operand of a node with a lower one is among
    them, if it is alive still."""

    __slots__ = ("order", "references")

    def __init__(self, order: int):
        self.order = order
        self.references: dict[int, list[weakref.ref[Tensor]]] = {}
        for found in gc.get_objects():
            if issubclass(type(found), Tensor):
                value = getattr(found, "_fx_value", None)  # another thread may be making it
                self.references.setdefault(id(value), []).append(weakref.ref(found))

    def find(self, value, edge) -> Tensor | None:
        """Return a Tensor that has this value and this history."""
        for reference in self.references.get(id(value), ()):
            found = reference()
            if found is not None and found._fx_value is value and found._fx_node is edge:
                return found
        return None


INDEX: list[TensorIndex] = []  # the last one that was made


def find_operand(node: Node, value, edge) -> Tensor | None:
    """Return the Tensor that was an operand of a node, if it is alive. Nodes do not refer to Tensors, which costs
    recording nothing, so the garbage collector is asked for all that there are, once for nodes recorded before."""
    if not INDEX or INDEX[0].order < node.order:
        INDEX[:] = [TensorIndex(next_serial())]
    return INDEX[0].find(value, edge)


def get_saved(node: Node, name: str) -> Any:
    """Return the saved value, parameter or SavedTensor of that name.

    Raises:
        AttributeError: there is no such operand, result or parameter.
        RuntimeError: what was saved has been freed, or was modified in place since.
        TypeError: a hook did not unpack it as a Tensor.
    """
    if name.startswith(RAW_PREFIX):
        short = name.removeprefix(RAW_PREFIX)
        if node.residuals is FREED or short in find_saved(node):
            return SavedTensor.of(node, short)
    elif name.startswith(SAVED_PREFIX):
        short = name.removeprefix(SAVED_PREFIX)
        params = recorded_params(node)
        if short in params:
            return params[short]
        if short in find_saved(node):
            return open_saved(node, short)
    raise AttributeError(f"'{type(node).__name__}' object has no attribute '{name}'")


def list_attributes(node: Node) -> list[str]:
    """The names of a Node's attributes, with those of what it has saved."""
    found = [] if node.residuals is FREED else list(find_saved(node))
    return [
        *object.__dir__(node),
        *[RAW_PREFIX + name for name in found],
        *[SAVED_PREFIX + name for name in (*found, *recorded_params(node))],
    ]


Node.attach(
    __getattr__=get_saved,
    __dir__=list_attributes,
    read_saved=read_saved,
    write_saved=write_saved,
    open_saved=open_saved,
)
