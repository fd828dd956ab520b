"""The names of `torch.nn.utils`."""

from ... import _surface  # Tensors have all their methods
from .gradients import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .vectors import parameters_to_vector, vector_to_parameters

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
    "parameters_to_vector",
    "vector_to_parameters",
]
