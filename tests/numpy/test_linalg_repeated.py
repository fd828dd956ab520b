"""Where eigenvalues or singular values repeat: the right derivative, or NaN where there is none; never another number.

The matrices have clusters: D = Q·diag(1, 1, 2, 3)·Qᵀ up to rounding, multiples of the identity exactly, an orthogonal
one, and one of rank 2. Numbers come from calculus, or from differences of a smooth function of the matrix.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fxgrad as fx
import fxgrad.numpy as fnp

rng = np.random.default_rng(0)
Q = np.linalg.qr(rng.normal(size=(4, 4)))[0]
VALUES = np.array([1.0, 1, 2, 3])
D = Q * VALUES @ Q.T
D = (D + D.T) / 2
UNITARY = np.linalg.qr(rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4)))[0]
HERMITIAN = UNITARY * VALUES @ UNITARY.conj().T
HERMITIAN = (HERMITIAN + HERMITIAN.conj().T) / 2
EQUAL = {
    "2I": 2 * np.eye(3),
    "zero": np.zeros((3, 3)),
    "D": D,
    "diagonal": np.diag(VALUES),
    "hermitian": HERMITIAN,
}
C = rng.normal(size=(4, 4))
STEP = 1e-5


def eigenvalues(f):
    return lambda a: f(fnp.linalg.eigvalsh(a))


def eigenvectors(f):
    return lambda a: f(fnp.linalg.eigh(a)[1])


def both(f):
    return lambda a: f(*fnp.linalg.eigh(a))


def spectral(f):
    """V·diag(f(w))·Vᵀ."""
    return both(lambda w, v: (v * f(w)) @ v.T)


def on_projection(columns):
    return eigenvectors(lambda v: fnp.sum(C * (v[:, columns] @ v[:, columns].T)))


def differences(f, a):
    """The symmetric gradient of a function of symmetric matrices."""
    n = len(a)
    gradient = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            e = np.zeros((n, n))
            e[i, j] += STEP / 2
            e[j, i] += STEP / 2
            gradient[i, j] = (f(a + e) - f(a - e)) / (2 * STEP)
    return gradient


def in_both_ways(f, a):
    gradient = fx.grad(f)(a)
    # The same to rounding: products are taken in another order, and those of stacks by another routine.
    for found in (fx.jit(fx.grad(f))(a), fx.vmap(fx.grad(f))(np.stack([a, a]))[1]):
        np.testing.assert_allclose(
            found, gradient, rtol=1e-12, atol=1e-12 * np.nan_to_num(np.abs(gradient)).max()
        )
    return gradient


def assert_right_or_nan(actual, expected):
    """NaN is allowed, another number is not."""
    known = ~np.isnan(actual)
    np.testing.assert_allclose(
        actual[known], np.broadcast_to(expected, actual.shape)[known], rtol=1e-6, atol=1e-6
    )


# -- eigenvalues ------------------------------------------
@pytest.mark.parametrize("name", EQUAL)
@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (fnp.sum, np.ones_like),
        (lambda w: fnp.sum(w**2), lambda w: 2 * w),
        (lambda w: fnp.sum(fnp.exp(w)), np.exp),
    ],
    ids=["sum", "squares", "exp"],
)
def test_functions_that_treat_equal_eigenvalues_alike(name, f, slope):
    """The gradient of tr f(A) is f′(A), transposed by the convention for complex numbers."""
    a = EQUAL[name]
    w, v = np.linalg.eigh(a)
    expected = ((v * slope(w)) @ v.conj().T).T
    actual = in_both_ways(eigenvalues(f), a)
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-13)
    t = rng.normal(size=a.shape)
    np.testing.assert_allclose(
        fx.jvp(eigenvalues(f), (a,), (t.astype(a.dtype),))[1], np.sum(expected * t).real
    )


@pytest.mark.parametrize("name", EQUAL)
@pytest.mark.parametrize(
    "f", [lambda w: w[0], lambda w: w[0] - w[1], lambda w: fnp.sum(w * np.arange(w.size))]
)
def test_single_repeated_eigenvalues_have_no_derivative(name, f):
    assert np.isnan(in_both_ways(eigenvalues(f), EQUAL[name])).all()


def test_the_other_eigenvalues_have_one():
    np.testing.assert_allclose(
        in_both_ways(eigenvalues(lambda w: w[2]), D), np.outer(Q[:, 2], Q[:, 2]), atol=1e-14
    )


def test_nearly_equal_is_not_equal():
    """A gap of 1e-9 is a gap: each eigenvalue has its vector."""
    a = np.diag([1.0, 1 + 1e-9, 2.0])
    np.testing.assert_allclose(in_both_ways(eigenvalues(lambda w: w[0]), a), np.diag([1.0, 0, 0]), atol=1e-7)


# -- eigenvectors ------------------------------------------
@pytest.mark.parametrize("name", ["D", "diagonal"])
@pytest.mark.parametrize("columns", [slice(0, 2), slice(2, 4), slice(3, 4), slice(0, 4)], ids=str)
def test_projections_onto_whole_clusters(name, columns):
    f, a = on_projection(columns), EQUAL[name]
    np.testing.assert_allclose(in_both_ways(f, a), differences(f, a), atol=1e-9)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 2), min_size=2, max_size=6), st.integers(0, 2**32 - 1), st.booleans())
def test_any_multiplicities(values, seed, turned):
    """The projection P onto the space of the least eigenvalue λ: Σ (PCPᵤ + PᵤCP)/(λ − μ) over the others (Kato)."""
    w = np.sort(np.array(values, float))
    rng = np.random.default_rng(seed)
    v = np.linalg.qr(rng.normal(size=(w.size, w.size)))[0] if turned else np.eye(w.size)
    weight = rng.normal(size=(w.size, w.size))
    a, weight = (v * w) @ v.T, weight + weight.T
    count = int(np.sum(w == w[0]))
    least = eigenvectors(lambda v: fnp.sum(weight * (v[:, :count] @ v[:, :count].T)))
    p, rest = v[:, :count] @ v[:, :count].T, v[:, count:] / (w[0] - w[count:]) @ v[:, count:].T
    np.testing.assert_allclose(fx.grad(least)(a), p @ weight @ rest + rest @ weight @ p, atol=1e-12)
    mean = eigenvalues(lambda w: fnp.mean(w[:count]))
    np.testing.assert_allclose(fx.grad(mean)(a), p / count, atol=1e-13)
    single = fx.grad(eigenvalues(lambda w: w[0]))(a)
    assert np.isnan(single).all() if count > 1 else np.isfinite(single).all()


@pytest.mark.parametrize("columns", [slice(0, 1), slice(1, 3), slice(1, 4)], ids=str)
def test_projections_onto_parts_of_clusters_have_no_derivative(columns):
    assert np.isnan(in_both_ways(on_projection(columns), D)).all()


def test_forward_mode_knows_only_the_direction():
    """Along a direction that does not mix the cluster the projection has its derivative, along others it is NaN."""
    f, t = (
        on_projection(slice(0, 2)),
        Q @ np.array([[1.0, 0, 1, 2], [0, -1, 3, 4], [1, 3, 0, 1], [2, 4, 1, 0]]) @ Q.T,
    )
    v = np.linalg.eigh(D)[1]
    block = v[:, :2].T @ t @ v[:, :2]
    t = t - v[:, :2] @ (block - np.diag(np.diag(block))) @ v[:, :2].T
    np.testing.assert_allclose(fx.jvp(f, (D,), (t,))[1], np.sum(fx.grad(f)(D) * t), rtol=1e-11)
    assert np.isnan(fx.jvp(f, (D,), (C + C.T,))[1])


def test_phases_of_complex_eigenvectors_are_arbitrary():
    """As torch, which refuses such a loss; moduli do not depend on them."""
    a = UNITARY * np.array([1.0, 2, 3, 4]) @ UNITARY.conj().T
    assert np.isnan(fx.grad(eigenvectors(lambda v: v[0, 0].real + v[1, 1].imag))(a)).all()
    assert np.isfinite(fx.grad(eigenvectors(lambda v: fnp.abs(v[0, 0])))(a)).all()


# -- values and vectors together ------------------------------------------
@pytest.mark.parametrize("name", ["2I", "zero", "D", "diagonal"])
@pytest.mark.parametrize(
    "f", [lambda w: w, fnp.exp, fnp.sin, lambda w: (w - 2) ** 3], ids=["w", "exp", "sin", "cube"]
)
def test_matrix_functions_are_right_or_nan(name, f):
    """Daleckii and Krein: in the basis of eigenvectors the derivative multiplies by divided differences of f."""
    a = EQUAL[name]
    w, v = np.linalg.eigh(a)
    i, j = np.meshgrid(w, w)
    slope = np.vectorize(fx.grad(f))(i)
    near = np.abs(i - j) < 1e-12
    with np.errstate(all="ignore"):
        divided = np.where(near, slope, (f(i) - f(j)) / (i - j))
    n = len(a)
    t = np.eye(n * n).reshape(n, n, n, n)
    t = (t + t.swapaxes(2, 3)) / 2
    exact = np.einsum("pi,ij,qj,ri,sj,klrs->pqkl", v, divided, v, v, v, t)
    for jacobian in (fx.jacrev, fx.jacfwd):
        assert_right_or_nan(jacobian(spectral(f))(a), exact)


@pytest.mark.parametrize("name", ["2I", "zero", "D", "diagonal"])
def test_second_derivatives_are_right_or_nan(name):
    """Of tr A², in all four nestings: the eigenvalues' own derivative is a matrix function."""
    a = EQUAL[name]
    n = len(a)
    t = np.eye(n * n).reshape(n, n, n, n)
    exact = t + t.swapaxes(2, 3)
    for outer in (fx.jacfwd, fx.jacrev):
        for inner in (fx.jacfwd, fx.jacrev):
            assert_right_or_nan(outer(inner(eigenvalues(lambda w: fnp.sum(w**2))))(a), exact)


