"""Floating-point operations of contractions and convolutions: a multiplication and an addition for each product."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..kernels.contraction import parse_spec


def count_flops(name: str, operands: Sequence[Any], result: Any, params: dict[str, Any]) -> int:
    """Return the floating-point operations of a primitive, or of NumPy's function of that name, on operands of these
    (shape, dtype); 0 where they are not counted."""
    if name in ("matmul", "dot") and all(len(shape) for shape, _ in operands[:2]):
        return 2 * prod(np.shape(result)) * operands[0][0][-1]
    if name == "contract":
        left, right, _ = parse_spec(params["spec"])
        sizes = dict(zip(left + right, (*operands[0][0], *operands[1][0])))
        return 2 * prod(sizes.values())
    if name == "correlate":
        _, _, channels, *window = operands[1][0]
        return 2 * prod(np.shape(result)) * channels * prod(window)
    return 0
