"""Tensor: a value of a tape with torch's manners.

    value   an array, or a tracer of an outer level
    node    None: no gradient; LEAF: a leaf that requires one; otherwise the Node or Edge that made it
    tape    the level to which it belongs
    aspect  None, or what operations have to look at first: that it is a view, or carries a tangent (`views`)

All else (gradient, hooks, names) is in its `__dict__`, which costs nothing until something is there.
"""

from __future__ import annotations

import weakref
from threading import get_ident
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.aval import aval_of
from ...core.interpreter import escaped, levels
from .dtypes import dtype as torch_dtype
from .dtypes import from_numpy_dtype
from .hooks import hooks_of
from .tape import (
    ALIAS,
    LEAF,
    AccumulateGrad,
    Edge,
    Node,
    TapeInterpreter,
    TapeTracer,
    as_edge,
    current_tape,
    leaf_of,
)


class Size(tuple):
    """The shape of a Tensor."""

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements."""
        count = 1
        for n in self:
            count *= n
        return count

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found


class Tensor:
    """A multi-dimensional array that records what is done with it."""

    __slots__ = ("__dict__", "__weakref__", "aspect", "node", "tape", "value")
    __hash__ = object.__hash__
    __array_priority__ = 1000
    _grad: Any = None
    retains = False  # fills `.grad` although it is no leaf
    leaf: Any = None  # see `tape.leaf_of`
    home: Any = None  # the level at which it was made, if it belongs to one further out
    is_inference_tensor = False
    generation = 0  # how often the history was rewritten
    replacements = 0  # how often a traced value was replaced
    recorded = False  # while that was recorded
    count: Any = None  # of modifications, where it has other memory than at first: see `aspects.exchange`

    value: Any
    node: Any
    tape: TapeInterpreter
    aspect: Any

    @property
    def aval(self) -> Any:
        return aval_of(current(self).value)

    @property
    def shape(self) -> Size:
        value = self.value if self.aspect is None else current(self).value
        return Size(value.shape)

    @property
    def dtype(self) -> torch_dtype:
        return from_numpy_dtype(aval_of(self.value).dtype)

    @property
    def requires_grad(self) -> bool:
        return current(self).node is not None

    @property
    def is_leaf(self) -> bool:
        node = used(self).node
        return node is None or node is LEAF

    @property
    def grad_fn(self) -> Node | None:
        node = used(self).node
        return None if node is None or node is LEAF else node.node if type(node) is Edge else node

    @property
    def output_nr(self) -> int:
        node = current(self).node
        return node.index if type(node) is Edge else 0

    def __len__(self) -> int:
        shape = self.shape
        if not shape:
            raise TypeError("len() of a 0-d tensor")
        return shape[0]

    if TYPE_CHECKING:  # the constructor and the operations: see `attach`

        def __new__(cls, *args: Any, device: Any = None) -> Tensor: ...

        data: Any
        grad: Any

        def __getattr__(self, name: str) -> Any: ...
        def __iter__(self) -> Any: ...
        def __getitem__(self, index: Any) -> Any: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...
        def __add__(self, other: Any) -> Any: ...
        def __sub__(self, other: Any) -> Any: ...
        def __mul__(self, other: Any) -> Any: ...
        def __truediv__(self, other: Any) -> Any: ...
        def __rtruediv__(self, other: Any) -> Any: ...
        def __lt__(self, other: Any) -> Any: ...
        def __le__(self, other: Any) -> Any: ...
        def __gt__(self, other: Any) -> Any: ...
        def __ge__(self, other: Any) -> Any: ...

    @classmethod
    def attach(cls, **members: Any) -> None:
        """Give Tensors these methods, which are operations."""
        for name, member in members.items():
            setattr(cls, name, member)


TENSORS: set[type] = {Tensor}  # the classes whose operations are torch's own
new_tensor = object.__new__


def as_subclass(tensor: Tensor, cls: type) -> Tensor:
    """The same value and history as a Tensor of a subclass."""
    if cls is type(tensor):
        return tensor
    made = new_tensor(cls)
    made.tape, made.value, made.node, made.aspect = tensor.tape, tensor.value, tensor.node, tensor.aspect
    return made


def make(tape: TapeInterpreter, value: Any, node: Any = None, aspect: Any = None) -> Tensor:
    """A Tensor of these parts. NumPy scalars become arrays without axes: Tensors have memory."""
    if (not isinstance(value, np.ndarray) and not hasattr(value, "shape")) or isinstance(value, np.generic):
        value = np.asarray(value)
    if node is None and type(value) is TapeTracer:  # in which this level has no part
        tensor = wrap(value, value.interpreter)
        tensor.home = tape
        return tensor
    tensor = new_tensor(Tensor)
    tensor.tape, tensor.value, tensor.node, tensor.aspect = tape, value, node, aspect
    return tensor


def current(tensor: Tensor) -> Tensor:
    """The Tensor itself, brought up to date if it is a view of something that was modified in place."""
    aspect = tensor.aspect
    if aspect is not None:
        aspect.refresh(tensor)
    return tensor


def used(tensor: Tensor) -> Tensor:
    """The Tensor brought up to date, before its history is asked for."""
    aspect = tensor.aspect
    if aspect is not None:
        aspect.use(tensor)
    return tensor


def parent_of(tensor: Tensor) -> Any:
    """What a node refers to this operand by: see `Node.parents`."""
    node = tensor.node
    return leaf_of(tensor) if node is LEAF else node


def follow_history(tensor: Tensor) -> None:
    """Have the Node of a Tensor fill its `.grad`, if that is retained: after every change of its history."""
    if tensor.retains and tensor.node is not None and tensor.node is not LEAF:
        node, index = as_edge(tensor.node)
        hooks_of(node).retaining[index] = weakref.ref(tensor)


def tracer_of(tensor: Tensor) -> TapeTracer:
    """The Tensor as a value for other interpreters."""
    current(tensor)
    return TapeTracer(tensor.tape, tensor.value, parent_of(tensor))


def lower(tensor: Tensor, tape: TapeInterpreter) -> Any:
    """The Tensor as a value for the levels outside `tape`."""
    if tensor.aspect is not None:
        tensor.aspect.use(tensor)
    if tensor.tape is not tape:
        tensor = alive(tensor)
    if tensor.tape is tape or tensor.node is None:
        return tensor.value
    return TapeTracer(tensor.tape, tensor.value, parent_of(tensor))


def alive(tensor: Tensor) -> Tensor:
    """The Tensor itself; of one whose tape is not open any more what is left: its value, further out, as in torch.

    Raises:
        EscapedTracerError: it is open in another thread, where the derivative by the Tensor is awaited.
    """
    while not tensor.tape.permanent and all(level is not tensor.tape for level in levels()):
        if tensor.node is not None and tensor.tape.thread not in (0, get_ident()):
            raise escaped(tracer_of(tensor), "torch")
        tensor = make(current_tape(), tensor.value)
    return tensor


def wrap(value: Any, tape: TapeInterpreter | None = None) -> Tensor:
    """A value of a tape (the current one), or of the levels outside it, as a Tensor."""
    tape = current_tape() if tape is None else tape
    if type(value) is TapeTracer and value.interpreter is tape:
        parent = value.parent
        if type(parent) is AccumulateGrad:  # the Tensor made here is another one
            parent = Node(ALIAS, ALIAS, (), (parent,))
        return make(tape, value.primal, parent)
    return make(tape, value)


def unwrap(value: Any) -> Any:
    """A Tensor as a value for fxgrad's own functions; anything else as it is."""
    if isinstance(value, Tensor):
        value, tape = alive(current(value)), current_tape()
        return lower(value, tape) if tape is not value.tape or value.node is None else tracer_of(value)
    return value
