"""A million random numbers, and vectors for ten thousand keys: what counters cost beside a generator with a state.

Decides whether samples may be made of primitives, and where the vectorized Philox takes over from NumPy's. The aims:
normal numbers in JAX's time, gamma variables in less.
"""

import measure  # isort: skip  (it sets the number of threads)

import numpy as np

import fxgrad as fx

COUNT = 1_000_000
KEYS = 10_000


def million(name: str, *parameters: float) -> dict:
    """What is timed: a million numbers of a distribution."""
    key = fx.random.key(0)
    ours = getattr(fx.random, name)
    jitted = fx.jit(lambda key: ours(key, *parameters, shape=(COUNT,)))
    runs = {
        "fxgrad": lambda: ours(key, *parameters, shape=(COUNT,)),
        "fxgrad, jitted": lambda: jitted(key),
    }
    generator = np.random.Generator(np.random.Philox(0))
    method = getattr(generator, {"uniform": "random"}.get(name, name))
    runs["numpy, Philox"] = lambda: method(*parameters, size=COUNT)
    peers = measure.peers("jax")
    if "jax" in peers:
        jax = peers["jax"]
        theirs = jax.jit(lambda key: getattr(jax.random, name)(key, *parameters, shape=(COUNT,)))
        jax_key = jax.random.key(0)
        runs["jax, jitted"] = lambda: theirs(jax_key).block_until_ready()
    return runs


def mapped() -> dict:
    """What is timed: ten numbers for each of many keys."""
    keys = fx.random.split(fx.random.key(0), KEYS)
    ours = fx.vmap(lambda key: fx.random.normal(key, (10,)))
    runs = {"fxgrad": lambda: ours(keys)}
    peers = measure.peers("jax")
    if "jax" in peers:
        jax = peers["jax"]
        theirs = jax.jit(jax.vmap(lambda key: jax.random.normal(key, (10,))))
        jax_keys = jax.random.split(jax.random.key(0), KEYS)
        runs["jax, jitted"] = lambda: theirs(jax_keys).block_until_ready()
    return runs


def main() -> None:
    for name, *parameters in [("uniform",), ("normal",), ("gamma", 2.5), ("poisson", 3.0), ("poisson", 50.0)]:
        print(f"{COUNT} numbers: {name}({', '.join(map(str, parameters))})")
        measure.report(measure.medians(million(name, *parameters), rounds=5), "fxgrad")
    print(f"10 normal numbers for each of {KEYS} keys:")
    measure.report(measure.medians(mapped(), rounds=10), "fxgrad")


if __name__ == "__main__":
    main()
