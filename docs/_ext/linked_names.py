"""Names of fxgrad in code, such as `fx.vmap` or `fnp.einsum`, lead to the reference wherever they stand in prose.

In the reference of `fxgrad.compat`, `torch.add` means `fxgrad.compat.add`; elsewhere it is torch's.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from docs._ext import catalog

NAME = re.compile(r"(?P<root>\w+)\.(?P<path>\w+(?:\.\w+)*)(?:\(.*\))?|(?P<error>[A-Z]\w+Error)")
ROOTS = {"fx": "fxgrad", "fxgrad": "fxgrad", "fnp": "fxgrad.numpy", "lax": "fxgrad.lax"}
ROOTS_OF_TORCH = {"torch": "fxgrad.compat", "nn": "fxgrad.compat.nn", "Tensor": "fxgrad.compat.Tensor"}


class LinkedNames(SphinxTransform):
    """Make links of code that is a name in the reference, unless it is in a title or in a link."""

    default_priority = 400

    def apply(self, **kwargs: Any) -> None:
        for code in list(self.document.findall(nodes.literal)):
            if isinstance(code.parent, nodes.title | nodes.reference | addnodes.pending_xref):
                continue
            name = self.full_name(code.astext())
            if name in catalog.documented() and name != self.described(code):
                reference = addnodes.pending_xref(
                    "",
                    refdomain="py",
                    reftype="obj",
                    reftarget=name,
                    refdoc=self.env.docname,
                    refexplicit=True,
                )
                code.replace_self(reference)
                reference += code

    def full_name(self, text: str) -> str:
        """The name that code means, or "" if it is something else."""
        found = NAME.fullmatch(text)
        if found is None:
            return ""
        if found["error"]:
            return f"fxgrad.{text}"
        roots = ROOTS | ROOTS_OF_TORCH if self.env.docname.startswith("reference/compat/") else ROOTS
        return f"{roots[found['root']]}.{found['path']}" if found["root"] in roots else ""

    def described(self, node: nodes.Node) -> str:
        """The name whose description a node is in."""
        while node.parent is not None:
            if isinstance(node, addnodes.desc) and node[0].get("ids"):
                return node[0]["ids"][0]
            node = node.parent
        return ""


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_transform(LinkedNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
