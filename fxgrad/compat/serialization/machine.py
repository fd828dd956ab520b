"""A reader of pickles that executes nothing: a stack machine whose only functions are those of a table.

A pickle is a program for a machine with a stack, a memo and some forty instructions. Two of them call something by its
name. Here a name refers to an entry in the table of `builders`, or to a class that the user has allowed, and to nothing
else. Reading never takes more memory than the length of the file: strings and numbers are in the file, and copies (a
set of a list) are charged to a budget, because a program of a few bytes may copy the same list again and again.

Source of the format: https://github.com/python/cpython/blob/3.13/Lib/pickletools.py. The text instructions of protocols
0 and 1 are not supported: torch has never written them.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from .._core.tensor import Size
from ..errors import TruncatedError
from .errors import refuse
from .source import Source, take_counted, take_integer, take_name, take_number, take_text

DEPTH = 500  # of deques and defaultdicts inside one another
KEY_PARTS = 1000  # of a key of a dict: more make its hash, which is computed again whenever the key is used, expensive
PROTOCOLS = range(2, 6)
# What the instructions raise where a pickle is broken.
BROKEN = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
LISTS, DICTS = (list, deque), (dict, OrderedDict, defaultdict, Counter)


class Instruction(NamedTuple):
    """An instruction of pickles: its name, the reader of its argument, and its effect."""

    name: str
    take: Callable[[Source], Any] | None
    act: Callable[..., None]


INSTRUCTIONS: dict[bytes, Instruction] = {}


def instruction(code: bytes, name: str, take: Callable[[Source], Any] | None = None) -> Callable[..., Any]:
    """Declare the effect of an instruction: function(machine), or function(machine, argument)."""

    def declare(act: Callable[..., None]) -> Callable[..., None]:
        INSTRUCTIONS[code] = Instruction(name, take, act)
        return act

    return declare


def find_instruction(source: Source) -> Instruction:
    """Read the next instruction without its argument."""
    code = source.take(1)
    found = INSTRUCTIONS.get(code)
    if found is None:
        raise refuse(
            f"Unsupported operand {code[0]}",
            hint="the file is broken, no checkpoint, or written with a pickle_protocol below 2",
        )
    return found


class Global(NamedTuple):
    """The object that a name stands for, and the function that builds instances of it.

    `build` is function(machine, *args), or None where the value is only data; `update` is function(machine, made,
    state) for what an instance is given after it is made. `trusted` says that the user has allowed it.
    """

    value: Any
    build: Callable[..., Any] | None = None
    update: Callable[..., None] | None = None
    trusted: bool = False


class Machine:
    """The machine: it runs one pickle and returns what that builds.

    Args:
        source: where the pickle is.
        find_global: (module, name) → what the name stands for; it raises for what is not allowed.
        load_storage: the tuple that stands for a storage → the storage.
        encoding: of strings that Python 2 wrote; "bytes": they stay bytes.
    """

    def __init__(
        self,
        source: Source,
        find_global: Callable[[str, str], Global],
        load_storage: Callable[[Any], Any],
        encoding: str = "utf-8",
    ):
        self.source, self.find_global, self.load_storage = source, find_global, load_storage
        self.encoding = encoding
        self.stack: list[Any] = []
        self.outer_stacks: list[list[Any]] = []  # below the marks
        self.memo: dict[int, Any] = {}
        self.globals: dict[int, Global] = {}  # by the id of their values, which they keep alive
        self.classes: dict[type, Global] = {}
        self.deferred: list[
            Callable[[], Any]
        ] = []  # what reads the entries of Tensors: done when these are there
        self.fragile: list[deque | defaultdict] = []  # see `check_depth`
        self.budget = 4 * source.left + 10_000
        self.copied: dict[int, int] = {}
        self.is_in_user_code = False

    def run(self) -> Any:
        """Run the pickle up to its end.

        Raises:
            UnpicklingError: it is broken, or builds what is not allowed.
            EOFError: it ends too early.
        """
        try:
            made = self.run_instructions()
            self.check_depth()
            return made
        except BaseException as error:
            for container in self.fragile:
                container.clear()
            if self.is_in_user_code or not isinstance(error, BROKEN):
                raise
            raise refuse(
                f"The pickle in the file is broken: {error}",
                hint="copy or save it again",
            ) from error

    def run_instructions(self) -> Any:
        """Run the pickle to its end."""
        source = self.source
        while True:
            found = find_instruction(source)
            if found.act is stop:
                return self.stack.pop()
            if found.take is None:
                found.act(self)
            else:
                found.act(self, found.take(source))

    def check_depth(self) -> None:
        """Raise if deques and defaultdicts are deep inside one another.

        Python frees those by recursion in C, which would run out of stack. That is also why all are emptied before an
        error leaves the machine.
        """
        depths: dict[int, int] = {}  # 0: it is being looked at
        for root in self.fragile:
            todo = [root]
            while todo:
                last = todo[-1]
                if id(last) in depths:
                    todo.pop()
                    inside = [depths.get(id(x), 0) for x in fragile_parts(last)]
                    depths[id(last)] = 1 + max(inside, default=0)
                    if depths[id(last)] > DEPTH:
                        raise refuse("Deques and defaultdicts are too deep inside one another")
                else:
                    depths[id(last)] = 0
                    todo += [x for x in fragile_parts(last) if id(x) not in depths]

    def charge(self, count: int) -> None:
        """Charge copied bytes to the budget."""
        self.budget -= count
        if self.budget < 0:
            raise refuse(
                "The file would build much more than it holds",
                hint="it copies the same contents again and again, as no program that saves does",
            )

    def charge_copy(self, owner: Any, count: int) -> None:
        """Count a copy of entries of an array that owns its memory. As many as it holds, twice, are free."""
        copied = self.copied[id(owner)] = self.copied.get(id(owner), 0) + count
        if copied > 2 * owner.size:
            self.charge(count)

    def call_user(self, function: Callable[..., Any], *args, **options) -> Any:
        """Call an allowed function of the user's; its errors are not attributed to the file."""
        self.is_in_user_code = True
        made = function(*args, **options)
        self.is_in_user_code = False
        return made

    def pop_marked(self) -> list[Any]:
        """Pop the values above the last mark."""
        found = self.stack
        self.stack = self.outer_stacks.pop()
        return found

    def check_key(self, key) -> None:
        """Raise for a dict key or set member whose hash would take long to compute."""
        todo, parts = [key], 0
        while todo:
            part = todo.pop()
            parts += 1
            if isinstance(part, tuple | frozenset):
                todo += part if type(part) in (tuple, Size) else ()
            elif isinstance(part, int):
                self.charge(part.bit_length() >> 6)
            if parts + len(todo) > KEY_PARTS:
                raise refuse("A key of a dict has too many parts")

    def known_class(self, made) -> Global | None:
        """Return the known class of an object, or of its nearest base that the file has named."""
        return next((self.classes[cls] for cls in type(made).__mro__ if cls in self.classes), None)


