"""Tangents against torch: where they are cut or refused, and what a custom Function may make of them."""

from __future__ import annotations

import pytest

from tests.compat.functions import doubled
from tests.parity.compat.scenarios import Scenarios, check
from tests.parity.compat.test_recorded import error_of

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
scenario = Scenarios()


def forward_ad(t):
    return t.autograd.forward_ad


def dual(t, *values, along=(3.0, 1.0, 2.0)):
    return forward_ad(t).make_dual(t.tensor(values or (0.0, 1.0, 2.0)), t.tensor(along))


def unpacked(t, *tensors):
    """(values, tangents)."""
    pairs = [forward_ad(t).unpack_dual(x) for x in tensors]
    return [p for p, _ in pairs], [tangent for _, tangent in pairs]


@scenario
def duals_and_out(t):
    seen = []
    with forward_ad(t).dual_level():
        d, plain = dual(t), t.ones(3)
        for run in (
            lambda: t.add(d, plain, out=t.empty(3)),
            lambda: t.add(plain, plain, out=d),
            lambda: t.add(d, plain, out=d),
        ):
            seen.append(error_of(run))
        seen.append(t.add(plain, plain, out=t.empty(3)))
    return seen


@scenario
def detached_duals(t):
    with forward_ad(t).dual_level():
        d = dual(t)
        product = d * 2
        product.detach_()
        return unpacked(t, product, product * 3, d.detach(), d.data, d), error_of(d.detach_)


@scenario
def detached_in_place_in_transforms(t):
    x = t.ones(2)

    def f(z):
        return (z * 1).detach_() * z

    return (
        t.func.jvp(f, (x,), (x,)),
        t.func.grad(lambda z: f(z).sum())(x),
        t.func.grad(lambda z: t.func.jvp(lambda y: f(y) * z, (z,), (x,))[0].sum())(x),
        t.func.grad(lambda z: t.func.grad(lambda y: (f(y) * z).sum())(z).sum())(x),
        t.func.jvp(lambda z: t.func.grad(lambda y: (f(y) * z).sum())(z).sum(), (x,), (x,)),
    )


@scenario
def function_in_place_inside_jvp(t):
    F, x, along = doubled(t), t.tensor([1.0, 2.0]), t.tensor([3.0, 4.0])

    def used(z):
        y = z.clone()
        return F.apply(y) * y + z

    results = [
        t.func.jvp(f, (x,), (along,)) for f in (lambda z: F.apply(z.clone()), used, lambda z: F.apply(z * z))
    ]
    return results, x, along, t.func.grad(lambda z: used(z).sum())(x)


@scenario
def function_in_place_on_duals(t):
    F = doubled(t)
    with forward_ad(t).dual_level():
        d = dual(t)
        made = F.apply(d)
        base = dual(t) * 1
        part = F.apply(base[1:])
        return made is d, unpacked(t, d, made, made * 2, base, part)


@scenario
def tangents_that_a_function_in_place_may_give(t):
    seen = []
    with forward_ad(t).dual_level():
        for jvp in (
            lambda g: g,
            lambda g: g * 2,
            lambda g: None,
            lambda g: g.add_(0),
            lambda g: (g.mul_(2), g * 1)[1],
        ):
            seen.append(error_of(lambda jvp=jvp: unpacked(t, doubled(t, jvp).apply(dual(t)))))
    return seen


@scenario
def tangents_that_a_function_may_give(t):
    def function(forward, push, constant=None):
        class F(t.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                made = forward(x, y)
                if constant is not None:
                    ctx.mark_non_differentiable(made[constant])
                return made

            @staticmethod
            def backward(ctx, *g):
                return g[0], g[0]

            @staticmethod
            def jvp(ctx, a, b):
                return push(a, b)

        return F

    given = [
        (lambda x, y: (x + y, x), lambda a, b: (a + b, a.view_as(a))),
        (lambda x, y: (x + y, x), lambda a, b: (a + b, a)),
        (lambda x, y: (x + y, x), lambda a, b: (a + b, a * 2)),
        (lambda x, y: (x + y, x), lambda a, b: (a + b, b.view_as(b))),
        (lambda x, y: (x + y, x[:1]), lambda a, b: (a + b, a[:1])),
        (lambda x, y: (x + y, x[:1]), lambda a, b: (a + b, a[:1] * 2)),
        (lambda x, y: (x + y, x[:1]), lambda a, b: (a + b, b[:1])),
        (lambda x, y: (x + y, x * 2), lambda a, b: (a + b, b)),
        (lambda x, y: (x + y, x * 2), lambda a, b: (a + b, b), 1),
        (lambda x, y: (x + y, x * 2), lambda a, b: (a + b, None), 1),
        (lambda x, y: (x + y, x > 0), lambda a, b: (a + b, a)),
        (lambda x, y: x + y, lambda a, b: a[:1]),
        (lambda x, y: x + y, lambda a, b: (a, b)),
    ]
    seen = []
    with forward_ad(t).dual_level():
        for parts in given:
            F = function(*parts)
            for place in (lambda d: d, lambda d: (d * 1)[:2]):

                def run(F=F, place=place):
                    made = F.apply(place(dual(t)), place(dual(t)))
                    return unpacked(t, *(made if isinstance(made, tuple) else (made,)))

                seen.append(error_of(run))
    return seen


@scenario
def cotangents_of_another_kind(t):
    x, z = t.ones(2), t.ones(2, dtype=t.complex64)
    pulled = [t.func.vjp(f, x)[1] for f in (lambda x: x * 2, lambda x: x * 2j)]
    return [error_of(lambda pull=pull, ct=ct: pull(ct)) for pull in pulled for ct in (x, z, x.double())]


@scenario.each()
def test_like_torch(scenario):
    check(scenario)
