"""Pictures that cells make have alternative texts: what a Graph or a drawing of levels prints, and of a plot what its
cell says (`mystnb: {image: {alt: …}}` in its metadata).
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)


class AlternativeTexts(SphinxTransform):
    """Give pictures the texts that stand beside them in the outputs of cells."""

    default_priority = 400

    def apply(self, **kwargs: Any) -> None:
        for output in self.document.findall(is_output):
            texts = [form.astext() for form in output.children if form.get("mime_type") == "text/plain"]
            for picture in output.findall(nodes.image):
                if "alt" not in picture:
                    if not texts or texts[0].startswith("<"):
                        LOGGER.warning(
                            "a plot needs `mystnb: {image: {alt: …}}` in its cell", location=output
                        )
                    picture["alt"] = "\n".join(texts)


def is_output(node: nodes.Node) -> bool:
    """Whether a node is the output of a cell, in several forms."""
    return isinstance(node, nodes.container) and node.get("nb_element") == "mime_bundle"


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_transform(AlternativeTexts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
