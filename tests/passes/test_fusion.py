"""Fusion: which equations become one, and that nothing else changes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax
from fxgrad.core.graph import Graph
from fxgrad.kernels import tiles
from fxgrad.kernels.native import engine
from fxgrad.passes import formulas, fusion
from fxgrad.passes.fused import FUSED
from fxgrad.passes.table import optimize

X, Y, ROW = np.linspace(0.5, 2, 12).reshape(3, 4), np.linspace(-1, 1, 12).reshape(3, 4), np.arange(4.0)
HAS_LLVM = engine.mode() != "never"


@pytest.fixture(autouse=True, params=["auto", "never"] if HAS_LLVM else ["never"])
def every_size(request, monkeypatch):
    """Groups are made of arrays of any size, for machine code or for tiles."""
    set_sizes(monkeypatch, request.param)


def set_sizes(patch, mode):
    patch.setattr(engine, "mode", lambda: mode)
    patch.setattr(fusion, "FUSED_ENTRIES", 1)
    patch.setattr(fusion, "REPEATED_ENTRIES", 1)
    for place in (fusion, tiles):
        patch.setattr(place, "CACHE_ENTRIES", 1)


def fused(function, *args):
    """The Graph of a function after fusion alone, checked and compared with what it was."""
    before = fx.make_graph(function)(*args)
    after = fusion.fuse(before).check()
    with np.errstate(all="ignore"):
        for a, b in zip(after(*args), before(*args)):
            assert np.asarray(a).dtype == np.asarray(b).dtype
            np.testing.assert_array_equal(a, b)
    return after


def groups(graph: Graph):
    return [
        [e.primitive.name for e in g.params["graph"].equations]
        for g in graph.equations
        if g.primitive is FUSED
    ]


def names(graph: Graph):
    return [e.primitive.name for e in graph.equations]


def test_neighbours_become_one():
    graph = fused(lambda x, y: (x * y + 1) / y, X, Y)
    assert names(graph) == ["fused"]
    assert groups(graph) == [["multiply", "add", "divide"]]


def test_it_prints_the_equations_of_a_group():
    text = repr(fused(lambda x, y: (x * y + 1) / y, X, Y))
    assert "fused(" in text
    assert "graph: group(x: f64[3,4], y: f64[3,4]) → f64[3,4]" in text


def test_one_operation_stays_alone():
    assert names(fused(lambda x: x * 2, X)) == ["multiply"]
    assert names(fused(lambda x: fnp.sum(x * 2), X)) in (["multiply", "reduce_sum"], ["fused"])


def test_what_is_needed_outside_is_a_result():
    graph = fused(lambda x, y: ((z := x * y) + 1, z @ y.T), X, Y)
    (group,) = (e for e in graph.equations if e.primitive is FUSED)
    assert len(group.outputs) == 2


def test_reductions_end_a_group():
    graph = fused(lambda x, y: (fnp.sum(x * y + 1), fnp.max(x * y, axis=0), fnp.sum(x * y, axis=1) * 2), X, Y)
    assert {"reduce_sum", "reduce_max"} <= set(groups(graph)[0])
    assert "reduce_sum" not in names(graph)


def test_a_reduction_of_any_axes_ends_a_group():
    for axes in (1, (0, 2)):
        assert names(fused(lambda x, axes=axes: fnp.sum(x * 2 + 1, axis=axes), np.ones((2, 3, 4)))) == [
            "fused"
        ]


def test_a_reduction_alone_is_a_group_of_machine_code():
    alone = ["reduce_sum"] if engine.mode() == "never" else ["fused"]
    for axes in (0, 1, (0, 2), None):
        assert names(fused(lambda x, axes=axes: fnp.sum(x, axis=axes), np.ones((300, 5, 2)))) == alone


def test_reductions_are_in_one_group_if_one_keeps_what_the_other_keeps():
    sums = lambda *axes: lambda x: [fnp.sum(x * 2 + 1, axis=a) for a in axes]  # noqa: E731
    assert names(fused(sums((0, 2), None, 2), np.ones((30, 5, 2)))) == ["fused"]
    apart = ["fused"] if engine.mode() == "never" else ["fused", "fused"]
    assert names(fused(sums(0, 1), np.ones((30, 5, 2)))) == apart


def test_rows_that_are_read_again_end_a_group_of_tiles():
    def normalize(x):
        y = x * x + 1
        return y / fnp.sum(y, axis=1, keepdims=True) - 1

    graph = fused(normalize, X)
    assert len(groups(graph)) == (2 if engine.mode() == "never" else 1)


def test_groups_are_convex():
    """What needs a group and is needed by what would join it keeps the two apart."""
    graph = fused(lambda x, y: (a := x * y + 1) * (a @ fnp.ones((4, 4)) + 1), X, Y)
    assert names(graph) == ["fused", "contract", "fused"]


def test_others_are_passed_by():
    """A product in the middle that needs nothing of the group does not end it."""
    graph = fused(lambda x, y: ((x * y + 1) * 2, x @ y.T, fnp.exp(x * y)), X, Y)
    assert sorted(names(graph)) == ["contract", "fused", "permute"]


def test_numbers_made_of_a_group_do_not_end_it():
    """A loss, of which nothing else depends, is computed behind the gradient's group."""

    def both(x):
        return fx.value_and_grad(lambda x: fnp.mean(fnp.exp(x) * x))(x)

    assert len(groups(fx.jit(both).lower(X).passes["fuse"])) == 1


