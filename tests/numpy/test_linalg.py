"""fxgrad.numpy.linalg: NumPy's values, dtypes, shapes and errors in every transform; derivatives and numerics."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import ops
from fxgrad.core import pytree
from tests.ways import agree

rng = np.random.default_rng(3)
M = rng.normal(size=(3, 3)) + 3 * np.eye(3)
S = rng.normal(size=(2, 3, 3)) + 3 * np.eye(3)
C = M + 1j * S[0]
OPERANDS = {
    "m": M,
    "w": rng.normal(size=(3, 2)),  # tall
    "f": rng.normal(size=(2, 3)),  # flat
    "s": S,
    "r": rng.normal(size=(2, 3, 2)),
    "v": rng.normal(size=3),
    "h": M @ M.T,
    "hs": S @ S.swapaxes(1, 2),
    "c": C,
    "hc": C @ C.conj().T,
    "t": rng.normal(size=(2, 3, 2, 3)),
    "e": np.zeros((0, 0)),
    "es": np.zeros((2, 0, 0)),
    "ef": np.zeros((0, 3)),
}
CALLS = """
    solve(m, v) | solve(m, w) | solve(s, r) | solve(m, r) | solve(s, w) | solve(s, v) | solve(e, e) | solve(c, w)
    inv(m) | inv(s) | inv(e) | inv(es) | inv(c) | det(m) | det(s) | det(e) | det(es) | det(c) | slogdet(m)
    slogdet(s) | slogdet(c) | slogdet(e) | cholesky(h) | cholesky(h, upper=True) | cholesky(hs) | cholesky(e)
    cholesky(hc) | cholesky(hc, upper=True) | qr(m) | qr(w) | qr(f) | qr(f, "complete") | qr(w, "r") | qr(s) | qr(r)
    qr(ef) | svd(m) | svd(w) | svd(f) | svd(w, False) | svd(f, full_matrices=False) | svd(r, compute_uv=False)
    svd(h, compute_uv=False, hermitian=True) | svd(ef) | svd(e) | svd(c) | svdvals(w) | svdvals(r) | svdvals(ef)
    eigh(h) | eigh(m) | eigh(m, "U") | eigh(hs) | eigh(e) | eigh(hc) | eigh(c, "u") | eigvalsh(m, "U") | eigvalsh(hs)
    eig(c) | eigvals(c) | pinv(m) | pinv(w) | pinv(f) | pinv(r) | pinv(h, hermitian=True) | pinv(ef) | pinv(c)
    pinv(w, rtol=None) | pinv(w, 1e-3) | pinv(w, rcond=0.9) | lstsq(w, v) | lstsq(m, v) | lstsq(w, m) | lstsq(f, f)
    lstsq(w, v, -1) | lstsq(c, v) | matrix_power(m, 3) | matrix_power(m, -2) | matrix_power(m, 0)
    matrix_power(s, 5) | matrix_power(m, 1) | matrix_rank(m) | matrix_rank(v) | matrix_rank(0 * v) | matrix_rank(w)
    matrix_rank(s) | matrix_rank(h, hermitian=True) | matrix_rank(w, 0.5) | matrix_rank(w, rtol=0.9)
    matrix_rank(s, tol=[1.0, 5.0]) | multi_dot([m, w, f]) | multi_dot([v, m, w]) | multi_dot([v, m, v])
    multi_dot([m, v]) | multi_dot([m, m, w, f, v]) | norm(m, 2) | norm(w, -2) | norm(f, "nuc")
    norm(s, 2, axis=(1, 2)) | norm(s, "nuc", (2, 0), keepdims=True) | norm(s, -2, (0, 1)) | norm(ef, 2)
    norm(ef, "nuc") | norm(ef, 1) | matrix_norm(s, ord=2) | matrix_norm(s, ord="nuc", keepdims=True) | norm(c, 2)
    cond(m) | cond(w) | cond(s) | cond(m, 1) | cond(m, -1) | cond(m, "fro") | cond(m, "nuc") | cond(w, -2) | cond(c)
    cond(s, 1) | cond(0 * m) | cond(0 * m, -2) | cond(0 * m, 1) | tensorsolve(t, f) | tensorinv(m, 1) | tensorinv(t)
    tensorsolve(t, w, (0,)) | trace(s) | diagonal(s, offset=1) | cross(v, m) | vecdot(m, v) | outer(v, v)
