"""The names of `torch.nn.modules`."""

from ... import _surface  # Tensors have all their methods
from . import convolution, functional_modules, losses, normalization
from .attention import MultiheadAttention
from .container import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from .embedding import Embedding, EmbeddingBag
from .linear import Bilinear, Flatten, Identity, Linear, PReLU, Unflatten
from .module import Module
from .normalization import GroupNorm, LayerNorm, RMSNorm

MODULES = {**functional_modules.MODULES, **losses.MODULES, **convolution.MODULES, **normalization.MODULES}
globals().update(MODULES)

__all__ = [
    *MODULES,
    "Bilinear",
    "Embedding",
    "EmbeddingBag",
    "Flatten",
    "GroupNorm",
    "Identity",
    "LayerNorm",
    "Linear",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiheadAttention",
    "PReLU",
    "ParameterDict",
    "ParameterList",
    "RMSNorm",
    "Sequential",
    "Unflatten",
]
