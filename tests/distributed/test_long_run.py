"""A long run of small steps takes no more memory than a short one."""

import gc
import os
from pathlib import Path

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp

from .ranks import run_on_ranks

STATUS = Path("/proc/self/statm")
STEPS, GROWTH = 10_000, 1 << 20  # steps, and bytes: about a hundred for each


def resident_bytes():
    return int(STATUS.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def on_ranks_ten_thousand_steps_do_not_grow(world):
    params = {"w": np.ones((4, 3)), "b": np.zeros(3, np.float32)}
    x = np.random.default_rng(world.rank).normal(size=(2 + world.rank, 4))

    def loss(params, x):
        return fnp.mean((x @ params["w"] + params["b"]) ** 2)

    step = fx.distributed.value_and_grad(loss, count=lambda params, x: len(x))
    first = before = None
    for number in range(STEPS):
        value, gradient = step(params, x)
        params = fx.tree.map(lambda p, g: (p - 1e-3 * g).astype(p.dtype), params, gradient)
        if number == STEPS // 5:
            gc.collect()
            first, before = value, resident_bytes()
    gc.collect()
    assert resident_bytes() - before < GROWTH
    assert value < first
    fx.distributed.check_replicated(params)


@pytest.mark.skipif(not STATUS.exists(), reason="how much memory a process has is read from Linux's /proc")
def test_on_ranks():
    run_on_ranks(__name__, 2)
