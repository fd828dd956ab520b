"""What every operation's results are like: of the dtype, and in the order of memory, of torch's."""

from __future__ import annotations

import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.case import gathered
from tests.parity.compat.comparison import flat, leaves_of, outcome, weighted

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

FIRST = {case.name: case for case in reversed(gathered()) if any(s.dtype == "float64" for s in case.specs)}
TRANSPOSED = {"svd"}  # V is the adjoint of what is computed
each = pytest.mark.parametrize("name", FIRST)


def described(case, library) -> list:
    """(dtype, shape) of the results, and of the gradients, which are there where None is not."""
    tensors = leaves_of(case, library)
    results = flat(case.call(library, tensors))
    total = weighted(results, library) if case.backward else None
    leaves = [t for t in tensors if t.requires_grad]
    grads = [] if total is None else library.autograd.grad(total, leaves, allow_unused=True)
    return [None if r is None else (str(r.dtype), tuple(r.shape)) for r in [*results, *grads]]


@each
def test_results_of_half_precision(name):
    case = FIRST[name].changed(lambda s: s.but(dtype="bfloat16") if s.dtype == "float64" else s)
    theirs, error = outcome(lambda: described(case, torch))
    if error is None:
        ours = described(case, fxt)
        assert len(ours) == len(theirs)
        assert all(a == b for a, b in zip(ours, theirs) if a is not None and b is not None)


@each
def test_results_in_the_order_of_rows(name):
    case = FIRST[name]
    ours, theirs = (flat(case.call(library, case.tensors(library))) for library in (fxt, torch))
    for a, b in zip(ours, theirs, strict=True):
        assert a.is_contiguous() or not b.is_contiguous() or name in TRANSPOSED
