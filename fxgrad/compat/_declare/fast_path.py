"""Fast paths: statements of entry points that pass plain operands directly to the kernel of a primitive.

Arrays of one dtype outside all transforms need no decisions: kernel, rule, node, Tensor. Any call on this path
would cost as much as a small kernel, so these steps are inlined as text into the entry points.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ...extend import (
    ERROR_STATE,
    EXACT,
    IGNORE,
    Cache,
    Elementwise,
    costs,
    dot,
    key_of,
    native_function,
    source_info,
)
from .._core import views
from .._core.memory import VERSIONS
from .._core.tape import Node, next_serial, no_copy
from .._core.tensor import Tensor, allocate_tensor, give_memory
from .gate import (
    GATE_NAMES,
    IN_MEMORY,
    KEY,
    PLAIN_CONTEXT,
    RECORDING,
    WRITABLE_VIEW,
    format_gate,
    format_operand,
)
from .generated import indent_text
from .rearrangement import Rearrangement
from .view_plan import freeze, plan_view, take_view

# The other operand of two: a Tensor of the same dtype, or a number.
SECOND_TEXT = """\
{1}_edge, {1}_code = None, 0
{gate}
elif type({1}) in NUMBERS{exact}:
    {1}_value, {1}_code, plain = {1}, NUMBERS[type({1})], {fits}
"""
# Of integers only those are computed beside numbers that hold every int of eight bytes.
FITS_TEXT = "{0}_dtype in FLOATS or ({0}_dtype is WHOLE and type({1}) is int and -LIMIT <= {1} < LIMIT)"
COMPUTE_TEXT = """\
silence = set_errors(IGNORE)
try:
    if {unrecorded}:
        result = {kernel}({values})
    else:
{link}
finally:
    reset_errors(silence)
"""
# The rule that `Elementwise.vjp` finds, under the same key.
FIND_RULE_TEXT = """\
result, rule = {kernel}({values}), None
shape, dtype = result.shape, result.dtype
if dtype is {0}_dtype:
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
# The same where there are several results.
RECORD_SEVERAL_TEXT = """\
tensors = []
for value in result:
    tensor = allocate(Tensor)
    tensor._fx_tape = BASE_TAPE
    tensor._fx_value = value if type(value) is ndarray else give_memory(value)
    tensor._fx_view_meta = tensor._fx_node = None
    tensors.append(tensor)
if rule is not None:
    node = Node(op, rule, residuals, tuple(edges), rule.pull_plain, result)
    for index, tensor in enumerate(tensors):
        tensor._fx_node = op.edge_to(node, index)
return {collect}
"""
# By the plan for such operands, under the key that `Operation.run_plan` makes.
PLANNED_TEXT = """\
{gate}
if plain:
    plan_key, arrays, edges = (DEFAULT_DTYPE[0], {first_key}), ({0}_value,), ({0}_edge,)
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
"""
# By the plan for such a view: see `view_plan`.
VIEW_TEXT = """\
{gate}
if plain:
    key = freeze(({statics}))
    view = take_view(known_views, {0}, context, {0}_edge, key)
    if view is None:
        view = plan_view(known_views, {0}, context, {0}_edge, key, op, {{{params}}})
    if view is not None:
        return view
"""
# In the memory of the first operand, with no history to be changed.
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


WRAPPING = {np.add, np.subtract, np.multiply}  # of integers, as torch's do
NAMES: dict[str, Any] = GATE_NAMES | {
    "HALF": np.dtype("f2"),
    "IGNORE": IGNORE,
    "LIMIT": 1 << 63,
    "NO_PARAMS": {},
    "Node": Node,
    "Site": source_info.Site,
    "Tensor": Tensor,
    "WHOLE": np.dtype("i8"),
    "allocate": allocate_tensor,
    "code_kinds": source_info.code_kinds,
    "getframe": sys._getframe,
    "give_memory": give_memory,
    "next_serial": next_serial,
    "no_copy": no_copy,
    "record_change": VERSIONS.record_change,
    "reset_errors": ERROR_STATE.reset,
    "set_errors": ERROR_STATE.set,
}
# Numbers of Python's that may stand for an operand, with what `Elementwise.vjp` calls them.
NUMBERS = {float: 3, int: 4}


