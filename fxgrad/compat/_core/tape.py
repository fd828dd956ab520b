"""TapeInterpreter: the level that records operations on Tensors as nodes, for `backward.engine` to walk back.

Users hold a Tensor; other interpreters and primitives see the same value as a `TapeTracer`, which has NumPy's methods
instead of torch's. One tape at the bottom of the stack is always open (`BASE_TAPE`), and each open transform has one
above it.
"""

from __future__ import annotations

import itertools
import sys
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar

from ...extend import (
    CURRENT,
    EVAL,
    PLAIN,
    Context,
    HigherOrder,
    Interpreter,
    PrimalTracer,
    PullbackRule,
    RematPullback,
    acting_level,
    aval_of,
    code_kinds,
    keep_freed_memory,
    source_info,
)
from ..errors import TensorError
from .anomaly import note_call
from .hooks import RemovableHandle, ensure_hooks
from .modes import current_modes
from .recorded_call import overload_name

next_serial = itertools.count(
    1
).__next__  # numbers nodes and modifications in place, in the order of their making


class Node:
    """A recorded operation, which torch calls `grad_fn`.

    `order` is its serial number. `rule.pull(ct, *residuals)` gives a cotangent, or None, for every next edge, and
    `pull_plain` is its faster form for NumPy values, if there is one and the node has no hooks. A next edge is the
    Node that made the operand, an `Edge` where that Node has several results, the AccumulateGrad of a leaf, or None
    where no gradient is wanted. `operation` names the node; `code` and `lasti` are the user's line.
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "code",
        "lasti",
        "next_edges",
        "operation",
        "order",
        "pull_plain",
        "residuals",
        "rule",
    )
    hooks: Any = None  # see `hooks`
    is_packed = False  # whether some residuals are `packing.PackedValue`s
    is_named = False  # whether its class bears its name: see `show_node`
    num_results = 1  # results
    result_avals: Any = None  # of the results, where there are several

    def __init__(self, operation, rule, residuals, next_edges: Sequence[Any], pull_plain=None, results=None):
        self.order = next_serial()
        self.operation, self.rule, self.residuals, self.next_edges = operation, rule, residuals, next_edges
        self.pull_plain = pull_plain
        if results is not None:  # several
            self.result_avals = [aval_of(v) for v in results]
            self.num_results = len(self.result_avals)
        frame = sys._getframe(1)
        while code_kinds[frame.f_code.co_filename] and frame.f_back is not None:
            frame = frame.f_back
        self.code, self.lasti = frame.f_code, frame.f_lasti

    def name(self) -> str:
        """The name of the operation: 'MulBackward0'."""
        return overload_name(self)

    def __repr__(self) -> str:
        return f"<{self.name().rpartition('::')[2]} object at {id(self):#x}>"

    @property
    def site(self) -> source_info.Site:
        """The user's line that recorded the node."""
        return source_info.Site(self.code, self.lasti)

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for notes of the user."""
        return self.__dict__.setdefault("notes", {})

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The (Node, number of its result) of every operand; (None, 0) for one without gradient."""
        found = [(None, 0) if p is None else node_and_index(p) for p in self.next_edges]
        return tuple([(None if node is None else show_node(node), index) for node, index in found])

    @property
    def requires_grad(self) -> bool:
        """True: only such operations are recorded."""
        return True

    def _sequence_nr(self) -> int:
        return self.order

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Register `fn(grad_inputs, grad_outputs)` to be called after the Node in backward; a tuple that it returns is
        used in place of `grad_inputs`."""
        return ensure_hooks(self).post_hooks.add(fn)

    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Register `fn(grad_outputs)` to be called before the Node in backward; a tuple that it returns takes its
        place."""
        return ensure_hooks(self).pre_hooks.add(fn)

    if TYPE_CHECKING:  # what `backward.engine` and `backward.saved_tensors` attach

        def __call__(self, *gradients) -> Any: ...
        def __getattr__(self, name: str) -> Any: ...

    @classmethod
    def attach(cls, **members) -> None:
        """Add these methods to Nodes."""
        for name, member in members.items():
            setattr(cls, name, member)


def show_node(node: Node, result=None) -> Node:
    """Return a Node for the user's eyes. Its class bears its name from then on, as in torch; giving it that class as it
    is recorded would cost every operation something. So it is with the aval of its result, where that is at hand."""
    if result is not None and node.result_avals is None and "aval" not in node.__dict__:
        node.__dict__["aval"] = aval_of(result)
    if not node.is_named:
        node.__class__ = named_class(type(node), node.name().rpartition("::")[2])
    return node


@cache
def named_class(base: type[Node], name: str) -> type[Node]:
    """Return the class of the Nodes of one name."""

    def refuse_instance(cls, *args) -> Node:
        raise TypeError(f"cannot create '{name}' instances")

    members = {"__slots__": (), "__new__": refuse_instance, "__module__": __name__, "is_named": True}
    return type(name, (base,), members)


