"""Generated source of the functions that users call. They have the parameters of the declared function, and contain the
fast path without a further call. The source is written and compiled at the first call.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
from types import FunctionType
from typing import Any

import numpy as np

from ...extend import SCALARS, source_info
from .._core.dtypes import cast_number, result_numpy_dtype
from .._core.error_messages import REWORDED_ERRORS, not_a_tensor_error, reword_error
from .._core.inplace import apply_inplace
from .._core.overriding import NOT_OVERRIDDEN, ORDINARY_CLASSES, call_override, find_overriders
from .._core.tensor import TENSOR_CLASSES, Tensor
from ..errors import ArgumentError, argument_error
from .entrance import (
    NUMPY_NAMES,
    SEQUENCES,
    UNSET,
    are_ordinary,
    current,
    is_written_in_python,
    leave_torch,
    missing_error,
    public_place,
    take_renamed,
    with_late_defaults,
)
from .fast_path import format_fast_path, format_inplace_path, format_path
from .generated import define_late, indent_text
from .late_text import complete_late
from .signatures import OUT, LateSignature, Parameters

# Where operands of another class may say what is done: see `_core.overriding`.
ORDINARY_TEXT = "{} and (context.modes is None or not context.modes.overriding)"
ASK_TEXT = """\
if not ({0}):
    found = {1}
    if found is not NOT_OVERRIDDEN:
        return found
