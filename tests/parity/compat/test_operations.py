"""Every operation of fxgrad.compat against torch: values, dtypes, gradients of two orders, forward mode, vmap, in
place, `out=`, and the names of nodes.

The cases are in cases_*.py, one file a family.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat import differences
from tests.parity.compat.case import T, gathered
from tests.parity.compat.comparison import (
    ROUNDING,
    check_close,
    check_same,
    flat,
    from_numpy,
    gradients,
    leaves_of,
    outcome,
    weighted,
    weights,
)

CASES = gathered()
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

OTHER_NODES = {name for names in differences.NODES.values() for name in names.split()}
BATCH = 2


def cases(condition=lambda case: True):
    """The cases for a test, named and numbered."""
    chosen = [case for case in CASES if condition(case)]
    return pytest.mark.parametrize("case", chosen, ids=[f"{i}-{case}" for i, case in enumerate(chosen)])


def bare(case) -> str:
    """The name of the operation."""
    return case.name.rpartition(".")[2]


def differentiable(case) -> bool:
    return case.backward and any(spec.grad for spec in case.specs)


# -- values -----------------------------------------------------------------------------------------------------------
@cases()
def test_value(case):
    check_same(case.call(fxt, case.tensors(fxt)), case.call(torch, case.tensors(torch)), case.tol)


def transposed(case):
    """Operands that are not contiguous."""
    return case.changed(lambda spec: spec.but(layout="F"))


def single(case):
    """Operands of single precision."""
    return case.changed(
        lambda spec: spec.but(dtype=spec.dtype.replace("float64", "float32").replace("128", "64"))
    )


def empty(case):
    """Operands without entries: the first size is 0 wherever it occurs."""
    first = next((n for spec in case.specs for n in spec.shape if n > 1), None)
    sizes = lambda spec: tuple(0 if n == first else n for n in spec.shape)  # noqa: E731
    given = any(spec.values is not None for spec in case.specs)
    return case if given else case.changed(lambda spec: spec.but(shape=sizes(spec)))


@cases(lambda case: case.specs)
def test_value_of_other_operands(case):
    for change in (transposed, single, empty):
        changed = change(case)
        theirs, error = outcome(lambda changed=changed: changed.call(torch, changed.tensors(torch)))
        if error is None:
            tol = max(case.tol, 1e-4) if change is single else case.tol
            check_same(changed.call(fxt, changed.tensors(fxt)), theirs, tol)
        elif change is transposed and bare(case) not in differences.LAYOUTS:
            _, ours = outcome(lambda changed=changed: changed.call(fxt, changed.tensors(fxt)))
            assert ours is error


# -- derivatives ------------------------------------------------------------------------------------------------------
def check_gradients(case, order: int) -> None:
    theirs, ours = gradients(case, torch, order), gradients(case, fxt, order)
    assert (ours is None) == (theirs is None) or order == 2
    nothing = [None] * len(ours or theirs or [])
    check_close(ours or nothing, theirs or nothing, case.tol)


@cases(differentiable)
def test_backward(case):
    check_gradients(case, 1)


@cases(lambda case: differentiable(case) and case.double)
def test_double_backward(case):
    check_gradients(case, 2)


def nodes(case, library) -> list[str | None]:
    """The names of the nodes of the results, without torch's counters."""
    results = flat(replace(case, then=None).call(library, leaves_of(case, library)))
    return [None if r.grad_fn is None else re.sub(r"\d+$", "", r.grad_fn.name()) for r in results]


@cases(differentiable)
def test_node(case):
    ours, theirs = nodes(case, fxt), nodes(case, torch)
    assert ours == theirs or bare(case) in OTHER_NODES


def test_other_nodes_are_others():
    chosen = [case for case in CASES if differentiable(case) and bare(case) in OTHER_NODES]
    differing = {bare(case) for case in chosen if nodes(case, fxt) != nodes(case, torch)}
    assert differing == OTHER_NODES


def tangents(case) -> list:
    """A direction for each operand, of the same form, such as symmetric; None for one that takes no gradient."""
    return [
        spec.but(values=None, low=-1.0, high=1.0).array(seed + 1000) if spec.grad else None
        for seed, spec in case.specifications()
    ]


def pushed(case, library) -> list:
    """Value and tangent of every result by forward mode."""
    forward_ad = library.autograd.forward_ad
    with forward_ad.dual_level():
        duals = [
            t if d is None else forward_ad.make_dual(t, from_numpy(d, t.dtype, library))
            for t, d in zip(case.tensors(library), tangents(case))
        ]
        return [tuple(forward_ad.unpack_dual(r)) for r in flat(case.call(library, duals))]


def central_difference(case, step: float = 1e-6) -> list:
    """The tangents by values at both sides."""

    def at(distance: float) -> list:
        moved = [
            t if d is None else fxt.from_numpy(t.numpy() + distance * d)
            for t, d in zip(case.tensors(fxt), tangents(case))
        ]
        return [r.numpy() for r in flat(case.call(fxt, moved))]

    return [(b - a) / (2 * step) for a, b in zip(at(-step), at(step))]


