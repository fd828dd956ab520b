"""Branches: one of several functions is chosen when the program runs.

If the index is known, the chosen branch is applied directly, under whatever transforms are open. A Graph under
construction records a `switch_call`. Its reverse mode keeps the operands and computes the chosen branch again in the
backward pass: the residuals of different branches differ in number and shape, and would have to be padded with zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..core.aval import Aval, aval_of
from ..core.errors import ConcretizationError, NotLinearError
from ..core.graph import Graph
from ..core.interpreter import concretize, is_plain
from ..core.observer import is_stepwise, observed_code
from ..core.primitive import HigherOrder, bind
from ..core.pullback import OperandPullback
from ..core.snapshot import snapshot_constants
from ..core.staging import stage, stages_effects
from ..ops.kinds import ensure_batched
from ..ops.masked import densify
from ..ops.transpose import transpose_graph
from ..transforms.subgraphs import (
    as_strong_tangent,
    batch_graph,
    cached_on_graph,
    expand_list,
    jvp_graph,
    numpy_function,
    or_flags,
    select_list,
    split_list,
    tangent_aval,
    zeros_of_aval,
)
from ..transforms.vmap import vmap_flat


def branch_at(index: Any, branches: Sequence[Graph]) -> Graph:
    """Return the branch of a plain index; one beyond the last is the last."""
    return branches[min(max(int(index), 0), len(branches) - 1)]


def known_value(value: Any, part: str) -> Any:
    """Return the plain value of a condition, an index or a count, without which a program is not carried out operation
    by operation."""
    try:
        return concretize(value, "bool()")
    except ConcretizationError:
        raise ConcretizationError(
            f'{part}, {aval_of(value)!r}, is not known; an interpreter with programs = "inline" needs it',
            hint='programs = "whole", with which `process` gets the loop or branch as one operation; or this '
            "interpreter outside of vmap and jit, around the function that they return",
        ) from None


def switch_kernel(xp: Any) -> Any:
    def run_branch(index: Any, *operands: Any, branches: Sequence[Graph]) -> list[Any]:
        branch = branch_at(index, branches)
        if xp is np and not is_stepwise():
            return observed_code(numpy_function(branch))(*operands)
        return branch(*operands)

    return run_branch


class Switch(HigherOrder, OperandPullback):
    """The primitive (index, *operands) → the results of branches[index]; a boolean index counts as 0 or 1."""

    computes = "switch"

    def __init__(self) -> None:
        super().__init__("switch", switch_kernel)

    def make_call(self) -> Callable[..., Any]:
        def call(index: Any, *operands: Any, branches: Sequence[Graph]) -> Any:
            try:
                branch = branch_at(concretize(index, "bool()"), branches)
            except ConcretizationError:
                return bind(self, (index, *operands), {"branches": branches})
            if is_plain(operands) and not is_stepwise() and not (branch.acts and stages_effects()):
                return observed_code(numpy_function(branch))(*operands)
            return branch(*operands)

        return call

    def abstract_eval(self, avals: Sequence[Aval], params: dict) -> list[Aval]:
        return params["branches"][0].out_avals

    def unfold(self, args: Sequence[Any], params: dict) -> list[Any]:
        """Carry out the branch of an index that is known."""
        index, *operands = args
        known = known_value(index, "the condition or index of a branch")
        return branch_at(known, params["branches"])(*operands)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> tuple[Any, Any]:
        # Two operations, as for `checkpoint`.
        ys = self.call(*primals, **params)
        active = tuple([t is not None for t in tangents[1:]])
        derivatives, present = jvp_branches(params["branches"], active)
        if not any(present):
            return ys, [None] * len(ys)
        ts = self.call(
            *primals, *map(as_strong_tangent, select_list(tangents[1:], active)), branches=derivatives
        )
        return ys, expand_list(ts, present)

    def vjp(self, apply: Any, values: Any, needed: Any, params: dict, snapshot: Any) -> tuple[Any, Any, Any]:
        ys = apply(*values, **params)
        active = tuple([n is not None for n in needed[1:]])
        derivatives, present = jvp_branches(params["branches"], active)
        if not any(present):
            return ys, None, None
        return ys, self, (snapshot_constants(values, needed, snapshot), active, derivatives, present)

    def pull(
        self, cts: dict, values: Sequence[Any], active: Any, derivatives: Any, present: Any
    ) -> Sequence[Any]:
        """Transpose the tangent maps of the branches."""
        given = [cts.get(i) for i, p in enumerate(present) if p]
        linear = [tangent_aval(aval_of(v)) for v in select_list(values[1:], active)]
        found = self.transpose(given, [*values, *linear], {"branches": derivatives})
        return [None, *expand_list(found[len(values) :], active)]

    def transpose(self, ct: Any, operands: Sequence[Any], params: dict) -> Sequence[Any]:
        index, *values = operands
        if type(index) is Aval:
            raise NotLinearError(
                "switch: the choice of the branch depends on traced operands",
                hint="fx.vjp, which takes functions that are not linear, or an index that does not depend on them",
            )
        linear = tuple([type(v) is Aval for v in values])
        seeded = tuple([c is not None for c in ct])
        branches, present = transpose_branches(params["branches"], linear, seeded)
        known = [v for v in values if type(v) is not Aval]
        if not any(present):
            return [None] * len(operands)
        cts = self.call(
            index, *known, *(as_strong_tangent(c) for c in ct if c is not None), branches=branches
        )
        return [None, *expand_list(expand_list(cts, present), linear)]

    def batch(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, Any]:
        branches = params["branches"]
        index, *operands = values
        flags = tuple(is_batched[1:])
        if is_batched[0]:
            return self.batch_by_selection(index, operands, flags, size, branches)
        none = (False,) * len(branches[0].outputs)
        forced = none
        for branch in branches:
            forced = or_flags(forced, batch_graph(branch, flags, size, none)[1])
        mapped = tuple([batch_graph(branch, flags, size, forced)[0] for branch in branches])
        return self.call(index, *operands, branches=mapped), forced

    def batch_by_selection(
        self, index: Any, operands: Sequence[Any], flags: Sequence[bool], size: int, branches: Sequence[Graph]
    ) -> tuple[list[Any], list[bool]]:
        """Run all branches, and select for each entry the result of its own. What all branches hand through is the same
        for every entry."""
        index = ops.minimum(ops.maximum(ops.convert(index, dtype=np.dtype(np.int64)), 0), len(branches) - 1)
        with np.errstate(all="ignore"):  # in entries that take another branch
            found = [vmap_flat(branch, operands, flags, size) for branch in branches]
            heres = [ops.equal(index, number) for number in range(len(branches))]
            results, batched = [], []
            for ys, fs in zip(zip(*[ys for ys, _ in found]), zip(*[fs for _, fs in found])):
                batched.append(any(fs) or any(y is not ys[0] for y in ys))
                results.append(select_entries(heres, ys, fs, size) if batched[-1] else ys[0])
        return results, batched


def select_entries(heres: Sequence[Any], ys: Sequence[Any], is_batched: Sequence[bool], size: int) -> Any:
    """Select for each entry of a batch the value of the branch that is its own."""
    result, *others = [ensure_batched(y, f, size) for y, f in zip(ys, is_batched)]
    shape = (size, *[1] * (aval_of(result).ndim - 1))
    for here, y in zip(heres[1:], others):
        result = ops.where(ops.reshape(here, shape=shape), y, result)
    return result


def jvp_branches(branches: Sequence[Graph], active: Any) -> tuple[tuple[Graph, ...], Any]:
    """Return the tangent maps (*operands, *tangents) → tangents of the branches, and which results have a
    tangent in any branch."""
    none = (False,) * len(branches[0].outputs)
    present = none
    for branch in branches:
        present = or_flags(present, jvp_graph(branch, active, none)[1])
    return tuple([tangent_graph(branch, active, present) for branch in branches]), present


@cached_on_graph
def tangent_graph(branch: Graph, active: Any, wanted: Any) -> Graph:
    """Return the tangent map of a branch, without its values."""
    graph, _ = jvp_graph(branch, active, wanted)
    outputs = graph.outputs[len(branch.outputs) :]
    return Graph(graph.inputs, graph.equations, outputs, graph.captured, graph.name).prune(keep_effects=False)


def transpose_branches(branches: Sequence[Graph], linear: Any, seeded: Any) -> tuple[tuple[Graph, ...], Any]:
    """Return the transposes (*known operands, *cotangents) → cotangents of the linear operands of the
    branches, and which of these have a cotangent in any branch."""
    count = sum(linear)
    none = (False,) * count
    present = none
    for branch in branches:
        present = or_flags(present, transpose_branch(branch, linear, seeded, none)[1])
    return tuple([transpose_branch(branch, linear, seeded, present)[0] for branch in branches]), present


@cached_on_graph
def transpose_branch(branch: Graph, linear: Any, seeded: Any, wanted: Any) -> tuple[Graph, Any]:
    """Transpose one branch; the linear operands that are `wanted` get zeros where they have no cotangent."""
    known = [v for v, f in zip(branch.inputs, linear) if not f]
    moving = select_list(branch.inputs, linear)
    ordered = Graph([*known, *moving], branch.equations, branch.outputs, branch.captured, branch.name)
    present: list[bool] = []

    def transpose_values(*values: Any) -> list[Any]:
        given, cts = split_list(values, len(known))
        found = transpose_graph(ordered, given, len(moving), expand_list(cts, seeded))
        found = [
            (zeros_of_aval(v.aval, cts[0]) if w else None) if ct is None else densify(ct)
            for ct, v, w in zip(found, moving, wanted)
        ]
        present[:] = [ct is not None for ct in found]
        return [ct for ct in found if ct is not None]

    avals = [*(v.aval for v in known), *select_list(branch.out_avals, seeded)]
    return stage(transpose_values, avals, branch.name, sites=False), tuple(present)


switch_call = Switch().call
