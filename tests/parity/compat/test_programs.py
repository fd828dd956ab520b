"""Random programs of operations, views, operations in place and transforms of these inside one another, against torch
itself without transforms: every one is spelled out there as a loop or as gradients of gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch as reference
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fxgrad.compat as torch

SHAPE = (2, 3)
POINTWISE = ["sin", "tanh", "sigmoid", "square", "abs", "clone", "cumsum", "softmax", "flip"]
VIEWS = {
    "first": lambda x: x[0],
    "rest": lambda x: x[..., 1:],
    "transposed": lambda x: x.mT if x.dim() > 1 else x,
    "flat": lambda x: x.reshape(-1),
    "raised": lambda x: x.unsqueeze(0),
    "every other": lambda x: x[..., ::2],
    "diagonal": lambda x: x.diagonal(dim1=-2, dim2=-1) if x.dim() > 1 else x,
    "detached": lambda x: x.detach(),
}
TRANSFORMS = ["grad", "vjp", "jvp", "vmap", "jacrev", "jacfwd", "autograd", "backward"]


class Program:
    """Steps on a list of Tensors, of which new ones are made and old ones modified."""

    def __init__(self, library, transforms, steps):
        self.torch, self.transforms, self.steps = library, transforms, steps

    def __call__(self, x, outside=None):
        torch, live = self.torch, [x * 1]
        for kind, name, i, j, steps in self.steps:
            a, b = live[i % len(live)], live[j % len(live)]
            if outside is not None and (i + j) % 3 == 0:
                b = outside
            if kind == "pointwise":
                live.append(getattr(a, name)(*POSITIONAL.get(name, ())))
            elif kind == "binary":
                live.append(getattr(torch, name)(a, self.fitted(b, a)))
            elif kind == "view" and (a.dim() and a.shape[0]):
                live.append(VIEWS[name](a))
            elif kind == "place":
                self.modify(name, a, b, j)
            elif kind == "fresh":
                live.append(torch.full(SHAPE[j % 2 :], 0.5, dtype=torch.float64))
            elif kind == "transform" and (a.dim() and a.shape[0]):
                inner = Program(torch, self.transforms, steps)
                live.append(self.transforms[name](torch, lambda z, inner=inner, b=b: inner(z, b), a).tanh())
        total = live[-1]
        for other in live[:-1]:
            total = total + 0.1 * other.sum()
        return total

    def fitted(self, b, a):
        return b if b.shape == a.shape else b.sum()

    def modify(self, name, a, b, j):
        """An operation in place."""
        b = self.fitted(b, a)
        if name == "masked":
            a[a > 0.3] = b.sum()
        elif name == "item":
            if a.dim() and a.shape[-1]:
                a[..., j % a.shape[-1]] = b.sum()
        elif name == "list":
            if a.dim() and a.shape[0]:
                a[[j % a.shape[0]]] += b.sum()
        elif name == "chosen":
            if a.dim() and a.numel():
                a[a.sum(tuple(range(1, a.dim()))).argmax()] *= b.mean()
        else:
            getattr(a, name)(*([] if name in ("tanh_", "zero_") else [b.clone()]))


POSITIONAL = {"cumsum": (-1,), "softmax": (-1,), "flip": (-1,)}


# -- transforms, spelled out -----------------------------------------------------------------------------------------


def pulled(torch, f, a):
    """(a itself as a Tensor to differentiate by, f of it)."""
    v = a * 1
    if not v.requires_grad:
        v.requires_grad_()
    return v, f(v)


def gradient(torch, y, v, ct=None):
    if not y.requires_grad:
        return torch.zeros_like(v)
    (g,) = torch.autograd.grad(y, v, ct, create_graph=True, allow_unused=True)
    return torch.zeros_like(v) if g is None else g


def weights(torch, y):
    return torch.linspace(1, 2, max(y.numel(), 1), dtype=torch.float64)[: y.numel()].reshape(y.shape)


def plain_vjp(torch, f, a):
    v, y = pulled(torch, f, a)
    return gradient(torch, y, v, weights(torch, y))


def plain_jvp(torch, f, a, t):
    v, y = pulled(torch, f, a)
    u = torch.zeros_like(y).requires_grad_()
    g = gradient(torch, y, v, u)
    return gradient(torch, g, u, t) if g.requires_grad else torch.zeros_like(y)


def plain_jacobian(torch, f, a):
    v, y = pulled(torch, f, a)
    rows = [gradient(torch, e, v) for e in y.reshape(-1)]
    return torch.stack(rows).sin().sum(0) if rows else torch.zeros_like(v)


def plain_backward(torch, f, a):
    leaf = a.detach().clone().requires_grad_()
    y = f(leaf)
    if y.requires_grad:
        y.sum().backward(inputs=[leaf], create_graph=True)
    return torch.zeros_like(leaf) if leaf.grad is None else leaf.grad


def contracted(torch, jacobian, a):
    count = jacobian.dim() - a.dim()
    return jacobian.sin().sum(tuple(range(count))) if count else jacobian.sin()


PLAIN = {
    "grad": lambda torch, f, a: plain_vjp(torch, lambda z: f(z).sum(), a),
    "vjp": plain_vjp,
    "jvp": lambda torch, f, a: plain_jvp(torch, f, a, weights(torch, a)),
    "vmap": lambda torch, f, a: torch.stack([f(e) for e in a]),
    "jacrev": plain_jacobian,
    "jacfwd": plain_jacobian,
    "autograd": plain_vjp,
    "backward": plain_backward,
}


def func_vjp(torch, f, a):
    y, pullback = torch.func.vjp(f, a)
    return pullback(weights(torch, y))[0]


FUNC = {
    "grad": lambda torch, f, a: torch.func.grad(lambda z: f(z).sum())(a),
    "vjp": func_vjp,
    "jvp": lambda torch, f, a: torch.func.jvp(f, (a,), (weights(torch, a),))[1],
    "vmap": lambda torch, f, a: torch.func.vmap(f)(a),
    "jacrev": lambda torch, f, a: contracted(torch, torch.func.jacrev(f)(a), a),
    "jacfwd": lambda torch, f, a: contracted(torch, torch.func.jacfwd(f)(a), a),
    "autograd": plain_vjp,
    "backward": plain_backward,
}


# -- programs ---------------------------------------------------------------------------------------------------------

small = st.integers(0, 5)
nothing = st.just(())


def step(kind, names, steps=nothing):
    return st.tuples(st.just(kind), st.sampled_from(names), small, small, steps)


def program(depth):
    kinds = [
        step("pointwise", POINTWISE),
        step("binary", ["add", "mul", "sub", "maximum"]),
        step("view", list(VIEWS)),
        step("place", ["mul_", "add_", "copy_", "tanh_", "zero_", "masked", "item", "list", "chosen"]),
        step("fresh", ["full"]),
    ]
    if depth:
        kinds += [step("transform", TRANSFORMS, program(depth - 1))] * 3
    return st.lists(st.one_of(kinds), min_size=2, max_size=5).map(tuple)


WAYS = {
    "value": lambda torch, f, x, plain: f(x),
    "tape": lambda torch, f, x, plain: plain_vjp(torch, f, x),
    "grad": lambda torch, f, x, plain: plain["vjp"](torch, f, x),
    "vmap": lambda torch, f, x, plain: plain["vmap"](torch, f, torch.stack([x, x.cos()])),
    "jvp": lambda torch, f, x, plain: plain["jvp"](torch, f, x),
    "vmap of grad": lambda torch, f, x, plain: plain["vmap"](
        torch, lambda z: plain["grad"](torch, f, z), torch.stack([x, x.cos()])
    ),
    "grad of vmap": lambda torch, f, x, plain: plain["grad"](
        torch, lambda z: plain["vmap"](torch, f, z), torch.stack([x, x.cos()])
    ),
}
# What is refused here and not by torch, which was told to copy what is modified after it was saved.
REFUSED = ("modified by an inplace operation", "a detached Tensor, which shares its memory")
X = np.linspace(-1, 1.3, 6).reshape(SHAPE)


def outcome(library, transforms, steps, way):
    f = Program(library, transforms, steps)
    return WAYS[way](library, f, library.tensor(X), transforms).detach().numpy()


def expected(steps, way):
    """What torch gives, or its error."""
    try:
        with reference.autograd.graph.allow_mutation_on_saved_tensors():
            return outcome(reference, PLAIN, steps, way)
    except (RuntimeError, AssertionError, IndexError) as error:
        return error


@pytest.mark.filterwarnings("ignore:Using backward")  # with create_graph, says torch, makes a cycle
@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(steps=program(2))
def test_programs(way, steps):
    right = expected(steps, way)
    if isinstance(right, Exception):
        return
    try:
        found = outcome(torch, FUNC, steps, way)
    except RuntimeError as error:
        if not any(reason in str(error) for reason in REFUSED):
            raise
        return
    np.testing.assert_allclose(found, right, rtol=1e-7, atol=1e-9)
