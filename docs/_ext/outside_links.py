"""Links to files of the checkout that are not pages of the site.

Texts such as ARCHITECTURE.md link to sources and to each other by relative paths, which are right where the file lies.
On the site a link to a file that is shown by a page leads to the page; of a link to any other file its text is left.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


class OutsideLinks(SphinxTransform):
    """Lead links between files of the checkout to pages, and take off those that lead to no page."""

    default_priority = 5  # before Sphinx collects files to be downloaded

    def apply(self, **kwargs: Any) -> None:
        for link in list(self.document.findall(is_file_link)):
            path, _, fragment = unquote(link["reftarget"]).partition("#")
            file = self.find_file(path)
            if file is None:
                continue
            page = self.find_page(file)
            if page is not None:
                reference = addnodes.pending_xref(
                    "",
                    *link.children,
                    refdomain="doc",
                    reftype="myst",
                    refdoc=self.env.docname,
                    reftarget=page,
                    reftargetid=fragment or link.get("reftargetid"),
                    refexplicit=True,
                )
                reference.source, reference.line = link.source, link.line
                link.replace_self(reference)
            elif not file.is_relative_to(Path(self.env.srcdir).resolve()):
                link.replace_self(link.children)

    def find_file(self, path: str) -> Path | None:
        """Find the file that a link means: relative to the file that the text is from, or to its page. A page that
        Sphinx has looked for in vain comes without its suffix."""
        page = Path(str(self.env.doc2path(self.env.docname)))
        shown = self.config.SHOWN.get(self.env.docname)
        origins = [*([Path(self.env.srcdir).parent / shown] if shown else ()), page.resolve(), page]
        for origin in origins:
            for suffix in ("", ".md", ".ipynb"):
                file = Path(os.path.normpath(origin.parent / f"{path}{suffix}"))
                if path and file.exists():
                    return file.resolve()
        return None

    def find_page(self, file: Path) -> str | None:
        """Find the page that shows a file."""
        source = Path(self.env.srcdir).resolve()
        for page, shown in self.config.SHOWN.items():
            if file == source.parent / shown and page in self.env.found_docs:
                return page
        for folder in (source, source.parent):  # notebooks/ is beside docs/
            if file.is_relative_to(folder):
                page = str(file.relative_to(folder).with_suffix("")).replace(os.sep, "/")
                if file.suffix in (".md", ".ipynb") and page in self.env.found_docs:
                    return page
        return None


def is_file_link(node: nodes.Node) -> bool:
    """Whether a node is a link of Markdown's form to a file, and not to a page that Sphinx knows."""
    return (
        isinstance(node, addnodes.pending_xref | addnodes.download_reference)
        and node.get("reftype") == "myst"
        and (node.get("refdomain") != "doc" or os.path.isabs(node["reftarget"]))
    )


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("SHOWN", {}, "env")
    app.add_transform(OutsideLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
