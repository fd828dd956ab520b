"""The names of `torch.amp`."""

from .. import _surface  # Tensors have all their methods
from . import autocast_mode as autocast_mode
from . import grad_scaler as grad_scaler
from .autocast_mode import autocast as autocast
from .autocast_mode import custom_bwd as custom_bwd
from .autocast_mode import custom_fwd as custom_fwd
from .autocast_mode import is_autocast_available as is_autocast_available
from .grad_scaler import GradScaler as GradScaler
