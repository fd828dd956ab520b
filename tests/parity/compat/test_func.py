"""torch.func but vmap: values, structures, auxiliary results, and how they fail."""

from __future__ import annotations

import pytest

from tests.parity.compat.scenarios import Scenarios, check, double  # noqa: F401

scenario = Scenarios()
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),  # torch's own
    pytest.mark.usefixtures("double"),
]


def x_of(torch):
    return torch.tensor([0.3, -1.2, 2.0])


def product(a, b):
    return (a * b.sin()).sum()


@scenario
def gradients(torch):
    x, f = x_of(torch), torch.func
    return (
        f.grad(lambda a: (a * a.sin()).sum())(x),
        f.grad(product, argnums=1)(x, x),
        f.grad(product, argnums=(1, 0))(x, x),
        f.grad(product, argnums=-1)(x, x),
        f.grad(product, argnums=(0,))(x, x),
    )


@scenario
def gradients_of_pytrees(torch):
    x = x_of(torch)
    tree = {"a": x, "b": [x * 2, (x.exp(),)]}
    return torch.func.grad(lambda t: (t["a"] * t["b"][0]).sum() + (t["b"][1][0] ** 2).sum())(tree)


@scenario
def an_argument_without_influence_has_a_gradient_of_zeros(torch):
    x = x_of(torch)
    return torch.func.grad(lambda t: t["a"].sum())({"a": x, "b": x}), torch.func.grad(
        lambda a: torch.ones(())
    )(x)


@scenario
def values_and_auxiliary_results(torch):
    x, f = x_of(torch), torch.func
    return (
        f.grad_and_value(lambda a: a.exp().sum())(x),
        f.grad(lambda a: (a.exp().sum(), {"twice": a * 2}), has_aux=True)(x),
        f.grad_and_value(lambda a: (a.exp().sum(), a * 2), has_aux=True)(x),
    )


@scenario
def keyword_arguments_are_handed_on(torch):
    x = x_of(torch)
    return torch.func.grad(lambda a, scale: (a * a * scale).sum())(x, scale=3.0)


@scenario
def outputs_that_depend_on_nothing(torch):
    y, pull = torch.func.vjp(lambda: torch.ones(2))
    constant = [torch.tensor(1), torch.tensor(1j)]
    return y, pull(torch.ones(2)), [torch.func.grad(lambda a, c=c: c)(x_of(torch)) for c in constant]


@scenario
def jacobians_are_pieces_of_one_tensor(torch):
    """As the results of `split` they may not be written into while they have a history."""
    x = x_of(torch).requires_grad_()
    outcomes = []
    for jacobian in (torch.func.jacrev, torch.func.jacfwd):
        found = jacobian(lambda a: (a * a, a[0]))(x)
        try:
            outcomes.append(found[0].mul_(2))
        except RuntimeError:
            outcomes.append("refused")
        outcomes.append(torch.autograd.grad(found[1].sum() + found[1].sum(), x, allow_unused=True))
    return outcomes


@scenario
def pullbacks(torch):
    x = x_of(torch)
    y, pull = torch.func.vjp(lambda a, b: (a * b, {"sum": a.sum()}), x, x + 1)
    once = pull((x, {"sum": torch.tensor(2.0)}))
    again = pull((x * 2, {"sum": torch.tensor(0.0)}))
    return y, once, again


@scenario
def pullbacks_of_one_output(torch):
    x = x_of(torch)
    y, pull, aux = torch.func.vjp(lambda a: (a.sin(), a + 1), x, has_aux=True)
    return y, pull(x), aux


@scenario
def pushforwards(torch):
    x, f = x_of(torch), torch.func
    return (
        f.jvp(torch.sin, (x,), (x,)),
        f.jvp(lambda a, b: [a * b, {"k": a}], (x, x + 1), (x, x * 2)),
        f.jvp(lambda a: (a.exp(), a * 2), (x,), (x,), has_aux=True),
        f.jvp(lambda d: d["x"] * 2, ({"x": x},), ({"x": x},)),
        f.jvp(lambda a: torch.ones(2), (x,), (x,)),
    )


