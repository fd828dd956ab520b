"""Learning rates that change: thirty epochs beside torch."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.test_creation import built_in

LIBRARIES = (torch, fxt)


SCHEDULERS = [
    ("StepLR", {"step_size": 3}),
    ("MultiStepLR", {"milestones": [2, 5, 5], "gamma": 0.5}),
    ("ExponentialLR", {"gamma": 0.9}),
    ("LambdaLR", {"lr_lambda": lambda epoch: 0.9**epoch}),
    ("LambdaLR", {"lr_lambda": [lambda epoch: 0.9**epoch, lambda epoch: 1 / (1 + epoch)]}),
    ("MultiplicativeLR", {"lr_lambda": lambda epoch: 0.95}),
    ("LinearLR", {}),
    ("ConstantLR", {"factor": 0.5, "total_iters": 4}),
    ("LinearLR", {"start_factor": 0.1, "end_factor": 0.5, "total_iters": 8}),
    ("CosineAnnealingLR", {"T_max": 5, "eta_min": 0.01}),
    ("PolynomialLR", {}),
    ("PolynomialLR", {"total_iters": 12, "power": 2.5}),
    ("CosineAnnealingWarmRestarts", {"T_0": 4}),
    ("CosineAnnealingWarmRestarts", {"T_0": 3, "T_mult": 2, "eta_min": 0.01}),
    ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 4}),
    (
        "CyclicLR",
        {
            "base_lr": [0.01, 0.02],
            "max_lr": 0.1,
            "step_size_up": 3,
            "step_size_down": 5,
            "mode": "triangular2",
        },
    ),
    ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 4, "mode": "exp_range", "gamma": 0.9}),
    (
        "CyclicLR",
        {
            "base_lr": 0.01,
            "max_lr": 0.1,
            "step_size_up": 4,
            "cycle_momentum": False,
            "scale_fn": lambda x: 0.5**x,
        },
    ),
    ("OneCycleLR", {"max_lr": 0.1, "total_steps": 30}),
    ("OneCycleLR", {"max_lr": [0.1, 0.2], "epochs": 4, "steps_per_epoch": 8, "anneal_strategy": "linear"}),
    (
        "OneCycleLR",
        {"max_lr": 0.1, "total_steps": 40, "three_phase": True, "div_factor": 5.0, "pct_start": 0.2},
    ),
]


def make_optimizer(T, rule="SGD", **options):
    """An optimizer of two groups."""
    groups = [
        {"params": [T.ones(2, requires_grad=True)]},
        {"params": [T.ones(1, requires_grad=True)], "lr": 1.0},
    ]
    return getattr(T.optim, rule)(groups, lr=0.5, **options)


def options_of(optimizer):
    """What schedulers set in the groups."""
    fixed = {"params", "foreach", "fused", "maximize", "differentiable", "nesterov"}
    return [{name: x for name, x in group.items() if name not in fixed} for group in optimizer.param_groups]


def rates(T, make, epochs=30, rule="SGD"):
    """The options of the groups in each epoch, and what the scheduler says at the end."""
    optimizer = make_optimizer(T, rule, **({"momentum": 0.9} if rule == "SGD" else {}))
    scheduler = make(T.optim.lr_scheduler, optimizer)
    found = []
    for _ in range(epochs):
        optimizer.step()
        found.append(options_of(optimizer))
        scheduler.step()
    return found, scheduler.get_last_lr(), scheduler.state_dict()


def assert_alike(ours, theirs):
    """Assert that nested containers have the same numbers, but for rounding."""
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs) or set(ours) == set(theirs)
        for key, x in theirs.items():
            assert_alike(ours[key], x)
    elif isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs):
            assert_alike(a, b)
    elif isinstance(theirs, float):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-15)
    elif not callable(theirs):
        assert ours == theirs


scheduled = pytest.mark.parametrize(
    ("name", "options"), SCHEDULERS, ids=[f"{n}-{i}" for i, (n, _) in enumerate(SCHEDULERS)]
)


@scheduled
def test_thirty_epochs(name, options):
    def make(module, optimizer):
        return getattr(module, name)(optimizer, **options)

    assert_alike(*(rates(T, make) for T in (fxt, torch)))
    assert_alike(*(rates(T, make, rule="Adam", epochs=5) for T in (fxt, torch)))


@scheduled
def test_it_goes_on_from_an_epoch_and_goes_to_one(name, options):
    def run(T):
        first = make_optimizer(T, momentum=0.9)
        begun = getattr(T.optim.lr_scheduler, name)(first, **options)
        for _ in range(3):
            first.step()
            begun.step()
        state = {key: x for key, x in begun.state_dict().items() if not key.startswith("_scale")}
        scheduler = getattr(T.optim.lr_scheduler, name)(first, **options, last_epoch=begun.last_epoch)
        found = []
        for _ in range(4):
            first.step()
            scheduler.step()
            found.append(options_of(first))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            scheduler.step(7)
        return found, options_of(first), state, [str(w.message) for w in caught]

    assert_alike(run(fxt), run(torch))


COMBINATIONS = [
    lambda S, o: S.SequentialLR(
        o, [S.ConstantLR(o, factor=0.1, total_iters=2), S.ExponentialLR(o, 0.9)], [4]
    ),
    lambda S, o: S.SequentialLR(
        o, [S.LinearLR(o, total_iters=3), S.CosineAnnealingLR(o, 6), S.StepLR(o, 2, 0.5)], [3, 12]
    ),
    lambda S, o: S.SequentialLR(o, [S.LinearLR(o), S.CosineAnnealingWarmRestarts(o, 4)], [5]),
    lambda S, o: S.SequentialLR(
        o, [S.ChainedScheduler([S.ConstantLR(o), S.StepLR(o, 1, 0.9)]), S.StepLR(o, 2)], [5]
    ),
    lambda S, o: S.SequentialLR(o, [S.LambdaLR(o, lambda e: 0.9**e), S.PolynomialLR(o, 5)], [2]),
    lambda S, o: S.ChainedScheduler([S.ConstantLR(o, factor=0.1, total_iters=2), S.ExponentialLR(o, 0.9)]),
    lambda S, o: S.ChainedScheduler([S.LinearLR(o), S.MultiStepLR(o, [3, 6])], optimizer=o),
]


@pytest.mark.parametrize("make", COMBINATIONS, ids=range(len(COMBINATIONS)))
@pytest.mark.filterwarnings("ignore:Detected call of")  # torch's, of chains in sequences
def test_combinations(make):
    assert_alike(*(rates(T, make)[:2] for T in (fxt, torch)))


class Halving:
    """A factor with a state."""

    def __init__(self, base):
        self.base = base

    def __call__(self, epoch):
        return self.base**epoch


def test_states_keep_callable_objects():
    def run(T):
        first = T.optim.lr_scheduler.LambdaLR(make_optimizer(T), [Halving(0.5), lambda epoch: 0.9])
        state = first.state_dict()
        second = T.optim.lr_scheduler.LambdaLR(make_optimizer(T), [Halving(0.1), lambda epoch: 0.9])
        second.load_state_dict(state)
        second.optimizer.step()
        second.step()
        return state["lr_lambdas"], second.get_last_lr()

    assert run(fxt) == run(torch)


def test_schedulers_of_torchs_states():
    """A state that torch made is taken as it is."""
    theirs = torch.optim.lr_scheduler.OneCycleLR(make_optimizer(torch, momentum=0.9), 0.3, 10)
    ours = fxt.optim.lr_scheduler.OneCycleLR(make_optimizer(fxt, momentum=0.9), 0.3, 10)
    for _ in range(3):
        theirs.optimizer.step()
        theirs.step()
    ours.load_state_dict(theirs.state_dict())
    for scheduler in (ours, theirs):
        scheduler.optimizer.step()
        scheduler.step()
    assert_alike(ours.get_last_lr(), theirs.get_last_lr())


def test_the_users_own_scheduler():
    def run(T):
        class Inverse(T.optim.lr_scheduler._LRScheduler):
            def get_lr(self):
                return [base / (1 + self.last_epoch) for base in self.base_lrs]

        optimizer = make_optimizer(T)
        scheduler = Inverse(optimizer)
        for _ in range(3):
            optimizer.step()
            scheduler.step()
        return scheduler.get_last_lr(), isinstance(scheduler, T.optim.lr_scheduler.LRScheduler)

    assert run(fxt) == run(torch)


MISUSE = [
    "S.StepLR(3, 1)",
    "S.LambdaLR(o, [abs])",
    "S.LinearLR(o, 2)",
    "S.ConstantLR(o, 2)",
    "S.StepLR(o, 1, last_epoch=3)",
    "S.CyclicLR(o, [0.1], 0.2)",
    "S.CyclicLR(o, 0.1, 0.2, mode='x')",
    "S.CyclicLR(T.optim.Adadelta([p]), 0.1, 0.2)",
    "S.OneCycleLR(o, 0.1)",
    "S.OneCycleLR(o, 0.1, -3)",
    "S.OneCycleLR(o, 0.1, epochs=2, steps_per_epoch=-1)",
    "S.OneCycleLR(o, 0.1, epochs=-2, steps_per_epoch=1)",
    "S.OneCycleLR(o, 0.1, 4, pct_start=2)",
    "S.OneCycleLR(o, 0.1, 4, anneal_strategy='x')",
    "S.OneCycleLR(T.optim.Adadelta([p]), 0.1, 4)",
    "S.OneCycleLR(o, [0.1], 4)",
    "[S.OneCycleLR(o, 0.1, 3)._update_lr() for _ in range(1)] and S.OneCycleLR(o, 0.1, 3)._update_lr(4)",
    "S.CosineAnnealingWarmRestarts(o, 0)",
    "S.CosineAnnealingWarmRestarts(o, 1, 0.5)",
    "S.CosineAnnealingWarmRestarts(o, 1, eta_min='a')",
    "S.CosineAnnealingWarmRestarts(o, 2).step(-1)",
    "S.SequentialLR(o, [], [])",
    "S.SequentialLR(o, [S.StepLR(o, 1), 3], [1])",
    "S.SequentialLR(o, [S.StepLR(o, 1)], [1])",
    "S.SequentialLR(o, [S.StepLR(o, 1), S.StepLR(T.optim.SGD([p]), 1)], [1])",
    "S.SequentialLR(o, [S.ReduceLROnPlateau(o), S.StepLR(o, 1)], [1])",
    "S.ChainedScheduler([])",
    "S.ChainedScheduler([S.StepLR(o, 1), 3])",
    "S.ChainedScheduler([S.ReduceLROnPlateau(o)])",
]


@pytest.mark.parametrize("code", MISUSE)
def test_misuse(code):
    errors = []
    for T in (fxt, torch):
        names = {
            "T": T,
            "S": T.optim.lr_scheduler,
            "o": make_optimizer(T),
            "p": T.ones(2, requires_grad=True),
        }
        with pytest.raises(Exception) as caught:
            eval(code, names)
        errors.append(caught.value)
    ours, theirs = errors
    assert isinstance(ours, built_in(theirs))
    first = str(theirs).split("\n")[0].split("\\n")[0].strip("\"'")  # a KeyError shows its text quoted
    assert str(ours).strip("\"'").startswith(first)


def test_a_scheduler_goes_on():
    optimizer = fxt.optim.SGD([fxt.ones(1, requires_grad=True)], lr=1.0)
    first = fxt.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    first.step()
    second = fxt.optim.lr_scheduler.ExponentialLR(optimizer, 0.1)
    second.load_state_dict(first.state_dict())
    second.step()
    assert (second.last_epoch, second.gamma, second.get_last_lr()) == (2, 0.5, [0.25])


def test_a_scheduler_before_the_optimizer_warns():
    for T in LIBRARIES:
        scheduler = T.optim.lr_scheduler.StepLR(T.optim.SGD([T.ones(1, requires_grad=True)]), 1)
        with pytest.warns(
            UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before `optimizer.step\(\)`"
        ):
            scheduler.step()


PLATEAUS = [
    {},
    {"patience": 1, "factor": 0.5},
    {"mode": "max", "patience": 2, "cooldown": 2, "factor": 0.3},
    {"mode": "max", "patience": 0, "threshold": 0.2},
    {"patience": 0, "threshold": 0.05, "threshold_mode": "abs", "min_lr": 0.02},
    {"mode": "max", "patience": 0, "threshold": 0.05, "threshold_mode": "abs"},
    {"patience": 0, "min_lr": [0.01, 0.05], "eps": 1e-3},
    {"factor": 1.0},
    {"mode": "up"},
    {"threshold_mode": "x"},
    {"min_lr": [1.0]},
]
MEASURES = [
    1.0,
    0.9,
    0.95,
    0.91,
    0.9,
    0.899999,
    0.5,
    0.6,
    1.05,
    0.8,
    1.3,
    0.2,
    0.3,
    float("nan"),
    0.1,
    -0.5,
    -0.6,
]


@pytest.mark.parametrize("options", PLATEAUS, ids=range(len(PLATEAUS)))
def test_rates_that_fall_on_plateaus(options):
    def run(T):
        a, b = T.ones(2, requires_grad=True), T.ones(1, requires_grad=True)
        optimizer = T.optim.SGD([{"params": a}, {"params": b, "lr": 0.2}], lr=0.1)
        try:
            scheduler = T.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)
        except ValueError as error:
            return str(error).split("\n")[0]
        found = []
        for measure in MEASURES:
            optimizer.step()
            scheduler.step(T.tensor(measure))
            found.append((scheduler.get_last_lr(), scheduler.num_bad_epochs, scheduler.cooldown_counter))
        return found

    assert run(fxt) == run(torch)
