"""`fxgrad.distributed`: computation on many processes.

Every process runs the same program (`mpirun -n 4 python train.py`), and `world()` is the group of them all.
"""
# ruff: noqa: F401, F403

from typing import TYPE_CHECKING

from ..core.face import LazyPackage
from ..numpy import boxes  # traced values behave like arrays

if TYPE_CHECKING:
    from .batches import *
    from .buckets import *
    from .checkpoints import *
    from .communicator import *
    from .data_parallel import *
    from .mapping import *
    from .mesh import *
    from .private import *
    from .processes import *
    from .sharding import *

LazyPackage.of(
    __name__,
    parts=(
        "communicator",
        "processes",
        "mesh",
        "sharding",
        "mapping",
        "buckets",
        "data_parallel",
        "private",
        "batches",
        "checkpoints",
    ),
)
