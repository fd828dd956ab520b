"""The options of NumPy's ufuncs that functions pass on to NumPy: `out`, `where`, `dtype`."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any, TypeVar

import numpy as np

F = TypeVar("F", bound="Callable[..., Any]")

# Signatures of functions that take operands only, by how many.
OPERANDS = [Signature([Parameter(name, Parameter.POSITIONAL_ONLY) for name in "xy"[:n]]) for n in range(3)]


def call_ufunc(name: str, operands: tuple[Any, ...], out: Any, where: Any, dtype: Any) -> Any:
    """Call NumPy's ufunc with options: of traced values it hands itself back."""
    ufunc = getattr(np, name, None)
    if not isinstance(ufunc, np.ufunc):
        option = "out" if out is not None else "where" if where is not True else "dtype"
        raise TypeError(f"{name}() got an unexpected keyword argument {option!r}")
    options = {"where": where, "dtype": dtype} | ({} if out is None else {"out": out})
    return ufunc(*operands, **options)


def of_operands(*names: str) -> Callable[[F], F]:
    """Decorate a function of operands, so that its signature has these; its options are those of NumPy's ufunc."""

    def declare(function: F) -> F:
        operands = [Parameter(name, Parameter.POSITIONAL_ONLY) for name in names]
        vars(function)["__signature__"] = Signature(operands)
        return function

    return declare
