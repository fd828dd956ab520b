"""Generated source of the functions that users call, so that they have the parameters of the declared function and the
fast path costs no call."""

from __future__ import annotations

import sys
import warnings
from functools import cache, wraps
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import interpreter, source_info
from ...core.aval import SCALARS
from ...core.fp_errors import DEFAULT, ERROR_STATE, IGNORE
from ...core.interpreter import CURRENT, EVAL
from .._core.error_messages import REWORDED_ERRORS, not_a_tensor_error, reword_error
from .._core.errors import ArgumentError
from .._core.inplace import apply_inplace
from .._core.tape import BASE_TAPE, Node, grad_accumulator, next_serial, no_copy
from .._core.tensor import LEAF, TENSOR_CLASSES, Tensor, allocate_tensor
from .observed import run_function

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim"}
UNSET: Any = object()  # the default of what is not given
OUT = Parameter("out", Parameter.KEYWORD_ONLY, default=None)


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
    """Return the statements that give parameters the values that were given under NumPy's names, or among the
    operands."""
    text = ""
    for other, name in NUMPY_NAMES.items():
        if f"default_{name}" in namespace:
            text += f"if {other} is not UNSET:\n"
            text += f"    {name} = take_renamed(op, {name!r}, {name}, default_{name}, {other})\n"
    required = [p.name for p in op.parameters if namespace.get(f"default_{p.name}") is UNSET]
    if required:
        text += f"if {' or '.join(f'{name} is UNSET' for name in required)}:\n"
        text += f"    raise missing_error(op, {', '.join(f'{name}={name}' for name in required)})\n"
    if op.mixed:
        operands, keywords = ("".join(f"{name}, " for name in names) for names in (op.names, op.defaults))
        text += f"if more:\n    {operands}{keywords}= separate_numbers(op, ({operands}*more), ({keywords}))\n"
    return text


def take_renamed(op, name: str, given, default, value) -> Any:
    """Return the value of a parameter that was given under NumPy's name."""
    if given is not default:
        raise TypeError(f"{op.name}() got multiple values for argument {name!r}")
    return value


def missing_error(op, **given) -> TypeError:
    """Return the error for required arguments that are not given, in Python's words."""
    names = [repr(name) for name, value in given.items() if value is UNSET]
    count = len(names)
    if count > 1:
        names[-2:] = [f"{names[-2]}{',' * (count > 2)} and {names[-1]}"]
    plural = "s" * (count > 1)
    return TypeError(f"{op.name}() missing {count} required positional argument{plural}: {', '.join(names)}")


def separate_numbers(op, given: Sequence[Any], keywords: Sequence[Any]) -> tuple[Any, ...]:
    """Return (operands…, keywords…) of a call with numbers among its operands, as torch once had them: add(x, alpha,
    y)."""
    numbers = [x for x in given if type(x) in SCALARS]
    operands = [x for x in given if type(x) not in SCALARS]
    names = list(op.defaults)[: len(numbers)]
    unset = all([x is op.defaults[name] for name, x in zip(names, keywords)])
    if len(operands) != len(op.names) or len(numbers) > len(keywords) or not unset:
        count = len(op.names)
        raise ArgumentError(f"{op.name}() takes {count} positional arguments but {len(given)} were given")
    signature = ", ".join([*op.names, "*", *(f"{name}={x!r}" for name, x in zip(names, numbers))])
    warnings.warn(
        f"This overload of {op.name} is deprecated:\nConsider using the following signature instead:\n"
        f"\t{op.name}({signature})",
        UserWarning,
        stacklevel=3,
    )
    return (*operands, *numbers, *keywords[len(numbers) :])


