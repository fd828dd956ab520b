"""Arguments that stand in each other's places: the error names the function and says what to write."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fxgrad as fx

# Without their types, which say as much.
random: Any = fx.random
lax: Any = fx.lax
Struct: Any = fx.ShapeDtypeStruct
KEY = random.key(0)
MISUSE = {
    "an integer for a probability": (lambda: random.bernoulli(KEY, 3, 4), "p is not between 0 and 1"),
    "a shape for a probability": (
        lambda: random.bernoulli(KEY, (3,)),
        "the tuple \\(3,\\) is given for a number",
    ),
    "a truth value for a parameter": (lambda: random.gamma(KEY, True), "real numbers"),
    "a shape for a parameter": (lambda: random.poisson(KEY, (3,)), "shape=\\(3,\\)"),
    "shapes for bounds": (lambda: random.truncated_normal(KEY, (3,), (4,)), "truncated_normal: the tuple"),
    "a shape for a bound": (lambda: random.randint(KEY, 0, 5, (3,)), "randint: the tuple"),
    "a shape for entries": (lambda: random.choice(KEY, (3,), 5), "choice: the tuple"),
    "probabilities for replace": (
        lambda: random.choice(KEY, 3, (2,), [0.2, 0.3, 0.5]),
        "replace is True or False",
    ),
    "a negative number of entries": (lambda: random.choice(KEY, -1, (3,)), "3 draws from 0 entries"),
    "an axis for independent": (lambda: random.permutation(KEY, 3, 0, 1), "independent is True or False"),
    "a shape for a dimension": (lambda: random.ball(KEY, (3,)), "ball: d"),
    "a number for a dtype": (lambda: lax.iota(3, 4), "iota: 3 is no dtype"),
    "a fraction for a size": (lambda: lax.iota(float, 4.0), "iota: a shape"),
    "a negative size": (lambda: lax.iota(float, -1), "negative"),
    "a dtype for a value": (lambda: lax.full((3,), np.float32), "dtype object"),
    "a floating dtype for positions": (
        lambda: lax.argmax(np.ones(3), 0, float),
        "argmax: a dtype of the kinds",
    ),
    "a fraction for bits": (lambda: lax.clz(0.5), "bits are those of integers"),
    "a fraction for shifted bits": (lambda: lax.shift_right_logical(5.5, 1), "bits are those of integers"),
    "a text for an array": (lambda: lax.tile("x", (2,)), "str"),
    "a number for the shape and the dtype": (lambda: Struct(3, 4), "ShapeDtypeStruct: a shape"),
    "a number for the dtype": (lambda: Struct((3,), 4), "ShapeDtypeStruct: 4 is no dtype"),
    "a text for the shape": (lambda: Struct("ab", float), "ShapeDtypeStruct: a shape"),
    "a negative length": (lambda: Struct((-1,), float), "negative"),
}


@pytest.mark.parametrize("what", MISUSE)
def test_exchanged_arguments_are_refused(what):
    call, told = MISUSE[what]
    with pytest.raises((TypeError, ValueError), match=told):
        call()


def test_what_looks_alike_is_taken():
    assert random.bernoulli(KEY, 1, (3,)).all() and not random.bernoulli(KEY, 0, 3).any()
    assert random.choice(KEY, [1, 2, 3], 2).shape == (2,) and random.gamma(KEY, [1.0, 2.0]).shape == (2,)
    assert random.choice(KEY, 5, (2,), np.bool_(False)).shape == (2,)
    assert Struct([np.int64(2)], "float32").shape == (2,)
