"""Solutions of external programs, differentiated by the implicit function theorem.

The conditions of a solution x, g(x, p) = 0, give ∂g/∂x ẋ = −∂g/∂p ṗ. The parameters p are all that g reads: arguments,
and values that the user's function closes over. Outside of transforms the solver runs directly. On traced parameters it
is called back, once for each entry of a batch.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import (
    ShapeDtypeStruct,
    Tracer,
    aval_of,
    closure_convert,
    jacobian,
    jit,
    ops,
    pure_callback,
    pytree,
)
from ...lax.solves import custom_root
from ...tree import ravel_pytree, register_pytree_node
from ..reference import library

NEAR = 1e-3  # of the size of a solution: a step of Newton's that is shorter is none that matters


class Unknowns:
    """The unknowns of a problem as a pytree, and as one vector of floating numbers."""

    def __init__(self, start: Any):
        leaves, self.structure = pytree.flatten(start)
        leaves = [ops.stop_gradient(fnp.asarray(leaf)) for leaf in leaves]
        leaves = [leaf if aval_of(leaf).dtype.kind == "f" else fnp.astype(leaf, float) for leaf in leaves]
        self.start, self.restore = ravel_pytree(pytree.unflatten(self.structure, leaves))
        self.is_traced = isinstance(self.start, Tracer)


def holds_tracers(tree: Any) -> bool:
    """Whether a pytree has traced leaves."""
    return any(isinstance(leaf, Tracer) for leaf in pytree.leaves(tree))


def arguments(args: Any) -> tuple:
    """The further arguments of the user's function: SciPy allows a lone one."""
    return args if isinstance(args, tuple) else (args,)


def is_traced(unknowns: Unknowns, args: Any, function: Callable[[Any], Any]) -> bool:
    """Whether a problem has traced parameters; the function is called to see what it reads."""
    return unknowns.is_traced or holds_tracers(args) or holds_tracers(function(unknowns.start))


def solve_traced(
    function: Callable[[Any], Any],
    conditions: Callable[[Callable[[Any], Any]], Callable[[Any], Any]],
    solver: Callable[[Callable[[Any], Any], Any], tuple[Any, Sequence[Any]]],
    start: Any,
    facts: Sequence[Any] = (),
    settings: Any = (),
    trusted: bool = True,
) -> tuple[Any, Sequence[Any]]:
    """Return the solution, a vector, and what else the solver tells.

    Args:
        function: of the vector; it may read traced values.
        conditions: function → the function that vanishes at the solution, from vectors to such.
        solver: (function, start, *settings) → (solution, facts), on plain arrays; the first fact is whether it has
            converged. If it has not, and is not near a solution by Newton's step, a warning says so.
        start: the vector at which the solver starts.
        facts: the shapes and dtypes of what the solver tells besides, as arrays.
        settings: further arrays for the solver, which may be traced.
        trusted: whether what has converged is a solution, and not the nearest to one.
    """
    converted, parameters = closure_convert(function, start)
    at_start = jit(converted)
    count = len(parameters)

    def find(start: Any, *values: Any) -> tuple[Any, list[Any]]:
        known, chosen = values[:count], values[count:]
        found, told = solver(lambda x: at_start(x, *known), np.array(start), *chosen)
        if (
            told
            and not (told[0] and trusted)
            and not is_near(conditions(lambda x: at_start(x, *known)), np.asarray(found))
        ):
            warn_of_no_solution()
        found = np.asarray(found, aval.dtype).reshape(aval.shape)
        return found, [np.asarray(v, np.asarray(f).dtype) for v, f in zip(told, facts)]

    aval = aval_of(start)
    declared = (
        ShapeDtypeStruct(aval.shape, aval.dtype),
        [ShapeDtypeStruct(np.shape(f), np.asarray(f).dtype) for f in facts],
    )

    def solve(_: Any, start: Any) -> Any:
        return pure_callback(find, declared, start, *parameters, *settings, vmap_method="sequential")

    return custom_root(
        conditions(lambda x: converted(x, *parameters)), start, solve, solve_densely, has_aux=True
    )


def warn_of_no_solution() -> None:
    """Warn where a traced problem is not solved."""
    warnings.warn(
        "the solver has not converged: what it found is no solution, and the derivatives that follow from the "
        "conditions of a solution are not those of what it found. Look at .success, or start nearer, or allow more "
        "iterations",
        RuntimeWarning,
        stacklevel=3,
    )


def is_near(conditions: Callable[[Any], Any], x: Any) -> bool:
    """Whether Newton's step to where the conditions hold is short. (Minimizers fail at the last digits, too.)"""
    slope, value = np.atleast_2d(jacobian(conditions)(x)), np.ravel(conditions(x))
    if not (np.isfinite(slope).all() and np.isfinite(value).all()):
        return False
    step = np.linalg.lstsq(slope, value, rcond=None)[0]
    return bool(np.linalg.norm(step) <= NEAR * (1 + np.linalg.norm(x)))


def solve_densely(linear: Callable[[Any], Any], y: Any) -> Any:
    """Solve a linear system given as a function, by its matrix."""
    return fnp.linalg.solve(jacobian(linear)(ops.zeros_like(y)), y) if y.size else y


# -- results ------------------------------------------
def make_result(**fields: Any) -> Any:
    """Return fields as SciPy's OptimizeResult, which is a pytree from then on."""
    return result_class()(**fields)


def result_class() -> Any:
    """SciPy's class of results, registered as a pytree of its numbers."""
    cls = library("optimize", "fxgrad.scipy.optimize").OptimizeResult
    if cls not in REGISTERED:
        with suppress(ValueError):  # another thread was first
            register_pytree_node(cls, split_result, join_result)
        REGISTERED.add(cls)
    return cls


REGISTERED: set[type] = set()


def split_result(result: Any) -> tuple[tuple[Any, ...], Any]:
    """Return the arrays of a result, and the names with what is no array."""
    names = sorted(k for k, v in result.items() if k == "x" or k == "jac" or is_number(v))
    fixed = tuple((k, v) for k, v in sorted(result.items()) if k not in names)
    return tuple(result[k] for k in names), (tuple(names), fixed)


def is_number(value: Any) -> bool:
    """Whether a field of a result is an array or a number."""
    return isinstance(value, Tracer | np.ndarray | np.generic | bool | int | float | complex)


def join_result(auxiliary: Any, values: Any) -> Any:
    """Return the result with these numbers."""
    names, fixed = auxiliary
    return result_class()(**dict(fixed), **dict(zip(names, values)))
