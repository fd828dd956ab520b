"""Integer arithmetic that vectors lack, for few entries in the steps of loops. Where NumPy would warn is a doubt."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.graph import Equation, Literal
from . import lanes
from .ir import I64
from .steps import Held, StepWriter, is_held, places_in, step_rule


def is_integral(e: Equation) -> bool:
    return (
        is_held(e.outputs[0].aval)
        and e.outputs[0].aval.dtype.kind in "iu"
        and all(type(a) is Literal or lanes.converts(a.aval.dtype, e.outputs[0].aval.dtype) for a in e.inputs)
    )


@step_rule("floor_divide", "remainder", "fmod", admits=is_integral)
def write_integer_division(w: StepWriter, e: Equation) -> None:
    """Write quotients rounded down, and remainders. Division by zero, and of the least number by −1, is a doubt."""
    dtype, name, f = e.outputs[0].aval.dtype, e.primitive.computes, w.function
    columns = [integer_entries(w, a, e, dtype) for a in e.inputs]
    found = []
    for x, y in zip(*columns):
        wrong = y.equals(0)
        if dtype.kind == "i":
            wrong = wrong | (y.equals(-1) & x.equals(int(np.iinfo(dtype).min)))
        w.doubt(wrong)
        y = wrong.select(1, y)
        if dtype.kind == "u":
            code = "udiv" if name == "floor_divide" else "urem"
            found.append(f.emit(f"{code} {x.type} {x.text}, {y.text}", x.type))
            continue
        rest = f.emit(f"srem {x.type} {x.text}, {y.text}", x.type)
        crossed = ~rest.equals(0) & ((rest ^ y) < 0)
        if name == "floor_divide":
            found.append(x / y - f.cast("zext", crossed, x.type))
        else:
            found.append(rest if name == "fmod" else crossed.select(rest + y, rest))
    w.bind(e.outputs[0], found)


def integer_entries(w: StepWriter, atom: Any, e: Equation, dtype: Any) -> Held:
    """Return the entries of an operand, repeated to the shape of the result and converted."""
    if type(atom) is Literal:
        return [lanes.vector(atom.value, dtype, w.function, 1)] * e.outputs[0].aval.size
    entries = [w.entries(atom)[k] for k in places_in(atom.aval.shape, e.outputs[0].aval.shape)]
    return [lanes.convert(v, atom.aval.dtype, dtype) for v in entries]


@step_rule(
    "less", "less_equal", "greater", "greater_equal",
    admits=lambda e: is_held(e.outputs[0].aval) and all(a.aval.dtype.kind == "u" and not a.aval.weak for a in e.inputs)
    and e.inputs[0].aval.dtype == e.inputs[1].aval.dtype,
)  # fmt: skip
def write_unsigned_comparison(w: StepWriter, e: Equation) -> None:
    code = {"less": "ult", "less_equal": "ule", "greater": "ugt", "greater_equal": "uge"}[
        e.primitive.computes
    ]
    columns = [integer_entries(w, a, e, e.inputs[0].aval.dtype) for a in e.inputs]
    w.bind(
        e.outputs[0],
        [
            w.function.emit(f"icmp {code} {x.type} {x.text}, {y.text}", x.type.of("i1"))
            for x, y in zip(*columns)
        ],
    )


@step_rule(
    "convert",
    admits=lambda e: (
        is_held(e.outputs[0].aval)
        and e.outputs[0].aval.dtype == np.int64
        and e.inputs[0].aval.dtype in (np.float32, np.float64)
        and type(e.inputs[0]) is not Literal
    ),
)
def write_truncation(w: StepWriter, e: Equation) -> None:
    """Write the conversion of floating-point numbers to integers; numbers out of range raise a doubt."""
    found = []
    for x in w.entries(e.inputs[0]):
        inside = x.intrinsic("fabs") < 2.0**62
        w.doubt(~inside)
        found.append(w.function.cast("fptosi", inside.select(x, 0.0), I64))
    w.bind(e.outputs[0], found)
