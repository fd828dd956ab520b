"""The operations of nn.functional: one file a family."""

from . import (
    activation,
    alignment,
    attention,
    classes,
    convolution,
    distance,
    dropout,
    embedding,
    grids,
    linear,
    loss,
    normalization,
    padding,
    pooling,
    resampling,
    softmax,
)

__all__ = [
    "activation",
    "alignment",
    "attention",
    "classes",
    "convolution",
    "distance",
    "dropout",
    "embedding",
    "grids",
    "linear",
    "loss",
    "normalization",
    "padding",
    "pooling",
    "resampling",
    "softmax",
]
