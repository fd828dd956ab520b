"""Staging of a loss and a batch for one example, and the passes that compute the gradients of all examples.

Each parameter is treated in one of three ways:

    factored    its uses are recognized (see `uses`): the cotangent of each result is kept with the activation that
                the parameter met, and nothing of the size of a gradient is formed
    dense       its gradient has no more entries than the factors would have, as for a bias
    recomputed  all others: gradients are formed for one block of examples after another, in separate passes

For p positions and a matrix of m × n, the residuals of a factored parameter have p·(m + n) entries, and its norm takes
p²·(m + n) operations; a dense one has m·n entries and takes p·m·n operations. So one comparison decides for both. In
the body of a loop, which would carry a gradient through all its steps, factoring is always better.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import cached_property, reduce
from typing import Any, NamedTuple

from .. import ops
from ..core import pytree, source_info
from ..core.aval import Aval, aval_of, dtype_of
from ..core.errors import StructureError
from ..core.graph import Graph, Var
from ..core.interpreter import opened
from ..core.key import tree_key
from ..core.staging import stage
from ..ops.kinds import ensure_batched
from ..transforms.arguments import LeafName, admit_arguments, admit_or_float0, argument_path
from ..transforms.flat_function import FlatFunction, split_aux
from ..transforms.jvp import jvp_flat
from ..transforms.reverse import ReverseInterpreter, backward
from ..transforms.subgraphs import split_list
from ..transforms.vjp import admit_for_grad, primal_and_node, scalar_seed
from ..transforms.vmap import BatchInterpreter, common_size, take_chunk, vmap_with
from .gradients import (
    DenseGradients,
    FactoredGradients,
    Gradients,
    blocks,
    join_rows,
    root,
    take_rows,
    unit_near,
)
from .taps import insert_taps
from .uses import Use, find_uses, inside_of, make_factors


class Ways(NamedTuple):
    """Which leaves of the parameters go which way, by position."""

    factored: dict[int, list[Use]]
    dense: list[int]
    recomputed: list[int]


class Problem:
    """A loss of one example, the parameters and the batch."""

    def __init__(
        self, name: str, loss: Callable[..., Any], args: tuple, kwargs: dict, in_axes: Any, has_aux: bool
    ):
        self.name, self.site = name, source_info.user_frame()
        if not args:
            raise StructureError(f"{name}: there are no parameters", hint=f"{name}(loss)(params, batch)")
        leaves, structure = pytree.flatten((args, kwargs))
        self.structure = pytree.structure(args[0])
        count = self.structure.num_leaves
        axes = [None] * count + self.example_axes(args, in_axes)
        axes += [0] * (len(leaves) - len(axes))
        for i in range(count):
            leaf_name = LeafName(f"{name}: the argument", argument_path, structure, i, True)
            leaves[i] = admit_for_grad(leaves[i], leaf_name, False, False)
        leaves = admit_arguments(name, leaves, structure, True, admit_or_float0)
        if all(a is None for a in axes):
            raise StructureError(f"{name}: there are no examples", hint=f"{name}(loss)(params, batch)")
        self.size, axes = common_size(loss, leaves, axes, structure, None)
        self.is_mapped = [a is not None for a in axes]
        values = [v if a is None else take_chunk(v, a, 0, self.size, self.size) for v, a in zip(leaves, axes)]
        self.params, self.examples = values[:count], values[count:]

        def whole(*args: Any, **kwargs: Any) -> Any:
            result, aux = loss(*args, **kwargs), ()
            if has_aux:
                result, aux = split_aux(result, name)
            scalar_seed(result, False, name)  # raises where it is no loss
            return result, aux

        flat_fun = FlatFunction(whole, structure, name, keywords=True)
        avals = [Aval(v.shape[1:], v.dtype) if m else aval_of(v) for v, m in zip(values, self.is_mapped)]
        self.graph = stage(flat_fun, avals, name, self.site, level=name)
        self.out_structure = flat_fun.out_structure
        place = self.site and (id(self.site.code), self.site.lasti)
        self.key = name, place, self.size, tuple(self.is_mapped), self.structure, tree_key(args[0])

    def fill(self, closed: Graph | None, values: Sequence[Any]) -> Problem:
        """Return the problem with other values, if given: those that the loss closes over, which are the leading inputs
        of `closed`, the parameters and the batch."""
        filled: Any = copy.copy(self)
        filled.graph, filled.params, filled.examples = None, [], []
        if closed is not None:
            count = len(closed.inputs) - len(self.is_mapped)
            captured = dict(zip(closed.inputs, values[:count]))
            filled.graph = Graph(
                closed.inputs[count:], closed.equations, closed.outputs, captured, closed.name
            )
            *_, filled.params, filled.examples = split_list(values, count, self.structure.num_leaves)
        return filled

    def example_axes(self, args: tuple, in_axes: Any) -> list[Any]:
        """Return the axes of the leaves of the positional arguments after the parameters."""
        if isinstance(in_axes, tuple | list):
            if len(in_axes) != len(args) or any(a is not None for a in pytree.leaves(in_axes[0])):
                raise StructureError(
                    f"{self.name}: in_axes={in_axes!r} for a call with {len(args)} positional arguments",
                    hint="an axis for all examples, or a tuple that begins with None, for the parameters, and has "
                    "one entry for every argument",
                )
            in_axes = tuple(in_axes[1:])
        return pytree.flatten_prefix(in_axes, args[1:], f"{self.name}: in_axes")

    @cached_property
    def mapped(self) -> set[Var]:
        """The variables that depend on the example."""
        return self.graph.dependents([v for v, m in zip(self.graph.inputs, self.is_mapped) if m])

    @cached_property
    def ways(self) -> Ways:
        """Which parameter goes which way."""
        return self.choose_ways()

    def choose_ways(self, factored: bool = False) -> Ways:
        """Choose the ways; with `factored` this one wherever it can be gone."""
        ways = Ways({}, [], [])
        kept = self.count_kept()
        for i, leaf in enumerate(self.graph.inputs[: len(self.params)]):
            uses = find_uses(self.graph, leaf, self.mapped)
            if uses is not None:
                size = sum(u.pairing.positions * u.pairing.width for u in uses)
                if factored or size < leaf.aval.size or any(u.inner is not None for u in uses):
                    ways.factored[i] = uses
                    continue
            (ways.dense if uses is not None or leaf.aval.size <= kept else ways.recomputed).append(i)
        return ways

    def count_kept(self) -> int:
        """Return how many entries the residuals of one example have at most."""
        total = 0
        for equation in self.graph.equations:
            if not self.mapped.isdisjoint(equation.inputs):
                inside = inside_of(equation)
                if inside is None:
                    total += sum(v.aval.size for v in equation.outputs)
                else:
                    step = sum(v.aval.size for e in inside.graph.equations for v in e.outputs)
                    total += step * (inside.length or 1)
        return total

    # -- passes
    def run(
        self, dense: Sequence[int], factored: dict[int, list[Use]], start: int, stop: int
    ) -> tuple[list[Any], dict[int, Gradients]]:
        """Run the loss of the examples start…stop and the way back to these leaves; return the results, and the
        Gradients by position."""
        graph, taps = insert_taps(self.graph, [use for uses in factored.values() for use in uses])

        def differentiate(*values: Any) -> list[Any]:
            interpreter = ReverseInterpreter(self.name, self.site)
            inputs, leaves = list(values), []
            with opened(interpreter):
                for i in dense:
                    inputs[i], leaf = interpreter.tap(inputs[i])
                    leaves.append(leaf)
                pairs = [primal_and_node(interpreter, r) for r in graph(*inputs)]
            loss, node = pairs[0]
            seed = scalar_seed(loss, False, self.name)
            cts = backward([(node, seed)], [*leaves, *(tap.leaf for tap in taps)], True)
            like = [*(values[i] for i in dense), *(tap.result for tap in taps)]
            cts = [ops.zeros_like(v) if ct is None else ct for ct, v in zip(cts, like)]
            return [*(y for y, _ in pairs), *cts, *(tap.activation for tap in taps)]

        count = stop - start
        interpreter = BatchInterpreter(self.site, count)
        found, flags = vmap_with(interpreter, differentiate, self.values(start, stop), self.is_mapped)
        found = [ensure_batched(v, f, count) for v, f in zip(found, flags)]
        results, rows, cts, activations = split_list(found, len(graph.outputs), len(dense), len(taps))
        gradients: dict[int, Gradients] = {
            i: DenseGradients(row, self.graph.inputs[i].aval.dtype) for i, row in zip(dense, rows)
        }
        tapped = zip(activations, cts)
        for i, uses in factored.items():
            parts = [make_factors(use, *next(tapped)) for use in uses]
            gradients[i] = FactoredGradients(parts, uses[0].arrangement, self.graph.inputs[i].aval)
        return results, gradients

    def values(self, start: int, stop: int) -> list[Any]:
        """Return the parameters and the examples start…stop."""
        flags = self.is_mapped[len(self.params) :]
        return [*self.params, *(take_rows(v, start, stop) if m else v for v, m in zip(self.examples, flags))]

    @cached_property
    def kept(self) -> tuple[list[Any], dict[int, Gradients]]:
        """The results, and the Gradients of the leaves that are not recomputed."""
        return self.run(self.ways.dense, self.ways.factored, 0, self.size)

    def fold(
        self, statistic: Callable[[int, Gradients, int, int], Any], join: Callable[[Sequence[Any]], Any]
    ) -> list[Any]:
        """Return a statistic of every leaf, statistic(position, gradients of the examples start…stop, start, stop);
        `join` puts those of blocks together."""
        found = {i: [statistic(i, gradients, 0, self.size)] for i, gradients in self.kept[1].items()}
        leaves = self.ways.recomputed
        if leaves:
            for start, stop in blocks(self.size, sum(self.graph.inputs[i].aval.size for i in leaves)):
                for i, gradients in self.run(leaves, {}, start, stop)[1].items():
                    found.setdefault(i, []).append(statistic(i, gradients, start, stop))
        return [join(found[i]) for i in range(len(self.params))]

    def squared_norms(self) -> list[Any]:
        """Return the squared norms of the gradients with respect to each leaf."""
        return self.fold(lambda _, gradients, *block: gradients.squared_norms(), join_rows)

    def norms(self) -> Any:
        """Return the norms of the gradients, of all leaves together. All are divided by one number for each example
        before they are squared, which may overflow, and before they are added, so that where some leaves have no
        gradient all derivatives are right."""
        kept = [*self.kept[1].values()]
        leaves, parts = self.ways.recomputed, []
        for start, stop in blocks(self.size, sum(self.graph.inputs[i].aval.size for i in leaves)):
            found = [*self.run(leaves, {}, start, stop)[1].values()] if leaves else []
            sizes = [*(g.sizes() for g in found), *(take_rows(g.sizes(), start, stop) for g in kept)]
            units = unit_near(reduce(ops.maximum, sizes))
            parts.append((units, [g.in_units(units).squared_norms() for g in found]))
        units, *squares = (join_rows(rows) for rows in zip(*((units, *rest) for units, rest in parts)))
        squares += [g.in_units(units).squared_norms() for g in kept]
        return ops.multiply(root(reduce(ops.add, squares)), units)

    def leaf_norms(self) -> list[Any]:
        """Return the norms of the gradients with respect to each leaf."""

        def norms(_: int, gradients: Gradients, *block: int) -> Any:
            units = unit_near(gradients.sizes())
            return ops.multiply(root(gradients.in_units(units).squared_norms()), units)

        return self.fold(norms, join_rows)

    def weighted_sum(self, weights: Any) -> list[Any]:
        """Return the weighted sum of the gradients with respect to each leaf, where they were wanted before."""
        found = {i: gradients.weighted_sum(weights) for i, gradients in self.kept[1].items()}
        leaves = self.ways.recomputed
        found.update(zip(leaves, self.pull_back(leaves, weights)[1] if leaves else ()))
        return [found[i] for i in range(len(self.params))]

    def losses(self, params: Sequence[Any]) -> list[Any]:
        """Return the results for all examples, at other parameters."""
        values = [*params, *self.values(0, self.size)[len(params) :]]
        found, flags = vmap_with(BatchInterpreter(self.site, self.size), self.graph, values, self.is_mapped)
        return [ensure_batched(v, f, self.size) for v, f in zip(found, flags)]

    def pull_back(self, leaves: Sequence[int], weights: Any) -> tuple[list[Any], list[Any]]:
        """Return the results, and the derivatives of the weighted sum of the losses by one way back."""
        interpreter = ReverseInterpreter(self.name, self.site)
        params, nodes = list(self.params), []
        with opened(interpreter):
            for i in leaves:
                params[i], node = interpreter.tap(params[i])
                nodes.append(node)
            pairs = [primal_and_node(interpreter, r) for r in self.losses(params)]
        losses, node = pairs[0]
        weights = ops.convert(weights, dtype=dtype_of(losses))
        cts = backward([(node, weights)], nodes, True)
        cts = [ops.zeros_like(self.params[i]) if ct is None else ct for i, ct in zip(leaves, cts)]
        return [y for y, _ in pairs], cts

    def push_forward(self, tangents: Sequence[Any]) -> tuple[list[Any], Any]:
        """Return the results, and the derivative of each loss along tangents of the parameters."""
        results, ts = jvp_flat(lambda *params: self.losses(params), self.params, tangents, self.site)
        return results, ops.zeros_like(results[0]) if ts[0] is None else ts[0]
