"""The directives of the section on errors: `{error-class}` is the page of a class, `{errors}` a table of some classes.

The text is the classes' docstrings. `reference/` describes the same classes, for links by name; these pages are what
the last line of a message names.
"""

from __future__ import annotations

from importlib import import_module

from docstrings import as_markdown, docstring_of, first_sentence, in_table
from reference import Written, fence
from sphinx.application import Sphinx


class Error(Written):
    """What a class of errors is, and its docstring."""

    def write(self, full_name: str) -> str:
        namespace, _, name = full_name.rpartition(".")
        kind = getattr(import_module(namespace), name)
        builtins = [base.__name__ for base in kind.__bases__ if not base.__module__.startswith("fxgrad")]
        caught = f", caught as {' or '.join(f'`{base}`' for base in builtins)} too" if builtins else ""
        return f"`{full_name}`{caught}\n\n{as_markdown(docstring_of(kind))}"


class Errors(Written):
    """A table of classes with their first sentences."""

    def write(self, namespace: str) -> str:
        module = import_module(namespace)
        rows = [
            f"| [{name}]({name}.md) | {in_table(first_sentence(docstring_of(getattr(module, name))))} |"
            for name in " ".join(self.content).split()
        ]
        return fence("{container} summary", "\n".join(["| | |", "|---|---|", *rows]))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("error-class", Error)
    app.add_directive("errors", Errors)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