def compute_together(ufunc: np.ufunc, *operands: Any) -> np.ndarray:
    """Compute a ufunc of numbers and large arrays; threads share it where these lie in memory alike."""
    arrays = [v for v in operands if type(v) is np.ndarray]
    shape = arrays[0].shape
    if not all([v.shape == shape and v.flags.c_contiguous for v in arrays]):
        return ufunc(*operands)
    flat = [v.reshape(-1) if type(v) is np.ndarray else v for v in operands]

    def part(start: int, stop: int) -> list[Any]:
        return [v[start:stop] if type(v) is np.ndarray else v for v in flat]

    made = np.empty(shape, ufunc(*part(0, 1)).dtype)
    results = made.reshape(-1)

    def compute(start: int, stop: int) -> None:
        ufunc(*part(start, stop), results[start:stop])

    native_function("threads.share_calls")(compute, made.size, 4 * costs.ENTRY_TIME * made.size)
    return made


def takes_numbers(op) -> bool:
    """Whether a number may stand for the last operand."""
    return op.takes_number(op.names[-1])


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


def format_planned_path(op, namespace: dict[str, Any], unset: str) -> str:
    """Return the statements that run a known plan of an operation."""
    if op.has_sequences or (op.view and op.results is not None) or not op.names:
        return ""
    first, *rest = op.names
    statics = [p.name for p in op.parameters if p.name not in op.names]
    params = ", ".join(f"{name!r}: {name}" for name in statics)
    if op.view is True and not rest and not op.bit and issubclass(op.composite, Rearrangement):
        namespace |= NAMES | {
            "known_views": Cache(),
            "freeze": freeze,
            "plan_view": plan_view,
            "take_view": take_view,
        }
        gate = format_gate(first, before=f"{PLAIN_CONTEXT} and ", view=IN_MEMORY)
        return VIEW_TEXT.format(first, gate=gate, statics="".join(f"{n}, " for n in statics), params=params)
    namespace |= NAMES | {"plans": op.plans, "EXACT": EXACT, "key_of": key_of}
    recording = RECORDING if op.differentiable else "False"
    parts = [
        f"{name!r}, type({name}), {name} if type({name}) in EXACT else key_of({name})" for name in statics
    ]
    others = [f"if plain:\n{format_operand(name, 4, recording)}" for name in rest]
    if op.results is not None:
        namespace |= {"Results": op.results, "new_tuple": tuple.__new__}
        record = RECORD_SEVERAL_TEXT.format(collect=format_results(op.results))
    else:
        record = RECORD_TEXT.format(no_node="rule is None")
        if op.view:
            namespace["record_view"] = views.record_view
            record += f"record_view(tensor, {first}, op, ({', '.join(op.names)},), {{{params}}})\n"
        record += "return tensor\n"
    text = PLANNED_TEXT.format(
        first,
        gate=format_gate(first, before=f"{PLAIN_CONTEXT}{unset} and ", recording=recording),
        first_key=KEY.format(first),
        others="\n".join(others),
        key=f"(*plan_key, {', '.join(parts)})" if parts else "plan_key",
        record=indent_text(record, 8),
    )
    return text.replace("\n\n", "\n")


