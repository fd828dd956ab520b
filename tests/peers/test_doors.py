"""`import jax` and `import autograd` answered by this library: in processes of their own, since the libraries may be
loaded in this one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fxgrad as fx
from fxgrad.doors.modules import UNKNOWN
from fxgrad.peers.door.modules import DOORS
from tests.peers.expressions import MEANINGS, RANDOM

ROOT = Path(__file__).parent.parent.parent
ANSWERS = Path(__file__).with_name("jax_answers.json")
# Where rounding to single precision in another place shows.
TOLERANCE = 2e-5


def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run Python with the library on its path."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(  # type: ignore[call-overload]
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        **options,
    )


def output(code: str) -> str:
    """What a program prints under the doors."""
    done = run("-m", "fxgrad", "-c", code)
    assert done.returncode == 0, done.stderr
    return done.stdout


# -- modules and names -----------------------------------------------------------------------------------------------
IMPORTS = """
import importlib, sys, warnings
import fxgrad as fx
from fxgrad.peers.door.modules import DOORS
fx.install()
warnings.simplefilter("ignore")
for door in DOORS.values():
    paths = {*door.layout, *door.inventory.blocks} - {"*"}
    for path in sorted(paths):
        module = importlib.import_module(path)
        names = {*door.inventory.entries(path), *getattr(module, "__all__", ())}
        if path in door.mirrors:
            assert names, path
        for name in sorted(names):
            exec(f"from {path} import {name}", {})
        print(path, len(names))
"""


def test_every_module_and_name_can_be_imported():
    done = run("-c", IMPORTS)
    assert done.returncode == 0, done.stderr
    counts = dict(line.split() for line in done.stdout.splitlines())
    assert len(counts) > 200 and sum(map(int, counts.values())) > 3000


def test_modules_of_the_libraries_are_ours_while_a_door_is_open():
    program = """
import sys
import fxgrad as fx
fx.tree  # whose finder of pandas and xarray stays
before = list(sys.meta_path)
with fx.install("jax"):
    import jax, jax.numpy as jnp, jax.scipy.stats
    from jax import grad, jit, random, vmap
    from jax.tree_util import tree_map
    from jax._src import core, dtypes
    with fx.install("jax"):
        fx.install("jax")
    assert sys.modules["jax"] is jax and jnp is jax.numpy and jax.__version__ == "0.10.2"
    try:
        import jax.no_such_module
    except ModuleNotFoundError as error:
        print(error)
assert sys.meta_path == before and not [m for m in sys.modules if m.startswith("jax")]
print(grad(lambda x: jnp.sum(x * x))(jnp.arange(3.0)))
"""
    done = run("-c", program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "No module named 'jax.no_such_module'",
        "  fxgrad.peers.jax stands for jax here: it does not have this",
        "[0. 2. 4.]",
    ]


def test_a_library_that_is_loaded_already_is_an_error():
    program = """
import sys, types
sys.modules["jax"] = types.ModuleType("jax")
import fxgrad as fx
try:
    fx.install("autograd", "jax")
except ImportError as error:
    print(error)
try:
    import autograd.numpy.numpy_boxes
    print("autograd", autograd.__name__, hasattr(autograd, "_fx_none"), "fxgrad" in repr(autograd))
except ImportError:
    print("autograd is not installed")
"""
    done = run("-c", program)
    assert "fxgrad cannot stand for jax: 'jax' (without a file) is loaded already" in done.stdout, done.stderr
    assert 'call fxgrad.install("jax") before anything imports jax' in done.stdout
    assert "False True" not in done.stdout  # the door that was open is closed again


def test_other_libraries_have_no_door():
    with pytest.raises(fx.UnsupportedError, match=r"tensorflow.*no door"):
        fx.install("tensorflow")


@pytest.mark.parametrize("library", ["jax"])
def test_public_names_that_are_absent_have_a_reason_of_their_own(library):
    door = DOORS[library]
    names = [
        f"{path}.{name}"
        for path in door.inventory.blocks
        if path != "*" and "._" not in path
        for name, entry in door.inventory.entries(path).items()
        if entry.kind != "module" and not name.startswith("_") and not entry.path
    ]
    assert len(names) > 500
    assert [name for name in names if door.reason_for(name) == UNKNOWN] == []


def test_absent_names_say_why_when_they_are_used():
    program = """
