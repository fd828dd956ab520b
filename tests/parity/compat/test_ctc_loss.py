"""ctc_loss, behind log_softmax as torch's derivative supposes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.comparison import as_numpy
from tests.parity.compat.scenarios import check, check_alike

STEPS, COUNT, CLASSES = 7, 3, 5
SCORES = np.random.default_rng(0).standard_normal((STEPS, COUNT, CLASSES))
PADDED = [[1, 2, 2], [3, 1, 0], [4, 4, 4]]
TARGETS = {
    "padded": (PADDED, [7, 6, 7], [3, 2, 3]),
    "one after the other": ([1, 2, 2, 3, 1, 4, 4, 4], [7, 6, 7], [3, 2, 3]),
    "empty": (PADDED, [7, 6, 5], [3, 0, 3]),
    "impossible": (PADDED, [7, 6, 4], [3, 2, 3]),
}


def loss(library, scores, targets="padded", **options):
    labels, times, sizes = TARGETS[targets]
    lengths = [library.tensor(n) for n in (times, sizes)]
    log_probs = scores.log_softmax(-1)
    return library.nn.functional.ctc_loss(log_probs, library.tensor(labels), *lengths, **options)


@pytest.mark.parametrize("zero_infinity", [False, True])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("targets", TARGETS)
def test_value_and_gradient(targets, reduction, zero_infinity):
    def run(library):
        x = library.tensor(SCORES, requires_grad=True)
        y = loss(library, x, targets, reduction=reduction, zero_infinity=zero_infinity)
        if targets == "impossible" and not zero_infinity:  # torch's derivative of infinity is NaN
            return y
        return y, library.autograd.grad(y.sum(), x)

    check(run)


def test_a_single_sequence():
    def run(library):
        x = library.tensor(SCORES[:, 0], requires_grad=True)
        labels, time, size = library.tensor([1, 2]), library.tensor(7), library.tensor(2)
        y = library.nn.functional.ctc_loss(x.log_softmax(1), labels, time, size, blank=4, reduction="none")
        return y, library.autograd.grad(y, x)

    check(run)


def test_second_derivatives():
    x = fxt.tensor(SCORES[:5, :2, :3], requires_grad=True)
    labels = fxt.tensor([[1, 2], [2, 2]])

    def f(x):
        return fxt.nn.functional.ctc_loss(x.log_softmax(2), labels, [5, 5], [2, 2])

    assert fxt.autograd.gradgradcheck(f, [x])


def test_under_vmap():
    x = np.stack([SCORES, SCORES[::-1]])
    each = [as_numpy(loss(torch, torch.tensor(s.copy()))) for s in x]
    check_alike(as_numpy(fxt.func.vmap(lambda s: loss(fxt, s))(fxt.tensor(x))), np.stack(each))


@pytest.mark.parametrize(
    "changes",
    [
        {"blank": 9},
        {"input_lengths": [8, 7, 7]},
        {"input_lengths": [7, 7]},
        {"target_lengths": [2, 2]},
        {"reduction": "average"},
    ],
    ids=str,
)
def test_misuse(changes):
    def run(library):
        given = {"targets": library.tensor(PADDED), "input_lengths": [7, 7, 7], "target_lengths": [3, 2, 3]}
        return library.nn.functional.ctc_loss(library.tensor(SCORES), **(given | changes))

    check(run)
