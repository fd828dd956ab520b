"""DataLoader: the batches of a dataset in a given order, loaded by this process or by workers."""

from __future__ import annotations

import itertools
import multiprocessing
from collections.abc import Callable, Iterable
from multiprocessing.context import BaseContext
from types import GenericAlias
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError, ArgumentValueError
from .collate import default_collate, default_convert
from .dataset import IterableDataset
from .fetch import DatasetKind, Recipe
from .iteration import Batches, ParallelBatches, SerialBatches
from .sampler import BatchSampler, RandomSampler, SequentialSampler, count_batches, draw_seed

if TYPE_CHECKING:
    from ..._make.generators import Generator
    from .pool import Pool

# What decides about the batches of a DataLoader, and is set once; the last of them last.
FROZEN_ATTRIBUTES = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
PREFETCHED = 2  # batches for each worker, as in torch


class DataLoader:
    """The batches of a dataset, in an order.

    Workers are processes, as in torch: programs count on each having a copy of the dataset and random numbers of its
    own, and Python code gets no faster in threads. Batches come through a pipe, as copies. An exception in a worker is
    raised here with its traceback; whatever happens here, a worker does not outlive the process.

    Args:
        dataset: samples known by numbers, or an IterableDataset.
        batch_size: samples in a batch; None: single samples.
        shuffle: a random order, anew each time, drawn from `generator`.
        sampler: an order of samples.
        batch_sampler: an order of lists of them.
        num_workers: how many processes load; 0: this one.
        collate_fn: what makes a batch of a list of samples; None: `default_collate`, or `default_convert` of one.
        pin_memory: whether the Tensors of batches are put into pinned memory, if there is a CUDA device.
        pin_memory_device: accepted; all devices copy from the same pinned memory.
        drop_last: no last batch that is shorter than the others.
        timeout: the seconds after which a batch of a worker is no longer waited for; 0: it is, however long.
        worker_init_fn: called in each worker with its number, when it starts.
        multiprocessing_context: one of Python's `multiprocessing`, or its name: "fork", "spawn", "forkserver".
        generator: what draws the order, and the seeds of the workers; None: the default one.
        prefetch_factor: how many batches each worker loads ahead; None: 2, if there are workers.
        persistent_workers: whether workers, and their copies of the dataset, live on after a pass.
        in_order: whether batches come in their order, not as they are loaded.

    Raises:
        ArgumentValueError: values out of range, or that exclude each other.
        ArgumentError: `multiprocessing_context` is none.

    >>> from fxgrad.compat.utils.data import DataLoader
    >>> [batch.tolist() for batch in DataLoader(range(5), batch_size=2)]
    [[0, 1], [2, 3], [4]]
    """

    __class_getitem__ = classmethod(GenericAlias)

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
        worker_init_fn: Callable[[int], object] | None = None,
        multiprocessing_context: BaseContext | str | None = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ):
        check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        streamed = isinstance(dataset, IterableDataset)
        for name, given in (("shuffle", shuffle), ("sampler", sampler), ("batch_sampler", batch_sampler)):
            if streamed and given not in (None, False):
                raise ArgumentValueError(
                    f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={given}",
                    hint=f"leave {name} out: an IterableDataset decides the order in its __iter__",
                )
        if sampler is not None and shuffle:
            raise ArgumentValueError(
                "sampler option is mutually exclusive with shuffle",
                hint="shuffle=False; RandomSampler(dataset) as the sampler shuffles",
            )
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ArgumentValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last",
                    hint="BatchSampler(sampler, batch_size, drop_last), or batch_size=… without batch_sampler",
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ArgumentValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with drop_last",
                hint="drop_last=False",
            )
        if sampler is None and not streamed:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and not streamed:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.generator, self.worker_init_fn = generator, worker_init_fn
        self.sampler: Any = sampler
        self.batch_sampler: Any = batch_sampler
        self.num_workers, self.timeout, self.in_order = num_workers, timeout, in_order
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.prefetch_factor = PREFETCHED if num_workers and prefetch_factor is None else prefetch_factor
        self.multiprocessing_context = multiprocessing_context
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self._dataset_kind = DatasetKind.Iterable if streamed else DatasetKind.Map
        self._fx_pool: Pool | None = None
        self._fx_promised_length: int | None = None  # which `len` has given of a stream
        self.persistent_workers = persistent_workers

    def __setattr__(self, name: str, value) -> None:
        if name in FROZEN_ATTRIBUTES and hasattr(self, "persistent_workers"):
            raise ArgumentValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized",
                hint="make another DataLoader",
            )
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_fx_pool": None}

    @property
    def multiprocessing_context(self) -> BaseContext | None:
        """The start method of workers, which may be set by name."""
        return self._fx_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: BaseContext | str | None) -> None:
        self._fx_context = find_context(context, self.num_workers)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None or self.batch_size is not None

    @property
    def _index_sampler(self) -> Iterable[Any]:
        """The sampler of this loader: it gives lists of indices, indices, or numbers of samples of a stream."""
        if isinstance(self.dataset, IterableDataset):
            return itertools.repeat(self.batch_size)
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    @property
    def _fx_recipe(self) -> Recipe:
        """How batches are loaded."""
        return Recipe(self.dataset, self._auto_collation, self.drop_last, self.collate_fn)

    def __iter__(self) -> Batches:
        if not self.num_workers:
            return SerialBatches(self)
        pool = self._fx_pool
        seed = draw_seed(self.generator)
        if pool is None or not pool.finish.alive:
            from .pool import Pool

            pool = Pool(
                self._fx_recipe, self.num_workers, seed, self.worker_init_fn, self.multiprocessing_context
            )
            if self.persistent_workers:
                self._fx_pool = pool
        return ParallelBatches(self, pool)

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self._index_sampler)  # type: ignore[arg-type]
        count: int = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is not None:
            count = count_batches(count, self.batch_size, self.drop_last)
        self._fx_promised_length = count
        return count


