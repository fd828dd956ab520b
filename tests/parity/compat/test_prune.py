"""Pruned parameters, beside torch."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
import torch.nn.utils.prune

import fxgrad.compat as fxt
from tests.parity.compat.test_creation import built_in

LIBRARIES = (fxt, torch)
WEIGHT = np.random.default_rng(0).permutation(24).reshape(4, 3, 2).astype("float32") - 11.25


def make(T):
    module = T.nn.Conv1d(3, 4, 2)
    module.weight.data.copy_(T.from_numpy(WEIGHT))
    module.bias.data.copy_(T.from_numpy(WEIGHT[:, 0, 0]))
    return module


def scores(T):
    return T.from_numpy(np.random.default_rng(1).permutation(24).reshape(4, 3, 2).astype("float32"))


PROGRAMS = {
    "absolute": lambda P, T, m: P.l1_unstructured(m, "weight", 0.3),
    "so many": lambda P, T, m: P.l1_unstructured(m, "weight", 5),
    "none": lambda P, T, m: P.l1_unstructured(m, "weight", 0),
    "scores": lambda P, T, m: P.l1_unstructured(m, "weight", 0.5, importance_scores=scores(T)),
    "twice": lambda P, T, m: P.l1_unstructured(P.l1_unstructured(m, "weight", 0.3), "weight", 0.5),
    "bias": lambda P, T, m: P.l1_unstructured(P.l1_unstructured(m, "bias", 1), "weight", 0.25),
    "channels": lambda P, T, m: P.ln_structured(m, "weight", 2, n=2, dim=0),
    "other channels": lambda P, T, m: P.ln_structured(m, "weight", 0.4, n=1, dim=1),
    "last channels": lambda P, T, m: P.ln_structured(m, "weight", 1, n=float("inf"), dim=-1),
    "channels after entries": lambda P, T, m: P.ln_structured(
        P.l1_unstructured(m, "weight", 0.5), "weight", 1, 2, 0
    ),
    "entries after channels": lambda P, T, m: P.l1_unstructured(
        P.ln_structured(m, "weight", 1, 2, 0), "weight", 0.5
    ),
    "channels twice": lambda P, T, m: P.ln_structured(
        P.ln_structured(m, "weight", 1, 2, 0), "weight", 1, 2, 0
    ),
    "identity": lambda P, T, m: P.identity(m, "weight"),
    "a mask": lambda P, T, m: P.custom_from_mask(m, "weight", T.from_numpy((WEIGHT > 0).astype("float32"))),
    "together": lambda P, T, m: P.global_unstructured(
        [(m, "weight"), (m, "bias")], P.L1Unstructured, amount=0.4
    ),
    "together after one": lambda P, T, m: P.global_unstructured(
        [(P.l1_unstructured(m, "weight", 6), "weight"), (m, "bias")], P.L1Unstructured, amount=6
    ),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_methods(program):
    def run(T):
        P, module = T.nn.utils.prune, make(T)
        program(P, T, module)
        y = module(T.ones(1, 3, 4))
        (y**2).sum().backward()
        found = [module.weight.tolist(), y.detach().numpy().round(3).tolist(), list(module.state_dict())]
        found += [p.grad.numpy().round(2).tolist() for p in module.parameters()]
        found += [P.is_pruned(module), P.is_pruned(T.nn.Linear(1, 1)), sorted(dict(module.named_buffers()))]
        twin = copy.deepcopy(module.state_dict())
        hooks = [type(hook).__name__ for hook in module._forward_pre_hooks.values()]
        P.remove(module, "weight")
        kept = [module.weight.tolist(), sorted(module.state_dict()), type(module.weight).__name__]
        return found, hooks, kept, sorted(twin)

    assert run(fxt) == run(torch)


def test_random_entries_and_channels():
    P = fxt.nn.utils.prune
    module = P.random_unstructured(make(fxt), "weight", 0.25)
    assert int((module.weight_mask == 0).sum()) == 6
    module = P.random_structured(make(fxt), "weight", 2, dim=1)
    assert module.weight_mask.sum(dim=(0, 2)).tolist().count(0) == 2
    P.random_unstructured(module, "weight", 4)
    assert int((module.weight_mask == 0).sum()) == 20


def test_methods_of_ones_own():
    def run(T):
        P = T.nn.utils.prune

        class EveryOther(P.BasePruningMethod):
            PRUNING_TYPE = "unstructured"

            def compute_mask(self, t, default_mask):
                mask = default_mask.clone()
                mask.view(-1)[::2] = 0
                return mask

        module = make(T)
        EveryOther.apply(module, "weight")
        EveryOther.apply(module, "weight")
        method = next(iter(module._forward_pre_hooks.values()))
        free = P.L1Unstructured(amount=2).prune(T.from_numpy(WEIGHT))
        return module.weight.tolist(), len(method), type(method[1]).__name__, free.tolist()

    assert run(fxt) == run(torch)


MISUSE = [
    "P.l1_unstructured(m, 'weight', 'a')",
    "P.l1_unstructured(m, 'weight', -1)",
    "P.l1_unstructured(m, 'weight', 1.5)",
    "P.l1_unstructured(m, 'weight', 100)",
    "P.ln_structured(m, 'bias', 1, 2, 0)",
    "P.ln_structured(m, 'weight', 1, 2, 5)",
    "P.ln_structured(m, 'weight', 9, 2, 0)",
    "P.remove(m, 'weight')",
    "P.global_unstructured(3, P.L1Unstructured)",
    "P.global_unstructured([(m, 'weight')], P.LnStructured, amount=1, n=2)",
    "P.global_unstructured([(m, 'weight')], P.L1Unstructured, importance_scores=3, amount=1)",
    "P.l1_unstructured(m, 'weight', 0.5, importance_scores=T.ones(2))",
    "P.l1_unstructured(m, 'foo', 0.5)",
    "P.custom_from_mask(m, 'weight', T.ones(2, 5))",
    "P.PruningContainer().add_pruning_method(3)",
]


@pytest.mark.parametrize("code", MISUSE)
def test_misuse(code):
    errors = []
    for T in LIBRARIES:
        module = make(T)
        with pytest.raises(Exception) as caught:
            eval(code, {"T": T, "P": T.nn.utils.prune, "m": module})
        errors.append(caught.value)
        assert isinstance(module.weight, T.nn.Parameter)
    assert isinstance(errors[0], built_in(errors[1]))
    ours, theirs = (str(error).split("\n")[0].replace("fxgrad.compat", "torch") for error in errors)
    assert ours == theirs
