"""Each rule of the passes: what it makes of a small Graph, and that it leaves alone what it must."""

import warnings

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax
from fxgrad.core.graph import Equation, Graph
from fxgrad.kernels.native import engine
from fxgrad.passes.draft import rewrite
from fxgrad.passes.repeats import repeat_cheap_steps
from fxgrad.passes.table import PASSES, optimize
from fxgrad.passes.ties import SCALE_WHERE, scale_rare_entries

X = np.arange(1.0, 7).reshape(2, 3)
EYE = np.eye(3)
BIG = np.random.default_rng(0).standard_normal((64, 100))
ROW = np.random.default_rng(1).standard_normal(100)


def names(graph):
    return [equation.primitive.name for equation in graph.equations]


def passed(name, fun, *args):
    """The names of the primitives after a pass, which gives the same values."""
    graph = fx.make_graph(fun)(*args)
    done = PASSES[name](graph).check()
    for expected, found in zip(graph(*args), done(*args)):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300)
    return names(done)


@pytest.mark.parametrize(
    "name, fun, args, expected",
    [
        ("marks", lambda x: lax.stop_gradient(x) * 2, (X,), ["multiply"]),
        ("common", lambda x: fnp.sin(x) * fnp.sin(x), (X,), ["sin", "multiply"]),
        ("common", lambda x: x[0] + x[1], (X,), ["getitem", "getitem", "add"]),
        ("constants", lambda x: x * (fnp.ones_like(x) / 4), (X,), ["multiply"]),
        ("constants", lambda x: fnp.zeros_like(x).sum() + x, (X,), ["add"]),
        ("constants", lambda x: fnp.where(fnp.ones_like(x) > 0, x, 0), (X,), []),
        ("constants", lambda c: fnp.logical_and(c, fnp.zeros_like(c)), (X > 2,), ["broadcast_to"]),
        ("constants", lambda c: fnp.logical_or(c, fnp.zeros_like(c)), (X > 2,), []),
        ("constants", lambda x: x @ fnp.full_like(x, 2.0).T, (X,), ["broadcast_to", "contract"]),
        ("algebra", lambda x: x * 1.0, (X,), []),
        ("algebra", lambda x: 1 * x / 1, (X,), []),
        ("algebra", lambda x: (x - 0.0) + -0.0, (X,), []),
        ("algebra", lambda x: (x + 0.0) - -0.0, (X,), ["add", "subtract"]),
        ("algebra", lambda n: (n + 0) - 0, (X.astype(int),), []),
        ("algebra", lambda x: fnp.negative(-x), (X,), []),
        ("algebra", lambda x: x + -fnp.sin(x), (X,), ["sin", "subtract"]),
        ("algebra", lambda x: x - -fnp.sin(x), (X,), ["sin", "add"]),
        ("algebra", lambda x: -x + fnp.sin(x), (X,), ["sin", "subtract"]),
        ("algebra", lambda x: (-x) * (-fnp.sin(x)), (X,), ["sin", "multiply"]),
        ("algebra", lambda x: (-x) / (-fnp.sin(x)), (X,), ["sin", "divide"]),
        ("algebra", lambda x: x.reshape(6).reshape(3, 2).reshape(2, 3), (X,), []),
        ("algebra", lambda x: x.T.T, (X,), []),
        ("algebra", lambda x: x[:, 0:3], (X,), []),
        ("algebra", lambda x: x[:, 0:2], (X,), ["getitem"]),
        ("factors", lambda x: fnp.sum(x, axis=()), (X,), ["add"]),
        ("algebra", lambda x: x**1, (X,), []),
        ("algebra", lambda x, y: x * fnp.broadcast_to(y, (2, 3)), (X, X[0]), ["multiply"]),
        ("algebra", lambda y: fnp.exp(fnp.broadcast_to(y, (2, 3))), (X[0],), ["broadcast_to", "exp"]),
        ("algebra", lambda x: fnp.exp(x.reshape(6)).reshape(2, 3), (X,), ["exp"]),
        ("algebra", lambda x: fnp.where(~(x > 2), x, 1), (X,), ["greater", "where"]),
        ("algebra", lambda x: fnp.where(x > 2, x, x), (X,), []),
        ("algebra", lambda c: ~~c & ~~c, (X > 2,), ["bitwise_and"]),
        ("algebra", lambda c: c.astype(float).T.reshape(6) != 0, (X > 2,), ["permute", "reshape"]),
        ("masks", lambda c, x: fnp.where(c, x, 0) + fnp.where(c, 0, x * x), (X > 2, X), ["multiply", "where"]),
        ("masks", lambda c, x: fnp.where(c, x, 0) + fnp.where(c, x * x, 0), (X > 2, X), ["multiply", "add", "where"]),
        ("masks", lambda c, d, x: fnp.where(c, fnp.where(d, x, 0), 0), (X > 2, X > 3, X), ["logical_and", "where"]),
        ("masks", lambda c, d, x: fnp.where(c, 0, fnp.where(d, 0, x)), (X > 2, X > 3, X), ["logical_or", "where"]),
        ("contractions", lambda x: x.T @ x, (X,), ["contract"]),
        ("contractions", lambda x: (x @ x.T).T, (X,), ["contract"]),
        ("contractions", lambda x: x @ EYE, (X,), []),
        ("contractions", lambda x: EYE @ x.T, (X,), ["permute"]),
        ("contractions", lambda x: (EYE * x[0]) @ x.T, (X,), ["getitem", "reshape", "multiply", "permute"]),
        ("contractions", lambda x: (EYE * x[0, :1]) @ x.T, (X,), ["getitem", "multiply", "contract"]),
        ("contractions", lambda x: x @ (EYE + 1), (X,), ["contract"]),
        ("contractions", lambda x: fnp.outer(x, 2.0), (X,), None),
        ("association", lambda a, v: (a @ a.T) @ v, (BIG, BIG[:, 0]), ["permute", "contract", "contract"]),
        ("association", lambda a, v: a @ (a.T @ v), (BIG, BIG[:, 0]), ["permute", "contract", "contract"]),
        ("factors", lambda x: fnp.sum(-x), (X,), ["reduce_sum", "negative"]),
        ("factors", lambda x: (-x) @ X[0], (X,), ["contract", "negative"]),
        ("factors", lambda x: 3.0 * (1.1 * x), (X,), ["multiply"]),
        ("factors", lambda x: 3.0 * (0.1 * x), (X,), ["multiply", "multiply"]),
        ("factors", lambda x: -(x * 0.5), (X,), ["multiply"]),
        ("factors", lambda x: (x / 2) / 4, (X,), ["multiply"]),
        ("factors", lambda x: (x / 3) / 5, (X,), ["divide", "divide"]),
        ("factors", lambda x: (x * 1e-300) * 1e-300, (X,), ["multiply", "multiply"]),
        ("coefficients", lambda t, a: -(t * a) / a, (BIG, ROW), ["multiply", "negative", "divide"]),
        ("coefficients", lambda t, a: t * a, (BIG, ROW), ["multiply"]),
        ("coefficients", lambda t, a: (t * a) * t, (BIG, ROW), ["multiply", "multiply"]),
        ("stacking", lambda a, b: a.T @ b + b.T @ a, (np.tile(BIG[:9], 4), np.tile(BIG[9:18], 4)), None),
    ],
)  # fmt: skip
def test_a_rule(name, fun, args, expected):
    found = passed(name, fun, *args)
    assert expected is None or found == expected