import jax, jax.numpy as jnp
from jax import export
from jax.experimental import pallas, shard_map
assert not hasattr(jax.lax, "no_such") and not hasattr(jnp, "float8_e5m2") and not hasattr(export, "export")
from jax.export import export as function
try:
    function(jax.jit(jnp.sin))
except NotImplementedError as error:
    print(error)
"""
    assert "jax.export.export is not there: there is no XLA" in output(program)


# -- meanings --------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def given(tmp_path_factory) -> dict[str, list]:
    """What is given here for the expressions."""
    path = tmp_path_factory.mktemp("answers") / "answers.json"
    done = run("-m", "fxgrad", "-m", "tests.peers.answers", "--to", str(path))
    assert done.returncode == 0, done.stderr
    return json.loads(path.read_text())


@pytest.mark.parametrize("name", {**RANDOM, **MEANINGS})
def test_the_answer_is_that_of_jax(name, given):
    dtype, shape, entries = json.loads(ANSWERS.read_text())[name]
    assert given[name][:2] == [dtype, shape]
    np.testing.assert_allclose(given[name][2], entries, rtol=TOLERANCE, atol=1e-6)


def test_what_a_users_function_returns_is_a_value_to_solvers_and_rules():
    """Un-jitted derivatives of solvers, and custom rules of Python's numbers."""
    text = """
import jax, jax.numpy as jnp
from functools import partial
from jax import lax
from jax.experimental.ode import odeint

def end(rates):
    return odeint(lambda y, t, k: -k[0] * y + k[1], jnp.array([10.0, 5.0]), jnp.array([0.0, 5.0]), rates)[-1].sum()

print([round(float(g), 3) for g in jax.grad(end)(jnp.array([1.0, 0.1]))])

@partial(jax.custom_vjp, nondiff_argnums=0)
def limit(f, a, start):
    apart = lambda s: jnp.abs(s[0] - s[1]) > 1e-6
    return lax.while_loop(apart, lambda s: (s[1], f(a, s[1])), (start, f(a, start)))[1]

limit.defvjp(lambda f, a, start: (limit(f, a, start), a), lambda f, a, ct: (ct / (2 * jnp.sqrt(a)), 0.0))
print(round(float(jax.grad(lambda a: limit(lambda a, x: 0.5 * (x + a / x), a, a))(4.0)), 5))
"""
    assert output(text).split("\n")[:2] == ["[-0.697, 1.987]", "0.25"]


@pytest.mark.parametrize(
    "count",
    ["3", "np.int64(3)", "np.array(3)", "jnp.array(3)", "jax.lax.fori_loop(0, 3, lambda i, c: c + 1, 0)"],
)
def test_a_rule_agrees_with_its_function_in_dtypes_of_arrays(count):
    program = f"""
import jax, jax.numpy as jnp, numpy as np

@jax.custom_vjp
def f(x):
    return jnp.sin(x), {count}

f.defvjp(lambda x: ((jnp.sin(x), jnp.array(3)), x), lambda x, ct: (2 * ct[0],))
print(jax.grad(lambda x: f(x)[0])(0.5), jax.jit(jax.grad(lambda x: f(x)[0]))(0.5), f(0.5)[1])
"""
    assert output(program) == "2.0 2.0 3\n"


def test_no_call_writes_into_an_array():
    """Whatever is called with arrays in any place, also in that of NumPy's `out`: they stay what they are. (What
    NumPy takes for the width of a line or the number of turns it changes in place.)"""
    text = """
import warnings
import jax.numpy as jnp, numpy as np
warnings.simplefilter("ignore")
x, y, k = jnp.array([[1.5, -2.5], [0.25, jnp.nan]]), jnp.ones((2, 2)), jnp.array([[1, 0], [0, 1]])
kept = [np.array(v) for v in (x, y, k)]
calls = [(x, x), (x, y, x), (x, k, x), (k, k, k), (x, k, y, x), (x, 0, x), (x, 0, None, x), (x, False)]
left_out = "save savez load fromfile array_repr rot90".split()
names = [n for n in dir(jnp) if not n.startswith("_") and n not in left_out]
for name in names:
    for args in calls:
        for options in ({}, {"out": y}, {"where": k > 0}):
            try:
                getattr(jnp, name)(*args, **options)
            except Exception:
                pass
            assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(kept, (x, y, k))), (name, args, options)
print(len(names) > 400)
"""
    assert output(text).split()[-1] == "True"


