"""Parameters, or other Tensors, as one vector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..._core.tensor import Tensor
from ...errors import ArgumentError
from ...ops.joining import cat


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Concatenate all entries of all parameters to a vector.

    Returns:
        A vector.

    >>> torch.nn.utils.parameters_to_vector([torch.zeros(1), torch.ones(1, 2)])
    tensor([0., 1., 1.])
    """
    return cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Make the entries of a vector those of the parameters, which are views of it afterwards.

    Args:
        vec: the vector.

    Returns:
        None.

    Raises:
        TypeError: `vec` is no Tensor.

    >>> layer = torch.nn.Linear(1, 1)
    >>> torch.nn.utils.vector_to_parameters(torch.tensor([2.0, 3.0]), layer.parameters())
    >>> layer.weight.item(), layer.bias.item()
    (2.0, 3.0)
    """
    if not isinstance(vec, Tensor):
        raise ArgumentError(
            f"expected torch.Tensor, but got: {type(vec).__name__}",
            hint="torch.nn.utils.parameters_to_vector(parameters), which makes such a vector",
        )
    start = 0
    for p in parameters:
        count = p.shape.numel()
        p.data = vec[start : start + count].view_as(p).data
        start += count


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenate all entries of Tensors to a vector."""
    return parameters_to_vector(tensors)


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """View the parts of a vector as Tensors of the shapes of others."""
    start, parts = 0, []
    for t in tensors:
        parts.append(flat.narrow(0, start, t.numel()).view_as(t))
        start += t.numel()
    return tuple(parts)


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Group Tensors into lists of one dtype, each list of at most `size_limit` bytes or of one Tensor."""
    gathered: dict[object, list[Tensor]] = {}
    for t in tensors:
        group = gathered.setdefault(t.dtype, [])
        if group and sum(g.nbytes for g in group) + t.nbytes > size_limit:
            yield group
            group = gathered[t.dtype] = []
        group.append(t)
    yield from gathered.values()
