"""Deferred elementwise work: un-jitted `grad` and `vjp` of large arrays keep elementwise results as expressions until a
value is needed, and then run the collected expressions as one compiled function.

    y = fnp.exp(-x * x)        three expressions: nothing is computed
    loss = fnp.sum(y * w)      somebody needs them: one function of x and w, one node on the tape

The cost of an operation on many numbers is its memory traffic. A segment of the program compiled as one function reads
and writes memory once. The tape keeps only the operands of the segment, whose pullback computes the values in between
again, in the processor's cache (rematerialization). `FXGRAD_DEFER=0` in the environment turns this off.

Users see no difference. Operands that NumPy would refuse, or whose shapes must be broadcast, are not deferred, nor are
operations inside `np.errstate`, under an observer, or in a nested transform; nothing is deferred while warnings or
floating-point errors raise. Reading anything but the shape and dtype of a deferred value computes it. The user's
arrays, which may be written to meanwhile, are never part of an expression. When one value is computed, so are all
others that the user still holds; the values in between are then unreachable.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from threading import RLock
from typing import Any
from weakref import ref

import numpy as np

from .. import ops
from ..core.aval import PLAIN, SCALARS, STRONG, Aval, aval_of
from ..core.cache import Cache
from ..core.costs import DEFERRED_ENTRIES, DEFERRED_OPERATIONS, SEGMENT_OPERATIONS
from ..core.fp_errors import DEFAULT, ERROR_STATE
from ..core.interpreter import CURRENT, opened
from ..core.key import params_key
from ..core.primitive import KERNEL_ERRORS
from ..core.pullback import PullbackRule
from ..ops.kinds import Elementwise
from ..ops.masked import Masked, densify
from .jit import jit
from .reverse import ResultCotangents, ReverseInterpreter, ReverseTracer, backward, next_order

LARGEST_INT = 1 << 53  # of those which a float64 can be
REDUCE_SUM = ops.reduce_sum.primitive
DTYPES = frozenset(map(np.dtype, ("float32", "float64")))

# What compiled a segment, by its structure: operations, their operands by place, kinds of leaves.
segments: Cache = Cache(1024)
result_dtypes: Cache = Cache()


class Expression:
    """An operation on expressions and Python's numbers. Once it is computed it has a value and a node; a leaf, which
    stands for a tracer with an array, has them from the beginning."""

    __slots__ = ("dtype", "node", "operands", "params", "primitive", "shape", "tracer", "value")

    def __init__(self, primitive: Any, operands: tuple, params: dict, shape: tuple[int, ...], dtype: Any):
        self.primitive, self.operands, self.params = primitive, operands, params
        self.shape, self.dtype = shape, dtype
        self.node: list | None = None
        self.value: Any = None
        self.tracer: Callable[[], DeferredTracer | None]  # a weak reference to what the user holds


class DeferredTracer(ReverseTracer):
    """A tracer whose primal value is an expression, computed when `primal` or `node` is first read."""

    __slots__ = ("expression",)
    interpreter: DeferringInterpreter

    def __init__(self, interpreter: DeferringInterpreter, expression: Expression):
        self.interpreter, self.expression = interpreter, expression

    is_differentiated = property(lambda self: True)
    shape = property(lambda self: self.expression.shape)
    dtype = property(lambda self: self.expression.dtype)
    weak = property(lambda self: False)
    aval = property(lambda self: Aval(self.expression.shape, self.expression.dtype))

    @property
    def primal(self) -> Any:
        if self.expression.value is None:
            self.interpreter.compute()
        return self.expression.value

    @property
    def node(self) -> Any:
        if self.expression.value is None:
            self.interpreter.compute()
        return self.expression.node


class Segment(PullbackRule):
    """The compiled forms of one structure: `forward(*leaves)` gives those expressions that are kept. As a rule, its
    residuals are the leaves: the values in between are computed again from them.

    `inner` says of each leaf that is differentiated whether the tape goes on from it: what passes to it of a masked
    cotangent keeps its support.
    """

    __slots__ = ("differentiated", "forward", "inner", "kept", "program", "pullbacks")

    def __init__(
        self,
        program: Sequence[tuple[Any, tuple, dict]],
        kept: Sequence[int],
        differentiated: Sequence[int],
        inner: Sequence[bool],
    ):
        self.program, self.kept, self.differentiated, self.inner = program, kept, differentiated, inner
        self.forward = jit(lambda *leaves: self.run(leaves, kept))
        self.pullbacks: dict[tuple[int, ...], Callable[..., Sequence[Any]]] = {}

    def run(self, leaves: Sequence[Any], kept: Sequence[int]) -> list[Any]:
        """Return the values of some expressions."""
        values: list[Any] = []
        for primitive, places, params in self.program:
            operands = [values[p] if p >= 0 else leaves[~p] for p in places]
            values.append(primitive.call(*operands, **params))
        return [values[place] for place in kept]

    def pullback_of(self, present: tuple[int, ...]) -> Callable[..., Sequence[Any]]:
        """Return the compiled pullback of those results whose cotangents there are: for their values and supports
        (None: all entries), and the leaves, it gives the same of leaves."""
        found = self.pullbacks.get(present)
        if found is None:
            kept = [self.kept[i] for i in present]

            def pullback(cts: Sequence[Any], supports: Sequence[Any], *leaves: Any) -> list[Any]:
                interpreter, given = ReverseInterpreter("vjp", None), list(leaves)
                for place in self.differentiated:
                    node = [next_order(), None, None, None, None]
                    given[place] = ReverseTracer(interpreter, leaves[place], node)
                with opened(interpreter):
                    results = self.run(given, kept)
                seeds = [
                    (r.node, ct if support is None else Masked(ct, support))
                    for r, ct, support in zip(results, cts, supports)
                ]
                inputs = [given[place].node for place in self.differentiated]
                return [
                    (densify(ct), ct.support.force() if inner and type(ct) is Masked else None)
                    for ct, inner in zip(backward(seeds, inputs, consume=True, dense=False), self.inner)
                ]

            found = self.pullbacks[present] = jit(pullback)
        return found

    def pull_plain(self, ct: Any, residuals: Sequence[Any]) -> Sequence[Any]:
        """Pull back the plain cotangent of the only result."""
        return self.pull(ct, *residuals)

    def pull(self, ct: Any, *residuals: Any) -> Sequence[Any]:
        """Pull back the cotangent of the only result, or those of several."""
        cts = ct if type(ct) is ResultCotangents else {0: ct}
        present = tuple(sorted(cts))
        values, supports = [], []
        for place in present:
            ct = cts[place]
            masked = type(ct) is Masked
            values.append(ct.value if masked else ct)
            supports.append(ct.support.force() if masked else None)
        pairs = self.pullback_of(present)(values, supports, *residuals)
        return [value if support is None else Masked(value, support, clean=True) for value, support in pairs]


class DeferringInterpreter(ReverseInterpreter):
    """Reverse mode that defers elementwise operations on large arrays."""

    __slots__ = ("error_state", "filters", "leaves", "lock", "pending")

    def __init__(self, name: str, site: Any):
        super().__init__(name, site)
        # Warnings come when values are computed: what treats them then has to be what treats them now.
        self.error_state, self.filters = ERROR_STATE.get(), warnings.filters
        self.pending: list[Expression] = []  # in the order of the program
        self.leaves: dict[int, Expression] = {}  # of pending expressions, by the orders of their nodes
        self.lock = RLock()

    def process(self, primitive: Any, args: tuple, params: dict) -> Any:
        if type(primitive) is Elementwise or primitive is REDUCE_SUM:
            deferred = self.defer(primitive, args, params)
            if deferred is not None:
                return deferred
        return super().process(primitive, tuple(map(self.settle, args)), params)

    def settle(self, value: Any) -> Any:
        """Return an operand as reverse mode knows it."""
        if type(value) is DeferredTracer and value.interpreter is self:
            return ReverseTracer(self, value.primal, value.node)
        return value

    def defer(self, primitive: Any, args: tuple, params: dict) -> DeferredTracer | None:
        """Return the result as an expression, or None where it has to be computed now."""
        if ERROR_STATE.get() is not self.error_state or warnings.filters is not self.filters:
            return None
        if CURRENT.get().observer is not None:
            return None
        if len(self.pending) >= SEGMENT_OPERATIONS:
            self.compute()
        is_sum, waits = primitive is REDUCE_SUM, False
        operands: list[Any] = []
        kinds: list[Any] = [primitive]  # and of each operand the dtype, or the type of a number of Python's
        shape: tuple[int, ...] = ()
        for index, a in enumerate(args):
            kind = type(a)
            if kind is DeferredTracer and a.interpreter is self:
                a = a.expression
                waits = waits or a.value is None
            elif kind is ReverseTracer and a.interpreter is self and a.node is not None:
                if type(a.primal) not in STRONG:
                    return None
            elif kind is np.ndarray or kind not in PLAIN or (kind is int and abs(a) > LARGEST_INT):
                return None
            else:
                operands.append(a)
                kinds.append(kind if kind in SCALARS else a.dtype)
                continue
            if not is_sum and primitive.partials[index] is None:
                return None
            if (axes := a.shape) and axes != shape:
                if shape:
                    return None
                shape = axes
            operands.append(a)
            kinds.append(a.dtype)
        if not waits and (is_sum or math.prod(shape) < DEFERRED_ENTRIES):
            return None  # where nothing is deferred, only large results begin to be
        if params:
            kinds.append(params_key(params))
        key = tuple(kinds)
        dtype = result_dtypes.get(key, key)
        if dtype is key:
            dtype = result_dtypes[key] = result_dtype(primitive, operands, params)
        if dtype is None:
            return None
        if is_sum:
            shape = primitive.abstract_eval([Aval(shape, dtype)], params).shape
        operands = [self.leaf(o) if type(o) is ReverseTracer else o for o in operands]
        expression = Expression(primitive, tuple(operands), params, shape, dtype)
        tracer = DeferredTracer(self, expression)
        expression.tracer = ref(tracer)
        self.pending.append(expression)
        return tracer

    def leaf(self, tracer: ReverseTracer) -> Expression:
        """Return the expression that stands for a tracer, which user code may write into: one for each node."""
        order = tracer.node[0]  # type: ignore[index]
        found = self.leaves.get(order)
        if found is None:
            found = self.leaves[order] = Expression(None, (), {}, tracer.shape, tracer.dtype)
            found.value, found.node = tracer.primal, tracer.node
        return found

    def compute(self) -> None:
        """Give all expressions that are still held their values and nodes."""
        with self.lock:
            self.leaves.clear()
            count = len(self.pending)
            order = needed_expressions(self.pending[:count])
            context, state = CURRENT.set(self.outer), ERROR_STATE.set(self.error_state)
            try:
                if len(order) >= DEFERRED_OPERATIONS:
                    self.compute_segment(order)
                    for e in self.pending[:count]:
                        e.operands = ()  # what it was made of is free
                    del self.pending[:count]  # another thread may have added some
                else:
                    self.pending[:count] = order
                    del order  # each is free once what it is for is computed
                    for _ in range(len(self.pending)):
                        self.compute_alone(self.pending[0])
                        del self.pending[0]
            finally:
                ERROR_STATE.reset(state)
                CURRENT.reset(context)

    def compute_alone(self, e: Expression) -> None:
        """Compute an expression of leaves as reverse mode does."""
        args = tuple(
            [ReverseTracer(self, o.value, o.node) if type(o) is Expression else o for o in e.operands]
        )
        result = super().process(e.primitive, args, e.params)
        e.node, e.value, e.operands = result.node, result.primal, ()

    def compute_segment(self, order: Sequence[Expression]) -> None:
        """Compute expressions by the code compiled for their structure."""
        places: dict[int, int] = {}  # of expressions in the order, and ~ of leaves, by their ids
        leaves: list[Any] = []
        nodes: list[list | None] = []
        program: list[tuple[Any, tuple, dict]] = []
        for e in order:
            found = []
            for o in e.operands:
                place = places.get(id(o))
                if place is None:
                    value, node = (o.value, o.node) if type(o) is Expression else (o, None)
                    place = places[id(o)] = ~len(leaves)
                    leaves.append(value)
                    nodes.append(node)
                found.append(place)
            places[id(e)] = len(program)
            program.append((e.primitive, tuple(found), e.params))
        held = [(e, tracer) for e in order if (tracer := e.tracer()) is not None]
        kept = tuple([places[id(e)] for e, _ in held])
        differentiated = tuple([i for i, node in enumerate(nodes) if node is not None])
        structure = tuple([(primitive, found, params_key(params)) for primitive, found, params in program])
        inner = tuple([node[4] is not None for node in nodes if node is not None])
        key = structure, kept, differentiated, inner
        segment = segments.get(key)
        if segment is None:
            segment = segments[key] = Segment(program, kept, differentiated, inner)
        values = segment.forward(*leaves)
        plain = segment.pull_plain if len(held) == 1 else None
        node = [next_order(), plain, tuple(leaves), tuple([nodes[i] for i in differentiated]), segment]
        for index, ((e, _), value) in enumerate(zip(held, values)):
            e.node = node if plain else self.select_result(value, index, node).node
            e.value = value


def result_dtype(primitive: Any, operands: Sequence[Any], params: dict) -> Any:
    """Return the dtype of an operation's result, or None if it is not deferred: NumPy refuses the operands, or a dtype
    is not among `DTYPES`."""
    avals = [Aval((), a.dtype) if hasattr(a, "dtype") else aval_of(a) for a in operands]
    if any(not (a.weak or a.dtype in DTYPES) for a in avals):
        return None
    if primitive is REDUCE_SUM:
        return avals[0].dtype
    try:
        dtype = primitive.abstract_eval(avals, params).dtype
    except KERNEL_ERRORS:
        return None  # reverse mode explains them
    return dtype if dtype in DTYPES else None


def needed_expressions(pending: Sequence[Expression]) -> list[Expression]:
    """Return those expressions that the user holds, and those which they are made of."""
    needed: set[int] = set()
    found = []
    for e in reversed(pending):
        if id(e) in needed or e.tracer() is not None:
            found.append(e)
            needed.update([id(o) for o in e.operands if type(o) is Expression and o.value is None])
    return found[::-1]


def may_defer() -> bool:
    """Whether floating-point errors are no more than warnings: what raises has to raise at the user's line."""
    if ERROR_STATE.get() is not DEFAULT and not {"ignore", "warn"}.issuperset(np.geterr().values()):
        return False
    for action, message, category, module, line in warnings.filters:
        if issubclass(RuntimeWarning, category):
            if action == "error":
                return False
            if message is None and module is None and not line:
                break  # no later filter is asked
    return True
