"""Reductions of large arrays as machine code, for code that is not compiled as a whole: as groups of one equation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...core.aval import Aval
from ...core.cache import Cache
from ...core.costs import COMPILATION
from ...core.graph import Equation, Graph, Var
from ..group import numpy_time
from ..space import Space
from . import engine, groups
from .runner import make_runner
from .tier import Tier

_tiers: Cache = Cache(128)  # primitive, dtype, shape, axes → (Tier, the time of a call of NumPy)


def reduce_natively(
    primitive: Any, reduce: Callable[..., Any], x: np.ndarray, axes: tuple[int, ...]
) -> np.ndarray | None:
    """Reduce an array along axes by a primitive, which NumPy carries out as `reduce`; or return None if NumPy is to
    compute it. The result lies in memory in the order in which the array does."""
    if engine.mode() == "never":
        return None
    if not (x.flags.c_contiguous and x.flags.aligned):
        order = sorted(range(x.ndim), key=lambda a: -x.strides[a])
        ordered = x.transpose(order)
        if not (ordered.flags.c_contiguous and ordered.flags.aligned):
            return None
        y = reduce_natively(primitive, reduce, ordered, tuple(k for k, a in enumerate(order) if a in axes))
        kept = [a for a in order if a not in axes]
        return y if y is None else y.transpose(sorted(range(len(kept)), key=kept.__getitem__))
    key = primitive, x.dtype, x.shape, axes
    found = _tiers.get(key)
    if found is None:
        found = _tiers[key] = make_tier(primitive, reduce, x, axes)
    tier, time = found
    native = None if tier is None else tier.ask(time)
    return None if native is None else native(x)[0]


def make_tier(
    primitive: Any, reduce: Callable[..., Any], x: np.ndarray, axes: tuple[int, ...]
) -> tuple[Tier | None, float]:
    """Return the Tier of a reduction, if machine code can be made of it, and the nanoseconds that NumPy takes."""
    operand = Var(Aval(x.shape, x.dtype))
    result = Var(primitive.abstract_eval([operand.aval], {"axes": axes}))
    equation = Equation(primitive, [operand], [result], {"axes": axes}, None)
    if operand.aval.size in (0, result.aval.size) or not groups.admits(equation):
        return None, 0.0
    graph = Graph([operand], [equation], [result])
    make = partial(make_runner, Space(graph), lambda x: [reduce(x, axis=axes)])
    return Tier(make, COMPILATION, primitive.name), numpy_time(graph)
