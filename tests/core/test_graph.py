"""The traced Graph: printing, pictures, checking, evaluation."""

import itertools
import re
import shutil
from collections import namedtuple
from pathlib import Path
from xml.dom import minidom

import numpy as np
import pytest

import fxgrad as fx
from fxgrad import ops
from fxgrad.core import picture
from fxgrad.core.aval import Aval
from fxgrad.core.errors import GraphError
from fxgrad.core.graph import Equation, Graph, Literal, Var, letter_names
from fxgrad.core.primitive import Primitive
from fxgrad.core.staging import stage
from fxgrad.kernels.codegen.source import compile_graph
from fxgrad.ops import ARRAY
from fxgrad.ops.kinds import Elementwise, elementwise

F64 = np.dtype(float)
SCALAR, VECTOR, MATRIX = (Aval(shape, F64) for shape in [(), (3,), (2, 3)])
HALF = np.array(0.5)


def loss(x, y):
    residual = x - y
    return [ops.reduce_sum(residual**2, axes=(0,)) * HALF]


def graph_of(fun, *avals, **options):
    return stage(fun, avals, **options).check()


def right_sides(fun, *avals):
    """What stands right of each `=` in the printed graph."""
    lines = repr(graph_of(fun, *avals, sites=False)).splitlines()
    return [line.split(" = ")[1].rsplit("  ", 1)[0].strip() for line in lines if " = " in line]


# -- printing
def test_a_graph_prints_like_mathematics(monkeypatch):
    monkeypatch.chdir(Path(__file__).parent.parent.parent)
    first = loss.__code__.co_firstlineno
    listing = f"""\
        loss(x: f64[3], y: f64[3]) → f64[]
          k: f64[] = 0.5
          a = x - y              f64[3]  tests/core/test_graph.py:{first + 1}
          b = a ** 2             f64[3]  tests/core/test_graph.py:{first + 2}
          c = sum(b, axes=(0,))  f64[]   tests/core/test_graph.py:{first + 2}
          d = c * k              f64[]   tests/core/test_graph.py:{first + 2}
          return d"""
    indented = ["        " + line for line in repr(graph_of(loss, VECTOR, VECTOR, name="loss")).splitlines()]
    assert "\n".join(indented) == listing


@pytest.mark.parametrize(
    ("fun", "avals", "text"),
    [
        (lambda a, b: a + b, [VECTOR, VECTOR], "x + y"),
        (lambda a, b: a / b, [VECTOR, VECTOR], "x / y"),
        (lambda a, b: a < b, [VECTOR, VECTOR], "x < y"),
        (lambda a: -a, [VECTOR], "-x"),
        (lambda a: a * -1.5, [VECTOR], "x * -1.5"),
        (lambda a: ops.power(-2.0, a), [VECTOR], "(-2.0) ** x"),
        (ops.power, [VECTOR, VECTOR], "x ** y"),
        (lambda a: a**3, [VECTOR], "x ** 3"),
        (lambda a: ops.power(a, np.float32(3)), [VECTOR], "x ** 3.0"),
        (ops.sin, [VECTOR], "sin(x)"),
        (lambda a: ops.reduce_sum(a, axes=(0, 1)), [MATRIX], "sum(x, axes=(0, 1))"),
        (lambda a: ops.convert(a, dtype=np.dtype("f4")), [VECTOR], "f32(x)"),
        (lambda a, b: ops.contract(a, b, spec="ij,j->i"), [MATRIX, VECTOR], 'contract("ij,j->i", x, y)'),
        (lambda a: a[1:], [VECTOR], "x[1:]"),
        (lambda a: a[::-1, None, 2], [MATRIX], "x[::-1, None, 2]"),
        (lambda a: a[()], [MATRIX], "x[:, :]"),
        (lambda a: ops.getitem(a, index=()), [SCALAR], "x[()]"),
        (lambda a, i: a[:, i], [MATRIX, Aval((2,), np.dtype(int))], "x[:, y]"),
        (lambda a, u: ops.update(a, u, index=(slice(2),)), [VECTOR, Aval((2,), F64)], "x.at[:2].set(y)"),
        (lambda u: ops.scatter_add(u, index=(slice(3),), shape=(5,)), [VECTOR], "zeros((5,)).at[:3].add(x)"),
    ],
)  # fmt: skip
def test_forms_of_expression(fun, avals, text):
    assert right_sides(lambda *xs: [fun(*xs)], *avals) == [text]


