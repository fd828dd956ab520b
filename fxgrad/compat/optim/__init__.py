"""torch.optim: steps that make a loss smaller, and learning rates that change."""

from . import lr_scheduler
from .lbfgs import LBFGS
from .optimizer import Optimizer
from .rules import SGD, Adagrad, Adam, AdamW, RMSprop

__all__ = ["LBFGS", "SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]
