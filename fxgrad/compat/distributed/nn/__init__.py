"""torch.distributed.nn: differentiable collectives."""

from typing import TYPE_CHECKING

from ....extend import LazyPackage

if TYPE_CHECKING:
    from .functional import *

LazyPackage.of(__name__)
