"""`fxgrad.custom_batching`: functions with a rule for `vmap`, by JAX's names; `fx.custom` takes other rules as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import lax
from .core import pytree
from .core.face import show_public_names
from .core.interpreter import api_boundary
from .numpy import boxes  # noqa: F401  traced values behave like arrays
from .transforms.custom.rules import custom

__all__ = ["custom_vmap", "sequential_vmap"]


class custom_vmap(custom[Any, Any]):
    """A function with a rule for `vmap`.

    Args:
        fun: a function of pytrees of arrays.

    `def_vmap(rule)`: rule(axis_size, in_batched, *args) → (result, whether it is batched), where the arguments with
    `in_batched` true (pytrees of booleans) have a leading batch axis, and what is batched has one as well. It need not
    agree with `fun`. Derivatives are those of `fun`; around a `custom_jvp` or `custom_vjp` function its methods are at
    hand.

    Raises:
        CustomRuleError: what the rule returned does not fit.

    >>> @fx.custom_batching.custom_vmap
    ... def f(x):
    ...     return x + 1
    >>> @f.def_vmap
    ... def f_vmap(axis_size, in_batched, x):
    ...     return x + 10, True
    >>> float(f(1.0)), fx.vmap(f)(np.zeros(2))
    (2.0, array([10., 10.]))
    """

    @api_boundary
    def __init__(self, fun: Callable[..., Any]):
        super().__init__(fun, check=False)

    def def_vmap(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Define the rule; usable as a decorator."""
        return self.vmap(rule)

    def __getattr__(self, name: str) -> Any:
        """Methods of the function, `defjvp` for instance."""
        if name == "fun":  # which a copy does not have at first
            raise AttributeError(name)
        return getattr(self.fun, name)


def sequential_vmap(f: Callable[..., Any]) -> custom_vmap:
    """A function that `vmap` applies to one entry after another, with the memory of one call.

    >>> fx.vmap(fx.custom_batching.sequential_vmap(lambda x: x * x))(np.arange(3.0))
    array([0., 1., 4.])
    """
    mapped = custom_vmap(f)

    @mapped.def_vmap
    def map_in_turn(axis_size: int, in_batched: list[Any], *args: Any) -> tuple[Any, Any]:
        leaves, structure = pytree.flatten(args)
        flags = pytree.flatten_prefix(tuple(in_batched), args, "sequential_vmap")
        rows = [x for x, flag in zip(leaves, flags) if flag]

        def call(entries: list[Any]) -> Any:
            given = iter(entries)
            filled = [next(given) if flag else x for x, flag in zip(leaves, flags)]
            return f(*pytree.unflatten(structure, filled))

        result = lax.map(call, rows)
        return result, pytree.map(lambda y: True, result)

    return mapped


show_public_names(__name__)
