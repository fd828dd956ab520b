"""Blocks of code end with their last line: an empty one after an example is there for doctest, not for readers."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


class TrimmedExamples(SphinxTransform):
    """Take empty lines from the ends of blocks of code."""

    default_priority = 400

    def apply(self, **kwargs: Any) -> None:
        for block in self.document.findall(nodes.literal_block):
            text = block.astext()
            if text != text.rstrip() and len(block) == 1 and isinstance(block[0], nodes.Text):
                block[0] = nodes.Text(text.rstrip())
                block.rawsource = text.rstrip()  # by which Sphinx knows code from other literal text


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_transform(TrimmedExamples)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
