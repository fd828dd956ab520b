"""Drawings in `_static/` become parts of the pages that show them, so that they take the colours of the theme.

A page says `![what is to be seen](../_static/tape.svg)`, as for any picture. Where the file is shown by itself, as in a
README, the drawing has colours of its own, for a light and for a dark screen.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


class InlinePictures(SphinxTransform):
    """Put the text of a drawing in the place of a reference to its file, with the alternative text as its label."""

    default_priority = 400

    def apply(self, **kwargs: Any) -> None:
        drawings = Path(self.env.srcdir).resolve() / "_static"
        page = Path(str(self.env.doc2path(self.env.docname)))
        for image in list(self.document.findall(nodes.image)):
            file = (page.parent / image["uri"]).resolve()
            if file.suffix != ".svg" or not file.is_relative_to(drawings):
                continue
            self.env.note_dependency(str(file))
            label = escape(" ".join(image.get("alt", "").split()))
            drawing = file.read_text(encoding="utf-8").replace("<svg ", f'<svg aria-label="{label}" ', 1)
            shown = nodes.raw("", f'<div class="picture" tabindex="0">\n{drawing}</div>', format="html")
            alone = isinstance(image.parent, nodes.paragraph) and len(image.parent) == 1
            (image.parent if alone else image).replace_self(shown)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_transform(InlinePictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
