"""The page of a class of errors lists the messages of that class, so that the search of the site finds the page by the
words of a message.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from docs._ext.raised_messages import messages


class Messages(SphinxTransform):
    """Add its messages to the page of a class of errors."""

    default_priority = 400

    def apply(self, **kwargs: Any) -> None:
        said = messages().get(self.env.docname)
        if not said:
            return
        items = [nodes.list_item("", nodes.paragraph("", "", nodes.literal(text, text))) for text in said]
        title = f"Its {len(said)} messages" if len(said) > 1 else "Its message"
        section = nodes.section("", nodes.title(title, title), ids=["messages"], names=["messages"])
        section += [
            nodes.raw("", "<details><summary>Where … stands for what the call has</summary>", format="html"),
            nodes.bullet_list("", *items),
            nodes.raw("", "</details>", format="html"),
        ]
        next(self.document.findall(nodes.section)).append(section)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_transform(Messages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
