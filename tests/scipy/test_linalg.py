"""fxgrad.scipy.linalg: traced values are SciPy's, and derivatives those of differences; in every transform."""

import zlib

import numpy as np
import pytest
import scipy.linalg

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.core.errors import NotDifferentiableError
from fxgrad.scipy import linalg
from fxgrad.testing import inner, measured_jvp, random_like

rng = np.random.default_rng(0)
N = 4


def real(*shape):
    return rng.normal(size=shape)


def complex_(*shape):
    return real(*shape) + 1j * real(*shape)


def definite(a):
    return a @ a.swapaxes(-1, -2).conj() + np.eye(a.shape[-1])


A, Z, B, V = real(N, N), complex_(N, N), real(N, 3), real(N)
S, H, D = definite(A), definite(Z), A + 4 * np.eye(N)
BAND = real(3, N) + 5 * np.array([[0], [1], [0]])
HALF = np.array([[0.0, 1, -1, 0.5], [4, 5, 4, 6]])
LOWER = np.array([[4.0, 5, 4, 6], [1, -1, 0.5, 0]])
WEIGHT, GAIN = definite(real(2, 2)), real(N, 2)
STABLE = 0.3 * A


def case(name, *args, **kwargs):
    return name, args, kwargs


# Arrays of these are traced. Where SciPy's function takes a choice that is not unique the values are compared as well:
# the kernels are the same.
CASES = [
    *(case("solve", S, B, assume_a=a, lower=lower) for a in ("gen", "sym", "her", "pos") for lower in (False, True)),
    *(case("solve", D, V, assume_a=a, transposed=t) for a in ("diagonal", "tridiagonal", "banded", "lower triangular",
                                                             "upper triangular") for t in (False, True)),
    case("solve", Z, V), case("solve", H, complex_(N, 2), assume_a="pos"), case("solve", Z, V, assume_a="sym"),
    *(case("solve_triangular", Z + 4 * np.eye(N), B, trans=t, lower=lower) for t, lower in ((0, 1), ("T", 1), (2, 0))),
    case("solve_triangular", D, V, unit_diagonal=True),
    case("solve_banded", (1, 1), BAND, B), case("solve_banded", (0, 2), BAND[::-1] + 3, V),
    case("solveh_banded", HALF, B), case("solveh_banded", LOWER, V, lower=True), case("cholesky_banded", HALF),
    case("cholesky_banded", LOWER, lower=True),
    case("cho_solve_banded", (scipy.linalg.cholesky_banded(HALF), False), B),
    case("cho_solve_banded", (scipy.linalg.cholesky_banded(LOWER, lower=True), True), V),
    case("solve_toeplitz", (V + 4 * np.eye(N)[0], V), B), case("matmul_toeplitz", (V, real(3)), real(3, 2)),
    case("solve_circulant", V + 4 * np.eye(N)[0], B), case("solve_circulant", complex_(N), V),
    case("solve_circulant", np.ones(N), V, singular="lstsq"),
    case("inv", S), case("inv", H, assume_a="pos"), case("det", Z), case("pinv", B, return_rank=True),
    case("pinvh", H), case("pinv", B, atol=0.1), case("lstsq", B, V), case("lstsq", B.T, real(3, 2)),
    case("norm", A), case("norm", A, 1), case("norm", V, 3),
    case("cholesky", H), case("cholesky", H, lower=True), case("cho_solve", (np.tril(D), True), B),
    *(case("lu", m, **kw) for m in (A, B, B.T, Z) for kw in ({}, {"permute_l": True}, {"p_indices": True})),
    case("lu_factor", Z), *(case("lu_solve", scipy.linalg.lu_factor(Z), B, trans=t) for t in (0, 1, 2)),
    case("ldl", A + A.T), case("ldl", Z + Z.conj().T, lower=False), case("ldl", Z + Z.T, hermitian=False),
    *(case("qr", m, mode=mode, pivoting=p) for m in (B, B.T, Z) for mode in ("economic", "r") for p in (False, True)),
    *(case("rq", m, mode=mode) for m in (B.T, Z) for mode in ("economic", "r")),
    case("qr_multiply", B, real(2, 4)), case("qr_multiply", A, V, pivoting=True, mode="left"),
    *(case("polar", m, side=side) for m in (Z, B, B.T) for side in ("right", "left")),
    case("orthogonal_procrustes", A, D), case("hessenberg", A, calc_q=True), case("hessenberg", Z),
    case("schur", S), case("svdvals", Z), case("svd", B, compute_uv=False),
    case("subspace_angles", B[:, :2], real(N, 1)),
    case("eigh", S, eigvals_only=True), case("eigvalsh", H, subset_by_index=[1, 2]),
    *(case("eigvalsh", A + A.T, S, type=t, lower=t == 2) for t in (1, 2, 3)),
    case("eigvalsh", S, subset_by_value=(1, 9)),
    case("eigvals_banded", HALF), case("eigvals_banded", LOWER, lower=True, select="i", select_range=(0, 1)),
    case("eigvalsh_tridiagonal", V, real(N - 1)),
    *(case(name, m / 2) for name in ("expm", "cosm", "sinm", "tanm", "coshm", "sinhm", "tanhm") for m in (A, Z)),
    case("expm_frechet", A, D), case("expm_cond", A / 2), case("logm", S), case("sqrtm", H), case("signm", A + A.T),
    *(case("fractional_matrix_power", S, t) for t in (0.3, -1.7, 3, -2)), case("funm", S, np.sin),
    case("toeplitz", V, real(3)), case("toeplitz", complex_(N)), case("hankel", V), case("hankel", V, real(3)),
    case("circulant", V), case("leslie", V, real(N - 1)), case("convolution_matrix", V, 3, "same"),
    case("block_diag", A, V, B), case("diagsvd", V, 4, 5), case("companion", V), case("fiedler_companion", real(7)),
    case("fiedler", V), case("khatri_rao", A, D), case("circulant", real(2, 3)),
    case("solve_sylvester", A, real(3, 3), B), case("solve_sylvester", Z, complex_(3, 3), B),
    case("solve_continuous_lyapunov", Z, H), case("solve_discrete_lyapunov", STABLE, S),
    case("solve_discrete_lyapunov", STABLE, S, method="bilinear"),
    case("solve_continuous_are", A, GAIN, S, WEIGHT), case("solve_discrete_are", A, GAIN, S, WEIGHT),
    case("solve_continuous_are", A, GAIN, S, WEIGHT, e=np.eye(N) + np.tri(N) / 9, balanced=False),
    case("solve_discrete_are", A, GAIN, S, WEIGHT, s=GAIN / 9),
]  # fmt: skip
# Read from one triangle, and differentiated as functions of Hermitian matrices: differences say something else.
HERMITIAN = {
    "solve", "inv", "pinvh", "cholesky", "ldl", "eigh", "eigvalsh", "solve_continuous_are", "solve_discrete_are",
}  # fmt: skip


