"""torch.nn.utils: clipping of gradients, and parameters as one vector."""

from typing import TYPE_CHECKING

from ....core.face import LazyPackage

if TYPE_CHECKING:
    from ._surface import *  # noqa: F403

LazyPackage.of(__name__)
