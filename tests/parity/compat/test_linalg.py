"""Linear algebra beyond the cases: misuse, singular matrices, results with names, and where torch is not followed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.comparison import outcome

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def wide(t):
    return t.ones(2, 3)


def one(t):
    return t.eye(2)


def singular(t):
    return t.tensor([[1.0, 2.0], [2.0, 4.0]])


# What torch refuses, in its words: a function of the library each.
MISUSE = {
    "mm of unequal sizes": lambda t: t.mm(wide(t), wide(t)),
    "mm of two dtypes": lambda t: t.mm(wide(t), t.ones(3, 2, dtype=t.float64)),
    "matmul of two dtypes": lambda t: wide(t) @ t.ones(3, 2, dtype=t.int64),
    "mm of a number": lambda t: t.mm(wide(t), 3),
    "bmm of matrices": lambda t: t.bmm(wide(t), wide(t)),
    "bmm of unequal sizes": lambda t: t.bmm(t.ones(1, 2, 3), t.ones(1, 2, 3)),
    "mv of unequal sizes": lambda t: t.mv(wide(t), t.ones(2)),
    "dot of matrices": lambda t: t.dot(wide(t), wide(t)),
    "dot of unequal sizes": lambda t: t.dot(t.ones(3), t.ones(2)),
    "matmul of a number": lambda t: t.matmul(wide(t), t.tensor(1.0)),
    "matmul of unequal vectors": lambda t: t.ones(3) @ t.ones(2),
    "matmul of unequal batches": lambda t: t.ones(2, 2, 3) @ t.ones(3, 3, 2),
    "addmm with a bias that does not fit": lambda t: t.addmm(t.ones(5, 5), wide(t), t.ones(3, 2)),
    "outer of matrices": lambda t: t.outer(wide(t), wide(t)),
    "inner of unequal sizes": lambda t: t.inner(wide(t), t.ones(2, 2)),
    "tensordot of unequal sizes": lambda t: t.tensordot(wide(t), wide(t), 1),
    "einsum of too many operands": lambda t: t.einsum("ij", wide(t), wide(t)),
    "einsum of unequal sizes": lambda t: t.einsum("ij,jk", wide(t), wide(t)),
    "einsum of an unknown letter": lambda t: t.einsum("ij->iz", wide(t)),
    "cross without three": lambda t: t.linalg.cross(one(t), one(t)),
    "cdist of unequal columns": lambda t: t.cdist(wide(t), one(t)),
    "cdist of a negative order": lambda t: t.cdist(wide(t), wide(t), p=-1),
    "cdist of a vector": lambda t: t.cdist(t.ones(3), wide(t)),
    "multi_dot of one": lambda t: t.linalg.multi_dot([wide(t)]),
    "multi_dot of unequal sizes": lambda t: t.linalg.multi_dot([wide(t), wide(t)]),
    "inv of a wide matrix": lambda t: t.linalg.inv(wide(t)),
    "inv of a vector": lambda t: t.linalg.inv(t.ones(2)),
    "inv of integers": lambda t: t.linalg.inv(t.ones(2, 2, dtype=t.int64)),
    "inv of a singular matrix": lambda t: t.linalg.inv(singular(t)),
    "inv of a singular matrix among others": lambda t: t.linalg.inv(t.stack([one(t), singular(t)])),
    "inv_ex with check_errors": lambda t: t.linalg.inv_ex(singular(t), check_errors=True),
    "solve with a singular matrix": lambda t: t.linalg.solve(singular(t), t.ones(2)),
    "solve of unequal sizes": lambda t: t.linalg.solve(one(t), t.ones(3)),
    "solve of two dtypes": lambda t: t.linalg.solve(one(t), t.ones(2, dtype=t.float64)),
    "det of a wide matrix": lambda t: t.linalg.det(wide(t)),
    "cholesky of a negative matrix": lambda t: t.linalg.cholesky(-one(t)),
    "cholesky of a negative matrix among others": lambda t: t.linalg.cholesky(t.stack([one(t), -one(t)])),
    "torch.cholesky of a negative matrix": lambda t: t.cholesky(-one(t)),
    "qr of a vector": lambda t: t.linalg.qr(t.ones(2)),
    "qr in an unknown mode": lambda t: t.linalg.qr(wide(t), "foo"),
    "svd with a driver": lambda t: t.linalg.svd(wide(t), driver="gesvd"),
    "eigh of an unknown triangle": lambda t: t.linalg.eigh(one(t), UPLO="X"),
    "lu without pivots": lambda t: t.linalg.lu_factor(one(t), pivot=False),
    "lu_factor of a singular matrix": lambda t: t.linalg.lu_factor(singular(t)),
    "lu_solve with pivots of int64": lambda t: t.linalg.lu_solve(one(t), t.tensor([1, 2]), one(t)),
    "lstsq with an unknown driver": lambda t: t.linalg.lstsq(one(t), one(t), driver="foo"),
    "norm of integers": lambda t: t.linalg.norm(t.ones(2, dtype=t.int64)),
    "matrix norm of an unknown order": lambda t: t.linalg.matrix_norm(wide(t), ord=3),
    "matrix norm of a vector": lambda t: t.linalg.matrix_norm(t.ones(2)),
    "norm of an order and three dimensions": lambda t: t.linalg.norm(t.ones(2, 2, 2), ord=2),
    "cond of a wide matrix": lambda t: t.linalg.cond(wide(t), 1),
    "tensorinv that is not square": lambda t: t.linalg.tensorinv(t.ones(3, 2, 2)),
    "matrix_exp of a wide matrix": lambda t: t.linalg.matrix_exp(wide(t)),
    "fft of no points": lambda t: t.fft.fft(t.ones(2), n=0),
    "fft with an unknown norm": lambda t: t.fft.fft(t.ones(2), norm="foo"),
    "fft along a dimension that is not there": lambda t: t.fft.fft(t.ones(2), dim=3),
    "fft of half precision": lambda t: t.fft.fft(t.ones(2, dtype=t.float16)),
    "fft of a number": lambda t: t.fft.fft(t.tensor(1.0)),
    "rfft of complex numbers": lambda t: t.fft.rfft(t.ones(2, dtype=t.complex64)),
    "irfft of one entry": lambda t: t.fft.irfft(t.ones(1)),
    "fft2 along one dimension twice": lambda t: t.fft.fft2(wide(t), dim=(0, 0)),
    "fftn of more sizes than dimensions": lambda t: t.fft.fftn(wide(t), s=(2, 2, 2)),
    "fftn of unequal sizes and dimensions": lambda t: t.fft.fftn(wide(t), s=(2,), dim=(0, 1)),
    "complex of two dtypes": lambda t: t.complex(t.ones(2), t.ones(2, dtype=t.float64)),
    "complex of integers": lambda t: t.complex(t.ones(2, dtype=t.int64), t.ones(2, dtype=t.int64)),
}


def first_line(run):
    try:
        run()
    except Exception as error:
        return str(error).partition("\n")[0]
    return None


@pytest.mark.parametrize("name", MISUSE)
def test_misuse(name):
    run = MISUSE[name]
    _, theirs = outcome(lambda: run(torch))
    assert theirs is not None
    assert outcome(lambda: run(fxt))[1] is theirs
    assert first_line(lambda: run(fxt)) == first_line(lambda: run(torch))


@pytest.mark.parametrize(
    "name", [n for n in MISUSE if "singular" in n or "negative matrix" in n or "errors" in n]
)
def test_matrices_that_cannot_be_computed_with_raise_a_class_of_their_own(name):
    if name != "lu_factor of a singular matrix":  # torch raises a RuntimeError
        for library in (torch, fxt):
            with pytest.raises(library.linalg.LinAlgError):
                MISUSE[name](library)


def test_results_have_names():
    def fields(t):
        a = t.tensor([[2.0, 1.0], [1.0, 3.0]])
        results = [
            t.linalg.svd(a), t.svd(a), t.linalg.eigh(a), t.linalg.eig(a), t.linalg.qr(a), t.qr(a), t.linalg.slogdet(a),
            t.linalg.lu(a), t.linalg.lu_factor(a), t.linalg.lu_factor_ex(a), t.linalg.inv_ex(a),
            t.linalg.solve_ex(a, a), t.linalg.cholesky_ex(a), t.linalg.lstsq(a, a), t.triangular_solve(a, a),
            t.lu_unpack(*t.linalg.lu_factor(a)),
        ]  # fmt: skip
        names = [[n for n in dir(r) if not n.startswith("_") and n not in dir(tuple)] for r in results]
        return [[n for n in found if not n.startswith("n_")] for found in names]

    assert fields(fxt) == fields(torch)


def test_info_tells_what_is_wrong():
    def infos(t):
        stack = t.stack([one(t), singular(t)])
        return [
            t.linalg.inv_ex(stack).info.tolist(),
            t.linalg.solve_ex(stack, stack).info.tolist(),
            t.linalg.lu_factor_ex(stack).info.tolist(),
            t.linalg.cholesky_ex(t.stack([one(t), -one(t)])).info.tolist(),
        ]

    assert infos(fxt) == infos(torch)


def test_logdet_of_a_negative_determinant():
    def values(t):
        return t.logdet(t.stack([one(t), t.tensor([[-1.0, 0.0], [0.0, 1.0]]), singular(t)])).tolist()

    np.testing.assert_equal(values(fxt), values(torch))


def test_det_of_a_singular_matrix_has_its_cofactors_as_gradient():
    a = fxt.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 1.0, 1.0]], dtype=fxt.float64, requires_grad=True)
    fxt.linalg.det(a).backward()
    np.testing.assert_allclose(a.grad.numpy(), [[-2, -2, 2], [1, 1, -1], [0, 0, 0]], atol=1e-12)


@pytest.mark.parametrize("upper", [False, True])
def test_the_gradient_of_a_cholesky_factor_takes_it_whole(upper):
    """Also the triangle that is not read, as torch's does; what that gives goes no further where L is a triangle."""

    def gradients(t, triangle):
        rng = np.random.default_rng(0)
        factor = t.from_numpy(rng.normal(size=(2, 3, 3)) + 3 * np.eye(3)).requires_grad_()
        b, given = t.from_numpy(rng.normal(size=(3, 2))).requires_grad_(), triangle(factor)
        y = (t.cholesky_solve(b, given, upper=upper) ** 2).sum()
        y = y + (t.cholesky_inverse(given, upper=upper) ** 2).sum()
        found = t.autograd.grad(y, (factor, b), create_graph=True)
        if triangle is whole:
            return [g.detach().numpy() for g in found]
        return [g.detach().numpy() for g in (*found, *t.autograd.grad((found[0] ** 2).sum(), (factor, b)))]

    def whole(factor):
        return factor

    def part(factor):
        return factor.triu() if upper else factor.tril()

    for triangle in (whole, part):
        for ours, theirs in zip(gradients(fxt, triangle), gradients(torch, triangle), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_vander_has_the_gradient_of_powers():
    x = fxt.tensor([0.0, 1.0, -2.0], dtype=fxt.float64, requires_grad=True)
    fxt.vander(x, 4).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [1.0, 1 + 2 + 3, 1 - 4 + 12])


