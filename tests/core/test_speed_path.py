"""How much Python an operation passes through. Times depend on the machine, these counts do not (the times are in
benchmarks/): a warm `grad` of two operations, where HIPS autograd takes 141 calls of 68 functions in 15 files and
JAX 1709 of 312 in 26.

Comprehensions are functions up to Python 3.11. Generated code has no file.
"""

import gc
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp

PACKAGE = Path(fx.__file__).parent


def passed(run):
    """Python functions called by `run()`, as often as they are called: (file, name) → count. Without `run` itself."""
    calls = Counter()

    def note(frame, event, _):
        if event == "call" and frame.f_code is not run.__code__:
            calls[frame.f_code.co_filename, frame.f_code.co_qualname] += 1

    before = sys.getprofile()
    gc.disable()  # others may have asked to be called when it runs
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
        gc.enable()
    return calls


def is_ours(file):
    return file.startswith("<fxgrad") or Path(file).is_relative_to(PACKAGE)


def files(calls):
    return {file for file, _ in calls if not file.startswith("<fxgrad")}


def test_grad_of_two_operations():
    def run():
        fx.grad(lambda x: fnp.sin(x) * x)(2.0)

    run()
    calls = passed(run)
    assert calls.total() <= 60
    ours = Counter({place: n for place, n in calls.items() if is_ours(place[0])})
    assert len(ours) <= 27  # one of them completes messages about misspelt keywords
    assert len(files(ours)) <= 9


@pytest.mark.parametrize("function", [fnp.sin, fnp.multiply], ids=lambda function: function.__name__)
@pytest.mark.parametrize("value", [np.ones(3), np.float32(2), 2.0], ids=lambda value: type(value).__name__)
def test_an_operation_on_plain_values(function, value):
    operands = (value,) * len(function.primitive.partials)
    calls = passed(lambda: function(*operands))
    assert calls.total() == 1


@pytest.mark.parametrize("size", [1, 64])
def test_what_each_further_operation_costs(size):
    """The same number of calls, whatever the length of the program and the size of the arrays."""
    x = np.ones(size)

    def chain(length):
        def loss(x):
            for _ in range(length):
                x = fnp.sin(x)
            return x.sum()

        gradient = fx.grad(loss)
        gradient(x)
        return passed(lambda: gradient(x)).total()

    assert (
        chain(30) - chain(10)
    ) / 20 <= 5  # the function, `process`, `linearize`, what is kept, the pullback


def test_vmap_of_grad():
    """A batch has its shape and dtype at hand: asking for them calls nothing."""
    gradients, xs = fx.vmap(fx.grad(lambda x: fnp.sin(x) * x)), np.arange(3.0)

    def run():
        gradients(xs)

    run()
    calls = passed(run)
    ours = {place: n for place, n in calls.items() if is_ours(place[0])}
    assert sum(n for (_, name), n in ours.items() if not name.endswith("comp>")) <= 150
