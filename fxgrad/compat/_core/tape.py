"""TapeInterpreter: the level that records operations on Tensors as nodes, for `backward.engine` to walk back.

A Tensor is what the user holds; `TapeTracer` is the same value as other interpreters and primitives see it, with
NumPy's manners instead of torch's. There is one tape at the bottom of the stack, always open (`BASE`), and one
for each transform that is open above it.
"""

from __future__ import annotations

import itertools
import sys
import weakref
from typing import TYPE_CHECKING, Any, ClassVar

from ...core import source_info
from ...core.aval import PLAIN, SCALARS, aval_of
from ...core.interpreter import CURRENT, EVAL, Context, Interpreter, Tracer
from ...core.pullback import PullbackRule, Remade
from ...core.source_info import kinds
from .hooks import hooks_of
from .modes import current_modes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .hooks import RemovableHandle

serial = itertools.count(1).__next__  # of nodes and of modifications in place, in the order of their making


class Node:
    """One recorded operation: what torch calls `grad_fn`.

    `order` is its serial number. `rule.pull(ct, *residuals)` gives a cotangent, or None, for every parent, and `plain`
    is the faster form of it for NumPy values, where there is one and no hooks are. A parent is the Node that made the
    operand, an `Edge` where that has several results, the AccumulateGrad of a leaf, or None where nothing is wanted.
    `operation` names it; `code` and `lasti` are the user's line, as in `where.Site`.
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "code",
        "lasti",
        "operation",
        "order",
        "parents",
        "plain",
        "residuals",
        "rule",
    )
    hooks: Any = None  # see `hooks`
    count = 1  # results
    avals: Any = None  # of the results, where there are several
    runs_user_code = False  # its rule does, and is run where hooks are

    def __init__(self, operation: Any, rule: Any, residuals: Any, parents: Sequence[Any], plain: Any = None):
        self.order = serial()
        self.operation, self.rule, self.residuals, self.parents = operation, rule, residuals, parents
        self.plain = plain
        frame = sys._getframe(1)
        while kinds[frame.f_code.co_filename] and frame.f_back is not None:
            frame = frame.f_back
        self.code, self.lasti = frame.f_code, frame.f_lasti

    def name(self) -> str:
        """The name of the operation: 'MulBackward0'."""
        return self.operation.node_name

    def __repr__(self) -> str:
        return f"<{self.name().rpartition('::')[2]} object at {id(self):#x}>"

    @property
    def site(self) -> source_info.Site:
        """The user's line that recorded it."""
        return source_info.Site(self.code, self.lasti)

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for the user's notes."""
        return self.__dict__.setdefault("notes", {})

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """(Node, number of its result) for every operand; (None, 0) for one without gradient."""
        return tuple([(None, 0) if p is None else as_edge(p) for p in self.parents])

    def _sequence_nr(self) -> int:
        return self.order

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Have `fn(grad_inputs, grad_outputs)` called after the Node in backward; a tuple that it returns is used in
        place of `grad_inputs`."""
        return hooks_of(self).after.add(fn)

    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Have `fn(grad_outputs)` called before the Node in backward; a tuple that it returns takes its place."""
        return hooks_of(self).before.add(fn)

    if TYPE_CHECKING:  # what `backward.engine` and `backward.saved_tensors` attach

        def __call__(self, *gradients: Any) -> Any: ...
        def __getattr__(self, name: str) -> Any: ...

    @classmethod
    def attach(cls, **members: Any) -> None:
        """Give Nodes these methods, which are written in terms of Nodes."""
        for name, member in members.items():
            setattr(cls, name, member)


class Edge:
    """One result of a Node that has several."""

    __slots__ = ("index", "node")

    def __init__(self, node: Node, index: int):
        self.node, self.index = node, index


def as_edge(parent: Any) -> tuple[Node, int]:
    """(Node, number of its result) of a parent."""
    return (parent.node, parent.index) if type(parent) is Edge else (parent, 0)


LEAF: Any = True  # the `node` of a Tensor that is a leaf and requires a gradient
LAST = 2**64 - 1  # torch's sequence number of an AccumulateGrad


class AccumulateGrad(Node):
    """Where the gradients of a leaf arrive: the leaf as nodes know it.

    It does not keep the Tensor alive: a gradient with a graph of its own (`create_graph`) would do so through the
    Tensor's `.grad` and make a cycle. Where the Tensor is gone `variable` is another one in its place.
    """

    __slots__ = ("kind", "reference", "tape", "value")

    def __init__(self, tensor: Any):
        super().__init__(None, None, (), ())
        self.order = LAST
        self.tape, self.value, self.kind = tensor.tape, tensor.value, type(tensor)
        self.reference = weakref.ref(tensor)

    def name(self) -> str:
        """torch's name for it."""
        return "torch::autograd::AccumulateGrad"

    @property
    def variable(self) -> Any:
        """The leaf."""
        tensor = self.reference()
        if tensor is None:
            tensor = object.__new__(self.kind)
            tensor.tape, tensor.value, tensor.node, tensor.aspect = self.tape, self.value, LEAF, None
            tensor.leaf = self
            self.reference = weakref.ref(tensor)
        return tensor


