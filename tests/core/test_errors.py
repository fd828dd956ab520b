"""Bad input gets an error of our own, which is also the built-in one, and says what, where and how to cure it.

Every mistake is made through the public API. A message has the parts that `fxgrad.core.errors` describes.
"""

import asyncio
import functools
import os
import threading
import traceback
from contextvars import Context

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp

PACKAGE = os.path.dirname(fx.__file__) + os.sep
X = np.array([1.0, 2.0, 3.0])
# What a user of NumPy or JAX would catch.
BUILTINS = {
    fx.AxisError: [ValueError, IndexError],
    fx.ConcretizationError: [TypeError],
    fx.DTypeError: [TypeError],
    fx.ImpureFunctionError: [RuntimeError],
    fx.IndexingError: [IndexError],
    fx.NonScalarError: [TypeError],
    fx.NotLinearError: [ValueError],
    fx.ShapeError: [ValueError],
    fx.StaticArgumentError: [ValueError],
    fx.StructureError: [TypeError, ValueError],
    fx.TooManyPathsError: [RuntimeError],
}
FLOAT32 = X.astype(np.float32)


def by_chance():
    """A jitted function that is not pure."""
    numbers = iter([1.0, 2.0, 3.0])

    def draw(x):
        y = x * next(numbers)
        return y if x > 0 else -y

    return fx.jit(draw, control="follow")


def mistake(call):
    """The error that `call` raises. The message names this file, the traceback shows no frame of fxgrad."""
    with pytest.raises(Exception) as caught:
        call()
    error = caught.value
    assert not [
        f.filename for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(PACKAGE)
    ]
    if isinstance(error, fx.FxgradError):
        assert f"  at:  {os.path.relpath(__file__)}:" in str(error)
    return error


def cases(*rows):
    """Parameters (call, class, parts of the message) from rows that begin with a name."""
    return pytest.mark.parametrize("call, ours, parts", [pytest.param(*row[1:], id=row[0]) for row in rows])


def verify(call, ours, parts):
    error = mistake(call)
    assert type(error) is ours
    for builtin in BUILTINS[ours]:
        assert isinstance(error, builtin)
    for part in parts:
        assert part in str(error)


# -- arguments and results of derivatives ------------------------------------------
@cases(
    ("grad of an array", lambda: fx.grad(fnp.sin)(X), fx.NonScalarError,
     ["grad is of scalar functions", "shape (3,)", "try: sum it (fnp.sum)"]),
    ("grad of a tuple", lambda: fx.grad(lambda x: (x, x))(1.0), fx.NonScalarError, ["tuple", "has_aux=True"]),
    ("grad of nothing", lambda: fx.grad(lambda x: None)(1.0), fx.NonScalarError,
     ["NoneType", "a function without `return` gives None"]),
    ("value_and_grad of an array", lambda: fx.value_and_grad(fnp.sin)(X), fx.NonScalarError,
     ["value_and_grad is of scalar functions"]),
    ("an integer", lambda: fx.grad(lambda x: x**2)(3), fx.DTypeError,
     ["grad: the argument args[0] has integer or boolean dtype int64", "2.0 instead of 2", "allow_int=True"]),
    ("an integer in a container", lambda: fx.grad(lambda a, p: p["w"][0], argnums=1)(1.0, {"w": [np.arange(3)]}),
     fx.DTypeError, ["the argument args[1]['w'][0] has"]),
    ("an integer among several", lambda: fx.grad(lambda a, b, c: c * b, argnums=(2, 1))(1.0, 2.0, 3),
     fx.DTypeError, ["the argument args[2] has"]),
    ("an integer result", lambda: fx.grad(fnp.argmax)(X), fx.DTypeError, ["result has dtype int64"]),
    ("a complex result", lambda: fx.grad(lambda z: z**2)(1j), fx.DTypeError, ["complex128", "holomorphic=True"]),
    ("a real result, holomorphic", lambda: fx.grad(fnp.abs, holomorphic=True)(1j), fx.DTypeError,
     ["float64", "holomorphic=True"]),
    ("argnums out of range", lambda: fx.grad(lambda x: x, argnums=1)(1.0), fx.StructureError,
     ["argnums=1", "1 positional arguments"]),
    ("an integer Jacobian", lambda: fx.jacfwd(fnp.sin)(np.arange(3)), fx.DTypeError,
     ["jacobian: the argument args[0] has dtype int64"]),
)  # fmt: skip
def test_arguments_and_results_of_derivatives(call, ours, parts):
    verify(call, ours, parts)


