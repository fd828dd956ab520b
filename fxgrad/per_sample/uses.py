"""Uses of a parameter in a Graph, and the parts of its gradient at each use.

A use is recognized where the parameter, possibly transposed or reshaped, meets a value that depends on the example in a
contraction, a correlation or a lookup. Each use gives a Pairing: the number and the cost of the outer products, the
rearrangement of the parameter into (stack, row, column), and the Factors computed from the other operand and from the
cotangent of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .. import ops
from ..core.aval import aval_of, is_differentiable, kind_of
from ..core.graph import Equation, Graph, Var
from ..ops.contraction import parse_spec
from .gradients import ALL, Arrangement, Factors, OneHot, simplify, widen


class Pairing(NamedTuple):
    """See the module. `factors` takes the other operand and the cotangent of the result, each with a leading axis for
    the examples."""

    positions: int
    width: int  # entries that are kept for a position
    steps: Arrangement
    swapped_steps: Arrangement  # to (stack, column, row)
    factors: Callable[[Any, Any], Factors]
    can_swap: bool = True


class Use(NamedTuple):
    """A use of a leaf: the equation, if that has a Graph inside the one there, which of its operands is the activation,
    the Pairing, the arrangement of the leaf for it, and whether rows and columns are to be swapped."""

    index: int
    inner: int | None
    activation: int
    pairing: Pairing
    arrangement: Arrangement
    swapped: bool


def group(value: Any, letters: str, *groups: Sequence[str]) -> Any:
    """Arrange an array, whose axes after the first have these letters, by groups of axes, each of which becomes one."""
    order = "".join(map("".join, groups))
    count, *shape = value.shape
    sizes = dict(zip(letters, shape))
    if order != letters:
        value = ops.permute(value, axes=(0, *(1 + letters.index(c) for c in order)))
    return ops.reshape(value, shape=(count, *(prod(sizes[c] for c in g) for g in groups)))


def pair_contraction(equation: Equation, place: int) -> Pairing:
    """The rows are the axes that are summed, the columns those that only the parameter has."""
    *letters, out = parse_spec(equation.params["spec"])
    own, other = letters[place], letters[1 - place]
    sizes = dict(zip(own, equation.inputs[place].aval.shape))
    stack = [c for c in own if c in other and c in out]
    rows = [c for c in own if c not in out]
    columns = [c for c in own if c not in other]
    positions = [c for c in out if c not in own]

    def factors(activation: Any, ct: Any) -> Factors:
        left = group(activation, other, stack, positions, rows)
        return Factors(left, group(ct, out, stack, positions, columns))

    def steps(*groups: Sequence[str]) -> Arrangement:
        axes = tuple(own.index(c) for g in groups for c in g)
        return ("permute", axes), ("reshape", tuple(prod(sizes[c] for c in g) for g in groups))

    count = prod(dict(zip(out, equation.outputs[0].aval.shape))[c] for c in positions)
    width = prod(sizes[c] for c in rows) + prod(sizes[c] for c in columns)
    return Pairing(count, width, steps(stack, rows, columns), steps(stack, columns, rows), factors)


def pair_correlation(equation: Equation, place: int) -> Pairing | None:
    """The rows are the channels and taps of the kernel, the columns its features; windows of the image meet them."""
    params = equation.params
    pads, steps_, dilations = params["pads"], params["steps"], params["w_dilations"]
    if place != 1 or {*params["x_dilations"]} - {1} or any(n < 0 for pair in pads for n in pair):
        return None
    groups, features, channels, *taps = equation.inputs[1].aval.shape
    batch, _, _, *counts = equation.outputs[0].aval.shape
    k = len(taps)
    spatial = "uvwxyz"[:k]
    outer = "UVWXYZ"[:k]

    def factors(image: Any, ct: Any) -> Factors:
        if any(n for pair in pads for n in pair):
            image = ops.pad(image, widths=((0, 0),) * 4 + tuple(pads))
        found = ops.windows(image, sizes=tuple(taps), steps=steps_, dilations=dilations)
        found = ops.getitem(found, index=(ALL,) * (4 + k) + tuple(slice(0, n, None) for n in counts))
        left = group(found, "bgc" + spatial + outer, "g", "b" + outer, "c" + spatial)
        return Factors(left, group(ct, "bgf" + outer, "g", "b" + outer, "f"))

    rows = channels * prod(taps)
    tail = tuple(range(2, 3 + k))
    straight = ("permute", (0, *tail, 1)), ("reshape", (groups, rows, features))
    swapped = ("permute", (0, 1, *tail)), ("reshape", (groups, features, rows))
    return Pairing(batch * prod(counts), rows + features, straight, swapped, factors)


def pair_lookup(equation: Equation, place: int) -> Pairing | None:
    """The rows are those of a table, taken by integers along its first axis."""
    index = equation.params["index"]
    if place != 0 or len(equation.inputs) != 2 or index[0] is not ... or any(e != ALL for e in index[1:]):
        return None
    size, *shape = equation.inputs[0].aval.shape
    places = equation.inputs[1].aval
    columns = prod(shape)

    def factors(found: Any, ct: Any) -> Factors:
        count, found = found.shape[0], ops.convert(found, dtype=np.dtype(np.intp))
        found = ops.where(ops.less(found, 0), ops.add(found, size), found)
        found = ops.reshape(found, shape=(count, places.size))
        return Factors(OneHot(found, size), ops.reshape(ct, shape=(count, 1, places.size, columns)))

    steps = (("reshape", (1, size, columns)),)
    return Pairing(places.size, columns, steps, (), factors, can_swap=False)


PAIRINGS: dict[str, Callable[[Equation, int], Pairing | None]] = {
    "contract": pair_contraction, "correlate": pair_correlation, "getitem": pair_lookup
}  # fmt: skip


def find_uses(graph: Graph, leaf: Var, mapped: set[Var]) -> list[Use] | None:
    """Find the uses of an input of a Graph; None where one is not recognised, or not all of them have the same rows and
    columns. `mapped` are the variables that depend on the example."""
    found = collect_uses(graph, leaf, mapped)
    if not found or leaf in graph.outputs[:1]:
        return None
    # A lookup cannot swap its rows and columns: the others follow it.
    found.sort(key=lambda use: use.pairing.can_swap)
    first = simplify((*found[0].arrangement, *found[0].pairing.steps), leaf.aval.shape)
    uses = []
    for use in found:
        straight = simplify((*use.arrangement, *use.pairing.steps), leaf.aval.shape)
        turned = simplify((*use.arrangement, *use.pairing.swapped_steps), leaf.aval.shape)
        if first != straight and not (first == turned and use.pairing.can_swap):
            return None
        uses.append(use._replace(arrangement=first, swapped=first != straight))
    return uses


def collect_uses(graph: Graph, leaf: Var, mapped: set[Var], is_inner: bool = False) -> list[Use] | None:
    """Collect the uses of an input, each with the steps that lead to its operand as arrangement; None where one is not
    recognised."""
    reached: dict[Any, Arrangement] = {leaf: ()}
    found: list[Use] = []
    for index, equation in enumerate(graph.equations):
        places = [i for i, a in enumerate(equation.inputs) if type(a) is Var and a in reached]
        if not places:
            continue
        paths = [reached[equation.inputs[i]] for i in places]
        if mapped.isdisjoint(equation.inputs):
            step = rearranging_step(equation)
            if step is None:
                return None
            reached[equation.outputs[0]] = (*paths[0], step)
            continue
        inside = None if is_inner else inside_of(equation)
        if inside is not None:
            for place, path in zip(places, paths):
                inner = collect_inner_uses(inside, equation, place, mapped)
                if inner is None or not all(
                    use.pairing.can_swap or place <= inside.constants for use in inner
                ):
                    return None
                found += [
                    use._replace(index=index, inner=use.index, arrangement=(*path, *use.arrangement))
                    for use in inner
                ]
            continue
        if len(places) > 1:
            return None
        pair = PAIRINGS.get(equation.primitive.name)
        avals = [a.aval for a in (*equation.inputs, *equation.outputs)]
        pairing = (
            None if pair is None or any(kind_of(a.dtype) == "c" for a in avals) else pair(equation, places[0])
        )
        if pairing is None:
            return None
        found.append(Use(index, None, 1 - places[0], pairing, paths[0], False))
    return None if any(a in reached for a in (graph.outputs if is_inner else graph.outputs[:1])) else found


class Inside(NamedTuple):
    """The Graph inside an equation: its inputs are the operands from `first` on, of which the first `constants` are the
    same in all steps, the next `carry` differ, and the others are rows; `length` is the number of steps, None where it
    is run once."""

    graph: Graph
    first: int
    constants: int
    carry: int
    length: int | None


def inside_of(equation: Equation) -> Inside | None:
    """Return what is inside of a loop or a checkpoint."""
    params = equation.params
    if equation.primitive.name == "scan":  # its first operand is the number of steps
        return Inside(params["body"], 1, params["consts"], params["carry"], params["length"])
    if equation.primitive.name == "checkpoint":
        return Inside(params["graph"], 0, len(equation.inputs), 0, None)
    return None


def collect_inner_uses(inside: Inside, equation: Equation, place: int, mapped: set[Var]) -> list[Use] | None:
    """Collect the uses of an operand of an equation in the Graph inside it. Steps are positions of what is the same in
    all of them, and stacks of what has rows for them, as the layers of a network."""
    graph, first, constants, carry, length = inside
    number = place - first
    if number < 0 or constants <= number < constants + carry:
        return None
    changing = [v for v, a in zip(graph.inputs, equation.inputs[first:]) if a in mapped]
    depends = graph.dependents([*changing, *graph.inputs[constants : constants + carry]])
    found = collect_uses(graph, graph.inputs[number], depends, True)
    if found is None or length is None:
        return found
    return [lengthen_use(use, length) if number < constants else stack_use(use, length) for use in found]


def lengthen_use(use: Use, length: int) -> Use:
    """Return a use in one step as that in all steps, which are further positions."""
    pairing = use.pairing
    return use._replace(
        pairing=pairing._replace(
            positions=length * pairing.positions,
            factors=lambda activations, cts: join_steps(pairing.factors, activations, cts),
        )
    )


def stack_use(use: Use, length: int) -> Use:
    """Return the use of a row in one step as that of all rows, which are further stacks."""
    pairing = use.pairing

    def lift(steps: Arrangement) -> Arrangement:
        return tuple(
            (kind, (0, *(n + 1 for n in numbers)) if kind == "permute" else (length, *numbers))
            for kind, numbers in steps
        )

    def stack(steps: Arrangement) -> Arrangement:
        if not steps:
            return ()
        _, (stacks, *rest) = steps[-1]
        return *lift(steps), ("reshape", (length * stacks, *rest))

    def factors(activations: Any, cts: Any) -> Factors:
        count = cts.shape[0]
        found = pairing.factors(
            *(ops.reshape(v, shape=(count * length, *v.shape[2:])) for v in (activations, cts))
        )
        left, right = (ops.reshape(v, shape=(count, length * v.shape[1], *v.shape[2:])) for v in found[:2])
        return Factors(left, right)

    return use._replace(
        arrangement=lift(use.arrangement),
        pairing=pairing._replace(
            positions=length * pairing.positions,
            steps=stack(pairing.steps),
            swapped_steps=stack(pairing.swapped_steps),
            factors=factors,
        ),
    )


def join_steps(factors: Callable[[Any, Any], Factors], activations: Any, cts: Any) -> Factors:
    """Make Factors of arrays (example, step, …): the positions of all steps, one step after another."""
    count, length = cts.shape[:2]

    def merge(value: Any) -> Any:
        return ops.reshape(value, shape=(count * length, *value.shape[2:]))

    def split(value: Any) -> Any:
        """Arrange (example · step, stack, position, …) as (example, stack, step · position, …)."""
        _, stack, positions, entries = value.shape
        value = ops.reshape(value, shape=(count, length, stack, positions, entries))
        value = ops.permute(value, axes=(0, 2, 1, 3, 4))
        return ops.reshape(value, shape=(count, stack, length * positions, entries))

    left, right, _ = factors(merge(activations), merge(cts))
    if isinstance(left, OneHot):
        places = ops.reshape(left.places, shape=(count, length * left.places.shape[1]))
        return Factors(OneHot(places, left.size), split(right))
    return Factors(split(left), split(right))


def rearranging_step(equation: Equation) -> tuple[str, tuple[int, ...]] | None:
    """Return the step that an equation takes, if it only rearranges the entries of its operand."""
    name = equation.primitive.name
    if name == "permute":
        return "permute", tuple(equation.params["axes"])
    if name == "convert" and is_differentiable(equation.inputs[0].aval.dtype):
        return "reshape", equation.outputs[0].aval.shape
    is_widened = name == "getitem" and all(e is None or e == ALL for e in equation.params["index"])
    if name == "reshape" or (is_widened and len(equation.inputs) == 1):
        return "reshape", equation.outputs[0].aval.shape
    return None


def make_factors(use: Use, activation: Any, ct: Any) -> Factors:
    """Make the Factors of one use, of arrays with a leading axis for the examples."""
    left, right, _ = use.pairing.factors(activation, widen(ct))
    if not isinstance(left, OneHot):
        is_floating = is_differentiable(aval_of(left).dtype)
        left = widen(left) if is_floating else ops.convert(left, dtype=aval_of(right).dtype)
    return Factors(right, left) if use.swapped else Factors(left, right)
