"""What is run on the Graph of a pullback, which is short and used at once: the passes that pay for it."""

from __future__ import annotations

from ..core.graph import Graph
from .algebra import simplify_algebra
from .common import share_common
from .constants import fold_constants
from .contractions import simplify_contractions
from .formulas import expand_formulas
from .fusion import fuse
from .masks import join_masks
from .repeats import repeat_cheap_steps


def compact(graph: Graph) -> Graph:
    """Return the Graph of an operation, for arrays of these very shapes, with groups as single equations."""
    for run in (fold_constants, share_common, simplify_algebra, join_masks, simplify_contractions):
        graph = run(graph)
    return fuse(repeat_cheap_steps(expand_formulas(graph)))
