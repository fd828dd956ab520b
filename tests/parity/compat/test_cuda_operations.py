"""torch's operations on a CUDA device, which is the stand-in's: torch's answers to the cases, on the device, and
without a copy to the host but where entries decide what the result is."""

from __future__ import annotations

import pytest

import fxgrad.compat as fxt
from tests.cupy_stand_in import recording
from tests.parity.compat.answers import answer
from tests.parity.compat.case import gathered
from tests.parity.compat.comparison import check_close, check_same, flat, is_tensor
from tests.parity.compat.questions import QUESTIONS, backward, double_backward, forward, in_place, value
from tests.together import together

CASES = [case for case in gathered() if case.specs]
pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning"),
    pytest.mark.usefixtures("stand_in"),
]

# Operations whose entries go to the host, by the reason.
READ = {
    "how large the result is": """bincount masked_select nonzero nonzero_static argwhere nn.functional.one_hot
        repeat_interleave segment_reduce unique unique_consecutive""",
    "what NumPy computes": """geqrf histc histogram histogramdd linalg.ldl_factor linalg.ldl_factor_ex
        linalg.ldl_solve""",
    "whether the operands are allowed": """nn.functional.cross_entropy nn.functional.nll_loss
        nn.functional.linear_cross_entropy linalg.lu_factor istft""",
    "how many steps there are": """matrix_exp linalg.matrix_exp special.chebyshev_polynomial_t
        special.chebyshev_polynomial_u
        special.chebyshev_polynomial_v special.chebyshev_polynomial_w special.hermite_polynomial_h
        special.hermite_polynomial_he special.laguerre_polynomial_l special.legendre_polynomial_p
        special.shifted_chebyshev_polynomial_t special.shifted_chebyshev_polynomial_u
        special.shifted_chebyshev_polynomial_v special.shifted_chebyshev_polynomial_w""",
    "numbers given as Tensors": "linalg.pinv linalg.matrix_rank linalg.lstsq",
    "the order of repeated places": "scatter scatter_reduce .scatter_reduce_ index_reduce",
}
READERS = {name for names in READ.values() for name in names.split()}


class OnDevice:
    """fxgrad.compat, whose Tensors from data are on the device."""

    def __getattr__(self, name):
        return getattr(fxt, name)

    def from_numpy(self, array):
        return fxt.from_numpy(array).cuda()


LIBRARY = OnDevice()


def cases(condition=lambda case: True, part: int = 1):
    """The cases for a test, or one of so many of them."""
    chosen = pytest.mark.parametrize("case", [case for case in CASES if condition(case)][::part])
    return lambda check: together(case=lambda case: case.name)(chosen(check))


def cases_for(question, part: int):
    return cases(QUESTIONS[question.__name__][1], part)


def brought(answered):
    """What is on the device, brought to the host: everything has to be there."""
    if is_tensor(answered):
        assert answered.is_cuda
        return answered.detach().cpu()
    return [brought(part) for part in answered] if isinstance(answered, list | tuple) else answered


@cases()
def test_values_are_on_the_device(case):
    with recording() as record:
        results = value(case, LIBRARY)
    check_same(brought(results), answer(case, value), case.tol)
    assert not record.to_host or case.name in READERS


@cases_for(in_place, 2)
def test_values_in_place(case):
    theirs = answer(case, in_place)
    if not isinstance(theirs, str):
        result, grads, count = brought(in_place(case, LIBRARY))
        check_same(result, theirs[0], case.tol)
        check_close(grads, theirs[1], case.tol)
        assert count == theirs[2]


@cases_for(backward, 1)
def test_gradients_are_on_the_device(case):
    with recording() as record:
        ours = backward(case, LIBRARY)
    theirs = answer(case, backward)
    assert (ours is None) == (theirs is None)
    check_close(brought(ours or []), theirs or [], case.tol)
    assert not record.to_host or case.name in READERS


@cases_for(double_backward, 10)
def test_second_derivatives(case):
    ours, theirs = double_backward(case, LIBRARY), answer(case, double_backward)
    nothing = [None] * len(ours or theirs or [])
    check_close(brought(ours or nothing), theirs or nothing, case.tol)


@cases_for(forward, 5)
def test_tangents(case):
    theirs = answer(case, forward)
    if not isinstance(theirs, str):
        ours = brought(forward(case, LIBRARY))
        check_same([value for value, _ in ours], [value for value, _ in theirs], case.tol)
        check_close([tangent for _, tangent in ours], [tangent for _, tangent in theirs], case.tol)


@cases(lambda case: case.vmap and all(spec.values is None for spec in case.specs), 10)
def test_mapped_values_are_on_the_device(case):
    tensors = [fxt.stack([t, t]) for t in case.tensors(LIBRARY)]
    mapped = fxt.func.vmap(lambda *entries: tuple(flat(case.call(fxt, entries))))(*tensors)
    whole = [fxt.stack([y, y]) for y in flat(case.call(fxt, case.tensors(fxt)))]
    check_same(brought(mapped), whole, max(case.tol, 1e-8))


def test_operations_that_read_entries_are_cases():
    assert READERS - {case.name for case in CASES} == set()