def leaf_of(tensor: Any) -> AccumulateGrad:
    """The AccumulateGrad of a leaf."""
    leaf = tensor.leaf
    if leaf is None:
        leaf = tensor.leaf = AccumulateGrad(tensor)
    return leaf


class Bare(PullbackRule):
    """What the rules have in common that keep nothing; such a rule is its own operation."""

    kept: tuple = ()
    node_name: str


class Passed(Bare):
    """The rule of a value that is its operand itself, or a copy of it."""

    def __init__(self, node_name: str):
        self.node_name = node_name

    def pull(self, ct: Any) -> tuple[Any]:
        """The cotangent itself."""
        return (ct,)


ALIAS, COPY = Passed("AliasBackward0"), Passed("torch::autograd::CopyBackwards")
FREED: Any = ("freed",)  # stands for the residuals of a node that was passed
FREED_MESSAGE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)


class TapeTracer(Tracer):
    """A value of the tape for other interpreters: `parent` is as in `Node.parents`."""

    __slots__ = ("parent", "primal")
    interpreter: TapeInterpreter

    def __init__(self, interpreter: TapeInterpreter, primal: Any, parent: Any):
        self.interpreter, self.primal, self.parent = interpreter, primal, parent

    aval = property(lambda self: aval_of(self.primal))
    shape = property(lambda self: getattr(self.primal, "shape", ()))
    dtype = property(lambda self: aval_of(self.primal).dtype)
    weak = property(lambda self: type(self.primal) in SCALARS)
    differentiated = property(lambda self: self.parent is not None)

    def contents(self) -> tuple:
        return (self.primal,)

    def concrete(self, operation: str) -> Any:
        return self.primal


def kept_as_is(value: Any) -> Any:
    """The tape copies nothing that it keeps: see `memory` for what becomes of modified values."""
    return value


class PrimitiveName:
    """What a primitive is called where it is recorded by itself: multiply → MulBackward0."""

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
    def of(cls, primitive: Any) -> PrimitiveName:
        found = cls.known.get(primitive.name)
        if found is None:
            found = cls.known[primitive.name] = cls(primitive.name)
        return found


def node_name(name: str) -> str:
    """torch's name for the node of an operation: log_softmax → LogSoftmaxBackward0."""
    return name.title().replace("_", "") + "Backward0"


class TapeInterpreter(Interpreter):
    """Records operations on its tracers while the modes say so; otherwise it computes only."""

    __slots__ = ("permanent",)
    name = "tape"
    stands_in = False  # for the tape outside the transform above which it is
    differentiates = False  # what is done inside it, gradients as well
    thread = 0  # the one in which the function runs whose derivative is lost elsewhere

    def __init__(self, site: Any = None, outer: Context | None = None, permanent: bool = False):
        self.outer = CURRENT.get() if outer is None else outer
        self.site, self.permanent = site, permanent

    def process(self, primitive: Any, args: tuple, params: dict) -> Any:
        if primitive.on_tensors:
            return primitive.kernel(*args, **params)
        recording = current_modes().recording
        values, parents = [], []
        for a in args:
            own = type(a) is TapeTracer and a.interpreter is self
            values.append(a.primal if own else a)
            parents.append(a.parent if own and recording else None)
        y, node = self.record(primitive, tuple(values), tuple(parents), params, PrimitiveName)
        if primitive.multiple_results:
            if node is None:
                return list(y)
            return [TapeTracer(self, v, Edge(node, i)) for i, v in enumerate(y)]
        return y if node is None else TapeTracer(self, y, node)

    def record(self, primitive: Any, values: tuple, parents: tuple, params: dict, operation: Any) -> Any:
        """(result, Node or None) of a primitive on values of outer levels."""
        needed = False
        plain = self.outer.watching is None and not primitive.runs_user_code
        for v, p in zip(values, parents):
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
            y, rule, residuals = primitive.linearize(primitive.kernel, values, parents, params, kept_as_is)
        else:
            token = CURRENT.set(self.outer)
            try:
                y, rule, residuals = primitive.linearize(primitive.call, values, parents, params, kept_as_is)
            finally:
                CURRENT.reset(token)
        if rule is None:
            return y, None
        if rule.kept is None:
            residuals = (y if primitive.multiple_results else [y], values, rule, residuals)
            rule = Remade(primitive, parents, params, kept_as_is)
        if operation is PrimitiveName:
            operation = PrimitiveName.of(primitive)
        node = Node(operation, rule, residuals, parents, rule.plain if plain else None)
        if primitive.multiple_results:
            node.avals = [aval_of(v) for v in y]
            node.count = len(node.avals)
        return y, node


BASE = TapeInterpreter(outer=EVAL, permanent=True)


def current_tape() -> TapeInterpreter:
    """The tape in charge. Where another level is innermost one is opened above it, which that level's end closes."""
    context = CURRENT.get()
    interpreter = context.interpreter
    if interpreter is EVAL.interpreter:
        return BASE
    if isinstance(interpreter, TapeInterpreter):
        return interpreter
    tape = TapeInterpreter(interpreter.site)
    CURRENT.set(Context(tape, context.watching, context.modes))
    return tape
