"""`fxgrad.optim`: optimizers as pairs of pure functions, as in optax.

    optimizer = fx.optim.adam(1e-3)
    state = optimizer.init(params)
    ...
    updates, state = optimizer.update(gradients, state, params)
    params = fx.optim.apply_updates(params, updates)

Parameters, gradients and states are pytrees; a step may be jitted, mapped and differentiated.
"""
# ruff: noqa: I001

from typing import TYPE_CHECKING

from ..core.face import LazyPackage
from ..numpy import boxes  # traced values behave like arrays

if TYPE_CHECKING:
    from .optimizers import *
    from .transformations import *
    from .schedules import *
    from .moments import *
    from .quasi_newton import *
    from .composition import *

LazyPackage.of(__name__)
