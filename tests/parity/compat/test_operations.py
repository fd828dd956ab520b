"""Every operation of fxgrad.compat against torch's answers: values, dtypes, gradients of two orders, forward mode,
vmap, in place, `out=`, the names of nodes, and how results lie in memory.

The cases are in cases_*.py, one file a family; what is asked about them is in questions.py, what torch answers in
answers.npz.
"""

from __future__ import annotations

import numpy as np
import pytest

import fxgrad.compat as fxt
from fxgrad.compat._declare.operation import OPERATIONS, Operation
from fxgrad.compat._declare.spaces import load_families
from tests.parity.compat import differences
from tests.parity.compat.answers import answer
from tests.parity.compat.case import gathered
from tests.parity.compat.comparison import (
    ROUNDING,
    attempt,
    check_close,
    check_same,
    flat,
    leaves_of,
    weighted,
    weights,
)
from tests.parity.compat.questions import (
    CHANGES,
    OTHER_DTYPES,
    QUESTIONS,
    backward,
    contiguous,
    double_backward,
    forward,
    half_precision,
    in_place,
    nodes,
    out,
    single_precision,
    tangents,
    transpose,
    value,
    value_of_other_dtypes,
    value_of_other_operands,
    write,
)
from tests.together import together

CASES = gathered()
pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::DeprecationWarning", "ignore::numpy.exceptions.ComplexWarning"
)

OTHER_NODES = {name for names in differences.NODES.values() for name in names.split()}
BATCH = 2


def cases(condition=lambda case: True):
    """The cases for a test: those of an operation in one."""
    chosen = pytest.mark.parametrize("case", [case for case in CASES if condition(case)])
    return lambda check: together(case=lambda case: case.name)(chosen(check))


def cases_for(question):
    """Those about which a question is asked."""
    return cases(QUESTIONS[question.__name__][1])


def bare(case) -> str:
    """The name of the operation."""
    return case.name.rpartition(".")[2]


def test_every_operation_has_a_case(monkeypatch):
    load_families()
    used = set()
    call = Operation.__call__

    def recorded(operation, *args):
        used.add(operation.name)
        return call(operation, *args)

    monkeypatch.setattr(Operation, "__call__", recorded)
    for operation in OPERATIONS.values():
        operation.plans.clear()  # with a plan that is known it is not called
    for case in CASES:
        name = case.name.lstrip(".").removesuffix("_")  # by which it is known where it takes the fast path
        used.update((name.replace(".", "_"), name.rpartition(".")[2]))
        attempt(lambda case=case: case.call(fxt, case.tensors(fxt)))
    assert set(OPERATIONS) - used == differences.UNTESTED.keys()


# -- values -----------------------------------------------------------------------------------------------------------
@cases_for(value)
def test_value(case):
    check_same(value(case, fxt), answer(case, value), case.tol)


@cases_for(value_of_other_operands)
def test_value_of_other_operands(case):
    theirs = dict(zip(CHANGES, answer(case, value_of_other_operands), strict=True))
    for change, expected in theirs.items():
        if not isinstance(expected, str):
            tol = max(case.tol, 1e-4) if change is single_precision else case.tol
            check_same(value(change(case), fxt), expected, tol)
        elif change is transpose and bare(case) not in differences.LAYOUTS:
            assert attempt(lambda change=change: value(change(case), fxt)) == expected


OTHERWISE = {
    (name, dtype)
    for rows in differences.OTHER_DTYPES.values()
    for dtypes, names in rows.items()
    for dtype in dtypes.split()
    for name in names.split()
}


@cases_for(value_of_other_dtypes)
def test_value_of_other_dtypes(case):
    answers = value_of_other_dtypes(case, fxt), answer(case, value_of_other_dtypes)
    for dtype, ours, theirs in zip(OTHER_DTYPES, *answers, strict=True):
        if (case.name, dtype) in OTHERWISE:
            continue
        refused = isinstance(ours, str), isinstance(theirs, str)
        assert refused[0] == refused[1], f"{dtype}: {ours} here, {theirs} in torch"
        if not refused[0]:
            check_same(ours, theirs, case.tol)
        else:  # the class that a program catches
            assert ours == theirs or {ours, theirs} == {"RuntimeError", "NotImplementedError"}


@cases_for(contiguous)
def test_results_in_the_order_of_rows(case):
    for ours, theirs in zip(contiguous(case, fxt), answer(case, contiguous), strict=True):
        assert ours or not theirs


@cases_for(half_precision)
def test_results_of_half_precision(case):
    theirs = answer(case, half_precision)
    if not isinstance(theirs, str):
        ours = half_precision(case, fxt)
        assert len(ours) == len(theirs)
        assert all(a == b for a, b in zip(ours, theirs) if a is not None and b is not None)


# -- derivatives ------------------------------------------------------------------------------------------------------
def check_gradients(ours, theirs, tol: float) -> None:
    nothing = [None] * len(ours or theirs or [])
    check_close(ours or nothing, theirs or nothing, tol)


@cases_for(backward)
def test_backward(case):
    ours, theirs = backward(case, fxt), answer(case, backward)
    assert (ours is None) == (theirs is None)
    check_gradients(ours, theirs, case.tol)


@cases_for(double_backward)
def test_double_backward(case):
    check_gradients(double_backward(case, fxt), answer(case, double_backward), case.tol)


@cases_for(nodes)
def test_node(case):
    assert nodes(case, fxt) == answer(case, nodes) or bare(case) in OTHER_NODES


def test_other_nodes_are_others():
    chosen = [case for case in CASES if QUESTIONS["nodes"][1](case) and bare(case) in OTHER_NODES]
    differing = {bare(case) for case in chosen if nodes(case, fxt) != answer(case, nodes)}
    assert differing == OTHER_NODES


def central_difference(case, step: float = 1e-6) -> list:
    """The tangents by values at both sides."""

    def at(distance: float) -> list:
        moved = [
            t if d is None else fxt.from_numpy(t.numpy() + distance * d)
            for t, d in zip(case.tensors(fxt), tangents(case))
        ]
        return [r.numpy() for r in flat(case.call(fxt, moved))]

    return [(b - a) / (2 * step) for a, b in zip(at(-step), at(step))]


@cases_for(forward)
def test_forward(case):
    ours, theirs = forward(case, fxt), answer(case, forward)
    if theirs == "NotImplementedError":
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
@cases_for(in_place)
def test_in_place(case):
    theirs = answer(case, in_place)
    if isinstance(theirs, str):
        ours = attempt(lambda: in_place(case, fxt))
        assert ours == theirs or (bare(case) in differences.UNDIFFERENTIATED and isinstance(ours, list))
        return
    ours = in_place(case, fxt)
    check_same(ours[0], theirs[0], case.tol)
    check_close(ours[1], theirs[1], case.tol)
    assert ours[2] == theirs[2]


@cases_for(out)
def test_out(case):
    theirs = answer(case, out)
    if theirs == "TypeError":
        return
    if isinstance(theirs, str):
        assert attempt(lambda: out(case, fxt)) == theirs
        return
    check_same(out(case, fxt), theirs, case.tol)
    # A history is refused, also where torch, which composes the operation of others, lets it through.
    recorded = any(r.requires_grad for r in flat(case.call(fxt, leaves_of(case, fxt))))
    refused = attempt(lambda: write(case, fxt, leaves_of(case, fxt))) == "RuntimeError"
    assert refused == recorded
