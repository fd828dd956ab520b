"""Transforms, loops and other functions of this library that call user functions, for functions of `arrays`."""

from __future__ import annotations

from collections.abc import Callable
from functools import WRAPPER_ASSIGNMENTS, partial, wraps
from inspect import signature
from itertools import zip_longest
from types import FunctionType
from typing import Any

import numpy as np

from ...core import pytree
from ...core.fp_errors import ERROR_STATE, IGNORE
from ...core.interpreter import Tracer
from ...core.surface import is_object
from ...transforms.linear_function import LinearFunction
from . import trees
from .arrays import Array, array_of, strengthen, value_of
from .dtypes import NARROW, ScalarKind
from .keywords import KEYWORDS, Keywords


def as_array(leaf: Any) -> Any:
    """Return a leaf as the user's functions see it: traced values and arrays as an `Array`."""
    return array_of(leaf) if isinstance(leaf, Tracer | np.ndarray | np.generic) or is_object(leaf) else leaf


def traced_as_array(leaf: Any) -> Any:
    """Return a traced value as an `Array`, anything else as it is."""
    return array_of(leaf) if isinstance(leaf, Tracer) or is_object(leaf) else leaf


def narrow_tree(tree: Any) -> Any:
    """Return an argument of a transform in dtypes that arrays may have."""
    return map_tree(narrow_leaf, tree)


def narrow_leaf(leaf: Any) -> Any:
    """Return an argument of a transform in a dtype that arrays may have: what is none is handed on."""
    if isinstance(leaf, np.ndarray | np.generic) and leaf.dtype in NARROW:
        return array_of(leaf)
    return leaf


def map_tree(function: Callable[[Any], Any], value: Any) -> Any:
    """Apply a function to the leaves of one value; containers without any that it changes stay themselves."""
    settled = trees.settle(value, UNCHANGED)
    if settled is not trees.UNSETTLED:
        return settled
    kind = type(value)
    if callable(value) and not pytree.is_tree_node(kind):
        return value
    if kind not in CONTAINERS and all([type(leaf) is Array for leaf in pytree.leaves(value, is_object)]):
        return value
    return trees.map(function, value, is_leaf=is_object)


UNCHANGED = frozenset([Array, int, float, str, bool, type(None)])
RESULTS = frozenset([Array, type(None)])
CONTAINERS = frozenset([tuple, list, dict])


def named_as(function: Any) -> Callable[[Any], Any]:
    """Return `functools.wraps(function)` for an object that is called, whose names may be anything."""
    if type(function) is FunctionType:
        return wraps(function, updated=())
    kinds = {"__annotations__": dict}
    names = [n for n in WRAPPER_ASSIGNMENTS if isinstance(getattr(function, n, None), kinds.get(n, str))]
    return wraps(function, assigned=names, updated=())


def on_arrays(function: Any, see: Callable[[Any], Any] = traced_as_array) -> Any:
    """Return a user's function as one whose arguments are arrays where this library passes traced values."""
    if not callable(function):
        return function

    @named_as(function)
    def on_arrays_(*args: Any, **kwargs: Any) -> Any:
        args = tuple([map_tree(see, a) for a in args])
        return function(*args, **{name: map_tree(see, v) for name, v in kwargs.items()})

    return on_arrays_


