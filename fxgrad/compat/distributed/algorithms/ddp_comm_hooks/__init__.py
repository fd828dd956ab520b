"""torch.distributed.algorithms.ddp_comm_hooks: how DistributedDataParallel may send gradients."""

from .....core.face import LazyPackage

LazyPackage.of(__name__, parts=("default_hooks",))