FOUND = {
    "a + -b": (lambda a, b: a + (-b), [5], "u2", [1], "u1"),
    "-a + b": (lambda a, b: -a + b, [5], "u1", [1], "i4"),
    "a - -b": (lambda a, b: a - (-b), [1], "f8", [-128], "i1"),
    "a + -b, to a float": (lambda a, b: a + (-b), [1], "f8", [-128], "i1"),
    "-a * -b": (lambda a, b: (-a) * (-b), [2], "u1", [3], "i8"),
    "-a / -b": (lambda a, b: (-a) / (-b), [1], "u1", [2], "u1"),
    "-a / -b, least": (lambda a, b: (-a) / (-b), [-(2**63)], "i8", [3], "i8"),
    "-a / -b, complex": (lambda a, b: (-a) / (-b), [0.0], "c16", [1 + 1j], "c16"),
    "a + -b, to a complex": (lambda a, b: a + (-b), [-0.0 - 0.0j], "c16", [1.0], "f8"),
    "where in where": (lambda a, b: fnp.where(a > 0, fnp.where(a > 0, a, b), a), [1], "f4", [0.1], "f8"),
    "where in where, times": (lambda a, b: fnp.where(a > 0, fnp.where(a > 0, a, b), a) * 100, [1], "i1", [0.1], "f8"),
    "a number in where in where": (
        lambda a, b: fnp.where(a > 0, fnp.where(a > 0, 1e-200, a), b), [1], "f2", [0.1], "f8"),
    "(a·b)·c of half precision": (lambda a, b: (a @ b) * 0.001, [[1e-4] * 64] * 64, "f2", [[1e2] * 64] * 64, "f2"),
    "c·d·x": (lambda a, b: (a * 1e-30) * 1e30, [1e-20, 1e20], "f4", [1.0], "f4"),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_values_and_dtypes_are_those_of_the_program(name):
    function, a, dtype, b, other = FOUND[name]
    a, b = np.array(a, dtype), np.array(b, other)
    with np.errstate(all="ignore"):
        expected = function(a, b)
        found = fx.jit(function)(a, b)
        assert found.dtype == expected.dtype and found.tobytes() == expected.tobytes()


def test_a_rewrite_that_changes_an_aval_is_left_out():
    graph = fx.make_graph(lambda x: fnp.sin(x) * 2)(X)
    half = fx.make_graph(lambda x: x.astype("f2"))(X).equations[0]
    for found in (
        lambda e, draft: [draft.emit("convert", e.inputs[0], like=e, dtype=np.dtype("f2"))],
        lambda e, draft: Equation(half.primitive, e.inputs, e.outputs, half.params, e.site),
    ):
        assert names(rewrite(graph, found, ("sin",))) == ["sin", "multiply"]


def test_stacking_makes_one_product_of_two():
    w, a, b = np.ones((300, 300)), BIG[:, :30] @ np.ones((30, 300)), BIG[:, 30:60] @ np.ones((30, 300))
    assert passed("stacking", lambda a, b: (a @ w, b @ w), a, b) == [
        "concatenate", "contract", "getitem", "getitem"
    ]  # fmt: skip
    assert passed("stacking", lambda a: (a @ w) @ w, a) == ["contract", "contract"]  # one needs the other
    small = np.tile(BIG[:9], 4)
    assert passed("stacking", lambda a, b: a.T @ b + b.T @ a, small, small[::-1]) == [
        "permute", "permute", "concatenate", "concatenate", "contract"
    ]  # fmt: skip


def test_a_selection_keeps_out_what_it_discards():
    """A gathered coefficient is 0 where a mask is false, and 0·∞ would be NaN."""
    t, c = BIG.copy(), ROW > 0
    t[:, ~c] = np.inf

    def chain(t, a, c):
        return fnp.where(c, -(t * a) * a / a, 0)

    graph = fx.make_graph(chain)(t, ROW, c)
    done = PASSES["coefficients"](graph)
    assert names(done)[-1] == "gathered"
    assert names(done.equations[-1].params["short"]) == ["multiply", "where"]
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(done(t, ROW, c)[0], graph(t, ROW, c)[0], rtol=1e-12)


def test_signs_that_are_gathered_need_no_look_at_numbers():
    def chain(t, c):
        return -fnp.where(c, -t, 0) - fnp.where(c, 0, t)

    graph = fx.make_graph(chain)(BIG, ROW > 0)
    done = PASSES["coefficients"](graph)
    big = [e.primitive.name for e in done.equations if e.outputs[0].aval.shape == BIG.shape]
    assert big == ["multiply"]
    np.testing.assert_array_equal(done(BIG, ROW > 0)[0], graph(BIG, ROW > 0)[0])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("size", [1e-25, 1e-3, 1.0, 1e3, 1e25, 0.0, np.inf, np.nan])
@pytest.mark.parametrize("root", [1e30, 1.0, 1e-30])
def test_factors_of_any_size_are_gathered_or_not(dtype, size, root):
    """The values of the chain as it is written: t·a·b of 1e30, 1e-25 and 1e-25 is 1e-20 in float32."""
    precision = np.finfo(dtype)
    with np.errstate(all="ignore"):
        t = (BIG * root).astype(dtype)
        a, b = (ROW * size).astype(dtype), (ROW[::-1] * size).astype(dtype)
        f = lambda t, a, b: fnp.where(a == a, -(t * a) * b, 0) * 0.5 / (1 + abs(b)) + t  # noqa: E731
        expected = f(t, a, b)
        graph = fx.make_graph(f)(t, a, b)
        done = PASSES["coefficients"](graph)
        assert ("gathered" in names(done)) is (dtype in ("f4", "f8"))
        for found in (done(t, a, b)[0], fx.jit(f)(t, a, b)):
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
            good = np.isfinite(expected) & (abs(expected) > precision.tiny / precision.eps)
            np.testing.assert_allclose(found[good], expected[good], rtol=20 * precision.eps)


def test_factors_of_less_precision_are_not_gathered():
    t, a = BIG, ROW.astype("f4")
    for small in (a, (10 * ROW).astype("i1")):
        assert "gathered" not in names(
            PASSES["coefficients"](fx.make_graph(lambda t, a: -(t * a) * a * a)(t, small))
        )


def test_a_merged_equation_warns_as_its_parts_did():
    def f(x):
        with np.errstate(all="ignore"):
            quiet = fnp.log(x)
        return quiet + fnp.log(x)

    graph = PASSES["common"](fx.make_graph(f)(X))
    assert [e.quiet for e in graph.equations] == [False, False]
    with pytest.warns(RuntimeWarning):
        fx.jit(f)(0 * X)


def test_what_warns_is_not_folded():
    def f(x):
        return x + fnp.log(fnp.zeros_like(x))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled = fx.jit(f).lower(X)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert np.all(compiled.compile()(X) == -np.inf)


def deviation(x):
    """Standardized columns: x − mean is read before the variance is known, and after."""
    u = x - fnp.mean(x, axis=0)
    return u / fnp.sqrt(fnp.sum(u * u, axis=0))


@pytest.mark.skipif(engine.mode() == "never", reason="without machine code nothing is repeated")
def test_a_later_loop_computes_a_cheap_value_again():
    graph = fx.make_graph(deviation)(BIG)
    done = repeat_cheap_steps(graph).check()
    assert names(done).count("subtract") == names(graph).count("subtract") + 1
    np.testing.assert_array_equal(done(BIG)[0], graph(BIG)[0])


def test_what_is_not_cheap_is_kept():
    def function(x):
        e = fnp.exp(x - fnp.max(x, axis=0))
        return e / fnp.sum(e, axis=0)

    graph = fx.make_graph(function)(BIG)
    assert names(repeat_cheap_steps(graph)) == names(graph)


def test_effects_stay_where_they_are():
    seen = []

    def f(x):
        fx.debug.callback(lambda v: seen.append(float(v)), x)
        fx.debug.callback(lambda v: seen.append(float(v)), x)
        return x * 1.0

    assert fx.jit(f)(2.0) == 2.0 and seen == [2.0, 2.0]


def test_bodies_are_optimized_too():
    def f(x):
        return lax.scan(lambda c, r: (c * 1.0 + r, fnp.sin(r) + fnp.sin(r)), 0.0 * x[0], x)

    (equation,) = [e for e in optimize(fx.make_graph(f)(X[0])).equations if e.primitive.name == "scan"]
    assert names(equation.params["body"]) == ["add", "sin", "add"]
    branch = optimize(
        fx.make_graph(lambda i, x: lax.cond(i, lambda x: fnp.negative(-x), fnp.sin, x))(True, X)
    )
    assert not any("negative" in names(g) for e in branch.equations for g in e.params.get("branches", ()))


def test_optimize_is_made_once_and_keeps_no_circle():
    graph = fx.make_graph(lambda x: x * 1.0 + x)(X)
    done = optimize(graph)
    assert optimize(graph) is done and optimize(done) is done and done is not graph
    assert Graph not in [type(v) for v in done.cache.values()]


def test_results_are_the_callers_own():
    """A result that became a constant, an argument or another result is writable and shared with nothing."""
    f = fx.jit(lambda x: (fnp.zeros_like(x), x * 1.0, x + -0.0, fnp.zeros_like(x) + 0.5))
    for _ in range(2):
        x = X.copy()
        results = f(x)
        for r in results:
            r += 1
        assert (x == X).all() and (f(x)[0] == 0).all() and (f(x)[3] == 0.5).all()


@pytest.mark.parametrize("size", [3, 5000])
@pytest.mark.parametrize("chance", [0.0, 0.001, 0.5])
def test_the_halves_of_ties_are_those_of_a_selection(size, chance):
    rng = np.random.default_rng(size)
    c, t = rng.random(size) < chance, rng.standard_normal(size).astype("f4")
    t[0] = np.inf
    before = t.copy()
    graph = fx.make_graph(lambda c, t: fnp.where(c, t * 0.5, t))(c, t)
    done = scale_rare_entries(graph).check()
    assert names(done) == ["scale_where"]
    for args in [(c, t), (c, t[:1]), (c[:1], t), (c[:1], t[0])]:
        expected, found = np.where(args[0], args[1] * 0.5, args[1]), SCALE_WHERE.kernel(*args, factor=0.5)
        assert np.asarray(found).tobytes() == np.asarray(expected).tobytes() and found.dtype == expected.dtype
    assert t.tobytes() == before.tobytes()