"""
WAYS = {
    "vjp": lambda f, args: fx.vjp(f, *args)[0],
    "jvp": lambda f, args: fx.jvp(f, args, args)[0],
    "jit": lambda f, args: fx.jit(f)(*args),
    "vmap": lambda f, args: pytree.map(lambda y: y[1], fx.vmap(f)(*[np.stack([a, a]) for a in args])),
}


def parsed(call):
    """(the names of the operands, the call as a function of a namespace and of them)."""
    code = compile(call, call, "eval")
    names = [name for name in OPERANDS if name in code.co_names]

    def run(space, *values):
        # For the names of functions that are also names of operands there is no need: these are single letters.
        functions = {
            name: getattr(space, name) for name in code.co_names if name not in OPERANDS and name != "T"
        }
        return eval(code, functions | dict(zip(names, values)))

    return names, run


@pytest.mark.parametrize(
    "call", [c.strip() for line in CALLS.split("\n") for c in line.split("|") if c.strip()]
)
def test_values_are_those_of_numpy(call):
    names, run = parsed(call)
    args = tuple(OPERANDS[name] for name in names)
    expected = run(np.linalg, *args)
    for space in (fnp.linalg, np.linalg):  # the latter hands over to the former
        for way in WAYS.values():
            actual = way(lambda *xs, space=space: run(space, *xs), args)
            assert type(actual) is type(expected) or not isinstance(expected, tuple)
            for a, b in zip(pytree.leaves(actual), pytree.leaves(expected), strict=True):
                assert (np.shape(a), np.asarray(a).dtype) == (np.shape(b), np.asarray(b).dtype)
                np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)


def symmetric(x):
    return (x + x.swapaxes(-1, -2)) / 2


SMOOTH = {
    "solve, stacks": (lambda a, b: fnp.linalg.solve(a, b), (S, OPERANDS["r"])),
    "solve, one matrix": (lambda a, b: fnp.linalg.solve(a, b), (M, OPERANDS["r"])),
    "solve, vector": (lambda a, b: fnp.linalg.solve(a, b), (S, OPERANDS["v"])),
    "det": (fnp.linalg.det, (S,)),
    "slogdet": (lambda a: fnp.linalg.slogdet(a)[1], (S,)),
    "cholesky": (lambda a: fnp.linalg.cholesky(symmetric(a)), (OPERANDS["hs"],)),
    "cholesky, upper": (lambda a: fnp.linalg.cholesky(symmetric(a), upper=True), (OPERANDS["h"],)),
    "qr": (lambda a: tuple(fnp.linalg.qr(a)), (OPERANDS["r"],)),
    "qr, wide": (lambda a: tuple(fnp.linalg.qr(a)), (OPERANDS["f"],)),
    "qr, r": (lambda a: fnp.linalg.qr(a, "r"), (OPERANDS["w"],)),
    "pinv": (fnp.linalg.pinv, (OPERANDS["w"],)),
    "pinv, hermitian": (lambda a: fnp.linalg.pinv(symmetric(a), hermitian=True), (OPERANDS["h"],)),
    "lstsq": (lambda a, b: fnp.linalg.lstsq(a, b)[:2], (OPERANDS["w"], OPERANDS["v"])),
    "lstsq, wide": (lambda a, b: fnp.linalg.lstsq(a, b)[0], (OPERANDS["f"], OPERANDS["v"][:2])),
    "matrix_power": (lambda a: fnp.linalg.matrix_power(a, -3), (S,)),
    "multi_dot": (lambda a, b: fnp.linalg.multi_dot([a, b, a]), (OPERANDS["f"], OPERANDS["w"])),
    "tensorsolve": (fnp.linalg.tensorsolve, (OPERANDS["t"], OPERANDS["f"])),
    "tensorinv": (fnp.linalg.tensorinv, (OPERANDS["t"],)),
    "eigvalsh": (lambda a: fnp.linalg.eigvalsh(symmetric(a)), (S,)),
    "eigh": (lambda a: fnp.linalg.eigh(symmetric(a))[1] ** 2, (S,)),
    "svdvals": (fnp.linalg.svdvals, (OPERANDS["r"],)),
    "svd, hermitian": (lambda a: fnp.linalg.svd(symmetric(a), hermitian=True)[1], (M,)),
    "svd": (lambda a: fnp.linalg.svd(a)[0][:, :2] ** 2, (OPERANDS["w"],)),
    "eigvals": (
        lambda a: fnp.abs(fnp.linalg.eigvals(a)) ** 2,
        (np.array([[1.0, 2, 0], [-1, 2, 1], [0, 1, 5]]),),
    ),
    **{
        f"norm {order}": (lambda a, p=order: fnp.linalg.norm(a, p, (0, 2)), (S,))
        for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
    },
    **{
        f"cond {order}": (lambda a, p=order: fnp.linalg.cond(a, p), (S,))
        for order in ("fro", "nuc", 1, 2, -2, np.inf)
    },
}


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives(name):
    agree(*(lambda f, args: (f, *args))(*SMOOTH[name]))


@pytest.mark.parametrize(
    "function", [fnp.linalg.cholesky, lambda a: fnp.linalg.eigh(a)[0], fnp.linalg.eigvalsh]
)
def test_gradients_of_functions_of_hermitian_matrices_are_hermitian(function):
    """One triangle is read, but the other is the same number."""
    (ct,) = fx.vjp(function, OPERANDS["hc"])[1](np.ones_like(function(OPERANDS["hc"])))
    np.testing.assert_allclose(ct, ct.T.conj(), rtol=1e-13)
    whole, half = fx.vjp(function, OPERANDS["h"])[1], fx.vjp(function, np.tril(OPERANDS["h"]))[1]
    ct = np.ones_like(function(OPERANDS["h"]))
    np.testing.assert_allclose(whole(ct)[0], half(ct)[0], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", ["m", "w", "c", "hc"])
def test_single_precision_stays(name):
    x = OPERANDS[name].astype(np.complex64 if OPERANDS[name].dtype.kind == "c" else np.float32)

    def loss(a):
        u, _, vh = fnp.linalg.svd(a, full_matrices=False)
        y = fnp.linalg.pinv(a).sum() + fnp.linalg.qr(a)[1].sum() + fnp.linalg.norm(a, "nuc") + (u @ vh).sum()
        if a.shape[0] == a.shape[1]:
            y = y + fnp.linalg.det(a) + fnp.linalg.inv(a).sum() + fnp.linalg.eigvals(a).sum()
            y = y + fnp.linalg.eigvalsh(a @ a.conj().T).sum() + fnp.linalg.solve(a, a[:, 0]).sum()
        return fnp.real(y)

    single, double = fx.grad(loss)(x), fx.grad(loss)(OPERANDS[name])
    assert single.dtype == x.dtype
    np.testing.assert_allclose(single, double, rtol=1e-3, atol=1e-3 * np.abs(double).max())


def test_integers_are_computed_in_float64():
    x = np.array([[2, 1], [1, 3]])
    for name in ("inv", "det", "cholesky", "eigvalsh", "pinv", "svdvals"):
        function = getattr(fnp.linalg, name)
        y = fx.jit(function)(x)
        assert y.dtype == np.float64
        np.testing.assert_allclose(y, function(x), rtol=1e-13)


# -- one matrix, many right-hand sides ------------------------------------------
@pytest.mark.parametrize("use", ["broadcast", "vmap", "jacfwd", "jacrev"])
def test_one_matrix_is_factored_once(use, monkeypatch):
    solved, solve = [], np.linalg.solve
    monkeypatch.setattr(np.linalg, "solve", lambda a, b: (solved.append(a.shape), solve(a, b))[1])
    b = OPERANDS["r"]
    if use == "broadcast":
        fx.make_graph(fnp.linalg.solve)(M, b)(M, b)
    elif use == "vmap":
        np.testing.assert_allclose(fx.vmap(fnp.linalg.solve, (None, 0))(M, b), solve(M, b), rtol=1e-13)
    else:
        jacobian = getattr(fx, use)(lambda v: fnp.linalg.solve(M, v))(OPERANDS["v"])
        np.testing.assert_allclose(jacobian, np.linalg.inv(M), rtol=1e-12, atol=1e-14)
    assert set(solved) == {(3, 3)}


@pytest.mark.parametrize(
    "function",
    [
        lambda b: ops.solve(M, b),
        lambda b: ops.triangular_solve(M, b, lower=True, unit_diagonal=False),
        lambda b: ops.triangular_solve(M, b, lower=False, unit_diagonal=True),
        lambda b: ops.lstsq(OPERANDS["w"], b, rcond=1e-12),
        lambda b: (
            ops.adjugate_slope(M, b @ b.T) if b is None else ops.adjugate_slope(M, fnp.matmul(b, M[:2]))
        ),
    ],
    ids=["solve", "lower", "upper, unit", "lstsq", "adjugate_slope"],
)
def test_linear_in_the_right_hand_side(function):
    b = OPERANDS["w"]
    y = function(b)
    ct = rng.normal(size=y.shape)
    (back,) = fx.linear_transpose(function, b)(ct)
    np.testing.assert_allclose(np.sum(back * b), np.sum(ct * y), rtol=1e-12)


# -- numbers ------------------------------------------
HILBERT = 1.0 / (np.arange(6)[:, None] + np.arange(6) + 1)
BOUND = 20 * np.linalg.cond(HILBERT) * np.finfo(float).eps


def test_ill_conditioned_systems_lose_no_more_than_their_condition():
    """Hilbert's matrix of order 6 has the condition 1.5e7 and an inverse of integers."""
    inverse = np.rint(np.linalg.inv(HILBERT))
    b = HILBERT @ np.ones(6)
    y, pull = fx.vjp(lambda a, b: fnp.linalg.solve(a, b), HILBERT, b)
    np.testing.assert_allclose(y, 1, rtol=BOUND)
    da, db = pull(np.eye(6)[0])
    np.testing.assert_allclose(db, inverse[0], rtol=BOUND)
    np.testing.assert_allclose(da, -np.outer(inverse[0], np.ones(6)), rtol=BOUND)
    logdet = fx.grad(lambda a: fnp.linalg.slogdet(a)[1])(HILBERT)
    np.testing.assert_allclose(logdet, inverse, rtol=BOUND)
    volume = fx.grad(fnp.linalg.det)(HILBERT)  # det = 5.4e-18: an adjugate by products of singular values
    np.testing.assert_allclose(volume, inverse / 186313420339200000, rtol=BOUND)
    factor = fx.grad(lambda a: 2 * fnp.sum(fnp.log(fnp.diagonal(fnp.linalg.cholesky(a)))))(HILBERT)
    np.testing.assert_allclose(factor, inverse, rtol=BOUND)


