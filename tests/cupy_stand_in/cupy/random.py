"""CuPy's random numbers, of NumPy's generator: laws and dtypes are the same, numbers are not."""

from __future__ import annotations

import numpy as np

from ._array import run

STATE = np.random.RandomState()


def seed(seed=None) -> None:
    STATE.seed(seed)


def draw(law: str, *parameters, size=None, dtype=float):
    return run(f"random.{law}", lambda: np.asarray(getattr(STATE, law)(*parameters, size=size)).astype(dtype))


def random(size=None, dtype=float):
    return draw("random_sample", size=size, dtype=dtype)


random_sample = random


def rand(*size, dtype=float):
    return random(size, dtype)


def standard_normal(size=None, dtype=float):
    return draw("standard_normal", size=size, dtype=dtype)


def randn(*size, dtype=float):
    return standard_normal(size, dtype)


def normal(loc=0.0, scale=1.0, size=None, dtype=float):
    return draw("normal", loc, scale, size=size, dtype=dtype)


def uniform(low=0.0, high=1.0, size=None, dtype=float):
    return draw("uniform", low, high, size=size, dtype=dtype)


def randint(low, high=None, size=None, dtype="l"):
    return draw("randint", low, high, size=size, dtype=dtype)


def permutation(a):
    return run("random.permutation", STATE.permutation, a)


class Generator:
    """A generator of its own."""

    def __init__(self, seed=None):
        self.state = np.random.RandomState(seed)

    def random(self, size=None, dtype=float, out=None):
        return run("random.random", lambda: np.asarray(self.state.random_sample(size)).astype(dtype))

    def standard_normal(self, size=None, dtype=float, out=None):
        return run(
            "random.standard_normal", lambda: np.asarray(self.state.standard_normal(size)).astype(dtype)
        )

    def integers(self, low, high=None, size=None, dtype=np.int64, endpoint=False):
        return run("random.integers", lambda: np.asarray(self.state.randint(low, high, size)).astype(dtype))


def default_rng(seed=None) -> Generator:
    return Generator(seed)
