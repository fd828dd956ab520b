"""`torch.autograd.graph.picture`: the recorded graph as a drawing, or as a tree of text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...extend import api_boundary, graph_text, pictures
from .._core.tape import Node
from .._core.tensor import Tensor
from ..errors import TensorError
from .recorded_graph import RecordedGraph

if TYPE_CHECKING:
    import os

    from .gradient_edge import GradientEdge
    from .recorded_graph import Entry, SavedValue


@api_boundary
def picture(
    of: Tensor | Node | GradientEdge | tuple | list,
    *,
    params: Mapping[str, Tensor] | None = None,
    max_nodes: int = 200,
) -> Picture:
    """The picture of the graph that was recorded behind Tensors, as it is now.

    It has a box for every Node, with its name, the shape and dtype of its results, what it has saved and how many bytes
    that takes, and the user's line that recorded it; an ellipse for every leaf. A memory is counted once.

    Args:
        of: a Tensor, a Node, a GradientEdge, or a tuple of these.
        params: names of leaves: `dict(model.named_parameters())`.
        max_nodes: a graph that has more Nodes is shown from the latest one on, with a note.

    Returns:
        A Picture: it shows itself in notebooks (`set_picture_in_notebooks` has Tensors and Nodes do that by
        themselves), prints as a tree, and can be saved.

    Raises:
        RuntimeError: a Tensor that requires no gradient has no graph.

    >>> w = torch.ones(3, requires_grad=True)
    >>> y = (w.exp() * w).sum()
    >>> shown = str(torch.autograd.graph.picture(y, params={"weight": w}))
    >>> [line.partition("f32")[0].rstrip() for line in shown.splitlines()[:5]]
    ['1 SumBackward0', '2 MulBackward0', '├─ 4 ExpBackward0', '│  3 weight', '└─ 3 weight (above)']
    >>> shown.splitlines()[-1]
    "nodes: 4, memory kept beside the leaves': 12 B"
    """
    return Picture(RecordedGraph(of, params or {}, max_nodes))


class Picture:
    """A picture of a recorded graph, made by `picture`: SVG where Graphviz is installed, and a tree of text.

    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> picture = torch.autograd.graph.picture(x * x)
    >>> type(picture).__name__
    'Picture'
    """

    def __init__(self, graph: RecordedGraph):
        self.graph = graph

    def __str__(self) -> str:
        return "\n".join(line.text for line in tree_lines(self.graph))

    __repr__ = __str__

    def _repr_mimebundle_(self, **wanted: Any) -> dict[str, str]:
        return pictures.show(lambda: build_drawing(self.graph), tree_lines(self.graph))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file, in the format that its suffix names.

        Args:
            path: `.txt` and `.html` are the tree of text; `.svg`, `.png`, `.pdf` and the other formats of Graphviz the
                drawing.

        Raises:
            RuntimeError: Graphviz is needed, and is not there or does not know the format.

        >>> import os, tempfile
        >>> y = torch.ones(3, requires_grad=True).sum()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     torch.autograd.graph.picture(y).save(os.path.join(folder, "graph.txt"))
        ...     os.listdir(folder)
        ['graph.txt']
        """
        path = Path(path)
        kind = path.suffix.lower().removeprefix(".")
        if kind in ("txt", "html"):
            text = f"{self}\n" if kind == "txt" else pictures.render_lines(tree_lines(self.graph))
            path.write_text(text, encoding="utf-8")
            return
        try:
            drawing = pictures.render_drawing(lambda: build_drawing(self.graph), kind)
        except ValueError:
            raise TensorError(
                f"Picture.save: no format of pictures is called {kind!r} ({path.name})",
                hint="end the name in .svg, .png, .pdf, .html or .txt",
            ) from None
        if drawing is None:
            raise TensorError(
                f"Picture.save: a drawing ({path.name}) needs Graphviz: its program `dot` and the package `graphviz`",
                hint="install both, or save the tree as .html or .txt",
            )
        path.write_bytes(drawing)


# -- as text ------------------------------------------
def tree_lines(graph: RecordedGraph) -> list[graph_text.Line]:
    """The tree as lines: a chain of nodes runs straight down, and the operands of a node with several hang on branches;
    later occurrences of a node have only its name."""
    rows: list[tuple[str, str, str, Any]] = []  # node, results, saved values, site
    met: set[Entry] = set()
    todo: list[tuple[tuple[Entry, int] | None, str, str]] = [(root, "", "") for root in reversed(graph.roots)]
    while todo:
        edge, head, body = todo.pop()
        if edge is None:
            rows.append((f"{head}…", "", "", None))
            continue
        entry, index = edge
        label = f"{head}{entry.number} {entry.name}" + (f" [{index}]" if len(entry.avals) > 1 else "")
        if entry in met:
            rows.append((f"{label} (above)", "", "", None))
            continue
        met.add(entry)
        rows.append((label, avals_text(entry), saved_text(entry), entry.site))
        behind = entry.next_entries
        if len(behind) == 1:
            todo.append((behind[0], body, body))
            continue
        branches = [("├─ ", "│  ")] * (len(behind) - 1) + [("└─ ", "   ")]
        for following, (first, others) in reversed([*zip(behind, branches)]):
            todo.append((following, body + first, body + others))
    widths = [
        max([len(row[i]) for row in rows if len(row[i]) <= graph_text.MAX_WIDTH], default=0) for i in range(3)
    ]
    lines = []
    for *cells, site in rows:
        text = "  ".join([f"{cell:<{width}}" for cell, width in zip(cells, widths)])
        lines.append(graph_text.Line(f"{text}  {site or ''}".rstrip(), site))
    return [*lines, *[graph_text.Line(note) for note in notes(graph)]]


