"""Without llvmlite the results are those that it gives."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import sys
if sys.argv[1] == "without":
    sys.modules["llvmlite"] = None
import numpy as np
import fxgrad as fx
import fxgrad.numpy as fnp

def f(x):
    return fnp.sum(fnp.real(fnp.tanh(x) * 2 + 1 - x * x * x / 8 + x)) / x.size

results = {}
for dtype in ("float16", "float32", "float64", "complex128"):
    x = np.linspace(-2, 2, 120_000).astype(dtype)
    for name, transform in {
        "grad": fx.grad(f),
        "jit": fx.jit(fx.grad(f)),
        "vmap": lambda x: fx.vmap(fx.grad(f))(x.reshape(2, -1)),
        "jvp": lambda x: fx.jvp(f, (x,), (x,))[1],
        "softmax": lambda x: fx.nn.softmax(fnp.real(x).reshape(400, 300)),
    }.items():
        for _ in range(3):  # machine code takes over from NumPy when it pays
            results[f"{dtype} {name}"] = np.asarray(transform(x))
np.savez(sys.argv[2], **results)
"""


@pytest.mark.parametrize("mode", ["auto", "always"])
def test_large_arrays_of_every_dtype(mode, monkeypatch, tmp_path):
    monkeypatch.setenv("FXGRAD_NATIVE", mode)
    results = {}
    for way in ("with", "without"):
        subprocess.run([sys.executable, "-c", PROGRAM, way, tmp_path / f"{way}.npz"], cwd=ROOT, check=True)
        results[way] = np.load(tmp_path / f"{way}.npz")
    assert len(results["without"].files) == 20
    for name, value in results["with"].items():
        other = results["without"][name]
        assert other.dtype == value.dtype
        rounding = 8 * np.finfo(value.dtype).eps
        np.testing.assert_allclose(other, value, rtol=rounding, atol=rounding, err_msg=name)
