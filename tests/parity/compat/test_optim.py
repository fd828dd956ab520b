"""Optimizers and learning rates: twenty steps give torch's numbers."""

from __future__ import annotations

import copy
from importlib import import_module

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.test_creation import built_in

LIBRARIES = (torch, fxt)
STARTS = [np.random.default_rng(0).standard_normal(shape) for shape in ((3, 4), (4,), ())]

OPTIMIZERS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.01, "momentum": 0.9, "dampening": 0.5, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"lr": 0.1, "betas": (0.8, 0.9), "eps": 1e-3, "amsgrad": True, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True, "fused": True}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.2, "foreach": True}),
    ("AdamW", {"lr": 0.1, "amsgrad": True, "maximize": True}),
    ("RMSprop", {}),
    ("RMSprop", {"centered": True, "momentum": 0.5, "weight_decay": 0.1, "alpha": 0.9}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.5, "weight_decay": 0.1}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.7, "eps": 1e-3, "weight_decay": 0.1, "maximize": True}),
    ("Adamax", {"lr": 0.1}),
    ("Adamax", {"betas": (0.5, 0.8), "eps": 1e-2, "weight_decay": 0.1, "maximize": True}),
    ("NAdam", {"lr": 0.1}),
    ("NAdam", {"betas": (0.5, 0.8), "momentum_decay": 0.1, "weight_decay": 0.1}),
    ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("RAdam", {"lr": 0.1}),
    ("RAdam", {"betas": (0.5, 0.8), "weight_decay": 0.1, "eps": 1e-3}),
    ("RAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("ASGD", {"lr": 0.1}),
    ("ASGD", {"lr": 0.1, "t0": 5, "lambd": 0.1, "alpha": 0.5, "weight_decay": 0.1}),
    ("Rprop", {}),
    ("Rprop", {"lr": 0.1, "etas": (0.3, 1.5), "step_sizes": (1e-3, 0.2), "maximize": True}),
    ("Adafactor", {}),
    ("Adafactor", {"lr": 0.1, "beta2_decay": -0.5, "eps": (1e-3, 0.1), "d": 2.0, "weight_decay": 0.1}),
    ("Adafactor", {"maximize": True}),
]
named = pytest.mark.parametrize(("name", "options"), OPTIMIZERS, ids=[f"{n}-{o}" for n, o in OPTIMIZERS])


def leaves(T, dtype="float64"):
    return [T.from_numpy(np.array(start, dtype)).requires_grad_() for start in STARTS]


def loss_of(ps):
    return 0.5 * (ps[0] ** 2).sum() + ps[1].sin().sum() + 0.1 * (ps[2] * ps[1]).sum() ** 2


def trained(T, name, options, steps=20, dtype="float64"):
    """(parameters, optimizer) after so many steps; one parameter never has a gradient."""
    ps = leaves(T, dtype)
    optimizer = getattr(T.optim, name)([*ps, T.ones(1, requires_grad=True)], **options)
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(ps).backward()
        optimizer.step()
    return ps, optimizer


@named
def test_twenty_steps(name, options):
    (theirs, their_optimizer), (ours, our_optimizer) = (trained(T, name, options) for T in LIBRARIES)
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-10, atol=1e-12)
    expected, found = their_optimizer.state_dict(), our_optimizer.state_dict()
    assert found["state"].keys() == expected["state"].keys()
    for number, state in expected["state"].items():
        assert found["state"][number].keys() == state.keys()
        for key, value in state.items():
            np.testing.assert_allclose(
                found["state"][number][key].numpy(), value.numpy(), rtol=1e-10, atol=1e-12
            )
    assert found["param_groups"] == expected["param_groups"]
    assert repr(our_optimizer) == repr(their_optimizer)


@named
def test_single_precision(name, options):
    (theirs, their_optimizer), (ours, our_optimizer) = (
        trained(T, name, options, dtype="float32") for T in LIBRARIES
    )
    for a, b in zip(ours, theirs):
        assert str(a.dtype) == str(b.dtype)
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-5)
    kinds = [
        {key: (str(x.dtype), tuple(x.shape)) for key, x in state.items()}
        for optimizer in (their_optimizer, our_optimizer)
        for state in optimizer.state_dict()["state"].values()
    ]
    assert kinds[: len(kinds) // 2] == kinds[len(kinds) // 2 :]


@named
def test_it_goes_on_from_a_state_of_torchs(name, options):
    whole, _ = trained(torch, name, options)
    theirs, first = trained(torch, name, options, steps=7)
    ps = [fxt.from_numpy(p.detach().numpy().copy()).requires_grad_() for p in theirs]
    state = first.state_dict()
    entries = {
        number: {key: fxt.from_numpy(np.array(x.detach().numpy())) for key, x in entry.items()}
        for number, entry in state["state"].items()
    }
    second = getattr(fxt.optim, name)([*ps, fxt.ones(1, requires_grad=True)])
    second.load_state_dict({"state": entries, "param_groups": state["param_groups"]})
    for _ in range(13):
        second.zero_grad()
        loss_of(ps).backward()
        second.step()
    for a, b in zip(ps, whole):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-10, atol=1e-12)


