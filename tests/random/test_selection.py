"""Categories, permutations and choices: probabilities by χ², what is never drawn, shapes as in JAX."""

import itertools

import numpy as np
import pytest
import scipy.stats as stats

import fxgrad as fx
from fxgrad import random
from fxgrad.core.errors import ShapeError
from tests.sample import close

KEY = random.key(5)
COUNT = 40_000
LEAST = 1e-4
P = np.array([0.1, 0.0, 0.6, 0.3])


def agrees(counts, probabilities):
    """Whether counts are those of draws with the given probabilities."""
    counts, probabilities = np.asarray(counts), np.asarray(probabilities)
    assert counts[probabilities == 0].sum() == 0
    likely = probabilities > 0
    expected = probabilities[likely] / probabilities.sum() * counts.sum()
    return stats.chisquare(counts[likely], expected).pvalue > LEAST


def log(p):
    with np.errstate(divide="ignore"):
        return np.log(p)


def test_categories_have_their_probabilities():
    assert agrees(np.bincount(random.categorical(KEY, log(P), shape=(COUNT,)), minlength=4), P)
    assert agrees(np.bincount(random.categorical(KEY, log(P) + 700, shape=(COUNT,)), minlength=4), P)
    logits = np.stack([log(P), log(P[::-1])], 1)  # categories along axis 0
    draws = random.categorical(KEY, logits, 0, (COUNT, 2))
    assert agrees(np.bincount(draws[:, 0], minlength=4), P)
    assert agrees(np.bincount(draws[:, 1], minlength=4), P[::-1])


def ordered_pairs(p):
    """The probabilities of two draws without replacement."""
    return {(i, j): p[i] * p[j] / (1 - p[i]) for i, j in itertools.permutations(range(len(p)), 2)}


@pytest.mark.parametrize(
    "draw",
    [
        lambda key: random.categorical(key, log(P), shape=(2,), replace=False),
        lambda key: random.choice(key, 4, (2,), replace=False, p=P),
    ],
)
def test_draws_without_replacement(draw):
    with np.errstate(divide="ignore"):
        pairs = fx.vmap(draw)(random.split(KEY, COUNT))
    expected = ordered_pairs(P)
    counts = [np.sum((pairs[:, 0] == i) & (pairs[:, 1] == j)) for i, j in expected]
    assert sum(counts) == COUNT
    assert agrees(counts, [*expected.values()])


def test_choice_has_its_probabilities():
    a = np.array([2.0, 3.0, 5.0, 7.0])
    x = random.choice(KEY, a, (COUNT,), p=7 * P)
    assert agrees([np.sum(x == v) for v in a], P)
    assert agrees(np.bincount(random.choice(KEY, 4, (COUNT,)), minlength=4), np.ones(4))


def test_permutations_are_as_likely_as_each_other():
    orders = fx.vmap(lambda key: random.permutation(key, 4))(random.split(KEY, COUNT))
    codes = orders @ [64, 16, 4, 1]
    counts = np.unique(codes, return_counts=True)[1]
    assert len(counts) == 24 and agrees(counts, np.ones(24))


def test_permutation_of_an_array():
    x = np.arange(24.0).reshape(2, 3, 4)
    for axis in (0, 1, -1):
        together = random.permutation(KEY, x, axis)
        apart = random.permutation(KEY, x, axis, independent=True)
        for y in (together, apart):
            np.testing.assert_array_equal(np.sort(y, axis), x)
        rows = np.moveaxis(together, axis, -1).reshape(-1, x.shape[axis]).argsort(-1)
        assert (rows == rows[0]).all()
    rows = random.permutation(KEY, np.tile(np.arange(6), (5, 1)), 1, independent=True)
    assert len(np.unique(rows, axis=0)) > 1
    assert (
        random.permutation(KEY, [3, 1, 2]).tolist() == random.permutation(KEY, np.array([3, 1, 2])).tolist()
    )


