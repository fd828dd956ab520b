"""`check=True`: the result of a transform is compared with a numerical derivative.

`finite_differences` measures along one random direction. This module writes the error messages, and turns the results
of each transform into a derivative along a direction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import Any

import numpy as np

from ..core import pytree
from ..core.aval import aval_of, is_differentiable
from ..core.errors import CheckError, ConcretizationError, NotCheckableError
from ..core.interpreter import Tracer
from ..core.snapshot import hand_over
from ..transforms.arguments import is_float0, path_at_positions, restrict_arguments
from ..transforms.jit import function_name
from ..transforms.jvp import instantiate_tangent, jvp
from ..transforms.sparse_matrix import SparseMatrix
from ..transforms.vjp import vjp
from .finite_differences import Comparison, Tolerance, inner, random_direction, random_like, to_host_array
from .hermitian import with_hermitian_parts

HINT = (
    "look for a rule of your own (custom_jvp, custom_vjp), a stop_gradient, and numbers that left the trace through "
    "np.array, a buffer or an attribute; fx.testing.check_grads tells by mode and order"
)

HERMITIAN_HINT = "; matrices that are taken for Hermitian must be so: (a + a.conj().mT) / 2"


class FunctionAtPoint:
    """A function at known arguments: calling it with leaves gives the differentiable leaves of the result, or
    their inner product with cotangents (`cts`).

    `name_leaf(i)` is what messages call the leaf i: by default args[…] with the argument's place among `positions`.
    """

    def __init__(
        self,
        what: str,
        fun: Callable[..., Any],
        args: Sequence[Any],
        positions: Sequence[int] | None = None,
        name_leaf: Callable[[int], str] | None = None,
    ):
        self.what, self.fun, self.args = what, fun, tuple(args)
        self.cts: Sequence[Any] | None = None
        self.values, self.structure = pytree.flatten(self.args)
        positions = range(len(args)) if positions is None else positions
        self.place = partial(path_at_positions, positions, self.structure) if name_leaf is None else name_leaf
        self.known(self.values)

    def known(self, values: Sequence[Any]) -> None:
        for value in values:
            if isinstance(value, Tracer):
                raise ConcretizationError(
                    f"{self.what}: a check compares numbers, and a value is traced by {value.interpreter.name}",
                    hint="check where the values are known: outside jit and vmap, and the outermost derivative",
                )

    def results(self, *leaves: Any) -> list[Any]:
        """Return all leaves of the result."""
        with np.errstate(all="ignore"):
            try:
                found = pytree.leaves(self.fun(*self.structure.unflatten(hand_over(leaves))))
            except AttributeError:  # a method that only traced values have, such as x.at
                found = pytree.leaves(vjp(self.fun, *self.structure.unflatten(leaves))[0])
        self.known(found)
        return found

    def __call__(self, *leaves: Any) -> list[Any]:
        ys = [y for y in self.results(*leaves) if is_differentiable(aval_of(y).dtype)]
        return ys if self.cts is None else [inner(self.cts, ys)]

    def with_attributes(self, **attributes: Any) -> FunctionAtPoint:
        """Return a copy with other attributes."""
        point = copy(self)
        for name, value in attributes.items():
            setattr(point, name, value)
        return point

    def tangents(self, ts: Sequence[Any]) -> tuple:
        """Return flat tangents (None: zero) in the structure of the arguments."""
        return self.structure.unflatten([instantiate_tangent(v, t) for v, t in zip(self.values, ts)])


def compare_tangents(
    point: FunctionAtPoint, ts: Sequence[Any], jvp_fun: Callable[..., Sequence[Any]], tolerance: Tolerance
) -> None:
    """Raise `CheckError` unless push(*ts), flat, is the derivative at the point along ts (None: zero)."""
    tangents = jvp_fun(*ts)
    ensure_shapes(f"{point.what}: the tangents", tangents, point(*point.values))
    comparison = Comparison(point, point.values, ts, tangents, tolerance)
    if comparison.agrees or all(t is None for t in ts):
        return
    fun = with_hermitian_parts(point.fun, point.args)
    if fun is not point.fun:
        comparison = Comparison(point.with_attributes(fun=fun), point.values, ts, tangents, tolerance)
        if comparison.agrees:
            return
    result, entry, reliable = comparison.worst_entry(tolerance)
    found, value, error = (
        part[result][entry] for part in (comparison.found, comparison.value, comparison.error)
    )
    entries = f" at entry {entry} of result {result}" if entry else ""
    if not reliable:
        raise NotCheckableError(
            f"{point.what}: not checkable: kink or noise at this point: the derivative{entries} along a direction is "
            f"computed as {found:.8g}, measured as {value:.8g} ± {error:.1g}; from the two sides it may differ by "
            f"{comparison.jump[result][entry]:.1g}",
            hint="check at a generic point, without random numbers in the function, in double precision",
        )
    blamed, part = blame(point, ts, jvp_fun, result, entry, tolerance)
    share = "" if part is None else f" ({part[0]:.8g} and {part[1]:.8g} along it alone)"
    shown = np.array2string(
        np.asarray(to_host_array(ts[blamed])), precision=4, threshold=8, edgeitems=2, separator=","
    )
    raise CheckError(
        f"{point.what}: the derivative{entries} along a direction is computed as {found:.10g}, measured as "
        f"{value:.10g} ± {error:.1g} (relative error {abs(found - value) / max(abs(value), 1e-300):.2g}); the largest "
        f"discrepancy is in {point.place(blamed)}{share}, of which the direction is {' '.join(shown.split())}",
        hint=HINT + HERMITIAN_HINT * (fun is not point.fun),
    )


def blame(
    point: FunctionAtPoint,
    ts: Sequence[Any],
    jvp_fun: Callable[..., Sequence[Any]],
    result: int,
    entry: tuple[int, ...],
    tolerance: Tolerance,
) -> tuple[int, tuple | None]:
    """Find the value along which alone the discrepancy is largest; return it, and the derivative computed and
    measured."""
    active = [i for i, t in enumerate(ts) if t is not None]
    if len(active) == 1:
        return active[0], None
    gaps = {}
    for i in active:
        alone = [t if j == i else None for j, t in enumerate(ts)]
        comparison = Comparison(point, point.values, alone, jvp_fun(*alone), tolerance)
        found, value = comparison.found[result][entry], comparison.value[result][entry]
        gap = abs(found - value)
        gaps[i] = math.inf if math.isnan(gap) else gap, found, value
    worst = max(gaps, key=lambda i: gaps[i][0])
    return worst, gaps[worst][1:]


def compare_pullback(
    point: FunctionAtPoint, cts: Sequence[Any], pulled: Sequence[Any], tolerance: Tolerance
) -> None:
    """Raise `CheckError` unless `pulled` are the cotangents at the point for `cts` of the results: ⟨pulled, t⟩ is
    the derivative of ⟨cts, results⟩ along t."""
    ensure_shapes(f"{point.what}: the cotangents", pulled, point.values)

    def jvp_fun(*ts: Any) -> list[float]:
        chosen = [(ct, t) for ct, t in zip(pulled, ts) if t is not None]
        return [inner([ct for ct, _ in chosen], [t for _, t in chosen])]

    compare_tangents(point.with_attributes(cts=cts), random_direction(point.values), jvp_fun, tolerance)


def ensure_shapes(what: str, found: Sequence[Any], values: Sequence[Any]) -> None:
    """Raise CheckError unless there is one leaf of the same shape for each value."""
    shapes, expected = [np.shape(f) for f in found], [np.shape(v) for v in values]
    if shapes != expected:
        raise CheckError(
            f"{what} have shapes {shapes}, expected {expected}",
            hint="results of the shapes expected, and check the function with fx.eval_shape",
        )


def compare_leaves(
    what: str, found: Sequence[Any], expected: Sequence[Any], rtol: float, atol: float | None = None
) -> None:
    """Raise CheckError unless these are the same leaves, in number, shapes and values; by default `atol` is
    relative to the largest entry of each."""
    if len(found) != len(expected):
        raise CheckError(
            f"{what}: {len(found)} results, expected {len(expected)}",
            hint="return as many as the function that is compared with",
        )
    for i, (a, b) in enumerate(zip(map(to_host_array, found), map(to_host_array, expected))):
        if a.shape != b.shape:
            raise CheckError(
                f"{what}: result {i} has shape {a.shape}, expected {b.shape}",
                hint="a result of that shape: fnp.reshape, or fnp.sum over the axes that broadcast",
            )
        slack = rtol * np.max(np.abs(b), initial=0, where=np.isfinite(b)) if atol is None else atol
        wrong = ~np.isclose(a, b, rtol, slack, equal_nan=True)
        if np.any(wrong):
            gap = np.where(wrong, np.nan_to_num(np.abs(a - b), nan=np.inf), -1)
            entry = tuple(map(int, np.unravel_index(int(np.argmax(gap)), gap.shape)))
            place = f" at entry {entry}" if entry else ""
            raise CheckError(
                f"{what}: result {i}{place} is {a[entry]:.10g}, expected {b[entry]:.10g}",
                hint="the formula, its sign and its conjugate first; where they are right, a wider atol= or rtol=",
            )


def check_gradient(
    name: str,
    fun: Callable[..., Any],
    argnums: Sequence[int],
    has_aux: bool,
    args: tuple,
    kwargs: dict,
    found: Any,
) -> None:
    """Check the result of `grad`, a pytree like the arguments at `argnums`."""
    positions = [p % len(args) for p in argnums]
    point = FunctionAtPoint(
        f"{name} of {function_name(fun)}",
        restrict_arguments(fun, args, kwargs, positions, has_aux),
        [args[p] for p in positions],
        positions,
    )
    compare_pullback(point, [1.0], pytree.leaves(found), Tolerance([*point.values, *point(*point.values)]))


def check_vjp_result(
    fun: Callable[..., Any], primals: tuple, has_aux: bool, value: Any, pullback: Callable[..., tuple]
) -> None:
    """Check the result of `vjp`, with a random cotangent."""
    point = FunctionAtPoint(
        f"vjp of {function_name(fun)}",
        restrict_arguments(fun, primals, {}, range(len(primals)), has_aux),
        primals,
    )
    results, structure = pytree.flatten(value)
    cts = random_like(np.random.default_rng(1), *results)
    pulled = pytree.leaves(pullback(pytree.unflatten(structure, cts)))
    cts = [ct for ct, y in zip(cts, results) if is_differentiable(aval_of(y).dtype)]
    compare_pullback(point, cts, pulled, Tolerance([*point.values, *results]))


def check_jvp_result(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool
) -> None:
    """Check the result of `jvp` along its tangents, scaled to 1."""
    value_of = restrict_arguments(fun, tuple(primals), {}, range(len(primals)), has_aux)
    point = FunctionAtPoint(f"jvp of {function_name(fun)}", value_of, primals)
    given = pytree.leaves(tuple(tangents))
    largest = max((np.max(np.abs(to_host_array(t)), initial=0) for t in given if not is_float0(t)), default=0)
    scale = 1 / float(largest) if largest > 0 else 1.0
    ts = [t * scale if is_differentiable(aval_of(v).dtype) else None for t, v in zip(given, point.values)]
    compare_tangents(
        point, ts, flatten_jvp(point, lambda primals, ts: jvp(value_of, primals, ts)), Tolerance(point.values)
    )


def flatten_jvp(point: FunctionAtPoint, f_jvp: Callable[[tuple, tuple], Any]) -> Callable[..., list[Any]]:
    """Turn f_jvp(primals, tangents) → (result, its tangent) into a function of flat tangents, None for
    zero."""

    def jvp_fun(*ts: Any) -> list[Any]:
        y, t = map(pytree.leaves, f_jvp(point.args, point.tangents(ts)))
        return [s for s, v in zip(t, y) if is_differentiable(aval_of(v).dtype)]

    return jvp_fun


def to_block_matrix(block: Any, rows: int, columns: int) -> Any:
    """Return a block of a Jacobian as a matrix, with a row for each entry of the result."""
    if isinstance(block, SparseMatrix):
        block = block.to_scipy()
    return block if hasattr(block, "tocsr") else to_host_array(block).reshape(rows, columns)


def check_jacobian(
    name: str, fun: Callable[..., Any], args: tuple, positions: Sequence[int], blocks: Sequence[Sequence[Any]]
) -> None:
    """Check a Jacobian: it has a row of blocks for each leaf of the result, and in it one block for each leaf
    of the arguments, which may be sparse: a matrix."""
    point = FunctionAtPoint(name, fun, args, positions)

    def jvp_fun(*ts: Any) -> list[Any]:
        given = [(i, to_host_array(t)) for i, t in enumerate(ts) if t is not None]
        products = [
            np.reshape(
                sum(to_block_matrix(row[i], aval_of(y).size, t.size) @ t.reshape(-1) for i, t in given),
                aval_of(y).shape,
            )
            for row, y in zip(blocks, results)
        ]
        return [p if aval_of(y).dtype.kind == "c" else np.real(p) for p, y in zip(products, results)]

    results = point(*point.values)
    compare_tangents(point, random_direction(point.values), jvp_fun, Tolerance([*point.values, *results]))