def fragile_parts(container: deque | defaultdict) -> list[Any]:
    """Return the deques and defaultdicts that are entries of one."""
    entries = container.values() if isinstance(container, dict) else container
    return [x for x in entries if type(x) in (deque, defaultdict)]


def stop(machine: Machine) -> None:
    """Mark the end: `run` returns."""


instruction(b".", "STOP")(stop)


# -- the stack ------------------------------------------
@instruction(b"\x80", "PROTO", partial(take_number, "B"))
def check_protocol(machine: Machine, protocol: int) -> None:
    if protocol not in PROTOCOLS:
        raise refuse(f"Unsupported pickle protocol: {protocol}")


@instruction(b"\x95", "FRAME", partial(take_number, "<Q"))
def enter_frame(machine: Machine, size: int) -> None:
    if size > machine.source.left:
        raise TruncatedError("Ran out of input", hint="the file is not complete")


@instruction(b"(", "MARK")
def mark(machine: Machine) -> None:
    machine.outer_stacks.append(machine.stack)
    machine.stack = []


@instruction(b"0", "POP")
def pop(machine: Machine) -> None:
    if machine.stack:
        machine.stack.pop()
    else:
        machine.pop_marked()


@instruction(b"1", "POP_MARK")
def pop_mark(machine: Machine) -> None:
    machine.pop_marked()


@instruction(b"2", "DUP")
def duplicate(machine: Machine) -> None:
    machine.stack.append(machine.stack[-1])


# -- the memo ------------------------------------------
@instruction(b"q", "BINPUT", partial(take_number, "B"))
@instruction(b"r", "LONG_BINPUT", partial(take_number, "<I"))
def remember(machine: Machine, place: int) -> None:
    machine.memo[place] = machine.stack[-1]


@instruction(b"\x94", "MEMOIZE")
def remember_next(machine: Machine) -> None:
    machine.memo[len(machine.memo)] = machine.stack[-1]


@instruction(b"h", "BINGET", partial(take_number, "B"))
@instruction(b"j", "LONG_BINGET", partial(take_number, "<I"))
def recall(machine: Machine, place: int) -> None:
    if place not in machine.memo:
        raise refuse(f"Memo value not found at index {place}")
    machine.stack.append(machine.memo[place])


# -- values ------------------------------------------
for code, name, value in ((b"N", "NONE", None), (b"\x88", "NEWTRUE", True), (b"\x89", "NEWFALSE", False)):
    instruction(code, name)(lambda machine, value=value: machine.stack.append(value))
