"""The table of passes, and what runs all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..core.graph import Equation, Graph
from .algebra import simplify_algebra
from .association import associate_contractions
from .common import share_common
from .constants import fold_constants
from .contractions import simplify_contractions
from .draft import Draft, rewrite
from .factors import move_factors
from .formulas import expand_formulas
from .fusion import fuse, map_graphs
from .gather import gather_coefficients
from .loops import trim_loops
from .marks import drop_marks
from .masks import join_masks
from .stacking import stack_products


def tidy(graph: Graph) -> Graph:
    """Fold and share what the passes before have left."""
    return share_common(simplify_algebra(fold_constants(graph)))


def optimize_bodies(graph: Graph) -> Graph:
    """Optimize the Graphs that equations carry out: the bodies of loops, the branches of `cond`."""
    if not any(equation.primitive.multiple_results for equation in graph.equations):
        return graph
    return rewrite(graph, optimize_params)


def optimize_params(equation: Equation, draft: Draft) -> Equation | None:
    """Return an equation with optimized Graphs in its params."""
    primitive = equation.primitive
    if not primitive.multiple_results or primitive.identity_params:
        return None
    params = {key: map_graphs(value, optimize) for key, value in equation.params.items()}
    if all(params[key] is value for key, value in equation.params.items()):
        return None
    return Equation(primitive, equation.inputs, equation.outputs, params, equation.site, equation.quiet)


PASSES: dict[str, Callable[[Graph], Graph]] = {
    "marks": drop_marks,
    "loops": trim_loops,
    "bodies": optimize_bodies,
    "formulas": expand_formulas,
    "constants": fold_constants,
    "common": share_common,
    "algebra": simplify_algebra,
    "masks": join_masks,
    "contractions": simplify_contractions,
    "association": associate_contractions,
    "coefficients": gather_coefficients,
    "factors": move_factors,
    "stacking": stack_products,
    "tidy": tidy,
    "fuse": fuse,
}


def steps(graph: Graph) -> Iterator[tuple[str, Graph]]:
    """Generate the Graph after each pass, by the name of the pass."""
    tidied = None
    for name, run in PASSES.items():
        if name != "tidy" or graph is not tidied:
            graph = run(graph)
        if name == "algebra":  # as `tidy` leaves it
            tidied = graph
        yield name, graph


def optimize(graph: Graph) -> Graph:
    """Return a Graph after every pass of the table; made once for a Graph."""
    if optimize not in graph.cache:
        *_, (_, found) = steps(graph)
        found.cache[optimize] = None  # itself, to which it does not refer
        if found is not graph:
            graph.cache[optimize] = found
    return graph.cache[optimize] or graph
