"""Python functions called from transformed programs: for what they do, and for their results."""

import gc
import math
import sys
import weakref

import array_api_strict as strict
import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.core.interpreter import CURRENT, EVAL

FLOAT = fx.ShapeDtypeStruct((), float)


@pytest.fixture
def seen():
    """A list, and a function of one argument that records it."""
    return []


def recorded(seen, f=lambda x: x * x):
    """f, which records its argument."""

    def function(x):
        fx.debug.callback(seen.append, x)
        return f(x)

    return function


# -- effects
WAYS = {
    "plain": (lambda f: f, 3.0, [3.0]),
    "grad": (fx.grad, 3.0, [3.0]),
    "vjp": (lambda f: lambda x: fx.vjp(f, x)[1](1.0), 3.0, [3.0]),
    "jvp": (lambda f: lambda x: fx.jvp(f, (x,), (1.0,)), 3.0, [3.0]),
    "linearize": (lambda f: lambda x: fx.linearize(f, x)[1](1.0), 3.0, [3.0]),
    "hessian": (fx.hessian, 3.0, [3.0]),
    "jacfwd": (fx.jacfwd, 3.0, [3.0]),
    "jit": (fx.jit, 3.0, [3.0]),
    "jit(jit)": (lambda f: fx.jit(fx.jit(f)), 3.0, [3.0]),
    "grad(jit)": (lambda f: fx.grad(fx.jit(f)), 3.0, [3.0]),
    "jit(grad)": (lambda f: fx.jit(fx.grad(f)), 3.0, [3.0]),
    "jit(hessian)": (lambda f: fx.jit(fx.hessian(f)), 3.0, [3.0]),
    "vmap": (fx.vmap, np.arange(3.0), [0.0, 1.0, 2.0]),
    "vmap(vmap)": (lambda f: fx.vmap(fx.vmap(f)), np.arange(4.0).reshape(2, 2), [0.0, 1.0, 2.0, 3.0]),
    "jit(vmap(vmap))": (
        lambda f: fx.jit(fx.vmap(fx.vmap(f))),
        np.arange(4.0).reshape(2, 2),
        [0.0, 1.0, 2.0, 3.0],
    ),
    "vmap(grad)": (lambda f: fx.vmap(fx.grad(f)), np.arange(2.0), [0.0, 1.0]),
    "grad(vmap)": (lambda f: fx.grad(lambda x: fnp.sum(fx.vmap(f)(x))), np.arange(2.0), [0.0, 1.0]),
    "vmap(jit)": (lambda f: fx.vmap(fx.jit(f)), np.arange(2.0), [0.0, 1.0]),
    "vmap of nothing": (fx.vmap, np.zeros(0), []),
    "checkpoint": (fx.checkpoint, 3.0, [3.0]),
    "grad(checkpoint)": (lambda f: fx.grad(fx.checkpoint(f)), 3.0, [3.0, 3.0]),  # computed twice
    "jit(jvp(checkpoint))": (
        lambda f: fx.jit(lambda x: fx.jvp(fx.checkpoint(f), (x,), (1.0,))),
        3.0,
        [3.0],
    ),
    "make_graph": (lambda f: lambda x: fx.make_graph(f)(x), 3.0, []),
    "a Graph": (lambda f: lambda x: fx.make_graph(f)(x)(x), 3.0, [3.0]),
    "eval_shape": (lambda f: lambda x: fx.eval_shape(f, x), 3.0, []),
    "linear_transpose": (lambda f: lambda x: fx.linear_transpose(lambda t: (f(t), 2 * t)[1], x), 3.0, []),
}


@pytest.mark.parametrize("name", WAYS)
def test_a_callback_gets_primal_values_entry_by_entry(name, seen):
    transform, x, expected = WAYS[name]
    transform(recorded(seen))(x)
    assert [float(value) for value in seen] == expected


@pytest.mark.parametrize("name", WAYS)
def test_results_are_those_without_it(name, seen):
    transform, x, _ = WAYS[name]
    with_it, without = transform(recorded(seen))(x), transform(lambda x: x * x)(x)
    if name not in ("make_graph", "linear_transpose"):
        for a, b in zip(np.atleast_1d(with_it), np.atleast_1d(without)):
            assert np.all(a == b) if isinstance(a, np.ndarray | float) else a == b