@pytest.mark.parametrize(
    "transform", [fx.grad, fx.value_and_grad, fx.vmap, fx.jit, fx.checkpoint, fx.custom_jvp, fx.custom_vjp]
)
def test_what_is_no_function(transform):
    with pytest.raises(fx.StructureError, match="takes a function, not a float"):
        transform(3.0)


IN_BOX = ({"a": X},)


def first(box):
    return box["a"]


@cases(
    ("tangent in a list", lambda: fx.jvp(fnp.sin, (X,), ([X],)), fx.StructureError, ["jvp: the tangents have"]),
    ("tangent under another key", lambda: fx.jvp(first, IN_BOX, ({"b": X},)), fx.StructureError, ["'b'", "'a'"]),
    ("too many tangents", lambda: fx.jvp(fnp.sin, (X,), (X, X)), fx.StructureError, ["jvp: the tangents have"]),
    ("tangents not in a tuple", lambda: fx.jvp(fnp.sin, X, X), fx.StructureError, ["ndarray", "fx.jvp(f, (x,), (t,))"]),
    ("tangent of another shape", lambda: fx.jvp(first, IN_BOX, ({"a": np.ones(4)},)), fx.ShapeError,
     ["jvp: the tangent [0]['a'] has shape (4,), expected (3,)"]),
    ("tangent of another dtype", lambda: fx.jvp(first, IN_BOX, ({"a": FLOAT32},)), fx.DTypeError,
     ["[0]['a'] has dtype float32, expected float64", "t.astype('float64')"]),
    ("tangent of a word", lambda: fx.jvp(fnp.sin, (1.0,), ("a",)), fx.DTypeError, ["the tangent [0] is a str"]),
    ("cotangent of another structure", lambda: fx.vjp(lambda x: (x, x), X)[1](X), fx.StructureError,
     ["vjp: the cotangents are a leaf"]),
    ("cotangent of another shape", lambda: fx.vjp(fnp.sin, X)[1](np.ones(4)), fx.ShapeError,
     ["vjp: the cotangent has shape (4,), expected (3,)"]),
    ("cotangent of another dtype", lambda: fx.vjp(lambda x: {"y": x}, X)[1]({"y": FLOAT32}), fx.DTypeError,
     ["vjp: the cotangent ['y'] has dtype float32, expected float64"]),
    ("complex cotangent", lambda: fx.vjp(fnp.sin, X)[1](X * 1j), fx.DTypeError, ["complex128"]),
    ("tangent of a linearized function", lambda: fx.linearize(fnp.sin, X)[1](np.ones(4)), fx.ShapeError,
     ["the tangent [0] has shape (4,), expected (3,)"]),
    ("cotangent of linear_transpose", lambda: fx.linear_transpose(lambda x: 2 * x, X)(np.ones(4)), fx.ShapeError,
     ["linear_transpose: the cotangent has shape (4,)"]),
    ("not linear", lambda: fx.linear_transpose(fnp.sin, X)(X), fx.NotLinearError, ["sin"]),
)  # fmt: skip
def test_tangents_and_cotangents(call, ours, parts):
    verify(call, ours, parts)