def test_shapes_make_groups_of_their_own():
    graph = fused(lambda x, r: (x * 2 + 1, r * 3 - 1, (x + r) * 2), X, ROW)
    assert len(groups(graph)) in (2, 3)
    assert all(len(e.params["graph"].in_avals) <= 2 for e in graph.equations if e.primitive is FUSED)


def test_what_has_nothing_in_common_is_not_one_group():
    graph = fused(lambda x, y: (x * 2 + 1, y * 3 - 1), X, Y)
    assert len(groups(graph)) == 2


def test_broadcasting_is_part_of_a_group():
    graph = fused(lambda x, r: fnp.broadcast_to(r * 2, (3, 4)) * x + 1, X, ROW)
    assert any("broadcast_to" in g for g in groups(graph))


def test_effects_stay_in_their_order(capfd):
    def program(x):
        y = x * 2 + 1
        fx.debug.print("first {}", fnp.sum(y))
        z = y * y - 1
        fx.debug.print("second {}", fnp.sum(z))
        return z + y

    graph = fx.make_graph(program)(X)
    after = fusion.fuse(graph).check()
    after(X)
    seen = capfd.readouterr().out
    graph(X)
    assert seen == capfd.readouterr().out != ""


def test_bodies_of_loops():
    def program(x):
        return lax.fori_loop(0, 5, lambda i, c: fnp.tanh(c * 2 - 1) + c, x)

    np.testing.assert_allclose(fx.jit(program)(X), program(X), rtol=1e-13)


def test_transforms_see_the_equations():
    graph = fused(lambda x, y: fnp.exp(x * y) + 1, X, Y)
    f = lambda x, y: graph(x, y)[0]  # noqa: E731
    plain = lambda x, y: fnp.exp(x * y) + 1  # noqa: E731
    np.testing.assert_allclose(fx.jvp(f, (X, Y), (Y, X))[1], fx.jvp(plain, (X, Y), (Y, X))[1])
    np.testing.assert_allclose(
        fx.grad(lambda x: fnp.sum(f(x, Y)))(X), fx.grad(lambda x: fnp.sum(plain(x, Y)))(X)
    )
    np.testing.assert_allclose(fx.vmap(f)(X, Y), plain(X, Y), rtol=1e-15)


def test_a_very_long_chain():
    def program(x):
        for _ in range(1000):
            x = x * 1.01 - 0.01
        return x

    graph = fused(program, np.ones(16))
    assert max(map(len, groups(graph))) <= fusion.GROUP_OPERATIONS


def test_rows_end_where_a_number_of_theirs_meets_what_waits_for_them():
    def program(x):
        totals = fnp.sum(x * x, axis=1, keepdims=True)
        products = (x - totals) @ ROW[:, None]  # which wait for the group that gives the totals
        return x * (totals + products) + 1

    graph = fused(program, X)
    assert names(graph)[0] == "fused"