def test_shapes():
    logits = np.zeros((3, 4, 5))
    assert random.categorical(KEY, logits).shape == (3, 4)
    assert random.categorical(KEY, logits, 0).shape == (4, 5)
    assert random.categorical(KEY, logits, 1, (7, 3, 5)).shape == (7, 3, 5)
    assert random.categorical(KEY, np.zeros((1, 4)), shape=(6,)).shape == (6,)
    assert random.categorical(KEY, logits, shape=(2, 2, 3, 4), replace=False).shape == (2, 2, 3, 4)
    a = np.zeros((3, 4, 5))
    assert random.choice(KEY, a, (2, 6), axis=1).shape == (3, 2, 6, 5)
    assert random.choice(KEY, a).shape == (4, 5)
    assert random.choice(KEY, 3, (0,)).shape == (0,) == random.choice(KEY, 0, (0,)).shape


def test_derivatives_go_to_the_entries():
    x = np.array([1.0, 2.0, 4.0])
    close(fx.jacobian(lambda x: random.permutation(KEY, x))(x) @ x, random.permutation(KEY, x))
    slope = fx.grad(lambda x: random.choice(KEY, x, (10,)).sum())(x)
    assert slope.sum() == 10 and (slope == np.bincount(random.choice(KEY, 3, (10,)), minlength=3)).all()
    assert (fx.grad(lambda p: random.choice(KEY, x, (10,), p=p).sum())(np.ones(3)) == 0).all()


def test_entries_of_probability_zero_are_not_drawn():
    p = [0.5, 0.0, 0.5, 0.0]
    for seed in range(5):
        assert set(random.choice(random.key(seed), 4, (2,), replace=False, p=p)) == {0, 2}
        assert set(random.choice(random.key(seed), 4, (20,), p=p)) == {0, 2}
        logits = np.array([0.0, -np.inf, 0.0, -np.inf])
        assert set(random.categorical(random.key(seed), logits, shape=(2,), replace=False)) == {0, 2}
    assert set(fx.jit(lambda p: random.choice(KEY, 4, (3,), replace=False, p=p))(np.array(p))[:2]) == {0, 2}
    assert random.choice(KEY, 4, (0,), p=np.zeros(4)).shape == (0,)


def test_probabilities_may_be_mapped():
    rows = np.array([[1.0, 0, 0], [0, 0, 1], [0, 1, 0]])
    drawn = fx.vmap(lambda p: random.choice(KEY, 3, (4,), p=p))(rows)
    np.testing.assert_array_equal(drawn, [[0] * 4, [2] * 4, [1] * 4])
    with np.errstate(divide="ignore"):
        assert fx.vmap(lambda p: random.categorical(KEY, fx.numpy.log(p)))(rows).tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: random.categorical(KEY, 1.0), "at least one axis"),
        (lambda: random.categorical(KEY, np.zeros((2, 0))), "no categories"),
        (lambda: random.categorical(KEY, np.zeros(3), shape=(4,), replace=False), "without replacement"),
        (lambda: random.categorical(KEY, np.zeros((2, 3)), shape=(3,)), "do not broadcast"),
        (lambda: random.choice(KEY, 3, (4,), replace=False), "4 draws from 3 entries without replacement"),
        (lambda: random.choice(KEY, np.zeros((0, 2))), "1 draws from 0 entries"),
        (lambda: random.choice(KEY, 3, (4,), p=np.ones(2)), r"p has the shape \(2,\)"),
        (
            lambda: random.choice(KEY, 4, (3,), replace=False, p=[0.5, 0.5, 0, 0]),
            "fewer than 3 entries of positive",
        ),
        (lambda: random.choice(KEY, 4, (3,), p=np.zeros(4)), "fewer than 1 entries of positive"),
        (lambda: random.choice(KEY, 3, (3,), p=[1, -1, 1]), "negative or NaN"),
        (lambda: random.choice(KEY, 3, (3,), p=[1, np.nan, 1]), "negative or NaN"),
        (
            lambda: random.categorical(KEY, np.array([[0, 0], [0, -np.inf]]), shape=(2, 2), replace=False),
            "fewer than 2 entries of positive",
        ),
        (lambda: random.choice(KEY, 2.5), "number of integers"),
        (lambda: random.permutation(KEY, np.float64(2)), "number of integers"),
    ],
)
def test_errors(call, words):
    with pytest.raises(ShapeError, match=words):
        call()
