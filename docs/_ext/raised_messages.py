"""The messages of errors, read from the sources: what the pages of errors list. "…" stands for what a message says of
the call.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent.parent.parent / "fxgrad"
PLACES = ("errors/", "errors/compat/")  # of the pages of the library's classes, and of compat's


@cache
def messages() -> dict[str, list[str]]:
    """The messages by page."""
    pages = {page.relative_to(PACKAGE.parent / "docs").with_suffix("").as_posix() for page in error_pages()}
    found: dict[str, set[str]] = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        places = PLACES[::-1] if "compat" in file.parts else PLACES[:1]
        for name, text in messages_in(ast.parse(file.read_text(encoding="utf-8"))):
            page = next((p + name for p in places if p + name in pages), None)
            if page is not None:
                found.setdefault(page, set()).add(text)
    return {page: sorted(texts, key=str.lower) for page, texts in found.items()}


def error_pages() -> Iterator[Path]:
    return (PACKAGE.parent / "docs/errors").rglob("*Error.md")


def messages_in(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """The name of the class and the message of every error that a module makes with a text."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and call.args:
            name = getattr(call.func, "id", getattr(call.func, "attr", ""))
            text = text_of(call.args[0])
            if name.endswith("Error") and text.strip(" …:"):
                yield name, text


def text_of(node: ast.expr) -> str:
    """A text as it stands in a source, on one line, with "…" for what is put in."""
    match node:
        case ast.Constant(value=str(text)):
            return " ".join(text.split())
        case ast.JoinedStr(values=parts):
            whole = "".join(p.value if isinstance(p, ast.Constant) else "…" for p in parts)
            return " ".join(whole.split())
    return ""
