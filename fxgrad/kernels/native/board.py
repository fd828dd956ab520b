"""The board where a thread posts work, and others take pieces of it, as machine code: no Python runs in between.

    i32 share(board, function, first, last, piece, helpers, kind, arguments)    have work done; its exceptions
    void serve(board, helper)                                                   help with everything posted, for ever

A piece is a call `function(from, to, arguments…)`, of which whoever is free takes the next: a helper that comes late,
because its processor does something else, is not waited for, and then nothing is lost but its share. Work that is
posted while there is other work on the board is done by the thread that posts it.

A helper looks for work for some microseconds after it has done some, and then sleeps on a lock of the interpreter's
(`PyThread_acquire_lock`, which needs no Python). So does a thread that waits for the last pieces.
"""

from __future__ import annotations

from collections.abc import Callable

from .exceptions import X86
from .ir import I1, I32, I64, PTR, Function, Value

LINE = 8  # words of the unit of memory that processors hand to each other
OPEN, ACTIVE, NEXT, WAITS, BUSY, WORK, TOOLS, HELPERS = (LINE * k for k in (0, 2, 4, 6, 8, 10, 12, 14))
# What helpers read while OPEN is the number of the work that they have seen there.
FUNCTION, LAST, PIECE, COUNT, KIND, ARGUMENTS, RAISED, NUMBER = (WORK + k for k in range(LINE))
ACQUIRE, RELEASE, YIELD, FINISHED = (TOOLS + k for k in range(4))  # functions, and the lock of who waits
RETURNS, NUMBERED = 1, 2  # bits of the kind: the function returns exceptions; its third argument is who calls
MOST = 40  # arguments of a function besides the first two
PATIENCE = 4000  # looks at the board before a thread sleeps, about 100 µs: to wake it takes half as long


class Board(Function):
    """A function that works on the board, its first argument."""

    @property
    def board(self) -> Value:
        return self.arguments[0]

    def word(self, index: int | Value) -> Value:
        return self.place(self.board, index, "i64")

    def read(self, index: int | Value) -> Value:
        return self.emit(f"load atomic i64, ptr {self.word(index).text} seq_cst, align 8", I64)

    def write(self, value: Value | int, index: int | Value) -> None:
        at = self.word(index)
        self.lines.append(f"  store atomic i64 {self.operand(value, I64)}, ptr {at.text} seq_cst, align 8")

    def change(self, operation: str, index: int | Value, value: Value | int) -> Value:
        """Change a word atomically by "add", "or" or "xchg"; return its old value."""
        at = self.word(index)
        return self.emit(f"atomicrmw {operation} ptr {at.text}, i64 {self.operand(value, I64)} seq_cst", I64)

    def acquire(self, lock: int | Value) -> None:
        """Sleep until a lock, a word of the board, is released."""
        function, held = self.load(self.board, PTR, ACQUIRE), self.load(self.board, PTR, lock)
        self.lines.append(f"  call i32 {function.text}(ptr {held.text}, i32 1)")

    def release(self, lock: int | Value) -> None:
        function, held = self.load(self.board, PTR, RELEASE), self.load(self.board, PTR, lock)
        self.lines.append(f"  call void {function.text}(ptr {held.text})")

    def look(self, is_wanted: Callable[[], Value], patience: int | Value = PATIENCE) -> None:
        """Poll a condition for a while. The processor is yielded from time to time, because the thread that is waited
        for may be scheduled on the same one."""
        rest = "@llvm.x86.sse2.pause" if X86 else "@llvm.aarch64.hint"
        self.declare(rest, "void", [] if X86 else [I32])
        offer = self.load(self.board, PTR, YIELD)
        with self.cycle([self.constant(0, I64)]) as loop:
            (count,) = loop.carry
            loop.go_on_if((count < patience) & ~is_wanted())
            self.lines.append(f"  call void {rest}({'' if X86 else 'i32 1'})")
            with self.when((count & 31).equals(31)):
                self.lines.append(f"  call i32 {offer.text}()")
            loop.update(count + 1)

    def take_pieces(self, who: Value) -> None:
        """Take pieces of the work while there are any."""
        last, piece = self.load(self.board, I64, LAST), self.load(self.board, I64, PIECE)
        function, kind = self.load(self.board, PTR, FUNCTION), self.load(self.board, I64, KIND)
        given = self.load(self.board, PTR, ARGUMENTS)
        with self.cycle([]) as loop:
            first = self.change("add", NEXT, piece)
            loop.go_on_if(first < last)
            raised = self.call_piece(
                function, kind, given, first, (first + piece).intrinsic("smin", last), who
            )
            self.change("or", RAISED, raised)

    def call_piece(
        self, function: Value, kind: Value, given: Value, first: Value, last: Value, who: Value
    ) -> Value:
        """Call the function for a piece; return its exceptions. It is passed more arguments than it has: with C's
        calling conventions the caller puts them on the stack, and takes them away."""
        rest = [self.load(given, I64, k) for k in range(MOST)]

        def call(*arguments: Value) -> list[Value]:
            text = ", ".join(f"i64 {v.text}" for v in arguments)
            return [self.emit(f"call i32 {function.text}({text})", I32)]

        (raised,) = self.branch(
            (kind & NUMBERED) > 0, lambda: call(first, last, who, *rest), lambda: call(first, last, *rest)
        )
        return ((kind & RETURNS) > 0).select(self.cast("sext", raised, I64), 0)


