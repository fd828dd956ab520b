"""Graphs as machine code takes them as a whole: bodies of loops, and small programs.

Elementwise equations on values in memory become groups, however short; those on a few numbers, which are held in
registers, stay as they are.
"""

from __future__ import annotations

from ..core.graph import Equation, Graph, iter_subgraphs
from ..kernels.codegen.loops import inline_groups
from ..kernels.group import ENTRY, OPERATION
from .fusion import gather_groups, map_graphs

GUESS = 8  # steps of an inner while loop
# What takes ten times as long as other operations on a few numbers, and how long, in nanoseconds.
SLOW = frozenset(
    {"cholesky", "fold_in", "random_bits", "random_log_gamma", "random_real", "solve", "triangular_solve"}
)
CALL = 8e3


def copy_graph(graph: Graph) -> Graph:
    """Return the Graph with a cache of its own: what the cache of the original keeps may refer to it."""
    return Graph(graph.inputs, graph.equations, graph.outputs, graph.captured, graph.name)


def numpy_time(graph: Graph) -> float:
    """Return about how many nanoseconds NumPy takes for the equations of a Graph, called from Python."""
    return OPERATION + sum(map(equation_time, inline_groups(graph).equations))


def equation_time(equation: Equation) -> float:
    """Return about how many nanoseconds NumPy takes for an equation. How many steps a while loop takes is not known."""
    inner = sum(numpy_time(graph) for _, graph in iter_subgraphs(equation.params))
    steps = equation.params.get("length", GUESS if equation.primitive.name == "while_loop" else 1)
    call = CALL if equation.primitive.name in SLOW else OPERATION
    return inner * steps + call + ENTRY * largest(equation)


def is_small(graph: Graph) -> bool:
    """Whether NumPy spends more time on calls than on the entries of arrays."""
    equations = inline_groups(graph).equations
    return bool(equations) and ENTRY * sum(map(largest, equations)) <= OPERATION * len(equations)


def largest(equation: Equation) -> int:
    """Return the entries of the largest value of an equation."""
    return max([a.aval.size for a in (*equation.inputs, *equation.outputs)], default=0)


def gather(graph: Graph) -> Graph:
    """Return the Graph with groups of all elementwise equations on values in memory, in loops and branches too."""
    from ..kernels.native.steps import HELD

    single = inline_groups(graph)
    equations = []
    for e in single.equations:
        params = {key: map_graphs(value, gather) for key, value in e.params.items()}
        equations.append(Equation(e.primitive, e.inputs, e.outputs, params, e.site, e.quiet))
    single = Graph(single.inputs, equations, single.outputs, single.captured, single.name)
    return gather_groups(single, HELD + 1)
