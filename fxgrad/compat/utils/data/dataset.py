"""Datasets: samples accessed by index, or one after another."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from types import GenericAlias
from typing import Any

from ..._core.tensor import Tensor
from ..._make.generators import Generator
from ..._make.sampling import randperm
from ...errors import ArgumentValueError


class Dataset:
    """Samples known by numbers: subclasses define `__getitem__`, and `__len__` as a rule.

    >>> class Squares(torch.utils.data.Dataset):
    ...     def __len__(self):
    ...         return 4
    ...
    ...     def __getitem__(self, index):
    ...         return index**2
    >>> [batch.tolist() for batch in torch.utils.data.DataLoader(Squares(), batch_size=2)]
    [[0, 1], [4, 9]]
    """

    def __getitem__(self, index) -> Any:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset) -> Dataset:
        return ConcatDataset([self, other])

    __class_getitem__ = classmethod(GenericAlias)


class IterableDataset(Dataset, Iterable):
    """Samples that come one after the other: subclasses define `__iter__`.

    >>> class Count(torch.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(3))
    >>> [batch.tolist() for batch in torch.utils.data.DataLoader(Count(), batch_size=2)]
    [[0, 1], [2]]
    """

    def __add__(self, other: Dataset) -> Dataset:
        return ChainDataset([self, other])


class ChainDataset(IterableDataset):
    """The samples of several iterable datasets, one after the other.

    Raises:
        AssertionError: when asked for samples, one is not iterable only.

    >>> class Count(torch.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(2))
    >>> list(torch.utils.data.ChainDataset([Count(), Count()]))
    [0, 1, 0, 1]
    """

    def __init__(self, datasets: Iterable[Dataset]):
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for dataset in self.datasets:
            assert isinstance(dataset, IterableDataset), "ChainDataset only supports IterableDataset"
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self.datasets)  # type: ignore[arg-type]


class StackDataset(Dataset):
    """Samples made of those of several datasets: tuples, or dicts if these are given by name.

    Args:
        args: the datasets.
        kwargs: the datasets, by name.

    Raises:
        ArgumentValueError: there are none, or their lengths differ, or some are given by name and some not.

    >>> from fxgrad.compat.utils.data import StackDataset
    >>> StackDataset(image=[1, 2], label=["a", "b"])[1]
    {'image': 2, 'label': 'b'}
    """

    def __init__(self, *args: Any, **kwargs: Any):
        if args and kwargs:
            raise ArgumentValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like input/output, but both "
                "types are given.",
                hint="StackDataset(a, b) gives tuples, StackDataset(x=a, y=b) dicts",
            )
        self.datasets: Any = kwargs or args
        if not self.datasets:
            raise ArgumentValueError(
                "At least one dataset should be passed", hint="StackDataset(images, labels)"
            )
        lengths = {len(dataset) for dataset in (kwargs.values() if kwargs else args)}
        if len(lengths) > 1:
            raise ArgumentValueError("Size mismatch between datasets", hint=f"not {sorted(lengths)}")
        self._length = lengths.pop()

    def __getitem__(self, index) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        if isinstance(self.datasets, dict):
            columns = [fetch_samples(dataset, indices) for dataset in self.datasets.values()]
            return [dict(zip(self.datasets, row)) for row in zip(*columns)]
        return list(zip(*(fetch_samples(dataset, indices) for dataset in self.datasets)))

    def __len__(self) -> int:
        return self._length


class TensorDataset(Dataset):
    """A dataset of the entries of Tensors along their first dimension.

    Args:
        tensors: Tensors with the same first size.

    >>> from fxgrad.compat.utils.data import DataLoader, TensorDataset
    >>> data = TensorDataset(torch.arange(3.0), torch.arange(3) % 2)
    >>> for x, y in DataLoader(data, batch_size=2):
    ...     print(x, y)
    tensor([0., 1.]) tensor([0, 1])
    tensor([2.]) tensor([0])
    """

    def __init__(self, *tensors: Tensor):
        assert all(len(t) == len(tensors[0]) for t in tensors), "Size mismatch between tensors"
        self.tensors = tensors

    def __getitem__(self, index) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


class Subset(Dataset):
    """The samples of a dataset at `indices`.

    >>> from fxgrad.compat.utils.data import Subset
    >>> list(Subset("abcd", [3, 0]))
    ['d', 'a']
    """

    def __init__(self, dataset, indices: Sequence[int]):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index) -> Any:
        return self.dataset[
            [self.indices[i] for i in index] if isinstance(index, list) else self.indices[index]
        ]

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        return fetch_samples(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset):
    """The samples of several datasets, one after the other.

    Raises:
        AssertionError: there are none, or one is an IterableDataset.

    >>> from fxgrad.compat.utils.data import ConcatDataset
    >>> ConcatDataset(["ab", "cde"])[3]
    'd'
    """

    def __init__(self, datasets: Iterable[Any]):
        self.datasets = list(datasets)
        assert self.datasets, "datasets should not be an empty iterable"
        assert not any(isinstance(d, IterableDataset) for d in self.datasets), (
            "ConcatDataset does not support IterableDataset"
        )
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __getitem__(self, index: int) -> Any:
        position = index + len(self) if index < 0 else index
        if position < 0:
            raise ArgumentValueError(
                "absolute value of index should not exceed dataset length",
                hint=f"-{len(self)} to {len(self) - 1}",
            )
        which = bisect.bisect_right(self.cumulative_sizes, position)
        return self.datasets[which][position - (self.cumulative_sizes[which - 1] if which else 0)]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


def fetch_samples(dataset, indices: Sequence[Any]) -> list[Any]:
    """Fetch the samples of some indices, at once by `__getitems__` if the dataset has it."""
    several = getattr(dataset, "__getitems__", None)
    return [dataset[i] for i in indices] if several is None else several(indices)


def random_split(dataset, lengths: Sequence[int | float], generator: Generator | None = None) -> list[Subset]:
    """Split a dataset at random into subsets.

    Args:
        dataset: samples known by numbers.
        lengths: how many samples each subset has, or which fractions of all; what fractions leave over goes to the
            subsets in turn.
        generator: what draws the order; None: the default one.

    Returns:
        A Subset for each of the lengths.

    Raises:
        ArgumentValueError: the lengths do not add up to that of the dataset, or a fraction is not in [0, 1].

    >>> from fxgrad.compat.utils.data import random_split
    >>> [len(part) for part in random_split(range(10), [0.75, 0.25])]
    [8, 2]
    """
    total = len(dataset)
    sizes: list[int] = list(lengths)  # type: ignore[arg-type]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for i, fraction in enumerate(lengths):
            if not 0 <= fraction <= 1:
                raise ArgumentValueError(
                    f"Fraction at index {i} is not between 0 and 1",
                    hint="fractions whose sum is 1, or numbers of samples whose sum is len(dataset)",
                )
        sizes = [math.floor(total * fraction) for fraction in lengths]
        for i in range(total - sum(sizes)):
            sizes[i % len(sizes)] += 1
        for i, size in enumerate(sizes):
            if not size:
                message = f"Length of split at index {i} is 0. This might result in an empty dataset."
                warnings.warn(message, stacklevel=2)
    if sum(sizes) != total:
        raise ArgumentValueError(
            "Sum of input lengths does not equal the length of the input dataset!",
            hint=f"{sum(sizes)} samples are asked for, and there are {total}",
        )
    order = randperm(total, generator=generator).tolist()
    ends = list(itertools.accumulate(sizes))
    return [Subset(dataset, order[end - size : end]) for end, size in zip(ends, sizes)]
