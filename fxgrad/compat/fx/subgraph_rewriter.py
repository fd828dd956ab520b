"""torch.fx.subgraph_rewriter: patterns in Graphs, and what stands in their places afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..errors import RequirementError
from ..nn.modules.module import Module
from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, copy_attribute
from .names import find_at
from .node import Argument, Node, map_arg


class Match(NamedTuple):
    """A place of a pattern: the Node of the pattern's result, and the Nodes that stand for its own.

    >>> module = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    >>> torch.fx.replace_pattern(module, lambda x: torch.relu(x), lambda x: torch.tanh(x))
    [Match(anchor=relu, nodes_map={relu: relu, x: x})]
    """

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """A place of a pattern, and the Nodes that are there now."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


@dataclass
class InternalMatch:
    """A place of a pattern while it is looked for: the Nodes and constants for those of the pattern.

    Attributes:
        anchors: the Nodes of the pattern's results.
        nodes_map: what stands for Nodes of the pattern.
        placeholder_nodes: what stands for its inputs, in order.
        returning_nodes: what stands for its results, in order.
    """

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Node] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)


class Matcher:
    """What looks for a pattern in a Graph.

    Args:
        pattern: the Graph of the pattern.
        graph: the Graph in which it is looked for.
        ignore_literals: whether constants of the pattern stand for any.
    """

    def __init__(self, pattern: Graph, graph: Graph, ignore_literals: bool = False):
        self.pattern, self.graph, self.ignore_literals = pattern, graph, ignore_literals
        self.inputs = [n for n in pattern.nodes if n.op == "placeholder"]
        self.results = pattern.output_node().all_input_nodes
        self.anchors = [n for n in self.results if n.op != "placeholder"]
        if not self.anchors:
            raise RequirementError("the pattern computes nothing", hint="lambda x: torch.relu(x)")

    def find_all(self) -> Iterator[InternalMatch]:
        """Find the places of the pattern, which have no Node in common."""
        taken: set[Node] = set()
        for node in list(self.graph.nodes):
            for known in self.extend({}, self.anchors[0], node):
                found = next(self.complete(known, self.anchors[1:]), None)
                if found is None:
                    continue
                own = self.own_nodes(found)
                if taken.isdisjoint(own) and self.is_closed(found, own):
                    taken |= own
                    yield self.describe(found)

    def complete(self, known: dict[Node, Any], anchors: list[Node]) -> Iterator[dict[Node, Any]]:
        """Find Nodes for the other results."""
        if not anchors:
            yield known
            return
        for node in self.graph.nodes if anchors[0] not in known else (known[anchors[0]],):
            for more in self.extend(known, anchors[0], node):
                yield from self.complete(more, anchors[1:])

    def extend(self, known: dict[Node, Any], pattern: Any, found: Any) -> Iterator[dict[Node, Any]]:
        """Yield what is known if an argument stands for one of the pattern, with all that it is computed from."""
        if isinstance(pattern, Node):
            if pattern in known:
                if known[pattern] is found or (not isinstance(found, Node) and known[pattern] == found):
                    yield known
            elif pattern.op == "placeholder":
                yield {**known, pattern: found}
            elif isinstance(found, Node) and self.does_the_same(pattern, found):
                args = (list(pattern.args), dict(pattern.kwargs)), (list(found.args), dict(found.kwargs))
                yield from self.extend({**known, pattern: found}, *args)
        elif isinstance(pattern, list | tuple):
            if isinstance(found, list | tuple) and len(found) == len(pattern):
                yield from self.extend_all(known, list(zip(pattern, found)))
        elif isinstance(pattern, dict):
            if isinstance(found, dict) and found.keys() == pattern.keys():
                yield from self.extend_all(known, [(x, found[key]) for key, x in pattern.items()])
        elif not isinstance(found, Node) and (
            self.ignore_literals or (type(found) is type(pattern) and found == pattern)
        ):
            yield known

    def extend_all(self, known: dict[Node, Any], pairs: list[tuple[Any, Any]]) -> Iterator[dict[Node, Any]]:
        """Do what `extend` does for several arguments."""
        if not pairs:
            yield known
            return
        for more in self.extend(known, *pairs[0]):
            yield from self.extend_all(more, pairs[1:])

    def does_the_same(self, pattern: Node, found: Node) -> bool:
        """Whether Nodes do the same: modules are of the same class, attributes anything."""
        if pattern.op != found.op:
            return False
        if pattern.op in ("call_module", "get_attr"):
            places = (pattern.graph.owning_module, found.graph.owning_module)
            ours, theirs = (find_at(m, str(n.target)) for m, n in zip(places, (pattern, found)))
            return type(ours) is type(theirs)
        return pattern.target == found.target

    def own_nodes(self, found: dict[Node, Any]) -> set[Node]:
        """The Nodes of the place that compute something."""
        return {n for p, n in found.items() if p.op != "placeholder"}

    def is_closed(self, found: dict[Node, Any], own: set[Node]) -> bool:
        """Whether nothing outside of the place uses what is not a result of it."""
        inner = {n for p, n in found.items() if p.op != "placeholder" and p not in self.results}
        return all(own.issuperset(n.users) for n in inner if n.op != "get_attr")

    def describe(self, found: dict[Node, Any]) -> InternalMatch:
        """Return the place."""
        return InternalMatch(
            anchors=list(self.anchors),
            nodes_map=found,
            placeholder_nodes=[found[n] for n in self.inputs if n in found],
            returning_nodes=[found[n] for n in self.results],
        )


