"""torch.testing: comparison of results with expected values, and Tensors for tests."""

from typing import TYPE_CHECKING

from ...extend import LazyPackage

if TYPE_CHECKING:
    from ._surface import *

LazyPackage.of(__name__)
