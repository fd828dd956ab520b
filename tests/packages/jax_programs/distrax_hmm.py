"""A hidden Markov model, mixtures and independent distributions.

packages: distrax
tolerance: 1e-3
"""

import distrax
import jax
import jax.numpy as jnp

hmm = distrax.HMM(
    distrax.Categorical(probs=jnp.array([0.6, 0.4])),
    distrax.Categorical(probs=jnp.array([[0.9, 0.1], [0.2, 0.8]])),
    distrax.Normal(jnp.array([-1.0, 1.0]), jnp.array([0.5, 0.5])),
)
observations = jnp.array([-0.9, -1.1, 0.8, 1.2])
alphas, betas, marginals, logp = hmm.forward_backward(observations)
print(marginals.tolist(), float(logp), hmm.viterbi(observations).tolist())
mixture = distrax.MixtureSameFamily(
    distrax.Categorical(probs=jnp.array([0.3, 0.7])), distrax.Normal(jnp.array([-1.0, 1.0]), 0.5)
)
print(
    mixture.log_prob(jnp.array([0.2, 1.0])).tolist(),
    mixture.sample(seed=jax.random.PRNGKey(1), sample_shape=(3,)).tolist(),
)
print(float(distrax.Independent(distrax.Normal(jnp.zeros(3), 1.0), 1).log_prob(jnp.ones(3))))
