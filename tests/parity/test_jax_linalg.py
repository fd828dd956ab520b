"""numpy.linalg against jax.numpy.linalg: values, gradients, and second derivatives."""

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
    return (u * np.log(s)) @ vh


def of_qr(np, a):
    q, r = np.linalg.qr(a)
    return np.abs(q) ** 2 @ np.abs(r)


# (function of np and a matrix; matrices)
CASES = {
    "solve": (lambda np, a: np.linalg.solve(a, a[..., :2] ** 2), [A, Z, STACK]),
    "solve, vector": (lambda np, a: np.linalg.solve(a, a[0] ** 2), [A, Z]),
    "inv": (lambda np, a: np.linalg.inv(a), [A, Z, STACK]),
    "det": (lambda np, a: np.linalg.det(a), [A, Z, STACK]),
    "slogdet": (lambda np, a: np.linalg.slogdet(a)[1], [A, Z, STACK]),
    "sign of complex determinants": (lambda np, a: np.linalg.slogdet(a)[0], [Z]),
    "cholesky": (lambda np, a: np.linalg.cholesky(a @ dagger(a)), [A, Z, STACK]),
    "cholesky, upper": (lambda np, a: np.linalg.cholesky(a @ dagger(a), upper=True), [A, Z]),
    "cholesky of a Hermitian matrix": (lambda np, a: np.linalg.cholesky(a), [POSITIVE, POSITIVE.real]),
    "qr": (of_qr, [A, Z, TALL, STACK]),
    "svd": (of_svd, [A, TALL, WIDE, STACK]),
    "svdvals": (lambda np, a: np.linalg.svd(a, compute_uv=False), [A, Z, TALL, WIDE, STACK]),
    "eigh": (of_eigh, [POSITIVE, POSITIVE.real, STACK @ dagger(STACK)]),
    "eigh, upper": (of_eigh_upper, [POSITIVE.real]),
    "eigvalsh": (lambda np, a: np.linalg.eigvalsh(a), [POSITIVE, POSITIVE.real]),
    "eigvals": (lambda np, a: np.sum(np.linalg.eigvals(a) ** 3), [A, Z]),
    "pinv": (lambda np, a: np.linalg.pinv(a), [A, TALL, WIDE, STACK, Z]),
    "lstsq": (lambda np, a: np.linalg.lstsq(a, a[:, :1] ** 2)[0], [A, TALL]),
    "matrix_power": (lambda np, a: np.linalg.matrix_power(a, 3), [A, Z, STACK]),
    "matrix_power, negative": (lambda np, a: np.linalg.matrix_power(a, -2), [A, STACK]),
    "multi_dot": (lambda np, a: np.linalg.multi_dot([a, B, B.T, a]), [A, Z]),
    "tensorinv": (lambda np, a: np.linalg.tensorinv(a.reshape(3, 3), 1), [A]),
    "cond": (lambda np, a: np.linalg.cond(a), [A, TALL, Z]),
    "cond, 1": (lambda np, a: np.linalg.cond(a, 1), [A]),
    "norm, nuc": (lambda np, a: np.linalg.norm(a, "nuc"), [A, TALL, Z]),
    "norm, 2": (lambda np, a: np.linalg.norm(a, 2), [A, WIDE, Z]),
    "norm, -2": (lambda np, a: np.linalg.norm(a, -2), [A, TALL, Z]),
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
            y = f(a)
            flat = y.reshape(-1)
            return np.sum(np.real(flat * weight[: flat.size]))

        y, slope = fx.jvp(f, (a,), (t,))
        results = [y, slope, fx.grad(loss)(a)]
        if name not in FIRST_ORDER:
            results.append(fx.jvp(fx.grad(loss), (a,), (t,))[1])
            results.append(fx.vjp(fx.grad(loss), a)[1](t)[0])
        return results

    for ours, theirs in zip(by_fxgrad(program), by_jax(program), strict=True):
        close(ours, theirs, 1e-9)


@pytest.mark.parametrize(
    "name", ["solve", "inv", "det", "slogdet", "cholesky", "svdvals", "eigvalsh", "pinv", "qr", "cond"]
)
def test_vmap_and_jit(name):
    function = CASES[name][0]
    stack = STACK @ dagger(STACK) if name == "eigvalsh" else STACK

    def program(fx, np):
        def loss(a):
            return np.sum(function(np, a) ** 2)

        return [
            fx.vmap(fx.grad(loss))(stack),
            fx.jit(fx.grad(lambda a: np.sum(fx.vmap(loss, 2)(a))))(stack.T),
        ]

    for ours, theirs in zip(by_fxgrad(program), by_jax(program), strict=True):
        close(ours, theirs, 1e-9)


def test_where_jax_gives_nan_there_is_a_derivative():
    """Of singular values that repeat: the polar factor of a matrix is smooth, and so is the sum of squares."""

    def program(fx, np):
        def polar(a):
            u, _, vh = np.linalg.svd(a)
            return np.sum(numpy.arange(9.0).reshape(3, 3) * (u @ vh))

        return [
            fx.grad(polar)(numpy.eye(3)),
            fx.grad(lambda a: np.linalg.det(a))(numpy.diag([1.0, 0.0, 2.0])),
        ]

    (ours, ours_det), (theirs, theirs_det) = by_fxgrad(program), by_jax(program)
    assert not numpy.isfinite(theirs).all()
    skew = (numpy.arange(9.0).reshape(3, 3) - numpy.arange(9.0).reshape(3, 3).T) / 2
    numpy.testing.assert_allclose(ours, skew, atol=1e-14)
    numpy.testing.assert_allclose(ours_det, theirs_det, atol=1e-14)
