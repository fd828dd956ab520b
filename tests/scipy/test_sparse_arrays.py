"""fxgrad.scipy.sparse: matrices that are made of others, against SciPy's, and their derivatives."""

import numpy as np
import pytest
import scipy.sparse

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.scipy import sparse

A, B = np.array([[1.0, 0, 2], [0, 0, 3]]), np.array([[0.0, 4], [5, 0], [0, 6]])
D = [np.array([1.0, 2, 3]), np.array([4.0, 5])]
CALLS = {
    "diags": lambda s: s.diags(D, [0, -1]),
    "diags of numbers": lambda s: s.diags([[1.0], [-2.0], [1.0]], [-1, 0, 1], shape=(4, 5)),
    "diags, one": lambda s: s.diags([D[0]], [2], dtype=np.float32),
    "eye": lambda s: s.eye(3, 5, 1),
    "eye below": lambda s: s.eye(3, 2, -1, dtype=int),
    "eye_array": lambda s: s.eye_array(2, 4, k=-1),
    "identity": lambda s: s.identity(3),
    "kron": lambda s: s.kron(s.coo_array(A), B),
    "vstack": lambda s: s.vstack([s.coo_array(A), s.coo_array(A)]),
    "hstack": lambda s: s.hstack([s.coo_array(A), s.coo_array(A[:, :1])]),
    "block_diag": lambda s: s.block_diag([s.coo_array(A), s.coo_array(B)]),
    "block_array": lambda s: s.block_array([[s.coo_array(A), None], [None, s.coo_array(B)]]),
    "tocsr": lambda s: s.coo_array(A).tocsr().tocsc().tocoo().asformat("csr"),
    "multiply": lambda s: s.coo_array(A).multiply(np.array([2.0, 3, 4])),
}
REDUCTIONS = {
    **{f"diagonal {k}": lambda a, k=k: a.diagonal(k) for k in (-2, -1, 0, 1, 2)},
    **{f"sum {axis}": lambda a, axis=axis: a.sum(axis=axis) for axis in (None, 0, 1, -1)},
}


@pytest.mark.parametrize("name", CALLS)
def test_matrices_are_scipys(name):
    ours, theirs = CALLS[name](sparse), CALLS[name](scipy.sparse)
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    np.testing.assert_array_equal(ours.toarray(), theirs.toarray())


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dense", [A, B, A.T @ A], ids=["wide", "tall", "square"])
def test_reductions_are_scipys(name, dense):
    np.testing.assert_array_equal(
        REDUCTIONS[name](sparse.coo_array(dense)), REDUCTIONS[name](scipy.sparse.coo_array(dense))
    )


def test_derivatives_pass_through():
    def total(x):
        a = sparse.diags([x, x[1:]], [0, 1])
        both = sparse.kron(sparse.eye(2), sparse.vstack([a, a.multiply(x)]))
        return (both @ np.arange(6.0)).sum() + a.diagonal(1).sum() + a.sum(axis=0)[2]

    x = np.array([1.0, 2, 3])
    fx.testing.check_grads(total, (x,), order=2)


def test_blocks_of_different_sizes():
    with pytest.raises(fx.ShapeError, match="of one size"):
        sparse.hstack([sparse.eye(2), sparse.eye(3)])


def test_a_dense_traced_matrix_has_entries_everywhere():
    def product(x):
        return sparse.csr_array(fnp.diag(x)) @ np.arange(3.0)

    np.testing.assert_array_equal(fx.jacobian(product)(np.ones(3)), np.diag([0.0, 1.0, 2.0]))
    np.testing.assert_array_equal(fx.jit(product)(np.full(3, 2.0)), [0.0, 2.0, 4.0])