# -- vmap ------------------------------------------
@cases(
    ("axis out of range", lambda: fx.vmap(fnp.sin, in_axes=1)(X), fx.AxisError,
     ["vmap: axis 1 is out of bounds for argument x of shape (3,)", "in_axes=None"]),
    ("a scalar", lambda: fx.vmap(fnp.sin)(1.0), fx.AxisError, ["argument x of shape ()"]),
    ("too many in_axes", lambda: fx.vmap(fnp.sin, in_axes=(0, 0))(X), fx.StructureError,
     ["in_axes has 2 entries for a call with 1"]),
    ("in_axes a word", lambda: fx.vmap(fnp.sin, in_axes="a")(X), fx.StructureError, ["'a'", "integers or None"]),
    ("in_axes an array", lambda: fx.vmap(fnp.sin, in_axes=np.array([0])), fx.StructureError, ["in_axes is array([0])"]),
    ("in_axes no prefix", lambda: fx.vmap(first, in_axes=({"b": 0},))({"a": X}), fx.StructureError,
     ["in_axes[0]", "['b']", "['a']"]),
    ("nothing mapped", lambda: fx.vmap(fnp.sin, in_axes=None)(X), fx.AxisError, ["axis_size"]),
    ("sizes that differ", lambda: fx.vmap(lambda x, y, *, z: x["a"] * y)({"a": X}, np.ones(4), z=np.ones((5, 1))),
     fx.AxisError, ["x['a']: 3 (shape (3,), axis 0)", "y: 4", "kwargs['z']: 5 (shape (5, 1), axis 0)"]),
    ("axis_size that differs", lambda: fx.vmap(fnp.sin, axis_size=4)(X), fx.AxisError, ["axis_size=4", "size 3"]),
    ("out_axes None of a mapped result", lambda: fx.vmap(lambda x: {"y": x}, out_axes=None)(X), fx.AxisError,
     ["out_axes is None for the result ['y']", "give its axis"]),
    ("out_axes out of range", lambda: fx.vmap(fnp.sin, out_axes=3)(X), fx.AxisError, ["out_axes 3"]),
    ("out_axes no prefix", lambda: fx.vmap(fnp.sin, out_axes=(0, 0))(X), fx.StructureError, ["out_axes"]),
    ("a result that is no array", lambda: fx.vmap(lambda x: "a")(X), fx.DTypeError, ["vmap: a result is a str"]),
)  # fmt: skip
def test_vmap(call, ours, parts):
    verify(call, ours, parts)


# -- tracers that escape ------------------------------------------
def leak(transform):
    """A tracer of a transform that has returned."""
    kept = []
    transform(lambda x: (kept.append(2 * x), x)[1])
    return kept[0]


MAKERS = {
    "grad": lambda f: fx.grad(f)(1.0),
    "vjp": lambda f: fx.vjp(f, 1.0),
    "jvp": lambda f: fx.jvp(f, (1.0,), (1.0,)),
    "linearize": lambda f: fx.linearize(f, 1.0),
    "vmap": lambda f: fx.vmap(f)(X),
    "jit": lambda f: fx.jit(f)(1.0),
    "make_graph": lambda f: fx.make_graph(f)(1.0),
    "checkpoint": lambda f: fx.grad(fx.checkpoint(f))(1.0),
}
USES = {
    "operator": lambda t: t + 1,
    "function": fnp.sin,
    "NumPy's function": np.sin,
    "method": lambda t: t.sum(),
    "bool": lambda t: bool(t > 0),
    "in grad": lambda t: fx.grad(lambda x: x * t)(1.0),
    "as the result of grad": lambda t: fx.grad(lambda x: t)(1.0),
    "as the result of vjp": lambda t: fx.vjp(lambda x: (x, t), 1.0),
    "as the result of jvp": lambda t: fx.jvp(lambda x: t, (1.0,), (1.0,)),
    "as an auxiliary result": lambda t: fx.grad(lambda x: (x, t), has_aux=True)(1.0),
    "in jit": lambda t: fx.jit(lambda x: x * t)(1.0),
    "as the result of jit": lambda t: fx.jit(lambda x: t)(1.0),
    "in make_graph": lambda t: fx.make_graph(lambda x: x * t)(1.0),
    "in vmap": lambda t: fx.vmap(lambda x: x * t)(X),
    "as the result of vmap": lambda t: fx.vmap(lambda x: t)(X),
    "in linearize": lambda t: fx.linearize(lambda x: x * t, 1.0),
    "as the result of linearize": lambda t: fx.linearize(lambda x: t, 1.0),
    "as an argument of grad": lambda t: fx.grad(lambda x: x)(t),
    "as an argument of jit": lambda t: fx.jit(lambda x: x)(t),
    "as an argument of vmap": lambda t: fx.vmap(lambda x, y: x, in_axes=(0, None))(X, t),
    "as an argument of checkpoint": lambda t: fx.checkpoint(lambda x: x)(t),
    "as a tangent": lambda t: fx.jvp(lambda x: x, (1.0,), (t,)),
    "as a cotangent": lambda t: fx.vjp(lambda x: x, 1.0)[1](t),
}  # fmt: skip


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_a_tracer_used_after_its_transform_has_returned(maker, use):
    with pytest.raises(fx.EscapedTracerError) as caught:
        use(leak(maker))
    assert isinstance(caught.value, RuntimeError)
    assert f"(opened at {os.path.relpath(__file__)}:" in str(caught.value)
    assert "has_aux=True" in caught.value.hint


