"""jit and make_graph: staged once for a kind of arguments, compiled to readable code, transformed like any function."""

import copy
import pickle
import types

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from tests.ways import same

V = np.array([0.3, -1.2, 2.0])
M = np.array([[0.5, -1.0, 0.2], [1.1, 0.3, -0.7]])


class Counted:
    """A function that counts how often its body runs."""

    def __init__(self, function):
        self.function, self.count = function, 0

    def __call__(self, *args, **kwargs):
        self.count += 1
        return self.function(*args, **kwargs)


def test_the_body_runs_once_for_a_kind_of_arguments():
    body = Counted(lambda x, y=1.0: fnp.sin(x) * y)
    f = fx.jit(body)
    runs = []
    for args in [(V,), (V + 1,), (V[:2],), (V.astype("float32"),), (2.0,), (3.5,), (2,), (np.float64(2.0),), (V, V),
                 (V,), (M,), (M.T.copy(),), (3.0,)]:  # fmt: skip
        same(f(*args), body.function(*args))
        runs.append(body.count)
    assert runs == [1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 8, 9, 9]
    f.clear_cache()
    f(V)
    assert body.count == 10


def test_structure_is_part_of_the_kind():
    body = Counted(lambda d: d["a"] * 2.0)
    f = fx.jit(body)
    f({"a": V}), f({"a": V}), f({"a": V, "b": None}), f({"a": V, "b": 1.0})
    assert body.count == 3


def test_static_arguments_are_compared_by_value():
    body = Counted(lambda x, n, mode="up": x**n if mode == "up" else x / n)
    f = fx.jit(body.function, static_argnums=1, static_argnames="mode")
    same(f(V, 2), V**2)
    same(f(V, 2, mode="down"), V / 2)
    same(f(V, n=3), V**3)
    counted = fx.jit(lambda x, n: body(x, n), static_argnums=(1,))
    for n in (2, 2, 3, 2, 2.0, True):  # 2 == 2.0, but not the same program
        counted(V, n)
    assert body.count == 4
    assert counted(V, 2).dtype == float


def test_static_arguments_must_be_hashable():
    with pytest.raises(fx.StaticArgumentError, match=r"(?s)static argument 1 of type list.*pass a tuple"):
        fx.jit(lambda x, n: x, static_argnums=1)(V, [1])
    with pytest.raises(fx.StaticArgumentError, match="'n' of type dict"):
        fx.jit(lambda x, n: x, static_argnames="n")(V, n={})


@pytest.mark.parametrize("transform", [
    lambda f: fx.grad(lambda x: fnp.sum(f(x))),
    lambda f: fx.value_and_grad(lambda x: fnp.sum(f(x) ** 2)),
    lambda f: lambda x: fx.jvp(f, (x,), (x,)),
    lambda f: lambda x: fx.vjp(f, x)[1](x),
    fx.vmap,
    fx.jacfwd,
    fx.jacrev,
    fx.hessian,
    fx.jit,
    fx.checkpoint,
    lambda f: lambda x: fx.linearize(f, x)[1](x),
])  # fmt: skip
def test_transforms_apply_outside_and_inside(transform):
    def f(x):
        return fnp.sin(x) * x

    expected = transform(f)(V)
    same(transform(fx.jit(f))(V), expected)
    same(fx.jit(transform(f))(V), expected)
    same(fx.jit(transform(fx.jit(f)))(V), expected)


def test_captured_tracers_are_never_kept():
    f = fx.jit(lambda y: y * outer)
    for value in (2.0, 3.0):

        def g(x):
            nonlocal outer
            outer = x
            return f(5.0) * x

        outer = None
        assert fx.grad(g)(value) == 10.0 * value
    for batch in (V, V + 1):

        def h(x):
            nonlocal outer
            outer = x
            return f(1.0)

        same(fx.vmap(h)(batch), batch)
    with pytest.raises(fx.EscapedTracerError):
        f(5.0)  # the tracer of a vmap that has returned


def test_captured_arrays_are_part_of_the_code():
    buffer = V.copy()
    f = fx.jit(lambda x: x * buffer)
    first = f(2.0)
    buffer[:] = 0.0
    same(f(2.0), first)
    handed_out = fx.jit(lambda: buffer)
    handed_out()[:] = 9.0
    same(handed_out(), np.zeros(3))


def test_arguments_may_change_between_calls():
    x = V.copy()
    f = fx.jit(lambda x: x + 1.0)
    f(x)
    x[:] = 5.0
    same(f(x), x + 1.0)


@pytest.mark.parametrize("function", [
    lambda x: x,
    lambda x: (x, x),
    lambda x: (lambda y: (y, y, y.T))(x + 1.0),
    lambda x: x.T[::-1].reshape(-1),
    lambda x: fnp.broadcast_to(x[0], (2, 3)),
    lambda x: (x.real, x + 0.0),
])  # fmt: skip
def test_results_are_the_callers_own(function):
    x = M.copy()
    results = fx.tree.leaves(fx.jit(function)(x))
    for index, result in enumerate(results):
        kept = [r.copy() for r in results]
        result[...] = 7.0
        same(x, M)
        assert all(np.array_equal(a, b) for i, (a, b) in enumerate(zip(results, kept)) if i != index)