def test_jit_calls_at_every_run_and_in_order(seen):
    constant = np.array([7.0])

    @fx.jit
    def f(x):
        fx.debug.callback(seen.append, "begin")
        fx.debug.callback(seen.append, x)
        y = x + 1
        fx.debug.callback(lambda y, c: seen.append((y, *c)), y, constant)
        fx.debug.callback(lambda: seen.append("end"))
        return None

    assert f(1.0) is None and f(2.0) is None
    assert seen == ["begin", 1.0, (2.0, 7.0), "end", "begin", 2.0, (3.0, 7.0), "end"]


def test_jit_calls_at_every_run_from_within_a_watched_part(seen):
    @fx.jit
    def f(x):
        with fx.debug_nans():
            fx.debug.callback(seen.append, "constant")
            return x + 1

    f(1.0), f(2.0)
    assert seen == ["constant", "constant"]


def test_an_effect_is_kept_and_shown_in_the_graph(seen):
    graph = fx.make_graph(recorded(seen, fnp.sin))(1.0)
    assert [e.primitive.name for e in graph.equations] == ["debug_callback", "sin"]
    assert "\n  debug_callback(x, callback=append) " in repr(graph)
    assert "debug_callback" in fx.jit(recorded(seen)).source(1.0)
    inner = fx.make_graph(lambda x: (fx.checkpoint(recorded(seen))(x), fnp.cos(x))[1])(1.0)
    assert [e.primitive.name for e in inner.equations] == ["checkpoint", "cos"]
    assert len(fx.make_graph(lambda x: (fx.checkpoint(fnp.sin)(x), fnp.cos(x))[1])(1.0).equations) == 1


LOOPS = {
    "plain": (lambda f: f, 1),
    "jit": (fx.jit, 1),
    "grad": (fx.grad, 1),
    "jit(grad)": (lambda f: fx.jit(fx.grad(f)), 1),
    "jvp": (lambda f: lambda x: fx.jvp(f, (x,), (1.0,)), 1),
    "jit(jvp)": (lambda f: fx.jit(lambda x: fx.jvp(f, (x,), (1.0,))), 1),
    "hessian": (fx.hessian, 1),
    "vmap": (lambda f: lambda x: fx.vmap(f)(np.array([x, x])), 2),
    "watched": (lambda f: lambda x: watched(f, x), 1),
}


def watched(f, x):
    with fx.debug_nans():
        return fx.jit(f)(x)


@pytest.mark.parametrize("name", LOOPS)
def test_effects_in_loops_and_branches(name, seen):
    def f(x):
        def step(carry, row):
            fx.debug.callback(lambda c, r: seen.append((c, r)), carry, row)
            return carry * row, None

        y, _ = fx.lax.scan(step, x, np.array([2.0, 3.0]))

        def body(carry):
            fx.debug.callback(seen.append, carry)
            return carry + 1.0

        z = fx.lax.while_loop(lambda c: c < 8.0, body, y, max_steps=2)
        fx.lax.cond(z > 0, recorded(seen), lambda x: x * 0, z)  # for its effect only
        return z

    transform, times = LOOPS[name]
    transform(f)(1.0)
    expected = [(1.0, 2.0), (2.0, 3.0), 6.0, 7.0, 8.0]
    assert seen == [entry for entry in expected for _ in range(times)]


def test_pytrees_and_other_objects_are_handed_through(seen):
    def record(*args, **kwargs):
        seen.append((args, kwargs))

    @fx.jit
    def f(x):
        fx.debug.callback(record, {"x": x, "none": None}, "text", flag=True, pair=(x, int))
        return x

    f(np.float32(2.0))
    assert seen == [(({"x": 2.0, "none": None}, "text"), {"flag": True, "pair": (2.0, int)})]
    assert type(seen[0][0][0]["x"]) is np.float32


def test_the_arrays_are_the_callbacks_own(seen):
    def spoil(x):
        seen.append(x)
        x[:] = -1

    @fx.jit
    def f(x):
        y = fnp.sin(x)
        fx.debug.callback(spoil, y)
        fx.debug.callback(spoil, x)
        return fnp.sum(y * x)

    x = np.array([1.0, 2.0])
    expected = np.sum(np.sin(x) * x)
    assert f(x) == expected
    np.testing.assert_allclose(fx.grad(f)(x), np.cos(x) * x + np.sin(x))
    np.testing.assert_array_equal(x, [1.0, 2.0])
    assert len(seen) == 4


def test_what_a_callback_computes_is_no_part_of_the_program(seen):
    """It runs outside the transform: its own gradient calls are plain, its results are ignored."""

    def look(x):
        assert CURRENT.get() is EVAL
        seen.append(float(fx.grad(fnp.sin)(x)))

    def f(x):
        fx.debug.callback(look, x)
        return x**2

    assert fx.grad(fx.jit(f))(0.0) == 0.0 and fx.grad(f)(3.0) == 6.0
    assert seen == [1.0, math.cos(3.0)]


