"""One function computed in every way: plain, forward, reverse, vectorized, and nested. All must agree."""

import numpy as np

import fxgrad as fx
from fxgrad.core import tree

STEP = 1e-6


def same(actual, expected, tolerance=1e-12):
    """The same structure, shapes, dtypes and values."""
    actual, structure = tree.flatten(actual)
    expected, other = tree.flatten(expected)
    assert structure == other
    for a, b in zip(actual, expected):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def inner(a, b):
    """The sum of products over all floating-point leaves."""
    pairs = zip(tree.leaves(a), tree.leaves(b))
    return sum(np.sum(np.asarray(x) * y) for x, y in pairs if np.asarray(x).dtype.kind == "f")


def agree(function, *args, derivatives=True):
    """Check `function` of float64 arrays, with a pytree of real results, under jvp, vjp, jit, vmap and vmap of vjp."""
    rng = np.random.default_rng(0)
    plain = function(*args)
    tangents = tuple(rng.normal(size=np.shape(a)) for a in args)
    value, tangent = fx.jvp(function, args, tangents)
    same(value, plain)
    if derivatives:
        ahead = function(*(a + STEP * t for a, t in zip(args, tangents)))
        behind = function(*(a - STEP * t for a, t in zip(args, tangents)))
        for slope, a, b in zip(*map(tree.leaves, (tangent, ahead, behind))):
            if np.asarray(slope).dtype.kind == "f":
                np.testing.assert_allclose(slope, (a - b) / (2 * STEP), rtol=1e-6, atol=1e-7)
    value, pullback = fx.vjp(function, *args)
    same(value, plain)

    def seeded(leaf):
        leaf = np.asarray(leaf)
        return rng.normal(size=leaf.shape) if leaf.dtype.kind == "f" else np.zeros(leaf.shape, fx.float0)

    seed = tree.map(seeded, plain)
    back = pullback(seed)
    if derivatives:
        np.testing.assert_allclose(inner(tangent, seed), inner(back, tangents), rtol=1e-10, atol=1e-12)
    same(fx.jit(function)(*args), plain)
    batch = [np.stack([a, 0.75 * a]) for a in args]
    rows = [function(*(a[i] for a in batch)) for i in range(2)]
    same(fx.vmap(function)(*batch), tree.map(lambda *ys: np.stack(ys), *rows))
    backs = [fx.vjp(function, *(a[i] for a in batch))[1](seed) for i in range(2)]
    same(
        fx.vmap(lambda *xs: fx.vjp(function, *xs)[1](seed))(*batch),
        tree.map(lambda *cts: np.stack(cts), *backs),
    )
