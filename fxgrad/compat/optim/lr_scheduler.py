"""The names of `torch.optim.lr_scheduler`: learning rates that change from epoch to epoch."""

from ...extend import show_public_names as _show_public_names
from .combinations import ChainedScheduler as ChainedScheduler
from .combinations import SequentialLR as SequentialLR
from .cycles import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
from .cycles import CyclicLR as CyclicLR
from .cycles import OneCycleLR as OneCycleLR
from .decays import ConstantLR as ConstantLR
from .decays import CosineAnnealingLR as CosineAnnealingLR
from .decays import ExponentialLR as ExponentialLR
from .decays import LambdaLR as LambdaLR
from .decays import LinearLR as LinearLR
from .decays import MultiplicativeLR as MultiplicativeLR
from .decays import MultiStepLR as MultiStepLR
from .decays import PolynomialLR as PolynomialLR
from .decays import StepLR as StepLR
from .plateau import ReduceLROnPlateau as ReduceLROnPlateau
from .scheduler import LRScheduler as LRScheduler
from .scheduler import _LRScheduler  # noqa: F401  the name that it had before

_show_public_names(__name__)
