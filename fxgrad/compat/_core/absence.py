"""Names of torch that are absent here: they can be imported, and raise an error when they are used."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from ..errors import NotSupportedError

# The instructions of an attribute in the text and of an import; 3.11 has one of its own for methods.
NAMING = ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM")


def is_asked(depth: int = 2) -> bool:
    """Whether the `__getattr__` that calls this was reached by a call, as of `hasattr` or `getattr` with a default,
    or by what goes through a `map` of these, and not by an attribute in the program's text or an import. The program
    is `depth` frames further out.

    Programs that ask take what they are given for a feature that works; programs that write `torch.fx.GraphModule` in
    an annotation, or import it, only name it. Python's attribute protocol does not tell the two apart; the instruction
    that is being executed does.
    """
    from opcode import opname  # half a millisecond, seldom needed

    frame = sys._getframe(depth)
    code = frame.f_code
    if code.co_filename.startswith("<frozen importlib"):  # which asks for the names of `from … import …`
        return False
    return opname[code.co_code[frame.f_lasti]] not in NAMING


class AbsentClass(type):
    """The type of what `make_absent` returns. These are classes, so that programs may annotate with them, ask
    `isinstance` and derive from them; parts of them (`ReduceOp.SUM`) are absent as well. Who asks by `hasattr` whether
    they have a part is told no: see `is_asked`.
    """

    # Name and reason, without an annotation: from Python 3.14 on classes would show that as theirs.
    _fx_absent = ("", "")

    def __call__(cls, *args: object, **options: object) -> NoReturn:
        name, reason = cls._fx_absent
        raise NotSupportedError(f"{name} is not there: {reason}")

    def __getattr__(cls, name: str) -> Any:
        whole, reason = cls._fx_absent
        if name.startswith("__") or is_asked():
            raise AttributeError(f"{whole!r} has no attribute {name!r}: {reason}", name=name, obj=cls)
        return make_absent(f"{whole}.{name}", reason)

    def __getitem__(cls, parameters: object) -> type:
        """Stand for the class with parameters too, in annotations."""
        return cls

    def __repr__(cls) -> str:
        return f"<{cls._fx_absent[0]}, which is not there>"


def make_absent(name: str, reason: str) -> type:
    """Make a class that stands for a name of torch's and raises NotSupportedError, a NotImplementedError, when called.

    >>> from fxgrad.compat._core.absence import make_absent
    >>> tracer = make_absent("torch.fx.Tracer", "programs are not rewritten here")
    >>> isinstance(3, tracer)
    False
    >>> tracer()
    Traceback (most recent call last):
        ...
    fxgrad.compat.errors.NotSupportedError: torch.fx.Tracer is not there: programs are not rewritten here
    ...
    """
    last = name.rpartition(".")[2]
    bases = (Exception,) if last.endswith(("Error", "Exception")) else ()  # programs name it in `except`
    return AbsentClass(last, bases, {"_fx_absent": (name, reason), "__doc__": f"{name}: {reason}."})
