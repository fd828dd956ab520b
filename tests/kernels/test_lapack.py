"""Triangular systems, LU and its inverse by routines of LAPACK, and the same by NumPy alone."""

import itertools
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from fxgrad.kernels import lapack

DTYPES = ["f4", "f8", "c8", "c16"]
SIZES = [((), 0), ((), 1), ((), 3), ((), 70), ((2,), 5), ((2, 3), 30), ((0,), 4), ((2,), 0)]


@pytest.fixture(params=["routines", "NumPy alone"], autouse=True)
def means(request, monkeypatch):
    """Every test runs with the library, if there is one, and without."""
    if request.param == "NumPy alone":
        monkeypatch.setattr(lapack, "find_library", lambda: None)
    elif not lapack.has_library():
        pytest.skip("no library was found")


def draw(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def regular(batch, n, dtype):
    return (draw((*batch, n, n), dtype) + 4 * np.sqrt(n) * np.eye(n)).astype(dtype)


def tolerance(dtype):
    return 1e-4 if np.dtype(dtype).char in "fF" else 1e-11


def close(actual, expected):
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    limit = tolerance(actual.dtype)
    np.testing.assert_allclose(actual, expected, rtol=limit, atol=limit)


def triangle(a, lower, unit_diagonal):
    a = np.tril(a) if lower else np.triu(a)
    return np.where(np.eye(a.shape[-1], dtype=bool), 1, a).astype(a.dtype) if unit_diagonal else a


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("batch", "n"), SIZES)
def test_triangular_systems(dtype, batch, n):
    a = regular(batch, n, dtype)
    for k, lower, unit in itertools.product((0, 1, 4), (True, False), (True, False)):
        small = a / n if unit and n else a
        b = draw((*batch, n, k), dtype, 1)
        x = lapack.solve_triangular(small.astype(dtype), b, lower, unit)
        close(x, np.linalg.solve(triangle(small, lower, unit).astype(dtype), b))


LAYOUTS = {
    "rows": lambda x: x,
    "columns": lambda x: np.asfortranarray(x),
    "transpose": lambda x: x.T.copy().T,
    "a corner": lambda x: np.pad(x, 3)[3:-3, 3:-3],
    "every other": lambda x: np.repeat(np.repeat(x, 2, 0), 2, 1)[::2, ::2],
    "backwards": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "one row over another": lambda x: np.stack([x, x], 1)[:, 0],
    "misaligned": lambda x: np.frombuffer(b"?" + x.tobytes(), x.dtype, offset=1).reshape(x.shape),
}


@pytest.mark.parametrize("of_matrix", LAYOUTS)
@pytest.mark.parametrize("of_right", LAYOUTS)
def test_no_layout_matters_and_no_operand_is_changed(of_matrix, of_right):
    a, b = regular((), 9, "f8"), draw((9, 4), "f8")
    for k in (1, 4):
        left, right = LAYOUTS[of_matrix](a), LAYOUTS[of_right](b[:, :k])
        if of_matrix != "misaligned":
            left.flags.writeable = False
        for lower in (True, False):
            close(
                lapack.solve_triangular(left, right, lower, False),
                np.linalg.solve(triangle(a, lower, False), b[:, :k]),
            )
        factors, pivots, _ = lapack.factor_matrix(left)
        for transposed in (False, True):
            close(
                lapack.solve_by_factors(factors, pivots, right, transposed),
                np.linalg.solve(a.T if transposed else a, b[:, :k]),
            )
        np.testing.assert_array_equal(left, a)
        np.testing.assert_array_equal(right, b[:, :k])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("batch", "n"), SIZES)
def test_factors_solve_invert_and_give_the_determinant(dtype, batch, n):
    a = regular(batch, n, dtype)[..., ::-1, :]  # rows are exchanged
    factors, pivots, info = lapack.factor_matrix(a)
    order = lapack.order_rows(pivots, n)[..., None]
    lower, upper = triangle(factors, True, True), triangle(factors, False, False)
    close(lower @ upper, np.take_along_axis(a, order, -2))
    assert not info.any()
    for width in (1, 3):
        b = draw((*batch, n, width), dtype)
        close(lapack.solve_by_factors(factors, pivots, b), np.linalg.solve(a, b))
        close(
            lapack.solve_by_factors(factors, pivots, b, transposed=True),
            np.linalg.solve(np.swapaxes(a, -1, -2), b),
        )
    close(lapack.invert_factors(factors, pivots), np.linalg.inv(a))
    for actual, expected in zip(lapack.log_determinant(factors, pivots), np.linalg.slogdet(a)):
        close(np.asarray(actual), np.asarray(expected))


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (2, 40, 30), (2, 0, 3)])
def test_factors_of_matrices_that_are_not_square(shape):
    a = draw(shape, "f8")
    factors, pivots, _ = lapack.factor_matrix(a)
    m, n = shape[-2:]
    k = min(m, n)
    lower = np.tril(factors[..., :k], -1) + np.eye(m, k)
    order = lapack.order_rows(pivots, m)[..., None]
    close(lower @ np.triu(factors[..., :k, :]), np.take_along_axis(a, order, -2))


