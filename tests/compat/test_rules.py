"""The tangent rules that operations declare hold in every transform: at kinks, and where the derivative of the function
itself would be lost in overflow."""

from __future__ import annotations

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.compat as torch
from fxgrad import ops
from fxgrad.compat._core.tensor import unwrap, wrap
from fxgrad.compat._declare.operation import OPERATIONS, operation

F = torch.nn.functional


def probe_tangent(ys, primals, tangents, params):
    """Not the derivative of the function. Operands may have no tangent."""
    t, u = tangents
    terms = ([] if t is None else [ys * params["scale"] * t]) + ([] if u is None else [u * primals[0]])
    return [sum(terms[1:], terms[0])]


# Two operations whose rules are certainly not what their functions would give.
@operation("input weight", name="probe", spaces="", out=False, tangent=lambda *a: probe_tangent(*a)[0])
def probe(input, weight, scale):
    return ops.sin(input) + ops.absolute(weight)


@operation(
    "input weight",
    name="probes",
    spaces="",
    out=False,
    results=tuple,
    tangent=lambda ys, *rest: [None, *probe_tangent(ys[1], *rest)],
)
def probes(input, weight, scale):
    return [ops.argmax(input, axis=0), ops.sin(input) + ops.absolute(weight)]


del OPERATIONS["probe"], OPERATIONS["probes"]  # no part of torch
EXTREME = np.array([[0.0, 0.0, 1.0], [800.0, -800.0, 3.0], [2.0, 2.0, 2.0]])
IMAGE = np.array([[[1.0, 1.0, 0.5, 2.0, 2.0, 2.0]]])  # maxima that are not the only ones
HEADS = np.array([[[0.0, 1.0], [60.0, -60.0], [0.0, 0.0]]])
GENERATED = {"bernoulli", "normal", "poisson", "binomial", "_sample_dirichlet"}


def factor(x):
    """The Cholesky factor of a matrix made of x."""
    return torch.linalg.cholesky(x @ x.mT + torch.eye(len(x), dtype=x.dtype))


PROGRAMS = {
    "gelu": (lambda x: F.gelu(x * 1e-2) + F.gelu(x, approximate="tanh"), EXTREME / 100),
    "softmax": (lambda x: x.softmax(-1), EXTREME),
    "log_softmax": (lambda x: x.log_softmax(-1), EXTREME),
    "softplus": (lambda x: F.softplus(x) + F.softplus(x, beta=0.5, threshold=3.0), EXTREME),
    "logsumexp": (lambda x: x.logsumexp(-1) + x.logsumexp(0, keepdim=True), EXTREME),
    "scaled_dot_product_attention": (lambda x: F.scaled_dot_product_attention(x, 2 * x, x.sin()), HEADS),
    "layer_norm": (lambda x: F.layer_norm(x, x.shape[-1:], x[0], None), EXTREME),
    "native_batch_norm": (lambda x: F.batch_norm(x, None, None, x[0], x[1], training=True), EXTREME),
    "group_norm": (lambda x: F.group_norm(x, 1), EXTREME),
    "native_instance_norm": (lambda x: F.instance_norm(x[None], None, None, x[:, 0], x[:, 1]), EXTREME),
    "max_pool1d_with_indices": (lambda x: F.max_pool1d(x, 2), IMAGE),
    "adaptive_max_pool1d": (lambda x: F.adaptive_max_pool1d(x, 3), IMAGE),
    "max_pool2d_with_indices": (lambda x: F.max_pool2d(x.view(1, 2, 3), 2), IMAGE),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x.view(1, 2, 3), (1, 2)), IMAGE),
    "max_pool3d_with_indices": (lambda x: F.max_pool3d(x.view(1, 1, 2, 3), (1, 1, 2)), IMAGE),
    "sort": (lambda x: x.sort(0, descending=True).values * x, EXTREME),
    "topk": (lambda x: x.topk(2).values.sin(), EXTREME),
    "kthvalue": (lambda x: x.kthvalue(2, 0).values * x.median(0).values, EXTREME),
    "mode": (lambda x: x.mode(1, keepdim=True).values * x.max(0, keepdim=True).values, EXTREME),
    "cummax": (lambda x: x.cummax(1).values * x, EXTREME),
    "cummin": (lambda x: x.cummin(-2).values.sin() * x.min(0).values, EXTREME),
    "probe": (lambda x: probe(x, x[0].detach(), 3) + probe(x.detach(), x * 2, 5), HEADS[0]),
    "probes": (lambda x: probes(x, x[:1], 3)[1], HEADS[0]),
    "cholesky_inverse": (lambda x: torch.cholesky_inverse(factor(x)), EXTREME / 800),
    "cholesky_solve": (lambda x: torch.cholesky_solve(x, factor(x)), EXTREME / 800),
    "adaptive_max_pool3d": (lambda x: F.adaptive_max_pool3d(x.view(1, 1, 2, 3), (1, 1, 2)), IMAGE),
}  # fmt: skip


