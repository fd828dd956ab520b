"""`check_grads`, `check_jvp`, `check_vjp`: derivatives compared with numerical ones; `check_vmap`: with a loop."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..checking.compare import (
    FunctionAtPoint,
    compare_leaves,
    compare_pullback,
    compare_tangents,
    flatten_jvp,
)
from ..checking.finite_differences import Tolerance, precision, random_direction, random_like, to_host_array
from ..core import pytree
from ..core.aval import aval_of, is_differentiable
from ..core.errors import CheckError, StructureError
from ..core.interpreter import api_boundary
from ..core.snapshot import hand_over
from ..transforms.jit import function_name
from ..transforms.jvp import jvp
from ..transforms.vjp import vjp
from ..transforms.vmap import vmap


@api_boundary
def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Check the derivatives of `f` at `args` up to an order against numerical derivatives along random directions.

    Each derivative but the last is differentiated again, in each mode: for order 2, "fwd of fwd", "fwd of rev", and so
    on. Directions are the same in every run.

    Args:
        f: a function of pytrees of arrays.
        args: tuple of its arguments; integers are held fixed.
        order: the highest order of derivatives.
        modes: "fwd", "rev", or both.
        atol, rtol, eps: see `check_jvp`.

    Raises:
        CheckError: the message names mode and order, and the argument in which the discrepancy is largest.
        ConcretizationError: an argument is traced.
        StructureError: a mode is neither "fwd" nor "rev".

    >>> fx.testing.check_grads(lambda x, y: fnp.sin(x) * y, (np.ones(3), 2.0), order=3)
    """
    unknown = set(modes) - {"fwd", "rev"}
    if unknown or isinstance(modes, str):
        raise StructureError(f"check_grads: modes={modes!r}", hint='modes=("fwd", "rev"), or one of them')

    derivatives: list[tuple[Callable[..., Any], int, str]] = [(f, 1, "")]
    for g, number, trail in derivatives:  # to which those of the next order are appended
        for mode in modes:
            label = f"{mode} of {trail}" if trail else mode
            what = f"check_grads of {function_name(f)}: order {number}, {label}"
            if mode == "fwd":
                check_jvp(g, partial(jvp, g), args, atol, rtol, eps, what)
            else:
                check_vjp(g, partial(vjp, g), args, atol, rtol, eps, what)
            if number < order:
                derivatives.append((random_derivative(g, args, mode), number + 1, label))


def random_derivative(f: Callable[..., Any], args: Sequence[Any], mode: str) -> Callable[..., list[Any]]:
    """Return the derivative of `f` for a fixed random tangent or cotangent, as a function of the arguments,
    with flat results."""
    rng = np.random.default_rng(2)
    if mode == "fwd":
        leaves, structure = pytree.flatten(tuple(args))
        ts = pytree.unflatten(structure, random_like(rng, *leaves))
        return lambda *args: floating_leaves(jvp(f, args, ts)[1])
    given, arguments = pytree.flatten(tuple(args))
    leaves, structure = pytree.flatten(f(*arguments.unflatten(hand_over(given))))
    cts = pytree.unflatten(structure, random_like(rng, *leaves))
    return lambda *args: floating_leaves(vjp(f, *args)[1](cts))


def floating_leaves(values: Any) -> list[Any]:
    """Return the leaves that carry derivatives."""
    return [v for v in pytree.leaves(values) if is_differentiable(aval_of(v).dtype)]


