"""TapeInterpreter: the level that records operations on Tensors as nodes, for `backward.engine` to walk back.

A Tensor is what the user holds; `TapeTracer` is the same value as other interpreters and primitives see it, with
NumPy's manners instead of torch's. There is one tape at the bottom of the stack, always open (`BASE_TAPE`), and one
for each transform that is open above it.
"""

from __future__ import annotations

import itertools
import sys
import weakref
from typing import TYPE_CHECKING, Any, ClassVar

from ...core import source_info
from ...core.aval import PLAIN, aval_of
from ...core.interpreter import CURRENT, EVAL, Context, Interpreter, PrimalTracer
from ...core.primitive import HigherOrder
from ...core.pullback import PullbackRule, RematPullback
from ...core.source_info import code_kinds
from .hooks import ensure_hooks
from .modes import current_modes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .hooks import RemovableHandle

next_serial = itertools.count(
    1
).__next__  # numbers nodes and modifications in place, in the order of their making


class Node:
    """A recorded operation, which torch calls `grad_fn`.

    `order` is its serial number. `rule.pull(ct, *residuals)` gives a cotangent, or None, for every next edge, and
    `pull_plain` is its faster form for NumPy values, where there is one and the node has no hooks. A next edge is the
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
    num_results = 1  # results
    result_avals: Any = None  # of the results, where there are several
    runs_user_code = False  # whether its rule calls user code, which runs in the same modes as hooks

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
        return self.operation.node_name

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
        return tuple([(None, 0) if p is None else node_and_index(p) for p in self.next_edges])

    def _sequence_nr(self) -> int:
        return self.order

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Have `fn(grad_inputs, grad_outputs)` called after the Node in backward; a tuple that it returns is used in
        place of `grad_inputs`."""
        return ensure_hooks(self).post_hooks.add(fn)

    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Have `fn(grad_outputs)` called before the Node in backward; a tuple that it returns takes its place."""
        return ensure_hooks(self).pre_hooks.add(fn)

    if TYPE_CHECKING:  # what `backward.engine` and `backward.saved_tensors` attach

        def __call__(self, *gradients) -> Any: ...
        def __getattr__(self, name: str) -> Any: ...

    @classmethod
    def attach(cls, **members) -> None:
        """Give Nodes these methods, which are written in terms of Nodes."""
        for name, member in members.items():
            setattr(cls, name, member)


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

    def __init__(self, tensor):
        super().__init__(None, None, (), ())
        self.order = LEAF_ORDER
        self.tape, self.value, self.kind = tensor.tape, tensor.value, type(tensor)
        self.tensor_ref = weakref.ref(tensor)

    def name(self) -> str:
        """torch's name for the node."""
        return "torch::autograd::AccumulateGrad"

    @property
    def variable(self) -> Any:
        """The leaf whose gradients are accumulated."""
        tensor = self.tensor_ref()
        if tensor is None:
            tensor = object.__new__(self.kind)
            tensor.tape, tensor.value, tensor.node, tensor.view_meta = self.tape, self.value, LEAF, None
            tensor.accumulator = self
            self.tensor_ref = weakref.ref(tensor)
        return tensor


def grad_accumulator(tensor) -> AccumulateGrad:
    """Return the AccumulateGrad of a leaf, made where it has none."""
    leaf = tensor.accumulator
    if leaf is None:
        leaf = tensor.accumulator = AccumulateGrad(tensor)
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


class TapeTracer(PrimalTracer):
    """A value of the tape for other interpreters: `edge` is as in `Node.next_edges`."""

    __slots__ = ("edge",)
    interpreter: TapeInterpreter

    def __init__(self, interpreter: TapeInterpreter, primal, edge):
        self.interpreter, self.primal, self.edge = interpreter, primal, edge

    is_differentiated = property(lambda self: self.edge is not None)


def no_copy(value) -> Any:
    """Return a value uncopied: the tape copies no residuals (see `_core.memory` for what becomes of modified
    values)."""
    return value


class PrimitiveName:
    """The name of a primitive that is recorded by itself: multiply → MulBackward0."""

    TORCH: ClassVar[dict[str, str]] = {
        "multiply": "mul",
        "subtract": "sub",
        "divide": "div",
        "negative": "neg",
        "power": "pow",
        "static_power": "pow",
        "reduce_sum": "sum",
        "broadcast_to": "expand",
        "contract": "mm",
        "convert": "to_copy",
        "absolute": "abs",
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
    name = "tape"
    is_stand_in = False  # for the tape outside the transform above which it is
    is_differentiating = False  # whether operations inside it are differentiated, those of gradients as well
    thread = 0  # the thread of the transformed function; in another one its derivative would be lost

    def __init__(self, site=None, outer: Context | None = None, permanent: bool = False):
        self.outer = CURRENT.get() if outer is None else outer
        self.site, self.permanent = site, permanent

    def process(self, primitive, args: tuple, params: dict) -> Any:
        if isinstance(primitive, TensorPrimitive):
            return primitive.kernel(*args, **params)
        recording = current_modes().is_recording
        values, parents = [], []
        for a in args:
            own = type(a) is TapeTracer and a.interpreter is self
            values.append(a.primal if own else a)
            parents.append(a.edge if own and recording else None)
        y, node = self.record(primitive, tuple(values), tuple(parents), params, PrimitiveName)
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
        return y, Node(operation, rule, residuals, next_edges, rule.pull_plain if plain else None, results)


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
    tape = TapeInterpreter(interpreter.site)
    CURRENT.set(Context(tape, context.observer, context.modes))
    return tape
