"""Whole programs as one machine function give what they give as Python, for every kind of operation and argument."""

import gc
import signal
import threading
import warnings
import weakref

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
import fxgrad.scipy.linalg as sl
from fxgrad import lax
from fxgrad.core.graph import Graph
from fxgrad.kernels.native import call, engine
from fxgrad.passes.fused import FUSED
from fxgrad.scipy import stats
from tests.kernels.native.native_loops import compare, made_natively, numbers

pytestmark = pytest.mark.skipif(engine.mode() == "never", reason="there is no machine code")

# Functions of a matrix, whose gradients are compiled.
PROGRAMS = {
    "norms": lambda a: fnp.linalg.norm(a) + fnp.sum(fnp.linalg.norm(a, axis=1) * a[0, 0]),
    "norms of squares that underflow": lambda a: fnp.linalg.norm(1e-200 * a, axis=0) @ a[0],
    "running sums": lambda a: fnp.sum(fnp.cumsum(a, 0) ** 2) + fnp.sum(fnp.cumsum(a, 1) * a),
    "running products": lambda a: fnp.sum(fnp.cumprod(a + 1, 1) * a),
    "running maxima": lambda a: fnp.sum(lax.cummax(a, axis=1) * a) + fnp.sum(lax.cummin(a) * a),
    "products": lambda a: fnp.prod(a + 1),
    "cross products": lambda a: fnp.sum(fnp.cross(a[0, :3], a[1, :3]) * a[2, :3]),
    "zeros around": lambda a: fnp.sum(fnp.pad(a, ((1, 0), (2, 1))) ** 2),
    "inverses": lambda a: fnp.sum(fnp.linalg.inv(a + 3 * fnp.eye(len(a)))),
    "determinants": lambda a: fnp.prod(fnp.stack(fnp.linalg.slogdet(a[::-1] + 3 * fnp.eye(len(a))))),
    "determinants of a stack": lambda a: fnp.sum(fnp.linalg.slogdet(fnp.stack([a, -a[::-1]]))[1]),
    "solutions": lambda a: fnp.sum(fnp.linalg.solve(a + 3 * fnp.eye(len(a)), a[0]) ** 2),
    "Cholesky factors": lambda a: fnp.sum(fnp.linalg.cholesky(a @ a.T + fnp.eye(len(a))) * a),
    "Cholesky solutions": lambda a: fnp.sum(sl.cho_solve(sl.cho_factor(a @ a.T + fnp.eye(len(a))), a[0])),
    "a stack of factors": lambda a: fnp.sum(
        fnp.linalg.cholesky(fnp.stack([a @ a.T + fnp.eye(len(a)), 2 * a.T @ a + fnp.eye(len(a))])) * a
    ),
    "normal densities": lambda a: stats.multivariate_normal.logpdf(a[0], a[1], a @ a.T + fnp.eye(len(a))),
    "searches": lambda a: fnp.interp(a, np.linspace(-1, 1, 5), np.arange(5.0) ** 2).sum(),
    "sums over inner axes": lambda a: fnp.sum(fnp.sum(a[:, :, None, None] * a[:2, :3], (1, 3)) ** 3),
    "extrema": lambda a: fnp.sum(fnp.max(a, 0)) * fnp.min(a) + fnp.median(a),
    "polynomials": lambda a: fnp.sum(fnp.convolve(a[0], a[1]) ** 2) + fnp.sum(fnp.polyval(a[0], a[1])),
    "moments": lambda a: fnp.std(a) + fnp.sum(fnp.var(a, 0)),
    "branches": lambda a: lax.cond(a[0, 0] > 0, lambda a: fnp.sum(a**2), lambda a: fnp.sum(fnp.sin(a)), a),
    "loops": lambda a: lax.scan(lambda c, x: (fnp.tanh(c * x), fnp.sum(c)), a[0], a)[1].sum(),
    "indices": lambda a: fnp.sum(a[np.array([0, 2, 0])] ** 2) + fnp.sum(fnp.at(a)[1].add(a[0]) ** 2),
    "softmax": lambda a: fnp.sum(fx.nn.softmax(a) ** 2) + fx.scipy.special.logsumexp(a),
    "draws": lambda a: fnp.sum(a * fx.random.normal(fx.random.key(0), a.shape)),
    "second derivatives": lambda a: fnp.sum(fx.hessian(lambda v: fnp.sum(fnp.sin(v) * v[::-1]))(a[0])),
}


