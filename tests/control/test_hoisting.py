"""A scan's parts before and after its loop: results are those of the same steps in Python, whatever is hoisted."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax
from fxgrad.control import hoisting
from fxgrad.core import same_graphs

LENGTH = 37


@pytest.fixture(params=[hoisting.HOISTED_ENTRIES, 80, 64], ids=["one block", "blocks of 20", "blocks of 16"])
def rows_in_blocks(request, monkeypatch):
    """Blocks of rows of four numbers, for Graphs that have not been divided yet."""
    monkeypatch.setattr(hoisting, "HOISTED_ENTRIES", request.param)
    monkeypatch.setattr(same_graphs, "_interned", same_graphs.Cache())


def weights(rng):
    return {
        "recurrent": rng.normal(size=(4, 4)) / 2,
        "inward": rng.normal(size=(4, 3)),
        "bias": rng.normal(size=4),
        "outward": rng.normal(size=(2, 4)),
    }


def recurrent_step(w, state, x):
    """A carry that feeds back, one that is only added to, one that counts, and rows of results."""
    hidden, loss, count = state
    hidden = fnp.tanh(w["recurrent"] @ hidden + w["inward"] @ x + w["bias"])
    y = fnp.exp(w["outward"] @ hidden)
    return (hidden, loss + fnp.sum(y**2) * fnp.sum(fnp.sin(x)), count + 1), (y, fnp.cos(x) * w["bias"][:3], x)


def initial():
    return np.zeros(4), 0.0, 0


def in_python(step, state, xs, reverse=False):
    """The steps one after the other."""
    rows = []
    for x in xs[::-1] if reverse else xs:
        state, y = step(state, x)
        rows.append(y)
    rows = rows[::-1] if reverse else rows
    return state, tuple(fnp.stack(column) for column in zip(*rows))


def body_of(fun, *args):
    """The params of the first scan in a function."""
    return next(e.params for e in fx.make_graph(fun)(*args).equations if e.primitive.name == "scan")


def parts_of(fun, *args):
    params = body_of(fun, *args)
    return hoisting.split_body(params["body"], params["consts"], params["carry"])


def names(graph):
    return [e.primitive.name for e in graph.equations]


def close(found, expected):
    """Sums are taken in another order: equal up to rounding."""
    for a, b in zip(fx.tree.leaves(found), fx.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("reverse", [False, True])
def test_values_are_those_of_the_steps(rows_in_blocks, reverse):
    rng = np.random.default_rng(0)
    w, xs = weights(rng), rng.normal(size=(LENGTH, 3))

    def step(state, x):
        return recurrent_step(w, state, x)

    close(lax.scan(step, initial(), xs, reverse=reverse), in_python(step, initial(), xs, reverse))


@pytest.mark.parametrize("reverse", [False, True])
def test_gradients_are_those_of_the_steps(rows_in_blocks, reverse):
    rng = np.random.default_rng(1)
    w, xs = weights(rng), rng.normal(size=(LENGTH, 3))

    def loss(run):
        def total(w, xs):
            (hidden, loss, _), rows = run(lambda state, x: recurrent_step(w, state, x), initial(), xs)
            return loss + fnp.sum(hidden**3) + sum(fnp.sum(fnp.sin(r)) for r in rows)

        return total

    by_scan = loss(lambda *args: lax.scan(*args, reverse=reverse))
    expected = fx.grad(loss(lambda *args: in_python(*args, reverse)), (0, 1))(w, xs)
    close(fx.grad(by_scan, (0, 1))(w, xs), expected)
    close(fx.jit(fx.grad(by_scan, (0, 1)))(w, xs), expected)


def test_second_derivatives_and_batches(rows_in_blocks):
    rng = np.random.default_rng(2)
    a, xs = rng.normal(size=(4, 4)) / 3, rng.normal(size=(LENGTH, 4))

    def loss(run):
        def total(a):
            def step(h, x):
                h = fnp.tanh(a @ h + x)
                return h, (fnp.sum(h * fnp.cos(x)),)

            return fnp.sum(run(step, np.zeros(4), xs)[1][0])

        return total

    def along(f):
        return fx.vmap(lambda v: fx.jvp(fx.grad(f), (a,), (v,))[1])(np.stack([a, a.T]))

    close(along(loss(lax.scan)), along(loss(in_python)))


def test_the_loop_holds_what_feeds_back():
    rng = np.random.default_rng(3)
    w = weights(rng)
    split = parts_of(
        lambda xs: lax.scan(lambda s, x: recurrent_step(w, s, x), initial(), xs), np.ones((LENGTH, 3))
    )
    assert names(split.loop) == ["contract", "add", "add", "tanh", "add", "weaken"]
    assert "sin" in names(split.before) and "exp" in names(split.after)
    assert split.summed == (False, True, False)  # integers stay: sums of small ones widen


def test_cotangents_of_a_matrix_are_one_product():
    """Σ aₜbₜᵀ is a contraction over the steps, too: no matrix for each of them."""
    rng = np.random.default_rng(4)
    w, xs = rng.normal(size=(4, 4)), rng.normal(size=(LENGTH, 4))

    def loss(w):
        return fnp.sum(lax.scan(lambda h, x: (fnp.sin(w @ h + x),) * 2, np.zeros(4), xs)[1])

    graph = fx.make_graph(fx.grad(loss))(w)
    backward = [e.params for e in graph.equations if e.primitive.name == "scan"][1]
    split = hoisting.split_body(backward["body"], backward["consts"], backward["carry"])
    ((term,),) = split.terms
    assert term.spec is not None
    assert names(split.loop) == ["add", "multiply", "contract"]
    assert all(v.aval.size <= 4 for e in split.after.equations for v in e.outputs)


def test_terms_with_one_operand_that_varies(rows_in_blocks):
    """And with none: a sum of the same in every step."""
    rng = np.random.default_rng(5)
    m, v, xs = rng.normal(size=(4, 4)), rng.normal(size=4), rng.normal(size=(LENGTH, 4))

    def step(state, x):
        a, b, c, h = state
        return (a + (m @ x + v * x), b + fnp.outer(v, v), c + m @ h, fnp.sin(h) + x), (h,)

    state = np.zeros(4), np.zeros((4, 4)), np.zeros(4), np.ones(4)
    close(lax.scan(step, state, xs), in_python(step, state, xs))


def test_loops_that_are_left_in_one():
    assert parts_of(lambda xs: lax.scan(lambda s, x: (fnp.sin(s + x),) * 2, 0.5, xs), np.ones(LENGTH)) is None
    wide = np.ones((LENGTH, hoisting.HOISTED_ENTRIES // 8))  # rows in which arithmetic counts

    def of_rows(xs):
        return lax.scan(lambda s, x: (s + fnp.sum(fnp.cos(fnp.sin(x))), fnp.exp(x)), 0.0, xs)

    assert parts_of(of_rows, wide) is None
    assert parts_of(of_rows, wide[:, :8]) is not None


def test_effects_keep_their_place():
    seen = []

    def step(s, x):
        fx.debug.callback(lambda x: seen.append(float(x)), fnp.sin(x))
        return s + fnp.cos(x), fnp.exp(s)

    xs = np.linspace(0, 1, LENGTH)
    lax.scan(step, 0.0, xs)
    assert seen == list(np.sin(xs))


def test_control_flow_inside_a_step_takes_one_branch_a_step():
    def step(s, x):
        y = lax.cond(x > 0, fnp.sqrt, lambda x: 0.0 * x, x)  # both branches of a batch would be run
        return fnp.sin(s) + y, fnp.exp(fnp.cos(s + y))

    xs = np.linspace(-1, 1, LENGTH)
    state, rows = 0.0, []
    for x in xs:
        y = np.sqrt(x) if x > 0 else 0.0
        rows.append(np.exp(np.cos(state + y)))
        state = np.sin(state) + y
    close(lax.scan(step, 0.0, xs), (state, np.array(rows)))