def test_products_take_views_and_their_gradients_come_back_to_the_base():
    def gradients(t):
        a = t.from_numpy(np.arange(6.0).reshape(2, 3)).requires_grad_()
        return t.autograd.grad((a @ a.T @ a[:, 1:]).sum(), a)[0].numpy()

    np.testing.assert_allclose(gradients(fxt), gradients(torch))


def test_cholesky_ex_does_not_raise_where_rounding_decides():
    for seed in range(300):
        rng = np.random.default_rng(seed)
        half = rng.standard_normal((2, 4, rng.integers(1, 5)), dtype=np.float32)
        matrix = half @ half.swapaxes(1, 2)
        factor, info = fxt.linalg.cholesky_ex(fxt.from_numpy(matrix))
        for m, root, i in zip(matrix, factor.numpy(), info.tolist()):
            assert np.isnan(root).all() if i else np.allclose(root @ root.T, m, atol=1e-4)


@pytest.mark.parametrize("name", ["pinv", "matrix_rank"])
@pytest.mark.parametrize("shape", [(3, 3), (3, 2), (0, 0), (2, 0)], ids=str)
@pytest.mark.parametrize("kind", ["atol", "rtol"])
def test_tolerances_may_be_entries_of_a_batch(name, shape, kind):
    m, n = shape
    matrices = np.stack([np.diag([1.0, 1e-3, 1e-6])[:m, :n] + 0.1 * np.eye(m, n, 1)] * 2)

    def run(t):
        a, tolerances = t.tensor(matrices), t.tensor([1e-2, 1e-9], dtype=t.float64)
        function = getattr(t.linalg, name)
        return [
            t.vmap(lambda x, r: function(x, **{kind: r}))(a, tolerances).numpy(),
            t.vmap(lambda x: function(x, **{kind: tolerances[0]}))(a).numpy(),
            function(a[0].float(), **{kind: tolerances[0]}).numpy(),
        ]

    if name == "matrix_rank" and not (m and n):
        return  # which torch has not for empty matrices of a batch
    for ours, theirs in zip(run(fxt), run(torch)):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, 1e-6, 1e-6 * np.abs(theirs).max(initial=0))