"""
OPERATOR = Signature([Parameter(name, Parameter.POSITIONAL_ONLY) for name in ("self", "other")])


def format_parameters(op, namespace: dict[str, Any], out: bool = False) -> tuple[list[str], str]:
    """Return the parameters of an entry point as text, NumPy's names beside torch's, and the text of the (operands,
    params) made of them. Defaults go into the namespace: UNSET for those that may be given under another name."""
    positional: list[str] = []
    keywords: list[str] = []
    call: list[str] = []
    star, is_late = "*more" if op.mixed else "*", False
    for p in op.parameters:
        if p.kind is p.VAR_POSITIONAL:
            star = f"*{p.name}"
            call.append(star)
            continue
        is_late = is_late or p.name in NUMPY_NAMES.values()
        is_required = p.default is p.empty
        if is_late or not is_required:
            namespace[f"default_{p.name}"] = UNSET if is_required else p.default
        kind = keywords if p.kind is p.KEYWORD_ONLY else positional
        kind.append(f"{p.name}=default_{p.name}" if is_late or not is_required else p.name)
        call.append(p.name if kind is positional else f"{p.name}={p.name}")
    keywords += ["out=None"] * out
    keywords += [f"{other}=UNSET" for other, name in NUMPY_NAMES.items() if f"default_{name}" in namespace]
    signature = positional + [star] * bool(keywords or star != "*") + keywords
    if op.arguments is not None:
        namespace["arguments"] = op.arguments
        return signature, f"*arguments({', '.join(call)})"
    operands = "".join(f"{name}, " for name in op.names)
    statics = ", ".join(f"{p.name!r}: {p.name}" for p in op.parameters if p.name not in op.names)
    return signature, f"({operands}), {{{statics}}}"


def format_preparation(op, namespace: dict[str, Any]) -> str:
    """Return the statements that give parameters the values that were given under NumPy's names, as Tensors, or among
    the operands."""
    text = ""
    for other, name in NUMPY_NAMES.items():
        if f"default_{name}" in namespace:
            text += f"if {other} is not UNSET:\n"
            text += f"    {name} = take_renamed(op.name, {name!r}, {name}, default_{name}, {other})\n"
    required = [p.name for p in op.parameters if namespace.get(f"default_{p.name}") is UNSET]
    if required:
        text += f"if {' or '.join(f'{name} is UNSET' for name in required)}:\n"
        text += f"    raise missing_error(op.name, {', '.join(f'{name}={name}' for name in required)})\n"
    for p in op.parameters if op.arguments is None else ():
        if p.name not in op.names and type(p.default) in (int, float):
            text += f"if {p.name} is not default_{p.name} and type({p.name}) in TENSOR_CLASSES:\n"
            text += f"    {p.name} = take_number(op, {p.name!r}, {p.name})\n"
    for name in [n for n in op.in_range.split() if n in op.names]:
        text += f"if type({name}) in NUMBERS and not -GREATEST <= {name} <= GREATEST:\n"
        text += f"    check_range({name}, ({', '.join(op.names)},))\n"
    if op.mixed:
        operands, keywords = ("".join(f"{name}, " for name in names) for names in (op.names, op.defaults))
        text += f"if more:\n    {operands}{keywords}= separate_numbers(op, ({operands}*more), ({keywords}))\n"
    return text


def check_range(number, operands: Sequence[Any]) -> None:
    """Raise unless the dtype of the result of operands can hold a number."""
    cast_number(number, result_numpy_dtype([x._fx_value if isinstance(x, Tensor) else x for x in operands]))


def format_refusals(op) -> str:
    """Return the statements that refuse numbers which stand for operands: see `Declaration.numbers`."""
    given = [(i + 1, p.name) for i, p in enumerate(op.parameters) if p.name in op.tensors.split()]
    refused = [([name], place) for place, name in given if not op.takes_number(name)]
    if given and not refused and op.numbers != "any":
        refused.append(([name for _, name in given], 1))
    text = ""
    for names, place in refused:
        text += f"if {' and '.join(f'type({name}) in SCALARS' for name in names)}:\n"
        text += f"    raise not_a_tensor_error(op.name, {names[0]!r}, {place}, {names[0]})\n"
    return text


def format_first(op, namespace: dict[str, Any], out: bool) -> str:
    """Return the statements that try a function of all parameters first."""
    if op.first is None:
        return ""
    namespace["first"] = op.first
    given = ", ".join([f"{p.name}={p.name}" if p.kind is p.KEYWORD_ONLY else p.name for p in op.parameters])
    text = f"result = first({given})\nif result is not None:\n    return result\n"
    return f"if out is None:\n{indent_text(text, 4)}" if out else text


def format_override(op, out: bool, namespace: dict[str, Any]) -> str:
    """Return the statements that ask operands whether they override the operation: see `_core.overriding`. Other
    arguments are asked where it has failed: the condition and the call become `late` in the namespace."""
    args: list[str] = []
    kwargs: list[str] = []
    ordinary = ["type(out) in ORDINARY_CLASSES"] * out
    others: list[str] = []
    for p in op.parameters:
        star = "*" if p.kind is p.VAR_POSITIONAL else ""
        if star or (p.default is p.empty and p.kind is not p.KEYWORD_ONLY):
            args.append(f"{star}{p.name}")
        else:
            kwargs.append(f"{p.name!r}: {p.name}")
        if star or f"*{p.name}" in op.tensors.split():
            ordinary.append(f"type({p.name}) in SEQUENCES and only_ordinary(map(type, {p.name}))")
        elif p.name in op.names:
            ordinary.append(f"type({p.name}) in ORDINARY_CLASSES")
        elif op.arguments is not None:
            ordinary.append(f"(type({p.name}) in ORDINARY_CLASSES or are_ordinary({p.name}))")
        else:
            others.append(p.name)
    kwargs += ["'out': out"] * out
    ask = f"call_override(made, ({''.join(f'{x}, ' for x in args)}), {{{', '.join(kwargs)}}})"
    is_ordinary = ORDINARY_TEXT.format(" and ".join(ordinary))
    if others:
        namespace["late"] = f"{is_ordinary} and find_overriders(({', '.join(others)},))", ask
    return ASK_TEXT.format(is_ordinary, ask)


def call_declared_override(made: FunctionType, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call what operands have in the place of a declared operation, with the keywords that were given, and the operands
    of einsum one by one."""
    if made.__name__ == "einsum" and len(args) == 2 and isinstance(args[1], list | tuple):
        args = (args[0], *args[1])
    if is_written_in_python(made):
        kwargs = {n: x for n, x in kwargs.items() if x is not UNSET}
    elif kwargs:
        defaults = {"out": None} | {p.name: p.default for p in made.operation.parameters}  # type: ignore[attr-defined]
        kwargs = {n: x for n, x in kwargs.items() if x is not defaults[n] and x is not UNSET}
    return call_override(made, args, kwargs)


def wanted_number(op, name: str) -> str:
    """Return torch's word for what a parameter is, of which a number may be given: "Tensor" where that is declared."""
    declared = next((str(p.annotation) for p in op.parameters if p.name == name), "")
    return "int" if declared == "int" else "Tensor" if "Tensor" in declared else "Number"


def take_number(op, name: str, given: Tensor) -> Any:
    """Return the entry of a Tensor that stands for a number: for an integer where that is declared."""
    wanted = wanted_number(op, name)
    is_whole = not (given.is_floating_point() or given.is_complex() or given.dtype.name == "bool")
    fits = is_whole and given.numel() == 1 if wanted == "int" else not given.shape
    if given.requires_grad or not fits:
        raise ArgumentError(
            f"{op.name}(): argument '{name}' must be {wanted}, not Tensor",
            hint="a Tensor of one such number that does not require a gradient would do",
        )
    return given.item()


# What fits a parameter of a declared kind. Whether a dtype has a complex number is for the operation to say.
OF_NUMBERS = (int, float, complex, np.number)
FITTING: dict[str, Any] = {"int": (int, np.integer), "bool": bool, "float": OF_NUMBERS, "str": str}
OF_PYTHON = (bool, int, float, complex, str, list, tuple, type(None), np.generic)


