"""torch.autograd.forward_ad against torch: duals through operations, views, modifications in place, and backward."""

from __future__ import annotations

import gc
import weakref
from importlib import import_module

import numpy as np
import pytest

import fxgrad.compat as fxt
from tests.parity.compat.scenarios import Scenarios, check, double  # noqa: F401

scenario = Scenarios()
pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning"),
    pytest.mark.usefixtures("double"),
]


def forward_ad(torch):
    return import_module(f"{torch.__name__}.autograd.forward_ad")


def leaf(torch, *values):
    return torch.tensor(values or (0.5, 1.0, 2.0), requires_grad=True)


def ramp(torch):
    return torch.tensor([1.0, 10.0, 100.0])


def tangents(torch, *tensors):
    """(value, tangent) of each. Whether a tangent requires a gradient is not looked at: torch's rule of a product has
    the other operand times zero in it."""
    pairs = [forward_ad(torch).unpack_dual(t) for t in tensors]
    return [(p, None if t is None else t.detach()) for p, t in pairs]


def within_level(body):
    """The scenario that a function (torch, fwAD) is inside a level."""

    def run(torch):
        fwAD = forward_ad(torch)
        with fwAD.dual_level():
            return body(torch, fwAD)

    run.__name__ = body.__name__
    return scenario(run)


# -- levels, duals ----------------------------------------------------------------------------------------------------


@within_level
def gradient_of_another_dtype(torch, fwAD):
    x = torch.tensor([0.5, 1.0], dtype=torch.float32, requires_grad=True)
    gradient = fwAD.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    return tangents(torch, *torch.autograd.grad(x * x, x, gradient))


@within_level
def made_and_unpacked(torch, fwAD):
    x, t = leaf(torch), ramp(torch)
    dual = fwAD.make_dual(x, t)
    unpacked = fwAD.unpack_dual(dual)
    return (
        *(unpacked, unpacked.primal, unpacked.tangent, unpacked._fields, type(unpacked).__name__),
        *(dual.is_leaf, dual._is_view(), dual._base is x, unpacked.tangent is t),
        *tangents(torch, x, unpacked.primal),
    )


@within_level
def a_view_of_what_becomes_a_dual(torch, fwAD):
    x = torch.zeros(3)
    view, part = x.view(3), x[1:]
    x.copy_(fwAD.make_dual(torch.ones(3), ramp(torch)))
    return tangents(torch, view * 2, part.sin(), torch.sum(part, 0), view.max(0).values)


@within_level
def nested_level(torch, fwAD):
    with fwAD.dual_level():
        pass


@scenario
def made_outside(torch):
    return forward_ad(torch).make_dual(leaf(torch), ramp(torch))


@scenario
def unpacked_outside(torch):
    return forward_ad(torch).unpack_dual(leaf(torch))


@scenario
def exited_without_level(torch):
    forward_ad(torch).exit_dual_level()


@within_level
def exited_another_level(torch, fwAD):
    fwAD.exit_dual_level(level=3)


@scenario
def entered_and_exited(torch):
    fwAD = forward_ad(torch)
    level = fwAD.enter_dual_level()
    dual = fwAD.make_dual(leaf(torch), ramp(torch), level=level)
    inside = fwAD.unpack_dual(dual, level=level)
    fwAD.exit_dual_level(level=level)
    return level, inside, fwAD.unpack_dual(dual)


@scenario
def tangents_end_with_the_level(torch):
    fwAD = forward_ad(torch)
    with fwAD.dual_level():
        dual = fwAD.make_dual(leaf(torch), ramp(torch))
        y = dual * 2
        z = (dual**3).sum()
    outside = tangents(torch, dual, y)
    with fwAD.dual_level():
        again = tangents(torch, dual, y, y * dual)
        (g,) = torch.autograd.grad(z, dual)
        return outside, again, g, tangents(torch, g)


MISUSES = {
    "sizes differ": lambda torch: (leaf(torch), torch.ones(2)),
    "integer": lambda torch: (torch.arange(3), ramp(torch)),
    "integer tangent": lambda torch: (leaf(torch), torch.arange(3)),
}


