"""`fxgrad.optim`: optimizers as pairs of pure functions, as in optax.

    optimizer = fx.optim.adam(1e-3)
    state = optimizer.init(params)
    ...
    updates, state = optimizer.update(gradients, state, params)
    params = fx.optim.apply_updates(params, updates)

Parameters, gradients and states are pytrees; a step may be jitted, mapped and differentiated.
"""
# ruff: noqa: F401, F403

from typing import TYPE_CHECKING

from ..core.face import LazyPackage
from ..numpy import boxes  # traced values behave like arrays

if TYPE_CHECKING:
    from .moments import *
    from .optimizers import *
    from .quasi_newton import *
    from .schedules import *
    from .transformations import *

LazyPackage.of(__name__, parts=("optimizers", "transformations", "schedules", "moments", "quasi_newton"))
