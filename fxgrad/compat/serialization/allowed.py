"""Classes that the user allows files to build, besides the table of `builders`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any

from ..errors import ArgumentError, ArgumentValueError, UnpicklingError
from .builders import known_globals
from .errors import refuse
from .machine import Global
from .names import OLD_MODULES, OLD_NAMES, torch_name

# Modules of which nothing can be allowed.
BLOCKED = ("sys", "os", "posix", "nt")
LOCK = Lock()
# Each change makes another tuple, so that nobody sees one that is half changed.
ALLOWED: list[tuple[Any, ...]] = [()]


def full_name(entry) -> str:
    """Return the name under which files refer to an allowed object: a function, a class, or a pair of either and its
    name.

    Raises:
        ValueError: the tuple is no pair.
        TypeError: its name is no text; or the object has no name.
    """
    if isinstance(entry, tuple):
        if len(entry) != 2:
            raise ArgumentValueError(
                "Expected tuple of length 2 (global, str of callable full path), but got tuple of length: "
                f"{len(entry)}",
                hint='(MyClass, "package.module.MyClass")',
            )
        if type(entry[1]) is not str:
            raise ArgumentError(
                f"Expected second item in tuple to be str of callable full path, but got: {type(entry[1])}",
                hint='(MyClass, "package.module.MyClass")',
            )
        return entry[1]
    if not hasattr(entry, "__qualname__"):
        raise ArgumentError(
            f"a class or function can be allowed, not {type(entry).__name__}",
            hint="add_safe_globals([MyClass])",
        )
    return f"{entry.__module__}.{entry.__qualname__}"


def names_in_files(entry) -> tuple[str, ...]:
    """Return the names under which files may refer to an allowed object, among them torch's name for one of ours."""
    name = full_name(entry)
    return (
        (name,)
        if isinstance(entry, tuple)
        else (name, ".".join(torch_name(entry.__module__, entry.__qualname__)))
    )


def add_safe_globals(safe_globals: Iterable[Callable[..., Any] | tuple[Callable[..., Any], str]]) -> None:
    """Allow files to build instances of classes, and to call functions.

    Args:
        safe_globals: classes and functions; or pairs of one and the name that files have for it.

    A class gets what the file says: the arguments of its `__new__`, and its `__setstate__` or attributes. So what is
    allowed should be harmless whatever it is given.

    Raises:
        TypeError, ValueError: one of them is neither.

    >>> class Config: pass
    >>> torch.serialization.add_safe_globals([Config])
    >>> Config in torch.serialization.get_safe_globals()
    True
    >>> torch.serialization.clear_safe_globals()
    """
    entries = tuple(safe_globals)
    for entry in entries:
        full_name(entry)
    with LOCK:
        ALLOWED[0] += tuple([entry for entry in entries if entry not in ALLOWED[0]])


def get_safe_globals() -> list[Any]:
    """The classes and functions that are allowed, as they were given.

    Returns:
        A list.

    >>> torch.serialization.get_safe_globals()
    []
    """
    return list(ALLOWED[0])


def clear_safe_globals() -> None:
    """Allow no classes and functions any more but those of the table.

    Returns:
        None.

    >>> torch.serialization.clear_safe_globals()
    >>> torch.serialization.get_safe_globals()
    []
    """
    with LOCK:
        ALLOWED[0] = ()


class safe_globals:
    """A context manager in which files may build what is given: see `add_safe_globals`.

    Args:
        safe_globals: classes and functions.

    >>> class Point:
    ...     pass
    >>> with torch.serialization.safe_globals([Point]):
    ...     Point in torch.serialization.get_safe_globals()
    True
    """

    def __init__(self, safe_globals: Iterable[Callable[..., Any] | tuple[Callable[..., Any], str]]):
        self._fx_entries = list(safe_globals)

    def __enter__(self) -> None:
        self._fx_added = [entry for entry in self._fx_entries if entry not in ALLOWED[0]]
        add_safe_globals(self._fx_added)

    def __exit__(self, *exc: object) -> None:
        with LOCK:
            ALLOWED[0] = tuple([entry for entry in ALLOWED[0] if entry not in self._fx_added])


def find_global(module: str, name: str) -> Global:
    """Find the object for a name in a file.

    Raises:
        UnpicklingError: it is not allowed.
    """
    found = lookup(module, name)
    if found is None:
        raise refusal(module, name)
    return found


def lookup(module: str, name: str) -> Global | None:
    """Find the object for a name in a file, or None if it is not allowed."""
    module, name = OLD_NAMES.get((module, name), (OLD_MODULES.get(module, module), name))
    path = f"{module}.{name}"
    if module in BLOCKED:
        return None
    found = known_globals().get(path)
    if found is not None:
        return found
    for entry in ALLOWED[0]:
        value = entry[0] if isinstance(entry, tuple) else entry
        if path in names_in_files(entry):
            return Global(value, trusted=True)
    return None


def refusal(module: str, name: str) -> UnpicklingError:
    """Return the error for a name that is not allowed."""
    path = f"{module}.{name}"
    if module in BLOCKED:
        return refuse(f"Trying to load unsupported GLOBAL {path} whose module {module} is blocked.")
    path = path.removeprefix("builtins.").removeprefix("__builtin__.")
    return refuse(
        f"Unsupported global: GLOBAL {path} was not an allowed global by default. Please use "
        f"`torch.serialization.add_safe_globals([{path}])` or the `torch.serialization.safe_globals([{path}])` context "
        "manager to allowlist this global if you trust this class/function.",
        hint="weights_only=False builds modules of torch.nn alone; save and load a state_dict(), which needs no "
        "classes",
    )
