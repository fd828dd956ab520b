"""Differential equations, under JAX's module name."""

from ..scipy.integrate import odeint

__all__ = ["odeint"]
