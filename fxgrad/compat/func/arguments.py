"""Arguments and results of transforms: flattened, selected and checked, with torch's messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...extend import pytree
from .._core.error_messages import tensor_hint
from .._core.tensor import Tensor
from ..errors import TensorError


def is_leaf(x) -> bool:
    """Whether torch takes a subtree for a leaf: None and Tensors, which are nodes to this library's transforms."""
    return x is None or isinstance(x, Tensor)


def flatten_tree(structure) -> tuple[list[Any], Any]:
    """The leaves of a pytree and its structure; None is a leaf, as in torch."""
    return pytree.flatten(structure, is_leaf)


def argnum_positions(argnums, count: int) -> tuple[int, ...]:
    """The non-negative positions of the arguments that `argnums` names."""
    if isinstance(argnums, int):
        chosen: tuple[int, ...] = (argnums,)
    elif isinstance(argnums, tuple) and all(isinstance(i, int) for i in argnums):
        chosen = argnums
    else:
        raise TensorError(
            f"argnums must be int or Tuple[int, ...], got: {type(argnums)}",
            hint="argnums=0, or argnums=(0, 1)",
        )
    if not chosen:
        raise TensorError("argnums must be non-empty", hint="argnums=0")
    for i in chosen:
        if not -count <= i < count:
            raise TensorError(
                f"Got argnum={i}, but only {count} positional inputs",
                hint=f"argnums={count - 1} is the last positional argument; an argument by name has none"
                if count
                else "pass by position what is to be differentiated",
            )
    if len({i % count for i in chosen}) < len(chosen):
        raise TensorError(
            f"argnums elements must be unique, got {argnums}",
            hint=f"argnums={tuple(dict.fromkeys(i % count for i in chosen))}",
        )
    return tuple([i % count for i in chosen])


def match_argnums(argnums, found: Sequence[Any]) -> Any:
    """Return the results for the chosen arguments: a tuple if `argnums` is a tuple, otherwise a single result."""
    return tuple(found) if isinstance(argnums, tuple) else found[0]


def flatten_primals(primals: tuple, name: str) -> tuple[list[Tensor], Any]:
    """Flatten a tuple of arguments, all of them Tensors, to its leaves and its structure."""
    leaves, structure = flatten_tree(primals)
    for x in leaves:
        if not isinstance(x, Tensor):
            raise TensorError(
                f"{name}: Expected primals to only contain Tensors, got {type(x)}",
                hint=tensor_hint(x) or "lambda x: f(x, other) of what is no Tensor",
            )
    if not leaves:
        raise TensorError(
            f"{name}: Expected primals to contain at least one Tensor.",
            hint="arguments that are Tensors: a function without any is constant",
        )
    return leaves, structure


def ensure_tensors(results: Sequence[Any], name: str) -> None:
    """Raise for results that are no Tensors."""
    for r in results:
        if not isinstance(r, Tensor):
            raise TensorError(
                f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(r)}",
                hint="torch.stack or torch.as_tensor of what it computes; has_aux=True for what is not "
                "differentiated",
            )


def ensure_output(results: Sequence[Any], name: str) -> None:
    """Raise unless the output has leaves and all of them are Tensors."""
    if not results or (len(results) == 1 and results[0] is None):
        raise TensorError(
            f"{name}: Expected f to be a function that has non-empty output (got output = {list(results)})",
            hint="return the result: is a `return` missing?",
        )
    ensure_tensors(results, name)


def split_aux(result, name: str) -> tuple[Any, Any]:
    """Split the result of a function with `has_aux` into the output and the auxiliary result."""
    if not isinstance(result, tuple) or len(result) != 2:
        raise TensorError(
            f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True",
            hint="return loss, aux",
        )
    return result
