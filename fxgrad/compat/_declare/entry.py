"""The functions that users call: generated text, so that they have the parameters of the declared function and the
fast path costs no call."""

from __future__ import annotations

import sys
import warnings
from functools import cache, wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import interpreter, source_info
from ...core.aval import SCALARS
from ...core.fp_errors import SILENT, SPEAKING, STATE
from ...core.interpreter import CURRENT, EVAL
from .._core.error_messages import REWORDED, not_a_tensor, refusal
from .._core.errors import ArgumentError
from .._core.inplace import modify
from .._core.tape import BASE, Node, kept_as_is, leaf_of, serial
from .._core.tensor import LEAF, TENSORS, Tensor, new_tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def parameters_of(op: Any, function: Callable[..., Any], namespace: dict[str, Any]) -> tuple[list[str], str]:
    """(the parameters as text, the dict of those that are no Tensors as text). Defaults go into the namespace."""
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


def separation(op: Any, namespace: dict[str, Any]) -> str:
    """The statement that sorts what a call has given, where numbers may stand among its operands."""
    if not op.mixed:
        return ""
    namespace |= {"separated": separated, "op": op}
    operands, keywords = "".join(n + ", " for n in op.names), "".join(n + ", " for n in op.defaults)
    return f"if more:\n    {operands}{keywords}= separated(op, ({operands}*more), ({keywords}))\n"


def separated(op: Any, given: Sequence[Any], keywords: Sequence[Any]) -> tuple[Any, ...]:
    """(operands…, keywords…) of a call with numbers among its operands, as torch once had them: add(x, alpha, y)."""
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


