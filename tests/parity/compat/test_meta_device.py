"""The device "meta": Tensors with a shape, and no memory."""

from __future__ import annotations

import copy

import pytest
import torch

import fxgrad.compat as fxt

LIBRARIES = (torch, fxt)
ALIKE = [
    "T.empty(2, 3, device='meta')",
    "T.empty(2, 3, device='meta', dtype=T.int64, requires_grad=False)",
    "T.zeros(10**9, 10**6, device='meta').shape",
    "T.full((2,), 3.0, device='meta')",
    "T.tensor([1, 2], device='meta')",
    "T.ones(2).to('meta').device",
    "T.empty(2, 3, device='meta').is_meta, T.ones(2).is_meta",
    "T.empty(2, 3, device='meta').add_(1).uniform_().fill_(2).copy_(T.ones(3))",
    "T.empty(2, 3, device='meta').double().T.stride()",
    "T.empty(2, 3, device='meta')[0, 1:].sum()",
    "T.empty(2, 3, device='meta') @ T.empty(3, 4, device='meta')",
    "T.empty_like(T.empty(2, device='meta'), device='cpu').shape",
    "T.zeros_like(T.ones(2), device='meta')",
    "T.func.vmap(T.sin)(T.empty(2, 3, device='meta')).shape",
    "T.nn.Linear(2, 3, device='meta').weight",
    "T.nn.Linear(2, 3, device='meta')(T.empty(4, 2, device='meta'))",
    "T.nn.LSTM(2, 3, 2, device='meta')(T.empty(4, 1, 2, device='meta'))[0].shape",
    "T.nn.Conv2d(1, 2, 3, device='meta')(T.empty(1, 1, 5, 5, device='meta')).shape",
    "T.nn.LSTM(2, 3, device='meta').to_empty(device='cpu').weight_hh_l0.device",
    "T.nn.Linear(2, 3).to('meta').bias",
    "T.nn.Linear(2, 1, device='meta').load_state_dict({'weight': T.ones(1, 2), 'bias': T.ones(1)}, assign=True)",
]
REFUSED = [
    "T.empty(1, device='meta').item()",
    "bool(T.empty(1, device='meta'))",
    "T.empty(1, device='meta').numpy()",
    "T.empty(1, device='meta').cpu()",
    "T.ones(2).copy_(T.empty(2, device='meta'))",
    "T.nn.Linear(2, 3, device='meta').to('cpu')",
]


@pytest.mark.parametrize("code", ALIKE)
def test_shapes_without_memory(code):
    theirs, ours = (repr(eval(code, {"T": T})) for T in LIBRARIES)
    assert ours == theirs


@pytest.mark.parametrize("code", REFUSED)
def test_entries_are_refused(code):
    with pytest.raises(Exception) as theirs:
        eval(code, {"T": torch})
    with pytest.raises(theirs.type) as ours:
        eval(code, {"T": fxt})
    assert str(ours.value).startswith(str(theirs.value).splitlines()[0])


def test_a_model_is_made_without_memory_and_filled_later():
    def run(T):
        with T.device("meta"):
            net = T.nn.Sequential(T.nn.Linear(3, 4), T.nn.GRU(4, 2))
        assert {p.device.type for p in copy.deepcopy(net).parameters()} == {"meta"}
        count = sum(p.numel() for p in net.parameters())
        net.to_empty(device="cpu")
        with T.no_grad():
            for p in net.parameters():
                p.fill_(0.5)
        return count, [p.requires_grad for p in net.parameters()], net[1](net[0](T.ones(2, 3)))[0].tolist()

    (count, flags, theirs), (ours_count, ours_flags, ours) = run(torch), run(fxt)
    assert (count, flags) == (ours_count, ours_flags)
    assert ours[0] == pytest.approx(theirs[0], rel=1e-6)
