"""Named arrays and selections in trees.

packages: penzai
tolerance: 1e-5
"""

import jax
import jax.numpy as jnp
from penzai import pz

x = pz.nx.wrap(jnp.arange(6.0).reshape(2, 3)).tag("rows", "columns")
y = pz.nx.wrap(jnp.array([1.0, 2.0, 3.0])).tag("columns")
print((x * y).untag("rows", "columns").unwrap().tolist(), x.named_shape)
print(pz.nx.nmap(jnp.sum)(x.untag("columns")).untag("rows").unwrap().tolist())
tree = {"a": jnp.ones(2), "b": [jnp.zeros(2), 3]}
print(pz.select(tree).at_instances_of(jax.Array).apply(lambda leaf: leaf + 1))
