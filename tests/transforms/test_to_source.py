"""Source that stands alone computes what the function computes, in a Python that has no fxgrad."""

import ast
import linecache
import subprocess
import sys

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax
from tests.sample import drawn
from tests.samples import SAMPLES
from tests.ways import same

V = np.array([0.3, -1.2, 2.0])
M = np.array([[0.5, -1.0, 0.2], [1.1, 0.3, -0.7], [0.0, 0.4, 2.0]])


def load(text, name):
    """Run a program where no module of fxgrad is to be had, and return its function."""
    imported = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert not any("fxgrad" in ast.unparse(node) or getattr(node, "level", 0) for node in imported)
    namespace = {"__name__": "program"}
    linecache.cache["<program>"] = (len(text), None, text.splitlines(True), "<program>")
    exec(compile(text, "<program>", "exec"), namespace)
    return namespace[name]


def sample_of_each_primitive():
    """The last sample of each primitive: the more special ones come later. An operator of the user's has no text."""
    return list({sample.name: sample for sample in SAMPLES if "operator" not in sample.params}.values())


@pytest.mark.parametrize("sample", sample_of_each_primitive(), ids=str)
def test_every_primitive(sample):
    if sample.params.get("dtype") == "bfloat16":
        pytest.skip("NumPy alone has no such dtype")
    _, operands = drawn(sample)

    def f(*xs):
        return sample.call(*xs)

    found = load(fx.to_source(f)(*operands), "f")(*operands)
    same(found, sample.call(*operands), 1e-6 if np.asarray(found).dtype.itemsize <= 4 else 1e-11)


def gradient_of_layers(params, x):
    return fx.grad(lambda p: fnp.sum(fnp.tanh(p["w"] @ x + p["b"][0]) ** 2))(params)


def running(carry, xs):
    def step(state, x):
        total, count = state
        return (total + fnp.sin(x) * total, count + 1), (total * x, count)

    return lax.scan(step, (carry, 0), xs)


def gradient_of_running(carry, xs):
    return fx.grad(lambda c, x: fnp.sum(running(c, x)[1][0]), (0, 1))(carry, xs)


def backwards(xs):
    return lax.scan(lambda h, x: (fnp.tanh(h + x), h[::-1]), np.zeros(3), xs, reverse=True)


def halvings(x):
    return lax.while_loop(lambda s: fnp.sum(s[0]) > 1.0, lambda s: (s[0] / 2, s[1] + 1), (x, 0))


def bounded_halvings(x):
    return fx.grad(
        lambda v: fnp.sum(lax.while_loop(lambda s: fnp.sum(s) > 1.0, lambda s: s / 2, v, max_steps=9))
    )(x)


def branches(i, x):
    return lax.switch(i, [fnp.sin, lambda v: v * 2.0, lambda v: v[::-1]], x)


def by_rule(x):
    @fx.custom_jvp
    def f(v):
        return fnp.sin(v) * V

    f.defjvp(lambda primals, tangents: (f(primals[0]), tangents[0] * 7.0))
    return f(x), fx.checkpoint(lambda v: fnp.cos(v) * v)(x)


def solved(a, b):
    return lax.custom_linear_solve(lambda v: a @ v, b, lambda _, c: fnp.linalg.solve(a, c))


def numbers(x):
    key = fx.random.key(3)
    return fx.random.normal(key, (4,)) + x, fx.random.uniform(key, (2, 2)), fx.random.poisson(key, 3.0, (3,))


def special(x):
    return lax.erf(x) + lax.lgamma(x + 3.0) * lax.digamma(x + 3.0)


def linear_algebra(a):
    symmetric = a @ a.T + 4.0 * np.eye(3)
    lower = fnp.linalg.cholesky(symmetric)
    return (
        fnp.linalg.inv(lower),
        fnp.linalg.slogdet(symmetric)[1],
        fnp.linalg.eigh(symmetric)[0],
        fnp.linalg.solve(a, V),
    )


def containers(pair, *, scale, other=None):
    return {"out": [pair[0] * scale, (pair[1]["x"], None)], "captured": V, 3: other}


def mixed_dtypes(x, n, flag):
    return x.astype("float32") * n, fnp.where(flag, x, -x), n / 2, x > 0, x * 2j, fnp.round(x, 1), -0.0 * x


def named_like_numpy(exp, add, v1, k3, x0):
    return fnp.exp(exp) + fnp.add(add, v1) * k3 - x0