@pytest.mark.parametrize("misuse", MISUSES)
def test_what_is_refused(misuse):
    def run(torch):
        with forward_ad(torch).dual_level():
            return forward_ad(torch).make_dual(*MISUSES[misuse](torch))

    check(run)


@within_level
def dual_of_a_dual(torch, fwAD):
    return fwAD.make_dual(fwAD.make_dual(leaf(torch), ramp(torch)), ramp(torch))


@within_level
def unpacked_number(torch, fwAD):
    fwAD.unpack_dual(2.0)


# -- operations -------------------------------------------------------------------------------------------------------


@within_level
def operations(torch, fwAD):
    x, t = leaf(torch), ramp(torch)
    d = fwAD.make_dual(x, t)
    y = leaf(torch, 3.0, 4.0, 5.0)
    values, indices = torch.sort(d * d, descending=True)
    return tangents(
        torch,
        d + 1,
        d * y,
        y / d,
        d.sin().exp(),
        d.sum(),
        d @ d,
        d > 1,
        torch.floor(d),
        values,
        indices,
        d.float(),
    )


@within_level
def several_duals(torch, fwAD):
    d = fwAD.make_dual(leaf(torch), ramp(torch))
    e = fwAD.make_dual(leaf(torch, 3.0, 4.0, 5.0), torch.ones(3))
    return tangents(torch, d * e, torch.stack([d, e]), torch.where(d > 1, d, e), torch.cat([d, ramp(torch)]))


@within_level
def complex_duals(torch, fwAD):
    z = torch.tensor([1 + 2j, 0.5 - 1j])
    d = fwAD.make_dual(z, torch.tensor([1j, 2 + 0j]))
    return tangents(torch, d * d, d.abs(), d.conj() * d, torch.view_as_real(d), d.real)


@within_level
def modes_do_not_stop_it(torch, fwAD):
    d = fwAD.make_dual(leaf(torch), ramp(torch))
    with torch.no_grad():
        quiet = d * d
    with torch.inference_mode():
        inferred = d * d
    return tangents(torch, quiet, inferred)


@within_level
def detached(torch, fwAD):
    d = fwAD.make_dual(leaf(torch), ramp(torch))
    return tangents(torch, d.detach(), d.data, d.detach() * 2, d.clone(), d.detach() + d)


@within_level
def layout_of_the_tangent(torch, fwAD):
    d = fwAD.make_dual(torch.ones(2, 3), torch.arange(6.0).reshape(3, 2).t())
    tangent = fwAD.unpack_dual(d).tangent
    return tangent, tangent.stride(), tangents(torch, d[1])


# -- views and modifications ------------------------------------------------------------------------------------------


@within_level
def views(torch, fwAD):
    d = fwAD.make_dual(leaf(torch), ramp(torch))
    y = d * 1
    v = y[1:]
    w = v[0]
    (tangent,) = (fwAD.unpack_dual(y).tangent,)
    return (
        *tangents(torch, v, w, y.view(3, 1).t(), *y.unbind(), *y.chunk(2)),
        *(
            fwAD.unpack_dual(w).tangent.data_ptr() == tangent[1].data_ptr(),
            fwAD.unpack_dual(v).tangent._is_view(),
        ),
    )


@within_level
def dual_modified(torch, fwAD):
    x, t = torch.tensor([0.5, 1.0, 2.0]), ramp(torch)
    d = fwAD.make_dual(x, t)
    d.mul_(3)
    return tangents(torch, d), t, x


@within_level
def dual_modified_repeatedly(torch, fwAD):
    d = fwAD.make_dual(leaf(torch), ramp(torch)) * 1
    d.mul_(d.exp()).sin_()
    d += 2 * d
    (g,) = torch.autograd.grad(d.sum(), d)
    return tangents(torch, d), g


@within_level
def view_of_a_dual_modified(torch, fwAD):
    x = leaf(torch)
    y = fwAD.make_dual(x, ramp(torch)) * 1
    v = y[0]
    v.mul_(3)
    y[1] *= y[2].clone()
    (g,) = torch.autograd.grad((y * y).sum(), x)
    return tangents(torch, y, v, g)