def avals_text(entry: Entry) -> str:
    """`f32[3], f32[2,2]`; a question mark where a shape is not known."""
    return ", ".join("?" if aval is None else repr(aval) for aval in entry.avals)


def saved_text(entry: Entry) -> str:
    """`saves self f32[3] 12 B, other f32[] (shared)`."""
    if entry.is_freed:
        return "freed"
    return f"saves {', '.join(map(saved_value_text, entry.saved))}" if entry.saved else ""


def saved_value_text(value: SavedValue) -> str:
    """The line of a saved value, `self f32[3] 12 B`; "(shared)" stands for the size if the memory belongs to a leaf or
    was listed before, "(packed)" if a hook has packed the value."""
    if value.aval is None:
        return f"{value.name} (packed)"
    size = "(shared)" if value.is_shared else size_text(value.size)
    return f"{value.name} {value.aval!r} {size}".lstrip()


def size_text(size: int) -> str:
    """`12 B`, `1.5 kB`, `20 MB`."""
    number, unit = float(size), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if number < 1000 or unit == "TB":
            break
        number /= 1000
    return f"{number:.3g} {unit}"


def notes(graph: RecordedGraph) -> list[str]:
    """The caption of the picture: the memory of saved values, and what the picture leaves out."""
    count = len(graph.entries)
    found = [f"nodes: {count}, memory kept beside the leaves': {size_text(graph.saved_size)}"]
    if graph.num_hidden:
        found.append(f"… {graph.num_hidden} earlier nodes are not shown (max_nodes={count})")
    return found


# -- as a drawing ------------------------------------------
def build_drawing(graph: RecordedGraph) -> Any:
    """The drawing: a box for every node, an ellipse for every leaf, edges from operands to results."""
    from graphviz import escape as quoted

    drawing = pictures.new_digraph("graph")
    for entry in graph.entries:
        name = str(entry.number)
        if entry.is_leaf:
            drawing.node(name, quoted(f"{entry.name}: {avals_text(entry)}"), shape="ellipse")
        else:
            lines = [
                f"{name} {entry.name}",
                "freed" if entry.is_freed else "",
                *map(saved_value_text, entry.saved),
            ]
            label = "".join(quoted(line) + r"\l" for line in [*lines, str(entry.site)] if line)
            drawing.node(name, label, tooltip=quoted(entry.site.describe()) if entry.site else "")
        for following in entry.next_entries:
            if following is None:
                drawing.node("hidden", quoted(notes(graph)[-1]), shape="plaintext")
                drawing.edge("hidden", name, style="dashed")
            else:
                draw_edge(drawing, following, name)
    for i, root in enumerate(graph.roots):
        drawing.node(f"root{i}", "result" if len(graph.roots) == 1 else f"result {i}", style="rounded")
        draw_edge(drawing, root, f"root{i}")
    drawing.attr(label=quoted(notes(graph)[0]), fontname="monospace", fontsize="10")
    return drawing


def draw_edge(drawing: Any, edge: tuple[Entry, int], target: str) -> None:
    """Add an edge to a drawing, labelled with the aval of its value."""
    entry, index = edge
    aval = entry.avals[index] if index < len(entry.avals) else None
    several = f"[{index}] " if len(entry.avals) > 1 else ""
    drawing.edge(
        str(entry.number),
        target,
        label="" if entry.is_leaf else f"{several}{'?' if aval is None else aval!r}",
    )


# -- in notebooks ------------------------------------------
def set_picture_in_notebooks(enabled: bool) -> None:
    """Have notebooks show Tensors that require a gradient, and Nodes, as the picture of their graph, or no longer; for
    the whole process.

    Args:
        enabled: True for pictures, False for text, as it is at first.

    Returns:
        None.

    >>> torch.autograd.graph.set_picture_in_notebooks(True)
    >>> y = torch.ones(3, requires_grad=True).sum()
    >>> "SumBackward0" in str(y._repr_mimebundle_())  # which notebooks call
    True
    >>> torch.autograd.graph.set_picture_in_notebooks(False)
    >>> hasattr(y, "_repr_mimebundle_")
    False
    """
    for kind in (Tensor, Node):
        if enabled:
            setattr(kind, _repr_mimebundle_.__name__, _repr_mimebundle_)
        elif _repr_mimebundle_.__name__ in vars(kind):
            delattr(kind, _repr_mimebundle_.__name__)


def _repr_mimebundle_(self: Tensor | Node, **wanted: Any) -> dict[str, str] | None:
    return picture(self)._repr_mimebundle_() if has_graph(self) else None


def has_graph(of: Tensor | Node) -> bool:
    """Whether there is a graph behind a Tensor or Node."""
    return isinstance(of, Node) or of.requires_grad