def label(case):
    name, args, kwargs = case
    shapes = [f"{x.dtype.char}{x.shape}" for x in args if isinstance(x, np.ndarray)]
    return f"{name}-{','.join(shapes)}-{','.join(f'{k}={v}' for k, v in kwargs.items() if np.ndim(v) < 2)}"


def floats(value):
    return isinstance(value, np.ndarray) and value.dtype.kind in "fc"


def function_of(case):
    """(f, arrays): the function of all floating arrays among its arguments, which gives its floating results."""
    name, args, kwargs = case
    leaves, structure = fx.tree.flatten((args, kwargs))
    places = [i for i, x in enumerate(leaves) if floats(x)]

    def f(*arrays):
        full = list(leaves)
        for i, x in zip(places, arrays):
            full[i] = x
        given, named = fx.tree.unflatten(structure, full)
        return getattr(linalg, name)(*given, **named)

    return f, [leaves[i] for i in places]


def joined(f, squared=False):
    """The floating results of f, or their squares, as one vector, real and imaginary parts."""

    def g(*arrays):
        found = f(*arrays)
        parts = [fnp.ravel(y) for y in (found if isinstance(found, tuple) else (found,)) if np.ndim(y)]
        parts = [y**2 if squared else y for y in parts if y.dtype.kind in "fc"] or [fnp.ravel(found)]
        return fnp.concatenate([part(y) for y in parts for part in (fnp.real, fnp.imag)])

    return g


