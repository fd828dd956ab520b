"""Tensor: a value of a tape with torch's interface.

    _fx_value      an array, or a tracer of an outer level
    _fx_node       None: no gradient; LEAF: a leaf that requires one; otherwise the Node or Edge that made it
    _fx_tape       the level to which it belongs
    _fx_view_meta  None, or what operations have to look at first: that it is a view, or carries a tangent (`views`)

Everything else (gradient, hooks) is in its `__dict__`, which costs nothing while it is empty. Users may derive classes
from Tensor, so its attributes either have torch's names or begin with `_fx_`, which no user's name does.
"""

from __future__ import annotations

import warnings
import weakref
from threading import get_ident
from typing import TYPE_CHECKING, Any

import numpy as np

from ...extend import TRACERS, SurfaceObject, aval_of, escaped_tracer_error, levels
from .dtypes import dtype as torch_dtype
from .dtypes import from_numpy_dtype
from .hooks import HookList, ensure_hooks
from .tape import (
    ALIAS_RULE,
    LEAF,
    AccumulateGrad,
    Edge,
    Node,
    TapeInterpreter,
    TapeTracer,
    current_tape,
    grad_accumulator,
    node_and_index,
    record_node,
    show_node,
)


class Size(tuple):
    """The shape of a Tensor.

    Args:
        iterable: the sizes.

    >>> size = torch.Size([2, 3])
    >>> size.numel(), size[0], size + (5,)
    (6, 2, torch.Size([2, 3, 5]))
    """

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements."""
        count = 1
        for n in self:
            count *= n
        return count

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def __add__(self, other) -> Size:
        return Size(tuple.__add__(self, tuple(other)))

    def __getitem__(self, index) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found


class Tensor(SurfaceObject):
    """A multi-dimensional array that records the operations on it.

    A Tensor has a value (an array, or a traced value of a transform around it), a place in the graph of operations,
    and a `.grad`. Whatever functional transforms of fxgrad are given a Tensor, they see its value.

    Args:
        args: the sizes of a Tensor of arbitrary numbers in the default dtype, or a sequence of numbers, or a Tensor
            whose memory is shared.
        device: where it is made.

    Raises:
        TypeError: the argument is no sequence.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = ("__dict__", "__weakref__", "_fx_node", "_fx_tape", "_fx_value", "_fx_view_meta")
    __hash__ = object.__hash__
    __array_priority__ = 1000
    _grad: Any = None
    _fx_is_grad_retained = False  # fills `.grad` although it is no leaf
    _fx_accumulator: Any = None  # see `tape.grad_accumulator`
    _fx_origin_tape: Any = None  # the level at which it was made, if it belongs to one further out
    _fx_is_inference_tensor = False
    _fx_gives_its_class = True  # to the results of operations: not so Parameters
    _fx_has_own_dispatch = False  # its class has `__torch_dispatch__`: see `overriding`
    _fx_history_version = 0  # how often the history was rewritten
    _fx_value_version = 0  # how often a traced value was replaced
    _fx_was_replaced_with_grad = False  # while that was recorded
    # Of a traced value that stands for an array: a function that returns one laid out so.
    _fx_memory_layout: Any = None
    _fx_version_counter: Any = None  # set where it has another memory than at first: see `replace_memory`

    _fx_value: Any
    _fx_node: Any
    _fx_tape: TapeInterpreter
    _fx_view_meta: Any

    @property
    def shape(self) -> Size:
        """The sizes of the dimensions: a `torch.Size`.

        >>> torch.zeros(2, 3).shape
        torch.Size([2, 3])
        """
        value = self._fx_value
        return Size(value.shape if type(value) is np.ndarray else refresh(self)._fx_value.shape)

    @property
    def dtype(self) -> torch_dtype:
        """The type of the entries: a `torch.dtype`.

        >>> torch.zeros(2).dtype
        torch.float32
        """
        value = self._fx_value
        return from_numpy_dtype(value.dtype if type(value) is np.ndarray else aval_of(value).dtype)

    @property
    def requires_grad(self) -> bool:
        """Whether operations on the Tensor are recorded, so that backward gives it a gradient.

        >>> x = torch.zeros(2, requires_grad=True)
        >>> (x * 2).requires_grad
        True
        """
        return refresh(self)._fx_node is not None

    @property
    def is_leaf(self) -> bool:
        """Whether the Tensor is no result of a recorded operation: backward puts the gradients of leaves into `.grad`.

        >>> x = torch.zeros(2, requires_grad=True)
        >>> x.is_leaf, (x * 2).is_leaf
        (True, False)
        """
        node = refresh_history(self)._fx_node
        return node is None or node is LEAF

    @property
    def grad_fn(self) -> Node | None:
        """The Node of the operation that made the Tensor, or None for a leaf.

        >>> x = torch.zeros(2, requires_grad=True)
        >>> (x * 2).grad_fn.name()
        'MulBackward0'
        """
        node = recorded_node(self)
        return None if node is None else show_node(node, self._fx_value)

    @property
    def output_nr(self) -> int:
        """Which of the results of its Node the Tensor is.

        >>> x = torch.tensor([3.0, 1.0], requires_grad=True)
        >>> x.unbind()[1].output_nr
        1
        """
        node = refresh(self)._fx_node
        return node.index if type(node) is Edge else 0

    def __len__(self) -> int:
        shape = self.shape
        if not shape:
            raise TypeError("len() of a 0-d tensor")
        return shape[0]

    if TYPE_CHECKING:  # the constructor and the operations: see `attach`

        def __new__(cls, *args, device=None) -> Tensor: ...

        data: Any
        grad: Any

        def __getattr__(self, name: str) -> Any: ...
        def __iter__(self) -> Any: ...
        def __getitem__(self, index) -> Any: ...
        def __setitem__(self, index, value) -> None: ...
        def __add__(self, other) -> Any: ...
        def __sub__(self, other) -> Any: ...
        def __mul__(self, other) -> Any: ...
        def __truediv__(self, other) -> Any: ...
        def __rtruediv__(self, other) -> Any: ...
        def __radd__(self, other) -> Any: ...
        def __rsub__(self, other) -> Any: ...
        def __rmul__(self, other) -> Any: ...
        def __mod__(self, other) -> Any: ...
        def __matmul__(self, other) -> Any: ...
        def __and__(self, other) -> Any: ...
        def __or__(self, other) -> Any: ...
        def __neg__(self) -> Any: ...
        def __invert__(self) -> Any: ...
        def __lt__(self, other) -> Any: ...
        def __le__(self, other) -> Any: ...
        def __gt__(self, other) -> Any: ...
        def __ge__(self, other) -> Any: ...

    @classmethod
    def _fx_attach(cls, **members) -> None:
        """Add these attributes and methods to Tensors."""
        for name, member in members.items():
            setattr(cls, name, member)


