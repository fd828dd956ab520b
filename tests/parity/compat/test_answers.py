"""torch still answers what is kept of its answers, and every case has its answers."""

from __future__ import annotations

import pytest
import torch

from tests.parity.compat.answers import COMMAND, ask, read
from tests.parity.compat.case import gathered
from tests.parity.compat.comparison import check_same, is_tensor

CASES = gathered()
# Of the tolerance with which a case is compared: another processor rounds in another way.
PART = 0.1


def check_alike(fresh, kept, tol: float) -> None:
    """Equal but for rounding."""
    if is_tensor(fresh):
        check_same(fresh, kept, tol)
    elif isinstance(fresh, list | tuple):
        assert len(fresh) == len(kept)
        for a, b in zip(fresh, kept):
            check_alike(a, b, tol)
    else:
        assert fresh == kept


def test_the_answers_are_of_the_cases():
    assert len({case.spelling() for case in CASES}) == len(CASES), "two cases are the same"
    assert read().keys() == {case.spelling() for case in CASES}, COMMAND


@pytest.mark.parametrize("case", CASES, ids=[f"{i}-{case}" for i, case in enumerate(CASES)])
def test_torch_answers_so(case):
    fresh, kept = ask(case, torch), read().get(case.spelling())
    assert kept is not None and fresh.keys() == kept.keys(), COMMAND
    for question, answer in fresh.items():
        try:
            check_alike(answer, kept[question], PART * case.tol)
        except AssertionError as error:
            error.add_note(f"torch answers {question} in another way than it did: {COMMAND}")
            raise