@pytest.mark.parametrize("function, args", [
    (gradient_of_layers, ({"w": M, "b": [V]}, V)),
    (running, (V, np.stack([V, V + 1, -V]))),
    (gradient_of_running, (V, np.stack([V, V + 1, -V]))),
    (backwards, (M,)),
    (halvings, (V * V,)),
    (bounded_halvings, (V * V,)),
    (branches, (1, V)),
    (branches, (np.int64(7), V)),
    (by_rule, (V,)),
    (solved, (M, V)),
    (numbers, (V[0],)),
    (special, (V,)),
    (linear_algebra, (M,)),
    (mixed_dtypes, (V, 3, True)),
    (mixed_dtypes, (np.float64(0.5), np.int32(3), np.True_)),
    (named_like_numpy, (V, V, V, 2.0, V)),
    (fx.vmap(special), (M,)),
    (fx.hessian(lambda x: fnp.sum(fnp.exp(x) * x)), (V,)),
    (fx.jit(special), (V,)),
], ids=lambda value: getattr(value, "__name__", None))  # fmt: skip
def test_programs(function, args):
    text = fx.to_source(function)(*args)
    tree = ast.parse(text)
    name = next(node.name for node in reversed(tree.body) if isinstance(node, ast.FunctionDef))
    same(load(text, name)(*args), function(*args), 1e-10)


def test_structures_of_arguments_and_results():
    args, kwargs = ((V, {"x": M}),), {"scale": 2.0}
    text = fx.to_source(containers)(*args, **kwargs)
    program = load(text, "containers")
    same(program(*args, **kwargs), containers(*args, **kwargs))
    program(*args, **kwargs)["captured"][:] = 0.0
    same(program(*args, **kwargs), containers(*args, **kwargs))


def test_static_arguments_are_written_into_the_program():
    def f(x, n, y):
        return x**n + y

    text = fx.to_source(f, static_argnums=1)(V, 3, 1.0)
    same(load(text, "f")(V, 1.0), V**3 + 1.0)


def test_special_values_are_written():
    big = np.array([[np.nan, -np.inf], [-0.0, 5e-324]])

    def f(x):
        return (
            x * big,
            x + np.arange(500.0),
            fnp.where(x > 0, float("nan"), -float("inf")),
            x * np.float32(0.1),
        )

    one, other, third, last = load(fx.to_source(f)(2.0), "f")(2.0)
    np.testing.assert_array_equal(one, 2.0 * big)
    assert np.signbit(one[1, 0])
    same((other, last), (2.0 + np.arange(500.0), 2.0 * np.float32(0.1)))
    assert np.isnan(third)


LARGE = np.random.default_rng(0).integers(0, 99, (40, 1 << 14)).astype("f4")


@pytest.mark.parametrize(
    "f",
    [
        lambda x: fnp.sort(x),
        lambda x: fnp.sort(x, axis=None),
        lambda x: fx.lax.sort((x, x), num_keys=1)[1],
        lambda x: fnp.concatenate([x, x]),
        lambda x: fnp.where(x > 0, x, 0),
    ],
)
def test_what_threads_share_is_done_by_one(f):
    np.testing.assert_array_equal(load(fx.to_source(f)(LARGE), "f")(LARGE), f(LARGE))


def test_the_program_runs_without_fxgrad():
    text = fx.to_source(fx.grad(lambda x: fnp.sum(special(x) + numbers(x[0])[0][0])))(V)
    head, body = text.split("\n", 1)
    check = f"{head}\nimport sys\nsys.modules['fxgrad'] = None\n{body}\nprint(f(np.array({V.tolist()}))[0])\n"
    done = subprocess.run([sys.executable, "-I", "-c", check], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    expected = fx.grad(lambda x: fnp.sum(special(x) + numbers(x[0])[0][0]))(V)[0]
    np.testing.assert_allclose(float(done.stdout), expected, rtol=1e-10)


def test_what_cannot_be_written_is_refused_by_name():
    with pytest.raises(fx.UnsupportedError, match="to_source: debug_callback"):
        fx.to_source(lambda x: (fx.debug.callback(print, x), x)[1])(V)
    with pytest.raises(fx.UnsupportedError, match="to_source: pure_callback"):
        fx.to_source(lambda x: fx.pure_callback(np.sin, fx.ShapeDtypeStruct((3,), float), x))(V)
    point = fx.tree.Partial(fnp.multiply, V)
    with pytest.raises(fx.StructureError, match="returns a Partial"):
        fx.to_source(lambda x: point)(V)
