"""Gradients of each sample, left beside the parameters: those of torch's expanded weights."""

import numpy as np
import pytest
import torch
from torch.nn.utils._per_sample_grad import call_for_per_sample_grads as torchs_call

import fxgrad.compat as fxc
from fxgrad.compat.nn.utils.per_sample_grad import call_for_per_sample_grads as our_call

LIBRARIES = {"ours": (fxc, our_call), "torch": (torch, torchs_call)}


def build(library):
    nn = library.nn
    model = nn.Sequential(nn.Conv1d(2, 3, 2), nn.GroupNorm(1, 3), nn.Tanh(), nn.Flatten(), nn.Linear(9, 2))
    with library.no_grad():
        for k, p in enumerate(model.parameters()):
            p.copy_(library.from_numpy(np.sin(np.arange(p.numel(), dtype=np.float32) + k).reshape(p.shape)))
    return model.requires_grad_(True)


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_samples_have_torchs_gradients(reduction):
    found = []
    for library, call in LIBRARIES.values():
        model = build(library)
        model[4].bias.requires_grad_(False)
        x = library.from_numpy(np.cos(np.arange(40, dtype=np.float32)).reshape(5, 2, 4))
        loss = getattr(call(model, loss_reduction=reduction)(x).square(), reduction)()
        loss.backward()
        assert all(p.grad is None for p in model.parameters())
        samples = [getattr(p, "grad_sample", None) for p in model.parameters()]
        assert samples.pop() is None
        assert all(s.shape == (5, *p.shape) for s, p in zip(samples, model.parameters()))
        found.append(samples)
    for ours, theirs in zip(*found):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", LIBRARIES)
def test_bad_calls_are_refused_in_torchs_words(name):
    library, call = LIBRARIES[name]
    model = build(library)
    with pytest.raises(RuntimeError, match="Expected loss_reduction argument to be sum or mean, got no"):
        call(model, loss_reduction="no")
    with pytest.raises(RuntimeError, match=r"Module passed must be nn.Module, got function"):
        call(lambda x: x)
    with pytest.raises(RuntimeError, match="Unable to find a tensor in the passed args and kwargs"):
        call(model)(2)
    call(model)(library.ones(3, 2, 4)).sum().backward()
    with pytest.raises(RuntimeError, match="Current Expanded Weights accumulates the gradients"):
        call(model)