def replace_pattern(
    gm: GraphModule,
    pattern: Callable[..., Any] | GraphModule,
    replacement: Callable[..., Any] | GraphModule,
) -> list[Match]:
    """Replace all places of a pattern in a GraphModule that have no Node in common.

    Args:
        gm: the GraphModule, which is changed.
        pattern: what is looked for, as a function of its inputs.
        replacement: what takes its place, as a function of the same inputs.

    Returns:
        The places.

    Raises:
        AssertionError: the pattern computes nothing, or the replacement has other inputs or results.

    >>> module = torch.fx.symbolic_trace(lambda x: torch.relu(x + 1) * torch.relu(x))
    >>> matches = torch.fx.replace_pattern(module, lambda x: torch.relu(x), lambda x: x.clamp(min=0))
    >>> print(module.code.strip())
    def forward(self, x):
        add = x + 1
        clamp = add.clamp(min = 0);  add = None
        clamp_1 = x.clamp(min = 0);  x = None
        mul = clamp * clamp_1;  clamp = clamp_1 = None
        return mul
    """
    replaced = replace_pattern_with_filters(gm, pattern, replacement)
    return [Match(r.anchor, r.nodes_map) for r in replaced]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Callable[..., Any] | Graph | GraphModule,
    replacement: Callable[..., Any] | Graph | GraphModule | None = None,
    match_filters: list[Callable[[InternalMatch, Graph, Graph], bool]] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
) -> list[ReplacedPatterns]:
    """Replace the places of a pattern in a GraphModule that conditions allow.

    Args:
        gm: the GraphModule, which is changed.
        pattern: what is looked for, as a function of its inputs, or a Graph.
        replacement: what takes its place, as a function of the same inputs, or a Graph; None: see the callback.
        match_filters: functions of (the place, the Graph, that of the pattern) that say whether it is replaced.
        ignore_literals: whether constants of the pattern stand for any.
        replacement_callback: a function of the same that returns the Graph which takes the place, or None.

    Returns:
        The places, with the Nodes that are there now.

    Raises:
        AssertionError: the pattern computes nothing, or the replacement has other inputs or results.
    """
    looked_for = graph_of(pattern)
    constant = None if replacement is None else graph_of(replacement)
    found: list[ReplacedPatterns] = []
    changed: dict[Node, Node] = {}
    for match in list(Matcher(looked_for, gm.graph, ignore_literals).find_all()):
        if not all(allow(match, gm.graph, looked_for) for allow in match_filters or ()):
            continue
        put = (
            replacement_callback(match, gm.graph, looked_for)
            if replacement_callback is not None
            else constant
        )
        if put is None:
            raise RequirementError(
                "Must provide either a replacement GraphModule or a replacement callback", hint="both"
            )
        found.append(put_in_place(gm.graph, match, put, changed))
        if isinstance(replacement, Module):
            for node in put.nodes:
                if node.op in ("get_attr", "call_module"):
                    copy_attribute(replacement, gm, node.target)  # type: ignore[arg-type]
    gm.delete_all_unused_submodules()
    gm.recompile()
    return found


def graph_of(program: Any) -> Graph:
    """Return the Graph of a function, or of a GraphModule."""
    if isinstance(program, Graph):
        return program
    return program.graph if isinstance(program, GraphModule) else symbolic_trace(program).graph


def put_in_place(
    graph: Graph, match: InternalMatch, put: Graph, changed: dict[Node, Node]
) -> ReplacedPatterns:
    """Put the Nodes of another Graph into a place; `changed` are results of earlier places, and what they are now."""
    inputs = [n for n in put.nodes if n.op == "placeholder"]
    found = {p: changed.get(n, n) if isinstance(n, Node) else n for p, n in match.nodes_map.items()}
    given = [found[p] for p in match.nodes_map if p.op == "placeholder"]
    if len(inputs) != len(given):
        raise RequirementError(
            f"the replacement has {len(inputs)} inputs, and the pattern {len(given)} that it uses",
            hint="functions of the same arguments",
        )
    copies: dict[Node, Any] = dict(zip(inputs, given))
    results = match.returning_nodes
    first = (
        next(n for n in graph.nodes if any(n in r.users for r in results))
        if any(r.users for r in results)
        else None
    )
    made: list[Node] = []
    with graph.inserting_before(first if first is not None else graph.output_node()):
        for node in put.nodes:
            if node.op not in ("placeholder", "output"):
                copies[node] = graph.node_copy(node, lambda n: copies[n])
                made.append(copies[node])
    new: Any = put.output_node().args[0]
    outputs: list[Argument] = list(new) if isinstance(new, list | tuple) else [new]
    if len(outputs) != len(results):
        raise RequirementError(
            f"the replacement has {len(outputs)} results, and the pattern {len(results)}",
            hint="as many of one",
        )
    for before, after in zip(results, outputs):
        node = map_arg(after, lambda n: copies[n])
        before.replace_all_uses_with(node)
        changed[before] = node
    own = {n for p, n in match.nodes_map.items() if p.op != "placeholder"}
    for node in reversed([n for n in graph.nodes if n in own]):
        if not node.users:
            graph.erase_node(node)
    return ReplacedPatterns(match.anchors[0], found, made)


__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]