def record_node(operation, rule, residuals, next_edges: Sequence[Any], pull_plain=None, results=None) -> Node:
    """Make a Node as the modes say. (`Node` itself serves where the Context is one without modes.)"""
    node = Node(operation, rule, residuals, next_edges, pull_plain, results)
    if CURRENT.get().modes is not None:
        note_call(node)
    return node


class Edge:
    """The edge to one result of a Node that has several."""

    __slots__ = ("index", "node")

    def __init__(self, node: Node, index: int):
        self.node, self.index = node, index


def node_and_index(edge) -> tuple[Node, int]:
    """Return (Node, number of its result) for a gradient edge."""
    return (edge.node, edge.index) if type(edge) is Edge else (edge, 0)


LEAF: Any = True  # the `node` of a Tensor that is a leaf and requires a gradient
LEAF_ORDER = 2**64 - 1  # torch's sequence number of an AccumulateGrad


class AccumulateGrad(Node):
    """The node where the gradients of a leaf arrive; it stands for the leaf in the graph.

    It does not keep the Tensor alive: a gradient with a graph of its own (`create_graph`) would do so through the
    Tensor's `.grad` and make a cycle. Where the Tensor is gone `variable` is another one in its place.
    """

    __slots__ = ("kind", "tape", "tensor_ref", "value")
    is_named = True

    def __init__(self, tensor):
        super().__init__(None, None, (), ())
        self.order = LEAF_ORDER
        self.tape, self.value, self.kind = tensor._fx_tape, tensor._fx_value, type(tensor)
        self.tensor_ref = weakref.ref(tensor)
        note_call(self)

    def name(self) -> str:
        """torch's name for the node."""
        return "torch::autograd::AccumulateGrad"

    @property
    def variable(self) -> Any:
        """The leaf whose gradients are accumulated."""
        tensor = self.tensor_ref()
        if tensor is None:
            tensor = self.stand_in(self.value)
            self.tensor_ref = weakref.ref(tensor)
        return tensor

    def stand_in(self, value) -> Any:
        """Return a Tensor of this value whose gradients are accumulated in the same place."""
        tensor = object.__new__(self.kind)
        tensor._fx_tape = self.tape
        tensor._fx_value = value
        tensor._fx_node = LEAF
        tensor._fx_view_meta = None
        tensor._fx_accumulator = self
        return tensor


FIRST_USE = Lock()  # several threads may use a leaf first; what goes to a second node of it would be lost


def grad_accumulator(tensor) -> AccumulateGrad:
    """Return the AccumulateGrad of a leaf, made where it has none."""
    leaf = tensor._fx_accumulator
    if leaf is None:
        keep_freed_memory()
        with FIRST_USE:
            leaf = tensor._fx_accumulator
            if leaf is None:
                leaf = tensor._fx_accumulator = AccumulateGrad(tensor)
    return leaf


class StatelessPullback(PullbackRule):
    """The base of pullbacks that save nothing; such a pullback is its own operation."""

    saved_from: tuple = ()
    node_name: str


class IdentityPullback(StatelessPullback):
    """The pullback of a value that is its operand itself, or a copy of it."""

    def __init__(self, node_name: str):
        self.node_name = node_name

    def pull(self, ct) -> tuple[Any]:
        """Return the cotangent unchanged."""
        return (ct,)


ALIAS_RULE, COPY_RULE = IdentityPullback("AliasBackward0"), IdentityPullback("torch::autograd::CopyBackwards")
FREED: Any = ("freed",)  # stands for the residuals of a node that was passed
FREED_MESSAGE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)


def freed_error(message: str = FREED_MESSAGE) -> TensorError:
    """Return the error for a node whose saved Tensors are gone."""
    return TensorError(
        message,
        hint="retain_graph=True in all calls of backward() and autograd.grad() but the last, or compute y again",
    )


class TapeTracer(PrimalTracer):
    """A value of the tape for other interpreters: `edge` is as in `Node.next_edges`."""

    __slots__ = ("edge",)
    interpreter: TapeInterpreter

    def __init__(self, interpreter: TapeInterpreter, primal, edge):
        self.interpreter, self.primal, self.edge = interpreter, primal, edge

    is_differentiated = property(lambda self: self.edge is not None)
    serial = property(lambda self: None if self.edge is None else node_and_index(self.edge)[0].order)


def no_copy(value) -> Any:
    """Return a value uncopied: the tape copies no residuals (see `_core.memory` for what becomes of modified
    values)."""
    return value