@pytest.mark.parametrize("size", [3, 8])  # in registers, in memory
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_and_its_gradient(monkeypatch, name, size):
    f = fx.value_and_grad(PROGRAMS[name])
    compare(monkeypatch, fx.jit(f), numbers(size, size) + 0.25 * np.eye(size))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("order", [33])  # of blocks of columns in registers, with rests
def test_large_factors_and_triangles(monkeypatch, order, dtype):
    def program(a):
        factor = fnp.linalg.cholesky(a @ a.T / len(a) + fnp.eye(len(a), dtype=a.dtype))
        solved = sl.solve_triangular(factor, a, lower=True)
        return fnp.sum(fnp.sin(sl.solve_triangular(factor, solved, lower=True, trans=1)))

    t = numbers(order, order).astype(dtype)
    f = fx.jit(lambda a: (fx.grad(program)(a), fx.jvp(program, (a,), (t,))[1]))
    compare(monkeypatch, f, t[::-1] + 0.25 * np.eye(order, dtype=dtype))


def turned(angles):
    """The amplitudes of qubits after rotations of each of them."""
    state = np.eye(1, 2 ** len(angles), dtype=complex).reshape((2,) * len(angles))
    for k, angle in enumerate(angles):
        c, s = fnp.cos(angle) + 0j, fnp.exp(1j * angle) * fnp.sin(angle)
        gate = fnp.stack([fnp.stack([c, -fnp.conj(s)]), fnp.stack([s, c])])
        state = fnp.moveaxis(fnp.tensordot(gate, state, axes=([1], [k])), 0, k)
    return state


# Functions of a complex matrix, and of a real one.
COMPLEX_PROGRAMS = {
    "entries": lambda z, a: (
        fnp.exp(z) * a,
        z / (2 + a),
        fnp.abs(z),
        fnp.angle(z),
        z * 2j,
        fnp.where(a > 0, z, a),
    ),
    "moves": lambda z, a: (z.T, z[::-1, 1:], fnp.pad(z, 1), fnp.concatenate([z, a]), z[fnp.argmax(a, 0)]),
    "sums": lambda z, a: (fnp.sum(z), fnp.sum(z, 0), fnp.sum(z, 1), fnp.trace(z), fnp.mean(z * a)),
    "products": lambda z, a: (
        z @ z,
        z.conj().T @ z,
        z @ a[0],
        fnp.kron(z[:2, :2], z[:2, :2]),
        fnp.vdot(z[0], z[1]),
    ),
    "writes": lambda z, a: fnp.at(z)[1].set(z[0] * a[0]),
    "numbers": lambda z, a: (z[0, 0] * 2 + a[0, 0], fnp.real(z[1, 1]), fnp.imag(z[0, 1])),
    "loops": lambda z, a: lax.fori_loop(0, 5, lambda i, s: z @ s * 0.5 + a[0], z[0]),
    "qubits": lambda z, a: fx.grad(lambda v: fnp.sum(fnp.abs(turned(v)[0]) ** 2))(a.ravel()[:8]),
}


@pytest.mark.parametrize("size", [3, 9])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", COMPLEX_PROGRAMS)
def test_complex_numbers(monkeypatch, name, dtype, size):
    a = numbers(size, size)
    z = (a + 1j * numbers(size, size)[::-1]).astype(dtype)
    a = a.astype(z.real.dtype)
    f = COMPLEX_PROGRAMS[name]
    expected = f(z, a)
    made = made_natively(monkeypatch)
    found = fx.jit(f)(z, a)
    assert made and all(made)
    for x, y in zip(fx.tree.leaves(found), fx.tree.leaves(expected), strict=True):
        assert (np.asarray(x).dtype, np.shape(x)) == (np.asarray(y).dtype, np.shape(y))
        tolerance = 1e-5 if dtype == "complex64" else 1e-13
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def test_what_needs_no_foreign_equation_is_one_run(monkeypatch):
    """NumPy's `eigh` in the middle cuts a program in two, whatever stands between."""

    def f(a):
        first, x = a @ a.T, a
        for _ in range(3):
            x, values = fnp.sin(x) + 1, fnp.linalg.eigh(first)[0]
            first = first + values
        return fnp.sum(x), first

    made = made_natively(monkeypatch)
    found = fx.jit(f)(numbers(3, 3))
    assert made == [True] * 4  # before, between and after three of them
    for x, y in zip(found, f(numbers(3, 3))):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)


