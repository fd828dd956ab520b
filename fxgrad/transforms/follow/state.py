"""The state of a Python program at a decision: where each frame stands, and what its variables hold.

Two decisions with equal states have the same continuation, apart from the traced values that it computes with. A
`State` lists what can be reached from the variables of all frames, and the globals that their code names, in a fixed
order: traced values are variables of the Graph, numbers and texts are themselves, containers and objects are their
contents. If something is reached that may change without being seen (an iterator, an open file), or if a frame hides
operands of unfinished expressions, the state is that of this path alone.
"""

from __future__ import annotations

import ctypes
import functools
import inspect
import sys
import types
from collections.abc import Callable, Hashable, Iterator, Sequence
from enum import Enum
from hashlib import blake2b
from typing import Any

import numpy as np

from ...core.aval import aval_of
from ...core.graph import Var
from ...core.interpreter import Interpreter, Tracer, twin
from ...core.key import key_of
from ...core.surface import is_box
from . import operands
from .namespace import LIBRARIES as IGNORED
from .namespace import Counter, Loop, Namespace
from .stack import global_names, hidden_values

MOST_OBJECTS = 20_000  # objects that a state is read from
MOST_BYTES = 1 << 24  # bytes of arrays that it is
CONSTANTS = (
    *(
        type(None),
        bool,
        int,
        float,
        complex,
        str,
        bytes,
        type(...),
        type(NotImplemented),
        np.generic,
        np.dtype,
    ),
    *(types.ModuleType, np.ufunc, types.CodeType, Enum, range),
)
OF_C = (  # what the class of an extension consists of
    *(
        types.MethodDescriptorType,
        types.WrapperDescriptorType,
        types.GetSetDescriptorType,
        types.BuiltinFunctionType,
    ),
)
ITERATORS = (  # of Python's, which tell what they iterate over, and where they are
    *map(type, (iter([]), iter(()), iter(range(0)), iter(range(1 << 99)), reversed([]), iter(""))),
    *(enumerate, zip, reversed),
)
CONTAINERS = (tuple, list, dict, set, frozenset)
LIBRARIES = (
    "fxgrad.",
    "numpy.",
    "scipy.",
    "math.",
    "functools.",
)  # their functions hold nothing of the program
IS_HEAP_TYPE = 1 << 9  # of type.__flags__: Python code defines the class

Write = Callable[[Any], None]
Names = frozenset[Any]


class UnseenError(Exception):
    """Something is reached whose state cannot be read."""


