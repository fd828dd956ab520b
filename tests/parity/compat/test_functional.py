"""torch.autograd.functional against torch: structure, values, strict mode, create_graph, and how it fails."""

from __future__ import annotations

import pytest

from tests.parity.compat.scenarios import Scenarios, check, double  # noqa: F401

scenario = Scenarios()
pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning"),
    pytest.mark.usefixtures("double"),
]

PRODUCTS = ("vjp", "jvp", "vhp", "hvp")
MATRICES = ("jacobian", "hessian")


def vectors(torch, name, *inputs):
    """The positional arguments after the inputs: `v` for a product with a scalar function."""
    if name in MATRICES:
        return ()
    if name == "vjp":
        return (torch.tensor(2.0),)
    v = tuple(torch.ones_like(x) * (i + 2) for i, x in enumerate(inputs))
    return (v if len(v) > 1 else v[0],)


def functional(torch, name):
    return getattr(torch.autograd.functional, name)


def pair(torch):
    return torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([[3.0, 4.0], [0.5, -1.0]])


# Functions of one number's worth: of one Tensor, and of two.
ONE = {
    "cubic": lambda x: (x**3).sum(),
    "quadratic": lambda x: (x * x).sum(),
    "linear": lambda x: x.sum() * 3,
    "constant": lambda x: x.detach().sum(),
    "vector": lambda x: x * x,
    "number": lambda x: 1.0,
}
TWO = {
    "mixed": lambda x, y: (x * (y @ x)).sum().sin(),
    "separate": lambda x, y: (x * x).sum() + (y * y).sum(),
    "one of them": lambda x, y: (x * x * x).sum(),
}
OPTIONS = {
    "": {},
    "create_graph": {"create_graph": True},
    "strict": {"strict": True},
    "strict, create_graph": {"strict": True, "create_graph": True},
}


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: o or "plain")
@pytest.mark.parametrize("function", ONE)
@pytest.mark.parametrize("name", PRODUCTS + MATRICES)
def test_of_one_input(name, function, options):
    def run(torch):
        x, _ = pair(torch)
        return functional(torch, name)(ONE[function], x, *vectors(torch, name, x), **OPTIONS[options])

    check(run)


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: o or "plain")
@pytest.mark.parametrize("function", TWO)
@pytest.mark.parametrize("name", PRODUCTS + MATRICES)
def test_of_two_inputs(name, function, options):
    def run(torch):
        inputs = pair(torch)
        return functional(torch, name)(
            TWO[function], inputs, *vectors(torch, name, *inputs), **OPTIONS[options]
        )

    check(run)


def outputs(x, y):
    """Two outputs, one of which is independent of an input."""
    return x @ y, x.sin()


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: o or "plain")
@pytest.mark.parametrize("name", ["vjp", "jvp", "jacobian"])
def test_of_two_outputs(name, options):
    def run(torch):
        x, y = pair(torch)
        v = {"vjp": ((x.detach(), x.detach() * 2),), "jvp": ((x.detach(), y * 2),), "jacobian": ()}[name]
        return functional(torch, name)(outputs, (x, y), *v, **OPTIONS[options])

    check(run)


@pytest.mark.parametrize("name", PRODUCTS + MATRICES)
def test_results_are_differentiable(name):
    def run(torch):
        inputs = pair(torch)
        x = inputs[0]
        found = functional(torch, name)(
            TWO["mixed"], inputs, *vectors(torch, name, *inputs), create_graph=True
        )
        found = found if name in MATRICES else found[1]
        while isinstance(found, tuple):
            found = found[0]
        return torch.autograd.grad(found.sum(), x)

    check(run)


VECTORIZED = {
    "jacobian, reverse": ("jacobian", outputs, {}),
    "jacobian, create_graph": ("jacobian", outputs, {"create_graph": True}),
    "jacobian, independent": ("jacobian", lambda x, y: (x.detach() * 2, y * 3), {}),
    "hessian, reverse": ("hessian", TWO["mixed"], {}),
    "hessian, create_graph": ("hessian", TWO["mixed"], {"create_graph": True}),
    "hessian, separate": ("hessian", TWO["separate"], {}),
}


@pytest.mark.parametrize("case", VECTORIZED)
def test_vectorized(case):
    name, function, options = VECTORIZED[case]

    def run(torch):
        return functional(torch, name)(function, pair(torch), vectorize=True, **options)

    check(run)


FORWARD = {
    "jacobian": ("jacobian", outputs, "strategy"),
    "jacobian, independent": ("jacobian", lambda x, y: (x.detach() * 2, y * 3), "strategy"),
    "hessian": ("hessian", TWO["mixed"], "outer_jacobian_strategy"),
    "hessian, separate": ("hessian", TWO["separate"], "outer_jacobian_strategy"),
}


@pytest.mark.parametrize("case", FORWARD)
def test_vectorized_forward_mode(case):
    """torch leaves a graph on what forward mode gives, which here only `create_graph` does."""
    name, function, strategy = FORWARD[case]

    def detached(result):
        return tuple(map(detached, result)) if isinstance(result, tuple | list) else result.detach()

    def run(torch):
        found = functional(torch, name)(function, pair(torch), vectorize=True, **{strategy: "forward-mode"})
        return detached(found)

    check(run)