def test_a_tracer_that_escapes_by_an_exception():
    def fail(x):
        raise LookupError(x)

    error = mistake(lambda: fx.grad(fail)(1.0))
    assert type(error) is LookupError
    with pytest.raises(fx.EscapedTracerError):
        error.args[0] + 1


def test_a_pullback_that_outlives_the_transform_around_it():
    kept = []

    def outer(x):
        kept.append(fx.vjp(lambda y: x * y, 2.0)[1])
        kept.append(fx.linearize(lambda y: x * y, 2.0)[1])
        return x

    fx.grad(outer)(1.0)
    for function in kept:
        with pytest.raises(fx.EscapedTracerError):
            function(1.0)


def test_a_tracer_in_another_thread():
    found = []

    def attempt(x):
        try:
            found.append(2 * x)
        except fx.EscapedTracerError as error:
            found.append(error)

    def loss(x):
        thread = threading.Thread(target=Context().run, args=(attempt, x))
        thread.start()
        thread.join()
        return x

    fx.grad(loss)(1.0)
    assert isinstance(found[0], fx.EscapedTracerError)
    assert "copy_context" in found[0].hint


def test_tracers_in_tasks_and_threads_that_have_a_copy_of_the_context():
    async def double(x):
        await asyncio.sleep(0)
        return 2 * x

    async def both(x):
        return await asyncio.gather(double(x), double(x), asyncio.to_thread(lambda: 3 * x))

    assert fx.grad(lambda x: sum(asyncio.run(both(x))))(1.0) == 7


