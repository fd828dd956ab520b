"""What `jit(control="follow")` has learned, to look at: the tree of its segments, as text and as a picture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import picture
from ...core.graph_text import Line
from .program import Node, Program, Way

if TYPE_CHECKING:
    from ...core.graph import Graph


class Segments:
    """The segments of compiled code that a function under `jit(control="follow")` has for arguments of one kind, and
    the decisions between them, as they are now: `fx.jit(f, control="follow").lower(*args)`.

    Printed, it is a tree: from each decision, which names its line, branches lead along the ways that were taken, with
    how often that was. A way to a decision that stands further up closes a loop, or joins another way. In notebooks it
    is a picture.

    Attributes:
        graphs: the Graph of each segment, by the number of the decision before it (0: the start) and the answer.

    >>> @fx.jit(control="follow")
    ... def halve(x):
    ...     while True:
    ...         if x <= 1.0:
    ...             return x
    ...         x = x / 2
    >>> segments = halve.lower(np.array(12.0))
    >>> print(segments)
    halve: 1 decision, 3 segments
    start 1×, 1 equation → 1: ...if x <= 1.0:
    ├─ False 4×, 2 equations → 1 (above)
    └─ True 1×, 0 equations → end
    >>> [equation.primitive.name for equation in segments.graphs[1, "False"].equations]
    ['divide', 'less_equal']
    """

    def __init__(self, program: Program):
        program.settle()
        self.name = program.name
        self.start = program.start
        self.numbers: dict[int, int] = {}
        self.ways = [*program.ways()]
        for way in self.ways:
            if isinstance(way.target, Node):
                self.numbers.setdefault(id(way.target), 1 + len(self.numbers))
        self.times = {id(way): way.times for way in self.ways}
        self.graphs: dict[tuple[int, str], Graph] = {
            (self.number(way.node), answer_of(way)): way.graph for way in self.ways
        }

    def number(self, node: Node | None) -> int:
        """Return the number of a decision, in the order of the tree; 0 for the start."""
        return 0 if node is None else self.numbers[id(node)]

    def label(self, way: Way) -> str:
        """Return what was answered, how often, and how much is computed then."""
        count = len(way.graph.equations)
        return f"{answer_of(way)} {self.times[id(way)]}×, {count} equation{'s' * (count != 1)}"

    def lines(self) -> Iterator[Line]:
        """Yield the lines of the tree. What follows a decision with one way stands below it, without a branch."""
        decisions, segments = len(self.numbers), len(self.ways)
        yield Line(
            f"{self.name}: {decisions} decision{'s' * (decisions != 1)}, {segments} segment{'s' * (segments != 1)}"
        )
        met: set[int] = set()
        pending = [] if self.start is None else [(self.start, "", "")]
        while pending:
            way, head, body = pending.pop()
            node, text = way.target, f"{head}{self.label(way)}"
            if not isinstance(node, Node):
                yield Line(f"{text} → end")
                continue
            number = self.number(node)
            if id(node) in met:
                yield Line(f"{text} → {number} (above)", node.site)
                continue
            met.add(id(node))
            yield Line(f"{text} → {number}: {question_of(node)}", node.site)
            ways = [way for way in node.ways.values() if id(way) in self.times]
            if len(ways) == 1:
                pending.append((ways[0], body, body))
                continue
            branches = [("├─ ", "│  ")] * (len(ways) - 1) + [("└─ ", "   ")]
            for way, (first, others) in reversed([*zip(ways, branches)]):
                pending.append((way, body + first, body + others))

    def draw(self) -> Any:
        """Return the picture, made with the package graphviz: `.source` is its text, `.render(…)` writes a file."""
        drawing, quoted = picture.new_digraph(self.name), picture.load_graphviz().escape
        drawing.node("0", "start", shape="ellipse")
        for way in self.ways:
            node = way.target
            if isinstance(node, Node):
                target = str(self.number(node))
                drawing.node(target, quoted(f"{target}: {question_of(node)}"))
            else:
                target = "end"
                drawing.node(target, "end", style="rounded")
            drawing.edge(
                str(self.number(way.node)),
                target,
                label=quoted(self.label(way)),
                tooltip=quoted(repr(way.graph)),
            )
        return drawing

    def as_text(self) -> str:
        """Return the Graphs of all segments, each below the decision and the answer that lead to it."""
        parts = [
            f"{number or 'start'}{f' {answer}' * bool(number)}:\n{graph!r}"
            for (number, answer), graph in self.graphs.items()
        ]
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        return "\n".join([line.text for line in self.lines()])

    def _repr_mimebundle_(self, **wanted: Any) -> dict[str, str]:
        return picture.show(self.draw, self.lines())


def answer_of(way: Way) -> str:
    """Return what was answered at the beginning of a way."""
    if way.node is None:
        return "start"
    value = np.asarray(way.answer).item()
    return repr(bool(value) if way.node.operation == "bool()" else value)


def question_of(node: Node) -> str:
    """Return the line at which a program decides, and by which operation."""
    site = node.site
    place = node.operation if site is None else f"{site}  {site.line}".rstrip()
    return place if site is None or node.operation == "bool()" else f"{place}  ({node.operation})"