@scenario
def tuples_of_one(torch):
    x, _ = pair(torch)
    f = torch.autograd.functional
    return (
        f.jacobian(lambda x: (x * 2,), (x,)),
        f.jacobian(lambda x: (x * 2,), x),
        f.vjp(lambda x: (x * 2,), x, x.detach()),
        f.jvp(lambda x: x * 2, (x,), x.detach()),
        f.hessian(lambda x: (x * x).sum(), (x,)),
    )


@scenario
def scalars_need_no_vector(torch):
    x = torch.tensor(2.0)
    return [functional(torch, name)(lambda x: x**3, x) for name in PRODUCTS + MATRICES]


@scenario
def under_no_grad(torch):
    x, _ = pair(torch)
    with torch.no_grad():
        return (
            torch.autograd.functional.jacobian(lambda x: x * x, x),
            torch.autograd.functional.jacobian(lambda x: x * x, x, create_graph=True),
            torch.is_grad_enabled(),
        )


@scenario
def vectors_are_differentiated_by(torch):
    x, _ = pair(torch)
    v = torch.tensor([3.0, 4.0], requires_grad=True)
    found = []
    for name in ("vjp", "jvp"):
        _, product = functional(torch, name)(lambda x: x * 2, x, v, create_graph=True)
        found.append((product, torch.autograd.grad(product.sum(), v)))
    return found


@scenario
def complex_products(torch):
    z, v = torch.tensor([1 + 1j, 2 + 0j]), torch.tensor([1 + 0j, 1j])
    f = torch.autograd.functional
    return (
        f.vjp(lambda z: z * z * (1 + 2j), z, v),
        f.jvp(lambda z: z * z * (1 + 2j), z, v),
        f.jacobian(lambda z: z * z * (1 + 2j), z, vectorize=True),
        f.jacobian(lambda z: z * z * (1 + 2j), z, vectorize=True, strategy="forward-mode"),
        f.jacobian(lambda z: (z * z.conj()).real, z),
    )


@scenario
def complex_jacobian_row_by_row(torch):
    torch.autograd.functional.jacobian(lambda z: z * z, torch.tensor([1 + 1j, 2 + 0j]))


@scenario
def scalars(torch):
    x = torch.tensor(2.0)
    return torch.autograd.functional.jacobian(lambda x: x.expand(3) * x, x)


@scenario
def integer_input(torch):
    torch.autograd.functional.jacobian(lambda x: x * 2.0, torch.tensor([1, 2]))


@scenario
def outer_graph_stays_connected(torch):
    x = x_of(torch)
    (g,) = torch.autograd.grad(
        torch.autograd.functional.jacobian(lambda a: a**3, x * 2, create_graph=True).sum(), x
    )
    return g


# -- misuse -----------------------------------------------------------------------------------------------------------


def x_of(torch):
    return pair(torch)[0]


MISUSES = {
    **{
        f"{name}, input": lambda torch, name=name: functional(torch, name)(lambda x: x, 1.0)
        for name in PRODUCTS + MATRICES
    },
    **{
        f"{name}, list": lambda torch, name=name: functional(torch, name)(lambda x: x, [x_of(torch)])
        for name in PRODUCTS + MATRICES
    },
    **{
        f"{name}, vector missing": lambda torch, name=name: functional(torch, name)(lambda x: x, x_of(torch))
        for name in PRODUCTS
    },
    **{
        f"{name}, vector's shape": lambda torch, name=name: functional(torch, name)(
            ONE["cubic"], x_of(torch), torch.ones(3)
        )
        for name in PRODUCTS
    },
    **{
        f"{name}, two vectors": lambda torch, name=name: functional(torch, name)(
            ONE["cubic"], x_of(torch), (torch.ones(2), torch.ones(2))
        )
        for name in PRODUCTS
    },
    **{
        f"{name}, vector's type": lambda torch, name=name: functional(torch, name)(
            ONE["cubic"], x_of(torch), 2.0
        )
        for name in PRODUCTS
    },
    **{
        f"{name}, two outputs": lambda torch, name=name: functional(torch, name)(
            lambda x: (x.sum(), x), x_of(torch), *vectors(torch, name, x_of(torch))
        )
        for name in ("vjp", "vhp", "hvp", "hessian")
    },
    "one vector for two": lambda torch: torch.autograd.functional.jvp(
        outputs, pair(torch), (torch.ones(2), torch.ones(2))
    ),
    "output's value": lambda torch: torch.autograd.functional.jacobian(lambda x: (x, 1.0), x_of(torch)),
    "strategy": lambda torch: torch.autograd.functional.jacobian(
        lambda x: x, x_of(torch), strategy="sideways"
    ),
    "outer strategy": lambda torch: torch.autograd.functional.hessian(
        lambda x: x.sum(), x_of(torch), outer_jacobian_strategy="sideways"
    ),
    "strict and vectorize": lambda torch: torch.autograd.functional.jacobian(
        lambda x: x, x_of(torch), strict=True, vectorize=True
    ),
    "forward-mode and create_graph": lambda torch: torch.autograd.functional.jacobian(
        lambda x: x, x_of(torch), create_graph=True, vectorize=True, strategy="forward-mode"
    ),
}


@pytest.mark.parametrize("misuse", MISUSES)
def test_misuse(misuse):
    check(MISUSES[misuse])


@scenario.each()
def test_as_torch(scenario):
    check(scenario)