@pytest.mark.parametrize("flip", [np.tril, np.triu])
def test_a_triangular_matrix_is_its_own_factor(flip):
    a, b = flip(regular((), 40, "f8")), draw((40, 3), "f8")
    factors, pivots = lapack.factor_system(a)
    np.testing.assert_array_equal(pivots, np.arange(40))
    np.testing.assert_array_equal(np.diagonal(factors), np.diagonal(a))
    close(lapack.solve_by_factors(factors, pivots, b), np.linalg.solve(a, b))
    close(lapack.solve_by_factors(factors, pivots, b, transposed=True), np.linalg.solve(a.T, b))
    close(lapack.invert_factors(factors, pivots), np.linalg.inv(a))


def test_a_triangle_whose_quotients_overflow_is_eliminated():
    a = np.array([[1e-200, 0], [1e200, 1.0]])
    for found, expected in zip(lapack.factor_system(a), lapack.factor_matrix(a)):
        np.testing.assert_array_equal(found, expected)


def test_what_depends_on_a_zero_of_the_diagonal_is_nan():
    a = np.eye(40) + np.tri(40, k=-1) / 40
    a[7, 7] = 0
    for k in (1, 2):
        x = lapack.solve_triangular(a, np.ones((40, k)), True, False)
        assert np.isnan(x[7:]).all()
    assert a[7, 7] == 0


def test_the_triangle_that_is_not_read_may_be_anything():
    a = np.where(np.tri(40, dtype=bool), np.eye(40) + 0.01, np.nan)
    assert np.isfinite(lapack.solve_triangular(a, np.ones((40, 2)), True, False)).all()
    assert np.isfinite(lapack.solve_triangular(a.T, np.ones((40, 2)), False, False)).all()
    a[np.diag_indices(40)] = np.inf
    assert np.isfinite(lapack.solve_triangular(a, np.ones((40, 2)), True, True)).all()


def test_singular_matrices():
    a = np.diag(np.where(np.arange(30) == 4, 0.0, 2.0)) + np.triu(np.ones((30, 30)), 1)
    stack = np.stack([a, np.eye(30)])
    factors, pivots, info = lapack.factor_matrix(stack)
    assert info.tolist() == [5, 0]
    sign, size = lapack.log_determinant(factors, pivots)
    assert (sign[0], size[0]) == (0, -np.inf)
    inverse = lapack.invert_factors(factors, pivots)
    assert np.isnan(inverse[0]).all()
    close(inverse[1], np.eye(30))


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_first_minor_that_is_not_positive(dtype):
    a = np.diag([1, 2, -1, 3]).astype(dtype)
    assert lapack.find_indefinite(a) == 3
    assert lapack.find_indefinite(np.stack([a, np.eye(4, dtype=dtype)])).tolist() == [3, 0]
    assert lapack.find_indefinite(np.zeros((2, 0, 0), dtype)).tolist() == [0, 0]


def test_threads_solve_at_the_same_time():
    a, b = regular((), 60, "f8"), draw((60, 5), "f8")
    expected, wrong = np.linalg.solve(a, b), []

    def work():
        for _ in range(20):
            factors, pivots, _ = lapack.factor_matrix(a)
            x = lapack.solve_by_factors(factors, pivots, b)
            if not np.allclose(x, expected):
                wrong.append(x)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not wrong
    assert not any(t.is_alive() for t in threads)


def test_a_library_without_the_routines_or_with_other_integers_is_not_taken():
    def find(name):
        raise AttributeError(name)

    assert not lapack.is_right(lapack.Library(find, "i8"))

    class Silent(lapack.Library):
        def call(self, *arguments):
            return 0

    assert not lapack.is_right(Silent(find, "i8"))


def test_scipy_has_the_routines_where_numpy_does_not():
    pytest.importorskip("scipy.linalg")
    library = lapack.Library(lapack.scipy_finder(), "i4")
    assert lapack.is_right(library)
    a, x = np.array(regular((), 6, "c16")), draw((6, 2), "c16")
    y = x.copy()
    lapack.substitute_in(library, a, y, True, False, False)
    close(y, np.linalg.solve(np.tril(a), x))


def test_the_environment_says_that_none_is_to_be_looked_for():
    code = "from fxgrad.kernels import lapack; print(lapack.has_library())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "FXGRAD_LAPACK": "numpy"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.strip() == "False"