@pytest.mark.parametrize("rank", range(5))
def test_determinants_of_any_rank(rank):
    """The gradient is the matrix of cofactors, the second derivative that of a polynomial."""
    a = rng.normal(size=(4, rank)) @ rng.normal(size=(rank, 4))

    def cofactor(i, j):
        return (-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1))

    expected = np.array([[cofactor(i, j) for j in range(4)] for i in range(4)])
    scale = np.linalg.norm(a, 2) ** 3 + 1
    np.testing.assert_allclose(fx.grad(fnp.linalg.det)(a), expected, atol=1e-13 * scale)
    t = rng.normal(size=(4, 4))
    line = np.polynomial.Polynomial.fit(
        x := np.linspace(-1, 1, 5), np.linalg.det(a + x[:, None, None] * t), 4
    )
    for mode in (
        fx.jacfwd(fx.grad(fnp.linalg.det)),
        fx.jacrev(fx.grad(fnp.linalg.det)),
        fx.hessian(fnp.linalg.det),
    ):
        second = np.einsum("ijkl,ij,kl", mode(a), t, t)
        np.testing.assert_allclose(second, line.deriv(2)(0), atol=1e-10 * scale, rtol=1e-10)


def test_third_derivatives_of_determinants():
    third = fx.jacfwd(fx.hessian(fnp.linalg.det))(M)
    assert third[0, 0, 1, 1, 2, 2] == pytest.approx(1, abs=1e-12)
    assert third[0, 1, 1, 0, 2, 2] == pytest.approx(-1, abs=1e-12)
    assert np.isnan(fx.jacfwd(fx.hessian(fnp.linalg.det))(np.ones((3, 3)))).all()


