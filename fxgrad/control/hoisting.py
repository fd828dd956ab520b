"""Loop-invariant and loop-independent code taken out of a scan: its body is split into three parts, of which
only the middle one is a loop.

    before   equations that do not depend on the carry, for all rows at once
    loop     equations on which the next carry depends
    after    all other equations, for all rows at once, from values that the loop has stacked

A carry that is only added to, s + e, is not a carry of the loop: the sum over the steps is taken afterwards. If e is a
contraction, the steps are one more axis to sum over: so the cotangent of a matrix that is applied in every step is one
product of matrices. `before` and `after` are batches of the Graphs of one step.

A NumPy call on a few numbers takes a microsecond of overhead, and batches save only this overhead. Therefore rows so
large that arithmetic dominates stay in the loop, and batches run on blocks of rows in which one variable has at most
`HOISTED_ENTRIES` entries: memory is bounded for any length, and stacked values are still in the cache.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from .. import ops
from ..core.aval import is_differentiable
from ..core.costs import HOISTED_ENTRIES, HOISTED_ROWS
from ..core.graph import Equation, Graph, Var
from ..core.observer import observed_code
from ..core.primitive import HigherOrder
from ..core.staging import stage
from ..kernels.codegen.loops import compile_into, inline_groups
from ..kernels.contraction import parse_spec
from ..ops.contraction import LETTERS
from ..ops.kinds import ensure_batched
from ..passes.table import optimize
from ..transforms.subgraphs import Flags, batch_avals, cached_on_graph, negate_flags, select_list, split_list
from ..transforms.vmap import vmap_flat
from .recurrence import Recurrence


class Term(NamedTuple):
    """What every step adds to a carry: a variable, or the contraction of two."""

    operands: tuple[Var, ...]
    spec: str | None = None


class LoopParts(NamedTuple):
    """The three parts of a body. Values of one step are the rows, and

    `early`: made by `before`, (consts, rows) → (fixed, early), where `fixed` are the same in every step;
    `late`: made by `loop`, (consts, fixed, carry, stacks) → (carry, late), of carries that are not `summed`, where
    `stacks` are those of rows and early that it reads;
    `after`: (consts, fixed, rows, early, late) → (ys, operands of the terms), without the ys that are late already:
    `late_rows` tells of each of the late which of the ys it is, or None.
    """

    before: Graph
    loop: Graph
    after: Graph
    fixed: int
    summed: Flags
    stacks: Flags
    late_rows: tuple[int | None, ...]
    terms: tuple[tuple[Term, ...], ...]
    block: int


def is_separable(equation: Equation) -> bool:
    """Whether an equation may be evaluated for many rows at once, as cheaply and without being noticed."""
    # Batches are never weak: what is made of them would have another dtype.
    weak = any(v.aval.weak for v in select_variables([*equation.inputs, *equation.outputs]))
    higher_order = isinstance(equation.primitive, HigherOrder)
    return not (weak or higher_order or equation.effectful or equation.bound_to_axis)


def select_variables(atoms: Sequence[Any]) -> list[Var]:
    return [a for a in atoms if type(a) is Var]


def variables_read(equations: Sequence[Equation], further: Sequence[Any] = ()) -> dict[Var, None]:
    """Return the variables that the equations read, in order, and further ones."""
    return dict.fromkeys(select_variables([*(a for e in equations for a in e.inputs), *further]))


def find_sums(body: Graph, consts: int, carry: int) -> tuple[dict[Var, list[Term]], set[Equation]]:
    """Find the carries that are only added to: return them with their terms, and the equations that these
    stand for."""
    _, state, _ = split_list(body.inputs, consts, carry)
    uses = Counter(select_variables([*(a for e in body.equations for a in e.inputs), *body.outputs]))
    makers = {v: e for e in body.equations for v in e.outputs}
    absorbed: set[Equation] = set()

    def addends(total: Any, aval: Any) -> tuple[Any, ...]:
        """Return the two operands of the sum of which `total` is the only use."""
        made = makers.get(total)
        if made is None or made.primitive is not ops.add.primitive or uses[total] > 1:
            return ()
        return made.inputs if all(a.aval == aval and type(a) is Var for a in made.inputs) else ()

    def collect_terms(value: Var) -> list[Term]:
        terms, waiting = [], [value]
        while waiting:
            value = waiting.pop()
            made = makers.get(value)
            if pair := addends(value, value.aval):
                absorbed.add(makers[value])
                waiting += reversed(pair)
            elif (
                made is None
                or made.primitive is not ops.contract.primitive
                or uses[value] > 1
                or not is_separable(made)
            ):
                terms.append(Term((value,)))
            else:
                absorbed.add(made)
                terms.append(Term(made.inputs, made.params["spec"]))
        return terms

    found = {}
    for s, new in zip(state, body.outputs):
        pair = addends(new, s.aval)
        if s in pair and uses[s] == 1 and not s.aval.weak and is_differentiable(s.aval.dtype):
            absorbed.add(makers[new])
            found[s] = collect_terms(pair[pair[0] is s])
    return found, absorbed


@cached_on_graph
def split_body(body: Graph, consts: int, carry: int) -> LoopParts | None:
    """Split a body into its parts; return None where it is better left in one."""
    body = inline_groups(body)
    constants, state, rows = split_list(body.inputs, consts, carry)
    if any(v.aval.weak for v in rows) or any(e.effectful or e.bound_to_axis for e in body.equations):
        return None
    added, absorbed = find_sums(body, consts, carry)
    summed = tuple([s in added for s in state])
    terms = tuple([tuple(t) for t in added.values()])
    ends, ys = split_list(body.outputs, carry)
    stepwise, carried = select_list(state, negate_flags(summed)), select_list(ends, negate_flags(summed))
    first, others = [], []
    unknown = set(stepwise)  # before the loop
    for e in body.equations:
        if e not in absorbed:
            soon = is_separable(e) and unknown.isdisjoint(e.inputs)
            (first if soon else others).append(e)
            unknown.update(() if soon else e.outputs)
    needed = {*select_variables(carried)}
    inside, last = [], []
    for e in reversed(others):
        if not is_separable(e) or not needed.isdisjoint(e.outputs):
            inside.insert(0, e)
            needed.update(select_variables(e.inputs))
        else:
            last.insert(0, e)
    operands = [a for group in terms for term in group for a in term.operands]
    made = {*stepwise, *(v for e in inside for v in e.outputs)}
    late = [v for v in variables_read(last, [*ys, *operands]) if v in made]
    beforehand = {v for e in first for v in e.outputs}
    wanted = [v for v in variables_read([*inside, *last], [*ys, *operands, *carried]) if v in beforehand]
    varying = Graph(body.inputs, first, ()).dependents(rows)
    fixed, early = [v for v in wanted if v not in varying], [v for v in wanted if v in varying]
    beside, in_loop = [*rows, *early], variables_read(inside, carried)
    stacks = tuple([v in in_loop for v in beside])
    stored = sum(v not in ys for v in late) + sum(stacks[len(rows) :])
    if len(body.equations) - len(inside) <= stored or any(v.aval.weak for v in (*late, *wanted)):
        return None
    widest = max([1, *(v.aval.size for e in (*first, *last) for v in e.outputs if v in varying or e in last)])
    block = HOISTED_ENTRIES // max([widest, *(v.aval.size for v in late)])
    if block < HOISTED_ROWS:
        return None

    late_rows = tuple([ys.index(v) if v in ys else None for v in late])
    ys = [y for k, y in enumerate(ys) if k not in late_rows]

    def pruned_graph(inputs: Sequence[Var], equations: Sequence[Equation], outputs: Sequence[Any]) -> Graph:
        return Graph(inputs, equations, outputs, body.captured, body.name).prune(keep_effects=False)

    return LoopParts(
        pruned_graph([*constants, *rows], first, [*fixed, *early]),
        pruned_graph(
            [*constants, *fixed, *stepwise, *select_list(beside, stacks)], inside, [*carried, *late]
        ),
        pruned_graph([*constants, *fixed, *rows, *early, *late], last, [*ys, *operands]),
        len(fixed),
        summed,
        stacks,
        late_rows,
        terms,
        block,
    )


def compile_batch(
    graph: Graph,
    single: int,
    size: int,
    finish: Callable[[list[Any], list[bool]], list[Any]],
    targets: int = 0,
) -> Callable[..., list[Any]]:
    """Compile a Graph of one row to a function of `size` rows: all inputs but the first `single` have an axis
    for them, and `finish` makes the results from (results, whether each has the axis). The first `targets` results are
    written into further arguments; see `compile_into`."""
    is_batched = (False,) * single + (True,) * (len(graph.inputs) - single)

    def batched_fun(*values: Any) -> list[Any]:
        return finish(*vmap_flat(graph, values, is_batched, size))

    return compile_into(
        optimize(stage(batched_fun, batch_avals(graph, is_batched, size), graph.name)), targets
    )


def sum_term(spec: str | None, operands: Sequence[Any], found: Sequence[bool], size: int) -> Any:
    """Sum a term over the rows, from its operands and whether each has an axis for them."""
    first, *others = operands
    if spec is None or not any(found):
        operands, found = [ensure_batched(first, found[0], size), *others], [True, *found[1:]]
    if all(found) and spec is not None:
        left, right, out = parse_spec(spec)
        step = next(c for c in LETTERS if c not in spec)
        return ops.contract(*operands, spec=f"{step}{left},{step}{right}->{out}")
    operands = [ops.reduce_sum(x, axes=(0,)) if f else x for x, f in zip(operands, found)]
    return operands[0] if spec is None else ops.contract(*operands, spec=spec)


@cached_on_graph
def compile_hoisted(body: Graph, consts: int, carry: int, length: int) -> Callable[..., list[Any]] | None:
    """Compile a loop to a function like a `Recurrence`, for all `length` steps; return None where the
    body is better left in one."""
    split = split_body(body, consts, carry) if length >= HOISTED_ROWS else None
    if split is None:
        return None
    fixed, block, single = split.fixed, split.block, consts + split.fixed
    count = len(body.outputs) - carry - sum(k is not None for k in split.late_rows)
    rows = len(body.inputs) - consts - carry

    def stack_early(results: list[Any], found: list[bool]) -> list[Any]:
        return [
            *results[:fixed],
            *(ensure_batched(r, f, size) for r, f in zip(results[fixed:], found[fixed:])),
        ]

    def sum_terms(results: list[Any], found: list[bool]) -> list[Any]:
        totals, place = [], count
        for terms in split.terms:
            addends = []
            for operands, spec in terms:
                here = slice(place, place + len(operands))
                addends.append(sum_term(spec, results[here], found[here], size))
                place += len(operands)
            totals.append(reduce(ops.add, addends))
        return [*(ensure_batched(r, f, size) for r, f in zip(results[:count], found)), *totals]

    batches = {}
    for size in {min(block, length), length % block} - {0}:
        batches[size] = (
            compile_batch(split.before, consts, size, stack_early),
            compile_batch(split.after, single, size, sum_terms, count),
        )
    loop = Recurrence(split.loop, single, carry - sum(split.summed))
    late_avals = split.loop.out_avals[carry - sum(split.summed) :]

    def run(steps: range, *operands: Any) -> list[Any]:
        constants, state, xs, ys = split_list(operands, consts, carry, rows)
        stepwise, totals = select_list(state, negate_flags(split.summed)), select_list(state, split.summed)
        kept = [
            np.empty((min(block, length), *a.shape), a.dtype) if k is None else None
            for k, a in zip(split.late_rows, late_avals)
        ]
        for start in range(0, length, block):
            part = steps[start : start + block]
            size, low = len(part), min(part[0], part[-1])
            here = slice(low, low + size)
            before, after = batches[size]
            given = [x[here] for x in xs]
            known, early = split_list(observed_code(before)(*constants, *given), fixed)
            known, stacks = [*constants, *known], [*given, *early]
            late = [ys[k][here] if array is None else array[:size] for k, array in zip(split.late_rows, kept)]
            stepwise = loop(
                range(size)[:: part.step], *known, *stepwise, *select_list(stacks, split.stacks), *late
            )
            targets = [y[here] for k, y in enumerate(ys) if k not in split.late_rows]
            more = observed_code(after)(*known, *stacks, *late, *targets)
            totals = [t + m for t, m in zip(totals, more)]
        ends = iter(stepwise), iter(totals)
        return [next(ends[flag]) for flag in split.summed]

    return run
