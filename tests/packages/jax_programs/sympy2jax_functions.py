"""Expressions of SymPy as modules with parameters, and their derivatives.

packages: sympy2jax, sympy
tolerance: 1e-5
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import sympy
import sympy2jax

x, y = sympy.symbols("x y")
expression = 2.5 * sympy.sin(x) * sympy.exp(-y) + x**2 / (1 + y)
module = sympy2jax.SymbolicModule([expression, sympy.Max(x, y) + sympy.tanh(x * y)])
values = jnp.array([0.3, 1.2]), jnp.array([0.5, -0.2])
print([out.tolist() for out in module(x=values[0], y=values[1])])
loss = lambda m: sum(out.sum() for out in m(x=values[0], y=values[1]))
print([leaf.tolist() for leaf in jax.tree.leaves(eqx.filter_grad(loss)(module))])
print(jax.grad(lambda v: module(x=v, y=0.5)[0])(0.3), module.sympy()[0])