# -- one value asked of many or of none ------------------------------------------
@cases(
    ("if under jit", lambda: fx.jit(lambda x: x if x > 0 else -x)(1.0), fx.ConcretizationError,
     ["bool() of an abstract value bool[]", "level 1: jit", "fnp.where", "static_argnums"]),
    ("if under vmap", lambda: fx.vmap(lambda x: x if x > 0 else -x)(X), fx.ConcretizationError,
     ["bool() of a batched value bool[]", "level 1: vmap", "fnp.where"]),
    ("float under jit", lambda: fx.jit(lambda x: float(x))(1.0), fx.ConcretizationError,
     ["float() of an abstract value", "static"]),
    ("float under make_graph", lambda: fx.make_graph(lambda x: float(x))(1.0), fx.ConcretizationError, ["float()"]),
    ("int under vmap", lambda: fx.vmap(lambda x: int(x))(X), fx.ConcretizationError, ["int() of a batched value"]),
    ("range under jit", lambda: fx.jit(lambda n: sum(range(n)))(3), fx.ConcretizationError, ["index"]),
    ("float in a stack", lambda: fx.grad(lambda x: fx.vmap(lambda y: float(y))(x).sum())(X), fx.ConcretizationError,
     ["level 2: vmap at", " → level 1: grad at"]),
    ("if under jit under grad", lambda: fx.grad(fx.jit(lambda x: x if x > 0 else -x))(1.0), fx.ConcretizationError,
     ["level 2: jit at", " → level 1: grad at"]),
    ("a mask under jit", lambda: fx.jit(lambda x: x[x > 0])(X), fx.IndexingError, ["unknown shape", "fnp.where"]),
    ("a mask under vmap", lambda: fx.vmap(lambda x: x[x > 0])(X[None]), fx.IndexingError, ["fnp.where"]),
    ("a list as static argument", lambda: fx.jit(lambda x, n: x, static_argnums=1)(1.0, [2]), fx.StaticArgumentError,
     ["list is not hashable", "tuple"]),
    ("too many ways", lambda: [fx.jit(lambda x: x * int(x), control="follow", max_paths=0)(1.0)],
     fx.TooManyPathsError, ["max_paths=0", "fnp.where"]),
    ("other numbers in each run", lambda: [f(v) for f in [by_chance()] for v in (1.0, -1.0)],
     fx.ImpureFunctionError, ["does not compute the same", "fx.random"]),
)  # fmt: skip
def test_values_that_are_not_known(call, ours, parts):
    verify(call, ours, parts)


# -- dtypes ------------------------------------------
OBJECTS, STRINGS, FOREIGN = (
    np.array([1.0, 2.0, 3.0], object),
    np.array(["a", "b", "c"]),
    X.astype(X.dtype.newbyteorder("S")),
)
BAD = {
    "objects": (OBJECTS, "object"),
    "strings": (STRINGS, "<U1"),
    "dates": (np.array(["2020-01-01"], "M8[D]"), "datetime64[D]"),
    "a record": (np.zeros(3, [("a", float)]), "('a', '<f8')"),
    "foreign byte order": (FOREIGN, "byte order"),
    "a word": ("word", "str"),
    "an object": (object(), "object"),
}
TAKERS = {
    "grad": lambda a: fx.grad(lambda x: fnp.sum(x))(a),
    "vjp": lambda a: fx.vjp(lambda x: x, a),
    "jvp": lambda a: fx.jvp(lambda x: x, (a,), (a,)),
    "linearize": lambda a: fx.linearize(lambda x: x, a),
    "jacobian": lambda a: fx.jacobian(lambda x: x)(a),
    "hessian": lambda a: fx.hessian(fnp.sum)(a),
    "vmap": lambda a: fx.vmap(lambda x: x)(a),
    "jit": lambda a: fx.jit(lambda x: x)(a),
    "make_graph": lambda a: fx.make_graph(lambda x: x)(a),
    "eval_shape": lambda a: fx.eval_shape(lambda x: x, a),
    "checkpoint": lambda a: fx.checkpoint(lambda x: x)(a),
}


@pytest.mark.parametrize("value, part", BAD.values(), ids=BAD)
@pytest.mark.parametrize("taker", TAKERS.values(), ids=TAKERS)
def test_arguments_that_are_no_numbers(taker, value, part):
    error = mistake(lambda: taker(value))
    assert type(error) is fx.DTypeError
    assert isinstance(error, TypeError)
    assert part in str(error)
    assert "[0]" in str(error)
    assert error.hint


TAKE_A_FUNCTION = {
    "grad": lambda f: fx.grad(lambda x: fnp.sum(f(x)))(X),
    "vjp": lambda f: fx.vjp(f, X),
    "jvp": lambda f: fx.jvp(f, (X,), (X,)),
    "linearize": lambda f: fx.linearize(f, X),
    "vmap": lambda f: fx.vmap(f)(np.stack([X, X])),
    "jit": lambda f: fx.jit(f)(X),
}
COMBINE = {
    "product": lambda x, c: x * c,
    "reflected sum": lambda x, c: c + x,
    "NumPy's sum": lambda x, c: np.add(x, c),
    "maximum": lambda x, c: fnp.maximum(c, x),
    "matmul": lambda x, c: x @ c,
    "where": lambda x, c: fnp.where(x > 0, x, c),
    "concatenate": lambda x, c: fnp.concatenate([x, c]),
    "update": lambda x, c: x.at[:].set(c),
}


