"""Differential equations, by the name that they have in JAX."""

from ..scipy.integrate import odeint

__all__ = ["odeint"]
