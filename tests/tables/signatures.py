"""The parameters of torch's functions and classes as torch itself tells them, in signatures.txt: a line for each, with
its overloads, and with its module and name where these are not those of the path.

    torch.nn.functional.gelu(input, *, approximate='none') = torch._C._nn.gelu
    torch.softmax(input, dim, dtype=None, *, out=None) | (input, dim, *, dtype=None)

The parameters come from:

- `inspect.signature`, for functions and classes of Python
- the stubs beside `torch._C`, which torch's build writes from the declarations of its operations, for the built-in
  functions of `torch` and the methods of Tensor
- the schemas of operations, for other built-in functions (linalg, fft, special, nn.functional)

A built-in function of which none of these tells the parameters is not listed.
"""

from __future__ import annotations

import ast
import inspect
import warnings
from collections import defaultdict
from collections.abc import Iterator
from enum import EnumType
from functools import cache
from importlib import import_module
from inspect import Parameter
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("signatures.txt")
MODULES = """
    torch torch.accelerator torch.amp torch.cuda torch.distributed torch.fft torch.func torch.futures torch.hub
    torch.library torch.linalg torch.overrides torch.profiler torch.random torch.serialization torch.signal.windows
    torch.sparse torch.special torch.testing

    torch.autograd torch.autograd.anomaly_mode torch.autograd.forward_ad torch.autograd.function
    torch.autograd.functional torch.autograd.grad_mode torch.autograd.gradcheck torch.autograd.graph
    torch.autograd.profiler

    torch.distributions torch.distributions.constraints torch.distributions.transforms torch.distributions.utils

    torch.nn torch.nn.attention torch.nn.functional torch.nn.init torch.nn.modules.module torch.nn.parameter
    torch.nn.utils torch.nn.utils.fusion torch.nn.utils.parametrizations torch.nn.utils.parametrize
    torch.nn.utils.prune torch.nn.utils.rnn torch.nn.utils.stateless

    torch.optim torch.optim.lr_scheduler torch.optim.optimizer torch.optim.swa_utils

    torch.utils torch.utils.checkpoint torch.utils.data torch.utils.data.distributed torch.utils.deterministic
    torch.utils.dlpack torch.utils.flop_counter torch.utils.hooks torch.utils.module_tracker
"""
OUT = Parameter("out", Parameter.KEYWORD_ONLY, default=None)
Signature = list[Parameter]


# -- torch's ---------------------------------------------------------------------------------------------------------
def ask_for_signatures() -> None:
    """Ask torch for the parameters of all that is public, and keep the answers."""
    FILE.write_text(compose_table(), encoding="utf-8")
    kept_signatures.cache_clear()


def compose_table() -> str:
    """Compose the table from the torch that is installed."""
    lines = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of what is deprecated when it is looked at
        found = dict(public_callables())
    for path, value in sorted(found.items()):
        overloads = list(dict.fromkeys(map(format_signature, signatures_of(path, value))))
        if overloads:
            lines.append(f"{path}{' | '.join(overloads)}{tell_place(path, value)}\n")
    return "".join(lines)


def public_callables() -> Iterator[tuple[str, Any]]:
    """The public functions and classes of torch, and the methods of Tensor, by path."""
    for name in MODULES.split():
        module = import_module(name)
        declared = getattr(module, "__all__", None)
        for part in declared or dir(module):
            value = getattr(module, part, None)
            inside = (
                "torch." if declared else f"{name}."
            )  # what a module that declares nothing imports is not its own
            is_own = inspect.isbuiltin(value) or f"{getattr(value, '__module__', '')}.".startswith(inside)
            if is_own and callable(value) and hasattr(value, "__name__") and not part.startswith("_"):
                yield f"{name}.{part}", value
    tensor = import_module("torch").Tensor
    for part in dir(tensor):
        value = inspect.getattr_static(tensor, part)
        if callable(value) and not part.startswith("_"):
            yield f"torch.Tensor.{part}", value


def tell_place(path: str, value: Any) -> str:
    """Tell the module and name of a value that are not those of its path."""
    place = f"{getattr(value, '__module__', None) or 'torch'}.{value.__name__}"
    return "" if place == path or is_method(path) else f" = {place}"


def is_method(path: str) -> bool:
    """Whether a path is that of a method of Tensor."""
    return path.startswith("torch.Tensor.")


def signatures_of(path: str, value: Any) -> list[Signature]:
    """The parameters of a function or class, without `self`, once for each overload."""
    if isinstance(value, EnumType):
        return []  # its parameters are Python's, of whatever version
    try:
        parameters = list(inspect.signature(value).parameters.values())
        return [parameters[1:] if is_method(path) else parameters]
    except (TypeError, ValueError):
        if isinstance(value, type):
            return []
    name = value.__name__
    if is_method(path):  # their stubs have `out`, which no method takes
        return [[p for p in found[1:] if p.name != "out"] for found in stubs("__init__")[name]]
    if value.__module__ in (None, "torch"):  #
        current = [
            found for found in stubs("_VariableFunctions")[name] if all(p.name != "self" for p in found)
        ]
        current = [
            found for found in current if all(p.name != "names" for p in found)
        ]  # of dimensions, which are gone
        if current:
            return merge_out(current)
    return merge_out([signature_of(schema) for schema in schemas(name)])


