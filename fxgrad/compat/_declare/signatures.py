"""Signatures of functions, composed when they are read: `inspect.signature` of hundreds of functions takes long."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any, get_args

OUT = Parameter("out", Parameter.KEYWORD_ONLY, default=None)


class LateSignature(Signature):
    """A signature whose parameters are composed on demand."""

    __slots__ = ()

    _return_annotation = Parameter.empty

    def list_parameters(self) -> list[Parameter]:
        """List the parameters."""
        raise NotImplementedError

    @property
    def _parameters(self) -> dict[str, Parameter]:
        return {p.name: p for p in self.list_parameters()}


class DerivedSignature(LateSignature):
    """The signature of a function that calls another: `change` makes its parameters of that one's."""

    __slots__ = ("change", "function")

    def __init__(self, function: Callable[..., Any], change: Callable[[list[Parameter]], list[Parameter]]):
        self.function, self.change = function, change

    def list_parameters(self) -> list[Parameter]:
        return self.change(list_parameters(self.function))

    @property
    def _return_annotation(self) -> Any:  # type: ignore[override]
        return inspect.signature(self.function).return_annotation


def list_parameters(function: Callable[..., Any]) -> list[Parameter]:
    """List the parameters of a function. Those of `**options: Unpack[Options]` are the keys of Options: by keyword, and
    None by default, or False of a bool."""
    given = list(inspect.signature(function).parameters.values())
    if not given or given[-1].kind is not Parameter.VAR_KEYWORD or "Unpack" not in str(given[-1].annotation):
        return given
    (options,) = get_args(eval(given.pop().annotation, inspect.unwrap(function).__globals__))  # type: ignore[attr-defined]
    for name, kind in inspect.get_annotations(options).items():
        given.append(Parameter(name, Parameter.KEYWORD_ONLY, default=False if "bool" in str(kind) else None))
    return given
