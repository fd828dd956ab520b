"""The examples of a shared data set that each process takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import random as fxrandom
from ..core.errors import ShapeError
from ..core.interpreter import api_boundary
from ..numpy.placement import device_get
from .communicator import Communicator
from .processes import world


@api_boundary
def shard_indices(
    count: int, *, key: Any = None, epoch: int = 0, comm: Communicator | None = None
) -> np.ndarray:
    """The indices of this process's examples: those of all processes together are `range(count)`, each once.

    Args:
        count: the number of examples.
        key: a random key, the same on all processes, by which they are shuffled; None leaves them in order.
        epoch: the number of the epoch: each has an order of its own.
        comm: the group of processes; None is `world()`.

    Returns:
        int array. Some processes have one example more than others if they cannot be divided evenly.

    Raises:
        ShapeError: `count` is below zero.
        DTypeError: the key is none.

    >>> fx.distributed.shard_indices(5)
    array([0, 1, 2, 3, 4])
    """
    return part(order_of(count, key, epoch), comm)


@api_boundary
def shard_batches(
    count: int,
    size: int,
    *,
    key: Any = None,
    epoch: int = 0,
    drop_last: bool = False,
    comm: Communicator | None = None,
) -> Iterator[np.ndarray]:
    """The indices of this process's part of each batch. The parts of all processes together are the batches of one
    process with the same key, for any number of processes.

    Args:
        count: the number of examples.
        size: the number of examples of a batch, over all processes.
        key, epoch, comm: as for `shard_indices`.
        drop_last: leave out a last batch that is smaller.

    Returns:
        An iterator of int arrays, of as many on all processes. A part may be smaller than others, or empty: the mean
        over a batch is `fx.distributed.value_and_grad(loss, count=…)`.

    Raises:
        ShapeError: `count` is below zero, or `size` is below one.
        DTypeError: the key is none.

    >>> list(fx.distributed.shard_batches(5, 2))
    [array([0, 1]), array([2, 3]), array([4])]
    """
    if size < 1:
        raise ShapeError(f"shard_batches: a batch of {size} examples", hint="a size from 1 on")
    order = order_of(count, key, epoch)
    stop = count - count % size if drop_last else count
    return (part(order[start : start + size], comm) for start in range(0, stop, size))


def order_of(count: int, key: Any, epoch: int) -> np.ndarray:
    """Return the examples in the order of an epoch."""
    if count < 0:
        raise ShapeError(f"shard_indices: {count} examples", hint="the number of all examples, len(data) say")
    if key is None:
        return np.arange(count)
    return np.asarray(device_get(fxrandom.permutation(fxrandom.fold_in(key, epoch), count)))


def part(indices: np.ndarray, comm: Communicator | None) -> np.ndarray:
    """Return this process's part of indices; the first have one more where they cannot be divided evenly."""
    group = world() if comm is None else comm
    return np.array_split(indices, group.size)[group.rank]


__all__ = ["shard_batches", "shard_indices"]
