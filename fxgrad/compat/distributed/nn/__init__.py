"""torch.distributed.nn: collectives that are differentiated."""

from typing import TYPE_CHECKING

from ....core.face import LazyPackage

if TYPE_CHECKING:
    from .functional import *  # noqa: F403

LazyPackage.of(__name__, parts=("functional",))
