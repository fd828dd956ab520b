"""The public function of SciPy that a program has called with traced values, and its replacement.

SciPy converts its operands itself, so that an error is raised deep in its code. Only the frames of the call tell which
of its public functions the user's line names.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from inspect import unwrap
from types import FrameType, TracebackType
from typing import Any

from .message import FxgradError
from .source_info import Site, code_kinds


def is_scipys(frame: FrameType) -> bool:
    """Whether a frame is of SciPy's code."""
    return module_of(frame).startswith("scipy.")


def asks_for_plain(frame: FrameType | None) -> bool:
    """Whether a frame that asks for an array is SciPy's, or of a function of NumPy's that SciPy's code has called."""
    while frame is not None and module_of(frame).startswith("numpy."):
        frame = frame.f_back
    return frame is not None and is_scipys(frame)


def module_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__"))


def advise_on_scipy(error: BaseException, traceback: TracebackType | None) -> None:
    """Complete an error that was raised in a function of SciPy's, inside a transform: by what takes traced values in
    its place. Where ours asks for plain values in SciPy's code, that is the hint, elsewhere a note."""
    if "scipy" not in sys.modules or not isinstance(error, Exception):
        return
    entries = list(walk(traceback))
    last = max((i for i, entry in enumerate(entries) if is_users(entry.tb_frame)), default=-1)
    path = called_path(entries[last + 1 :])
    within = path is not None
    plain_needed = isinstance(error, FxgradError) and error._plain_values_needed  # pyright: ignore[reportPrivateUsage]
    if path is None and (plain_needed or TRACER.search(str(error))):
        path = called_path(entries[:last]) or (named_path(entries[last]) if last >= 0 else None)
    if path is None:
        return
    advice = import_module("fxgrad.scipy.counterparts").advise(path)
    if isinstance(error, FxgradError) and plain_needed and within:
        error.args = (f"scipy.{path}: {str(error.args[0]).removeprefix(f'scipy.{path}: ')}",)
        error.hint = advice
    elif advice not in "".join(getattr(error, "__notes__", ())):
        error.add_note(f"scipy.{path} of traced values: {advice}")


# How compiled code tells what it was given: by the class of a tracer, or not at all.
TRACER = re.compile(r"Tracer\b|returned a result with an exception set")


def walk(traceback: TracebackType | None) -> Iterator[TracebackType]:
    """The entries of a traceback, from the outermost call to the place of the error."""
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def is_users(frame: FrameType) -> bool:
    """Whether a frame is of the user's code; SciPy's compiled code has files that are nowhere."""
    return not code_kinds[frame.f_code.co_filename] and not is_scipys(frame)


def called_path(entries: list[TracebackType]) -> str | None:
    """Return the public name of the function of SciPy's that is called first among these, `stats.norm.logpdf`."""
    frames = [entry.tb_frame for entry in entries]
    if any(module_of(frame).startswith("fxgrad.scipy.") for frame in frames):
        return None  # ours call SciPy's
    return next((path for frame in frames if is_scipys(frame) for path in public_paths(frame)), None)


def named_path(entry: TracebackType) -> str | None:
    """Return the public name of a function of SciPy's that the line of an entry names: compiled functions may have no
    frame."""
    frame = entry.tb_frame
    known = {**frame.f_builtins, **frame.f_globals, **frame.f_locals}
    for name, *members in [
        dotted.split(".")
        for dotted in re.findall(r"[A-Za-z_][\w.]*(?=\()", Site(frame.f_code, entry.tb_lasti).line)
    ]:
        value = known.get(name)
        for member in members:
            value = getattr(value, member, None)
        for path, public in public_names(str(getattr(value, "__module__", ""))):
            if value is public:
                return path
    return None


def public_paths(frame: FrameType) -> Iterator[str]:
    """The public names of what a frame of SciPy's runs: those of its function, of its object's method, and, in a
    decorator, of the function that was decorated."""
    code, held, public = frame.f_code, frame.f_locals, public_names(module_of(frame))
    owner, _, name = code.co_qualname.removeprefix(f"{module_of(frame)}.").rpartition(".")
    for path, value in public:
        compiled = not held and not owner and path.endswith(f".{name}")
        if compiled or getattr(unwrap(value), "__code__", None) is code:
            yield path
    if not owner.endswith("<locals>"):
        this = held.get("self", held)
        # The object itself, as distributions are; another one of its class, of which it may be a copy; the class.
        owners = [path for path, value in public if value is this]
        owners += [path for path, value in public if type(value) is type(this)]
        classes = {path.rpartition(".")[2]: path for path, value in public[::-1] if isinstance(value, type)}
        kinds = [*[kind.__name__ for kind in type(this).__mro__], owner]
        owners += [classes[kind] for kind in kinds if kind in classes]
        yield from (path if name.startswith("__") else f"{path}.{name}" for path in owners)
    for value in held.values():
        if callable(value) and hasattr(value, "__name__"):
            for path, known in public_names(str(getattr(value, "__module__", ""))):
                if value is known or unwrap(value) is unwrap(known):
                    yield path


def public_names(module: str) -> list[tuple[str, Any]]:
    """The public names, with their values, of the namespace of SciPy's to which a module belongs, and of the namespaces
    in it: those of `scipy.stats` and `scipy.stats.mstats` for `scipy.stats._basic`. Short ones come first."""
    parts = module.split(".")
    if len(parts) < 2 or parts[0] != "scipy" or parts[1].startswith("_"):
        return []
    root = ".".join(parts[:2])
    spaces = [
        name
        for name in sorted(sys.modules, key=len)
        if f"{name}.".startswith(f"{root}.") and "._" not in name
    ]
    return [
        (f"{space}.{name}".removeprefix("scipy."), vars(sys.modules[space])[name])
        for space in spaces
        for name in getattr(sys.modules[space], "__all__", ())
        if callable(vars(sys.modules[space]).get(name))  # deprecated modules have none
    ]
