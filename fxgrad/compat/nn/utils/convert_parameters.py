"""Parameters as one vector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._core.errors import ArgumentError
from ..._core.tensor import Tensor
from ...ops.joining import cat

if TYPE_CHECKING:
    from collections.abc import Iterable


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Concatenate all entries of all parameters to a vector.

    >>> import fxgrad.compat as torch
    >>> torch.nn.utils.parameters_to_vector([torch.zeros(1), torch.ones(1, 2)])
    tensor([0., 1., 1.])
    """
    return cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make the entries of a vector those of the parameters, which are views of it afterwards."""
    if not isinstance(vec, Tensor):
        raise ArgumentError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    start = 0
    for p in parameters:
        count = p.shape.numel()
        p.data = vec[start : start + count].view_as(p).data
        start += count
