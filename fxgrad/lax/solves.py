"""Roots and linear systems solved by the user's functions and differentiated implicitly, as in `jax.lax`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import ops
from ..control.linear_solve import linear_solve
from ..core import pytree, source_info
from ..core.aval import aval_of, is_differentiable
from ..core.errors import EscapedTracerError, StructureError
from ..core.graph import Graph
from ..core.interpreter import api_boundary, is_plain
from ..core.staging import stage
from ..core.surface import is_alike
from ..core.typing import ArrayLike, PyTree
from ..ops.masked import densify
from ..ops.transpose import transpose_graph
from ..transforms.arguments import admit, zero_tangent
from ..transforms.custom.call import RuledCall, custom_jvp_call
from ..transforms.flat_function import split_aux
from ..transforms.jvp import jvp_flat
from ..transforms.subgraphs import close_graphs
from .functions import (
    StagedFunction,
    cast_to_aval,
    flatten_arguments,
    mismatch_error,
    unshare_if_plain,
)

__all__ = ["custom_linear_solve", "custom_root"]


@api_boundary
def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: ArrayLike,
    solve: Callable[[Callable, Any], Any],
    transpose_solve: Callable[[Callable, Any], Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> PyTree:
    """Solve matvec(x) = b by `solve`, with the derivatives of a solution.

    A ẋ = ḃ − Ȧ x and Aᵀ λ = c are solved by `solve` and `transpose_solve` as well, and nothing of how they do it is
    differentiated or kept.

    Args:
        matvec: x → A x, linear, from pytrees like `b` to such.
        b: the right-hand side, a pytree of arrays.
        solve: (matvec, b) → x.
        transpose_solve: (vecmat, c) → λ; needed in reverse mode unless `symmetric`.
        symmetric: A is its own transpose, and `solve` solves both systems.
        has_aux: `solve` and `transpose_solve` return (x, aux); aux is handed through without derivative.

    Raises:
        StructureError: the results of `matvec` or of a solve are not like `b`.
        NotDifferentiableError: reverse mode without `transpose_solve`.

    >>> b = np.array([1.0, 8.0])
    >>> def solution(a):
    ...     return lax.custom_linear_solve(lambda x: a * x, b, lambda mv, b: b / a, symmetric=True)
    >>> fx.grad(lambda a: fnp.sum(solution(a)))(np.array([1.0, 2.0]))
    array([-1., -2.])
    """
    site = source_info.user_frame()
    leaves, structure = flatten_arguments("custom_linear_solve: b", (b,))
    (inner,) = structure.children()
    avals = [aval_of(v).update(dtype=aval_of(v).dtype) for v in leaves]

    def stage_checked(fun: Callable, name: str, aux: bool = False) -> StagedFunction:
        found = StagedFunction(fun, structure, avals, f"custom_linear_solve: {name}", site)
        children = found.out_structure.children() if aux else [found.out_structure]
        if aux and (found.out_structure.type is not tuple or len(children) != 2):
            raise StructureError(
                f"{found.place} must return a pair (x, aux) with has_aux=True",
                hint="return x, aux; None for no aux",
                site=site,
            )
        if not is_alike(children[0], inner):
            raise StructureError(
                f"{found.place} has a result of structure {children[0]}, b has {inner}",
                hint="return the containers that b has",
                site=site,
            )
        for i, (a, got) in enumerate(zip(avals, found.graph.out_avals)):
            if a != got:
                raise mismatch_error(found.place, inner, i, ("in b", "in the result"), (a, got), site)
        return found

    forward = stage_checked(matvec, "matvec")

    def vecmat(ct: Any) -> Any:
        cts = transpose_graph(forward.graph, [], len(avals), pytree.leaves(ct))
        return pytree.unflatten(
            inner, [ops.zeros_like(v) if c is None else densify(c) for c, v in zip(cts, pytree.leaves(ct))]
        )

    solver = stage_checked(lambda b: solve(matvec, b), "solve", has_aux)
    graphs = [forward.graph, solver.graph]
    if transpose_solve is not None:
        graphs.append(stage_checked(lambda c: transpose_solve(vecmat, c), "transpose_solve", has_aux).graph)
    (product, solution, *back), consts = close_graphs(*graphs)
    backward = back[0] if back else solution if symmetric else None
    values = [
        *consts,
        *(ops.convert(v, dtype=a.dtype) if aval_of(v) != a else v for v, a in zip(leaves, avals)),
    ]
    results = linear_solve(
        *values, matvec=product, solve=solution, transpose_solve=backward, consts=len(consts)
    )
    return pytree.unflatten(solver.out_structure, unshare_if_plain(results, values))


@api_boundary
def custom_root(
    f: Callable[[Any], Any],
    initial_guess: PyTree,
    solve: Callable[[Callable, Any], Any],
    tangent_solve: Callable[[Callable, Any], Any],
    has_aux: bool = False,
) -> PyTree:
    """Find a root of `f` by `solve`, with the derivatives of a root with respect to what `f` closes over.

    By the implicit function theorem: from f(x(p), p) = 0 follows ∂f/∂x ẋ = −∂f/∂p ṗ, which `tangent_solve` solves; it
    is given the transposed system in reverse mode. `solve` may be ordinary Python, except under `jit` and where it
    closes over traced values otherwise than by `f`: there it is staged.

    Args:
        f: a function from pytrees like `initial_guess` to such.
        initial_guess: where `solve` starts; no derivative depends on it.
        solve: (f, initial_guess) → x with f(x) = 0.
        tangent_solve: (g, y) → x with g(x) = y, for the linear g that f is at its root. `lambda g, y: y / g(1.0)` for
            scalars; for vectors `lambda g, y: fnp.linalg.solve(fx.jacobian(g)(y), y)`.
        has_aux: `solve` returns (x, aux); aux is handed through.

    Raises:
        StructureError: the results of `f` or `solve` are not like `initial_guess`.

    >>> def newton(f, x):
    ...     for _ in range(10):
    ...         x = x - f(x) / fx.grad(f)(x)
    ...     return x
    >>> root = lambda a: lax.custom_root(lambda x: x**2 - a, 1.0, newton, lambda g, y: y / g(1.0))
    >>> float(root(4.0)), float(fx.grad(root)(4.0))
    (2.0, 0.25)
    """
    site = source_info.user_frame()
    guess, structure = flatten_arguments("custom_root: initial_guess", (initial_guess,))
    (inner,) = structure.children()
    avals = [aval_of(v).update(dtype=aval_of(v).dtype) for v in guess]
    function = StagedFunction(f, structure, avals, "custom_root: f", site)
    if not is_alike(function.out_structure, inner):
        raise StructureError(
            f"custom_root: f has a result of structure {function.out_structure}, initial_guess has {inner}",
            hint="return the containers that initial_guess has",
            site=site,
        )
    for i, (a, got) in enumerate(zip(avals, function.graph.out_avals)):
        if a != got:
            raise mismatch_error(
                "custom_root: f", inner, i, ("in initial_guess", "in the result"), (a, got), site
            )
    box: dict[str, Any] = {}

    def find_root(closed: Callable[[Any], Any], start: Sequence[Any]) -> list[Any]:
        out = solve(closed, pytree.unflatten(inner, start))
        x, aux = split_aux(out, "custom_root") if has_aux else (out, None)
        xs, found = pytree.flatten(x)
        if not is_alike(found, inner):
            raise StructureError(
                f"custom_root: solve has a result of structure {found}, initial_guess has {inner}",
                hint="return the containers that initial_guess has",
                site=site,
            )
        extra, box["aux"] = pytree.flatten(aux)
        return [admit(r, "custom_root: a result of solve") for r in (*xs, *extra)]

    def bind_solve(*by_graph: Graph) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return the results and operands of the solution, or of its Graph where that is given."""
        (graph, *solver), consts = close_graphs(function.graph, *by_graph)
        count = len(consts)

        def fun(*values: Any) -> list[Any]:
            if solver:
                return solver[0](*values)
            fixed, start = values[:count], values[count:]
            return find_root(lambda x: pytree.unflatten(inner, graph(*fixed, *pytree.leaves(x))), start)

        def jvp_rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
            results = custom_jvp_call(*primals, call=call)
            fixed, xs, aux = primals[:count], results[: len(guess)], results[len(guess) :]
            moving = [t if is_differentiable(aval_of(p).dtype) else None for p, t in zip(fixed, tangents)]

            def jvp_along(fixed_tangents: Sequence[Any], x_tangents: Sequence[Any]) -> list[Any]:
                _, ts = jvp_flat(graph, [*fixed, *xs], [*fixed_tangents, *x_tangents])
                return [ops.zeros_like(x) if t is None else t for t, x in zip(ts, xs)]

            def linear_fun(x: Any) -> Any:
                return pytree.unflatten(inner, jvp_along([None] * count, pytree.leaves(x)))

            right = pytree.unflatten(inner, [ops.negative(t) for t in jvp_along(moving, [None] * len(xs))])
            found = custom_linear_solve(linear_fun, right, tangent_solve, tangent_solve)
            return results, [*pytree.leaves(found), *map(zero_tangent, aux)]

        call = RuledCall(fun, jvp_rule, name="solve of custom_root")
        values = [*consts, *(cast_to_aval(v, a) for v, a in zip(guess, avals))]
        return fun(*values) if is_plain(values) else custom_jvp_call(*values, call=call), values

    try:
        results, values = bind_solve()
    except EscapedTracerError:  # solve closes over traced values, which are to be operands
        staged = stage(lambda *start: find_root(f, start), avals, "solve", site, level="custom_root: solve")
        results, values = bind_solve(staged)
    x = pytree.unflatten(inner, unshare_if_plain(results[: len(guess)], values))
    return (x, pytree.unflatten(box["aux"], results[len(guess) :])) if has_aux else x
