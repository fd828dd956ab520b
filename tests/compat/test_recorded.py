"""What says `requires_grad` is recorded, and where a derivative is cut it says so: ways of making a value, times ways
of using it, compared with numerical derivatives."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextvars import Context, copy_context
from time import sleep

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.compat as torch
import fxgrad.compat.autograd.forward_ad as fwAD
from fxgrad.compat import func
from fxgrad.compat._core import tape
from fxgrad.compat.autograd import functional
from fxgrad.compat.errors import TensorError
from fxgrad.core.errors import CustomRuleError, EscapedTracerError
from tests.compat.functions import doubled
from tests.together import together

X = np.array([0.3, -0.7, 1.1, 0.4])
ALONG = np.array([1.0, 0.5, -2.0, 0.25])
STEP = 1e-5


def slope(f, x=X, along=ALONG):
    """The derivative of a function of arrays along a direction, by differences."""
    return (f(x + STEP * along) - f(x - STEP * along)) / (2 * STEP)


def gradient(f, x):
    """That of a function with one number as its value."""
    columns = [slope(f, x, e.reshape(x.shape)) for e in np.eye(x.size)]
    return np.array(columns).reshape(x.shape)


def leaf():
    return torch.tensor(X, requires_grad=True)


def close(ours, expected):
    np.testing.assert_allclose(ours.detach().numpy(), expected, rtol=1e-6, atol=1e-8)


Doubled = doubled(torch)


class Passed(torch.autograd.Function):
    """Its operand as it is."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g

    @staticmethod
    def jvp(ctx, t):
        return t.view_as(t)


# -- ways of making a value --------------------------------------------------------------------------------------------
def under(mode, made):
    """What is made of a Tensor under no_grad or inference_mode."""

    def make(x):
        with getattr(torch, mode)():
            return made(x)

    return make


def late(x):
    """A view of what is a leaf that requires a gradient only afterwards."""
    base = x.detach().clone()
    view = base[:2]
    base.requires_grad_()
    return view


def reshaped(x):
    y = (x * 1).view(2, 2)
    with torch.no_grad():
        y.unsqueeze_(0)
        y.transpose_(0, 2)
    return y


def renamed(x):
    """What is no view, transposed under no_grad."""
    y = (x * 1).view(2, 2) * 1
    with torch.no_grad():
        y.t_()
    return y


def set_to(x):
    made = torch.zeros(4, dtype=torch.float64)
    with torch.no_grad():
        made.set_(x)
    return made


def data_set(x):
    made = torch.zeros(4, dtype=torch.float64)
    made.data = x * 1
    return made


def in_a_thread(x):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: x * 2).result()


def in_place(x):
    made = torch.ones(4, dtype=torch.float64)
    made[1:] = x[1:]
    return made


def detached_in_place(x):
    return (x * 1).detach_()


def modified_under_no_grad(x):
    y = x * 1
    with torch.no_grad():
        y.mul_(2)
    return y


def written(x):
    made = torch.empty(4, dtype=torch.float64)
    with torch.no_grad():
        torch.mul(x, 2, out=made)
    return made


# The derivative reaches x: the value is a function of it.
CONNECTED = {
    "x": lambda x: x,
    "result": lambda x: x * 1,
    "view of a leaf": lambda x: x[1:3],
    "view": lambda x: (x * 1)[1:3].unsqueeze(0),
    "part": lambda x: (x * 1).split(2)[1],
    "reshaped under no_grad": reshaped,
    "transposed under no_grad": renamed,
    "in a thread": in_a_thread,
    "in place": in_place,
    "Function in place": lambda x: Doubled.apply(x * 1),
    "Function in place on a view": lambda x: Doubled.apply((x * 1)[1:]),
    "Function as it is": lambda x: Passed.apply(x * 1),
}
# It does not: what requires a gradient is a leaf itself, the rest is constant.
CUT = {
    "view of a leaf under no_grad": under("no_grad", lambda x: x[1:3]),
    "view under no_grad": under("no_grad", lambda x: (x * 1)[1:3]),
    "part under no_grad": under("no_grad", lambda x: x.split(2)[1]),
    "view under inference_mode": under("inference_mode", lambda x: x[1:3]),
    "as_strided under no_grad": under("no_grad", lambda x: x.as_strided((2, 2), (2, 1))),
    "late": late,
    "result under no_grad": under("no_grad", lambda x: x * 2),
    "result under inference_mode": under("inference_mode", lambda x: x * 2),
    "inference leaf": under("inference_mode", lambda x: x.clone().requires_grad_()),
    "view of an inference leaf": lambda x: under("inference_mode", lambda x: x.clone().requires_grad_())(x)[1:],
    "resized inference leaf": under("inference_mode", lambda x: x.clone().requires_grad_().resize_(2)),
    "detach": lambda x: x.detach(),
    "detach_": detached_in_place,
    "data": lambda x: x.data,
    "set_": set_to,
    "data set": data_set,
    "out=": written,
    "unpacked": lambda x: torch.from_numpy(under("no_grad", lambda x: x.numpy())(x)),
}  # fmt: skip
MAKING = CONNECTED | CUT


