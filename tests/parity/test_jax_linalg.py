"""numpy.linalg, scipy.linalg, scipy.sparse.linalg and lax.linalg against JAX: values and gradients."""

import importlib
import inspect

import numpy
import pytest

from tests.parity.oracle import by_fxgrad, by_jax

rng = numpy.random.default_rng(11)
A = rng.normal(size=(3, 3)) + 3 * numpy.eye(3)
Z = A + 1j * rng.normal(size=(3, 3))
TALL, WIDE = rng.normal(size=(4, 2)), rng.normal(size=(2, 4))
STACK = rng.normal(size=(2, 3, 3)) + 3 * numpy.eye(3)
POSITIVE = Z @ Z.conj().T
B = rng.normal(size=(3, 2))


def dagger(x):
    return x.conj().swapaxes(-1, -2)


def of_eigh(np, a):
    w, v = np.linalg.eigh(a)
    return np.abs(v) ** 2 @ np.sin(w)[..., None]


def of_eigh_upper(np, a):
    w, v = np.linalg.eigh(a, "U")
    return w * np.abs(v[0])


def of_svd(np, a):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return (u * np.log(s)[..., None, :]) @ vh


def of_qr(np, a):
    q, r = np.linalg.qr(a)
    return np.abs(q) ** 2 @ r.real


# (function of np and a matrix; matrices)
CASES = {
    "solve": (lambda np, a: np.linalg.solve(a, a[..., :2] ** 2), [Z, STACK]),
    "solve, vector": (lambda np, a: np.linalg.solve(a, a[0] ** 2), [A]),
    "inv": (lambda np, a: np.linalg.inv(a), [Z, STACK]),
    "det": (lambda np, a: np.linalg.det(a), [Z, STACK]),
    "slogdet": (lambda np, a: np.linalg.slogdet(a)[1], [Z, STACK]),
    "sign of complex determinants": (lambda np, a: np.linalg.slogdet(a)[0], [Z]),
    "cholesky": (lambda np, a: np.linalg.cholesky(a @ dagger(a)), [Z, STACK]),
    "cholesky, upper": (lambda np, a: np.linalg.cholesky(a @ dagger(a), upper=True), [Z]),
    "cholesky of a Hermitian matrix": (lambda np, a: np.linalg.cholesky(a), [POSITIVE]),
    "qr": (of_qr, [Z, TALL, STACK]),
    "svd": (of_svd, [TALL, WIDE, STACK]),
    "svdvals": (lambda np, a: np.linalg.svd(a, compute_uv=False), [Z, STACK]),
    "eigh": (of_eigh, [POSITIVE, STACK @ dagger(STACK)]),
    "eigh, upper": (of_eigh_upper, [POSITIVE.real]),
    "eigvalsh": (lambda np, a: np.linalg.eigvalsh(a), [POSITIVE]),
    "eigvals": (lambda np, a: np.sum(np.linalg.eigvals(a) ** 3), [A, Z]),
    "pinv": (lambda np, a: np.linalg.pinv(a), [Z, WIDE, STACK]),
    "lstsq": (lambda np, a: np.linalg.lstsq(a, a[:, :1] ** 2)[0], [TALL]),
    "matrix_power": (lambda np, a: np.linalg.matrix_power(a, 3), [Z]),
    "matrix_power, negative": (lambda np, a: np.linalg.matrix_power(a, -2), [STACK]),
    "multi_dot": (lambda np, a: np.linalg.multi_dot([a, B, B.T, a]), [Z]),
    "tensorinv": (lambda np, a: np.linalg.tensorinv(a.reshape(3, 3), 1), [A]),
    "cond": (lambda np, a: np.linalg.cond(a), [TALL]),
    "cond, 1": (lambda np, a: np.linalg.cond(a, 1), [A]),
    "norm, nuc": (lambda np, a: np.linalg.norm(a, "nuc"), [Z]),
    "norm, 2": (lambda np, a: np.linalg.norm(a, 2), [WIDE]),
    "norm, -2": (lambda np, a: np.linalg.norm(a, -2), [TALL]),
    "matrix_norm": (lambda np, a: np.linalg.matrix_norm(a, ord="nuc"), [STACK]),
}
# What JAX does not do: the second derivative of eigenvalues of general matrices in reverse mode.
FIRST_ORDER = {"eigvals"}


def close(ours, theirs, tolerance):
    ours, theirs = numpy.asarray(ours), numpy.asarray(theirs)
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    scale = numpy.abs(theirs).max()
    numpy.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize(
    ("name", "matrix"), [(name, m) for name in CASES for m in range(len(CASES[name][1]))], ids=str
)
def test_case(name, matrix):
    function, a = CASES[name][0], CASES[name][1][matrix]
    weight = numpy.random.default_rng(0).normal(size=a.size)
    t = numpy.random.default_rng(1).normal(size=a.shape).astype(a.dtype)

    def program(fx, np):
        def f(a):
            return function(np, a)

        def loss(a):
            flat = f(a).reshape(-1)
            return np.sum(np.real(flat * weight[: flat.size]))

        def results(a, t):
            first = [*fx.jvp(f, (a,), (t,)), fx.grad(loss)(a)]
            return first if name in FIRST_ORDER else [*first, fx.jvp(fx.grad(loss), (a,), (t,))[1]]

        return fx.jit(results)(a, t)  # JAX takes minutes otherwise

    for ours, theirs in zip(by_fxgrad(program), by_jax(program), strict=True):
        close(ours, theirs, 1e-9)


