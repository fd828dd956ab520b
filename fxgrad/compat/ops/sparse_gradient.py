"""Selection of entries of a leaf whose gradient is sparse, with exactly the selected entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...extend import CURRENT, EVAL, PullbackRule, ops
from .._core.sparse_value import SparseValue
from .._core.tape import BASE_TAPE, LEAF, Node, grad_accumulator
from .._core.tensor import Tensor, make_tensor


class ChosenPlaces(PullbackRule):
    """The pullback rule of a selection: the cotangent of an entry goes to its place; `kept` restricts the entries."""

    __slots__ = ("kept", "places", "shape")
    saved_from = ()

    def __init__(self, places: np.ndarray, shape: tuple[int, ...], kept: np.ndarray | None):
        self.places, self.shape, self.kept = places, shape, kept

    def pull(self, ct: Any, *residuals: Any) -> Sequence[Any]:
        """See `PullbackRule`."""
        rank, count = self.places.shape
        entries = ops.reshape(ct, shape=(count, *self.shape[rank:]))
        if self.kept is not None:
            entries = ops.getitem(entries, self.kept, index=(ops.ARRAY,))
            return [SparseValue(self.places[:, self.kept], entries, self.shape)]
        return [SparseValue(self.places, entries, self.shape)]


def choose_sparsely(
    op: Any, source: Tensor, index: Sequence[Any], kept: np.ndarray | None = None
) -> Tensor | None:
    """Choose entries, or parts, of a Tensor by places along its first dimensions.

    Args:
        op: the operation that the node is named after.
        source: the Tensor.
        index: whole numbers along each of these dimensions: arrays of one shape.
        kept: the numbers of those places whose entries have a gradient; None: all.

    Returns:
        The Tensor of what was chosen; None where the gradient cannot be sparse: the source is no leaf that requires a
        gradient, or is traced.
    """
    value = source._fx_value
    if CURRENT.get() is not EVAL or source._fx_node is not LEAF or source._fx_tape is not BASE_TAPE:
        return None
    if source._fx_view_meta is not None or type(value) is not np.ndarray:
        return None
    if not all(type(places) is np.ndarray for places in index):
        return None
    rows = np.array([places.reshape(-1) for places in index], np.int64)
    rule = ChosenPlaces(rows % np.array(value.shape[: len(rows)])[:, None], value.shape, kept)
    node = Node(op, rule, (), (grad_accumulator(source),))
    return make_tensor(BASE_TAPE, value[tuple(index)], node)
