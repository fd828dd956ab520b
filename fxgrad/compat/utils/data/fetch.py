"""Fetchers, which load one batch of a dataset, in this process or in a worker."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

from .dataset import IterableDataset, fetch_samples


class DatasetKind:
    """The two kinds of datasets, by torch's numbers."""

    Map = 0
    Iterable = 1


class Exhausted(Exception):
    """An iterable dataset has no more samples."""


class Recipe(NamedTuple):
    """How batches are loaded."""

    dataset: Any
    batched: bool
    drop_last: bool
    collate: Callable[[Any], Any]

    def prepare(self) -> Callable[[Any], Any]:
        """Return the function that loads a batch in one pass, from indices or from a number of samples of a stream.

        It raises `Exhausted` at the end of a stream.
        """
        if not isinstance(self.dataset, IterableDataset):
            return self.load_by_number
        samples = iter(self.dataset)

        def load_next(size: int | None) -> Any:
            batch = list(itertools.islice(samples, 1 if size is None else size))
            if not batch or (size is not None and self.drop_last and len(batch) < size):
                raise Exhausted
            return self.collate(batch if self.batched else batch[0])

        return load_next

    def load_by_number(self, index) -> Any:
        """Load the samples of a list of numbers, or one sample, and collate them."""
        return self.collate(fetch_samples(self.dataset, index) if self.batched else self.dataset[index])
