"""The interpreter of notebooks/06_interpreter.ipynb, a user's own: its enclosures hold, in every composition."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax

NOTEBOOK = Path(__file__).resolve().parent.parent.parent / "notebooks" / "06_interpreter.ipynb"


def defined():
    """The names that the cells of the notebook define, up to the rules."""
    names = {"__name__": "notebook"}
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            source = "".join(
                line for line in cell["source"] if not line.startswith("%") and "pyplot" not in line
            )
            exec(compile(source, f"<{cell['id']} of {NOTEBOOK.name}>", "exec"), names)
            if "RULES" in names:
                return names
    raise AssertionError("the notebook has no cell with RULES")


names = defined()
bounds = names["bounds"]

UNARY = {
    "sin": fnp.sin,
    "cos": fnp.cos,
    "tanh": fnp.tanh,
    "arctan": fnp.arctan,
    "exp": lambda x: fnp.exp(fnp.tanh(x)),
    "log": lambda x: fnp.log(1 + x**2),
    "sqrt": lambda x: fnp.sqrt(1 + fnp.square(x)),
    "cube": lambda x: fnp.sin(x) ** 3,
    "reciprocal": lambda x: 1 / (1.5 + fnp.cos(x)),
    "negative": lambda x: -x,
}
BINARY = {
    "add": fnp.add,
    "subtract": fnp.subtract,
    "multiply": lambda x, y: fnp.sin(x) * y,
    "divide": lambda x, y: x / (2 + fnp.cos(y)),
    "maximum": fnp.maximum,
}
VARIABLES = {"x": lambda x, y: x, "y": lambda x, y: y, "half": lambda x, y: 0.5 * x + 1}


def composed(inside):
    def unary(name, f):
        return lambda x, y: UNARY[name](f(x, y))

    def binary(name, f, g):
        return lambda x, y: BINARY[name](f(x, y), g(x, y))

    return st.builds(unary, st.sampled_from(sorted(UNARY)), inside) | st.builds(
        binary, st.sampled_from(sorted(BINARY)), inside, inside
    )


FUNCTIONS = st.recursive(st.sampled_from(sorted(VARIABLES)).map(VARIABLES.get), composed, max_leaves=6)
ENDS = st.tuples(st.floats(-3, 3), st.floats(0, 2)).map(lambda pair: (pair[0], pair[0] + pair[1]))


def samples(interval):
    """The ends and points between them, in extended precision."""
    low, high = map(np.longdouble, interval)
    return low + (high - low) * np.linspace(0, 1, 9, dtype=np.longdouble)


@given(FUNCTIONS, ENDS, ENDS)
def test_an_enclosure_contains_all_values(f, xs, ys):
    low, high = bounds(f)(xs, ys)
    x, y = np.meshgrid(samples(xs), samples(ys))
    values = f(x, y)
    assert np.all((low <= values) & (values <= high))


@given(FUNCTIONS, ENDS, ENDS)
def test_the_derivative_too(f, xs, ys):
    """Where there are no ties of maximum, of which intervals have many."""
    points = [np.ravel(a).astype(float) for a in np.meshgrid(samples(xs), samples(ys))]
    points = [np.clip(p, *ends) for p, ends in zip(points, (xs, ys))]
    try:
        low, high = bounds(fx.grad(f))(xs, ys)
    except fx.UnsupportedError as error:
        assert "equal" in str(error) or "greater" in str(error) or "less" in str(error)
        return
    slopes = fx.vmap(fx.grad(f))(*points)
    slack = 1e-12 * (1 + np.max(np.abs(slopes)))  # the slopes themselves are rounded
    assert np.all((low - slack <= slopes) & (slopes <= high + slack))


def f(x):
    return fnp.exp(-(x**2)) * fnp.sin(3 * x)


def test_it_composes_with_every_transform():
    ends = np.linspace(-2, 2, 9)
    pieces = ends[:-1], ends[1:]
    for g in (
        f,
        fx.grad(f),
        fx.grad(fx.grad(f)),
        lambda x: fx.jvp(f, (x,), (1.0,))[1],
        fx.checkpoint(f),
        fx.jit(f),
    ):
        expected = [bounds(g)(piece) for piece in zip(*pieces)]
        for mapped in (fx.vmap(bounds(g)), bounds(fx.vmap(g)), fx.jit(fx.vmap(bounds(g)))):
            np.testing.assert_allclose(np.transpose(mapped(pieces)), expected, rtol=1e-14, atol=1e-14)
        x = np.linspace(-2, 2, 81)[:-1]
        low, high = (np.repeat(end, 10) for end in bounds(fx.vmap(g))(pieces))
        y = fx.vmap(g)(x)
        assert np.all((low <= y + 1e-14) & (y <= high + 1e-14))


PROGRAMS = {
    "fori_loop": lambda g: lambda x: lax.fori_loop(0, 3, lambda i, c: g(c, x) + 0.25 * i, x),
    "scan": lambda g: lambda x: lax.scan(lambda c, r: (g(c, r), r), x, np.array([0.5, -0.25]))[0],
    "while_loop": lambda g: (
        lambda x: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, g(s[1], x)), (0, x))[1]
    ),
    "cond": lambda g: lambda x: lax.cond(True, g, lambda x, y: x, x, x),
    "jit": lambda g: fx.jit(lambda x: lax.fori_loop(0, 2, lambda i, c: g(c, x), x)),
    "checkpoint": lambda g: fx.checkpoint(lambda x: g(x, x)),
    "nested": lambda g: lambda x: lax.fori_loop(0, 2, lambda i, c: PROGRAMS["scan"](g)(c), x),
}


@pytest.mark.parametrize("name", PROGRAMS)
@given(FUNCTIONS, ENDS)
@settings(max_examples=15)
def test_loops_and_branches_are_seen_operation_by_operation(name, f, xs):
    function = PROGRAMS[name](f)
    low, high = bounds(function)(xs)
    values = np.array([function(x) for x in samples(xs)[::2].astype(float).clip(*xs)])
    assert np.all((low - 1e-12 <= values) & (values <= high + 1e-12))


class Value(fx.Tracer):
    """A value as it is."""

    def __init__(self, interpreter, value):
        self.interpreter, self.value = interpreter, value

    aval = property(lambda self: fx.typeof(self.value))

    def concretize(self, operation):
        return self.value


class Whole(fx.Interpreter):
    """Notes the names of operations, and hands them on."""

    programs = "whole"

    def __init__(self):
        super().__init__()
        self.seen = []

    def process(self, primitive, args, params):
        self.seen.append(primitive.name)
        result = self.bind_outer(primitive, [a.value if type(a) is Value else a for a in args], params)
        if primitive.multiple_results:
            return [Value(self, v) for v in result]
        return Value(self, result)


class Inline(Whole):
    programs = "inline"


class Undecided(Whole):
    programs = None


@fx.custom_jvp
def by_jvp(x):
    return fnp.sin(x)


@fx.custom_vjp
def by_vjp(x):
    return fnp.sin(x)


by_jvp.defjvps(lambda t, y, x: t * fnp.cos(x))
by_vjp.defvjp(lambda x: (by_vjp(x), x), lambda x, ct: (ct * fnp.cos(x),))
# Function of a number → the primitive that carries its program.
CARRIERS = {
    "fori_loop": (lambda x: lax.fori_loop(0, 3, lambda i, c: fnp.sin(c) + i, x), "scan"),
    "scan": (lambda x: lax.scan(lambda c, r: (fnp.sin(c) * r, c + r), x, x * np.arange(3.0), reverse=True), "scan"),
    "no rows": (lambda x: lax.scan(lambda c, r: (c, r * 2), x, np.zeros((0, 2))), "scan"),
    "while_loop": (lambda x: lax.while_loop(lambda c: c < 5.0, lambda c: c * 2 + 0.1, x), "while_loop"),
    "map": (lambda x: lax.map(fnp.sin, x * np.arange(3.0)), "scan"),
    "custom_jvp": (by_jvp, "custom_jvp_call"),
    "custom_vjp": (by_vjp, "custom_vjp_call"),
    "jvp of custom_vjp": (fx.jit(lambda x: fx.jvp(by_vjp, (x,), (1.0,))[1]), "custom_vjp_tangents"),
    "checkpoint": (fx.checkpoint(lambda x: fnp.sin(x) * 2), "checkpoint"),
    "linear_solve": (lambda x: lax.custom_linear_solve(lambda v: x * v, np.ones(2), lambda _, b: b / x),
                     "linear_solve"),
    "grad of a loop": (fx.grad(lambda x: lax.fori_loop(0, 3, lambda i, c: fnp.sin(c) * x, x)), "scan"),
    "vmap of a loop": (lambda x: fx.vmap(lambda y: lax.while_loop(lambda c: c < 5, lambda c: c * 2 + x, y))(np.ones(2)),
                       "while_loop"),
}  # fmt: skip


@pytest.mark.parametrize("transform", [fx.vmap, fx.jit])
@pytest.mark.parametrize(
    "program",
    [
        lambda x: lax.cond(x > 1, fnp.sin, fnp.cos, x),
        lambda x: lax.while_loop(lambda c: c < 5, lambda c: c * 2, x),
        lambda x: lax.fori_loop(0, fnp.astype(x, int), lambda i, c: c * 2, x),
    ],
)
def test_an_inlined_program_of_unknown_length_says_what_to_write(transform, program):
    def run(x):
        level = Inline()
        with fx.opened(level):
            return program(Value(level, x)).value

    with pytest.raises(fx.ConcretizationError, match=r'(?s)is not known; an interpreter.*programs = "whole"'):
        transform(run)(np.array([1.0, 2.0]) if transform is fx.vmap else 2.0)
    assert run(2.0) is not None


@pytest.mark.parametrize("name", CARRIERS)
def test_programs_are_taken_as_the_class_says(name):
    function, carrier = CARRIERS[name]
    expected = fx.tree.leaves(function(0.7))
    for kind in (Inline, Whole):
        level = kind()
        with fx.opened(level):
            results = function(Value(level, 0.7))
        for found, value in zip(fx.tree.leaves(results), expected, strict=True):
            np.testing.assert_allclose(found.value if type(found) is Value else found, value, rtol=1e-13)
        assert (carrier in level.seen) is (kind is Whole)
    level = Undecided()
    with (
        fx.opened(level),
        pytest.raises(fx.UnsupportedError, match="one operation that carries out a program"),
    ):
        function(Value(level, 0.7))


def test_what_has_no_program_is_not_inlined():
    with pytest.raises(fx.UnsupportedError, match="sin carries no program"):
        Whole().inline(fnp.sin.primitive, (1.0,), {})


def test_arrays_and_sums():
    weights = np.random.default_rng(0).normal(size=(4, 3))

    def g(x):
        return fnp.sum(fnp.tanh(fnp.sum(weights * x, axis=1)))

    box = np.array([-0.1, 0.2, -0.3]), np.array([0.1, 0.4, 0.3])
    points = np.random.default_rng(1).uniform(*box, size=(200, 3))
    for function in (g, fx.grad(g)):
        low, high = bounds(function)(box)
        values = fx.vmap(function)(points)
        assert np.all((low <= values) & (values <= high))


def test_what_has_no_rule_is_named():
    with pytest.raises(fx.UnsupportedError, match="bounds: no rule for arccosh"):
        bounds(fnp.arccosh)((1.0, 2.0))


def test_a_tracer_does_not_outlive_its_interpreter():
    kept = []
    bounds(lambda x: kept.append(x) or x)((0.0, 1.0))
    with pytest.raises(fx.EscapedTracerError, match="bounds"):
        fnp.sin(kept[0])


def test_what_is_not_defined_is_named():
    class Bare(fx.Interpreter):
        pass

    class Value(fx.Tracer):
        def __init__(self, interpreter):
            self.interpreter = interpreter

    bare = Bare()
    with (
        fx.opened(bare),
        pytest.raises(NotImplementedError, match="Bare, an interpreter, does not define `process`"),
    ):
        fnp.sin(Value(bare))
    with pytest.raises(NotImplementedError, match="Value, a tracer, does not define `aval`"):
        _ = Value(bare).shape


def test_a_tracer_has_operators_methods_and_functions_of_numpy_where_no_transform_was_used():
    program = """
import numpy as np
import fxgrad as fx

class Value(fx.Tracer):
    aval = property(lambda self: fx.Aval((2,), np.dtype(float)))
    def __init__(self, interpreter):
        self.interpreter = interpreter

class Recorder(fx.Interpreter):
    def process(self, primitive, args, params):
        print(primitive.name, end=" ")
        return args[0]

recorder = Recorder()
with fx.opened(recorder):
    x = Value(recorder)
    (-x) @ np.sin(x), x.sum()
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "negative sin contract reduce_sum "
