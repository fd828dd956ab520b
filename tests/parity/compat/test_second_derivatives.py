"""Which gradients depend on what, and which second derivatives are missing, under torch and fxgrad.compat."""

from __future__ import annotations

import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.case import Case, gathered
from tests.parity.compat.comparison import outcome

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")

# Where more is recorded than in torch, or less: derivatives of step functions, of sums over one entry, by `bias`.
OTHERWISE = {
    *(
        "cumprod",
        "copysign",
        ".copysign_",
        "div",
        "det",
        "fmod",
        ".fmod_",
        "norm",
        "pow",
        "remainder",
        ".remainder_",
    ),
    *(
        "linalg.det",
        "linalg.matrix_norm",
        "linalg.norm",
        "linalg.vector_norm",
        "log_softmax",
        "softmax",
        ".softmax",
    ),
    *(
        f"nn.functional.{name}"
        for name in ("adaptive_avg_pool1d", "adaptive_avg_pool2d", "batch_norm", "conv1d")
    ),
    *(f"nn.functional.{name}" for name in ("conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d")),
    *(f"nn.functional.{name}" for name in ("conv_transpose3d", "grid_sample", "instance_norm", "layer_norm")),
    *(f"nn.functional.{name}" for name in ("log_softmax", "scaled_dot_product_attention", "smooth_l1_loss")),
    *(f"nn.functional.{name}" for name in ("pad", "softmax", "softmin")),
}


def collect() -> dict[str, list[Case]]:
    """The calls that are differentiated twice, by operation."""
    found: dict[str, list[Case]] = {}
    for case in gathered():
        if case.backward and case.double and case.name not in OTHERWISE:
            found.setdefault(case.name, []).append(case)
    return found


CASES = collect()


def total(library, given):
    """The sum of all Tensors that require a gradient; None if there are none."""
    tensors = [given] if isinstance(given, library.Tensor) else given
    parts = [x for x in tensors if isinstance(x, library.Tensor) and x.requires_grad]
    return sum([(x.abs() if x.is_complex() else x).sum() for x in parts]) if parts else None


def dependence(library, case: Case):
    """Which gradients there are, which of them require a gradient, and which second derivatives there are."""
    tensors = case.tensors(library)
    kept = [x.requires_grad_() for (_, t), x in zip(case.specifications(), tensors) if t.grad]
    library.manual_seed(0)
    copies = [x * 1 if case.name.endswith("_") and x.requires_grad else x for x in tensors]
    result = total(library, case.call(library, copies))
    if result is None or not kept:
        return None
    first = library.autograd.grad(result, kept, create_graph=True, allow_unused=True)
    again = total(library, [g for g in first if g is not None])
    second = [None] if again is None else library.autograd.grad(again, kept, allow_unused=True)
    required = [g is not None and g.requires_grad for g in first]
    return [g is None for g in first], required, [h is None for h in second]


@pytest.mark.parametrize("name", CASES)
def test_second_derivatives_are_there_where_torchs_are(name):
    for case in CASES[name]:
        theirs, refused = outcome(lambda case=case: dependence(torch, case))
        if refused is None:
            assert dependence(fxt, case) == theirs, str(case)
