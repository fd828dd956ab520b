"""Graphs that control flow derives from the Graphs of its bodies: tangents, batches, transposes, and the partial
evaluation of a body that is linear in some of its inputs. They depend only on the Graph and on patterns of booleans,
and are cached with the Graph. The Graph is closed: it captures no traced values.

The inputs of a loop's body are (consts, carry, rows of xs), its outputs (carry, rows of ys).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple

from .. import ops
from ..core.aval import Aval, aval_of, kind_of
from ..core.graph import Equation, Graph, Var
from ..core.interpreter import innermost_primal
from ..core.same_graphs import intern_graph
from ..core.staging import GraphTracer, stage
from ..kernels.codegen.source import compile_graph
from ..ops.kinds import ensure_batched
from ..ops.masked import densify
from ..ops.transpose import transpose_graph
from ..passes.table import optimize
from .jvp import jvp_flat
from .vmap import MAPPED_AXIS, BatchTracer, vmap_flat

Flags = tuple[bool, ...]


def cached_on_graph(function: Callable) -> Callable:
    """Cache a function of a Graph and hashable patterns on the Graph: it is computed once for each
    pattern."""

    @wraps(function)
    def lookup(graph: Graph, *pattern: Any) -> Any:
        key = (function, MAPPED_AXIS.get(), *pattern)
        try:
            return graph.cache[key]
        except KeyError:
            found = graph.cache[key] = function(graph, *pattern)
            return found

    return lookup


@cached_on_graph
def numpy_function(graph: Graph) -> Callable[..., list[Any]]:
    """Compile a Graph to a function on NumPy values."""
    return compile_graph(optimize(graph), True)


@cached_on_graph
def without_effects(graph: Graph) -> Graph:
    """Return the Graph without effects that no output needs, for what computes values again."""
    return graph.prune(keep_effects=False)


def is_abstract(value: Any) -> bool:
    """Whether the value, below the levels of derivatives and batches, belongs to a Graph under construction."""
    value = innermost_primal(value)
    return is_abstract(value.value) if isinstance(value, BatchTracer) else type(value) is GraphTracer


def close_graphs(*graphs: Graph) -> tuple[list[Graph], list[Any]]:
    """Turn the captured values of all graphs into leading inputs; return the graphs and those values."""
    values: dict[int, Any] = {}
    for graph in graphs:
        values.update((id(v), v) for v in graph.captured.values())
    closed_graphs = []
    for graph in graphs:
        own = {id(v): var for var, v in graph.captured.items()}
        consts = [own.get(key) or Var(aval_of(v)) for key, v in values.items()]
        closed_graphs.append(
            Graph([*consts, *graph.inputs], graph.equations, graph.outputs, None, graph.name)
        )
    return list(map(intern_graph, closed_graphs)), list(values.values())


def split_list(values: Sequence[Any], *counts: int) -> list[list[Any]]:
    """Split a sequence into consecutive parts of these lengths, and the rest."""
    parts, start = [], 0
    for count in counts:
        parts.append(list(values[start : start + count]))
        start += count
    return [*parts, list(values[start:])]


def select_list(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    """Select the values whose flag is set."""
    return [v for v, f in zip(values, flags) if f]


def expand_list(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    """Invert `select_list`: put the values where the flag is set, and None elsewhere."""
    rest = iter(values)
    return [next(rest) if f else None for f in flags]


def negate_flags(flags: Sequence[bool]) -> list[bool]:
    return [not f for f in flags]


def or_flags(a: Sequence[bool], b: Sequence[bool]) -> Flags:
    """Combine flags: set where either is set."""
    return tuple([x or y for x, y in zip(a, b)])


def add_carry_flags(flags: Flags, consts: int, carry: Sequence[bool]) -> Flags:
    """Set the flags of a carry, among those of the inputs of a body, that are set here or there."""
    end = consts + len(carry)
    return (*flags[:consts], *or_flags(flags[consts:end], carry), *flags[end:])


def tangent_aval(aval: Aval) -> Aval:
    return Aval(aval.shape, aval.dtype)


def as_strong_tangent(value: Any) -> Any:
    """Convert a tangent or cotangent to its `tangent_aval`: dense, and no Python number."""
    value = densify(value)
    aval = aval_of(value)
    return ops.convert(value, dtype=aval.dtype) if aval.weak else value


def zeros_of_aval(aval: Aval, like: Any) -> Any:
    """Make zeros for a cotangent that does not exist, in the array library of another value."""
    have = aval_of(like)
    zero = ops.zeros_like(like)
    if have.shape:
        zero = ops.reduce_sum(zero, axes=tuple(range(have.ndim)))
    if kind_of(have.dtype) == "c" != kind_of(aval.dtype):
        zero = ops.real(zero)
    return ops.broadcast_to(ops.convert(zero, dtype=aval.dtype), shape=aval.shape)


def add_batch_axes(
    values: Sequence[Any], is_batched: Sequence[bool], wanted: Sequence[bool], size: int
) -> list[Any]:
    """Give the operands a batch axis where it is wanted."""
    beside = select_list(values, is_batched)
    results = []
    for value, have, want in zip(values, is_batched, wanted):
        aval = aval_of(value)
        if have or not want:
            results.append(value)
        elif aval.shape or not beside:
            results.append(ensure_batched(value, False, size))
        else:  # a number has no library of its own
            results.append(ops.add(zeros_of_aval(Aval((size,), aval.dtype), beside[0]), value))
    return results


# -- forward mode
@cached_on_graph
def jvp_graph(graph: Graph, active: Flags, wanted: Flags) -> tuple[Graph, Flags]:
    """Derive the Graph (*inputs, *tangents of the active inputs) → (*outputs, *tangents of outputs); return
    it, and which outputs have tangents."""
    present: list[bool] = []

    def jvp_values(*values: Any) -> list[Any]:
        primals, tangents = split_list(values, len(active))
        ys, ts = jvp_flat(graph, primals, expand_list(tangents, active))
        ts = [ops.zeros_like(y) if t is None and w else t for y, t, w in zip(ys, ts, wanted)]
        present[:] = [t is not None for t in ts]
        return [*ys, *map(as_strong_tangent, select_list(ts, present))]

    avals = [*graph.in_avals, *map(tangent_aval, select_list(graph.in_avals, active))]
    return stage(jvp_values, avals, graph.name), tuple(present)


@cached_on_graph
def jvp_body(body: Graph, consts: int, carry: int, active: Flags) -> tuple[Graph, Flags, Flags]:
    """Derive the body that carries values and tangents; return it, which inputs have tangents, and which
    outputs. Its inputs are the consts and their tangents, the carry and its tangents, the rows and their
    tangents; its outputs likewise.

    A carry has a tangent when its initial value or, after some step, its next value has one.
    """
    while True:
        wanted = (*active[consts : consts + carry], *[False] * (len(body.outputs) - carry))
        graph, present = jvp_graph(body, active, wanted)
        grown = add_carry_flags(active, consts, present[:carry])
        if grown == active:
            break
        active = grown
    primals, tangents = split_list(graph.inputs, len(active))
    ys, ts = split_list(graph.outputs, len(present))
    inputs = merge_lists(primals, expand_list(tangents, active), consts, carry)
    outputs = merge_lists(ys, expand_list(ts, present), carry)
    return Graph(inputs, graph.equations, outputs, graph.captured, body.name), active, present


def merge_lists(values: Sequence[Any], tangents: Sequence[Any], *counts: int) -> list[Any]:
    """Merge two lists part by part: every part of the values is followed by its tangents, as far as these
    exist."""
    mixed = []
    for part, tangent_part in zip(split_list(values, *counts), split_list(tangents, *counts)):
        mixed += [*part, *(t for t in tangent_part if t is not None)]
    return mixed


def unmerge_lists(values: Sequence[Any], active: Flags, *counts: int) -> tuple[list[Any], list[Any]]:
    """Invert `merge_lists`: return the values, and the tangents or None."""
    primals, tangents, start = [], [], 0
    for flags in split_list(active, *counts):
        here, moving, _ = split_list(values[start:], len(flags), sum(flags))
        primals += here
        tangents += expand_list(moving, flags)
        start += len(here) + len(moving)
    return primals, tangents


def tangent_flags(active: Flags, *counts: int) -> Flags:
    """Tell which values of a merged list are tangents."""
    places: list[bool] = []
    for flags in split_list(active, *counts):
        places += [False] * len(flags) + [True] * sum(flags)
    return tuple(places)


# -- the two halves of a body that is linear in some inputs
class PartialEval(NamedTuple):
    """A loop body that is linear in some of its inputs, split into the equations that do not depend on those inputs,
    and the linear rest.

    `linear_in`: which inputs are linear, with those carries that become so; `linear_out`: which outputs are.
    `invariant_graph`: consts → residuals that are the same in every step, computed once and not stacked.
    `known_body`: known inputs → (known carry, known ys, residuals of the step): a body itself.
    `residual_rows`: which of the known xs are residuals as they are.
    `linear_body`: (invariant, rows, residuals of the step, linear inputs) → linear outputs.
    """

    linear_in: Flags
    linear_out: Flags
    invariant_graph: Graph
    known_body: Graph
    residual_rows: Flags
    linear_body: Graph


@cached_on_graph
def partial_eval(body: Graph, consts: int, carry: int, linear: Flags) -> PartialEval:
    """Evaluate a body partially: split it into the known and the linear half; the linear carries are a fixed
    point of the loop."""
    while True:
        dependent = body.dependents(select_list(body.inputs, linear))
        moved = tuple([a in dependent for a in body.outputs])
        grown = add_carry_flags(linear, consts, moved[:carry])
        if grown == linear:
            break
        linear = grown
    moved = (*linear[consts : consts + carry], *moved[carry:])
    parts = zip(split_list(body.inputs, consts, carry), split_list(negate_flags(linear), consts, carry))
    fixed, state, rows = (select_list(part, known) for part, known in parts)
    known_inputs = [*fixed, *state, *rows]
    # Effects on linear values belong to neither half.
    first = [e for e in body.equations if dependent.isdisjoint((*e.inputs, *e.outputs))]
    second = [e for e in body.equations if not dependent.isdisjoint(e.outputs)]
    linear_outputs = select_list(body.outputs, moved)
    made = {*known_inputs, *(v for e in first for v in e.outputs)}
    read = dict.fromkeys(a for e in second for a in e.inputs if a in made)
    read.update(dict.fromkeys(a for a in linear_outputs if a in made))
    varying = Graph(known_inputs, first, ()).dependents([*state, *rows])
    invariant = [v for v in read if v not in varying]
    step, again = choose_residuals(first, [v for v in read if v in varying and v not in rows], varying, rows)
    read.update(dict.fromkeys(a for e in again for a in e.inputs if a in rows))
    known_outputs = select_list(body.outputs, negate_flags(moved))
    return PartialEval(
        linear,
        moved,
        Graph(fixed, first, invariant, body.captured, body.name).prune(keep_effects=False),
        Graph(known_inputs, first, [*known_outputs, *step], body.captured, body.name).prune(),
        tuple([v in read for v in rows]),
        Graph(
            [*invariant, *(v for v in rows if v in read), *step, *select_list(body.inputs, linear)],
            [*again, *second],
            linear_outputs,
            body.captured,
            body.name,
        ).prune(),
    )


# What costs less to compute again than to keep, and needs nothing that is not of the steps.
CHEAP = frozenset({"absolute", "add", "equal", "greater", "greater_equal", "less", "less_equal", "logical_and",
    "logical_not", "logical_or", "maximum", "minimum", "multiply", "negative", "not_equal", "sign", "square",
    "subtract"})  # fmt: skip


def choose_residuals(
    equations: Sequence[Equation], wanted: Sequence[Var], varying: set[Var], rows: Sequence[Var]
) -> tuple[list[Var], list[Equation]]:
    """Choose what a forward loop keeps of its steps, so that the backward loop has the values `wanted`: these, or what
    they are made of by a few cheap operations, if that is less. Return it, and the operations that are done again."""
    makers = {v: e for e in equations for v in e.outputs}
    sources: dict[Var, set[Var]] = {}  # for what can be made again
    for e in equations:
        operands = [a for a in e.inputs if type(a) is Var]
        if e.primitive.name in CHEAP and varying.issuperset(operands):
            sources[e.outputs[0]] = {w for a in operands for w in sources.get(a, {a})}
    made = [v for v in wanted if v in sources]
    kept = dict.fromkeys(v for v in wanted if v not in sources)
    kept.update(dict.fromkeys(w for v in made for w in sources[v] if w not in rows))
    if sum(v.aval.size for v in kept) >= sum(v.aval.size for v in wanted):
        return list(wanted), []
    needed = set(made)
    again = []
    for e in reversed(equations):
        if needed.intersection(e.outputs) and not kept.keys() & set(e.outputs):
            again.insert(0, Equation(e.primitive, e.inputs, e.outputs, e.params, e.site, True))
            needed.update(a for a in e.inputs if a in makers)
    return list(kept), again


class TransposedBody(NamedTuple):
    """The body of the backward loop: (invariant, cotangents of the carry, sums for the consts, residuals of the step,
    cotangents of ys) → (cotangents of the carry, sums for the consts, cotangents of xs).

    `carry`, `consts` and `xs` say for which of the linear ones there is a cotangent.
    """

    body: Graph
    consts: Flags
    carry: Flags
    xs: Flags


@cached_on_graph
def transpose_body(
    linear: Graph, invariants: int, residuals: int, consts: int, carry: int, seeded: Flags, ys: Flags
) -> TransposedBody:
    """Transpose the linear half (see `PartialEval.linear_body`) for cotangents of those carries and ys that
    have one; a carry has one when its last value or, before some step, its previous value has."""
    known = invariants + residuals
    avals = linear.in_avals
    fixed_avals, carry_avals, _ = split_list(avals[known:], consts, carry)
    summed: Flags = (False,) * consts
    carried = seeded
    found: list[Any] = []

    def step(*values: Any) -> list[Any]:
        constant, cts, sums, stacked, row_cts = split_list(
            values, invariants, sum(carried), sum(summed), residuals
        )
        given = [*expand_list(cts, carried), *expand_list(row_cts, ys)]
        found[:] = transpose_graph(linear, [*constant, *stacked], len(avals) - known, given)
        new, state, xs = split_list([None if ct is None else densify(ct) for ct in found], consts, carry)
        total = [
            ct if s is None else s if ct is None else ops.add(s, ct)
            for s, ct in zip(expand_list(sums, summed), new)
        ]
        back = [
            zeros_of_aval(a, cts[0]) if ct is None else ct
            for ct, a, c in zip(state, carry_avals, carried)
            if c
        ]
        return [*back, *select_list(total, summed), *(ct for ct in xs if ct is not None)]

    while True:
        given_avals = [
            *avals[:invariants],
            *select_list(carry_avals, carried),
            *select_list(fixed_avals, summed),
            *avals[invariants:known],
            *select_list(linear.out_avals[carry:], ys),
        ]
        graph = stage(step, given_avals, linear.name, sites=False)
        new, state, xs = split_list([ct is not None for ct in found], consts, carry)
        grown = or_flags(carried, state), or_flags(summed, new)
        if grown == (carried, summed):
            return TransposedBody(graph, summed, carried, tuple(xs))
        carried, summed = grown


# -- vmap
@cached_on_graph
def batch_graph(graph: Graph, is_batched: Flags, size: int, forced: Flags) -> tuple[Graph, Flags]:
    """Derive the Graph on batches along leading axes; return it, and which outputs are batched: those
    `forced` are in any case."""
    flags: list[bool] = []

    def batched_fun(*values: Any) -> list[Any]:
        results, found = vmap_flat(graph, values, is_batched, size)
        flags[:] = or_flags(found, forced)
        return [ensure_batched(r, b or not f, size) for r, b, f in zip(results, found, flags)]

    return stage(batched_fun, batch_avals(graph, is_batched, size), graph.name), tuple(flags)


def batch_avals(graph: Graph, is_batched: Flags, size: int) -> list[Aval]:
    """Return the avals of the inputs with their batch axes."""
    return [Aval((size, *a.shape), a.dtype) if b else a for a, b in zip(graph.in_avals, is_batched)]


def batched_input_flags(body: Graph, consts: int, carry: int, is_batched: Flags, size: int) -> Flags:
    """Tell which inputs of a body are batched, including the carries that become so."""
    while True:
        _, flags = batch_graph(body, is_batched, size, (False,) * len(body.outputs))
        grown = add_carry_flags(is_batched, consts, flags[:carry])
        if grown == is_batched:
            return is_batched
        is_batched = grown
