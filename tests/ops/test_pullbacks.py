"""What reverse mode keeps: every pullback rule fulfils its contract, and the tape of `fxgrad.compat`, which relies on
all of it, records every primitive: declared ones, loops, branches, solutions, functions with rules of their own."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.compat as torch
import fxgrad.numpy as fnp
from fxgrad import lax
from fxgrad.compat._core.tensor import unwrap, wrap
from fxgrad.compat._declare.operation import OPERATIONS, operation
from fxgrad.core.pullback import PullbackRule
from fxgrad.testing import random_like
from tests.compat import samples as compat_samples
from tests.ops.test_registry import differentiable
from tests.sample import close, drawn, function_of
from tests.samples import SAMPLES
from tests.together import together

PROGRAMS = {"fxgrad.demo", "fxgrad.demo.privacy"}  # which need more than the library does
X = np.array([0.3, -0.7, 1.1])
V = np.array([1.0, 2.0, -1.0])
STRUCT = fx.ShapeDtypeStruct((3,), np.dtype(float))
M = np.array([[3.0, 1.0, 0.0], [1.0, 4.0, 1.0], [0.0, 1.0, 5.0]])


# -- the contract ------------------------------------------------------------------------------------------
def classes():
    """All classes of the package."""
    found = {}
    for module in pkgutil.walk_packages(fx.__path__, "fxgrad."):
        if module.name not in PROGRAMS:
            members = vars(import_module(module.name)).values()
            found |= {c: None for c in members if inspect.isclass(c) and c.__module__ == module.name}
    return list(found)


def test_whatever_has_a_pullback_is_a_rule():
    assert [c for c in classes() if "pull" in vars(c) and not issubclass(c, PullbackRule)] == []


def test_every_rule_fulfils_the_contract():
    rules = [c for c in classes() if issubclass(c, PullbackRule) and c.pull is not PullbackRule.pull]
    assert len(rules) > 20
    for rule in rules:
        if rule.saved_from:  # then there is something to map
            assert rule.map_residuals is not PullbackRule.map_residuals, rule
        assert (
            rule.pull_plain is None or callable(rule.pull_plain) or inspect.isdatadescriptor(rule.pull_plain)
        ), rule


def test_a_rule_that_says_nothing_has_to_be_made_again():
    class Silent(PullbackRule):
        pass

    assert Silent.saved_from is None
    with pytest.raises(NotImplementedError, match="Silent saves intermediate values"):
        Silent().map_residuals((), None, None)


# -- every primitive, recorded -----------------------------------------------------------------------------
def on_tensors(f):
    """A function of values as one of Tensors: a primitive reaches the tape as it does from inside the library."""

    def apply(*tensors):
        result = f(*map(unwrap, tensors))
        return result if isinstance(result, torch.Tensor) else wrap(result)

    return apply


def gradients_of(results, tensors, seeds, create_graph=False):
    """Gradients by the tape; zeros of what is not reached."""
    reached = [(r, s) for r, s in zip(results, seeds) if r.requires_grad]
    found = [None] * len(tensors)
    if reached:
        results, seeds = zip(*reached)
        found = torch.autograd.grad(results, tensors, seeds, create_graph=create_graph, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for g, x in zip(found, tensors)]


@together(sample=lambda sample: sample.name)
@pytest.mark.parametrize(
    "sample", [s for s in [*SAMPLES, *compat_samples.SAMPLES] if differentiable(s)], ids=str
)
def test_the_tape_records_every_primitive(sample):
    """First and second derivatives are those of `fx.vjp`, conjugated by torch's convention."""
    rng, operands = drawn(sample)
    f, xs = function_of(sample, operands)
    (ct,), us = random_like(rng, f(*xs)), random_like(rng, *xs)

    def gradients(*values):
        return [fnp.conj(g) for g in fx.vjp(f, *values)[1](ct.conj())]

    first = gradients(*xs)
    second = [g.conj() for g in fx.vjp(gradients, *xs)[1]([u.conj() for u in us])]
    tensors = [torch.tensor(x, requires_grad=True) for x in xs]
    grads = gradients_of([on_tensors(f)(*tensors)], tensors, [torch.tensor(ct)], create_graph=True)
    again = gradients_of(grads, tensors, map(torch.tensor, us))
    tolerance = 1e-5 if ct.dtype == np.float32 else 1e-11
    for actual, expected in zip([*grads, *again], [*first, *second]):
        close(actual.detach().numpy(), expected, tolerance)