def test_every_operation_with_a_rule_is_here():
    ruled = {name for name, operation in OPERATIONS.items() if operation.tangent is not None}
    assert ruled == {*PROGRAMS, *GENERATED} - {"probe", "probes"}


def derivatives(function):
    """(the first gradient, the second) of a sum, by ways of getting them. `x` is a Tensor without history."""
    func = torch.func

    def value(x):
        y = function(x)
        return (y * torch.linspace(1, 2, y.numel(), dtype=x.dtype).view(y.shape)).sum()

    def taped(x, second):
        x = x.detach().requires_grad_()
        (g,) = torch.autograd.grad(value(x), x, create_graph=True)
        return torch.autograd.grad((g * x.cos()).sum(), x)[0] if second else g.detach()

    def outer(x):
        """A level inside which the tape outside records."""
        x = x.detach().requires_grad_()
        _, y = func.jvp(lambda z: z + 1, (torch.zeros(()),), (torch.ones(()),))
        out = func.vmap(lambda one, scale: value(one) * scale)(x[None], y[None].to(x.dtype))
        return torch.autograd.grad(out.sum(), x)[0]

    def pushed(x):
        basis = torch.eye(x.numel(), dtype=x.dtype).view(x.numel(), *x.shape)
        return torch.stack([func.jvp(value, (x,), (t,))[1] for t in basis]).view(x.shape)

    def dual(x):
        rows = []
        for t in torch.eye(x.numel(), dtype=x.dtype).view(x.numel(), *x.shape):
            with torch.autograd.forward_ad.dual_level():
                made = torch.autograd.forward_ad.make_dual(x, t)
                rows.append(torch.autograd.forward_ad.unpack_dual(value(made)).tangent)
        return torch.stack(rows).view(x.shape)

    first = {
        "grad": func.grad(value),
        "jacfwd": func.jacfwd(value),
        "jvp": pushed,
        "forward_ad": dual,
        "vmap(grad)": lambda x: func.vmap(func.grad(value))(torch.stack([x, x]))[1],
        "grad(vmap)": lambda x: func.grad(lambda x: func.vmap(value)(x[None]).sum())(x),
        "vmap(jacfwd)": lambda x: func.vmap(func.jacfwd(value))(torch.stack([x, x]))[1],
        "jacfwd(vmap)": lambda x: func.jacfwd(lambda x: func.vmap(value)(x[None])[0])(x),
        "tape outside vmap": outer,
        "backward in vmap": lambda x: func.vmap(lambda x: taped(x, False))(torch.stack([x, x]))[0],
        "fx.grad": lambda x: torch.tensor(fx.grad(lambda a: fx_value(value, a))(x.numpy())),
        "fx.jit": lambda x: torch.tensor(fx.jit(fx.grad(lambda a: fx_value(value, a)))(x.numpy())),
    }
    second = {
        "grad(grad)": func.grad(lambda x: (func.grad(value)(x) * x.cos()).sum()),
        "jacfwd(grad)": lambda x: func.grad(lambda z: (func.jacfwd(value)(z) * z.cos()).sum())(x),
        "vmap(grad(grad))": lambda x: func.vmap(func.grad(lambda z: (func.grad(value)(z) * z.cos()).sum()))(
            x[None]
        )[0],
        "grad(vmap(grad))": func.grad(lambda x: (func.vmap(func.grad(value))(x[None])[0] * x.cos()).sum()),
        "taped in vmap": lambda x: func.vmap(lambda x: taped(x, True))(x[None])[0],
    }
    return lambda x: taped(x, False), lambda x: taped(x, True), first, second


def fx_value(value, array):
    """The function of a traced value of fxgrad itself."""
    return unwrap(value(wrap(array)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_rules_hold_in_every_transform(name):
    function, array = PROGRAMS[name]
    once, twice, first, second = derivatives(function)
    for expected, ways in ((once, first), (twice, second)):
        expected = expected(torch.tensor(array)).numpy()
        assert np.isfinite(expected).all()
        for way, gradient in ways.items():
            found = gradient(torch.tensor(array)).numpy()
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=way)