def test_singular_matrices():
    ones = np.ones((2, 2))
    sign, log = fx.vjp(fnp.linalg.slogdet, ones)[0]
    assert (sign, log) == (0, -np.inf)
    assert np.isnan(fx.grad(lambda a: fnp.linalg.slogdet(a)[1])(ones)).all()
    stack = np.stack([ones, 2 * np.eye(2)])
    gradients = fx.grad(lambda a: fnp.sum(fnp.linalg.slogdet(a)[1]))(stack)
    assert np.isnan(gradients[0]).all() and (gradients[1] == np.eye(2) / 2).all()
    for order in (None, 1):
        value, pull = fx.vjp(lambda a, p=order: fnp.linalg.cond(a, p), np.diag([1.0, 0.0]))
        assert value == np.inf and np.isnan(pull(1.0)[0]).all()


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3)])
def test_least_squares_of_deficient_rank(shape):
    """Along A(ε) = (I + εX)A(I + εY), which keeps the rank 2."""
    a = rng.normal(size=(shape[0], 2)) @ rng.normal(size=(2, shape[1]))
    x, y, b = (rng.normal(size=(n, n)) for n in (*shape, shape[0]))

    def path(step):
        return (np.eye(shape[0]) + step * x) @ a @ (np.eye(shape[1]) + step * y)

    def inverse(step):
        return np.linalg.pinv(path(step), 1e-10)

    slope = (inverse(1e-5) - inverse(-1e-5)) / 2e-5
    along = x @ a + a @ y
    for function, expected in [
        (lambda a: fnp.linalg.pinv(a, 1e-10), slope),
        (lambda a: fnp.linalg.lstsq(a, b, 1e-10)[0], slope @ b),
    ]:
        np.testing.assert_allclose(
            fx.jvp(function, (a,), (along,))[1], expected, atol=1e-7 * np.abs(expected).max()
        )
        ct = rng.normal(size=expected.shape)
        pulled = np.sum(fx.vjp(function, a)[1](ct)[0] * along)
        np.testing.assert_allclose(pulled, np.sum(ct * expected), rtol=1e-6)


