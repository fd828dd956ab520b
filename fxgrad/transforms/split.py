"""`vmap(f, control="split")`: Python's `if` and `while` on batched values.

The function runs on the whole batch until it asks for a value that differs between the entries. The batch is then split
into groups with equal answers, and the function runs again on each of them, up to its next question. So the function
must be pure. No entry is computed along a path that it does not take, and the number of runs is less than twice the
number of paths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..core.aval import WEAK_TYPES, aval_of
from ..core.errors import ShapeError
from ..core.interpreter import concretize
from .arguments import LeafName, leaf_path
from .vmap import BatchInterpreter, vmap_with


class Fork(BaseException):
    """Raised where the entries of a batch disagree; `groups` are the positions of those that agree. Not an Exception,
    which the user's code might catch."""

    def __init__(self, interpreter: SplitInterpreter, groups: list[np.ndarray]):
        super().__init__()
        self.interpreter, self.groups = interpreter, groups


class SplitInterpreter(BatchInterpreter):
    """A batch whose entries are asked for their values together."""

    __slots__ = ()

    def concretize(self, tracer: Any, operation: str) -> Any:
        """The value that all entries have; raises `Fork` where they differ."""
        entries = np.asarray(concretize(tracer.value, operation))
        if not len(entries):
            return super().concretize(tracer, operation)
        distinct, group = np.unique(entries, axis=0, return_inverse=True)
        if len(distinct) > 1:
            raise Fork(self, [np.flatnonzero(group.reshape(-1) == i) for i in range(len(distinct))])
        return entries[0]


def vmap_in_groups(
    fun: Callable[..., Sequence[Any]],
    values: Sequence[Any],
    is_batched: Sequence[bool],
    size: int,
    site: Any,
    structure: Callable[[], Any],
) -> tuple[list[Any], list[bool]]:
    """Map a function as `vmap_flat` does, where it may ask for batched values; `structure` is for
    messages."""
    pending, done = [np.arange(size)], []
    while pending:
        members = pending.pop()
        part = values if len(members) == size else take_members(values, is_batched, members)
        interpreter = SplitInterpreter(site, len(members))
        try:
            done.append((members, *vmap_with(interpreter, fun, part, is_batched)))
        except Fork as fork:
            if fork.interpreter is not interpreter:
                raise  # a question of an outer level
            pending += [members[group] for group in reversed(fork.groups)]
    if len(done) == 1:
        return done[0][1:]
    order = np.argsort(np.concatenate([members for members, *_ in done]))
    merged = []
    for index, parts in enumerate(zip(*[results for _, results, _ in done])):
        flags = [flags[index] for *_, flags in done]
        place = LeafName("vmap: the result", leaf_path, structure(), index)
        joined = ops.concatenate(
            *unify_groups(parts, flags, [len(members) for members, *_ in done], place), axis=0
        )
        merged.append(ops.getitem(joined, order, index=(ops.ARRAY,)))
    return merged, [True] * len(merged)


def take_members(values: Sequence[Any], is_batched: Sequence[bool], members: np.ndarray) -> list[Any]:
    """Take the entries `members` of the batched values."""
    return [ops.getitem(v, members, index=(ops.ARRAY,)) if b else v for v, b in zip(values, is_batched)]


def unify_groups(
    parts: Sequence[Any], flags: Sequence[bool], sizes: Sequence[int], what: LeafName
) -> list[Any]:
    """Give the results of all groups a leading batch axis and one dtype."""
    avals = [aval_of(p) for p in parts]
    shapes = [a.shape[f:] for a, f in zip(avals, flags)]
    if len(set(shapes)) > 1:
        raise ShapeError(
            f"{what} has different shapes for entries that take different ways: {sorted(set(shapes))}",
            hint="return arrays of one shape whichever way is taken",
        )
    dtype = np.result_type(*[WEAK_TYPES[a.dtype.kind](1) if a.weak else a.dtype for a in avals])
    return [
        ops.convert(p if f else ops.broadcast_to(p, shape=(n, *a.shape)), dtype=dtype)
        for p, f, n, a in zip(parts, flags, sizes, avals)
    ]
