"""Programs run as by `python program.py`, while doors are open."""

from __future__ import annotations

import builtins
import io
import os
import sys
from collections.abc import Callable
from functools import partial
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pkgutil import get_importer
from types import CodeType, ModuleType, TracebackType
from typing import Any, NoReturn

USAGE = """usage: {command} script.py [arguments]
       {command} -m module [arguments]
       {command} -c command [arguments]

{purpose}"""


def run_program(arguments: list[str], command: str, purpose: str, prepare: Callable[[], object]) -> None:
    """Run the program that a command line names.

    Args:
        arguments: what follows the command: a script, `-m` and a module, or `-c` and a command, and the program's own
            arguments.
        command: the command, such as `python -m fxgrad`.
        purpose: what it does, for its help.
        prepare: opens the doors.

    Raises:
        SystemExit: there is nothing to run, or the program ends so.
    """
    usage = USAGE.format(command=command, purpose=purpose)
    first, rest = arguments[:1], arguments[1:]
    if first in ([], ["-h"], ["--help"]):
        print(usage, file=sys.stdout if first else sys.stderr)
        raise SystemExit(0 if first else 2)
    if first[0].startswith("-") and (first[0] not in ("-m", "-c") or not rest):
        end(f"{first[0]}: an option that is unknown, or needs an argument\n{usage}", 2)
    prepare()
    sys.excepthook = partial(show_own_frames, (__file__, sys._getframe(1).f_code.co_filename))
    if first == ["-m"]:
        sys.argv = ["-m", *rest[1:]]
        run_module(rest[0])
    elif first == ["-c"]:
        sys.argv = ["-c", *rest[1:]]
        execute(compile(rest[0], "<string>", "exec", dont_inherit=True), None)
    else:
        sys.argv = arguments
        run_path(first[0])


def end(message: str, code: int) -> NoReturn:
    """End with a message, as Python does if there is nothing to run."""
    print(message, file=sys.stderr)
    raise SystemExit(code)


def run_path(path: str) -> None:
    """Run a file, or a folder or zip file that has a `__main__`."""
    if get_importer(path) is not None:
        put_first(os.path.join(os.getcwd(), path))
        spec = PathFinder.find_spec("__main__", [path])
        if spec is None:
            end(f"{sys.executable}: can't find '__main__' module in {os.path.abspath(path)!r}", 1)
        execute(code_of(spec), spec)
        return
    whole = os.path.join(os.getcwd(), path)
    put_first(os.path.dirname(os.path.realpath(path)))
    try:
        with io.open_code(whole) as file:
            source = file.read()
    except OSError as error:
        end(f"{sys.executable}: can't open file {whole!r}: [Errno {error.errno}] {error.strerror}", 2)
    execute(compile(source, whole, "exec", dont_inherit=True), None, whole)


def run_module(name: str) -> None:
    """Run a module, or the `__main__` of a package."""
    try:
        spec = find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            name = f"{name}.__main__"
            spec = find_spec(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # of what is imported on the way
        spec = None
    if spec is None or not hasattr(spec.loader, "get_code"):
        end(f"{sys.executable}: No module named {name}", 1)
    sys.argv[0] = spec.origin or name
    execute(code_of(spec), spec)


def put_first(folder: str) -> None:
    """Search a folder first for modules, unless Python was told not to (`-P`)."""
    if not sys.flags.safe_path:
        sys.path[0] = folder


def code_of(spec: ModuleSpec) -> CodeType:
    """Return the code of a module."""
    loader: Any = spec.loader
    return loader.get_code(spec.name)


def execute(code: CodeType, spec: ModuleSpec | None, path: str | None = None) -> None:
    """Execute code as the module `__main__`, which remains for threads and `atexit`."""
    main: Any = ModuleType("__main__")
    main.__builtins__, main.__spec__ = builtins, spec
    if spec is not None:
        main.__loader__, main.__package__ = spec.loader, spec.name.rpartition(".")[0]
        main.__file__, main.__cached__ = spec.origin, spec.cached
    elif path is not None:
        main.__file__, main.__cached__ = path, None
    sys.modules["__main__"] = main
    exec(code, main.__dict__)


def show_own_frames(
    outside: tuple[str, ...], kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Show an error with the frames of the program alone; those of the files `outside` stand before them."""
    while trace is not None and (trace.tb_frame.f_code.co_filename in outside or is_of_python(trace)):
        trace = trace.tb_next
    sys.__excepthook__(kind, error.with_traceback(trace), trace)


def is_of_python(trace: TracebackType) -> bool:
    """Whether a frame belongs to the Python code that started this module."""
    return trace.tb_frame.f_globals.get("__name__") in ("runpy", "_frozen_runpy")
