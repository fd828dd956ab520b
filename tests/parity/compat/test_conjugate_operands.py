"""Every operation on complex numbers gives of conjugate views what it gives of Tensors without the bit: values,
gradients, and what it writes. torch is not asked."""

from __future__ import annotations

import numpy as np
import pytest

import fxgrad.compat as torch
from tests.parity.compat.case import gathered
from tests.parity.compat.comparison import ERRORS, as_numpy, flat

REFUSED = {"view_as_real"}  # as torch does
CASES = [
    case
    for case in gathered()
    if any(spec.dtype.startswith("complex") for spec in case.specs) and case.name not in REFUSED
]


def conjugate_view(tensor):
    """A view with the conjugate bit that shows the same numbers."""
    return tensor.conj().clone().conj() if tensor.is_complex() else tensor


def run(case, conjugated: bool):
    """(results, gradients, operands afterwards), or the class of the error."""
    torch.manual_seed(0)
    tensors = case.tensors(torch)
    leaves = [t.requires_grad_() for t in tensors if t.is_complex() and case.backward]
    inplace = case.name.endswith("_")
    operands = [t.clone() if inplace and case.backward else t for t in tensors]
    operands = [conjugate_view(t) for t in operands] if conjugated else operands
    try:
        results = flat(case.call(torch, operands))
    except ERRORS as error:
        return type(error)
    gradients = []
    differentiable = [r for r in results if isinstance(r, torch.Tensor) and r.requires_grad]
    if differentiable and leaves:
        total = sum((r * r.conj()).real.sum() for r in differentiable)
        gradients = torch.autograd.grad(total, leaves, allow_unused=True)
    shown = [as_numpy(r) if isinstance(r, torch.Tensor) else r for r in results]
    return shown, [None if g is None else as_numpy(g) for g in gradients], [as_numpy(t) for t in operands]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES, ids=[f"{i}-{case}" for i, case in enumerate(CASES)])
def test_alike(case):
    found, expected = run(case, True), run(case, False)
    if isinstance(expected, type):
        assert found is expected
        return
    for some, others in zip(found, expected, strict=True):
        for a, b in zip(some, others, strict=True):
            if b is None or not isinstance(b, np.ndarray):
                assert (a is None) == (b is None)
            else:
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
