"""Functions that inspect the entries of arrays, separately for each element of a batch."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ...extend import BatchTracer, PrimalTracer, Tracer, aval_of, concretize, levels, ops, use_context
from .._core.device_level import run_on_host
from ..errors import TensorError


def by_entries(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function of concrete arrays one of values. If values differ between the entries of a batch, it is computed
    entry by entry, as torch does without a batching rule, and the results are stacked. NumPy computes it, also of what
    is on a device.
    """

    @wraps(function)
    def compute(**given) -> Any:
        given = {name: without_tangent(value) for name, value in given.items()}
        level = next((x for x in levels() if any(is_batch_of(x, v) for v in given.values())), None)
        if level is None:
            name = function.__name__
            known = {k: concretize(v, name) if isinstance(v, Tracer) else v for k, v in given.items()}
            return run_on_host(function, known)
        with use_context(level.outer):
            entries = [
                compute(**{k: entry_of(v, i) if is_batch_of(level, v) else v for k, v in given.items()})
                for i in range(level.size)  # type: ignore[attr-defined]
            ]
            if isinstance(entries[0], list):
                return [stack_entries(level, parts) for parts in zip(*entries)]
            return stack_entries(level, entries)

    return compute


def without_tangent(value) -> Any:
    """Return the value of an outer level that a value with a tangent or a history stands for."""
    while isinstance(value, PrimalTracer):
        value = value.primal
    return value


def entries_of_all(value, what: str) -> Any:
    """Return the array of the entries of all batches of a value; raise if they are not known yet."""
    while isinstance(value, PrimalTracer | BatchTracer):
        value = value.value if isinstance(value, BatchTracer) else value.primal
    return concretize(value, what)


def is_batch_of(level, value) -> bool:
    """Whether a value is a batch of this level."""
    return type(value) is BatchTracer and value.interpreter is level


def entry_of(batch, place: int) -> Any:
    """Return an entry of a batch."""
    return ops.reshape(ops.getitem(batch.value, index=(place,)), shape=batch.shape)


def stack_entries(level, entries) -> Any:
    """Stack entries to a batch; raise unless they have one shape."""
    shapes = [list(aval_of(x).shape) for x in entries]
    for i, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise TensorError(
                f"stack expects each tensor to be equal size, but got {shapes[0]} at entry 0 and {shape} at entry {i}",
                hint="the function has to return one shape for every entry of the batch",
            )
    return BatchTracer(level, ops.stack(entries, 0))
