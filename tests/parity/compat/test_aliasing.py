"""Who shares memory with whom, and who knows: results of transforms, gradients, copies, and what is written into them,
under torch and fxgrad.compat."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.case import gathered
from tests.parity.compat.comparison import ERRORS, as_numpy, flat
from tests.parity.compat.scenarios import Scenarios, check, check_alike, described

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
scenario = Scenarios()


# -- programs: transform a function that hands its argument on, write, differentiate ---------------------------
def no_grad_inside(library, f):
    def silent(t):
        with library.no_grad():
            return f(t)

    return silent


FUNCTIONS = {
    "identity": lambda t: t,
    "slice": lambda t: t[0:1],
    "transpose": lambda t: t.transpose(0, 1),
    "reshape": lambda t: t.t().reshape(-1),
    "diagonal": lambda t: t.diagonal(),
    "expand": lambda t: t.expand(2, 2, 2),
    "chain": lambda t: t.transpose(0, 1).unsqueeze(0)[..., 1:],
    "unbind": lambda t: t.unbind()[0].unsqueeze(0),
    "flip": lambda t: t.flip(0),
    "new": lambda t: t * 2,
    "view of new": lambda t: (t * 2)[0:1],
    "modified": lambda t: t.mul_(4),
    "modified after view": lambda t: (t[0:1], t.mul_(2))[0],
    "modified through view": lambda t: (t[0].mul_(3), t)[1],
    "overwritten": lambda t: (t.zero_(), t)[1],
}
TRANSFORMS = {
    "vmap": lambda lib, f, y: lib.func.vmap(f)(y),
    "vmap(1, 0)": lambda lib, f, y: lib.func.vmap(f, 1, 0)(y),
    "vmap(0, -1)": lambda lib, f, y: lib.func.vmap(f, 0, -1)(y),
    "vmap(2, 1)": lambda lib, f, y: lib.func.vmap(f, 2, 1)(y),
    "vmap(vmap)": lambda lib, f, y: lib.func.vmap(lib.func.vmap(lambda t: f(t.unsqueeze(0)), 1, 0), 0, 1)(y),
    "vjp": lambda lib, f, y: lib.func.vjp(f, y)[0],
    "vjp(vmap)": lambda lib, f, y: lib.func.vjp(lib.func.vmap(f), y)[0],
    "vmap(vjp)": lambda lib, f, y: lib.func.vmap(lambda t: lib.func.vjp(f, t)[0])(y),
    "jvp": lambda lib, f, y: lib.func.jvp(f, (y,), (lib.ones_like(y),))[0],
    "no_grad inside": lambda lib, f, y: lib.func.vmap(no_grad_inside(lib, f))(y),
    "aux": lambda lib, f, y: lib.func.grad(lambda t: (t.sum(), f(t)), has_aux=True)(y)[1],
}
WRITES = {
    "result": lambda y, base: y.mul_(3),
    "argument": lambda y, base: base.mul_(3),
    "both": lambda y, base: (base.mul_(2), y.add_(base.sum())),
}


def ran(library, function, transform, write):
    """(the result, the argument, the gradient of both, whether they are known to share memory) after a write."""
    x = (library.arange(8.0) / 5 + 0.1).reshape(2, 2, 2).requires_grad_()
    base = x.clone()
    y = TRANSFORMS[transform](library, FUNCTIONS[function], base)
    known = y is base or y._base is base
    WRITES[write](y, base)
    (gradient,) = library.autograd.grad(y.sum() * 2 + (base * base).sum(), x)
    return described((y.detach(), base.detach(), gradient, known))


def outcome(*program):
    try:
        return ran(*program)
    except ERRORS as error:
        return next(kind.__name__ for kind in ERRORS if isinstance(error, kind))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_write_after_transform(transform, function):
    for write in WRITES:
        program = function, transform, write
        check_alike(outcome(fxt, *program), outcome(torch, *program))


# -- what results are of arguments ---------------------------
def relation(result, given):
    if result is given:
        return "itself"
    return "view" if result._base is given else "own" if result._base is None else "view of another"


@scenario
def results_of_vmap(library):
    x, w, vmap = library.rand(2, 2), library.rand(2), library.func.vmap
    view = library.rand(4, 2)[1:3]
    first, second = vmap(lambda t: (t, t))(x)
    new, part = vmap(lambda t: (lambda y: (y, y[0:1]))(t * 2))(x)
    one, other = vmap(lambda t: (lambda y: (y[0:1], y[1:]))(t * 2))(x)
    return (
        [
            relation(vmap(f)(x), x)
            for f in (lambda t: t, lambda t: t[0:1], library.Tensor.abs_, lambda t: t * 1)
        ],
        relation(vmap(lambda t: w, out_dims=None)(x), w),
        relation(vmap(lambda t: w[0:1], out_dims=None)(x), w),
        relation(vmap(lambda a, b: b, (0, None), None)(x, w), w),
        vmap(lambda t: t[0:1])(view)._base is view._base,
        (first is second, part._base is new, one._base is other._base, one._is_view()),
    )


VIEWS = {
    "all": lambda t: t[:], "chunk": lambda t: t.chunk(2)[1], "diagonal": lambda t: t.diagonal(1),
    "expand": lambda t: t.expand(3, 4, 4), "movedim": lambda t: t.movedim(0, 1), "narrow": lambda t: t.narrow(0, 1, 2),
    "permute": lambda t: t.permute(1, 0), "select": lambda t: t.select(0, 1), "slice": lambda t: t[1:3, ::2],
    "split": lambda t: t.split([1, 3])[1], "squeeze": lambda t: t[None].squeeze(0), "t": lambda t: t.t(),
    "swapaxes": lambda t: t.swapaxes(0, 1), "mT": lambda t: t.mT, "unbind": lambda t: t.unbind()[0],
    "unfold": lambda t: t.unfold(0, 2, 1), "unsqueeze": lambda t: t.unsqueeze(0), "view_as": lambda t: t.view_as(t),
    "reshape": lambda t: t.reshape(-1), "flatten": lambda t: t.flatten(), "unflatten": lambda t: t.unflatten(0, (2, 2)),
    "tensor_split": lambda t: t.tensor_split(2)[0], "hsplit": lambda t: t.hsplit(2)[0],
    "abs_": lambda t: t.abs_(), "mul_": lambda t: t.mul_(2), "clamp_": lambda t: t.clamp_(0, 1),
    "copy_": lambda t: t.copy_(t * 2), "fill_": lambda t: t.fill_(1), "zero_": lambda t: t.zero_(),
}  # fmt: skip


@pytest.mark.parametrize("name", VIEWS)
def test_views_by_vmap(name):
    for dims in ((0, 0), (1, 0), (0, 1)):
        found = []
        for library in (fxt, torch):
            x = library.arange(64.0).reshape(4, 4, 4)
            result = library.func.vmap(VIEWS[name], *dims)(x)
            found.append((relation(result, x), result.tolist(), x.tolist()))
        assert found[0] == found[1]


@scenario
def results_of_vjp(library):
    x, w, vjp, grad = library.rand(2, 2), library.rand(2), library.func.vjp, library.func.grad
    (new, part), _ = vjp(lambda t: (lambda y: (y, y[0]))(t * 2), x)
    (same, again), _ = vjp(lambda t: (lambda y: (y, y))(t * 2), x)
    return (
        [relation(vjp(f, x)[0], x) for f in (lambda t: t, lambda t: t[0], lambda t: t.T, lambda t: t * 1)],
        [relation(vjp(f, x)[0], w) for f in (lambda t: w, lambda t: w[0:1])],
        relation(grad(lambda t: (t.sum(), t), has_aux=True)(x)[1], x),
        relation(grad(lambda t, u: (t.sum(), u), has_aux=True)(x, w)[1], w),
        (part._base is new, same is again),
    )


# -- regressions ---------------------------
@scenario
def cotangents_are_not_written_into(library):
    x, z, w = [library.ones(2, requires_grad=True) for _ in range(3)]
    y = x.clone()
    y[:1].mul_(5.0)
    gradients = library.autograd.grad(((y + z) * w).sum(), (x, z), create_graph=True)
    given = library.ones(2, requires_grad=True)
    y = x.clone()
    y[:1].mul_(5.0)
    y.backward(given, create_graph=True)
    return gradients, given, x.grad


@scenario
def leaf_through_identity(library):
    x = library.ones(2, 2, requires_grad=True)
    library.func.vmap(lambda t: t)(x).mul_(10)


@scenario
def leaf_modified_inside(library):
    library.func.vmap(lambda t: t.mul_(2))(library.ones(2, 2, requires_grad=True))


@scenario
def leaf_modified_inside_without_grad(library):
    x = library.ones(2, 2, requires_grad=True)
    with library.no_grad():
        library.func.vmap(lambda t: t.mul_(2))(x)
    library.func.vmap(no_grad_inside(library, lambda t: t.mul_(2)))(x)
    return x, x.is_leaf


@scenario
def expanded_argument_modified_inside(library):
    library.func.vmap(lambda t: t.mul_(2))(library.ones(2).expand(3, 2))


@scenario
def argument_given_twice(library):
    x = library.ones(2, 2)
    return library.func.vmap(lambda a, b: (a.mul_(2), b.sum())[1])(x, x), x


@scenario
def unmapped_argument_modified_inside(library):
    vmap, x, w = library.func.vmap, library.ones(2, 2), library.ones(2, 3)
    inner = vmap(lambda a, u: (u.mul_(2), a)[1], (0, None))
    vmap(inner)(x, w)
    vmap(lambda t, v: library.func.grad(lambda a, u: (u.mul_(2), a.sum())[1])(t, v))(x, w)
    library.func.grad(lambda a, u: (u.mul_(2), a.sum())[1])(x, w)
    return x, w


@scenario
def argument_reshaped_inside(library):
    """Results only: torch gives the argument of vmap another shape, too, which has no other memory here."""
    x, z = library.arange(12.0).view(2, 2, 3), library.arange(6.0).view(2, 3)
    result = library.func.vmap(lambda t: t.clone().t_())(x) + library.func.vmap(lambda t: t.t_())(x.clone())
    part = library.func.vmap(lambda t: (t[0], t.t_())[0])(x.clone())
    same, _ = library.func.jvp(lambda t: t.t_(), (z,), (library.ones(2, 3),))
    return result, part, same, z


@scenario
def captured_modified_inside(library):
    x = library.ones(2, 2, requires_grad=True)
    y = x.clone()
    result = library.func.vmap(lambda t: (y.mul_(2), t[0:1])[1])(y)
    return result, result._base is y, library.autograd.grad(result.sum(), x)


@scenario
def captured_written_into_result(library):
    x = library.ones(2, requires_grad=True)
    y = x.clone()
    result, _ = library.func.vjp(lambda t: y[0:1], library.ones(2))
    result.mul_(5)
    return y, library.autograd.grad(y.sum(), x)


@scenario
def nothing_of_an_empty_view(library):
    z, v = library.ones(3, requires_grad=True) * 1, library.ones((), requires_grad=True)
    z[None, 2:2] = v
    views = [z[2:2][None], z[2:2].expand(3, 0), z[2:2].view(0, 3).diagonal(), z[2:2].unfold(0, 0, 1)]
    z.sum().backward()
    beyond = library.ones(1).as_strided((0,), (1,), 2)
    return v.grad, [t._base is z for t in views], beyond


@scenario
def copies_of_modules(library):
    module, x = library.nn.Linear(2, 1), library.ones(2, requires_grad=True)
    (module(x.detach()) + x.sum()).sum().backward()
    made, leaf = copy.deepcopy((module, x))
    return made.weight.grad, made.bias.grad, module.bias.grad, leaf.grad, made.weight.requires_grad


@scenario
def batched_through_views(library):
    def found(x, change):
        y = change(x)
        given = library.stack([library.ones_like(y), 2 * library.ones_like(y)])
        return library.autograd.grad(y, x, given, is_grads_batched=True)[0]

    def change(x):
        y = x.clone()
        y.transpose(0, 2)[1].diagonal()[::2].cos_()
        return y

    x = library.arange(24.0).view(2, 3, 4).requires_grad_()
    return found(x, change), found(x, lambda x: change(x.permute(1, 0, 2)))


@scenario
def tangents_of_parts_of_a_memory(library):
    forward, found = library.autograd.forward_ad, []
    primals = [
        library.ones(5)[:4], library.ones(5)[1:], library.ones(4), library.ones(4, 4)[0], library.ones(4).view(4),
        library.ones(8)[::2], library.ones(8)[4:],
    ]  # fmt: skip
    with forward.dual_level():
        for primal in primals:
            for tangent in (library.ones(4), library.ones(5)[:4], library.ones(5)[1:], library.ones(8)[4:]):
                forward.unpack_dual(forward.make_dual(primal, tangent)).tangent.mul_(2)
                found.append(tangent)
    return found


@scenario.each()
def test_as_torch(scenario):
    check(scenario)


# -- memory in which entries overlap ---------------------------
OVERLAPPING = {
    "as_strided": lambda y: y.as_strided((2, 2), (1, 1)),
    "unfold": lambda y: y.unfold(0, 2, 1),
    "expand": lambda y: y[:1].expand(3),
    "steps": lambda y: y.as_strided((2, 3), (4, 2)),
}
CHANGES = {
    "mul_": lambda v: v.mul_(2),
    "exp_": lambda v: v.exp_(),
    "copy_": lambda v: v.copy_(v.clone()),
    "setitem": lambda v: v.__setitem__([0], v[[0]] * 2),
    "out": lambda v: fxt.add(v.clone(), 1, out=v),
    "uniform_": lambda v: v.uniform_(),
    "index_fill_": lambda v: v.index_fill_(0, fxt.tensor([0]), 2.0),
    "gradient": lambda v: accumulated(v),
    "step": lambda v: stepped(v),
}


def accumulated(gradient):
    leaf = fxt.ones_like(gradient).requires_grad_()
    leaf.grad = gradient
    (leaf * 2).sum().backward()


def stepped(leaf):
    leaf.requires_grad_()
    leaf.grad = fxt.ones_like(leaf)
    fxt.optim.SGD([leaf], lr=0.1).step()


@pytest.mark.parametrize("silent", [False, True])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("view", OVERLAPPING)
def test_overlapping_entries_are_not_written(view, change, silent):
    """torch refuses where a stride is zero, and computes what depends on the order of writing where it is not."""
    y = fxt.arange(1.0, 10.0)
    grad = fxt.set_grad_enabled(not silent or change == "gradient")
    with grad, pytest.raises(RuntimeError, match=r"^unsupported operation: more than one element"):
        CHANGES[change](OVERLAPPING[view](y))
    assert y.tolist() == list(range(1, 10))


def test_entries_apart_are_written():
    for view in (
        lambda y: y.unfold(0, 2, 3),
        lambda y: y.as_strided((2, 2), (3, 2)),
        lambda y: y[::3].flip(0).t(),
    ):
        for library in (fxt, torch):
            y = library.arange(1.0, 10.0)
            view(y).mul_(2)
        assert view(fxt.ones(9)).mul_(2).sum().item() == 2 * view(fxt.ones(9)).numel()


def test_one_value_for_all():
    for view in OVERLAPPING.values():
        results = [lib.arange(1.0, 10.0) for lib in (fxt, torch)]
        for y in results:
            view(y).fill_(5)
        np.testing.assert_array_equal(*map(as_numpy, results))


# -- operations ---------------------------
CASES: dict = {}
for case in gathered():
    if not case.name.startswith("unsafe_"):  # pieces that share memory and are no views, as in torch
        CASES.setdefault(case.name, []).append(case)


def shared(case) -> list:
    """Which results have memory in common with operands, or with each other, that nobody knows of."""
    tensors = list(case.tensors(fxt))
    operands, found = flat(tensors), []
    results = flat(case.call(fxt, tensors))
    for i, r in enumerate(results):
        others = [*operands, *results[:i]]
        if any(r is t for t in others):
            continue
        base = r if r._base is None else r._base
        found += [
            (i, k)
            for k, t in enumerate(others)
            if base is not (t if t._base is None else t._base)
            and r.numel()
            and r.untyped_storage().data_ptr() == t.untyped_storage().data_ptr()
        ]
    return found


@pytest.mark.parametrize("name", CASES)
def test_results_of_operations(name):
    for case in CASES[name]:
        assert not shared(case)


# -- operations that have nothing to do ---------------------------
IDLE = {
    "repeat": lambda T, t: t.repeat(1, 1),
    "tile": lambda T, t: t.tile(1),
    "roll": lambda T, t: t.roll(0, 1),
    "roll of all": lambda T, t: t.roll(0),
    "flip": lambda T, t: t.flip([]),
    "rot90": lambda T, t: T.rot90(t, 0),
    "pad": lambda T, t: T.nn.functional.pad(t, (0, 0)),
    "cat": lambda T, t: T.cat([t]),
    "sum": lambda T, t: t[None].sum(0),
    "amax": lambda T, t: t[None].amax(0),
    "tril": lambda T, t: t.tril(9),
    "clamp": lambda T, t: t.clamp(min=-9),
    "dropout": lambda T, t: T.nn.functional.dropout(t, 0.0),
    "interpolate": lambda T, t: T.nn.functional.interpolate(t[None], size=3),
    "pixel_shuffle": lambda T, t: T.nn.functional.pixel_shuffle(t[None, None], 1),
    "avg_pool2d": lambda T, t: T.nn.functional.avg_pool2d(t[None], 1),
    "diff": lambda T, t: t.diff(n=0),
    "chain_matmul": lambda T, t: T.chain_matmul(t),
    "matrix_power": lambda T, t: t[:, :2].matrix_power(1),
    "sum_to_size": lambda T, t: t.sum_to_size(2, 3),
    "positive": lambda T, t: +t,
    "to": lambda T, t: t.to(T.float32),
    "repeat_interleave": lambda T, t: t.repeat_interleave(1, 0),
    "gather": lambda T, t: t.gather(0, T.arange(2)[:, None].expand(2, 3)),
}


@pytest.mark.filterwarnings("ignore:torch.chain_matmul is deprecated")
@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("name", IDLE)
def test_results_where_there_is_nothing_to_do(name, recorded):
    written = []
    for library in (fxt, torch):
        x = library.arange(6.0).reshape(2, 3).requires_grad_(recorded) * 1
        IDLE[name](library, x).detach().mul_(5)
        written.append(as_numpy(x.detach()))
    np.testing.assert_array_equal(*written)
