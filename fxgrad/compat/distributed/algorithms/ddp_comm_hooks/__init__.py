"""torch.distributed.algorithms.ddp_comm_hooks: how DistributedDataParallel may send gradients."""

from .....extend import LazyPackage

LazyPackage.of(__name__, parts=("default_hooks",))
