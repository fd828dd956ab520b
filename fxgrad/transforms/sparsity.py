"""`sparsity_pattern`: the entries of a Jacobian that can be nonzero, found without computing any.

The tangents of a function are staged for arguments of known shape and unknown value. The Graph is linear in the
tangents for any function, also one with user-defined rules. Each of its operations has a boolean matrix (`dependence`),
and the products and sums of these are the pattern. The pattern never lacks an entry. It has too many where an operation
couples entries in a way that depends on values: in sorting, or in indexing by computed positions.

The method propagates index sets through a program: A. Griewank and A. Walther, "Evaluating Derivatives", 2nd ed., SIAM
2008, chapter 7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core import pytree
from ..core.aval import Aval, aval_of, is_differentiable
from ..core.errors import ConcretizationError, FxgradError
from ..core.graph import Graph, Literal
from ..core.interpreter import api_boundary, is_plain, opened
from ..core.primitive import HigherOrder
from ..core.staging import GraphInterpreter, stage
from ..transforms.arguments import positions_of, wrong_argnums
from .arguments import admit, restrict_arguments
from .dependence import UNKNOWN, dependence, selection, sparse_library
from .derived_function import derive
from .flat_function import FlatFunction
from .jvp import jvp_flat

if TYPE_CHECKING:
    from ..core.typing import P

STEPS = 512  # of a loop that are followed one by one
ROUNDS = 32  # in which a fixed point is looked for


@api_boundary
def sparsity_pattern(fun: Callable[P, Any], argnums: int | Sequence[int] = 0) -> Callable[P, Any]:
    """The sparsity pattern of the Jacobian of `fun`, as a function of the same arguments. That of a Hessian is
    `sparsity_pattern(grad(f))`.

    The pattern holds for all arguments of these shapes and dtypes: values are not looked at, but those of the arguments
    that are not differentiated, and of what `fun` closes over (integers that index, matrices with zeros).

    Args:
        fun: a function of pytrees of arrays that can be staged, as for `jit`.
        argnums: which positional arguments are differentiated.

    Returns:
        A function giving a boolean `scipy.sparse.csr_array` with a row for each entry of the result, and a column
        for each entry of the arguments, in the order of their leaves. An entry that is not in it is zero in every
        Jacobian; entries in it may be zero.

    Raises:
        StructureError: the argument is no function.
        MissingLibraryError: SciPy is not installed.
        ConcretizationError: the course of `fun` depends on values of its arguments.

    >>> fx.sparsity_pattern(lambda x: x[1:] * x[:-1])(np.ones(4)).toarray().astype(int)
    array([[1, 1, 0, 0],
           [0, 1, 1, 0],
           [0, 0, 1, 1]])

    Griewank and Walther, "Evaluating Derivatives" (2008), chapter 7.
    """
    places = positions_of("sparsity_pattern", argnums)

    @api_boundary
    def pattern_of(*args: Any, **kwargs: Any) -> Any:
        positions = [*places]
        if any(not -len(args) <= p < len(args) for p in positions):
            raise wrong_argnums("sparsity_pattern", argnums, len(args))
        positions = [p % len(args) for p in positions]
        chosen = tuple([args[p] for p in positions])
        leaves, structure = pytree.flatten(chosen)
        avals = [aval_of(admit(v, "sparsity_pattern: an argument")) for v in leaves]
        flat = FlatFunction(restrict_arguments(fun, args, kwargs, positions), structure, "sparsity_pattern")
        return detect_pattern(stage_tangents(flat, avals))

    return derive(pattern_of, sparsity_pattern, fun, argnums=argnums)


class TangentProgram(NamedTuple):
    """The tangents of a function at arguments of some avals, as a Graph: of the `results`, those that are `present`."""

    graph: Graph
    avals: Sequence[Aval]
    results: list[Aval]
    present: list[bool]


def stage_tangents(fun: Callable[..., Sequence[Any]], avals: Sequence[Aval]) -> TangentProgram:
    """Stage the tangents of a function from values to a flat sequence of values."""
    staging = GraphInterpreter(None, "sparsity_pattern")
    inputs = [staging.new(a) for a in avals]
    tangents = [staging.new(Aval(a.shape, a.dtype)) if is_differentiable(a.dtype) else None for a in avals]
    with opened(staging):
        try:
            ys, ts = jvp_flat(fun, inputs, tangents)
        except ConcretizationError as error:
            error.hint = (
                "the pattern must hold for all values of the arguments; use fnp.where or lax.cond instead of a branch, "
                "or give the pattern: sparsity=a boolean scipy.sparse array"
            )
            raise
        results = [aval_of(y) for y in ys]
        present = [t is not None and is_differentiable(a.dtype) for t, a in zip(ts, results)]
        outputs = [staging.atom(t) for t, p in zip(ts, present) if p]
    moving = [t.variable for t in (*inputs, *tangents) if t is not None]
    graph = staging.finish_graph(moving, outputs, "tangents")
    return TangentProgram(graph, avals, results, present)


def detect_pattern(program: TangentProgram) -> Any:
    """Return the pattern of a function, of which these are the tangents."""
    graph, avals, results, present = program
    sparse = sparse_library()
    total = sum([a.size for a in avals])
    start, given = 0, [None] * len(avals)
    for aval in avals:
        if is_differentiable(aval.dtype):
            given.append(sparse.eye_array(aval.size, total, k=start, dtype=bool, format="csr"))
        start += aval.size
    found = iter(Patterns(total).follow(graph, [UNKNOWN] * len(graph.inputs), given)[1])
    rows = [next(found) if p else None for p in present]
    blocks = [empty_pattern(a.size, total) if r is None else r for r, a in zip(rows, results)]
    pattern = sparse.vstack(blocks, format="csr") if blocks else empty_pattern(0, total)
    pattern.sort_indices()
    return pattern


def empty_pattern(rows: int, columns: int) -> Any:
    """Return the pattern without entries."""
    return sparse_library().csr_array((rows, columns), dtype=bool)


class Patterns:
    """The walk through a Graph, in which each variable has a value, `UNKNOWN` if it is not known, and a pattern: the
    rows of a boolean matrix with `columns` columns, or None if no entry depends on any tangent."""

    def __init__(self, columns: int):
        self.columns = columns

    def follow(
        self, graph: Graph, values: Sequence[Any], patterns: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """Return the values and the patterns of the results."""
        known: dict[Any, Any] = {v: x if is_plain((x,)) else UNKNOWN for v, x in graph.captured.items()}
        known.update(zip(graph.inputs, values))
        found: dict[Any, Any] = {v: p for v, p in zip(graph.inputs, patterns) if p is not None}
        last_use = graph.last_uses()

        def value_of(atom: Any) -> Any:
            return atom.value if type(atom) is Literal else known.get(atom, UNKNOWN)

        for number, e in enumerate(graph.equations):
            operands = [value_of(a) for a in e.inputs]
            moved = [found.get(a) for a in e.inputs]
            if any(p is not None for p in moved):
                results, rows = self.step(e, operands, moved)
                known.update((v, x) for v, x in zip(e.outputs, results) if x is not UNKNOWN)
                found.update((v, p) for v, p in zip(e.outputs, rows) if is_kept(v.aval, p))
            elif not any(x is UNKNOWN for x in operands) and not e.effectful and not e.bound_to_axis:
                with np.errstate(all="ignore"):
                    results = e.primitive.call(*operands, **e.params)
                known.update(zip(e.outputs, results if e.primitive.multiple_results else [results]))
            for v in last_use.get(number, ()):
                known.pop(v, None)
                found.pop(v, None)
        return [value_of(a) for a in graph.outputs], [found.get(a) for a in graph.outputs]

    def step(self, e: Any, values: Sequence[Any], patterns: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return the values and the patterns of the results of one operation, some of whose operands have a pattern."""
        rule = getattr(self, e.primitive.name, None) if isinstance(e.primitive, HigherOrder) else None
        if rule is not None:
            return rule(values, patterns, **e.params)
        unknown = [UNKNOWN] * len(e.outputs)
        if isinstance(e.primitive, HigherOrder):
            body = body_of(e)
            if body is not None:
                return self.follow(body, values, patterns)
        avals = [a.aval for a in e.inputs]
        return unknown, [
            self.total(
                self.product(dependence(e.primitive, i, values, avals, out.aval, e.params), p)
                for i, p in enumerate(patterns)
                if p is not None
            )
            for out in e.outputs
        ]

    def product(self, factors: list[Any] | None, pattern: Any) -> Any:
        """Return the product of matrices with a pattern."""
        if factors is None:
            return None
        for factor in reversed(factors):
            pattern = factor @ pattern
        return pattern

    def total(self, patterns: Iterable[Any]) -> Any:
        """Return the union of patterns, or None without any."""
        result = None
        for p in patterns:
            if p is not None:
                result = p if result is None else result + p
        return result

    # -- operations that carry a program, by their names --
    def switch(
        self, values: Sequence[Any], patterns: Sequence[Any], *, branches: Sequence[Graph]
    ) -> tuple[list[Any], list[Any]]:
        """Unite what the branches may do, unless it is known which one is taken."""
        index, *operands = values
        if index is not UNKNOWN:
            branches = [branches[min(max(int(index), 0), len(branches) - 1)]]
        found = [self.follow(b, operands, patterns[1:]) for b in branches]
        if len(found) == 1:
            return found[0]
        rows = [self.total(ps) for ps in zip(*[p for _, p in found])]
        return [UNKNOWN] * len(rows), rows

    def scan(
        self,
        values: Sequence[Any],
        patterns: Sequence[Any],
        *,
        body: Graph,
        consts: int,
        carry: int,
        length: int,
        reverse: bool,
    ) -> tuple[list[Any], list[Any]]:
        """Follow the steps of a short loop; those of a long one until no step adds anything, as one for all rows."""
        count, *values = values
        patterns = patterns[1:]
        middle = consts + carry
        avals = [v.aval for v in body.inputs]
        if count is UNKNOWN or length > STEPS:
            rows = [
                None if p is None else self.product([row_union(a.size, length)], p)
                for p, a in zip(patterns[middle:], avals[middle:])
            ]
            state, ys = self.repeat(body, consts, values[:middle], patterns[:middle], rows, carry)
            every = [None if p is None else sparse_library().vstack([p] * length, format="csr") for p in ys]
            return [UNKNOWN] * len(body.outputs), [*state, *every]
        known, state = list(values[consts:middle]), list(patterns[consts:middle])
        stacks: list[list[Any]] = [[None] * length for _ in body.outputs[carry:]]
        steps = range(min(max(int(count), 0), length))
        for i in reversed(steps) if reverse else steps:
            row_values = [x if x is UNKNOWN else np.asarray(x)[i] for x in values[middle:]]
            rows = [
                None if p is None else p[i * a.size : (i + 1) * a.size]
                for p, a in zip(patterns[middle:], avals[middle:])
            ]
            results, found = self.follow(
                body, [*values[:consts], *known, *row_values], [*patterns[:consts], *state, *rows]
            )
            known, state = results[:carry], found[:carry]
            for stack, p in zip(stacks, found[carry:]):
                stack[i] = p
        every = [self.stack(stack, a.aval.size) for stack, a in zip(stacks, body.outputs[carry:])]
        return [*known, *[UNKNOWN] * len(every)], [*state, *every]

    def stack(self, rows: Sequence[Any], size: int) -> Any:
        """Return the pattern of stacked values of this size; a row that is None has none."""
        if all(p is None for p in rows):
            return None
        nothing = empty_pattern(size, self.columns)
        return sparse_library().vstack([nothing if p is None else p for p in rows], format="csr")

    def while_loop(
        self,
        values: Sequence[Any],
        patterns: Sequence[Any],
        *,
        cond: Graph,
        body: Graph,
        consts: int,
        max_steps: int | None,
    ) -> tuple[list[Any], list[Any]]:
        """Follow the steps while it is known that there is another, and from there on until no step adds anything."""
        fixed, state = list(values[:consts]), list(values[consts:])
        moved, constant, steps = list(patterns[consts:]), patterns[:consts], 0
        while steps != max_steps:
            (again,), _ = self.follow(cond, [*fixed, *state], [None] * len(cond.inputs))
            if again is UNKNOWN or steps == STEPS:
                found, _ = self.repeat(body, consts, [*fixed, *state], [*constant, *moved], [], len(state))
                return [UNKNOWN] * len(found), found
            if not again:
                break
            state, moved = self.follow(body, [*fixed, *state], [*constant, *moved])
            steps += 1
        return state, moved

    def repeat(
        self,
        body: Graph,
        consts: int,
        values: Sequence[Any],
        patterns: Sequence[Any],
        rows: Sequence[Any],
        carry: int,
    ) -> tuple[list[Any], list[Any]]:
        """Return the patterns of a loop's carry and of its other results after any number of steps: a fixed point, or,
        if it is not found soon, all that can be."""
        fixed, state = patterns[:consts], list(patterns[consts:])
        given = [*values[:consts], *[UNKNOWN] * (len(body.inputs) - consts)]
        for _ in range(ROUNDS):
            _, found = self.follow(body, given, [*fixed, *state, *rows])
            grown = [self.total(pair) for pair in zip(state, found[:carry])]
            if [count_entries(p) for p in grown] == [count_entries(p) for p in state]:
                return state, found[carry:]
            state = grown
        avals = [v.aval for v in body.inputs[consts : consts + carry]]
        state = self.spread([*fixed, *state, *rows], avals)
        return state, self.follow(body, given, [*fixed, *state, *rows])[1][carry:]

    def spread(self, patterns: Sequence[Any], avals: Sequence[Aval]) -> list[Any]:
        """Return the patterns of values each entry of which may depend on all that any of these patterns has."""
        everywhere = self.total(
            self.product([row_union(1, p.shape[0])], p) for p in patterns if p is not None
        )
        return [everywhere[np.zeros(a.size, np.intp)] if is_differentiable(a.dtype) else None for a in avals]

    def linear_solve(
        self, values: Sequence[Any], patterns: Sequence[Any], *, solve: Graph, **others: Any
    ) -> tuple[list[Any], list[Any]]:
        """Each entry of a solution depends on all right-hand sides, however it is found."""
        avals = [v.aval for v in solve.outputs]
        return [UNKNOWN] * len(avals), self.spread(patterns, avals)


def body_of(e: Any) -> Graph | None:
    """Return the Graph that an operation executes, or None if it is unknown."""
    try:
        graph = stage(
            lambda *values: e.primitive.kernel(*values, **e.params), [a.aval for a in e.inputs], sites=False
        )
    except (FxgradError, TypeError, ValueError, NotImplementedError):
        return None
    return None if any(inner.primitive is e.primitive for inner in graph.equations) else graph


def is_kept(aval: Aval, pattern: Any) -> bool:
    """Whether a value has a pattern that is worth keeping."""
    return pattern is not None and is_differentiable(aval.dtype) and pattern.nnz > 0


def count_entries(pattern: Any) -> int:
    return 0 if pattern is None else pattern.nnz


def row_union(size: int, copies: int) -> Any:
    """Return the matrix that unites the rows of stacked values of this size."""
    return selection(np.tile(np.arange(size), copies), size).T.tocsr()
