"""Operations whose nodes keep results do not compute them again in the backward pass."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import fxgrad.compat as torch
from fxgrad import ops

A = np.eye(3) * 3 + np.arange(9.0).reshape(3, 3) / 10
MADE_BY = {  # operations, by NumPy's function that does the work
    "inv": lambda a: torch.linalg.inv(a),
    "qr": lambda a: torch.linalg.qr(a)[1],
    "eigh": lambda a: torch.linalg.eigh(a @ a.mT)[0],
    "svd": lambda a: torch.linalg.svd(a)[0],
    "cholesky": lambda a: torch.linalg.cholesky(a @ a.mT, upper=True),
}


@pytest.mark.parametrize("name", ["inv", "qr", "eigh", "svd"])
def test_backward_reads_the_results(name, monkeypatch):
    calls = []
    function = getattr(np.linalg, name)

    def counted(*args, **options):
        calls.append(name)
        return function(*args, **options)

    monkeypatch.setattr(np.linalg, name, counted)
    leaf = torch.tensor(A, requires_grad=True)
    result = MADE_BY[name](leaf)
    before = len(calls)
    assert before
    result.sum().backward()
    assert len(calls) == before
    assert leaf.grad is not None


@pytest.mark.parametrize("name", MADE_BY)
def test_second_derivatives_lead_through_the_results(name):
    leaf = torch.tensor(A, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda a: MADE_BY[name](a).abs(), (leaf,))


def test_what_was_rearranged_to_give_the_result_is_read_from_it():
    a = torch.tensor(A, requires_grad=True)
    b = torch.ones(3, dtype=torch.float64, requires_grad=True)
    given = b * 1
    result = torch.linalg.solve(a, given)  # a column inside
    with torch.no_grad():
        given.zero_()
    found = torch.autograd.grad(result.sum(), (a, b))
    given = torch.linalg.inv(a.detach()).T @ torch.ones(3, dtype=torch.float64)
    assert torch.allclose(found[1], given)
    assert torch.allclose(found[0], -torch.outer(given, result.detach()))


FIRST_CALLS = {
    "relu_": lambda x: torch.nn.functional.relu(x.view(-1), inplace=True),
    "sin": torch.sin,
    "pow": lambda x: x**3,
    "gelu": torch.nn.functional.gelu,
    "matmul": lambda x: x @ x,
}


@pytest.mark.parametrize("name", FIRST_CALLS)
def test_what_is_kept_of_the_first_call_holds_no_graph(name):
    class Hook:
        def __call__(self, gradient):
            return None

    def run():
        above, hook = torch.ones(2, 2, dtype=torch.float64, requires_grad=True) * 1, Hook()
        above.grad_fn.register_hook(hook)
        FIRST_CALLS[name](above)
        return weakref.ref(hook)

    for primitive in (ops.relu, ops.sin, ops.power):
        primitive.primitive.pullbacks.clear()
    kept = run()
    gc.collect()
    assert kept() is None