def check_workers(count: int, timeout: float, prefetched: int | None, persistent: bool) -> None:
    """Check the arguments about workers."""
    if count < 0:
        raise ArgumentValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.",
            hint="num_workers=0",
        )
    if timeout < 0:
        raise ArgumentValueError("timeout option should be non-negative", hint=f"not {timeout}")
    if not count and prefetched is not None:
        raise ArgumentValueError(
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
            "multiprocessing, otherwise set prefetch_factor to None.",
            hint="num_workers=2, or leave prefetch_factor out",
        )
    if prefetched is not None and prefetched < 0:
        raise ArgumentValueError("prefetch_factor option should be non-negative", hint=f"not {prefetched}")
    if persistent and not count:
        raise ArgumentValueError(
            "persistent_workers option needs num_workers > 0",
            hint="num_workers=2, or persistent_workers=False",
        )


def find_context(context: BaseContext | str | None, count: int) -> BaseContext | None:
    """Find the context of `multiprocessing` that is meant, for so many workers."""
    if context is None or (isinstance(context, BaseContext) and count):
        return context
    if not count:
        raise ArgumentValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
            f"num_workers={count}",
            hint="num_workers=2, or leave multiprocessing_context out",
        )
    if not isinstance(context, str):
        raise ArgumentError(
            "multiprocessing_context option should be a valid context object or a string specifying the start "
            f"method, but got multiprocessing_context={context}",
            hint=f"multiprocessing_context={multiprocessing.get_start_method()!r}",
        )
    methods = multiprocessing.get_all_start_methods()
    if context not in methods:
        raise ArgumentValueError(
            f"multiprocessing_context option should specify a valid start method in {methods!r}, but got "
            f"multiprocessing_context={context!r}",
            hint=f"multiprocessing_context={methods[0]!r}",
        )
    return multiprocessing.get_context(context)
