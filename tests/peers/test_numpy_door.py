"""Programs that say `import numpy` and `import scipy`, differentiated as they are: in processes of their own."""

from __future__ import annotations

import numpy as np

from tests.peers.test_doors import numbers_of, output, run

SOLVER = '''
import numpy as np
import fxgrad as fx

def solve_tridiagonal(below, diagonal, above, right):
    """Thomas' algorithm, in place."""
    n = len(right)
    b, d = np.array(diagonal), np.array(right)
    for i in range(1, n):
        w = below[i] / b[i - 1]
        b[i] -= w * above[i - 1]
        d[i] -= w * d[i - 1]
    x = np.zeros(n)
    x[-1] = d[-1] / b[-1]
    for i in range(n - 2, -1, -1):
        x[i] = (d[i] - above[i] * x[i + 1]) / b[i]
    return x

def energy(k, n=12):
    u = np.zeros(n)
    u[n // 2] = 1.0
    off, diagonal = np.full(n, -k), np.full(n, 1 + 2 * k)
    for _ in range(5):
        u = solve_tridiagonal(off, diagonal, off, u)
    return np.sum(u**2)

h = 1e-6
print(energy(0.3), fx.jit(energy)(0.3), type(energy(0.3)) is np.float64)
'''


def test_a_solver_that_writes_in_place_is_differentiated_unmodified():
    printed = output(
        SOLVER + "print(float(fx.grad(energy)(0.3)), (energy(0.3 + h) - energy(0.3 - h)) / (2 * h))"
    ).splitlines()
    plain, compiled, is_numpys = printed[0].split()
    assert is_numpys == "True" and np.isclose(float(plain), float(compiled), rtol=1e-12)
    exact, difference = map(float, printed[1].split())
    assert np.isclose(exact, difference, rtol=1e-7)


SCIPY = """
import numpy as np
import scipy.linalg as sl
from scipy import integrate, interpolate, optimize, signal, stats
from scipy.linalg import solve_triangular
import fxgrad as fx

A, y = np.array([[2.0, 0.0], [1.0, 3.0]]), np.arange(4.0) ** 2
functions = [
    (lambda A: np.sum(solve_triangular(A, np.ones(2), lower=True)), A),
    (lambda A: np.sum(sl.expm(A)), A),
    (lambda y: stats.norm.logpdf(y[1], y[2], 2.0), y),
    (lambda y: np.sum(signal.convolve(y, np.array([1.0, 2.0])) ** 2), y),
    (lambda y: interpolate.CubicSpline(np.arange(4.0), y)(1.5), y),
    (lambda y: integrate.odeint(lambda x, t: -0.1 * y[2] * x, y[1], [0.0, 1.0], rtol=1e-10, atol=1e-10)[-1, 0], y),
    (lambda y: np.sum(optimize.fsolve(lambda z: [z[0] ** 2 - y[2], z[1] - z[0]], [1.0, 1.0], xtol=1e-12)), y),
]
for f, x in functions:
    assert np.allclose(f(x), fx.jit(f)(x))
    step = 1e-6 * np.cos(np.arange(x.size)).reshape(x.shape)
    print(float(np.sum(fx.grad(f)(x) * step)) * 1e6, float(f(x + step) - f(x - step)) / 2 * 1e6)
"""


def test_functions_of_scipy_take_traced_values():
    for exact, difference in numbers_of(output(SCIPY)):
        assert np.isclose(exact, difference, rtol=1e-5)


def test_types_and_plain_results_stay_those_of_numpy():
    program = """
import importlib
import numpy as np, numpy.linalg, scipy, scipy.stats as st
real = importlib.import_module("numpy")
assert np.ndarray is real.ndarray and np.float32 is real.float32 and np.sin is real.sin and np.pi is real.pi
assert isinstance(np.zeros(2), np.ndarray) and type(np.zeros(2)) is real.ndarray and np.linalg is numpy.linalg
assert np.dtype("f4") == np.float32 and isinstance(st.norm, st.rv_continuous) and np.sum.__name__ == "sum"
assert np.random.default_rng(0).normal() == real.random.default_rng(0).normal() and np.add.reduce([1, 2]) == 3
assert scipy.__version__ and np.linalg.norm(np.ones(4)) == 2.0 and repr(np) == repr(real)
a = np.ones(3)
assert np.asarray(a) is a
try:
    np.no_such_name
except AttributeError as error:
    print(error)
"""
    assert output(program) == "module 'numpy' has no attribute 'no_such_name'\n"


def test_installed_packages_and_closed_doors_have_numpy_itself():
    program = """
import importlib, sys
import fxgrad as fx
real = importlib.import_module("numpy")
with fx.install("numpy"):
    import numpy
    import scipy.linalg._basic as basic
    with fx.install("numpy"):
        pass
    import numpy as again
assert numpy is not real and again is numpy and basic.np is real and sys.modules["numpy"] is real
import numpy
import numpy.linalg as linalg
assert numpy is real and linalg is real.linalg
print("done")
"""
    done = run("-c", program)
    assert done.stdout == "done\n", done.stderr
