"""The directives of the reference: `{names}` describes names of a namespace, `{overview}` is a table of all of them.

What they show is written as Markdown, from the docstrings and signatures of the objects, which Sphinx then reads as if
it stood on the page.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from docs._ext import catalog
from docs._ext.entries import fence, write_entry, write_table

FEW = 4  # names that need no table in front of them


class Written(SphinxDirective):
    """A directive whose content is Markdown that it writes."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        container = nodes.Element()
        text = self.write(self.arguments[0])
        source, _ = self.get_source_info()
        self.state.nested_parse(StringList(text.split("\n"), source), 0, container)
        return container.children

    def write(self, namespace: str) -> str:
        raise NotImplementedError


class Names(Written):
    """A table of names with their first sentences, and then each of them."""

    def write(self, namespace: str) -> str:
        names = catalog.names_in("\n".join(self.content))
        parts = [f"```{{py:module}} {namespace}\n```"] if self.is_first(namespace) else []
        if len(names) >= FEW:
            parts.append(write_table([f"{namespace}.{name}" for name in names]))
        parts += [write_entry(f"{namespace}.{name}") for name in names]
        return "\n\n".join(parts)

    def is_first(self, namespace: str) -> bool:
        """Whether no block before this one is about the namespace, so that this one defines it."""
        if inspect.isclass(catalog.find(namespace)):
            return False
        first = next(block for block in catalog.blocks() if block.namespace == namespace)
        names = catalog.names_in("\n".join(self.content))
        return f"reference/{first.page}" == self.env.docname and first.names == names


class Overview(Written):
    """A table of the sections about a namespace (`repeated.py` writes it), whose names become links."""

    def write(self, namespace: str) -> str:
        table = re.sub(r"`(\w+)`", rf"{{py:obj}}`~{namespace}.\1`", "\n".join(self.content))
        return fence("{container} overview", table)


def load_objects(app: Sphinx) -> None:
    """Import everything before processes are forked."""
    catalog.homes()


def reread_if_sources_changed(app: Sphinx, env: Any, *changes: set[str]) -> list[str]:
    """The pages with blocks, if any source of what they describe is newer than at their last reading."""
    folders = catalog.REFERENCE.parent.parent / "fxgrad", Path(__file__).parent
    newest = max(file.stat().st_mtime for folder in folders for file in folder.rglob("*.[pt][yx]*"))
    if newest == getattr(env, "newest_source", None):
        return []
    env.newest_source = newest
    return sorted({f"reference/{block.page}" for block in catalog.blocks()} & env.found_docs)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("names", Names)
    app.add_directive("overview", Overview)
    app.connect("builder-inited", load_objects)
    app.connect("env-get-outdated", reread_if_sources_changed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
