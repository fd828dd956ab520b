"""Differential equations, under JAX's module name."""

from ..core.face import show_public_names
from ..scipy.integrate import odeint

__all__ = ["odeint"]

show_public_names(__name__)