@pytest.mark.parametrize("case", CASES, ids=label)
def test_traced_values_are_scipys(case):
    name, args, kwargs = case
    f, arrays = function_of(case)
    expected = getattr(scipy.linalg, name)(*args, **kwargs)
    found = fx.jvp(f, arrays, [np.zeros_like(x) for x in arrays])[0]
    pairs = list(zip(*[y if isinstance(y, tuple) else (y,) for y in (found, expected)], strict=True))
    for ours, theirs in pairs:
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("case", [c for c in CASES if c[2].get("singular") != "lstsq"], ids=label)
def test_derivatives(case):
    f, arrays = function_of(case)
    g = joined(f, case[0] == "schur")  # whose signs are arbitrary
    draw = np.random.default_rng(zlib.crc32(label(case).encode()))
    ts = random_like(draw, *arrays)
    if case[0] in HERMITIAN:
        ts = [(t + t.conj().T) / 2 if t.ndim == 2 and t.shape[0] == t.shape[1] else t for t in ts]
    if case[2].get("hermitian") is False or case[2].get("assume_a") == "sym":
        ts = [(t + t.T) / 2 if t.shape == (N, N) else t for t in ts]
    if case[0] == "cholesky_banded":  # SciPy hands through what is beyond the matrix
        ts = [np.where(x == 0, 0, t) for x, t in zip(arrays, ts)]
    y, slope = fx.jvp(g, arrays, ts)
    np.testing.assert_allclose(slope, measured_jvp(g, arrays, ts), rtol=1e-5, atol=1e-6)
    (ct,) = random_like(draw, y)
    pulled = fx.vjp(g, *arrays)[1](ct)
    np.testing.assert_allclose(inner(pulled, ts), inner([ct], [slope]), rtol=1e-8, atol=1e-8)


SOME = {(name, len(kwargs)): (name, args, kwargs) for name, args, kwargs in CASES}  # one of each form