def test_a_module_lists_what_it_has():
    asked = "import jax, jax.numpy as jnp; print({'grad', 'vmap'} <= {*dir(jax)}, {'sin', 'nonzero'} <= {*dir(jnp)})"
    assert output(asked).split() == ["True", "True"]


def test_arrays_cannot_be_written_into():
    program = """
import copy, pickle
import jax, jax.numpy as jnp, numpy as np
x = jnp.arange(3.0)
try:
    x[0] = 5
except TypeError as error:
    print(str(error).splitlines()[0], "x.at[" in str(error))
y = x
y += 1
try:
    np.asarray(x)[0] = 7
except ValueError as error:
    print(error)
source = np.zeros(3, np.float32)
held = jnp.asarray(source)
source[0] = 9
print(x, y, held, copy.deepcopy(x), pickle.loads(pickle.dumps(x)))
print(x.block_until_ready() is x, x.devices(), x.sharding, isinstance(x, jax.Array), isinstance(x, jnp.ndarray))
is_traced = jax.jit(lambda x: isinstance(x, jax.Array) and isinstance(x, jax.core.Tracer))
print(repr(x), repr(jnp.array(1)), f"{x[1]:.2f}", is_traced(x))
print(len(x), list(x), x.T.shape, x.mean(), float(x[2]), [10, 20, 30][x[1].astype(int)])
"""
    lines = output(program).splitlines()
    assert lines[0].startswith("x[index] = values: arrays of JAX's programs are immutable") and lines[
        0
    ].endswith("True")
    assert lines[1] == "assignment destination is read-only"
    assert lines[2] == "[0. 1. 2.] [1. 2. 3.] [0. 0. 0.] [0. 1. 2.] [0. 1. 2.]"
    assert lines[3:] == [
        "True {CpuDevice(id=0)} SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device) True True",
        "Array([0., 1., 2.], dtype=float32) Array(1, dtype=int32, weak_type=True) 1.00 True",
        "3 [Array(0., dtype=float32), Array(1., dtype=float32), Array(2., dtype=float32)] (3,) 1.0 2.0 20",
    ]


MISUSE = """
random.bernoulli(k, 3, 4)|random.bernoulli(k, (3,))|random.bernoulli(k, True, (2,))|random.choice(k, (3,), 5)
random.choice(k, 5, 3)|random.choice(k, 5, (3,), jnp.ones(5))|random.choice(k, 5, (3,), True, True)
random.choice(k, 5, (3,), False, 0.5)|random.choice(k, 5, (7,), False)|random.choice(k, 5, (3,), True, jnp.ones(4))
random.choice(k, -1, (3,))|random.choice(k, 0, (3,))|random.normal(k, (3,), 4)|random.uniform(k, (3,), 0.0, 1.0)
random.split(k, 0.5)|random.permutation(k, 3.0)|random.randint(k, (3,), 0, 5, 3)|random.randint(k, 0, 5, (3,))
random.categorical(k, 3)|random.categorical(k, jnp.zeros(3), (4,))|random.gamma(k, (3,))|random.poisson(k, (3,))
random.ball(k, 2.5)|random.ball(k, (3,))|random.dirichlet(k, 3.0)|random.orthogonal(k, (2,))
random.truncated_normal(k, (3,), (4,))|lax.iota(3, 4)|lax.iota(float, 4.0)|lax.iota(float, -1)
lax.full((3,), jnp.float32)|lax.convert_element_type(1.0, 3)|lax.argmax(jnp.ones(3), 0, float)|lax.clz(0.5)
jax.ShapeDtypeStruct(3, 4)|jax.ShapeDtypeStruct(3, float)|jax.ShapeDtypeStruct((3,), 4)|jnp.ones(3).astype(3)
"""


