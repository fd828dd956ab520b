"""Tensors across levels: history that flows out, `backward` inside transforms, Tensors that outlive theirs. (In the
transforms of `fxgrad` itself: test_functional_api.)"""

from __future__ import annotations

import numpy as np
import pytest

import fxgrad.compat as torch
from fxgrad.core.errors import EscapedTracerError

func = torch.func
X = np.linspace(0.2, 1.4, 3)


def tensor(array=X, **options):
    return torch.tensor(array, **options)


def close(found, expected):
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-10, atol=1e-12)


# -- history -----------------------------------------------------------------------------------------------------------
TRANSFORMED = {
    "grad": lambda f, x: func.grad(lambda z: f(z).sum())(x),
    "vjp": lambda f, x: func.vjp(f, x)[1](torch.ones_like(x))[0],
    "jvp": lambda f, x: func.jvp(f, (x,), (torch.ones_like(x),))[1],
    "vmap": lambda f, x: func.vmap(f)(x),
    "jacrev": lambda f, x: func.jacrev(f)(x).sum(0),
    "jacfwd": lambda f, x: func.jacfwd(f)(x).sum(0),
    "linearize": lambda f, x: func.linearize(f, x)[1](torch.ones_like(x)),
    "functional.jacobian": lambda f, x: torch.autograd.functional.jacobian(f, x, create_graph=True).sum(0),
    "functional.jvp": lambda f, x: torch.autograd.functional.jvp(f, x, torch.ones_like(x), create_graph=True)[1],
    "functional.vjp": lambda f, x: torch.autograd.functional.vjp(f, x, torch.ones_like(x), create_graph=True)[1],
}  # fmt: skip
FORWARD = ("jvp", "jacfwd", "linearize")
NESTED = {f"{a}({b})": (a, b) for a in ("grad", "jvp", "vmap", "jacrev") for b in TRANSFORMED if a != "vmap"}


@pytest.mark.parametrize("name", [*TRANSFORMED, *NESTED])
def test_history_flows_out_of_closures(name):
    """Each is diagonal in x, so that all these give f, f′ or f″."""
    w = tensor(np.array(0.7), requires_grad=True)
    x = tensor()
    if name in NESTED:
        outer, inner = (TRANSFORMED[n] for n in NESTED[name])
        found = outer(lambda z: inner(lambda v: (w * v).sin(), z), x)
        expected = (-w * w * (w * x).sin()) if NESTED[name][1] != "vmap" else w * (w * x).cos()
    else:
        found = TRANSFORMED[name](lambda z: (w * z).sin(), x)
        expected = (w * x).sin() if name == "vmap" else w * (w * x).cos()
    close(found, expected)
    (g,) = torch.autograd.grad((found * x).sum(), w)
    (h,) = torch.autograd.grad((expected * x).sum(), w)
    close(g, h)


@pytest.mark.parametrize("name", TRANSFORMED)
@pytest.mark.parametrize("how", ["no_grad", "detach"])
def test_switched_off_inside_a_level(how, name):
    w = tensor(np.array(0.7), requires_grad=True)

    def f(z):
        if how == "detach":
            return z * (w * z).detach()
        with torch.no_grad():
            c = w * z
        return z * c

    x = tensor()
    found = TRANSFORMED[name](f, x)
    forward = how == "no_grad" and name in FORWARD  # which that does not switch off, as in torch
    close(found, w * x * x if name == "vmap" else w * x * (1 + forward))
    if found.requires_grad and name not in (
        "vmap",
        "linearize",
    ):  # whose function is called outside of no_grad
        assert torch.autograd.grad(found.sum(), w, allow_unused=True)[0] is None


# -- backward inside ---------------------------------------------------------------------------------------------------
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x * x

    @staticmethod
    def jvp(ctx, t):
        (x,) = ctx.saved_for_forward
        return t * 3 * x * x

    generate_vmap_rule = True


def by_backward(f, z):
    leaf = z.detach().requires_grad_()
    f(leaf).sum().backward()
    return leaf.grad


def by_grad(f, z):
    v = z * 1
    if not v.requires_grad:
        v.requires_grad_()
    return torch.autograd.grad(f(v).sum(), v, create_graph=True)[0]


def modified(z):
    y = z.sin()
    y[..., :1] *= 2
    y += z
    return y


def checkpointed(z):
    return torch.utils.checkpoint.checkpoint(modified, z, use_reentrant=False)


INNER = {"modified": modified, "checkpoint": checkpointed, "Function": Cube.apply}


