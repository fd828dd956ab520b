"""The namespace in which a followed function runs: its own globals, with a `range` whose loops can be observed, and
Python replacements for some functions of C (`stand_ins`).

A `for` loop keeps its iterator where no variable refers to it. In this namespace `for i in range(n)` runs over a
`Counter`, which the state of the program includes, and whose value may be traced. Functions that the program calls by
name run in such a namespace, too.
"""

from __future__ import annotations

import builtins
import sys
import types
import weakref
from collections.abc import Iterator
from typing import Any

from ...core.interpreter import Tracer
from .stack import assigns_globals, next_operation
from .stand_ins import STAND_INS

LIBRARIES = frozenset({"fxgrad", "numpy", "scipy", "jax", "torch", *sys.stdlib_module_names})


class Counter:
    """The iterator of a loop over a range. `frame` identifies the frame that the loop is in."""

    __slots__ = ("__weakref__", "frame", "start", "started", "step", "stop", "value")

    def __init__(self, bounds: tuple[Any, ...], frame: int):
        self.start, self.stop, self.step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
        self.value, self.frame, self.started = self.start, frame, False

    def __iter__(self) -> Counter:
        return self

    def __next__(self) -> Any:
        if self.started:
            self.value = self.value + self.step
        self.started = True  # and the state is complete when the next line decides
        if not (self.value < self.stop if self.step > 0 else self.value > self.stop):
            raise StopIteration
        self.bound(self.value)
        return self.value

    def bound(self, value: Any) -> None:
        """Tell a traced value between which numbers it is, so that an index needs no check."""
        if getattr(value, "is_number", False) and type(self.start) is type(self.stop) is int:
            value.bounds = (min(self.start, self.stop + 1), max(self.start, self.stop - 1))

    def promote(self, tracer: Any) -> None:
        """Go on from a traced value."""
        self.value = tracer


class Loop:
    """A range that a `for` loop is about to run over."""

    __slots__ = ("bounds", "counters")

    def __init__(self, bounds: tuple[Any, ...], counters: list[weakref.ref[Counter]]):
        self.bounds, self.counters = bounds, counters

    def __iter__(self) -> Iterator[Any]:
        counter = Counter(self.bounds, id(sys._getframe(1)))
        self.counters[:] = [ref for ref in self.counters if ref() is not None]
        self.counters.append(weakref.ref(counter))
        return counter


def make_range(counters: list[weakref.ref[Counter]]) -> type:
    """Return the class that stands for `range`; it enters the counters of loops into a list."""

    class RangeType(type):
        def __instancecheck__(cls, value: Any) -> bool:
            return isinstance(value, builtins.range)

    class Range(metaclass=RangeType):
        def __new__(cls, *bounds: Any) -> Any:
            frame = sys._getframe(1)
            step = bounds[2] if len(bounds) == 3 else 1
            is_loop = next_operation(frame.f_code, frame.f_lasti) == "GET_ITER" and 1 <= len(bounds) <= 3
            if is_loop and type(step) is int and step != 0 and all(map(is_count, bounds)):
                return Loop(bounds, counters)
            return builtins.range(*bounds)

    return Range


def is_count(bound: Any) -> bool:
    """Whether a bound of a range is one that a `Counter` takes: an integer, or traced."""
    return type(bound) is int or (
        isinstance(bound, Tracer) and bound.dtype.kind in "iu" and bound.shape == ()
    )


class Namespace(dict):
    """The globals of the functions of a module while they are followed: those of the module, with other built-ins."""

    __slots__ = ("follower", "own")

    def __init__(self, own: dict[str, Any], follower: Follower):
        super().__init__({name: own[name] for name in ("__name__", "__builtins__") if name in own})
        self.own, self.follower = own, follower

    def __getitem__(self, name: str) -> Any:
        if name in self.own:
            return self.follower.follow(self.own[name])
        return self.follower.range if name == "range" else STAND_INS[name]

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in STAND_INS  # not `range`, which may ask for several values


class Follower:
    """What makes of the user's functions such that run in a `Namespace`.

    `counters` are those of loops, as weak references; `functions` and `namespaces` what was made, by the addresses of
    the originals, which they keep.
    """

    def __init__(self) -> None:
        self.counters: list[weakref.ref[Counter]] = []
        self.range = make_range(self.counters)
        self.functions: dict[int, tuple[Any, Any]] = {}
        self.namespaces: dict[int, Namespace] = {}

    def follow(self, value: Any) -> Any:
        """Return a function of the user's as one that runs in a `Namespace`, and anything else as it is."""
        if type(value) is types.MethodType:
            return types.MethodType(self.follow(value.__func__), value.__self__)
        if not is_followed(value):
            return value
        if id(value) not in self.functions:
            old = value.__closure__ or ()
            cells = [types.CellType() if holds_function(cell) else cell for cell in old]
            namespace = self.namespace_of(value.__globals__)
            name, defaults = value.__name__, value.__defaults__
            followed = types.FunctionType(value.__code__, namespace, name, defaults, tuple(cells))
            followed.__kwdefaults__, followed.__module__ = value.__kwdefaults__, value.__module__
            followed.__qualname__ = value.__qualname__
            self.functions[id(value)] = followed, value
            for cell, other in zip(old, cells):
                if other is not cell:
                    other.cell_contents = self.follow(cell.cell_contents)
        return self.functions[id(value)][0]

    def namespace_of(self, own: dict[str, Any]) -> Namespace:
        """Return the namespace that stands for a module's."""
        if id(own) not in self.namespaces:
            self.namespaces[id(own)] = Namespace(own, self)
        return self.namespaces[id(own)]

    def running(self) -> list[Counter]:
        """The counters of the loops that are running."""
        return [counter for reference in self.counters if (counter := reference()) is not None]


def holds_function(cell: Any) -> bool:
    """Whether a variable that a function closes over holds a function of the user's."""
    try:
        return is_followed(cell.cell_contents)
    except ValueError:  # it has no value yet
        return False


def is_followed(value: Any) -> bool:
    """Whether a value is a function that a library does not define, and that assigns to no global."""
    if type(value) is not types.FunctionType or (value.__module__ or "").partition(".")[0] in LIBRARIES:
        return False
    return not assigns_globals(value.__code__)