def view_in_place(v):
    made = v.clone()
    made[..., 1:].mul_(3)
    return made


# -- ways of using it --------------------------------------------------------------------------------------------------
USING = {
    "product": lambda v: v * 3,
    "square": lambda v: v * v,
    "view": lambda v: v.reshape(-1)[1:] * v.mT.flatten()[1:] if v.ndim > 1 else v[1:] * v[:-1],
    "function": lambda v: torch.sin(v),
    "sum": lambda v: v.sum() * v.sum(),
    "stack": lambda v: torch.stack([v, v * 2, torch.ones_like(v)]).cos(),
    "matmul": lambda v: v.reshape(1, -1) @ v.reshape(-1, 1),
    "lerp": lambda v: torch.lerp(v, v * v, 0.3),
    "in place": view_in_place,
    "Function": lambda v: Doubled.apply(v.clone()) * v,
    "where": lambda v: torch.where(v > 0, v * v, -v),
}


@together("use")
@pytest.mark.parametrize("use", USING)
@pytest.mark.parametrize("way", MAKING)
def test_what_requires_a_gradient_gets_it(way, use):
    make, use = MAKING[way], USING[use]
    x = leaf()
    v = make(x)
    says, is_leaf = v.requires_grad, v.is_leaf
    if way in CONNECTED:
        assert says
    if v.is_inference() and says:
        v = v.clone()  # itself it may not be saved
        is_leaf = False
    if says:
        v.retain_grad()
    result = use(v)
    assert result.requires_grad is says
    if not says:
        with pytest.raises(TensorError, match="does not require grad"):
            result.sum().backward()
        return
    result.sum().backward()
    values = v.detach().numpy().copy()

    def of_values(a):
        return use(torch.tensor(a)).sum().item()

    close(v.grad, gradient(of_values, values))
    if way in CONNECTED:
        assert is_leaf is (v is x)
        close(x.grad, gradient(lambda a: use(make(torch.tensor(a, requires_grad=True))).sum().item(), X))
    else:
        assert x.grad is None


@pytest.mark.parametrize("way", MAKING)
def test_what_requires_a_gradient_may_have_hooks(way):
    v = MAKING[way](leaf())
    if not v.requires_grad or v.is_inference():
        return
    seen = []
    v.register_hook(seen.append)
    (v * 2).sum().backward()
    assert len(seen) == 1
    assert repr(v)


# -- forward mode ------------------------------------------------------------------------------------------------------
def dirty_out(x):
    y = x * 1
    Doubled.apply(y)
    return y


def dirty_constant(x):
    """A constant into which values with tangents are written."""
    y = torch.zeros(4, dtype=torch.float64)
    y[1:].copy_(x[1:])
    return y


# Of an operand with tangent; whether the result has one, which differences tell.
PUSHING = {
    "x": (lambda x: x, True),
    "result": (lambda x: x * 2, True),
    "view": (lambda x: x[1:3], True),
    "view under no_grad": (under("no_grad", lambda x: x[1:3]), True),
    "result under no_grad": (under("no_grad", lambda x: x * x), True),
    "reshaped under no_grad": (reshaped, True),
    "transposed under no_grad": (renamed, True),
    "Function in place": (lambda x: Doubled.apply(x * 1), True),
    "Function in place on a view": (lambda x: Doubled.apply((x * 1)[1:]), True),
    "modified by a Function": (dirty_out, True),
    "Function as it is": (lambda x: Passed.apply(x * 1), True),
    "in place": (in_place, True),
    "copied": (dirty_constant, True),
    "modified under no_grad": (modified_under_no_grad, True),
    "detach": (lambda x: x.detach(), False),
    "detach_": (detached_in_place, False),
    "data": (lambda x: x.data, False),
}


