"""vmap through the public API: it is the loop, however the axes, chunks and levels are arranged."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from tests.ways import same

rng = np.random.default_rng(11)
M, N = rng.normal(size=(6, 4)), rng.normal(size=(6, 4))
W = rng.normal(size=4)


def model(w, x):
    h = fnp.tanh(w * x)
    return {"h": h, "s": (fnp.sum(h), None)}


def loop(function, *batches):
    results = [function(*entries) for entries in zip(*batches)]
    return fx.tree.map(lambda *parts: np.stack(parts), *results)


def test_it_is_the_loop():
    same(fx.vmap(model, in_axes=(None, 0))(W, M), loop(lambda x: model(W, x), M))
    same(fx.vmap(model)(M, N), loop(model, M, N))


class Settings:
    power = 2


@pytest.mark.parametrize(
    "settings", [Settings, Settings(), np.sin, "square", np.float32, np.dtype(int), fnp.bfloat16, {1}]
)
def test_what_is_not_mapped_may_be_any_object(settings):
    def function(x, given):
        assert given is settings
        return x**2

    same(fx.vmap(function, in_axes=(0, None))(M, settings), M**2)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_axes(axis):
    cube = rng.normal(size=(2, 3, 4))

    def function(x):
        return fnp.sin(x) * x.sum()

    expected = np.stack([function(x) for x in np.moveaxis(cube, axis, 0)])
    for out in range(-3, 3):
        same(fx.vmap(function, in_axes=axis, out_axes=out)(cube), np.moveaxis(expected, 0, out))


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 4, 5, 6, 100])
@pytest.mark.parametrize("out_axes", [0, {"h": 1, "s": 0}, {"h": -1, "s": (0, None)}])
def test_chunks_change_nothing(chunk_size, out_axes):
    whole = fx.vmap(model, in_axes=(None, 0), out_axes=out_axes)
    chunked = fx.vmap(model, in_axes=(None, 0), out_axes=out_axes, chunk_size=chunk_size)
    same(chunked(W, M), whole(W, M))


def test_chunks_of_any_axis_and_under_other_transforms():
    def total(w):
        return fnp.sum(fx.vmap(lambda x: fnp.sin(w @ x), in_axes=1, chunk_size=2)(M.T[:, :5]) ** 2)

    same(fx.grad(total)(W), fx.grad(lambda w: fnp.sum(fnp.sin(M[:5] @ w) ** 2))(W))
    same(fx.jit(total)(W), total(W))


def test_chunks_are_calls_of_their_own():
    seen = []
    fx.vmap(lambda x: seen.append(x.shape) or x, chunk_size=4)(M)
    assert seen == [(4,), (4,)]  # an entry, of the first four and of the last two


def test_out_axes_none_is_for_what_is_not_mapped():
    y, w = fx.vmap(lambda x, w: (x * w, w), in_axes=(0, None), out_axes=(0, None))(M, W)
    same((y, w), (M * W, W))
    assert w is not W
    same(fx.vmap(lambda x: (x, 2.0), out_axes=(0, None), chunk_size=2)(M), (M, 2.0))


def test_nothing_mapped_and_no_entries():
    same(fx.vmap(lambda: W, axis_size=3)(), np.stack([W, W, W]))
    same(fx.vmap(fnp.sin)(M[:0]), M[:0])
    same(fx.vmap(fx.grad(lambda x: fnp.sum(x**2)))(M[:0]), M[:0])


def test_errors_name_the_argument():
    with pytest.raises(fx.AxisError, match=r"d\['b'\]: 4 .*shape \(4,\), axis 0"):
        fx.vmap(lambda a, d: a)(M, {"a": M, "b": W})
    with pytest.raises(fx.AxisError, match=r"axis 1 is out of bounds for argument x of shape \(4,\)"):
        fx.vmap(fnp.sin, in_axes=1)(W)
    with pytest.raises(fx.AxisError, match=r"kwargs\['k'\]"):
        fx.vmap(lambda a, k: a)(M, k=1.0)
    with pytest.raises(fx.StructureError, match="in_axes has 1 entries for a call with 2"):
        fx.vmap(lambda a, b: a, in_axes=(0,))(M, N)
    with pytest.raises(fx.AxisError, match=r"(?s)no argument is mapped.*give axis_size"):
        fx.vmap(fnp.sin, in_axes=None)(W)
    with pytest.raises(fx.AxisError, match="axis_size=5"):
        fx.vmap(fnp.sin, axis_size=5)(M)
    with pytest.raises(fx.AxisError, match=r"out_axes is None for the result \['h'\]"):
        fx.vmap(lambda x: {"h": x}, out_axes=None)(M)
    with pytest.raises(fx.AxisError, match="out_axes 2 is out of bounds"):
        fx.vmap(lambda x: x, out_axes=2)(M)
    with pytest.raises(fx.AxisError, match="chunk_size must be positive"):
        fx.vmap(fnp.sin, chunk_size=0)
    with pytest.raises(fx.StructureError, match="in_axes"):
        fx.vmap(lambda d: d["a"], in_axes=({"b": 0},))({"a": M})
    with pytest.raises(fx.ConcretizationError, match=r"(?s)bool\(\) of a batched value.*fnp\.where"):
        fx.vmap(lambda x: x if x > 0 else -x)(W)


def test_an_error_leaves_no_level_behind():
    with pytest.raises(ZeroDivisionError):
        fx.vmap(lambda x: 1 / 0)(W)
    same(fx.vmap(fnp.sin)(W), np.sin(W))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x,
        lambda x: x[::-1],
        lambda x: (x, x),
        lambda x: (x, x.T, x.reshape(-1)),
        lambda x: W,
        lambda x: fnp.broadcast_to(x, (2, 4)),
    ],
)
def test_results_are_the_callers_own(function):
    batch = M.copy()
    results = fx.tree.leaves(fx.vmap(function)(batch))
    for index, result in enumerate(results):
        kept, w = [r.copy() for r in results], W.copy()
        result[...] = 7.0
        same((batch, W), (M, w))
        assert all(np.array_equal(a, b) for i, (a, b) in enumerate(zip(results, kept)) if i != index)


@pytest.mark.parametrize(
    "function",
    [
        lambda e, i, j: e[i, j],
        lambda e, i, j: e[:, j],
        lambda e, i, j: e[i, :, j],
        lambda e, i, j: e[0, :, j],
        lambda e, i, j: e[None, i, None],
        lambda e, i, j: e[..., j],
        lambda e, i, j: e[i, np.array([0, 1])],
        lambda e, i, j: e[:, j, np.array([[0, 1]])],
    ],
)
def test_one_array_is_indexed_by_a_batch(function):
    e = rng.normal(size=(2, 3, 4))
    i, j = np.array([[0, 1], [1, -1], [0, 0]]), np.array([[[2], [1]], [[0], [0]], [[1], [2]]])
    mapped = fx.vmap(function, (None, 0, 0))
    expected = np.stack([function(e, *entries) for entries in zip(i, j)])
    same(mapped(e, i, j), expected), same(fx.jit(mapped)(e, i, j), expected)
    both = fx.vmap(fx.vmap(function, (None, None, 0)), (None, 0, None))(e, i, j)
    same(both, np.stack([[function(e, a, b) for b in j] for a in i]))
    assert not any(
        v.aval.size > expected.size for q in fx.make_graph(mapped)(e, i, j).equations for v in q.outputs
    )
    slope = fx.grad(lambda e: fnp.sum(fnp.sin(mapped(e, i, j))))(e)
    one = fx.grad(lambda e, *entries: fnp.sum(fnp.sin(function(e, *entries))))
    np.testing.assert_allclose(slope, sum(one(e, *entries) for entries in zip(i, j)))
