"""Direct forms of equations: the NumPy calls to which kernels reduce for known operands.

A kernel serves operands of any kind, so it inspects them and its params first. Where avals give the answers, the code
contains only the resulting call: `x.dot(w)` instead of `contract(x, w, spec="ij,jk->ik")`. Both compute the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.costs import FUSED_ENTRIES, WHERE_ENTRIES
from ..contraction import NUMBERS, dot_order, plan_contraction
from ..conversion import is_for_machine_code
from ..matmul import dot, is_small

if TYPE_CHECKING:
    from ...core.graph import Equation

REDUCTIONS = {
    "reduce_sum": ("add_reduce", np.add.reduce),
    "reduce_prod": ("multiply_reduce", np.multiply.reduce),
    "reduce_max": ("maximum_reduce", np.maximum.reduce),
    "reduce_min": ("minimum_reduce", np.minimum.reduce),
    "reduce_any": ("logical_or_reduce", np.logical_or.reduce),
    "reduce_all": ("logical_and_reduce", np.logical_and.reduce),
}


def direct_form(
    equation: Equation, operands: Sequence[str], name: Callable[[str, Any], str], buffer: str | None
) -> str | None:
    """Return the NumPy call that carries out an equation on the expressions `operands`, or None if its kernel must be
    called. `name` gives a value a name in the code: that which is asked for, if it is free. The result is written into
    the array `buffer`, if there is one, which only an equation that `takes_buffer` is given."""
    primitive = equation.primitive.computes
    if primitive == "fused":
        fused: Any = equation.primitive
        return f"{name('group', fused.group(**equation.params))}({', '.join(operands)})"
    first = equation.inputs[0].aval if equation.inputs else None
    if first is None or first.shape == ():  # which may be an array, a scalar, or a number
        return None
    if primitive in REDUCTIONS:
        if buffer is None and first.size >= FUSED_ENTRIES:
            return None  # the kernel knows machine code
        axes = equation.params["axes"]
        out = "" if buffer is None else f", None, {buffer}"
        return f"{name(*REDUCTIONS[primitive])}({operands[0]}, {axes[0] if len(axes) == 1 else axes}{out})"
    if primitive == "contract":
        return contraction(equation, operands, name, buffer)
    form = FORMS.get(primitive)
    return form(equation, operands, name) if form else None


def is_dot(equation: Equation) -> bool:
    """Whether an equation is one call of NumPy's `dot`."""
    if equation.primitive.computes != "contract" or dot_order(equation.params["spec"]) is None:
        return False
    return all(a.aval.dtype.kind in NUMBERS for a in equation.inputs)


def dot_operands(equation: Equation, operands: Sequence[str]) -> tuple[str, str]:
    """Return the expressions of which a contraction is NumPy's `dot`."""
    order: Any = dot_order(equation.params["spec"])
    first, second = operands[::-1] if order.swapped else operands
    return first + ".T" * order.flip_first, second + ".T" * order.flip_second


def contraction(
    equation: Equation, operands: Sequence[str], name: Callable[[str, Any], str], buffer: str | None
) -> str | None:
    spec = equation.params["spec"]
    if not is_dot(equation):
        return f"{name('contract', plan_contraction(spec))}({', '.join(operands)})"
    order: Any = dot_order(spec)
    first, second = dot_operands(equation, operands)
    out = "" if buffer is None else f", {buffer}"
    left, right = (a.aval.size for a in equation.inputs)
    shape = equation.inputs[order.swapped].aval.shape
    if is_small(left, right, shape[0 if order.flip_first else -1]):
        return f"{first}.dot({second}{out})"
    return f"{name('dot', dot)}({first}, {second}{out})"


def reshaping(equation: Equation, operands: Sequence[str], name: Callable[[str, Any], str]) -> str:
    return f"{operands[0]}.reshape({equation.params['shape']})"


def permutation(equation: Equation, operands: Sequence[str], name: Callable[[str, Any], str]) -> str:
    axes = equation.params["axes"]
    return operands[0] + (".T" if axes == tuple(range(len(axes)))[::-1] else f".transpose({axes})")


def conversion(equation: Equation, operands: Sequence[str], name: Callable[[str, Any], str]) -> str | None:
    dtype = equation.params["dtype"]
    if is_for_machine_code(equation.inputs[0].aval, dtype):  # for which the kernel has another way
        return None
    return f"{operands[0]}.astype({name(str(dtype), dtype)})"


def indexing(equation: Equation, operands: Sequence[str], name: Callable[[str, Any], str]) -> str | None:
    index = equation.params["index"]
    if len(operands) > 1 or not all(type(part) in (int, slice) or part is None for part in index):
        return None
    parts = [slice_text(part) if type(part) is slice else str(part) for part in index]
    return f"{operands[0]}[{', '.join(parts) or '()'}]"


def slice_text(part: slice) -> str:
    """Format a slice as source text: `1:`, `::-1`."""
    start, stop, step = ("" if n is None else str(n) for n in (part.start, part.stop, part.step))
    return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"


def choice(equation: Equation, operands: Sequence[str], name: Callable[[str, Any], str]) -> str | None:
    few = equation.outputs[0].aval.size < WHERE_ENTRIES  # the kernel has other ways for more
    return f"{name('where', np.where)}({', '.join(operands)})" if few else None


FORMS: dict[str, Callable[..., str | None]] = {
    "convert": conversion,
    "getitem": indexing,
    "permute": permutation,
    "reshape": reshaping,
    "where": choice,
}
# Primitives, beside ufuncs, whose results are arrays that nobody else has.
NEW_MEMORY = frozenset({*REDUCTIONS, "contract", "convert", "where"})


def makes_memory(equation: Equation) -> bool:
    """Whether the result has its own memory, which no operand and no other object shares."""
    if equation.primitive.computes == "fused":
        if equation.params.get("whole"):
            return True
        group = equation.params["graph"]
        made = {v for e in group.equations if makes_memory(e) for v in e.outputs}
        return made.issuperset(group.outputs)
    return isinstance(equation.primitive.kernel, np.ufunc) or equation.primitive.computes in NEW_MEMORY


def takes_buffer(equation: Equation) -> bool:
    """Whether the code of an equation on arrays can be told where to write its result."""
    kernel: Any = equation.primitive.kernel
    if len(equation.outputs) != 1 or equation.outputs[0].aval.shape == ():  # which is a scalar
        return False
    if type(kernel) is np.ufunc:
        return len(equation.inputs) == kernel.nin and not equation.params
    return equation.primitive.computes in REDUCTIONS or is_dot(equation)
