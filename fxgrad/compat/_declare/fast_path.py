"""Fast paths: statements of entry points that pass plain operands directly to the kernel of a primitive.

Arrays of one floating dtype outside all transforms need no decisions: kernel, rule, node, Tensor. Any call on this path
would cost as much as a small kernel, so these steps are inlined as text into the entry points.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ops  # noqa: F401 (the package before its parts)
from ...core import source_info
from ...core.cache import Cache
from ...core.fp_errors import ERROR_STATE, IGNORE
from ...core.interpreter import EVAL
from ...core.key import EXACT, key_of
from ...ops.kinds import Elementwise
from .._core import views
from .._core.dtypes import _default_dtype
from .._core.memory import VERSIONS
from .._core.modes import NO_GRAD, QUIET
from .._core.tape import BASE_TAPE, LEAF, Node, grad_accumulator, next_serial, no_copy
from .._core.tensor import TENSOR_CLASSES, Tensor, allocate_tensor, give_memory
from .rearrangement import Rearrangement
from .view_plan import freeze, plan_view, take_view

if TYPE_CHECKING:
    from collections.abc import Sequence

# {0} and {1} are the names of the operands. Their values are a and b; m and n are their gradient edges, then the tuple
# of edges. The values of an operation on two are in the order of its primitive.
FIRST_TEXT = """\
if (
    (context is EVAL or context is NO_GRAD or context is QUIET)
    and type({0}) in TENSOR_CLASSES
    and ({0}._fx_view_meta is None or is_plain_view({0})){unset}
):
    a = {0}._fx_value
    m = {0}._fx_node if context is EVAL else None
    if type(a) is ndarray and a.dtype in FLOATS and (m is None or {0}._fx_tape is BASE_TAPE):
"""
SECOND_TEXT = """\
kind = type({1})
n, code = None, 0
if kind in TENSOR_CLASSES:
    plain = {1}._fx_view_meta is None or is_plain_view({1})
    b = {1}._fx_value
    if plain and type(b) is ndarray and a.dtype is b.dtype:
        if context is EVAL:
            n = {1}._fx_node
            plain = n is None or {1}._fx_tape is BASE_TAPE
    else:
        plain = False
else:
    b = {1}
    code = NUMBERS.get(kind)
    plain = code is not None{exact}
if plain{guard}:
"""
COMPUTE_TEXT = """\
silence = set_errors(IGNORE)
try:
    if {unrecorded}:
        y = kernel({values})
    else:
        if m is LEAF:
            m = {0}._fx_accumulator or grad_accumulator({0})
{link}
finally:
    reset_errors(silence)
"""
SECOND_LEAF_TEXT = """\
if n is LEAF:
    n = {1}._fx_accumulator or grad_accumulator({1})
"""
# The rule that `Elementwise.vjp` finds, under the same key.
FIND_RULE_TEXT = """\
y, rule = kernel({values}), None
shape, dtype = y.shape, y.dtype
if dtype is a.dtype:
    key = dtype.num if shape else ~dtype.num
{codes}
    rule = rules.get(key)
m = ({edges},)
if rule is None:
    y, rule, residuals = vjp(kernel, ({values},), m, NO_PARAMS, no_copy)
else:
    save = rule.save_residuals
    residuals = () if save is None else save(no_copy, y, ({values},))
"""
CODES_TEXT = """\
first = 0 if m is None else 1 if a.shape == shape else 2
if n is not None:
    code = 1 if b.shape == shape else 2
key = (key * 8 + {0}) * 8 + {1}
"""
ASK_RULE_TEXT = """\
m = ({edges},)
y, rule, residuals = vjp(kernel, ({values},), m, NO_PARAMS, no_copy)
"""
RECORD_TEXT = """\
tensor = allocate(Tensor)
tensor._fx_tape = BASE_TAPE
tensor._fx_value = y if type(y) is ndarray else give_memory(y)
tensor._fx_view_meta = None
if {no_node}:
    tensor._fx_node = None
else:
    tensor._fx_node = node = allocate(Node)
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
"""
# By the plan for such operands, of which the statements make the key that `Operation.run_plan` makes.
PLANNED_TEXT = """\
is_known = False
if (
    (context is EVAL or context is NO_GRAD or context is QUIET)
    and type({0}) in TENSOR_CLASSES
    and ({0}._fx_view_meta is None or is_plain_view({0})){unset}
):
    array = {0}._fx_value
    edge = {0}._fx_node if {recording} else None
    if type(array) is ndarray and (edge is None or {0}._fx_tape is BASE_TAPE):
        if edge is LEAF:
            edge = {0}._fx_accumulator or grad_accumulator({0})
        plan_key = DEFAULT_DTYPE[0], array.shape, array.dtype.num, edge is None
        arrays, edges = (array,), (edge,)
        is_known = True
{others}
if is_known:
    try:
        plan = plans.get({key})
    except TypeError:  # parameters that are not hashable
        plan = None
    if plan is not None:
        silence = set_errors(IGNORE)
        try:
            y, rule, residuals = plan.run(arrays, edges)
        finally:
            reset_errors(silence)
        m = edges
{record}
{finish}
        return tensor