@cache
def stubs(file: str) -> dict[str, list[Signature]]:
    """The signatures in a stub beside `torch._C`: of functions, or of the methods of TensorBase in `__init__`."""
    path = Path(import_module("torch").__file__).parent / "_C" / f"{file}.pyi"
    body = ast.parse(path.read_text(encoding="utf-8")).body
    if file == "__init__":
        body = next(
            node.body for node in body if isinstance(node, ast.ClassDef) and node.name == "TensorBase"
        )
    found = defaultdict(list)
    for node in body:
        if isinstance(node, ast.FunctionDef):
            found[node.name].append(read_signature(node.args))
    return found


def schemas(name: str) -> list[Any]:
    """The schemas of an operation."""
    return import_module("torch")._C._jit_get_schemas_for_operator(f"aten::{name}")


def signature_of(schema: Any) -> Signature:
    """The parameters of the Python function of an operation: the first is `input`, and all that is written into is
    one `out`."""
    found = [
        Parameter(
            "input" if argument.name == "self" else argument.name,
            Parameter.KEYWORD_ONLY if argument.kwarg_only else Parameter.POSITIONAL_OR_KEYWORD,
            default=argument.default_value if argument.has_default_value() else Parameter.empty,
        )
        for argument in schema.arguments
        if not argument.is_out
    ]
    return found + [OUT] * any(argument.is_out for argument in schema.arguments)


def merge_out(signatures: list[Signature]) -> list[Signature]:
    """One signature for the overloads that differ in `out` alone."""
    found: dict[str, Signature] = {}
    for signature in signatures:
        plain = [p for p in signature if p.name != "out"]
        key = format_signature(plain)
        if len(plain) < len(signature):
            found[key] = [*plain, OUT]
        else:
            found.setdefault(key, plain)
    return list(found.values())


# -- the table ---------------------------------------------------------------------------------------------------------
@cache
def kept_signatures() -> dict[str, tuple[list[Signature], str]]:
    """(The overloads, the module and name) of torch's functions and classes by path, as they were when it was asked."""
    found = {}
    for line in FILE.read_text(encoding="utf-8").splitlines():
        text, _, place = line.partition(" = torch")
        path, _, overloads = text.partition("(")
        read = [
            read_signature(ast.parse(f"lambda {part[1:-1]}: 0").body[0].value.args)
            for part in f"({overloads}".split(" | ")
        ]
        found[path] = read, f"torch{place}" if place else path
    return found


def format_signature(signature: Signature) -> str:
    """The text of a signature without annotations."""
    return str(inspect.Signature([p.replace(annotation=p.empty, default=Default.of(p)) for p in signature]))


class Default(str):
    """The text of a default, which is its own repr."""

    __repr__ = str.__str__

    @staticmethod
    def of(parameter: Parameter) -> Any:
        """The text of the default of a parameter: `...` for one that has no text which could be compared."""
        value = parameter.default
        if value is Parameter.empty or isinstance(value, Default):
            return value
        if callable(value) and hasattr(value, "__name__"):
            return Default(value.__name__)
        if isinstance(value, tuple):  # a torch.Size
            value = tuple(value)
        if isinstance(value, list):  # a number for each dimension, which torch's schemas repeat
            value = value[0] if len(value) > 1 and len(set(value)) == 1 else tuple(value)
        text = repr(value).replace("fxgrad.compat", "torch")
        return Default("..." if text.startswith("<") else text)


def read_text(text: str) -> Signature:
    """The signature of a text as `format_signature` writes it."""
    return read_signature(ast.parse(f"lambda {text[1:-1]}: 0", mode="eval").body.args)  # type: ignore[attr-defined]


def read_signature(args: ast.arguments) -> Signature:
    """The signature that stands in source."""
    places = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(places) - len(args.defaults)) + [*args.defaults]
    found = []
    for given, default in zip(places, defaults):
        kind = Parameter.POSITIONAL_ONLY if given in args.posonlyargs else Parameter.POSITIONAL_OR_KEYWORD
        found.append(Parameter(given.arg, kind, default=read_default(default)))
    if args.vararg:
        found.append(Parameter(args.vararg.arg, Parameter.VAR_POSITIONAL))
    for given, default in zip(args.kwonlyargs, args.kw_defaults):
        found.append(Parameter(given.arg, Parameter.KEYWORD_ONLY, default=read_default(default)))
    if args.kwarg:
        found.append(Parameter(args.kwarg.arg, Parameter.VAR_KEYWORD))
    return found


def read_default(node: ast.expr | None) -> Any:
    """The text of a default that stands in source."""
    return Parameter.empty if node is None else Default(ast.unparse(node))
