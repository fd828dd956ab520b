"""Work: a collective that continues while the program runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import TensorError
from .futures import Future

if TYPE_CHECKING:
    from datetime import timedelta

    from ...distributed import communicator


class Work:
    """A collective that goes on while the program does. The Tensors that it fills have their new entries after
    `wait()`, not before.

    Args:
        started: what was started.
        finish: what is done at its end.
        source: the number of the sender.

    >>> x = torch.ones(2)
    >>> work = dist.all_reduce(x, async_op=True)
    >>> work.wait(), x.tolist()
    (True, [1.0, 1.0])
    """

    def __init__(
        self,
        started: communicator.Work,
        finish: Callable[[Any], Any],
        source: Callable[[], int] | None = None,
    ):
        self._fx_started, self._fx_source = started, source
        self._fx_future = Future._fx_of(lambda: finish(started.wait()), started.test)

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until it is done: then the Tensors have their new entries. True."""
        self._fx_future.wait()
        return True

    def synchronize(self) -> None:
        """Wait until it is done."""
        self.wait()

    def is_completed(self) -> bool:
        """Whether the operation has completed, so that the Tensors have their new entries."""
        return self._fx_future.done()

    def is_success(self) -> bool:
        """Whether the operation has completed without an error."""
        return self._fx_future.done() and self._fx_future._fx_error is None

    def exception(self) -> BaseException | None:
        """The error that it ended with, if any."""
        return self._fx_future._fx_error

    def result(self) -> Any:
        """The Tensors that it has filled."""
        return self._fx_future.wait()

    def source_rank(self) -> int:
        """Return which process sent what was received.

        Raises:
            TensorError: nothing is received by it.
        """
        if self._fx_source is None:
            raise TensorError(
                "sourceRank() may only be called on work objects that correspond to a recv or recv-from-any call.",
                hint="the Work that irecv returns",
            )
        self.wait()
        return self._fx_source()

    def get_future(self) -> Future:
        """Return the Future of the Tensors that it fills."""
        return self._fx_future


def conclude(work: Work, async_op: bool) -> Work | None:
    """Return work that goes on if that is wanted; otherwise wait for it, and return None."""
    if async_op:
        return work
    work.wait()
    return None


__all__ = ["Work"]
