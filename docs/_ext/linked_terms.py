"""Emphasized words that the glossary explains, such as *cotangent* or *residuals*, lead to it wherever they stand."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

GLOSSARY = Path(__file__).parent.parent / "explanation" / "glossary.md"
TERM = re.compile(r"^(?P<term>\S.*)\n: ", re.MULTILINE)


@cache
def terms() -> dict[str, str]:
    """The terms of the glossary, by what a text may write for them: in small letters, one or several."""
    found = TERM.findall(GLOSSARY.read_text(encoding="utf-8"))
    return {form: term for term in found for form in (term.lower(), f"{term.lower()}s")}


class LinkedTerms(SphinxTransform):
    """Make links of emphasized terms, unless they are in a title or in a link."""

    default_priority = 400

    def apply(self, **kwargs: Any) -> None:
        for word in list(self.document.findall(nodes.emphasis)):
            term = terms().get(" ".join(word.astext().lower().split()))
            if term is None or isinstance(word.parent, nodes.title | nodes.reference | addnodes.pending_xref):
                continue
            reference = addnodes.pending_xref(
                "",
                refdomain="std",
                reftype="term",
                reftarget=term,
                refdoc=self.env.docname,
                refexplicit=True,
                refwarn=True,
            )
            word.replace_self(reference)
            reference += word


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_transform(LinkedTerms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
