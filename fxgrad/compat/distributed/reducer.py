"""Gradient reduction of DistributedDataParallel: gradients are averaged while `backward` continues."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...distributed import communicator
from ...distributed.buckets import Buckets
from ...extend import namespace_of
from .._core.backward.queued import QUEUE, ExecutionEngine
from .._core.sparse_tensor import SparseTensor
from .._core.tape import BASE_TAPE
from .._core.tensor import Tensor, make_tensor
from ..autograd.grad_mode import no_grad
from ..errors import ArgumentError, TensorError
from .arrays import read, write

if TYPE_CHECKING:
    from .futures import Future
    from .groups import ProcessGroup
    from .work import Work

UNFINISHED = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that "
    "your module has parameters that were not used in producing loss. You can enable unused parameter detection by "
    "passing the keyword argument `find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by "
    "making sure all `forward` function outputs participate in calculating loss."
)
TWICE = (
    "Expected to mark a variable ready only once. This error is caused by one of the following reasons: 1) Use of a "
    "module parameter outside the `forward` function. 2) Reused parameters in multiple reentrant backward passes. For "
    "example, if you use multiple `checkpoint` functions to wrap the same part of your model, it would result in the "
    "same set of parameters been used by different reentrant backward passes multiple times, and hence marking a "
    "variable ready multiple times."
)


class BuiltinCommHookType(Enum):
    """The hooks of communication that torch has in C++.

    >>> dist.BuiltinCommHookType.ALLREDUCE.name
    'ALLREDUCE'
    """

    ALLREDUCE = 0
    FP16_COMPRESS = 1


class GradBucket:
    """Some of the gradients, one behind the other in one Tensor, as hooks of communication get them.

    Args:
        flat: the Tensor.
        index: the number of the bucket.
        is_last: whether it is the last one.
        places: where each gradient is.

    >>> def halve(state, bucket):  # a hook of communication
    ...     future = dist.Future()
    ...     future.set_result(bucket.buffer() / 2)
    ...     return future
    """

    def __init__(self, flat: Any, index: int, is_last: bool, places: Sequence[tuple[Tensor, slice]]):
        self._fx_flat, self._fx_places = make_tensor(BASE_TAPE, flat), places
        self._fx_number, self._fx_last = index, is_last

    def index(self) -> int:
        """The number of the bucket: 0 is the first whose gradients are complete."""
        return self._fx_number

    def buffer(self) -> Tensor:
        """All of the gradients, as one Tensor of one dimension."""
        return self._fx_flat

    def set_buffer(self, buffer: Tensor) -> None:
        """Replace the Tensor of the gradients."""
        self._fx_flat = buffer

    def gradients(self) -> list[Tensor]:
        """The gradients, which are views of the buffer."""
        return [self._fx_flat[place].view(parameter.shape) for parameter, place in self._fx_places]

    def parameters(self) -> list[Tensor]:
        """The parameters to which they belong."""
        return [parameter for parameter, _ in self._fx_places]

    def is_last(self) -> bool:
        """Whether no further bucket comes in this pass."""
        return self._fx_last


class HookWork(communicator.Work):
    """The communication that a user's hook has started."""

    def __init__(self, future: Future, flat: Any):
        self.future, self.flat = future, flat

    def wait(self) -> Any:
        found = self.future.wait()
        found = found[0] if isinstance(found, list | tuple) else found
        self.flat[...] = read(found, "the result of a communication hook").reshape(self.flat.shape)
        return self.flat

    def test(self) -> bool:
        return self.future.done()


class HookedGroup(communicator.Communicator):
    """A communicator that reduces buckets by a user's hook instead of a sum."""

    def __init__(self, reducer: Reducer, hook: Callable[[Any, GradBucket], Future], state: Any):
        super().__init__()
        self.reducer, self.hook, self.state = reducer, hook, state

    def start_all_reduce(
        self, x: Any, op: str = "sum", *, out: Any = None, deterministic: bool | None = None
    ) -> communicator.Work:
        buckets, parameters = self.reducer.buckets, self.reducer.parameters
        number = buckets.started
        places = [(parameters[self.reducer.dense[i]], s) for i, s in buckets.buckets[number].places.items()]
        future = self.hook(self.state, GradBucket(x, number, number + 1 == len(buckets.buckets), places))
        if not hasattr(future, "wait"):
            raise ArgumentError(
                f"a communication hook returned {type(future).__name__}, not a torch.futures.Future",
                hint="return dist.all_reduce(bucket.buffer(), async_op=True).get_future()",
            )
        return HookWork(future, x)


