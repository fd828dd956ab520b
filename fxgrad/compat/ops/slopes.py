"""Numerical gradients of sampled functions."""

from __future__ import annotations

from typing import Any

from ... import numpy as fnp
from ...extend import is_differentiable, ops
from .._core.dtypes import as_python_number, default_numpy_dtype
from .._core.precision import value_dtype
from .._core.tensor import Tensor
from .._declare.operation import operation
from ..errors import TensorError
from .arguments import normalize_dims


def gradient_arguments(input, *, spacing=1, dim=None, edge_order: int = 1) -> Any:
    """Spacings are a number, or for each dimension a number or the Tensor of its coordinates."""
    if isinstance(spacing, Tensor):
        spacing = spacing.item()
    spacing = 1 if spacing is None else spacing
    given = list(spacing) if isinstance(spacing, tuple | list) else [spacing]
    coordinates = [s for s in given if isinstance(s, Tensor)]
    steps = tuple(None if isinstance(s, Tensor) else as_python_number(s) for s in given)
    single = not isinstance(spacing, tuple | list)
    return (input, coordinates), {"steps": steps, "single": single, "dim": dim, "edge_order": edge_order}


@operation(
    "input *coordinates",
    results=tuple,
    out=False,
    spaces="function",
    copies_operands=True,
    arguments=gradient_arguments,
)
def gradient(input, coordinates, steps, single: bool, dim, edge_order: int) -> Any:
    """The slopes of samples along dimensions, one Tensor for each: differences of second order, one-sided at both ends.

    Args:
        spacing: the distance of the samples, or for each dimension its distance or the coordinates, which are a Tensor.
        dim: the dimensions, all unless they are given.
        edge_order: 1 or 2, the order of the differences at the ends.

    Raises:
        RuntimeError: fewer samples than edge_order + 1 along a dimension, or too few spacings.

    >>> torch.gradient(torch.tensor([0.0, 1.0, 4.0]), spacing=2.0)[0].tolist()
    [0.5, 1.0, 1.5]
    """
    if edge_order not in (1, 2):
        raise TensorError(
            "torch.gradient only supports edge_order=1 and edge_order=2.",
            hint=f"edge_order={2 if edge_order > 2 else 1}",
        )
    dims = normalize_dims(dim, input.ndim)
    if any(input.shape[d] < edge_order + 1 for d in dims):
        raise TensorError(
            "torch.gradient expected each dimension size to be at least edge_order+1",
            hint=f"dim=… of {edge_order + 1} entries or more",
        )
    if not single and len(steps) != len(dims):
        what = f"'self.dim() = {input.ndim}', since dim argument was not given" if dim is None else "'dim'"
        raise TensorError(
            f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to {what}, but "
            f"got a list of length {len(steps)}",
            hint=f"spacing={steps[0]}, for all dimensions, or {len(dims)} numbers",
        )
    if not is_differentiable(value_dtype(input)):
        input = ops.convert(input, dtype=default_numpy_dtype("f"))
    rest = iter(coordinates)
    slopes = []
    for d, step in zip(dims, steps * (len(dims) if single else 1)):
        spacing = (next(rest),) if step is None else ()
        slope = fnp.gradient(input, *spacing, axis=d, edge_order=edge_order)
        if step not in (None, 1):
            slope = slope / step  # at last: by 0 it is infinite, also at the ends
        slopes.append(slope)
    return slopes