def test_exchanged_arguments_are_refused():
    calls = [call for line in MISUSE.split("\n") for call in line.split("|") if call]
    program = f"""
import jax, jax.numpy as jnp
from jax import lax, random
k = random.key(0)
for call in {calls!r}:
    try:
        eval(call)
    except (TypeError, ValueError):  # as JAX's are
        continue
    print(call)
print("done", {len(calls)})
"""
    assert output(program) == f"done {len(calls)}\n"


def test_typed_keys():
    program = """
import jax, jax.numpy as jnp
key = jax.random.key(0)
print(key.shape, key.dtype, jnp.issubdtype(key.dtype, jax.dtypes.prng_key), len(jax.random.split(key, 3)))
print(jax.random.normal(key) == jax.random.normal(jax.random.PRNGKey(0)), jax.tree.leaves({"key": key})[0] is key)
for wrong in (3, jnp.ones(2), jax.random.split(key)):
    try:
        jax.random.normal(wrong)
    except (TypeError, ValueError) as error:
        print(str(error).splitlines()[0])
"""
    lines = output(program).splitlines()
    assert lines[:2] == ["() key<fry> True 3", "True True"]
    assert [line.split(":")[0] for line in lines[2:]] == ["normal"] * 3


# -- autograd --------------------------------------------------------------------------------------------------------
AUTOGRAD = """
import autograd.numpy as np
import autograd.numpy.random as npr
import autograd.scipy.stats.norm as norm
from autograd import deriv, elementwise_grad, grad, grad_named, hessian, hessian_vector_product, jacobian, make_ggnvp
from autograd import make_hvp, make_jvp, make_vjp, value_and_grad
from autograd.builtins import tuple as builtin
from autograd.extend import def_linear, defjvp, defvjp, primitive
from autograd.misc.flatten import flatten, flatten_func
from autograd.misc.optimizers import adam, rmsprop, sgd
from autograd.numpy.numpy_boxes import ArrayBox
from autograd.test_util import check_grads

@primitive
def logsumexp(x):
    largest = np.max(x)
    return largest + np.log(np.sum(np.exp(x - largest)))

defvjp(logsumexp, lambda ans, x: lambda g: g * np.exp(x - ans))
defjvp(logsumexp, lambda g, ans, x: np.sum(g * np.exp(x - ans)))

@primitive
def scaled(x, factor=1.0):
    return np.asarray(x) * factor

def_linear(scaled)
x = np.array([0.5, -0.3, 0.2])
check_grads(lambda y: logsumexp(y**2), modes=["fwd", "rev"])(x)
f = lambda x: np.sum(np.tanh(x) ** 3) + logsumexp(x)
quadratic = lambda p, i: {"a": 2 * p["a"], "b": 2 * (p["b"] - 1)}
start = {"a": np.ones(2), "b": 0.5}
runs = [flatten(optimize(quadratic, start, num_iters=30))[0] for optimize in (adam, sgd, rmsprop)]
answers = [
    grad(f)(x), jacobian(np.tanh)(x), elementwise_grad(elementwise_grad(np.tanh))(x), hessian(f)(x),
    hessian_vector_product(f)(x, x), make_hvp(f)(x)[0](x), make_jvp(np.sin)(x)(x)[1], make_vjp(np.sin)(x)[0](x),
    deriv(np.sin)(x),
    value_and_grad(lambda a, b: np.sum(a * b), 1)(x, x)[1], grad(lambda a, b: np.sum(a * b**2), [0, 1])(x, x)[1],
    grad_named(lambda a, b: np.sum(a * b**2), "b")(x, x),
    make_ggnvp(lambda x: np.tanh(x))(x)(x), grad(lambda x: norm.logpdf(x))(0.5), npr.RandomState(0).randn(3), *runs,
    make_jvp(lambda x: scaled(x, factor=3.0))(x)(x)[1], grad(lambda p: p[0]["w"] ** 2)([{"w": 3.0}])[0]["w"],
    flatten_func(lambda p: {"a": p["a"] * 2}, start)[0](np.ones(3)),
]
seen = []
grad(lambda x: seen.append(isinstance(x, ArrayBox)) or np.sum(x))(x)
assert seen == [True]
for answer in answers:
    print(*np.asarray(answer, dtype=float).ravel().tolist())
"""


