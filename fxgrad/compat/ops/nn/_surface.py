"""The operations of nn.functional that most programs use; `ops.rare` has the others."""

from . import activation, padding, softmax