"""
OTHER_TEXT = """\
if is_known:
    operand_type = type({0})
    if operand_type in TENSOR_CLASSES:
        is_known = {0}._fx_view_meta is None or is_plain_view({0})
        array = {0}._fx_value
        edge = {0}._fx_node if {recording} else None
        is_known = is_known and type(array) is ndarray and (edge is None or {0}._fx_tape is BASE_TAPE)
        if is_known:
            if edge is LEAF:
                edge = {0}._fx_accumulator or grad_accumulator({0})
            plan_key = (*plan_key, array.shape, array.dtype.num, edge is None)
            arrays, edges = (*arrays, array), (*edges, edge)
    elif {0} is None:
        plan_key = (*plan_key, None)
    elif operand_type in SCALARS:
        plan_key, arrays, edges = (*plan_key, operand_type), (*arrays, {0}), (*edges, None)
    else:
        is_known = False
"""
# By the plan for such a view: see `view_plan`.
VIEW_TEXT = """\
key = freeze(({statics}))
view = take_view(known_views, {0}, key)
if view is None:
    view = plan_view(known_views, {0}, key, op, {{{params}}})
if view is not None:
    return view
"""
INPLACE_TEXT = """\
if (
    type({0}) in TENSOR_CLASSES
    and {0}._fx_view_meta is None
    and (context is NO_GRAD or (context is EVAL and {0}._fx_node is None)){unset}
):
    a = {0}._fx_value
    kind = type({1})
    if type(a) is ndarray and a.dtype in FLOATS and a.flags.c_contiguous and not {0}._fx_is_inference_tensor:
        if kind in TENSOR_CLASSES:
            b = {1}._fx_value
            plain = (
                type(b) is ndarray
                and a.dtype is b.dtype
                and {1}._fx_view_meta is None
                and (context is NO_GRAD or {1}._fx_node is None)
                and (b.shape == a.shape or not b.shape)
            )
        else:
            b = {1}
            plain = kind in NUMBERS{exact}
        if plain:
            silence = set_errors(IGNORE)
            try:
                kernel(a, {factor}, a)
            finally:
                reset_errors(silence)
            frame = getframe(1)
            while code_kinds[frame.f_code.co_filename] and frame.f_back:  # called from this library
                frame = frame.f_back
            record_change(a, name, Site(frame.f_code, frame.f_lasti))
            return {0}