def test_equal_loops_are_compiled_once(monkeypatch):
    """A function of many layers has the functions of one."""
    counts = []
    compiled = call.compile_functions
    monkeypatch.setattr(call, "compile_functions", lambda all: counts.append(len(all)) or compiled(all))
    made = made_natively(monkeypatch)

    def f(a):
        for _ in range(20):
            a = fnp.moveaxis(fnp.tensordot(a[0, :2, :2], a, axes=([1], [1])), 0, 1)
        return a

    fx.jit(f)(numbers(4, 2, 16))
    assert made == [True] and max(counts) < 10


def test_norms_of_squares_that_overflow(monkeypatch):
    with np.errstate(all="ignore"):
        f = fx.grad(lambda a: fnp.linalg.norm(1e200 * a) / 1e200)
        compare(monkeypatch, fx.jit(f), numbers(3, 3))


def check(monkeypatch, function, *operands):
    """Compare a jitted function with machine code to the function itself; return what machine code gives."""
    expected = fx.jit(lambda *a: function(*a))(*operands)
    made = made_natively(monkeypatch)
    found = fx.jit(lambda *a: function(*a))(*operands)
    assert made and all(made)
    for x, y in zip(fx.tree.leaves(found), fx.tree.leaves(expected), strict=True):
        assert type(x) is type(y) and np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_allclose(x, y, rtol=1e-14)
    return found


ARGUMENTS = {
    "Python's numbers": (2.5, 3, True),
    "NumPy's numbers": (np.float64(2.5), np.int64(3), np.bool_(True)),
    "arrays without axes": (np.array(2.5), np.array(3), np.array(True)),
    "single precision": (np.float32(2.5), np.int32(3), np.array([True, False])),
    "integers without sign": (np.arange(3.0), np.arange(3, dtype=np.uint8), False),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_every_kind_of_number(monkeypatch, name):
    check(monkeypatch, lambda x, n, b: (fnp.where(b, x * n, x), x + 1, n * 2, b, -x), *ARGUMENTS[name])


def test_an_integer_of_python_that_is_too_large_is_numpys(monkeypatch):
    made = made_natively(monkeypatch)
    f = fx.jit(lambda n: n * 2)
    assert f(5) == 10 and made == [True]
    for n in (2**63, -(2**63) - 1):
        with pytest.raises(OverflowError):
            f(n)


@pytest.mark.parametrize("size", [3, 12])
def test_arrays_may_lie_in_memory_in_any_way(monkeypatch, size):
    a = numbers(size, size)
    shifted = np.frombuffer(b"\0" + a.tobytes(), np.uint8)[1:].view(np.float64).reshape(size, size)
    read_only = a.copy()
    read_only.flags.writeable = False
    for x in (
        a.T,
        a[::-1],
        a[:, ::-1],
        np.asfortranarray(a),
        np.broadcast_to(a[0], a.shape),
        shifted,
        read_only,
    ):
        with monkeypatch.context() as patch:
            check(patch, lambda x: (x @ x, x + 1.0), x)


@pytest.mark.parametrize("size", [3, 12, 40])
def test_sums_of_negative_zeros_are_zero(monkeypatch, size):
    x = np.full((size, size), -0.0)
    programs = (
        lambda x: fnp.sum(x, 0) * 1.0,
        lambda x: fnp.sum(x[:2, :3], (0, 1)) * 1.0,
        lambda x: x[:, :2] @ x[:2] * 1.0,
        lambda x: fnp.outer(x[0], x[1, :2] + 1.0) * 1.0,
        lambda x: fnp.trace(x) * 1.0,
    )
    for program in programs:
        with monkeypatch.context() as patch:
            found = check(patch, program, x)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(program(x)))


@pytest.mark.parametrize("size", [3, 50])
def test_results_have_memory_of_their_own(monkeypatch, size):
    x, known = np.arange(float(size)), np.ones(size)
    f = fx.jit(lambda x: (x, x, known, x * 2, fnp.reshape(x, (size, 1))))
    made = made_natively(monkeypatch)
    for _ in range(2):
        results = f(x)
        for k, y in enumerate(results):
            assert not any(np.shares_memory(y, z) for z in (x, known, *results[:k]))
            y[:] = -1.0
    assert made == [True, True]
    np.testing.assert_array_equal(f(x)[2], np.ones(size))