TENSOR_CLASSES: set[type] = {Tensor}  # the classes whose operations are torch's own
allocate_tensor = object.__new__


def as_subclass(tensor: Tensor, cls: type) -> Tensor:
    """Return a Tensor of a subclass with the same value and history."""
    if cls is type(tensor):
        return tensor
    made = allocate_tensor(cls)
    made._fx_tape = tensor._fx_tape
    made._fx_value = tensor._fx_value
    made._fx_node = tensor._fx_node
    made._fx_view_meta = tensor._fx_view_meta
    return made


def give_memory(value) -> Any:
    """Return a value as Tensors have it: a number as an array without axes, since Tensors have memory."""
    return np.asarray(value) if isinstance(value, np.generic) or not hasattr(value, "shape") else value


def make_tensor(tape: TapeInterpreter, value, node=None, meta=None) -> Tensor:
    """Make a Tensor of these parts."""
    if type(value) is not np.ndarray:
        value = give_memory(value)
        if node is None and type(value) is TapeTracer:  # in which this level has no part
            tensor = wrap(value, value.interpreter)
            tensor._fx_origin_tape = tape
            return tensor
    tensor = allocate_tensor(Tensor)
    tensor._fx_tape, tensor._fx_value, tensor._fx_node, tensor._fx_view_meta = tape, value, node, meta
    return tensor


def refresh(tensor: Tensor) -> Tensor:
    """Return the Tensor itself, brought up to date if it is a view of a Tensor that was modified in place."""
    meta = tensor._fx_view_meta
    if meta is not None:
        meta.refresh(tensor)
    return tensor


def refresh_history(tensor: Tensor) -> Tensor:
    """Return the Tensor itself, brought up to date before its history is asked for."""
    meta = tensor._fx_view_meta
    if meta is not None:
        meta.refresh_history(tensor)
    return tensor


