"""Limited-memory BFGS with a zoom line search, and losses of classification.

packages: optax
tolerance: 1e-3
"""

import jax
import jax.numpy as jnp
import optax

f = lambda x: jnp.sum((x - jnp.arange(4.0)) ** 2 * jnp.array([1.0, 4.0, 9.0, 16.0])) + jnp.sum(jnp.cos(x))
solver = optax.lbfgs()
x = jnp.zeros(4)
state = solver.init(x)
value_and_grad = optax.value_and_grad_from_state(f)
for _ in range(6):
    value, grad = value_and_grad(x, state=state)
    updates, state = solver.update(grad, state, x, value=value, grad=grad, value_fn=f)
    x = optax.apply_updates(x, updates)
print(x.tolist(), float(f(x)))
logits = jax.random.normal(jax.random.PRNGKey(0), (5, 3))
labels = jnp.array([0, 2, 1, 1, 0])
print(optax.softmax_cross_entropy_with_integer_labels(logits, labels).tolist())
print(
    optax.sigmoid_binary_cross_entropy(logits[:, 0], labels > 0).tolist(),
    float(jnp.mean(optax.huber_loss(logits, 0.5))),
)
