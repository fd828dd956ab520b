"""The backward engine: walks the nodes of a tape from the latest to the earliest.

Cotangents are accumulated at each node until all later ones were passed; a node's residuals are freed as it is
passed. Recursion is in no place, so a graph may be as deep as memory allows. Ordinarily rules run on the values of
the levels outside the tape; with `create_graph` they run on its tracers, and are recorded. All state is that of one
`Pass`: passes may be nested, in hooks, and run in several threads.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

import numpy as np

from .... import ops
from ....core.aval import PLAIN
from ....core.fp_errors import SILENT, STATE
from ....core.interpreter import CURRENT, Context, within
from ....ops.masked import Masked
from ....transforms.vmap import vmap
from ..duals import walking
from ..errors import ArgumentError, TensorError
from ..memory import MEMORIES, ensure_unmodified
from ..modes import current_modes, with_modes
from ..tape import (
    BASE,
    FREED,
    FREED_MESSAGE,
    AccumulateGrad,
    Edge,
    Node,
    TapeInterpreter,
    TapeTracer,
    as_edge,
    current_tape,
)
from . import callbacks
from .accumulation import accumulate, handed_out, taken, unlock

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Whether the pass that is running is for certain inputs only: some code can run in others alone.
RESTRICTED: ContextVar[bool] = ContextVar("fxgrad restricted", default=False)

NESTED = 32  # passes, each in user code of the one before, that share a thread: Python's stack has an end
DEPTH: ContextVar[int] = ContextVar("fxgrad nested backward passes", default=0)


def run(
    home: TapeInterpreter,
    seeds: Sequence[tuple[Any, Any]],
    *,
    retain: bool,
    create: bool,
    wanted: Sequence[tuple[Node, int]] | None = None,
    capture: bool = False,
    batched: bool = False,
    context: Context | None = None,
) -> dict[int, Any]:
    """Walk back from parents (see `Node.parents`) with cotangents, on the graph of the tape `home`.

    `wanted`: only nodes that lead to these (Node, number of its result) are passed. With `capture` their cotangents
    are returned, by position there, and nothing is accumulated; without it, gradients go to the `.grad` of leaves.
    `batched`: the cotangents given and returned have a batch axis in front. `context` is where rules run, if the tape
    is not open any more.
    """
    caller, depth, restricted, speaking = CURRENT.get(), DEPTH.get(), RESTRICTED.get(), STATE.get()
    tape = current_tape()  # that of `home`, or one inside a transform into which the graph was brought
    inside = CURRENT.get()

    def passed() -> dict[int, Any]:
        DEPTH.set(depth + 1)
        RESTRICTED.set(wanted is not None)
        STATE.set(SILENT)
        CURRENT.set(walking(context or tape_context(tape, create), tape, create))
        try:
            if batched:
                return through_batch(home, seeds, retain, create, wanted)
            return Pass(home, caller, retain, create, wanted, capture).through(seeds)
        finally:
            restore()

    def restore() -> None:
        CURRENT.set(inside)
        STATE.set(speaking)
        RESTRICTED.set(restricted)
        DEPTH.set(depth)

    if (depth + 1) % NESTED:
        try:
            return passed()
        except BaseException:  # Ctrl-C may come on the way in or out
            restore()
            unlock()
            raise
    with ThreadPoolExecutor(1) as pool:  # a stack of its own
        return pool.submit(copy_context().run, passed).result()


def tape_context(tape: TapeInterpreter, create: bool) -> Context:
    """Where rules run: one level further out, or on the tape itself where they are to be recorded."""
    if not create:
        return with_modes(tape.outer, passive=True) if tape.stands_in else tape.outer
    return with_modes(Context(tape, tape.outer.watching), grad=True)


def through_batch(home: Any, seeds: Any, retain: bool, create: bool, wanted: Any) -> dict[int, Any]:
    """The pass as one for every entry of the cotangents' batch axis."""
    found: list[int] = []

    def once(cts: list[Any]) -> list[Any]:
        one = Pass(home, CURRENT.get(), retain, create, wanted, True)
        captured = one.through([(parent, ct) for (parent, _), ct in zip(seeds, cts)])
        found.extend(captured)
        return list(captured.values())

    return dict(zip(found, vmap(once)([ct for _, ct in seeds])))  # the numbers are known once it has run


