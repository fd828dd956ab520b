"""fxgrad.scipy.sparse: products and systems with matrices whose entries are constants, or traced."""

import numpy as np
import pytest
import scipy.sparse

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.core.errors import ShapeError, StructureError
from fxgrad.scipy import sparse
from fxgrad.scipy.sparse import linalg
from fxgrad.testing import check_grads

rng = np.random.default_rng(0)
N = 5
A = rng.normal(size=(N, N))
DEFINITE = A @ A.T + N * np.eye(N)
GENERAL = A + 3 * N * np.eye(N)
INDEFINITE = A + A.T + np.diag(np.where(np.arange(N) % 2, 9.0, -9.0))
Z = A + 1j * rng.normal(size=(N, N))
B = rng.normal(size=N)
METHODS = {"cg": DEFINITE, "bicgstab": GENERAL, "gmres": GENERAL, "minres": INDEFINITE}
S = scipy.sparse.csr_array(np.array([[1.0, 2, 0], [0, 3, 0]]))
X = np.array([1.0, 2, 3])
EXACT = {"tol": 1e-13}


# -- iterations ------------------------------------------
@pytest.mark.parametrize("name", METHODS)
def test_methods_are_differentiated_as_solutions(name):
    method, a = getattr(linalg, name), METHODS[name]
    symmetric = name in ("cg", "minres")

    def loss(solve):
        def f(a, b):
            return fnp.sum(fnp.sin(solve(a + a.T if symmetric else a, b)))

        return f

    found = fx.value_and_grad(loss(lambda a, b: method(a, b, **EXACT)[0]), (0, 1))(
        a / 2 if symmetric else a, B
    )
    expected = fx.value_and_grad(loss(fnp.linalg.solve), (0, 1))(a / 2 if symmetric else a, B)
    for ours, theirs in zip(fx.tree.leaves(found), fx.tree.leaves(expected)):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


@pytest.mark.parametrize("name", METHODS)
def test_methods_in_every_transform(name):
    method, a = getattr(linalg, name), METHODS[name]

    def f(b):
        return method(a, b, **EXACT)[0]

    x = np.linalg.solve(a, B)
    np.testing.assert_allclose(fx.jit(f)(B), x, atol=1e-10)
    np.testing.assert_allclose(fx.vmap(f, 1, 1)(np.stack([B, 2 * B], 1)), np.stack([x, 2 * x], 1), atol=1e-10)
    np.testing.assert_allclose(fx.jacobian(f)(B), np.linalg.inv(a), atol=1e-10)
    if name == "cg":
        check_grads(lambda b: f(b) ** 2, (B,), order=2)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(("cg", kind) for kind in ("sparse", "operator", "function")),
        *((name, kind) for name in METHODS for kind in ("complex", "float32")),
    ],
)
def test_kinds_of_matrices(name, kind):
    method, a, b = getattr(linalg, name), METHODS[name], B
    if kind == "complex":
        a = Z @ Z.conj().T + np.eye(N)
        b = Z[0]
    if kind == "float32":
        a, b = a.astype("f4"), b.astype("f4")
    given = {
        "sparse": lambda: scipy.sparse.csr_array(a),
        "operator": lambda: scipy.sparse.linalg.aslinearoperator(a),
        "function": lambda: lambda x: a @ x,
    }.get(kind, lambda: a)()
    tol = 1e-5 if kind == "float32" else 1e-13
    x, info = method(given, b, tol=tol)
    assert int(info) == 0
    assert x.dtype == a.dtype
    np.testing.assert_allclose(a @ x, b, atol=1e-3 if kind == "float32" else 1e-10)
    g = fx.grad(lambda b: fnp.sum(fnp.abs(method(given, b, tol=tol)[0]) ** 2))(b)
    expected = fx.grad(lambda b: fnp.sum(fnp.abs(fnp.linalg.solve(a, b)) ** 2))(b)
    np.testing.assert_allclose(g, expected, atol=1e-4 if kind == "float32" else 1e-9)


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
def test_preconditioners_are_transposed_with_the_system(name):
    a, m = METHODS[name], np.diag(1 / np.diag(METHODS[name])) + 0.001 * (A if name != "cg" else 0)
    g = fx.grad(lambda b: fnp.sum(getattr(linalg, name)(a, b, M=m, **EXACT)[0] ** 2))(B)
    np.testing.assert_allclose(g, 2 * np.linalg.solve(a.T, np.linalg.solve(a, B)), atol=1e-9)