def recorded_node(tensor: Tensor) -> Node | None:
    """Return the Node that made a Tensor, or None if there is none."""
    node = refresh_history(tensor)._fx_node
    return None if node is None or node is LEAF else node.node if type(node) is Edge else node


def gradient_edge(tensor: Tensor) -> Any:
    """Return the edge by which a node refers to this operand: see `Node.next_edges`."""
    node = tensor._fx_node
    return grad_accumulator(tensor) if node is LEAF else node


def attach_retain_hook(tensor: Tensor) -> None:
    """Have the Node of a Tensor fill its `.grad` if that is retained; to be called after every change of its
    history."""
    if tensor._fx_is_grad_retained and tensor._fx_node is not None and tensor._fx_node is not LEAF:
        node, index = node_and_index(tensor._fx_node)
        ensure_hooks(node).retaining_tensors[index] = weakref.ref(tensor)


def warn_if_has_hooks(tensor: Tensor) -> None:
    """Warn of hooks of a Tensor that do not come along when it is pickled or copied.

    Args:
        tensor: a Tensor.

    Returns:
        None.

    >>> import warnings
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> handle = x.register_hook(print)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     torch.utils.hooks.warn_if_has_hooks(x)
    >>> len(caught)
    1
    """
    hooks = None if tensor._fx_accumulator is None else tensor._fx_accumulator.hooks
    for hook in () if hooks is None else hooks.result_hooks.get(0, HookList()).to_list():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the "
                "function with @torch.utils.hooks.unserializable_hook to suppress this warning",
                UserWarning,
                stacklevel=2,
            )


def to_tracer(tensor: Tensor) -> TapeTracer:
    """Return the Tensor as a value for other interpreters."""
    refresh(tensor)
    return TapeTracer(tensor._fx_tape, tensor._fx_value, gradient_edge(tensor))


def to_outer(tensor: Tensor, tape: TapeInterpreter) -> Any:
    """Return the Tensor as a value for the levels outside `tape`."""
    if tensor._fx_view_meta is not None:
        tensor._fx_view_meta.refresh_history(tensor)
    if tensor._fx_tape is not tape:
        tensor = to_open_tape(tensor)
    if tensor._fx_tape is tape or tensor._fx_node is None:
        return tensor._fx_value
    return TapeTracer(tensor._fx_tape, tensor._fx_value, gradient_edge(tensor))


def to_open_tape(tensor: Tensor) -> Tensor:
    """Return the Tensor itself, or, if its tape has been closed, its value as a Tensor of an outer level, as in torch.

    Raises:
        EscapedTracerError: it is open in another thread, where the derivative by the Tensor is awaited.
    """
    while not tensor._fx_tape.permanent and all(level is not tensor._fx_tape for level in levels()):
        if tensor._fx_node is not None and tensor._fx_tape.thread not in (0, get_ident()):
            raise escaped_tracer_error(to_tracer(tensor), "torch")
        tensor = make_tensor(current_tape(), tensor._fx_value)
    return tensor


def wrap(value, tape: TapeInterpreter | None = None) -> Tensor:
    """Return a value of a tape (the current one), or of the levels outside it, as a Tensor."""
    tape = current_tape() if tape is None else tape
    if type(value) is TapeTracer and value.interpreter is tape:
        parent = value.edge
        if type(parent) is AccumulateGrad:  # the Tensor made here is another one
            parent = record_node(ALIAS_RULE, ALIAS_RULE, (), (parent,))
        return make_tensor(tape, value.primal, parent)
    return make_tensor(tape, value)


def unwrap(value) -> Any:
    """Return a Tensor as a value for fxgrad's own functions, and anything else unchanged."""
    if isinstance(value, Tensor):
        value, tape = to_open_tape(refresh(value)), current_tape()
        return (
            to_outer(value, tape)
            if tape is not value._fx_tape or value._fx_node is None
            else to_tracer(value)
        )
    return value


def from_result(value, shared: bool = False) -> Tensor:
    """Wrap a result of this library's own functions and transforms as a Tensor with memory of its own."""
    tensor = wrap(value)
    array = tensor._fx_value
    if type(array) is np.ndarray and (shared or array.base is not None or not array.flags.writeable):
        tensor._fx_value = array.copy()
    return tensor


Tensor._fx_attach(__fxgrad_object__=staticmethod(from_result))  # and `duals.to_operand`
TRACERS[TapeTracer] = Tensor
