"""Functions made from text, at once or when they are called for the first time. `inspect`, debuggers and tracebacks
show their lines."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Sequence
from functools import cache, update_wrapper
from types import CodeType, FunctionType
from typing import Any, ParamSpec, TypeVar

from ...extend import api_boundary, source_info
from .signatures import DerivedSignature, Parameters

P = ParamSpec("P")
R = TypeVar("R")


def indent_text(text: str, depth: int) -> str:
    """Indent statements."""
    return "".join(" " * depth + line + "\n" for line in text.splitlines())


@cache
def compile_text(text: str) -> Any:
    """Compile text, once for all functions that share it."""
    return compile(text, "<fxgrad torch>", "exec")


def define_functions(
    text: str, namespace: dict[str, Any], place: str, *names: str
) -> tuple[Callable[..., Any], ...]:
    """Define the functions of these names by a text, which refers to the other names of the namespace. `place` tells
    the text from others."""
    filename = f"<fxgrad {place}>"
    exec(compile(text, filename, "exec"), namespace)
    linecache.cache[filename] = len(text), None, text.splitlines(True), filename
    return tuple(namespace[name] for name in names)


def define_late(
    name: str,
    place: tuple[str, str],
    parameters: Parameters,
    namespace: dict[str, Any],
    write: Callable[[FunctionType], str],
) -> FunctionType:
    """Define a function whose text is written and compiled at the first call. Its code has the names of these
    parameters before as well. `place` is the module and the name under which users find it; `write(made)` adds to the
    namespace what the text, that of a function `made`, refers to."""
    filename = "<{}.{}>".format(*place)
    names = (*parameters.positional, *parameters.keywords, parameters.more, parameters.others)
    code = WRITE_AND_CALL.replace(
        co_name=name,
        co_qualname=name,
        co_filename=filename,
        co_argcount=len(parameters.positional),
        co_posonlyargcount=parameters.positional_only,
        co_kwonlyargcount=len(parameters.keywords),
        co_nlocals=len(names),
        co_varnames=names,
    )
    made = FunctionType(code, namespace, name, parameters.defaults)
    made.__kwdefaults__ = parameters.keyword_defaults
    made.__module__, made.__qualname__ = place
    late = LateLines(made, write)
    namespace |= {"call_late": late, "leave_late": leave_late}
    linecache.cache[filename] = 1, None, late, filename  # type: ignore[assignment]
    return made


def show_parameters(wrapper: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that hands its arguments on to the one that it wraps: its code has the parameters of that
    one."""
    function: FunctionType = wrapper.__wrapped__  # type: ignore[attr-defined]
    own = Parameters.of(function)

    def write(made: FunctionType) -> str:
        named = zip(own.positional[len(own.positional) - len(own.defaults) :], own.defaults)
        defaults = dict(named) | (own.keyword_defaults or {})
        made.__globals__.update(call=wrapper, defaults=defaults)
        texts = {name: f"{name}=defaults[{name!r}]" for name in defaults}
        positional = [texts.get(name, name) for name in own.positional]
        if own.positional_only:
            positional.insert(own.positional_only, "/")
        keywords = [texts.get(name, name) for name in own.keywords]
        passed = [f"{name}={name}" for name in own.keywords]
        return SHOWN_TEXT.format(
            ", ".join([*positional, f"*{own.more}", *keywords, f"**{own.others}"]),
            ", ".join([*own.positional, f"*{own.more}", *passed, f"**{own.others}"]),
        )

    made = define_late(function.__name__, (function.__module__, function.__qualname__), own, {}, write)
    made.__signature__ = DerivedSignature(function, list)  # type: ignore[attr-defined]
    return update_wrapper(made, function)  # type: ignore[return-value]


SHOWN_TEXT = """\
def made({}):
    try:
        return call({})
    except BaseException:
        leave_late()
        raise
"""


def entry_point(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that users call: an `api_boundary` whose code has the function's parameters."""
    return show_parameters(api_boundary(function))


class LateLines(Sequence[str]):
    """The text of a function that is defined late, line by line: tracebacks, debuggers and `inspect` show it. It is
    written at the function's first call, or when somebody reads it. (One object a function: there are a thousand when
    torch's surface is loaded, through which the garbage collector goes.)"""

    __slots__ = ("lines", "made", "write")

    def __init__(self, made: FunctionType, write: Callable[[FunctionType], str]):
        self.made = made
        self.lines: Sequence[str] = ()
        self.write: Callable[[FunctionType], str] | None = write

    def complete(self) -> Sequence[str]:
        """Give the function its code, unless it has it, and return the lines, with the name that users know."""
        made, write = self.made, self.write
        if write is None:
            return self.lines
        made.__globals__["made"] = made
        text = write(made)
        namespace = dict(made.__globals__)
        exec(compile_text(text), namespace)
        complete = namespace["made"]
        code: CodeType = complete.__code__
        names = made.__code__.co_varnames[: made.__code__.co_argcount]
        made.__defaults__, made.__kwdefaults__ = complete.__defaults__, complete.__kwdefaults__
        made.__code__ = code.replace(  # at last: other threads may call it meanwhile
            co_name=made.__code__.co_name,
            co_qualname=made.__code__.co_qualname,
            co_filename=made.__code__.co_filename,
            co_varnames=(*names, *code.co_varnames[len(names) :]),
        )
        self.lines = text.replace("def made(", f"def {made.__name__}(", 1).splitlines(True)
        self.write = None
        return self.lines

    def __call__(self, given: dict[str, Any]) -> Any:
        """Complete the function, and call it with what its first call was given."""
        *names, more, others = given  # in the order of the parameters
        count = self.made.__code__.co_argcount
        kwargs = {name: given[name] for name in names[count:]}
        self.complete()
        return self.made(*[given[name] for name in names[:count]], *given[more], **kwargs, **given[others])

    def __len__(self) -> int:
        return len(self.complete())

    def __getitem__(self, index: Any) -> Any:
        return self.complete()[index]


# The code of a function before its first call. It has no variables of its own, so that any parameters fit.
WRITE_AND_CALL: CodeType = compile_text("""\
def made(*more, **others):
    try:
        return call_late(locals())
    except BaseException:
        leave_late()
        raise
""").co_consts[0]


def leave_late() -> None:
    """Hide the frames of a first call in the error that it raised."""
    error = sys.exception()
    assert error is not None  # it is called where one is handled
    source_info.hide_frames(error)
