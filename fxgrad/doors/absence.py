"""Names of a library that are absent here: they can be imported, and raise an error when they are used."""

from __future__ import annotations

import sys
from abc import ABCMeta
from collections.abc import Callable
from types import FunctionType
from typing import Any, NoReturn

# The instructions of an attribute in the text and of an import; 3.11 has one of its own for methods.
NAMING = ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM")
ERROR_ENDINGS = ("Error", "Exception", "Warning")


def is_asked(depth: int = 2) -> bool:
    """Whether the `__getattr__` that calls this was reached by a call, as of `hasattr` or `getattr` with a default,
    or by what goes through a `map` of these, and not by an attribute in the program's text or an import. The program
    is `depth` frames further out.

    Programs that ask take what they are given for a feature that works; programs that write `torch.export.Dim` in
    an annotation, or import it, only name it. Python's attribute protocol does not tell the two apart; the instruction
    that is being executed does.
    """
    from opcode import opname  # half a millisecond, seldom needed

    frame = sys._getframe(depth)
    code = frame.f_code
    if code.co_filename.startswith("<frozen importlib"):  # which asks for the names of `from … import …`
        return False
    return opname[code.co_code[frame.f_lasti]] not in NAMING


class AbsentClass(ABCMeta):
    """The type of what `make_absent` returns. These are classes, so that programs may annotate with them, ask
    `isinstance` and derive from them, also beside abstract classes; parts of them (`ReduceOp.SUM`) are absent as well.
    Who asks by `hasattr` whether they have a part is told no: see `is_asked`.
    """

    # Name, reason and error, without an annotation: from Python 3.14 on classes would show that as theirs.
    _fx_absent = ("", "", NotImplementedError)

    def __call__(cls, *args: object, **options: object) -> NoReturn:
        name, reason, error = cls._fx_absent
        raise error(f"{name} is not there: {reason}")

    def __getattr__(cls, name: str) -> Any:
        whole, reason, error = cls._fx_absent
        if name.startswith("__") or name in ABC_PRIVATES or is_asked():
            raise AttributeError(f"{whole!r} has no attribute {name!r}: {reason}", name=name, obj=cls)
        return make_absent(f"{whole}.{name}", reason, error)

    def __getitem__(cls, parameters: object) -> type:
        """Stand for the class with parameters too, in annotations."""
        return cls

    def __iter__(cls) -> NoReturn:
        """Refuse to be gone through or searched: Python would ask for item after item."""
        AbsentClass.__call__(cls)

    def __repr__(cls) -> str:
        return f"<{cls._fx_absent[0]}, which is not there>"


ABC_PRIVATES = ("_abc_impl", "_abc_registry", "_abc_cache", "_abc_negative_cache")


def make_absent(
    name: str, reason: str, error: type[Exception] = NotImplementedError, is_exception: bool = False
) -> type:
    """Make a class that stands for a name of a library and raises an error when it is called. For an exception, which
    programs name in `except`, it is one that is never raised.

    >>> from fxgrad.doors.absence import make_absent
    >>> program = make_absent("torch.export.Dim", "shapes are numbers here")
    >>> isinstance(3, program)
    False
    >>> program()
    Traceback (most recent call last):
        ...
    NotImplementedError: torch.export.Dim is not there: shapes are numbers here
    """
    last = name.rpartition(".")[2]
    bases = (Exception,) if is_exception or last.endswith(ERROR_ENDINGS) else ()
    return AbsentClass(last, bases, {"_fx_absent": (name, reason, error), "__doc__": f"{name}: {reason}."})


def make_absent_function(
    name: str, reason: str, error: type[Exception] = NotImplementedError
) -> Callable[..., Any]:
    """Make a function that stands for one of a library and raises an error when it is called. One that says whether
    something is available says no.

    >>> from fxgrad.doors.absence import make_absent_function
    >>> make_absent_function("torch.distributed.rpc.is_available", "there are no remote calls here")()
    False
    """
    package, _, last = name.rpartition(".")

    def absent(*args: object, **options: object) -> bool:
        if says_whether(last):
            return False
        raise error(f"{name} is not there: {reason}")

    function: FunctionType = absent  # type: ignore[assignment]
    function.__name__ = function.__qualname__ = last
    function.__module__, function.__doc__ = package, f"{name}: {reason}."
    return function


def says_whether(name: str) -> bool:
    """Whether a function of this name says if a part of a library can be used."""
    return name.startswith(("is_", "_is_")) and name.endswith(("available", "initialized", "supported"))
