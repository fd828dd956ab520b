"""torch.autograd.graph: the user's view of the recorded graph."""

from ...extend import show_public_names as _show_public_names
from .gradient_edge import GradientEdge as GradientEdge
from .gradient_edge import get_gradient_edge as get_gradient_edge
from .multi_grad_hook import register_multi_grad_hook as register_multi_grad_hook
from .node import Node as Node
from .picture import Picture as Picture
from .picture import picture as picture
from .picture import set_picture_in_notebooks as set_picture_in_notebooks
from .saved_mutation import allow_mutation_on_saved_tensors as allow_mutation_on_saved_tensors
from .saved_tensors_hooks import disable_saved_tensors_hooks as disable_saved_tensors_hooks
from .saved_tensors_hooks import save_on_cpu as save_on_cpu
from .saved_tensors_hooks import saved_tensors_hooks as saved_tensors_hooks
from .versions import increment_version as increment_version

_show_public_names(__name__)
