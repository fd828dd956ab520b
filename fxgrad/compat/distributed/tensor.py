"""torch.distributed.tensor: how a Tensor would be laid out over a mesh of devices, as values that programs compare.

There is no DTensor: each process has whole Tensors, and `DistributedDataParallel` or `fxgrad.distributed` divide work.
"""

from __future__ import annotations

from dataclasses import dataclass


class Placement:
    """The base of placements."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether each process has a part along an axis: along `dim`, or any.

        >>> from fxgrad.compat.distributed.tensor import Shard
        >>> Shard(0).is_shard(), Shard(0).is_shard(dim=1)
        (True, False)
        """
        return False

    def is_replicate(self) -> bool:
        """Whether each process has all of it.

        >>> from fxgrad.compat.distributed.tensor import Replicate
        >>> Replicate().is_replicate()
        True
        """
        return False

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether it is the sum, or another reduction, of what the processes have: `reduce_op`, or any.

        >>> from fxgrad.compat.distributed.tensor import Partial
        >>> Partial("avg").is_partial(), Partial("avg").is_partial("sum")
        (True, False)
        """
        return False


@dataclass(frozen=True)
class Shard(Placement):
    """The placement of a Tensor of which each process has a part.

    Args:
        dim: the axis along which it is divided.

    >>> from fxgrad.compat.distributed.tensor import Shard
    >>> Shard(1), str(Shard(1)), Shard(1) == Shard(0)
    (Shard(dim=1), 'S(1)', False)
    """

    dim: int

    def is_shard(self, dim: int | None = None) -> bool:
        return dim is None or dim == self.dim

    def __str__(self) -> str:
        return f"S({self.dim})"


@dataclass(frozen=True)
class Replicate(Placement):
    """The placement of a Tensor of which each process has all.

    >>> from fxgrad.compat.distributed.tensor import Replicate
    >>> Replicate() == Replicate(), str(Replicate())
    (True, 'R')
    """

    def is_replicate(self) -> bool:
        return True

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True, repr=False)
class Partial(Placement):
    """The placement of a Tensor that is a reduction of what the processes have.

    Args:
        reduce_op: "sum", "avg", "product", "max", "min".

    >>> from fxgrad.compat.distributed.tensor import Partial
    >>> Partial(), str(Partial("avg"))
    (Partial(sum), 'P(avg)')
    """

    reduce_op: str = "sum"

    def is_partial(self, reduce_op: str | None = None) -> bool:
        return reduce_op is None or reduce_op == self.reduce_op

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"


__all__ = ["Partial", "Placement", "Replicate", "Shard"]