def make_user_function(op) -> Callable[..., Any]:
    """Make the function on Tensors, with the parameters of the declared function or of its hook `arguments`."""
    namespace: dict[str, Any] = COMMON | {"op": op}
    signature, call = format_parameters(op, namespace, op.out)
    given = [p.name for p in op.parameters if p.name in op.names]
    body = format_preparation(op, namespace) + format_fast_path(op, namespace)
    if given and given[0] == "input" and not op.numbers:
        body += "if type(input) in SCALARS:\n    raise not_a_tensor_error(op.name, 'input', 1, input)\n"
    body += f"return op({call}{', out' if op.out else ''})\n"
    body = f"try:\n{indent_text(body, 4)}except REWORDED_ERRORS as error:\n"
    body += f"    raise reword_error(op.name, ({' '.join(n + ',' for n in given)}), error) from None\n"
    made = make_entry_point(op, op.name, signature, body, namespace)
    made.__doc__, made.__module__ = op.function.__doc__, "fxgrad.compat"
    return made


def inplace_method(op) -> Callable[..., Any]:
    """The method `name_`: the operation with its result written into the first operand."""
    namespace: dict[str, Any] = COMMON | {"op": op}
    signature, call = format_parameters(op, namespace)
    body = f"{format_preparation(op, namespace)}return apply_inplace(op, {call})\n"
    made = make_entry_point(op, op.name + "_", signature, body, namespace)
    made.__doc__ = f"In-place version of `{op.name}`."
    return made


def make_entry_point(
    op, name: str, signature: list[str], body: str, namespace: dict[str, Any]
) -> Callable[..., Any]:
    """Make a function of this text that is an entry point of the library: see `interpreter.api_boundary`, which would
    cost a call."""
    text = f"def made({', '.join(signature)}):\n    context = current()\n    try:\n{indent_text(body, 8)}"
    text += "    except BaseException as error:\n        leave(error, context)\n        raise\n"
    exec(compile_text(text), namespace)
    made = namespace.pop("made")
    made.__name__ = made.__qualname__ = name
    names = {"co_name": name, "co_qualname": name, "co_filename": f"<fxgrad torch.{name}>"}
    made.__code__ = made.__code__.replace(**names)
    made.operation = op
    if "axis=UNSET" in signature:  # which torch does not show
        shown = [Parameter(p.name, p.kind, default=p.default) for p in op.parameters]
        made.__signature__ = Signature(shown + [OUT] * ("out=None" in signature))
    return made