@pytest.mark.parametrize("name", INNER)
@pytest.mark.parametrize("outer", ["vmap", "vmap(vmap)", "grad", "jacrev", "jvp"])
def test_gradients_inside(outer, name):
    f, x = INNER[name], tensor(np.linspace(0.2, 1.4, 12).reshape(2, 2, 3))
    if outer == "vmap":
        close(func.vmap(lambda z: by_backward(f, z))(x), by_backward(f, x))
    elif outer == "vmap(vmap)":
        close(func.vmap(func.vmap(lambda z: by_backward(f, z)))(x), by_backward(f, x))
    else:
        (expected,) = torch.autograd.grad(by_grad(f, v := tensor(x.numpy(), requires_grad=True)).sum(), v)
        x, expected = x[0, 0], expected[0, 0]  # diagonal
        close(TRANSFORMED[outer](lambda z: by_grad(f, z), x), expected)


def test_backward_in_a_batch_has_no_more_history_than_in_a_loop():
    w = tensor(np.array(0.3), requires_grad=True)

    def f(x):
        return (w * x).exp() + by_backward(
            lambda v: (v * x * w).sin(), w
        )  # of which w's gradient has no part

    looped, mapped = torch.stack([f(x) for x in tensor()]), func.vmap(f)(tensor())
    close(looped, mapped)
    close(*[torch.autograd.grad(y.sum(), w)[0] for y in (looped, mapped)])


# -- Tensors that outlive their level ----------------------------------------------------------------------------------
OPENED = {
    "vmap": lambda f: func.vmap(f)(tensor(np.stack([X, X]))),
    "jvp": lambda f: func.jvp(f, (tensor(),), (tensor(),)),
    "jacfwd": lambda f: func.jacfwd(f)(tensor()),
}
USES = {
    "add": lambda e: e + 1,
    "copy_": lambda e: torch.zeros(3, dtype=torch.float64).copy_(e),
    "item": lambda e: e[0].item(),
    "index": lambda e: tensor()[e.long()],
    "detach": lambda e: e.detach(),
    "grad": lambda e: func.grad(lambda z: (z * e).sum())(tensor()),
    "vmap": lambda e: func.vmap(lambda z: z * e)(tensor()),
    "backward": lambda e: e.sum().backward(),
}


@pytest.mark.parametrize("level", OPENED)
@pytest.mark.parametrize("use", USES)
def test_escaped(use, level):
    kept = []
    OPENED[level](lambda z: (kept.append(z * z), z.sum())[1])
    with pytest.raises(EscapedTracerError, match="outside that transform"):
        USES[use](kept[0])


def test_escaped_of_grad():
    """The value is left, as in torch; its history is not."""
    kept = []
    func.grad(lambda z: (kept.append(z * z), z.sum())[1])(tensor())
    close(kept[0] + 1, tensor() ** 2 + 1)
    assert not (kept[0] + 1).requires_grad
    with pytest.raises(EscapedTracerError, match="outside that transform"):
        kept[0].backward(tensor())
    w = tensor(requires_grad=True)
    func.grad(lambda z: (kept.append(z * w), z.sum())[1])(tensor())
    close(torch.autograd.grad(kept[1].sum(), w)[0], tensor())


# -- operands that overlap ---------------------------------------------------------------------------------------------
OVERLAPPING = {
    "mul": (lambda y: y[1:].mul_(y[:-1]), lambda y: torch.cat([y[:1], y[1:] * y[:-1]])),
    "back": (lambda y: y[:-1].mul_(y[1:]), lambda y: torch.cat([y[:-1] * y[1:], y[-1:]])),
    "copy": (lambda y: y[1:].copy_(y[:-1]), lambda y: torch.cat([y[:1], y[:-1]])),
    "addcmul": (lambda y: y[1:].addcmul_(y[:-1], y[1:]), lambda y: torch.cat([y[:1], y[1:] + y[:-1] * y[1:]])),
    "index": (lambda y: y.__setitem__(torch.tensor([0, 1]), y[1:3]), lambda y: torch.cat([y[1:3], y[2:]])),
    "index_add": (lambda y: y.index_add_(0, torch.tensor([1, 0]), y[1:3]),
                  lambda y: torch.cat([y[:1] + y[2:3], y[1:2] * 2, y[2:]])),
    "entry": (lambda y: y[1].mul_(y[2]), lambda y: torch.cat([y[:1], y[1:2] * y[2:3], y[2:]])),
    "out": (lambda y: None if y.requires_grad else torch.add(y[1:], 1, out=y[:-1]),
            lambda y: y if y.requires_grad else torch.cat([y[1:] + 1, y[-1:]])),
}  # fmt: skip


@pytest.mark.parametrize("name", OVERLAPPING)
def test_operands_may_overlap(name):
    """torch refuses, or says in backward that something was modified: here all is read before anything is written."""
    in_place, afresh = OVERLAPPING[name]

    def written(y):
        in_place(y)
        return y

    close(written(tensor()), afresh(tensor()))
    gradients = []
    for function in (written, afresh):
        x = tensor(requires_grad=True)
        (function(x * 2) * tensor().cos()).sum().backward()
        gradients.append(x.grad)
    close(*gradients)
    square = np.arange(9.0).reshape(3, 3)
    transposed = tensor(square.copy())
    transposed += transposed.t()
    close(transposed, tensor(square + square.T))