def serve_function() -> Function:
    """Return the function of a helper."""
    f = Board("serve", [PTR, I64])
    helper = f.arguments[1]
    asleep = helper * LINE + HELPERS
    with f.cycle([f.constant(0, I64), f.constant(0, I64)]) as life:
        seen, patience = life.carry  # who has not come in time goes to sleep at once
        life.go_on_if(f.constant(1, I1))

        def is_new(number: Value) -> Value:
            return (number > 0) & ~number.equals(seen)

        f.look(lambda: is_new(f.read(OPEN)), patience)
        with f.when(~is_new(f.read(OPEN))):
            f.write(1, asleep)
            # Who posted work since then may have seen this, and woken us, or not.
            (sleeps,) = f.branch(
                is_new(f.read(OPEN)),
                lambda: [f.change("xchg", asleep, 0).equals(0)],
                lambda: [f.constant(1, I1)],
            )
            with f.when(sleeps):
                f.acquire(asleep + 1)
        number = f.read(OPEN)
        with f.when(is_new(number)):
            f.change("add", ACTIVE, 1)
            is_open = f.read(OPEN).equals(number)  # and stays what it is as long as we are active
            with f.when(is_open & (helper < f.load(f.board, I64, COUNT))):
                f.take_pieces(helper + 1)
            with (
                f.when(f.change("add", ACTIVE, -1).equals(1)),
                f.when(f.change("xchg", WAITS, 0).equals(1)),
            ):
                f.release(FINISHED)
        life.update(
            number.equals(0).select(seen, number), is_new(number).select(PATIENCE, f.constant(0, I64))
        )
    return f


def share_function() -> Function:
    """Return the function that has work done."""
    f = Board("share", [PTR, PTR, I64, I64, I64, I64, I64, PTR], "i32")
    _, function, first, last, piece, helpers, kind, given = f.arguments

    def together() -> list[Value]:
        for value, index in ((last, LAST), (piece, PIECE), (helpers, COUNT), (kind, KIND)):
            f.store(value, f.board, index)
        for pointer, index in ((function, FUNCTION), (given, ARGUMENTS)):
            f.store(pointer, f.board, index)
        f.write(first, NEXT)
        f.write(0, RAISED)
        number = f.load(f.board, I64, NUMBER) + 1
        f.store(number, f.board, NUMBER)
        f.write(number, OPEN)
        with f.loop(helpers) as others:
            asleep = others.index * LINE + HELPERS
            with f.when(f.read(asleep) > 0), f.when(f.change("xchg", asleep, 0).equals(1)):
                f.release(asleep + 1)
        f.take_pieces(f.constant(0, I64))
        f.write(0, OPEN)
        with f.cycle([]) as waiting:
            f.look(lambda: f.read(ACTIVE).equals(0))
            waiting.go_on_if(f.read(ACTIVE) > 0)
            f.change("xchg", WAITS, 1)
            (sleeps,) = f.branch(
                f.read(ACTIVE) > 0,
                lambda: [f.constant(1, I1)],
                lambda: [f.change("xchg", WAITS, 0).equals(0)],
            )
            with f.when(sleeps):
                f.acquire(FINISHED)
        raised = f.read(RAISED)
        f.write(0, BUSY)
        return [raised]

    (raised,) = f.branch(
        f.change("xchg", BUSY, 1).equals(0),
        together,
        lambda: [f.call_piece(function, kind, given, first, last, f.constant(0, I64))],
    )
    f.return_value(f.cast("trunc", raised, I32))
    return f
