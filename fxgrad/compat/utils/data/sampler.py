"""Samplers: orders of samples."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from types import GenericAlias
from typing import Any

from ..._core.dtypes import PUBLIC
from ..._core.tensor import Tensor
from ..._make.creation import as_tensor, empty
from ..._make.generators import Generator
from ..._make.sampling import multinomial, randint, randperm
from ...errors import ArgumentError, ArgumentValueError

DRAWN_AT_ONCE = 32  # numbers that are drawn with replacement, so that a long pass needs no memory


class Sampler:
    """An order of samples: subclasses define `__iter__`, which gives numbers.

    >>> class Backwards(torch.utils.data.Sampler):
    ...     def __iter__(self):
    ...         return iter([2, 1, 0])
    >>> [int(x) for x in torch.utils.data.DataLoader([5, 6, 7], sampler=Backwards(), batch_size=None)]
    [7, 6, 5]
    """

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError

    __class_getitem__ = classmethod(GenericAlias)


class SequentialSampler(Sampler):
    """All samples in their order.

    Args:
        data_source: a dataset.

    >>> list(torch.utils.data.SequentialSampler([5, 6, 7]))
    [0, 1, 2]
    """

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    """All samples in a random order, anew each time.

    Args:
        data_source: the dataset, of which the length counts.
        replacement: whether each number is drawn from all of them.
        num_samples: how many numbers there are in one pass; None: as many as samples.
        generator: what draws them; None: one whose seed is drawn from the default generator at the start of each
            pass, so that a pass is not disturbed by what else is drawn meanwhile.

    Raises:
        ArgumentError: `replacement` is no bool.
        ArgumentValueError: `num_samples` is not positive.

    >>> from fxgrad.compat.utils.data import RandomSampler
    >>> sorted(RandomSampler("abc"))
    [0, 1, 2]
    """

    def __init__(
        self,
        data_source,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ):
        if not isinstance(replacement, bool):
            raise ArgumentError(
                f"replacement should be a boolean value, but got replacement={replacement}",
                hint="True or False",
            )
        self.data_source, self.replacement = data_source, replacement
        self._num_samples, self.generator = num_samples, generator
        check_count("num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        """How many numbers there are in one pass."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count, generator = len(self.data_source), self.generator
        if generator is None:
            generator = Generator().manual_seed(draw_seed())
        left = self.num_samples
        while self.replacement and left > 0:
            yield from randint(count, (min(left, DRAWN_AT_ONCE),), generator=generator).tolist()
            left -= DRAWN_AT_ONCE
        # as in torch, an order is drawn at the end even where nothing of it is needed
        while not self.replacement and left >= 0:
            yield from randperm(count, generator=generator)[:left].tolist()
            left -= max(count, 1)

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """These numbers in a random order, anew each time.

    Args:
        indices: the numbers.
        generator: a `torch.Generator`; None: the default one.

    >>> sorted(torch.utils.data.SubsetRandomSampler([1, 3]))
    [1, 3]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None):
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        return (self.indices[i] for i in randperm(len(self.indices), generator=self.generator).tolist())

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Numbers drawn with probabilities in proportion to `weights`.

    Args:
        weights: a number for each sample, none of them negative; they need not add up to 1.
        num_samples: how many numbers there are in one pass.
        replacement: whether a number may be drawn again.
        generator: what draws them; None: the default one.

    Raises:
        ArgumentValueError: `num_samples` is no positive int, `replacement` no bool, `weights` has not one dimension.

    >>> from fxgrad.compat.utils.data import WeightedRandomSampler
    >>> list(WeightedRandomSampler([0.0, 0.5, 0.0], 3))
    [1, 1, 1]
    """

    def __init__(
        self,
        weights: Sequence[float] | Tensor,
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ):
        check_count("num_samples", num_samples)
        check_flag("replacement", replacement)
        self.weights = as_tensor(weights, dtype=PUBLIC["float64"])
        if self.weights.ndim != 1:
            raise ArgumentValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}",
                hint="weights.reshape(-1)",
            )
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        drawn = multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        return iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of `batch_size` numbers of another sampler; the last one, where it is shorter, may be dropped.

    Raises:
        ArgumentValueError: `batch_size` is no positive int, or `drop_last` no bool.

    >>> from fxgrad.compat.utils.data import BatchSampler
    >>> list(BatchSampler(range(5), 2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler, batch_size: int, drop_last: bool):
        check_count("batch_size", batch_size)
        check_flag("drop_last", drop_last)
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


def draw_seed(generator: Generator | None = None) -> int:
    """Draw a seed from a generator; None means the default generator."""
    return int(empty((), dtype=PUBLIC["int64"]).random_(generator=generator).item())


def check_count(name: str, value: int) -> None:
    """Check that an argument is a positive int."""
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ArgumentValueError(
            f"{name} should be a positive integer value, but got {name}={value}",
            hint=f"{name}={int(value)}" if isinstance(value, float) and value.is_integer() else f"{name}=1",
        )


def check_flag(name: str, value: bool) -> None:
    """Check that an argument is a bool."""
    if not isinstance(value, bool):
        raise ArgumentValueError(
            f"{name} should be a boolean value, but got {name}={value}", hint="True or False"
        )