@within_level
def made_dual_by_modification(torch, fwAD):
    d = fwAD.make_dual(leaf(torch), ramp(torch))
    z = torch.zeros(3)
    early, part = z[:2], z[0]
    part.copy_(d[1])
    late = z[:2]
    other = torch.zeros(3)
    other += d
    return tangents(torch, z, early, part, late, other)


@within_level
def overwritten_by_constants(torch, fwAD):
    d = fwAD.make_dual(torch.ones(3), ramp(torch))
    e = fwAD.make_dual(torch.ones(3), ramp(torch))
    f = fwAD.make_dual(torch.ones(3), ramp(torch))
    f[1:].zero_()
    return tangents(torch, d.fill_(2.0), e.copy_(torch.zeros(3)), f)


@within_level
def leaf_tangent_modified(torch, fwAD):
    d = fwAD.make_dual(torch.ones(3), ramp(torch).requires_grad_())
    d.mul_(2)


@within_level
def results_share_no_tangents(torch, fwAD):
    t = ramp(torch)
    d = fwAD.make_dual(torch.ones(3), t)
    y = d + 1
    y.mul_(5)
    z = d.sum() + torch.zeros(3)
    z.mul_(2)
    return tangents(torch, d, y, z), t


# -- with reverse mode ------------------------------------------------------------------------------------------------


@within_level
def reverse_over_forward(torch, fwAD):
    x, t = leaf(torch), ramp(torch).requires_grad_()
    d = fwAD.make_dual(x, t)
    tangent = fwAD.unpack_dual((d**3).sin().sum()).tangent
    gx, gt = torch.autograd.grad(tangent, (x, t), create_graph=True)
    return tangent, gx, gt, torch.autograd.grad(gx.sum(), (x, t))


@within_level
def forward_over_reverse(torch, fwAD):
    x = leaf(torch)
    d = fwAD.make_dual(x, ramp(torch))
    y = (d.sin() * d.exp() / (1 + d * d)).sum()
    (gx,) = torch.autograd.grad(y, x, retain_graph=True)
    (gd,) = torch.autograd.grad(y, d, retain_graph=True)
    (created,) = torch.autograd.grad(y, x, create_graph=True)
    tangent = fwAD.unpack_dual(created).tangent
    (third,) = torch.autograd.grad(tangent.sum(), x)
    return tangents(torch, gx, gd, created), third