for code, name, empty in (
    (b"]", "EMPTY_LIST", list),
    (b")", "EMPTY_TUPLE", tuple),
    (b"}", "EMPTY_DICT", dict),
    (b"\x8f", "EMPTY_SET", set),
):
    instruction(code, name)(lambda machine, empty=empty: machine.stack.append(empty()))


@instruction(b"J", "BININT", partial(take_number, "<i"))
@instruction(b"K", "BININT1", partial(take_number, "B"))
@instruction(b"M", "BININT2", partial(take_number, "<H"))
@instruction(b"\x8a", "LONG1", partial(take_integer, "B"))
@instruction(b"\x8b", "LONG4", partial(take_integer, "<i"))
@instruction(b"G", "BINFLOAT", partial(take_number, ">d"))
@instruction(b"X", "BINUNICODE", partial(take_text, "<I"))
@instruction(b"\x8c", "SHORT_BINUNICODE", partial(take_text, "B"))
@instruction(b"\x8d", "BINUNICODE8", partial(take_text, "<Q"))
@instruction(b"C", "SHORT_BINBYTES", partial(take_counted, "B"))
@instruction(b"B", "BINBYTES", partial(take_counted, "<I"))
@instruction(b"\x8e", "BINBYTES8", partial(take_counted, "<Q"))
def push(machine: Machine, value) -> None:
    machine.stack.append(value)


@instruction(b"\x96", "BYTEARRAY8", partial(take_counted, "<Q"))
def push_bytearray(machine: Machine, value: bytes) -> None:
    machine.stack.append(bytearray(value))


@instruction(b"U", "SHORT_BINSTRING", partial(take_counted, "B"))
@instruction(b"T", "BINSTRING", partial(take_counted, "<i"))
def push_string(machine: Machine, value: bytes) -> None:
    """Push a string of Python 2."""
    machine.stack.append(value if machine.encoding == "bytes" else value.decode(machine.encoding))


# -- containers ------------------------------------------
@instruction(b"\x85", "TUPLE1")
def make_single(machine: Machine) -> None:
    machine.stack[-1:] = [(machine.stack[-1],)]


@instruction(b"\x86", "TUPLE2")
def make_pair(machine: Machine) -> None:
    machine.stack[-2:] = [(machine.stack[-2], machine.stack[-1])]


@instruction(b"\x87", "TUPLE3")
def make_triple(machine: Machine) -> None:
    machine.stack[-3:] = [(machine.stack[-3], machine.stack[-2], machine.stack[-1])]


@instruction(b"t", "TUPLE")
def make_tuple(machine: Machine) -> None:
    found = machine.pop_marked()
    machine.stack.append(tuple(found))


@instruction(b"\x91", "FROZENSET")
def make_frozenset(machine: Machine) -> None:
    found = machine.pop_marked()
    for x in found:
        machine.check_key(x)
    machine.stack.append(frozenset(found))


@instruction(b"a", "APPEND")
def append_entry(machine: Machine) -> None:
    extend_list(machine, [machine.stack.pop()])


@instruction(b"e", "APPENDS")
def append_entries(machine: Machine) -> None:
    extend_list(machine, machine.pop_marked())


def extend_list(machine: Machine, entries: list[Any]) -> None:
    """Append entries to the list on top of the stack."""
    target = machine.stack[-1]
    if type(target) in LISTS:
        target.extend(entries)
        return
    found = machine.known_class(target)
    if found is None or not found.trusted:
        raise refuse(f"Can only extend lists, but got {type(target)}")
    for x in entries:
        machine.call_user(target.append, x)


@instruction(b"s", "SETITEM")
def set_entry(machine: Machine) -> None:
    value, key = machine.stack.pop(), machine.stack.pop()
    fill_dict(machine, [key, value])


@instruction(b"u", "SETITEMS")
def set_entries(machine: Machine) -> None:
    fill_dict(machine, machine.pop_marked())


def fill_dict(machine: Machine, entries: list[Any]) -> None:
    """Put keys and values, which take turns, into the dict on top of the stack."""
    target = machine.stack[-1]
    found = machine.known_class(target)
    if type(target) not in DICTS and (found is None or not found.trusted):
        raise refuse(
            "Can only set items of dict, collections.OrderedDict, collections.Counter, "
            f"but got {type(target)}"
        )
    if len(entries) % 2:
        raise refuse("A key has no value")
    for key, value in zip(entries[::2], entries[1::2]):
        machine.check_key(key)
        if type(target) in DICTS:
            target[key] = value
        else:
            machine.call_user(target.__setitem__, key, value)


@instruction(b"\x90", "ADDITEMS")
def add_members(machine: Machine) -> None:
    members = machine.pop_marked()
    if type(machine.stack[-1]) is not set:
        raise refuse(f"Can only add to sets, but got {type(machine.stack[-1])}")
    for x in members:
        machine.check_key(x)
        machine.stack[-1].add(x)


