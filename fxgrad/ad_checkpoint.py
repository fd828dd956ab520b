"""`fxgrad.ad_checkpoint`: the checkpointing functions of jax.ad_checkpoint, which are in `fxgrad` too."""

from . import checkpoint_policies
from .core.face import show_public_names
from .transforms.checkpoint import checkpoint, checkpoint_name, remat
from .transforms.residuals import print_saved_residuals

__all__ = ["checkpoint", "checkpoint_name", "checkpoint_policies", "print_saved_residuals", "remat"]

show_public_names(__name__)
