"""Pictures of Graphs for notebooks: drawn by Graphviz if it is installed, otherwise an HTML listing.

`show`, `render_lines` and `render_drawing` also serve other pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from shutil import which
from typing import Any

from . import graph_text
from .graph import Graph, Var, iter_subgraphs
from .graph_text import Line

_FONT = {"fontname": "monospace", "fontsize": "10"}
_STYLE = "font-family: monospace; white-space: pre; line-height: 1.4; text-align: left"


def show_graph(graph: Graph) -> dict[str, str]:
    """What a notebook shows of a graph."""
    return show(lambda: build_digraph(graph), graph_text.listing(graph))


def show(build: Callable[[], Any], lines: Iterable[Line]) -> dict[str, str]:
    """What a notebook shows, by its MIME type: the drawing that `build` makes or, without Graphviz, the lines. Never
    both: of the two, most notebooks would take the lines."""
    drawn = render_drawing(build)
    return {"text/html": render_lines(lines)} if drawn is None else {"image/svg+xml": drawn.decode()}


def render_lines(lines: Iterable[Line]) -> str:
    """Lines as one HTML element; the user's source line shows where the pointer rests."""
    rows: list[str] = []
    for line in lines:
        title = "" if line.site is None else f' title="{escape(line.site.describe())}"'
        rows.append(f"<div{title}>{escape(line.text)}</div>")
    return f'<div style="{_STYLE}">{"".join(rows)}</div>'


def render_drawing(build: Callable[[], Any], kind: str = "svg") -> bytes | None:
    """What `build` makes with `new_digraph`, drawn by Graphviz in a format that it knows; None without its `dot` or the
    Python package."""
    if which("dot") is None:
        return None
    try:
        drawing = build()
    except ImportError:
        return None
    return drawing.pipe(format=kind)


def load_graphviz() -> Any:
    """Import the Python package graphviz."""
    import graphviz  # pyright: ignore[reportMissingTypeStubs]  # which has no types

    return graphviz


def new_digraph(name: str) -> Any:
    """An empty drawing in the style of the house."""
    return load_graphviz().Digraph(name, node_attr={"shape": "box", **_FONT}, edge_attr=_FONT)


def build_digraph(graph: Graph) -> Any:
    """The drawing: an ellipse for every input and captured value, a box for every equation."""
    drawing = new_digraph(graph.name)
    draw_graph(drawing, graph, "")
    return drawing


def draw_graph(drawing: Any, graph: Graph, prefix: str) -> None:
    """Add the nodes of a graph. `prefix` keeps the nodes of sub-graphs, each in its own frame, apart."""
    quoted = load_graphviz().escape
    called = graph_text.variable_names(graph)
    made: dict[Var, str] = {}  # variable → the node that makes it

    def draw_edges(atoms: Sequence[Any], node: str) -> None:
        for atom in atoms:
            if type(atom) is Var:
                drawing.edge(made[atom], node, label=quoted(repr(atom.aval)))

    for var in (*graph.inputs, *graph.captured):
        made[var] = prefix + called[var]
        drawing.node(made[var], quoted(f"{called[var]}: {var.aval!r}"), shape="ellipse")
    for number, equation in enumerate(graph.equations):
        node = f"{prefix}equation{number}"
        tooltip = "" if equation.site is None else quoted(equation.site.describe())
        drawing.node(node, quoted(graph_text.statement(equation, called)), tooltip=tooltip)
        draw_edges(equation.inputs, node)
        made.update((var, node) for var in equation.outputs)
        for path, sub in iter_subgraphs(equation.params):
            with drawing.subgraph(name=f"cluster_{node}_{path}") as frame:
                frame.attr(label=quoted(f"{path}: {sub.name}"), **_FONT)
                draw_graph(frame, sub, f"{node}_{path}_")
    results = ", ".join(graph_text.atom_text(a, called) for a in graph.outputs)
    drawing.node(f"{prefix}return", quoted(f"return {results}"), style="rounded")
    draw_edges(graph.outputs, f"{prefix}return")
