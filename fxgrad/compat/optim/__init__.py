"""torch.optim: optimizers and learning rate schedulers, each loaded on first use."""

from typing import TYPE_CHECKING

from ...extend import LazyPackage

if TYPE_CHECKING:
    from . import lr_scheduler, swa_utils
    from ._adafactor import Adafactor
    from ._muon import Muon
    from .adadelta import Adadelta
    from .adagrad import Adagrad
    from .adam import Adam
    from .adamax import Adamax
    from .adamw import AdamW
    from .asgd import ASGD
    from .lbfgs import LBFGS
    from .nadam import NAdam
    from .optimizer import Optimizer
    from .radam import RAdam
    from .rmsprop import RMSprop
    from .rprop import Rprop
    from .sgd import SGD
    from .sparse_adam import SparseAdam

LazyPackage.of(
    __name__,
    parts=(),
    homes={
        "_adafactor": "Adafactor",
        "_muon": "Muon",
        "adadelta": "Adadelta",
        "adagrad": "Adagrad",
        "adam": "Adam",
        "adamax": "Adamax",
        "adamw": "AdamW",
        "asgd": "ASGD",
        "lbfgs": "LBFGS",
        "nadam": "NAdam",
        "optimizer": "Optimizer",
        "radam": "RAdam",
        "rmsprop": "RMSprop",
        "rprop": "Rprop",
        "sgd": "SGD",
        "sparse_adam": "SparseAdam",
    },
    listed=("lr_scheduler", "swa_utils"),
)