def check_params(op, params: dict[str, Any]) -> None:
    """Raise for static parameters of another kind than is declared. Tensors may stand for numbers."""
    for name, word in op.words.items():
        x = params[name]
        fits = isinstance(x, FITTING[word]) and not (word == "int" and isinstance(x, bool))
        is_tensor = isinstance(x, Tensor) and word in ("bool", "str")
        if not fits and x is not op.defaults.get(name) and (is_tensor or isinstance(x, OF_PYTHON)):
            raise argument_error(op.name, name, None, word, x)


def separate_numbers(op, given: Sequence[Any], keywords: Sequence[Any]) -> tuple[Any, ...]:
    """Return (operands…, keywords…) of a call with numbers among its operands, as torch once had them: add(x, alpha,
    y), addmm(beta, x, alpha, a, b), x.addmm(beta, alpha, a, b)."""
    excess = len(given) - len(op.names)
    first = len(keywords) == 1 or type(given[0]) not in SCALARS
    places = [first, 2][:excess]
    numbers = [
        x.item() if isinstance(x, Tensor) and not x.shape else x for x in map(given.__getitem__, places)
    ]
    operands = [x for i, x in enumerate(given) if i not in places]
    names = list(op.defaults)[:excess]
    unset = all([x is op.defaults[name] for name, x in zip(names, keywords)])
    if excess > len(keywords) or not unset or not all([type(x) in SCALARS for x in numbers]):
        count = len(op.names)
        raise ArgumentError(
            f"{op.name}() takes {count} positional arguments but {len(given)} were given",
            hint=f"{op.name}({', '.join(op.names)}, …)",
        )
    signature = ", ".join([*op.names, "*", *(f"{name}={x!r}" for name, x in zip(names, numbers))])
    warnings.warn(
        f"This overload of {op.name} is deprecated:\nConsider using the following signature instead:\n"
        f"\t{op.name}({signature})",
        UserWarning,
        stacklevel=source_info.user_stacklevel(),
    )
    return (*operands, *numbers, *keywords[len(numbers) :])


def make_user_function(op, spaces: str, out: bool) -> Callable[..., Any]:
    """Make the function on Tensors, with the parameters of the declared function or of its hook `arguments`, and `out`
    if that is asked for."""

    def write(namespace: dict[str, Any]) -> tuple[list[str], str]:
        signature, call = format_parameters(op, namespace, out)
        given = [p.name for p in op.parameters if p.name in op.names]
        body = (
            format_preparation(op, namespace)
            + format_first(op, namespace, out)
            + format_fast_path(op, namespace, out)
            + format_override(op, out, namespace)
        )
        body += format_refusals(op)
        body += f"return op({call}{', out' if out else ''})\n"
        return signature, reword_errors(body, given)

    made = make_entry_point(op, op.name, spaces, parameters_of(op, out), write, EntrySignature(op, out))
    made.__doc__ = op.function.__doc__
    complete_late(made)
    return made


def without_out(function, space: str) -> Callable[..., Any]:
    """Make the function of the same operation that does not take `out`, as torch has it in another namespace."""
    return make_user_function(function.operation, space, False)


def inplace_method(function) -> Callable[..., Any]:
    """The method `name_` of the function of an operation: its result is written into the first operand."""
    op = function.operation

    def write(namespace: dict[str, Any]) -> tuple[list[str], str]:
        signature, call = format_parameters(op, namespace)
        body = format_preparation(op, namespace)
        path = format_inplace_path(op, op.names, namespace)
        body += reword_errors(path, op.names) if path else ""
        body += format_override(op, False, namespace) + format_refusals(op)
        return signature, f"{body}return apply_inplace(op, {call})\n"

    parameters = parameters_of(op, False)
    made = make_entry_point(op, op.name + "_", "method", parameters, write, EntrySignature(op, False))
    made.in_place_of = function  # type: ignore[attr-defined]
    complete_late(made)
    return made