# -- what functions with rules of their own and control flow are made of -------------------------------------
@fx.custom_vjp
def exponential(x):
    return fnp.exp(x)


exponential.defvjp(lambda x: (y := fnp.exp(x), y), lambda y, ct: (ct * y,))  # which keeps the result itself


@fx.custom_jvp
def sine(x):
    return fnp.sin(x)


sine.defjvp(lambda primals, tangents: (fnp.sin(primals[0]), fnp.cos(primals[0]) * tangents[0]))
tripled = fx.custom(lambda x: 3 * x, transpose=lambda ct, x: (3 * ct,))


def solution(x):
    d = fnp.exp(x)

    def solve(matvec, b):
        return fnp.linalg.solve(M * d[:, None], b)

    def transpose_solve(vecmat, b):
        return fnp.linalg.solve(M.T * d, b)

    return lax.custom_linear_solve(lambda v: (M @ v) * d, fnp.sin(x), solve, transpose_solve)


def newton(g, z):
    for _ in range(20):
        value, slope = fx.jvp(g, (z,), (fnp.ones(3),))
        z = z - value / slope
    return z


def root(x):
    return lax.custom_root(lambda z: z**3 + z - x, fnp.zeros(3), newton, lambda g, y: y / g(fnp.ones(3)))


def halved(x):
    return lax.while_loop(lambda v: fnp.sum(v * v) > 0.05, lambda v: 0.5 * fnp.sin(v), x, max_steps=20)


FUNCTIONS = {
    "scan": lambda x: lax.scan(lambda c, r: (fnp.sin(c) * r + c, c * r), x[0], x)[1],
    "fori_loop": lambda x: lax.fori_loop(0, 3, lambda i, v: fnp.sin(v) * v, x),
    "while_loop": halved,
    "map": lambda x: lax.map(lambda v: fnp.exp(v) * v, x),
    "associative_scan": lambda x: lax.associative_scan(fnp.multiply, x),
    "cond": lambda x: lax.cond(x[0] > 0, fnp.sin, fnp.cos, x) * x,
    "cond in scan": lambda x: lax.scan(lambda c, r: (lax.cond(c > 0, fnp.sin, fnp.exp, c) * r, c), x[2], x)[
        1
    ],
    "custom_vjp": lambda x: exponential(fnp.sin(x)),
    "custom_vjp in scan": lambda x: lax.scan(lambda c, r: (exponential(c) * r, c), x[0], x)[1],
    "custom_jvp": lambda x: sine(x) * x,
    "custom": lambda x: tripled(fnp.sin(x)),
    "checkpoint": lambda x: fx.checkpoint(lambda v: fnp.sin(fnp.exp(v)))(x),
    "custom_linear_solve": solution,
    "custom_root": root,
    "jit": lambda x: fx.jit(lambda v: fnp.sin(v) * v)(x),
    "psum": lambda x: fx.vmap(lambda v: lax.psum(fnp.sin(v), "i") * v, axis_name="i")(x),
    "vmap": lambda x: fx.vmap(lambda v: lax.scan(lambda c, r: (c * r, fnp.sin(c)), v, x)[1])(x).sum(0),
    "grad": lambda x: fx.grad(lambda v: fnp.sum(lax.scan(lambda c, r: (fnp.sin(c) * r, c), v[0], v)[1]))(x),
    "pure_callback": lambda x: (
        x**2 * fx.pure_callback(np.sin, STRUCT, fx.stop_gradient(x), vmap_method="expand_dims")
    ),
    "debug_callback": lambda x: (fx.debug.callback(lambda v: None, x), fnp.sin(x))[1],
}
each = pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)


def squared(f):
    """The sum of squares of the entries of a result, of values and of Tensors."""
    return lambda x: (f(x) ** 2).sum()


def derivatives(f):
    """(gradient, Hessian times V, third derivative along V and all ones) by the functional API, at X."""
    loss = squared(f)

    def hvp(x):
        return fx.jvp(fx.grad(loss), (x,), (V,))[1]

    return fx.grad(loss)(X), hvp(X), fx.grad(lambda x: fnp.sum(hvp(x)))(X)


