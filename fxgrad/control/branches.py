"""One of several functions, chosen when the program runs.

Where the index is known the chosen branch is applied as it is, under whatever transforms are open. A Graph under
construction records a `switch`. Its reverse mode keeps the operands and computes the chosen branch again on the way
back: the residuals of different branches differ in number and shape, and would have to be filled up with zeros.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ops
from ..core.aval import Aval, aval_of
from ..core.errors import ConcretizationError, NotLinearError
from ..core.graph import Graph
from ..core.interpreter import CURRENT, concrete, is_plain
from ..core.primitive import Primitive, bind
from ..core.pullback import PullbackRule
from ..core.staging import stage
from ..ops.kinds import spread
from ..ops.masked import dense
from ..ops.transpose import transpose_graph
from ..transforms.subgraphs import (
    any_of,
    batched_graph,
    chosen,
    compiled,
    filled,
    kept,
    parted,
    pushed,
    strong,
    tangent_aval,
    zeros,
)
from ..transforms.vmap import batch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def branch_at(index: Any, branches: Sequence[Graph]) -> Graph:
    """The branch of a plain index; one beyond the last is the last."""
    return branches[min(max(int(index), 0), len(branches) - 1)]


def switch_kernel(xp: Any) -> Any:
    def chosen_branch(index: Any, *operands: Any, branches: Sequence[Graph]) -> list[Any]:
        branch = branch_at(index, branches)
        return (compiled(branch) if xp is np and CURRENT.get().watching is None else branch)(*operands)

    return chosen_branch


class Switch(Primitive, PullbackRule):
    """(index, *operands) → the results of branches[index]; a boolean index counts as 0 or 1."""

    multiple_results = True
    runs_user_code = True
    kept = (1,)

    def __init__(self) -> None:
        super().__init__("switch", switch_kernel)

    def make_call(self) -> Callable[..., Any]:
        def call(index: Any, *operands: Any, branches: Sequence[Graph]) -> Any:
            try:
                branch = branch_at(concrete(index, "bool()"), branches)
            except ConcretizationError:
                return bind(self, (index, *operands), {"branches": branches})
            if is_plain(operands) and CURRENT.get().watching is None:
                return compiled(branch)(*operands)
            return branch(*operands)

        return call

    def abstract(self, avals: Sequence[Aval], params: dict) -> list[Aval]:
        return params["branches"][0].out_avals

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> tuple[Any, Any]:
        # Two operations, as for `checkpoint`.
        ys = self.call(*primals, **params)
        active = tuple([t is not None for t in tangents[1:]])
        derivatives, present = pushed_branches(params["branches"], active)
        if not any(present):
            return ys, [None] * len(ys)
        ts = self.call(*primals, *map(strong, chosen(tangents[1:], active)), branches=derivatives)
        return ys, filled(ts, present)

    def linearize(self, apply: Any, values: Any, needed: Any, params: dict, own: Any) -> tuple[Any, Any, Any]:
        ys = apply(*values, **params)
        active = tuple([n is not None for n in needed[1:]])
        derivatives, present = pushed_branches(params["branches"], active)
        if not any(present):
            return ys, None, None
        kept_values = [v if n is not None else own(v) for v, n in zip(values, needed)]
        return ys, self, (kept_values, active, derivatives, present)

    def refill(self, residuals: tuple, operand: Callable, result: Callable) -> tuple:
        """See `PullbackRule`."""
        values, *others = residuals
        return [operand(i, v) for i, v in enumerate(values)], *others

    def pull(
        self, cts: dict, values: Sequence[Any], active: Any, derivatives: Any, present: Any
    ) -> Sequence[Any]:
        """The transpose of the branches' tangent maps."""
        given = [cts.get(i) for i, p in enumerate(present) if p]
        linear = [tangent_aval(aval_of(v)) for v in chosen(values[1:], active)]
        found = self.transpose(given, [*values, *linear], {"branches": derivatives})
        return [None, *filled(found[len(values) :], active)]

    def transpose(self, ct: Any, operands: Sequence[Any], params: dict) -> Sequence[Any]:
        index, *values = operands
        if type(index) is Aval:
            raise NotLinearError("switch: the choice of the branch depends on traced operands")
        linear = tuple([type(v) is Aval for v in values])
        seeded = tuple([c is not None for c in ct])
        branches, present = transposed_branches(params["branches"], linear, seeded)
        known = [v for v in values if type(v) is not Aval]
        if not any(present):
            return [None] * len(operands)
        cts = self.call(index, *known, *(strong(c) for c in ct if c is not None), branches=branches)
        return [None, *filled(filled(cts, present), linear)]

    def batch(
        self, values: Sequence[Any], batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, Any]:
        branches = params["branches"]
        index, *operands = values
        flags = tuple(batched[1:])
        if batched[0]:
            return self.selected(index, operands, flags, size, branches)
        none = (False,) * len(branches[0].outputs)
        forced = none
        for branch in branches:
            forced = any_of(forced, batched_graph(branch, flags, size, none)[1])
        mapped = tuple([batched_graph(branch, flags, size, forced)[0] for branch in branches])
        return self.call(index, *operands, branches=mapped), forced

    def selected(
        self, index: Any, operands: Sequence[Any], flags: Sequence[bool], size: int, branches: Sequence[Graph]
    ) -> tuple[list[Any], list[bool]]:
        """All branches, and of each entry the result of its own."""
        index = ops.minimum(ops.maximum(ops.convert(index, dtype=np.dtype(np.int64)), 0), len(branches) - 1)
        results: list[Any] = []
        with np.errstate(all="ignore"):  # in entries that take another branch
            for number, branch in enumerate(branches):
                ys, found = batch(branch, operands, flags, size)
                ys = [spread(y, f, size) for y, f in zip(ys, found)]
                here = ops.equal(index, number)
                results = [
                    ops.where(ops.reshape(here, shape=(size, *[1] * (aval_of(y).ndim - 1))), y, r)
                    for y, r in zip(ys, results or ys)
                ]
        return results, [True] * len(results)