@pytest.mark.parametrize("name", ["solve", "svd", "qr"])
def test_vmap(name):
    def program(fx, np):
        def loss(a):
            return np.sum(CASES[name][0](np, a) ** 2)

        return fx.jit(
            lambda x: [fx.vmap(fx.grad(loss))(x), fx.grad(lambda a: np.sum(fx.vmap(loss, 2)(a)))(x.T)]
        )(STACK)

    for ours, theirs in zip(by_fxgrad(program), by_jax(program), strict=True):
        close(ours, theirs, 1e-9)


def test_where_jax_gives_nan_there_is_a_derivative():
    """Of singular values that repeat: the polar factor of a matrix is smooth."""
    weight = numpy.arange(9.0).reshape(3, 3)

    def program(fx, np):
        def polar(a):
            u, _, vh = np.linalg.svd(a)
            return np.sum(weight * (u @ vh))

        return fx.jit(fx.grad(polar))(numpy.eye(3))

    assert not numpy.isfinite(by_jax(program)).all()
    numpy.testing.assert_allclose(by_fxgrad(program), (weight - weight.T) / 2, atol=1e-14)


# -- scipy.linalg, scipy.sparse.linalg and lax.linalg ------------------------------------------
# (function of the namespace, np and a matrix; the matrix): few, since JAX compiles each for long. Differences check all
# derivatives in tests/scipy.
ROOMS = {
    "scipy.linalg": {
        "cho_solve": (lambda la, np, a: la.cho_solve(la.cho_factor(a @ dagger(a)), a), Z),
        "lu_solve": (lambda la, np, a: la.lu_solve(la.lu_factor(a), a[:, :2], trans=1), Z),
    },
    "lax.linalg": {
        "tridiagonal_solve": (lambda la, np, a: la.tridiagonal_solve(a[0], a[1] + 5, a[2], a), A),
        "triangular_solve": (
            lambda la, np, a: la.triangular_solve(a, a[:2], transpose_a=True, conjugate_a=True),
            Z,
        ),
    },
    "scipy.sparse.linalg": {"cg": (lambda la, np, a: la.cg(a @ a.T, a[0], tol=1e-13)[0], A)},
}
VALUES_ONLY = {
    "schur": lambda la, np: la.schur(A @ A.T)[0],
    "hessenberg": lambda la, np: la.hessenberg(Z),
    "tridiagonal": lambda la, np: la.tridiagonal(POSITIVE)[1:],
    "cholesky_update": lambda la, np: la.cholesky_update(numpy.triu(A), A[0]),
    "householder_product": lambda la, np: la.householder_product(*la.hessenberg(A)),
    "symmetric_product": lambda la, np: la.symmetric_product(A, A @ A.T, alpha=2.0, symmetrize_output=True),
    "lu_pivots_to_permutation": lambda la, np: la.lu_pivots_to_permutation(la.lu(A)[1], 3),
    "qr, pivoting": lambda la, np: la.qr(Z, pivoting=True, full_matrices=False)[1:],
}


def rooms(room):
    """(ours, JAX's) of a room."""
    return [importlib.import_module(f"{package}.{room}") for package in ("fxgrad", "jax")]


@pytest.mark.parametrize(("room", "name"), [(room, name) for room, table in ROOMS.items() for name in table])
def test_room(room, name):
    function, a = ROOMS[room][name]
    ours, theirs = rooms(room)

    def program(la):
        def run(fx, np):
            def loss(a):
                y = function(la, np, a)
                weight = numpy.cos(numpy.arange(y.size)).reshape(y.shape)
                return np.sum(np.real(y * weight)) + np.sum(np.imag(y * weight))

            return fx.jit(fx.value_and_grad(loss))(a)

        return run

    for found, expected in zip(by_fxgrad(program(ours)), by_jax(program(theirs)), strict=True):
        close(found, expected, 1e-8)


@pytest.mark.parametrize("name", VALUES_ONLY)
def test_values_of_lax_linalg(name):
    ours, theirs = rooms("lax.linalg")
    found, expected = VALUES_ONLY[name](ours, numpy), VALUES_ONLY[name](theirs, numpy)
    for x, y in zip(*[z if isinstance(z, tuple | list) else (z,) for z in (found, expected)], strict=True):
        close(x, y, 1e-9)


def test_names_and_parameters_are_those_of_jax():
    for room in ROOMS:
        ours, theirs = rooms(room)
        for name in (n for n in vars(theirs) if not n.startswith("_") and not n.endswith("_p")):
            assert hasattr(ours, name), name
            if inspect.isfunction(getattr(theirs, name)) and room != "scipy.linalg":
                wanted = inspect.signature(getattr(theirs, name)).parameters
                assert set(wanted) <= set(inspect.signature(getattr(ours, name)).parameters) | {"x"}, name
