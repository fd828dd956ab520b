"""torch.amp: mixed precision. Operations compute in the dtypes of their operands here; gradients are scaled."""

from typing import TYPE_CHECKING

from ...core.face import LazyPackage

if TYPE_CHECKING:
    from ._surface import *  # noqa: F403

LazyPackage.of(__name__)