@named
def test_state_goes_on_in_another_optimizer(name, options):
    whole, _ = trained(fxt, name, options)
    ps, first = trained(fxt, name, options, steps=7)
    state = copy.deepcopy(first.state_dict())
    second = getattr(fxt.optim, name)([*ps, fxt.ones(1, requires_grad=True)], lr=123.0)
    second.load_state_dict(state)
    for _ in range(13):
        second.zero_grad()
        loss_of(ps).backward()
        second.step()
    for a, b in zip(ps, whole):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


COMPLEX_RULES = [
    "SGD",
    "Adagrad",
    "Adam",
    "AdamW",
    "RMSprop",
    "Adadelta",
    "Adamax",
    "NAdam",
    "RAdam",
    "ASGD",
    "Rprop",
]


@pytest.mark.parametrize("rule", COMPLEX_RULES)
@pytest.mark.parametrize("contiguous", [True, False])
def test_complex_parameters(rule, contiguous):
    def run(T):
        p = T.tensor([[1 + 2j, -0.5j, 2j], [3.0 + 1j, 1j, -1.0]], dtype=T.complex128)
        p = (p if contiguous else p.t()[::2]).detach().requires_grad_()
        optimizer = getattr(T.optim, rule)([p], lr=0.1)
        for _ in range(5):
            optimizer.zero_grad()
            (p * p.conj()).real.sum().backward()
            optimizer.step()
        state = optimizer.state_dict()["state"].get(0, {})
        return p.detach().numpy(), {key: x.numpy() for key, x in state.items()}

    (ours, our_state), (theirs, their_state) = run(fxt), run(torch)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    assert our_state.keys() == their_state.keys()
    for key, x in their_state.items():
        assert (our_state[key].dtype, our_state[key].shape) == (x.dtype, x.shape)
        np.testing.assert_allclose(our_state[key], x, rtol=1e-12)


def test_groups_and_closures():
    def run(T):
        a, b = T.ones(2, requires_grad=True), T.ones(1, requires_grad=True)
        optimizer = T.optim.SGD([{"params": a, "lr": 0.5}], lr=0.1, momentum=0.1)
        optimizer.add_param_group({"params": [b], "momentum": 0.0})

        def closure():
            optimizer.zero_grad()
            loss = (a * a).sum() + (b * b).sum()
            loss.backward()
            return loss

        with T.no_grad():
            losses = [optimizer.step(closure).item() for _ in range(3)]
        options = [{k: v for k, v in g.items() if k != "params"} for g in optimizer.param_groups]
        return losses, a.tolist(), b.tolist(), options, a._version

    assert run(fxt) == run(torch)


def test_the_step_of_the_users_own_optimizer_is_noted():
    class Sign(fxt.optim.Optimizer):
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    p.data.sub_(group["lr"] * p.grad.sign())

    p = fxt.ones(2, requires_grad=True)
    optimizer = Sign([p], {"lr": 0.5})
    scheduler = fxt.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    (p * p).sum().backward()
    optimizer.step()
    scheduler.step()  # warns where there was no step before
    assert p.tolist() == [0.5, 0.5] and scheduler.get_last_lr() == [0.25]


def test_zero_grad():
    def run(T):
        p = T.ones(2, requires_grad=True)
        optimizer = T.optim.SGD([p], lr=0.1)
        (p * p).sum().backward()
        optimizer.zero_grad(set_to_none=False)
        zeros = p.grad.tolist()
        optimizer.zero_grad()
        return zeros, p.grad

    assert run(fxt) == run(torch)


def test_a_step_counts_as_a_modification():
    w = fxt.ones(2, requires_grad=True)
    y = (w * w).sum()
    (w * 3).sum().backward()
    fxt.optim.SGD([w], lr=0.1).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_an_ensemble_is_trained_inside_vmap():
    start, target = fxt.randn(5, 3, dtype=fxt.float64), fxt.arange(15.0, dtype=fxt.float64).view(5, 3)

    def train(start, target):
        w = start.clone().requires_grad_()
        optimizer = fxt.optim.Adam([w], lr=0.1)
        for _ in range(4):
            optimizer.zero_grad()
            ((w - target) ** 2).sum().backward()
            optimizer.step()
        return w.detach()

    together = fxt.func.vmap(train)(start, target)
    for i in range(5):
        np.testing.assert_allclose(together[i].numpy(), train(start[i], target[i]).numpy(), rtol=1e-12)


