"""Kernels of torch's operations on places: entries matched along an axis, the greatest of rows, images at a grid."""

import numpy as np
import pytest

from fxgrad.kernels.native import engine, grid, matched, ranking, threads
from tests.together import together

pytestmark = pytest.mark.skipif(engine.mode() == "never", reason="there is no llvmlite")

COMBINATIONS = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum}


@pytest.fixture(autouse=True, params=[1, 3])
def all_is_machine_code(monkeypatch, request):
    monkeypatch.setattr(engine, "mode", lambda: "always")
    monkeypatch.setattr(threads, "THREAD_WORK", 1)
    monkeypatch.setattr(threads, "thread_count", lambda: request.param)


def draw(dtype, shape):
    rng = np.random.default_rng(0)
    return (3 * rng.standard_normal(shape)).astype(dtype)


# -- entries matched along an axis ------------------------------------------
AXES = [((7,), 20, 0), ((5, 6), 9, 0), ((5, 6), 9, 1), ((3, 4, 5), 11, 1), ((3, 1, 5), 2, -2)]


def place(shape, count, axis):
    """Places along an axis, and the index of all entries at them."""
    rng = np.random.default_rng(1)
    whole = list(shape)
    whole[axis] = count
    places = rng.integers(0, shape[axis], whole)
    index = [*np.indices(whole)]
    index[axis] = places
    return places, tuple(index)


@together("dtype", "shape")
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8"])
@pytest.mark.parametrize("name", [*COMBINATIONS, "mean", ""])
@pytest.mark.parametrize("shape, count, axis", AXES)
def test_combined(shape, count, axis, name, dtype):
    places, index = place(shape, count, axis)
    x, u = draw(dtype, shape), draw(dtype, places.shape)
    combine = matched.combiner(name, x, places, u, axis)
    if name == "mean" and dtype[0] == "i":
        assert combine is None
        return
    expected = x.copy()
    if name == "":
        expected[index] = u
    else:
        COMBINATIONS.get(name, np.add).at(expected, index, u)
    if name == "mean":
        count = np.ones(shape, dtype)
        np.add.at(count, index, 1)
        expected /= count
    (found,) = combine(x, places, u)
    np.testing.assert_array_equal(found, expected)


@together("shape")
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "?"])
@pytest.mark.parametrize("shape, count, axis", AXES)
def test_taken(shape, count, axis, dtype):
    places, index = place(shape, count, axis)
    x = draw(dtype, shape)
    (found,) = matched.taker(x, places, axis)(x, places)
    np.testing.assert_array_equal(found, x[index])


def test_places_that_do_not_exist_and_other_orders_in_memory_are_left_to_numpy():
    x, u = draw("f4", (5, 4)), draw("f4", (3, 4))
    for wrong in (-1, 5):
        places = np.zeros((3, 4), int)
        places[2, 3] = wrong
        assert matched.combiner("add", x, places, u, 0)(x, places, u) is None
        assert matched.taker(x, places, 0)(x, places) is None
    places = np.zeros((3, 4), int)
    assert matched.combiner("add", x, places, u, 0)(x.T.copy().T, places, u) is None
    assert matched.combiner("add", x, places[:, :2], u[:, :2], 0) is None
    assert matched.combiner("add", x, places.astype("i4"), u, 0) is None


@together("shape")
@pytest.mark.parametrize("greatest", [False, True])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape, count, axis", AXES)
def test_cotangents_shared_by_those_that_reach_an_extremum(shape, count, axis, dtype, greatest):
    places, index = place(shape, count, axis)
    x, u, ct = np.round(draw(dtype, shape)), np.round(draw(dtype, places.shape)), draw(dtype, shape)
    x.flat[0], u.flat[1] = np.nan, np.nan
    y = x.copy()
    with np.errstate(invalid="ignore"):
        (np.maximum if greatest else np.minimum).at(y, index, u)
    reach = [(v == most) | np.isnan(v) for v, most in ((x, y), (u, y[index]))]
    number = reach[0].astype(dtype)
    np.add.at(number, index, reach[1])
    found = matched.sharer(x, places, u, axis)(ct, y, x, places, u)
    for part, mask, all_of_them in zip(found, reach, (ct / number, (ct / number)[index])):
        np.testing.assert_array_equal(part, np.where(mask, all_of_them, 0))
        assert part.dtype == dtype


