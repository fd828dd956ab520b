"""Pending MPI requests: one message or collective, or several steps of one."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from ..core.errors import CollectiveMismatchError, ShapeError
from ..core.library import load_library
from .communicator import Work

if TYPE_CHECKING:
    from .checks import Agreement, Call
    from .group import MPIGroup


@cache
def load_mpi() -> Any:
    """Return the module mpi4py.MPI, which starts MPI when it is first imported."""
    return load_library("mpi4py.MPI", "mpi", "a group of processes")


class Request(Work):
    """A request of MPI. It keeps alive what MPI reads and writes until it is done, whoever has forgotten it."""

    # All that are not done, in the order in which they were started.
    unfinished: ClassVar[dict[Request, None]] = {}

    def __init__(
        self,
        group: MPIGroup,
        call: Call,
        request: Any,
        buffers: Any,
        result: Any,
        finish: Callable[[], Any] | None = None,
    ):
        self.group, self.call, self.finish = group, call, finish
        self.request: Any = request  # None when it is done
        self.buffers, self.result = buffers, result
        self.error: Exception | None = None
        self.broken: Agreement | None = None  # for which the request was given up
        if len(self.unfinished) > 100:  # perhaps nobody awaits them
            for work in list(self.unfinished):
                work.test()
        self.unfinished[self] = None

    def poll(self) -> bool:
        """Whether MPI is done with the request."""
        return self.request.Test()

    def test(self) -> bool:
        if self.request is not None:
            try:
                if self.is_agreed() and self.request is not None and self.poll():
                    self.end()
            except load_mpi().Exception as error:
                self.fail(error)
        return self.request is None

    def wait(self) -> Any:
        if self.request is not None:
            try:
                if self.call.agreement is not None:
                    self.group.wait_until(self.is_agreed, self.call)
                if self.request is not None:
                    self.group.wait_until(self.waiting(), self.call)
                    self.end()
            except load_mpi().Exception as error:
                self.fail(error)
        if self.broken is not None:
            self.broken.explain()
        if self.error is not None:
            raise self.error
        return self.result

    def is_agreed(self) -> bool:
        """Whether it is known if all members make the same call; where they do not, give the request up."""
        agreement = self.call.agreement
        if agreement is not None:
            if not agreement.is_known():
                return False
            self.call.agreement = None
            if agreement.is_broken():
                self.group.kept.append((self.request, self.buffers))  # MPI may still write there
                self.broken, self.finish = agreement, None
                self.end()
        return True

    def waiting(self) -> Callable[[], bool]:
        """The function that is asked again and again: the shortest one, for each call moves a part of the data."""
        return self.request.Test

    def end(self) -> None:
        """Do what is left to do when MPI is done."""
        if self.request is not None:
            finish = self.finish
            self.request = self.buffers = self.finish = None
            del self.unfinished[self]
            if finish is not None:
                finish()

    def fail(self, error: Exception) -> None:
        """Keep an error of MPI for whoever waits."""
        self.finish = None
        self.end()
        self.error = CollectiveMismatchError(
            f"{self.call}: MPI says {error}",
            hint="check=True of fx.distributed.world compares what the members are about to do",
            site=self.call.site,
        )


class Message(Request):
    """A request for a message, whose sender and length are known when it has come."""

    source: int

    def poll(self) -> bool:
        mpi = load_mpi()
        status = mpi.Status()
        try:
            if not self.request.Test(status):
                return False
        except mpi.Exception as error:
            if error.Get_error_class() != mpi.ERR_TRUNCATE:
                raise
            self.error = ShapeError(f"{self.call}: more has been sent", site=self.call.site)
        self.source, sent = status.Get_source(), status.Get_count(mpi.BYTE)
        if self.error is None and sent != self.result.nbytes:
            self.error = ShapeError(f"{self.call}: {sent} bytes have been sent", site=self.call.site)
        return True

    def waiting(self) -> Callable[[], bool]:
        return self.poll


class Together:
    """Several requests of MPI as one."""

    def __init__(self, requests: list[Any]):
        self.requests = requests

    def Test(self) -> bool:
        return load_mpi().Request.Testall(self.requests)


class Steps(Request):
    """A collective of several steps: a generator that gives a request for each, and returns the result.

    The first step is taken at once, on the group's first communicator. All later ones are on its second one, where each
    collective waits for those started before it: so that they come in the same order on all members, whichever a member
    waits for.
    """

    def __init__(self, group: MPIGroup, call: Call, steps: Generator[Any, None, Any]):
        self.steps = steps
        super().__init__(group, call, next(steps), None, None)

    def test(self) -> bool:
        if self.request is not None:
            advance()
        return self.request is None

    def waiting(self) -> Callable[[], bool]:
        return self.test

    def advance(self) -> bool:
        """Take all steps that can be taken; return whether these are all."""
        try:
            if not self.is_agreed():
                return False
            while self.request is not None and self.request.Test():
                self.request = next(self.steps)
        except StopIteration as last:
            self.result = last.value
            self.end()
        except load_mpi().Exception as error:
            self.fail(error)
        except Exception as error:
            self.error = error
            self.end()
        return self.request is None


def advance() -> None:
    """Help on the first collective of several steps of each group."""
    held = set()
    for work in list(Request.unfinished):
        if isinstance(work, Steps) and work.group not in held and not work.advance():
            held.add(work.group)
