"""torch.utils.data: datasets, samplers and batches.

Samples are loaded in this process and when they are asked for, whatever `num_workers` says: what torch promises is
which batches come, and in which order.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _surface  # noqa: F401  Tensors have all their methods
from .._core.dtypes import PUBLIC
from .._core.errors import ArgumentError, ArgumentValueError, TensorError
from .._core.tensor import Tensor
from .._make.creation import as_tensor, tensor
from .._make.sampling import multinomial, randint, randperm
from ..ops.joining import stack

if TYPE_CHECKING:
    from collections.abc import Callable


# -- samples ------------------------------------------
class Dataset:
    """Samples known by numbers: subclasses define `__getitem__`, and `__len__` as a rule."""

    def __getitem__(self, index) -> Any:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset) -> ConcatDataset:
        return ConcatDataset([self, other])

    def __class_getitem__(cls, item) -> type:
        return cls


class IterableDataset(Dataset, Iterable):
    """Samples that come one after the other: subclasses define `__iter__`."""


class TensorDataset(Dataset):
    """A dataset of the entries of Tensors along their first dimension.

    >>> import fxgrad.compat as torch
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
    """The samples of a dataset at `indices`."""

    def __init__(self, dataset, indices: Sequence[int]):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index) -> Any:
        return self.dataset[
            [self.indices[i] for i in index] if isinstance(index, list) else self.indices[index]
        ]

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset):
    """The samples of several datasets, one after the other."""

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
            raise ArgumentValueError("absolute value of index should not exceed dataset length")
        which = bisect.bisect_right(self.cumulative_sizes, position)
        return self.datasets[which][position - (self.cumulative_sizes[which - 1] if which else 0)]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


def random_split(dataset, lengths: Sequence[int | float], generator=None) -> list[Subset]:
    """Subsets of these lengths, or of these fractions of all, chosen at random.

    Raises:
        ValueError: the lengths do not add up to that of the dataset.
    """
    total = len(dataset)
    sizes: list[int] = list(lengths)  # type: ignore[arg-type]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for i, fraction in enumerate(lengths):
            if not 0 <= fraction <= 1:
                raise ArgumentValueError(f"Fraction at index {i} is not between 0 and 1")
        sizes = [math.floor(total * fraction) for fraction in lengths]
        for i in range(total - sum(sizes)):  # what is left over goes to them in turn
            sizes[i % len(sizes)] += 1
    if sum(sizes) != total:
        raise ArgumentValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = randperm(total, generator=generator).tolist()
    ends = list(itertools.accumulate(sizes))
    return [Subset(dataset, order[end - size : end]) for end, size in zip(ends, sizes)]


