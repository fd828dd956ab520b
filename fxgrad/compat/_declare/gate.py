"""The gate to the fast paths: whether an operand is plain, which gradient edge it has, and which key its plan has.

Most of what a small operation costs is decisions, and most decisions turn out the same every time. No transform and no
mode is in the way, and every operand is an array in the memory of the host that belongs to the lowest tape, with
neither a tangent nor a pending change of its history. Such a Tensor is *plain*. Of a plain operand only three facts
matter: its shape, its dtype, and whether a gradient flows back to it. They are the key under which an operation keeps
its *plan*, which is all that was decided at the first call: compiled code and a pullback rule, or the step to a view.

The gate asks this question, and nothing else does. A call of a Python function would cost as much as a tenth of a small
operation, so the question is a piece of text with a place for the name of the operand. The entry points of operations
contain this text (`fast_path`). Code that is not generated calls `plain_edge` for one Tensor and `read_operands` for
several operands: functions made from the same text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...extend import CURRENT, EVAL, SCALARS, Context
from .._core.dtypes import _default_dtype
from .._core.modes import NO_GRAD, QUIET
from .._core.tape import BASE_TAPE, LEAF, grad_accumulator
from .._core.tensor import TENSOR_CLASSES
from .._core.views import is_plain_view
from .generated import define_functions, indent_text

# The Contexts in which a Tensor can be plain, and the one of them in which operations are recorded.
PLAIN_CONTEXT = "(context is EVAL or context is NO_GRAD or context is QUIET)"
RECORDING = "context is EVAL"
# Whether {0} is a plain Tensor; then its array, and the edge by which it is differentiated.
GATE_TEXT = """\
plain = {before}type({0}) in TENSOR_CLASSES and ({0}._fx_view_meta is None or {view}is_plain_view({0}))
if plain:
    {0}_value = {0}._fx_value
    {0}_edge = {0}._fx_node if {recording} else None
    plain = type({0}_value) is ndarray and ({0}_edge is None or {0}._fx_tape is BASE_TAPE){more}
    if {0}_edge is LEAF and plain:
        {0}_edge = {0}._fx_accumulator or grad_accumulator({0})
"""
KEY = "{0}_value.shape, {0}_value.dtype.num, {0}_edge is None"
# What a view has to be besides: one whose entries are those in memory; and, where it is written into, one whose base
# would not have another history then.
IN_MEMORY = "not {0}._fx_view_meta.bits and "
WRITABLE_VIEW = IN_MEMORY + (
    "{0}._fx_view_meta.base is not None and "
    "(context is not EVAL or {0}._fx_view_meta.base._fx_node is None) and "
)
# The same of an operand that may also be a number, places that the library has found, or not given, with what it adds
# to the key, arrays and edges of all operands: to tuples or lists.
OPERAND_TEXT = """\
{gate}
    if plain:
        plan_key += ({key})
        arrays += ({0}_value,)
        edges += ({0}_edge,)
elif {0} is None:
    plain = True
    plan_key += (None,)
elif type({0}) in SCALARS:
    plain = True
    plan_key += (type({0}),)
    arrays += ({0},)
    edges += (None,)
elif type({0}) is ndarray and {0}.dtype is PLACES:
    plain = True
    plan_key += ({0}.shape, {0}.dtype.num, True)
    arrays += ({0},)
    edges += (None,)
"""
FUNCTIONS_TEXT = '''\
def plain_edge(x, context):
    """Return the gradient edge of a plain Tensor or None; NOT_PLAIN where there is more to decide."""
{one}
    return x_edge if plain else NOT_PLAIN


def writable_array(x):
    """Return the array of a plain Tensor that may be written into with no history to be changed; None where there is
    more to decide."""
    context = current()
{writable}
    return x_value if plain else None


def read_operands(operands, differentiable=True):
    """Return the beginning of the key of the plan for plain operands, their arrays and their edges; None where there is
    more to decide."""
    context = current()
    recording = {recording} and differentiable
    if not {plain_context}:
        return None
    plan_key, arrays, edges = [DEFAULT_DTYPE[0]], [], []
    for x in operands:
{operand}
        if not plain:
            return None
    return plan_key, arrays, edges
'''
NOT_PLAIN: Any = object()  # in place of an edge, where there is more to decide

# What the text refers to.
GATE_NAMES: dict[str, Any] = {
    "BASE_TAPE": BASE_TAPE,
    "DEFAULT_DTYPE": _default_dtype,
    "EVAL": EVAL,
    "LEAF": LEAF,
    "NO_GRAD": NO_GRAD,
    "PLACES": np.dtype(np.int64),
    "QUIET": QUIET,
    "SCALARS": SCALARS,
    "TENSOR_CLASSES": TENSOR_CLASSES,
    "grad_accumulator": grad_accumulator,
    "is_plain_view": is_plain_view,
    "ndarray": np.ndarray,
}


def format_gate(
    name: str, depth: int = 0, before: str = "", view: str = "", more: str = "", recording: str = RECORDING
) -> str:
    """Return the statements that ask whether the variable of this name is a plain Tensor, at this depth; `before` and
    `more` are conditions on any Tensor, `view` is one on a view."""
    text = GATE_TEXT.format(name, before=before, view=view.format(name), more=more, recording=recording)
    return indent_text(text, depth).rstrip()


def format_operand(name: str, depth: int, recording: str) -> str:
    """Return the statements that ask whether the variable of this name is a plain operand, and add it to the others."""
    gate = format_gate(name, recording=recording)
    text = OPERAND_TEXT.format(name, gate=gate, key=KEY.format(name))
    return indent_text(text, depth).rstrip()


def define_gates() -> tuple[Callable[..., Any], ...]:
    """Define the functions that ask."""
    before = PLAIN_CONTEXT + " and "
    text = FUNCTIONS_TEXT.format(
        one=format_gate("x", 4, before, IN_MEMORY),
        writable=format_gate("x", 4, before, WRITABLE_VIEW, " and x_edge is None"),
        plain_context=PLAIN_CONTEXT,
        recording=RECORDING,
        operand=format_operand("x", 8, "recording"),
    )
    names = GATE_NAMES | {"NOT_PLAIN": NOT_PLAIN, "current": CURRENT.get}
    return define_functions(text, names, "gate", "plain_edge", "writable_array", "read_operands")


plain_edge: Callable[[Any, Context], Any]
writable_array: Callable[[Any], np.ndarray | None]
read_operands: Callable[..., tuple[list[Any], list[Any], list[Any]] | None]
plain_edge, writable_array, read_operands = define_gates()
