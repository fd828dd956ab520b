"""Every operation under saved-tensor hooks: its derivatives are what they are without, whatever its node keeps and
wherever the hooks put it; and so they are after all memory that it was computed from and in was overwritten."""

from __future__ import annotations

import pytest

import fxgrad.compat as fxt
from tests.parity.compat.case import gathered
from tests.parity.compat.comparison import check_close, flat, gradients, leaves_of, weighted
from tests.parity.compat.questions import differentiable, is_first
from tests.together import together

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
CASES = [case for case in gathered() if is_first(case) and differentiable(case)]


def every_case(check):
    return together(case=lambda case: case.name)(pytest.mark.parametrize("case", CASES)(check))


class Stored(fxt.autograd.graph.saved_tensors_hooks):
    """Hooks that keep copies elsewhere, and give others back."""

    def __init__(self) -> None:
        self.store: list = []
        super().__init__(self.put, self.take)

    def put(self, tensor):
        self.store.append(tensor.detach().clone())
        return len(self.store) - 1

    def take(self, place):
        return self.store[place].clone()


def compare(ours, expected, case) -> None:
    assert (ours is None) == (expected is None)
    check_close(ours or [], expected or [], case.tol)


@every_case
def test_derivatives_with_hooks(case):
    for order in (1, 2) if case.double else (1,):
        fxt.manual_seed(0)
        expected = gradients(case, fxt, order)
        fxt.manual_seed(0)
        with Stored():
            found = gradients(case, fxt, order)
        compare(found, expected, case)


@every_case
def test_derivatives_after_everything_was_overwritten(case):
    def run(overwrites):
        fxt.manual_seed(0)
        leaves = leaves_of(case, fxt)
        tensors = [t.clone() for t in leaves]
        results = flat(case.call(fxt, tensors))
        total = weighted(results, fxt)
        for t in [*tensors, *results] if overwrites else ():
            t.data.fill_(1)
        wanted = [t for t in leaves if t.requires_grad]
        return None if total is None else fxt.autograd.grad(total, wanted, allow_unused=True)

    expected = run(overwrites=False)
    with fxt.autograd.graph.allow_mutation_on_saved_tensors():
        compare(run(overwrites=True), expected, case)