def test_many_inputs_and_captured_values_are_numbered():
    w = [np.ones(3), np.ones((3, 3))]
    graph = graph_of(lambda a, b, c, d: [a + b + c + d * w[0], w[1]], *[VECTOR] * 4)
    header, *rest = repr(graph).splitlines()
    assert header == "graph(x0: f64[3], x1: f64[3], x2: f64[3], x3: f64[3]) → (f64[3], f64[3,3])"
    assert rest[:2] == ["  k0: f64[3]", "  k1: f64[3,3]"]
    assert rest[-1] == "  return d, k1"


def inputs(graph):
    """The names of the inputs in the printed graph."""
    return re.findall(r"(\w+):", repr(graph).splitlines()[0])


def test_inputs_are_called_as_the_arguments():
    def step(params, x, *rest, scale):
        return params["layers"][0].w * x * rest[0] * scale["a b"] + params["b"]

    params = {"layers": [namedtuple("Layer", "w")(1.0)], "b": 2.0}
    graph = fx.make_graph(step)(params, 3.0, 4.0, scale={"a b": 5.0})
    assert inputs(graph) == ["params_b", "params_layers_0_0", "x", "args_2", "scale_a_b"]
    lowered = fx.jit(lambda b, a: a * b + a).lower(1.0, 2.0)
    assert [inputs(graph) for graph in lowered.passes.values()] == [["b", "a"]] * len(lowered.passes)
    assert inputs(fx.make_graph(lambda n, x: x**n, static_argnums=0)(2, 3.0)) == ["x"]
    scan = fx.make_graph(lambda xs: fx.lax.scan(lambda carry, x: (carry * x, x), 1.0, xs))(np.ones(3))
    assert "body: f(carry: f64[], x: f64[])" in repr(scan)


def test_names_of_inputs_are_distinct_from_all_others():
    lines = repr(fx.make_graph(lambda k, a: k * a + HALF)(np.ones(3), np.ones(3))).splitlines()
    assert [line.split()[0] for line in lines] == ["f(k:", "k0:", "b", "c", "return"]
    assert inputs(fx.make_graph(lambda a_0, a: a_0 + a[0])(1.0, [2.0])) == ["x", "a_0"]


def test_sub_graphs_stand_below_their_equation_and_addresses_are_left_out():
    class Call(Primitive):
        def abstract_eval(self, avals, params):
            return params["body"].out_avals[0]

    body = graph_of(lambda x: [ops.sin(x)], VECTOR, sites=False, name="body")
    out = Var(VECTOR)
    params = {"body": body, "branches": (body, body), "how": np.sin, "tag": object()}
    x = Var(VECTOR)
    text = repr(Graph([x], [Equation(Call("call"), [x], [out], params, None)], [out]).check())
    assert text.splitlines()[1:5] == [
        "  a = call(x, body=…, branches=(…, …), how=sin, tag=<object object>)  f64[3]",
        "    body: body(x: f64[3]) → f64[3]",
        "      a = sin(x)  f64[3]",
        "      return a",
    ]
    assert [line.split("(")[0].strip() for line in text.splitlines()[5:-1:3]] == [
        "branches[0]: body",
        "branches[1]: body",
    ]


def test_names_go_on_in_order_and_are_distinct():
    first = list(itertools.islice(letter_names(), 26 + 26**2 + 1))
    assert first[:27] == [*"abcdefghijklmnopqrstuvwxyz", "aa"]
    assert (first[-2], first[-1]) == ("zz", "aaa")
    assert len(set(first)) == len(first)


def test_printed_names_are_neither_keywords_nor_taken():
    def long(x):
        for _ in range(600):
            x = ops.sin(x)
        return [x]

    targets = [line.split()[0] for line in repr(graph_of(long, SCALAR)).splitlines()[1:-1]]
    assert len(set(targets)) == 600
    assert not {"x", "as", "if", "in", "is", "or"} & set(targets)


