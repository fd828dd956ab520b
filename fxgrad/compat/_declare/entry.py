"""Generated source of the functions that users call, so that they have the parameters of the declared function and the
fast path costs no call."""

from __future__ import annotations

import sys
import warnings
from functools import cache, wraps
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

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def format_parameters(op, function: Callable[..., Any], namespace: dict[str, Any]) -> tuple[list[str], str]:
    """Return the parameters as text, and the text of a dict of those that are no Tensors. Defaults go into the
    namespace."""
    signature: list[str] = []
    parameters, star = op.parameters, "*more" if op.mixed else "*"
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and star not in signature:
            signature.append(star)
        if p.default is not p.empty:
            namespace[f"default_{p.name}"] = p.default
        signature.append(p.name if p.default is p.empty else f"{p.name}=default_{p.name}")
    statics = ", ".join(f"{p.name!r}: {p.name}" for p in parameters if p.name not in op.names)
    return signature, f"{{{statics}}}"


def format_separation(op, namespace: dict[str, Any]) -> str:
    """Return the statement that sorts the arguments of a call where numbers may stand among the operands."""
    if not op.mixed:
        return ""
    namespace |= {"separated": separate_numbers, "op": op}
    operands, keywords = "".join(n + ", " for n in op.names), "".join(n + ", " for n in op.defaults)
    return f"if more:\n    {operands}{keywords}= separated(op, ({operands}*more), ({keywords}))\n"


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


def make_user_function(op, function: Callable[..., Any]) -> Callable[..., Any]:
    """Make the function on Tensors, with the parameters of `function`."""
    names = op.names
    namespace: dict[str, Any] = {
        "REWORDED_ERRORS": REWORDED_ERRORS,
        "SCALARS": SCALARS,
        "not_a_tensor_error": not_a_tensor_error,
        "op": op,
        "reword_error": reword_error,
    }
    signature, statics = format_parameters(op, function, namespace)
    if op.out:
        signature += [] if op.mixed or "*" in signature else ["*"]
        signature.append("out=None")
    given = f"({' '.join(n + ',' for n in names)})"
    body = f"return op({given}, {statics}{', out' if op.out else ''})\n"
    if names and names[0] == "input" and not op.numbers:
        check = "if type(input) in SCALARS:\n    raise not_a_tensor_error(op.name, 'input', 1, input)\n"
        body = check + body
    body = indent_text(format_separation(op, namespace) + format_fast_path(op, namespace) + body, 4)
    body = f"try:\n{body}except REWORDED_ERRORS as error:\n"
    body += f"    raise reword_error(op.name, {given}, error) from None\n"
    made = make_entry_point(op.name, signature, body, namespace)
    made.__doc__, made.__module__ = function.__doc__, "fxgrad.compat"
    made.operation = op
    return made


def inplace_method(operation, function: Callable[..., Any]) -> Callable[..., Any]:
    """The method `name_`: the operation with its result written into the first operand."""
    namespace: dict[str, Any] = {"apply_inplace": apply_inplace, "operation": operation}
    signature, statics = format_parameters(operation, function, namespace)
    name = operation.name + "_"
    body = format_separation(operation, namespace)
    body += f"return apply_inplace(operation, ({' '.join(n + ',' for n in operation.names)}), {statics})\n"
    made = make_entry_point(name, signature, body, namespace)
    made.__doc__ = f"In-place version of `{operation.name}`."
    made.operation = operation
    return made


NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim"}


def with_numpy_names(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that it takes NumPy's parameter names as well, as torch's functions do; also an entry point of
    the library (as by `interpreter.api_boundary`, which would cost a call)."""

    @wraps(function)
    def call_renamed(*args, **kwargs) -> Any:
        context = CURRENT.get()
        try:
            if kwargs:
                kwargs = {NUMPY_NAMES.get(name, name): value for name, value in kwargs.items()}
            return function(*args, **kwargs)
        except BaseException as error:
            leave_torch(error, context)
            raise

    return call_renamed


def parameter_names(function) -> tuple[str, ...]:
    """The names of the parameters of a function."""
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def make_entry_point(
    name: str, signature: list[str], body: str, namespace: dict[str, Any]
) -> Callable[..., Any]:
    """Make a function of this text that is an entry point of the library: see `interpreter.api_boundary`, which would
    cost a call."""
    namespace |= {"current": CURRENT.get, "leave": leave_torch}
    text = f"def made({', '.join(signature)}):\n    context = current()\n    try:\n{indent_text(body, 8)}"
    text += "    except BaseException as error:\n        leave(error, context)\n        raise\n"
    exec(compile_text(text), namespace)
    made = namespace.pop("made")
    made.__name__ = made.__qualname__ = name
    names = {"co_name": name, "co_qualname": name, "co_filename": f"<fxgrad torch.{name}>"}
    made.__code__ = made.__code__.replace(**names)
    return made


@cache
def compile_text(text: str) -> Any:
    """Compile text, once for all operations that share it."""
    return compile(text, "<fxgrad torch>", "exec")


def leave_torch(error: BaseException, context) -> None:
    """Do what `interpreter.leave_library` does, and let NumPy warn again."""
    if ERROR_STATE.get() is IGNORE:  # Ctrl-C may come before the `try` that ends with its reset
        ERROR_STATE.set(DEFAULT)
    interpreter.leave_library(error, context)


# On arrays of one floating dtype outside all transforms there is nothing to decide: kernel, rule, node, Tensor.
UNARY_TEXT = """\
if type({0}) in TENSOR_CLASSES and {0}.view_meta is None and context is EVAL{unset}:
    a = {0}.value
    m = {0}.node
    if type(a) is ndarray and a.dtype in FLOATS and (m is None or {0}.tape is BASE_TAPE):
        silence = set_errors(IGNORE)
        try:
            if m is None:
                y = kernel(a)
            else:
                if m is LEAF:
                    m = {0}.accumulator or grad_accumulator({0})
                y, rule, residuals = vjp(kernel, (a,), (m,), NO_PARAMS, no_copy)
                m = (m,)
        finally:
            reset_errors(silence)
"""
BINARY_TEXT = """\
if type({0}) in TENSOR_CLASSES and {0}.view_meta is None and context is EVAL{unset}:
    a = {0}.value
    m = {0}.node
    if type(a) is ndarray and a.dtype in FLOATS and (m is None or {0}.tape is BASE_TAPE):
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
            silence = set_errors(IGNORE)
            try:
                if m is None and n is None:
                    y = kernel(a, b)
                else:
                    if m is LEAF:
                        m = {0}.accumulator or grad_accumulator({0})
                    m = (m, n)
                    y, rule, residuals = vjp(kernel, (a, b), m, NO_PARAMS, no_copy)
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
    if op.fast_primitive is None:
        return ""
    primitive, names = op.fast_primitive.primitive, op.names
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
    unary = len(names) == 1
    text = (UNARY_TEXT if unary else BINARY_TEXT).format(*names, unset=unset)
    return text + indent_text(RECORD_TEXT, 8 if unary else 12)


def indent_text(text: str, depth: int) -> str:
    """Indent statements."""
    return "".join(" " * depth + line + "\n" for line in text.splitlines())