def numbers_of(text: str) -> list[list[float]]:
    """The numbers in the lines of a program's output."""
    return [list(map(float, line.split())) for line in text.splitlines()]


def test_meshes_of_jax():
    program = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P, Sharding
mesh = Mesh(np.array(jax.devices()), ("data",))
assert mesh == jax.make_mesh((1,), ("data",)) and mesh.devices.shape == (1,) and mesh.shape["data"] == 1
sharding = NamedSharding(mesh, P("data"))
x = jax.device_put(np.arange(3.0), sharding)
both = {"in_specs": P("data"), "out_specs": P("data")}
f = jax.shard_map(lambda x: jax.lax.psum(x, "data") * x.at[0].set(2), mesh=mesh, **both)
assert isinstance(sharding, Sharding) and isinstance(x, jax.Array) and isinstance(f(x), jax.Array)
with mesh:
    print(*jax.jit(f, in_shardings=(sharding,))(x), *jax.grad(lambda x: f(x).sum())(x))
try:
    jax.make_mesh((8,), ("data",))
except ValueError as error:
    print(error)
"""
    numbers, told, *_ = output(program).splitlines()
    assert numbers == "0.0 1.0 4.0 2.0 2.0 4.0" and "of 8 devices, and there is 1" in told


def test_autograd_gives_derivatives_under_its_names():
    found = numbers_of(output(AUTOGRAD))
    assert len(found) == 21
    np.testing.assert_allclose(found[2], -2 * np.tanh([0.5, -0.3, 0.2]) / np.cosh([0.5, -0.3, 0.2]) ** 2)


def test_gradients_by_name_of_argument():
    program = "from autograd import multigrad_dict; print(multigrad_dict(lambda a, b=3.0: a * b)(2.0))"
    assert output(program).replace("np.float64(", "").replace(")", "") == "{'a': 3.0, 'b': 2.0}\n"


def test_a_primitive_without_a_rule_says_which():
    program = """
from autograd import grad
from autograd.extend import defvjp, primitive
import autograd.numpy as np
@primitive
def product(x, y):
    return x * y
defvjp(product, lambda ans, x, y: lambda g: g * y, argnums=(0,))
print(grad(product)(2.0, 3.0))
try:
    grad(product, 1)(2.0, 3.0)
except Exception as error:
    print(error)
try:
    defvjp(np.sin, None)
except NotImplementedError as error:
    print(error)
"""
    printed = output(program)
    assert "3.0" in printed and "product: there is no derivative with respect to argument 1" in printed
    assert "sin: it has its derivative already" in printed


def test_nothing_warns_of_numbers_in_threads_and_numpy_still_does():
    shown = output(
        """
import threading, warnings
import jax.numpy as jnp, numpy as np
x = jnp.full((300, 300), -1.0)
found = []
def compute():
    for _ in range(30):
        found.append(bool(jnp.isnan(jnp.log(x) + x / 0.0 * 0 + jnp.sqrt(x @ x - 400)).all()))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    threads = [threading.Thread(target=compute) for _ in range(3)]
    for thread in threads: thread.start()
    compute()
    for thread in threads: thread.join()
    print(len(caught), len(found), all(found))
    np.log(-1.0)
    print(len(caught))
"""
    )
    assert shown == "0 120 True\n1\n"


def test_errors_of_the_short_way_are_explained():
    shown = output(
        """
import jax.numpy as jnp
x = jnp.ones(4)
for wrong in (lambda: jnp.reshape(x, (3, 2)), lambda: jnp.sum(x, axis=1), lambda: jnp.sum(x, axes=0)):
    try:
        wrong()
    except Exception as error:
        print(error.__context__ is None or error.__suppress_context__)
"""
    )
    assert shown == "True\n" * 3
