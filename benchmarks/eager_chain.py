"""Un-jitted grad of a chain of 100 elementwise operations on 64 numbers: what an operation costs in itself.

Decides whether the interpreters, and the derived reverse rules with their caches, are fast enough. The aims:
a third of HIPS autograd's time at most, less than torch eager's, a thirtieth of un-jitted JAX's.
"""

import measure  # isort: skip  (it sets the number of threads)

import numpy as np

import fxgrad as fx
import fxgrad.numpy as fnp


def chain(x, namespace):
    """25 times four operations, and a sum."""
    y = x
    for _ in range(25):
        y = namespace.tanh(namespace.sin(y) * x) + x
    return namespace.sum(y)


def contenders(x: np.ndarray) -> dict:
    """What is timed: each gives the gradient as an array that NumPy can read."""
    peers = measure.peers("autograd", "torch", "jax")
    gradient = fx.grad(lambda v: chain(v, fnp))
    runs = {"fxgrad": lambda: gradient(x)}
    if "autograd" in peers:
        import autograd.numpy as autograd_numpy

        hips = peers["autograd"].grad(lambda v: chain(v, autograd_numpy))
        runs["autograd"] = lambda: hips(x)
    if "torch" in peers:
        torch = peers["torch"]
        leaf = torch.tensor(x, requires_grad=True)
        runs["torch eager"] = lambda: torch.autograd.grad(chain(leaf, torch), leaf)[0].numpy()
    if "jax" in peers:
        import jax.numpy as jax_numpy

        eager, device_x = peers["jax"].grad(lambda v: chain(v, jax_numpy)), jax_numpy.asarray(x)
        runs["jax, un-jitted"] = lambda: eager(device_x).block_until_ready()
    return runs


def main() -> None:
    x = np.random.default_rng(0).standard_normal(64)
    runs = contenders(x)
    for run in runs.values():
        np.testing.assert_allclose(run(), runs["fxgrad"](), rtol=1e-10)
    print("grad of 100 elementwise operations on 64 numbers:")
    measure.report(measure.medians(runs, rounds=30, calls=10), "fxgrad")


if __name__ == "__main__":
    main()
