"""The backward engine, which visits the nodes of a tape from the latest to the earliest.

Cotangents are accumulated at each node until all later nodes were visited; a node's residuals are freed after its
visit. There is no recursion, so a graph may be as deep as memory allows. Ordinarily rules run on the values of the
levels outside the tape; with `create_graph` they run on its tracers, and are recorded. All state belongs to one `Pass`:
passes may be nested, in hooks, and run in several threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar, copy_context
from heapq import heappop, heappush
from typing import Any

import numpy as np

from ....extend import (
    CONSTANTS_FOLLOW,
    CURRENT,
    ERROR_STATE,
    EVAL,
    IGNORE,
    PLAIN,
    Context,
    Masked,
    device_in_use,
    device_of,
    ops,
    use_context,
    vmap,
)
from ...errors import ArgumentError
from ..anomaly import ensure_no_nan, error_reports
from ..duals import DUAL_LEVEL, add_dual_level
from ..hooks import RUNNING, RunningPass
from ..memory import VERSIONS, ensure_unmodified
from ..modes import NO_GRAD, current_modes, tools_of, use_user_context, with_modes
from ..packing import unpack_residuals
from ..tape import (
    BASE_TAPE,
    FREED,
    AccumulateGrad,
    Edge,
    Node,
    TapeInterpreter,
    TapeTracer,
    current_tape,
    freed_error,
    node_and_index,
)
from ..tensor import unwrap
from . import callbacks
from .accumulation import accumulate_grad, release_lock, to_cotangent, to_gradient
from .linking import link_operands
from .plain_walk import walk_plain_nodes
from .queued import QUEUE, call_queued

MAX_NESTING = (
    32  # passes, each in user code of the one before, that share a thread: Python's stack has an end
)
PASS_DEPTH: ContextVar[int] = ContextVar("fxgrad nested backward passes", default=0)


def run_backward(
    graph_tape: TapeInterpreter,
    seeds: Sequence[tuple[Any, Any]],
    *,
    retain_graph: bool,
    create_graph: bool,
    targets: Sequence[tuple[Node, int]] | None = None,
    capture: bool = False,
    is_grads_batched: bool = False,
    context: Context | None = None,
) -> dict[int, Any]:
    """Walk back from gradient edges (see `Node.next_edges`) with their cotangents, on the graph of the tape
    `graph_tape`.

    `targets`: only nodes that lead to these (Node, number of its result) are visited. With `capture` their cotangents
    are returned, by position there, and nothing is accumulated; without it, gradients go to the `.grad` of leaves.
    `is_grads_batched`: the cotangents given and returned have a leading batch axis. `context` is where rules run, if
    the tape is not open any more.
    """
    caller, depth, running, speaking = CURRENT.get(), PASS_DEPTH.get(), RUNNING.get(), ERROR_STATE.get()
    following = CONSTANTS_FOLLOW.get()
    queue: list[Callable[[], object]] = []
    outer_queue = QUEUE.get()
    started = None
    outermost = (caller is EVAL or caller is NO_GRAD) and graph_tape is BASE_TAPE and context is None
    if (
        outermost
        and targets is None
        and not create_graph
        and not is_grads_batched
        and DUAL_LEVEL.get() is None
    ):
        started = start_through_plain_nodes(caller, seeds, retain_graph)
        if started is None:
            return {}
    make_pass = Pass if caller.modes is None or not caller.modes.anomaly else AnomalyPass
    if caller.observer is not None:
        from .observed import ObservedAnomalyPass, ObservedPass  # which are written in terms of passes

        make_pass = ObservedPass if make_pass is Pass else ObservedAnomalyPass
    tape = current_tape()  # that of `graph_tape`, or one inside a transform into which the graph was brought
    inside = CURRENT.get()

    rules_context = context or pullback_context(tape, create_graph)
    if caller.observer is not None and rules_context.observer is None:
        rules_context = caller.observer.above(rules_context)
    if DUAL_LEVEL.get() is not None:
        rules_context = add_dual_level(rules_context, tape, create_graph)

    def run_pass() -> dict[int, Any]:
        PASS_DEPTH.set(depth + 1)
        QUEUE.set(queue)
        ERROR_STATE.set(IGNORE)
        CONSTANTS_FOLLOW.set(True)
        CURRENT.set(rules_context)
        try:
            if is_grads_batched:
                return run_batched(make_pass, graph_tape, seeds, retain_graph, create_graph, targets)
            if started is not None:
                return started.go_on()
            return make_pass(graph_tape, caller, retain_graph, create_graph, targets, capture).run(seeds)
        finally:
            restore()

    def restore() -> None:
        CURRENT.set(inside)
        ERROR_STATE.set(speaking)
        CONSTANTS_FOLLOW.set(following)
        RUNNING.set(running)
        QUEUE.set(outer_queue)
        PASS_DEPTH.set(depth)

    try:
        if (depth + 1) % MAX_NESTING:
            found = run_pass()
        else:
            from concurrent.futures import ThreadPoolExecutor  # which takes milliseconds to load

            with ThreadPoolExecutor(1) as pool:  # a stack of its own
                found = pool.submit(copy_context().run, run_pass).result()
        if queue:
            QUEUE.set(queue)  # calls may put others there
            call_queued(queue)
            QUEUE.set(outer_queue)
        return found
    except BaseException:  # Ctrl-C may come on the way in or out
        restore()
        release_lock()
        raise


def start_through_plain_nodes(
    caller: Context, seeds: Sequence[tuple[Any, Any]], retain_graph: bool
) -> Pass | None:
    """Walk back through plain nodes. Return the pass that goes on where that ends, or None if it was the whole way."""

    def make_pass(cts: dict, heap: list, leaves: dict) -> Pass:
        made = Pass(BASE_TAPE, caller, retain_graph, False, None, False)
        made.seeds, made.cts, made.heap, made.leaves = seeds, cts, heap, leaves
        return made

    speaking = ERROR_STATE.get()
    try:
        ERROR_STATE.set(IGNORE)
        rest = walk_plain_nodes(seeds, retain_graph, make_pass, check_residuals)
        ERROR_STATE.set(speaking)
    except BaseException:  # Ctrl-C may come on the way in or out
        ERROR_STATE.set(speaking)
        release_lock()
        raise
    return rest


def is_for_inputs_only() -> bool:
    """Whether the innermost pass that is running is for certain inputs: some code can run in others alone."""
    running = RUNNING.get()
    return running is not None and running.wanted is not None


def pullback_context(tape: TapeInterpreter, create_graph: bool) -> Context:
    """Return the Context in which rules run: one level further out, or the tape itself where they are to be
    recorded."""
    tools = tools_of(CURRENT.get().modes)
    if create_graph:
        return with_modes(Context(tape, tape.outer.observer), grad=True, **tools)
    if tape.is_stand_in:
        return with_modes(tape.outer, suspended=True, **tools)
    return with_modes(tape.outer, **tools) if tools else tape.outer


def run_batched(
    make_pass, graph_tape, seeds, retain_graph: bool, create_graph: bool, targets
) -> dict[int, Any]:
    """Run one backward pass for every entry of the cotangents' batch axis, at once."""
    found: list[int] = []

    def run_entry(cts: list[Any]) -> list[Any]:
        one = make_pass(graph_tape, CURRENT.get(), retain_graph, create_graph, targets, True)
        captured = one.run([(parent, ct) for (parent, _), ct in zip(seeds, cts)])
        found.extend(captured)
        return list(captured.values())

    results = vmap(run_entry)([ct for _, ct in seeds])
    return dict(zip(found, map(unwrap, results)))  # the numbers are known once it has run


