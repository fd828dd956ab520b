"""Passes from Graphs to Graphs. A Graph is compiled after every pass of the table `PASSES` has run, in order.

A pass is a pure function of one Graph. It returns a Graph with the same inputs and with outputs of the same avals, or
the same Graph object if it has nothing to do, and `Graph.check` must hold for its result. It may rely only on these
properties of a Graph:

* values are those of the equations' NumPy kernels: to rounding, or bit for bit, with −0.0, NaN and infinities, if the
  pass says so (except for the sign of NaN); variables that are kept keep their avals (dtype, weakness);
* equations that are `effectful` or `bound_to_axis`, and those whose primitive has `identity_params`, are neither
  merged, nor dropped, nor moved past one another;
* equations that would warn are not evaluated at compile time; a merged equation warns if one of its parts would;
* a merged equation has the site of the equation whose value it computes;
* sub-graphs (bodies of loops, branches) are Graphs like others: the table is applied to them as well.

Every pass removes equations that it has made unneeded. The optimized Graph only computes values: derivatives, batches
and other transforms of a jitted function use the Graph as staged, so that passes may drop equations without effect on
values (`stop_gradient`).

The last pass of the table is `fuse`: it merges groups of elementwise equations (with reductions) into single
equations of the primitive `fused`.
"""

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
from .repeats import repeat_cheap_steps
from .stacking import stack_products
from .ties import scale_rare_entries


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


def simplify(graph: Graph) -> Graph:
    """Return a Graph after the passes that pay for a short one, which is used at once: a derived pullback."""
    for name in ("constants", "common", "algebra", "masks", "contractions"):
        graph = PASSES[name](graph)
    return graph


def compact(graph: Graph) -> Graph:
    """Return the Graph of an operation, for arrays of these very shapes, with groups as single equations."""
    return fuse(repeat_cheap_steps(expand_formulas(simplify(graph))))


def simplify_any_shapes(graph: Graph) -> Graph:
    """Return a Graph after the passes that hold whatever the shapes are, where avals stand for those of others."""
    return scale_rare_entries(join_masks(share_common(graph)))
