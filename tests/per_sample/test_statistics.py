"""Statistics of per-sample gradients, against those of the gradients written out by vmap(grad)."""

import threading
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.per_sample import gradients
from fxgrad.per_sample.problem import Problem, Ways

from .networks import NETWORKS, mlp, parameters


def written_out(loss, params, *batch):
    return fx.vmap(fx.grad(loss), (None, *(0,) * len(batch)))(params, *batch)


def flat(written):
    return np.concatenate([np.reshape(v, (len(v), -1)) for v in fx.tree.leaves(written)], 1)


def clip(written, bound):
    factors = bound / np.maximum(np.linalg.norm(flat(written), axis=1), bound)
    return fx.tree.map(lambda v: np.tensordot(factors, v, 1), written)


def assert_alike(found, expected, **tolerance):
    options = {"rtol": 1e-9, "atol": 1e-12, **tolerance}
    for (path, right), have in zip(fx.tree.leaves_with_path(expected), fx.tree.leaves(found), strict=True):
        np.testing.assert_allclose(have, right, **options, err_msg=str(path))
        assert np.shape(have) == np.shape(right)


STATISTICS = {
    "squared_norms": lambda g: np.sum(flat(g) ** 2, 1),
    "norms": lambda g: np.linalg.norm(flat(g), axis=1),
    "mean": lambda g: fx.tree.map(lambda v: v.mean(0), g),
    "second_moment": lambda g: fx.tree.map(lambda v: (v**2).sum(0), g),
    "variance": lambda g: fx.tree.map(lambda v: v.var(0), g),
    "gram": lambda g: flat(g) @ flat(g).T,
}


@pytest.fixture(params=["chosen", "factored", "dense", "recomputed"])
def way(request, monkeypatch):
    """The way that parameters go: the best for their sizes, or one that is forced, with few gradients at a time."""
    if request.param == "chosen":
        return
    monkeypatch.setattr(gradients, "WRITTEN_GRADIENTS", 60)

    def ways(problem):
        if request.param == "factored":
            return problem.choose_ways(factored=True)
        leaves = list(range(len(problem.params)))
        return Ways({}, leaves, []) if request.param == "dense" else Ways({}, [], leaves)

    monkeypatch.setattr(Problem, "ways", property(ways))


@pytest.mark.parametrize("network", NETWORKS)
def test_statistics_are_those_of_the_gradients(network, way):
    loss, params, *batch = NETWORKS[network](np.random.default_rng(0), 5)
    expected = written_out(loss, params, *batch)
    for name, statistic in STATISTICS.items():
        assert_alike(getattr(fx.per_sample, name)(loss)(params, *batch), statistic(expected))
    per_leaf = fx.per_sample.norms(loss, per_leaf=True)(params, *batch)
    assert_alike(per_leaf, fx.tree.map(lambda v: np.linalg.norm(np.reshape(v, (5, -1)), axis=1), expected))
    assert_alike(fx.per_sample.clipped_sum(loss, 0.5)(params, *batch), clip(expected, 0.5))


@pytest.mark.parametrize("network", NETWORKS)
def test_inner_products_and_given_weights(network):
    loss, params, *batch = NETWORKS[network](np.random.default_rng(0), 5)
    expected = written_out(loss, params, *batch)
    vector = fx.tree.map(lambda v: v[0], expected)
    products = fx.per_sample.inner_products(loss)(params, *batch, vector)
    assert_alike(products, STATISTICS["gram"](expected)[0])
    weights = np.arange(5.0)
    total = fx.per_sample.weighted_sum(loss, weights)(params, *batch)
    assert_alike(total, fx.tree.map(lambda v: np.tensordot(weights, v, 1), expected))
    ratio = fx.per_sample.signal_to_noise(loss)(params, *batch)
    with np.errstate(all="ignore"):
        assert_alike(ratio, fx.tree.map(lambda v: v.mean(0) ** 2 / v.var(0), expected), rtol=1e-6)


def test_memory_is_that_of_the_activations():
    def loss(p, x):
        return fnp.sum(fnp.tanh(x @ p["w"]) @ p["v"])

    params = {"w": np.ones((300, 200)), "v": np.ones((200, 300))}
    batch = np.random.default_rng(0).normal(size=(64, 300))
    peaks = []
    for _ in range(4):  # the first one compiles, and so may other threads during any of them
        tracemalloc.start()
        try:
            fx.per_sample.clipped_sum(loss, 1.0)(params, batch)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert min(peaks) < 8 * 64 * 2 * 300 * 200 / 10, peaks  # bytes of all gradients


