"""The names of `torch.func`."""

from .. import _surface  # Tensors have all their methods
from .._declare.spaces import SPACES
from .forward import jvp, linearize
from .functionalization import functionalize
from .jacobian import hessian, jacfwd, jacrev
from .reverse import grad, grad_and_value, vjp
from .stateless import functional_call, replace_all_batch_norm_modules_, stack_module_state

vmap = SPACES["function"]["vmap"]
__all__ = [
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
