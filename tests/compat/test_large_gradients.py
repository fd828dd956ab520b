"""Gradients of so many entries that threads copy them together."""

import numpy as np
import pytest

import fxgrad.compat as torch
from fxgrad.core.costs import SHARED_ENTRIES
from fxgrad.kernels.native import threads

LOSSES = {
    "one number": (lambda x: x.sum(), lambda x: np.ones_like(x)),
    "rows": (
        lambda x: (x.mean(0) * torch.arange(x.shape[1])).sum(),
        lambda x: np.zeros_like(x) + ROW / len(x),
    ),
    "transposed": (lambda x: (x.T * torch.ones(x.T.shape)).sum(), lambda x: np.ones_like(x)),
}
ROW = np.arange(SHARED_ENTRIES // 64 + 1, dtype="f4")


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("number", [1, 3])
def test_gradient_is_an_array_of_its_own(loss, number, monkeypatch):
    monkeypatch.setattr(threads, "thread_count", lambda: number)
    program, derivative = LOSSES[loss]
    x = torch.zeros(64, len(ROW), requires_grad=True)
    program(x).backward()
    np.testing.assert_array_equal(x.grad.numpy(), derivative(x.detach().numpy()))
    x.grad.add_(1)
    program(x).backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * derivative(x.detach().numpy()) + 1)


def test_gradient_given_from_outside_is_copied():
    x, ct = torch.ones(SHARED_ENTRIES + 3, requires_grad=True), torch.ones(SHARED_ENTRIES + 3)
    (x + 1).backward(ct)
    ct.fill_(5)
    assert (x.grad == 1).all()
