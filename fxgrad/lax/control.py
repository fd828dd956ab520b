"""Control flow on traced values: branches and loops that support all transforms.

Each function stages its function arguments once, whatever they close over. Python's own `if` and `for` also work under
`grad` and `jvp`, but not under `jit`, nor on values that differ between the entries of a batch. Names and semantics are
those of `jax.lax`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..control.branches import switch_call as switch_operation
from ..control.stepwise import run_scan
from ..control.stepwise import run_while as while_operation
from ..core import pytree, source_info
from ..core.arrays import as_value
from ..core.aval import Aval, aval_of, kind_of
from ..core.errors import ConcretizationError, DTypeError, ShapeError, StructureError
from ..core.interpreter import Tracer, api_boundary, concretize
from ..core.references import inside_body
from ..core.surface import is_object, join_structures
from ..core.typing import ArrayLike, PyTree
from ..transforms.arguments import LeafName, leaf_path
from ..transforms.copies import known_axes, note_axes
from ..transforms.disable_jit import is_jit_disabled
from ..transforms.subgraphs import close_graphs
from ..transforms.vmap import vmap
from . import python_flow
from .functions import (
    StagedFunction,
    cast_to_aval,
    flatten_arguments,
    join_avals,
    mismatch_error,
    stage_loop_body,
    unshare_if_plain,
)
from .refs import lift_refs

__all__ = ["cond", "fori_loop", "map", "scan", "switch", "while_loop"]


NO_OPERAND: Any = object()


@api_boundary
def cond(
    pred: ArrayLike,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: PyTree,
    operand: PyTree = NO_OPERAND,
) -> PyTree:
    """Call true_fun(*operands) if `pred` is true, and false_fun(*operands) otherwise.

    Only the chosen function is run. (Where `pred` is batched by `vmap`, both are, and the results selected.)

    Args:
        pred: a boolean or number without axes.
        true_fun, false_fun: functions of the operands, whose results have the same structure, shapes and dtypes.
        operands: pytrees of arrays.
        operand: the only operand, by its name.

    Raises:
        StructureError: the results of the two functions differ, or there are operands both ways.
        DTypeError: `pred` is not one boolean or number.

    >>> root = lambda x: lax.cond(x > 0, fnp.sqrt, lambda x: 0.0 * x, x)
    >>> float(root(4.0)), float(fx.grad(root)(4.0))
    (2.0, 0.25)
    """
    if operand is not NO_OPERAND:
        if operands:
            raise StructureError(
                "cond: operands are given by position, and one by the name operand",
                hint="cond(pred, true_fun, false_fun, *operands)",
            )
        operands = (operand,)
    check_scalar(pred, "cond: pred")
    pred = ops.not_equal(pred, 0) if kind_of(aval_of(pred).dtype) != "b" else pred
    if is_jit_disabled() and (done := python_flow.choose(pred, (false_fun, true_fun), operands)):
        return done[0]
    names = ("false_fun", "true_fun")
    return stage_switch("cond", pred, (false_fun, true_fun), names, operands)


@api_boundary
def switch(index: ArrayLike, branches: Sequence[Callable[..., Any]], *operands: PyTree) -> PyTree:
    """Call branches[index](*operands); an index out of range counts as the nearest in range.

    Args:
        index: an integer without axes.
        branches: functions of the operands, whose results have the same structure, shapes and dtypes.
        operands: pytrees of arrays.

    Raises:
        StructureError: there is no branch, or their results differ.
        DTypeError: `index` is not one integer.

    >>> [lax.switch(i, [lambda x: x, lambda x: -x], 2.0) for i in range(3)]
    [2.0, -2.0, -2.0]
    """
    check_scalar(index, "switch: index", "iu")
    if not branches:
        raise StructureError("switch: there is no branch", hint="a list of one function or more")
    if is_jit_disabled() and (done := python_flow.choose(index, branches, operands)):
        return done[0]
    names = [f"branches[{i}]" for i in range(len(branches))]
    return stage_switch("switch", index, branches, names, operands)


NUMBER_WORDS = {"iu": "an integer", "iuf": "a number"}


def check_scalar(value: Any, what: str, kinds: str = "biufc") -> None:
    """Raise unless the value is one number of these kinds."""
    flatten_arguments(what, (value,))
    aval = aval_of(value)
    if aval.shape or kind_of(aval.dtype) not in kinds:
        raise DTypeError(
            f"{what} must be {NUMBER_WORDS.get(kinds, 'a boolean')} without axes, not {aval!r}",
            hint="for a choice in every entry: fnp.where, or fx.vmap of the function" if aval.shape else None,
        )


def switch_with_refs(
    refs: Any, values: Any, place: str, index: Any, functions: Sequence[Callable], names: Any, operands: tuple
) -> Any:
    """As `stage_switch`, for functions that use references."""

    def carry(function: Callable) -> Callable:
        def branch(held: Any, *given: Any) -> Any:
            with inside_body(refs, held) as after:
                result = function(*given)
            return result, after

        return branch

    return stage_switch_only(place, index, [carry(f) for f in functions], names, (values, *operands))


def stage_switch_only(
    place: str, index: Any, functions: Sequence[Callable], names: Sequence[str], operands: tuple
) -> Any:
    """Stage the functions, and return the result of the one that the index says."""
    site = source_info.user_frame()
    leaves, structure = flatten_arguments(place, operands)
    avals = [aval_of(v) for v in leaves]
    varying = known_axes(leaves)
    if varying is not None:
        functions = [note_axes(f, varying) for f in functions]
    branches = [
        StagedFunction(f, structure, avals, f"{place}: {name}", site) for f, name in zip(functions, names)
    ]
    first = branches[0]
    joined: Any = first.out_structure
    if any(other.out_structure != joined for other in branches):
        joined = join_structures([b.out_structure for b in branches])
    common: list[Any] = first.graph.out_avals
    for name, other in zip(names, branches):
        if joined is None and other.out_structure != first.out_structure:
            raise StructureError(
                f"{place}: the results of {name} "
                f"{pytree.describe_difference(other.out_structure, first.out_structure)} as of {names[0]}",
                hint="return the same containers from all: what one has not got may be zeros",
                site=site,
            )
        common = [join_avals(a, b) for a, b in zip(common, other.graph.out_avals)]
        if None in common:
            i = common.index(None)
            both = first.graph.out_avals[i], other.graph.out_avals[i]
            when = f"by {names[0]}", f"by {name}"
            raise mismatch_error(f"{place}: the result", first.out_structure, i, when, both, site)
    graphs, consts = close_graphs(*(b.restage(common).graph for b in branches))
    values = [*consts, *leaves]
    results = switch_operation(as_value(index), *values, branches=tuple(graphs))
    return pytree.unflatten(joined, unshare_if_plain(results, values))  # type: ignore[arg-type]


@api_boundary
def while_loop(
    cond_fun: Callable[[Any], Any],
    body_fun: Callable[[Any], Any],
    init_val: PyTree,
    max_steps: int | None = None,
    *,
    progress: bool | str = False,
) -> PyTree:
    """Apply `body_fun` to a value repeatedly, starting with `init_val`, while `cond_fun` of the value is true.

    Forward mode works as it is. Reverse mode keeps something of every step that is taken, and runs the loop once more
    to count them. Inside `jit`, where their number is unknown, it needs the bound `max_steps`. Where `vmap` makes
    `cond_fun` differ between entries, the loop runs until it holds for none, and entries for which it does not are left
    as they are.

    Args:
        cond_fun: a function from the value to one boolean.
        body_fun: a function from the value to the next, of the same structure, shapes and dtypes.
        init_val: a pytree of arrays. Python numbers take the dtype that `body_fun` gives them.
        max_steps: stop after this many steps in any case.
        progress: show how many steps are done, with this label if it is a text; under `jit` each time it runs. The
            condition is then computed twice at each step.

    Raises:
        StructureError: `body_fun` changes structure, shapes or dtypes; the message names the leaf.
        DTypeError: `cond_fun` does not give one boolean.
        NotDifferentiableError: reverse mode without `max_steps` inside `jit`, where the number of steps is unknown.

    >>> grown = lambda x: lax.while_loop(lambda v: v < 100.0, lambda v: v * v, x)
    >>> float(grown(2.0)), float(fx.jvp(grown, (2.0,), (1.0,))[1])
    (256.0, 1024.0)
    """
    check_count(max_steps, "while_loop: max_steps")
    if progress:
        from .progress import count_steps  # which is written with loops

        counted = count_steps(cond_fun, body_fun, max_steps, progress)
        return while_loop(*counted, (0, init_val), max_steps)[1]
    if is_jit_disabled() and (done := python_flow.repeat_while(cond_fun, body_fun, init_val, max_steps)):
        return done[0]
    return stage_while("while_loop", cond_fun, body_fun, init_val, max_steps)


def while_with_refs(
    refs: Any,
    values: Any,
    place: str,
    cond_fun: Callable,
    body_fun: Callable,
    init: Any,
    max_steps: Any = None,
) -> Any:
    """As `stage_while`, for functions that use references."""

    def goes_on(state: tuple) -> Any:
        with inside_body(refs, state[1]):
            return cond_fun(state[0])

    def step(state: tuple) -> tuple:
        with inside_body(refs, state[1]) as after:
            result = body_fun(state[0])
        return result, after

    return stage_while_only(place, goes_on, step, (init, values), max_steps)


def stage_while_only(
    place: str, cond_fun: Callable, body_fun: Callable, init_val: Any, max_steps: int | None = None
) -> Any:
    """Stage the functions of a while loop, and run it."""
    site = source_info.user_frame()
    leaves, structure = flatten_arguments(f"{place}: init_val", (init_val,))
    (inner,) = structure.children()
    body, avals, structure = stage_loop_body(
        body_fun,
        structure,
        [aval_of(v) for v in leaves],
        inner,
        lambda out: out,
        f"{place}: body_fun",
        site,
        known_axes(leaves),
    )
    decide = StagedFunction(cond_fun, structure, avals, f"{place}: cond_fun", site)
    outs = decide.graph.out_avals
    if not decide.out_structure.num_leaves == 1 == len(outs) or outs[0].shape or outs[0].dtype.kind != "b":
        raise DTypeError(
            f"{place}: cond_fun must give one boolean, not {pytree.unflatten(decide.out_structure, outs)!r}",
            hint="fnp.all(…) or fnp.any(…) of it, or fnp.where in the body",
            site=site,
        )
    (goes_on, step), consts = close_graphs(decide.graph, body.graph)
    values = [*consts, *(cast_to_aval(v, a) for v, a in zip(leaves, avals))]
    results = while_operation(*values, cond=goes_on, body=step, consts=len(consts), max_steps=max_steps)
    return pytree.unflatten(body.out_structure, unshare_if_plain(results, values))


@api_boundary
def fori_loop(
    lower: ArrayLike,
    upper: ArrayLike,
    body_fun: Callable[[Any, Any], Any],
    init_val: PyTree,
    *,
    unroll: int | bool | None = None,
    progress: bool | str = False,
) -> PyTree:
    """Run `for i in range(lower, upper): val = body_fun(i, val)`, from `init_val`.

    Where the bounds are numbers this is a `scan`, and reverse mode works; where they are abstract (under `jit`) it is a
    `run_while`, and only forward mode does.

    Args:
        lower, upper: numbers without axes; i counts up from `lower` by ones, as long as it is below `upper`.
        body_fun: (i, value) → the next value, of the same structure, shapes and dtypes.
        init_val: a pytree of arrays. Python numbers take the dtype that `body_fun` gives them: of 0 and
            `lambda i, c: c + 0.5` the value is 0.0 to begin with.
        unroll: accepted for JAX's sake; results do not depend on it.
        progress: show a bar of the steps, with this label if it is a text; under `jit` each time it runs.

    Raises:
        StructureError: `body_fun` changes structure, shapes or dtypes; the message names the leaf.
        DTypeError: a bound is not one number.
        ShapeError: the state changes its shape from step to step.

    >>> lax.fori_loop(1, 5, lambda i, product: product * i, 1)
    24
    """
    check_unroll(unroll, "fori_loop")
    if progress:
        return fori_loop(lower, upper, with_progress(body_fun, lower, upper, progress), init_val)
    bounds: tuple[Any, Any] = lower, upper
    lower, upper = [x._fx_value if is_object(x) else x for x in bounds]
    for name, bound in (("lower", lower), ("upper", upper)):
        check_scalar(bound, f"fori_loop: {name}", "iuf")
    common = join_avals(aval_of(lower), aval_of(upper))
    if common is None:
        raise DTypeError(
            f"fori_loop: the bounds have dtypes {aval_of(lower).dtype} and {aval_of(upper).dtype}",
            hint="lower.astype(upper.dtype), or plain integers",
        )
    start = cast_to_aval(lower, common)
    try:
        first, last = (concretize(bound, "use as an index") for bound in (lower, upper))
    except ConcretizationError:
        _, _, value = stage_while(
            "fori_loop",
            lambda state: state[0] < state[1],
            lambda state: (state[0] + 1, state[1], body_fun(state[0], state[2])),
            (start, cast_to_aval(upper, common), init_val),
        )
        return value
    if is_jit_disabled():
        value, i = init_val, first
        while i < last:
            value, i = body_fun(i, value), i + 1
        return value

    def step(state: tuple, _: None) -> tuple:
        i, value = state
        return (i + 1, body_fun(i, value)), None

    (_, value), _ = stage_scan(
        "fori_loop: body_fun, (i, val)", step, (start, init_val), None, max(math.ceil(last - first), 0), False
    )
    return value


@api_boundary
def scan(
    f: Callable[[Any, Any], tuple],
    init: PyTree,
    xs: PyTree = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    *,
    progress: bool | str = False,
) -> tuple[Any, Any]:
    """Loop over the leading axis of `xs` and carry a value along: `carry, y = f(carry, x)` for every row
    x.

    Args:
        f: (carry, x) → (the next carry, of the same structure, shapes and dtypes; y).
        init: the first carry, a pytree of arrays. Python numbers take the dtype that `f` gives them.
        xs: a pytree of arrays of the same length, or None.
        length: the number of steps, needed where `xs` has no arrays.
        reverse: go from the last row to the first; the rows of ys are those of xs all the same.
        unroll: accepted for JAX's sake; results do not depend on it.
        progress: show a bar of the steps, with this label if it is a text; under `jit` each time it runs.

    Returns:
        (the last carry, ys): every y along a new leading axis.

    Raises:
        StructureError: `f` does not return a pair, or changes the carry; the message names the leaf.
        ShapeError: the lengths differ.

    >>> total, sums = lax.scan(lambda c, x: (c + x, c + x), 0.0, np.arange(4.0))
    >>> float(total), sums
    (6.0, array([0., 1., 3., 6.]))
    """
    check_unroll(unroll, "scan", 0)
    if progress:
        return scan_with_progress(f, init, xs, length, reverse, progress)
    if is_jit_disabled() and (done := python_flow.scan_rows(f, init, xs, length, reverse)):
        return done[0]
    return stage_scan("scan: f", f, init, xs, length, reverse)


def with_progress(body_fun: Callable, lower: Any, upper: Any, progress: bool | str) -> Callable:
    """Return the body of `fori_loop` with a bar."""
    from .progress import reporter  # which is written with loops

    total = upper - lower
    if not isinstance(total, Tracer):
        total = math.ceil(total)
    report = reporter(progress, "fori_loop", total)

    def body(i: Any, value: Any) -> Any:
        report(i - lower + 1)
        return body_fun(i, value)

    return body


def scan_with_progress(
    f: Callable, init: Any, xs: Any, length: int | None, reverse: bool, progress: bool | str
) -> tuple[Any, Any]:
    """As `scan`, with a bar."""
    from .progress import reporter  # which is written with loops

    sizes = [aval_of(leaf).shape[:1] for leaf in pytree.leaves(xs)]
    report = reporter(
        progress, "scan", int(length) if length is not None else next((s[0] for s in sizes if s), None)
    )

    def step(state: tuple, x: Any) -> Any:
        report(state[0] + 1)
        result = f(state[1], x)
        if type(result) is not tuple or len(result) != 2:
            return result  # of which `scan` tells what is wrong
        return (state[0] + 1, result[0]), result[1]

    (_, carry), ys = scan(step, (0, init), xs, length, reverse)
    return carry, ys


def scan_with_refs(
    refs: Any, values: Any, place: str, f: Callable, init: Any, xs: Any, length: int | None, reverse: bool
) -> Any:
    """As `stage_scan`, for a function that uses references."""

    def step(state: tuple, x: Any) -> tuple:
        with inside_body(refs, state[1]) as after:
            result = f(state[0], x)
            if not isinstance(result, tuple) or len(result) != 2:
                raise StructureError(
                    f"{place} must return a pair (carry, y), not a {type(result).__name__}",
                    hint="return carry, y; None for no y",
                )
        return (result[0], after), result[1]

    (carry, after), ys = stage_scan_only(place, step, (init, values), xs, length, reverse)
    return (carry, ys), after


def stage_scan_only(
    place: str, f: Callable, init: Any, xs: Any, length: int | None, reverse: bool
) -> tuple[Any, Any]:
    """Stage the function of a scan, and run it."""
    site = source_info.user_frame()
    if not callable(f):
        raise StructureError(
            f"{place} must be a function, not a {type(f).__name__}",
            hint="the function itself, f, and not what it returns, f(x)",
            site=site,
        )
    leaves, structure = flatten_arguments(place, (init, xs))
    carry_structure, _ = structure.children()
    count = carry_structure.num_leaves
    steps = common_length(place, leaves[count:], structure, length)
    avals = [aval_of(v) for v in leaves]
    avals[count:] = [Aval(a.shape[1:], a.dtype) for a in avals[count:]]

    def carry_of(out: Any) -> Any:
        children = out.children()
        if out.type is not tuple or len(children) != 2:
            raise StructureError(
                f"{place} must return a pair (carry, y), not {pytree.describe(out)}",
                hint="return carry, y; None for no y",
                site=site,
            )
        return children[0]

    body, avals, _ = stage_loop_body(
        f, structure, avals, carry_structure, carry_of, place, site, known_axes(leaves)
    )
    (graph,), consts = close_graphs(body.graph)
    values = [*consts, *(cast_to_aval(v, a) for v, a in zip(leaves, avals[:count])), *leaves[count:]]
    results = run_scan(
        steps, *values, body=graph, consts=len(consts), carry=count, length=steps, reverse=bool(reverse)
    )
    return pytree.unflatten(body.out_structure, unshare_if_plain(results, values))


stage_switch = lift_refs(stage_switch_only, switch_with_refs)
stage_while = lift_refs(stage_while_only, while_with_refs)
stage_scan = lift_refs(stage_scan_only, scan_with_refs)


def common_length(place: str, xs: Sequence[Any], structure: Any, length: int | None) -> int:
    """Return the number of steps; raise where lengths differ."""
    operation = place.partition(":")[0]
    check_count(length, f"{operation}: length")
    lengths = [None if length is None else int(length)]
    for i, x in enumerate(xs, structure.num_leaves - len(xs)):
        shape = aval_of(x).shape
        name = LeafName(f"{operation}: xs", lambda i=i: leaf_path(structure, i)[3:])
        if not shape:
            raise ShapeError(
                f"{name} has no axis to go along", hint="close over what is the same in every step"
            )
        if lengths[0] is not None and shape[0] != lengths[0]:
            raise ShapeError(
                f"{name} has {shape[0]} rows, where length or another part of xs says {lengths[0]}",
                hint="arrays with one number of rows, or leave length out",
            )
        lengths = [shape[0]]
    if lengths[0] is None:
        raise StructureError(
            f"{operation}: the number of steps is unknown: xs has no arrays",
            hint="give length" if operation == "scan" else "give arrays",
        )
    return lengths[0]


def check_count(value: Any, what: str) -> None:
    """Raise unless the value is a number of steps, or None."""
    if value is not None and (
        not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 0
    ):
        raise StructureError(
            f"{what} must be an integer that is not negative, not {value!r}",
            hint="int(…) of it, a number from 0 on",
        )


def check_unroll(unroll: Any, place: str, least: int = 1) -> None:
    """Raise unless JAX would take it. (0, for a scan, is all steps.)"""
    if unroll is not None and not (isinstance(unroll, bool) or (isinstance(unroll, int) and unroll >= least)):
        raise StructureError(
            f"{place}: unroll must be an integer from {least} on or a boolean, not {unroll!r}",
            hint=f"unroll={least}, say, or True for all steps",
        )


@api_boundary
def map(f: Callable[[Any], Any], xs: PyTree, *, batch_size: int | None = None) -> PyTree:
    """Apply `f` to every row of `xs`, one after another: like `vmap`, with the memory of one call.

    Args:
        f: a function of one argument.
        xs: a pytree of arrays of the same length.
        batch_size: rows that are computed together, by `vmap`.

    Returns:
        The results along a new leading axis.

    Raises:
        StructureError: `f` is no function, `xs` has no arrays, or `batch_size` is no positive integer.
        ShapeError: an array has no axis to go along, or another length than the others.

    >>> lax.map(lambda x: x * x, np.arange(3.0))
    array([0., 1., 4.])
    """
    if batch_size is None and is_jit_disabled():
        done = python_flow.scan_rows(lambda _, x: (None, f(x)), None, xs, None, False)
        if done:
            return done[0][1]
    if batch_size is None:
        return stage_scan("map: f", lambda _, x: (None, f(x)), None, xs, None, False)[1]
    if not isinstance(batch_size, int | np.integer) or batch_size < 1:
        raise StructureError(
            f"map: batch_size must be a positive integer, not {batch_size!r}",
            hint="batch_size=64, say, or None for one entry after the other",
        )
    leaves, structure = flatten_arguments("map: xs", (xs,))
    length = common_length("map: f", leaves, structure, None)
    whole = length // batch_size
    mapped, done = vmap(f), whole * batch_size
    parts = []
    if whole or not length:
        rows = pytree.map(lambda x: chunk_rows(x, whole, batch_size), xs)
        ys = stage_scan("map: f", lambda _, x: (None, mapped(x)), None, rows, None, False)[1]
        parts.append(pytree.map(lambda y: ops.reshape(y, shape=(done, *y.shape[2:])), ys))
    if done < length:
        parts.append(mapped(pytree.map(lambda x: take_rows(x, slice(done, length, None)), xs)))
    return parts[0] if len(parts) == 1 else pytree.map(lambda *ys: ops.concatenate(*ys, axis=0), *parts)


def take_rows(x: Any, rows: slice) -> Any:
    return ops.getitem(x, index=(rows, *(slice(None),) * (aval_of(x).ndim - 1)))


def chunk_rows(x: Any, count: int, size: int) -> Any:
    """Return the first count · size rows as (count, size, …)."""
    return ops.reshape(take_rows(x, slice(0, count * size, None)), shape=(count, size, *aval_of(x).shape[1:]))
