"""torch.distributed.algorithms: uneven inputs, and hooks of communication."""

from ....extend import LazyPackage

LazyPackage.of(__name__, parts=("join",))