def test_slices_leave_clusters_out():
    """The largest eigenpairs of a covariance of low rank: the zeros, a cluster, are none of the function's business."""
    factor = rng.normal(size=(5, 2))
    covariance, weight = factor @ factor.T, rng.normal(size=(5, 5))

    @both
    def largest(w, v):
        return fnp.sum(weight * ((v[:, -2:] * fnp.log(w[-2:])) @ v[:, -2:].T)) + fnp.sum(w)

    np.testing.assert_allclose(in_both_ways(largest, covariance), differences(largest, covariance), atol=1e-7)
    assert np.isnan(fx.grad(both(lambda w, v: fnp.sum(weight * ((v * w) @ v.T))))(covariance)).all()


# -- singular values ------------------------------------------
def test_nuclear_norms_of_repeated_singular_values():
    """UVᴴ, the polar factor, which is smooth: so is its derivative."""
    nuclear = lambda a: fnp.linalg.norm(a, "nuc")  # noqa: E731
    np.testing.assert_allclose(in_both_ways(nuclear, 3 * Q), Q, atol=1e-14)
    tall = 2 * Q[:, :2]
    np.testing.assert_allclose(in_both_ways(nuclear, tall), Q[:, :2], atol=1e-14)
    t = rng.normal(size=(4, 4))
    slope = (fx.grad(nuclear)(Q + STEP * t) - fx.grad(nuclear)(Q - STEP * t)) / (2 * STEP)
    np.testing.assert_allclose(fx.vjp(fx.grad(nuclear), Q)[1](t)[0], slope, atol=1e-8)


