"""A statistic is compiled for kinds of arguments that come again, and never gives what was true before."""

import functools
import threading
import types
import warnings
import weakref

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.per_sample.kept import references_of
from fxgrad.transforms.compiled_graph import CompiledGraph

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


def test_what_a_loss_refers_to_may_change():
    factor, array, large, kept, listed = 1.0, np.array(1.0), np.ones(1 << 17), {"factor": 1.0}, [1.0]
    owner = types.SimpleNamespace(factor=1.0, array=np.array(1.0))
    losses = [
        lambda w, x: factor * fnp.sum(x * w),
        lambda w, x: array * fnp.sum(x * w),
        lambda w, x: large[:3] @ (x * w),
        lambda w, x: kept["factor"] * fnp.sum(x * w),
        lambda w, x: listed[-1] * fnp.sum(x * w),
        lambda w, x: owner.factor * fnp.sum(x * w),
        lambda w, x: owner.array * fnp.sum(x * w),
        functools.partial(lambda w, x, *, by: by["factor"] * fnp.sum(x * w), by=kept),
    ]
    statistics = [fx.per_sample.norms(loss) for loss in losses]
    first = [[norms(W, XS) for _ in range(4)][-1] for norms in statistics]
    for by in (2.0, 3.0):
        factor = kept["factor"] = owner.factor = by
        array[...] = large[...] = owner.array[...] = by
        listed.append(by)
        for norms, before in zip(statistics, first):
            for _ in range(3):
                np.testing.assert_allclose(norms(W, XS), by * before)


def test_a_statistic_made_anew_at_each_call_is_compiled_for_the_loss(monkeypatch):
    made = []
    init = CompiledGraph.__init__
    monkeypatch.setattr(CompiledGraph, "__init__", lambda self, *args: made.append(1) or init(self, *args))
    rng, offset = np.random.default_rng(0), types.SimpleNamespace(value=None)

    def loss(w, x):
        return fnp.sum(fnp.sin(x * w + offset.value))

    for i in range(6):
        offset.value = rng.normal(size=3)
        found = fx.per_sample.clipped_sum(loss, 0.5 + (i == 5))(W, XS)
        gradients = fx.vmap(fx.grad(loss), (None, 0))(W, XS)
        sizes = np.linalg.norm(gradients, axis=1)
        np.testing.assert_allclose(found, np.minimum(1, (0.5 + (i == 5)) / sizes) @ gradients)
    assert len(made) == 2  # for two options


def test_a_loss_is_staged_anew_only_where_it_may_have_changed():
    calls = []

    def noted(w, x):
        calls.append(1)  # a list may change
        return fnp.sum(w * x)

    norms = fx.per_sample.norms(noted)
    for _ in range(4):
        norms(W, XS)
    assert len(calls) == 4
    assert references_of(types.SimpleNamespace()) is None
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
