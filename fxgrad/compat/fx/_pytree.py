"""torch.fx._pytree: leaves of arguments whose structure is known. The name is private, but generated code uses it."""

from __future__ import annotations

from typing import Any

from ..utils.tree_spec import TreeSpec


def tree_flatten_spec(pytree: Any, spec: TreeSpec) -> list[Any]:
    """Return the leaves of a tree of this structure; what is deeper than that is a leaf."""
    return spec.flatten_up_to(pytree)
