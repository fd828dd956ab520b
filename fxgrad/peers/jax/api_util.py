"""`jax.api_util`: names that packages use."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from . import trees
from .core import ShapedArray
from .dtypes import dtype_of
from .linear_util import transformation_with_aux2

__all__ = [
    "debug_info",
    "flatten_fun_nokwargs",
    "infer_argnums_and_argnames",
    "safe_map",
    "safe_zip",
    "shaped_abstractify",
]


def infer_argnums_and_argnames(
    sig: inspect.Signature, argnums: Any, argnames: Any
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return places and names of arguments of which one or the other is given."""
    names = [n for n, p in sig.parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    given = (argnames,) if isinstance(argnames, str) else argnames
    if numbers is None and given is None:
        return (), ()
    if numbers is None:
        numbers = [i for i, n in enumerate(names) if n in given]
    elif given is None:
        given = [n for i, n in enumerate(names) if i in numbers]
    return tuple(numbers), tuple(given)


def debug_info(*description: Any, **options: Any) -> None:
    """Describe a function for JAX's messages: those of this library name lines of programs."""


@transformation_with_aux2
def flatten_fun_nokwargs(fun: Callable[..., Any], store: Any, in_tree: Any, *leaves: Any) -> Any:
    """Return a function of trees as one of leaves, and what gives the structure of its result."""
    found, structure = trees.flatten(fun(*in_tree.unflatten(leaves)))
    store.store(structure)
    return found


def safe_map(f: Callable[..., Any], *sequences: Any) -> list[Any]:
    """Apply a function to sequences of one length."""
    return [f(*items) for items in zip(*map(list, sequences), strict=True)]


def safe_zip(*sequences: Any) -> list[tuple[Any, ...]]:
    """Return the items of sequences of one length together."""
    return list(zip(*map(list, sequences), strict=True))


def shaped_abstractify(x: Any) -> ShapedArray:
    """Return the shape and dtype of an array."""
    return ShapedArray(x.shape, dtype_of(x))