MISUSE = [
    "T.optim.SGD([p], lr=-1)",
    "T.optim.SGD([p], momentum=-1)",
    "T.optim.SGD([p], nesterov=True)",
    "T.optim.SGD([p], weight_decay=-1)",
    "T.optim.SGD([], lr=1)",
    "T.optim.SGD(p, lr=1)",
    "T.optim.SGD([3], lr=1)",
    "T.optim.SGD([p * 1], lr=1)",
    "T.optim.SGD([{'params': [p]}, {'params': [p]}], lr=1)",
    "T.optim.SGD([{'params': {p}}], lr=1)",
    "T.optim.SGD([p], foo=1)",
    "T.optim.Adam([p], betas=(1, 0))",
    "T.optim.Adam([p], betas=(0, 1))",
    "T.optim.Adam([p], eps=-1)",
    "T.optim.RMSprop([p], alpha=-1)",
    "T.optim.Adagrad([p], lr_decay=-1)",
    "T.optim.SGD([p], lr=T.ones(2))",
    "T.optim.SGD([p], fused=True, foreach=True)",
    "T.optim.SGD([p], fused=True, differentiable=True)",
    "T.optim.SGD([('a', p), T.ones(1)])",
    "T.optim.SGD([p]).add_param_group({'params': [('b', T.ones(1))]})",
    "T.optim.SGD([('a', p)]).add_param_group({'params': [T.ones(1)]})",
    "T.optim.Optimizer([p], {'lr': import_module(f'{T.__name__}.optim.optimizer').required})",
    "T.optim.Adam([p], lr=T.tensor(0.1), foreach=True)",
    "T.optim.Adam([p], betas=(T.tensor(0.9), 0.9))",
    "T.optim.Adadelta([p], rho=2)",
    "T.optim.Rprop([p], etas=(2, 1))",
    "T.optim.NAdam([p], momentum_decay=-1)",
    "T.optim.ASGD([p], weight_decay=-1)",
    "T.optim.Adafactor([p], lr=-1)",
    "T.optim.Adafactor([p], eps=(-1, 2))",
    "T.optim.Adafactor([p], eps=(1, -2))",
    "T.optim.Adafactor([p], d=0.5)",
    "T.optim.Adafactor([p], beta2_decay=1)",
    "T.optim.Muon([p])",
    "T.optim.Muon([T.ones(2, 2)], momentum=-1)",
    "T.optim.Muon([T.ones(2, 2)], adjust_lr_fn='x')",
    "T.optim.SparseAdam([p], lr=0)",
    "T.optim.LBFGS([p], lr=-1)",
    "T.optim.SGD([p]).load_state_dict({'state': {}, 'param_groups': []})",
    "T.optim.SGD([p]).load_state_dict({'state': {}, 'param_groups': [{'params': []}]})",
]


@pytest.mark.parametrize("code", MISUSE)
def test_misuse(code):
    errors = {}
    for T in LIBRARIES:
        with pytest.raises(Exception) as caught:
            eval(code, {"T": T, "p": T.nn.Parameter(T.ones(2)), "import_module": import_module})
        errors[T] = caught.value
    assert isinstance(errors[fxt], built_in(errors[torch]))
    if "foo" not in code and "last_epoch" not in code:
        assert str(errors[fxt]).split("\n")[0] == str(errors[torch]).split("\n")[0]


def trained_by_recorded_steps(T, name, start):
    """What three steps make of a parameter."""
    w = start * 1
    optimizer = getattr(T.optim, name)([w], lr=0.05, differentiable=True)
    for _ in range(3):
        before = w.clone()  # which the step does not modify
        (w.grad,) = T.autograd.grad((before**3).sum(), before, create_graph=True)
        optimizer.step()
    return w


