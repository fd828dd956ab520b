"""What control flow derives from the Graphs of its bodies: tangents, batches, transposes, and the two halves of a body
that is linear in some of its inputs. All of it depends on the Graph and on patterns of booleans alone, and is kept
with the Graph, which is closed: it captures no traced values.

The inputs of a loop's body are (consts, carry, rows of xs), its outputs (carry, rows of ys).
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import ops
from ..core.aval import Aval, aval_of, kind_of
from ..core.cache import Cache
from ..core.graph import Graph, Literal, Var
from ..core.interpreter import Tracer, named_axes
from ..core.key import key_of, params_key
from ..core.staging import GraphTracer, stage
from ..kernels.codegen.source import compile_graph
from ..ops.kinds import spread
from ..ops.masked import dense
from ..ops.transpose import transpose_graph
from .jvp import push
from .vmap import MAPPED, BatchTracer, batch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Flags = tuple[bool, ...]


def kept(function: Callable) -> Callable:
    """A function of a Graph and hashable patterns, computed once for each pattern."""

    @wraps(function)
    def found(graph: Graph, *pattern: Any) -> Any:
        key = (function, MAPPED.get(), *pattern)
        if key not in graph.derived:
            graph.derived[key] = function(graph, *pattern)
        return graph.derived[key]

    return found


_interned = Cache(256)


def interned(graph: Graph) -> Graph:
    """An equal Graph met before, or this one: what was derived from a body serves the next call of the same loop,
    although a call stages its functions anew. Not where an equation will never be met again, nor is to be kept."""
    if any(equation.has("unique") for equation in graph.equations):
        return graph
    key = content(graph)
    try:
        found = _interned.get(key)
    except TypeError:  # a param that cannot be hashed
        return graph
    if found is None:
        found = _interned[key] = graph
    return found


def content(graph: Graph) -> tuple:
    """All that a closed Graph says, to be compared and hashed. Sub-graphs are interned already."""
    numbers: dict[Any, int] = {}

    def bound(variables: Sequence[Var]) -> tuple:
        for v in variables:
            numbers[v] = len(numbers)
        return tuple([v.aval for v in variables])

    def read(atoms: Sequence[Any]) -> tuple:
        return tuple([key_of(a.value) if type(a) is Literal else numbers[a] for a in atoms])

    inputs = bound(graph.inputs)
    equations = tuple(
        [
            (
                e.primitive,
                read(e.inputs),
                params_key(e.params),
                bound(e.outputs),
                None if e.site is None else (id(e.site.code), e.site.lasti),
                e.quiet,
            )
            for e in graph.equations
        ]
    )
    return graph.name, inputs, equations, read(graph.outputs), named_axes()


@kept
def compiled(graph: Graph) -> Callable[..., list[Any]]:
    """The function of a Graph on NumPy values."""
    return compile_graph(graph, True)


@kept
def silent(graph: Graph) -> Graph:
    """The graph without effects that no output needs: for what computes values again."""
    return graph.pruned(effects=False)


def is_abstract(value: Any) -> bool:
    """Whether the value, below the levels of derivatives and batches, belongs to a Graph under construction."""
    while isinstance(value, Tracer) and type(value) is not GraphTracer:
        value = value.value if type(value) is BatchTracer else value.primal  # type: ignore[attr-defined]
    return type(value) is GraphTracer


def parted(values: Sequence[Any], *counts: int) -> list[list[Any]]:
    """Consecutive parts of a sequence, of these lengths, and the rest."""
    parts, start = [], 0
    for count in counts:
        parts.append(list(values[start : start + count]))
        start += count
    return [*parts, list(values[start:])]


def chosen(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    """The values whose flag is set."""
    return [v for v, f in zip(values, flags) if f]


def filled(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    """The inverse of `chosen`: None where the flag is not set."""
    rest = iter(values)
    return [next(rest) if f else None for f in flags]


def negated(flags: Sequence[bool]) -> list[bool]:
    return [not f for f in flags]


def any_of(a: Sequence[bool], b: Sequence[bool]) -> Flags:
    """Where either flag is set."""
    return tuple([x or y for x, y in zip(a, b)])


def with_carry(flags: Flags, consts: int, carry: Sequence[bool]) -> Flags:
    """Flags of the inputs of a body, with those of the carry that are set here or there."""
    end = consts + len(carry)
    return (*flags[:consts], *any_of(flags[consts:end], carry), *flags[end:])


def tangent_aval(aval: Aval) -> Aval:
    return Aval(aval.shape, aval.dtype)


def strong(value: Any) -> Any:
    """A tangent or cotangent as the value of its `tangent_aval`: dense, and no Python number."""
    value = dense(value)
    aval = aval_of(value)
    return ops.convert(value, dtype=aval.dtype) if aval.weak else value


def zeros(aval: Aval, beside: Any) -> Any:
    """Zeros for a cotangent that there is not, in the array library of another value."""
    have = aval_of(beside)
    zero = ops.zeros_like(beside)
    if have.shape:
        zero = ops.reduce_sum(zero, axes=tuple(range(have.ndim)))
    if kind_of(have.dtype) == "c" != kind_of(aval.dtype):
        zero = ops.real(zero)
    return ops.broadcast_to(ops.convert(zero, dtype=aval.dtype), shape=aval.shape)


def repeated(values: Sequence[Any], batched: Sequence[bool], wanted: Sequence[bool], size: int) -> list[Any]:
    """The operands with a batch axis where it is wanted."""
    beside = chosen(values, batched)
    results = []
    for value, have, want in zip(values, batched, wanted):
        aval = aval_of(value)
        if have or not want:
            results.append(value)
        elif aval.shape or not beside:
            results.append(spread(value, False, size))
        else:  # a number has no library of its own
            results.append(ops.add(zeros(Aval((size,), aval.dtype), beside[0]), value))
    return results


# -- forward mode
@kept
def pushed(graph: Graph, active: Flags, wanted: Flags) -> tuple[Graph, Flags]:
    """(the Graph (*inputs, *tangents of the active inputs) → (*outputs, *tangents of outputs), which outputs have
    tangents); the tangents of the `wanted` outputs are there in any case."""
    present: list[bool] = []

    def both(*values: Any) -> list[Any]:
        primals, tangents = parted(values, len(active))
        ys, ts = push(graph, primals, filled(tangents, active))
        ts = [ops.zeros_like(y) if t is None and w else t for y, t, w in zip(ys, ts, wanted)]
        present[:] = [t is not None for t in ts]
        return [*ys, *map(strong, chosen(ts, present))]

    avals = [*graph.in_avals, *map(tangent_aval, chosen(graph.in_avals, active))]
    return stage(both, avals, graph.name), tuple(present)


@kept
def pushed_body(body: Graph, consts: int, carry: int, active: Flags) -> tuple[Graph, Flags, Flags]:
    """(the body that carries values and tangents, which inputs have tangents, which outputs). Its inputs are the consts
    and their tangents, the carry and its tangents, the rows and their tangents; its outputs likewise.

    A carry has a tangent when its initial value or, after some step, its next value has one.
    """
    while True:
        wanted = (*active[consts : consts + carry], *[False] * (len(body.outputs) - carry))
        graph, present = pushed(body, active, wanted)
        grown = with_carry(active, consts, present[:carry])
        if grown == active:
            break
        active = grown
    primals, tangents = parted(graph.inputs, len(active))
    ys, ts = parted(graph.outputs, len(present))
    inputs = interleaved(primals, filled(tangents, active), consts, carry)
    outputs = interleaved(ys, filled(ts, present), carry)
    return Graph(inputs, graph.equations, outputs, graph.captured, body.name), active, present


def interleaved(values: Sequence[Any], tangents: Sequence[Any], *counts: int) -> list[Any]:
    """Every part of the values followed by its tangents, as far as these are there."""
    mixed = []
    for part, tangent_part in zip(parted(values, *counts), parted(tangents, *counts)):
        mixed += [*part, *(t for t in tangent_part if t is not None)]
    return mixed


def apart(values: Sequence[Any], active: Flags, *counts: int) -> tuple[list[Any], list[Any]]:
    """The inverse of `interleaved`: (values, tangents or None)."""
    primals, tangents, start = [], [], 0
    for flags in parted(active, *counts):
        here, moving, _ = parted(values[start:], len(flags), sum(flags))
        primals += here
        tangents += filled(moving, flags)
        start += len(here) + len(moving)
    return primals, tangents


def tangent_places(active: Flags, *counts: int) -> Flags:
    """Which of the `interleaved` values are tangents."""
    places: list[bool] = []
    for flags in parted(active, *counts):
        places += [False] * len(flags) + [True] * sum(flags)
    return tuple(places)


# -- the two halves of a body that is linear in some inputs
class Halves(NamedTuple):
    """A loop body, linear in some of its inputs, as the half that is known before those are, and the linear half.

    `linear`: which inputs are linear, with those carries that become so; `moved`: which outputs are.
    `invariant`: consts → residuals that are the same in every step, computed once and not stacked.
    `forward`: known inputs → (known carry, known ys, residuals of the step): a body itself.
    `rows`: which of the known xs are residuals as they are.
    `backward`: (invariant, rows, residuals of the step, linear inputs) → linear outputs.
    """

    linear: Flags
    moved: Flags
    invariant: Graph
    forward: Graph
    rows: Flags
    backward: Graph


@kept
def halves(body: Graph, consts: int, carry: int, linear: Flags) -> Halves:
    """The halves of a body; which carries are linear is found out by going round the loop."""
    while True:
        dependent = body.dependents(chosen(body.inputs, linear))
        moved = tuple([a in dependent for a in body.outputs])
        grown = with_carry(linear, consts, moved[:carry])
        if grown == linear:
            break
        linear = grown
    moved = (*linear[consts : consts + carry], *moved[carry:])
    parts = zip(parted(body.inputs, consts, carry), parted(negated(linear), consts, carry))
    fixed, state, rows = (chosen(part, known) for part, known in parts)
    known_inputs = [*fixed, *state, *rows]
    # Effects on linear values belong to neither half.
    first = [e for e in body.equations if dependent.isdisjoint((*e.inputs, *e.outputs))]
    second = [e for e in body.equations if not dependent.isdisjoint(e.outputs)]
    linear_outputs = chosen(body.outputs, moved)
    made = {*known_inputs, *(v for e in first for v in e.outputs)}
    read = dict.fromkeys(a for e in second for a in e.inputs if a in made)
    read.update(dict.fromkeys(a for a in linear_outputs if a in made))
    varying = Graph(known_inputs, first, ()).dependents([*state, *rows])
    invariant = [v for v in read if v not in varying]
    step = [v for v in read if v in varying and v not in rows]
    known_outputs = chosen(body.outputs, negated(moved))
    return Halves(
        linear,
        moved,
        Graph(fixed, first, invariant, body.captured, body.name).pruned(effects=False),
        Graph(known_inputs, first, [*known_outputs, *step], body.captured, body.name).pruned(),
        tuple([v in read for v in rows]),
        Graph(
            [*invariant, *(v for v in rows if v in read), *step, *chosen(body.inputs, linear)],
            second,
            linear_outputs,
            body.captured,
            body.name,
        ).pruned(),
    )


class Transposed(NamedTuple):
    """The body of the backward loop: (invariant, cotangents of the carry, sums for the consts, residuals of the step,
    cotangents of ys) → (cotangents of the carry, sums for the consts, cotangents of xs).

    `carry`, `consts` and `xs` say for which of the linear ones there is a cotangent.
    """

    body: Graph
    consts: Flags
    carry: Flags
    xs: Flags


@kept
def transposed_body(
    linear: Graph, invariants: int, residuals: int, consts: int, carry: int, seeded: Flags, ys: Flags
) -> Transposed:
    """The transpose of the linear half (see `Halves.backward`) for cotangents of those carries and ys that have one; a
    carry has one when its last value or, before some step, its previous value has."""
    known = invariants + residuals
    avals = linear.in_avals
    fixed_avals, carry_avals, _ = parted(avals[known:], consts, carry)
    summed: Flags = (False,) * consts
    carried = seeded
    found: list[Any] = []

    def step(*values: Any) -> list[Any]:
        constant, cts, sums, stacked, row_cts = parted(
            values, invariants, sum(carried), sum(summed), residuals
        )
        given = [*filled(cts, carried), *filled(row_cts, ys)]
        found[:] = transpose_graph(linear, [*constant, *stacked], len(avals) - known, given)
        new, state, xs = parted([None if ct is None else dense(ct) for ct in found], consts, carry)
        total = [
            ct if s is None else s if ct is None else ops.add(s, ct)
            for s, ct in zip(filled(sums, summed), new)
        ]
        back = [zeros(a, cts[0]) if ct is None else ct for ct, a, c in zip(state, carry_avals, carried) if c]
        return [*back, *chosen(total, summed), *(ct for ct in xs if ct is not None)]

    while True:
        given_avals = [
            *avals[:invariants],
            *chosen(carry_avals, carried),
            *chosen(fixed_avals, summed),
            *avals[invariants:known],
            *chosen(linear.out_avals[carry:], ys),
        ]
        graph = stage(step, given_avals, linear.name, sites=False)
        new, state, xs = parted([ct is not None for ct in found], consts, carry)
        grown = any_of(carried, state), any_of(summed, new)
        if grown == (carried, summed):
            return Transposed(graph, summed, carried, tuple(xs))
        carried, summed = grown


# -- vmap
@kept
def batched_graph(graph: Graph, batched: Flags, size: int, forced: Flags) -> tuple[Graph, Flags]:
    """(the Graph on batches along leading axes, which outputs are batched); those `forced` are in any case."""
    flags: list[bool] = []

    def mapped(*values: Any) -> list[Any]:
        results, found = batch(graph, values, batched, size)
        flags[:] = any_of(found, forced)
        return [spread(r, b or not f, size) for r, b, f in zip(results, found, flags)]

    return stage(mapped, batched_avals(graph, batched, size), graph.name), tuple(flags)


def batched_avals(graph: Graph, batched: Flags, size: int) -> list[Aval]:
    """The avals of the inputs with their batch axes."""
    return [Aval((size, *a.shape), a.dtype) if b else a for a, b in zip(graph.in_avals, batched)]


def carry_flags(body: Graph, consts: int, carry: int, batched: Flags, size: int) -> Flags:
    """Which inputs of a body are batched, with the carries that become so."""
    while True:
        _, flags = batched_graph(body, batched, size, (False,) * len(body.outputs))
        grown = with_carry(batched, consts, flags[:carry])
        if grown == batched:
            return batched
        batched = grown