def with_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what a transform has made of a function, with arrays for results."""

    @named_as(function)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        args = tuple([narrow_tree(a) for a in args])
        token = ERROR_STATE.set(IGNORE)
        try:
            return results_of(function(*args, **{name: narrow_tree(v) for name, v in kwargs.items()}))
        finally:
            ERROR_STATE.reset(token)

    for name in ("lower", "trace", "eval_shape", "clear_cache"):
        if hasattr(function, name):
            setattr(transformed, name, getattr(function, name))
    return transformed


def results_of(result: Any) -> Any:
    """Return results as arrays, and functions among them as functions of arrays."""
    settled = trees.settle(result, RESULTS)
    if settled is not trees.UNSETTLED:
        return settled
    kind = type(result)
    if kind is LinearFunction:
        pullback: Any = pytree.Partial(call_linear, result)
        pullback.with_refs = lambda *refs: partial(call_linear, result.with_refs(*refs))
        return pullback
    if kind is tuple and any(callable(part) for part in result):
        return tuple(map(results_of, result))
    if is_function(result) and not is_object(result):
        return with_arrays(result)
    return map_leaves(result)


def call_linear(function: Callable[..., Any], *args: Any) -> Any:
    """Apply a pullback, or another linear function that a transform returned, to arrays."""
    return results_of(function(*[narrow_tree(a) for a in args]))


def map_leaves(result: Any) -> Any:
    """Return a pytree with arrays and numbers as an `Array`."""
    return trees.map(lambda leaf: array_of(leaf) if is_value(leaf) else leaf, result, is_leaf=is_object)


def is_value(leaf: Any) -> bool:
    """Whether a leaf is an array, a number or a traced value."""
    return isinstance(leaf, Tracer | np.ndarray | np.generic | int | float | complex) or is_object(leaf)


def lift_transform(transform: Callable[..., Any]) -> Callable[..., Any]:
    """Return a transform of this library, f → g, as one for functions of arrays: also as a decorator with options."""
    keywords = Keywords(transform)

    @wraps(transform)
    def lifted(fun: Any = None, *args: Any, **options: Any) -> Any:
        if fun is None:
            return partial(lifted, **options)
        given = [fun, *args]
        options = keywords.translate(given, options)
        return with_arrays(transform(on_arrays(given[0]), *given[1:], **options))

    setattr(lifted, KEYWORDS, keywords)
    return lifted


def on_values(function: Any) -> Any:
    """Return a user's function as one that is called on arrays and returns what the arrays hold."""
    seen = on_arrays(function)

    @named_as(function)
    def on_values_(*args: Any, **kwargs: Any) -> Any:
        return trees.map(value_of, seen(*args, **kwargs), is_leaf=is_object)

    return on_values_


def on_strong_arrays(function: Any) -> Any:
    """Return a user's function as one with arrays for weak ones among its results: what goes round in loops, and what
    comes out of branches, has one dtype."""
    seen = on_arrays(function)
    if not callable(function):
        return function

    @named_as(function)
    def on_strong_arrays_(*args: Any, **kwargs: Any) -> Any:
        return map_tree(strengthen, seen(*args, **kwargs))

    return on_strong_arrays_


def lift_program(
    function: Callable[..., Any], see: Callable[[Any], Callable[..., Any]] = on_strong_arrays
) -> Callable[..., Any]:
    """Return a function of this library that calls functions of the user's on arrays, such as a loop, for arrays. Its
    annotations say which arguments are called: one may be a module, which is a node of pytrees as well."""
    call, keywords = with_arrays(function), Keywords(function)
    names = {p.name: p.annotation for p in signature(function).parameters.values()}
    called = {name for name, kind in names.items() if str(kind).startswith("Callable")}
    places = [name in called for name in names]

    @wraps(function)
    def lifted(*args: Any, **kwargs: Any) -> Any:
        given = [*args]
        if kwargs:
            kwargs = keywords.translate(given, kwargs)
        given = [
            see(a) if called_here or is_function(a) else map_tree(strengthen, lift_functions(a))
            for a, called_here in zip_longest(given, places[: len(given)], fillvalue=False)
        ]
        return call(*given, **{n: see(v) if n in called or is_function(v) else v for n, v in kwargs.items()})

    setattr(lifted, KEYWORDS, keywords)
    return lifted


def lift_solver(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of this library that computes with what a user's function returns, for arrays."""
    return lift_program(function, on_values)


def is_function(value: Any) -> bool:
    """Whether an argument is a function of the user's."""
    return (
        callable(value) and not isinstance(value, type | ScalarKind) and not pytree.is_tree_node(type(value))
    )


def lift_functions(value: Any) -> Any:
    """Return a list of functions, such as the branches of a `switch`, as functions of arrays."""
    if type(value) in (list, tuple) and value and all(map(is_function, value)):
        return type(value)(map(on_strong_arrays, value))
    return value
