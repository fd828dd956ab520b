"""torch.nn.utils: clipping of gradients, parametrizations, pruning, and parameters as one vector."""

from typing import TYPE_CHECKING

from ....extend import LazyPackage

if TYPE_CHECKING:
    from ._surface import *

LazyPackage.of(__name__, shadowed=("spectral_norm", "weight_norm"))
