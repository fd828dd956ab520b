"""`fxgrad.ad_checkpoint`: the checkpointing functions of jax.ad_checkpoint, which are in `fxgrad` too."""

from . import checkpoint_policies as checkpoint_policies
from .core.face import show_public_names
from .transforms.checkpoint import checkpoint as checkpoint
from .transforms.checkpoint import checkpoint_name as checkpoint_name
from .transforms.checkpoint import remat as remat
from .transforms.residuals import print_saved_residuals as print_saved_residuals

show_public_names(__name__)
