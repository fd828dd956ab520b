"""custom_jvp and custom_vjp against JAX."""

from functools import partial

import numpy
import pytest

from tests.parity.oracle import agree, both_refuse

V = numpy.array([0.3, -1.2, 2.0])
W = numpy.array([1.5, 0.7, -0.4])
M = numpy.array([[0.5, -1.0, 0.2], [1.1, 0.3, -0.7]])


def softplus(fx, np):
    @fx.custom_jvp
    def f(x):
        return np.log1p(np.exp(x))

    @f.defjvp
    def rule(primals, tangents):
        ((x,), (t,)) = primals, tangents
        return f(x), 3.0 * t / (1.0 + np.exp(-x))  # thrice the derivative, to tell the rule from the function

    return f


def product(fx, np):
    f = fx.custom_jvp(lambda x, y: x * y)
    f.defjvps(lambda t, ans, x, y: 2.0 * t * y, lambda t, ans, x, y: t * ans)
    return f


def first_only(fx, np):
    f = fx.custom_jvp(lambda x, y: x * y)
    f.defjvps(lambda t, ans, x, y: t * y, None)
    return f


def powered(fx, np):
    """n is not differentiated, and decides in Python."""

    @partial(fx.custom_jvp, nondiff_argnums=(0, 2))
    def f(g, x, n):
        return g(x) ** n if n else g(x)

    @f.defjvp
    def rule(g, n, primals, tangents):
        ((x,), (t,)) = primals, tangents
        return f(g, x, n), t * 10.0 * n

    return f


def trees(fx, np):
    @fx.custom_jvp
    def f(d, pair):
        return {"s": d["a"] * pair[0], "t": (np.sum(pair[1]), None)}

    @f.defjvp
    def rule(primals, tangents):
        (d, pair), (td, tp) = primals, tangents
        return f(d, pair), {"s": td["a"] * pair[0] * 2.0, "t": (np.sum(tp[1]) * 3.0, None)}

    return f


def clipped(fx, np):
    @fx.custom_vjp
    def f(x):
        return np.sin(x)

    f.defvjp(lambda x: (np.sin(x), x), lambda x, ct: (np.clip(ct, -1.0, 1.0) * np.cos(x) * 2.0,))
    return f


def scaled(fx, np):
    @partial(fx.custom_vjp, nondiff_argnums=(1,))
    def f(x, k):
        return x * k

    f.defvjp(lambda x, k: (f(x, k), None), lambda k, _, ct: (ct * k * 5.0,))
    return f


def vjp_trees(fx, np):
    @fx.custom_vjp
    def f(d, x):
        return {"y": d["a"] * x, "z": np.sum(x)}

    def fwd(d, x):
        return f(d, x), {"d": d, "x": (x, 2.0)}

    def bwd(residuals, ct):
        x, two = residuals["x"]
        return {"a": ct["y"] * x * two, "b": None}, ct["y"] * residuals["d"]["a"] + ct["z"]

    f.defvjp(fwd, bwd)
    return f


def vjp_none(fx, np):
    f = fx.custom_vjp(lambda x, y: x * y)
    f.defvjp(lambda x, y: (x * y, y), lambda y, ct: (ct * y, None))
    return f


D = {"a": V, "b": W}