@pytest.mark.parametrize("network", ["mlp", "transformer"])
def test_statistics_under_jit_grad_and_vmap(network, way):
    loss, params, *batch = NETWORKS[network](np.random.default_rng(1), 3)
    norms = fx.per_sample.norms(loss)

    def plain(p, *batch):
        return fnp.sqrt(
            sum(
                fnp.sum(fnp.reshape(g, (3, -1)) ** 2, 1) for g in fx.tree.leaves(written_out(loss, p, *batch))
            )
        )

    assert_alike(fx.jit(norms)(params, *batch), plain(params, *batch))

    def total(norms):
        return lambda p: fnp.sum(fnp.sin(norms(p, *batch)))

    assert_alike(fx.grad(total(norms))(params), fx.grad(total(plain))(params), rtol=1e-7)
    several = fx.tree.map(lambda v: np.stack([v, 2 * v]), params)
    mapped = fx.vmap(norms, (0, None, None))(several, *batch)
    assert_alike(mapped[1], plain(fx.tree.map(lambda v: 2 * v, params), *batch))


def test_second_order_of_sums():
    loss, params, *batch = mlp(np.random.default_rng(0), 3)

    def clipped(p):
        return fnp.sum(fx.per_sample.clipped_sum(loss, 0.5)(p, *batch)["w"] ** 2)

    def plain(p):
        written = written_out(loss, p, *batch)
        squares = sum(fnp.sum(fnp.reshape(g, (3, -1)) ** 2, 1) for g in fx.tree.leaves(written))
        factors = 0.5 / fnp.maximum(fnp.sqrt(squares), 0.5)
        return fnp.sum(fnp.tensordot(factors, written["w"], 1) ** 2)

    along = fx.tree.map(np.ones_like, params)
    assert_alike(
        fx.hvp(clipped, (params,), (along,)), fx.hvp(plain, (params,), (along,)), rtol=1e-6, atol=1e-9
    )


def test_auxiliary_results_and_axes():
    def loss(w, x, *, scale):
        return scale * (x @ w) @ np.array([1.0, -1.0]), {"mean": x.mean(), "weights": w}

    w, xs, scales = np.ones((3, 2)), np.random.default_rng(0).normal(size=(3, 4)), np.arange(4.0)
    for in_axes in (1, -1, (None, 1)):
        norms, aux = fx.per_sample.norms(loss, in_axes, has_aux=True)(w, xs, scale=scales)
        assert_alike(norms, scales * np.linalg.norm(xs, axis=0) * np.sqrt(2))
        assert_alike(aux, {"mean": xs.mean(0), "weights": np.broadcast_to(w, (4, 3, 2))})
    for statistic in (fx.per_sample.mean, fx.per_sample.second_moment, fx.per_sample.gram):
        _, again = statistic(loss, 1, has_aux=True)(w, xs, scale=scales)
        assert_alike(again, aux)


@pytest.mark.parametrize("dtype", ["float32", "float16", "complex128"])
def test_dtypes(dtype):
    rng = np.random.default_rng(0)

    def loss(w, x):
        return fnp.sum(fnp.abs(fnp.tanh(x @ w)) ** 2)

    w = (rng.normal(size=(4, 5)) + (1j * rng.normal(size=(4, 5)) if dtype == "complex128" else 0)).astype(
        dtype
    )
    xs = rng.normal(size=(3, 4)).astype("float32" if dtype == "float16" else "float64").astype(w.real.dtype)
    expected = written_out(loss, w, xs)
    squares = np.sum(np.abs(expected.astype("complex128").reshape(3, -1)) ** 2, 1)
    norms = fx.per_sample.norms(loss)(w, xs)
    accurate = {"float32": "float32", "float16": "float32", "complex128": "float64"}
    tolerance = {"float32": 1e-5, "float16": 1e-2, "complex128": 1e-9}[dtype]
    assert norms.dtype == accurate[dtype]
    assert_alike(norms, np.sqrt(squares), rtol=tolerance)
    total = fx.per_sample.clipped_sum(loss, 1.0)(w, xs)
    assert total.dtype == dtype
    assert_alike(fx.per_sample.gram(loss)(w, xs).diagonal(), squares, rtol=tolerance)


