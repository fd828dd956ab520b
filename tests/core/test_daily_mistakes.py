"""The mistakes of a day's work: each is answered by what is wrong, the line, and what to write instead."""

import os
import re

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax, optim, random

X = np.array([1.0, 2.0, 3.0])
A = np.arange(9.0).reshape(3, 3)
ADAM = optim.adam(1e-3)
STATE = ADAM.init({"w": X})


@fx.custom_vjp
def product(x, y):
    return x * y


product.defvjp(lambda x, y: (x * y, (x, y)), lambda r, ct: ct * r[1])


def buffer(x):
    made = np.zeros(3)
    made[0] = x[0]
    return made.sum()


def integers(x):
    made = fnp.zeros(3, int)
    made[0] = x[0]
    return fnp.sum(made)


def no_return(x):
    fnp.sum(x)


def kept_tracer():
    kept = []
    fx.jit(lambda x: kept.append(x * 2) or x)(X)
    return kept[0] + 1


# name: (call, the built-in error that one would catch, what the message says, what it says to write instead)
MISTAKES = {
    "an axis too many": (
        lambda: fx.vmap(fnp.sin, in_axes=1)(X),
        IndexError,
        "axis 1 is out of bounds.*x of shape",
        "in_axes=None",
    ),
    "batches of two sizes": (
        lambda: fx.vmap(fnp.add)(X, np.ones(4)),
        ValueError,
        r"3 \(shape.*4 \(shape",
        "in_axes=None",
    ),
    "in_axes for one of two": (
        lambda: fx.vmap(fnp.add, in_axes=(0,))(X, X),
        ValueError,
        "1 entries .* 2 positional",
        "in_axes=0",
    ),
    "out_axes": (
        lambda: fx.vmap(fnp.sin, out_axes=2)(X),
        IndexError,
        "out_axes 2 is out of bounds",
        "from -1 to 0",
    ),
    "grad of an int": (
        lambda: fx.grad(lambda n: n * 2.0)(3),
        TypeError,
        "integer or boolean dtype int64",
        r"2\.0 instead of 2",
    ),
    "grad of a vector": (
        lambda: fx.grad(fnp.sin)(X),
        TypeError,
        r"scalar functions.*shape \(3,\)",
        "fx.jacrev",
    ),
    "grad of a tuple": (
        lambda: fx.grad(lambda x: (x.sum(), x))(X),
        TypeError,
        "the result is a tuple",
        "has_aux=True",
    ),
    "no return": (lambda: fx.grad(no_return)(X), TypeError, "NoneType", "return the result"),
    "argnums too large": (
        lambda: fx.grad(fnp.sum, argnums=1)(X),
        ValueError,
        "argnums=1 .* 1 positional",
        "argnums=0",
    ),
    "argnums by name": (
        lambda: fx.grad(fnp.sum, argnums="x"),
        TypeError,
        "positions of arguments.*'x'",
        "argnums=0",
    ),
    "the argument beside the function": (
        lambda: fx.grad(fnp.sum, X),
        TypeError,
        "not a ndarray",
        r"fx\.grad\(f\)\(x\)",
    ),
    "the same of a Jacobian": (
        lambda: fx.jacobian(fnp.sin, X),
        TypeError,
        "not a ndarray",
        r"fx\.jacobian\(f\)\(x\)",
    ),
    "argument by keyword": (lambda: fx.grad(fnp.sum)(a=X), ValueError, "0 positional", "by position"),
    "a name among parameters": (
        lambda: fx.grad(lambda p: p["w"].sum())({"w": X, "n": "a"}),
        TypeError,
        r"\['n'\] is a str",
        "static",
    ),
    "has_aux without aux": (
        lambda: fx.grad(fnp.sum, has_aux=True)(X),
        TypeError,
        r"a pair \(value, aux\), not f64\[\]",
        "return value, aux",
    ),
    "a call for a function": (
        lambda: fx.jit(fnp.sin(X)),
        TypeError,
        "a function, not a ndarray",
        r"jit\(f\)",
    ),
    "a carry that grows": (
        lambda: lax.scan(lambda c, t: (fnp.append(c, t), t), X, X),
        ValueError,
        r"float64\[3\] before.*float64\[4\] after",
        "one shape",
    ),
    "a scan without a pair": (
        lambda: lax.scan(lambda c, t: c + t, 0.0, X),
        ValueError,
        r"a pair \(carry, y\), not a leaf",
        "None for no y",
    ),
    "rows of two numbers": (
        lambda: lax.scan(lambda c, t: (c, t), 0.0, (X, np.ones(4))),
        ValueError,
        "4 rows.*says 3",
        "one number of rows",
    ),
    "steps unknown": (
        lambda: lax.scan(lambda c, t: (c, t), 0.0, None),
        ValueError,
        "number of steps is unknown",
        "length",
    ),
    "the start before the function": (
        lambda: lax.scan(0.0, lambda c, t: (c, t), X),
        ValueError,
        "not a float",
        "the function itself",
    ),
    "a condition with axes": (
        lambda: lax.while_loop(lambda s: s < 3, lambda s: s, X),
        TypeError,
        r"bool\[3\]",
        r"fnp\.all",
    ),
    "a carry built otherwise": (
        lambda: lax.while_loop(lambda s: s[0] < 3, lambda s: s[0], (0, 1.0)),
        ValueError,
        "are a leaf, expected a tuple of length 2",
        "containers that it came in",
    ),
    "branches built otherwise": (
        lambda: fx.jit(lambda x: lax.cond(x[0] > 0, lambda x: x, lambda x: (x, x), x))(X),
        ValueError,
        "a leaf, expected a tuple of length 2",
        "same containers",
    ),
    "branches of two shapes": (
        lambda: fx.jit(lambda x: lax.cond(x[0] > 0, lambda x: x, lambda x: x[:1], x))(X),
        ValueError,
        r"float64\[1\] .* float64\[3\]",
        "one shape",
    ),
    "a branch under jit": (
        lambda: fx.jit(lambda x: x if x[0] > 0 else -x)(X),
        TypeError,
        r"bool\(\) of an abstract",
        'control="follow"',
    ),
    "a mask under jit": (lambda: fx.jit(lambda x: x[x > 1])(X), IndexError, "boolean mask", r"fnp\.where"),
    "range under jit": (lambda: fx.jit(lambda n: sum(range(n)))(3), TypeError, "abstract value", "fori_loop"),
    "a size under jit": (lambda: fx.jit(fnp.zeros)(3), TypeError, "use as a size", "static_argnums"),
    "int under jit": (lambda: fx.jit(lambda x: int(x[0]))(X), TypeError, r"int\(\) of an abstract", "static"),
    "math under jit": (
        lambda: fx.jit(lambda x: __import__("math").sin(x))(1.0),
        TypeError,
        r"float\(\) of an abstract",
        r"fnp\.sin",
    ),
    "and between arrays": (
        lambda: fx.jit(lambda x: fnp.where(x > 0 and x < 2, x, 0))(X),
        ValueError,
        r"bool\(\) of bool\[3\].*ambiguous",
        r"\(x > 0\) & \(x < 2\)",
    ),
    "a chain of comparisons": (
        lambda: fx.jit(lambda x: fnp.where(0 < x < 2, x, 0))(X),
        ValueError,
        r"bool\(\) of bool\[3\]",
        "in place of `and`",
    ),
    "a buffer of NumPy's": (
        lambda: fx.grad(buffer)(X),
        TypeError,
        "derivative would be lost",
        r"fnp\.zeros\(shape\)",
    ),
    "a buffer of integers": (
        lambda: fx.grad(integers)(X),
        TypeError,
        "int64: its derivative",
        "dtype=float64",
    ),
    "at with parentheses": (
        lambda: fx.grad(lambda x: x.at(0).set(1.0).sum())(X),
        TypeError,
        r"x\.at is called",
        r"x\.at\[index\]",
    ),
    "a tracer kept": (kept_tracer, RuntimeError, "used outside that transform", "return the value"),
    "a string under jit": (lambda: fx.jit(lambda x, mode: x)(X, "fast"), TypeError, "is a str", "static"),
    "a static list": (
        lambda: fx.jit(lambda x, n: x, static_argnums=1)(X, [1]),
        ValueError,
        "not hashable",
        "a tuple",
    ),
    "a seed for a key": (
        lambda: random.normal(0, (3,)),
        TypeError,
        "a key is a uint64",
        r"random\.key\(seed\)",
    ),
    "a shape for a key": (
        lambda: random.normal((3,)),
        TypeError,
        "a key is a uint64",
        r"random\.key\(seed\)",
    ),
    "half a split": (
        lambda: random.split(random.key(0), 2.0),
        ValueError,
        "tuple of integers, not 2.0",
        "shape=",
    ),
    "state and gradients swapped": (
        lambda: ADAM.update(STATE, {"w": X}),
        ValueError,
        "a state for gradients",
        r"update\(gradients, state, params\)",
    ),
    "gradients built otherwise": (
        lambda: ADAM.update({"v": X}, STATE),
        ValueError,
        r"\['w'\].*\['v'\]",
        r"optimizer\.init",
    ),
    "gradients of another shape": (
        lambda: ADAM.update({"w": np.ones(4)}, STATE),
        ValueError,
        r"shape \(4,\) for a parameter of shape \(3,\)",
        r"fx\.grad\(loss\)\(params\)",
    ),
    "gradients of a batch": (
        lambda: ADAM.update({"w": np.ones((5, 3))}, STATE),
        ValueError,
        r"shape \(5, 3\) for a parameter of shape \(3,\)",
        "summed over the examples",
    ),
    "updates of another shape": (
        lambda: optim.apply_updates({"w": 1.0}, {"w": X}),
        ValueError,
        r"shape \(3,\) for a parameter of shape \(\)",
        r"fx\.grad\(loss\)",
    ),
    "decay without parameters": (
        lambda: optim.adamw(1e-3).update({"w": X}, optim.adamw(1e-3).init({"w": X})),
        ValueError,
        "needs the parameters",
        "state, params",
    ),
    "a minimum of many": (
        lambda: fx.scipy.optimize.minimize(lambda x: x**2, X, method="BFGS"),
        ValueError,
        r"one of shape \(3,\)",
        r"fnp\.sum",
    ),
    "a product that does not fit": (
        lambda: fx.jit(lambda a: a @ np.ones((4, 2)))(A),
        ValueError,
        "inner sizes 3 and 4",
        "a second operand",
    ),
    "a sum that does not fit": (
        lambda: fx.grad(lambda a: (a + np.ones(4)).sum())(A),
        ValueError,
        r"\(3,3\) \(4,\)",
        r"x\[:, None\]",
    ),
    "an index too large": (lambda: fx.grad(lambda x: x[5])(X), IndexError, "index 5", "from -3 to 2"),
    "a custom rule that gives one of two": (
        lambda: fx.grad(product)(1.0, 2.0),
        TypeError,
        "2 cotangents",
        "None is the cotangent",
    ),
    "jvp without tuples": (
        lambda: fx.jvp(fnp.sin, X, X),
        TypeError,
        "tuples or lists",
        r"fx\.jvp\(f, \(x,\), \(t,\)\)",
    ),
    "a cotangent of another shape": (
        lambda: fx.vjp(fnp.sin, X)[1](np.ones(4)),
        ValueError,
        r"shape \(4,\), expected \(3,\)",
        "broadcast_to",
    ),
    "an axis that nobody named": (
        lambda: lax.psum(X, "batch"),
        NameError,
        "named 'batch'",
        "axis_name='batch'",
    ),
    "segments under jit": (
        lambda: fx.jit(lambda i: fx.ops.segment_sum(X, i))(np.array([0, 1, 1])),
        TypeError,
        "how many segments",
        "num_segments=",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_answered(name):
    call, kind, wrong, instead = MISTAKES[name]
    with pytest.raises(kind) as caught:
        call()
    text = str(caught.value)
    assert re.search(wrong, text, re.DOTALL), text
    assert re.search(f"  try: .*{instead}", text), text
    assert f"  at:  {os.path.relpath(__file__)}:" in text, text


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda: optim.adam(lr=1e-3), "learning_rate"),
        (lambda: fx.nn.softmax(X, dim=0), "axis"),
        (lambda: fnp.sum(A, dim=1), "axis"),
        (lambda: fnp.sum(A, axis=1, keepdim=True), "keepdims"),
        (lambda: fx.vmap(fnp.sin, in_dims=0), "in_axes"),
        (lambda: random.normal(seed=0, shape=(3,)), "key"),
    ],
)
def test_a_keyword_of_torch_is_answered_by_ours(call, meant):
    with pytest.raises(TypeError, match=f"Did you mean:? '{meant}'"):
        call()
