"""Structured matrices as operators: products, solutions, traces and determinants.

packages: cola-ml
tolerance: 1e-3
"""

import cola
import jax.numpy as jnp

a = cola.ops.Dense(jnp.array([[2.0, 0.5], [0.5, 1.0]]))
b = cola.ops.Diagonal(jnp.array([1.0, 2.0, 3.0]))
k = cola.PSD(cola.ops.Kronecker(a, b))
total = cola.PSD(cola.ops.Sum(k, cola.ops.Diagonal(0.1 * jnp.ones(6))))
v = jnp.arange(6.0)
print((k @ v).tolist(), (total @ v).tolist(), k.to_dense()[1].tolist())
print(cola.inv(k) @ v, (cola.inv(total) @ v).tolist())
print(cola.logdet(k), cola.linalg.trace(total), cola.linalg.diag(total).tolist())
values, vectors = cola.linalg.eig(total, k=6)
print(values.real.tolist())
print(cola.linalg.sqrt(b).to_dense().tolist(), cola.linalg.exp(b).to_dense().tolist())