def test_an_error_in_a_callback_is_the_users():
    def fail(x):
        raise ValueError("mine")

    for transform in (lambda f: f, fx.jit, fx.grad, fx.vmap, lambda f: fx.grad(fx.jit(f))):
        x = np.ones(1) if transform is fx.vmap else 1.0
        with pytest.raises(ValueError, match=r"^mine$"):
            transform(lambda x: (fx.debug.callback(fail, x), x)[1])(x)
        assert CURRENT.get() is EVAL


def test_effects_in_rules(seen):
    @fx.custom_jvp
    def f(x):
        fx.debug.callback(lambda x: seen.append(("f", float(x))), x)
        return fnp.sin(x)

    @f.defjvp
    def f_jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        fx.debug.callback(lambda x: seen.append(("rule", float(x))), x)
        fx.debug.callback(lambda t: seen.append(("tangent", float(t))), t)
        return fnp.sin(x), fnp.cos(x) * t

    fx.jit(f)(1.0)
    fx.jvp(f, (1.0,), (2.0,))
    assert seen == [("f", 1.0), ("rule", 1.0), ("tangent", 2.0)]
    seen.clear()
    assert fx.grad(f)(1.0) == np.cos(1.0)  # in reverse mode there is no tangent
    assert seen == [("rule", 1.0)]

    @fx.custom_vjp
    def g(x):
        return x * 2

    def bwd(_, ct):
        fx.debug.callback(lambda ct: seen.append(("ct", float(ct))), ct)
        return (2 * ct,)

    g.defvjp(lambda x: (x * 2, None), bwd)
    seen.clear()
    assert fx.jit(fx.grad(lambda x: 3 * g(x)))(1.0) == 6.0
    assert seen == [("ct", 3.0)]


def test_values_are_not_kept(seen):
    x = np.ones(3)
    dead = weakref.ref(x)
    f = recorded([], fnp.sum)
    fx.grad(f)(x)
    fx.jit(f)(x)
    del x
    gc.collect()
    assert dead() is None


def test_arrays_of_another_library(seen):
    f = recorded(seen, fnp.sum)
    x = strict.asarray([1.0, 2.0])
    fx.jit(fx.grad(f))(x)
    assert type(seen[0]) is type(x)


# -- print
def test_print(capsys):
    x = np.array([1.0, 2.0])
    fx.debug.print("{} {y:.2f} {s} {a[0]} {x.shape}", 1, y=2.0, s="text", a=x, x=x)
    fx.jit(lambda x: fx.debug.print("x = {x!r}", x=x))(x)
    fx.debug.print("{{}}")
    assert capsys.readouterr().out == "1 2.00 text 1.0 (2,)\nx = array([1., 2.])\n{}\n"


def test_print_with_a_wrong_format():
    with pytest.raises(fx.StructureError, match="does not use the argument 'x'") as caught:
        fx.jit(lambda x: fx.debug.print(f"{x}", x=x))(1.0)
    assert "f-string" in str(caught.value) and caught.value.site.filename == __file__
    with pytest.raises(ValueError, match="does not use the argument 1"):
        fx.debug.print("{}", 1, 2)
    with pytest.raises(IndexError):
        fx.jit(lambda x: fx.debug.print("{} {}", x))(1.0)
    with pytest.raises(KeyError):
        fx.jit(lambda x: fx.debug.print("{y}"))(1.0)


def test_a_callback_is_a_function():
    with pytest.raises(fx.StructureError, match=r"debug\.callback takes a function, not a str"):
        fx.debug.callback("x = {}", 1.0)


# -- breakpoint
def test_breakpoint_stops_where_the_values_are(monkeypatch):
    stops = []

    def hook():
        frame = sys._getframe(1)
        stops.append((frame.f_locals["args"], frame.f_locals["kwargs"]))

    monkeypatch.setattr(sys, "breakpointhook", hook)

    @fx.jit
    def f(x):
        y = x * 2
        fx.debug.breakpoint(x, y=y)
        return y

    fx.grad(f)(1.0)
    f(3.0)
    assert stops == [((1.0,), {"y": 2.0}), ((3.0,), {"y": 6.0})]


