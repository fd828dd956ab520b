"""Matrices of an order at which factors are shared: values, derivatives, and how often a matrix is factored."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import ops
from fxgrad.kernels import lapack
from fxgrad.testing import check_grads

RNG = np.random.default_rng(0)
N = 30
A = RNG.standard_normal((N, N)) / 8 + 2 * np.eye(N)
C = A + 1j * RNG.standard_normal((N, N)) / 8
S = A @ A.T
H = C @ C.conj().T
B = RNG.standard_normal((N, 2))
V = RNG.standard_normal(N)
M = RNG.standard_normal((40, N))


def cholesky_of(a):
    return fnp.linalg.cholesky(a)


PROGRAMS = {
    "solve": (fnp.linalg.solve, (A, B)),
    "solve a vector": (fnp.linalg.solve, (A, V)),
    "solve, complex": (fnp.linalg.solve, (C, B + 1j * B)),
    "solve, one matrix for many": (fnp.linalg.solve, (A, np.stack([B, -B]))),
    "solve, many matrices for one": (fnp.linalg.solve, (np.stack([A, A.T]), B)),
    "solve, a triangle": (lambda a, b: fnp.linalg.solve(fnp.tril(a), b), (A, B)),
    "inv": (fnp.linalg.inv, (A,)),
    "inv, complex": (fnp.linalg.inv, (C,)),
    "det": (lambda a: fnp.linalg.det(a / 2), (A,)),
    "slogdet": (lambda a: fnp.linalg.slogdet(a)[1], (np.stack([A, -A]),)),
    "slogdet, complex": (lambda a: fnp.multiply(*fnp.linalg.slogdet(a)), (C,)),
    "cholesky": (cholesky_of, (S,)),
    "cholesky, many": (cholesky_of, (np.stack([S, S + np.eye(N)]),)),
    "cholesky, complex": (cholesky_of, (H,)),
    "lstsq": (lambda a, b: fnp.linalg.lstsq(a, b)[0], (M, RNG.standard_normal((40, 2)))),
    "pinv": (fnp.linalg.pinv, (M,)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives(name):
    f, args = PROGRAMS[name]
    check_grads(f, args, order=2 if args[0].ndim == 2 else 1, modes=("fwd", "rev"))


@pytest.mark.parametrize("order", [N, lapack.STACKED_LAPACK_ORDER])
@pytest.mark.parametrize("name", ["solve", "inv", "slogdet"])
def test_stacks_equal_the_loop(name, order):
    """Of the one order matrices are factored alone but not in stacks, of the other also these."""
    stack = RNG.standard_normal((3, order, order)) / 8 + 2 * np.eye(order)
    b = RNG.standard_normal((3, order, 2))
    loss = {
        "solve": lambda a, b: fnp.sum(fnp.sin(fnp.linalg.solve(a, b))),
        "inv": lambda a, b: fnp.sum(fnp.sin(fnp.linalg.inv(a) @ b)),
        "slogdet": lambda a, b: fnp.linalg.slogdet(a)[1] + fnp.sum(a @ b),
    }[name]
    both = fx.value_and_grad(loss, (0, 1))
    for mapped in (fx.vmap(both), fx.jit(fx.vmap(both))):
        value, grads = mapped(stack, b)
        for i in range(3):
            expected, slopes = both(stack[i], b[i])
            np.testing.assert_allclose(value[i], expected, rtol=1e-11, atol=1e-11)
            for x, y in zip(grads, slopes):
                np.testing.assert_allclose(x[i], y, rtol=1e-9, atol=1e-11)


VALUES = {
    "solve": (fnp.linalg.solve, np.linalg.solve, (A, B)),
    "inv": (fnp.linalg.inv, np.linalg.inv, (C,)),
    "det": (fnp.linalg.det, np.linalg.det, (np.stack([A, -A[::-1]]),)),
    "slogdet": (fnp.linalg.slogdet, np.linalg.slogdet, (A[::-1],)),
    "cholesky": (fnp.linalg.cholesky, np.linalg.cholesky, (H,)),
    "pinv": (fnp.linalg.pinv, np.linalg.pinv, (M,)),
}


@pytest.mark.parametrize("dtype", [None, np.float32, np.int64])
@pytest.mark.parametrize("name", VALUES)
def test_values_are_numpys(name, dtype):
    f, reference, args = VALUES[name]
    if dtype is not None:
        scale = 1 if dtype is np.float32 else 10
        args = [(a.real * scale).astype(dtype) for a in args]
        if name == "cholesky":
            args = [np.eye(N, dtype=dtype) * 3 * scale]
    limit = 1e-3 if dtype is np.float32 else 1e-10
    actual, expected = f(*args), reference(*args)
    for x, y in zip(*[r if isinstance(r, tuple) else (r,) for r in (actual, expected)]):
        assert (x.dtype, np.shape(x)) == (y.dtype, np.shape(y))
        np.testing.assert_allclose(x, y, rtol=limit, atol=limit)


def test_a_singular_matrix_is_an_error_or_has_no_inverse():
    singular = np.ones((N, N))
    for f in (fnp.linalg.inv, lambda a: fnp.linalg.solve(a, V)):
        for transformed in (f, fx.jit(f), lambda a, f=f: fx.vjp(f, a)):
            with pytest.raises(np.linalg.LinAlgError, match="Singular"):
                transformed(singular)
    assert fnp.linalg.det(singular) == 0
    assert fnp.linalg.slogdet(singular)[1] == -np.inf
    assert np.isnan(fx.grad(lambda a: fnp.linalg.slogdet(a)[1])(singular)).all()
    assert np.isfinite(fx.grad(fnp.linalg.det)(singular)).all()


@pytest.fixture
def calls(monkeypatch):
    """How often each routine is called."""
    if not lapack.has_library():
        pytest.skip("no library was found")
    count: dict[str, int] = {}
    call = lapack.Library.call

    def counted(self, name, *arguments):
        count[name] = count.get(name, 0) + 1
        return call(self, name, *arguments)

    monkeypatch.setattr(lapack.Library, "call", counted)
    return count


def energy(a):
    return V @ fnp.linalg.solve(a, V)


@pytest.mark.parametrize(
    "run",
    [
        lambda: fx.value_and_grad(energy)(A),
        lambda: fx.jvp(fx.grad(energy), (A,), (S,)),
        lambda: fx.jacobian(fnp.linalg.solve)(A, V),
        lambda: fx.vmap(fx.value_and_grad(lambda a, b: fnp.sum(fnp.linalg.solve(a, b)), 1), (None, 0))(
            A, B.T
        ),
        lambda: fx.value_and_grad(lambda a: fnp.linalg.slogdet(a)[1])(A),
        lambda: fx.value_and_grad(fnp.linalg.det)(A),
        lambda: fx.jit(fx.value_and_grad(energy))(A),
    ],
)
def test_a_matrix_is_factored_once(run, calls):
    run()
    assert calls["getrf"] == 1


def test_a_gradient_through_cholesky_takes_no_general_solver(calls):
    def f(a):
        x = ops.triangular_solve(fnp.linalg.cholesky(a), V[:, None], lower=True, unit_diagonal=False)
        return fnp.sum(x * x)

    fx.value_and_grad(f)(S)
    assert "getrf" not in calls


def test_singular_values_are_found_once(monkeypatch):
    count, svd = [], np.linalg.svd
    monkeypatch.setattr(np.linalg, "svd", lambda *args, **options: count.append(1) or svd(*args, **options))
    b = RNG.standard_normal((40, 2))
    fx.grad(lambda a: fnp.sum(fnp.linalg.pinv(a) @ b))(M)
    assert len(count) == 1


@pytest.mark.parametrize(
    "f", [lambda a: fnp.linalg.solve(a, a + 1)[0, 0], fnp.linalg.det, lambda a: fnp.linalg.slogdet(a)[1]]
)
def test_other_namespaces_have_no_use_for_factors(f):
    strict = pytest.importorskip("array_api_strict")
    for transformed in (f, fx.grad(f)):
        result = transformed(strict.asarray(A))
        assert type(result) is type(strict.zeros(1))
        np.testing.assert_allclose(np.asarray(result), transformed(A), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    "f", [lambda a: fnp.linalg.solve(a, a), fnp.linalg.det, fnp.linalg.slogdet, fnp.linalg.inv]
)
def test_half_precisions_are_refused_by_the_operation(f):
    with pytest.raises(TypeError, match="float16 is unsupported"):
        f(np.eye(N, dtype=np.float16))
    with pytest.raises(TypeError, match=r"(solve|det|slogdet|inv): .*float16 is unsupported"):
        fx.jit(f)(np.eye(N, dtype=np.float16))
