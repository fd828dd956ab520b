"""Transforms of transforms: perturbation confusion, closures over outer levels, Python control flow."""

import numpy
import pytest

from tests.parity.oracle import agree

V = numpy.array([0.3, -1.2, 2.0])
W = numpy.array([1.5, 0.7, -0.4])
A = numpy.array([[0.9, -0.4, 0.3], [0.2, 0.8, -0.5], [-0.6, 0.1, 0.7]])


def derivative(fx):
    return lambda f: lambda x: fx.jvp(f, (x,), (1.0,))[1]


def amazing(D):
    """Manzyuk et al.: a derivative of a function that returns a function of what is differentiated."""
    return D(lambda x: lambda f: lambda y: f(x + y))


def fold(np, x):
    """Python's `for`, `while`, `if`, and recursion go by values."""
    total = x
    for step in range(3):
        total = total * np.sin(x) if total > 0.2 * step else total - x**2
    while total < 1.0:
        total = total * 1.5 + 0.3
    return total


def newton(fx, np):
    def root(a):
        x = a
        while abs(x * x - a) > 1e-12:
            x = x - (x * x - a) / (2.0 * x)
        return x

    return root


def recursive(np, x, depth):
    return x if depth == 0 else np.sin(recursive(np, x * x, depth - 1)) + x