# -- results
def gamma(x, method="sequential", calls=None):
    def compute(x):
        if calls is not None:
            calls.append(np.shape(x))
        return np.vectorize(math.gamma, otypes=[float])(x)

    return fx.pure_callback(compute, fx.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method=method)


def test_pure_callback_in_every_mode():
    x = np.array([1.0, 4.0, 5.0])
    expected = [1.0, 6.0, 24.0]
    for method in ("sequential", "expand_dims", "broadcast_all"):

        def f(x, method=method):
            return gamma(x, method)

        for call in (f, fx.jit(f), fx.vmap(f), fx.jit(fx.vmap(f)), fx.vmap(fx.jit(f)), fx.checkpoint(f)):
            result = call(x)
            np.testing.assert_allclose(result, expected, rtol=1e-15)
            assert type(result) is np.ndarray
        np.testing.assert_allclose(fx.vmap(fx.vmap(f))(x[None]), [expected], rtol=1e-15)
        assert fx.vmap(f)(np.zeros(0)).shape == (0,)
    assert type(f(np.float64(5.0))) is np.float64


def test_how_a_batch_is_passed():
    for method, shapes in {
        "sequential": [((), (2,))] * 3,
        "expand_dims": [((3,), (1, 2))],
        "broadcast_all": [((3,), (3, 2))],
    }.items():
        calls = []

        def add(x, w, calls=calls):
            calls.append((np.shape(x), np.shape(w)))
            return np.asarray(x)[..., None] + w

        def f(x, w, method=method, add=add):
            return fx.pure_callback(add, fx.ShapeDtypeStruct((2,), float), x, w, vmap_method=method)

        x, w = np.arange(3.0), np.array([10.0, 20.0])
        np.testing.assert_array_equal(fx.vmap(f, in_axes=(0, None))(x, w), x[:, None] + w)
        assert calls == shapes


def test_pytrees_of_results():
    declared = {"sum": FLOAT, "parts": (fx.ShapeDtypeStruct((2,), np.int32), None)}

    def split(x, scale):
        return {"sum": scale * float(np.sum(x)), "parts": (np.array([1, 2], np.int32), None)}

    def f(x):
        return fx.pure_callback(split, declared, x, scale=2, vmap_method="sequential")

    for call in (f, fx.jit(f)):
        result = call(np.ones(3))
        assert result["sum"] == 6.0 and result["parts"][1] is None
        assert result["parts"][0].dtype == np.int32
    mapped = fx.vmap(f)(np.ones((4, 3)))
    assert mapped["parts"][0].shape == (4, 2) and mapped["sum"].tolist() == [6.0] * 4


def test_arrays_may_declare_results():
    x = np.ones((2, 3), np.float32)
    assert fx.jit(lambda x: fx.pure_callback(lambda x: x, x, x))(x).dtype == np.float32


@pytest.mark.parametrize(
    "result, error, words",
    [
        (np.ones(2), fx.ShapeError, "returned shape (2,), declared is ()"),
        (np.float32(1), fx.DTypeError, "returned dtype float32, declared is float64"),
        (np.int64(1), fx.DTypeError, "returned dtype int64, declared is float64"),
        (1j, fx.DTypeError, "returned dtype complex128, declared is float64"),
        ((1.0, 2.0), fx.StructureError, "returned the structure"),
        (None, fx.StructureError, "declared is"),
        ("text", fx.FxgradError, "declared"),
    ],
)
def test_results_must_be_as_declared(result, error, words):
    def wrong(x):
        return result

    def f(x):
        return fx.pure_callback(wrong, FLOAT, x, vmap_method="sequential")

    for transform in (lambda f: f, fx.jit, lambda f: lambda x: fx.vmap(f)(np.array([x]))):
        with pytest.raises(error) as caught:
            transform(f)(1.0)
        assert "pure_callback: wrong" in str(caught.value) and words in str(caught.value)


def test_python_numbers_take_the_declared_dtype():
    for value in (True, 1, 1.0):
        result = fx.pure_callback(lambda value=value: value, fx.ShapeDtypeStruct((), np.float32))
        assert type(result) is np.float32 and result == 1


def test_results_are_not_shared():
    buffer = np.zeros(2)

    def fill(x):
        buffer[:] = x
        return buffer

    @fx.jit
    def f(x):
        return fx.pure_callback(fill, fx.ShapeDtypeStruct((2,), float), x)

    a, b = f(1.0), f(2.0)
    np.testing.assert_array_equal([a, b], [[1.0, 1.0], [2.0, 2.0]])


