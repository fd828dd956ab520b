"""Floating-point operations as torch counts them: of matrix products and convolutions, sums and products."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .profiler_util import FunctionEvent

# Name → the places of the two matrices among the inputs.
PRODUCTS = {"aten::mm": (0, 1), "aten::addmm": (1, 2), "aten::bmm": (0, 1), "aten::baddbmm": (1, 2)}
ENTRYWISE = ("aten::add", "aten::mul")
CONVOLUTIONS = tuple(f"aten::conv{kind}{n}d" for kind in ("", "_transpose") for n in (1, 2, 3))
COUNTED = {*PRODUCTS, *ENTRYWISE, *CONVOLUTIONS}


def count_flops(event: FunctionEvent) -> None:
    """Set the floating-point operations of an event, including those of the events inside it. Outer events come
    first."""
    shapes = event.input_shapes or []
    if event.cpu_parent is not None and event.cpu_parent.name in COUNTED:
        event.flops = 0
    elif (
        event.name in PRODUCTS and not event.flops
    ):  # of a primitive, whose operands may be transposed, it is known
        left, right = (shapes[i] for i in PRODUCTS[event.name])
        event.flops = 2 * prod(left) * right[-1]
    elif event.name in CONVOLUTIONS:
        event.flops = sum(child.flops or 0 for child in event.cpu_children)
    elif event.name in ENTRYWISE and shapes:
        event.flops = max(map(prod, shapes))
