"""cond and switch: by Python's `if`."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax
from tests import ways
from tests.ways import same

X = np.array([0.6, 0.9, 1.3])
Y = np.array([1.1, -0.4, 0.8])


def options(shift):
    """Branches that depend on different operands and on a captured value."""
    return [
        lambda x, y: {"a": fnp.sin(x) * y, "b": fnp.sum(x * shift)},
        lambda x, y: {"a": x**3, "b": fnp.prod(y)},
        lambda x, y: {"a": np.ones(3), "b": 0.5},
    ]


def switched(index, x, y, shift=2.0):
    out = lax.switch(index, options(shift), x, y)
    return fnp.sum(out["a"] * x) * out["b"]


def followed(index, x, y, shift=2.0):
    out = options(shift)[index](x, y)
    return fnp.sum(out["a"] * x) * out["b"]


DERIVATIVES = {
    "value": lambda f: f,
    "grad": lambda f: fx.grad(f, (0, 1, 2)),
    "jacfwd": lambda f: fx.jacfwd(f, (0, 1, 2)),
    "hessian": lambda f: fx.hessian(f, (0, 1, 2)),
    "reverse over reverse": lambda f: fx.jacrev(fx.grad(f, (0, 1, 2)), (0, 1, 2)),
    "reverse over forward": lambda f: fx.jacrev(fx.jacfwd(f, (0, 1, 2)), (0, 1, 2)),
}


def of_index(f, derivative):
    """(index, x, y, shift) → the derivative with respect to the others."""
    return lambda index, *args: derivative(partial(f, index))(*args)


@pytest.mark.parametrize("name", DERIVATIVES)
def test_the_branch_of_the_index(name):
    derivative = DERIVATIVES[name]
    expected = [of_index(followed, derivative)(i, X, Y, 2.0) for i in range(3)]
    run = of_index(switched, derivative)
    jitted = fx.jit(run)
    for index in range(3):
        same(run(index, X, Y, 2.0), expected[index])
        same(jitted(index, X, Y, 2.0), expected[index])  # the index is abstract
    batched = fx.vmap(run, (0, None, None, None))
    stacked = fx.tree.map(lambda *rows: np.stack(rows), *expected)
    same(batched(np.arange(3), X, Y, 2.0), stacked)
    same(fx.jit(batched)(np.arange(3), X, Y, 2.0), stacked)


@pytest.mark.parametrize("axes", [(0, None), (None, 0), (0, 0)])
def test_branches_of_an_abstract_index_on_batches(axes):
    def run(index, x, y):
        return fx.vmap(fx.grad(partial(switched, index), (0, 1)), axes)(x, y)

    batches = [np.stack([v, 2 * v]) if a == 0 else v for v, a in zip((X, Y), axes)]
    for index in range(3):
        expected = fx.vmap(fx.grad(partial(followed, index), (0, 1)), axes)(*batches)
        same(fx.jit(run)(index, *batches), expected)


def test_cond_under_every_transform():
    def f(x, y):
        return lax.cond(fnp.sum(x) > 2.5, lambda v: v * fnp.exp(y), lambda v: fnp.sin(v) + y[0], x)

    ways.agree(f, X, Y)
    ways.agree(f, X - 0.5, Y)


def test_the_branch_not_taken_has_no_say():
    """Its slope is infinite or its value NaN where it is not taken."""

    def root(x):
        return lax.cond(x > 0, fnp.sqrt, lambda v: 2.0 * v, x)

    assert [fx.grad(root)(v) for v in (4.0, 0.0, -1.0)] == [0.25, 2.0, 2.0]
    xs = np.array([4.0, 0.0, -1.0])
    slopes = np.array([0.25, 2.0, 2.0])
    same(fx.vmap(fx.grad(root))(xs), slopes)
    same(fx.grad(lambda v: fnp.sum(fx.vmap(root)(v)))(xs), slopes)
    same(fx.jvp(fx.vmap(root), (xs,), (np.ones(3),))[1], slopes)
    same(fx.vmap(fx.grad(fx.grad(root)))(xs), np.array([-1 / 32, 0.0, 0.0]))
    same(fx.jit(fx.grad(root))(-1.0), np.float64(2.0))


def test_only_the_chosen_branch_runs():
    """An error that depends on values comes from the branch taken."""

    def solved(m):
        return lax.cond(m[0, 0] > 0, np.linalg.inv, lambda m: m, m)

    same(solved(-np.ones((2, 2))), -np.ones((2, 2)))
    same(fx.jit(solved)(-np.ones((2, 2))), -np.ones((2, 2)))
    with pytest.raises(np.linalg.LinAlgError):
        solved(np.ones((2, 2)))


def test_both_branches_are_checked_whichever_is_taken():
    for pred in (True, False):
        with pytest.raises(
            fx.StructureError, match=r"(?s)its leaf \[1\], is float64\[1\] by false_fun and float64\[3\]"
        ):
            lax.cond(pred, lambda x: (x, x), lambda x: (x, x[:1]), X)


def test_weak_results_meet():
    single = np.float32(2)
    for pred in (True, False):
        assert lax.cond(pred, lambda x: x, lambda x: 1.0, single).dtype == np.float32
        assert type(lax.cond(pred, lambda: 1.0, lambda: 2.0)) is float
        assert lax.cond(pred, lambda: 1, lambda: 2.5).dtype == float


def test_results_are_the_callers():
    x = X.copy()
    a, b = lax.cond(True, lambda v: (v, v), lambda v: (v, 2 * v), x)
    a += 1
    same((b, x), (X, X))


@pytest.mark.parametrize("pred", [True, 2, -0.5, np.bool_(True), np.array(1)])
def test_what_counts_as_true(pred):
    assert lax.cond(pred, lambda: "yes" and 1.0, lambda: 0.0) == 1.0
    assert fx.jit(lambda p: lax.cond(p, lambda: 1.0, lambda: 0.0))(pred) == 1.0


@given(st.lists(st.integers(-3, 5), min_size=1, max_size=6))
def test_indices_are_clamped(indices):
    branches = [lambda x, n=n: x + n for n in range(3)]
    expected = np.clip(indices, 0, 2) + 0.5
    same(fx.vmap(lambda i: lax.switch(i, branches, 0.5))(np.array(indices)), expected)
    same(np.array([lax.switch(i, branches, 0.5) for i in indices]), expected)


def test_nested_in_each_other():
    def collatz(n):
        def step(state):
            n, count = state
            n = lax.cond(n % 2 == 0, lambda n: n // 2, lambda n: 3 * n + 1, n)
            return n, count + 1

        return lax.while_loop(lambda state: state[0] != 1, step, (n, 0))[1]

    numbers = np.arange(1, 12)
    steps = [0, 1, 7, 2, 5, 8, 16, 3, 19, 6, 14]
    assert [int(collatz(n)) for n in numbers] == steps
    assert fx.jit(collatz)(27) == 111
    assert fx.vmap(collatz)(numbers).tolist() == steps
    assert fx.jit(fx.vmap(collatz))(numbers).tolist() == steps


def test_a_linear_choice_is_transposed():
    def f(p, x):
        return lax.cond(p, lambda v: (2.0 * v, v[0]), lambda v: (v[::-1], 0.0 * v[1]), x)

    def back(p, ct):
        return fx.linear_transpose(partial(f, p), X)(ct)[0]

    ct = (Y, 3.0)
    for p, expected in ((True, 2 * Y + [3.0, 0, 0]), (False, Y[::-1])):
        same(back(p, ct), expected)
        same(fx.jit(back)(p, ct), expected)


def test_the_graph_shows_the_branches():
    graph = fx.make_graph(lambda i, x: lax.switch(i, [fnp.sin, fnp.cos], x))(0, 1.0).check()
    assert [line.strip().partition(" ")[0] for line in str(graph).splitlines() if "branches[" in line] == [
        "branches[0]:",
        "branches[1]:",
    ]
    assert "switch(i, x, branches=(…, …))" in str(graph)
    fx.make_graph(fx.grad(switched, (1, 2)))(1, X, Y).check()


@pytest.mark.parametrize("call, words", [
    (lambda: lax.cond(X > 0, lambda: 1.0, lambda: 2.0), "pred must be a boolean without axes.*fnp.where"),
    (lambda: lax.switch(1.0, [lambda: 1.0]), "index must be an integer without axes"),
    (lambda: lax.switch(0, []), "there is no branch"),
    (lambda: lax.switch(0, [lambda: 1.0, None]), r"branches\[1\] must be a function, not a NoneType"),
    (lambda: lax.switch(0, [lambda x: x] * 2 + [lambda x: (x,)], X), r"branches\[2\] are a tuple of length 1"),
    (lambda: lax.cond(True, lambda x: x, lambda x: x, "text"), r"cond: the argument args\[0\] is a str"),
])  # fmt: skip
def test_errors_name_the_argument_and_the_users_line(call, words):
    with pytest.raises(fx.FxgradError, match=f"(?s){words}.*") as error:
        call()
    assert "control/test_branches.py" in str(error.value)


def test_what_no_branch_changes_stays_unmapped():
    """Only the predicate is mapped: what all branches hand through is one value, and not a batch of it."""
    x, y = np.arange(3.0), 3.0
    f = fx.vmap(
        lambda x, y: lax.cond(x < 1, lambda y: (y, y + 1), lambda y: (y, y - 1), y), (0, None), (None, 0)
    )
    for g in (f, fx.jit(f)):
        same(g(x, y), (3.0, np.array([4.0, 2.0, 2.0])))
    loop = fx.vmap(
        lambda x, y: lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + s[1], s[1]), (x, y)),
        (0, None),
        (0, None),
    )
    for g in (loop, fx.jit(loop)):
        same(g(x, 2.0), (np.array([6.0, 5.0, 6.0]), 2.0))
    with pytest.raises(fx.AxisError, match="out_axes is None"):
        fx.vmap(lambda x, y: lax.cond(x < 1, lambda y: y, lambda y: -y, y), (0, None), None)(x, y)
