"""torch.testing: results compared with what is expected, and Tensors to try things with."""

from typing import TYPE_CHECKING

from ...core.face import LazyPackage

if TYPE_CHECKING:
    from ._surface import *  # noqa: F403

LazyPackage.of(__name__)
