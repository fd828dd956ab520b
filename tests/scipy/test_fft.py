import numpy as np
import pytest
from scipy import fft as reference

import fxgrad as fx
from fxgrad.scipy import fft
from tests.scipy.compare import assert_like_scipy

X = np.random.default_rng(0).normal(size=(3, 6))
NAMES = [
    name for name in fft.__all__ if name not in ("fftfreq", "rfftfreq", "next_fast_len", "prev_fast_len")
]


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("fht", "ifht")])
def test_traced_transforms_are_scipys(name):
    assert_like_scipy("fft", name, X)


@pytest.mark.parametrize("wave", ["dct", "idct", "dst", "idst"])
@pytest.mark.parametrize("form", [1, 2, 3, 4])
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_cosine_and_sine_transforms_of_every_type_and_scale(wave, form, norm):
    for orthogonalize in (None, True, False):
        for n in (None, 4, 9):
            assert_like_scipy("fft", wave, X, form, n, norm=norm, orthogonalize=orthogonalize)


@pytest.mark.parametrize("wave", ["dct", "dst"])
@pytest.mark.parametrize("form", [1, 2, 3, 4])
def test_the_gradient_is_the_transposed_transform(wave, form):
    ct = np.random.default_rng(1).normal(size=6)
    (gradient,) = fx.vjp(lambda x: getattr(fft, wave)(x, form), X[0])[1](ct)
    matrix = getattr(reference, wave)(np.eye(6), form, axis=0)
    np.testing.assert_allclose(gradient, matrix.T @ ct, 1e-12, 1e-12)


@pytest.mark.parametrize("name", ["fht", "ifht"])
@pytest.mark.parametrize("n", [5, 6])
def test_hankel_transforms(name, n):
    assert_like_scipy("fft", name, X[:, :n], 0.1, 0.5, 0.2, 0.3)


def test_single_precision_stays_single():
    assert_like_scipy("fft", "dct", X.astype(np.float32), tolerance=1e-5)


def test_an_unknown_type_is_a_value_error():
    with pytest.raises(ValueError, match=r"no type=5[\s\S]*try: type=1, 2, 3 or 4"):
        fx.jit(lambda x: fft.dct(x, 5))(X)
