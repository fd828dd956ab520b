"""vmap(control="split"): Python's control flow on batched values, against a loop over the entries."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fxgrad as fx
import fxgrad.numpy as fnp

xs = np.array([0.3, -1.2, 2.5, 0.3, -0.1, 7.0])


def branches(x):
    if x < 0:
        return fnp.sin(x)
    elif x < 1:
        return x * x
    return fnp.log(x)


def newton(x):
    """√|x| by as many steps as it takes."""
    root = x * x + 1.0
    while abs(root * root - abs(x)) > 1e-10:
        root = 0.5 * (root + abs(x) / root)
    return root


def counted(x):
    total = x * 0.0
    for k in range(int(abs(x)) + 1):
        total = total + x**k
    return total


def nested(x):
    y = x
    while y > 1:
        y = y / 2 if y > 3 else y - 1
    return y * x if y > 0 else -y


def of_pytrees(x):
    if x > 1:
        return {"a": 1.0, "b": (x, fnp.stack([x, x]))}
    return {"a": x, "b": (2, fnp.stack([x, 2 * x]))}


FUNCTIONS = [branches, newton, counted, nested]


def looped(f, xs):
    return np.stack([f(x) for x in xs])


@pytest.mark.parametrize("f", FUNCTIONS)
def test_equals_the_loop_in_every_mode(f):
    split = fx.vmap(f, control="split")
    np.testing.assert_allclose(split(xs), looped(f, xs), rtol=1e-14)
    slopes = looped(fx.grad(f), xs)
    np.testing.assert_allclose(fx.vmap(fx.grad(f), control="split")(xs), slopes, rtol=1e-14)
    np.testing.assert_allclose(fx.grad(lambda v: fnp.sum(split(v)))(xs), slopes, rtol=1e-14)
    np.testing.assert_allclose(fx.jvp(split, (xs,), (np.ones(6),))[1], slopes, rtol=1e-14)
    np.testing.assert_allclose(
        fx.vmap(fx.hessian(f), control="split")(xs), looped(fx.hessian(f), xs), rtol=1e-13
    )


@given(st.lists(st.floats(-20, 20), min_size=1, max_size=12), st.integers(1, 5))
def test_any_batch_and_chunk(values, chunk_size):
    values = np.array(values)
    expected = looped(nested, values)
    np.testing.assert_array_equal(fx.vmap(nested, control="split")(values), expected)
    np.testing.assert_array_equal(fx.vmap(nested, control="split", chunk_size=chunk_size)(values), expected)


def test_every_entry_runs_once_and_only_its_way():
    runs = []

    def f(x):
        if x < 0:
            runs.append(x.value)
            return -x
        assert np.all(x.value >= 0)
        return fnp.linalg.norm(x)

    np.testing.assert_array_equal(fx.vmap(f, control="split")(xs), np.abs(xs))
    np.testing.assert_array_equal(np.concatenate(runs), xs[xs < 0])


def test_a_batch_that_agrees_is_run_once():
    runs = []

    def f(x):
        runs.append(1)
        return x if x > -100 else -x

    np.testing.assert_array_equal(fx.vmap(f, control="split")(xs), xs)
    assert len(runs) == 1


def test_pytrees_axes_and_unmapped_arguments():
    m = np.stack([xs, 2 * xs], axis=1)
    result = fx.vmap(of_pytrees, control="split", out_axes={"a": 0, "b": (0, 1)})(xs)
    rows = [of_pytrees(x) for x in xs]
    np.testing.assert_array_equal(result["a"], [r["a"] for r in rows])
    np.testing.assert_array_equal(result["b"][1], np.stack([r["b"][1] for r in rows], axis=1))

    def f(row, scale):
        return row * scale if fnp.sum(row) > scale else row

    expected = np.stack([f(row, 3.0) for row in m])
    np.testing.assert_array_equal(fx.vmap(f, (0, None), control="split")(m, 3.0), expected)
    np.testing.assert_array_equal(fx.vmap(f, (1, None), 1, control="split")(m.T, 3.0), expected.T)


def test_numbers_take_the_precision_of_the_arrays():
    result = fx.vmap(lambda x: x if x > 0 else 0.0, control="split")(xs.astype(np.float32))
    assert result.dtype == np.float32


def test_levels_around_and_inside():
    grid = np.stack([xs, -xs])
    expected = np.stack([looped(branches, row) for row in np.where(grid == 0, 1, grid)])
    inner = fx.vmap(fx.vmap(branches, control="split"), control="split")
    np.testing.assert_array_equal(inner(grid), expected)

    def f(row, x):  # the question of the outer level, asked inside the inner one
        return fx.vmap(lambda v: v + 1 if x > 0 else v, control="split")(row)

    np.testing.assert_array_equal(fx.vmap(f, control="split")(np.ones((6, 2)), xs)[:, 0], 1.0 + (xs > 0))


def test_what_it_cannot_do_is_explained():
    with pytest.raises(
        fx.ConcretizationError, match=r'transforms/test_split.py(.|\n)*fx.lax.cond(.|\n)*control="split"'
    ):
        fx.vmap(branches)(xs)
    with pytest.raises(fx.ConcretizationError, match="abstract value"):
        fx.jit(fx.vmap(branches, control="split"))(xs)
    with pytest.raises(fx.ShapeError, match="different shapes for entries"):
        fx.vmap(lambda x: fnp.zeros(2) if x > 0 else fnp.zeros(3), control="split")(xs)
    with pytest.raises(fx.StructureError, match="for some entries and"):
        fx.vmap(lambda x: (x, x) if x > 0 else x, control="split")(xs)
    with pytest.raises(fx.ConcretizationError):
        fx.vmap(branches, control="split")(np.zeros(0))
    with pytest.raises(fx.StructureError, match="collectives"):
        fx.vmap(branches, control="split", axis_name="i")
    with pytest.raises(fx.StructureError, match="control='all'"):
        fx.vmap(branches, control="all")


def test_an_exception_of_one_way_leaves_the_stack_clean():
    def f(x):
        if x > 5:
            raise RuntimeError("too large")
        return x

    with pytest.raises(RuntimeError, match="too large"):
        fx.vmap(f, control="split")(xs)
    assert fx.grad(lambda x: x * x)(1.0) == 2.0
