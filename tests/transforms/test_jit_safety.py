"""Compiled functions under rough treatment: wrong arguments, threads, Ctrl-C at any moment, fork."""

import subprocess
import sys
import threading
import types
import warnings

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax
from fxgrad.core.interpreter import CURRENT, EVAL
from tests.ways import same

V = np.array([0.3, -1.2, 2.0])
M = np.array([[0.5, -1.0, 0.2], [1.1, 0.3, -0.7], [0.0, 0.4, 2.0]])


def rows(xs):
    return lax.scan(lambda h, x: (fnp.tanh(h + x), h * x), V, xs)


# A function, arguments for which it is compiled, and arguments that do not fit.
BAD_CALLS = {
    "shapes that do not fit": (lambda a, b: a @ b, (M, V), (M, V[:2])),
    "shapes that do not broadcast": (lambda a, b: a + b, (M, V), (M, V[:2])),
    "an axis that is not there": (lambda a: fnp.sum(a, axis=1), (M,), (V,)),
    "an index beyond the end": (lambda a: a[2], (V,), (V[:2],)),
    "too few arguments": (lambda a, b: a + b, (V, V), (V,)),
    "too many arguments": (lambda a: a, (V,), (V, V)),
    "text": (lambda a: fnp.sin(a), (V,), ("text",)),
    "objects": (lambda a: a * 2, (V,), (np.array([object()]),)),
    "None": (lambda a: fnp.sin(a), (V,), (None,)),
    "a missing key": (lambda d: d["a"] * d["b"], ({"a": V, "b": V},), ({"a": V},)),
    "a dtype that does not fit": (lambda a: a << 1, (np.arange(3),), (V,)),
    "a singular matrix": (lambda a: fnp.linalg.cholesky(a), (M @ M.T + 3 * np.eye(3),), (-np.eye(3),)),
    "rows of another width": (rows, (M,), (M[:, :2],)),
}


def builtin_kinds(error):
    return {kind for kind in type(error).__mro__ if kind.__module__ == "builtins"}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_wrong_arguments_raise_as_the_function_does(name):
    function, good, bad = BAD_CALLS[name]
    f = fx.jit(function)
    expected = function(*good)
    for _ in range(3):
        same(f(*good), expected)
        with pytest.raises(Exception) as plain:
            function(*bad)
        with pytest.raises(Exception) as compiled:
            f(*bad)
        fitting = {ValueError, TypeError, IndexError, KeyError, np.linalg.LinAlgError, AttributeError}
        assert builtin_kinds(compiled.value) & builtin_kinds(plain.value) & fitting, (
            plain.value,
            compiled.value,
        )
    same(f(*good), expected)
    assert CURRENT.get() is EVAL


@pytest.mark.parametrize("x", [V, np.array([np.nan, np.inf, -0.0]), np.array([5e-324, -5e-324, 1e308])])
def test_warnings_and_special_values_are_those_of_the_function(x):
    def f(x):
        return 1.0 / x, fnp.log(x), x * x, fnp.exp(x), fnp.sqrt(x), -x, fnp.maximum(x, 0.0)

    def caught(function):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            results = function(x)
        return results, {str(w.message) for w in found if issubclass(w.category, RuntimeWarning)}

    compiled = fx.jit(f)
    for _ in range(3):
        (results, warned), (expected, warned_plainly) = caught(compiled), caught(f)
        assert warned == warned_plainly
        for a, b in zip(results, expected):
            np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(np.signbit(a), np.signbit(b))


def run_in_threads(work, count=8):
    """Run work(i) in threads that begin together; return what they raised."""
    failed = []
    barrier = threading.Barrier(count)

    def run(i):
        try:
            barrier.wait(60)
            work(i)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    return failed


def test_threads_may_compile_the_same_function():
    for _ in range(5):
        f = fx.jit(fx.value_and_grad(lambda w, x: fnp.sum(fnp.tanh(x @ w) ** 2) + fnp.sum(rows(x)[1])))
        expected = f.fun(M, M)

        def work(i, f=f, expected=expected):
            for _ in range(20):
                same(f(M, M), expected)

        assert run_in_threads(work) == []


def test_threads_may_call_code_that_writes_into_its_own_arrays():
    f = fx.jit(
        lambda xs: (
            rows(xs),
            lax.while_loop(lambda s: s[1] < 9, lambda s: (fnp.sin(s[0] + xs), s[1] + 1), (xs, 0)),
        )
    )
    inputs = [np.sin(np.arange(60.0) + i).reshape(20, 3) for i in range(8)]
    expected = [f(xs) for xs in inputs]

    def work(i):
        for _ in range(50):
            same(f(inputs[i]), expected[i])

    assert run_in_threads(work) == []


def interrupt_after(count, call):
    """Call a function, and press Ctrl-C after `count` lines of this library; return whether there were as many."""
    left = count

    def trace(frame: types.FrameType, event, _):
        nonlocal left
        if "fxgrad" not in frame.f_code.co_filename:
            return None
        if event == "line":
            left -= 1
            if left == 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.skipif(sys.gettrace() is not None, reason="the lines are counted by somebody else")
def test_ctrl_c_while_staging_compiling_and_calling():
    def body(w, xs):
        return fnp.sum(fnp.tanh(xs @ w)) + fnp.sum(rows(xs)[1])

    expected = fx.grad(body)(M, M)
    total, came = 1, True
    while came:
        f = fx.jit(fx.grad(body))

        def calls(f=f):
            for _ in range(3):
                f(M, M)

        came = interrupt_after(total, calls)
        assert CURRENT.get() is EVAL
        same(f(M, M), expected)
        same(f(M, M), expected)
        total = int(total * 1.15) + 7


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="there is no fork here")
def test_compiled_code_after_a_fork():
    program = """
import os, sys
import numpy as np, fxgrad as fx, fxgrad.numpy as fnp
f = fx.jit(fx.grad(lambda x: fnp.sum(fnp.tanh(x @ x))))
x = np.eye(3)
expected = [f(x) for _ in range(3)][-1]
child = os.fork()
if not child:
    fine = np.array_equal(f(x), expected) and np.array_equal(fx.jit(lambda v: v * 2)(x), 2 * x)
    os._exit(0 if fine else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
