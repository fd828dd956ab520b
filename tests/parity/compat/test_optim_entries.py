"""Optimizers and gradients out of the ordinary, beside torch: sparse, half precision, not finite, no entries."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.test_optim import COMPLEX_RULES, LIBRARIES


class Coordinates:
    """A sparse gradient, by what the rules ask of one: indices and values."""

    is_sparse = True

    def __init__(self, indices, values):
        self.places, self.numbers = indices, values

    def coalesce(self):
        return self

    def indices(self):
        return self.places

    def values(self):
        return self.numbers

    def neg(self):
        return Coordinates(self.places, -self.numbers)

    def to_dense(self):
        dense = fxt.zeros(4, *self.numbers.shape[1:], dtype=self.numbers.dtype)
        return dense.index_put_(tuple(self.places), self.numbers)


SPARSE = [
    ("SparseAdam", {"lr": 0.1}),
    ("SparseAdam", {"betas": (0.5, 0.8), "eps": 1e-3, "maximize": True}),
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.1}),
]


@pytest.mark.parametrize(("name", "options"), SPARSE, ids=[f"{n}-{o}" for n, o in SPARSE])
@pytest.mark.filterwarnings("ignore:Sparse invariant checks")  # torch's
def test_rows_with_sparse_gradients(name, options):
    start = np.random.default_rng(0).standard_normal((4, 3))
    steps = [([0, 2], 1), ([1, 2, 3], 2), ([2], 3)]
    ours, theirs = (T.from_numpy(start.copy()).requires_grad_() for T in (fxt, torch))
    our_optimizer, their_optimizer = (
        getattr(T.optim, name)([p], **options) for T, p in ((fxt, ours), (torch, theirs))
    )
    for rows, seed in steps:
        values = np.random.default_rng(seed).standard_normal((len(rows), 3))
        theirs.grad = torch.sparse_coo_tensor([rows], torch.from_numpy(values), (4, 3), check_invariants=True)
        their_optimizer.step()
        gradient = Coordinates(fxt.tensor([rows]), fxt.from_numpy(values))
        with fxt.no_grad():
            our_optimizer._fx_update_sparse(ours, gradient, our_optimizer.param_groups[0], None)
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-12)
    for key, x in their_optimizer.state[theirs].items():
        if torch.is_tensor(x) and x.layout is torch.strided:
            np.testing.assert_allclose(our_optimizer.state[ours][key].numpy(), x.numpy(), rtol=1e-12)


@pytest.mark.parametrize("T", LIBRARIES)
def test_refusals_of_gradients(T):
    p = T.ones(2, 2, requires_grad=True)
    p.grad = T.ones(2, 2)
    with pytest.raises(
        RuntimeError, match="SparseAdam does not support dense gradients, please consider Adam"
    ):
        T.optim.SparseAdam([p]).step()
    z = T.ones(2, 2, dtype=T.complex64).requires_grad_()
    z.grad = T.ones(2, 2, dtype=T.complex64)
    for name in ("Adafactor", "Muon"):
        with pytest.raises(RuntimeError, match=f"{name} does not support complex parameters"):
            getattr(T.optim, name)([z]).step()


@pytest.mark.parametrize(
    "name", ["Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop", "Adafactor", "Muon"]
)
def test_ensembles_of_other_rules(name):
    start = np.random.default_rng(0).standard_normal((3, 4, 2))

    def train(start):
        w = start.clone().requires_grad_()
        optimizer = getattr(fxt.optim, name)([w], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (w**4).sum().backward()
            optimizer.step()
        return w.detach()

    together = fxt.func.vmap(train)(fxt.from_numpy(start))
    for one, x in zip(together, start):
        np.testing.assert_allclose(one.numpy(), train(fxt.from_numpy(x)).numpy(), rtol=1e-10)


RULES = [*COMPLEX_RULES, "Adafactor", "Muon"]


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(name, dtype):
    def run(T):
        p = T.ones(3, 2, dtype=getattr(T, dtype)).requires_grad_()
        p.grad = T.full((3, 2), 0.25, dtype=getattr(T, dtype))
        optimizer = getattr(T.optim, name)([p], lr=0.1)
        for _ in range(3):
            optimizer.step()
        return p.float().detach().numpy(), {
            key: str(x.dtype).split(".")[-1] for key, x in optimizer.state[p].items()
        }

    (ours, our_state), (theirs, their_state) = run(fxt), run(torch)
    np.testing.assert_allclose(ours, theirs, atol=1e-2)
    assert our_state == their_state


@pytest.mark.parametrize("name", RULES)
def test_entries_that_are_not_finite(name):
    def run(T):
        p = T.ones(2, 3, requires_grad=True)
        p.grad = T.tensor([[float("nan"), float("inf"), 0], [1e-40, -0.0, 1e30]])
        optimizer = getattr(T.optim, name)([p])
        for _ in range(2):
            optimizer.step()
        return p.detach().numpy()

    np.testing.assert_allclose(run(fxt), run(torch), rtol=1e-5)


@pytest.mark.parametrize("name", [rule for rule in RULES if rule != "Muon"])
def test_no_entries_and_no_dimensions(name):
    def run(T, *shapes):
        ps = [T.ones(shape, requires_grad=True) for shape in shapes]
        optimizer = getattr(T.optim, name)(ps)
        for _ in range(2):
            for p in ps:
                p.grad = T.full_like(p, 2.0)
            optimizer.step()
        return [(p.tolist(), {key: tuple(x.shape) for key, x in optimizer.state[p].items()}) for p in ps]

    ((number, shapes),) = run(fxt, ())
    ((expected, expected_shapes),) = run(torch, ())
    assert number == pytest.approx(expected) and shapes == expected_shapes
    if name == "Adafactor":  # where torch divides by the number of entries
        assert run(fxt, (0, 3))[0][0] == []
    else:
        assert run(fxt, (0, 3)) == run(torch, (0, 3))
