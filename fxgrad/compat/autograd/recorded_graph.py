"""The graph behind Tensors in the form that pictures show: its nodes, the latest first, with the shapes of their
results, their saved values, and the user's lines.

A Node does not store the shape of its result. But a cotangent has the shape of its value, so running the rules on
abstract cotangents gives the shapes of all results behind a Tensor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import Any, NamedTuple

from ...extend import Aval, FxgradError, aval_of, masked, pytree, source_info, stage
from .._core.backward.engine import reachable_nodes
from .._core.backward.saved_tensors import find_saved
from .._core.memory import memory_owner
from .._core.packing import PackedValue
from .._core.tape import FREED, AccumulateGrad, Node, node_and_index
from .._core.tensor import Tensor, gradient_edge, refresh
from ..errors import ArgumentError, TensorError
from .function_node import BackwardCFunction, SavedOutput
from .gradient_edge import GradientEdge


class SavedValue(NamedTuple):
    """A value that a node keeps; `aval` is None if a hook has packed it. `is_shared`: its memory was met before, at a
    node above or a leaf."""

    name: str
    aval: Aval | None
    size: int
    is_shared: bool


class Entry:
    """A node of the picture. `avals` are those of its results, None where they are not known; `next_entries` the nodes
    behind it that are shown and the numbers of their results, None for one that is not shown."""

    __slots__ = ("avals", "is_freed", "is_leaf", "name", "next_entries", "number", "saved", "site")

    def __init__(self, number: int, node: Node, name: str):
        self.number, self.name, self.is_leaf = number, name, type(node) is AccumulateGrad
        self.site: source_info.Site | None = None if self.is_leaf else node.site
        self.avals: list[Aval | None] = []
        self.saved: list[SavedValue] = []
        self.is_freed = False
        self.next_entries: list[tuple[Entry, int] | None] = []


class RecordedGraph:
    """The nodes behind Tensors, Nodes or edges, `max_nodes` of them, latest first; it does not keep the graph alive.

    `roots` are the entries at which it begins, and the numbers of their results; `num_hidden` is how many nodes it
    has beside `entries`, `saved_size` how many bytes the latter keep, in memories that are no leaves'.
    """

    def __init__(self, of: Any, params: Mapping[str, Tensor], max_nodes: int):
        edges = list(root_edges(of))
        nodes, self.num_hidden = latest_nodes([node for node, _, _ in edges], max_nodes)
        named = {id(gradient_edge(t)): name for name, t in params.items() if t.is_leaf and t.requires_grad}
        shown: dict[Node, Entry] = {}
        for number, node in enumerate(nodes, 1):
            leaf = type(node) is AccumulateGrad
            name = named.get(id(node), "leaf") if leaf else node.name().rpartition("::")[2]
            shown[node] = Entry(number, node, name)
        self.entries = list(shown.values())
        self.roots = [(shown[node], index) for node, index, _ in edges if node in shown]
        for node, entry in shown.items():
            for edge in node.next_edges:
                if edge is not None:
                    before, index = node_and_index(edge)
                    entry.next_entries.append((shown[before], index) if before in shown else None)
        avals = infer_avals(nodes, {(node, index): aval for node, index, aval in edges if aval is not None})
        for node, entry in shown.items():
            entry.avals = [avals.get((node, i)) for i in range(node.num_results)]
        self.saved_size = add_saved_values(shown)


def root_edges(of: Any) -> Iterator[tuple[Node, int, Aval | None]]:
    """Yield (Node, number of the result, its aval or None) for each root of a picture."""
    if isinstance(of, Node):
        yield of, 0, None
    elif isinstance(of, Tensor):
        edge = gradient_edge(refresh(of))
        if edge is None:
            raise TensorError(
                f"picture: a Tensor {aval_of(of._fx_value)!r} has no graph: it does not require a gradient",
                hint="ask for the picture of what was computed of Tensors with requires_grad=True, outside no_grad()",
            )
        yield *node_and_index(edge), aval_of(of._fx_value)
    elif isinstance(of, GradientEdge):
        yield of.node, of.output_nr, None
    elif isinstance(of, tuple | list):
        for one in of:
            yield from root_edges(one)
    else:
        raise ArgumentError(
            f"picture(): argument 'of' must be a Tensor, a Node, a GradientEdge or a tuple of these, not "
            f"{type(of).__name__}",
            hint="picture(y) of a result y, outside of the transform that makes it",
        )


def latest_nodes(roots: Iterable[Node], count: int) -> tuple[list[Node], int]:
    """Return the first `count` nodes of a graph, latest first but leaves after their first user, and the number of
    others."""
    heap: list[tuple[int, int, Node]] = []
    met: set[Node] = set()

    def meet(node: Node) -> None:
        if node not in met:
            met.add(node)
            heappush(heap, (-node.order, len(met), node))

    for node in roots:
        meet(node)
    found: list[Node] = []
    while heap and len(found) < count:
        node = heappop(heap)[2]
        found.append(node)
        for edge in node.next_edges:
            if edge is not None:
                meet(node_and_index(edge)[0])
    rest = [node for _, _, node in heap]
    leaves = {node for node in rest if type(node) is AccumulateGrad}
    others = reachable_nodes([node for node in rest if type(node) is not AccumulateGrad])
    for node in others:
        leaves.update(e for e in node.next_edges if type(e) is AccumulateGrad and e not in met)
    return found, len(others) + len(leaves)


# -- shapes ------------------------------------------
def infer_avals(nodes: Sequence[Node], known: dict[tuple[Node, int], Aval]) -> dict[tuple[Node, int], Aval]:
    """Infer the avals of nodes' results, by (Node, number of the result), from the `known` ones; nodes come latest
    first."""
    for node in nodes:
        if type(node) is AccumulateGrad:
            known[node, 0] = aval_of(node.value)
        elif node.result_avals is not None:
            known.update({(node, i): aval for i, aval in enumerate(node.result_avals) if aval is not None})
        elif "aval" in node.__dict__:
            known.setdefault((node, 0), node.__dict__["aval"])
        if (node, 0) in known and node.next_edges:
            given = [known.get((node, i)) for i in range(node.num_results)]
            for edge, aval in zip(node.next_edges, operand_avals(node, given)):
                if edge is not None and aval is not None:
                    known.setdefault(node_and_index(edge), aval)
    return known


def operand_avals(node: Node, results: Sequence[Aval | None]) -> Sequence[Aval | None]:
    """Infer the avals of a node's differentiable operands, by its rule on abstract cotangents."""
    if isinstance(node, BackwardCFunction):
        return node.operands
    if node.residuals is FREED or node.is_packed or node.rule.rules_run_user_code:
        return ()
    given = {i: aval for i, aval in enumerate(results) if aval is not None}
    found: list[int] = []

    def pull(*cts: Any) -> list[Any]:
        pulled = node.rule.pull(
            cts[0] if node.result_avals is None else dict(zip(given, cts)), *node.residuals
        )
        dense = [ct.densify() if type(ct) is masked.Masked else ct for ct in pulled]
        found[:] = [i for i, ct in enumerate(dense) if ct is not None]
        return [dense[i] for i in found]

    try:
        graph = stage(pull, list(given.values()), sites=False)
    except FxgradError:  # a rule that looks at numbers: the picture has a question mark
        return ()
    avals = dict(zip(found, graph.out_avals))
    return [avals.get(i) for i in range(len(node.next_edges))]


