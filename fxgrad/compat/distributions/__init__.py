"""torch.distributions: probability distributions, their divergences, and transforms between them."""

from typing import TYPE_CHECKING

from ...extend import LazyPackage

if TYPE_CHECKING:
    from ._surface import *

LazyPackage.of(__name__)