# -- pictures
def test_without_dot_notebooks_show_an_html_listing_that_is_escaped_and_well_formed(monkeypatch):
    monkeypatch.setenv("PATH", "")
    graph = graph_of(lambda x: [x < 0.5, ops.reduce_sum(x, axes=(0,))], VECTOR, name="<script>&")
    ((kind, page),) = graph._repr_mimebundle_(include=None, exclude=None).items()
    assert kind == "text/html"
    assert "<script>" not in page and "&lt;script&gt;&amp;(x: f64[3])" in page
    lines = minidom.parseString(page).documentElement.childNodes
    assert "".join(node.firstChild.data for node in lines) == repr(graph).replace("\n", "")
    assert ["x < 0.5" in node.getAttribute("title") for node in lines] == [False, True, True, False]


def test_the_drawing_has_a_node_for_every_equation():
    pytest.importorskip("graphviz", reason="the picture needs the Python package graphviz")
    source = picture.build_digraph(graph_of(loss, VECTOR, VECTOR)).source
    assert source.count("->") == 7
    assert 'label="d = c * k"' in source and "core/test_graph.py" in source


def test_notebooks_show_the_drawing_alone_where_dot_is_installed():
    pytest.importorskip("graphviz", reason="the picture needs the Python package graphviz")
    if shutil.which("dot") is None:
        pytest.skip("the picture needs Graphviz: no `dot` on PATH")
    ((kind, drawing),) = graph_of(loss, VECTOR, VECTOR)._repr_mimebundle_(include=None, exclude=None).items()
    assert kind == "image/svg+xml" and "<svg" in drawing


# -- the checker
SIN = ops.sin.primitive


def test_a_variable_must_be_bound_before_it_is_used():
    x, y, stray = Var(VECTOR), Var(VECTOR), Var(VECTOR)
    with pytest.raises(GraphError, match=r"equation 0 \(sin, None\) uses a variable before it is bound"):
        Graph([x], [Equation(SIN, [stray], [y], {}, None)], [y]).check()
    with pytest.raises(GraphError, match="before it is bound"):
        z = Var(VECTOR)
        Graph([x], [Equation(SIN, [z], [y], {}, None), Equation(SIN, [x], [z], {}, None)], [y]).check()


def test_an_output_must_be_bound():
    with pytest.raises(GraphError, match="an output is not bound"):
        Graph([Var(VECTOR)], [], [Var(VECTOR)]).check()


@pytest.mark.parametrize("again", ["input", "captured", "equation"])
def test_a_variable_is_bound_once(again):
    x, y = Var(VECTOR), Var(VECTOR)
    equation = Equation(SIN, [x], [y], {}, None)
    graph = {
        "input": lambda: Graph([x, x], [], [x]),
        "captured": lambda: Graph([x], [], [x], {x: np.ones(3)}),
        "equation": lambda: Graph([x], [equation, equation], [y]),
    }[again]()
    with pytest.raises(GraphError, match="binds a variable again"):
        graph.check()


@pytest.mark.parametrize("aval", [SCALAR, Aval((3,), np.dtype("f4")), Aval((3,), F64, True)])
def test_results_must_be_what_the_rule_gives(aval):
    x, y = Var(VECTOR), Var(aval)
    with pytest.raises(GraphError, match=r"its rule gives \[f64\[3\]\]"):
        Graph([x], [Equation(SIN, [x], [y], {}, None)], [y]).check()


def test_an_equation_binds_variables_only():
    x = Var(VECTOR)
    with pytest.raises(GraphError, match="is no variable"):
        Graph([x], [Equation(SIN, [Literal(1.0)], [Literal(np.float64(1.0))], {}, None)], [x]).check()


def test_check_returns_the_graph():
    graph = stage(loss, [VECTOR, VECTOR])
    assert graph.check() is graph


# -- evaluation
def test_evaluation_equals_the_function():
    x, y = np.arange(3.0), np.ones(3)
    assert graph_of(loss, VECTOR, VECTOR)(x, y) == loss(x, y)


def test_a_graph_evaluates_under_the_current_interpreter():
    inner = graph_of(loss, VECTOR, VECTOR)
    outer = graph_of(lambda x: inner(x, np.ones(3)), VECTOR)
    assert [e.primitive.name for e in outer.equations] == [e.primitive.name for e in inner.equations]
    assert outer(np.arange(3.0)) == inner(np.arange(3.0), np.ones(3))