def test_pytrees_a_start_and_an_end():
    b = {"u": np.ones(2), "v": np.ones((2, 2))}
    x, info = linalg.cg(lambda t: {"u": 2 * t["u"], "v": 4 * t["v"]}, b)
    assert int(info) == 0
    np.testing.assert_allclose(fx.tree.ravel_pytree(x)[0], [0.5] * 2 + [0.25] * 4)
    exact = np.linalg.solve(DEFINITE, B)
    assert int(linalg.cg(DEFINITE, B, exact, rtol=1e-9, maxiter=0)[1]) == 0
    assert int(linalg.cg(DEFINITE, B, rtol=1e-9, maxiter=2)[1]) == 2
    assert int(linalg.gmres(GENERAL, B, tol=1e-13, restart=1, maxiter=1)[1]) == 1
    np.testing.assert_array_equal(linalg.cg(DEFINITE, 0 * B)[0], 0 * B)


@pytest.mark.parametrize("ravelled", [False, True])
def test_an_operator_of_curvature_takes_what_its_parameters_are_and_has_derivatives(ravelled):
    params = {"matrix": rng.normal(size=(2, 2)), "bias": np.array(0.5)}

    def step(scale):
        def model(p):
            return fnp.tanh(scale * (B[:4].reshape(2, 2) @ p["matrix"])) + p["bias"]

        def loss(y):
            return fnp.sum(y**2)

        matrix = fx.ggn_product(model, loss, damping=0.1)(params)
        gradient = fx.grad(lambda p: loss(model(p)))(params)
        flat, _ = fx.tree.ravel_pytree(gradient)
        found, info = linalg.cg(matrix, flat if ravelled else gradient, **EXACT)
        return fx.tree.ravel_pytree(found)[0], (matrix.todense(), flat, info)

    found, (dense, flat, info) = step(1.3)
    assert int(info) == 0
    np.testing.assert_allclose(found, np.linalg.solve(dense, flat), rtol=1e-9)
    check_grads(lambda scale: step(scale)[0], (1.3,), order=1)


@pytest.mark.parametrize("solve", [linalg.spsolve, lambda a, b: linalg.gmres(a, b, **EXACT)[0]])
def test_newton_steps_with_sparse_jacobians_have_derivatives(solve):
    def residual(u, k):
        padded = fnp.pad(u, 1)
        return padded[2:] - 3 * u + padded[:-2] + k * fnp.exp(-u)

    def root(k):
        u = np.zeros(N)
        for _ in range(6):
            u = u - solve(fx.jacobian(residual, sparsity="auto")(u, k), residual(u, k))
        return u

    np.testing.assert_allclose(residual(root(0.5), 0.5), 0, atol=1e-12)
    np.testing.assert_allclose(fx.jit(root)(0.5), root(0.5), rtol=1e-12)
    check_grads(root, (0.5,), order=1)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: linalg.cg(np.ones((2, 3)), np.ones(2)), ShapeError),
        (lambda: linalg.cg(np.eye(2), np.ones(2), (np.ones(2),)), StructureError),
        (lambda: linalg.cg(np.eye(2), np.ones(2), np.ones(3)), StructureError),
        (lambda: linalg.gmres(np.eye(2), np.ones(2), solve_method="fast"), ValueError),
        (lambda: linalg.spsolve(S, np.ones(3)), ShapeError),
        (lambda: linalg.spsolve(scipy.sparse.csc_array((2, 2)), np.ones(2)), np.linalg.LinAlgError),
        (lambda: sparse.coo_array(S) @ np.ones(2), ShapeError),
        (lambda: sparse.coo_array((np.ones(1), ([5], [0])), (2, 2)), ValueError),
        (lambda: sparse.coo_array((np.ones(2), ([1], [0]))), ValueError),
        (lambda: sparse.diags_array([np.ones(3)], offsets=[0], shape=(2, 2)), ValueError),
    ],
)
def test_errors(call, error):
    with pytest.raises(error):
        call()