class Pass:
    """One backward pass: the cotangents that have arrived, and what is to become of them."""

    __slots__ = (
        "caller",
        "capture",
        "captured",
        "create",
        "cts",
        "expected",
        "heap",
        "home",
        "hooked",
        "leaves",
        "places",
        "reached",
        "retain",
        "wanted",
    )

    def __init__(self, home: Any, caller: Context, retain: bool, create: bool, wanted: Any, capture: bool):
        self.home, self.retain, self.create, self.capture = home, retain, create, capture
        self.caller = caller
        self.cts: dict[Node, Any] = {}
        self.heap: list[tuple[int, Node]] = []
        self.leaves: dict[AccumulateGrad, Any] = {}
        self.hooked: list[AccumulateGrad] = []  # leaves with hooks that have got a cotangent
        self.expected: dict[AccumulateGrad, int] | None = None  # cotangents that such leaves still wait for
        self.wanted = wanted
        self.captured: dict[int, Any] = {}
        self.places: dict[Node, list[tuple[int, int]]] = {}  # wanted node → (position, number of the result)
        self.reached: set[Node] | None = None  # the nodes that lead to wanted ones, and these

    def through(self, seeds: Iterable[tuple[Any, Any]]) -> dict[int, Any]:
        """All of the pass."""
        if self.wanted is not None:
            for position, (node, index) in enumerate(self.wanted):
                self.places.setdefault(node, []).append((position, index))
            self.reached = leading([parent for parent, _ in seeds], self.places)
        for parent, ct in seeds:
            self.deliver(parent, ct)
        if self.hooked:
            self.settle(())
        self.walk()
        while self.leaves:
            self.finish(next(iter(self.leaves)))
        return self.captured

    def walk(self) -> None:
        """Pass the nodes."""
        cts, heap, places, hooked = self.cts, self.heap, self.places, self.hooked
        retain, create = self.retain, self.create
        direct = Node if self.reached is None else None
        latest = heappop(heap)[1] if heap else None
        while latest is not None:
            node, latest = latest, None
            ct = cts.pop(node)
            if node.plain is None or create or type(ct) not in PLAIN or (places and node in places):
                results = self.passed(node, ct)
            else:
                residuals = node.residuals  # once: another thread may free them
                if residuals is FREED:
                    raise TensorError(FREED_MESSAGE)
                if MEMORIES.latest > node.order:
                    check_unmodified(node, residuals)
                results = node.plain(ct, residuals)
                residuals = None
                if not retain and node.rule.kept:
                    node.residuals = FREED
            index = 0
            for parent in node.parents:
                result = results[index]
                index += 1
                if parent is None or result is None:
                    continue
                if type(result) is Masked:
                    result = result.dense()
                if type(parent) is direct:
                    if parent in cts:
                        other = cts[parent]
                        plain = type(result) in PLAIN and type(other) in PLAIN
                        cts[parent] = np.add(other, result) if plain else ops.add(other, result)
                    else:
                        cts[parent] = result
                        if latest is None:
                            latest = parent
                        else:
                            heappush(heap, (-parent.order, parent))
                else:
                    self.deliver(parent, result)
            if hooked:
                ct = results = result = None
                self.settle(node.parents)
            if heap and (latest is None or -heap[0][0] > latest.order):
                if latest is not None:
                    heappush(heap, (-latest.order, latest))
                latest = heappop(heap)[1]

    def deliver(self, parent: Any, ct: Any) -> None:
        """Add a cotangent to what a parent has."""
        if type(parent) is AccumulateGrad:
            if self.reached is None or parent in self.reached:
                found = self.leaves.get(parent)
                self.leaves[parent] = ct if found is None else ops.add(found, ct)
                if parent.hooks is not None:
                    self.hooked.append(parent)
            return
        node, index = as_edge(parent)
        if self.reached is not None and node not in self.reached:
            return
        if node not in self.cts:
            heappush(self.heap, (-node.order, node))
            self.cts[node] = ct if node.avals is None else {index: ct}
        elif node.avals is None:
            self.cts[node] = ops.add(self.cts[node], ct)
        else:
            bundle = self.cts[node]
            bundle[index] = ops.add(bundle[index], ct) if index in bundle else ct

    def passed(self, node: Node, ct: Any) -> Sequence[Any]:
        """The cotangents of a node's parents, hooks and all; none if the node is only wanted itself."""
        hooks = node.hooks
        if hooks is not None:
            with self.user_code():
                ct = callbacks.on_results(node, ct, self.create)
        if node in self.places:
            self.keep(node, ct)
            if not any(p is not None and as_edge(p)[0] in self.reached for p in node.parents):  # type: ignore[operator]
                return [None] * len(node.parents)
        if hooks is not None:
            with self.user_code():
                ct = callbacks.before(node, ct, self.create)
        results = self.pulled(node, ct)
        if not self.retain and node.rule.kept:
            node.residuals = FREED
        if hooks is not None:
            with self.user_code():
                results = callbacks.after(node, ct, results, self.create)
        return results

    def pulled(self, node: Node, ct: Any) -> Sequence[Any]:
        """What a node's rule gives."""
        residuals = node.residuals
        if residuals is FREED:
            raise TensorError(FREED_MESSAGE)
        if MEMORIES.latest > node.order:
            check_unmodified(node, residuals)
        if self.create:
            residuals = recorded(self.home, node, residuals)
        if not node.runs_user_code:
            return node.rule.pull(ct, *residuals)
        with self.user_code():
            return node.rule.pull(ct, *residuals)

    def user_code(self) -> within:
        """A context manager for what the user wrote: the grad mode is that of the gradients."""
        # Inside transforms what is switched off here would be off further out as well.
        grad, passive = self.create or self.home is not BASE, not self.create and self.home.stands_in
        return within(with_modes(self.caller, grad=grad, passive=passive))

    def keep(self, node: Node, ct: Any) -> None:
        """Note the cotangent of a wanted node."""
        if self.capture:
            for position, index in self.places[node]:
                value = ct if node.avals is None else ct.get(index)
                if value is not None:
                    self.captured[position] = value

    def settle(self, parents: Sequence[Any]) -> None:
        """After a node with these parents: finish leaves with hooks for which nothing more will come. What they wait
        for is counted when the first of them gets something."""
        if self.expected is None:
            self.expected = dict.fromkeys(self.hooked, 0)
            for node in reachable(self.cts):
                for parent in node.parents:
                    if type(parent) is AccumulateGrad and parent.hooks is not None:
                        self.expected[parent] = self.expected.get(parent, 0) + 1
            ready = [leaf for leaf, count in self.expected.items() if not count]
        else:
            ready = []
            for parent in parents:
                if type(parent) is AccumulateGrad and parent in self.expected:
                    self.expected[parent] -= 1
                    if not self.expected[parent]:
                        ready.append(parent)
        for leaf in ready:
            if leaf in self.leaves:
                self.finish(leaf)

    def finish(self, leaf: AccumulateGrad) -> None:
        """The gradient of a leaf is complete."""
        box = [self.leaves.pop(leaf)]
        if leaf.hooks is not None:
            with self.user_code():
                self.finish_with_hooks(leaf, box.pop())
        elif self.capture:
            self.keep(leaf, box.pop())
        elif type(box[0]) in PLAIN and self.home is BASE:
            accumulate(leaf.variable, box, self.create)
        else:
            with self.user_code():
                accumulate(leaf.variable, box, self.create)

    def finish_with_hooks(self, leaf: AccumulateGrad, ct: Any) -> None:
        """The same, between and after its hooks."""
        ct = callbacks.on_results(leaf, ct, self.create)
        if self.capture:
            self.keep(leaf, ct)
            return
        ct = callbacks.before(leaf, ct, self.create)
        tensor = leaf.variable
        accumulate(tensor, [ct], self.create)
        for hook in leaf.hooks.accumulated.now():
            hook(tensor)
        callbacks.after(leaf, ct, (), self.create)


