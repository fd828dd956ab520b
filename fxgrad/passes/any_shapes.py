"""What is run on the Graph of a pullback that serves arrays of all shapes."""

from __future__ import annotations

from ..core.graph import Graph
from .common import share_common
from .masks import join_masks
from .ties import scale_rare_entries


def simplify_any_shapes(graph: Graph) -> Graph:
    """Return a Graph after the passes that hold whatever the shapes are, where avals stand for those of others."""
    return scale_rare_entries(join_masks(share_common(graph)))