@pytest.mark.parametrize(
    "case",
    [c for c in SOME.values() if "subset_by_value" not in c[2] and "return_rank" not in c[2]],
    ids=label,
)
def test_vmap_and_jit(case):
    f, arrays = function_of(case)
    g = joined(f)
    expected = np.stack([fx.jvp(g, [x * s for x in arrays], arrays)[1] for s in (1.0, 1.1)])
    stacks = [np.stack([x, 1.1 * x], -1) for x in arrays]
    fixed = [np.stack([x, x], -1) for x in arrays]
    mapped = fx.jit(fx.vmap(lambda xs, ts: fx.jvp(g, xs, ts)[1], in_axes=-1))(stacks, fixed)
    np.testing.assert_allclose(mapped, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("dtype", ["f4", "c8"])
@pytest.mark.parametrize(
    "name", ["solve", "inv", "expm", "logm", "sqrtm", "polar", "lu", "schur", "cosm", "ldl"]
)
def test_single_precision_stays(name, dtype):
    a = S.astype(dtype)
    extra = [S.astype(dtype)] if name == "solve" else []
    g = fx.grad(lambda a: fnp.sum(fnp.abs(joined(getattr(linalg, name))(a, *extra))))(a)
    assert g.dtype == a.dtype
    assert np.isfinite(g).all()


@pytest.mark.parametrize(
    "name", ["inv", "expm", "logm", "sqrtm", "signm", "lu", "cholesky", "schur", "hessenberg", "polar"]
)
@pytest.mark.parametrize("n", [0, 1])
def test_matrices_of_order_zero_and_one(name, n):
    a = 2.0 * np.eye(n)
    y, slope = fx.jvp(joined(getattr(linalg, name)), (a,), (a,))
    assert y.shape == slope.shape
    assert np.isfinite(slope).all()


# -- where there is no derivative, and where there is one ------------------------------------------
def test_polar_factor_of_singular_values_that_repeat():
    weight = np.arange(9.0).reshape(3, 3)
    g = fx.grad(lambda a: fnp.sum(weight * linalg.polar(a)[0]))(np.eye(3))
    np.testing.assert_allclose(g, (weight - weight.T) / 2, atol=1e-14)


def test_real_functions_that_would_be_complex_are_nan():
    a = np.diag([1.0, -4.0])
    for f in (linalg.sqrtm, linalg.logm, lambda a: linalg.fractional_matrix_power(a, 0.5)):
        assert np.isnan(fx.jit(f)(a)).all()
        assert np.isfinite(fx.jit(f)(a.astype(complex))).all()


def test_no_derivative_where_there_is_none():
    assert np.isnan(fx.jvp(linalg.schur, (np.eye(2),), (np.array([[0.0, 1], [1, 0]]),))[1][0]).any()
    turning = np.array([[0.0, -1], [1, 0]])
    assert np.isnan(fx.jvp(linalg.schur, (turning,), (turning,))[1][0][0]).all()
    assert np.isnan(fx.jit(linalg.solve_sylvester)(np.eye(1), -np.eye(1), np.eye(1))).all()
    assert np.isnan(fx.jit(linalg.signm)(turning)).all()
    for f in (linalg.sqrtm, linalg.logm, lambda a: linalg.fractional_matrix_power(a, 0.5)):
        assert np.isnan(fx.grad(lambda a, f=f: f(a)[0, 0])(np.diag([0.0, 1.0]))).any()


def test_exponent_of_a_power_may_be_traced():
    slope = fx.jvp(lambda t: linalg.fractional_matrix_power(S, t), (0.3,), (1.0,))[1]
    expected = scipy.linalg.fractional_matrix_power(S, 0.3) @ scipy.linalg.logm(S)
    np.testing.assert_allclose(slope, expected, rtol=1e-9)


def test_generalized_eigenvectors():
    w, v = fx.jit(linalg.eigh)(A + A.T, S)
    np.testing.assert_allclose((A + A.T) @ v, S @ v * w, atol=1e-9)
    w, left, right = fx.jit(lambda a, b: linalg.eig(a, b, left=True))(A, S)
    np.testing.assert_allclose(A @ right, S @ right * w, atol=1e-9)
    np.testing.assert_allclose(left.conj().T @ A, w[:, None] * (left.conj().T @ S), atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(left, axis=0), 1)


def test_range_and_null_space():
    a, left, right = real(4, 2) @ real(2, 5), real(4, 4), real(5, 5)

    def projections(s):  # the rank stays
        moved = (np.eye(4) + s * left) @ a @ (np.eye(5) + s * right)
        q, z = linalg.orth(moved), linalg.null_space(moved)
        return fnp.concatenate([fnp.ravel(q @ q.T), fnp.ravel(z @ z.T)])

    y, slope = fx.jvp(projections, (0.0,), (1.0,))
    np.testing.assert_allclose(slope, measured_jvp(projections, (0.0,), (1.0,)), atol=1e-7)
    np.testing.assert_allclose(y[:16].reshape(4, 4) @ a, a, atol=1e-12)
    np.testing.assert_allclose(a @ y[16:].reshape(5, 5), np.zeros((4, 5)), atol=1e-12)


def test_questions():
    assert fx.jit(linalg.issymmetric)(S)
    assert not fx.jit(linalg.ishermitian)(Z)
    assert fx.jit(linalg.ishermitian)(H)
    assert tuple(map(int, fx.jit(linalg.bandwidth)(np.tri(4, k=1)))) == scipy.linalg.bandwidth(np.tri(4, k=1))


# -- errors ------------------------------------------
ERRORS = {
    "a matrix that is not square": (lambda a: linalg.solve(a[:2], a), np.linalg.LinAlgError),
    "singular": (lambda a: linalg.solve(0 * a, a), np.linalg.LinAlgError),
    "singular triangle": (lambda a: linalg.solve_triangular(0 * a, a), np.linalg.LinAlgError),
    "singular band": (lambda a: linalg.solve_banded((1, 1), 0 * a[:3], a), np.linalg.LinAlgError),
    "not definite": (lambda a: linalg.cholesky(-a @ a.T), np.linalg.LinAlgError),
    "NaN": (lambda a: linalg.inv(a * np.nan), ValueError),
    "shapes": (lambda a: linalg.solve(a, a[:2]), ValueError),
    "a word that is none": (lambda a: linalg.solve(a, a, assume_a="round"), ValueError),
    "a band of another height": (lambda a: linalg.solve_banded((2, 2), a, a), ValueError),
    "mode": (lambda a: linalg.qr(a, mode="all"), ValueError),
    "a raw form": (lambda a: linalg.qr(a, mode="raw"), NotImplementedError),
    "indices": (lambda a: linalg.eigvalsh(a, subset_by_index=[2, 9]), ValueError),
    "circulant": (lambda a: linalg.solve_circulant(0 * a[0], a), np.linalg.LinAlgError),
    "a basis of a complement": (lambda a: linalg.qr(a[:, :2])[0], NotDifferentiableError),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_name_the_line(name):
    function, error = ERRORS[name]
    with pytest.raises(error) as caught:
        fx.jvp(function, (A,), (A,))
    assert "test_linalg.py" in str(caught.value)


def test_every_name_is_scipys():
    for name in linalg.__all__:
        assert hasattr(scipy.linalg, name) or name in {"kron", "tri"}, name
    assert linalg.LinAlgError is np.linalg.LinAlgError
    assert linalg.LinAlgWarning is scipy.linalg.LinAlgWarning


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_the_exponential_of_zero_is_the_unit_matrix_exactly(dtype):
    for n in (1, 2, 3, 8):
        assert (linalg.expm(np.zeros((2, n, n), dtype)) == np.eye(n)).all()