def test_where_few_entries_do_not_pay(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(engine, "mode", lambda: "auto" if HAS_LLVM else "never")
    assert names(fused(lambda x, y: x * y + 1, X, Y)) == ["multiply", "add"]


STEPS = [
    lambda a, b: a + b,
    lambda a, b: a * b,
    lambda a, b: fnp.sum(a, axis=0),
    lambda a, b: fnp.sum(a),
    lambda a, b: a @ fnp.swapaxes(b, -1, -2),
    lambda a, b: fnp.maximum(a, b),
    lambda a, b: fnp.max(a, axis=-1),
    lambda a, b: a - fnp.sum(b, axis=-1, keepdims=True),
    lambda a, b: b * fnp.max(a, axis=0, keepdims=True),
]


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_random_graphs(data):
    draw = data.draw
    steps = draw(
        st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 99), st.integers(0, 99)), min_size=3)
    )

    def program(*values):
        values = [*values]
        for step, i, j in steps:
            try:
                z = step(values[i % len(values)], values[j % len(values)])
            except (ValueError, TypeError, IndexError):  # of shapes that do not fit
                continue
            if fnp.size(z) <= 100:
                values.append(z)
        return values[-4:]

    args = [
        np.arange(1.0, 1 + int(np.prod(s))).reshape(s) % 5 - 2
        for s in ((3, 4), (2, 3, 4), (4,), (3, 1), (2, 1, 1))
    ]
    with pytest.MonkeyPatch.context() as patch:
        set_sizes(patch, draw(st.sampled_from(["auto", "never"] if HAS_LLVM else ["never"])))
        fused(program, *args)


@pytest.mark.skipif(not HAS_LLVM, reason="there is no llvmlite")
@pytest.mark.parametrize("distance", [
    lambda d: fnp.sqrt(fnp.sum(d**2, -1)), lambda d: fnp.linalg.norm(d, axis=-1), lambda d: fnp.exp(-fnp.sum(d * d, -1))
], ids=["root", "norm", "kernel"])  # fmt: skip
def test_gradients_of_all_distances_write_no_differences(monkeypatch, distance):
    set_sizes(monkeypatch, "auto")
    monkeypatch.setattr(formulas, "FUSED_ENTRIES", 1)
    x, y, weights = (
        np.linspace(0, 1, 15).reshape(5, 3),
        np.linspace(-1, 1, 12).reshape(4, 3) ** 2,
        np.arange(1, 21.0),
    )

    def loss(x, y):
        return fnp.sum(distance(x[:, None] - y[None]) * weights.reshape(5, 4))

    gradients = fx.make_graph(fx.grad(loss, (0, 1)))(x, y)
    graph = optimize(gradients).check()
    assert (5, 4, 3) not in [v.aval.shape for e in graph.equations for v in e.outputs]
    for a, b in zip(graph(x, y), gradients(x, y)):
        np.testing.assert_allclose(a, b, rtol=1e-13)


@pytest.mark.skipif(not HAS_LLVM, reason="there is no llvmlite")
def test_what_reads_a_number_of_each_row_may_be_larger_than_the_rows(monkeypatch):
    """The pullback of a normalization of groups: what reads its last mean, of sums of rows, is in the loop over all."""
    set_sizes(monkeypatch, "auto")
    t, x = np.linspace(0.5, 2, 120).reshape(2, 3, 4, 5), np.linspace(-1, 1, 120).reshape(2, 3, 4, 5) ** 2
    mean, scale = np.linspace(0, 1, 6).reshape(2, 3, 1, 1), np.linspace(1, 2, 6).reshape(2, 3, 1, 1)

    def function(t, x, mean, scale):
        sums = [fnp.sum(v, axis=3, keepdims=True) for v in (t, t * ((x - mean) * scale))]
        middle, slope = (fnp.sum(v, axis=(2, 3), keepdims=True) / 20.0 for v in sums)
        return ((t - middle) - ((x - mean) * scale) * slope) * scale

    last = groups(fused(function, t, x, mean, scale))[-1]
    assert sorted(last) == ["multiply"] * 3 + ["subtract"] * 3


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_norms_in_loops_neither_overflow_nor_underflow(dtype):
    limits = np.finfo(dtype)
    scales = [
        0,
        limits.smallest_subnormal,
        limits.tiny,
        limits.tiny**0.5,
        1,
        limits.max**0.5,
        limits.max / 8,
        np.inf,
    ]
    mixed = (
        np.random.default_rng(0).choice([-1, 1], (len(scales), 16, 500))
        * np.array(scales, dtype)[:, None, None]
    )
    mixed = mixed.astype(dtype)
    mixed[2, 0, 3:] = 1e-3 * limits.tiny
    mixed[4, 1, 7:] = limits.max / 100
    mixed[5, 2, 9:] = limits.tiny
    mixed[3, 3, 0] = np.nan
    norm = lambda x: fnp.linalg.norm(2 * x / 2, axis=-1)  # noqa: E731
    with np.errstate(all="ignore"):
        widest = np.sqrt((mixed.astype(np.longdouble) ** 2).sum(-1)).astype(dtype)
        for compute in (fx.jit(norm), fx.jit(fx.vmap(norm))):
            y = compute(mixed)
            assert y.dtype == dtype
            np.testing.assert_allclose(y, widest, rtol=20 * limits.eps, atol=500 * limits.smallest_subnormal)