def test_an_error_is_that_of_numpy_and_names_the_line(monkeypatch):
    made = made_natively(monkeypatch)
    f = fx.jit(lambda a: fnp.linalg.solve(a, a[0]) + 1)
    with pytest.raises(np.linalg.LinAlgError) as caught:
        f(np.zeros((3, 3)))
    assert made == [False] and "test_call.py" in str(caught.value)
    np.testing.assert_allclose(f(np.eye(3)), [2, 1, 1])


def test_warnings_are_those_of_numpy(monkeypatch):
    made_natively(monkeypatch)
    f, x = fx.jit(lambda x: fnp.log(x) - 1.0 / x), np.array([0.0, 1.0])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert f(x)[1] == -1.0
    assert sorted({str(w.message).partition(" encountered")[0] for w in told}) == ["divide by zero"]
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        f(x)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(f(np.array([-1.0, 1.0])), [np.nan, -1.0])


def test_threads_call_one_function(monkeypatch):
    f, g = (fx.jit(lambda a: fnp.linalg.solve(a, fnp.tanh(a @ a))) for _ in range(2))
    operands = [numbers(size, size) + np.eye(size) for size in (3, 20)]
    expected = [f(a) for a in operands]
    made = made_natively(monkeypatch)
    errors = []

    def work():
        for _ in range(200):
            for a, y in zip(operands, expected):
                if not np.allclose(g(a), y, rtol=1e-12):
                    errors.append(a)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads], [t.join() for t in threads]
    assert not errors and all(made)


def test_a_program_with_a_loop_can_be_interrupted(monkeypatch):
    made_natively(monkeypatch)
    f = fx.jit(lambda x: lax.while_loop(lambda v: v > -1.0, lambda v: fnp.sin(v) ** 2, x) + 1.0)
    timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
    fx.jit(lambda x: x + 1.0)(0.0)

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            f(0.5)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)


def test_a_compiled_program_is_freed_with_its_function(monkeypatch):
    kept = []
    make = call.make_builtin

    def make_builtin(code, name):
        found = make(code, name)
        kept.append(weakref.ref(found))
        return found

    monkeypatch.setattr(call, "make_builtin", make_builtin)
    made_natively(monkeypatch)
    f = fx.jit(lambda x: fnp.sin(x) * 3.25)
    f(np.ones(4))
    gc.collect()
    gc.disable()
    try:
        alive = [program for program in kept if program() is not None]  # what earlier tests have called, too
        assert alive
        del f
        assert [program() for program in alive].count(None) == 1
    finally:
        gc.enable()


def test_what_cannot_be_compiled_stays_with_python(monkeypatch):
    made = made_natively(monkeypatch)
    values = np.array([[2.0, 1.0], [1.0, 3.0]])

    def f(a):
        w, v = fnp.linalg.eigh(fnp.tanh(a) + fnp.tanh(a).T)
        return fnp.sum(w**2 * v[0]), fnp.sort(w)

    found, expected = fx.jit(f)(values), f(values)
    assert made == [True, True]  # before and after `eigh`
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-14)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-14)

    def fail(*_):
        raise OSError("no memory that can be executed")

    monkeypatch.setattr(call, "compile_functions", fail)
    f = fx.jit(lambda a: a * 2 + 1)
    with pytest.warns(RuntimeWarning, match="no memory that can be executed"):
        np.testing.assert_array_equal(f(np.ones(3)), [3, 3, 3])


def test_python_computes_until_that_has_cost_as_much_as_compiling(monkeypatch):
    monkeypatch.setattr(engine, "mode", lambda: "auto")
    f, x = fx.jit(lambda x: fnp.sin(x) * x), np.arange(3.0)
    expected = f(x)
    entry = f.lookup((x,), {}, None)[1]
    assert entry.code is None
    entry.tier.spent, entry.pause = 1e12, 1
    np.testing.assert_allclose(f(x), expected, rtol=1e-15)
    assert entry.code is not entry.plain
    np.testing.assert_allclose(f(x), expected, rtol=1e-15)


def test_a_run_and_a_group_of_one_graph_are_two_functions():
    graph = fx.make_graph(lambda x: fnp.sin(x) * x)(np.ones(3))
    graph = Graph(graph.inputs, graph.equations, graph.outputs)
    group, run = FUSED.group(graph, True), FUSED.group(graph, True, whole=True)
    assert type(group) is not type(run) and FUSED.group(graph, True) is group
