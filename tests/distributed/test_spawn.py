"""Transformed functions go to other processes, as the standard library starts them."""

import pickle
import subprocess
import sys
import textwrap

import cloudpickle
import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import jit, lax, value_and_grad, vmap
from fxgrad.tree_util import Partial

from .ranks import ROOT

W, X = np.linspace(-1.0, 1.0, 3), np.linspace(0.0, 1.0, 12).reshape(4, 3)

# Reads a function and its arguments, and writes the results. It has imported nothing of fxgrad before.
CALL = "import pickle, sys; f, args = pickle.load(sys.stdin.buffer); pickle.dump(f(*args), sys.stdout.buffer)"


def closures():
    """Return functions over local functions and values, which are pickled with them, by what they are."""
    scale = 2.5

    def loss(w, x):  # by operators alone
        return ((x @ w * scale) ** 2).sum()

    @fx.custom_vjp
    def doubled(x):
        return fnp.sum(fnp.sin(x))

    doubled.defvjp(lambda x: (doubled(x), x), lambda x, ct: (2 * ct * fnp.cos(x),))

    @fx.custom_jvp
    def tripled(x):
        return fnp.sum(x)

    tripled.defjvp(lambda primals, tangents: (tripled(*primals), 3 * fnp.sum(tangents[0])))

    def inverse(w, x):
        return fnp.sum(lax.custom_root(lambda y: y**3 + y - w @ x, w @ x, solve, lambda g, y: y / g(1.0)))

    def solve(f, y):
        return lax.fori_loop(0, 20, lambda i, y: y - f(y) / fx.grad(f)(y), y)

    rows = {"in_axes": (None, 0)}
    return {
        "grad": fx.grad(loss),
        "vmap of grad": vmap(fx.grad(loss), **rows),
        "jit of vmap of grad": fx.jit(vmap(fx.grad(loss), **rows)),
        "jit": jit(lambda w, x: scale * (x @ w)),
        "a function that jits": lambda w, x: jit(lambda w: x @ w)(w),
        "a function that transforms": lambda w, x: vmap(value_and_grad(loss), **rows)(w, x),
        "jacfwd": fx.jacfwd(loss, argnums=1),
        "hessian": fx.jit(fx.hessian(loss)),
        "checkpoint": fx.grad(fx.checkpoint(loss)),
        "custom_vjp": vmap(fx.grad(lambda w, x: doubled(w * x)), **rows),
        "custom_jvp": fx.jit(fx.jacfwd(lambda w, x: tripled(w * x))),
        "custom rules": fx.grad(
            fx.custom(loss, jvp=lambda primals, tangents: fx.jvp(loss, primals, tangents))
        ),
        "Partial": vmap(Partial(fx.grad(loss), W)),
        "scan": fx.grad(lambda w, x: lax.scan(lambda c, row: (c * scale + row @ w, c), 0.0, x)[0]),
        "an implicit solution": vmap(fx.grad(inverse), **rows),
        "clipped sum": fx.per_sample.clipped_sum(loss, 1.0),
        "jitted norms": fx.jit(fx.per_sample.norms(loss)),
        "gradients per sample in blocks": vmap(fx.grad(loss), **rows, memory_limit="1 MB"),
    }


CLOSURES = closures()


@pytest.mark.parametrize("name", CLOSURES)
def test_closures_are_computed_in_a_process_that_has_loaded_nothing(name):
    function = CLOSURES[name]
    arguments = (X,) if name == "Partial" else (W, X)
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", CALL],
        input=cloudpickle.dumps((function, arguments)),
        cwd=ROOT,
        capture_output=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr.decode()
    expected, found = (fx.tree.leaves(tree) for tree in (function(*arguments), pickle.loads(result.stdout)))
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one, other)


PROGRAMS = {
    "ProcessPoolExecutor": """
        from concurrent.futures import ProcessPoolExecutor

        def run(context):
            with ProcessPoolExecutor(2, mp_context=context) as pool:
                return np.concatenate(list(pool.map(per_sample, [w] * 4, np.split(x, 4))))
        """,
    "Pool.starmap": """
        def run(context):
            with context.Pool(2) as pool:
                return np.concatenate(pool.starmap(per_sample, [(w, part) for part in np.split(x, 4)]))
        """,
    "Pool.map of a Partial": """
        from fxgrad.tree_util import Partial

        def run(context):
            with context.Pool(2) as pool:
                return np.concatenate(pool.map(Partial(per_sample, w), np.split(x, 4)))
        """,
}
PROGRAM = """
import multiprocessing
import sys

import numpy as np

import fxgrad as fx
import fxgrad.numpy as fnp
{run}

def loss(w, x):
    return fnp.sum(fnp.tanh(x * w) ** 2)


per_sample = fx.{transform}
w, x = np.linspace(-1, 1, 5), np.random.default_rng(0).standard_normal((4000, 5))

if __name__ == "__main__":
    before = per_sample(w, x)  # machine code and threads are there when processes are forked
    found = run(multiprocessing.get_context(sys.argv[1]))
    np.testing.assert_array_equal(found, before)
    np.testing.assert_allclose(found, 2 * x * np.tanh(x * w) / np.cosh(x * w) ** 2, rtol=1e-12)
"""
METHODS = [
    pytest.param(
        method, marks=pytest.mark.skipif(absent, reason=f"processes are not started by {method} here")
    )
    for method, absent in (("spawn", False), ("fork", sys.platform != "linux"))
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_with_pools_of_processes(program, method, tmp_path, monkeypatch):
    monkeypatch.setenv("FXGRAD_NATIVE", "always")
    monkeypatch.setenv("FXGRAD_NUM_THREADS", "2")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    transform = "jit(fx.vmap(fx.grad(loss), in_axes=(None, 0)))"
    path = tmp_path / "program.py"
    path.write_text(
        PROGRAM.format(run=textwrap.dedent(PROGRAMS[program]), transform=transform), encoding="utf-8"
    )
    result = subprocess.run([sys.executable, str(path), method], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
