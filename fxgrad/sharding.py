"""`fxgrad.sharding`: the names of jax.sharding, which are in `fxgrad.distributed` too."""

from .core.face import show_public_names
from .distributed.mesh import Mesh
from .distributed.sharding import NamedSharding, PartitionSpec

__all__ = ["Mesh", "NamedSharding", "PartitionSpec"]

show_public_names(__name__)