# -- products ------------------------------------------
PRODUCTS = {
    "S @ x": lambda x: S @ x,
    "x @ S": lambda x: x @ S.T,
    "S @ X": lambda x: S @ fnp.stack([x, x**2], 1),
    "X @ S": lambda x: fnp.stack([x, x**2]) @ S.T,
    "S.dot(x)": lambda x: S.dot(x),
    "a matrix of SciPy's": lambda x: scipy.sparse.csc_matrix(S) @ x,
    "ours @ x": lambda x: sparse.coo_array(S) @ x,
    "x @ ours": lambda x: x @ sparse.coo_array(S).T,
    "stacks": lambda x: sparse.coo_array(S) @ (x[:, None] * np.ones((2, 1, 2))),
    "entries": lambda x: (x[0] * sparse.coo_array(S) + S) @ x - (-sparse.coo_array(S) / x[1]) @ x,
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name):
    f = PRODUCTS[name]
    np.testing.assert_allclose(fx.jvp(f, (X,), (X,))[0], f(X))
    np.testing.assert_allclose(fx.jit(f)(X), f(X))
    np.testing.assert_allclose(fx.vmap(f)(np.stack([X, 2 * X]))[1], f(2 * X))
    check_grads(f, (X,), order=2)


def test_a_gradient_by_a_sparse_matrix_is_one():
    a = scipy.sparse.random_array((N, N), density=0.3, rng=rng).tocoo() + scipy.sparse.diags_array(
        4 * np.ones(N)
    )
    ours = sparse.coo_array(a)

    def loss(a):
        return fnp.sum(linalg.spsolve(a, B) ** 2) + fnp.sum((a @ B) ** 2) + fnp.sum((B @ a.T) ** 3)

    def dense_loss(a):
        return fnp.sum(fnp.linalg.solve(a, B) ** 2) + fnp.sum((a @ B) ** 2) + fnp.sum((B @ a.T) ** 3)

    g, expected = fx.jit(fx.grad(loss))(ours), fx.grad(dense_loss)(a.toarray())
    assert isinstance(g, sparse.coo_array)
    assert g.shape == (N, N)
    np.testing.assert_allclose(g.data, expected[g.row, g.col], rtol=1e-9)
    check_grads(lambda data: loss(ours.made_of(data, ours.places)), (ours.data,), order=2)
    mapped = fx.vmap(lambda data: loss(ours.made_of(data, ours.places)))(np.stack([ours.data, 2 * ours.data]))
    np.testing.assert_allclose(mapped, [loss(ours), loss(2 * ours)])


def test_forms_of_sparse_arrays():
    dense = np.array([[0.0, 2, 0], [3, 0, 4]])
    for make in (sparse.csr_array, sparse.csc_array):
        theirs = getattr(scipy.sparse, make.__name__)(dense)
        ours = make((theirs.data, theirs.indices, theirs.indptr), theirs.shape)
        np.testing.assert_array_equal(ours.toarray(), dense)
        np.testing.assert_array_equal(make(dense).T.toarray(), dense.T)
    made = sparse.diags_array([np.arange(3.0), 7], offsets=[0, 1], shape=(3, 4))
    theirs = scipy.sparse.diags_array([np.arange(3.0), 7], offsets=[0, 1], shape=(3, 4))
    np.testing.assert_array_equal(made.toarray(), theirs.toarray())
    assert sparse.issparse(made)
    assert sparse.issparse(S)
    assert not sparse.issparse(X)
    leaves, structure = fx.tree.flatten(made)
    assert structure == fx.tree.structure(sparse.coo_array(made))
    assert fx.tree.unflatten(structure, leaves).nnz == made.nnz == 6