# -- what has a name ------------------------------------------
@instruction(b"c", "GLOBAL", take_name)
def push_global(machine: Machine, path: tuple[str, str]) -> None:
    found = machine.find_global(*path)
    machine.globals[id(found.value)] = found
    if isinstance(found.value, type):
        machine.classes[found.value] = found
    machine.stack.append(found.value)


@instruction(b"\x93", "STACK_GLOBAL")
def pop_global(machine: Machine) -> None:
    name, module = machine.stack.pop(), machine.stack.pop()
    if type(name) is not str or type(module) is not str:
        raise refuse("The name of a global is no text")
    push_global(machine, (module, name))


def callable_global(machine: Machine, function) -> Global:
    """Return the table's entry for a function on the stack.

    Raises:
        UnpicklingError: it is none, or only data.
    """
    found = machine.globals.get(id(function))
    if found is None or (found.build is None and not found.trusted):
        raise refuse(f"Trying to call reduce for unrecognized function {describe(function)}")
    return found


def describe(found) -> str:
    """Describe an object of a file in a message, without calling its methods."""
    if isinstance(found, type) or callable(found):
        return f"{getattr(found, '__module__', '')}.{getattr(found, '__qualname__', type(found).__name__)}"
    return f"of {type(found)}"


@instruction(b"R", "REDUCE")
def call_function(machine: Machine) -> None:
    args, function = machine.stack.pop(), machine.stack.pop()
    found = callable_global(machine, function)
    if type(args) is not tuple:
        raise refuse("The arguments of a function are no tuple")
    if found.build is None:
        machine.stack.append(machine.call_user(found.value, *args))
    else:
        machine.stack.append(found.build(machine, *args))


@instruction(b"\x81", "NEWOBJ")
def make_instance(machine: Machine) -> None:
    args = machine.stack.pop()
    allocate_instance(machine, machine.stack.pop(), args, {})


@instruction(b"\x92", "NEWOBJ_EX")
def make_instance_with_options(machine: Machine) -> None:
    options, args = machine.stack.pop(), machine.stack.pop()
    allocate_instance(machine, machine.stack.pop(), args, options)


def allocate_instance(machine: Machine, cls, args, options) -> None:
    """Push an instance of a class that the user allowed or that the table builds."""
    found = callable_global(machine, cls)
    if type(args) is not tuple or type(options) is not dict:
        raise refuse("The arguments of a class are no tuple and dict")
    if found.build is not None:
        machine.stack.append(found.build(machine, *args, **options))
    elif not isinstance(cls, type):
        raise refuse(f"{describe(cls)} is no class")
    else:
        machine.stack.append(machine.call_user(cls.__new__, cls, *args, **options))


@instruction(b"b", "BUILD")
def update_instance(machine: Machine) -> None:
    state = machine.stack.pop()
    made = machine.stack[-1]
    found = machine.known_class(made)
    if found is None or (found.update is None and not found.trusted):
        raise refuse(
            "Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
            f"`add_safe_globals`, but got {type(made)}"
        )
    if found.update is not None:
        found.update(machine, made, state)
    else:
        machine.call_user(restore_state, made, state)


def restore_state(made, state) -> None:
    """Give an instance its state, as the protocol of Python's `__reduce_ex__` says."""
    restore = getattr(made, "__setstate__", None)
    if restore is not None:
        restore(state)
        return
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    if attributes:
        made.__dict__.update(attributes)
    for name, value in (slots or {}).items():
        setattr(made, name, value)


@instruction(b"Q", "BINPERSID")
def push_storage(machine: Machine) -> None:
    machine.stack.append(machine.call_user(machine.load_storage, machine.stack.pop()))


# -- names only ------------------------------------------
def named_globals(source: Source) -> Iterator[tuple[str, str]]:
    """The modules and names that a pickle refers to; nothing is built.

    Raises:
        UnpicklingError: it is broken.
        EOFError: it ends too early.
    """
    texts: list[Any] = ["", ""]  # the last two, which STACK_GLOBAL takes
    memo: dict[int, Any] = {}
    while True:
        found = find_instruction(source)
        argument = None if found.take is None else found.take(source)
        if found.act is stop:
            return
        if found.name == "GLOBAL":
            yield argument  # type: ignore[misc]
        elif found.name == "STACK_GLOBAL":
            yield str(texts[-2]), str(texts[-1])
        elif found.name in ("BINUNICODE", "SHORT_BINUNICODE"):
            texts = [texts[-1], argument]
        elif found.name == "MEMOIZE":
            memo[len(memo)] = texts[-1]
        elif found.name in ("BINPUT", "LONG_BINPUT"):
            memo[argument] = texts[-1]  # type: ignore[index]
        elif found.name in ("BINGET", "LONG_BINGET"):
            texts = [texts[-1], memo.get(argument)]  # type: ignore[arg-type]
