"""The samples that each of several processes loads."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from ..._make.generators import Generator
from ..._make.sampling import randperm
from ...distributed.groups import get_rank, get_world_size
from ...errors import ArgumentValueError
from .sampler import Sampler


class DistributedSampler(Sampler):
    """The numbers of those samples that one of several processes is to load.

    Args:
        dataset: the dataset.
        num_replicas, rank: how many processes there are, and which one this is; None: as in the group of all.
        shuffle: whether the order is drawn, anew after each `set_epoch`.
        seed: of the order; the same in all processes.
        drop_last: whether samples are left out so that all processes get as many, instead of some given twice.

    Raises:
        ArgumentValueError: there is no such rank; or it is not given, and there is no group of processes.

    >>> from fxgrad.compat.utils.data import DistributedSampler
    >>> list(DistributedSampler(range(10), num_replicas=3, rank=1, shuffle=False))
    [1, 4, 7, 0]
    """

    def __init__(
        self,
        dataset,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ):
        num_replicas = get_world_size() if num_replicas is None else num_replicas
        rank = get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ArgumentValueError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]",
                hint=f"rank=dist.get_rank(), num_replicas={rank + 1} or more",
            )
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0
        whole, rest = divmod(len(dataset), num_replicas)
        self.num_samples = whole + (rest > 0 and not drop_last)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        numbers = list(range(count))
        if self.shuffle:
            generator = Generator()
            generator.manual_seed(self.seed + self.epoch)
            numbers = randperm(count, generator=generator).tolist()
        repeated = itertools.islice(itertools.cycle(numbers), self.total_size)
        return itertools.islice(repeated, self.rank, None, self.num_replicas)

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Change the order of the samples; call it before each epoch."""
        self.epoch = epoch
