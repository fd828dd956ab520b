"""Fast paths: statements of entry points that pass plain operands directly to the kernel of a primitive.

Arrays of one floating dtype outside all transforms need no decisions: kernel, rule, node, Tensor. Any call on this path
would cost as much as a small kernel, so these steps are inlined as text into the entry points.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...extend import ERROR_STATE, EVAL, EXACT, IGNORE, Cache, Elementwise, key_of, source_info
from .._core import views
from .._core.dtypes import _default_dtype
from .._core.memory import VERSIONS
from .._core.modes import NO_GRAD, QUIET
from .._core.tape import BASE_TAPE, LEAF, Node, grad_accumulator, next_serial, no_copy
from .._core.tensor import TENSOR_CLASSES, Tensor, allocate_tensor, give_memory
from .rearrangement import Rearrangement
from .view_plan import freeze, plan_view, take_view

# The gate: whether {0} is a plain Tensor, of which value, and by which edge it is differentiated. It stands in the text
# of every fast path.
GATE_TEXT = """\
plain = {before}type({0}) in TENSOR_CLASSES and ({0}._fx_view_meta is None or is_plain_view({0}))
if plain:
    {0}_value = {0}._fx_value
    {0}_edge = {0}._fx_node if {recording} else None
    plain = type({0}_value) is ndarray and ({0}_edge is None or {0}._fx_tape is BASE_TAPE){more}
"""
LEAF_TEXT = """\
if {0}_edge is LEAF:
    {0}_edge = {0}._fx_accumulator or grad_accumulator({0})
"""
PLAIN_CONTEXT = "(context is EVAL or context is NO_GRAD or context is QUIET)"
RECORDING = "context is EVAL"
# The other operand of two: a Tensor of the same dtype, or a number.
SECOND_TEXT = """\
{1}_edge, {1}_code = None, 0
{gate}
elif type({1}) in NUMBERS{exact}:
    {1}_value, {1}_code, plain = {1}, NUMBERS[type({1})], True
"""
COMPUTE_TEXT = """\
silence = set_errors(IGNORE)
try:
    if {unrecorded}:
        result = kernel({values})
    else:
{link}
finally:
    reset_errors(silence)
"""
# The rule that `Elementwise.vjp` finds, under the same key.
FIND_RULE_TEXT = """\
result, rule = kernel({values}), None
shape, dtype = result.shape, result.dtype
if dtype is {0}_value.dtype:
    key = dtype.num if shape else ~dtype.num
{codes}
    rule = rules.get(key)
edges = ({edges},)
if rule is None:
    result, rule, residuals = vjp(kernel, ({values},), edges, NO_PARAMS, no_copy)
else:
    save = rule.save_residuals
    residuals = () if save is None else save(no_copy, result, ({values},))
"""
CODES_TEXT = """\
{0}_code = 0 if {0}_edge is None else 1 if {0}_value.shape == shape else 2
if {1}_edge is not None:
    {1}_code = 1 if {1}_value.shape == shape else 2
key = (key * 8 + {first}_code) * 8 + {second}_code
"""
ASK_RULE_TEXT = """\
edges = ({edges},)
result, rule, residuals = vjp(kernel, ({values},), edges, NO_PARAMS, no_copy)
"""
RECORD_TEXT = """\
tensor = allocate(Tensor)
tensor._fx_tape = BASE_TAPE
tensor._fx_value = result if type(result) is ndarray else give_memory(result)
tensor._fx_view_meta = None
if {no_node}:
    tensor._fx_node = None
else:
    tensor._fx_node = node = allocate(Node)
    node.order = next_serial()
    node.operation = op
    node.rule = rule
    node.residuals = residuals
    node.next_edges = edges
    node.pull_plain = rule.pull_plain
    frame = getframe(1)
    while code_kinds[frame.f_code.co_filename] and frame.f_back:  # called from this library
        frame = frame.f_back
    node.code = frame.f_code
    node.lasti = frame.f_lasti
