"""Linear systems solved by a function of the user's and differentiated implicitly: reverse mode keeps nothing of its
steps.

From A x = b follows A ẋ = ḃ − Ȧ x for tangents. A cotangent c of x gives Aᵀ λ = c; λ is the cotangent of b, and that of
what A depends on is −λ times the derivative of A x with x fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import ops
from ..core.aval import Aval
from ..core.errors import NotDifferentiableError, NotLinearError
from ..core.graph import Graph
from ..core.observer import observed_code
from ..core.primitive import HigherOrder
from ..core.pullback import PullbackRule
from ..core.snapshot import snapshot_constants
from ..ops.masked import densify
from ..ops.transpose import transpose_graph
from ..transforms.subgraphs import (
    add_batch_axes,
    as_strong_tangent,
    batch_graph,
    expand_list,
    numpy_function,
    select_list,
    split_list,
    zeros_of_aval,
)
from .branches import tangent_graph, transpose_branch


def solve_kernel(xp: Any) -> Any:
    def run_solve(*args: Any, solve: Graph, **others: Any) -> list[Any]:
        return (observed_code(numpy_function(solve)) if xp.__name__ == "numpy" else solve)(*args)

    return run_solve


class LinearSolve(HigherOrder, PullbackRule):
    """The primitive (*consts, *b) → (*x, *aux) with A x = b. All Graphs take the consts first: matvec(x) = A
    x, solve(b) = (*x, *aux), transpose_solve(c) = (*λ, *aux) with Aᵀ λ = c (None: not given)."""

    saved_from = (0, 1)

    def __init__(self) -> None:
        super().__init__("linear_solve", solve_kernel)

    def abstract_eval(self, avals: Sequence[Aval], params: dict) -> list[Aval]:
        return params["solve"].out_avals

    def unfold(self, args: Sequence[Any], params: dict) -> list[Any]:
        """Carry out the solver."""
        return params["solve"](*args)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> tuple[Any, Any]:
        matvec, consts = params["matvec"], params["consts"]
        results = self.call(*primals, **params)
        fixed, b = split_list(primals, consts)
        fixed_dots, rhs = split_list([None if t is None else as_strong_tangent(t) for t in tangents], consts)
        xs, aux = split_list(results, len(b))
        active = (*(t is not None for t in fixed_dots), *[False] * len(b))
        if any(active):
            moved = self.matvec_tangent(matvec, active)(*fixed, *xs, *select_list(fixed_dots, active))
            rhs = [ops.negative(m) if t is None else ops.subtract(t, m) for t, m in zip(rhs, moved)]
        elif all(t is None for t in rhs):
            return results, [None] * len(results)
        rhs = [ops.zeros_like(v) if t is None else t for v, t in zip(b, rhs)]
        return results, [*self.call(*fixed, *rhs, **params)[: len(b)], *[None] * len(aux)]

    def matvec_tangent(self, matvec: Graph, active: Any) -> Graph:
        """Return the Graph (*consts, *x, *tangents of the active consts) → Ȧ x."""
        return tangent_graph(matvec, active, (True,) * len(matvec.outputs))

    def vjp(self, apply: Any, values: Any, needed: Any, params: dict, snapshot: Any) -> tuple[Any, Any, Any]:
        results = apply(*values, **params)
        fixed, b = split_list(snapshot_constants(values, needed, snapshot), params["consts"])
        return results, self, (fixed, results[: len(b)], [n is not None for n in needed], params)

    def map_residuals(self, residuals: tuple, operand: Callable, result: Callable) -> tuple:
        """See `PullbackRule`."""
        fixed, xs, *others = residuals
        fixed = [operand(i, v) for i, v in enumerate(fixed)]
        return fixed, [result(i, x) for i, x in enumerate(xs)], *others

    def pull(
        self, cts: dict, fixed: Sequence[Any], xs: Sequence[Any], needed: Sequence[bool], params: dict
    ) -> Sequence[Any]:
        """Return the cotangents of consts and right-hand sides, from the residuals that `vjp` gives."""
        multipliers = self.multipliers([cts.get(i) for i in range(len(xs))], fixed, params)
        if multipliers is None:
            return [None] * len(needed)
        active = (*needed[: len(fixed)], *[False] * len(xs))
        found: list[Any] = []
        if any(active):
            back = [ops.negative(m) for m in multipliers]
            found = transpose_graph(
                self.matvec_tangent(params["matvec"], active), [*fixed, *xs], sum(active), back
            )
        return [*expand_list(found, active[: len(fixed)]), *multipliers]

    def multipliers(self, cts: Sequence[Any], fixed: Sequence[Any], params: dict) -> list[Any] | None:
        """Solve Aᵀ λ = c for cotangents c of x; return None where there are none."""
        if all(ct is None for ct in cts):
            return None
        matvec, consts, back = params["matvec"], params["consts"], params["transpose_solve"]
        if back is None:
            raise NotDifferentiableError(
                "reverse mode through custom_linear_solve needs the solution of the transposed system",
                hint="give transpose_solve, or symmetric=True",
            )
        avals = matvec.in_avals[consts:]
        all_of_them = (True,) * len(avals)
        vecmat, _ = transpose_branch(matvec, (*[False] * consts, *all_of_them), all_of_them, all_of_them)
        beside = next(ct for ct in cts if ct is not None)
        cts = [
            zeros_of_aval(a, densify(beside)) if ct is None else as_strong_tangent(ct)
            for ct, a in zip(cts, avals)
        ]
        swapped = {"matvec": vecmat, "solve": back, "transpose_solve": params["solve"], "consts": consts}
        return self.call(*fixed, *cts, **swapped)[: len(avals)]

    def transpose(self, ct: Any, operands: Sequence[Any], params: dict) -> Sequence[Any]:
        fixed, b = split_list(operands, params["consts"])
        if any(type(v) is Aval for v in fixed) or not all(type(v) is Aval for v in b):
            raise NotLinearError(
                "custom_linear_solve is linear in the right-hand side as a whole only",
                hint="fx.vjp, which takes functions that are not linear",
            )
        multipliers = self.multipliers(ct[: len(b)], fixed, params)
        return [*[None] * len(fixed), *(multipliers or [None] * len(b))]

    def batch(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, Any]:
        consts = params["consts"]
        flags = (*is_batched[:consts], *[True] * (len(values) - consts))
        new = dict(params)
        for name in ("matvec", "solve", "transpose_solve"):
            graph = params[name]
            if graph is not None:
                new[name], _ = batch_graph(graph, flags, size, (True,) * len(graph.outputs))
        return self.call(*add_batch_axes(values, is_batched, flags, size), **new), [True] * len(
            params["solve"].outputs
        )


linear_solve = LinearSolve().call
