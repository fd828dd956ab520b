"""One function computed in every way: plain, forward, reverse, vectorized, and nested. All must agree."""

import numpy as np

import fxgrad as fx
from fxgrad.core import pytree
from fxgrad.testing import check_grads, inner, random_like


def same(actual, expected, tolerance=1e-12):
    """The same structure, shapes, dtypes and values."""
    actual, structure = pytree.flatten(actual)
    expected, other = pytree.flatten(expected)
    assert structure == other
    for a, b in zip(actual, expected):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def agree(function, *args, derivatives=True):
    """Check `function` of float64 arrays, with a pytree of real results, under jvp, vjp, jit, vmap and vmap of vjp."""
    rng = np.random.default_rng(0)
    plain = function(*map(np.copy, args))  # it may write into its arguments
    tangents = tuple(random_like(rng, *args))
    value, tangent = fx.jvp(function, args, tangents)
    same(value, plain)
    value, pullback = fx.vjp(function, *args)
    same(value, plain)
    seed = pytree.map(lambda leaf: random_like(rng, leaf)[0], plain)
    if derivatives:
        check_grads(function, args, order=1, modes=("fwd",))
        np.testing.assert_allclose(
            inner(tangent, seed), inner(pullback(seed), tangents), rtol=1e-10, atol=1e-12
        )
    same(fx.jit(function)(*args), plain)
    batch = [np.stack([a, 0.75 * a]) for a in args]
    rows = [function(*(a[i].copy() for a in batch)) for i in range(2)]
    same(fx.vmap(function)(*batch), pytree.map(lambda *ys: np.stack(ys), *rows))
    backs = [fx.vjp(function, *(a[i] for a in batch))[1](seed) for i in range(2)]
    same(
        fx.vmap(lambda *xs: fx.vjp(function, *xs)[1](seed))(*batch),
        pytree.map(lambda *cts: np.stack(cts), *backs),
    )


def traced(function, expected, *args, tolerance=1e-12):
    """Check that `function` of arrays gives `expected`, NumPy's result, under vjp, jit and vmap."""
    same(fx.vjp(function, *args)[0], expected, tolerance)
    same(fx.jit(function)(*args), expected, tolerance)
    batch = [np.stack([a, a]) for a in args]
    same(pytree.map(lambda ys: ys[1], fx.vmap(function)(*batch)), expected, tolerance)