def pushed_branches(branches: Sequence[Graph], active: Any) -> tuple[tuple[Graph, ...], Any]:
    """(the branches' tangent maps (*operands, *tangents) → tangents, which results have one in any branch)."""
    none = (False,) * len(branches[0].outputs)
    present = none
    for branch in branches:
        present = any_of(present, pushed(branch, active, none)[1])
    return tuple([tangents_alone(branch, active, present) for branch in branches]), present


@kept
def tangents_alone(branch: Graph, active: Any, wanted: Any) -> Graph:
    """The tangent map of a branch, without its values."""
    graph, _ = pushed(branch, active, wanted)
    outputs = graph.outputs[len(branch.outputs) :]
    return Graph(graph.inputs, graph.equations, outputs, graph.captured, graph.name).pruned(effects=False)


def transposed_branches(branches: Sequence[Graph], linear: Any, seeded: Any) -> tuple[tuple[Graph, ...], Any]:
    """(the branches (*known operands, *cotangents) → cotangents of the linear operands, which there are in any)."""
    count = sum(linear)
    none = (False,) * count
    present = none
    for branch in branches:
        present = any_of(present, transposed(branch, linear, seeded, none)[1])
    return tuple([transposed(branch, linear, seeded, present)[0] for branch in branches]), present


@kept
def transposed(branch: Graph, linear: Any, seeded: Any, wanted: Any) -> tuple[Graph, Any]:
    """One branch of these; zeros for those `wanted`."""
    known = [v for v, f in zip(branch.inputs, linear) if not f]
    moving = chosen(branch.inputs, linear)
    ordered = Graph([*known, *moving], branch.equations, branch.outputs, branch.captured, branch.name)
    present: list[bool] = []

    def back(*values: Any) -> list[Any]:
        given, cts = parted(values, len(known))
        found = transpose_graph(ordered, given, len(moving), filled(cts, seeded))
        found = [
            (zeros(v.aval, cts[0]) if w else None) if ct is None else dense(ct)
            for ct, v, w in zip(found, moving, wanted)
        ]
        present[:] = [ct is not None for ct in found]
        return [ct for ct in found if ct is not None]

    avals = [*(v.aval for v in known), *chosen(branch.out_avals, seeded)]
    return stage(back, avals, branch.name, sites=False), tuple(present)


switch = Switch().call
