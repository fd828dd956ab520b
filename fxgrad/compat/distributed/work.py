"""Work: a collective that goes on while the program does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core.errors import TensorError
from .futures import Future

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from ...distributed import communicator


class Work:
    """A collective that goes on while the program does. The Tensors that it fills have their new entries after
    `wait()`, not before.

    Args:
        started: what was started.
        finish: what is done at its end.
        source: the number of the sender.

    >>> import fxgrad.compat as torch, fxgrad.compat.distributed as dist
    >>> dist.init_process_group("gloo")
    >>> x = torch.ones(2)
    >>> work = dist.all_reduce(x, async_op=True)
    >>> work.wait(), x.tolist()
    (True, [1.0, 1.0])
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        started: communicator.Work,
        finish: Callable[[Any], Any],
        source: Callable[[], int] | None = None,
    ):
        self.started, self.source = started, source
        self.future = Future.of(lambda: finish(started.wait()), started.test)

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until it is done: then the Tensors have their new entries. True."""
        self.future.wait()
        return True

    def synchronize(self) -> None:
        """Wait until it is done."""
        self.wait()

    def is_completed(self) -> bool:
        """Whether it is done; the Tensors have their new entries then."""
        return self.future.done()

    def is_success(self) -> bool:
        """Whether it is done, without an error."""
        return self.future.done() and self.future.error is None

    def exception(self) -> BaseException | None:
        """The error that it ended with, if any."""
        return self.future.error

    def result(self) -> Any:
        """The Tensors that it has filled."""
        return self.future.wait()

    def source_rank(self) -> int:
        """Return which process sent what was received.

        Raises:
            TensorError: nothing is received by it.
        """
        if self.source is None:
            raise TensorError(
                "sourceRank() may only be called on work objects that correspond to a recv or recv-from-any call.",
                hint="the Work that irecv returns",
            )
        self.wait()
        return self.source()

    def get_future(self) -> Future:
        """Return the Future of the Tensors that it fills."""
        return self.future


def conclude(work: Work, async_op: bool) -> Work | None:
    """Return work that goes on if that is wanted; otherwise wait for it, and return None."""
    if async_op:
        return work
    work.wait()
    return None


__all__ = ["Work"]
