"""Locations in the user's program, and tracebacks without the library's own frames.

Every equation of a Graph, every open transform and every error remembers the line of *user* code that caused it, as a
`Location`: a code object and an instruction offset, taken in well under a microsecond. File, line number and source
text are computed only when they are shown. Frames are never kept, because a frame keeps alive every local variable of
the user's function.
"""

from __future__ import annotations

import contextlib
import functools
import linecache
import os
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from types import CodeType, FrameType, TracebackType
from typing import Any

__all__ = ["Site", "filter_traceback", "hide_frames", "set_traceback_filtering", "user_frame", "user_stack"]

# Returns the frame that is so many calls further out.
getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]  # documented in spite of its name


class _CodeKinds(dict[str, int]):
    """A dict from file names to whose code the file holds; each file is classified once, when it is first met.

    Filled on demand and emptied when full: a long notebook session makes a new file name for every cell.
    """

    USER, GLUE, OWN, EQUATIONS = 0, 1, 2, 3
    LIMIT = 4096

    def __missing__(self, filename: str) -> int:
        if len(self) >= self.LIMIT:
            self.clear()
        kind = self[filename] = self._classify(filename)
        return kind

    def _classify(self, filename: str) -> int:
        if filename in SITES:
            return self.EQUATIONS
        package = os.path.dirname(os.path.dirname(_THIS_FILE)) + os.sep
        if filename.startswith(package + "demo"):  # programs that come with the package
            return self.USER
        if filename.startswith((package, "<fxgrad")):  # generated code has names such as "<fxgrad jit f>"
            return self.OWN
        if filename.startswith(("<frozen ", *_glue_prefixes())):
            return self.GLUE
        return self.USER


def _glue_prefixes() -> list[str]:
    """Return the path prefixes of code that stands between the user and this library and belongs to neither."""
    folders = [sys.modules[name].__path__ for name in ("numpy", "optree", "scipy") if name in sys.modules]
    return [path + os.sep for paths in folders for path in paths] + [contextlib.__file__, functools.__file__]


class Site:
    """A place in the user's program.

    `str(location)` is `a.py:12`, or `In[3]:2` in a notebook's third cell; `.line` is the stripped source text;
    `.describe()` gives both, with the function.
    """

    __slots__ = ("code", "lasti")

    code: CodeType
    lasti: int

    def __init__(self, code: CodeType, lasti: int):
        self.code = code
        self.lasti = lasti

    @property
    def lineno(self) -> int:
        # From the offset, when asked: a frame's f_lineno walks the line table of the whole function at once.
        for start, end, line in self.code.co_lines():
            if start <= self.lasti < end and line is not None:
                return line
        return self.code.co_firstlineno

    @property
    def filename(self) -> str:
        return self.code.co_filename

    @property
    def function(self) -> str:
        return self.code.co_qualname

    @property
    def line(self) -> str:
        return linecache.getline(self.filename, self.lineno).strip()

    def describe(self) -> str:
        """`a.py:12 in loss:  y = x @ w`, as far as the parts are known."""
        place = str(self) if self.function == "<module>" else f"{self} in {self.function}"
        return f"{place}:  {self.line}" if self.line else place

    def __str__(self) -> str:
        return f"{cell_name(self.filename) or self.filename.removeprefix(working_folder())}:{self.lineno}"

    def __repr__(self) -> str:
        return f"<Site {self.describe()}>"

    def __reduce__(self) -> Any:
        return _unpickle_site, (self.filename, self.function, self.lineno)


def _unpickle_site(filename: str, function: str, lineno: int) -> Site:
    """Return a Site that comes from another process. Code objects don't pickle, so a stand-in code carries what is
    shown."""
    code = _unpickle_site.__code__.replace(co_filename=filename, co_qualname=function, co_firstlineno=lineno)
    return Site(code, -1)


def working_folder() -> str:
    """Return the path of the working folder up to the names of its files; nothing where it has been removed."""
    try:
        return os.path.join(os.getcwd(), "")
    except FileNotFoundError:
        return ""


def cell_name(filename: str) -> str | None:
    """Return IPython's name of the cell whose code is in this file, `In[3]`; None for other files."""
    ipython = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    named = shell and shell.compile.format_code_name(filename)
    return named[1] if named else None


# File name of code that carries out the equations of a Graph → the user's line behind what a frame of it is doing.
SITES: dict[str, Callable[[FrameType], Site | None]] = {}

_THIS_FILE = _unpickle_site.__code__.co_filename  # spelled as in the frames of this package, relative or not
code_kinds: _CodeKinds = _CodeKinds()