def test_norms_of_deficient_rank():
    """Where singular values are zero the norm has a kink; the subgradient without these directions is returned."""
    u, v = Q[:, :2], np.roll(Q, 1, 1)[:, :2]
    a = u * [2.0, 1.0] @ v.T
    np.testing.assert_allclose(in_both_ways(lambda a: fnp.linalg.norm(a, "nuc"), a), u @ v.T, atol=1e-13)
    np.testing.assert_allclose(
        in_both_ways(lambda a: fnp.linalg.norm(a, 2), a), np.outer(u[:, 0], v[:, 0]), atol=1e-13
    )
    for order in ("fro", "nuc", 2, -2):
        assert (fx.grad(lambda a, p=order: fnp.linalg.norm(a, p))(np.zeros((2, 3))) == 0).all()


@pytest.mark.parametrize(
    "f", [lambda a: fnp.linalg.norm(a, 2), lambda a: fnp.linalg.norm(a, -2), fnp.linalg.cond]
)
def test_extreme_singular_values_that_repeat_have_no_derivative(f):
    assert np.isnan(in_both_ways(f, 2 * np.eye(3))).all()


def test_pseudo_inverses_do_not_mind():
    for a in (Q, Q[:, :3], Q[:2], np.eye(3, 4)):
        t = rng.normal(size=a.shape)
        slope = (np.linalg.pinv(a + STEP * t) - np.linalg.pinv(a - STEP * t)) / (2 * STEP)
        np.testing.assert_allclose(fx.jvp(fnp.linalg.pinv, (a,), (t,))[1], slope, atol=1e-8)