@together("use")
@pytest.mark.parametrize("use", USING)
@pytest.mark.parametrize("way", PUSHING)
@pytest.mark.parametrize("mode", ["dual_level", "func.jvp"])
def test_tangents_agree_with_numbers(mode, way, use):
    (make, carried), use = PUSHING[way], USING[use]
    if mode == "func.jvp":
        if way == "Function as it is":
            return  # it has no setup_context
        _, tangent = func.jvp(lambda x: use(make(x)), (torch.tensor(X),), (torch.tensor(ALONG),))
    else:
        with fwAD.dual_level():
            v = make(fwAD.make_dual(torch.tensor(X), torch.tensor(ALONG)))
            assert (fwAD.unpack_dual(v).tangent is not None) is carried
            tangent = fwAD.unpack_dual(use(v)).tangent
    if carried:
        close(tangent, slope(lambda a: use(make(torch.tensor(a))).numpy()))
    else:
        assert tangent is None or not tangent.numpy().any()


@pytest.mark.parametrize("target", ["constant", "dual"])
@pytest.mark.parametrize(
    "function",
    [
        lambda d, out: torch.add(d, 1, out=out),
        lambda d, out: torch.sin(d, out=out),
        lambda d, out: torch.cumsum(d, 0, out=out),
        lambda d, out: torch.matmul(d, d, out=out),
        lambda d, out: torch.cat([d, d], out=out),
        lambda d, out: torch.scatter(d, 0, torch.tensor([0]), 1.0, out=out),
    ],
)
def test_no_tangent_is_lost_in_out(function, target):
    with fwAD.dual_level():
        d = fwAD.make_dual(torch.tensor(X), torch.tensor(ALONG))
        out = torch.empty(0, dtype=torch.float64)
        given = d
        if target == "dual":
            out, given = function(d, None) * 1, torch.tensor(X)
        with pytest.raises(NotImplementedError, match="it is an out= function"):
            function(given, out)
    close(torch.add(torch.tensor(X), 1, out=torch.empty(4, dtype=torch.float64)), X + 1)


# -- derivatives inside transforms -------------------------------------------------------------------------------------
def cubed(x):
    return (x * x * x.sin()).sum()


def of_data(name, *vectors):
    """What a function of `autograd.functional` makes of `cubed`; the last of its results."""

    def computed(x, **options):
        found = getattr(functional, name)(cubed, x, *[torch.tensor(v) for v in vectors], **options)
        return found[-1] if isinstance(found, tuple) else found

    return computed


FUNCTIONAL = {
    "jacobian": of_data("jacobian"),
    "jacobian vectorized": lambda x: functional.jacobian(cubed, x, vectorize=True),
    "jacobian forward": lambda x: functional.jacobian(cubed, x, vectorize=True, strategy="forward-mode"),
    "jacobian create_graph": lambda x: functional.jacobian(cubed, x, create_graph=True),
    "hessian": of_data("hessian"),
    "vjp": of_data("vjp"),
    "vjp, result": lambda x: functional.vjp(cubed, x)[0],
    "jvp": of_data("jvp", ALONG),
    "hvp": of_data("hvp", ALONG),
    "vhp": of_data("vhp", ALONG),
    "autograd.grad": lambda x: torch.autograd.grad(cubed(x if x.requires_grad else x.requires_grad_()), x)[0],
    "autograd.grad of a result": lambda x: grad_at(x * 1),
}


def grad_at(y):
    y = y if y.requires_grad else y.requires_grad_()
    return torch.autograd.grad(cubed(y), y)[0]


TRANSFORMS = {
    "grad": lambda f: func.grad(f)(torch.tensor(X)),
    "jacrev": lambda f: func.jacrev(f)(torch.tensor(X)),
    "jacfwd": lambda f: func.jacfwd(f)(torch.tensor(X)),
    "vmap of grad": lambda f: func.vmap(func.grad(f))(torch.tensor(X)[None])[0],
    "grad of vmap": lambda f: func.grad(lambda x: func.vmap(f)(x).sum())(torch.tensor(X)[None])[0],
}


