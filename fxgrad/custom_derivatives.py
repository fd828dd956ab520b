"""`fxgrad.custom_derivatives`: functions with derivative rules of their own, by the names of jax.custom_derivatives."""

from .core.face import show_public_names as _show_public_names
from .transforms.custom.jvp_vjp import custom_gradient as custom_gradient
from .transforms.custom.jvp_vjp import custom_jvp as custom_jvp
from .transforms.custom.jvp_vjp import custom_vjp as custom_vjp
from .transforms.custom.symbolic_zeros import CustomVJPPrimal as CustomVJPPrimal
from .transforms.custom.symbolic_zeros import SymbolicZero as SymbolicZero
from .transforms.custom.symbolic_zeros import custom_vjp_primal_tree_values as custom_vjp_primal_tree_values
from .transforms.custom.symbolic_zeros import zero_from_primal as zero_from_primal
from .transforms.jit import closure_convert as closure_convert

_show_public_names(__name__)
