"""Distances and power spectra of a universe, and their derivatives by its parameters.

packages: jax-cosmo
tolerance: 1e-3
"""

import jax
import jax.numpy as jnp
import jax_cosmo as jc

cosmology = jc.Planck15()
a = jnp.array([0.3, 0.6, 0.9])
print(
    jc.background.radial_comoving_distance(cosmology, a).tolist(),
    jc.background.growth_factor(cosmology, a).tolist(),
)
k = jnp.logspace(-2, 0, 4)
print(
    jc.power.linear_matter_power(cosmology, k).tolist(),
    jc.power.nonlinear_matter_power(cosmology, k).tolist(),
)
distance = lambda c: jc.background.angular_diameter_distance(c, a).sum()
print(jax.tree.leaves(jax.grad(distance)(cosmology)))
