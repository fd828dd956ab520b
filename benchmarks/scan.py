"""Gradient of a recurrent network of 200 steps, as a scan and as a loop in Python: what a step of a loop costs.

Decides whether the two halves of a scan's body, compiled into loops of their own, are fast enough. The aims: a third of
the time of the same loop in Python under the tape, and un-jitted little more than jitted, though every call stages its
functions anew. Jitted JAX compiles the steps to machine code: on a few numbers it is some three times as fast.
"""

import measure  # isort: skip  (it sets the number of threads)

import numpy as np

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax

STEPS = 200


def cell(weights, hidden, x, namespace):
    """The next hidden state of an Elman network."""
    recurrent, inward, bias = weights
    return namespace.tanh(recurrent @ hidden + inward @ x + bias)


def scanned(weights, xs, namespace, scan):
    """The loss by `scan`."""

    def step(hidden, x):
        hidden = cell(weights, hidden, x, namespace)
        return hidden, namespace.sum(hidden**2)

    _, losses = scan(step, namespace.zeros_like(weights[2]), xs)
    return namespace.sum(losses)


def looped(weights, xs):
    """The same by a loop in Python."""
    hidden, loss = np.zeros_like(xs[0], shape=weights[2].shape), 0.0
    for x in xs:
        hidden = cell(weights, hidden, x, fnp)
        loss = loss + fnp.sum(hidden**2)
    return loss


def contenders(size: int) -> dict:
    """What is timed: each gives the gradient as arrays that NumPy can read."""
    rng = np.random.default_rng(0)
    weights = (
        rng.normal(size=(size, size)) / size**0.5,
        rng.normal(size=(size, 8)) / 3,
        rng.normal(size=size) / 3,
    )
    xs = rng.normal(size=(STEPS, 8))
    by_scan = fx.grad(lambda w: scanned(w, xs, fnp, lax.scan))
    jitted, by_loop = fx.jit(by_scan), fx.grad(lambda w: looped(w, xs))
    runs = {
        "fxgrad jit, scan": lambda: jitted(weights),
        "fxgrad, scan": lambda: by_scan(weights),
        "fxgrad, Python loop": lambda: by_loop(weights),
    }
    peers = measure.peers("jax")
    if "jax" in peers:
        jax = peers["jax"]
        device_weights, device_xs = jax.tree.map(jax.numpy.asarray, (weights, xs))
        compiled = jax.jit(jax.grad(lambda w: scanned(w, device_xs, jax.numpy, jax.lax.scan)))
        runs["jax jit, scan"] = lambda: jax.block_until_ready(compiled(device_weights))
    return runs


def main() -> None:
    for size in (4, 64):
        runs = contenders(size)
        expected = runs["fxgrad, Python loop"]()
        for run in runs.values():
            for a, b in zip(run(), expected):
                np.testing.assert_allclose(a, b, rtol=1e-8)
        print(f"grad of a recurrent network, {STEPS} steps of {size} units:")
        measure.report(measure.medians(runs, rounds=15), "fxgrad jit, scan")


if __name__ == "__main__":
    main()
