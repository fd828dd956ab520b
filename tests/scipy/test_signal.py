import numpy as np
import pytest
from scipy import signal as reference

import fxgrad as fx
from fxgrad.scipy import signal
from fxgrad.testing import check_grads
from tests.scipy.compare import assert_like_scipy

R = np.random.default_rng(0)
X, Y = R.normal(size=(2, 30)), R.normal(size=(2, 30))
B, A = reference.butter(3, 0.3)
SOS = reference.butter(4, 0.3, output="sos")


# -- convolution ------------------------------------------
@pytest.mark.parametrize("name", ["convolve", "correlate", "fftconvolve", "oaconvolve"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize(
    "sizes", [((7,), (3,)), ((3,), (7,)), ((5, 6), (3, 2)), ((2, 5, 4), (1, 2, 3))], ids=str
)
def test_convolutions(name, mode, sizes):
    x, y = (R.normal(size=s) + 1j * R.normal(size=s) for s in sizes)
    assert_like_scipy("signal", name, x.real, y.real, mode, traced=2)
    assert_like_scipy("signal", name, x, y, mode, traced=2)


@pytest.mark.parametrize("method", ["direct", "fft"])
def test_both_methods_of_convolution_agree_and_keep_dtypes(method):
    x, y = np.arange(12).reshape(3, 4), np.arange(4).reshape(2, 2)
    assert_like_scipy("signal", "convolve", x, y, "same", method, traced=2)
    assert_like_scipy(
        "signal", "convolve", np.float32(x), np.float32(y), "full", method, traced=2, tolerance=1e-4
    )


@pytest.mark.parametrize("name", ["convolve2d", "correlate2d"])
@pytest.mark.parametrize("boundary", ["fill", "wrap", "symm"])
def test_convolutions_of_images(name, boundary):
    for mode in ("full", "same", "valid"):
        for small in ((3, 2), (2, 3), (6, 7)):
            x, y = R.normal(size=(5, 6)), R.normal(size=small)
            if mode != "valid" or small != (6, 7):
                assert_like_scipy("signal", name, x, y, mode, boundary, 2.0, traced=2)


def test_convolution_along_pairs_of_axes_sums_over_others():
    x, y = R.normal(size=(4, 3, 6, 7)), R.normal(size=(3, 5, 2, 3))
    got = signal.convolve(x, y, axes=([2, 3], [2, 3]), dot_axes=([1], [0]), mode="valid")
    wanted = sum(
        np.stack([[reference.convolve(a, b, "valid") for b in y[c]] for a in x[:, c]]) for c in range(3)
    )
    np.testing.assert_allclose(got, wanted, 1e-9)
    with pytest.raises(ValueError, match="dot_axes"):
        signal.convolve(x, y, axes=([2, 3], [2, 3]), dot_axes=([1], [1]))


def test_derivatives_of_convolutions():
    for size in (6, 300):  # directly, and by Fourier transforms
        x, y = R.normal(size=size), R.normal(size=size // 2)
        check_grads(lambda x, y: fx.numpy.sum(signal.convolve(x, y, "same") ** 2), (x, y), order=1)


# -- filters ------------------------------------------
@pytest.mark.parametrize("axis", [0, 1])
def test_recursive_filters(axis):
    x = X if axis else X.T
    assert_like_scipy("signal", "lfilter", B, A, x, axis, traced=3, derivatives=2)
    assert_like_scipy("signal", "filtfilt", B, A, x, axis, traced=3)
    assert_like_scipy("signal", "sosfilt", SOS, x, axis, traced=2)


@pytest.mark.parametrize("count", [2, 30])
def test_filters_with_a_state(count):
    state = R.normal(size=(2, 3))
    function = fx.jit(lambda b, a, x, zi: signal.lfilter(b, a, x, zi=zi))
    for got, wanted in zip(
        function(B, A, X[:, :count], state), reference.lfilter(B, A, X[:, :count], zi=state)
    ):
        np.testing.assert_allclose(got, wanted, 1e-9)
    assert_like_scipy("signal", "lfilter_zi", B, A, traced=2)
    assert_like_scipy("signal", "sosfilt_zi", SOS, tolerance=1e-7)
    assert_like_scipy("signal", "lfiltic", B, A, np.array([1.0, 2.0]), np.array([0.5]), traced=4)


@pytest.mark.parametrize("padtype", ["odd", "even", "constant", None])
def test_filters_forwards_and_backwards(padtype):
    assert_like_scipy("signal", "filtfilt", B, A, X, padtype=padtype, traced=3)
    wanted = reference.sosfiltfilt(SOS, X, padtype=padtype)
    got = fx.jit(lambda x: signal.sosfiltfilt(SOS, x, padtype=padtype))(X)
    np.testing.assert_allclose(got, wanted, 1e-8, 1e-8)


def test_filters_under_vmap():
    got = fx.vmap(lambda a, x: signal.lfilter(B, a, x))(np.stack([A, A * [1, 1, 1, 0.5]]), X)
    wanted = [reference.lfilter(B, A, X[0]), reference.lfilter(B, A * [1, 1, 1, 0.5], X[1])]
    np.testing.assert_allclose(got, wanted, 1e-9)


@pytest.mark.parametrize("mode", ["interp", "mirror", "nearest", "wrap", "constant"])
def test_savgol_filter(mode):
    for length, deriv in ((7, 0), (6, 1)):
        assert_like_scipy("signal", "savgol_filter", X, length, 3, deriv, 0.5, mode=mode, cval=1.5)


# -- samples ------------------------------------------
@pytest.mark.parametrize("n", [8, 29, 30, 31, 61])
def test_resample(n):
    for x in (X, X[:, :29], X + 1j * Y):
        assert_like_scipy("signal", "resample", x, n, axis=1)
    assert_like_scipy("signal", "resample", X, n, axis=1, window="hann")


def test_other_rates():
    assert_like_scipy("signal", "upfirdn", B, X, 3, 2, traced=2)
    assert_like_scipy("signal", "resample_poly", X, 3, 2, axis=1)
    assert_like_scipy("signal", "resample_poly", X, 2, 3, axis=1, padtype="mean")
    long = R.normal(size=(2, 60))
    assert_like_scipy("signal", "decimate", long, 2, tolerance=1e-7)
    assert_like_scipy("signal", "decimate", long, 3, ftype="fir")


def test_trends_and_analytic_signals():
    for kind in ("linear", "constant"):
        assert_like_scipy("signal", "detrend", X, 0, kind)
    assert_like_scipy("signal", "detrend", X, bp=[10, 20])
    for n in (7, 8, 30):
        assert_like_scipy("signal", "hilbert", X[:, :n])


# -- spectra ------------------------------------------
SETTINGS = [
    {"nperseg": 16},
    {"nperseg": 9, "noverlap": 5},
    {"nperseg": 8, "nfft": 21, "fs": 3.0},
    {"nperseg": 8, "window": "boxcar", "return_onesided": False},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_spectra(settings):
    for name in ("welch", "stft", "spectrogram"):
        assert_like_scipy("signal", name, X, **settings)
        assert_like_scipy("signal", name, X[0] + 1j * X[1], **{**settings, "return_onesided": False})
    assert_like_scipy("signal", "csd", X, Y, traced=2, **settings)


def test_spectra_of_single_precision():
    assert_like_scipy("signal", "welch", np.float32(X), nperseg=16, tolerance=1e-4)


def test_other_spectra():
    assert_like_scipy("signal", "csd", X, Y[:, :20], nperseg=16, average="median", traced=2)
    assert_like_scipy("signal", "coherence", X, Y, nperseg=16, traced=2)
    for nfft in (None, 20, 40):
        assert_like_scipy("signal", "periodogram", X, nfft=nfft, scaling="spectrum")
    for mode in ("complex", "magnitude", "angle", "phase"):
        assert_like_scipy("signal", "spectrogram", X, nperseg=16, mode=mode)
    for boundary in ("even", "odd", "constant", None):
        assert_like_scipy("signal", "stft", X, nperseg=16, boundary=boundary, padded=boundary is None)


@pytest.mark.parametrize(
    "settings", [{"nperseg": 16}, {"nperseg": 9}, {"nperseg": 16, "noverlap": 12}], ids=str
)
def test_istft(settings):
    _, _, spectra = reference.stft(X[0], **settings)
    assert_like_scipy("signal", "istft", spectra, **settings)


def test_the_gradient_of_a_spectrum_reaches_the_window():
    window = np.hanning(18)[1:-1]
    check_grads(lambda x, w: signal.welch(x, window=w)[1], (X[0], window), order=1)


def test_designs_are_scipys():
    assert signal.butter is reference.butter
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = signal.nothing
