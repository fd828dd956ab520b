"""torch.distributed.nn: differentiable collectives."""

from typing import TYPE_CHECKING

from ....extend import LazyPackage

if TYPE_CHECKING:
    from .functional import *  # noqa: F403

LazyPackage.of(__name__, parts=("functional",))
