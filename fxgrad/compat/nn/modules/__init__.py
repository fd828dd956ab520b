"""torch.nn.modules: one file for each family of modules, and modules under torch's file names."""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ....extend import LazyPackage
from .. import FAMILIES

if TYPE_CHECKING:
    from .adaptive import AdaptiveLogSoftmaxWithLoss
    from .attention import MultiheadAttention
    from .container import Container, ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
    from .convolution import *  # noqa: F403
    from .embedding import Embedding, EmbeddingBag
    from .functional_modules import *  # noqa: F403
    from .lazy import *  # noqa: F403
    from .linear import Bilinear, Flatten, Identity, Linear, PReLU, Unflatten
    from .losses import *  # noqa: F403
    from .module import Module
    from .normalization import *  # noqa: F403
    from .padding import *  # noqa: F403
    from .pooling import *  # noqa: F403
    from .rnn import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNBase, RNNCell, RNNCellBase
    from .transformer import (
        Transformer,
        TransformerDecoder,
        TransformerDecoderLayer,
        TransformerEncoder,
        TransformerEncoderLayer,
    )
    from .upsampling import Upsample, UpsamplingBilinear2d, UpsamplingNearest2d

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


LazyPackage.of(__name__, parts=(), homes=FAMILIES, find_otherwise=_find_otherwise)
