"""Per-sample gradients of the demo's network on 256 digits: vmap(grad) against a loop, torch and JAX.

Decides whether batching rules keep the work in few large NumPy calls. The aim: many times faster than the
loop, and level with the peers that are not compiled.
"""

import measure  # isort: skip  (it sets the number of threads)

from collections.abc import Callable

import numpy as np

from fxgrad.demo import training

SAMPLES = 256


def torch_gradients(torch, params, images, labels) -> Callable[[], list]:
    """The same by torch.func."""

    def loss(params, image, label):
        for layer in params[:-1]:
            image = torch.tanh(image @ layer["weights"] + layer["bias"])
        logits = image @ params[-1]["weights"] + params[-1]["bias"]
        return torch.nn.functional.cross_entropy(logits, label)

    params = [{name: torch.tensor(value) for name, value in layer.items()} for layer in params]
    images, labels = torch.tensor(images), torch.tensor(labels)
    gradients = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))
    return lambda: gradients(params, images, labels)


def jax_gradients(jax, params, images, labels, compiled: bool) -> Callable[[], list]:
    """The same by JAX."""
    jnp = jax.numpy

    def loss(params, image, label):
        for layer in params[:-1]:
            image = jnp.tanh(image @ layer["weights"] + layer["bias"])
        logits = image @ params[-1]["weights"] + params[-1]["bias"]
        return jax.nn.logsumexp(logits) - logits[label]

    arguments = jax.tree.map(jnp.asarray, (params, images, labels))
    gradients = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))
    gradients = jax.jit(gradients) if compiled else gradients
    return lambda: jax.block_until_ready(gradients(*arguments))


def main() -> None:
    data = training.split_digits(seed=0)
    batch = training.init(np.random.default_rng(0)), data.images[:SAMPLES], data.labels[:SAMPLES]
    runs = {
        "fxgrad vmap(grad)": lambda: training.per_sample_gradients(*batch),
        "fxgrad loop": lambda: training.gradients_by_loop(*batch),
    }
    peers = measure.peers("torch", "jax")
    if "torch" in peers:
        runs["torch vmap(grad)"] = torch_gradients(peers["torch"], *batch)
    if "jax" in peers:
        runs["jax vmap(grad)"] = jax_gradients(peers["jax"], *batch, compiled=False)
        runs["jax jit(vmap(grad))"] = jax_gradients(peers["jax"], *batch, compiled=True)

    expected = runs["fxgrad vmap(grad)"]()
    for run in runs.values():
        for layer, right in zip(run(), expected):
            for name, value in right.items():
                np.testing.assert_allclose(np.asarray(layer[name]), value, rtol=1e-9, atol=1e-12)
    print(f"per-sample gradients of {SAMPLES} digits:")
    measure.report(measure.medians(runs, rounds=15, calls=10), "fxgrad vmap(grad)")


if __name__ == "__main__":
    main()