PROGRAMS = {
    "value": lambda fx, np: softplus(fx, np)(V),
    "grad": lambda fx, np: fx.grad(lambda x: np.sum(softplus(fx, np)(x)))(V),
    "jvp": lambda fx, np: fx.jvp(softplus(fx, np), (V,), (W,)),
    "vjp": lambda fx, np: fx.vjp(softplus(fx, np), V)[1](W),
    "linearize": lambda fx, np: fx.linearize(softplus(fx, np), V)[1](W),
    "jacfwd, jacrev": lambda fx, np: (fx.jacfwd(softplus(fx, np))(V), fx.jacrev(softplus(fx, np))(V)),
    "second order": lambda fx, np: fx.hessian(lambda x: np.sum(softplus(fx, np)(x)))(V),
    "third order": lambda fx, np: fx.grad(fx.grad(fx.grad(softplus(fx, np))))(0.3),
    "vmap": lambda fx, np: fx.vmap(softplus(fx, np))(M),
    "vmap of grad": lambda fx, np: fx.vmap(fx.vmap(fx.grad(softplus(fx, np))))(M),
    "grad of vmap": lambda fx, np: fx.grad(lambda m: np.sum(fx.vmap(softplus(fx, np))(m)))(M),
    "jit": lambda fx, np: fx.jit(softplus(fx, np))(V),
    "jit of grad": lambda fx, np: fx.jit(fx.vmap(fx.grad(softplus(fx, np))))(V),
    "grad of jit": lambda fx, np: fx.vmap(fx.grad(fx.jit(softplus(fx, np))))(V),
    "checkpoint": lambda fx, np: fx.vmap(fx.grad(fx.checkpoint(softplus(fx, np))))(V),
    "defjvps": lambda fx, np: fx.jvp(product(fx, np), (V, W), (W, V)),
    "defjvps, grad": lambda fx, np: fx.grad(lambda x, y: np.sum(product(fx, np)(x, y)), argnums=(0, 1))(V, W),
    "defjvps, the same argument": lambda fx, np: fx.grad(lambda x: np.sum(product(fx, np)(x, x)))(V),
    "defjvps with None": lambda fx, np: fx.grad(
        lambda x, y: np.sum(first_only(fx, np)(x, y)), argnums=(0, 1)
    )(V, W),
    "defjvps, one of them constant": lambda fx, np: fx.grad(lambda y: np.sum(product(fx, np)(V, y)))(W),
    "defjvps, vmap": lambda fx, np: fx.vmap(fx.grad(product(fx, np), argnums=(0, 1)), in_axes=(0, None))(
        V, 2.0
    ),
    "nondiff_argnums": lambda fx, np: fx.grad(lambda x: np.sum(powered(fx, np)(np.sin, x, 2)))(V),
    "nondiff_argnums, value": lambda fx, np: powered(fx, np)(np.sin, V, 3),
    "nondiff_argnums, vmap": lambda fx, np: fx.vmap(fx.grad(lambda x: powered(fx, np)(np.cos, x, 2)))(V),
    "nondiff_argnums, jit": lambda fx, np: fx.jit(fx.vmap(fx.grad(lambda x: powered(fx, np)(np.cos, x, 2))))(
        V
    ),
    "pytrees": lambda fx, np: fx.jvp(trees(fx, np), (D, (V, W)), (D, (W, V))),
    "pytrees, vjp": lambda fx, np: fx.vjp(trees(fx, np), D, (V, W))[1]({"s": V, "t": (2.0, None)}),
    "pytrees, vmap": lambda fx, np: fx.vmap(trees(fx, np))({"a": M, "b": M}, (M, M)),
    "keyword arguments": lambda fx, np: fx.grad(lambda x: np.sum(softplus(fx, np)(x=x)))(V),
    "an integer argument": lambda fx, np: fx.grad(lambda x: np.sum(first_only(fx, np)(x, numpy.arange(3))))(
        V
    ),
    "vjp rule": lambda fx, np: fx.grad(lambda x: np.sum(5.0 * clipped(fx, np)(x)))(V),
    "vjp rule, value": lambda fx, np: clipped(fx, np)(V),
    "vjp rule, pullback": lambda fx, np: fx.vjp(clipped(fx, np), V)[1](W),
    "vjp rule, jacrev": lambda fx, np: fx.jacrev(clipped(fx, np))(V),
    "vjp rule, second order": lambda fx, np: fx.grad(fx.grad(clipped(fx, np)))(0.7),
    "vjp rule, forward over reverse": lambda fx, np: fx.jvp(fx.grad(clipped(fx, np)), (0.7,), (1.0,)),
    "vjp rule, hessian": lambda fx, np: fx.hessian(lambda x: np.sum(clipped(fx, np)(x) ** 2))(V),
    "vjp rule, vmap of grad": lambda fx, np: fx.vmap(fx.grad(clipped(fx, np)))(V),
    "vjp rule, vmap": lambda fx, np: fx.vmap(clipped(fx, np))(M),
    "vjp rule, grad of vmap": lambda fx, np: fx.grad(lambda m: np.sum(fx.vmap(clipped(fx, np))(m)))(M),
    "vjp rule, jit": lambda fx, np: fx.jit(fx.vmap(fx.grad(clipped(fx, np))))(V),
    "vjp rule, grad of jit": lambda fx, np: fx.vmap(fx.grad(fx.jit(clipped(fx, np))))(V),
    "vjp rule, checkpoint": lambda fx, np: fx.vmap(fx.grad(fx.checkpoint(clipped(fx, np))))(V),
    "vjp rule, nondiff_argnums": lambda fx, np: fx.grad(lambda x: np.sum(scaled(fx, np)(x, 3.0)))(V),
    "vjp rule, nondiff_argnums and vmap": lambda fx, np: fx.vmap(fx.grad(lambda x: scaled(fx, np)(x, 3.0)))(
        V
    ),
    "vjp rule, keywords": lambda fx, np: fx.grad(lambda x: np.sum(scaled(fx, np)(k=3.0, x=x)))(V),
    "vjp rule, pytrees": lambda fx, np: fx.vjp(vjp_trees(fx, np), D, W)[1]({"y": V, "z": 2.0}),
    "vjp rule, pytrees and vmap": lambda fx, np: fx.vmap(
        lambda a, x: fx.vjp(vjp_trees(fx, np), {"a": a, "b": W}, x)[1]({"y": V, "z": 2.0})
    )(M, M),
    "vjp rule, one result used": lambda fx, np: fx.grad(lambda x: vjp_trees(fx, np)(D, x)["z"])(W),
    "vjp rule, None": lambda fx, np: fx.grad(lambda x, y: np.sum(vjp_none(fx, np)(x, y)), argnums=(0, 1))(
        V, W
    ),
    "vjp rule, an integer argument": lambda fx, np: fx.grad(
        lambda x: np.sum(vjp_none(fx, np)(x, numpy.arange(3)))
    )(V),
    "rules in rules": lambda fx, np: fx.grad(lambda x: clipped(fx, np)(softplus(fx, np)(x)))(0.4),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_program(program):
    agree(program)


def with_rule(result):
    def program(fx, np):
        f = fx.custom_jvp(lambda x: x * 2.0)
        f.defjvp(lambda primals, tangents: result(primals, tangents))
        return fx.jvp(f, (V,), (V,))

    return program


def with_backward(result):
    def program(fx, np):
        f = fx.custom_vjp(lambda x, y: x * y)
        f.defvjp(lambda x, y: (x * y, None), lambda _, ct: result(ct))
        return fx.grad(lambda x: np.sum(f(x, x)))(V)

    return program


ERRORS = {
    "the rule returns no pair": with_rule(lambda primals, tangents: primals[0]),
    "the tangent's shape": with_rule(lambda primals, tangents: (primals[0] * 2.0, tangents[0][:2])),
    "the tangent's structure": with_rule(lambda primals, tangents: (primals[0] * 2.0, tangents)),
    "the rule returns no tuple": with_backward(lambda ct: ct),
    "too few cotangents": with_backward(lambda ct: (ct,)),
    "the cotangent's shape": with_backward(lambda ct: (ct, ct[:2])),
    "the cotangent's structure": with_backward(lambda ct: (ct, (ct, ct))),
}


@pytest.mark.parametrize("program", ERRORS.values(), ids=ERRORS)
def test_both_refuse(program):
    both_refuse(program)