@scenario
def linear_functions(torch):
    x = x_of(torch)
    y, push = torch.func.linearize(lambda a, b: (a * b, a.sin()), x, x + 1)
    return y, push(x, x), push(x * 2, x)


@scenario
def jacobians(torch):
    x, w, f = x_of(torch), torch.ones(3, 3) + torch.eye(3), torch.func
    function = lambda a: (w @ a.sin(), a.sum())  # noqa: E731
    return [
        (
            jac(function)(x),
            jac(lambda a, b: w @ (a * b), argnums=(0, 1))(x, x),
            jac(lambda a: (a * a, a), has_aux=True)(x),
            jac(lambda d: {"y": d["x"] ** 2})({"x": x}),
        )
        for jac in (f.jacrev, f.jacfwd)
    ]


@scenario
def jacobians_of_matrices(torch):
    x = torch.arange(6.0).reshape(2, 3)
    return [jac(lambda a: a.t() @ a)(x) for jac in (torch.func.jacrev, torch.func.jacfwd)]


@scenario
def jacobians_by_chunks(torch):
    x = x_of(torch)
    return [torch.func.jacrev(lambda a: (a * a, a.sum()), chunk_size=n)(x) for n in (1, 2, 10)]


@scenario
def hessians(torch):
    x = x_of(torch)
    return (
        torch.func.hessian(lambda a: (a**3).sum() * a.sum())(x),
        torch.func.hessian(lambda a, b: (a * b * b).sum(), argnums=(0, 1))(x, x),
    )


@scenario
def functionalized(torch):
    x = x_of(torch)

    def function(a):
        b = a * 2
        b[0] = 5
        b.view(-1).mul_(a)
        return b

    return [torch.func.functionalize(function, remove=r)(x) for r in ("mutations", "mutations_and_views")]


@scenario
def gradients_of_complex_arguments(torch):
    z = torch.tensor([1 + 2j, -0.5 + 1j])
    return torch.func.grad(lambda a: a.abs().sum())(z), torch.func.vjp(lambda a: a * a, z)[1](z)


@scenario
def pushforwards_of_complex_arguments(torch):
    z = torch.tensor([1 + 2j, -0.5 + 1j])
    return torch.func.jvp(lambda a: a * a * 1j, (z,), (z + 1,))


@scenario
def gradients_under_no_grad(torch):
    x = x_of(torch)
    with torch.no_grad():
        return torch.func.grad(lambda a: (a * a).sum())(x)


@scenario
def no_grad_inside(torch):
    x = x_of(torch)

    def function(a):
        with torch.no_grad():
            constant = a * 2
        return (a * constant).sum()

    nested = torch.func.grad(lambda a: torch.func.grad(function)(a).sum())
    return torch.func.grad(function)(x), nested(x)


@scenario
def detached_inside(torch):
    x = x_of(torch)
    function = lambda a: (a * a.detach()).sum()  # noqa: E731
    nested = torch.func.grad(lambda a: torch.func.grad(function)(a).sum())
    return torch.func.grad(function)(x), nested(x)


@scenario
def what_is_left_of_a_tensor_after_its_level(torch):
    found = []

    def function(a):
        found.append(a * 2)
        return a.sum()

    x = x_of(torch).requires_grad_()
    torch.func.grad(function)(x)
    y = found[0] * 3
    return y, torch.autograd.grad(y.sum(), x)


@scenario
def what_is_inside(torch):
    seen = []

    def function(a):
        seen.append((a.requires_grad, a.is_leaf, tuple(a.shape), torch.is_grad_enabled()))
        return a.sum()

    x = x_of(torch)
    torch.func.grad(function)(x)
    torch.func.jvp(function, (x,), (x,))
    torch.func.vmap(function)(torch.ones(2, 3))
    return seen


@scenario.each()
def test_alike(scenario):
    check(scenario)


