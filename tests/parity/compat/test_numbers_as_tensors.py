"""Whole numbers given as Tensors without dimensions, alone and inside sizes, and numbers given for Tensors, under torch
and fxgrad.compat."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.case import Case, T, gathered
from tests.parity.compat.comparison import check_same, outcome

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")


def with_tensor(case: Case, place: int | str, library) -> Case:
    """The call with a Tensor for the number at a place, or for the first number of the sizes there."""
    given = case.args[place] if isinstance(place, int) else case.kwargs[place]
    if type(given) is int:
        made = library.tensor(given)
    else:
        made = type(given)([library.tensor(given[0]), *given[1:]])
    if isinstance(place, int):
        return replace(case, args=(*case.args[:place], made, *case.args[place + 1 :]))
    return replace(case, kwargs=case.kwargs | {place: made})


def is_whole(given) -> bool:
    """Whether these are a whole number, or several."""
    return type(given) is int or (
        type(given) in (tuple, list) and len(given) > 0 and all(type(x) is int for x in given)
    )


def collect() -> dict[str, dict[str, tuple[Case, int | str]]]:
    """(case, place) of every whole number of every operation, once, by operation and by place."""
    found: dict[str, dict[str, tuple[Case, int | str]]] = {}
    for case in gathered():
        for place, given in (*enumerate(case.args), *case.kwargs.items()):
            if is_whole(given):
                found.setdefault(case.name, {}).setdefault(f"{place}-{type(given).__name__}", (case, place))
    return found


FOUND = collect()


def result(case: Case, place: int | str, library):
    """(results, class of the error)."""
    changed = with_tensor(case, place, library)
    return outcome(lambda: changed.call(library, changed.tensors(library)))


@pytest.mark.parametrize("name", FOUND)
def test_every_whole_number_may_be_a_tensor(name):
    for case, place in FOUND[name].values():
        theirs, refused = result(case, place, torch)
        if refused is None:  # what torch refuses may be taken here
            ours, error = result(case, place, fxt)
            assert error is None, (place, error)
            check_same(ours, theirs, 1e-6)


def test_there_are_whole_numbers():
    assert sum(map(len, FOUND.values())) > 400


@pytest.mark.parametrize("t", [fxt, torch])
def test_what_is_no_whole_number_is_refused(t):
    x = t.arange(6.0)
    for given in (t.tensor(2.0), t.tensor([2, 2])):
        with pytest.raises(TypeError, match=r"topk\(\): argument 'k'.* must be int, not Tensor"):
            t.topk(x, given)
    assert t.topk(x, t.tensor([2])).indices.tolist() == [5, 4]


def test_numbers_are_read_anew():
    """What is kept of one call does not hold for another number in the same Tensor."""
    x, k = fxt.arange(6.0, requires_grad=True), fxt.tensor(2)
    assert fxt.topk(x, k).values.tolist() == [5, 4]
    k.add_(1)
    found = fxt.topk(x, k).values
    assert found.tolist() == [5, 4, 3]
    found.sum().backward()
    assert x.grad.tolist() == [0, 0, 0, 1, 1, 1]


# -- the other way round ------------------------------------------
def with_number(case: Case, place: int | str) -> Case:
    """The call with a number for the Tensor at a place."""
    given = case.args[place] if isinstance(place, int) else case.kwargs[place]
    number = 1.0 if given.dtype.startswith(("float", "bfloat")) else given.dtype == "bool" or 1
    if isinstance(place, int):
        return replace(case, args=(*case.args[:place], number, *case.args[place + 1 :]))
    return replace(case, kwargs=case.kwargs | {place: number})


def collect_tensors() -> dict[str, dict[str, Case]]:
    """The calls with a number for a Tensor, once for each place and kind of number, by operation."""
    found: dict[str, dict[str, Case]] = {}
    for case in gathered():
        first = case.name.startswith(".")  # of a method
        for place, given in [*enumerate(case.args), *case.kwargs.items()][first:]:
            if isinstance(given, T):
                found.setdefault(case.name, {}).setdefault(f"{place}-{given.dtype}", with_number(case, place))
    return found


TENSORS = collect_tensors()


# A number beside a Tensor is a limit, and one Tensor among others; torch's losses in Python ask for the size of one.
OTHERWISE = {
    "clamp",
    "einsum",
    "positive",
    "nn.functional.gaussian_nll_loss",
    "nn.functional.multilabel_soft_margin_loss",
}


@pytest.mark.parametrize("name", sorted({*TENSORS} - OTHERWISE))
def test_numbers_are_taken_for_tensors_where_torch_takes_them(name):
    for place, case in TENSORS[name].items():
        theirs, refused = outcome(lambda case=case: case.call(torch, case.tensors(torch)))
        ours, error = outcome(lambda case=case: case.call(fxt, case.tensors(fxt)))
        if refused is None:
            assert error is None, (place, error)
            check_same(ours, theirs, 1e-6)
        elif refused is TypeError:
            assert error is not None and issubclass(error, TypeError | AttributeError), (place, error)