@cases(lambda case: differentiable(case) and case.forward)
def test_forward(case):
    ours = pushed(case, fxt)
    try:
        theirs = pushed(case, torch)
    except NotImplementedError:
        for (_, tangent), expected in zip(ours, central_difference(case), strict=True):
            if tangent is not None:
                np.testing.assert_allclose(tangent.numpy(), expected, rtol=1e-5, atol=1e-5)
        return
    check_same([value for value, _ in ours], [value for value, _ in theirs], case.tol)
    check_close([tangent for _, tangent in ours], [tangent for _, tangent in theirs], case.tol)


# -- vmap -------------------------------------------------------------------------------------------------------------
def mapped(case, chosen: list[int]) -> tuple[list, list]:
    """(results, gradients) of vmap over a leading axis of the operands at `chosen`."""
    case = batched(case, chosen)
    tensors = leaves_of(case, fxt)
    axes = tuple(0 if i in chosen else None for i in range(len(tensors)))
    results = flat(fxt.func.vmap(lambda *entries: case.call(fxt, entries), axes)(*tensors))
    total = weighted(results, fxt) if case.backward else None
    return results, gradients_of(total, tensors)


def looped(case, chosen: list[int]) -> tuple[list, list]:
    """The same by a loop over the entries."""
    tensors = leaves_of(batched(case, chosen), fxt)
    entries = [
        flat(case.call(fxt, [t[i] if k in chosen else t for k, t in enumerate(tensors)]))
        for i in range(BATCH)
    ]
    terms = [
        weighted(results, fxt, lambda shape, k, i=i: weights((BATCH, *shape), k)[i])
        for i, results in enumerate(entries)
    ]
    total = None if terms[0] is None or not case.backward else sum(terms[1:], terms[0])
    return [fxt.stack(results) for results in zip(*entries)], gradients_of(total, tensors)


def batched(case, chosen: list[int]):
    places = iter(range(len(case.specs)))
    return case.changed(lambda spec: spec.batched(BATCH) if next(places) in chosen else spec)


def gradients_of(total, tensors: list) -> list:
    leaves = [t for t in tensors if t.requires_grad]
    return (
        [None] * len(leaves) if total is None else list(fxt.autograd.grad(total, leaves, allow_unused=True))
    )


@cases(lambda case: case.vmap and case.specs)
def test_vmap(case):
    count = len(case.specs)
    tol = 1e-4 if any(f"torch.{spec.dtype}" in ROUNDING for spec in case.specs) else 1e-8
    for chosen in [[i] for i in range(count)] + ([list(range(count))] if count > 1 else []):
        for ours, expected in zip(mapped(case, chosen), looped(case, chosen)):
            check_close(ours, expected, max(case.tol, tol))


# -- in place and out= ------------------------------------------------------------------------------------------------
def has_method_in_place(case) -> bool:
    first = next(iter(case.args), None)
    return isinstance(first, T) and hasattr(torch.Tensor, f"{case.name}_") and hasattr(torch, case.name)


def modified(case, library):
    """(result, gradients, change of the version) of the method in place, which returns its Tensor."""
    tensors = leaves_of(case, library)
    target = tensors[0].clone()
    args, kwargs = case.filled(library, [target, *tensors[1:]])
    version = target._version
    result = getattr(target, f"{case.name}_")(*args[1:], **kwargs)
    assert result is target
    total = weighted(result, library)
    leaves = [t for t in tensors if t.requires_grad]
    grads = [] if total is None else library.autograd.grad(total, leaves, allow_unused=True)
    return result, grads, target._version - version


@cases(has_method_in_place)
def test_in_place(case):
    theirs, error = outcome(lambda: modified(case, torch))
    if error is not None:
        expected = {error, None} if bare(case) in differences.UNDIFFERENTIATED else {error}
        assert outcome(lambda: modified(case, fxt))[1] in expected
        return
    ours = modified(case, fxt)
    check_same(ours[0], theirs[0], case.tol)
    check_close(ours[1], theirs[1], case.tol)
    assert ours[2] == theirs[2]


def written(case, library, tensors):
    """(what is returned, what is written into) with `out=`."""
    results = flat(case.call(library, case.tensors(library)))
    targets = [library.empty(tuple(r.shape), dtype=r.dtype) for r in results]
    out = targets[0] if len(targets) == 1 else tuple(targets)
    return case.call(library, tensors, out=out), targets


@cases(lambda case: not case.name.startswith(".") and case.then is None)
def test_out(case):
    theirs, error = outcome(lambda: written(case, torch, case.tensors(torch)))
    if error is TypeError or bare(case) in differences.NO_OUT:
        return
    ours, ours_error = outcome(lambda: written(case, fxt, case.tensors(fxt)))
    assert ours_error is error
    if error is None:
        returned, targets = ours
        assert all(r is t for r, t in zip(flat(returned), targets, strict=True))
        check_same(targets, theirs[1], case.tol)
        # A history is refused, also where torch, which composes the operation of others, lets it through.
        recorded = any(r.requires_grad for r in flat(case.call(fxt, leaves_of(case, fxt))))
        refused = outcome(lambda: written(case, fxt, leaves_of(case, fxt)))[1] is RuntimeError
        assert refused == recorded
