"""torch.autograd.graph: the user's view of the recorded graph."""

from __future__ import annotations

from .gradient_edge import GradientEdge, get_gradient_edge
from .multi_grad_hook import register_multi_grad_hook
from .node import Node
from .picture import Picture, picture, set_picture_in_notebooks
from .saved_mutation import allow_mutation_on_saved_tensors
from .saved_tensors_hooks import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks
from .versions import increment_version

__all__ = [
    "GradientEdge",
    "Node",
    "Picture",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "picture",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
    "set_picture_in_notebooks",
]