@within_level
def forward_over_reverse_of_many_operations(torch, fwAD):
    w = torch.tensor([[0.3, -0.2, 0.5], [0.1, 0.7, -0.4]], requires_grad=True)
    d = fwAD.make_dual(w, torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    h = (d @ leaf(torch)).tanh()
    values, _ = torch.cat([h, d[0, 1:], d.t()[1]]).sort()
    top, _ = values.max(0)
    y = torch.logsumexp(values, 0) + top * h.prod() + torch.softmax(d, 1)[0, 1] + d.var()
    (g,) = torch.autograd.grad(y, w)
    return tangents(torch, y, g)


@within_level
def forward_over_reverse_in_place(torch, fwAD):
    x = leaf(torch)
    y = fwAD.make_dual(x, ramp(torch)).sin()
    y[1:] *= y[:2].clone()
    y.exp_()
    (g,) = torch.autograd.grad((y * y).sum(), x)
    return tangents(torch, y, g)


@within_level
def accumulated_gradients(torch, fwAD):
    x = leaf(torch)
    y = fwAD.make_dual(x, ramp(torch)) * 2
    y.retain_grad()
    (y**2).sum().backward()
    plain = tangents(torch, x.grad, y.grad)
    x.grad = None
    (fwAD.make_dual(x, ramp(torch)) ** 3).sum().backward(create_graph=True)
    created = tangents(torch, x.grad)
    x.grad = None
    return plain, created


@within_level
def dual_grad_outputs(torch, fwAD):
    x = leaf(torch)
    d = fwAD.make_dual(x, ramp(torch))
    v = fwAD.make_dual(torch.ones(3), 5 * ramp(torch))
    (linear,) = torch.autograd.grad(x * 2, x, grad_outputs=v)
    (g,) = torch.autograd.grad(d * d, x, grad_outputs=v)
    return tangents(torch, linear, g)


@within_level
def hooks_see_tangents(torch, fwAD):
    x = leaf(torch)
    y = fwAD.make_dual(x, ramp(torch)) * 2
    seen = []
    y.register_hook(lambda g: seen.append(tangents(torch, g)) or g * g)
    (g,) = torch.autograd.grad((y**2).sum(), x)
    return seen, tangents(torch, g)


@within_level
def complex_forward_over_reverse(torch, fwAD):
    z = torch.tensor([1 + 2j, 0.5 - 1j], requires_grad=True)
    d = fwAD.make_dual(z, torch.tensor([1j, 2 + 0j]))
    (g,) = torch.autograd.grad((d * d * (1 - 3j)).abs().sum(), z)
    return tangents(torch, g)


@within_level
def transforms_inside(torch, fwAD):
    d = fwAD.make_dual(leaf(torch).detach(), ramp(torch))
    rows = fwAD.make_dual(torch.ones(2, 3), torch.arange(6.0).view(2, 3))
    func = torch.func
    return tangents(
        torch,
        func.grad(lambda x: (x * d).sin().sum())(torch.ones(3)),
        func.grad(lambda x: (x**3).sum())(d),
        func.vmap(lambda x: x * x)(rows),
        func.vmap(lambda x: x.sum() * d, out_dims=1)(rows),
        func.vmap(lambda x, y: x * y, in_dims=(None, 1))(d, rows.t()),
        func.vmap(func.grad(lambda x: x.sin().sum()))(rows),
        func.vjp(lambda x: x * x, d)[1](d)[0],
        func.jacrev(lambda x: x**3)(d),
    )


@within_level
def functional_forward_mode_inside(torch, fwAD):
    torch.func.jvp(lambda x: x**3, (leaf(torch),), (ramp(torch),))


@within_level
def forward_jacobian_inside(torch, fwAD):
    torch.func.jacfwd(lambda x: x**3)(leaf(torch))


@scenario.each()
def test_as_torch(scenario):
    check(scenario)


# -- beyond torch -----------------------------------------------------------------------------------------------------


def test_tangents_of_another_dtype_are_converted():
    fwAD = forward_ad(fxt)
    with fwAD.dual_level():
        d = fwAD.make_dual(fxt.ones(2), fxt.ones(2, dtype=fxt.float32))
        assert fwAD.unpack_dual(d).tangent.dtype is fxt.float64
        with pytest.raises(RuntimeError, match="complex forward gradient of a real Tensor"):
            fwAD.make_dual(fxt.ones(2), fxt.ones(2, dtype=fxt.complex128))


def test_a_dual_modified_by_itself():
    """torch multiplies the tangent by the new value once and by the old one once."""
    fwAD = forward_ad(fxt)
    with fwAD.dual_level():
        d = fwAD.make_dual(fxt.tensor([0.5, 3.0]), fxt.tensor([1.0, 10.0]))
        d.mul_(d)
        assert fwAD.unpack_dual(d).tangent.tolist() == [1.0, 60.0]


def test_nothing_is_kept_after_the_level():
    fwAD = forward_ad(fxt)
    x = leaf(fxt)
    with fwAD.dual_level():
        t = ramp(fxt)
        y = (fwAD.make_dual(x, t).sin() * 2).exp()
        tangent = weakref.ref(fwAD.unpack_dual(y).tangent)
        gone = weakref.ref(t)
        del t
        assert tangent() is not None
    gc.disable()
    try:
        assert tangent() is None
        assert gone() is None
    finally:
        gc.enable()
    assert y.requires_grad


def test_vmap_of_forward_mode_is_its_loop():
    fwAD = forward_ad(fxt)
    x = leaf(fxt)

    def along(tangent):
        with fwAD.dual_level():
            y = fwAD.make_dual(x, tangent).sin()
            y[1:] *= y[0]
            return fwAD.unpack_dual(y).tangent

    directions = fxt.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
    batched = fxt.func.vmap(along)(directions)
    for row, direction in zip(batched, directions):
        np.testing.assert_allclose(row.detach().numpy(), along(direction).detach().numpy(), rtol=1e-6)