class Same:
    """An object that equals itself alone, and lives as long as a key that contains it."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is Same and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


class State:
    """What a program is at a decision.

    Args:
        frames: from the outermost on.
        variable_of: gives the variable of a value that is traced here, and None for others.
        counters: the counters of the loops over ranges that are running.

    `place` tells where each frame stands. `names` are the ways to what is reached, `elements` what is found there.
    `numbers` are Python's among them, and `writers` put other values in their place. Where `is_complete` is false,
    more can be reached.
    """

    def __init__(
        self,
        frames: Sequence[types.FrameType],
        variable_of: Callable[[Any], Var | None],
        counters: Sequence[Counter],
    ):
        self.variable_of = variable_of
        self.place: Hashable = tuple([(frame.f_code, frame.f_lasti) for frame in frames])
        self.names: list[Any] = []
        self.elements: list[Any] = []
        self.writers: dict[Any, Write | None] = {}
        self.numbers: dict[Any, int | float] = {}
        self.is_complete = True
        self.seen: dict[int, int] = {}
        self.kept: list[Any] = []  # so that no address is used twice while the state is read
        self.bytes = 0
        try:
            for depth, frame in enumerate(frames):
                self.read_frame(depth, frame, [c for c in counters if c.frame == id(frame)])
        except UnseenError:
            self.is_complete = False
        self.kept, self.seen = [], {}

    # -- reading -------------------------------------------------------------------------------------------------
    def read_frame(self, depth: Any, frame: types.FrameType, counters: Sequence[Counter]) -> None:
        """Read the variables of a frame, the counters of its loops, and what else its stack hides."""
        hidden, loaded = hidden_values(frame)
        if hidden is None or not (operands.IS_READABLE or len(hidden) == len(counters)):
            raise UnseenError
        if operands.IS_READABLE:
            found = [operands.operand(frame, index) for index in hidden]
            counters = [value for value in found if type(value) is Counter]
            for index, value in zip(hidden, found):
                if type(value) is not Counter:
                    self.read((depth, "operand", index), value)
        for name, value in [*frame.f_locals.items()]:
            write = None if name in loaded else functools.partial(write_local, frame, name)
            self.read((depth, name), value, write)
        self.read_globals(depth, frame.f_code, frame.f_globals)
        for index, counter in enumerate(counters):
            for part in ("start", "started", "stop", "step"):
                self.read((depth, index, part), getattr(counter, part))
            self.read((depth, index, "value"), counter.value, counter.promote)

    def read_globals(self, name: Any, code: types.CodeType, namespace: dict[str, Any]) -> None:
        """Read the globals that a code may read."""
        namespace = namespace.own if type(namespace) is Namespace else namespace
        if str(namespace.get("__name__")).partition(".")[0] in IGNORED:
            return
        for part in sorted(global_names(code)):
            if part in namespace:
                self.read((name, "global", part), namespace[part])

    def read(self, name: Any, value: Any, write: Write | None = None) -> None:
        """Read a value, and what can be reached from it; `write` puts another in its place."""
        variable = self.variable_of(value)
        if write is not None and (variable is not None or type(value) in (int, float)):
            self.writers[name] = write
        if type(value) in (int, float):
            self.numbers[name] = value
        if variable is not None:
            self.add(name, variable)
            self.read_beside(name, value)
        elif isinstance(value, CONSTANTS) or (isinstance(value, type) and not is_of_user(value)):
            self.add(name, key_of(value))
        elif id(value) in self.seen:
            self.add(name, ("again", self.seen[id(value)]))
        else:
            self.seen[id(value)] = len(self.seen)
            self.kept.append(value)
            if len(self.seen) > MOST_OBJECTS:
                raise UnseenError
            self.read_object(name, value)

    def read_beside(self, name: Any, tracer: Any) -> None:
        """Read what a traced value refers to besides: the one that it is a view of, and that whose root it is."""
        shown, radicand = getattr(tracer, "shown", None), getattr(tracer, "radicand", None)
        if shown is not None:
            self.read_shown((name, "shown"), tracer, *shown)
        if hasattr(tracer, "bounds"):
            self.add((name, "bounds"), tracer.bounds)
        if radicand is not None:
            self.read_closure((name, "radicand"), radicand)

    def read_shown(self, name: Any, tracer: Any, base: Any, step: Any, *further: Any) -> None:
        """Read what a tracer is a view of, and by which step. Numbers in an index may change."""
        self.read((name, "base"), base)
        self.read((name, "step"), step)
        for index, part in enumerate(further):
            is_tuple = type(part) is tuple
            for place, entry in enumerate(part if is_tuple else (part,)):
                write = functools.partial(write_shown, tracer, index, place if is_tuple else None)
                self.read((name, index, place), entry, write)

    def read_generator(self, name: Any, generator: Any) -> None:
        """Read a generator: where it stands, if it does not run, and what its frame holds."""
        frame = generator.gi_frame
        self.add(name, (generator.gi_code, generator.gi_running, frame and frame.f_lasti))
        if frame is None or generator.gi_running:  # then it is among the frames of the program
            return
        if inspect.getgeneratorstate(generator) == inspect.GEN_CREATED:
            for part, value in [*frame.f_locals.items()]:
                self.read((name, part), value)
            self.read_globals(name, frame.f_code, frame.f_globals)
        else:
            self.read_frame((name, "frame"), frame, [])

    def read_cell(self, name: Any, cell: Any) -> None:
        """Read the cell of an array that can be written into; one that is a view may hold what it has read before."""
        self.add(name, type(cell))
        if not hasattr(cell, "parent"):
            self.read((name, "held"), cell.held)
            return
        is_read = cell.seen == cell.root.version
        if not is_read:
            cell.held = None
        parts = (cell.parent, cell.layout, cell.pattern, cell.part, is_read, cell.held)
        for index, part in enumerate(parts):
            self.read((name, index), part)
        self.read_closure((name, "read"), cell.read)

    def read_closure(self, name: Any, function: Any) -> None:
        """Read what a function of the library closes over, which gives a radicand or reads a view. The radicand of a
        root of a root is forgotten, so that a loop of roots does not hold the values of all its rounds."""
        self.add(name, function.__code__)
        for index, cell in enumerate(function.__closure__ or ()):
            part = cell.cell_contents
            if isinstance(part, types.FunctionType):
                self.read_closure((name, index), part)
                continue
            if hasattr(part, "radicand"):
                cell.cell_contents = part = twin(part)
                del part.radicand
            self.read((name, index), part)

    def add(self, name: Any, element: Any) -> None:
        self.names.append(name)
        self.elements.append(element)

    def read_object(self, name: Any, value: Any) -> None:
        """Read an object that has not been met before."""
        kind = type(value)
        if kind is np.ndarray and not value.dtype.hasobject:
            self.bytes += value.nbytes
            if self.bytes > MOST_BYTES:
                raise UnseenError
            layout = value.shape, value.dtype, value.strides, value.flags.writeable, place_in_base(value)
            self.add(name, (kind, *layout, blake2b(value.tobytes()).digest()))
        elif getattr(kind, "_fx_is_cell", False):
            self.read_cell(name, value)
            return
        elif kind is types.GeneratorType:
            self.read_generator(name, value)
            return
        elif isinstance(value, type):
            self.add(name, Same(value))
        elif is_of_library(value):
            self.add(name, Same(value))
            return
        elif isinstance(value, types.FunctionType):
            self.add(name, value.__code__)
            self.read_globals(name, value.__code__, value.__globals__)
        else:
            self.add(name, kind)
        for part, child in children_of(value):
            self.read((name, part), child)

    # -- what follows from it ------------------------------------------------------------------------------------
    def key(self, changing: Names = frozenset()) -> Hashable:
        """A key that is equal for states which differ in traced values alone, and in the numbers that have these
        names."""
        slots: dict[Var, int] = {}
        elements = []
        for name, element in zip(self.names, self.elements):
            if name in changing:
                aval = element.aval if type(element) is Var else aval_of(self.numbers[name])
                element = ("changing", aval.shape, aval.dtype, aval.weak)
            elif type(element) is Var:
                aval = element.aval
                element = (slots.setdefault(element, len(slots)), aval.shape, aval.dtype, aval.weak)
            elements.append(element)
        return self.place, changing, tuple(self.names), tuple(elements)

    def slots(self, changing: Names = frozenset()) -> list[Any]:
        """The traced values, each once, and then what the names of `changing` hold: variables and numbers."""
        found = [*zip(self.names, self.elements)]
        fixed = dict.fromkeys([e for name, e in found if type(e) is Var and name not in changing])
        held = [e if type(e) is Var else self.numbers[name] for name, e in found if name in changing]
        return [*fixed, *held]

    def variables(self) -> set[Var]:
        """All traced values that are reached."""
        return {element for element in self.elements if type(element) is Var}

    def differences(self, other: State) -> Names | None:
        """The names of the numbers in which another state differs; None if it differs in anything else."""
        if self.place != other.place or self.names != other.names:
            return None
        pairs = zip(self.names, self.elements, other.elements)
        changing = frozenset(
            [name for name, mine, theirs in pairs if name in self.numbers and mine != theirs]
        )
        if not (changing <= self.writers.keys() and changing <= other.numbers.keys()):
            return None
        return changing if self.key(changing) == other.key(changing) else None


def is_of_library(value: Any) -> bool:
    """Whether a value is a function, or an object that can be called, of a library, which holds nothing of the
    program."""
    kind = type(value)
    module = value.__module__ if isinstance(value, types.FunctionType) else kind.__module__
    return f"{module}.".startswith(LIBRARIES) and callable(value) and kind is not functools.partial


def children_of(value: Any) -> Iterator[tuple[Any, Any]]:
    """What can be reached from an object in one step, with the step.

    Raises:
        UnseenError: more can, or it may change without being seen.
    """
    kind = type(value)
    if isinstance(value, type):
        yield from enumerate(value.__bases__)
        for name, part in [*vars(value).items()]:
            if isinstance(part, property):
                yield from ((name, part.fget), ((name, "set"), part.fset))
                continue
            part = part.__func__ if isinstance(part, (staticmethod, classmethod)) else part
            is_own = not name.startswith(("__", "_abc_")) and not hasattr(type(part), "__get__")
            if is_own or isinstance(part, types.FunctionType):
                yield name, part
    elif isinstance(value, CONTAINERS):
        is_hashed = isinstance(value, (dict, set, frozenset))
        if (
            not is_plain_class(kind)
            or kind is Namespace
            or (is_hashed and any(isinstance(key, Tracer) for key in value))
        ):
            raise UnseenError
        yield from enumerate([*value])
        yield from enumerate([*value.values()], len(value)) if isinstance(value, dict) else ()
        yield from attributes_of(value)
    elif isinstance(value, types.FunctionType):
        yield from (("defaults", value.__defaults__), ("keywords", value.__kwdefaults__))
        for index, cell in enumerate(value.__closure__ or ()):
            try:
                yield index, cell.cell_contents
            except ValueError:  # the variable has no value yet
                yield index, None
    elif isinstance(value, types.MethodType):
        yield from (("function", value.__func__), ("self", value.__self__))
    elif isinstance(value, types.BuiltinFunctionType):
        yield from (("function", value.__name__), ("self", value.__self__))
    elif isinstance(value, slice):
        yield from enumerate((value.start, value.stop, value.step))
    elif kind is types.SimpleNamespace:
        yield from [*vars(value).items()]
    elif isinstance(value, functools.partial):
        yield from (("function", value.func), ("args", value.args), ("keywords", value.keywords))
    elif is_box(value):
        yield "cell", value.cell
    elif kind is Loop:
        yield "bounds", value.bounds
    elif kind is np.ndarray and not value.dtype.hasobject:
        if value.base is not None:
            yield "base", value.base
    elif kind in ITERATORS:
        _, parts, *rest = value.__reduce__()
        yield from enumerate((*parts, *rest))
    elif isinstance(value, Interpreter) or hasattr(kind, "__next__") or not is_plain_class(kind):
        raise UnseenError
    else:
        yield from attributes_of(value)


def attributes_of(value: Any) -> Iterator[tuple[Any, Any]]:
    """The class and the attributes of an object of a class that Python code defines."""
    yield "class", type(value)
    yield from [*getattr(value, "__dict__", {}).items()]
    for slot in dict.fromkeys(name for part in type(value).__mro__ for name in slots_of(part)):
        if slot not in ("__dict__", "__weakref__") and hasattr(value, slot):
            yield slot, getattr(value, slot)


def is_of_user(kind: type) -> bool:
    """Whether a class is one of the user's, which may change."""
    return bool(kind.__flags__ & IS_HEAP_TYPE) and kind.__module__.partition(".")[0] not in IGNORED