@pytest.mark.parametrize("name", FUNCTIONAL)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_transforms_differentiate_derivatives(transform, name):
    """Whether their graph is kept at the bottom or not: a transform of them is of a function."""
    if "forward" in name and transform == "jacfwd":
        return  # forward mode is not nested in itself
    derivative = FUNCTIONAL[name]

    def weighted(x):
        found = derivative(x)
        return (found * torch.arange(1.0, found.numel() + 1).reshape(found.shape)).sum()

    def of_values(a):
        return weighted(torch.tensor(a, requires_grad="autograd" in name)).item()

    close(TRANSFORMS[transform](weighted), gradient(of_values, X))


def test_the_bottom_keeps_no_graph_that_was_not_asked_for():
    x = leaf()
    for derivative in FUNCTIONAL.values():
        if derivative is not FUNCTIONAL["jacobian create_graph"]:
            assert not derivative(x).requires_grad


def test_no_grad_cuts_a_derivative_inside_grad():
    def f(x):
        with torch.no_grad():
            slopes = torch.autograd.grad(with_grad(cubed, x), x)[0]
        return (slopes * x).sum()

    def with_grad(g, x):
        with torch.enable_grad():
            return g(x)

    x = leaf()
    slopes = torch.autograd.grad(cubed(x), x)[0]
    close(func.grad(f)(torch.tensor(X)), slopes.numpy())


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_function_that_modifies_its_operand_is_transformed(transform):
    if "vmap" in transform or "jac" in transform:
        Batched = type(
            "Batched", (Doubled,), {"vmap": staticmethod(lambda info, dims, x: (Doubled.apply(x), 0))}
        )
    else:
        Batched = Doubled

    def f(x):
        y = x.sin()
        return (Batched.apply(y) * x * y).sum()

    close(TRANSFORMS[transform](f), gradient(lambda a: (2 * np.sin(a) * a * 2 * np.sin(a)).sum(), X))


def test_detach_in_place_is_of_the_innermost_derivative():
    def f(x):
        return (x * 1).detach_() * x

    x = torch.tensor(X)
    close(func.jvp(f, (x,), (torch.ones_like(x),))[1], X)
    close(func.grad(lambda x: f(x).sum())(x), X)
    close(func.grad(lambda x: func.vmap(f)(x).sum())(x), X)
    close(func.grad(lambda x: func.jvp(lambda z: f(z) * x, (x,), (x,))[0].sum())(x), 3 * X**2)


def test_what_is_written_into_an_argument_by_forward_mode():
    def f(x, y):
        y.copy_(x * x)
        return y * 1

    y = torch.zeros(4, dtype=torch.float64)
    close(func.jacfwd(f)(torch.tensor(X), y), np.diag(2 * X))
    close(y, X**2)
    close(func.hessian(lambda x, y: f(x, y).sum())(torch.tensor(X), y), 2 * np.eye(4))


@pytest.mark.parametrize("jacobian", [func.jacrev, func.jacfwd, func.hessian])
def test_jacobians_are_of_real_functions(jacobian):
    z = torch.tensor([1 + 2j])
    with pytest.raises(TensorError, match="Expected all inputs to be real"):
        jacobian(lambda x: x.abs().sum())(z)
    if jacobian is not func.hessian:
        with pytest.raises(TensorError, match=r"Expected all outputs to be real .* idx: 1"):
            jacobian(lambda x: (x, x * 1j))(torch.tensor([1.0]))
    close(jacobian(lambda x, y: (x * y).abs().sum())(torch.tensor([2.0]), z).reshape(-1)[:1],
          0 if jacobian is func.hessian else 5**0.5)  # fmt: skip


# -- threads -----------------------------------------------------------------------------------------------------------
def mapped(f, pool, *, copied):
    """f of 0, 1, 2, each in a thread."""
    run = [(copy_context() if copied else Context()).run for _ in range(3)]
    return sum(future.result() for future in [pool.submit(run[k], f, k) for k in range(3)])


