"""torch.distributed.algorithms: uneven inputs, and hooks of communication."""

from ....core.face import LazyPackage

LazyPackage.of(__name__, parts=("join",))