class Pass(RunningPass):
    """One backward pass: the cotangents that have arrived, and how they are used. `notes` are those of hooks that wait
    for several gradients."""

    __slots__ = (
        "__weakref__",
        "caller_context",
        "capture",
        "captured",
        "create_graph",
        "cts",
        "expected",
        "graph_tape",
        "heap",
        "hooked_leaves",
        "leaves",
        "needed_nodes",
        "notes",
        "places",
        "retain_graph",
        "seeds",
        "visited_nodes",
        "wanted",
    )
    takes_shortcuts = True  # through nodes without hooks

    def __init__(
        self,
        graph_tape,
        caller_context: Context,
        retain_graph: bool,
        create_graph: bool,
        targets,
        capture: bool,
    ):
        self.graph_tape = graph_tape
        self.retain_graph = retain_graph
        self.create_graph = create_graph
        self.capture = capture
        self.caller_context = caller_context
        self.cts: dict[Node, Any] = {}
        self.heap: list[tuple[int, Node]] = []
        self.leaves: dict[AccumulateGrad, Any] = {}
        self.hooked_leaves: list[AccumulateGrad] = []  # leaves with hooks that have got a cotangent
        self.expected: dict[AccumulateGrad, int] | None = None  # cotangents that such leaves still wait for
        self.wanted = targets
        self.captured: dict[int, Any] = {}
        self.places: dict[Node, list[tuple[int, int]]] = {}  # wanted node → (position, number of the result)
        self.needed_nodes: set[Node] | None = None  # the nodes that lead to wanted ones, and these
        self.visited_nodes: set[Node] | None = None  # all that it visits, on demand
        self.notes: dict[Any, Any] = {}

    def run(self, seeds: Sequence[tuple[Any, Any]]) -> dict[int, Any]:
        """Run the whole pass."""
        self.seeds = seeds
        if self.wanted is not None:
            for position, (node, index) in enumerate(self.wanted):
                self.places.setdefault(node, []).append((position, index))
            self.needed_nodes = nodes_leading_to([parent for parent, _ in seeds], self.places)
        for parent, ct in seeds:
            self.deliver(parent, ct)
        return self.go_on()

    def go_on(self) -> dict[int, Any]:
        """Run the pass from the cotangents that have arrived."""
        RUNNING.set(self)
        if self.hooked_leaves:
            self.finish_ready_leaves(())
        self.walk()
        while self.leaves:
            self.finish(next(iter(self.leaves)))
        if self.notes:
            with self.user_code():
                for hook in list(self.notes):
                    hook.finish(self)
        return self.captured

    def visits(self, node: Node) -> bool:
        """Whether a node is among those that the pass visits."""
        if self.needed_nodes is not None:
            return node in self.needed_nodes
        if self.visited_nodes is None:
            nodes = reachable_nodes(dict.fromkeys(node_and_index(edge)[0] for edge, _ in self.seeds))
            edges = [edge for n in nodes for edge in n.next_edges if type(edge) is AccumulateGrad]
            self.visited_nodes = {*nodes, *edges}
        return node in self.visited_nodes

    def walk(self) -> None:
        """Visit the nodes, latest first."""
        cts, heap, places, hooked = self.cts, self.heap, self.places, self.hooked_leaves
        retain, slow = self.retain_graph, self.create_graph or not self.takes_shortcuts
        direct = Node if self.needed_nodes is None else None
        latest = heappop(heap)[1] if heap else None
        while latest is not None:
            node, latest = latest, None
            ct = cts.pop(node)
            if node.pull_plain is None or slow or type(ct) not in PLAIN or (places and node in places):
                results = self.passed(node, ct)
            else:
                residuals = node.residuals  # once: another thread may free them
                if residuals is FREED:
                    raise freed_error()
                if VERSIONS.latest_change > node.order:
                    check_residuals(node, residuals)
                results = node.pull_plain(ct, residuals)
                residuals = None
                if not retain and node.rule.saved_from:
                    node.residuals = FREED
            index = 0
            for parent in node.next_edges:
                result = results[index]
                index += 1
                if parent is None or result is None:
                    continue
                if type(result) is Masked:
                    result = result.densify()
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
                self.finish_ready_leaves(node.next_edges)
            if heap and (latest is None or -heap[0][0] > latest.order):
                if latest is not None:
                    heappush(heap, (-latest.order, latest))
                latest = heappop(heap)[1]

    def deliver(self, edge, ct) -> None:
        """Add a cotangent to those that an edge's target has."""
        if type(edge) is AccumulateGrad:
            if self.needed_nodes is None or edge in self.needed_nodes:
                found = self.leaves.get(edge)
                self.leaves[edge] = ct if found is None else ops.add(found, ct)
                if edge.hooks is not None:
                    self.hooked_leaves.append(edge)
            return
        node, index = node_and_index(edge)
        if self.needed_nodes is not None and node not in self.needed_nodes:
            return
        if node not in self.cts:
            heappush(self.heap, (-node.order, node))
            self.cts[node] = ct if node.result_avals is None else {index: ct}
        elif node.result_avals is None:
            self.cts[node] = ops.add(self.cts[node], ct)
        else:
            bundle = self.cts[node]
            bundle[index] = ops.add(bundle[index], ct) if index in bundle else ct

    def passed(self, node: Node, ct) -> Sequence[Any]:
        """Return the cotangents of a node's operands, running its hooks; none if only the node itself is wanted."""
        hooks = node.hooks
        if hooks is not None:
            with self.user_code():
                ct = callbacks.run_result_hooks(node, ct, self.create_graph)
        if node in self.places:
            self.capture_cotangent(node, ct)
        is_end = node in self.places and not self.leads_further(node)
        if is_end and self.capture:
            return [None] * len(node.next_edges)
        if hooks is not None:
            with self.user_code():
                ct = callbacks.run_pre_hooks(node, ct, self.create_graph)
        if is_end or ct is None:
            results = [None] * len(node.next_edges)
        else:
            results = self.pulled(node, ct)
            if not self.retain_graph and (node.rule.saved_from or node.is_packed):
                node.residuals = FREED
        if hooks is not None:
            with self.user_code():
                results = callbacks.run_post_hooks(node, ct, results, self.create_graph)
        return results

    def leads_further(self, node: Node) -> bool:
        """Whether the gradient of an operand of a wanted node is needed."""
        edges = [edge for edge in node.next_edges if edge is not None]
        return any(node_and_index(edge)[0] in self.needed_nodes for edge in edges)  # type: ignore[operator]

    def pulled(self, node: Node, ct) -> Sequence[Any]:
        """Return the cotangents that a node's rule gives."""
        residuals = node.residuals
        if residuals is FREED:
            raise freed_error()
        if VERSIONS.latest_change > node.order:
            check_residuals(node, residuals)
        if node.is_packed:
            with self.user_code():
                residuals = unpack_residuals(node, residuals)
        if self.create_graph:
            residuals = trace_residuals(self.graph_tape, node, residuals)
            return link_operands(self.graph_tape, node, self.apply_rule(node, ct, residuals))
        return self.apply_rule(node, ct, residuals)

    def apply_rule(self, node: Node, ct, residuals) -> Sequence[Any]:
        """Apply the rule of a node."""
        one = next((c for c in ct if c is not None), None) if isinstance(ct, list) else ct
        with device_in_use(device_of(one)):
            return node.rule.pull(ct, *residuals)

    def user_code(self) -> use_user_context:
        """A context manager for user code: its grad mode is that of the gradients."""
        # Inside transforms what is switched off here would be off further out as well.
        grad = self.create_graph or self.graph_tape is not BASE_TAPE
        suspended = not self.create_graph and self.graph_tape.is_stand_in
        return use_user_context(with_modes(self.caller_context, grad=grad, suspended=suspended))

    def capture_cotangent(self, node: Node, ct) -> None:
        """Capture the cotangent of a target node."""
        if self.capture:
            for position, index in self.places[node]:
                value = ct if node.result_avals is None else ct.get(index)
                if value is not None:
                    self.captured[position] = value

    def finish_ready_leaves(self, next_edges: Sequence[Any]) -> None:
        """Finish the leaves with hooks for which nothing more will come, after a node with these edges. The cotangents
        that they wait for are counted when the first of them gets one."""
        if self.expected is None:
            self.expected = dict.fromkeys(self.hooked_leaves, 0)
            for node in reachable_nodes(self.cts):
                for parent in node.next_edges:
                    if type(parent) is AccumulateGrad and parent.hooks is not None:
                        self.expected[parent] = self.expected.get(parent, 0) + 1
            ready = [leaf for leaf, count in self.expected.items() if not count]
        else:
            ready = []
            for parent in next_edges:
                if type(parent) is AccumulateGrad and parent in self.expected:
                    self.expected[parent] -= 1
                    if not self.expected[parent]:
                        ready.append(parent)
        for leaf in ready:
            if leaf in self.leaves:
                self.finish(leaf)

    def finish(self, leaf: AccumulateGrad) -> None:
        """Accumulate or capture the complete gradient of a leaf."""
        box = [self.leaves.pop(leaf)]
        if leaf.hooks is not None:
            with self.user_code():
                self.finish_hooked_leaf(leaf, box.pop())
        elif self.capture:
            self.capture_cotangent(leaf, box.pop())
        elif type(box[0]) in PLAIN and self.graph_tape is BASE_TAPE:
            accumulate_grad(leaf.variable, box, self.create_graph)
        else:
            with self.user_code():
                accumulate_grad(leaf.variable, box, self.create_graph)

    def finish_hooked_leaf(self, leaf: AccumulateGrad, ct) -> None:
        """Accumulate or capture the complete gradient of a leaf that has hooks, and run these."""
        ct = callbacks.run_result_hooks(leaf, ct, self.create_graph)
        if self.capture:
            self.capture_cotangent(leaf, ct)
            return
        ct = callbacks.run_pre_hooks(leaf, ct, self.create_graph)
        tensor = leaf.variable
        if ct is not None:
            accumulate_grad(tensor, [ct], self.create_graph)
        callbacks.run_post_accumulate_hooks(leaf, tensor)
        callbacks.run_post_hooks(leaf, ct, (), self.create_graph)


