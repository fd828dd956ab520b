"""What pages repeat, so that the files can be read without the site: a sentence beside each name of the reference,
tables of all names of a namespace, and the pages of errors. `python -m docs` writes it anew.
"""

from __future__ import annotations

import inspect
import os
import re
from pathlib import Path
from typing import Any

from docs._ext import catalog, entries
from docs._ext.docstrings import as_markdown, docstring_of, first_sentence, in_table

ERRORS = {"fxgrad": "errors", "fxgrad.compat.errors": "errors/compat"}  # namespace → folder of pages
OVERVIEW = re.compile(r"^:::\{overview\} (?P<namespace>\S+)\n.*?^:::$", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| \[(?P<name>\w+)\]\((?P=name)\.md\) \|.*\|$", re.MULTILINE)
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
ROLE = re.compile(r"\{py:\w+\}`~?([^`]*)`")


def renewed() -> dict[Path, str]:
    """All pages that repeat something, with the text that they should have."""
    docs = catalog.REFERENCE.parent
    pages = {page: reference_page(page) for page in catalog.pages(catalog.REFERENCE / "index.md")}
    for namespace, folder in ERRORS.items():
        index = docs / folder / "index.md"
        pages[index] = error_index(namespace, index.read_text("utf-8"))
        pages |= {
            docs / folder / f"{name}.md": error_page(namespace, name) for name in error_names(namespace)
        }
    return pages


def reference_page(page: Path) -> str:
    """A page of the reference with what its names mean, or with a table of the names on other pages."""
    text = catalog.BLOCK.sub(names_block, page.read_text("utf-8"))
    return OVERVIEW.sub(lambda block: overview(block["namespace"], page.parent), text)


def names_block(block: re.Match[str]) -> str:
    """A block of names with a sentence on each."""
    namespace = block["namespace"]
    lines = [describe(f"{namespace}.{name}") for name in catalog.names_in(block["names"])]
    return "\n".join([f"```{{names}} {namespace}", *lines, "```"])


def overview(namespace: str, folder: Path) -> str:
    """A table of the names of a namespace, section by section, with links that hold in a folder."""
    rows = ["| | |", "|---|---|"]
    for block in catalog.blocks():
        if block.namespace == namespace:
            page = Path(os.path.relpath(catalog.REFERENCE / f"{block.page}.md", folder)).as_posix()
            rows.append(f"| [{block.section}]({page}) | {', '.join(f'`{name}`' for name in block.names)} |")
    return "\n".join([f":::{{overview}} {namespace}", "", *rows, "", ":::"])


def describe(full_name: str) -> str:
    """A line with the last part of a name, and what it means in one sentence."""
    return f"{full_name.rpartition('.')[2]}: {plain(entries.summary(full_name))}".rstrip(": ")


def plain(text: str) -> str:
    """Text without the marks of Markdown, but with those of code."""
    text = ROLE.sub(r"\1", LINK.sub(r"\1", text))
    return re.sub(r"\\(?=[\W_])", "", text)


def error_names(namespace: str) -> list[str]:
    """The classes of errors that a namespace has."""
    return [name for name in catalog.public_names(namespace) if is_error(catalog.find(f"{namespace}.{name}"))]


def is_error(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, Exception) and value.__name__.endswith("Error")


def error_page(namespace: str, name: str) -> str:
    """The page of a class of errors: what it is, and its docstring."""
    kind = catalog.find(f"{namespace}.{name}")
    builtins = [base.__name__ for base in kind.__bases__ if not base.__module__.startswith("fxgrad")]
    caught = f", caught as {' or '.join(f'`{base}`' for base in builtins)} too" if builtins else ""
    return f"# {name}\n\n`{namespace}.{name}`{caught}.\n\n{as_markdown(docstring_of(kind))}\n"


def error_index(namespace: str, text: str) -> str:
    """The index of the pages of errors with what the classes mean."""

    def write(row: re.Match[str]) -> str:
        kind = catalog.find(f"{namespace}.{row['name']}")
        return f"| [{row['name']}]({row['name']}.md) | {in_table(first_sentence(docstring_of(kind)))} |"

    return ROW.sub(write, text)