PROGRAMS = {
    # -- perturbation confusion ----------------------------------------------------------------------------------
    "d/dx x·d/dy (x + y)": lambda fx, np: fx.grad(lambda x: x * fx.grad(lambda y: x + y)(1.0))(1.0),
    "the same, forward": lambda fx, np: derivative(fx)(lambda x: x * derivative(fx)(lambda y: x + y)(1.0))(
        1.0
    ),
    "the same, forward in reverse": lambda fx, np: fx.grad(
        lambda x: x * derivative(fx)(lambda y: x + y)(1.0)
    )(1.0),
    "the same, reverse in forward": lambda fx, np: derivative(fx)(
        lambda x: x * fx.grad(lambda y: x + y)(1.0)
    )(1.0),
    "d/dx x·d/dy xy": lambda fx, np: fx.grad(lambda x: x * fx.grad(lambda y: x * y)(2.0))(3.0),
    "the inner one ignores its argument": lambda fx, np: fx.grad(lambda x: fx.grad(lambda y: x * x)(2.0) + x)(
        3.0
    ),
    "the inner one at the outer argument": lambda fx, np: fx.grad(lambda x: fx.grad(lambda y: x * y * y)(x))(
        3.0
    ),
    "three levels": lambda fx, np: fx.grad(
        lambda x: x * fx.grad(lambda y: y * fx.grad(lambda z: x * y * z * z)(y))(x)
    )(1.3),
    "three levels, mixed": lambda fx, np: derivative(fx)(
        lambda x: x * fx.grad(lambda y: y * derivative(fx)(lambda z: x * y * z * z)(y))(x)
    )(1.3),
    "gradient of a norm of a gradient": lambda fx, np: fx.grad(
        lambda x: np.sum(fx.grad(lambda y: np.sum(np.sin(y) * x))(x) ** 2)
    )(V),
    "fifth derivative": lambda fx, np: fx.grad(
        fx.grad(fx.grad(fx.grad(fx.grad(lambda x: np.sin(x) * x**4))))
    )(0.7),
    "fifth derivative, forward": lambda fx, np: (lambda D: D(D(D(D(D(lambda x: np.sin(x) * x**4)))))(0.7))(
        derivative(fx)
    ),
    # -- closures over outer levels --------------------------------------------------------------------------------
    "grad closing over grad": lambda fx, np: fx.grad(
        lambda x: np.sum(fx.grad(lambda y: np.sum(np.sin(x * y)))(W))
    )(V),
    "vmap closing over grad": lambda fx, np: fx.grad(lambda x: np.sum(fx.vmap(lambda r: np.sin(r @ x))(A)))(
        V
    ),
    "grad closing over vmap": lambda fx, np: fx.vmap(lambda r: fx.grad(lambda y: np.sin(r @ y))(V))(A),
    "jit closing over grad": lambda fx, np: fx.grad(lambda x: np.sum(fx.jit(lambda y: np.sin(x * y))(W)))(V),
    "jit closing over vmap": lambda fx, np: fx.vmap(lambda r: fx.jit(lambda y: r @ y)(W))(A),
    "jit closing over jit": lambda fx, np: fx.jit(lambda x: fx.jit(lambda y: x * y)(W))(V),
    "checkpoint closing over grad": lambda fx, np: fx.grad(
        lambda x: np.sum(fx.checkpoint(lambda y: np.sin(x * y))(W))
    )(V),
    "checkpoint closing over vmap": lambda fx, np: fx.vmap(
        lambda r: fx.grad(lambda y: fx.checkpoint(lambda z: np.sin(r @ z))(y))(W)
    )(A),
    "linearize closing over grad": lambda fx, np: fx.grad(
        lambda x: np.sum(fx.linearize(lambda y: np.sin(x * y), W)[1](x))
    )(V),
    "linearized function handed out of a grad": lambda fx, np: fx.grad(
        lambda x: (lambda y, push: np.sum(push(x * x)))(*fx.linearize(np.sin, x))
    )(V),
    "pullback applied under another grad": lambda fx, np: (
        lambda pull: fx.grad(lambda ct: np.sum(pull(ct * ct)[0]))(W)
    )(fx.vjp(lambda x: np.sin(x) * x, V)[1]),
    "pullback applied under vmap and jit": lambda fx, np: fx.jit(fx.vmap(fx.vjp(np.sin, V)[1]))(A),
    "jacobian closing over vmap": lambda fx, np: fx.vmap(lambda r: fx.jacfwd(lambda y: np.sin(r * y))(V))(A),
    "aux of an outer level": lambda fx, np: fx.grad(
        lambda x: fx.grad(lambda y: (y * y, x), has_aux=True)(2.0)[1]
    )(3.0),
    "aux of an outer level, jvp": lambda fx, np: fx.grad(
        lambda x: fx.jvp(lambda y: (y * y, x * y), (2.0,), (1.0,), has_aux=True)[2]
    )(3.0),
    "aux of an outer level, vjp": lambda fx, np: fx.grad(
        lambda x: (lambda y, pull, aux: aux * pull(x)[0])(*fx.vjp(lambda y: (y * x, x), 2.0, has_aux=True))
    )(3.0),
    "aux of an outer level, linearize": lambda fx, np: fx.grad(
        lambda x: (lambda y, push, aux: aux * push(x))(*fx.linearize(lambda y: (y * x, x), 2.0, has_aux=True))
    )(3.0),
    "aux of an outer level, jacrev": lambda fx, np: fx.grad(
        lambda x: np.sum(fx.jacrev(lambda y: (y * x, x * y), has_aux=True)(V)[1])
    )(3.0),
    "aux under vmap": lambda fx, np: fx.vmap(
        fx.grad(lambda x: (np.sum(x**2), {"s": np.sin(x)}), has_aux=True)
    )(A),
    # -- stacks --------------------------------------------------------------------------------------------------
    "hessian, four ways": lambda fx, np: [
        outer(inner(lambda x: np.prod(np.sin(A @ x))))(V)
        for outer in (fx.jacfwd, fx.jacrev)
        for inner in (fx.jacfwd, fx.jacrev)
    ],
    "third order tensor": lambda fx, np: fx.jacfwd(fx.jacrev(fx.jacfwd(lambda x: np.prod(np.sin(x)))))(V),
    "jit vmap grad jvp": lambda fx, np: fx.jit(
        fx.vmap(fx.grad(lambda x: np.sum(fx.jvp(lambda y: np.sin(y) * y, (x,), (W,))[1])))
    )(A),
    "grad through vmap of grad": lambda fx, np: fx.grad(
        lambda w: np.sum(fx.vmap(fx.grad(lambda x, y: np.tanh(x @ y)), in_axes=(None, 0))(w, A) ** 2)
    )(V),
    "one gradient step, differentiated": lambda fx, np: fx.grad(
        lambda rate: np.sum((V - rate * fx.grad(lambda w: np.sum(np.sin(w) * W))(V)) ** 2)
    )(0.1),
    "a vjp inside the vjp's function": lambda fx, np: fx.vjp(lambda x: fx.vjp(np.sin, x)[1](x)[0], V)[1](W),
    "linear_transpose under grad": lambda fx, np: fx.grad(
        lambda w: np.sum(fx.linear_transpose(lambda x: w * x, V)(W)[0] ** 2)
    )(V),
    "linear_transpose twice": lambda fx, np: fx.linear_transpose(
        lambda ct: fx.linear_transpose(lambda x: A @ x, V)(ct)[0], W
    )(V),
    # -- Python's control flow -----------------------------------------------------------------------------------
    "branches and loops": lambda fx, np: [fx.grad(lambda x: fold(np, x))(x) for x in (0.3, 0.9, 2.0)],
    "branches and loops, forward": lambda fx, np: [
        fx.jvp(lambda x: fold(np, x), (x,), (1.0,)) for x in (0.3, 0.9)
    ],
    "branches and loops, twice": lambda fx, np: fx.grad(fx.grad(lambda x: fold(np, x)))(0.9),
    "a loop until convergence": lambda fx, np: fx.value_and_grad(newton(fx, np))(2.0),
    "recursion": lambda fx, np: fx.grad(lambda x: recursive(np, x, 4))(0.6),
    "iteration over rows": lambda fx, np: fx.grad(lambda m: sum(np.sin(r) @ r for r in m))(A),
    "unpacking": lambda fx, np: fx.grad(lambda v: (lambda a, b, c: a * b + c)(*v))(V),
    "max by Python": lambda fx, np: fx.grad(lambda v: max(list(v)) * 2.0)(V),
    "sum by Python": lambda fx, np: fx.grad(lambda v: sum(list(v * v)))(V),
    "index by a value": lambda fx, np: fx.grad(lambda x: np.sum(x[int(x[2])] * x))(V),
    "static loop under jit": lambda fx, np: fx.jit(lambda x: recursive(np, x, 3))(V),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_program(program):
    agree(program)


def test_a_derivative_of_a_function_of_functions():
    """The tangents of both applications have the same level in a naive implementation, which gives 0."""
    import fxgrad as fx
    import fxgrad.numpy as fnp

    D = derivative(fx)
    value = D(lambda x: D(lambda y: fnp.exp(x + y))(1.5) * x)(0.5)
    assert numpy.isclose(value, numpy.exp(2.0) * 1.5)
