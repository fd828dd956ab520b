"""`fxgrad.distributed`: computation on many processes.

Every process runs the same program (`mpirun -n 4 python train.py`), and `world()` is the group of them all.
"""
# ruff: noqa: I001

from typing import TYPE_CHECKING

from ..core.face import LazyPackage
from ..numpy import boxes  # traced values behave like arrays

if TYPE_CHECKING:
    from .communicator import *
    from .processes import *
    from .mesh import *
    from .sharding import *
    from .mapping import *
    from .buckets import *
    from .data_parallel import *
    from .private import *
    from .batches import *
    from .checkpoints import *

LazyPackage.of(__name__)
