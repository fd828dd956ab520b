"""`laplacian`: the sum of the second derivatives along all coordinates, in one pass.

A tracer holds its value, its derivatives along all directions, and its Laplacian. A linear operation transforms the
Laplacian like a tangent. Any other operation adds its second derivatives along these directions, summed immediately:
only this sum is kept, while forward mode inside forward mode would keep second derivatives along each direction.

R. Li et al., "A computational framework for neural network-based variational Monte Carlo with Forward Laplacian",
Nature Machine Intelligence 6 (2024). With random directions it is M. F. Hutchinson's estimator (Comm. Stat. Simul. 18,
1989).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..core.aval import aval_of, is_differentiable
from ..core.interpreter import Interpreter, PrimalTracer, opened, use_context
from ..ops.contraction import LETTERS
from ..ops.kinds import Elementwise, ensure_batched
from ..ops.projection import promote_tangent
from .jet import JetInterpreter, declared_derivative, is_linear, is_product, total
from .jvp import jvp_flat
from .vmap import vmap_flat


class LaplacianTracer(PrimalTracer):
    """A value with its `slopes` along the directions, which are a leading axis, and its `laplacian` (None: zero)."""

    __slots__ = ("laplacian", "slopes")

    def __init__(self, interpreter: LaplacianInterpreter, primal: Any, slopes: Any, laplacian: Any):
        self.interpreter, self.primal, self.slopes, self.laplacian = interpreter, primal, slopes, laplacian

    is_differentiated = True

    def contents(self) -> tuple:
        return self.primal, self.slopes, self.laplacian


class LaplacianInterpreter(Interpreter):
    """Forward mode along `count` directions at once, with the sum of the second derivatives along these."""

    name = "laplacian"
    __slots__ = ("count",)

    def __init__(self, site: Any, count: int):
        super().__init__(site)
        self.count = count

    def process(self, primitive: Any, args: tuple, params: dict) -> Any:
        own = [type(a) is LaplacianTracer and a.interpreter is self for a in args]
        if not any(own):
            return self.bind_outer(primitive, args, params)
        primals = [a.primal if o else a for a, o in zip(args, own)]
        slopes = [a.slopes if o else None for a, o in zip(args, own)]
        laplacians = [a.laplacian if o else None for a, o in zip(args, own)]
        with use_context(self.outer):
            ys, found = self.expand(primitive, primals, slopes, laplacians, params)
        results = [
            LaplacianTracer(self, y, *parts) if parts[0] is not None and is_differentiable(aval_of(y).dtype) else y
            for y, parts in zip(ys, found)
        ]  # fmt: skip
        return results if primitive.multiple_results else results[0]

    def expand(
        self,
        primitive: Any,
        primals: Sequence[Any],
        slopes: Sequence[Any],
        laplacians: Sequence[Any],
        params: dict,
    ) -> tuple[Sequence[Any], list[tuple[Any, Any]]]:
        """Return the results, and for each its slopes and its Laplacian."""
        moving = [i for i, s in enumerate(slopes) if s is not None]
        push = declared_derivative(primitive, params)
        linear, product = is_linear(primitive, moving), is_product(primitive)
        if push is None or not (linear or product or isinstance(primitive, Elementwise)):
            return self.expand_by_jets(primitive, primals, slopes, laplacians, params)
        y = primitive.call(*primals, **params)
        if not is_differentiable(aval_of(y).dtype):
            return [y], [(None, None)]
        with np.errstate(all="ignore"):  # as in other derivatives
            if not linear and not product:
                return [y], [self.bend(primitive, y, primals, slopes, laplacians, params)]
            (sloped,) = self.along(lambda *ts: push([y], primals, ts), slopes)
            carried = None
            if any(c is not None for c in laplacians):
                carried = push([y], primals, laplacians)[0]
            if product and len(moving) == 2:
                twice = ops.multiply(self.sum_products(primitive, slopes, params, aval_of(y).ndim), 2)
                carried = total([carried, promote_tangent(twice, aval_of(y))])
            return [y], [(sloped, carried)]

    def along(self, fun: Any, slopes: Sequence[Any]) -> list[Any]:
        """Apply a function of tangents to those along each direction."""
        given = [i for i, s in enumerate(slopes) if s is not None]

        def at(*values: Any) -> Any:
            moved = dict(zip(given, values))
            return fun(*[moved.get(i) for i in range(len(slopes))])

        found, mapped = vmap_flat(at, [slopes[i] for i in given], [True] * len(given), self.count)
        return [None if r is None else ensure_batched(r, m, self.count) for r, m in zip(found, mapped)]

    def sum_products(self, primitive: Any, slopes: Sequence[Any], params: dict, rank: int) -> Any:
        """Return the products of the slopes of two operands, summed over the directions."""
        if primitive.name == "contract":
            letter = next(c for c in LETTERS if c not in params["spec"])
            left, right = params["spec"].split(",")
            return primitive.call(*slopes, spec=f"{letter}{left},{letter}{right}")
        (products,) = self.along(lambda a, b: [primitive.call(a, b, **params)], slopes)
        return ops.reduce_sum(products, axes=(0,))

    def bend(
        self,
        primitive: Any,
        y: Any,
        primals: Sequence[Any],
        slopes: Sequence[Any],
        laplacians: Sequence[Any],
        params: dict,
    ) -> tuple[Any, Any]:
        """Return slopes and Laplacian of an elementwise operation, by its first and second derivatives at each
        entry."""
        aval = aval_of(y)
        moving = [i for i, s in enumerate(slopes) if s is not None]
        units = [None if s is None else ops.full_like(p, value=1) for p, s in zip(primals, slopes)]
        push: Any = declared_derivative(primitive, params)
        aligned = {i: self.align(slopes[i], aval.ndim) for i in moving}
        sloped, carried = None, None
        for i in moving:

            def partial_derivative(*xs: Any, i: int = i) -> list[Any]:
                return push([primitive.call(*xs, **params)], xs, keep_one(units, i))

            for j in moving[moving.index(i) :]:
                (first,), (second,) = jvp_flat(partial_derivative, primals, keep_one(units, j))
                if j == i and first is not None:
                    sloped = total([sloped, ops.multiply(first, aligned[i])])
                    if laplacians[i] is not None:
                        carried = total([carried, ops.multiply(first, laplacians[i])])
                if second is not None:
                    squares = ops.reduce_sum(ops.multiply(aligned[i], aligned[j]), axes=(0,))
                    carried = total(
                        [carried, ops.multiply(second, squares if i == j else ops.multiply(squares, 2))]
                    )
        if sloped is None:
            return None, None
        sloped = promote_tangent(sloped, aval.update(shape=(self.count, *aval.shape)))
        return sloped, None if carried is None else promote_tangent(carried, aval)

    def align(self, slopes: Any, rank: int) -> Any:
        """Give slopes as many axes as the result has, so that they broadcast with its entries."""
        shape = aval_of(slopes).shape
        missing = rank + 1 - len(shape)
        return slopes if not missing else ops.reshape(slopes, shape=(shape[0], *[1] * missing, *shape[1:]))

    def expand_by_jets(
        self,
        primitive: Any,
        primals: Sequence[Any],
        slopes: Sequence[Any],
        laplacians: Sequence[Any],
        params: dict,
    ) -> tuple[Sequence[Any], list[tuple[Any, Any]]]:
        """Push polynomials of degree two along each direction, of which each has its share of the Laplacians."""
        shares = [None if c is None else ops.multiply(c, 0.5 / self.count) for c in laplacians]

        def curve(*tangents: Any) -> list[Any]:
            level = JetInterpreter(self.site)
            terms = [None if t is None else [t, c] for t, c in zip(tangents, shares)]
            _, found = level.expand(primitive, primals, terms, 2, params, opened(level).context)
            return [c for pair in found for c in pair]

        y = primitive.call(*primals, **params)
        parts = self.along(curve, slopes)
        return y if primitive.multiple_results else [y], [
            (first, None if second is None else ops.multiply(ops.reduce_sum(second, axes=(0,)), 2))
            for first, second in zip(parts[::2], parts[1::2])
        ]


def keep_one(values: Sequence[Any], index: int) -> list[Any]:
    """Return one of the values at its place, and None at the others."""
    return [v if i == index else None for i, v in enumerate(values)]


def push_laplacian(
    fun: Callable[..., Sequence[Any]], values: Sequence[Any], directions: Sequence[Any], count: int, site: Any
) -> tuple[list[Any], list[Any]]:
    """Return the results of a function of values, and the sums of their second derivatives along the directions (None:
    zero), which are rows of arrays, None for a value that does not move."""
    interpreter = LaplacianInterpreter(site, count)
    tracers = [
        v if d is None else LaplacianTracer(interpreter, v, d, None) for v, d in zip(values, directions)
    ]
    with opened(interpreter):
        results = fun(*tracers)
    own = [type(r) is LaplacianTracer and r.interpreter is interpreter for r in results]
    ys = [r.primal if o else r for r, o in zip(results, own)]
    return ys, [r.laplacian if o else None for r, o in zip(results, own)]