def test_weights_of_another_precision():
    def loss(w, x):
        return fnp.sum(fnp.tanh(x.astype("float32") @ w.astype("float32")))

    w, xs = np.random.default_rng(0).normal(size=(40, 30)), np.random.default_rng(1).normal(size=(3, 40))
    expected = written_out(loss, w, xs)
    assert_alike(fx.per_sample.norms(loss)(w, xs), STATISTICS["norms"](expected), rtol=1e-5)
    total = fx.per_sample.clipped_sum(loss, 1.0)(w, xs)
    assert total.dtype == w.dtype
    assert_alike(total, clip(expected, 1.0), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64"])
def test_a_table_is_looked_up_by_integers_of_any_dtype(dtype):
    table = np.random.default_rng(0).normal(size=(300, 2))
    places = np.array([[0, 100, 0], [7, 7, 7]], dtype)

    def loss(table, places):
        return fnp.sum(fnp.sin(fnp.cumsum(table[places], 0)))

    expected = written_out(loss, table, places)
    assert_alike(fx.per_sample.norms(loss)(table, places), STATISTICS["norms"](expected))
    assert_alike(fx.per_sample.second_moment(loss)(table, places), STATISTICS["second_moment"](expected))


def test_an_empty_batch_and_gradients_of_zero():
    def loss(w, x):
        return (x @ w) @ (x @ w)

    w = np.ones((2, 3))
    assert fx.per_sample.norms(loss)(w, np.zeros((0, 2))).shape == (0,)
    assert_alike(fx.per_sample.clipped_sum(loss, 1.0)(w, np.zeros((0, 2))), np.zeros((2, 3)))
    assert_alike(fx.per_sample.second_moment(loss)(w, np.zeros((0, 2))), np.zeros((2, 3)))
    slope = fx.grad(lambda w: fnp.sum(fx.per_sample.norms(loss)(w, np.zeros((2, 2)))))(w)
    assert_alike(slope, np.zeros((2, 3)))
    unused = fx.per_sample.norms(lambda p, x: fnp.sum(x * p["a"]), per_leaf=True)
    assert_alike(
        unused({"a": 1.0, "b": np.ones(2)}, np.ones((2, 3))), {"a": np.full(2, 3.0), "b": np.zeros(2)}
    )


SIZES = [("f4", 1e25), ("f4", 1e-30), ("f8", 1e200), ("f8", 1e-200)]


@pytest.mark.parametrize("network, dtype, size", [(n, *SIZES[i % 4]) for i, n in enumerate(NETWORKS)])
def test_norms_whose_squares_overflow_or_underflow(network, dtype, size, way):
    """Of a loss in another unit, which is that of all its gradients."""
    loss, *values = NETWORKS[network](np.random.default_rng(0), 5)
    params, *batch = fx.tree.map(
        lambda v: v if np.asarray(v).dtype.kind in "iub" else np.asarray(v, dtype), values
    )
    expected = flat(written_out(loss, params, *batch))
    norms = np.linalg.norm(expected, axis=1)
    unit = np.array(size, dtype)

    def scaled(*args):
        return loss(*args) * unit

    options = {"rtol": 1e-4, "atol": 1e-5} if dtype == "f4" else {"rtol": 1e-9, "atol": 1e-11}
    np.testing.assert_allclose(fx.per_sample.norms(scaled)(params, *batch) / unit, norms, **options)
    bound = np.median(norms).astype(dtype) * unit
    for clip_to, total in [
        (np.inf, expected.sum(0)),
        (bound, np.minimum(1, bound / size / norms) @ expected),
    ]:
        for wrap in (lambda f: f, fx.jit):
            found = wrap(fx.per_sample.clipped_sum(scaled, clip_to))(params, *batch)
            have = flat(fx.tree.map(lambda v: v[None], found))[0] / unit
            np.testing.assert_allclose(have, total, **options)


def test_the_hessian_of_norms_where_one_leaf_has_none():
    """Of ‖g‖², whose root is not differentiable where g = 0: leaves are added before the root is taken."""

    def loss(p, x):
        return x * p["a"] ** 2 / 2 + x * p["b"] ** 2 / 2

    def norms(b):
        return fnp.sum(fx.per_sample.norms(loss)({"a": 2.0, "b": b}, np.array([1.0])))

    np.testing.assert_allclose(fx.hessian(norms)(0.0), 0.5)  # of √(4 + b²)


def test_bad_arguments_are_named():
    def loss(w, x):
        return x @ w

    with pytest.raises(fx.NonScalarError, match="sum it"):
        fx.per_sample.norms(lambda w, x: x * w)(np.ones(2), np.ones((3, 2)))
    with pytest.raises(fx.DTypeError, match=r"args\[0\].*integer"):
        fx.per_sample.norms(loss)(np.ones(2, int), np.ones((3, 2)))
    with pytest.raises(fx.AxisError, match="different sizes"):
        fx.per_sample.norms(lambda w, x, y: x @ w + y)(np.ones(2), np.ones((3, 2)), np.ones(4))
    with pytest.raises(fx.StructureError, match="begins with None"):
        fx.per_sample.norms(loss, in_axes=(0, 0))(np.ones(2), np.ones((3, 2)))
    with pytest.raises(fx.ShapeError, match="there are 3 examples"):
        fx.per_sample.weighted_sum(loss, np.ones(2))(np.ones(2), np.ones((3, 2)))
    with pytest.raises(fx.ShapeError, match="vector"):
        fx.per_sample.inner_products(loss)(np.ones(2), np.ones((3, 2)), np.ones(3))
    with pytest.raises(fx.StructureError, match="no examples"):
        fx.per_sample.norms(loss)(np.ones(2))
    with pytest.raises(fx.StructureError, match="vector is missing"):
        fx.per_sample.inner_products(loss)(np.ones(2))
    with pytest.raises(fx.StructureError, match="takes a function"):
        fx.per_sample.norms(1.0)


def test_threads_have_nothing_in_common():
    loss, params, *batch = mlp(np.random.default_rng(0), 4)
    norms = fx.per_sample.norms(loss)
    expected, found = norms(params, *batch), {}

    def run(i):
        found[i] = norms(params, *batch)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 4
    for value in found.values():
        assert_alike(value, expected)


PIECES = {
    "product": lambda p, x: x @ p["w"],
    "transposed": lambda p, x: x @ p["w"].T,
    "sequence": lambda p, x: (fnp.stack([x, x**2]) @ p["w"]).sum(0),
    "einsum": lambda p, x: fnp.einsum("i,ji->j", x, p["v"]),
    "reshaped": lambda p, x: fnp.einsum("ab,abj->j", x.reshape(2, 2), p["v"].reshape(2, 2, 4)),
    "lookup": lambda p, x: x + p["v"][fnp.argmax(x)],
    "rows": lambda p, x: p["v"][fnp.argsort(x)[:3]].sum(0) + x,
    "bias": lambda p, x: x + p["b"],
    "scale": lambda p, x: x * p["b"],
    "scaled weights": lambda p, x: x @ (p["w"] * p["b"]),
    "convolution": lambda p, x: fnp.convolve(x, p["b"], "same"),
    "batch of products": lambda p, x: fnp.einsum("i,ij->ij", x, p["w"]).sum(0),
    "loop": lambda p, x: fx.lax.fori_loop(0, 2, lambda i, x: fnp.tanh(x @ p["w"]), x),
    "branch": lambda p, x: fx.lax.cond(x[0] > 0, lambda x: x @ p["v"], lambda x: x, x),
    "checkpoint": lambda p, x: fx.checkpoint(lambda w, x: fnp.sin(x @ w))(p["w"], x),
    "remat": lambda p, x: fx.checkpoint(lambda w, x: fnp.sin(x @ w.T) @ w)(p["w"], x),
    "tanh": lambda p, x: fnp.tanh(x),
}


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from(sorted(PIECES)), min_size=1, max_size=5), st.booleans(), st.integers(0, 99))
def test_networks_of_any_pieces(names, factored, seed):
    def loss(p, x):
        for name in names:
            x = PIECES[name](p, x)
        return fnp.sum(fnp.sin(x))

    rng = np.random.default_rng(seed)
    params = parameters(rng, w=(4, 4), v=(4, 4), b=(4,))
    xs = rng.normal(size=(3, 4))
    expected = written_out(loss, params, xs)
    with pytest.MonkeyPatch.context() as patch:
        if factored:
            patch.setattr(Problem, "ways", property(lambda problem: problem.choose_ways(factored=True)))
        for name in ("squared_norms", "second_moment", "gram"):
            assert_alike(getattr(fx.per_sample, name)(loss)(params, xs), STATISTICS[name](expected))
        assert_alike(fx.per_sample.clipped_sum(loss, 0.5)(params, xs), clip(expected, 0.5))


@pytest.mark.parametrize("bound", [-1.0, 0, float("nan")])
def test_a_norm_to_clip_to_is_above_zero(bound):
    with pytest.raises(ValueError, match="above zero"):
        fx.per_sample.clipped_sum(lambda w, x: w @ x, bound)
