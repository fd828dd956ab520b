"""Loops as one operation each: a scan over rows, a loop with a given number of steps, and a while loop.

Forward mode runs a loop whose body carries the tangents, too. Reverse mode splits that body into two halves
(`subgraphs.partial_eval`): a forward loop computes the values and stacks what the linear half reads, except values that
are equal in every step or are rows of `xs` already; a backward loop runs the transpose of the linear half. Each is a
loop again, bound where the rule runs, so that all orders and nestings follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import ops
from ..core import source_info
from ..core.arrays import dtype_in
from ..core.aval import PLAIN, Aval, aval_of
from ..core.errors import NotDifferentiableError, NotLinearError
from ..core.graph import Graph
from ..core.interpreter import innermost_primal
from ..core.observer import is_stepwise
from ..core.primitive import HigherOrder
from ..core.pullback import PullbackRule
from ..core.snapshot import snapshot_constants
from ..core.staging import stage
from ..kernels.codegen.loops import run_steps, step_rows
from ..passes.table import optimize
from ..transforms.subgraphs import (
    Flags,
    PartialEval,
    add_batch_axes,
    as_strong_tangent,
    batch_avals,
    batch_graph,
    batched_input_flags,
    cached_on_graph,
    expand_list,
    is_abstract,
    jvp_body,
    merge_lists,
    negate_flags,
    partial_eval,
    select_list,
    split_list,
    tangent_flags,
    transpose_body,
    unmerge_lists,
    without_effects,
    zeros_of_aval,
)
from .branches import known_value
from .hoisting import compile_hoisted
from .recurrence import Iteration, Recurrence

scan_function = cached_on_graph(Recurrence)


@cached_on_graph
def while_function(body: Graph, cond: Graph, consts: int, max_steps: int | None) -> Any:
    return Iteration(optimize(cond), optimize(body), consts, max_steps)


def scan_kernel(xp: Any) -> Any:
    def run(
        count: Any, *args: Any, body: Graph, consts: int, carry: int, length: int, reverse: bool
    ) -> list[Any]:
        steps = step_rows(length, count, reverse)
        if xp is np and not is_stepwise():
            body = optimize(body)
            run = scan_function(body, consts, carry)
            if (
                len(steps) == length and not run.is_native
            ):  # what NumPy computes it does for many rows at once
                hoisted = compile_hoisted(body, consts, carry, length)
                run = run if hoisted is None or run.ask(length) else hoisted
            return run_steps(run, [(a.shape, a.dtype) for a in body.out_avals[carry:]], length, steps, args)
        fixed, state, xs = split_list(args, consts, carry)
        rows: list[Any] = [[None] * length for _ in body.out_avals[carry:]]
        for i in steps:
            state, ys = split_list(body(*fixed, *state, *(x[i, ...] for x in xs)), carry)
            for row, y in zip(rows, ys):
                row[i] = y
        return [*state, *map(stack_written, rows, body.out_avals[carry:])]

    def stack_written(rows: Sequence[Any], aval: Aval) -> Any:
        empty = xp.zeros(aval.shape, dtype=dtype_in(xp, aval.dtype))
        parts = [empty if r is None else xp.asarray(r) for r in rows]
        return xp.stack(parts) if parts else xp.zeros((0, *aval.shape), dtype=empty.dtype)

    return run


class Scan(HigherOrder, PullbackRule):
    """The primitive (count, *consts, *carry, *xs) → (*carry, *ys): it takes min(count, length) steps of
    `body`, from the last row to the first if `reverse`, whose rows are those of 0 … count − 1. The other rows
    of ys are zero."""

    computes = "scan"

    def __init__(self) -> None:
        super().__init__("scan", scan_kernel)

    def abstract_eval(self, avals: Sequence[Aval], params: dict) -> list[Aval]:
        body, carry, length = params["body"], params["carry"], params["length"]
        outs = body.out_avals
        return [*outs[:carry], *(Aval((length, *a.shape), a.dtype) for a in outs[carry:])]

    def unfold(self, args: Sequence[Any], params: dict) -> list[Any]:
        """Take the steps one by one."""
        body, length, (count, *operands) = params["body"], params["length"], args
        fixed, state, xs = split_list(operands, params["consts"], params["carry"])
        written: list[list[Any]] = [[None] * length for _ in body.out_avals[len(state) :]]
        for i in step_rows(length, known_value(count, "the number of steps of a loop"), params["reverse"]):
            rows = [ops.getitem(x, index=(i,)) for x in xs]
            weak = [v.aval.weak for v in body.inputs[len(fixed) + len(state) :]]
            rows = [r.item() if w and type(r) in PLAIN else r for r, w in zip(rows, weak)]
            state, ys = split_list(body(*fixed, *state, *rows), len(state))
            for column, y in zip(written, ys):
                column[i] = y
        return [*state, *map(stack_steps, written, body.out_avals[len(state) :])]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> tuple[Any, Any]:
        body, consts, carry = params["body"], params["consts"], params["carry"]
        active = tuple([t is not None for t in tangents[1:]])
        if not any(active):
            return self.call(*primals, **params), [None] * len(body.outputs)
        both, active, present = jvp_body(body, consts, carry, active)
        given = add_zero_tangents(primals[1:], tangents[1:], active)
        apart_from_values = any(map(is_abstract, (*primals, *tangents)))
        both = without_effects(both) if apart_from_values else both
        new = {**params, "body": both, "consts": consts + sum(active[:consts])}
        new["carry"] = carry + sum(active[consts : consts + carry])
        results = self.call(primals[0], *merge_lists(primals[1:], given, consts, carry), **new)
        ys, ts = unmerge_lists(results, present, carry)
        if apart_from_values:
            # Another operation for the values, although this one computes them, too: a level that knows these, and not
            # the tangents (`vjp`), must find results that it knows.
            ys = self.call(*primals, **params)
        return ys, ts

    def vjp(self, apply: Any, values: Any, needed: Any, params: dict, snapshot: Any) -> tuple[Any, Any, Any]:
        body, consts, carry = params["body"], params["consts"], params["carry"]
        active = tuple([n is not None for n in needed[1:]])
        if not any(active):
            return apply(*values, **params), None, None
        both, active, present = jvp_body(body, consts, carry, active)
        if not any(present):
            return apply(*values, **params), None, None
        linear = tangent_flags(active, consts, carry)
        new_consts, new_carry = consts + sum(active[:consts]), carry + sum(active[consts : consts + carry])
        split = partial_eval(both, new_consts, new_carry, linear)
        values = snapshot_constants(values, needed, snapshot)
        ys, residuals = self.forward(split, values[0], values[1:], (consts, carry), params)
        return ys, self, (split, residuals, active, present, params)

    def pull(
        self, cts: dict, split: PartialEval, residuals: Any, active: Any, present: Any, params: dict
    ) -> list[Any]:
        """Run the backward loop, from the residuals that `vjp` gives."""
        given = [cts.get(i) for i, p in enumerate(present) if p]
        consts, carry = params["consts"], params["carry"]
        counts = sum(active[:consts]), sum(active[consts : consts + carry])
        return [None, *expand_list(self.backward(split, residuals, given, counts, params), active)]

    def forward(
        self, split: PartialEval, count: Any, known: Sequence[Any], counts: tuple[int, int], params: dict
    ) -> tuple[list[Any], tuple]:
        """Run the known half; return its results, and the residuals of the loop."""
        consts, carry = counts
        fixed, _, xs = split_list(known, consts, carry)
        new = {**params, "body": split.known_body, "consts": consts, "carry": carry}
        results = self.call(count, *known, **new)
        made = len(split.linear_out) - sum(split.linear_out)
        invariant = split.invariant_graph(*fixed)
        return results[:made], (count, invariant, [*select_list(xs, split.residual_rows), *results[made:]])

    def backward(
        self, split: PartialEval, residuals: tuple, cts: Sequence[Any], counts: tuple[int, int], params: dict
    ) -> list[Any]:
        """Run the transpose of the linear half; return the cotangents (or None) of the linear operands for
        those of the linear results."""
        count, invariant, stacks = residuals
        consts, carry = counts
        cts = [None if ct is None else as_strong_tangent(ct) for ct in cts]
        carry_cts, ys_cts = split_list(cts, carry)
        if all(ct is None for ct in cts):
            return [None] * sum(split.linear_in)
        back = transpose_body(
            split.linear_body,
            len(invariant),
            len(stacks),
            consts,
            carry,
            tuple([ct is not None for ct in carry_cts]),
            tuple([ct is not None for ct in ys_cts]),
        )
        fixed_avals, carry_avals, _ = split_list(
            split.linear_body.in_avals[len(invariant) + len(stacks) :], consts, carry
        )
        beside = next(ct for ct in cts if ct is not None)
        seeds = [
            zeros_of_aval(a, beside) if ct is None else ct
            for ct, a, c in zip(carry_cts, carry_avals, back.carry)
            if c
        ]
        results = self.call(
            count,
            *invariant,
            *seeds,
            *(zeros_of_aval(a, beside) for a in select_list(fixed_avals, back.consts)),
            *stacks,
            *(ct for ct in ys_cts if ct is not None),
            body=back.body,
            consts=len(invariant),
            carry=sum(back.carry) + sum(back.consts),
            length=params["length"],
            reverse=not params["reverse"],
        )
        state, sums, xs = split_list(results, sum(back.carry), sum(back.consts))
        return [*expand_list(sums, back.consts), *expand_list(state, back.carry), *expand_list(xs, back.xs)]

    def transpose(self, ct: Any, operands: Sequence[Any], params: dict) -> Sequence[Any]:
        if type(operands[0]) is Aval:
            raise NotLinearError(
                "scan: the number of steps depends on traced operands",
                hint="fx.vjp, which takes functions that are not linear, or a number of steps that does not "
                "depend on them",
            )
        return [None, *self.transpose_steps(ct, operands[0], operands[1:], params)]

    def transpose_steps(self, ct: Any, count: Any, operands: Sequence[Any], params: dict) -> list[Any]:
        """Return cotangents for the operands given as Avals, for `count` steps."""
        consts, carry = params["consts"], params["carry"]
        wanted = [type(v) is Aval for v in operands]
        split = partial_eval(params["body"], consts, carry, tuple(wanted))
        fixed, state, _ = split_list(split.linear_in, consts, carry)
        known = select_list(operands, negate_flags(split.linear_in))
        _, residuals = self.forward(split, count, known, (consts - sum(fixed), carry - sum(state)), params)
        cts = self.backward(
            split, residuals, select_list(ct, split.linear_out), (sum(fixed), sum(state)), params
        )
        return [c if w else None for c, w in zip(expand_list(cts, split.linear_in), wanted)]

    def batch(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, Any]:
        body, consts, carry = params["body"], params["consts"], params["carry"]
        if is_batched[0]:
            values, is_batched, params = freeze_finished(values, is_batched, params)
            return self.batch(values, is_batched, size, params)
        flags = batched_input_flags(body, consts, carry, tuple(is_batched[1:]), size)
        forced = (*flags[consts : consts + carry], *[False] * (len(body.outputs) - carry))
        mapped, found = batch_graph(body, flags, size, forced)
        wanted = (*is_batched[1 : 1 + consts], *forced[:carry], *is_batched[1 + consts + carry :])
        fixed, state, xs = split_list(add_batch_axes(values[1:], is_batched[1:], wanted, size), consts, carry)
        xs = [ops.move_axis(x, 0, 1) if f else x for x, f in zip(xs, flags[consts + carry :])]
        results = self.call(values[0], *fixed, *state, *xs, **{**params, "body": mapped})
        ends, ys = split_list(results, carry)
        return [*ends, *(ops.move_axis(y, 1, 0) if f else y for y, f in zip(ys, found[carry:]))], found


def stack_steps(rows: Sequence[Any], aval: Aval) -> Any:
    """Stack the rows into one array; those that no step wrote are zero."""
    if not rows:
        return np.zeros((0, *aval.shape), aval.dtype)
    filled = [
        np.zeros(aval.shape, aval.dtype) if r is None else ops.convert(r, dtype=aval.dtype) for r in rows
    ]
    return ops.concatenate(*[ops.reshape(r, shape=(1, *aval.shape)) for r in filled], axis=0)


def add_zero_tangents(primals: Sequence[Any], tangents: Sequence[Any], active: Sequence[bool]) -> list[Any]:
    """Return the tangents, with zeros where the loop needs one and there is none."""
    return [
        as_strong_tangent(t) if t is not None else ops.zeros_like(p) if a else None
        for p, t, a in zip(primals, tangents, active)
    ]


def freeze_finished(
    values: Sequence[Any], is_batched: Sequence[bool], params: dict
) -> tuple[list[Any], list[bool], dict]:
    """Turn a scan whose number of steps differs between the entries of a batch into one of the largest
    number, which leaves the carry of an entry as it is beyond its own."""
    body, consts, carry = params["body"], params["consts"], params["carry"]
    (count,), fixed, state, rows = split_list(values, 1, consts, carry)
    flags = split_list(is_batched[1:], consts, carry)
    most = ops.reduce_max(count, axes=(0,))
    return (
        [most, count, *fixed, *state, np.arange(params["length"]), *rows],
        [False, True, *flags[0], *flags[1], False, *flags[2]],
        {**params, "body": freeze_body(body, consts, carry), "consts": consts + 1},
    )


@cached_on_graph
def freeze_body(body: Graph, consts: int, carry: int) -> Graph:
    """Stage the body with the number of steps as its first const, and that of the step as its first row."""

    def step(count: Any, *operands: Any) -> list[Any]:
        fixed, state, (i,), xs = split_list(operands, consts, carry, 1)
        goes_on = ops.less(i, count)
        with np.errstate(all="ignore"):  # beyond its own steps an entry may meet anything
            new, ys = split_list(body(*fixed, *state, *xs), carry)
        return [
            *(ops.where(goes_on, n, s) for n, s in zip(new, state)),
            *(ops.where(goes_on, y, ops.zeros_like(y)) for y in ys),
        ]

    index = Aval((), np.dtype(np.int64))
    fixed, state, rows = split_list(body.in_avals, consts, carry)
    return stage(step, [index, *fixed, *state, index, *rows], body.name)


def while_kernel(xp: Any) -> Any:
    def run(*args: Any, cond: Graph, body: Graph, consts: int, max_steps: int | None) -> list[Any]:
        if xp is np and not is_stepwise():
            return while_function(body, cond, consts, max_steps)(*args)
        fixed, state = split_list(args, consts)
        steps = 0
        while steps != max_steps and cond(*fixed, *state)[0]:
            state = body(*fixed, *state)
            steps += 1
        return state

    return run


class While(HigherOrder, PullbackRule):
    """The primitive (*consts, *carry) → carry: `body` is applied while `cond` of the same operands holds, at
    most `max_steps` times.

    Reverse mode counts the steps first, and then takes them by a scan of that many, whose stacks have `max_steps` rows,
    of which only those of real steps are ever touched. Where `max_steps` is None, the number has to be known: their
    rows are then the next power of two, so that loops of similar length share their code.
    """

    computes = "while_loop"

    def __init__(self) -> None:
        super().__init__("while_loop", while_kernel)

    def abstract_eval(self, avals: Sequence[Aval], params: dict) -> list[Aval]:
        return params["body"].out_avals

    def unfold(self, args: Sequence[Any], params: dict) -> list[Any]:
        """Take the steps one by one, as long as the condition, whose value must be known, holds."""
        cond, body, steps = params["cond"], params["body"], 0
        fixed, state = split_list(args, params["consts"])
        while steps != params["max_steps"] and known_value(
            cond(*fixed, *state)[0], "the condition of a while_loop"
        ):
            state = body(*fixed, *state)
            steps += 1
        return state

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> tuple[Any, Any]:
        body, consts = params["body"], params["consts"]
        active = tuple([t is not None for t in tangents])
        if not any(active):
            return self.call(*primals, **params), [None] * len(body.outputs)
        both, active, present = jvp_body(body, consts, len(body.outputs), active)
        inputs, _ = unmerge_lists(both.inputs, active, consts)
        apart_from_values = any(map(is_abstract, (*primals, *tangents)))  # as for `Scan`
        both = without_effects(both) if apart_from_values else both
        cond = extend_condition(params["cond"], both, inputs)
        new = {**params, "cond": cond, "body": both, "consts": consts + sum(active[:consts])}
        given = add_zero_tangents(primals, tangents, active)
        ys, ts = unmerge_lists(self.call(*merge_lists(primals, given, consts), **new), present)
        if apart_from_values:
            ys = self.call(*primals, **params)
        return ys, ts

    def vjp(self, apply: Any, values: Any, needed: Any, params: dict, snapshot: Any) -> tuple[Any, Any, Any]:
        count = (
            None
            if params["max_steps"] is None and any(map(is_abstract, values))
            else count_steps(values, params)
        )
        if params["max_steps"] is None:
            most = bound_of(count)
            if most is None:
                return apply(*values, **params), self, (source_info.user_frame(),)
            params = {**params, "max_steps": most}
        ys, rule, residuals = scan_primitive.vjp(
            scan_primitive.call, [count, *values], [None, *needed], scan_params(params), snapshot
        )
        return ys, None if rule is None else self, residuals

    def pull(self, cts: dict, *residuals: Any) -> list[Any]:
        """Pull back as the scan does, from the residuals that `vjp` gives."""
        if len(residuals) == 1:
            raise unbounded_error(residuals[0])
        return scan_primitive.pull(cts, *residuals)[1:]

    def transpose(self, ct: Any, operands: Sequence[Any], params: dict) -> Sequence[Any]:
        if params["max_steps"] is None:
            raise unbounded_error()
        body, cond, consts = params["body"], params["cond"], params["consts"]
        carry = len(body.outputs)
        split = partial_eval(body, consts, carry, tuple([type(v) is Aval for v in operands]))
        flags = negate_flags(split.linear_in)
        if not cond.dependents(select_list(cond.inputs, split.linear_in)).isdisjoint(cond.outputs):
            raise NotLinearError(
                "while_loop: the number of steps depends on traced operands",
                hint="fx.vjp, which takes functions that are not linear, or a number of steps that does not "
                "depend on them",
            )
        # The known half alone decides how many steps there are.
        known = Graph(select_list(cond.inputs, flags), cond.equations, cond.outputs, cond.captured, cond.name)
        left = sum(flags[consts:])
        alone = Graph(
            split.known_body.inputs,
            split.known_body.equations,
            split.known_body.outputs[:left],
            split.known_body.captured,
            body.name,
        )
        new = {**params, "cond": known.prune(), "body": alone.prune(), "consts": sum(flags[:consts])}
        count = count_steps(select_list(operands, flags), new)
        return scan_primitive.transpose_steps(ct, count, operands, scan_params(params))

    def batch(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, Any]:
        cond, body, consts = params["cond"], params["body"], params["consts"]
        carry = len(body.outputs)
        flags = batched_input_flags(body, consts, carry, tuple(is_batched), size)
        decide, (differs,) = batch_graph(cond, flags, size, (False,))
        if differs:
            return self.batch_until_all_end(values, is_batched, size, params)
        mapped, found = batch_graph(body, flags, size, flags[consts:])
        values = add_batch_axes(values, is_batched, (*is_batched[:consts], *flags[consts:]), size)
        return self.call(*values, **{**params, "cond": decide, "body": mapped}), found

    def batch_until_all_end(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, Any]:
        """Batch a loop whose entries end at different steps: it runs until all have ended, and leaves alone
        those that have. What no step changes is the same for every entry."""
        cond, body, consts = params["cond"], params["body"], params["consts"]
        changed = [a is not v for a, v in zip(body.outputs, body.inputs[consts:])]
        flags = (*is_batched[:consts], *[c or b for c, b in zip(changed, is_batched[consts:])])
        fixed, state = split_list(add_batch_axes(values, is_batched, flags, size), consts)
        first, goes_on, step = joint_loop_graphs(body, cond, consts, flags, size)
        new = {**params, "cond": goes_on, "body": step}
        with np.errstate(all="ignore"):  # entries that have ended may meet anything
            results = self.call(*fixed, *first(*fixed, *state), *state, **new)
        return results[1:], flags[consts:]


@cached_on_graph
def joint_loop_graphs(
    body: Graph, cond: Graph, consts: int, flags: Flags, size: int
) -> tuple[Graph, Graph, Graph]:
    """Return the condition of every entry, the condition of the loop, and its body, for a batch; the first
    carry tells which entries go on."""
    every, _ = batch_graph(cond, flags, size, (True,))
    moving = flags[consts:]
    all_of_them, _ = batch_graph(body, flags, size, moving)

    def step(*operands: Any) -> list[Any]:
        fixed, (active,), state = split_list(operands, consts, 1)
        new = all_of_them(*fixed, *state)
        masks = [ops.reshape(active, shape=(size, *[1] * (max(aval_of(n).ndim, 1) - 1))) for n in new]
        state = [ops.where(mask, n, s) if m else s for mask, n, s, m in zip(masks, new, state, moving)]
        return [*every(*fixed, *state), *state]

    avals = batch_avals(body, flags, size)
    avals.insert(consts, Aval((size,), np.dtype(bool)))
    return (
        every,
        stage(lambda *operands: [ops.reduce_any(operands[consts], axes=(0,))], avals, cond.name),
        stage(step, avals, body.name),
    )


def extend_condition(graph: Graph, body: Graph, places: Sequence[Any]) -> Graph:
    """Rewrite the condition as a Graph of all inputs of a body, of which it reads those at `places`."""
    renamed = dict(zip(places, graph.inputs))
    inputs = [renamed.get(v, v) for v in body.inputs]
    return Graph(inputs, graph.equations, graph.outputs, graph.captured, graph.name)


def scan_params(params: dict) -> dict:
    """Return the params of the scan that takes the steps of a bounded while loop."""
    body = params["body"]
    return {
        "body": body,
        "consts": params["consts"],
        "carry": len(body.outputs),
        "length": params["max_steps"],
        "reverse": False,
    }


def bound_of(count: Any) -> int | None:
    """Return the least power of two that is not below a number of steps, or None where that is not known."""
    count = innermost_primal(count)
    return 1 << (int(count) - 1).bit_length() if type(count) in PLAIN and np.size(count) == 1 else None


def count_steps(values: Sequence[Any], params: dict) -> Any:
    """Count the steps of a while loop."""
    decide, counting = add_counter(params["body"], params["cond"])
    return while_call(*values, np.int64(0), **{**params, "cond": decide, "body": counting})[-1]


@cached_on_graph
def add_counter(body: Graph, cond: Graph) -> tuple[Graph, Graph]:
    """Return the condition and the body of a loop with the number of steps as its last carry."""
    avals = [*body.in_avals, Aval((), np.dtype(np.int64))]
    decide = stage(lambda *operands: cond(*operands[:-1]), avals, cond.name)
    counting = stage(lambda *operands: [*body(*operands[:-1]), operands[-1] + 1], avals, body.name)
    return decide, counting.prune(keep_effects=False)


def unbounded_error(site: Any = None) -> NotDifferentiableError:
    return NotDifferentiableError(
        "reverse mode through a while_loop of any number of steps, whose residuals have no bound",
        hint="give max_steps=, or use lax.scan, or lax.fori_loop with bounds that are numbers; forward mode (fx.jvp, "
        "fx.jacfwd) works as it is",
        site=site,
    )


scan_primitive = Scan()
scan_call = scan_primitive.call
while_primitive = While()
while_call = while_primitive.call
