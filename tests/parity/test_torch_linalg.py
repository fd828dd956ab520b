"""numpy.linalg against torch.linalg, which has what JAX lacks: wide QR, eigenvectors of general matrices, gelsd."""

import numpy as np
import pytest
import torch

import fxgrad as fx
import fxgrad.numpy as fnp

# torch warns of itself when it first uses forward mode.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")

rng = np.random.default_rng(12)
A = rng.normal(size=(3, 3)) + 3 * np.eye(3)
Z = A + 1j * rng.normal(size=(3, 3))
TALL, WIDE = rng.normal(size=(4, 2)), rng.normal(size=(2, 4))
CTALL, CWIDE = TALL + 1j * WIDE.T, WIDE - 1j * TALL.T
STACK = rng.normal(size=(2, 3, 3)) + 3 * np.eye(3)
POSITIVE = Z @ Z.conj().T


def of_qr(la, a):
    q, r = la.qr(a)
    return abs(q) @ abs(r)


def of_svd(la, a):
    u, s, vh = la.svd(a, full_matrices=False)
    return abs((u * s**2) @ vh) + s.sum()


def of_eig(la, a):
    w, v = la.eig(a)
    return abs(v) @ (abs(v).T * abs(w[:, None]))


def of_eigh(la, a):
    w, v = la.eigh(a)
    return abs(v * w)


# (function of the namespace linalg and a matrix, with a real result; matrices)
CASES = {
    "solve": (lambda la, a: abs(la.solve(a, a[..., :2] ** 2)), [A, Z, STACK]),
    "inv": (lambda la, a: abs(la.inv(a)), [A, Z, STACK]),
    "det": (lambda la, a: abs(la.det(a)), [A, Z, STACK]),
    "slogdet": (lambda la, a: la.slogdet(a)[1], [A, Z, STACK]),
    "cholesky": (lambda la, a: la.cholesky((a + a.conj().T) / 2).real, [POSITIVE, POSITIVE.real]),
    "qr": (of_qr, [A, Z, TALL, WIDE, CTALL, CWIDE]),
    "svd": (of_svd, [A, Z, TALL, WIDE, CTALL, CWIDE]),
    "svdvals": (lambda la, a: la.svdvals(a), [A, Z, TALL, CWIDE, STACK]),
    "eigh": (of_eigh, [POSITIVE, POSITIVE.real]),
    "eigvalsh": (lambda la, a: la.eigvalsh(a), [POSITIVE, POSITIVE.real]),
    "eig": (of_eig, [A, Z]),
    "pinv": (lambda la, a: abs(la.pinv(a)), [A, TALL, WIDE, CTALL, CWIDE, STACK]),
    "matrix_power": (lambda la, a: abs(la.matrix_power(a, -3)), [A, Z]),
    "multi_dot": (lambda la, a: abs(la.multi_dot([a, a, a])), [A, Z]),
    **{
        f"matrix_norm {order}": (lambda la, a, p=order: la.matrix_norm(a, ord=p), [A, Z, WIDE, STACK])
        for order in ("fro", "nuc", 2, -2, 1, -1, np.inf, -np.inf)
    },
    **{f"cond {order}": (lambda la, a, p=order: la.cond(a, p), [A, STACK]) for order in (None, -2)},
}


@pytest.mark.parametrize(
    ("name", "matrix"), [(n, i) for n in CASES for i in range(len(CASES[n][1]))], ids=str
)
def test_case(name, matrix):
    """Values, gradients (torch's is the conjugate), and the derivative of the gradient along itself."""
    function, a = CASES[name][0], CASES[name][1][matrix]
    weight = np.random.default_rng(0).normal(size=np.shape(function(np.linalg, a)))
    mine = lambda a: fnp.sum(function(fnp.linalg, a) * weight)  # noqa: E731
    tensor = torch.tensor(a, requires_grad=True)
    value = (function(torch.linalg, tensor) * torch.tensor(weight)).sum()
    (gradient,) = torch.autograd.grad(value, tensor, create_graph=True)
    (second,) = torch.autograd.grad(gradient, tensor, torch.tensor(a), allow_unused=True)
    y, pull = fx.vjp(fx.grad(mine), a)
    np.testing.assert_allclose(mine(a), value.item(), rtol=1e-12)
    for ours, theirs in ((y, gradient), (pull(a)[0], second)):
        theirs = np.zeros_like(a) if theirs is None else theirs.numpy(force=True).conj()
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * (np.abs(theirs).max() + 1))


@pytest.mark.parametrize("a", [TALL, WIDE, A], ids=["tall", "wide", "square"])
def test_least_squares(a):
    b = rng.normal(size=(a.shape[0], 2))
    one, two = torch.tensor(a, requires_grad=True), torch.tensor(b, requires_grad=True)
    x = torch.linalg.lstsq(one, two, driver="gelsd").solution
    theirs = torch.autograd.grad((x**2).sum(), (one, two))
    ours = fx.grad(lambda a, b: fnp.sum(fnp.linalg.lstsq(a, b)[0] ** 2), (0, 1))(a, b)
    for actual, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(actual, expected.numpy(), rtol=1e-11, atol=1e-12)


def test_torch_refuses_what_depends_on_the_gauge_where_we_give_nan():
    loss = lambda v: v[0, 0].real + v[1, 1].imag  # noqa: E731
    tensor = torch.tensor(POSITIVE, requires_grad=True)
    with pytest.raises(RuntimeError, match="phi"):
        torch.autograd.grad(loss(torch.linalg.eigh(tensor)[1]), tensor)
    assert np.isnan(fx.grad(lambda a: loss(fnp.linalg.eigh(a)[1]))(POSITIVE)).all()
