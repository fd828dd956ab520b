"""The first calls of an operation, before anything is compiled for it, give what later calls give."""

import inspect

import numpy as np
import pytest

import fxgrad.compat as fxt
from fxgrad.core.costs import LATE_CALLS
from tests.parity.compat.case import gathered
from tests.together import together

CASES = {
    case.name: case
    for case in reversed(gathered())
    if case.backward and any(spec.grad and spec.dtype == "float64" for spec in case.specs)
}
RANDOM = ("dropout", "rrelu", "bernoulli", "normal", "fractional", "gumbel", "multinomial", "poisson")


def outcome(case, tensors):
    """Results and gradients of a call."""
    given = [t.detach().requires_grad_() if spec.grad else t for t, spec in zip(tensors, case.specs)]
    found = case.call(fxt, given)
    results = [
        y for y in (found if isinstance(found, tuple | list) else [found]) if isinstance(y, fxt.Tensor)
    ]
    recorded = [y for y in results if y.requires_grad]
    if recorded:
        fxt.autograd.backward(recorded, [fxt.ones_like(y) for y in recorded])
    return [y.detach() for y in results], [x.grad for x in given]


@together("name")
@pytest.mark.parametrize("name", [name for name in CASES if not any(word in name for word in RANDOM)])
def test_first_and_later_calls_agree(name):
    case = CASES[name]
    tensors = case.tensors(fxt)
    (results, grads), *_, (last_results, last_grads) = [
        outcome(case, tensors) for _ in range(2 * LATE_CALLS + 2)
    ]
    for first, last in zip([*results, *grads], [*last_results, *last_grads], strict=True):
        assert (first is None) is (last is None)
        if first is not None:
            assert (first.dtype, first.shape, first.stride()) == (last.dtype, last.shape, last.stride())
            np.testing.assert_allclose(
                first.resolve_conj().numpy(), last.resolve_conj().numpy(), rtol=1e-9, atol=1e-11
            )


@pytest.mark.parametrize(
    "wrong",
    [
        lambda add, x: add(),
        lambda add, x: add(x, x, x, x),
        lambda add, x: add(x, x, beta=2),
        lambda add, x: add(x, input=x),
        lambda add, x: add("a", x),
    ],
)
def test_what_is_wrong_is_said_in_the_same_words(wrong):
    x = fxt.ones(2)
    messages = []
    for _ in range(LATE_CALLS + 2):
        with pytest.raises(Exception) as caught:
            wrong(fxt.hypot, x)
        messages.append((type(caught.value), str(caught.value)))
    assert len(set(messages)) == 1


def test_the_signature_is_there_before_and_after():
    before = inspect.signature(fxt.atan2)
    for _ in range(LATE_CALLS + 2):
        fxt.atan2(fxt.ones(2), fxt.ones(2))
    assert inspect.signature(fxt.atan2) == before
