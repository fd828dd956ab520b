"""torch.nn.modules: one file for each family of modules, and modules under torch's file names."""

from typing import TYPE_CHECKING, Any

from ....extend import LazyPackage
from .. import FAMILIES

if TYPE_CHECKING:
    from .adaptive import *
    from .attention import *
    from .container import *
    from .convolution import *
    from .embedding import *
    from .functional_modules import *
    from .lazy import *
    from .linear import *
    from .losses import *
    from .module import *
    from .normalization import *
    from .padding import *
    from .pooling import *
    from .rnn import *
    from .transformer import *
    from .upsampling import *


def _find_otherwise(name: str) -> Any:
    """Find the classes of a file that torch has and that is not ours."""
    from ...door.modules import TORCH  # whose table says what torch has in it

    found = TORCH.open_module(f"torch.nn.modules.{name}", TORCH.namespaces)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, found)


LazyPackage.of(__name__, homes=FAMILIES, find_otherwise=_find_otherwise)
