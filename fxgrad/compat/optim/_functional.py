"""torch.optim._functional: the optimizers as functions of lists of Tensors."""

from ...extend import show_public_names as _show_public_names
from .adadelta import adadelta as adadelta
from .adagrad import adagrad as adagrad
from .adam import adam as adam
from .adamax import adamax as adamax
from .adamw import adamw as adamw
from .asgd import asgd as asgd
from .nadam import nadam as nadam
from .radam import radam as radam
from .rmsprop import rmsprop as rmsprop
from .rprop import rprop as rprop
from .sgd import sgd as sgd
from .sparse_adam import sparse_adam as sparse_adam

_show_public_names(__name__)
