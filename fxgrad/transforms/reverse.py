"""Reverse mode: the ReverseInterpreter. Values are computed immediately, every operation on a traced value adds a node
with its pullback, and `backward` visits the nodes from the latest to the earliest.

A node is a list, the cheapest object Python has, and so is freed by reference counting however long the chain:

    [order, plain, residuals, parents, rule]

`order` is minus its serial number (a heap pops the latest first); `rule.pull(ct, *residuals)` gives a cotangent
for every parent, and `pull_plain` is the faster form of it for NumPy values, where there is one. A leaf has no rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush, heappushpop
from itertools import count
from typing import Any

import numpy as np

from .. import ops
from ..core.aval import PLAIN, dtype_of, is_differentiable
from ..core.interpreter import CURRENT, Interpreter, PrimalTracer, is_plain
from ..core.pullback import PullbackRule
from ..core.snapshot import Snapshots
from ..core.surface import release
from ..ops.masked import Masked, add_cotangents


class ReverseTracer(PrimalTracer):
    """A primal value with the node that made it (None: it is constant, and has no derivative)."""

    __slots__ = ("node",)

    def __init__(self, interpreter: ReverseInterpreter, primal: Any, node: list | None):
        self.interpreter, self.primal, self.node = interpreter, primal, node

    is_differentiated = property(lambda self: self.node is not None)


new_tracer = object.__new__
# Threads that have a copy of the context record into one level at the same time: no two nodes may get one number.
next_order = count(-1, -1).__next__


class ReverseInterpreter(Interpreter):
    """Reverse mode: it records the nodes of one transform."""

    __slots__ = ("name", "snapshots", "unobserved")

    def __init__(self, name: str, site: Any):
        self.outer, self.name, self.site = CURRENT.get(), name, site
        self.unobserved = self.outer.observer is None  # whether plain values may go straight to kernels
        self.snapshots = Snapshots()

    def new(self, value: Any) -> ReverseTracer:
        """Make the tracer of an input. The array is copied: what the user writes into it later does not reach
        residuals."""
        order = next_order()
        if type(value) is np.ndarray:
            value = value.copy()
        tracer = new_tracer(ReverseTracer)  # without __init__, for speed
        tracer.interpreter, tracer.primal = self, value
        differentiable = type(value) is float or is_differentiable(dtype_of(value))
        tracer.node = [order, None, None, None, None] if differentiable else None
        return tracer

    def lend(self, array: Any) -> Any:
        tracer = new_tracer(ReverseTracer)
        tracer.interpreter, tracer.primal, tracer.node = self, array, None
        return tracer

    def tap(self, value: Any) -> tuple[ReverseTracer, list]:
        """Return a tracer of a value, which may be one of this level, and a leaf whose cotangent is that of the
        tracer."""
        node = None
        if isinstance(value, ReverseTracer) and value.interpreter is self:
            value, node = value.primal, value.node
        leaf = [next_order(), None, None, None, None]
        return ReverseTracer(self, value, [next_order(), None, (), (node, leaf), TAP]), leaf

    def constant(self, primitive: Any, values: tuple, params: dict) -> Any:
        """Apply a primitive to traced operands that are all constant."""
        y = self.bind_outer(primitive, values, params)
        if primitive.multiple_results:
            return [ReverseTracer(self, v, None) for v in y]
        return ReverseTracer(self, y, None) if stays_traced(y, values) else y

    def process(self, primitive: Any, args: tuple, params: dict) -> Any:
        plain = self.unobserved
        if len(args) == 1:  # one and two operands written out: this is the hot path
            (a,) = args
            if type(a) is not ReverseTracer or a.interpreter is not self:
                return self.bind_outer(primitive, args, params)
            if a.node is None:
                return self.constant(primitive, (a.primal,), params)
            values, parents = (a.primal,), (a.node,)
            plain = plain and type(a.primal) in PLAIN
        elif len(args) == 2:
            a, b = args
            m = n = None
            traced = False
            if type(a) is ReverseTracer and a.interpreter is self:
                a, m, traced = a.primal, a.node, True
            if type(b) is ReverseTracer and b.interpreter is self:
                b, n, traced = b.primal, b.node, True
            if m is None and n is None:
                return (self.constant if traced else self.bind_outer)(primitive, (a, b), params)
            values, parents = (a, b), (m, n)
            plain = plain and type(a) in PLAIN and type(b) in PLAIN
        else:
            own = [type(a) is ReverseTracer and a.interpreter is self for a in args]
            if True not in own:
                return self.bind_outer(primitive, args, params)
            values = tuple([a.primal if o else a for a, o in zip(args, own)])
            parents = tuple([a.node if o else None for a, o in zip(args, own)])
            if all(node is None for node in parents):
                return self.constant(primitive, values, params)
            plain = plain and is_plain(values)
        if plain and primitive.kernel_shortcut:
            y, rule, residuals = primitive.vjp(primitive.kernel, values, parents, params, self.snapshots)
        else:
            token = CURRENT.set(self.outer)
            try:
                y, rule, residuals = primitive.vjp(primitive.call, values, parents, params, self.snapshots)
            finally:
                CURRENT.reset(token)
            if rule is not None and not self.unobserved:
                rule = self.outer.observer.observe_pullback(self, primitive, rule)
        if rule is None:
            if primitive.multiple_results:
                return [ReverseTracer(self, v, None) for v in y]
            return ReverseTracer(self, y, None) if stays_traced(y, values) else y
        node = [next_order(), rule.pull_plain if plain else None, residuals, parents, rule]
        if primitive.multiple_results:
            return [self.select_result(v, i, node) for i, v in enumerate(y)]
        tracer = new_tracer(ReverseTracer)
        tracer.interpreter, tracer.primal, tracer.node = self, y, node
        return tracer

    def select_result(self, value: Any, index: int, node: list) -> ReverseTracer:
        """Return the tracer of one result of an operation that has several."""
        return ReverseTracer(self, value, [next_order(), None, (index,), (node,), SELECTION])


def stays_traced(y: Any, values: Sequence[Any]) -> bool:
    """Whether a result without derivative is a tracer of the level all the same: an array of NumPy's could not be
    written into with traced values, and what shares memory with an operand must not be written into at all."""
    if type(y) is np.ndarray and (y.base is not None or (y.ndim > 0 and is_differentiable(y.dtype))):
        return True
    return any(y is v for v in values)


class ResultCotangents(dict):
    """The cotangents of the results of one operation, by position."""


class Selection(PullbackRule):
    """The rule of one result among several: it puts the cotangent into a dict, by the position of the
    result."""

    def pull(self, ct: Any, index: int) -> tuple[ResultCotangents]:
        """Return a dict with one cotangent."""
        return (ResultCotangents({index: ct}),)


SELECTION = Selection()


class Tap(PullbackRule):
    """The rule of a value whose cotangent is wanted beside the way back through what made it."""

    def pull(self, ct: Any) -> tuple[Any, Any]:
        """Return the cotangent twice."""
        return ct, ct


TAP = Tap()


class Completion(PullbackRule):
    """The rule of a leaf whose cotangent is handed over as soon as it is complete."""

    def __init__(self, index: int, hand_over: Callable[[int, Any], None]):
        self.index, self.hand_over = index, hand_over

    def pull(self, ct: Any) -> tuple[()]:
        """Hand the cotangent over; there is nothing further back."""
        self.hand_over(self.index, ct)
        return ()


def watch_leaves(
    result: list | None, leaves: Sequence[list | None], hand_over: Callable[[int, Any], None]
) -> None:
    """Have `hand_over(index, cotangent)` called for each leaf during the next `backward` from `result`, as soon as its
    cotangent is complete; it is then no result of `backward`.

    Leaves are made before everything else, and the walk would come to them last. Nothing is to be added to a cotangent
    after the first operation that uses its leaf: the leaf takes its place right behind that.
    """
    first_uses: dict[int, int] = {}  # of leaves by their ids
    seen: set[int] = set()
    todo = [] if result is None else [result]
    while todo:
        node = todo.pop()
        order: int = node[0]
        if order in seen or node[4] is None:
            continue
        seen.add(order)
        for parent in node[3]:
            if parent is None:
                continue
            if parent[4] is None:
                use = first_uses.get(id(parent), order)
                first_uses[id(parent)] = max(order, use)
            else:
                todo.append(parent)
    for index, leaf in enumerate(leaves):
        if leaf is not None:
            use = first_uses.get(id(leaf))
            if use is not None:
                leaf[0] = use + (index + 1) / (len(leaves) + 1)  # between two operations, and no other leaf's
            leaf[2:] = (), (), Completion(index, hand_over)


def accumulate_cotangent(a: Any, b: Any) -> Any:
    """Add two cotangents of one node."""
    if type(a) is ResultCotangents:
        for index, ct in b.items():
            a[index] = accumulate_cotangent(a[index], ct) if index in a else ct
        return a
    return add_cotangents(a, b)


def backward(
    seeds: Iterable[tuple[list | None, Any]], leaves: Iterable[list | None], consume: bool, dense: bool = True
) -> list[Any]:
    """Walk the nodes from the latest to the earliest, and return the cotangents of the leaf nodes (None:
    zero, or no leaf) for given cotangents of other nodes; as arrays, where they are wanted `dense`.

    With `consume` the nodes are emptied as they are passed, so that residuals are freed early. Floating-point
    warnings are off: entries that a mask discards later may divide by zero here.
    """
    cts: dict[int, Any] = {}
    heap: list[list] = []
    add = np.add if CURRENT.get().observer is None else ops.add
    with np.errstate(all="ignore"):
        for node, ct in seeds:
            if node is None:
                continue
            if node[0] in cts:
                cts[node[0]] = accumulate_cotangent(cts[node[0]], ct)
            else:
                cts[node[0]] = ct
                if node[4] is not None:
                    heappush(heap, node)
        node = heappop(heap) if heap else None
        while node is not None:
            ct = cts.pop(node[0])
            if node[1] is not None and type(ct) in PLAIN:
                results = node[1](ct, node[2])
            else:
                results = node[4].pull(ct, *node[2])
            index, latest = 0, None
            for parent in node[3]:  # without zip, which costs more than this loop
                result = results[index]
                index += 1
                if parent is None or result is None:
                    continue
                order = parent[0]
                if order in cts:
                    other = cts[order]
                    if type(result) in PLAIN and type(other) in PLAIN:
                        cts[order] = add(other, result)
                    else:
                        cts[order] = accumulate_cotangent(other, result)
                else:
                    cts[order] = result
                    if parent[4] is not None:
                        if latest is not None:
                            heappush(heap, latest)
                        latest = parent
            if consume:
                node[1] = node[2] = node[3] = None
            node = heappushpop(heap, latest) if latest is not None else heappop(heap) if heap else None
        results = []
        for leaf in leaves:
            ct = None if leaf is None else cts.get(leaf[0])
            results.append(ct.densify() if dense and type(ct) is Masked else ct)
        return results


def unshare_cotangent(ct: Any, seen: set[int]) -> Any:
    """Return a cotangent as the user gets it: an array of its own, which may be written into."""
    if type(ct) is np.ndarray:
        if ct.ndim == 0:
            return ct[()]  # as NumPy's own results without axes
        if ct.base is not None or not ct.flags.writeable or id(ct) in seen:
            ct = ct.copy()
        seen.add(id(ct))
    return ct if type(ct) in PLAIN else release(ct)
