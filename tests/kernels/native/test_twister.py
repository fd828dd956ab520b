"""Words of MT19937 by machine code, against NumPy's generator."""

import numpy as np
import pytest

import fxgrad.compat as torch
from fxgrad.compat._make import mersenne_twister
from fxgrad.kernels.native import engine, threads, twister

pytestmark = pytest.mark.skipif(engine.mode() == "never", reason="there is no llvmlite")


@pytest.mark.parametrize("blocks", [1, 2, 7])
def test_words_and_key(blocks, monkeypatch):
    monkeypatch.setattr(engine, "mode", lambda: "always")
    numpy = np.random.MT19937()
    numpy._legacy_seeding(5)
    key = numpy.state["state"]["key"].copy()
    for _ in range(3):
        words = twister.block_maker(blocks * twister.N)(key)
        np.testing.assert_array_equal(words, numpy.random_raw(len(words)))
        np.testing.assert_array_equal(key, numpy.state["state"]["key"])


def test_numbers_do_not_depend_on_who_makes_the_words(monkeypatch):
    """Also where one goes on from the other."""
    monkeypatch.setattr(mersenne_twister.PythonWords, "used", 1 << 62)
    found = []
    for modes in (
        ["never"] * 4,
        ["always"] * 4,
        ["never", "always"] * 2,
        ["always", "never", "never", "always"],
    ):
        rng = torch.Generator().manual_seed(3)
        rows = []
        for mode in modes:
            monkeypatch.setattr(engine, "mode", lambda mode=mode: mode)
            rows += [torch.rand(9001, generator=rng), rng.get_state()]
        found.append(rows)
    for rows in found[1:]:
        for a, b in zip(rows, found[0], strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())


@pytest.mark.parametrize("count", [100_000, 100_003])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_normal_numbers_do_not_depend_on_the_number_of_threads(count, dtype, monkeypatch):
    found = []
    for number in (1, 3):
        monkeypatch.setattr(threads, "thread_count", lambda number=number: number)
        found.append(torch.randn(count, dtype=dtype, generator=torch.Generator().manual_seed(1)).numpy())
    np.testing.assert_array_equal(*found)
