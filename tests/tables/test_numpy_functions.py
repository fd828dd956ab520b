"""What NumPy's own functions do with traced values, measured: they work, or their errors say what to write."""

import numpy as np
import pytest

import fxgrad as fx
from tests.numpy.test_plain_numpy_names import TABLE
from tests.tables.numpy_functions import FURTHER, OTHER, WORKS, measure, read
from tests.versions import with_new_numpy


@with_new_numpy
def test_a_call_works_or_says_what_to_write():
    found = measure()
    assert len(found) > len([*TABLE, *FURTHER]) - 10
    assert {call: told for call, (state, told) in found.items() if state == OTHER} == {}
    kept = read()
    if kept["numpy"] == np.__version__:
        assert kept["states"] == {call: state for call, (state, _) in found.items()}


def test_the_table_counts_what_is_called():
    states = read()["states"]
    assert len(states) > 500 and OTHER not in states.values()
    assert sum(state == WORKS for state in states.values()) > 480


@pytest.mark.parametrize(
    "call, told",
    [
        (lambda x: [1.0 * i for i in np.nditer(x)], "np.ndindex"),
        (lambda x: np.nested_iters([x], [[0], [1]]), "np.ndindex"),
        (lambda x: np.frombuffer(x), "x.ravel"),
    ],
)
def test_what_asks_no_protocol_says_what_to_write(call, told):
    for transform in (fx.jit, fx.grad):
        with pytest.raises(TypeError) as caught:
            transform(call)(np.ones((2, 2)))
        assert told in caught.value.__notes__[0]
