"""`jax.interpreters.mlir`: what programs register for JAX's compiler is a function of arrays here, which is compiled as
any other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..primitives import LOWERINGS, Primitive

__all__ = ["LoweredFunction", "lower_fun", "register_lowering"]


class LoweredFunction:
    """A function of arrays, as a rule for JAX's compiler."""

    def __init__(self, fun: Callable[..., Any]):
        self.fun = fun


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> LoweredFunction:
    """Return a function of arrays as a rule for the compiler."""
    return LoweredFunction(fun)


def register_lowering(prim: Primitive, rule: Any, platform: str | None = None, **options: Any) -> Any:
    """Register a rule for the compiler: one by `lower_fun` is taken, unless it is for a GPU or TPU alone. Others emit
    MLIR, and are left aside: the primitive is computed by its `impl`."""
    if isinstance(rule, LoweredFunction) and platform in (None, "cpu"):
        LOWERINGS[prim] = rule.fun
    return rule