@api_boundary
def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[[tuple, tuple], tuple],
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Check a function that computes values and tangents against `f` and its numerical derivative.

    Args:
        f: a function of pytrees of arrays.
        f_jvp: (primals, tangents) → (result, its tangent), such as `partial(fx.jvp, f)`.
        args: tuple of arguments; integers are held fixed.
        atol, rtol: what the derivatives may differ by. By default rtol is the cube root of the precision of arguments
            and results (8e-6, in single precision 4e-3), and atol the estimated error of the numerical derivative.
        eps: the first step of the central differences (by default the sixth root of the precision).
        err_msg: how the message begins.

    Raises:
        CheckError: they disagree; or there is a kink, or noise, and nothing can be said.
        ConcretizationError: an argument is traced.

    >>> fx.testing.check_jvp(fnp.sin, lambda primals, ts: (fnp.sin(*primals), fnp.cos(*primals) * ts[0]), (0.5,))
    """
    point = FunctionAtPoint(err_msg or f"check_jvp of {function_name(f)}", f, args)
    results = point.results(*point.values)
    tolerance = Tolerance([*point.values, *results], atol, rtol, eps)
    ts = random_direction(point.values)
    compare_leaves(
        point.what, pytree.leaves(f_jvp(point.args, point.tangents(ts))[0]), results, tolerance.root**2
    )
    compare_tangents(point, ts, flatten_jvp(point, f_jvp), tolerance)


@api_boundary
def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., tuple],
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Check a function that computes a value and a pullback against `f` and its numerical derivative.

    Args:
        f: a function of pytrees of arrays.
        f_vjp: (*args) → (result, pullback), such as `partial(fx.vjp, f)`; the pullback gives a tuple of cotangents.
        args, atol, rtol, eps, err_msg: as for `check_jvp`, with the same errors.

    >>> fx.testing.check_vjp(fnp.sin, lambda x: (fnp.sin(x), lambda ct: (fnp.cos(x) * ct,)), (0.5,))
    """
    point = FunctionAtPoint(err_msg or f"check_vjp of {function_name(f)}", f, args)
    results = point.results(*point.values)
    tolerance = Tolerance([*point.values, *results], atol, rtol, eps)
    value, pullback = f_vjp(*args)
    values, structure = pytree.flatten(value)
    compare_leaves(point.what, values, results, tolerance.root**2)
    cts = random_like(np.random.default_rng(1), *results)
    compare_pullback(
        point, floating_leaves(cts), pytree.leaves(pullback(pytree.unflatten(structure, cts))), tolerance
    )


@api_boundary
def check_vmap(
    f: Callable[..., Any],
    args: Sequence[Any],
    in_axes: Any = 0,
    atol: float | None = None,
    rtol: float | None = None,
) -> None:
    """Check `vmap(f, in_axes)` against a loop of calls of `f`.

    Args:
        f: a function of pytrees of arrays.
        args: tuple of arguments with a mapped axis, for `fx.vmap(f, in_axes)`. For in_axes=None, those of one call:
            batches are made of them (scaled by 1, 17/16, 18/16; integers are repeated), and each argument is
            in turn not mapped, mapped over its first, and over its last axis, in every combination.
        in_axes: as for `fx.vmap`, or None.
        rtol: by default the precision to the power 3/4 (2e-12 for double precision).
        atol: by default rtol times the largest entry of a result.

    Raises:
        CheckError: values, shapes, dtypes or the structure differ; the message names the axes.

    >>> fx.testing.check_vmap(fnp.dot, (np.ones((5, 3)), np.ones(3)), in_axes=(0, None))
    >>> fx.testing.check_vmap(fnp.matmul, (np.ones((2, 3)), np.ones(3)), in_axes=None)
    """
    name = function_name(f)
    for axes, batch in [(in_axes, tuple(args))] if in_axes is not None else batches(tuple(args)):
        what = f"check_vmap of {name}: in_axes={axes}"
        found = pytree.leaves(vmap(f, axes)(*batch))
        leaves, structure = pytree.flatten(batch)
        places = pytree.flatten_prefix(tuple(axes) if isinstance(axes, list) else axes, batch, what)
        size = next(np.shape(x)[a] for x, a in zip(leaves, places) if a is not None)
        rows = [[x if a is None else np.take(x, k, a) for x, a in zip(leaves, places)] for k in range(size)]
        results = [pytree.leaves(f(*pytree.unflatten(structure, hand_over(row)))) for row in rows]
        for i, (y, *single) in enumerate(zip(found, *results)):
            dtype = aval_of(single[0]).dtype
            if aval_of(y).dtype != dtype:
                raise CheckError(
                    f"{what}: result {i} has dtype {aval_of(y).dtype}, expected {dtype}",
                    hint="x.astype(…) in the function, or an operation whose dtype does not depend on the values",
                )
        expected = [np.stack([to_host_array(y) for y in single]) for single in zip(*results)]
        compare_leaves(
            what, found, expected, precision([*leaves, *found]) ** 0.75 if rtol is None else rtol, atol
        )


def batches(args: tuple) -> Iterator[tuple[tuple, tuple]]:
    """Yield (in_axes, arguments with mapped axes) for every way to map over single arguments."""

    def stack_scaled(x: Any, axis: int) -> Any:
        scales = (1, 17 / 16, 18 / 16) if is_differentiable(aval_of(x).dtype) else (1, 1, 1)
        return np.stack([np.asarray(x * s, aval_of(x).dtype) for s in scales], axis)

    for axes in itertools.product((None, 0, -1), repeat=len(args)):
        if any(a is not None for a in axes):
            yield (
                axes,
                tuple(
                    arg if axis is None else pytree.map(partial(stack_scaled, axis=axis), arg)
                    for arg, axis in zip(args, axes)
                ),
            )