def reachable(nodes: Iterable[Node]) -> list[Node]:
    """These nodes and those before them; leaves excluded."""
    found = list(nodes)
    seen = set(found)
    for node in found:  # which grows
        for parent in node.parents:
            if parent is not None and type(parent) is not AccumulateGrad:
                before = as_edge(parent)[0]
                if before not in seen:
                    seen.add(before)
                    found.append(before)
    return found


def leading(parents: Iterable[Any], wanted: Iterable[Node]) -> set[Node]:
    """The nodes from the given parents on that lead to wanted ones, and these."""
    later: dict[Node, list[Node]] = {}
    starts = [as_edge(parent)[0] for parent in parents]
    for node in reachable([n for n in dict.fromkeys(starts) if type(n) is not AccumulateGrad]):
        for parent in node.parents:
            if parent is not None:
                later.setdefault(as_edge(parent)[0], []).append(node)
    found = list(wanted)
    seen = set(found)
    for node in found:  # which grows
        for after in later.get(node, ()):
            if after not in seen:
                seen.add(after)
                found.append(after)
    return seen


def recorded(tape: TapeInterpreter, node: Node, residuals: Any) -> Any:
    """The residuals of a node as tracers of the tape, so that what is done with them is recorded."""

    def operand(index: int, value: Any) -> Any:
        parent = node.parents[index] if index < len(node.parents) else None  # a primitive may have made more
        return value if parent is None else TapeTracer(tape, value, parent)

    def result(index: int, value: Any) -> Any:
        return TapeTracer(tape, value, node if node.avals is None else Edge(node, index))

    return node.rule.refill(residuals, operand, result)


