"""A statistic is compiled for kinds of arguments that come again, and never gives what was true before."""

import threading
import warnings
import weakref

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.per_sample.kept import references_of

W, XS = np.arange(1.0, 4.0), np.arange(12.0).reshape(4, 3)
FACTOR = 1.0


def scaled_loss(w, x):
    return FACTOR * fnp.sum(x * w) ** 2


@pytest.mark.parametrize(
    "name", ["norms", "squared_norms", "mean", "second_moment", "variance", "gram", "signal_to_noise"]
)
def test_later_calls_give_what_the_first_gave(name):
    statistic = getattr(fx.per_sample, name)(scaled_loss)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, *later = [statistic(W, XS) for _ in range(4)]
    for found in later:
        np.testing.assert_allclose(found, first, rtol=1e-12)
        assert found.dtype == first.dtype and type(found) is type(first)
    other = statistic(W.astype(np.float32), XS[:2].astype(np.float32))
    assert other.dtype == np.float32
    np.testing.assert_allclose(statistic(2 * W, XS), getattr(fx.per_sample, name)(scaled_loss)(2 * W, XS))


def test_a_global_that_changes_is_seen(monkeypatch):
    norms = fx.per_sample.norms(scaled_loss)
    first = [norms(W, XS) for _ in range(3)][-1]
    for factor in (2.0, 3.0):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        for _ in range(3):
            np.testing.assert_allclose(norms(W, XS), factor * first)


def test_a_cell_an_array_an_object_that_change_are_seen():
    factor, array, kept = 1.0, np.array(1.0), {"factor": 1.0}
    losses = [
        lambda w, x: factor * fnp.sum(x * w),
        lambda w, x: array * fnp.sum(x * w),
        lambda w, x: kept["factor"] * fnp.sum(x * w),
    ]
    statistics = [fx.per_sample.norms(loss) for loss in losses]
    first = [[norms(W, XS) for _ in range(3)][-1] for norms in statistics]
    factor, kept["factor"] = 2.0, 2.0
    array[...] = 2.0
    for norms, before in zip(statistics, first):
        np.testing.assert_allclose(norms(W, XS), 2 * before)


def test_a_loss_is_staged_anew_only_where_it_may_have_changed():
    calls = []

    def noted(w, x):
        calls.append(1)  # a list may change
        return fnp.sum(w * x)

    norms = fx.per_sample.norms(noted)
    for _ in range(4):
        norms(W, XS)
    assert len(calls) == 4
    assert references_of(noted) is None
    assert references_of(scaled_loss) is not None
    assert references_of(lambda w, x: np.random.normal() * w) is None
    assert references_of(lambda w, x: print(w)) is None
    assert references_of(fx.jit(scaled_loss), fx.grad(scaled_loss), (1, "a")) is not None


def test_it_composes_after_it_was_compiled():
    norms = fx.per_sample.norms(scaled_loss)
    expected = next(iter([norms(W, XS) for _ in range(3)]))
    slope = fx.grad(lambda w: fnp.sum(norms(w, XS)))(W)
    np.testing.assert_allclose(fx.jit(norms)(W, XS), expected)
    np.testing.assert_allclose(fx.vmap(norms, (0, None))(np.stack([W, W]), XS), [expected, expected])
    fresh = fx.per_sample.norms(scaled_loss)
    np.testing.assert_allclose(slope, fx.grad(lambda w: fnp.sum(fresh(w, XS)))(W))


def test_weights_that_look_at_numbers_and_errors_stay_as_they_are():
    def weights(norms):
        return norms if float(norms[0]) > 0 else -norms

    total = fx.per_sample.weighted_sum(scaled_loss, weights)
    first = total(W, XS + 1)
    np.testing.assert_allclose([total(W, XS + 1) for _ in range(3)], [first] * 3)
    norms = fx.per_sample.norms(scaled_loss)
    for _ in range(3):
        norms(W, XS)
        with pytest.raises(TypeError):
            norms(W)


def test_many_threads_use_one_statistic():
    norms = fx.per_sample.norms(scaled_loss)
    expected, found = fx.per_sample.norms(scaled_loss)(W, XS), []
    threads = [
        threading.Thread(target=lambda: found.extend(norms(W, XS) for _ in range(20))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_allclose(found, [expected] * 80)


def test_it_is_released_by_counting_references():
    def loss(w, x):
        return fnp.sum(w * x)

    norms = fx.per_sample.norms(loss)
    for _ in range(3):
        norms(W, XS)
    gone = weakref.ref(loss)
    del loss, norms
    assert gone() is None
