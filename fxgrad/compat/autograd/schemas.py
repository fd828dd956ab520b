"""Schemas: the signatures of user-defined operations, as in `(Tensor x, int n=2, *, float? k=None) -> Tensor`."""

from __future__ import annotations

import inspect
import re
import types
import typing
from ast import literal_eval
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from .._core.dtypes import dtype
from .._core.error_messages import tensor_hint
from .._core.tensor import Tensor
from .._make.devices import device
from ..errors import ArgumentValueError, TensorError

NAMES: dict[Any, str] = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    complex: "complex",
    dtype: "ScalarType",
    device: "Device",
}
SCHEMA = re.compile(r"\s*(?P<name>[\w:.]*)\s*\((?P<arguments>.*)\)\s*->\s*(?P<returns>.+?)\s*$", re.DOTALL)
ARGUMENT = re.compile(r"(?P<type>\S+)\s+(?P<name>\w+)\s*(?:=\s*(?P<default>.+))?$")
BETWEEN_ARGUMENTS = re.compile(r",(?![^\[(]*[\])])")


class Schema(NamedTuple):
    """The signature of an operation: the parameters and results; types are texts such as `Tensor`, `Tensor?`,
    `int[]`."""

    name: str
    signature: inspect.Signature
    text: str

    @property
    def returns_nothing(self) -> bool:
        """Whether the operation has no result."""
        return self.signature.return_annotation == "()"

    @property
    def returns_list(self) -> bool:
        """Whether the result is a list of Tensors."""
        return self.signature.return_annotation.endswith("[]")

    def bind(self, operation: str, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """Return the arguments of a call, positional and by keyword, with the defaults.

        Raises:
            TensorError, a RuntimeError: they are not what the operation takes.
        """
        declaration = f"{operation}{self.text}"
        for name in kwargs:
            if name not in self.signature.parameters:
                raise TensorError(
                    f"Unknown keyword argument '{name}' for operator '{operation}'. Schema: {declaration}",
                    hint=f"one of {', '.join(self.signature.parameters)}",
                )
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TensorError(
                f"{operation}() {error}. Declaration: {declaration}",
                hint=f"arguments for {', '.join(self.signature.parameters)}",
            ) from None
        bound.apply_defaults()
        for position, (name, value) in enumerate(bound.arguments.items()):
            kind = self.signature.parameters[name].annotation
            if (
                kind.partition("(")[0] == "Tensor"
                and not kind.endswith("?")
                and not isinstance(value, Tensor)
            ):
                raise TensorError(
                    f"{operation}() Expected a value of type 'Tensor' for argument '{name}' but instead found type "
                    f"'{type(value).__name__}'.\nPosition: {position}\nValue: {value!r}\nDeclaration: {declaration}",
                    hint=tensor_hint(value),
                )
        return bound.args, bound.kwargs


def read_schema(text: str) -> Schema:
    """Read a schema as torch writes them.

    >>> from fxgrad.compat.autograd.schemas import read_schema
    >>> read_schema("twice(Tensor x, int n=2) -> Tensor").signature.parameters["n"].default
    2

    Raises:
        TensorError, a RuntimeError: it is none.
    """
    match = SCHEMA.match(text)
    if match is None:
        raise TensorError(
            f"expected a schema such as '(Tensor x, int n=2) -> Tensor' but found {text!r}",
            hint='"(Tensor x, float scale=1.0) -> Tensor": types before names',
        )
    kind, parameters = inspect.Parameter.POSITIONAL_OR_KEYWORD, []
    for part in filter(None, (p.strip() for p in BETWEEN_ARGUMENTS.split(match["arguments"]))):
        argument = ARGUMENT.match(part)
        if part == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
        elif argument is None:
            raise TensorError(
                f"expected 'type name' or 'type name=default' but found {part!r} in {text!r}",
                hint=f'"Tensor {part}"' if part.isidentifier() else '"Tensor x", "int n=2", "*"',
            )
        else:
            written = argument["default"]
            default = inspect.Parameter.empty if written is None else read_default(written)
            parameters.append(
                inspect.Parameter(argument["name"], kind, default=default, annotation=argument["type"])
            )
    signature = inspect.Signature(parameters, return_annotation=match["returns"])
    return Schema(match["name"], signature, f"({match['arguments']}) -> {match['returns']}")


def read_default(text: str) -> Any:
    """Read the default of an argument; names that are not Python constants (`contiguous_format`) stay text."""
    try:
        return literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
    tags: Sequence[object] = (),
) -> str:
    """Write the schema of a function from its annotations.

    Args:
        prototype_function: it has an annotation for each parameter: Tensor, int, float, bool, str, a dtype, lists and
            Optional of them.
        mutates_args: the names of the parameters that it modifies, or "unknown".
        op_name: a name that is to stand before the parentheses.
        tags: accepted, without meaning here.

    >>> def scale(x: torch.Tensor, factor: float = 2.0) -> torch.Tensor: ...
    >>> torch.library.infer_schema(scale, mutates_args=())
    '(Tensor x, float factor=2.0) -> Tensor'

    Raises:
        ArgumentValueError, a ValueError: an annotation is missing or cannot be written in a schema.
    """
    signature = inspect.signature(prototype_function, eval_str=True)

    def refuse(reason: str) -> ArgumentValueError:
        return ArgumentValueError(f"infer_schema(func): {reason} Got func with signature {signature})")

    parts, keyword_only = [], False
    for name, parameter in signature.parameters.items():
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            raise refuse("We do not support *args or **kwargs in a schema.")
        if parameter.annotation is inspect.Parameter.empty:
            raise refuse(f"Parameter {name} must have a type annotation.")
        kind = name_type(parameter.annotation)
        if kind is None:
            raise refuse(f"Parameter {name} has unsupported type {parameter.annotation}.")
        if kind.startswith("Tensor") and (mutates_args == "unknown" or name in mutates_args):
            kind = f"Tensor(a{len(parts)}!){kind.removeprefix('Tensor')}"
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            parts.append("*")
        parts.append(f"{kind} {name}{write_default(parameter.default)}")
    if signature.return_annotation is inspect.Signature.empty:
        raise refuse("No return type annotation was provided. Please add one.")
    returned = name_returned(signature.return_annotation)
    if returned is None:
        raise refuse(f"Return has unsupported type {signature.return_annotation}.")
    return f"{op_name or ''}({', '.join(parts)}) -> {returned}"


def write_default(value: Any) -> str:
    """Write the default of an argument in the form of schemas."""
    if value is inspect.Parameter.empty:
        return ""
    if isinstance(value, (str, device)):
        return f'="{value}"'
    return f"={str(value).removeprefix('torch.')}"


def name_type(annotation: Any) -> str | None:
    """The name that a type has in schemas: None if it has none."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        inner = [name_type(a) for a in arguments if a is not type(None)]
        if {*inner} == {"SymInt", "float", "bool"}:
            return "Scalar"
        return f"{inner[0]}?" if len(inner) == 1 < len(arguments) and inner[0] is not None else None
    if origin in (list, Sequence) and len(arguments) == 1:
        inner = name_type(arguments[0])
        return None if inner is None else f"{inner}[]"
    return NAMES.get(annotation) if isinstance(annotation, type) else None


def name_returned(annotation: Any) -> str | None:
    """The name of a type in schemas, as that of a result: None if it has none."""
    if annotation is None or annotation is type(None):
        return "()"
    if typing.get_origin(annotation) is tuple:
        inner = [name_type(a) for a in typing.get_args(annotation)]
        return None if None in inner else f"({', '.join(n for n in inner if n is not None)})"
    return name_type(annotation)