def test_the_number_of_values_is_checked():
    with pytest.raises(GraphError, match="takes 2 values, 1 were given"):
        graph_of(loss, VECTOR, VECTOR)(np.ones(3))


def test_inputs_and_constants_may_be_results():
    graph = graph_of(lambda x, y: [x, 2.0, x, HALF], VECTOR, SCALAR)
    first, second, third, fourth = graph(np.arange(3.0), 1.0)
    assert first is third and second == 2.0 and fourth == 0.5


def test_values_are_dropped_after_their_last_use():
    graph = graph_of(lambda x: [ops.sin(ops.sin(x)) + x], VECTOR)
    x, (a, b, c) = graph.inputs[0], (e.outputs[0] for e in graph.equations)
    assert graph.last_uses() == {1: [a], 2: [b, x]}
    assert c not in itertools.chain(*graph.last_uses().values())


def test_what_no_result_needs_is_pruned():
    unused = np.ones(3)
    graph = graph_of(lambda x: [ops.sin(x), ops.cos(x) + unused][:1], VECTOR)
    assert [e.primitive.name for e in graph.equations] == ["sin"] and not graph.captured


def test_captured_values_become_inputs():
    w = np.arange(3.0)
    graph = graph_of(lambda x: [x * w + HALF], VECTOR)
    closed, values = graph.lift_captured()
    assert closed.check().in_avals == [VECTOR, SCALAR, VECTOR] and not closed.captured
    assert np.array_equal(closed(*values, np.ones(3))[0], w + 0.5)


def test_a_captured_array_is_a_snapshot():
    w = np.ones(3)
    graph = graph_of(lambda x: [x + w], VECTOR)
    w[:] = 7.0
    assert np.array_equal(graph(np.zeros(3))[0], np.ones(3))


def test_dependents():
    graph = graph_of(lambda x, y: [ops.sin(x) + ops.cos(y), ops.exp(y)], VECTOR, VECTOR)
    dependents = graph.dependents(graph.inputs[:1])
    assert [e.primitive.name for e in graph.equations if e.outputs[0] in dependents] == ["sin", "add"]


def test_equations_know_the_line_that_made_them():
    graph = graph_of(loss, VECTOR, VECTOR)
    assert [e.site.line for e in graph.equations] == [
        "residual = x - y", *["return [ops.reduce_sum(residual**2, axes=(0,)) * HALF]"] * 3]  # fmt: skip
    assert {e.site.function for e in graph.equations} == {"loss"}


def test_the_template_marks_arrays():
    (equation,) = graph_of(lambda x, i: [x[:, i]], MATRIX, Aval((4,), np.dtype(int))).equations
    assert equation.params["index"] == (slice(None), ARRAY)


# -- primitives of one name ------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["square", "Masked", "project", "errstate"])
def test_primitives_of_one_name_are_told_apart(name):
    """Also from what generated code has for itself: in code, in rules, in loops, in print."""
    cube = Elementwise(name, lambda xp: lambda x: x * x * x, (lambda t, y, x: t * (3 * square(x)),)).call
    square = Elementwise(name, lambda xp: lambda x: x * x, (lambda t, y, x: t * (2 * x),)).call

    def both(x):
        return square(cube(x)) + ops.square(x)

    x, y = np.array([0.5, -1.5, 2.0]), np.array([0.5, -1.5, 2.0]) ** 6 + np.array([0.25, 2.25, 4.0])
    graph = graph_of(lambda x: [both(x)], VECTOR)
    for code in (graph, compile_graph(graph, plain=True), compile_graph(graph, plain=False)):
        np.testing.assert_allclose(code(x)[0], y)
    assert str(graph).count(f" {name}(x)") + str(graph).count(" ** 2") == 2
    np.testing.assert_allclose(fx.grad(lambda x: both(x).sum())(x), 6 * x**5 + 2 * x)
    np.testing.assert_allclose(fx.lax.scan(lambda c, r: (c, both(r)), 0.0, x)[1], y)


def test_a_registered_name_is_taken():
    with pytest.raises(ValueError, match="a primitive named 'sin' exists already"):
        elementwise("sin", None)
