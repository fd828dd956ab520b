"""Random numbers drawn by machine code are those that NumPy's arithmetic gives."""

import numpy as np
import pytest

from fxgrad.kernels import philox, sampling, special
from fxgrad.kernels.native import engine, streams

pytestmark = pytest.mark.skipif(engine.mode() == "never", reason="there is no machine code")

KEYS = np.array([0, 1, 2**63, 2**64 - 1, 12345], np.uint64)


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(engine, "mode", lambda: "always")


@pytest.mark.parametrize("count", [1, 3, 4, 7, 1024, 2051])
@pytest.mark.parametrize("domain", [philox.DRAW, philox.SPLIT])
def test_words(domain, count):
    np.testing.assert_array_equal(streams.draw(KEYS, domain, count), philox.stream(np, KEYS, domain, count))


def test_numbers():
    words = philox.stream(np, KEYS, philox.DRAW, 501)
    fractions, inner = special.uniform_from_bits(np, words), special.open_uniform_from_bits(np, words)
    np.testing.assert_array_equal(streams.draw(KEYS, philox.DRAW, 501, "fraction"), fractions)
    np.testing.assert_array_equal(streams.draw(KEYS, philox.DRAW, 501, "unit"), inner)
    normal = streams.draw(KEYS, philox.DRAW, 501, "normal").ravel()
    np.testing.assert_allclose(normal, special.normal_quantile(np, inner.ravel()), rtol=1e-14, atol=1e-15)


def test_children_of_keys():
    data = np.array([0, 1, 2**64 - 1, 5, 2**63], np.uint64)
    expected = philox.blocks(np, KEYS, philox.FOLD, np.ones_like(KEYS), data)[:, 0]
    np.testing.assert_array_equal(streams.fold(KEYS, data), expected)


def test_logarithms_of_gamma_variables():
    shapes = np.array([[0.0, np.inf, -1.0, np.nan], [1e-300, 0.3, 1.0, 50.0], [2.5, 1e300, 0.999, 7.0]])
    keys, index = np.repeat(KEYS[:3], 4), np.tile(np.arange(4, dtype=np.uint64), 3)
    with np.errstate(all="ignore"):
        expected = sampling.sample_log_gamma(np, keys, index, shapes.ravel()).reshape(shapes.shape)
    found = streams.draw_log_gamma(KEYS[:3], shapes)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)