def is_plain_class(kind: type) -> bool:
    """Whether Python code defines a class, or it is a container of Python's: its objects hold nothing else."""
    for part in kind.__mro__:
        if part is object or part in CONTAINERS:
            continue
        own = [v for name, v in vars(part).items() if name not in ("__dict__", "__weakref__")]
        if not part.__flags__ & IS_HEAP_TYPE or any(isinstance(v, OF_C) for v in own):
            return False
    return True


def place_in_base(value: np.ndarray) -> int:
    """How far the first entry of an array is from that of the array that it is a view of."""
    base = value.base
    return value.ctypes.data - base.ctypes.data if isinstance(base, np.ndarray) else 0


def slots_of(kind: type) -> Sequence[str]:
    """The names in a class's `__slots__`."""
    slots = vars(kind).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def write_shown(tracer: Any, index: int, place: int | None, value: Any) -> None:
    """Put a value into the step by which a tracer is a view."""
    base, step, *further = tracer.shown
    if place is not None:
        value = (*further[index][:place], value, *further[index][place + 1 :])
    further[index] = value
    tracer.shown = (base, step, *further)


def write_local(frame: types.FrameType, name: str, value: Any) -> None:
    """Put a value into a variable of a running frame (PEP 667; before Python 3.13 by the function of debuggers)."""
    frame.f_locals[name] = value
    if sys.version_info < (3, 13):
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
