"""torch.cuda: the CUDA devices, which are CuPy's."""

from typing import TYPE_CHECKING

from ...core.face import LazyPackage

if TYPE_CHECKING:
    from ._surface import *  # noqa: F403

LazyPackage.of(__name__)