"""


NAMES: dict[str, Any] = {
    "BASE_TAPE": BASE_TAPE,
    "EVAL": EVAL,
    "HALF": np.dtype("f2"),
    "IGNORE": IGNORE,
    "LEAF": LEAF,
    "NO_GRAD": NO_GRAD,
    "NO_PARAMS": {},
    "QUIET": QUIET,
    "Node": Node,
    "Site": source_info.Site,
    "TENSOR_CLASSES": TENSOR_CLASSES,
    "Tensor": Tensor,
    "allocate": allocate_tensor,
    "is_plain_view": views.is_plain_view,
    "code_kinds": source_info.code_kinds,
    "getframe": sys._getframe,
    "give_memory": give_memory,
    "grad_accumulator": grad_accumulator,
    "ndarray": np.ndarray,
    "next_serial": next_serial,
    "no_copy": no_copy,
    "record_change": VERSIONS.record_change,
    "reset_errors": ERROR_STATE.reset,
    "set_errors": ERROR_STATE.set,
}
# What must hold, besides, of the first operand of an operation whose numbers are not rounded to half precision.
UNROUNDED = " and a.dtype is not HALF"
# Numbers of Python's that may stand for an operand, with what `Elementwise.vjp` calls them.
NUMBERS = {float: 3, int: 4}


def format_fast_path(op, namespace: dict[str, Any]) -> str:
    """Return the statements that take plain operands of a function straight to the kernel of its primitive, or to the
    plan for such operands."""
    if op.arguments is not None:
        return ""
    unset = " and out is None" * op.out
    if op.primitive is None:
        return format_planned_path(op, namespace, unset)
    by_default = "".join(f" and {p} is default_{p}" for p in op.defaults)
    text = format_path(op, op.names, namespace, unset + by_default)
    return text + format_planned_path(op, namespace, unset) if op.defaults else text


def format_planned_path(op, namespace: dict[str, Any], unset: str) -> str:
    """Return the statements that run a known plan of an operation with one result."""
    if op.has_sequences or op.results is not None or not op.names:
        return ""
    statics = [p.name for p in op.parameters if p.name not in op.names]
    if op.view is True and len(op.names) == 1 and not op.bit and issubclass(op.composite, Rearrangement):
        namespace |= {
            "known_views": Cache(),
            "freeze": freeze,
            "plan_view": plan_view,
            "take_view": take_view,
        }
        given, params = "".join(f"{n}, " for n in statics), ", ".join(f"{n!r}: {n}" for n in statics)
        return VIEW_TEXT.format(op.names[0], statics=given, params=params)
    namespace |= NAMES | {
        "plans": op.plans,
        "DEFAULT_DTYPE": _default_dtype,
        "EXACT": EXACT,
        "key_of": key_of,
    }
    recording = "context is EVAL" if op.differentiable else "False"
    parts = [
        f"{name!r}, type({name}), {name} if type({name}) in EXACT else key_of({name})" for name in statics
    ]
    others = "".join(OTHER_TEXT.format(name, recording=recording) for name in op.names[1:])
    key = f"(*plan_key, {', '.join(parts)})" if parts else "plan_key"
    record, finish = indent_text(RECORD_TEXT.format(no_node="rule is None"), 8), ""
    if op.view:
        namespace["record_view"] = views.record_view
        operands, params = ", ".join(op.names), ", ".join(f"{name!r}: {name}" for name in statics)
        finish = f"        record_view(tensor, {op.names[0]}, op, ({operands},), {{{params}}})"
    return PLANNED_TEXT.format(
        op.names[0], unset=unset, recording=recording, others=others, key=key, record=record, finish=finish
    )


def format_path(
    op,
    names: list[str],
    namespace: dict[str, Any],
    unset: str = "",
    swapped: bool = False,
    product: bool = False,
) -> str:
    """Return the statements for operands of these names. `swapped`: they are the primitive's in the other order.
    `product`: it is that of two matrices, if they have fitting shapes."""
    primitive = op.primitive.primitive
    kernel = np.ndarray.dot if product else primitive.kernel
    namespace |= NAMES | {"FLOATS": op.dtypes, "kernel": kernel, "vjp": primitive.vjp, "NUMBERS": NUMBERS}
    is_elementwise = isinstance(primitive, Elementwise) and type(primitive).vjp is Elementwise.vjp
    if is_elementwise:
        namespace["rules"] = primitive.pullbacks
    else:
        namespace["NUMBERS"] = {}
    find = FIND_RULE_TEXT if is_elementwise else ASK_RULE_TEXT
    first = FIRST_TEXT.format(*names, unset=unset)
    if len(names) == 1:
        link = find.format(codes="", values="a", edges="m")
        return first + indent_text(format_rest(names, "a", "m is None", link), 8)
    order = slice(None, None, -1 if swapped else 1)
    values, edges, codes = (", ".join(pair.split()[order]) for pair in ("a b", "m n", "first code"))
    codes = indent_text(CODES_TEXT.format(*codes.split(", ")), 4)
    link = SECOND_LEAF_TEXT.format(*names) + find.format(codes=codes, values=values, edges=edges)
    text = format_rest(names, values, "(m is None and n is None)", link)
    guard = " and a.ndim == 2 == b.ndim and a.shape[1] == b.shape[0]" * product
    return first + indent_text(
        SECOND_TEXT.format(*names, guard=guard, exact=UNROUNDED * op.exact_numbers) + indent_text(text, 4), 8
    )


def format_rest(names: list[str], values: str, unrecorded: str, link: str) -> str:
    """Return the statements that compute and record; `link` finds the result, the rule and the residuals."""
    compute = COMPUTE_TEXT.format(*names, values=values, unrecorded=unrecorded, link=indent_text(link, 8))
    return compute + RECORD_TEXT.format(no_node=f"{unrecorded} or rule is None") + "return tensor\n"


def format_inplace_path(op, names: Sequence[str], namespace: dict[str, Any], operator: bool = False) -> str:
    """Return the statements of an operation in place that compute in the memory of the first operand. Where they are
    not those of an operator the second one may come with a factor `alpha`; other parameters are as by default."""
    primitive = None if op.primitive is None else op.primitive.primitive
    if (
        primitive is None
        or type(primitive.kernel) is not np.ufunc
        or op.arguments is not None
        or len(names) != 2
    ):
        return ""
    namespace |= NAMES | {"FLOATS": op.dtypes, "kernel": primitive.kernel, "NUMBERS": NUMBERS}
    namespace["name"] = f"{op.name}_"
    unset, factor = "", "b"
    for name in () if operator else op.defaults:
        unset += f" and ({name} is default_{name}"
        if name == "alpha":  # a number of every floating dtype
            unset += " or (type(alpha) in NUMBERS and -65504 <= alpha <= 65504)"
            factor = "b if alpha is default_alpha else b * alpha"
        unset += ")"
    return INPLACE_TEXT.format(*names, unset=unset, factor=factor, exact=UNROUNDED * op.exact_numbers)


def indent_text(text: str, depth: int) -> str:
    """Indent statements."""
    return "".join(" " * depth + line + "\n" for line in text.splitlines())
