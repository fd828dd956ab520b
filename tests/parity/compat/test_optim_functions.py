"""Optimizers as functions of lists, `torch.optim.adam.adam` and the others, under torch and fxgrad.compat."""

from __future__ import annotations

from importlib import import_module

import pytest
import torch

import fxgrad.compat as fxt

BOTH = pytest.mark.parametrize("t", [fxt, torch])
SHAPES = [(3, 4), (5,)]
ADAM = dict(beta1=0.8, beta2=0.9, lr=0.1, eps=1e-6, weight_decay=0.1)

# The function: (its module, what the lists of the state begin with, options, variations of these).
ZEROS, STEPS = "zeros", "numbers 0"
FUNCTIONS = {
    "adadelta": ("adadelta", [ZEROS, ZEROS, STEPS], dict(lr=0.5, rho=0.8, eps=1e-4, weight_decay=0.1, maximize=False), [
        {"maximize": True},
    ]),
    "adagrad": ("adagrad", [ZEROS, STEPS], dict(lr=0.1, weight_decay=0.1, lr_decay=0.2, eps=1e-6, maximize=False), [
        {"maximize": True}, {"foreach": True},
    ]),
    "adam": ("adam", [ZEROS, ZEROS, ZEROS, STEPS], ADAM | dict(amsgrad=False, maximize=False), [
        {"amsgrad": True}, {"maximize": True}, {"decoupled_weight_decay": True}, {"foreach": True},
    ]),
    "adamw": ("adamw", [ZEROS, ZEROS, ZEROS, STEPS], ADAM | dict(amsgrad=False, maximize=False), [{"amsgrad": True}]),
    "adamax": ("adamax", [ZEROS, ZEROS, STEPS], ADAM, [{"maximize": True}]),
    "asgd": ("asgd", [ZEROS, "numbers 1", "numbers 0.1", STEPS],
             dict(lambd=1e-2, lr=0.1, t0=1.0, alpha=0.75, weight_decay=0.1), [{"maximize": True}]),
    "nadam": ("nadam", [ZEROS, ZEROS, "numbers 1", STEPS], ADAM | dict(momentum_decay=0.01), [
        {"decoupled_weight_decay": True}, {"maximize": True},
    ]),
    "radam": ("radam", [ZEROS, ZEROS, STEPS], ADAM, [{"decoupled_weight_decay": True}, {"maximize": True}]),
    "rmsprop": ("rmsprop", [ZEROS, ZEROS, ZEROS, STEPS],
                dict(lr=0.1, alpha=0.8, eps=1e-6, weight_decay=0.1, momentum=0.0, centered=False), [
        {"momentum": 0.9}, {"centered": True}, {"momentum": 0.9, "centered": True, "maximize": True},
    ]),
    "rprop": ("rprop", [ZEROS, "full 0.1", STEPS],
              dict(step_size_min=1e-4, step_size_max=1.0, etaminus=0.5, etaplus=1.2), [{"maximize": True}]),
    "sgd": ("sgd", ["nothing"], dict(
        weight_decay=0.1, momentum=0.0, lr=0.1, dampening=0.0, nesterov=False, maximize=False
    ), [{"momentum": 0.9}, {"momentum": 0.9, "nesterov": True}, {"momentum": 0.5, "dampening": 0.3, "maximize": True}]),
}  # fmt: skip
VARIANTS = [(name, {}) for name in FUNCTIONS] + [(n, v) for n, spec in FUNCTIONS.items() for v in spec[3]]


def find_function(t, name: str):
    home = "torch" if t is torch else "fxgrad.compat"
    return getattr(import_module(f"{home}.optim.{name}"), name.removeprefix("_"))


def begin(t, how: str) -> list:
    """A list of the state for all parameters."""
    words = how.split()
    if words[0] == "numbers":
        return [t.tensor(float(words[1])) for _ in SHAPES]
    if words[0] == "full":
        return [t.full(shape, float(words[1])) for shape in SHAPES]
    return [None if how == "nothing" else t.zeros(shape) for shape in SHAPES]


def numbers(t, seed: int) -> list:
    rng = torch.Generator().manual_seed(seed)
    return [t.tensor(torch.randn(shape, generator=rng).tolist()) for shape in SHAPES]