def test_the_source_is_readable():
    f = fx.jit(lambda x, y: fnp.sin(x) * y)
    lines = f.source(V, 2.0).splitlines()
    assert lines[0].startswith("def ") and lines[0].endswith("(x0, x1):")
    assert [line.split(" = ")[1] for line in lines if " = " in line] == ["sin(x0)", "multiply(v2, x1)"]


def test_methods():
    class Model:
        scale = 3.0

        @fx.jit
        def static(x):
            return x * 2.0

        def __init__(self):
            self.apply = fx.jit(self.forward)

        def forward(self, x):
            return x * self.scale

    same(Model().apply(V), V * 3.0)
    same(Model.static(V), V * 2.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda n: fnp.zeros(n),
        lambda n: fnp.ones((2, n)),
        lambda n: fnp.eye(n),
        lambda n: fnp.arange(n),
        lambda n: fx.random.uniform(fx.random.key(0), (n,)),
    ],
)
def test_a_size_that_is_traced_is_refused_with_the_cure(make):
    with pytest.raises(fx.ConcretizationError, match="static_argnums") as error:
        fx.jit(make)(3)
    assert error.value.__context__ is None
    assert fx.jit(make, static_argnums=0)(3).size > 2


def test_values_are_not_known_while_staging():
    with pytest.raises(fx.ConcretizationError, match=r"(?s)bool\(\) of an abstract value.*static_argnums"):
        fx.jit(lambda x: x if x > 0 else -x)(1.0)
    with pytest.raises(fx.ConcretizationError, match=r"float\(\)"):
        fx.jit(lambda x: float(x))(1.0)


def test_errors_name_the_users_line_when_compiled():
    with pytest.raises(fx.ShapeError, match=r"test_jit\.py"):
        fx.jit(lambda x: x + np.ones(4))(V)
    same(fx.jit(lambda x: x + 1.0)(V), V + 1.0)


# ------------------------------------------------------------------------------------------------ make_graph


def test_make_graph():
    graph, shapes = fx.make_graph(
        lambda d, n: {"y": fnp.sin(d["x"]) * n}, static_argnums=1, return_shape=True
    )({"x": V}, 2)
    assert [e.primitive.name for e in graph.equations] == ["sin", "multiply"]
    assert shapes == {"y": fx.ShapeDtypeStruct((3,), float)}
    same(graph.check()(V), [np.sin(V) * 2])
    assert all(e.site.filename == __file__ for e in graph.equations)


def test_graphs_of_transforms():
    def f(x):
        return fnp.sum(fnp.sin(x) ** 2)

    for transform in (fx.grad, fx.hessian, fx.jit, fx.checkpoint, fx.value_and_grad):
        graph = fx.make_graph(transform(f))(V).check()
        same(graph(V), fx.tree.leaves(transform(f)(V)))


def test_make_graph_takes_shapes():
    graph = fx.make_graph(lambda x: x @ x.T)(fx.ShapeDtypeStruct((2, 3), np.float32))
    assert repr(graph.out_avals) == "[f32[2,2]]"


def test_shape_dtype_struct():
    a = fx.ShapeDtypeStruct((2, 3), np.float32)
    assert (a.ndim, a.size, a == fx.ShapeDtypeStruct([2, 3], "float32"), a == 3) == (2, 6, True, False)
    assert len({a, fx.ShapeDtypeStruct((2, 3), "float32")}) == 1


def test_closure_convert():
    w, n = V.copy(), np.arange(3)
    converted, closed_over = fx.closure_convert(lambda x: x * w + n, V)
    assert len(closed_over) == 1  # integers stay where they are
    same(converted(V, 2 * closed_over[0]), V * 2 * V + n)
    with pytest.raises(fx.StructureError, match="takes 1 arguments and 1 closed-over"):
        converted(V)
    gradient = fx.grad(lambda w: fnp.sum((lambda g, c: g(V, *c))(*fx.closure_convert(lambda x: x * w, V))))(V)
    same(gradient, V)


def test_lines_of_a_jitted_function_are_seen_through():
    """Equations and errors know the user's line, however often the function was staged in between."""

    def inner(x):
        return fnp.sin(x) * 2.0  # this line

    for f in (fx.jit(inner), fx.checkpoint(fx.jit(inner)), fx.make_graph(inner)(1.0)):
        graph = fx.make_graph(lambda x: f(x))(1.0)  # noqa: B023
        while graph.equations[0].primitive.name == "checkpoint":
            graph = graph.equations[0].params["graph"]
        assert [e.site.line for e in graph.equations] == ["return fnp.sin(x) * 2.0  # this line"] * 2


