"""The stages of a jitted function, for inspection: `fx.jit(f).lower(*args)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core import pytree
from ..core.aval import aval_of
from ..core.errors import DTypeError, ShapeError, StructureError
from ..core.interpreter import api_boundary
from ..core.surface import is_alike
from ..passes.table import steps
from .arguments import LeafName, admit_or_float0, argument_path

if TYPE_CHECKING:
    from ..core.graph import Graph
    from .compiled_graph import CompiledGraph


class Lowered:
    """A function staged for arguments of one kind, and its Graph after each pass of the compiler.

    `fx.jit(f).lower(*args, **kwargs)` makes it; the arguments may be `ShapeDtypeStruct`s. Printed, it tells what each
    pass has done.

    Attributes:
        passes: the Graph after each pass, by the name of the pass; the first, "staged", is what transforms see.
        source: the Python that is run, on NumPy arrays.

    >>> lowered = fx.jit(fx.grad(lambda x: fnp.sum(x * x))).lower(np.ones(3))
    >>> [len(lowered.passes[name].equations) for name in ("staged", "constants")]
    [7, 3]
    >>> lowered.source.startswith("def compiled(x0):")
    True
    >>> lowered.compile()(np.array([1.0, 2.0, 3.0]))
    array([2., 4., 6.])
    """

    def __init__(self, name: str, graph: Graph, entry: CompiledGraph, structure: Any):
        self.name, self.entry, self.structure = name, entry, structure
        self.passes: dict[str, Graph] = {"staged": graph, **dict(steps(graph))}

    @property
    def source(self) -> str:
        return (self.entry.plain or self.entry.traced).source

    def as_text(self) -> str:
        """Return the Graph after all passes, as text."""
        return repr(self.entry.optimized)

    def compile(self) -> Compiled:
        """Return the function for arguments of this kind only."""
        return Compiled(self)

    def __repr__(self) -> str:
        lines, before = [f"{self.name}, {len(self.passes['staged'].equations)} equations as staged"], None
        for label, graph in self.passes.items():
            if before is not None and graph is not before:
                lines.append(f"  {label}: {len(before.equations)} → {len(graph.equations)}")
            before = graph
        return "\n".join([*lines, self.as_text()])


class Compiled:
    """A function compiled for arguments of one kind: `fx.jit(f).lower(*args).compile()`.

    It takes the arguments that are not static. Its Python is `source`.

    Raises:
        StructureError: the arguments have another structure than those it was lowered for.
        ShapeError, DTypeError: an argument has another shape, or another dtype.
    """

    def __init__(self, lowered: Lowered):
        self.lowered = lowered

    source = property(lambda self: self.lowered.source)

    def as_text(self) -> str:
        """Return the Graph after all passes, as text."""
        return self.lowered.as_text()

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name, expected = self.lowered.name, self.lowered.structure
        leaves, structure = pytree.flatten((args, kwargs))
        if not is_alike(expected, structure):
            raise StructureError(
                f"{name} is compiled for arguments of the structure {expected}, not {structure}",
                hint="such arguments, or lower(…).compile() with these",
            )
        for i, (value, aval) in enumerate(zip(leaves, self.lowered.entry.graph.in_avals)):
            label = LeafName(f"{name}: the argument", argument_path, structure, i, True)
            leaves[i] = admit_or_float0(value, label)
            if aval_of(leaves[i]) != aval:
                error = ShapeError if aval_of(leaves[i]).shape != aval.shape else DTypeError
                raise error(f"{label} is {aval_of(leaves[i])!r}, it is compiled for {aval!r}")
        return self.lowered.entry.run(leaves)

    def __repr__(self) -> str:
        return self.as_text()
