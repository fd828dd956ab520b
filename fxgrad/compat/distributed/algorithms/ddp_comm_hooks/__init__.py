"""torch.distributed.algorithms.ddp_comm_hooks: how DistributedDataParallel may send gradients."""

from typing import TYPE_CHECKING

from .....extend import LazyPackage

if TYPE_CHECKING:
    from .default_hooks import *

LazyPackage.of(__name__)
