"""Private sums over processes: every example is clipped, and noise is drawn once."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.distributed import Communicator

from .ranks import run_on_ranks

rng = np.random.default_rng(0)
PARAMS = {"w": rng.normal(size=(4, 3)), "b": np.zeros(3, np.float32)}
INPUTS, LABELS = 3 * rng.normal(size=(11, 4)), rng.integers(0, 3, 11)
KEY = fx.random.key(7)
ALONE = Communicator()


def loss(params, x, label):
    scores = x @ params["w"] + params["b"]
    return fnp.log(fnp.sum(fnp.exp(scores))) - scores[label]


def part(world):
    """The examples of a rank: the last has none."""
    chosen = slice(world.rank, None, world.size - 1) if world.rank < world.size - 1 else slice(0)
    return INPUTS[chosen], LABELS[chosen]


def assert_near(found, wanted):
    for name in PARAMS:
        assert found[name].dtype == wanted[name].dtype
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-5, atol=1e-6)


def on_ranks_the_sum_is_that_of_all_clipped_gradients(world):
    wanted = fx.per_sample.clipped_sum(loss, 0.5)(PARAMS, INPUTS, LABELS)
    assert_near(fx.distributed.private_sum(loss, 0.5, 0.0)(KEY, PARAMS, *part(world)), wanted)


def on_ranks_noise_is_that_of_one_process_with_the_same_key(world):
    wanted = fx.distributed.private_sum(loss, 0.5, 2.0, comm=ALONE)(KEY, PARAMS, INPUTS, LABELS)
    total = fx.distributed.private_sum(loss, 0.5, 2.0)
    for function in (total, fx.jit(total)):
        assert_near(function(KEY, PARAMS, *part(world)), wanted)


def on_ranks_processes_with_different_keys_get_one_result(world):
    key = fx.random.fold_in(KEY, world.rank)
    found = fx.distributed.private_sum(loss, 0.5, 2.0)(key, PARAMS, *part(world))
    fx.distributed.check_replicated(found)


def on_ranks_the_variance_of_the_noise_does_not_depend_on_the_number_of_processes(world):
    """20 000 draws: σ² is measured to 1 %, and 4 % are four standard errors."""
    deviation, count = 1.5, 20_000
    w = {"real": np.zeros(count), "complex": np.zeros(count, np.complex128)}
    nothing = fx.distributed.private_sum(
        lambda w, x: fnp.real(w["real"][0] + w["complex"][0]) * x, 2.0, deviation / 2
    )
    found = nothing(KEY, w, np.zeros(2))
    for draws in (found["real"], found["complex"].real, found["complex"].imag):
        assert abs(np.var(draws) / deviation**2 - 1) < 0.04
        assert abs(np.mean(draws)) < 0.05
    assert abs(np.corrcoef(found["real"], found["complex"].real)[0, 1]) < 0.03


@pytest.mark.parametrize("count", [2, 4])
def test_on_ranks(count):
    run_on_ranks(__name__, count)


def test_every_step_has_noise_of_its_own():
    total = fx.distributed.private_sum(loss, 1.0, 1.0, comm=ALONE)
    first, second = (total(key, PARAMS, INPUTS, LABELS)["w"] for key in fx.random.split(KEY))
    assert not np.any(first == second)


@pytest.mark.parametrize(
    ("norm", "noise"), [(0.0, 1.0), (-1.0, 1.0), (np.inf, 1.0), (1.0, -1.0), (1.0, np.nan)]
)
def test_norms_and_noise_that_are_none_are_refused(norm, noise):
    with pytest.raises(fx.ShapeError, match="max_norm"):
        fx.distributed.private_sum(loss, norm, noise)


def test_without_a_key_there_is_no_sum():
    with pytest.raises(fx.DTypeError, match="a key is a uint64"):
        fx.distributed.private_sum(loss, 1.0, 1.0, comm=ALONE)(3, PARAMS, INPUTS, LABELS)