def test_derivatives_need_a_rule():
    x = np.float64(5.0)
    for transform in (
        fx.grad,
        lambda f: lambda x: fx.jvp(f, (x,), (1.0,)),
        lambda f: fx.jit(fx.grad(f)),
        lambda f: fx.grad(fx.jit(f)),
        lambda f: fx.grad(fx.checkpoint(f)),
        fx.hessian,
    ):
        with pytest.raises(
            fx.NotDifferentiableError, match="compute has no derivative that fxgrad knows"
        ) as caught:
            transform(gamma)(x)
        assert "custom_jvp" in str(caught.value)
    # Constants and integers have none.
    assert fx.grad(lambda x: x * gamma(fx.stop_gradient(x)))(x) == 24.0
    count = fx.ShapeDtypeStruct((), int)
    assert fx.grad(lambda x: x * fx.pure_callback(lambda x: int(x), count, x))(x) == 5.0

    @fx.custom_jvp
    def ruled(x):
        return gamma(x)

    digamma_of_5 = 1.5061176684318003
    ruled.defjvps(lambda t, y, x: t * y * digamma_of_5)
    for transform in (
        fx.grad,
        lambda f: fx.jit(fx.grad(f)),
        lambda f: lambda x: fx.vmap(fx.grad(f))(x[None])[0],
    ):
        np.testing.assert_allclose(transform(ruled)(x), 24 * digamma_of_5, rtol=1e-15)


def test_vmap_needs_a_method():
    with pytest.raises(fx.UnsupportedError, match="compute: it is not said how it takes a batch") as caught:
        fx.vmap(lambda x: gamma(x, None))(np.ones(2))
    assert "vmap_method='sequential'" in str(caught.value) and "vmap at" in str(caught.value)
    with pytest.raises(ValueError, match="there is no vmap_method 'parallel'"):
        gamma(np.ones(2), "parallel")


def test_declarations_are_checked():
    with pytest.raises(fx.DTypeError, match=r"the declared result \['a'\] has dtype object"):
        fx.pure_callback(lambda: {"a": None}, {"a": np.array([None])})
    with pytest.raises(fx.DTypeError):
        fx.pure_callback(lambda: 1.0, "float")
    with pytest.raises(fx.StructureError, match="pure_callback takes a function, not a float"):
        fx.pure_callback(1.0, FLOAT)


def test_a_result_that_nobody_needs_is_not_computed():
    calls = []

    @fx.jit
    def f(x):
        gamma(x, calls=calls)
        return x

    f(np.float64(1.0))
    assert calls == []


def test_effects_inside_a_custom_rule_outlive_results_that_nobody_needs(seen):
    f = fx.custom_jvp(recorded(seen))
    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    fx.jit(lambda x: (f(x), 2.0 * x)[1])(3.0)
    assert seen == [3.0]


# -- results and effects
def test_io_callback_is_called_as_often_as_the_program_says():
    seen = []

    def record(x):
        seen.append(float(x))
        return len(seen)

    @fx.jit
    def f(x):
        fx.io_callback(record, fx.ShapeDtypeStruct((), int), x)  # whose result nobody needs
        count = fx.io_callback(record, fx.ShapeDtypeStruct((), int), 2 * x, ordered=True)
        assert fx.io_callback(lambda: seen.append(-1.0), None) is None
        return count

    assert f(1.0) == 2 and f(3.0) == 5
    assert seen == [1.0, 2.0, -1.0, 3.0, 6.0, -1.0]


def test_io_callback_in_loops_and_batches():
    numbers = iter(range(100))

    def draw(x):
        return x + next(numbers)

    def f(x):
        return fx.io_callback(draw, FLOAT, x)

    np.testing.assert_array_equal(fx.jit(fx.vmap(f))(np.zeros(3)), [0.0, 1.0, 2.0])
    _, ys = fx.jit(lambda x: fx.lax.scan(lambda c, _: (c, f(c)), x, None, length=2))(10.0)
    np.testing.assert_array_equal(ys, [13.0, 14.0])
    assert fx.grad(lambda x: x * f(fx.stop_gradient(x)))(0.0) == 5.0
    with pytest.raises(fx.NotDifferentiableError, match="io_callback: draw has no derivative"):
        fx.grad(f)(0.0)
    with pytest.raises(fx.UnsupportedError, match="no order of calls"):
        fx.vmap(lambda x: fx.io_callback(draw, FLOAT, x, ordered=True))(np.zeros(3))
    with pytest.raises(fx.ShapeError, match="io_callback: <lambda> returned shape"):
        fx.io_callback(lambda: np.zeros(2), FLOAT)
