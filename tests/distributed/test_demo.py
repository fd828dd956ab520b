"""The demo on many processes: what one process learns, and what it prints."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import fxgrad as fx
from fxgrad.demo import training

from .ranks import ROOT, mpirun, run_on_ranks


def leaves_are_close(one, other):
    for left, right in zip(fx.tree.leaves(one), fx.tree.leaves(other), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-12)


def on_ranks_a_private_sum_is_that_of_one_process_however_the_samples_are_shared(world):
    data, params = training.split_digits(0), training.init(np.random.default_rng(0))
    for count in (0, 1, world.size + 1, 64):
        batch = data.images[:count], data.labels[:count]
        for noise in (0.0, 2.0):
            alone, shared = (
                training.private_sum(params, *batch, 1.0, noise, np.random.default_rng(7), *group)
                for group in ((), (world,))
            )
            leaves_are_close(shared, alone)


def on_ranks_noise_is_added_once(world):
    params = training.init(np.random.default_rng(0))
    nothing = np.zeros((0, 64)), np.zeros(0, np.int64)
    total = training.private_sum(params, *nothing, 3.0, 2.0, np.random.default_rng(1), world)
    noise = np.concatenate([leaf.ravel() for leaf in fx.tree.leaves(total)])
    assert abs(noise.std() / 6.0 - 1) < 0.05  # 2410 draws: 1.4 % is one standard deviation


def on_ranks_training_gives_the_parameters_of_one_process_on_every_process(world):
    data, settings = training.split_digits(3), training.Settings(epochs=1, batch=100, seed=3)
    alone = training.train(data, settings, progress=False)
    shared = training.train(data, settings, progress=False, group=world)
    leaves_are_close(shared.params, alone.params)
    assert shared.accuracies == alone.accuracies
    first = world.broadcast_object(shared.params)
    assert all(np.array_equal(a, b) for a, b in zip(fx.tree.leaves(first), fx.tree.leaves(shared.params)))


def test_on_ranks():
    run_on_ranks(__name__, 3)


def run_demo(count: int, *arguments: str) -> subprocess.CompletedProcess:
    """Run the demo on this many processes, by `mpirun` or, for one, without it."""
    pytest.importorskip("mpi4py", reason="needs mpi4py (fxgrad[mpi])")
    if mpirun() is None:
        pytest.skip("needs mpirun, of the package mpich for instance")
    launcher = [mpirun(), "-n", str(count)] if count > 1 else []
    return subprocess.run(
        [*launcher, sys.executable, "-X", "utf8", "-m", "fxgrad.demo", *arguments],
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "FXGRAD_NUM_THREADS": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )


def test_four_processes_print_what_one_prints_and_how_many_they_are():
    one, four = (run_demo(count, "--short", "--no-progress") for count in (1, 4))
    assert (one.returncode, one.stderr) == (four.returncode, four.stderr) == (0, "")
    assert "56 steps by 4 processes, every gradient" in four.stdout
    report = four.stdout.replace(" by 4 processes", "")
    times = re.compile(r"^  (vectorised|one by one) .*\n", re.MULTILINE)
    assert times.sub("", report) == times.sub("", one.stdout)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--batch", "100000"], "exceeds the 1437 images"),
        (["--noise", "much"], "invalid float value: 'much'"),
    ],
)
def test_one_process_says_what_is_wrong_for_all(arguments, message):
    result = run_demo(2, *arguments)
    assert result.returncode != 0
    assert result.stderr.count(message) == 1
