"""Averages of weights, beside torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.test_creation import built_in
from tests.parity.compat.test_lr_scheduler import assert_alike, rates


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def make_model(T):
    model = T.nn.Sequential(T.nn.Linear(3, 4), T.nn.BatchNorm1d(4), T.nn.Linear(4, 1))
    for i, p in enumerate(model.parameters()):
        p.data = T.from_numpy(numbers(*p.shape, seed=i))
    return model


AVERAGES = {
    "mean": lambda W: {},
    "mean, one by one": lambda W: {"avg_fn": W.get_swa_avg_fn()},
    "moving": lambda W: {"multi_avg_fn": W.get_ema_multi_avg_fn(0.7)},
    "moving, one by one": lambda W: {"avg_fn": W.get_ema_avg_fn(0.7)},
    "moving, with buffers": lambda W: {"multi_avg_fn": W.get_ema_multi_avg_fn(0.7), "use_buffers": True},
}


@pytest.mark.parametrize("make", AVERAGES.values(), ids=AVERAGES)
def test_averages_of_a_model(make):
    def run(T):
        model = make_model(T)
        averaged = T.optim.swa_utils.AveragedModel(model, **make(T.optim.swa_utils))
        optimizer = T.optim.SGD(model.parameters(), lr=0.1)
        batches = [T.from_numpy(numbers(5, 3, seed=10 + i)) for i in range(4)]
        for x in batches:
            optimizer.zero_grad()
            (model(x) ** 2).mean().backward()
            optimizer.step()
            averaged.update_parameters(model)
        found = {name: x.numpy().copy() for name, x in averaged.state_dict().items()}
        T.optim.swa_utils.update_bn([(x, 1) for x in batches], averaged)
        after = {f"{name}, anew": x.numpy() for name, x in averaged.state_dict().items()}
        return (
            found | after,
            averaged(batches[0]).detach().numpy(),
            repr(averaged),
            averaged.module[1].momentum,
        )

    (ours, ours_out, *ours_rest), (theirs, theirs_out, *theirs_rest) = run(fxt), run(torch)
    assert list(ours) == list(theirs)
    for name, x in theirs.items():
        np.testing.assert_allclose(ours[name], x, rtol=2e-4, atol=1e-6)
    np.testing.assert_allclose(ours_out, theirs_out, rtol=1e-4, atol=1e-5)
    assert ours_rest == theirs_rest


@pytest.mark.parametrize(
    "options", [{}, {"anneal_strategy": "linear"}, {"anneal_epochs": 0}, {"anneal_epochs": 3}]
)
@pytest.mark.parametrize("rate", [0.05, [0.05, 0.2]])
def test_rates_of_averaging(rate, options):
    def run(T):
        return rates(T, lambda S, optimizer: T.optim.swa_utils.SWALR(optimizer, rate, **options))

    ours, theirs = run(fxt), run(torch)
    theirs[2].pop("anneal_func", None)
    assert_alike(ours, theirs)


MISUSE = [
    "W.SWALR(o, 0.1, anneal_strategy='x')",
    "W.SWALR(o, 0.1, anneal_epochs=-1)",
    "W.SWALR(o, [0.1, 0.2])",
    "W.get_ema_avg_fn(2)",
    "W.get_ema_multi_avg_fn(-1)",
    "W.AveragedModel(T.nn.Linear(1, 1), avg_fn=1, multi_avg_fn=2)",
]


@pytest.mark.parametrize("code", MISUSE)
def test_misuse(code):
    errors = []
    for T in (fxt, torch):
        with pytest.raises(Exception) as caught:
            eval(code, {"T": T, "W": T.optim.swa_utils, "o": T.optim.SGD([T.ones(1, requires_grad=True)])})
        errors.append(caught.value)
    assert isinstance(errors[0], built_in(errors[1]))
    assert str(errors[0]).split("\n")[0] == str(errors[1])