NUCLEAR = {
    "linalg.norm": lambda t, x: t.linalg.norm(x, "nuc"),
    "linalg.matrix_norm": lambda t, x: t.linalg.matrix_norm(x, "nuc"),
    "norm": lambda t, x: x.norm("nuc"),
    "nuclear_norm": lambda t, x: t.nuclear_norm(x),
    "linalg.svdvals": lambda t, x: t.linalg.svdvals(x).sum(),
    "linalg.svd": lambda t, x: t.linalg.svd(x).S.sum(),
}


@pytest.mark.parametrize("name", NUCLEAR)
def test_the_gradient_of_a_nuclear_norm_has_null_vectors(name):
    """As in torch, unlike fxgrad.numpy's: UVᴴ with all of them, also where singular values are 0."""

    def gradient(t, value):
        x = t.tensor(value, requires_grad=True)
        NUCLEAR[name](t, x).backward()
        return x.grad.numpy()

    for value in (np.zeros((2, 3)), np.diag([2.0, 0.0, 0.0]), np.eye(3)):
        np.testing.assert_allclose(gradient(fxt, value), gradient(torch, value), atol=1e-12)
    singular = np.outer([1.0, 2.0, 3.0], [1.0, 2.0])
    for t in (fxt, torch):  # which may choose others
        found = gradient(t, singular)
        np.testing.assert_allclose(found.T @ found, np.eye(2), atol=1e-12)
        np.testing.assert_allclose((found * singular).sum(), np.linalg.norm(singular))
