"""Futures: results that are available later."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import GenericAlias
from typing import Any

from ..errors import TensorError

UNSET = object()


class Future:
    """A result that is there later: when it is waited for, or when somebody sets it.

    Args:
        devices: accepted.

    >>> future = torch.futures.Future()
    >>> doubled = future.then(lambda f: f.value() * 2)
    >>> future.set_result(21)
    >>> doubled.wait()
    42
    """

    __class_getitem__ = classmethod(GenericAlias)

    def __init__(self, *, devices: Any = None):
        self._fx_outcome: Any = UNSET
        self._fx_error: BaseException | None = None
        self._fx_callbacks: list[Callable[[Future], object]] = []
        self._fx_compute: Callable[[], Any] | None = None  # gives the result, when it is waited for
        self._fx_poll: Callable[[], bool] | None = None  # says whether that would be at once

    @classmethod
    def _fx_of(cls, compute: Callable[[], Any], poll: Callable[[], bool]) -> Future:
        """Make the Future of what a function gives, which is called once, when it is needed.

        Args:
            compute: the function, without arguments.
            poll: says whether it would give its result at once.
        """
        future = cls()
        future._fx_compute, future._fx_poll = compute, poll
        return future

    def done(self) -> bool:
        """Whether the result, or an error, is there."""
        if (
            self._fx_outcome is UNSET
            and self._fx_error is None
            and self._fx_poll is not None
            and self._fx_poll()
        ):
            self._fx_settle()
        return self._fx_outcome is not UNSET or self._fx_error is not None

    def _fx_settle(self) -> None:
        """Compute the result if there is a function for it."""
        if self._fx_outcome is not UNSET or self._fx_error is not None or self._fx_compute is None:
            return
        compute, self._fx_compute, self._fx_poll = self._fx_compute, None, None
        try:
            outcome = compute()
        except Exception as error:
            self.set_exception(error)
        else:
            self.set_result(outcome)

    def wait(self) -> Any:
        """Return the result, once it is there.

        Raises:
            TensorError: nobody will set it, as far as can be seen: all runs in this thread.
        """
        self._fx_settle()
        return self.value()

    def value(self) -> Any:
        """Return the result, which must be there.

        Raises:
            TensorError: it is not.
        """
        if self._fx_error is not None:
            raise self._fx_error
        if self._fx_outcome is UNSET:
            raise TensorError("the result of this Future is not there", hint="future.set_result(…) first")
        return self._fx_outcome

    def set_result(self, result: Any) -> None:
        """Set the result, and call the callbacks.

        Raises:
            TensorError: there is one.
        """
        if self._fx_outcome is not UNSET or self._fx_error is not None:
            raise TensorError(
                "Future already completed", hint="a new Future for each result; future.done() tells"
            )
        self._fx_outcome = result
        self._fx_call_back()

    def set_exception(self, result: BaseException) -> None:
        """Give an error in place of a result: it is raised by `wait`.

        Raises:
            AssertionError: it is no exception.
        """
        if not isinstance(result, BaseException):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._fx_error = result
        self._fx_call_back()

    def _fx_call_back(self) -> None:
        """Call the callbacks that wait for the result."""
        while self._fx_callbacks:
            self._fx_callbacks.pop(0)(self)

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """Return a Future of the result of a function, which is called with this Future once it is done."""

        def compute() -> Any:
            self._fx_settle()
            if self._fx_outcome is UNSET and self._fx_error is None:
                self.value()
            return callback(self)

        following = Future._fx_of(compute, self.done)
        self.add_done_callback(lambda _: following._fx_settle())
        return following

    def add_done_callback(self, callback: Callable[[Future], object]) -> None:
        """Register a function to be called with this Future when it is done; at once if it is."""
        if self._fx_outcome is not UNSET or self._fx_error is not None:
            callback(self)
        else:
            self._fx_callbacks.append(callback)


def collect_all(futures: Iterable[Future]) -> Future:
    """Return the Future of the list of these, which is done when all are.

    Args:
        futures: Futures.

    >>> future = torch.futures.Future()
    >>> every = torch.futures.collect_all([future])
    >>> future.set_result(1)
    >>> [f.wait() for f in every.wait()]
    [1]
    """
    collected = list(futures)

    def settle_all() -> list[Future]:
        for future in collected:
            future._fx_settle()
        return collected

    return Future._fx_of(settle_all, lambda: all(future.done() for future in collected))


def wait_all(futures: Iterable[Future]) -> list[Any]:
    """Return the results of these, once all are there.

    Args:
        futures: Futures.

    >>> future = torch.futures.Future()
    >>> future.set_result(1)
    >>> torch.futures.wait_all([future])
    [1]
    """
    return [future.wait() for future in futures]


__all__ = ["Future", "collect_all", "wait_all"]