@pytest.mark.parametrize(("name", "changes"), VARIANTS)
def test_steps_and_states_are_torchs(name, changes):
    module, lists, options, _ = FUNCTIONS[name]
    found = []
    for t in (fxt, torch):
        function, params, states = find_function(t, module), numbers(t, 0), [begin(t, how) for how in lists]
        given = [x for state in states for x in state]
        for step in range(3):
            assert function(params, numbers(t, step + 1), *states, **options | changes) is None
        after = [x for state in states for x in state]
        assert all(old is None or old is new for old, new in zip(given, after))  # the same Tensors
        found.append([torch.tensor(x.tolist()) for x in (*params, *after) if x is not None])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("name", ["adam", "sgd", "rmsprop"])
def test_steps_have_derivatives(name):
    module, lists, options, _ = FUNCTIONS[name]
    options = options if name == "sgd" else options | {"differentiable": True}
    found = []
    for t in (fxt, torch):
        leaf = t.tensor([0.5, -1.0, 2.0], requires_grad=True)
        weight = t.tensor([0.1, 0.2, -0.3], requires_grad=True)
        p = leaf.clone()
        states = [
            [t.tensor(1.0) if "numbers" in how else t.full((3,), 0.5)] if how != "nothing" else [None]
            for how in lists
        ]
        for _ in range(2):
            find_function(t, module)([p], [weight * p.clone()], *states, **options)
        p.sum().backward()
        found.append((p.tolist(), leaf.grad.tolist(), weight.grad.tolist()))
    ours, theirs = (list(map(torch.tensor, each)) for each in found)
    torch.testing.assert_close(ours, theirs)


def test_complex_parameters():
    found = []
    for t in (fxt, torch):
        p, z = t.tensor([1 + 2j, -1j]), t.zeros(2, dtype=t.complex64)
        lists = [z], [z.clone()], [], [t.tensor(0.0)]
        find_function(t, "adam")(
            [p], [t.tensor([0.5j, 1 - 1j])], *lists, amsgrad=False, maximize=False, **ADAM
        )
        found.append([torch.tensor(x.tolist()) for x in (p, lists[0][0], lists[1][0])])
    torch.testing.assert_close(*found)


@BOTH
def test_sparse_gradients(t):
    sparse_adam = import_module(f"{t.__name__}.optim._functional").sparse_adam
    p, mean, square = t.ones(3, 2), t.zeros(3, 2), t.zeros(3, 2)
    rows = t.tensor([[1.0, 2.0], [3.0, 4.0]])
    gradient = t.sparse_coo_tensor(t.tensor([[0, 2]]), rows, (3, 2), check_invariants=True).coalesce()
    sparse_adam(
        [p], [gradient], [mean], [square], [1], eps=1e-8, beta1=0.9, beta2=0.99, lr=0.1, maximize=False
    )
    assert [[round(x, 4) for x in row] for row in p.tolist()] == [[0.9, 0.9], [1.0, 1.0], [0.9, 0.9]]
    assert [round(x, 4) for x in mean[2].tolist()] == [0.3, 0.4]


@BOTH
def test_refusals(t):
    adam, p = find_function(t, "adam"), [t.ones(2)]
    lists = [t.ones(2)], [t.zeros(2)], [t.zeros(2)], []
    rest = ADAM | dict(amsgrad=False, maximize=False)
    with pytest.raises(RuntimeError, match="API has changed, `state_steps` argument"):
        adam(p, *lists, [0], **rest)
    with pytest.raises(
        AssertionError, match="If capturable=True, params and state_steps must be on supported"
    ):
        adam(p, *lists, [t.tensor(0.0)], capturable=True, **rest)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place"):
        adam([t.ones(2, requires_grad=True)], *lists, [t.tensor(0.0)], **rest)
    with pytest.raises(TypeError):
        adam(p, *lists, [t.tensor(0.0)])
    with pytest.raises(IndexError):
        adam(p, *lists, [t.tensor(0.0)], **rest | {"amsgrad": True})


def test_scaled_gradients():
    """What a scaler gives to fused steps: a scale by which gradients are divided, and whether any is not finite."""
    rest = dict(weight_decay=0.0, momentum=0.0, lr=1.0, dampening=0.0, nesterov=False, maximize=False)
    for overflow, expected in ((0.0, [0.5]), (1.0, [1.0])):
        p = fxt.ones(1)
        find_function(fxt, "sgd")(
            [p],
            [fxt.tensor([2.0])],
            [None],
            fused=True,
            grad_scale=fxt.tensor(4.0),
            found_inf=fxt.tensor(overflow),
            **rest,
        )
        assert p.tolist() == expected
