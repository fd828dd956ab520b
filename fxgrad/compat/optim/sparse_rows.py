"""Sparse gradients: COO Tensors, by their indices and values."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._core.tensor import Tensor


def rows_and_values(gradient: Tensor) -> tuple[tuple[Tensor, ...], Tensor]:
    """(index of the entries or rows, their values) of a sparse gradient, each of them once."""
    gradient = gradient.coalesce()
    return tuple(gradient.indices().unbind(0)), gradient.values()
