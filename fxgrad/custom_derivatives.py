"""`fxgrad.custom_derivatives`: functions with derivative rules of their own, by the names of jax.custom_derivatives."""

from .core.face import show_public_names
from .transforms.custom.jvp_vjp import custom_gradient, custom_jvp, custom_vjp
from .transforms.custom.symbolic_zeros import (
    CustomVJPPrimal,
    SymbolicZero,
    custom_vjp_primal_tree_values,
    zero_from_primal,
)
from .transforms.jit import closure_convert

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "custom_vjp_primal_tree_values",
    "zero_from_primal",
]

show_public_names(__name__)