class PrimitiveName:
    """The name of a primitive that is recorded by itself: multiply → MulBackward0. It is torch's name of the operation
    where that has another one."""

    TORCH: ClassVar[dict[str, str]] = {
        "absolute": "abs",
        "arccos": "acos",
        "arccosh": "acosh",
        "arcsin": "asin",
        "arcsinh": "asinh",
        "arctan": "atan",
        "arctan2": "atan2",
        "arctanh": "atanh",
        "broadcast_to": "expand",
        "concatenate": "cat",
        "conjugate": "conj",
        "contract": "mm",
        "convert": "to_copy",
        "divide": "div",
        "erf_inv": "erfinv",
        "inv": "linalg_inv_ex",
        "log_gamma": "lgamma",
        "multiply": "mul",
        "negative": "neg",
        "power": "pow",
        "reduce_max": "amax",
        "reduce_min": "amin",
        "reduce_prod": "prod",
        "reduce_sum": "sum",
        "reshape": "view",
        "sigmoid_slope": "sigmoid_backward",
        "sign": "sgn",
        "silu_slope": "silu_backward",
        "square": "pow",
        "static_power": "pow",
        "subtract": "sub",
    }
    known: ClassVar[dict[str, PrimitiveName]] = {}

    def __init__(self, name: str):
        self.name = self.TORCH.get(name, name)
        self.node_name = node_name(self.name)

    @classmethod
    def of(cls, primitive) -> PrimitiveName:
        found = cls.known.get(primitive.name)
        if found is None:
            found = cls.known[primitive.name] = cls(primitive.name)
        return found


def node_name(name: str) -> str:
    """torch's name for the node of an operation: log_softmax → LogSoftmaxBackward0."""
    return name.title().replace("_", "") + "Backward0"


class TensorPrimitive(HigherOrder):
    """A primitive that applies user code written for Tensors: a tape runs it, and records what it does."""


class TapeInterpreter(Interpreter):
    """The level that records operations on its tracers while the modes say so, and only computes otherwise."""

    __slots__ = ("permanent",)
    name, programs = "tape", "whole"
    is_stand_in = False  # for the tape outside the transform above which it is
    is_differentiating = False  # whether operations inside it are differentiated, those of gradients as well
    thread = 0  # the thread of the transformed function; in another one its derivative would be lost

    def __init__(self, site=None, outer: Context | None = None, permanent: bool = False):
        self.outer = CURRENT.get() if outer is None else outer
        self.site, self.permanent = site, permanent

    def process(self, primitive, args: tuple, params: dict) -> Any:
        if isinstance(primitive, TensorPrimitive):
            return primitive.kernel(*args, **params)
        modes = current_modes()
        recording = modes.is_recording
        values, parents = [], []
        for a in args:
            own = type(a) is TapeTracer and a.interpreter is self
            values.append(a.primal if own else a)
            parents.append(a.edge if own and recording else None)
        y, node = self.record(primitive, tuple(values), tuple(parents), params, PrimitiveName)
        if modes.packing and node is not None:
            modes.packing[-1].pack_node(node, self)
        if primitive.multiple_results:
            if node is None:
                return list(y)
            return [TapeTracer(self, v, Edge(node, i)) for i, v in enumerate(y)]
        return y if node is None else TapeTracer(self, y, node)

    def record(self, primitive, values: tuple, next_edges: tuple, params: dict, operation) -> Any:
        """Compute a primitive on values of outer levels: (result, Node or None)."""
        needed = False
        plain = self.outer.observer is None and primitive.kernel_shortcut
        for v, p in zip(values, next_edges):
            if p is not None:
                needed = True
            if type(v) not in PLAIN:
                plain = False
        if not needed:
            if plain:
                return primitive.kernel(*values, **params), None
            token = CURRENT.set(self.outer)
            try:
                return primitive.call(*values, **params), None
            finally:
                CURRENT.reset(token)
        if plain:
            y, rule, residuals = primitive.vjp(primitive.kernel, values, next_edges, params, no_copy)
        else:
            token = CURRENT.set(self.outer)
            try:
                y, rule, residuals = primitive.vjp(primitive.call, values, next_edges, params, no_copy)
            finally:
                CURRENT.reset(token)
        if rule is None:
            return y, None
        if rule.saved_from is None:
            residuals = (y if primitive.multiple_results else [y], values, rule, residuals)
            rule = RematPullback(primitive, next_edges, params, no_copy)
        if operation is PrimitiveName:
            operation = PrimitiveName.of(primitive)
        results = y if primitive.multiple_results else None
        pull_plain = rule.pull_plain if plain else None
        return y, record_node(operation, rule, residuals, next_edges, pull_plain, results)


BASE_TAPE = TapeInterpreter(outer=EVAL, permanent=True)


def current_tape() -> TapeInterpreter:
    """Return the tape in charge. Where another level is innermost, a tape is opened above it, and closed at that
    level's end."""
    context = CURRENT.get()
    interpreter = context.interpreter
    if interpreter is EVAL.interpreter:
        return BASE_TAPE
    if isinstance(interpreter, TapeInterpreter):
        return interpreter
    if interpreter.transparent:
        interpreter = acting_level(context)
        if interpreter is EVAL.interpreter:
            return BASE_TAPE
        if isinstance(interpreter, TapeInterpreter):
            return interpreter
    tape = TapeInterpreter(interpreter.site)
    CURRENT.set(Context(tape, context.observer, context.modes))
    return tape
