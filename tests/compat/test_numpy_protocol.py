"""NumPy's own functions on Tensors, outside transforms and inside."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.compat as torch

A = np.array([2.0, 3.0])
FUNCTIONS = {
    "ufunc": lambda v: np.sin(v).sum(),
    "function of a ufunc": lambda v: np.sum(np.sin(v) * A),
    "array * Tensor": lambda v: (A * v).sum(),
    "multiply(array, Tensor)": lambda v: np.multiply(A, v).sum(),
    "multiply(Tensor, array)": lambda v: np.multiply(v, A).sum(),
    "number * Tensor": lambda v: (np.float64(3) * v).sum(),
    "array - Tensor": lambda v: (A - v * v).sum(),
    "reduce": lambda v: np.add.reduce(v * v),
    "norm": lambda v: np.linalg.norm(v),
    "sequence": lambda v: np.concatenate([v, v * v]).sum(),
    "where": lambda v: np.where(v > 1.5, v * v, 0.0).sum(),
    "array @ Tensor": lambda v: A @ (v * v),
}


def point(**options):
    return torch.tensor([1.0, 2.0], dtype=torch.float64, **options)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_inside_transforms(name):
    f, x = FUNCTIONS[name], np.array([1.0, 2.0])
    expected = fx.grad(f)(x)
    for transform in (fx.grad, lambda f: fx.jit(fx.grad(f)), torch.func.grad):
        slope = transform(f)(point())
        assert type(slope) is torch.Tensor
        np.testing.assert_allclose(slope.numpy(), expected, rtol=1e-14)
    rows = torch.stack([point(), 2 * point()])
    np.testing.assert_allclose(fx.vmap(f)(rows).numpy(), [f(x), f(2 * x)], rtol=1e-14)


def test_what_is_closed_over_is_recorded():
    w = point(requires_grad=True)
    y = fx.grad(lambda v: np.sum(np.sin(v) * np.multiply(w, v)))(point())
    y.sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), np.cos([1, 2]) * [1, 2] + np.sin([1, 2]), rtol=1e-14)


def test_outside_they_compute_on_the_array():
    x = point()
    assert torch.equal(np.sin(x), torch.sin(x))
    assert np.isnan(x).dtype == torch.uint8
    assert [type(part) for part in np.modf(x)] == [torch.Tensor] * 2
    assert type(np.concatenate([x, x])) is np.ndarray
    assert type(np.add.outer(x, x)) is np.ndarray
    out = np.zeros(2)
    assert np.exp(x, out=out) is out and out[0] == np.e
    assert np.sum(x).item() == 3
    total = A.copy()
    total += x
    assert total.tolist() == [3, 5]


def test_an_operator_is_the_tensors_own():
    x = point(requires_grad=True)
    (A * x).sum().backward()
    assert x.grad.tolist() == A.tolist()
    assert (x > A).dtype == torch.bool
    assert (np.float64(2) * torch.ones(2)).dtype == torch.float32


def test_no_gradient_is_lost():
    x = point(requires_grad=True)
    for f in (
        np.sin,
        np.linalg.norm,
        lambda x: np.multiply(x, A),
        lambda x: np.add(A.copy(), x, out=A.copy()),
    ):
        with pytest.raises(RuntimeError, match="requires grad"):
            f(x)
