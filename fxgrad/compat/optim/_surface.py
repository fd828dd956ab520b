"""The names of `torch.optim`."""

from .. import _surface  # Tensors have all their methods
from . import lr_scheduler
from .lbfgs import LBFGS
from .optimizer import Optimizer
from .rules import SGD, Adagrad, Adam, AdamW, RMSprop

__all__ = ["LBFGS", "SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]