def test_least_squares_by_the_singular_values_and_not_by_the_square():
    """The condition is 1e8, its square would leave no digit."""
    a = np.array([[1.0, 1.0], [1e-8, 0.0], [0.0, 1e-8]])
    x, pull = fx.vjp(lambda b: fnp.linalg.lstsq(a, b)[0], a @ np.array([1.0, 2.0]))
    np.testing.assert_allclose(x, [1, 2], rtol=1e-7)
    np.testing.assert_allclose(pull(np.array([1.0, 1.0]))[0] @ a, [1, 1], rtol=1e-7)


# -- errors ------------------------------------------
@pytest.mark.parametrize(
    "call",
    [
        lambda la, x: la.inv(0 * x),
        lambda la, x: la.solve(0 * x, x),
        lambda la, x: la.cholesky(-x),
        lambda la, x: la.det(x[0]),
        lambda la, x: la.eigh(x[:1]),
        lambda la, x: la.svd(x[0]),
        lambda la, x: la.lstsq(x, x[:1]),
        lambda la, x: la.cond(x[:0]),
        lambda la, x: la.matrix_power(x[:1], 2),
        lambda la, x: la.multi_dot([x, x[None], x]),
        lambda la, x: la.tensorsolve(x[:1], x[0]),
    ],
)
def test_errors_of_numpy(call):
    x = np.array([[2.0, 1.0], [1.0, 3.0]])
    for space in (np.linalg, fnp.linalg):
        with pytest.raises(np.linalg.LinAlgError):
            call(space, x)
        with pytest.raises(np.linalg.LinAlgError):
            fx.vjp(lambda x, space=space: call(space, x), x)


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (lambda x: fnp.linalg.solve(x, x[:1]), ValueError, "solve"),
        (lambda x: fnp.linalg.eigh(x, "X"), ValueError, "UPLO"),
        (lambda x: fnp.linalg.qr(x, "odd"), ValueError, "mode"),
        (lambda x: fnp.linalg.qr(x, "raw"), fx.UnsupportedError, "raw"),
        (lambda x: fnp.linalg.pinv(x, 1e-3, rtol=1e-3), ValueError, "rtol"),
        (lambda x: fnp.linalg.pinv(x[None], np.array([1e-3])), fx.UnsupportedError, "tolerance"),
        (lambda x: fnp.linalg.matrix_rank(x, 1e-3, rtol=1e-3), ValueError, "rtol"),
        (lambda x: fnp.linalg.multi_dot([x]), ValueError, "two arrays"),
        (lambda x: fnp.linalg.norm(x, 3, (0, 1)), ValueError, "order"),
        (lambda x: fnp.linalg.tensorinv(x, 0), ValueError, "ind"),
        (lambda x: fnp.linalg.inv(x.astype(np.float16)), TypeError, "float16"),
        (lambda x: fx.jit(fnp.linalg.inv)(x.astype(np.float16)), TypeError, "float32"),
        (lambda x: fnp.linalg.matrix_power(x, 0.5), TypeError, "integer"),
    ],
)
def test_errors_in_words(function, error, words):
    with pytest.raises(error, match=words):
        fx.vjp(function, np.eye(2))


