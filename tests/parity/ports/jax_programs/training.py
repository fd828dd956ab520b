"""A perceptron as programs for JAX write it: switches, named scopes, states as named tuples, an Adam of its own."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import random
from jax.flatten_util import ravel_pytree
from jax.nn import log_softmax, one_hot, relu
from jax.tree_util import keystr, tree_leaves, tree_leaves_with_path, tree_map
from jax.typing import ArrayLike

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platform_name", "cpu")


class AdamState(NamedTuple):
    mu: Any
    nu: Any
    count: jax.Array


class TrainState(NamedTuple):
    params: Any
    opt_state: AdamState
    step: int


def update(grads, state, rate, b1=0.9, b2=0.999, eps=1e-8):
    count = state.count + 1
    mu = tree_map(lambda m, g: b1 * m + (1 - b1) * g, state.mu, grads)
    nu = tree_map(lambda v, g: b2 * v + (1 - b2) * jnp.square(g), state.nu, grads)
    steps = tree_map(lambda m, v: -rate * m / (1 - b1**count) / (jnp.sqrt(v / (1 - b2**count)) + eps), mu, nu)
    return steps, AdamState(mu, nu, count)


@partial(jax.jit, static_argnames=("activation",))
def predict(params, x: ArrayLike, activation=relu):
    *hidden, last = params
    for layer in hidden:
        with jax.named_scope("layer"):
            x = activation(jnp.dot(x, layer["w"]) + layer["b"])
    return x @ last["w"] + last["b"]


def loss_fn(params, batch):
    logits = predict(params, batch[0])
    return -jnp.mean(jnp.sum(log_softmax(logits) * one_hot(batch[1], 3), axis=-1)), logits


@partial(jax.jit, donate_argnums=(0,))
def train_step(state, batch):
    (loss, logits), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params, batch)
    norm = jnp.sqrt(sum(jnp.vdot(g, g) for g in tree_leaves(grads)))
    grads = tree_map(lambda g: g * jnp.minimum(1.0, 1.0 / (norm + 1e-6)), grads)
    steps, opt_state = update(grads, state.opt_state, 1e-2)
    accuracy = jnp.mean(jnp.argmax(logits, axis=-1) == batch[1])
    params = tree_map(lambda p, u: p + u, state.params, steps)
    return TrainState(params, opt_state, state.step + 1), {"loss": loss, "acc": accuracy, "norm": norm}


def main():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(64, 5))
    y = np.argmax(x[:, :3], 1)
    sizes = ((5, 16), (16, 3))
    params = [{"w": jnp.asarray(rng.normal(size=s) / np.sqrt(s[0])), "b": jnp.zeros((s[1],))} for s in sizes]
    zeros = tree_map(jnp.zeros_like, params)
    state = TrainState(params, AdamState(zeros, tree_map(jnp.copy, zeros), jnp.zeros([], jnp.int32)), 0)
    seen = []
    for _ in range(2):
        order = rng.permutation(64)
        for i in range(0, 64, 16):
            state, metrics = train_step(state, (x[order[i : i + 16]], y[order[i : i + 16]]))
            seen.append(metrics)
    flat, restore = ravel_pytree(state.params)
    places = [(keystr(path), leaf.shape) for path, leaf in tree_leaves_with_path(state.params)]
    keys = random.split(random.PRNGKey(0), 3)
    return {
        "seen": seen, "flat": flat, "bias": restore(flat)[0]["b"], "places": places, "count": state.opt_state.count,
        "drawn": jax.vmap(lambda key: random.normal(key, (2,)))(keys).shape,
        "devices": (jax.default_backend(), jax.device_count("cpu"), jax.process_index(), jax.process_count()),
    }  # fmt: skip
