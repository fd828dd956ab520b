"""Sequential addition of slices at positions along an axis: a position that repeats is added to in order."""

from __future__ import annotations

from math import prod

import numpy as np

from ...core.costs import SCATTER_TIME
from . import engine
from .conv import address, lanes
from .ir import I64, PTR, Function, Type
from .kernel import ELEMENTS, ask_kernel


def add_slices_function(name: str, element: str) -> Function:
    """Return the function (blocks, length, count, width, rows, u, out) that adds u (blocks, count, width) to rows of
    out (blocks, length, width)."""
    width = lanes(element)
    f = Function(name, [I64, I64, I64, I64, PTR, PTR, PTR])
    blocks, length, count, size, rows, u, out = f.arguments
    whole = size - (size & (width - 1))
    with f.loop(blocks) as block, f.loop(count) as i:
        source = f.place(u, (block.index * count + i.index) * size, element)
        row = f.load(rows, I64, i.index)
        target = f.place(out, (block.index * length + row) * size, element)
        for stop, start, step in ((whole, 0, width), (size, whole, 1)):
            type = Type(element, step)
            with f.loop(stop, start, step=step) as j:
                total = f.load(target, type, j.index) + f.load(source, type, j.index)
                f.store(total, target, j.index)
    return f


def add_slices(out: np.ndarray, rows: np.ndarray, u: np.ndarray, axis: int) -> bool:
    """Add the slices of u along an axis to the slices of `out` at the valid numbers `rows`; return whether machine code
    did so. It tells of no floating-point exceptions."""
    shape = (*out.shape[:axis], len(rows), *out.shape[axis + 1 :])
    if u.dtype != out.dtype or u.shape != shape or out.dtype not in ELEMENTS or engine.mode() == "never":
        return False
    if not (out.flags.c_contiguous and out.flags.aligned and out.flags.writeable):
        return False
    run = ask_kernel(SCATTER_TIME * u.size, add_slices_function, out.dtype)
    if run is None:
        return False
    rows, u = np.ascontiguousarray(rows, np.int64), np.require(u, requirements=("C", "A"))
    numbers = prod(shape[:axis]), out.shape[axis], len(rows), prod(shape[axis + 1 :])
    run(*numbers, *map(address, (rows, u, out)))
    return True
