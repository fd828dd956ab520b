"""torch.amp: mixed precision. Operations on the CPU cast their operands by torch's lists; losses are scaled."""

from typing import TYPE_CHECKING

from ...extend import LazyPackage

if TYPE_CHECKING:
    from ._surface import *

LazyPackage.of(__name__)