MISUSES = {
    "an argument that is not there": lambda t, x: t.func.grad(product, argnums=2)(x, x),
    "a negative one": lambda t, x: t.func.grad(product, argnums=-3)(x, x),
    "argnums of the wrong kind": lambda t, x: t.func.grad(product, argnums="a")(x, x),
    "no argnums": lambda t, x: t.func.grad(product, argnums=())(x, x),
    "argnums twice": lambda t, x: t.func.grad(product, argnums=(0, 0))(x, x),
    "a number": lambda t, x: t.func.grad(lambda a: a)(3.0),
    "integers": lambda t, x: t.func.grad(lambda a: a.sum())(t.arange(3)),
    "a vector": lambda t, x: t.func.grad(lambda a: a)(x),
    "no aux": lambda t, x: t.func.grad(lambda a: a.sum(), has_aux=True)(x),
    "complex output": lambda t, x: t.func.grad(lambda a: a.sum())(t.tensor([1j])),
    "vjp of what is no Tensor": lambda t, x: t.func.vjp(lambda a: 3, x),
    "vjp without aux": lambda t, x: t.func.vjp(lambda a: a, x, has_aux=True),
    "vjp of a number": lambda t, x: t.func.vjp(lambda a, b: a, x, 3),
    "cotangent of another structure": lambda t, x: t.func.vjp(lambda a: (a, a), x)[1](x),
    "cotangent of another shape": lambda t, x: t.func.vjp(lambda a: a, x)[1](t.ones(2)),
    "cotangent that is no Tensor": lambda t, x: t.func.vjp(lambda a: a, x)[1](3),
    "primals that are no tuple": lambda t, x: t.func.jvp(t.sin, x, x),
    "a primal that is no Tensor": lambda t, x: t.func.jvp(t.sin, (3,), (3,)),
    "no primals": lambda t, x: t.func.jvp(t.sin, (), ()),
    "tangent of another shape": lambda t, x: t.func.jvp(t.sin, (x,), (t.ones(2),)),
    "primal of integers": lambda t, x: t.func.jvp(t.neg, (x.long(),), (x.long(),)),
    "tangent of integers": lambda t, x: t.func.jvp(t.neg, (x,), (x.long(),)),
    "jacfwd of integers": lambda t, x: t.func.jacfwd(t.neg)(x.long()),
    "linearize of integers": lambda t, x: t.func.linearize(t.neg, x.long()),
    "jacobian of integers": lambda t, x: t.autograd.functional.jacobian(
        lambda a: a * 2.0, x.long(), vectorize=True, strategy="forward-mode"
    ),
    "tangents of another structure": lambda t, x: t.func.jvp(t.sin, (x,), (x, x)),
    "jvp of what is no Tensor": lambda t, x: t.func.jvp(lambda a: 3, (x,), (x,)),
    "jvp without aux": lambda t, x: t.func.jvp(lambda a: a, (x,), (x,), has_aux=True),
    "strict": lambda t, x: t.func.jvp(lambda a: t.ones(2), (x,), (x,), strict=True),
    "chunks of nothing": lambda t, x: t.func.jacrev(t.sin, chunk_size=0)(x),
    "jacrev of what is no Tensor": lambda t, x: t.func.jacrev(lambda a: 3)(x),
    "jacfwd of what is no Tensor": lambda t, x: t.func.jacfwd(lambda a: 3)(x),
    "linearized at another shape": lambda t, x: t.func.linearize(t.sin, x)[1](t.ones(2)),
    "linearized at another dtype": lambda t, x: t.func.linearize(t.sin, x)[1](x.float()),
    "linearized at too many": lambda t, x: t.func.linearize(t.sin, x)[1](x, x),
    "another functionalization": lambda t, x: t.func.functionalize(t.sin, remove="views")(x),
    "a leaf modified": lambda t, x: t.func.grad(lambda a: a.mul_(2).sum())(x),
    "an item of what requires a gradient": lambda t, x: t.func.grad(lambda a: t.tensor(a.numpy()).sum())(x),
}
STRUCTURES = {  # torch's messages go on with its descriptions of structures
    "cotangent of another structure",
    "tangents of another structure",
    "linearized at too many",
    "another functionalization",
    "cotangent that is no Tensor",
}


@pytest.mark.parametrize("name", MISUSES)
def test_misuse(name):
    def run(torch):
        try:
            return MISUSES[name](torch, x_of(torch))
        except Exception as error:
            line = str(error).partition("\n")[0].strip()
            kind = next(c.__name__ for c in (RuntimeError, ValueError, TypeError) if isinstance(error, c))
            return kind, line[:20] if name in STRUCTURES else line

    check(run)