class AnomalyPass(Pass):
    """A backward pass that detects anomalies: errors, and where that is wanted NaN, are reported with forward calls."""

    __slots__ = ("evaluated",)
    evaluated: Node  # the one that is computing gradients now
    takes_shortcuts = False

    def passed(self, node: Node, ct) -> Sequence[Any]:
        """See `Pass`."""
        self.evaluated = node
        with error_reports(node):
            results = super().passed(node, ct)
            if current_modes().check_nan:
                ensure_no_nan(node, results)
            return results

    def finish(self, leaf: AccumulateGrad) -> None:
        """See `Pass`."""
        self.evaluated = leaf
        with error_reports(leaf):
            super().finish(leaf)


def reachable_nodes(nodes: Iterable[Node]) -> list[Node]:
    """Return these nodes and all that are reachable from them, except leaves."""
    found = list(nodes)
    seen = set(found)
    for node in found:  # which grows
        for parent in node.next_edges:
            if parent is not None and type(parent) is not AccumulateGrad:
                before = node_and_index(parent)[0]
                if before not in seen:
                    seen.add(before)
                    found.append(before)
    return found


def nodes_leading_to(edges: Iterable[Any], targets: Iterable[Node]) -> set[Node]:
    """The nodes on the ways from the given edges to the targets, and the targets."""
    later: dict[Node, list[Node]] = {}
    starts = [node_and_index(parent)[0] for parent in edges]
    for node in reachable_nodes([n for n in dict.fromkeys(starts) if type(n) is not AccumulateGrad]):
        for parent in node.next_edges:
            if parent is not None:
                later.setdefault(node_and_index(parent)[0], []).append(node)
    found = list(targets)
    seen = set(found)
    for node in found:  # which grows
        for after in later.get(node, ()):
            if after not in seen:
                seen.add(after)
                found.append(after)
    return seen