THREADED = {
    "grad": lambda f, x: func.grad(lambda x: f(x).sum())(x),
    "vjp": lambda f, x: func.vjp(f, x)[1](torch.ones_like(x))[0],
    "jvp": lambda f, x: func.jvp(f, (x,), (torch.ones_like(x),))[1],
    "vmap": lambda f, x: func.vmap(f)(x),
}
OPERATIONS = {
    "unary": lambda x: x.sin(),
    "binary": lambda x: x * x,
    "second operand": lambda x: torch.mul(torch.tensor(2.0, dtype=torch.float64), x),
    "planned": lambda x: torch.softmax(x, -1) if x.ndim else x.exp(),
    "in place": lambda x: x.clone().mul_(2),
    "of a result": lambda x: (x * 1).exp(),
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("transform", THREADED)
def test_threads_lose_no_derivative(transform, operation):
    x, operation = torch.tensor(X), OPERATIONS[operation]
    with ThreadPoolExecutor(2) as pool:
        with pytest.raises(EscapedTracerError, match="copy_context"):
            THREADED[transform](lambda x: mapped(lambda k: operation(x) * k, pool, copied=False), x)
        found = THREADED[transform](lambda x: mapped(lambda k: operation(x) * k, pool, copied=True), x)
    close(found, THREADED[transform](lambda x: operation(x) * 3, x).numpy())


@pytest.mark.parametrize("operation", OPERATIONS)
def test_threads_that_use_a_leaf_first_share_its_node(monkeypatch, operation):
    """They meet where it has none yet, which without a global lock they often do."""
    operation = OPERATIONS[operation]
    monkeypatch.setattr(tape, "keep_freed_memory", lambda: sleep(0.02))
    x = torch.tensor(X, requires_grad=True)
    with ThreadPoolExecutor(3) as pool:
        mapped(lambda k: operation(x) * k, pool, copied=True).sum().backward()
        found = func.grad(lambda x: mapped(lambda k: operation(x) * k, pool, copied=True).sum())(x)
    close(x.grad, found.detach().numpy())
    close(found, func.grad(lambda x: (operation(x) * 3).sum())(torch.tensor(X)).numpy())


def test_a_closed_level_leaves_values():
    kept = []
    func.grad(lambda x: (kept.append(x * 2), x.sum())[1])(torch.tensor(X))
    for use in (lambda v: v * 2, lambda v: torch.sin(v), lambda v: torch.softmax(v, 0)):
        assert not use(kept[0]).requires_grad
        with ThreadPoolExecutor(1) as pool:
            assert not pool.submit(use, kept[0]).result().requires_grad


# -- complex gradients of real values ----------------------------------------------------------------------------------
def test_no_imaginary_part_is_dropped():
    class Turned(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g * (1 + 2j)

        @staticmethod
        def jvp(ctx, t):
            return t * (1 + 2j)

    with pytest.raises(TensorError, match="invalid gradient at index 0 - it is complex"):
        Turned.apply(leaf()).sum().backward()
    with fwAD.dual_level(), pytest.raises(TensorError, match="complex forward gradient of a real Tensor"):
        Turned.apply(fwAD.make_dual(torch.tensor(X), torch.tensor(ALONG)))
    with pytest.raises(TensorError, match="complex forward gradient of a real Tensor"):
        func.jvp(lambda x: x * 2, (torch.tensor(X),), (torch.tensor(ALONG) * 1j,))
    with pytest.raises(TensorError, match="required to have the same dtype"):
        func.vjp(lambda x: x * 2, torch.tensor(X))[1](torch.tensor(ALONG) * 1j)


def custom_vjp(f):
    made = fx.custom_vjp(f)
    made.defvjp(lambda x: (x * 2, None), lambda _, ct: (ct * (1 + 2j),))
    return made


def custom_jvp(f):
    made = fx.custom_jvp(f)
    made.defjvp(lambda x, t: (x[0] * 2, t[0] * 2j))
    return made


@pytest.mark.parametrize(
    "made",
    [
        custom_vjp,
        custom_jvp,
        lambda f: fx.custom(f, vjp=lambda ct, y, x: (ct * 2j,), check=False),
        lambda f: fx.custom(f, jvp=lambda x, t: (x[0] * 2, t[0] * 2j), check=False),
        lambda f: fx.custom(f, transpose=lambda ct, x: (ct * 2j,), check=False),
    ],
)
@pytest.mark.parametrize(
    "differentiated",
    [
        lambda f: fx.grad(f)(1.0),
        lambda f: fx.jit(fx.grad(f))(1.0),
        lambda f: fx.vmap(fx.grad(f))(np.ones(3)),
        lambda f: fx.jacrev(fx.vmap(f))(np.ones(3)),
    ],
)
def test_rules_of_real_values_are_real(made, differentiated):
    with pytest.raises(CustomRuleError, match=r"is complex .*expected float64"):
        differentiated(made(lambda x: x * 2))