def call_arrive(reference: weakref.ref[Reducer], index: int, parameter: Tensor) -> None:
    """Notify a Reducer, if it still exists, that a parameter has received a gradient."""
    reducer = reference()
    if reducer is not None:
        reducer.arrive(index, parameter)


def remove_all(handles: Sequence[Any]) -> None:
    """Remove hooks."""
    for handle in handles:
        handle.remove()


class Reducer:
    """Averages the gradients of parameters over a group, each as soon as it is complete.

    Args:
        parameters: those that require a gradient, the same on all processes.
        group: the processes.
        bucket_bytes: how large a message is.
        find_unused: whether a pass may end without a gradient for each of them.
        static: whether all passes use the same parameters in the same way, as often as the first.
        as_views: whether gradients are views of the memory of messages.
        sparse: the numbers of the parameters whose gradients are sparse.
    """

    def __init__(
        self,
        parameters: Sequence[Tensor],
        group: ProcessGroup,
        bucket_bytes: int,
        find_unused: bool,
        static: bool,
        as_views: bool,
        sparse: Sequence[int] = (),
    ):
        self.parameters, self.group, self.as_views = list(parameters), group, as_views
        self.find_unused, self.static = find_unused, static
        self.sparse = list(sparse)
        self.dense = [i for i in range(len(self.parameters)) if i not in self.sparse]  # those in buckets
        self.places = {index: place for place, index in enumerate(self.dense)}
        values = [self.parameters[i]._fx_value for i in self.dense]
        self.buckets = Buckets(
            group._fx_communicator,
            [(value.shape, value.dtype) for value in values],
            bucket_bytes,
            xp=namespace_of(self.parameters[0]._fx_value) or np,
        )
        self.is_active = (
            False  # whether the pass that is running leads back from outputs whose gradients are averaged
        )
        self.given: set[int] = set()  # the parameters whose gradients are complete in this pass
        self.arrivals: dict[int, int] = {}  # how often each was given a gradient in this pass
        self.expected: dict[int, int] | None = None  # … in the first pass of a static graph
        self.is_queued = self.has_hook = False
        self.divides_by_all = True
        self.active: Work | None = None  # where inputs are uneven: how many processes still have some
        handles = [
            parameter.register_post_accumulate_grad_hook(partial(call_arrive, weakref.ref(self), index))
            for index, parameter in enumerate(self.parameters)
        ]
        weakref.finalize(self, remove_all, handles)  # the parameters outlive it

    def register_hook(self, state: Any, hook: Callable[[Any, GradBucket], Future]) -> None:
        """Register a user's function that reduces the buckets.

        Raises:
            TensorError: there is one.
        """
        if self.has_hook:
            raise TensorError(
                "register_comm_hook or register_builtin_comm_hook can only be called once.",
                hint="one hook that calls both, or a new DistributedDataParallel",
            )
        self.has_hook = True
        self.buckets.comm = HookedGroup(self, hook, state)

    # -- a pass ------------------------------------------
    def expect(self, outputs: Sequence[Tensor]) -> None:
        """Average the gradients of passes that lead back from these outputs; of the next pass if there are none."""
        recorded = [output for output in outputs if output.grad_fn is not None]
        self.start_anew(is_active=not recorded)
        for output in recorded:
            output.register_hook(self.await_end)

    def start_anew(self, is_active: bool = False) -> None:
        """Forget a pass that has not come to its end. One that is running (a checkpoint calls modules then) goes on."""
        if QUEUE.get() is None:
            self.is_active, self.is_queued = is_active, False

    def ensure_finished(self) -> None:
        """Raise TensorError if the last pass has left gradients that wait for others."""
        if self.given and QUEUE.get() is None:
            missing = [i for i in range(len(self.parameters)) if i not in self.given]
            raise TensorError(
                UNFINISHED,
                hint=f"parameters without a gradient on rank {self.group.rank()}: {missing}",
            )

    def await_end(self, _: Tensor) -> None:
        """Average the gradients of the pass that is running, until its end: the outermost, in which others may be
        nested."""
        self.is_active = True
        if not self.is_queued:
            self.is_queued = True
            ExecutionEngine.queue_callback(self.end_pass)

    def arrive(self, index: int, parameter: Tensor) -> None:
        """Record that a parameter has received a gradient."""
        if not self.is_active:
            return
        self.await_end(parameter)
        count = self.arrivals[index] = self.arrivals.get(index, 0) + 1
        if not self.static or (self.expected is not None and count == self.expected.get(index)):
            self.give(index)

    def give(self, index: int) -> None:
        """Let the gradient of a parameter go on its way."""
        if index in self.given:
            raise TensorError(TWICE, hint=f"parameter {index}; static_graph=True allows it")
        gradient = self.parameters[index].grad
        if gradient is not None and isinstance(gradient, SparseTensor) is not (index in self.sparse):
            raise TensorError(
                f"DistributedDataParallel: parameter {index} was given a gradient that is sparse on some processes or "
                "in some passes, and dense in others",
                hint="torch.nn.Embedding(…, sparse=False)",
            )
        if gradient is not None and index in self.places:
            self.buckets.ready(self.places[index], read(gradient, "a gradient"))
        self.given.add(index)

    def end_pass(self) -> None:
        """Finish the averages, unless another pass is to give further gradients."""
        self.is_active = self.is_queued = False
        if self.find_unused or self.static or len(self.given) == len(self.parameters):
            self.finish()

    def finish(self) -> None:
        """Wait for all gradients, and give them to the parameters."""
        for index in range(len(self.parameters)):
            if index not in self.given:
                self.give(index)
        averages = self.buckets.finish()
        used = self.find_used(self.arrivals)
        if self.static and self.expected is None:
            self.expected = self.arrivals
        self.given, self.arrivals = set(), {}
        scale = 1.0 if self.active is None else self.group.size() / self.active.result()[0].item()
        for index, average in zip(self.dense, averages, strict=True):
            if used[index]:
                self.assign(
                    self.parameters[index], average if scale == 1 else (average * scale).astype(average.dtype)
                )
        for index in self.sparse:
            places, rows = self.gather_rows(index, self.parameters[index].grad)
            if used[index]:
                entries = make_tensor(BASE_TAPE, (rows * (scale / self.group.size())).astype(rows.dtype))
                self.parameters[index].grad = SparseTensor.of(places, entries, self.parameters[index].shape)

    def find_used(self, arrivals: Iterable[int]) -> Any:
        """Return which parameters were given a gradient on some process, where it need not be all on each."""
        used = np.ones(len(self.parameters), bool)
        if self.find_unused or self.static:
            used[:] = False
            used[list(arrivals)] = True
            used = self.group._fx_communicator.all_reduce(used, "or")
        return used

    def assign(self, parameter: Tensor, average: Any) -> None:
        """Assign the averaged gradient to a parameter."""
        with no_grad():
            if parameter.grad is not None and not self.as_views:
                write(parameter.grad, average)
            else:
                parameter.grad = make_tensor(BASE_TAPE, average if self.as_views else average.copy())

    def gather_rows(self, index: int, gradient: Any) -> tuple[Any, Any]:
        """Return the places and rows of the gradients that all processes have of a parameter."""
        places, rows = np.zeros((1, 0), np.int64), self.parameters[index]._fx_value[:0]
        if gradient is not None:
            places, rows = gradient.places, read(gradient.entries, "a gradient")
        communicator = self.group._fx_communicator
        return communicator.all_gather_rows(places.T).T, communicator.all_gather_rows(rows)

    def count_active(self, work: Work | None) -> None:
        """Take the number of processes that have inputs from what counts them; None: all have."""
        self.active = None if work is None or self.divides_by_all else work

    def reduce_nothing(self) -> None:
        """Take part in the averages for which the inputs of this process give no gradients."""
        self.buckets.finish()
        self.find_used(())
        for index in self.sparse:
            self.gather_rows(index, None)
