"""torch.nn.modules: one file for each family of modules, and modules under torch's file names."""

from importlib import import_module
from types import ModuleType
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

# torch's files that are not ours, and ours that have their classes.
_FILES = {
    "activation": "functional_modules attention linear",
    "batchnorm": "normalization lazy",
    "channelshuffle": "functional_modules",
    "conv": "convolution lazy",
    "distance": "functional_modules",
    "dropout": "functional_modules",
    "flatten": "linear",
    "fold": "functional_modules",
    "instancenorm": "normalization lazy",
    "loss": "losses",
    "pixelshuffle": "functional_modules",
    "sparse": "embedding",
}


def _find_otherwise(name: str) -> Any:
    if name not in _FILES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = ModuleType(f"{__name__}.{name}", f"torch.nn.modules.{name}.")
    for file in _FILES[name].split():
        members = vars(import_module(f".{file}", __name__))
        found.__dict__.update({key: value for key, value in members.items() if isinstance(value, type)})
    return globals().setdefault(name, found)


LazyPackage.of(__name__, homes=FAMILIES, find_otherwise=_find_otherwise)