def make_operator(
    op,
    name: str,
    function: Callable[..., Any],
    operands: tuple[type, ...],
    swapped: bool = False,
    own: bool = False,
    **options,
) -> Callable[..., Any]:
    """Make an operator of Python's expressions: `function` on the same operands, or on them in the other order; those
    that are not of the given types are left to their own operators. Classes that override functions are asked about
    `function` or, if it is their `own`, the operator. `options` are those of `format_path`."""

    def write(namespace: dict[str, Any]) -> tuple[list[str], str]:
        namespace |= {"function": function, "operands": operands}
        namespace["asked"] = getattr(function, "exposed", function)
        body, given = "", "other, self" if swapped else "self, other"
        call = f"function({given})"
        if name.startswith("__i"):
            body = format_inplace_path(op, ["self", "other"], namespace, operator=True)
        elif op.primitive is not None:
            body = format_path(op, ["self", "other"], namespace, swapped=swapped, **options)
        if function.__name__ == op.name and op.arguments is None:  # what it would call
            namespace |= {f"default_{p}": default for p, default in op.defaults.items()}
            call = f"op(({given}), {{{', '.join(f'{p!r}: default_{p}' for p in op.defaults)}}})"
        body = reword_errors(body, ["self", "other"]) if body else ""
        ask = f"call_override({'made' if own else 'asked'}, (self, other), {{}})"
        ordinary = ORDINARY_TEXT.format("type(self) in ORDINARY_CLASSES and type(other) in ORDINARY_CLASSES")
        body += ASK_TEXT.format(ordinary, ask)
        body += "if not isinstance(other, operands):\n    return NotImplemented\n"
        return ["self", "other"], f"{body}return {call}\n"

    return make_entry_point(op, name, "method", Parameters(("self", "other")), write, OPERATOR)


def reword_errors(body: str, given: Sequence[str]) -> str:
    """Have the errors that statements raise reworded; `given` are the names of the operands."""
    text = f"try:\n{indent_text(body, 4)}except REWORDED_ERRORS as error:\n"
    return text + f"    raise reword_error(op.name, ({' '.join(n + ',' for n in given)}), error) from None\n"


class EntrySignature(LateSignature):
    """The signature of an operation's function. It has torch's names alone."""

    __slots__ = ("op", "out")

    def __init__(self, op, out: bool):
        self.op, self.out = op, out

    def list_parameters(self) -> list[Parameter]:
        shown = [Parameter(p.name, p.kind, default=p.default) for p in self.op.parameters]
        return shown + [OUT] * self.out


def make_entry_point(
    op,
    name: str,
    spaces: str,
    parameters: Parameters,
    write: Callable[[dict[str, Any]], tuple[list[str], str]],
    signature: Signature,
) -> Callable[..., Any]:
    """Make a function that is an entry point of the library: see `interpreter.api_boundary`, which would cost a call.
    `write(namespace)` returns its parameters and its statements when it is called for the first time."""

    def write_whole(made: FunctionType) -> str:
        namespace = made.__globals__
        namespace |= COMMON | {"op": op}
        signature, body = write(namespace)
        text = f"def made({', '.join(signature)}):\n    context = current()\n    try:\n{indent_text(body, 8)}"
        text += "    except BaseException as error:\n        leave(error, context)\n"
        if "late" not in namespace:
            return text + "        raise\n"
        condition, ask = namespace.pop("late")
        text += f"        if not (isinstance(error, Exception) and {condition}):\n            raise\n"
        return text + f"    return {ask}\n"

    made = define_late(name, public_place(spaces.split(), name), parameters, {}, write_whole)
    made.operation = op  # type: ignore[attr-defined]
    made.__signature__ = signature  # type: ignore[attr-defined]
    return made


def parameters_of(op, out: bool) -> Parameters:
    """The parameters of the function of an operation before its first call."""
    own = with_late_defaults(Parameters.of(op.arguments or op.function))
    more = ("out",) * out
    return own._replace(
        keywords=own.keywords + more, keyword_defaults=(own.keyword_defaults or {}) | dict.fromkeys(more)
    )


def is_entry_point(function) -> bool:
    """Whether a function was made by `make_entry_point`."""
    return hasattr(function, "operation") and function.__code__.co_filename.startswith("<fxgrad")


# What the text of every entry point refers to.
COMMON: dict[str, Any] = {
    "GREATEST": 65504,  # of the numbers that every floating dtype can hold
    "NOT_OVERRIDDEN": NOT_OVERRIDDEN,
    "NUMBERS": (float, int),
    "ORDINARY_CLASSES": ORDINARY_CLASSES,
    "REWORDED_ERRORS": REWORDED_ERRORS,
    "SCALARS": SCALARS,
    "SEQUENCES": SEQUENCES,
    "TENSOR_CLASSES": TENSOR_CLASSES,
    "UNSET": UNSET,
    "apply_inplace": apply_inplace,
    "are_ordinary": are_ordinary,
    "only_ordinary": ORDINARY_CLASSES.issuperset,
    "call_override": call_declared_override,
    "check_range": check_range,
    "current": current,
    "find_overriders": find_overriders,
    "leave": leave_torch,
    "missing_error": missing_error,
    "not_a_tensor_error": not_a_tensor_error,
    "reword_error": reword_error,
    "separate_numbers": separate_numbers,
    "take_number": take_number,
    "take_renamed": take_renamed,
}