# -- what is saved ------------------------------------------
def add_saved_values(shown: dict[Node, Entry]) -> int:
    """Give entries the values that their nodes keep; return the bytes of all memory that these keep and no leaf has."""
    of_leaves = {id(memory_owner(node.value)) for node in shown if type(node) is AccumulateGrad}
    sizes: dict[int, int] = {}
    for node, entry in shown.items():
        entry.is_freed = node.residuals is FREED or getattr(node, "is_freed", False)
        for name, value in [] if entry.is_freed else held_values(node):
            if type(value) is PackedValue:
                entry.saved.append(SavedValue(name, None, 0, False))
                continue
            owner = memory_owner(value)
            is_shared = id(owner) in sizes or id(owner) in of_leaves
            if id(owner) not in of_leaves:
                sizes[id(owner)] = num_bytes(owner)
            entry.saved.append(SavedValue(name, aval_of(value), num_bytes(value), is_shared))
    return sum(sizes.values())


def num_bytes(value: Any) -> int:
    """The bytes of an array, or of the array that a traced value stands for."""
    aval = aval_of(value)
    return aval.size * aval.dtype.itemsize


def held_values(node: Node) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) for every array that a node keeps, each once, and for every PackedValue; "" is the name of an
    intermediate value."""
    if isinstance(node, BackwardCFunction):
        kept = [(f"saved_tensors[{i}]", node.read_saved(i)) for i in range(len(node.saved_entries))]
    elif type(node) is AccumulateGrad:
        kept = []
    else:
        names = {id(saved.residual): name for name, saved in find_saved(node).items()}
        kept = [(names.get(id(value), ""), value) for value in pytree.leaves(node.residuals)]
    met: set[int] = set()
    for name, value in kept:
        value = value._fx_value if isinstance(value, Tensor | SavedOutput) else value
        is_value = type(value) is PackedValue or (hasattr(value, "shape") and hasattr(value, "dtype"))
        if is_value and id(value) not in met:
            met.add(id(value))
            yield name, value
