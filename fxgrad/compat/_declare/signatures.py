"""Signatures of functions, composed when they are read: `inspect.signature` of hundreds of functions takes long."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from inspect import Parameter, Signature
from types import FunctionType
from typing import Any, NamedTuple, get_args

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
    """The signature of a function that calls another; `change` derives its parameters from those of the callee."""

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


class Parameters(NamedTuple):
    """The parameters of a function as its code has them, read in less time than `inspect` takes."""

    positional: tuple[str, ...]
    keywords: tuple[str, ...] = ()
    positional_only: int = 0
    defaults: tuple[Any, ...] = ()
    keyword_defaults: dict[str, Any] | None = None
    more: str = "_fx_more"  # what has these names takes what else is given
    others: str = "_fx_others"

    @classmethod
    def of(cls, function: FunctionType | partial) -> Parameters:
        """The parameters that users see: those of a function with a signature of its own are that one's, and where it
        is a `DerivedSignature` they follow from its callee's."""
        if isinstance(function, partial):
            return cls.of(function.func).changed(lambda given: given[len(function.args) :])  # type: ignore[arg-type]
        code, count = function.__code__, function.__code__.co_argcount
        shown = function.__dict__.get("__signature__")
        if type(shown) is DerivedSignature:
            return cls.of(shown.function).changed(shown.change)
        if type(shown) is Signature:
            return cls.read([*shown.parameters.values()])
        end = count + code.co_kwonlyargcount
        own = cls(
            code.co_varnames[:count],
            code.co_varnames[count:end],
            code.co_posonlyargcount,
            function.__defaults__ or (),
            function.__kwdefaults__,
        )
        variadic = [name for name, flag in VARIADIC if code.co_flags & flag]
        return own._replace(**dict(zip(variadic, code.co_varnames[end:])))  # type: ignore[arg-type]

    @classmethod
    def read(cls, given: list[Parameter]) -> Parameters:
        """The same for parameters of `inspect`."""
        positional = [p for p in given if p.kind in POSITIONAL]
        keywords = [p for p in given if p.kind is Parameter.KEYWORD_ONLY]
        return cls(
            tuple([p.name for p in positional]),
            tuple([p.name for p in keywords]),
            sum([p.kind is Parameter.POSITIONAL_ONLY for p in positional]),
            tuple([p.default for p in positional if p.default is not p.empty]),
            {p.name: p.default for p in keywords if p.default is not p.empty},
        )

    def changed(self, change: Callable[[list[Parameter]], list[Parameter]]) -> Parameters:
        """The parameters derived from these."""
        required, found = len(self.positional) - len(self.defaults), []
        defaults = dict(zip(self.positional[required:], self.defaults)) | (self.keyword_defaults or {})
        for i, name in enumerate((*self.positional, *self.keywords)):
            kind = Parameter.POSITIONAL_ONLY if i < self.positional_only else Parameter.POSITIONAL_OR_KEYWORD
            kind = kind if i < len(self.positional) else Parameter.KEYWORD_ONLY
            found.append(Parameter(name, kind, default=defaults.get(name, Parameter.empty)))
        return self.read(change(found))._replace(more=self.more, others=self.others)


POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
VARIADIC = (("more", inspect.CO_VARARGS), ("others", inspect.CO_VARKEYWORDS))
