"""Memory: estimates beside what is measured, and chunks that stay below a limit."""

import tracemalloc

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax

RNG = np.random.default_rng(0)
V = RNG.standard_normal(100_000)
W = RNG.standard_normal((200, 200))
X = RNG.standard_normal((300, 200))


def chain(x):
    for _ in range(10):
        x = fnp.sin(x) * 1.1
    return fnp.sum(x)


def network(w, x):
    return fnp.sum(fnp.tanh(fnp.tanh(x @ w) @ w))


def log_sum_exp(x):
    return fnp.sum(fnp.log(fnp.sum(fnp.exp(x - fnp.max(x, 1, keepdims=True)), 1)))


def recurrence(w, x):
    def step(h, row):
        h = fnp.tanh(h @ w + row)
        return h, h

    return fnp.sum(lax.scan(step, fnp.zeros(len(w)), x)[1])


def solved(w, x):
    return fnp.sum(fnp.linalg.solve(w, x.T))


PROGRAMS = {
    "chain": (chain, (V,)),
    "gradient of a chain": (fx.grad(chain), (V,)),
    "network": (network, (W, X)),
    "gradient of a network": (fx.grad(network, argnums=(0, 1)), (W, X)),
    "rows": (log_sum_exp, (X,)),
    "gradient of rows": (fx.grad(log_sum_exp), (X,)),
    "gradient of a scan": (fx.grad(recurrence), (W, X)),
    "gradients per sample": (fx.vmap(fx.grad(network), in_axes=(None, 0)), (W, X[:20, None])),
    "hessian": (fx.hessian(lambda v: fnp.sum(fnp.tanh(X[:, :60] @ v))), (RNG.standard_normal(60),)),
    "solve": (fx.grad(solved), (W, X)),
    "checkpoint": (fx.grad(fx.checkpoint(chain)), (V,)),
    "sort": (lambda x: fnp.sort(x, 0), (X,)),
}


def measured_peak(fun, *args):
    fun(*args)  # what is made once
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        fun(*args)
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("compiled", [False, True])
def test_estimates_are_within_a_factor_of_two(name, compiled):
    fun, args = PROGRAMS[name]
    if compiled:
        fun = fx.jit(fun)
    estimate = fx.memory_estimate(fun)(*args)
    measured = measured_peak(fun, *args)
    # What is below a tile's buffers, or a copy of the arguments, is beside the point.
    slack = 600_000 + estimate.arguments
    assert measured / 2 - slack <= estimate.peak
    if not compiled:  # machine code takes less
        assert estimate.peak <= 2 * measured + slack
    assert estimate.arguments == sum(a.nbytes for a in args)


def test_an_estimate_says_what_there_is_at_the_peak():
    estimate = fx.memory_estimate(lambda x: fnp.sum(fnp.exp(x).reshape(10, 10) @ fnp.sin(W[:10, :10])))(
        V[:100]
    )
    assert [h.size for h in estimate.held] == sorted((h.size for h in estimate.held), reverse=True)
    assert sum(h.size for h in estimate.held) == estimate.peak
    assert {h.operation for h in estimate.held} == {"exp", "contract"}  # the reshaped array is a view
    text = repr(estimate)
    assert text.startswith("peak of 1.6 kB, beside 800 B of arguments and 800 B of arrays that the function")
    assert "test_memory.py" in text


def test_an_estimate_takes_shapes_in_place_of_arrays():
    estimate = fx.memory_estimate(fx.grad(chain))(fx.ShapeDtypeStruct((10**9,), "f4"))
    assert estimate.arguments == estimate.results == 4 * 10**9
    assert estimate.peak > 40 * 10**9


def test_a_limit_holds():
    gradients = fx.grad(lambda w, x: fnp.sum(fnp.tanh(fnp.tanh(x @ w) @ w)))
    rows = X[:, None]
    results = len(rows) * W.nbytes
    want = fx.vmap(gradients, in_axes=(None, 0), chunk_size=20)(W, rows)
    peaks = []
    for extra in (3_000_000, 30_000_000):
        limited = fx.vmap(gradients, in_axes=(None, 0), memory_limit=results + extra)
        # Products of other sizes are summed in another order: the entries are sums of 200 terms of order one.
        np.testing.assert_allclose(limited(W, rows), want, rtol=1e-12, atol=1e-12)
        peaks.append(measured_peak(limited, W, rows) - results)
        assert peaks[-1] <= 1.5 * extra
    assert peaks[1] > 2 * peaks[0]  # and is made use of


def test_automatic_chunks_everywhere():
    def f(v):
        return fnp.sum(fnp.tanh(X[:, :30] @ v) ** 2)

    v = RNG.standard_normal(30)
    for transform in (fx.hessian, fx.jacfwd, fx.jacrev, fx.jacobian):
        for options in ({"memory_limit": "200 kB"}, {"chunk_size": "auto"}, {"memory_limit": 1}):
            np.testing.assert_allclose(transform(f, **options)(v), transform(f)(v), rtol=1e-10, atol=1e-12)
    mapped = fx.vmap(f, memory_limit="1 MB")
    vs = RNG.standard_normal((50, 30))
    np.testing.assert_allclose(fx.jit(mapped)(vs), fx.vmap(f)(vs))
    np.testing.assert_allclose(fx.grad(lambda vs: mapped(vs).sum())(vs), fx.vmap(fx.grad(f))(vs))
    np.testing.assert_allclose(fx.vmap(mapped)(vs[None])[0], fx.vmap(f)(vs))
    for few in (vs[:1], vs[:0]):
        np.testing.assert_allclose(mapped(few), fx.vmap(f)(few))


def test_chunks_of_different_dtypes_are_joined_to_the_wider():
    def f(x):
        return x.astype("f4") if x < 2 else x

    x = np.array([0.0, 1.0, 2.0 + 1e-12, 3.0])
    got = fx.vmap(f, chunk_size=2, control="split")(x)
    assert got.dtype == np.float64
    np.testing.assert_array_equal(got, x)


def test_progress_is_shown_over_chunks_and_nowhere_else(capsys):
    f = fx.vmap(fnp.sin, chunk_size=2, progress="sines")
    x = np.arange(6.0)
    np.testing.assert_allclose(f(x), np.sin(x))
    assert "sines: 100%" in capsys.readouterr().err
    fx.jit(f)(x)
    fx.grad(lambda x: f(x).sum())(x)
    fx.vmap(fnp.sin, progress=True)(x)  # one chunk
    assert capsys.readouterr().err == ""
    fx.jacobian(lambda x: x * x, chunk_size=3, progress=True)(x)
    assert "2/2" in capsys.readouterr().err


def test_bad_limits():
    for limit in ("many", 0, -3, "5 XB"):
        with pytest.raises(fx.StructureError, match="memory_limit"):
            fx.vmap(fnp.sin, memory_limit=limit)(np.arange(3.0))
    with pytest.raises(fx.StructureError, match='the limit is for chunk_size="auto"'):
        fx.vmap(fnp.sin, memory_limit=100, chunk_size=3)
    with pytest.raises(fx.AxisError, match='positive or "auto"'):
        fx.vmap(fnp.sin, chunk_size="some")
    with pytest.raises(fx.StructureError, match="cannot be staged"):
        fx.vmap(fnp.sin, chunk_size="auto", control="split")
