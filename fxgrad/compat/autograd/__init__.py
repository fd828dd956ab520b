"""torch.autograd: `backward`, `grad` and the rest of its API."""

from typing import TYPE_CHECKING

from ...extend import LazyPackage

if TYPE_CHECKING:
    from ._surface import *

LazyPackage.of(__name__, shadowed=("gradcheck", "variable"))
