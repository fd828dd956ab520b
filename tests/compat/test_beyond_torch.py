"""What fxgrad.compat does and torch refuses: the tape inside transforms, in place under all of them, no cycles."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import fxgrad.compat as torch
from fxgrad.core import fp_errors

rng = np.random.default_rng(7)
X, Y = rng.standard_normal((5, 3)), rng.standard_normal((5, 2))
W = rng.standard_normal((3, 2))


def tensor(array, **options):
    return torch.tensor(array, **options)


def test_padding_with_minus_zero_keeps_the_sign():
    x = torch.ones(2, requires_grad=True)
    for value, sign in ((-0.0, -1.0), (0.0, 1.0), (0, 1.0), (None, 1.0)):
        for given in (x, x.detach()):
            ends = torch.nn.functional.pad(given, (1, 1), value=value).detach().numpy()[[0, -1]]
            np.testing.assert_array_equal(np.copysign(1.0, ends), sign)


def eager_gradient(w, x, y):
    """Code as one writes it without any transform."""
    w = w.detach().requires_grad_()
    h = x @ w
    h += 1
    h[0] *= 2
    loss = ((h.tanh() - y) ** 2).sum()
    loss.backward()
    return w.grad


def test_backward_inside_vmap_gives_one_gradient_for_every_sample():
    w, x, y = tensor(W), tensor(X), tensor(Y)
    each = torch.func.vmap(eager_gradient, in_dims=(None, 0, 0))(w, x, y)
    for i in range(len(X)):
        np.testing.assert_allclose(each[i].numpy(), eager_gradient(w, x[i], y[i]).numpy(), rtol=1e-12)


def test_backward_inside_grad_is_differentiated():
    def outer(w):
        return (eager_gradient(w, tensor(X[0]), tensor(Y[0])) ** 2).sum()

    def unmodified(w, graph):
        h = tensor(X[0]) @ w + 1
        h = torch.cat([h[:1] * 2, h[1:]])
        (g,) = torch.autograd.grad(((h.tanh() - tensor(Y[0])) ** 2).sum(), w, create_graph=graph)
        return g

    found = torch.func.grad(lambda w: (inner_gradient(w) ** 2).sum())(tensor(W))
    leaf = tensor(W, requires_grad=True)
    (expected,) = torch.autograd.grad((unmodified(leaf, True) ** 2).sum(), leaf)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-12)
    assert not outer(tensor(W)).requires_grad  # detached inside: no history


def inner_gradient(w):
    """As `eager_gradient`, for a Tensor of an enclosing transform: the inner graph is kept."""
    v = w * 1
    h = tensor(X[0]) @ v
    h += 1
    h[0] *= 2
    loss = ((h.tanh() - tensor(Y[0])) ** 2).sum()
    (g,) = torch.autograd.grad(loss, v, create_graph=True)
    return g


@pytest.mark.parametrize("randomised", [False, True], ids=["value", "index"])
def test_a_batched_value_is_written_into_an_unbatched_tensor(randomised):
    def write(x, i):
        out = torch.zeros(3, dtype=torch.float64)
        row = out[1:]
        if randomised:
            out[i] = x[0]
        else:
            row[0] = x[0]
        row += x[1]
        out.mul_(2)
        return out, row

    x, i = tensor(X), torch.tensor([0, 1, 2, 1, 0])
    outs, rows = torch.func.vmap(write)(x, i)
    for k in range(len(X)):
        out, row = write(x[k], i[k])
        np.testing.assert_array_equal(outs[k].numpy(), out.numpy())
        np.testing.assert_array_equal(rows[k].numpy(), row.numpy())


def scribble(x):
    """Views of views, modified in turn."""
    y = x.sin()
    v = y.view(-1)[1:]
    v[::2] *= y[0].sum()
    y.t()[0].add_(v[1])
    return (y * y.diagonal().sum()).sum()


@pytest.mark.parametrize(
    "transform",
    ["grad", "jacrev", "jacfwd", "hessian", "vmap(grad)", "grad(vmap)"],
)
def test_in_place_under_transforms(transform):
    square = rng.standard_normal((4, 3, 3))
    func = torch.func
    many = {
        "grad": (func.grad(scribble), 0),
        "jacrev": (func.jacrev(scribble), 0),
        "jacfwd": (func.jacfwd(scribble), 0),
        "hessian": (func.hessian(scribble), 1),
        "vmap(grad)": (func.vmap(func.grad(scribble)), 0),
        "grad(vmap)": (func.grad(lambda x: func.vmap(scribble)(x).sum()), 0),
    }
    function, second = many[transform]
    value = square if "vmap" in transform else square[0]
    found = function(tensor(value)).numpy()

    def eager(array):
        x = tensor(array, requires_grad=True)
        (g,) = torch.autograd.grad(scribble(x), x, create_graph=True)
        if not second:
            return g.detach().numpy()
        rows = [torch.autograd.grad(e, x, retain_graph=True)[0].numpy() for e in g.reshape(-1)]
        return np.stack(rows).reshape(found.shape)

    expected = np.stack([eager(v) for v in value]) if value.ndim == 3 else eager(value)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_checkpoint_inside_transforms():
    def block(x):
        return (x.sin() @ tensor(W)).tanh()

    def loss(x):
        return torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False).pow(2).sum()

    direct = torch.func.vmap(torch.func.grad(lambda x: block(x).pow(2).sum()))(tensor(X))
    np.testing.assert_allclose(
        torch.func.vmap(torch.func.grad(loss))(tensor(X)).numpy(), direct.numpy(), rtol=1e-12
    )


def test_an_in_place_error_names_both_lines():
    x = tensor(W, requires_grad=True)
    y = x.exp()  # saved here
    y.add_(1)  # modified here
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as caught:
        y.sum().backward()
    text = str(caught.value)
    assert "y = x.exp()  # saved here" in text
    assert "y.add_(1)  # modified here" in text


@pytest.mark.parametrize(
    "state", [fp_errors.ERROR_STATE, fp_errors.NumPyErrorState()], ids=lambda s: type(s).__name__
)
def test_kernels_do_not_warn_whatever_numpy_keeps_its_state_in(state):
    before, quiet = np.geterr(), fp_errors.ignore_state(state)
    with pytest.warns(RuntimeWarning, match="invalid value"):
        np.log(-1.0)
    assert state.get() is not quiet
    token = state.set(quiet)
    try:
        assert state.get() is quiet
        assert np.isnan(np.log(-1.0)) and np.isinf(np.divide(1.0, 0.0))
    finally:
        state.reset(token)
    assert np.geterr() == before


def test_create_graph_leaves_no_cycle():
    gc.collect()
    gc.disable()
    try:
        x = tensor(W, requires_grad=True)
        y = (x.exp() * x).sum()
        y.backward(create_graph=True)
        node = weakref.ref(y.grad_fn)
        x.grad.sum().backward()
        del y
        x.grad = None
        assert node() is None
        other = weakref.ref(x)
        del x
        assert other() is None
    finally:
        gc.enable()
