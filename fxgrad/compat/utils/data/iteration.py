"""One pass over the batches of a DataLoader."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..._make.devices import device_count
from ...errors import TensorError
from .fetch import Exhausted
from .pinning import pin_batch
from .sampler import draw_seed
from .worker import WorkerFailure

if TYPE_CHECKING:
    from .dataloader import DataLoader
    from .pool import Pool


class Batches:
    """The batches of one pass; subclasses define `load_next`, which raises StopIteration after the last."""

    def __init__(self, loader: DataLoader):
        self.loader = loader
        self.indices: Iterator[Any] = iter(loader._index_sampler)
        self.count = 0
        self.pins = loader.pin_memory and device_count() > 0

    def load_next(self) -> Any:
        """Load the next batch."""
        raise NotImplementedError

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> Any:
        batch = self.load_next()
        self.count += 1
        expected = self.loader._fx_promised_length
        if expected is not None and self.count > expected:
            warnings.warn(
                f"Length of IterableDataset {self.loader.dataset} was reported to be {expected}(when accessing "
                f"len(dataloader)), but {self.count} samples have been fetched. "
                + ("Its workers each give all of it." if self.loader.num_workers else ""),
                stacklevel=2,
            )
        return pin_batch(batch) if self.pins else batch

    def __len__(self) -> int:
        return len(self.loader)


class SerialBatches(Batches):
    """Batches that this process loads on demand."""

    def __init__(self, loader: DataLoader):
        super().__init__(loader)
        draw_seed(loader.generator)  # as with workers: the order does not depend on their number
        self.load = loader._fx_recipe.prepare()

    def load_next(self) -> Any:
        try:
            return self.load(next(self.indices))
        except Exhausted:
            raise StopIteration from None


class ParallelBatches(Batches):
    """Batches loaded ahead by workers.

    Batches are asked of the workers in turn, and a worker without samples is left out from the batch on that it could
    not give: so their order is the same in every run. Only without `in_order` comes first what is loaded first.
    """

    def __init__(self, loader: DataLoader, pool: Pool):
        super().__init__(loader)
        self.pool = pool
        self.in_order = loader.in_order
        self.active = list(range(loader.num_workers))  # the workers that have samples, the next one first
        self.tasks = itertools.count()
        self.pending: dict[int, int] = {}  # the worker of each task, in the order of the tasks
        self.results: dict[int, Any] = {}  # what has come of them
        self.number = pool.begin()
        for _ in range(loader.num_workers * (loader.prefetch_factor or 0)):
            self.request()

    def request(self) -> None:
        """Ask for another batch, if there is one."""
        if not self.active:
            return
        for index in itertools.islice(self.indices, 1):
            worker = self.active[0]
            if not self.in_order:
                loads = list(self.pending.values())
                worker = min(self.active, key=loads.count)
            self.active.remove(worker)
            self.active.append(worker)
            task = next(self.tasks)
            self.pending[task] = worker
            self.pool.send(worker, task, index)

    def load_next(self) -> Any:
        if self.number != self.pool.passes:
            raise TensorError(
                "DataLoader: this pass has ended, since another has begun with the same workers",
                hint="a DataLoader with persistent_workers=True gives one pass at a time",
            )
        if not self.pending:
            self.request()  # with prefetch_factor=0, or at the end
        while self.pending:
            task = next(iter(self.pending if self.in_order else self.results or self.pending))
            while task not in self.results:
                self.results.update(self.pool.receive(self.loader.timeout))
                if not self.in_order:
                    task = next(iter(self.results))
            result, worker = self.results.pop(task), self.pending.pop(task)
            if isinstance(result, Exhausted) and worker in self.active:
                self.active.remove(worker)
            self.request()
            if isinstance(result, WorkerFailure):
                raise result.rebuild()
            if not isinstance(result, Exhausted):
                return result
        if not self.loader.persistent_workers:
            self.pool.finish()
        raise StopIteration


# torch's names for these.
_BaseDataLoaderIter = Batches
_SingleProcessDataLoaderIter, _MultiProcessingDataLoaderIter = SerialBatches, ParallelBatches