def with_numpy_names(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that it takes NumPy's parameter names as well, as torch's functions do; also an entry point of
    the library (as by `make_entrance`, which would cost a call)."""

    @wraps(function)
    def call_renamed(*args, **kwargs) -> Any:
        context = CURRENT.get()
        try:
            if kwargs:
                kwargs = {NUMPY_NAMES.get(name, name): value for name, value in kwargs.items()}
            if context.observer is not None:
                return run_function(context.observer, function, args, kwargs)
            return function(*args, **kwargs)
        except BaseException as error:
            leave_torch(error, context)
            raise

    return call_renamed


def make_entrance(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function on Tensors an entry point of the library: see `interpreter.api_boundary`."""

    @wraps(function)
    def enter(*args, **kwargs) -> Any:
        context = CURRENT.get()
        try:
            if context.observer is not None:
                return run_function(context.observer, function, args, kwargs)
            return function(*args, **kwargs)
        except BaseException as error:
            interpreter.leave_library(error, context)
            raise

    return enter


def is_entry_point(function) -> bool:
    """Whether a function was made by `make_entry_point`."""
    return function.__code__.co_filename.startswith("<fxgrad")


@cache
def compile_text(text: str) -> Any:
    """Compile text, once for all operations that share it."""
    return compile(text, "<fxgrad torch>", "exec")


def leave_torch(error: BaseException, context) -> None:
    """Do what `interpreter.leave_library` does, and let NumPy warn again."""
    if ERROR_STATE.get() is IGNORE:  # Ctrl-C may come before the `try` that ends with its reset
        ERROR_STATE.set(DEFAULT)
    interpreter.leave_library(error, context)


# What the text of every entry point refers to.
COMMON: dict[str, Any] = {
    "REWORDED_ERRORS": REWORDED_ERRORS,
    "SCALARS": SCALARS,
    "UNSET": UNSET,
    "apply_inplace": apply_inplace,
    "current": CURRENT.get,
    "leave": leave_torch,
    "missing_error": missing_error,
    "not_a_tensor_error": not_a_tensor_error,
    "reword_error": reword_error,
    "separate_numbers": separate_numbers,
    "take_renamed": take_renamed,
}


# On arrays of one floating dtype outside all transforms there is nothing to decide: kernel, rule, node, Tensor.
FIRST_TEXT = """\
if type({0}) in TENSOR_CLASSES and {0}.view_meta is None and context is EVAL{unset}:
    a = {0}.value
    m = {0}.node
    if type(a) is ndarray and a.dtype in FLOATS and (m is None or {0}.tape is BASE_TAPE):
"""
SECOND_TEXT = """\
kind = type({1})
if kind in TENSOR_CLASSES:
    b = {1}.value
    n = {1}.node
    plain = {1}.view_meta is None and type(b) is ndarray and a.dtype is b.dtype
    plain = plain and (n is None or {1}.tape is BASE_TAPE)
    if n is LEAF:
        n = {1}.accumulator or grad_accumulator({1})
elif kind is float or kind is int:
    b = {1}
    n = None
    plain = True
else:
    plain = False
if plain:
"""
COMPUTE_TEXT = """\
silence = set_errors(IGNORE)
try:
    if {unrecorded}:
        y = kernel({values})
    else:
        if m is LEAF:
            m = {0}.accumulator or grad_accumulator({0})
        m = ({edges},)
        y, rule, residuals = vjp(kernel, ({values},), m, NO_PARAMS, no_copy)
finally:
    reset_errors(silence)
"""
RECORD_TEXT = """\
tensor = allocate_tensor(Tensor)
tensor.tape = BASE_TAPE
tensor.value = y if type(y) is ndarray else asarray(y)
tensor.view_meta = None
if m is None or rule is None:
    tensor.node = None
else:
    tensor.node = node = allocate_node(Node)
    node.order = next_serial()
    node.operation = op
    node.rule = rule
    node.residuals = residuals
    node.next_edges = m
    node.pull_plain = rule.pull_plain
    frame = getframe(1)
    while code_kinds[frame.f_code.co_filename] and frame.f_back:  # called from this library
        frame = frame.f_back
    node.code = frame.f_code
    node.lasti = frame.f_lasti
return tensor
"""


def format_fast_path(op, namespace: dict[str, Any]) -> str:
    """Return the statements that take plain operands straight to the kernel of an operation's primitive."""
    if op.primitive is None or op.arguments is not None:
        return ""
    primitive, names = op.primitive.primitive, op.names
    namespace |= {
        "BASE_TAPE": BASE_TAPE,
        "EVAL": EVAL,
        "FLOATS": op.dtypes,
        "LEAF": LEAF,
        "NO_PARAMS": {},
        "Node": Node,
        "TENSOR_CLASSES": TENSOR_CLASSES,
        "Tensor": Tensor,
        "asarray": np.asarray,
        "getframe": sys._getframe,
        "kernel": primitive.kernel,
        "code_kinds": source_info.code_kinds,
        "grad_accumulator": grad_accumulator,
        "no_copy": no_copy,
        "vjp": primitive.vjp,
        "ndarray": np.ndarray,
        "allocate_node": allocate_tensor,
        "allocate_tensor": allocate_tensor,
        "next_serial": next_serial,
        "IGNORE": IGNORE,
        "reset_errors": ERROR_STATE.reset,
        "set_errors": ERROR_STATE.set,
    }
    unset = " and out is None" * op.out
    unset += "".join(f" and {p} is default_{p}" for p in op.defaults)
    first = FIRST_TEXT.format(*names, unset=unset)
    if len(names) == 1:
        compute = COMPUTE_TEXT.format(*names, unrecorded="m is None", values="a", edges="m")
        return first + indent_text(compute + RECORD_TEXT, 8)
    compute = COMPUTE_TEXT.format(*names, unrecorded="m is None and n is None", values="a, b", edges="m, n")
    return first + indent_text(SECOND_TEXT.format(*names) + indent_text(compute + RECORD_TEXT, 4), 8)


def indent_text(text: str, depth: int) -> str:
    """Indent statements."""
    return "".join(" " * depth + line + "\n" for line in text.splitlines())