def user_frame(depth: int = 1) -> Site:
    """Return the innermost line of user code that is now executing, if that is no less than `depth` calls away.

    That is the first frame outwards which belongs neither to fxgrad nor to NumPy, optree or the standard
    library's decorators; the outermost frame where there is no other. While a Graph is carried out it is the line
    at which the equation was staged.
    """
    frame = getframe(depth)
    while kind := code_kinds[frame.f_code.co_filename]:
        if kind == _CodeKinds.EQUATIONS:
            site = SITES[frame.f_code.co_filename](frame)
            if site is not None:
                return site
        outer = frame.f_back
        if outer is None:
            break
        frame = outer
    return Site(frame.f_code, frame.f_lasti)


def user_stacklevel() -> int:
    """Return the `stacklevel` with which a warning of the calling function shows the line of user code that is now
    executing."""
    frame: FrameType | None = getframe(1)
    level = 1
    while frame is not None and code_kinds[frame.f_code.co_filename]:
        frame, level = frame.f_back, level + 1
    return level


def user_stack() -> list[Site]:
    """Return the lines of user code that are now executing, the innermost last: see `user_frame`."""
    found: list[Site] = []
    frame: FrameType | None = getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        kind = code_kinds[filename]
        site = SITES[filename](frame) if kind == _CodeKinds.EQUATIONS else None
        if not kind:
            site = Site(frame.f_code, frame.f_lasti)
        if site is not None:
            found.append(site)
        frame = frame.f_back
    return found[::-1]


# A preference of whoever reads the errors. Being a ContextVar it follows a thread or task and disturbs no
# other; FXGRAD_TRACEBACK=full sets it for the whole process.
_filtering: ContextVar[bool] = ContextVar(
    "fxgrad_traceback_filtering", default=os.environ.get("FXGRAD_TRACEBACK", "") != "full"
)


def set_traceback_filtering(enabled: bool) -> None:
    """Set whether the tracebacks of errors leave out fxgrad's own frames, in this thread or task.

    Filtering is on unless the environment has FXGRAD_TRACEBACK=full.

    >>> fx.set_traceback_filtering(False)  # show all frames
    >>> fx.set_traceback_filtering(True)
    """
    _filtering.set(bool(enabled))


def filter_traceback(tb: TracebackType | None) -> TracebackType | None:
    """Remove fxgrad's frames from a traceback, which is relinked in place. Where there are no others the innermost one
    stays."""
    kept = _drop_own_frames(tb)
    if kept is None and tb is not None:
        while tb.tb_next is not None:
            tb = tb.tb_next
        return tb
    return kept


def _drop_own_frames(tb: TracebackType | None) -> TracebackType | None:
    """Keep those entries that are the user's: neither ours nor those of helpers that we called."""
    first = last = None
    called_by_us = False
    while tb is not None:
        kind = code_kinds[tb.tb_frame.f_code.co_filename]
        called_by_us = kind >= _CodeKinds.OWN or (called_by_us and kind == _CodeKinds.GLUE)
        if not called_by_us:
            if last is None:
                first = tb
            elif last.tb_next is not tb:
                last.tb_next = tb
            last = tb
        tb = tb.tb_next
    if last is not None and last.tb_next is not None:
        last.tb_next = None
    return first


def hide_frames(error: BaseException) -> BaseException:
    """Filter the traceback of `error`, of what it was raised from, and of the members of an exception group.

    To be followed by a *bare* raise, which adds no entry for the frame it stands in (`interpreter.boundary` does
    so). When all of `error`'s own entries are ours none is left: those of its callers are still to come, and the
    traceback then ends at the user's call. Filtering again changes nothing.
    """
    if not _filtering.get():
        return error
    error.__traceback__ = _drop_own_frames(error.__traceback__)
    seen = {id(error)}
    waiting: list[BaseException | None] = _related_errors(error)
    while waiting:
        other = waiting.pop()
        if other is not None and id(other) not in seen:
            seen.add(id(other))
            other.__traceback__ = filter_traceback(other.__traceback__)
            waiting += _related_errors(other)
    return error


def is_from_user(error: BaseException) -> bool:
    """Whether an error came out of user code that the library has called, as far as its traceback tells."""
    entry = error.__traceback__
    while entry is not None:
        if code_kinds[entry.tb_frame.f_code.co_filename] == _CodeKinds.USER:
            return True
        entry = entry.tb_next
    return False


def _related_errors(error: BaseException) -> list[BaseException | None]:
    members: Sequence[BaseException] = (
        getattr(error, "exceptions", ()) if BaseExceptionGroup in type(error).__mro__ else ()
    )
    return [error.__cause__, error.__context__, *members]