# -- orders ------------------------------------------
class Sampler:
    """An order of samples: subclasses define `__iter__`, which gives numbers."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError

    def __class_getitem__(cls, item) -> type:
        return cls


class SequentialSampler(Sampler):
    """All samples in their order."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    """All samples in a random order, anew each time; or `num_samples`, with `replacement` any of them each time."""

    def __init__(
        self, data_source, replacement: bool = False, num_samples: int | None = None, generator=None
    ):
        self.data_source, self.replacement = data_source, replacement
        self._num_samples, self.generator = num_samples, generator
        if self.num_samples <= 0:
            raise ArgumentValueError(
                f"num_samples should be a positive integer value, but got num_samples={self.num_samples}"
            )

    @property
    def num_samples(self) -> int:
        """How many numbers there are in one pass."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count = len(self.data_source)
        if self.replacement:
            yield from randint(count, (self.num_samples,), generator=self.generator).tolist()
            return
        left = self.num_samples
        while left > 0:
            yield from randperm(count, generator=self.generator).tolist()[:left]
            left -= count

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """These numbers in a random order, anew each time."""

    def __init__(self, indices: Sequence[int], generator=None):
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        return (self.indices[i] for i in randperm(len(self.indices), generator=self.generator).tolist())

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Numbers drawn with probabilities in proportion to `weights`."""

    def __init__(self, weights, num_samples: int, replacement: bool = True, generator=None):
        self.weights = as_tensor(weights, dtype=PUBLIC["float64"])
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        drawn = multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        return iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of `batch_size` numbers of another sampler; the last one, where it is shorter, may be dropped."""

    def __init__(self, sampler, batch_size: int, drop_last: bool):
        if type(batch_size) is not int or batch_size <= 0:
            raise ArgumentValueError(
                f"batch_size should be a positive integer value, but got batch_size={batch_size}"
            )
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[Any]]:
        rest = iter(self.sampler)
        while batch := list(itertools.islice(rest, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        return count_batches(len(self.sampler), self.batch_size, self.drop_last)


def count_batches(count: int, size: int, drop_last: bool) -> int:
    """The number of batches of so many samples."""
    return count // size if drop_last else -(-count // size)


# -- batches ------------------------------------------
def default_collate(batch: Sequence[Any]) -> Any:
    """Collate samples to a batch: Tensors, arrays and numbers become Tensors with one more dimension; dicts and
    sequences, containers of what their entries become; text stays as it is.

    Raises:
        RuntimeError: sequences of different lengths.
        TypeError: anything else.
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(list(batch))
    if isinstance(first, np.ndarray | np.generic) and first.dtype.kind in "biufc":
        return stack([as_tensor(x) for x in batch])
    if isinstance(first, float):
        return tensor(batch, dtype=PUBLIC["float64"])
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, str | bytes):
        return batch
    if isinstance(first, Mapping):
        return {key: default_collate([x[key] for x in batch]) for key in first}
    if isinstance(first, Sequence):
        if any(len(x) != len(first) for x in batch):
            raise TensorError("each element in list of batch should be of equal size")
        columns = [default_collate(column) for column in zip(*batch)]
        return type(first)(*columns) if hasattr(first, "_fields") else columns
    raise ArgumentError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found "
        + str(type(first)),
        hint="collate_fn= makes batches of anything else",
    )


def default_convert(sample) -> Any:
    """Convert the arrays of a sample to Tensors."""
    if isinstance(sample, np.ndarray | np.generic) and sample.dtype.kind in "biufc":
        return as_tensor(sample)
    if isinstance(sample, Mapping):
        return {key: default_convert(x) for key, x in sample.items()}
    if isinstance(sample, Sequence) and not isinstance(sample, str | bytes):
        columns = [default_convert(x) for x in sample]
        return type(sample)(*columns) if hasattr(sample, "_fields") else columns
    return sample


# What decides about the batches of a DataLoader, and is set once; the last of them last.
FROZEN_ATTRIBUTES = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class DataLoader:
    """The batches of a dataset, in an order.

    Args:
        batch_size: samples in a batch; None: single samples.
        shuffle: a random order, anew each time, drawn from `generator`.
        sampler: an order of samples; batch_sampler: an order of lists of them.
        collate_fn: what makes a batch of a list of samples.
        drop_last: no last batch that is shorter than the others.
        num_workers, pin_memory, …: accepted; see the module.
    """

    def __init__(
        self,
        dataset,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler=None,
        batch_sampler=None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn=None,
        multiprocessing_context=None,
        generator=None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ):
        if num_workers < 0:
            raise ArgumentValueError(
                "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing."
            )
        streamed = isinstance(dataset, IterableDataset)
        for name, given in (("shuffle", shuffle), ("sampler", sampler), ("batch_sampler", batch_sampler)):
            if streamed and given not in (None, False):
                raise ArgumentValueError(
                    f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={given}"
                )
        if sampler is not None and shuffle:
            raise ArgumentValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ArgumentValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ArgumentValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
            )
        if sampler is None and not streamed:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and not streamed:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        if timeout < 0:
            raise ArgumentValueError("timeout option should be non-negative", hint=f"not {timeout}")
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.generator = generator
        self.sampler: Any = sampler
        self.batch_sampler: Any = batch_sampler
        self.num_workers, self.pin_memory, self.timeout = num_workers, pin_memory, timeout
        single = batch_sampler is None and batch_size is None
        self.collate_fn = collate_fn or (default_convert if single else default_collate)
        self.persistent_workers = persistent_workers

    def __setattr__(self, name: str, value) -> None:
        if name in FROZEN_ATTRIBUTES and hasattr(self, "persistent_workers"):
            raise ArgumentValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized",
                hint="make another DataLoader",
            )
        super().__setattr__(name, value)

    def __iter__(self) -> Iterator[Any]:
        if isinstance(self.dataset, IterableDataset):
            samples: Any = self.dataset
            if self.batch_size is not None:
                samples = BatchSampler(samples, self.batch_size, self.drop_last)
        elif self.batch_sampler is None:
            samples = (self.dataset[i] for i in self.sampler)
        else:
            samples = (self.fetch(numbers) for numbers in self.batch_sampler)
        return (self.collate_fn(sample) for sample in samples)

    def fetch(self, numbers: list[Any]) -> list[Any]:
        """Fetch the samples of a batch."""
        several = getattr(self.dataset, "__getitems__", None)
        return [self.dataset[i] for i in numbers] if several is None else several(numbers)

    def __len__(self) -> int:
        if isinstance(self.dataset, IterableDataset):
            count = len(self.dataset)  # type: ignore[arg-type]
            return count if self.batch_size is None else count_batches(count, self.batch_size, self.drop_last)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
