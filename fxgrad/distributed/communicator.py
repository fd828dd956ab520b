"""Communicators: groups of processes that compute together and exchange messages.

Every member of a group calls the same methods in the same order: collectives. Operands are numbers or arrays of any
numeric dtype; results are new arrays in native byte order. Shapes and dtypes are equal on all members unless stated
otherwise. Methods named `start_…` return immediately; the operand must not be written into, nor `out` be read, until
the work is done.

A subclass overrides the methods with an underscore, whose operands are contiguous and have been checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.arrays import namespace_of
from ..core.errors import (
    ArrayConversionError,
    CollectiveMismatchError,
    DTypeError,
    ImmutableError,
    IndexingError,
    ShapeError,
    describe,
)
from ..core.interpreter import Tracer
from .reductions import check_reduction


class Work:
    """A collective that continues while the program runs.

    `wait()` returns its result when it is done, `test()` says whether it is, and helps it on.

    >>> work = fx.distributed.Communicator().start_all_gather(np.ones(3))
    >>> work.test()
    True
    >>> work.wait()
    array([[1., 1., 1.]])
    """

    def wait(self) -> Any:
        """Wait until it is done, and return its result."""
        raise NotImplementedError

    def test(self) -> bool:
        """Return whether it is done, and help it on."""
        raise NotImplementedError


class Done(Work):
    """A collective that is done at once."""

    def __init__(self, result: Any):
        self.result = result

    def wait(self) -> Any:
        return self.result

    def test(self) -> bool:
        return True


class Communicator:
    """A group of processes. This class is a group of a single process, which needs no MPI and receives what it sends.

    `rank` is this process's place in the group, `size` the number of its members, and `ranks` are their places among
    all processes. `deterministic` makes sums the same to the bit in every run: they are taken in the order of the
    members. `timeout` is after how many seconds of waiting a collective raises, or None. `check` compares, before each
    collective, what the members are about to do, so that a mistake is an error on all of them instead of a deadlock;
    without it they compare operands of reductions and gathers only.

    In the methods `x` is an array, of one shape and dtype on all members, and `out` an array that the result is written
    into, which is then returned. `root`, `target`, `source` and `partner` are ranks: of the member that a collective
    begins or ends with, of receiver and sender (None: any), and of one that is both. `tag` is a number that tells
    messages apart, `perm` pairs of ranks, `value` an object that can be pickled and `values` one for each member. They
    raise DTypeError of objects, ArrayConversionError of traced values, ShapeError and ImmutableError of an `out` that
    does not fit or cannot be written into, IndexingError of a rank that there is not.

    >>> alone = fx.distributed.Communicator()
    >>> alone.all_reduce(np.array([1, 2])), alone.all_gather(3.0)
    (array([1, 2]), array([3.]))
    """

    rank: int = 0
    size: int = 1
    ranks: tuple[int, ...] = (0,)
    deterministic: bool = False
    timeout: float | None = None
    check: bool = False

    def __init__(self) -> None:
        self.messages: dict[int, list[Any]] = {}  # what this process has sent itself, by tags

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: rank {self.rank} of {self.size}>"

    # -- reductions ---------------------------------------------------------------------------------------------
    def all_reduce(
        self, x: Any, op: str = "sum", *, out: Any = None, deterministic: bool | None = None
    ) -> Any:
        """Return the sum of all members' x, or another reduction, on every member.

        Args:
            x: an array or number, of one shape and dtype on all members.
            op: "sum", "mean", "prod", "max", "min", or "and", "or", "xor" of integers' bits and of booleans.
            out: an array for the result, of x's shape and dtype; it may be x.
            deterministic: whether a sum or product is taken in the order of the members; None as the communicator says.

        Returns:
            an array of x's shape and dtype; what booleans and half precisions make is said in `reductions`.

        Raises:
            DTypeError: there is no such reduction of this dtype.
            ShapeError: `out` does not fit.

        >>> fx.distributed.Communicator().all_reduce(2.0)
        array(2.)
        """
        return self.start_all_reduce(x, op, out=out, deterministic=deterministic).wait()

    def start_all_reduce(
        self, x: Any, op: str = "sum", *, out: Any = None, deterministic: bool | None = None
    ) -> Work:
        """Start an `all_reduce` with the same arguments, and return at once."""
        x = operand("all_reduce", x)
        check_reduction("all_reduce", op, x.dtype)
        out = result("all_reduce", x, x.shape, out)
        return self._engine(x)._all_reduce(x, op, out, self._in_order(deterministic))

    def reduce(
        self, x: Any, op: str = "sum", root: int = 0, *, out: Any = None, deterministic: bool | None = None
    ) -> Any:
        """Return the reduction of all members' x on the root, and None on the others: see `all_reduce`."""
        return self.start_reduce(x, op, root, out=out, deterministic=deterministic).wait()

    def start_reduce(
        self, x: Any, op: str = "sum", root: int = 0, *, out: Any = None, deterministic: bool | None = None
    ) -> Work:
        """Start a `reduce` with the same arguments, and return at once."""
        x = operand("reduce", x)
        check_reduction("reduce", op, x.dtype)
        out = result("reduce", x, x.shape, out) if self._is_root("reduce", root) else None
        return self._engine(x)._reduce(x, op, root, out, self._in_order(deterministic))

    def reduce_scatter(
        self, x: Any, op: str = "sum", *, out: Any = None, deterministic: bool | None = None
    ) -> Any:
        """Return this member's entry, along the first axis, of the sum of all members' x: see `all_reduce`.

        The first axis of x has one entry for each member.
        """
        return self.start_reduce_scatter(x, op, out=out, deterministic=deterministic).wait()

    def start_reduce_scatter(
        self, x: Any, op: str = "sum", *, out: Any = None, deterministic: bool | None = None
    ) -> Work:
        """Start a `reduce_scatter` with the same arguments, and return at once."""
        x = operand("reduce_scatter", x)
        check_reduction("reduce_scatter", op, x.dtype)
        self._check_entries("reduce_scatter", x)
        out = result("reduce_scatter", x, x.shape[1:], out)
        return self._engine(x)._reduce_scatter(x, op, out, self._in_order(deterministic))

    # -- arrays of equal shapes ---------------------------------------------------------------------------------
    def all_gather(self, x: Any, *, out: Any = None) -> Any:
        """Return all members' x along a new first axis, on every member."""
        return self.start_all_gather(x, out=out).wait()

    def start_all_gather(self, x: Any, *, out: Any = None) -> Work:
        """Start an `all_gather` with the same arguments, and return at once."""
        x = operand("all_gather", x)
        out = result("all_gather", x, (self.size, *x.shape), out)
        return self._engine(x)._all_gather(x, out)

    def gather(self, x: Any, root: int = 0, *, out: Any = None) -> Any:
        """Return all members' x along a new first axis on the root, and None on the others."""
        return self.start_gather(x, root, out=out).wait()

    def start_gather(self, x: Any, root: int = 0, *, out: Any = None) -> Work:
        """Start a `gather` with the same arguments, and return at once."""
        x = operand("gather", x)
        is_root = self._is_root("gather", root)
        out = result("gather", x, (self.size, *x.shape), out) if is_root else None
        return self._engine(x)._gather(x, root, out)

    def scatter(self, x: Any = None, root: int = 0) -> Any:
        """Return entry `rank` of the root's x along its first axis; x is read on the root only.

        >>> fx.distributed.Communicator().scatter([5.0])
        array(5.)
        """
        return self.start_scatter(x, root).wait()

    def start_scatter(self, x: Any = None, root: int = 0) -> Work:
        """Start a `scatter` with the same arguments, and return at once."""
        if not self._is_root("scatter", root):
            return self._scatter(None, root)
        x = operand("scatter", x)
        self._check_entries("scatter", x)
        return self._engine(x)._scatter(x, root)

    def all_to_all(self, x: Any, *, out: Any = None) -> Any:
        """Send entry j of x, along its first axis, to member j; return what comes from all, in their order."""
        return self.start_all_to_all(x, out=out).wait()

    def start_all_to_all(self, x: Any, *, out: Any = None) -> Work:
        """Start an `all_to_all` with the same arguments, and return at once."""
        x = operand("all_to_all", x)
        self._check_entries("all_to_all", x)
        out = result("all_to_all", x, x.shape, out)
        return self._engine(x)._all_to_all(x, out)

    def broadcast(self, x: Any, root: int = 0, *, out: Any = None) -> Any:
        """Return the root's x; the others give an array of the same shape and dtype."""
        return self.start_broadcast(x, root, out=out).wait()

    def start_broadcast(self, x: Any, root: int = 0, *, out: Any = None) -> Work:
        """Start a `broadcast` with the same arguments, and return at once."""
        x = operand("broadcast", x)
        out = result("broadcast", x, x.shape, out)
        if self._is_root("broadcast", root) and out is not x:
            out[...] = x
        return self._engine(x)._broadcast(out, root)

    def permute(self, x: Any, perm: Sequence[tuple[int, int]]) -> Any:
        """Send x along pairs (source, target), which are the same on all members; zeros where none arrives."""
        return self.start_permute(x, perm).wait()

    def start_permute(self, x: Any, perm: Sequence[tuple[int, int]]) -> Work:
        """Start a `permute` with the same arguments, and return at once."""
        x = operand("permute", x)
        sources, targets = [s for s, _ in perm], [t for _, t in perm]
        for ranks in (sources, targets):
            if len({*ranks}) < len(ranks) or any(not 0 <= r < self.size for r in ranks):
                raise IndexingError(
                    f"permute: {list(perm)} in a group of {self.size}",
                    hint="pairs (source, target) of ranks, with no source and no target twice",
                )
        if self.rank in targets:
            return self._engine(x)._permute(x, list(perm), namespace(x).empty_like(x))
        return self._engine(x)._permute(x, list(perm), namespace(x).zeros_like(x))

    # -- rows: arrays whose first axes may differ ---------------------------------------------------------------
    def all_gather_rows(self, x: Any) -> Any:
        """Return the rows of all members, one member's after another's, on every member; their numbers may differ."""
        x = rows("all_gather_rows", x)
        return self._engine(x)._all_gather_rows(x)

    def gather_rows(self, x: Any, root: int = 0) -> Any:
        """Return the rows of all members on the root, and None on the others; their numbers may differ."""
        self._is_root("gather_rows", root)
        x = rows("gather_rows", x)
        return self._engine(x)._gather_rows(x, root)

    def scatter_rows(self, x: Any = None, root: int = 0, *, counts: Sequence[int] | None = None) -> Any:
        """Return this member's share of the root's rows; x and `counts` are read on the root only.

        Args:
            x: an array.
            root: the member that has it.
            counts: how many rows each member gets; as equally many as can be unless it is given, the first ones
                one more.

        Returns:
            an array of this member's rows.

        Raises:
            ShapeError: `counts` are not one for each member, or do not add up to the rows.
        """
        if not self._is_root("scatter_rows", root):
            return self._scatter_rows(None, root, [])
        x = rows("scatter_rows", x)
        if counts is None:
            counts = [len(x) // self.size + (r < len(x) % self.size) for r in range(self.size)]
        self._check_counts("scatter_rows", x, counts)
        return self._scatter_rows(x, root, counts)

    def all_to_all_rows(self, x: Any, counts: Sequence[int]) -> Any:
        """Send `counts[j]` rows of x to member j, the first ones to member 0; return what comes from all, in their
        order."""
        x = rows("all_to_all_rows", x)
        self._check_counts("all_to_all_rows", x, counts)
        return self._engine(x)._all_to_all_rows(x, counts)

    # -- messages between two -----------------------------------------------------------------------------------
    def send(self, x: Any, target: int, tag: int = 0) -> None:
        """Send x to a member, which awaits it by `recv`; return when x may be written into."""
        self.start_send(x, target, tag).wait()

    def start_send(self, x: Any, target: int, tag: int = 0) -> Work:
        """Start a `send` with the same arguments, and return at once."""
        self._is_root("send", target, "target")
        x = operand("send", x)
        return self._engine(x)._send(x, target, tag)

    def recv(self, out: Any, source: int | None = None, tag: int = 0) -> Any:
        """Fill `out` with what a member sends, or the next message of this tag from any member; return it.

        Raises:
            ShapeError: another number of bytes has been sent.
        """
        return self.start_recv(out, source, tag).wait()

    def start_recv(self, out: Any, source: int | None = None, tag: int = 0) -> Work:
        """Start a `recv` with the same arguments, and return at once. When it is done its `source` is the sender's
        rank.
        """
        if source is not None:
            self._is_root("recv", source, "source")
        x = operand("recv", out)
        return self._engine(x)._recv(result("recv", x, x.shape, out), source, tag)

    def exchange(self, x: Any, partner: int, tag: int = 0) -> Any:
        """Send x to a member and return what it sends, an array of the same shape and dtype."""
        x = operand("exchange", x)
        arriving = self.start_send(x, partner, tag), self.start_recv(namespace(x).empty_like(x), partner, tag)
        return [work.wait() for work in arriving][1]

    # -- objects, which are pickled on their way ----------------------------------------------------------------
    def broadcast_object(self, value: Any = None, root: int = 0) -> Any:
        """Return the root's object."""
        self._is_root("broadcast_object", root)
        return value

    def gather_objects(self, value: Any) -> list[Any]:
        """Return all members' objects, in their order, on every member."""
        return [value]

    def scatter_objects(self, values: Sequence[Any] | None = None, root: int = 0) -> Any:
        """Return entry `rank` of the root's sequence of objects."""
        self._check_objects(values if self._is_root("scatter_objects", root) else None)
        assert values is not None
        return values[0]

    def send_object(self, value: Any, target: int, tag: int = 0) -> None:
        """Send an object to a member, which awaits it by `recv_object`."""
        self._is_root("send_object", target, "target")
        self.messages.setdefault(tag, []).append(value)

    def recv_object(self, source: int | None = None, tag: int = 0) -> Any:
        """Return the object that a member sends, or the next one of this tag from any member."""
        return self._message("recv_object", tag)

    # -- groups -------------------------------------------------------------------------------------------------
    def barrier(self) -> None:
        """Return when all members have come here."""
        self.start_barrier().wait()

    def start_barrier(self) -> Work:
        """Start a `barrier` and return at once."""
        return Done(None)

    def split(self, color: int | None, key: int = 0) -> Any:
        """Return the group of those members that give the same color, ordered by `key`, then by rank.

        Members that give None are in no group, and get None. Groups inherit `timeout`, `check` and `deterministic`.
        """
        if color is None:
            return None
        other = Communicator()
        other.timeout, other.check, other.deterministic = self.timeout, self.check, self.deterministic
        return other

    def free(self) -> None:
        """Give back what MPI keeps of this group. A collective: all members are to call it, and to use it no more."""

    # -- what is checked ----------------------------------------------------------------------------------------
    def _is_root(self, operation: str, root: int, what: str = "root") -> bool:
        if not 0 <= root < self.size:
            raise IndexingError(
                f"{operation}: {what} {root} in a group of {self.size}",
                hint=f"ranks are counted from 0 to {self.size - 1}",
            )
        return root == self.rank

    def _check_entries(self, operation: str, x: Any) -> None:
        if x.shape[:1] != (self.size,):
            raise ShapeError(
                f"{operation}: {describe(x)}, whose first axis needs an entry for each of {self.size} members",
                hint=f"an array of shape ({self.size}, …): fnp.reshape(x, ({self.size}, -1)), say",
            )

    def _check_counts(self, operation: str, x: Any, counts: Sequence[int]) -> None:
        if len(counts) != self.size or min(counts) < 0 or sum(counts) != len(x):
            raise ShapeError(
                f"{operation}: counts {list(counts)} of {describe(x)}, in a group of {self.size}",
                hint="one number for each member, which add up to the rows",
            )

    def _check_objects(self, values: Sequence[Any] | None) -> None:
        if values is None or len(values) != self.size:
            given = "None" if values is None else len(values)
            raise ShapeError(
                f"scatter_objects: {given} objects on the root, for {self.size} members",
                hint=f"a list of {self.size} objects on the root; None elsewhere",
            )

    def _in_order(self, deterministic: bool | None) -> bool:
        return self.deterministic if deterministic is None else deterministic

    def _message(self, operation: str, tag: int) -> Any:
        if not self.messages.get(tag):
            raise CollectiveMismatchError(
                f"{operation}: a group of one, and nothing was sent with tag {tag}",
                hint="comm.send(x, target=0) before, or start several processes: mpirun -n 2 python program.py",
            )
        return self.messages[tag].pop(0)

    # -- how it is carried out ----------------------------------------------------------------------------------
    def _engine(self, x: Any) -> Communicator:
        """The communicator that carries messages of such an array: another one for those on a GPU."""
        return self

    def _all_reduce(self, x: Any, op: str, out: Any, in_order: bool) -> Work:
        return filled(out, x)

    def _reduce(self, x: Any, op: str, root: int, out: Any, in_order: bool) -> Work:
        return filled(out, x)

    def _reduce_scatter(self, x: Any, op: str, out: Any, in_order: bool) -> Work:
        return filled(out, x[0])

    def _all_gather(self, x: Any, out: Any) -> Work:
        return filled(out, x[None])

    def _gather(self, x: Any, root: int, out: Any) -> Work:
        return filled(out, x[None])

    def _scatter(self, x: Any, root: int) -> Work:
        return filled(namespace(x).empty(x.shape[1:], x.dtype), x[0])

    def _all_to_all(self, x: Any, out: Any) -> Work:
        return filled(out, x)

    def _broadcast(self, out: Any, root: int) -> Work:
        return Done(out)

    def _permute(self, x: Any, perm: Sequence[tuple[int, int]], out: Any) -> Work:
        return filled(out, x) if perm else Done(out)

    def _all_gather_rows(self, x: Any) -> Any:
        return x.copy()

    def _gather_rows(self, x: Any, root: int) -> Any:
        return x.copy()

    def _scatter_rows(self, x: Any, root: int, counts: Sequence[int]) -> Any:
        return x.copy()

    def _all_to_all_rows(self, x: Any, counts: Sequence[int]) -> Any:
        return x.copy()

    def _send(self, x: Any, target: int, tag: int) -> Work:
        self.messages.setdefault(tag, []).append(x.copy())
        return Done(None)

    def _recv(self, out: Any, source: int | None, tag: int) -> Work:
        sent = self._message("recv", tag)
        if sent.nbytes != out.nbytes:
            raise ShapeError(
                f"recv: {describe(out)} is awaited, {sent.nbytes} bytes have been sent",
                hint="the shape and dtype of what is sent on both sides",
            )
        out[...] = sent.reshape(-1).view(out.dtype).reshape(out.shape)
        work = Done(out)
        work.source = 0  # type: ignore[attr-defined]
        return work


def filled(out: Any, value: Any) -> Work:
    out[...] = value
    return Done(out)


def namespace(x: Any) -> Any:
    """The array library of an operand."""
    return np if type(x) is np.ndarray else namespace_of(x) or np


def operand(operation: str, x: Any) -> Any:
    """Return x as a contiguous array of a dtype that can be computed with, in the machine's byte order."""
    if isinstance(x, Tracer):
        raise ArrayConversionError(
            f"{operation}: {describe(x)} is traced, a communicator sends plain values",
            hint="fx.lax.psum and the other collectives of fx.lax, over an axis of an fx.distributed.Mesh",
        )
    xp = namespace(x)
    x = xp.asarray(x, order="C")
    dtype = x.dtype
    if xp is np and not dtype.isnative:
        x = x.astype(dtype.newbyteorder("="))
    if dtype.kind not in "biufc" and dtype.num < EXTENSIONS:
        raise DTypeError(
            f"{operation}: {describe(x)}, of a dtype that is not one of numbers",
            hint="broadcast_object or gather_objects, which pickle",
        )
    if dtype.num == LONG_COMPLEX:
        raise DTypeError(
            f"{operation}: {describe(x)}: MPI libraries fail at long messages of this dtype",
            hint="x.real and x.imag, one after the other",
        )
    return x


LONG_COMPLEX = np.dtype(np.clongdouble).num
EXTENSIONS = 256  # the first number of a dtype that is not NumPy's own, such as bfloat16's


def rows(operation: str, x: Any) -> Any:
    """Return x as an operand that has a first axis."""
    x = operand(operation, x)
    if not x.ndim:
        raise ShapeError(f"{operation}: {describe(x)} has no rows", hint="x[None]")
    return x


def result(operation: str, x: Any, shape: tuple[int, ...], out: Any) -> Any:
    """Return `out`, which must fit, or an array for a result of this shape and x's dtype."""
    if out is None:
        return namespace(x).empty(shape, x.dtype)
    if getattr(out, "shape", None) != shape or out.dtype != x.dtype or namespace(out) is not namespace(x):
        raise ShapeError(
            f"{operation}: out is {describe(out)}, the result {x.dtype}[{','.join(map(str, shape))}]",
            hint="leave out= away and assign the result",
        )
    if not out.flags.c_contiguous:
        raise ShapeError(f"{operation}: out is not contiguous", hint="leave out= away and assign the result")
    if namespace(x) is np and not out.flags.writeable:
        raise ImmutableError(f"{operation}: out is read-only", hint="leave out= away and assign the result")
    return out


__all__ = ["Communicator", "Work"]