def trace_residuals(tape: TapeInterpreter, node: Node, residuals) -> Any:
    """Return the residuals of a node as tracers of the tape, so that operations on them are recorded."""

    def operand(index: int, value) -> Any:
        parent = (
            node.next_edges[index] if index < len(node.next_edges) else None
        )  # a primitive may have made more
        return value if parent is None else TapeTracer(tape, value, parent)

    def result(index: int, value) -> Any:
        return TapeTracer(tape, value, node if node.result_avals is None else Edge(node, index))

    return node.rule.map_residuals(residuals, operand, result)


def check_residuals(node: Node, residuals) -> None:
    """Raise if a residual of a node was modified in place since it was recorded."""

    def operand(index: int, value) -> Any:
        parent = node.next_edges[index] if index < len(node.next_edges) else None
        ensure_unmodified(value, node.order, parent, node)
        return value

    def result(index: int, value) -> Any:
        ensure_unmodified(value, node.order, node if node.result_avals is None else Edge(node, index), node)
        return value

    node.rule.map_residuals(residuals, operand, result)


def call_node(node: Node, gradients: Sequence[Any]) -> Any:
    """Apply one node to gradients of its results, by itself; it is recorded where operations are."""
    if len(gradients) != node.num_results:
        raise ArgumentError(
            f"expected {node.num_results} arguments, got {len(gradients)} instead",
            hint="one gradient for each result of the node; None for a result that has none",
        )
    create = current_modes().is_recording
    tape = current_tape()
    single = Pass(tape, CURRENT.get(), True, create, None, True)
    cts: Any = {i: to_cotangent(g, create) for i, g in enumerate(gradients) if g is not None}
    if type(node) is AccumulateGrad:
        accumulate_grad(node.variable, [cts[0]], create)
        return ()
    with use_context(pullback_context(tape, create)):
        results = single.pulled(node, cts[0] if node.result_avals is None else cts)
    made = [
        None if r is None else to_gradient(r.densify() if type(r) is Masked else r)
        for r, p in zip(results, node.next_edges)
    ]
    return made[0] if len(made) == 1 else tuple(made)


def call_with_gradients(node: Node, *gradients) -> Any:
    """Apply a Node to gradients of its results."""
    return call_node(node, gradients)


Node.attach(__call__=call_with_gradients)