SILENT = {
    "grad": lambda x: fx.grad(fnp.sqrt)(x),
    "jvp": lambda x: fx.jvp(fnp.sqrt, (x,), (1.0,)),
    "vmap of grad": lambda x: fx.vmap(fx.grad(fnp.sqrt))(fnp.stack([x, x])),
    "hessian": lambda x: fx.hessian(lambda v: fnp.linalg.norm(fnp.stack([v, v])))(x),
    "another branch": lambda x: fx.vmap(lambda v: fx.lax.cond(v > 0, fnp.log, lambda u: u + 1, v))(
        fnp.stack([x, x + 1])
    ),
    "grad of jit": lambda x: fx.grad(fx.jit(fnp.sqrt))(x),
    "checkpoint": lambda x: fx.grad(fx.checkpoint(fnp.sqrt))(x),
}


@pytest.mark.parametrize("name", SILENT)
def test_rules_are_as_silent_as_without_jit(name):
    """Warnings are errors in these tests: what a rule computes, and may discard, does not warn when it is compiled."""
    f = SILENT[name]
    compiled = fx.jit(f)
    for _ in range(2):
        for a, b in zip(fx.tree.leaves(compiled(0.0)), fx.tree.leaves(f(0.0)), strict=True):
            np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(
        fx.tree.leaves(fx.jit(lambda x: compiled(x))(0.0))[0], fx.tree.leaves(f(0.0))[0]
    )


def test_what_the_user_computes_warns_in_compiled_code():
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in log"):
        fx.jit(fx.value_and_grad(fnp.log))(0.0)


def test_errors_are_treated_as_where_the_code_runs_not_as_where_it_was_staged():
    """NumPy's error state is read at the call, except where the function itself sets it."""

    def careless(x):
        with np.errstate(all="ignore"):
            return fnp.log(x) + 1.0

    for f in (fnp.log, fx.value_and_grad(fnp.log), lambda x: fx.lax.map(fnp.log, fnp.stack([x, x]))):
        for first, second in (("ignore", "raise"), ("raise", "ignore"), ("warn", "raise")):
            compiled = fx.jit(f)
            for treatment in (first, second):
                with np.errstate(all=treatment):
                    if treatment == "raise":
                        with pytest.raises(FloatingPointError, match="divide by zero encountered in log"):
                            compiled(0.0)
                    else:
                        compiled(1.0 if treatment == "warn" else 0.0)
    compiled = fx.jit(careless)
    for treatment in ("raise", "warn", "ignore"):
        with np.errstate(all=treatment):
            assert compiled(0.0) == -np.inf


def named(x, n=2):
    """A function that is found by its name, so that it can be pickled."""
    return x**n


named.note = "a note"


@fx.jit(static_argnames="n")
def decorated_by_name(x, n=2):
    return x**n if n else x


def test_without_a_function_it_is_a_decorator():
    assert decorated_by_name(3.0) == 9.0 and decorated_by_name(3.0, n=0) == 3.0
    with pytest.raises(TypeError, match="unexpected keyword argument 'static'"):
        fx.jit(static="n")


def test_options_of_jax_are_accepted():
    f = fx.jit(named, inline=True, donate_argnums=0, donate_argnames="n", keep_unused=True, device=None)
    x = V.copy()
    same(f(x), V**2)
    same(x, V)


def test_attributes_and_the_name_of_the_function_stay():
    f = fx.jit(named)
    assert f.note == "a note" and f.__name__ == "named" and "named" in repr(f)
    with pytest.raises(AttributeError):
        f.missing  # noqa: B018


def test_pickles_and_copies():
    f = pickle.loads(pickle.dumps(fx.jit(named, static_argnames="n")))
    assert f(2.0, n=3) == 8.0 and f.names == {"n"}
    assert pickle.loads(pickle.dumps(decorated_by_name)) is decorated_by_name
    assert copy.copy(f)(2.0) == 4.0 and copy.deepcopy(decorated_by_name) is decorated_by_name


def test_shapes_without_data():
    struct = fx.ShapeDtypeStruct((3, 2), "float32")
    assert len(struct) == 3 and struct.update(shape=(1,)) == fx.ShapeDtypeStruct((1,), "float32")
    assert fx.ShapeDtypeStruct.like(M) == fx.eval_shape(lambda x: x, M)
    with pytest.raises(TypeError, match="unsized"):
        len(fx.ShapeDtypeStruct((), float))
    with pytest.raises(fx.DTypeError, match="dtype is None"):
        fx.ShapeDtypeStruct((), None)
    other = types.SimpleNamespace(shape=(3,), dtype=np.dtype("float32"))  # as other libraries have it
    assert fx.eval_shape(lambda x: x * 2, other) == fx.ShapeDtypeStruct((3,), "float32")
    assert fx.typeof(2.0).weak and fx.typeof(np.float32(2)).dtype == np.float32
    assert fx.jit(lambda x: fx.typeof(x).ndim * x)(V).shape == (3,)


def test_arrays_are_known_by_their_class():
    assert isinstance(V, fx.Array) and isinstance(np.float64(1), fnp.ndarray) and fnp.ndarray is fx.Array
    assert not isinstance([1.0], fx.Array) and not isinstance(np.ndarray, fx.Array)
    assert fx.grad(lambda x: x if isinstance(x, fx.Array) else 0.0)(1.0) == 1.0
    assert fx.block_until_ready({"a": V})["a"] is V
    with pytest.raises(TypeError, match="annotations"):
        fx.Array([1.0])