@pytest.mark.parametrize("combine", COMBINE.values(), ids=COMBINE)
@pytest.mark.parametrize("constant", [OBJECTS, STRINGS], ids=["objects", "strings"])
@pytest.mark.parametrize("transform", TAKE_A_FUNCTION.values(), ids=TAKE_A_FUNCTION)
def test_captured_constants_that_are_no_numbers(transform, constant, combine):
    error = mistake(lambda: transform(lambda x: combine(x, constant)))
    assert type(error) is fx.DTypeError


@pytest.mark.parametrize("combine", COMBINE.values(), ids=COMBINE)
@pytest.mark.parametrize("transform", TAKE_A_FUNCTION.values(), ids=TAKE_A_FUNCTION)
def test_captured_constants_of_foreign_byte_order_are_numbers(transform, combine):
    """They stay outside: what is computed with them is native, as in NumPy."""
    results = [fx.tree.leaves(transform(lambda x, c=c: combine(x, c))) for c in (X, FOREIGN)]
    for native, foreign in zip(*results):
        if not callable(native):
            assert np.asarray(foreign).dtype.isnative
            np.testing.assert_array_equal(foreign, native)


# -- shapes and indices inside the user's function ------------------------------------------
INSIDE = {
    "elementwise": (lambda x: x + np.ones(4), fx.ShapeError, "add: operands could not be broadcast together"),
    "matmul": (lambda x: x @ np.ones((4, 2)), fx.ShapeError, "matmul"),
    "einsum": (lambda x: fnp.einsum("ij->i", x), fx.ShapeError, "1 letters for it"),
    "reshape": (lambda x: x.reshape(2, 2), fx.ShapeError, "reshape"),
    "concatenate": (lambda x: fnp.concatenate([x, np.ones((2, 2))]), fx.ShapeError, "concatenate"),
    "stack": (lambda x: fnp.stack([x, np.ones(2)]), fx.ShapeError, "stack: the arrays have the shapes"),
    "where": (lambda x: fnp.where(np.ones(2, bool), x, x), fx.ShapeError, "where: operands could not be broadcast"),
    "update": (lambda x: x.at[:2].set(np.ones(3)), fx.ShapeError, "(3,)"),
    "sum": (lambda x: fnp.sum(x, axis=1), fx.AxisError, "axis 1 is out of bounds"),
    "transpose": (lambda x: x.transpose(0, 1), fx.AxisError, "axis 1 is out of bounds"),
    "index": (lambda x: x[5], fx.IndexingError, "index 5 is out of bounds"),
    "negative index": (lambda x: x[-4], fx.IndexingError, "index -4 is out of bounds"),
    "too many indices": (lambda x: x[0, 0], fx.IndexingError, "too many indices"),
    "array of indices": (lambda x: x[np.array([0, 7])], fx.IndexingError, "index 7 is out of bounds"),
    "computed index": (lambda x: x[fnp.astype(9 * x, int)], fx.IndexingError, "out of bounds"),
    "take": (lambda x: fnp.take(x, [0, 7]), fx.IndexingError, "index 7 is out of bounds"),
    "mask of another size": (lambda x: x[np.array([True, False])], fx.IndexingError, "size of axis is 3"),
    "float as index": (lambda x: x[1.5], fx.IndexingError, "integers"),
    "update out of range": (lambda x: x.at[7].set(0.0), fx.IndexingError, "out of bounds"),
    "bits of floats": (lambda x: x & 1, fx.DTypeError, "bitwise_and"),
    "assignment": (lambda x: np.broadcast_to(x, (2, 3)).__setitem__(0, 1.0), fx.ImmutableError, "x = x.copy()"),
    "asarray": (lambda x: np.asarray(x, float), fx.ArrayConversionError, "fnp.asarray"),
    "in place": (lambda x: np.ones(3).__iadd__(x), fx.ArrayConversionError, "a = a + b"),
}  # fmt: skip