def check_unmodified(node: Node, residuals: Any) -> None:
    """Raise if what a node kept was modified in place since it was recorded."""

    def operand(index: int, value: Any) -> Any:
        parent = node.parents[index] if index < len(node.parents) else None
        ensure_unmodified(value, node.order, parent, node)
        return value

    def result(index: int, value: Any) -> Any:
        ensure_unmodified(value, node.order, node if node.avals is None else Edge(node, index), node)
        return value

    node.rule.refill(residuals, operand, result)


def applied(node: Node, gradients: Sequence[Any]) -> Any:
    """What a node makes of gradients of its results, by itself; recorded where operations are."""
    if len(gradients) != node.count:
        raise ArgumentError(f"expected {node.count} arguments, got {len(gradients)} instead")
    create = current_modes().recording
    tape = current_tape()
    single = Pass(tape, CURRENT.get(), True, create, None, True)
    cts: Any = {i: taken(g, create) for i, g in enumerate(gradients) if g is not None}
    if type(node) is AccumulateGrad:
        accumulate(node.variable, [cts[0]], create)
        return ()
    with within(tape_context(tape, create)):
        results = single.pulled(node, cts[0] if node.avals is None else cts)
    made = [
        None if r is None else handed_out(r.dense() if type(r) is Masked else r)
        for r, p in zip(results, node.parents)
    ]
    return made[0] if len(made) == 1 else tuple(made)


def call(node: Node, *gradients: Any) -> Any:
    """What the Node makes of gradients of its results."""
    return applied(node, gradients)


Node.attach(__call__=call)