def user_function(op: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function on Tensors, with the parameters of `function`."""
    names = op.names
    namespace: dict[str, Any] = {
        "REWORDED": REWORDED,
        "SCALARS": SCALARS,
        "not_a_tensor": not_a_tensor,
        "op": op,
        "refusal": refusal,
    }
    signature, statics = parameters_of(op, function, namespace)
    if op.out:
        signature += [] if op.mixed or "*" in signature else ["*"]
        signature.append("out=None")
    given = f"({' '.join(n + ',' for n in names)})"
    body = f"return op({given}, {statics}{', out' if op.out else ''})\n"
    if names and names[0] == "input" and not op.numbers:
        check = "if type(input) in SCALARS:\n    raise not_a_tensor(op.name, 'input', 1, input)\n"
        body = check + body
    body = f"try:\n{indent(separation(op, namespace) + fast_path(op, namespace) + body, 4)}except REWORDED as error:\n"
    body += f"    raise refusal(op.name, {given}, error) from None\n"
    made = entrance(op.name, signature, body, namespace)
    made.__doc__, made.__module__ = function.__doc__, "fxgrad.compat"
    made.operation = op
    return made


def inplace_method(operation: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """The method `name_`: the operation with its result written into the first operand."""
    namespace: dict[str, Any] = {"modify": modify, "operation": operation}
    signature, statics = parameters_of(operation, function, namespace)
    name = operation.name + "_"
    body = separation(operation, namespace)
    body += f"return modify(operation, ({' '.join(n + ',' for n in operation.names)}), {statics})\n"
    made = entrance(name, signature, body, namespace)
    made.__doc__ = f"In-place version of `{operation.name}`."
    made.operation = operation
    return made


NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim"}


def with_numpy_names(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which takes NumPy's names of parameters as well, as those of torch do; a way into the library (as
    by `interpreter.boundary`, which would cost a call)."""

    @wraps(function)
    def named(*args: Any, **kwargs: Any) -> Any:
        context = CURRENT.get()
        try:
            if kwargs:
                kwargs = {NUMPY_NAMES.get(name, name): value for name, value in kwargs.items()}
            return function(*args, **kwargs)
        except BaseException as error:
            leave(error, context)
            raise

    return named


def arguments_of(function: Any) -> tuple[str, ...]:
    """The names of the parameters of a function."""
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def entrance(name: str, signature: list[str], body: str, namespace: dict[str, Any]) -> Callable[..., Any]:
    """The function of this text, as a way into the library: see `interpreter.boundary`, which would cost a call."""
    namespace |= {"current": CURRENT.get, "leave": leave}
    text = f"def made({', '.join(signature)}):\n    context = current()\n    try:\n{indent(body, 8)}"
    text += "    except BaseException as error:\n        leave(error, context)\n        raise\n"
    exec(code_of(text), namespace)
    made = namespace.pop("made")
    made.__name__ = made.__qualname__ = name
    names = {"co_name": name, "co_qualname": name, "co_filename": f"<fxgrad torch.{name}>"}
    made.__code__ = made.__code__.replace(**names)
    return made


@cache
def code_of(text: str) -> Any:
    """Text, compiled; that of many operations is the same."""
    return compile(text, "<fxgrad torch>", "exec")


def leave(error: BaseException, context: Any) -> None:
    """As `interpreter.leave`; NumPy warns again, too."""
    if STATE.get() is SILENT:  # Ctrl-C may come before the `try` that ends with its reset
        STATE.set(SPEAKING)
    interpreter.leave(error, context)


# On arrays of one floating dtype outside all transforms there is nothing to decide: kernel, rule, node, Tensor.
UNARY = """\
if type({0}) in TENSORS and {0}.aspect is None and context is EVAL{unset}:
    a = {0}.value
    m = {0}.node
    if type(a) is ndarray and a.dtype in FLOATS and (m is None or {0}.tape is BASE):
        silence = silenced(SILENT)
        try:
            if m is None:
                y = kernel(a)
            else:
                if m is LEAF:
                    m = {0}.leaf or leaf_of({0})
                y, rule, residuals = linearize(kernel, (a,), (m,), NONE, kept_as_is)
                m = (m,)
        finally:
            restored(silence)
"""
BINARY = """\
if type({0}) in TENSORS and {0}.aspect is None and context is EVAL{unset}:
    a = {0}.value
    m = {0}.node
    if type(a) is ndarray and a.dtype in FLOATS and (m is None or {0}.tape is BASE):
        kind = type({1})
        if kind in TENSORS:
            b = {1}.value
            n = {1}.node
            plain = {1}.aspect is None and type(b) is ndarray and a.dtype is b.dtype
            plain = plain and (n is None or {1}.tape is BASE)
            if n is LEAF:
                n = {1}.leaf or leaf_of({1})
        elif kind is float or kind is int:
            b = {1}
            n = None
            plain = True
        else:
            plain = False
        if plain:
            silence = silenced(SILENT)
            try:
                if m is None and n is None:
                    y = kernel(a, b)
                else:
                    if m is LEAF:
                        m = {0}.leaf or leaf_of({0})
                    m = (m, n)
                    y, rule, residuals = linearize(kernel, (a, b), m, NONE, kept_as_is)
            finally:
                restored(silence)
"""
RECORDED = """\
tensor = new(Tensor)
tensor.tape = BASE
tensor.value = y if type(y) is ndarray else asarray(y)
tensor.aspect = None
if m is None or rule is None:
    tensor.node = None
else:
    tensor.node = node = new(Node)
    node.order = serial()
    node.operation = op
    node.rule = rule
    node.residuals = residuals
    node.parents = m
    node.plain = rule.plain
    frame = getframe(1)
    while kinds[frame.f_code.co_filename] and frame.f_back:  # called from this library
        frame = frame.f_back
    node.code = frame.f_code
    node.lasti = frame.f_lasti
return tensor
"""


def fast_path(op: Any, namespace: dict[str, Any]) -> str:
    """The statements of a function that take plain operands straight to the kernel of its primitive."""
    if op.fast is None:
        return ""
    primitive, names = op.fast.primitive, op.names
    namespace |= {
        "BASE": BASE,
        "EVAL": EVAL,
        "FLOATS": op.dtypes,
        "LEAF": LEAF,
        "NONE": {},
        "Node": Node,
        "TENSORS": TENSORS,
        "Tensor": Tensor,
        "asarray": np.asarray,
        "getframe": sys._getframe,
        "kernel": primitive.kernel,
        "kinds": source_info.kinds,
        "leaf_of": leaf_of,
        "kept_as_is": kept_as_is,
        "linearize": primitive.linearize,
        "ndarray": np.ndarray,
        "new": new_tensor,
        "serial": serial,
        "SILENT": SILENT,
        "restored": STATE.reset,
        "silenced": STATE.set,
    }
    unset = " and out is None" * op.out
    unset += "".join(f" and {p} is default_{p}" for p in op.defaults)
    unary = len(names) == 1
    text = (UNARY if unary else BINARY).format(*names, unset=unset)
    return text + indent(RECORDED, 8 if unary else 12)


def indent(text: str, depth: int) -> str:
    """Statements moved to the right."""
    return "".join(" " * depth + line + "\n" for line in text.splitlines())
