"""Random numbers as pure functions of keys, with JAX's names and signatures.

    key = fx.random.key(0)
    key, this = fx.random.split(key)
    x = fx.random.normal(this, (3, 4))

The same key gives the same bits and uniform numbers, and others up to rounding: alone, under `vmap` and `jit`, in
chunks, on every machine and for every array library. The generator is Philox, counter-based, as NumPy's
`np.random.Philox` is.
"""

from ..core.face import show_public_names
from ..core.surface import takes_objects as _takes_objects
from ..numpy import boxes  # traced values behave like arrays
from . import continuous, discrete, gammas, multivariate, selection
from .continuous import *
from .discrete import *
from .gammas import *
from .keys import PRNGKey, bits, clone, fold_in, key, key_data, split, wrap_key_data
from .multivariate import *
from .selection import *

__all__ = ["PRNGKey", "bits", "clone", "fold_in", "key", "key_data", "split", "wrap_key_data"]
__all__ += continuous.__all__
__all__ += discrete.__all__
__all__ += gammas.__all__
__all__ += multivariate.__all__
__all__ += selection.__all__
for _name in __all__:
    globals()[_name] = _takes_objects(globals()[_name])
    globals()[_name].__module__ = __name__  # where pickle finds it
globals()["PRNGKey"] = key  # the same function

show_public_names(__name__)
