"""Equations that become one machine function: the body of a loop, or a run of equations on small arrays, for which a
call of NumPy takes longer than its arithmetic.

Among them elementwise equations on values in memory become groups, however short; those on a few numbers, which are
held in registers, stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..core.costs import CALLED_ENTRIES, ENTRY_TIME, OPERATION_TIME, SLOW_OPERATION_TIME, STEP_INSTRUCTIONS
from ..core.graph import Equation, Graph, Var, iter_subgraphs
from ..kernels.codegen.loops import inline_groups
from ..kernels.native import engine
from ..kernels.space import READING
from .fusion import count_readers, fuse_equations, gather_groups, map_graphs, relax, sources

GUESS = 8  # steps of an inner while loop
# What takes ten times as long as other operations on a few numbers.
SLOW = frozenset(
    {"cholesky", "fold_in", "random_bits", "random_log_gamma", "random_real", "solve", "triangular_solve"}
)
FEWEST = {"auto": 2, "always": 1}  # equations of a run


def copy_graph(graph: Graph) -> Graph:
    """Return the Graph with a cache of its own: what the cache of the original keeps may refer to it."""
    return Graph(graph.inputs, graph.equations, graph.outputs, graph.captured, graph.name)


def numpy_time(graph: Graph) -> float:
    """Return about how many nanoseconds NumPy takes for the equations of a Graph, called from Python."""
    return OPERATION_TIME + sum(map(equation_time, inline_groups(graph).equations))


def equation_time(equation: Equation) -> float:
    """Return about how many nanoseconds NumPy takes for an equation. How many steps a while loop takes is not known."""
    inner = sum(numpy_time(graph) for _, graph in iter_subgraphs(equation.params))
    steps = equation.params.get("length", GUESS if equation.primitive.computes == "while_loop" else 1)
    call = SLOW_OPERATION_TIME if equation.primitive.computes in SLOW else OPERATION_TIME
    return (
        inner * steps
        + call
        + ENTRY_TIME * max([a.aval.size for a in (*equation.inputs, *equation.outputs)], default=0)
    )


def gather(graph: Graph) -> Graph:
    """Return the Graph with groups of all elementwise equations on values in memory, in loops and branches too."""
    from ..kernels.native.steps import HELD

    single = inline_groups(graph)
    equations = []
    for e in single.equations:
        params = {key: map_graphs(value, gather) for key, value in e.params.items()}
        equations.append(Equation(e.primitive, e.inputs, e.outputs, params, e.site, e.quiet))
    single = Graph(single.inputs, equations, single.outputs, single.captured, single.name)
    return gather_groups(single, HELD.get() + 1)


# -- runs ------------------------------------------
def is_small(equation: Equation) -> bool:
    """Whether NumPy takes longer for the call of an equation than for the entries of its arrays."""
    read = () if equation.primitive.computes in READING else equation.inputs
    return all(a.aval.size <= CALLED_ENTRIES for a in (*read, *equation.outputs))


def small_time(graph: Graph) -> float:
    """Return about how many nanoseconds NumPy takes for the small equations of a Graph, 0 for too few of them."""
    if engine.mode() not in FEWEST:
        return 0.0
    small = [e for e in inline_groups(graph, CALLED_ENTRIES + 1).equations if is_small(e)]
    return sum(map(equation_time, small)) if len(small) >= FEWEST[engine.mode()] else 0.0


def fuse_runs(graph: Graph, fastmath: bool) -> Graph:
    """Return the Graph with every run of small equations as a single one, which is one machine function."""
    from ..kernels.native.steps import admits_graph

    single = inline_groups(graph, CALLED_ENTRIES + 1)
    readers = count_readers(single)
    equations: list[Equation] = []

    def change(body: Graph) -> Graph:
        return relax(gather(body)) if fastmath else gather(body)

    for run, fits in cut_runs(single):
        if not fits or not run or len(run) < FEWEST.get(engine.mode(), 2):
            equations += run
            continue
        fused = fuse_equations(run, readers, change, native=True, whole=True)
        if admits_graph(fused.params["graph"], len(fused.inputs)):
            equations.append(fused)
        else:
            equations += run
    return Graph(single.inputs, equations, single.outputs, single.captured, single.name)


def cut_runs(graph: Graph) -> Iterator[tuple[list[Equation], bool]]:
    """Generate the equations in runs of those that machine code can be made of, and of the others. What needs none of
    the others goes before them, so that runs are as long as possible."""
    from ..kernels.native import call, steps

    rest: Sequence[Equation] = graph.equations
    while rest:
        run: list[Equation] = []
        others: list[Equation] = []
        waiting: list[Equation] = []
        late: set[Var] = set()  # what the run cannot read
        instructions = 0
        for e in rest:
            waits = not late.isdisjoint(sources(e))
            fits = is_small(e) and call.admits(e)
            more = steps.instructions_of(e) if fits else 0
            if fits and not waits and (not run or instructions + more <= STEP_INSTRUCTIONS):
                run.append(e)
                instructions += more
                continue
            (waiting if waits or fits else others).append(e)
            late.update(e.outputs)
        yield run, True
        yield others, False
        rest = waiting
