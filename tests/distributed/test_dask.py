"""Transformed functions over dask's arrays: block by block, in threads and in processes, of data that do not fit."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp

from .ranks import ROOT

da = pytest.importorskip("dask.array", reason="needs dask (pip install 'dask[array]')")

W, X = np.linspace(-1.0, 1.0, 4), np.random.default_rng(0).standard_normal((1000, 4))
BLOCKS = da.from_array(X, chunks=(150, 4))  # the last is shorter


def loss(w, x):
    return fnp.sum(fnp.tanh(x * w) ** 2)


PER_SAMPLE = fx.vmap(fx.grad(loss), in_axes=(None, 0))
EXPECTED = 2 * X * np.tanh(X * W) / np.cosh(X * W) ** 2
SCHEDULERS = pytest.mark.parametrize("scheduler", ["synchronous", "threads", "processes"])


@SCHEDULERS
@pytest.mark.parametrize("transform", [lambda f: f, fx.jit], ids=["un-jitted", "jitted"])
def test_per_sample_gradients_by_map_blocks(scheduler, transform):
    per_sample = transform(PER_SAMPLE)
    gradients = da.map_blocks(per_sample, W, BLOCKS, chunks=BLOCKS.chunks)
    assert (gradients.shape, gradients.dtype) == (X.shape, X.dtype)
    np.testing.assert_allclose(gradients.compute(scheduler=scheduler), EXPECTED, rtol=1e-12)


@SCHEDULERS
def test_closures_by_map_blocks_of_an_array(scheduler):
    scale = 3.0
    scaled = fx.vmap(fx.grad(lambda x: fnp.sum(fnp.sin(scale * x))))
    cosines = BLOCKS.map_blocks(scaled)
    np.testing.assert_allclose(cosines.compute(scheduler=scheduler), scale * np.cos(scale * X), rtol=1e-12)


def test_columns_in_blocks_of_their_own_have_a_gradient_each():
    columns = da.from_array(X, chunks=(150, 1))
    gradients = da.map_blocks(PER_SAMPLE, da.from_array(W, chunks=1), columns, dtype=float)
    np.testing.assert_allclose(gradients.compute(scheduler="threads"), EXPECTED, rtol=1e-12)


def test_apply_gufunc_and_delayed_calls():
    gradients = da.apply_gufunc(PER_SAMPLE, "(i),(i)->(i)", W, BLOCKS, output_dtypes=float)
    np.testing.assert_allclose(gradients.compute(scheduler="threads"), EXPECTED, rtol=1e-12)
    import dask

    clipped = dask.delayed(fx.jit(fx.per_sample.clipped_sum(loss, 0.5)))
    total = sum(clipped(W, block) for block in BLOCKS.to_delayed().ravel())
    norms = np.linalg.norm(EXPECTED, axis=1, keepdims=True)
    expected = np.sum(EXPECTED * np.minimum(1, 0.5 / norms), axis=0)
    np.testing.assert_allclose(total.compute(scheduler="threads"), expected, rtol=1e-12)


def test_one_jitted_function_in_all_threads_at_once():
    together, seen = threading.Barrier(4), set()
    gradient = fx.jit(fx.grad(lambda w, x: fnp.sum(fnp.exp(-((x @ w) ** 2)))))

    def wait_and_compute(block):
        if len(block):  # dask asks with an empty one first
            together.wait(timeout=30)  # the first calls, which stage and compile, meet
            seen.add(threading.get_ident())
        return np.array([gradient(W, row) for row in block])

    blocks = da.from_array(X, chunks=(250, 4))
    found = blocks.map_blocks(wait_and_compute, dtype=float).compute(scheduler="threads", num_workers=4)
    products = X @ W
    np.testing.assert_allclose(
        found, (-2 * products * np.exp(-(products**2)))[:, None] * X, rtol=1e-10, atol=1e-300
    )
    assert len(seen) == 4


def test_a_dask_array_itself_is_refused():
    with pytest.raises(fx.DTypeError, match="dask"):
        PER_SAMPLE(W, BLOCKS)


# 205 MB of data on disk, and as much of gradients; the process may allocate 128 MB above what it has loaded.
OUT_OF_CORE = """
import resource, sys

import dask.array as da
import numpy as np

import fxgrad as fx
import fxgrad.numpy as fnp

COUNT, FEATURES = 800_000, 64
folder = sys.argv[1]


def loss(w, x):
    return fnp.log1p(fnp.exp(-x @ w))


w = np.linspace(-0.1, 0.1, FEATURES, dtype=np.float32)
per_sample = fx.{transform}
data = np.memmap(folder + "/data", np.float32, "w+", shape=(COUNT, FEATURES))
draw = np.random.default_rng(0)
for start in range(0, COUNT, 20_000):
    data[start : start + 20_000] = draw.standard_normal((20_000, FEATURES), np.float32)
per_sample(w, data[:1000])  # loads what is used


def allocated():
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmData"))


limit = allocated() + 128_000_000
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
try:
    np.array(data)
except MemoryError:
    pass
else:
    sys.exit("the limit does not hold")


def read(block_info):
    rows = slice(*block_info[None]["array-location"][0])
    return np.array(np.memmap(folder + "/data", np.float32, "r", shape=(COUNT, FEATURES))[rows])


chunks = (10_000,) * (COUNT // 10_000), (FEATURES,)
blocks = da.map_blocks(read, chunks=chunks, dtype=np.float32)
gradients = da.map_blocks(per_sample, w, blocks, dtype=np.float32, chunks=chunks)
stored = np.memmap(folder + "/gradients", np.float32, "w+", shape=(COUNT, FEATURES))
da.store(gradients, stored, scheduler="threads", num_workers=2, lock=False)
for rows in np.random.default_rng(1).integers(COUNT, size=(20, 100)):
    x = np.asarray(data[rows], np.float64)
    expected = -x / (1 + np.exp(x @ w))[:, None]
    np.testing.assert_allclose(stored[rows], expected, rtol=1e-4, atol=1e-6)
total = gradients.sum(axis=0).compute(scheduler="threads", num_workers=2)
expected = sum(np.sum(stored[start : start + 20_000], axis=0, dtype=float) for start in range(0, COUNT, 20_000))
np.testing.assert_allclose(total, expected, rtol=1e-3)
"""


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux limits what is allocated and not what is mapped"
)
@pytest.mark.parametrize(
    "transform", ["vmap(fx.grad(loss), (None, 0))", "jit(fx.vmap(fx.grad(loss), (None, 0)))"]
)
def test_gradients_of_data_that_do_not_fit(transform, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(OUT_OF_CORE.format(transform=transform), encoding="utf-8")
    result = subprocess.run(
        [sys.executable, "-W", "error", str(program), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "FXGRAD_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert result.returncode == 0, result.stderr
