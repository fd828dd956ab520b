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
    fractional,
    grids,
    linear,
    loss,
    multi_head,
    normalization,
    packing,
    padding,
    pooling,
    recurrent,
    resampling,
    softmax,
)
