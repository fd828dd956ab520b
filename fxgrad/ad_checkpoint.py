"""`fxgrad.ad_checkpoint`: what `checkpoint` keeps, by the names of jax.ad_checkpoint, which stand in `fxgrad` too."""

from . import checkpoint_policies
from .transforms.checkpoint import checkpoint, checkpoint_name, remat
from .transforms.residuals import print_saved_residuals

__all__ = ["checkpoint", "checkpoint_name", "checkpoint_policies", "print_saved_residuals", "remat"]