"""
# By the plan for such operands, of which the statements make the key that `Operation.run_plan` makes.
PLANNED_TEXT = """\
{gate}
if plain:
{leaf}
    plan_key = DEFAULT_DTYPE[0], {0}_value.shape, {0}_value.dtype.num, {0}_edge is None
    arrays, edges = ({0}_value,), ({0}_edge,)
{others}
if plain:
    try:
        plan = plans.get({key})
    except TypeError:  # parameters that are not hashable
        plan = None
    if plan is not None:
        silence = set_errors(IGNORE)
        try:
            result, rule, residuals = plan.run(arrays, edges)
        finally:
            reset_errors(silence)
{record}
{finish}
        return tensor
"""
OTHER_TEXT = """\
if plain:
    if type({0}) in TENSOR_CLASSES:
{gate}
        if plain:
{leaf}
            plan_key = (*plan_key, {0}_value.shape, {0}_value.dtype.num, {0}_edge is None)
            arrays, edges = (*arrays, {0}_value), (*edges, {0}_edge)
    elif {0} is None:
        plan_key = (*plan_key, None)
    elif type({0}) in SCALARS:
        plan_key, arrays, edges = (*plan_key, type({0})), (*arrays, {0}), (*edges, None)
    else:
        plain = False
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
# In the memory of the first operand. Neither is a view or has a history.
INPLACE_TEXT = """\
{first}
if plain:
{second}
    elif type({1}) in NUMBERS{exact}:
        {1}_value, plain = {1}, True
if plain:
    silence = set_errors(IGNORE)
    try:
        kernel({0}_value, {factor}, {0}_value)
    finally:
        reset_errors(silence)
    frame = getframe(1)
    while code_kinds[frame.f_code.co_filename] and frame.f_back:  # called from this library
        frame = frame.f_back
    record_change({0}_value, name, Site(frame.f_code, frame.f_lasti))
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
# Numbers of Python's that may stand for an operand, with what `Elementwise.vjp` calls them.
NUMBERS = {float: 3, int: 4}


def format_fast_path(op, namespace: dict[str, Any], out: bool) -> str:
    """Return the statements that take plain operands of a function straight to the kernel of its primitive, or to the
    plan for such operands."""
    if op.arguments is not None:
        return ""
    unset = " and out is None" * out
    if op.primitive is None:
        return format_planned_path(op, namespace, unset)
    by_default = "".join(f" and {p} is default_{p}" for p in op.defaults)
    text = format_path(op, op.names, namespace, unset + by_default)
    return text + format_planned_path(op, namespace, unset) if op.defaults else text


def format_gate(
    name: str,
    depth: int = 0,
    before: str = "",
    more: str = "",
    recording: str = RECORDING,
    views: bool = True,
) -> str:
    """Return the statements that find out whether an operand is a plain Tensor, at this depth; `before` and `more` is
    what must hold besides. Without `views` it must not be one."""
    text = GATE_TEXT if views else GATE_TEXT.replace(" or is_plain_view({0})", "")
    return indent_text(text.format(name, before=before, more=more, recording=recording), depth).rstrip()


def format_planned_path(op, namespace: dict[str, Any], unset: str) -> str:
    """Return the statements that run a known plan of an operation with one result."""
    if op.has_sequences or op.results is not None or not op.names:
        return ""
    first, *rest = op.names
    statics = [p.name for p in op.parameters if p.name not in op.names]
    params = ", ".join(f"{name!r}: {name}" for name in statics)
    if op.view is True and not rest and not op.bit and issubclass(op.composite, Rearrangement):
        namespace |= {
            "known_views": Cache(),
            "freeze": freeze,
            "plan_view": plan_view,
            "take_view": take_view,
        }
        return VIEW_TEXT.format(first, statics="".join(f"{n}, " for n in statics), params=params)
    namespace |= NAMES | {
        "plans": op.plans,
        "DEFAULT_DTYPE": _default_dtype,
        "EXACT": EXACT,
        "key_of": key_of,
    }
    recording = RECORDING if op.differentiable else "False"
    parts = [
        f"{name!r}, type({name}), {name} if type({name}) in EXACT else key_of({name})" for name in statics
    ]
    others = [
        OTHER_TEXT.format(
            name,
            gate=format_gate(name, 8, recording=recording),
            leaf=indent_text(LEAF_TEXT.format(name), 12).rstrip(),
        )
        for name in rest
    ]
    record, finish = indent_text(RECORD_TEXT.format(no_node="rule is None"), 8).rstrip(), ""
    if op.view:
        namespace["record_view"] = views.record_view
        finish = f"        record_view(tensor, {first}, op, ({', '.join(op.names)},), {{{params}}})"
    text = PLANNED_TEXT.format(
        first,
        gate=format_gate(first, before=f"{PLAIN_CONTEXT}{unset} and ", recording=recording),
        leaf=indent_text(LEAF_TEXT.format(first), 4).rstrip(),
        others="".join(others).rstrip(),
        key=f"(*plan_key, {', '.join(parts)})" if parts else "plan_key",
        record=record,
        finish=finish,
    )
    return text.replace("\n\n", "\n")


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
    namespace |= NAMES | {"FLOATS": op.dtypes, "kernel": kernel, "vjp": primitive.vjp}
    is_elementwise = isinstance(primitive, Elementwise) and type(primitive).vjp is Elementwise.vjp
    if is_elementwise:
        namespace |= {"rules": primitive.pullbacks, "NUMBERS": NUMBERS}
    else:
        namespace["NUMBERS"] = {}
    ordered = names[::-1] if swapped else names
    values, edges = (", ".join(f"{name}_{part}" for name in ordered) for part in ("value", "edge"))
    unrecorded = " and ".join(f"{name}_edge is None" for name in names)
    first, *rest = names
    more = f" and {first}_value.dtype in FLOATS"
    text = format_gate(first, before=f"{PLAIN_CONTEXT}{unset} and ", more=more) + "\n"
    codes = ""
    for second in rest:
        guard = f" and {first}_value.ndim == 2 == {second}_value.ndim"
        guard += f" and {first}_value.shape[1] == {second}_value.shape[0]"
        same = f" and {first}_value.dtype is {second}_value.dtype{guard * product}"
        exact = f" and {first}_value.dtype is not HALF" * op.exact_numbers
        given = SECOND_TEXT.format(first, second, gate=format_gate(second, more=same), exact=exact)
        text += f"if plain:\n{indent_text(given, 4)}"
        codes = CODES_TEXT.format(first, second, first=ordered[0], second=ordered[1])
    find = FIND_RULE_TEXT if is_elementwise else ASK_RULE_TEXT
    link = "".join(LEAF_TEXT.format(name) for name in names)
    link += find.format(first, codes=indent_text(codes, 4).rstrip(), values=values, edges=edges)
    compute = COMPUTE_TEXT.format(values=values, unrecorded=unrecorded, link=indent_text(link, 8).rstrip())
    record = RECORD_TEXT.format(no_node=f"({unrecorded}) or rule is None")
    text += f"if plain:\n{indent_text(f'{compute}{record}return tensor', 4)}"
    return text.replace("\n\n", "\n")


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
    first, second = names
    unset, factor = "", f"{second}_value"
    for name in () if operator else op.defaults:
        unset += f" and ({name} is default_{name}"
        if name == "alpha":  # a number of every floating dtype
            unset += " or (type(alpha) in NUMBERS and -65504 <= alpha <= 65504)"
            factor += f" if alpha is default_alpha else {second}_value * alpha"
        unset += ")"
    writable = f" and {first}_value.dtype in FLOATS and {first}_value.flags.c_contiguous"
    writable += f" and {first}_edge is None and not {first}._fx_is_inference_tensor"
    fits = f" and {first}_value.dtype is {second}_value.dtype and {second}_edge is None"
    fits += f" and ({second}_value.shape == {first}_value.shape or not {second}_value.shape)"
    before = f"(context is EVAL or context is NO_GRAD){unset} and "
    return INPLACE_TEXT.format(
        *names,
        first=format_gate(first, before=before, more=writable, views=False),
        second=format_gate(second, 4, more=fits, views=False),
        factor=factor,
        exact=f" and {first}_value.dtype is not HALF" * op.exact_numbers,
    )


def indent_text(text: str, depth: int) -> str:
    """Indent statements."""
    return "".join(" " * depth + line + "\n" for line in text.splitlines())
