"""What an operation gave, or was given, is modified in place before the backward pass: wherever torch has gradients
then, because the node does not keep that, so must we."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat import differences
from tests.parity.compat.case import gathered
from tests.parity.compat.comparison import ERRORS, check_close, flat, leaves_of, weighted

CASES = [case for case in gathered() if case.backward and any(spec.grad for spec in case.specs)]
WAYS = {
    "recorded": lambda library, r: r.mul_(2),
    "detached": lambda library, r: r if r._is_view() else (r.detach().mul_(2), r)[1],
}
# What they amount to where nothing is refused: the value that detached changes give has no say in the gradients.
OUT_OF_PLACE = {"recorded": lambda library, r: r * 2, "detached": lambda library, r: r}
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


def gradients(case, library, k: int, change) -> list | None:
    """Those of a weighted sum of the results, after a change of the k-th; None where that has none."""
    tensors = leaves_of(case, library)
    results = flat(case.call(library, tensors))
    if not results[k].requires_grad:
        return None
    results[k] = change(library, results[k])
    leaves = [t for t in tensors if t.requires_grad]
    return list(library.autograd.grad(weighted(results, library), leaves, allow_unused=True))


def attempt(run):
    """(result, None), or (None, the first line of the error) without what it says of Tensors."""
    try:
        return run(), None
    except ERRORS as error:
        return None, str(error).partition("\n")[0].partition(" [")[0]


@pytest.mark.parametrize("case", CASES, ids=[f"{i}-{case}" for i, case in enumerate(CASES)])
def test_result_modified(case):
    for k in range(len(flat(case.call(torch, leaves_of(case, torch))))):
        for way, change in WAYS.items():
            theirs, refused = attempt(lambda k=k, change=change: gradients(case, torch, k, change))
            ours, error = attempt(lambda k=k, change=change: gradients(case, fxt, k, change))
            assert error in (None, refused)
            if error is None:
                if refused is not None:  # then ours are to be right
                    theirs = gradients(case, torch, k, OUT_OF_PLACE[way])
                assert (ours is None) == (theirs is None)
                check_close(ours or [], theirs or [], case.tol)


KEPT = {name for names in differences.OPERANDS_KEPT.values() for name in names.split()}
# How refusals begin; torch has words of its own where its node keeps one of the views that `unbind` gives.
MODIFIED = "one of the variables needed for gradient computation has been modified"
PART_MODIFIED = ("Output 0 of Unbind is a view", "Output 1 of Unbind is a view")


def gradients_by_operands(case, library, k: int | None = None) -> list | None:
    """Those of a weighted sum of the results, after a change of the operand k, which autograd does not record."""
    leaves = leaves_of(case, library)
    operands = [t * 1 if t.requires_grad else t for t in leaves]
    results = flat(case.call(library, operands))
    if not any(r.requires_grad for r in results):
        return None
    if k is not None:
        change(operands[k].detach(), library)
    leaves = [t for t in leaves if t.requires_grad]
    return list(library.autograd.grad(weighted(results, library), leaves, allow_unused=True))


def change(tensor, library) -> None:
    """Modify a Tensor of any dtype; places stay in range."""
    if tensor.is_floating_point() or tensor.is_complex():
        tensor.mul_(2)
    elif tensor.dtype is library.bool:
        tensor.logical_not_()
    else:
        tensor.zero_()


@pytest.mark.parametrize("case", CASES, ids=[f"{i}-{case}" for i, case in enumerate(CASES)])
def test_operand_modified(case):
    for k in range(len(case.specs)):
        theirs, refused = attempt(lambda k=k: gradients_by_operands(case, torch, k))
        ours, error = attempt(lambda k=k: gradients_by_operands(case, fxt, k))
        if error is None:
            if refused is not None:  # then ours are to be right
                theirs = gradients_by_operands(case, torch)
            assert (ours is None) == (theirs is None)
            check_close(ours or [], theirs or [], case.tol)
        else:
            if refused is None:
                assert case.name.rpartition(".")[2] in KEPT
            else:
                assert error == refused or (error.startswith(MODIFIED) and refused.startswith(PART_MODIFIED))


def test_operands_that_are_kept():
    refused = set()
    for case in CASES:
        if (name := case.name.rpartition(".")[2]) in KEPT - refused:
            errors = [
                [attempt(lambda c=case, k=k, x=x: gradients_by_operands(c, x, k))[1] for x in (torch, fxt)]
                for k in range(len(case.specs))
            ]
            refused |= {name} if any(ours and not theirs for theirs, ours in errors) else set()
    assert refused == KEPT


def settled(library, *modules):
    """A Sequential whose parameters are the same in either library."""
    model = library.nn.Sequential(*modules).double()
    with library.no_grad():
        for p in model.parameters():
            p.copy_(library.arange(float(p.numel()), dtype=p.dtype).cos().reshape(p.shape))
    return model


# Programs of images x (2, 4, 6, 6) and a weight w (4, 1, 1) that torch runs.
PROGRAMS = {
    "convolution, norm, relu": lambda t, x, w: settled(
        t, t.nn.Conv2d(4, 4, 3), t.nn.BatchNorm2d(4), t.nn.ReLU(inplace=True)
    )(x),
    "norm without weights": lambda t, x, w: settled(
        t, t.nn.InstanceNorm2d(4), t.nn.Hardtanh(inplace=True), t.nn.GroupNorm(2, 4), t.nn.ELU(inplace=True)
    )(x),
    "layer norm, dropout": lambda t, x, w: settled(
        t, t.nn.LayerNorm(6), t.nn.Dropout(0.0, inplace=True), t.nn.LeakyReLU(inplace=True)
    )(x),
    "gelu, dropout": lambda t, x, w: settled(t, t.nn.GELU(), t.nn.Dropout(0.0, inplace=True))(x),
    "pooling, relu": lambda t, x, w: settled(
        t, t.nn.MaxPool2d(2), t.nn.ReLU(inplace=True), t.nn.AdaptiveMaxPool2d(2), t.nn.SiLU(inplace=True)
    )(x),
    "division": lambda t, x, w: (x / w).mul_(2).div_(w).add_(1),
    "reciprocal": lambda t, x, w: (1 / x).mul_(w),
    "variance and mean": lambda t, x, w: [r.mul_(w[:, 0]) for r in t.var_mean(x, (0, 3))],
    "greatest and least": lambda t, x, w: x.max(1).values.mul_(x.min(1).values.neg_()),
    "part of the sorted": lambda t, x, w: (lambda s: (s[1].mul_(w), s)[1])(x.sort(0).values),
    "operand of what was chosen": lambda t, x, w: (
        lambda z: (lambda chosen: (z.neg_(), [r.values for r in chosen], z)[1:])(
            [z.max(1), z.sort(2), z.topk(2), z.median(3), z.mode(0)]
        )
    )(x * 1),
    "residual": lambda t, x, w: t.nn.functional.layer_norm(x, (6,)).add_(x).relu_(),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_program(program):
    def derivatives(library):
        x, w = (
            library.from_numpy(np.sin(np.arange(np.prod(s)) * 0.7 + 0.4).reshape(s)).requires_grad_()
            for s in ((2, 4, 6, 6), (4, 1, 1))
        )
        results = PROGRAMS[program](library, x, w)
        first = library.autograd.grad(
            weighted(results, library), (x, w), create_graph=True, allow_unused=True
        )
        total = weighted([g for g in first if g is not None], library)
        second = () if total is None else library.autograd.grad(total, (x, w), allow_unused=True)
        return [*first, *second]

    check_close(derivatives(fxt), derivatives(torch), 1e-9)