@pytest.mark.parametrize("function, ours, part", INSIDE.values(), ids=INSIDE)
@pytest.mark.parametrize("name", TAKE_A_FUNCTION)
def test_mistakes_inside_the_users_function(name, function, ours, part):
    error = mistake(lambda: TAKE_A_FUNCTION[name](function))
    assert type(error) is ours
    assert isinstance(error, (TypeError, ValueError, IndexError))
    assert part in f"{error.args[0]}; {error.hint}"  # and not only in the line that is shown
    assert f":{function.__code__.co_firstlineno} in <lambda>:  " in str(error)  # the user's own line
    if name != "jit":  # computed indices are looked at when the compiled function runs
        assert f"level 1: {name} at {os.path.relpath(__file__)}:" in str(error)


def test_the_operands_are_described():
    error = mistake(lambda: fx.grad(lambda x: fnp.sum(x + np.ones(4, int)))(X))
    assert "operands: float64[3], int64[4]" in str(error)
    assert isinstance(error.__cause__, ValueError)  # NumPy's own


# -- errors of the user's ------------------------------------------
class Mine(ValueError):
    """An error that fxgrad has never heard of, though it derives from one that NumPy raises."""


def fail(*_):
    raise Mine("words of mine", 3)


@fx.custom_vjp
def fails_backward(x):
    return 1.0 * x


fails_backward.defvjp(lambda x: (1.0 * x, None), fail)


@fx.custom_jvp
def fails_forward(x):
    return 1.0 * x


fails_forward.defjvp(fail)

FAILING = {
    **{name: functools.partial(transform, fail) for name, transform in TAKE_A_FUNCTION.items()},
    "make_graph": lambda: fx.make_graph(fail)(X),
    "eval_shape": lambda: fx.eval_shape(fail, X),
    "checkpoint": lambda: fx.grad(fx.checkpoint(fail))(1.0),
    "hessian": lambda: fx.hessian(fail)(X),
    "hvp": lambda: fx.hvp(fail, (X,), (X,)),
    "a stack": lambda: fx.vmap(fx.grad(fx.jit(fx.checkpoint(fail))))(X),
    "the forward rule": lambda: fx.grad(fails_forward)(1.0),
    "the forward rule in jvp": lambda: fx.jvp(fails_forward, (1.0,), (1.0,)),
    "the forward rule in jit": lambda: fx.jit(fx.grad(fails_forward))(1.0),
    "the backward rule": lambda: fx.grad(fails_backward)(1.0),
    "the backward rule, later": lambda: fx.vjp(fails_backward, 1.0)[1](1.0),
    "the backward rule in jvp": lambda: fx.jvp(fails_backward, (1.0,), (1.0,)),
    "the backward rule in vmap": lambda: fx.vmap(fx.grad(fails_backward))(X),
}


@pytest.mark.parametrize("call", FAILING.values(), ids=FAILING)
def test_the_users_errors_pass_unchanged(call):
    error = mistake(call)
    assert type(error) is Mine
    assert error.args == ("words of mine", 3)
    assert traceback.extract_tb(error.__traceback__)[-1].name == "fail"


def test_the_frames_of_fxgrad_can_be_shown():
    try:
        fx.set_traceback_filtering(False)
        with pytest.raises(Mine) as caught:
            fx.grad(fail)(1.0)
    finally:
        fx.set_traceback_filtering(True)
    names = [f.filename for f in traceback.extract_tb(caught.value.__traceback__)]
    assert any(name.startswith(PACKAGE) for name in names)
