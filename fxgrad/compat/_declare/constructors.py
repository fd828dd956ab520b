"""Constructors generated from the text of their parameters, for classes that are declared in one line."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def make_constructor(parameters: str, start: Callable[[Any, dict[str, Any]], None]) -> Callable[..., None]:
    """Make the `__init__` with these parameters, as in "p=0.5, inplace=False", of which start(self, options) gets the
    values by name."""
    namespace: dict[str, Any] = {}
    exec(f"def function(self, {parameters}): pass", namespace)
    signature = inspect.signature(namespace["function"])

    def __init__(self, *args, **kwargs) -> None:
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}.__init__() {error}") from None
        bound.apply_defaults()
        start(self, {name: value for name, value in bound.arguments.items() if name != "self"})

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


def parameters_of(constructor) -> list[str]:
    """The names of the parameters of a constructor that was made so."""
    return list(constructor.__signature__.parameters)[1:]