@each
def test_backward_to_the_third_order(f):
    x = torch.tensor(X, requires_grad=True)
    found = [squared(on_tensors(f))(x)]
    for weight in (torch.tensor(1.0), torch.tensor(V), torch.ones(3)):
        found += torch.autograd.grad((found[-1] * weight).sum(), x, create_graph=True)
    for actual, expected in zip(found[1:], derivatives(f)):
        close(actual.detach().numpy(), expected, 1e-10)


@each
def test_transforms(f):
    """Gradients, forward over reverse, reverse over reverse, and a batch of gradients by `torch.func`."""
    func, loss = torch.func, squared(on_tensors(f))
    x, v = torch.tensor(X), torch.tensor(V)
    gradient, hessian, _ = derivatives(f)
    close(func.grad(loss)(x).numpy(), gradient, 1e-12)
    close(func.jvp(func.grad(loss), (x,), (v,))[1].numpy(), hessian, 1e-10)
    close(func.grad(lambda x: (func.grad(loss)(x) * v).sum())(x).numpy(), hessian, 1e-10)
    rows = np.stack([X, 0.9 * X])
    close(func.vmap(func.grad(loss))(torch.tensor(rows)).numpy(), fx.vmap(fx.grad(squared(f)))(rows), 1e-12)


@each
def test_operations_made_of_them(f):
    """An operation is derived from the function; its pullback, recorded, calls the same primitives."""
    op = operation("input", name="probe", spaces="", out=False)(lambda input: f(input))
    OPERATIONS.pop("probe", None)  # no part of torch
    x = torch.tensor(X, requires_grad=True)
    (gradient,) = torch.autograd.grad(squared(op)(x), x, create_graph=True)
    (hessian,) = torch.autograd.grad((gradient * torch.tensor(V)).sum(), x)
    close(gradient.detach().numpy(), derivatives(f)[0], 1e-10)
    close(hessian.numpy(), derivatives(f)[1], 1e-10)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.tensor(V))
        (pair,) = torch.autograd.grad(squared(op)(dual), x)
        close(torch.autograd.forward_ad.unpack_dual(pair).tangent.numpy(), derivatives(f)[1], 1e-10)


@pytest.mark.parametrize("index", [0, 1])
def test_a_branch_that_is_not_known_yet(index):
    """Inside `jit` the choice is recorded, outside it the branch that was chosen."""

    def hessian(i, x):
        tensor = wrap(x).detach().requires_grad_()
        loss = squared(on_tensors(lambda v: lax.switch(i, [fnp.sin, fnp.exp], v)))(tensor)
        (gradient,) = torch.autograd.grad(loss, tensor, create_graph=True)
        return unwrap(torch.autograd.grad((gradient * torch.tensor(V)).sum(), tensor)[0])

    close(fx.jit(hessian)(index, X), hessian(index, X), 1e-12)


def test_a_collective_of_a_level_outside_the_tape():
    """The tape stands between the primitive and the axis that it is about."""

    def coupled(v):
        return lax.psum(fnp.sin(v), "i") * v * lax.axis_index("i")

    def by_tape(v):
        return unwrap(torch.func.grad(on_tensors(coupled))(wrap(v)))

    def by_transform(v):
        return fx.grad(coupled)(v)

    close(fx.vmap(by_tape, axis_name="i")(X), fx.vmap(by_transform, axis_name="i")(X), 1e-12)


def test_the_way_back_takes_the_steps_of_a_loop_without_bound():
    def loop(v):
        return lax.while_loop(lambda v: fnp.sum(v) > 1, fnp.sin, v)

    x = torch.tensor(X, requires_grad=True)
    on_tensors(loop)(x).sum().backward()
    close(x.grad.numpy(), fx.grad(lambda v: fnp.sum(loop(v)))(X), 1e-12)


# -- what is kept is not modified unseen --------------------------------------------------------------------
KEPT = ["scan", "while_loop", "custom_vjp", "checkpoint", "custom_linear_solve", "cond in scan"]


@pytest.mark.parametrize("name", KEPT)
def test_an_operand_that_was_modified_is_seen(name):
    x = torch.tensor(X, requires_grad=True)
    z = x * 1
    y = on_tensors(FUNCTIONS[name])(z)
    z.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_result_that_was_modified_is_seen():
    x = torch.tensor(X, requires_grad=True)
    y = on_tensors(exponential)(x)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_what_was_kept_is_freed():
    x = torch.tensor(X, requires_grad=True)
    for f in FUNCTIONS.values():
        y = on_tensors(f)(x).sum()
        y.backward(retain_graph=True)
        y.backward()
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            y.backward()