def test_a_complement_has_no_derivative():
    a = OPERANDS["w"]
    with pytest.raises(fx.NotDifferentiableError, match="mode='complete' and 3×2"):
        fx.grad(lambda a: fnp.linalg.qr(a, "complete")[0].sum())(a)
    assert np.isnan(fx.grad(lambda a: fnp.linalg.svd(a)[0].sum())(a)).all()
    thin = fx.grad(lambda a: (fnp.linalg.svd(a)[0][:, :2] ** 3).sum())(a)
    np.testing.assert_array_equal(thin, fx.grad(lambda a: (fnp.linalg.svd(a, False)[0] ** 3).sum())(a))
    assert np.isnan(fx.jvp(lambda a: fnp.linalg.svd(a)[0], (a,), (a**2,))[1][:, 2]).all()


# -- other array libraries ------------------------------------------
OVER_THE_STANDARD = {
    "solve": lambda a: fnp.sum(fnp.linalg.solve(a, a * a)),
    "det": fnp.linalg.det,
    "slogdet": lambda a: fnp.linalg.slogdet(a)[1],
    "cholesky": lambda a: fnp.sum(fnp.linalg.cholesky(a)),
    "qr": lambda a: fnp.sum(fnp.linalg.qr(a)[1]),
    "svd": lambda a: fnp.sum(fnp.linalg.svd(a)[0] ** 2 * fnp.linalg.svdvals(a)),
    "eigh": lambda a: fnp.sum(fnp.linalg.eigh(a)[1] ** 2 * fnp.linalg.eigvalsh(a)),
    "eigvals": lambda a: fnp.sum(fnp.real(fnp.linalg.eigvals(a) ** 2)),
    "pinv": lambda a: fnp.sum(fnp.linalg.pinv(a)),
    "lstsq": lambda a: fnp.sum(fnp.linalg.lstsq(a, a * a)[0]),
    "norms": lambda a: fnp.linalg.norm(a, "nuc") + fnp.linalg.norm(a, 2) + fnp.linalg.cond(a),
    "matrix_power": lambda a: fnp.sum(fnp.linalg.matrix_power(a, -2)),
    "matrix_rank": lambda a: fnp.where(fnp.linalg.matrix_rank(a) == 3, fnp.sum(a), 0.0),
}


@pytest.mark.filterwarnings("ignore:You are comparing a array_api_strict dtype")
@pytest.mark.parametrize("name", OVER_THE_STANDARD)
def test_over_the_standard(name):
    strict = pytest.importorskip("array_api_strict")
    f, h = OVER_THE_STANDARD[name], OPERANDS["h"]
    for transformed in (f, fx.grad(f), lambda x: fx.jvp(fx.grad(f), (x,), (x,))[1]):
        result = transformed(strict.asarray(h))
        assert type(result) is type(strict.zeros(1))
        np.testing.assert_allclose(np.asarray(result), transformed(h), rtol=1e-9, atol=1e-11)
