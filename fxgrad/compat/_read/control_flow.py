"""Branches and loops as functions, and functions of sizes, in the form that torch's compiler requires."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .._declare.spaces import expose
from ..errors import ArgumentError


@expose()
def cond(
    pred, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Sequence[Any] = ()
) -> Any:
    """Return true_fn(*operands) if the condition is true, else false_fn(*operands).

    Args:
        pred: a bool, or a Tensor with one.
        operands: what the function that is chosen gets.

    Raises:
        TypeError: a branch is no function.

    >>> torch.cond(torch.tensor(True), torch.sin, torch.cos, (torch.tensor(0.0),))
    tensor(0.)
    """
    if not callable(true_fn) or not callable(false_fn):
        raise ArgumentError(
            "Expect both branches to be callable.",
            hint="torch.cond(pred, true_fn, false_fn, operands): functions, not what they return",
        )
    return (true_fn if bool(pred) else false_fn)(*operands)


@expose()
def while_loop(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Sequence[Any]
) -> tuple[Any, ...]:
    """Replace the carried values by body_fn(*values) as long as cond_fn(*values) is true, and return them.

    >>> torch.while_loop(lambda x: x < 10, lambda x: (x * 2,), (torch.tensor(3),))
    (tensor(12),)
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise ArgumentError(
            "Expect cond_fn and body_fn to be callable.",
            hint="torch.while_loop(cond_fn, body_fn, carried): functions, not what they return",
        )
    carried = tuple(carried_inputs)
    while bool(cond_fn(*carried)):
        made = body_fn(*carried)
        carried = tuple(made) if isinstance(made, tuple | list) else (made,)
    return carried


# -- sizes, which are Python's numbers here ------------------------------------------
@expose()
def sym_int(a) -> int:
    """The number rounded towards 0: int(a)."""
    return int(a)


@expose()
def sym_float(a) -> float:
    """The number as a float: float(a)."""
    return float(a)


@expose()
def sym_max(a, b) -> Any:
    """The greater of two numbers, as a float if one of them is a float."""
    return max(a, b) if type(a) is type(b) else float(max(a, b))


@expose()
def sym_min(a, b) -> Any:
    """The lesser of two numbers, as a float if one of them is a float."""
    return min(a, b) if type(a) is type(b) else float(min(a, b))


@expose()
def sym_not(a) -> bool:
    """The negation: not a."""
    return not a


@expose()
def sym_ite(b: bool, t, f) -> Any:
    """`t` if the condition holds, else `f`."""
    return t if b else f


@expose()
def sym_sqrt(a) -> float:
    """The square root of a number."""
    return math.sqrt(a)


@expose()
def sym_sum(args: Sequence[Any]) -> Any:
    """The sum of numbers."""
    return sum(args)