def test_polar_factors_of_repeated_singular_values():
    weight = rng.normal(size=(4, 4))

    def polar(a):
        u, _, vh = fnp.linalg.svd(a)
        return fnp.sum(weight * (u @ vh))

    t = rng.normal(size=(4, 4))
    slope = (polar(Q + STEP * t) - polar(Q - STEP * t)) / (2 * STEP)
    np.testing.assert_allclose(np.sum(in_both_ways(polar, Q) * t), slope, rtol=1e-8)


@pytest.mark.parametrize(
    "a",
    [np.eye(3), np.diag([2.0, 1, 0]), np.diag([1.0, 0, 0]), np.eye(4, 2), np.zeros((2, 2)), Q],
    ids=lambda a: str(a.shape),
)
def test_reconstructions_are_right_or_nan(a):
    """U·diag(s)·Vᴴ is A, of which the derivative is the identity."""

    def rebuilt(a):
        u, s, vh = fnp.linalg.svd(a, full_matrices=False)
        return (u * s) @ vh

    exact = np.eye(a.size).reshape(*a.shape, *a.shape)
    for jacobian in (fx.jacrev, fx.jacfwd):
        assert_right_or_nan(jacobian(rebuilt)(a), exact)


# -- matrices without a basis of eigenvectors ------------------------------------------
def test_repeated_eigenvalues_of_general_matrices():
    total = lambda a: fnp.sum(fnp.linalg.eigvals(a)).real  # noqa: E731
    np.testing.assert_allclose(in_both_ways(total, 2 * np.eye(3)), np.eye(3), atol=1e-15)
    assert np.isnan(fx.grad(lambda a: fnp.linalg.eigvals(a)[0].real)(2 * np.eye(3))).all()
    jordan = np.array([[1.0, 1.0], [0.0, 1.0]])
    assert np.isnan(in_both_ways(total, jordan)).all()
    assert np.isnan(fx.jvp(total, (jordan,), (jordan,))[1])


def test_factors_of_deficient_matrices():
    for a in (np.ones((3, 2)), np.ones((2, 3)), np.diag([1.0, 0.0])):
        gradient = fx.grad(lambda a: fnp.linalg.qr(a)[1].sum())(a)
        assert np.isnan(gradient[:, :2]).all()  # of the third column R takes QᴴA, with Q as it is
        assert np.isfinite(gradient[:, 2:]).all()
    scaled = np.diag([1.0, 1e-30])  # columns of different size are not dependent
    np.testing.assert_allclose(
        fx.grad(lambda a: fnp.linalg.qr(a)[1][0, 0])(scaled), [[1, 0], [0, 0]], atol=1e-15
    )
