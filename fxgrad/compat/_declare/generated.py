"""Functions made from text. `inspect`, debuggers and tracebacks show their lines."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from functools import cache
from typing import Any


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
