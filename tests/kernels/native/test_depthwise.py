"""Depthwise convolutions of images with channels last: values, gradients, order in memory, whatever the threads."""

import numpy as np
import pytest

from fxgrad.kernels import convolution
from fxgrad.kernels.native import conv, engine, threads

pytestmark = pytest.mark.skipif(engine.mode() == "never", reason="there is no llvmlite")

# Images (n, …) after the channels, kernels, and params; 40 channels are no whole number of vectors of float32.
CASES = [
    ((3, 40), (9, 11), (3, 3), {"pads": (1, 1)}),
    ((2, 20), (13, 15), (5, 3), {"pads": (2, 0), "steps": (1, 3), "w_dilations": (2, 1)}),
    ((2, 16), (28, 28), (7, 7), {"pads": (3, 3)}),
    ((3, 33), (50,), (5,), {"pads": (2,), "steps": (2,)}),
    ((2, 32), (4, 5, 6), (3, 3, 2), {"pads": (1, 1, 1)}),
    ((2, 48), (8, 9), (4, 4), {"pads": (2, 2), "x_dilations": (2, 2)}),
    ((2, 48), (8, 9), (3, 2), {"pads": (2, 2), "x_dilations": (3, 2), "w_dilations": (1, 2)}),
]


@pytest.fixture(autouse=True, params=[1, 3])
def all_is_machine_code(monkeypatch, request):
    monkeypatch.setattr(engine, "mode", lambda: "always")
    monkeypatch.setattr(threads, "THREAD_WORK", 1)
    monkeypatch.setattr(threads, "thread_count", lambda: request.param)


def put_channels_last(x):
    """The same array of (batch, group, channel, …), whose groups are last in memory."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)


def complete(rank, pads=(), **given):
    ones = (1,) * rank
    return {"steps": ones, "x_dilations": ones, "w_dilations": ones, **given, "pads": [(p, p) for p in pads]}


def correlate(x, w, params, monkeypatch):
    """The correlation by NumPy."""
    with monkeypatch.context() as context:
        context.setattr(engine, "mode", lambda: "never")
        return convolution.correlate_kernel(np)(x, w, **params)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("lead, inner, sizes, given", CASES)
def test_windows(lead, inner, sizes, given, dtype, monkeypatch):
    rng, params = np.random.default_rng(0), complete(len(sizes), **given)
    x = put_channels_last(rng.standard_normal((*lead, 1, *inner)).astype(dtype))
    w = rng.standard_normal((lead[1], 1, 1, *sizes)).astype(dtype)
    expected = correlate(x, w, params, monkeypatch)
    found = conv.correlate(x, w, expected.shape[3:], **params)
    np.testing.assert_allclose(found, expected, rtol=0, atol=100 * np.finfo(dtype).eps)
    assert np.moveaxis(found, 1, -1).flags.c_contiguous


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("channels_last", [True, False])
@pytest.mark.parametrize("step", [1, 2])
def test_taps(channels_last, dtype, step, monkeypatch):
    """The gradient of a weight, of two orders of the cotangent in memory."""
    rng, size = np.random.default_rng(0), 14 // step
    x = put_channels_last(rng.standard_normal((5, 40, 1, 14, 14)).astype(dtype)).transpose(2, 1, 0, 3, 4)
    ct = rng.standard_normal((5, 40, 1, size, size)).astype(dtype)
    ct = (put_channels_last(ct) if channels_last else ct).transpose(1, 2, 0, 3, 4)
    params = complete(2, pads=(1, 1), w_dilations=(step, step))
    params["pads"] = [(1, 3 + (size - 1) * step - 14)] * 2
    expected = correlate(x, ct, params, monkeypatch)
    assert expected.shape[3:] == (4, 4)
    found = conv.correlate(x, ct, (4, 4), **params)
    np.testing.assert_allclose(found, expected, rtol=0, atol=5000 * np.finfo(dtype).eps)


def test_bits_do_not_depend_on_threads(monkeypatch):
    rng, params = np.random.default_rng(0), complete(2, pads=(1, 1))
    x = put_channels_last(rng.standard_normal((6, 40, 1, 14, 14)).astype("f4"))
    w = rng.standard_normal((40, 1, 1, 3, 3)).astype("f4")
    found = []
    for count in (1, 2, 5):
        monkeypatch.setattr(threads, "thread_count", lambda count=count: count)
        taps = conv.correlate(x.transpose(2, 1, 0, 3, 4), x.transpose(1, 2, 0, 3, 4), (3, 3), **params)
        found.append((conv.correlate(x, w, (14, 14), **params), taps))
    assert all(np.array_equal(a, b) for some in found for a, b in zip(found[0], some))


def test_infinite_results_are_left_to_numpy():
    params = complete(1, pads=(0,))
    x = put_channels_last(np.full((1, 16, 1, 8), 1e30, "f4"))
    assert conv.correlate(x, np.full((16, 1, 1, 3), 1e30, "f4"), (6,), **params) is None
