"""All operations of nn.functional."""

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