def format_results(results: Any) -> str:
    """Return the expression that collects the Tensors of several results as users get them."""
    if results in (tuple, list):
        return "Results(tensors)"
    return "new_tuple(Results, tensors)" if hasattr(results, "_fields") else "Results(*tensors)"


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
    kernel = dot if product else primitive.kernel
    namespace |= NAMES | {"FLOATS": op.dtypes, "kernel": kernel, "vjp": primitive.vjp}
    is_elementwise = isinstance(primitive, Elementwise) and type(primitive).vjp is Elementwise.vjp
    if is_elementwise:
        namespace |= {"rules": primitive.pullbacks, "NUMBERS": NUMBERS if takes_numbers(op) else {}}
    else:
        namespace["NUMBERS"] = {}
    ordered = names[::-1] if swapped else names
    values, edges = (", ".join(f"{name}_{part}" for name in ordered) for part in ("value", "edge"))
    unrecorded = " and ".join(f"{name}_edge is None" for name in names)
    first, *rest = names
    integers = set() if product else op.integers
    namespace["DTYPES"] = op.dtypes | integers
    more = f" and ({first}_dtype := {first}_value.dtype) in DTYPES"
    text = format_gate(first, before=f"{PLAIN_CONTEXT}{unset} and ", more=more) + "\n"
    codes = ""
    for second in rest:
        guard = f" and {first}_value.ndim == 2 == {second}_value.ndim"
        guard += f" and {first}_value.shape[1] == {second}_value.shape[0]"
        same = f" and {first}_dtype is {second}_value.dtype{guard * product}"
        exact = f" and {first}_dtype is not HALF" * op.exact_numbers
        fits = FITS_TEXT.format(first, second) if integers else "True"
        given = SECOND_TEXT.format(first, second, gate=format_gate(second, more=same), exact=exact, fits=fits)
        text += f"if plain:\n{indent_text(given, 4)}"
        codes = CODES_TEXT.format(first, second, first=ordered[0], second=ordered[1])
    called = "kernel"
    if isinstance(kernel, np.ufunc):
        namespace |= {"LARGE": costs.SHARED_ENTRIES, "compute_together": partial(compute_together, kernel)}
        called = f"(kernel if {first}_value.size < LARGE else compute_together)"
    find = FIND_RULE_TEXT if is_elementwise else ASK_RULE_TEXT
    link = find.format(first, codes=indent_text(codes, 4).rstrip(), kernel=called, values=values, edges=edges)
    compute = COMPUTE_TEXT.format(
        kernel=called, values=values, unrecorded=unrecorded, link=indent_text(link, 8).rstrip()
    )
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
    namespace |= NAMES | {"FLOATS": op.dtypes, "kernel": primitive.kernel}
    namespace["NUMBERS"] = NUMBERS if takes_numbers(op) else {}
    namespace["name"] = f"{op.name}_"
    first, second = names
    unset, factor = "", f"{second}_value"
    for name in () if operator else op.defaults:
        unset += f" and ({name} is default_{name}"
        if name == "alpha":  # a number of every floating dtype
            unset += " or (type(alpha) in NUMBERS and -65504 <= alpha <= 65504)"
            factor += f" if alpha is default_alpha else {second}_value * alpha"
        unset += ")"
    fitting = f"{first}_value.dtype in FLOATS"
    exact = f" and {first}_value.dtype is not HALF" * op.exact_numbers
    if primitive.kernel in WRAPPING:  # counters, such as steps of an optimizer
        fitting = (
            f"({fitting} or {first}_value.dtype is WHOLE{' and alpha is default_alpha' * ('alpha' in unset)})"
        )
        exact += (
            f" and ({first}_value.dtype is not WHOLE or type({second}) is int and abs({second}) < 1 << 63)"
        )
    writable = f" and {first}_edge is None and {fitting} and {first}_value.flags.c_contiguous"
    fits = f" and {first}_value.dtype is {second}_value.dtype and {second}_edge is None"
    fits += f" and ({second}_value.shape == {first}_value.shape or not {second}_value.shape)"
    before = f"(context is EVAL or context is NO_GRAD){unset} and "
    return INPLACE_TEXT.format(
        *names,
        first=format_gate(first, before=before, view=WRITABLE_VIEW, more=writable),
        second=format_gate(second, 4, more=fits),
        factor=factor,
        exact=exact,
    )
