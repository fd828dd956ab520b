"""SparseTensor: a Tensor that holds the indices of entries, and the entries as a Tensor with the history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ..errors import NotSupportedError
from .sparse_value import SparseValue
from .tensor import Size, Tensor, allocate_tensor, refresh


class SparseTensor(Tensor):
    """A Tensor that is zero but at some places; its methods are attached by the room `sparse`.

    Its history is that of its entries: operations on sparse Tensors are made of operations on entries, whose
    derivatives they have. As a leaf it is the entries that require a gradient, and have it.

    places      whole numbers (leading dimensions, number of places), an array
    entries     a Tensor (number of places, *the other dimensions)
    is_sorted   whether the places are in order, and each is there once: what torch calls coalesced
    compressed  whether it is shown as rows of columns (CSR): then it is sorted
    """

    places: np.ndarray
    entries: Tensor
    size_given: Size
    is_sorted: bool
    compressed: bool

    # What declared operations mean, by their names: functions of (operands, params).
    OPERATIONS: ClassVar[dict[str, Callable[..., Any]]] = {}

    _fx_value = property(
        lambda self: SparseValue(self.places, refresh(self.entries)._fx_value, self.size_given)
    )
    _fx_node = property(lambda self: self.entries._fx_node)
    _fx_tape: Any = property(lambda self: self.entries._fx_tape)
    _fx_view_meta = property(lambda self: None)
    _fx_accumulator = property(lambda self: self.entries._fx_accumulator)
    shape = property(lambda self: self.size_given)
    dtype = property(lambda self: self.entries.dtype)
    grad_fn = property(lambda self: self.entries.grad_fn)
    output_nr = property(lambda self: self.entries.output_nr)

    @classmethod
    def of(
        cls,
        places: np.ndarray,
        entries: Tensor,
        shape: tuple[int, ...],
        is_sorted: bool = False,
        compressed: bool = False,
    ) -> SparseTensor:
        """Return a sparse Tensor of these parts."""
        made = allocate_tensor(cls)
        made.places, made.entries, made.size_given = places, entries, Size(shape)
        made.is_sorted, made.compressed = is_sorted or places.shape[1] <= 1, compressed
        return made

    def with_entries(self, entries: Tensor) -> SparseTensor:
        """Return a sparse Tensor with other entries at the same places."""
        return type(self).of(self.places, entries, self.shape, self.is_sorted, self.compressed)

    @classmethod
    def operate(cls, op, operands, params: dict[str, Any], out: Tensor | None = None) -> Any:
        """Apply a declared operation to operands of which one is sparse.

        Raises:
            NotSupportedError: it is not defined of sparse Tensors, or the result is to be written elsewhere.
        """
        if out is not None:
            raise NotSupportedError(
                f"{op.name}(): out= with a sparse operand", hint="out.copy_(…) of the result"
            )
        meaning = cls.OPERATIONS.get(op.name)
        if meaning is None:
            raise NotSupportedError(
                f"Could not run 'aten::{op.name}' with arguments from the 'SparseCPU' backend.",
                hint="x.to_dense() has it, and x.values() for the entries alone",
            )
        return meaning(*operands, **params)
