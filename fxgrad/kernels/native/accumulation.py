"""Running results along an axis, zₖ = zₖ₋₁ ∘ xₖ or zₖ = aₖ·zₖ₋₁ + bₖ, with NumPy's rounding. The steps of a line depend
on one another, so several lines are processed at once.

    i32 accumulate(first, last, lines, count, (outer step, line step, step, array)…)    returns its exceptions
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ...core.costs import ACCUMULATED_ENTRIES, CUMULATED_ROW, CUMULATION_TIME
from ..memory import allocate
from . import engine, exceptions, lanes, math
from .ir import I64, PTR, Function, Type, Value
from .kernel import ask_kernel
from .runner import concerns_somebody
from .tables import address
from .threads import Crew

RECURRENCE = "recurrence"
DTYPES = frozenset(map(np.dtype, (np.float32, np.float64, np.int64)))  # that NumPy adds up as they are
ELEMENT_DTYPES = {math.ELEMENTS[d.name]: d for d in DTYPES}
SINGLE = np.dtype(np.float32)
TOGETHER = 8  # lines that are worked on at once


def accumulate_function(
    name: str, element: str, combination: str, source: str = "", target: str = ""
) -> Function:
    """Return the function that accumulates the entries of lines; its last array takes the results. `source` and
    `target` name the dtypes of these arrays, if they are others than that in which it computes."""
    count_of_arrays = 3 if combination == RECURRENCE else 2
    f = Function(name, [I64, I64, I64, I64, *[I64, I64, I64, PTR] * count_of_arrays], "i32")
    first_unit, last_unit, lines, count, *rest = f.arguments
    arrays = [rest[4 * k : 4 * k + 4] for k in range(count_of_arrays)]
    type = Type(element)
    wide = ELEMENT_DTYPES[element]
    given, kept = (np.dtype(n) if n else wide for n in (source, target))

    def write_lines(block: Value, first: Value, together: int) -> None:
        begins = [
            [
                f.place(pointer, block * far + (first + i) * near, lanes.memory_element(dtype))
                for i in range(together)
            ]
            for (far, near, _, pointer), dtype in zip(arrays, [given] * (len(arrays) - 1) + [kept])
        ]
        results = begins[-1]
        steps = [step for *_, step, _ in arrays]

        def entries(k: int, place: Value) -> list[Value]:
            loaded = [f.load(begin, lanes.memory_type(given, 1), place * steps[k]) for begin in begins[k]]
            return [lanes.convert(lanes.from_memory(x, given), given, wide) for x in loaded]

        def keep(values: Sequence[Value], place: Value) -> None:
            for begin, value in zip(results, values):
                if kept != wide and kept.itemsize < SINGLE.itemsize:  # rounded as by NumPy, step by step
                    value = lanes.convert(lanes.convert(value, wide, SINGLE), SINGLE, kept)
                f.store(lanes.convert(value, wide, kept), begin, place * steps[-1])

        if combination == RECURRENCE:
            carry = [f.constant(0.0, type)] * together
            with f.loop(count, carry=carry) as loop:
                factors, sources = (entries(k, loop.index) for k in range(2))
                loop.update(*(a * z + b for a, z, b in zip(factors, loop.carry, sources)))
                keep(loop.following, loop.index)
            return
        start = entries(0, f.constant(0, I64))
        keep(start, f.constant(0, I64))
        with f.loop(count, 1, carry=start) as loop:
            pairs = zip(loop.carry, entries(0, loop.index))
            loop.update(*(math.apply(combination, z, x) for z, x in pairs))
            keep(loop.following, loop.index)

    groups = (lines + (TOGETHER - 1)) / TOGETHER
    with exceptions.watch(f) as raised, f.loop(last_unit, first_unit) as unit:
        block = unit.index / groups
        begin = (unit.index - block * groups) * TOGETHER
        left = (lines - begin).intrinsic("smin", f.constant(TOGETHER, I64))
        with f.when(left.equals(TOGETHER)):
            write_lines(block, begin, TOGETHER)
        with f.when(left < TOGETHER), f.loop(left) as one:
            write_lines(block, begin + one.index, 1)
    f.return_value(raised.value)
    return f


def accumulate_natively(
    combination: str, *operands: Any, axis: int, wide: Any = None, target: Any = None
) -> np.ndarray | None:
    """Return the running results of arrays of one shape and dtype along an axis, or None if NumPy is to compute them.

    `combination` is the name of a primitive of two operands, or RECURRENCE, of which a and b are the operands. The
    results lie in memory as the last operand does along the axis: forwards or backwards. They may be computed in a
    `wide` dtype, and converted to a `target`.
    """
    last = operands[-1]
    shape, dtype = last.shape, last.dtype
    width = prod(shape[axis + 1 :])
    asked = engine.mode()
    least = 1 if asked == "always" else ACCUMULATED_ENTRIES
    if asked == "never" or shape[axis] < 2 or last.size < least:
        return None
    if wide is None and width >= CUMULATED_ROW:
        return None
    if wide is not None and not (lanes.is_known(dtype) and (dtype.name != "float16" or math.converts_half())):
        return None
    if (wide or dtype) not in DTYPES or (combination == RECURRENCE and dtype.kind != "f"):
        return None
    if any(type(v) is not np.ndarray or v.shape != shape or v.dtype != dtype for v in operands):
        return None
    names = () if wide is None else (dtype.name, target.name)
    run = ask_kernel(CUMULATION_TIME * last.size, accumulate_function, wide or dtype, combination, *names)
    if run is None:
        return None
    y = allocate(shape, target or dtype)
    if last.strides[axis] < 0:
        y = y[(*(slice(None),) * axis, slice(None, None, -1))]
    split = (prod(shape[:axis]), shape[axis], width)
    arguments: list[int] = []
    arrays = [*(v if v.flags.aligned else v.copy() for v in operands), y]
    seen = [v.reshape(split) for v in arrays]
    for v in seen:
        far, step, near = (s // v.itemsize for s in v.strides)
        places = (0, far, step) if width == 1 else (far, near, step)
        arguments += [*places, address(v)]
    outer, lines = (1, split[0]) if width == 1 else (split[0], width)
    units = outer * -(-lines // TOGETHER)
    raised = Crew(run, units, CUMULATION_TIME * last.size)(0, units, lines, shape[axis], *arguments)
    return None if raised and concerns_somebody(raised) else y