@pytest.mark.parametrize("name", COMPLEX_RULES)
def test_steps_that_are_differentiated(name):
    """Torch has the numbers of such steps in single precision, and fails where it modifies what it needs: see the
    derivatives by differences."""

    def run(T):
        start = T.tensor([0.3, -0.7, 1.1], dtype=T.float64, requires_grad=True)
        w = trained_by_recorded_steps(T, name, start)
        (gradient,) = T.autograd.grad((w * w).sum(), start)
        return w.tolist(), gradient.tolist()

    found, gradient = run(fxt)
    if name not in ("Rprop", "Adamax"):
        expected = run(torch)
        np.testing.assert_allclose(found, expected[0], rtol=1e-5)
        np.testing.assert_allclose(gradient, expected[1], rtol=1e-5)
    start = np.array([0.3, -0.7, 1.1])
    for i, step in enumerate(np.eye(3) * 1e-6):
        high, low = (
            trained_by_recorded_steps(fxt, name, fxt.tensor(start + sign * step, requires_grad=True))
            for sign in (1, -1)
        )
        difference = ((high**2).sum() - (low**2).sum()).item() / 2e-6
        np.testing.assert_allclose(gradient[i], difference, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("T", LIBRARIES)
def test_a_leaf_is_not_modified_by_a_recorded_step(T):
    p = T.ones(2, requires_grad=True)
    p.grad = T.ones(2)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        T.optim.Adam([p], differentiable=True).step()


def test_matrices_with_orthogonal_steps():
    """The rounding of bfloat16 is amplified, so that only directions agree closely."""

    def run(T, shape, **options):
        w = T.from_numpy(np.random.default_rng(1).standard_normal(shape).astype("float32")).requires_grad_()
        optimizer = T.optim.Muon([w], lr=0.1, **options)
        for _ in range(5):
            optimizer.zero_grad()
            (w.sin() ** 2).sum().backward()
            optimizer.step()
        return w.detach().numpy(), optimizer.state_dict()["param_groups"]

    for shape in ((5, 3), (3, 6)):
        for options in (
            {},
            {"nesterov": False, "adjust_lr_fn": "match_rms_adamw"},
            {"weight_decay": 0.5, "ns_steps": 3, "adjust_lr_fn": "original", "momentum": 0.5},
        ):
            (ours, our_groups), (theirs, their_groups) = (
                run(fxt, shape, **options),
                run(torch, shape, **options),
            )
            np.testing.assert_allclose(ours, theirs, atol=0.03)
            assert our_groups == their_groups


# -- hooks -------------------------------------------------------------------------------------------------------------
def test_hooks_around_steps_and_states():
    def run(T):
        said = []
        module = import_module(f"{T.__name__}.optim.optimizer")
        p = T.ones(2, requires_grad=True)
        optimizer = T.optim.SGD([p], lr=0.5)
        p.grad = T.ones(2)
        handles = [
            module.register_optimizer_step_pre_hook(lambda o, a, k: said.append(("all before", len(a)))),
            module.register_optimizer_step_post_hook(lambda o, a, k: said.append(("all after", len(a)))),
            optimizer.register_step_pre_hook(lambda o, a, k: said.append(("before", len(a), dict(k)))),
            optimizer.register_step_pre_hook(lambda o, a, k: (a, {"closure": lambda: 7})),
            optimizer.register_step_post_hook(lambda o, a, k: said.append(("after", len(a), "closure" in k))),
            optimizer.register_state_dict_pre_hook(lambda o: said.append("saving")),
            optimizer.register_state_dict_post_hook(lambda o, d: {**d, "more": 1}),
            optimizer.register_state_dict_post_hook(lambda o, d: said.append(sorted(d)), prepend=True),
            optimizer.register_load_state_dict_pre_hook(lambda o, d: said.append(sorted(d))),
            optimizer.register_load_state_dict_post_hook(lambda o: said.append("loaded")),
        ]
        said.append(optimizer.step())
        optimizer.load_state_dict(optimizer.state_dict())
        for handle in handles:
            handle.remove()
        said.append(optimizer.step())
        optimizer.register_step_pre_hook(lambda o, a, k: (1,))
        with pytest.raises(RuntimeError, match="must return None or a tuple of"):
            optimizer.step()
        return said, p.tolist()

    assert run(fxt) == run(torch)


def test_hooks_run_once_for_a_step_made_of_the_base_classs():
    class Counted(fxt.optim.SGD):
        def step(self, closure=None):
            return super().step(closure)

    said = []
    optimizer = Counted([fxt.ones(1, requires_grad=True)])
    optimizer.register_step_post_hook(lambda *_: said.append(1))
    optimizer.step()
    assert said == [1]


def test_copies_and_pickled_parts():
    optimizer = trained(fxt, "Adam", {})[1]
    twin = copy.deepcopy(optimizer)
    twin.step()
    assert twin.state_dict()["state"][0]["step"].item() == 21
    assert optimizer.state_dict()["state"][0]["step"].item() == 20
    assert list(optimizer.__getstate__()) == ["defaults", "state", "param_groups"]


def test_the_numbers_of_a_rate_that_is_a_tensor():
    def run(T):
        p = T.ones(2, requires_grad=True, dtype=T.float64)
        rate = T.tensor(0.5)
        optimizer = T.optim.Adam([p], lr=rate)
        scheduler = T.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        for _ in range(3):
            p.grad = T.ones(2, dtype=T.float64)
            optimizer.step()
            scheduler.step()
        return p.tolist(), rate.item(), optimizer.param_groups[0]["lr"] is rate

    ours, theirs = run(fxt), run(torch)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-6)
    assert ours[1:] == theirs[1:]
