"""torch.autograd.functional inside the transforms of torch.func, which torch refuses: its results are differentiated
there, whatever `create_graph` says."""

from __future__ import annotations

import pytest

import fxgrad.compat as torch
from fxgrad.compat import func
from fxgrad.compat.autograd import functional


def values(x):
    return x.sin() * x


def number(x):
    return values(x).sum()


X, V = torch.tensor([0.3, 0.7], dtype=torch.float64), torch.tensor([1.0, 2.0], dtype=torch.float64)
PROGRAMS = {
    "jacobian": lambda x: functional.jacobian(values, x).sum(),
    "jacobian, strict": lambda x: functional.jacobian(values, x, strict=True).sum(),
    "jacobian, recorded": lambda x: functional.jacobian(values, x, create_graph=True).sum(),
    "jacobian, vectorized": lambda x: functional.jacobian(values, x, vectorize=True).sum(),
    "jacobian, forward": lambda x: functional.jacobian(
        values, x, vectorize=True, strategy="forward-mode"
    ).sum(),
    "hessian": lambda x: functional.hessian(number, x).sum(),
    "hessian, vectorized": lambda x: functional.hessian(number, x, vectorize=True).sum(),
    "hessian, forward": lambda x: functional.hessian(
        number, x, vectorize=True, outer_jacobian_strategy="forward-mode"
    ).sum(),
    "vjp": lambda x: functional.vjp(values, x, V)[1].sum(),
    "vjp, the output": lambda x: functional.vjp(values, x, V)[0].sum(),
    "vjp, the vector": lambda v: functional.vjp(values, X, v)[1].sum(),
    "jvp": lambda x: functional.jvp(values, x, V)[1].sum(),
    "jvp, the output": lambda x: functional.jvp(values, x, V)[0].sum(),
    "jvp, the vector": lambda v: functional.jvp(values, X, v)[1].sum(),
    "vhp": lambda x: functional.vhp(number, x, V)[1].sum(),
    "hvp": lambda x: functional.hvp(number, x, V)[1].sum(),
    "hvp, the output": lambda x: functional.hvp(number, x, V)[0],
    "hvp, the vector": lambda v: functional.hvp(number, X, v)[1].sum(),
}
UNITS = torch.eye(2, dtype=torch.float64)
TRANSFORMS = {
    "grad": lambda f: func.grad(f)(X),
    "vjp": lambda f: func.vjp(f, X)[1](torch.tensor(1.0, dtype=torch.float64))[0],
    "jacrev": lambda f: func.jacrev(f)(X),
    "jacfwd": lambda f: func.jacfwd(f)(X),
    "jvp": lambda f: torch.stack([func.jvp(f, (X,), (unit,))[1] for unit in UNITS]),
    "linearize": lambda f: torch.stack([func.linearize(f, X)[1](unit) for unit in UNITS]),
    "vmap of grad": lambda f: func.vmap(func.grad(f))(torch.stack([X + 1, X]))[1],
    "grad of vmap": lambda f: func.grad(lambda x: func.vmap(f)(torch.stack([x, 2 * X])).sum())(X),
}


def differences(f):
    """The gradient at X by central differences."""
    return torch.stack([(f(X + 1e-5 * unit) - f(X - 1e-5 * unit)).detach() / 2e-5 for unit in UNITS])


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_derivatives(program, transform):
    found = TRANSFORMS[transform](PROGRAMS[program])
    assert torch.allclose(found.detach(), differences(PROGRAMS[program]), rtol=1e-6, atol=1e-8)


def test_second_derivatives():
    def program(x):
        return functional.jacobian(number, x).sum()

    found = func.hessian(program)(X)
    wanted = torch.stack(
        [(func.grad(program)(X + 1e-5 * u) - func.grad(program)(X - 1e-5 * u)) / 2e-5 for u in UNITS]
    )
    assert torch.allclose(found, wanted, rtol=1e-5)


def test_outside_of_transforms_the_history_is_cut():
    x = X.clone().requires_grad_()
    assert not functional.jacobian(values, x).requires_grad
    assert functional.jacobian(values, x, create_graph=True).requires_grad


def test_no_grad_inside_a_transform_cuts_it():
    def program(x):
        with torch.no_grad():
            return functional.jacobian(number, x).sum()

    assert func.grad(program)(X).tolist() == [0.0, 0.0]
