"""The names of `torch.distributions`."""
# ruff: noqa: F403

from . import divergences as _divergences  # which enters them
from .categorical import *
from .combined import *
from .constraint_registry import biject_to, transform_to
from .continuous import *
from .distribution import *
from .exp_family import *
from .families import *
from .kl import *
from .matrices import *
from .multivariate import *
from .odds import *
from .positive import *
from .relaxed import *
from .transformed_distribution import *
from .transforms import *