# -- the greatest of rows ------------------------------------------
@pytest.mark.parametrize("least", [False, True])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8"])
@pytest.mark.parametrize("shape", [(1,), (100,), (5, 37), (2, 3, 16)])
def test_ranked(shape, dtype, least):
    """Equal entries keep their order, −0 is 0, NaN is the greatest."""
    x = draw(dtype, shape)
    if dtype[0] == "f":
        rng = np.random.default_rng(2)
        x = np.round(x)
        for value in (np.nan, -np.nan, np.inf, -np.inf, -0.0, 0.0):
            x[rng.random(shape) < 0.1] = value
    turned = -1 - np.argsort(x[..., ::-1], -1, kind="stable")[..., ::-1] + shape[-1]
    order = np.argsort(x, -1, kind="stable") if least else turned
    for k in {1, min(5, shape[-1]), min(shape[-1], ranking.RANKED_ENTRIES)}:
        values, places = ranking.ranker(x, k, least)(x)
        np.testing.assert_array_equal(places, order[..., :k])
        np.testing.assert_array_equal(values, np.take_along_axis(x, places, -1))


# -- images at a grid ------------------------------------------
def sample(x, places, mode, padding, align):
    """Images at a grid, by a loop, and the derivatives as (pixel, entry, weight, slopes along both axes)."""
    b, c, *sizes = x.shape
    y, reads = np.zeros((b, c, *places.shape[1:3])), []
    for at in np.ndindex(*places.shape[:3]):
        lines = []
        for n, v in zip(sizes, places[at][::-1].astype(float)):
            slope = (n - 1) / 2 if align else n / 2
            p = (v + 1) * slope if align else ((v + 1) * n - 1) / 2
            if padding == "border" and not 0 < p < n - 1:
                p, slope = min(max(p, 0), n - 1), 0
            if mode == "nearest":
                taps = [(round(p), 1, 0)]
            else:
                first = int(np.floor(p))
                taps = [(first, 1 - p + first, -slope), (first + 1, p - first, slope)]
            lines.append([tap for tap in taps if 0 <= tap[0] <= n - 1])
        for i, v, dv in lines[0]:
            for j, w, dw in lines[1]:
                y[at[0], :, *at[1:]] += v * w * x[at[0], :, i, j]
                reads.append((at, (i, j), v * w, (v * dw, dv * w)))
    return y, reads


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_images_at_a_grid(mode, padding, align, dtype):
    rng, tolerance = np.random.default_rng(3), 100 * np.finfo(dtype).eps
    x = draw(dtype, (2, 3, 5, 6))
    places = rng.uniform(-1.3, 1.3, (2, 4, 5, 2)).astype(dtype)
    expected, reads = sample(x, places, mode, padding, align)
    (found,) = grid.sampler(x, places, mode, padding, align)(x, places)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)

    ct = draw(dtype, expected.shape)
    image, move = np.zeros(x.shape), np.zeros(places.shape)
    for at, entry, weight, slopes in reads:
        here = ct[at[0], :, *at[1:]]
        image[at[0], :, *entry] += weight * here
        move[at] += np.array(slopes) * (here @ x[at[0], :, *entry])
    pull = grid.pullback(x, places, mode, padding, align)
    for cts, with_grid in ((pull(ct, x, places), True), (pull(ct, None, places), False)):
        np.testing.assert_allclose(cts[0], image, rtol=0, atol=10 * tolerance)
        np.testing.assert_allclose(cts[1], move if with_grid else 0 * move, rtol=0, atol=10 * tolerance)


def test_what_grids_do_not_fit_is_left_to_numpy():
    x, places = draw("f4", (1, 2, 3, 3)), np.zeros((1, 2, 2, 2), "f4")
    assert grid.sampler(x, places, "bicubic", "zeros", False) is None
    assert grid.sampler(x, places, "bilinear", "reflection", False) is None
    assert grid.sampler(x, places.astype("f8"), "bilinear", "zeros", False) is None
    assert grid.sampler(x, places, "bilinear", "zeros", False)(x.transpose(0, 1, 3, 2), places) is None
