"""`fxgrad.per_sample`: statistics of per-sample gradients, computed without forming these gradients.

    norms = fx.per_sample.norms(loss)(params, inputs, targets)
    total = fx.per_sample.clipped_sum(loss, 1.0)(params, inputs, targets)

`loss(params, *example)` is the loss of one example, as for `fx.vmap(fx.grad(loss), (None, 0, 0))`.
"""
# ruff: noqa: I001

from typing import TYPE_CHECKING

from ..core.face import LazyPackage
from ..numpy import boxes  # traced values behave like arrays

if TYPE_CHECKING:
    from .statistics import *
    from .curvature import *

LazyPackage.of(__name__)
